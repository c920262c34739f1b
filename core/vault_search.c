/* vault_search - lines of notes: by their words, by an expression, by tag. */
#include <stdlib.h>
#include <string.h>

#include "core/room.h"
#include "core/vault_index.h"
#include "core/vault_inside.h"
#include "core/vault_regex.h"
#include "core/vault_text.h"
#include "ops.gen.h"

enum {
	INDEX_MS = 2000, /* to bring the index up to the files */
	SCAN_MS = 3000, /* to look into notes */
	STEP_MS = 50, /* for the index of the rows, which is checked first */
	LINE_MOST = 400, /* bytes of a line that is shown */
};

struct scan {
	struct call *call;
	const struct vault_search_in *in;
	struct vault_search_out *out;
	struct search *search;
	struct search_query query;
	struct vault_regex regex;
	int64_t end_ms;

	/* Of the note that is looked into. */
	const char *path;
	struct text text;
	size_t *lines; /* where each begins */
	size_t n_lines;
	size_t last; /* line that matched last, from 1; 0: none */
	struct arena arena;
};

/* --- lines --------------------------------------------------------------------------- */

static void cut_lines(struct scan *s)
{
	for (size_t at = 0; at < s->text.len;) {
		const char *end = memchr(s->text.data + at, '\n', s->text.len - at);

		*(size_t *)arena_push(&s->arena, &s->lines, &s->n_lines,
				      sizeof(*s->lines)) = at;
		at = end ? (size_t)(end - s->text.data) + 1 : s->text.len;
	}
}

/* A line's bytes without its end. */
static const char *line_at(const struct scan *s, size_t i, size_t *len)
{
	size_t end = i + 1 < s->n_lines ? s->lines[i + 1] : s->text.len;
	const char *line = s->text.data + s->lines[i];

	*len = end - s->lines[i];
	while (*len && (line[*len - 1] == '\n' || line[*len - 1] == '\r'))
		--*len;
	return line;
}

/* What is shown of it: all, or what is around the byte `at`. */
static const char *show(struct scan *s, size_t i, size_t at)
{
	size_t len, from = 0;
	const char *line = line_at(s, i, &len);

	if (len > LINE_MOST && at > LINE_MOST / 4)
		from = at - LINE_MOST / 4;
	while (from > 0 && from < len && ((unsigned char)line[from] & 0xc0) == 0x80)
		from--;
	len = note_fit(line + from, len - from < LINE_MOST ? len - from : LINE_MOST,
		       6 * LINE_MOST);
	return note_text(&s->call->arena, line + from, len);
}

static void show_around(struct scan *s, size_t i, struct vault_match *m)
{
	struct arena *a = &s->call->arena;
	size_t most = (size_t)s->in->context_lines;

	for (size_t k = i > most ? i - most : 0; k < i; k++)
		*(const char **)arena_push(a, &m->context_before, &m->n_context_before,
					   sizeof(char *)) = show(s, k, 0);
	for (size_t k = i + 1; k < s->n_lines && k <= i + most; k++)
		*(const char **)arena_push(a, &m->context_after, &m->n_context_after,
					   sizeof(char *)) = show(s, k, 0);
}

/* Line `i` matches at its byte `at`. */
static void take_line(struct scan *s, size_t i, size_t at)
{
	struct vault_match m = { .path = s->path, .line_number = (int64_t)i + 1 };

	if (s->last == i + 1)
		return;
	s->last = i + 1;
	s->out->total_matches++;
	if (s->out->total_matches <= s->in->offset || s->out->more)
		return;
	m.line = show(s, i, at);
	show_around(s, i, &m);
	if (s->out->n_results == (size_t)s->in->max_results ||
	    !room_take(s->call, &record_vault_match, &m))
		s->out->more = true;
	else
		*(struct vault_match *)arena_push(&s->call->arena, &s->out->results,
						  &s->out->n_results, sizeof(m)) = m;
}

/* --- looking into a note ---------------------------------------------------------------- */

static bool is_late(const void *with)
{
	const struct scan *s = with;

	return notes_of(s->call)->clock_ms() >= s->end_ms;
}

static void scan_regex(struct scan *s)
{
	for (size_t i = 0; i < s->n_lines && !is_late(s); i++) {
		size_t len, at = 0;
		const char *line = line_at(s, i, &len);

		if (regex_finds(&s->regex, line, len, &at))
			take_line(s, i, at);
	}
}

/* The line that holds a byte. */
static size_t line_of(const struct scan *s, size_t at)
{
	size_t low = 0, high = s->n_lines;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (s->lines[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void take_place(void *with, size_t at)
{
	struct scan *s = with;
	size_t i = line_of(s, at);

	take_line(s, i, at - s->lines[i]);
}

static void scan_note(struct scan *s, const char *path)
{
	struct note_stamp stamp;

	s->path = path;
	s->text.len = s->last = s->n_lines = 0;
	s->lines = NULL;
	if (vault_old(s->call, path, &s->text, &stamp) > 0 && s->text.len) {
		cut_lines(s);
		if (s->in->regex)
			scan_regex(s);
		else
			search_places(s->search, &s->query, s->text.data, s->text.len,
				      take_place, s);
	}
	/* It may have gone, or be none any more. */
	s->call->fault = (struct fault){ 0 };
	arena_release(&s->arena);
}

/* --- search ------------------------------------------------------------------------------- */

static int look_for(struct scan *s, const char *folder)
{
	struct call *call = s->call;
	struct search_notes notes;
	size_t i;
	int rc = search_notes_find(s->search, SEARCH_ALL, s->in->regex ? NULL : &s->query,
				   s->in->tag, &call->arena, &notes, &call->fault);

	s->end_ms = notes_of(call)->clock_ms() + SCAN_MS;
	for (i = 0; rc >= 0 && i < notes.n && !is_late(s); i++)
		if (vault_finds(call, folder, notes.v[i].path))
			scan_note(s, notes.v[i].path);
	s->out->complete = s->out->complete && i == notes.n && !is_late(s);
	text_release(&s->text);
	return rc;
}

static int run_search(struct call *call, struct vault_work *w)
{
	struct scan s = { .call = call, .in = call->in, .out = call->out };
	int rc;

	if (!(s.search = store_search(call->store, &call->fault)))
		return call->fault.code;
	rc = s.in->regex ? regex_open(&s.regex, s.in->query, &call->fault)
			 : search_parse(s.search, s.in->query, &s.query, &call->arena,
					&call->fault);
	if (rc < 0)
		return rc;
	s.regex.is_late = is_late;
	s.regex.with = &s;
	rc = vault_index(call, s.search, SEARCH_ALL, INDEX_MS, &s.out->complete);
	if (rc >= 0)
		rc = look_for(&s, w->folder);
	if (s.in->regex)
		regex_close(&s.regex);
	s.out->next = s.in->offset + (int64_t)s.out->n_results;
	return rc;
}

/* The rows' part of the index is looked at first: it tells whether what is there
 * belongs to this state and is whole. */
static int check_index(struct call *call)
{
	struct search *s = store_search(call->store, &call->fault);
	int64_t to;
	bool more;

	return s ? search_step(s, call->store, STEP_MS, &to, &more, &call->fault)
		 : (int)call->fault.code;
}

int vault_search(struct call *call, const struct vault_search_in *in,
		 struct vault_search_out *out)
{
	int rc = vault_folder(call, in->path, "/path", &call->vault->folder);

	(void)out;
	/* A search is for all that the caller may see, unless a folder is named. */
	if (rc >= 0 && !in->path)
		call->vault->folder = "";
	call->vault->run = run_search;
	return rc < 0 ? rc : check_index(call);
}

/* --- tags --------------------------------------------------------------------------------- */

/* Adds a tag to the page; those before in->offset are left out. */
static void page_tag(struct call *call, const struct vault_tagged *tag, int64_t *passed)
{
	const struct vault_tags_in *in = call->in;
	struct vault_tags_out *out = call->out;

	if (!tag->notes || (*passed)++ < in->offset || out->more)
		return;
	if (room_take(call, &record_vault_tagged, tag))
		*(struct vault_tagged *)arena_push(&call->arena, &out->tags, &out->n_tags,
						   sizeof(*tag)) = *tag;
	else
		out->more = true;
}

static int run_tags(struct call *call, struct vault_work *w)
{
	struct vault_tags_out *out = call->out;
	struct search *s = store_search(call->store, &call->fault);
	struct vault_tagged last = { .tag = "" };
	struct search_tag *tags = NULL;
	int64_t passed = 0;
	size_t n = 0;
	int rc = s ? vault_index(call, s, SEARCH_ALL, INDEX_MS, &out->complete)
		   : (int)call->fault.code;

	if (rc >= 0)
		rc = search_notes_tags(s, &call->arena, &tags, &n, &call->fault);
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		if (!vault_finds(call, w->folder, tags[i].path))
			continue;
		if (strcmp(last.tag, tags[i].tag) != 0) {
			page_tag(call, &last, &passed);
			last = (struct vault_tagged){ .tag = tags[i].tag };
		}
		last.notes++;
	}
	page_tag(call, &last, &passed);
	out->next =
		((const struct vault_tags_in *)call->in)->offset + (int64_t)out->n_tags;
	return rc;
}

int vault_tags(struct call *call, const struct vault_tags_in *in,
	       struct vault_tags_out *out)
{
	int rc = vault_folder(call, in->path, "/path", &call->vault->folder);

	(void)out;
	if (rc >= 0 && !in->path)
		call->vault->folder = "";
	call->vault->run = run_tags;
	return rc < 0 ? rc : check_index(call);
}
