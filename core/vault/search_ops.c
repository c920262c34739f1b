/*
 * search_ops - finds messages, tasks, notes on tasks and notes of the vault by their words.
 *
 * For each row, the index holds the tokens of the row's text, and tokens for the readers who
 * may see the row. The text of a hit is read from the hit's row or file, and not from the
 * index. So no deleted text is shown.
 */
#include "storage/search/search.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/access/who.h"
#include "core/call/id.h"
#include "core/call/space.h"
#include "core/vault/vault_index.h"
#include "core/vault/vault_inside.h"
#include "core/vault/vault_text.h"

enum {
	INDEX_MS = 50,
	VAULT_MS = 500, /* milliseconds to index changed notes */
};

/* The texts of the hits are whole. search_ops_page() makes the excerpts of one page. */
struct found {
	struct call *call;
	struct search *search;
	struct search_query query;
	struct search_scope scope;
	struct hit *hits;
	size_t n;
};

static const char *excerpt(struct found *f, const char *text)
{
	return search_excerpt(f->search, &f->query, text, &f->call->arena);
}

static int message_hit(struct found *f, int64_t id, struct hit *hit)
{
	struct call *call = f->call;
	struct search_message_hit_row row;
	int rc = sql_row(call, search_message_hit, &row, .id = id, .team = f->scope.team,
			 .agent = f->scope.agent);

	if (rc <= 0)
		return rc;
	*hit = (struct hit){ .kind = "message",
			     .at = row.at,
			     .by = row.name,
			     .id = id_public(call, ID_MESSAGE, row.id, row.at),
			     .has_seq = true,
			     .seq = row.id,
			     .text = row.body };
	return hit->id ? 1 : (int)call->fault.code;
}

/* Fills a hit from the row of a task, or of a note on a task. The hit's id is the task's
 * number. `rc` is 1 if the row exists. Returns `rc`. */
static int numbered_hit(struct found *f, const char *kind,
			const struct search_numbered_row *row, int rc, struct hit *hit)
{
	if (rc > 0)
		*hit = (struct hit){ .kind = kind,
				     .at = row->at,
				     .by = row->name,
				     .id = arena_printf(&f->call->arena, "%03" PRId64,
							row->number),
				     .title = row->title,
				     .text = row->body };
	return rc;
}

static int task_hit(struct found *f, int64_t id, struct hit *hit)
{
	struct search_numbered_row row;
	int rc = sql_row(f->call, search_task_hit, &row, .id = id, .team = f->scope.team);

	return numbered_hit(f, "task", &row, rc, hit);
}

static int title_hit(struct found *f, int64_t id, struct hit *hit)
{
	int rc = task_hit(f, id, hit);

	if (rc > 0)
		hit->has_in_title = hit->in_title = true;
	return rc;
}

static int note_hit(struct found *f, int64_t id, struct hit *hit)
{
	struct search_numbered_row row;
	int rc = sql_row(f->call, search_note_hit, &row, .id = id, .team = f->scope.team);

	return numbered_hit(f, "note", &row, rc, hit);
}

static const struct {
	int64_t scope; /* scope of the operation */
	int (*hit)(struct found *f, int64_t id, struct hit *hit);
} places[SEARCH_PLACES] = {
	[SEARCH_TITLES] = { SCOPE_TASKS, title_hit },
	[SEARCH_MESSAGES] = { SCOPE_MESSAGES, message_hit },
	[SEARCH_TASKS] = { SCOPE_TASKS, task_hit },
	[SEARCH_NOTES] = { SCOPE_NOTES, note_hit },
};

/* Adds the newest matches of one place to the hits, at most `limit` matches. */
static int search_ops_find_in(struct found *f, enum search_place place, int64_t limit)
{
	struct call *call = f->call;
	int64_t *rows = arena_alloc(&call->arena, (size_t)limit * sizeof(*rows));
	int64_t taken = 0;
	struct hit hit;
	int n, rc = 0;

	f->scope.place = place;
	f->scope.before = INT64_MAX;
	f->scope.limit = (int)limit;
	f->scope.untitled = f->n == 0 || !f->hits[0].in_title;
	do {
		n = search_match(f->search, &f->query, &f->scope, rows, &call->fault);
		for (int i = 0; i < n && taken < limit; i++) {
			if ((rc = places[place].hit(f, rows[i], &hit)) < 0)
				return rc;
			if (rc == 0)
				continue;
			arena_add(&call->arena, f->hits, f->n, hit);
			taken++;
		}
		if (n > 0)
			f->scope.before = rows[n - 1];
	} while (n == limit && taken < limit);
	return n < 0 ? n : 0;
}

/* --- the vault ----------------------------------------------------------------- */

/* The excerpt of a vault's hit is made at once, since a note may be long. */
static int vault_hit(struct found *f, const struct search_note *note)
{
	struct call *call = f->call;
	struct text text = { 0 };
	struct note_stamp stamp;
	int rc = vault_old(call, note->path, &text, &stamp);

	if (rc > 0)
		arena_add(&call->arena, f->hits, f->n,
			  (struct hit){
				  .kind = "vault",
				  .id = note->path,
				  .at = stamp.mtime_ns / 1000000,
				  .text = excerpt(f, vault_note_text(&call->arena,
								     text.data ? text.data
									       : "",
								     text.len)),
			  });
	/* A note that cannot be read is left out of the results. */
	call->fault = (struct fault){ 0 };
	text_release(&text);
	return rc > 0;
}

static int find_in_vault(struct found *f, int64_t limit)
{
	struct call *call = f->call;
	struct search_notes notes;
	bool whole;
	int rc;

	if ((rc = vault_index(call, f->search, SEARCH_OWN, VAULT_MS, &whole)) < 0 ||
	    (rc = search_notes_find(f->search, SEARCH_OWN, &f->query, NULL, &call->arena,
				    &notes, &call->fault)) < 0)
		return rc;
	for (size_t i = 0; i < notes.n && limit > 0; i++)
		if (vault_finds(call, "", notes.v[i].path))
			limit -= vault_hit(f, &notes.v[i]);
	return 0;
}

/* --- all places ------------------------------------------------------------------ */

static int search_ops_best_first(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->in_title != y->in_title)
		return y->in_title - x->in_title;
	return (x->at < y->at) - (x->at > y->at);
}

/* Puts all hits into the answer, the best first. search_ops_page() later keeps one page. */
static void keep_found(struct found *f, struct search_find_out *out)
{
	if (f->n > 1)
		qsort(f->hits, f->n, sizeof(*f->hits), search_ops_best_first);
	out->hits = f->hits;
	out->n_hits = f->n;
}

/* Replaces the texts of a hit by excerpts. A hit of the vault has its excerpt already. */
static void search_ops_show(struct found *f, struct hit *hit)
{
	if (!hit->by)
		return;
	hit->text = excerpt(f, hit->text);
	if (hit->title)
		hit->title = excerpt(f, hit->title);
}

/* Keeps only one page of the hits in the answer, after all places were searched. Makes the
 * excerpts of these hits. */
static void search_ops_page(struct found *f)
{
	struct call *call = f->call;
	const struct search_find_in *in = call->in;
	struct search_find_out *out = call->out;
	size_t n = 0, found = out->n_hits, first = (size_t)in->offset;

	if (first > found)
		first = found;
	out->hits += out->hits ? first : 0;
	found -= first;
	for (; n < found && n < (size_t)in->limit; n++) {
		search_ops_show(f, &out->hits[n]);
		if (!space_take(call, &record_hit, &out->hits[n]))
			break;
	}
	out->n_hits = n;
	out->more = n < found;
	out->next = in->offset + (int64_t)n;
}

/* The number of hits to look for in each place. The search needs the hits before the page, the
 * hits of the page, and one more hit, which shows that further hits exist. */
static int64_t search_ops_wanted(const struct search_find_in *in)
{
	return in->offset + in->limit + 1;
}

/* Whether titles fill the page. All other hits come after the titles, so none is needed then. */
static bool search_ops_is_full(const struct found *f)
{
	const int64_t wanted = search_ops_wanted(f->call->in);

	return (int64_t)f->n >= wanted && f->hits[wanted - 1].in_title;
}

/* Searches the files of the vault, outside the transaction. */
static int run_vault(struct call *call, struct vault_work *w)
{
	const struct search_find_in *in = call->in;
	struct search_find_out *out = call->out;
	struct found f = { .call = call, .hits = out->hits, .n = out->n_hits };
	int rc;

	(void)w;
	if (!(f.search = store_search(call->store, &call->fault)))
		return call->fault.code;
	if ((rc = search_parse(f.search, in->query, &f.query, &call->arena,
			       &call->fault)) < 0)
		return rc;
	if ((in->scope == SCOPE_ALL || in->scope == SCOPE_VAULT) &&
	    !search_ops_is_full(&f)) {
		if ((rc = find_in_vault(&f, search_ops_wanted(in))) < 0)
			return rc;
		keep_found(&f, out);
	}
	search_ops_page(&f);
	return 0;
}

int search_find(struct call *call, const struct search_find_in *in,
		struct search_find_out *out)
{
	struct found f = { .call = call };
	bool more;
	int rc;

	if ((rc = who_team(call, in->team)) < 0)
		return rc;
	if (!(f.search = store_search(call->store, &call->fault)))
		return call->fault.code;
	if ((rc = search_step(f.search, call->store, INDEX_MS, &out->indexed_to, &more,
			      &call->fault)) < 0 ||
	    (rc = search_parse(f.search, in->query, &f.query, &call->arena,
			       &call->fault)) < 0)
		return rc;
	f.scope.team = call->caller.team;
	f.scope.agent = call->caller.level >= WHO_LEAD ? 0 : call->caller.agent;
	for (int place = 0; place < SEARCH_PLACES && !search_ops_is_full(&f); place++) {
		if (in->scope != SCOPE_ALL && in->scope != places[place].scope)
			continue;
		if ((rc = search_ops_find_in(&f, (enum search_place)place,
					     search_ops_wanted(in))) < 0)
			return rc;
	}
	keep_found(&f, out);
	if (call->settings->notes)
		call->vault->run = run_vault;
	else
		search_ops_page(&f);
	return 0;
}
