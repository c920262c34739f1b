/* vault_search - finds lines of notes by words, by an expression or by a tag. */
#include <stdlib.h>
#include <string.h>

#include "core/call/space.h"
#include "core/vault/vault_index.h"
#include "core/vault/vault_inside.h"
#include "core/vault/vault_regex.h"
#include "core/vault/vault_text.h"
#include "ops.gen.h"

enum {
	INDEX_MS = 2000, /* time to update the index, or to list the files */
	SCAN_MS = 3000, /* time to search in the text of notes */
	STEP_MS = 50, /* time to update the index of rows before the index of notes is
			 used */
	LINE_MOST = 400, /* the maximum number of bytes that a result shows of a line */
};

struct scan {
	struct call *call;
	const struct vault_search_in *in;
	struct vault_search_out *out;
	struct search *search; /* NULL if the files are searched without the index */
	struct search_query query;
	struct vault_regex regex;
	struct search_notes notes; /* the notes to search in, newest first */
	int64_t end_ms;

	/* Fields of the note that is searched now. */
	const char *path;
	struct text text;
	size_t *lines; /* offsets of the lines */
	size_t n_lines;
	size_t last; /* number of the last line that matched, from 1; 0 before a match */
	struct arena arena;
};

/* --- lines --------------------------------------------------------------------------- */

static void cut_lines(struct scan *s)
{
	for (size_t at = 0; at < s->text.len;) {
		const char *end = memchr(s->text.data + at, '\n', s->text.len - at);

		arena_add(&s->arena, s->lines, s->n_lines, at);
		at = end ? (size_t)(end - s->text.data) + 1 : s->text.len;
	}
}

/* The bytes of line `i` without the line end. */
static const char *vault_search_line_at(const struct scan *s, size_t i, size_t *len)
{
	size_t end = i + 1 < s->n_lines ? s->lines[i + 1] : s->text.len;
	const char *line = s->text.data + s->lines[i];

	*len = end - s->lines[i];
	while (*len && (line[*len - 1] == '\n' || line[*len - 1] == '\r'))
		--*len;
	return line;
}

/* The shown text of a line, which is the whole line, or the part around the byte `at`. */
static const char *vault_search_show(struct scan *s, size_t i, size_t at)
{
	size_t len, from = 0;
	const char *line = vault_search_line_at(s, i, &len);

	if (len > LINE_MOST && at > LINE_MOST / 4)
		from = at - LINE_MOST / 4;
	if (from < len)
		from = text_start(line, from);
	len = vault_note_fit(line + from, len - from < LINE_MOST ? len - from : LINE_MOST,
			     6 * LINE_MOST);
	return vault_note_text(&s->call->arena, line + from, len);
}

static void show_around(struct scan *s, size_t i, struct vault_match *m)
{
	struct arena *a = &s->call->arena;
	size_t most = (size_t)s->in->context_lines;

	for (size_t k = i > most ? i - most : 0; k < i; k++)
		arena_add(a, m->context_before, m->n_context_before,
			  vault_search_show(s, k, 0));
	for (size_t k = i + 1; k < s->n_lines && k <= i + most; k++)
		arena_add(a, m->context_after, m->n_context_after,
			  vault_search_show(s, k, 0));
}

/* Adds line `i` to the matches; the match begins at the line's byte `at`. */
static void vault_search_take_line(struct scan *s, size_t i, size_t at)
{
	struct vault_match m = { .path = s->path, .line_number = (int64_t)i + 1 };

	if (s->last == i + 1)
		return;
	s->last = i + 1;
	s->out->total_matches++;
	if (s->out->total_matches <= s->in->offset || s->out->more)
		return;
	m.line = vault_search_show(s, i, at);
	show_around(s, i, &m);
	if (!s->out->n_results &&
	    space_size(s->call, &record_vault_match, &m) >= space_all(s->call))
		m.n_context_before = m.n_context_after = 0;
	if (s->out->n_results == (size_t)s->in->max_results ||
	    !space_take(s->call, &record_vault_match, &m))
		s->out->more = true;
	else
		arena_add(&s->call->arena, s->out->results, s->out->n_results, m);
}

/* --- searching in a note ---------------------------------------------------------------- */

static bool vault_search_is_late(const void *with)
{
	const struct scan *s = with;

	return notes_of(s->call)->clock_ms() >= s->end_ms;
}

/* Whether the note has the wanted tag. Returns true without a check if no tag is wanted, or if
 * the index has found the note by its tag. */
static bool has_tag(struct scan *s)
{
	struct arena_mark mark = arena_mark(&s->call->arena);
	bool has = !s->in->tag || s->search;
	const char **tags;
	size_t n = has ? 0 : vault_tags_of(s->call, s->path, &s->text, &tags);

	for (size_t i = 0; i < n && !has; i++)
		has = strcmp(tags[i], s->in->tag) == 0;
	arena_reset(&s->call->arena, mark);
	return has;
}

static void scan_regex(struct scan *s)
{
	if (!has_tag(s))
		return;
	for (size_t i = 0; i < s->n_lines && !vault_search_is_late(s); i++) {
		size_t len, at = 0;
		const char *line = vault_search_line_at(s, i, &len);

		if (regex_finds(&s->regex, line, len, &at))
			vault_search_take_line(s, i, at);
	}
}

/* The index of the line that contains the text's byte `at`. */
static size_t vault_search_line_of(const struct scan *s, size_t at)
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

static void vault_search_take_place(void *with, size_t at)
{
	struct scan *s = with;
	size_t i = vault_search_line_of(s, at);

	vault_search_take_line(s, i, at - s->lines[i]);
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
				      vault_search_take_place, s);
	}
	/* A note that was removed meanwhile, or that is not text any more, causes no fault. */
	s->call->fault = (struct fault){ 0 };
	arena_release(&s->arena);
}

/* --- search ------------------------------------------------------------------------------- */

/* Collects the notes of a walk. After s->end_ms, the walk skips all further notes and folders. */
static int vault_search_gather(void *with, const struct note_entry *e, struct fault *f)
{
	struct scan *s = with;
	struct arena *a = &s->call->arena;

	(void)f;
	if (!vault_sees(s->call, e))
		return NOTES_PASS;
	if (e->closed || vault_search_is_late(s))
		s->out->complete = false;
	else if (e->folder)
		return NOTES_ENTER;
	else if (vault_is_note(s->call, e->path))
		arena_add(a, s->notes.v, s->notes.n,
			  (struct search_note){ .path = arena_strdup(a, e->path),
						.stamp = e->stamp });
	return NOTES_PASS;
}

/* Compares two notes. Sorts the newest note first, as in the lists of the index. */
static int vault_search_newest_first(const void *a, const void *b)
{
	const struct search_note *one = a, *other = b;

	if (one->stamp.mtime_ns != other->stamp.mtime_ns)
		return one->stamp.mtime_ns < other->stamp.mtime_ns ? 1 : -1;
	return strcmp(one->path, other->path);
}

static int find_in_files(struct scan *s, const char *folder)
{
	const struct notes *notes = notes_of(s->call);
	int rc;

	s->search = NULL;
	s->notes = (struct search_notes){ 0 };
	s->out->complete = true;
	s->end_ms = notes->clock_ms() + INDEX_MS;
	rc = notes->walk(notes->self, folder, NULL, vault_search_gather, s,
			 &s->call->fault);
	if (s->notes.n > 1)
		qsort(s->notes.v, s->notes.n, sizeof(*s->notes.v),
		      vault_search_newest_first);
	return rc;
}

static int find_in_index(struct scan *s)
{
	const struct search_query *query = s->in->regex ? NULL : &s->query;
	struct call *call = s->call;
	int rc = 0;

	if (!(s->search = store_search(call->store, &call->fault)))
		return call->fault.code;
	if (query)
		rc = search_parse(s->search, s->in->query, &s->query, &call->arena,
				  &call->fault);
	if (rc >= 0)
		rc = vault_index(call, s->search, SEARCH_ALL, INDEX_MS,
				 &s->out->complete);
	return rc < 0 ? rc
		      : search_notes_find(s->search, SEARCH_ALL, query, s->in->tag,
					  &call->arena, &s->notes, &call->fault);
}

/* Finds the notes to search in. The index finds the notes that have the words or the tag. The
 * index cannot search for an expression. With an expression and no tag, the search lists all
 * files. With an expression and a tag, the search lists all files if the index cannot be used. */
static int vault_search_find_notes(struct scan *s, const char *folder)
{
	if (!s->in->regex)
		return find_in_index(s);
	if (s->in->tag && find_in_index(s) >= 0)
		return 0;
	s->call->fault = (struct fault){ 0 };
	return find_in_files(s, folder);
}

static void look_for(struct scan *s, const char *folder)
{
	size_t i;

	s->end_ms = notes_of(s->call)->clock_ms() + SCAN_MS;
	for (i = 0; i < s->notes.n && !vault_search_is_late(s); i++)
		if (vault_finds(s->call, folder, s->notes.v[i].path))
			scan_note(s, s->notes.v[i].path);
	s->out->complete = s->out->complete && i == s->notes.n &&
			   !vault_search_is_late(s);
	text_release(&s->text);
}

static int run_search(struct call *call, struct vault_work *w)
{
	struct scan s = { .call = call, .in = call->in, .out = call->out };
	int rc;

	if (s.in->regex && regex_open(&s.regex, s.in->query, &call->fault) < 0)
		return call->fault.code;
	s.regex.is_late = vault_search_is_late;
	s.regex.with = &s;
	rc = vault_search_find_notes(&s, w->folder);
	if (rc >= 0)
		look_for(&s, w->folder);
	if (s.in->regex)
		regex_close(&s.regex);
	s.out->next = s.in->offset + (int64_t)s.out->n_results;
	return rc < 0 ? rc : 0;
}

/* Updates the index of rows before the index of notes is used. The update finds out whether
 * search.db belongs to this state and is complete. */
static int vault_search_check_index(struct call *call)
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
	/* If no folder is named, the search covers all notes that the caller may see. */
	if (rc >= 0 && !in->path)
		call->vault->folder = "";
	call->vault->run = run_search;
	if (rc < 0 || (in->regex && !in->tag))
		return rc;
	rc = vault_search_check_index(call);
	if (rc < 0 && in->regex)
		call->fault = (struct fault){ 0 };
	return in->regex ? 0 : rc;
}

/* --- tags --------------------------------------------------------------------------------- */

/* Adds a tag to the page; the first in->offset tags are left out. */
static void page_tag(struct call *call, const struct vault_tagged *tag, int64_t *passed)
{
	const struct vault_tags_in *in = call->in;
	struct vault_tags_out *out = call->out;

	if (!tag->notes || (*passed)++ < in->offset || out->more)
		return;
	if (space_take(call, &record_vault_tagged, tag))
		arena_add(&call->arena, out->tags, out->n_tags, *tag);
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
	return rc < 0 ? rc : vault_search_check_index(call);
}
