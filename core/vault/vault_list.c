/* vault_list - lists folders and the notes in them. */
#include <stdlib.h>
#include <string.h>

#include "core/call/space.h"
#include "core/vault/vault.h"
#include "ops.gen.h"

/* Maximum number of entries in a folder and its subfolders. */
enum { ENTRIES_MOST = 200000 };

struct gathered {
	struct call *call;
	bool recursive;
	const char *after; /* the list begins behind this path; NULL: at the first path */
	struct vault_entry *entries;
	size_t n;
};

static int vault_list_walk(struct call *call, const char *folder, const char *given,
			   notes_each *each, void *with)
{
	const struct notes *notes = call->settings->notes;
	int rc = notes->walk(notes->self, folder, NULL, each, with, &call->fault);

	/* If the caller named no folder, the default folder is listed. If this folder is
	 * missing, the list is empty. */
	if (rc != 0 || !given)
		return rc;
	fault_set(&call->fault, FAULT_NOT_FOUND, "/path", "there is no folder %.180s",
		  *folder ? folder : "/");
	return fault_hint(&call->fault, "List the notes with: {vault.list}.");
}

/* Whether an entry is shown to the caller. */
static bool vault_list_counts(struct call *call, const struct note_entry *e)
{
	return vault_sees(call, e) && (e->folder || vault_is_note(call, e->path));
}

/* --- list --------------------------------------------------------------------------- */

static int vault_list_gather(void *with, const struct note_entry *e, struct fault *f)
{
	struct gathered *g = with;
	struct arena *a = &g->call->arena;
	int next = e->folder && g->recursive ? NOTES_ENTER : NOTES_PASS;

	if (e->closed || !vault_list_counts(g->call, e))
		return NOTES_PASS;
	if (g->after && strcmp(e->path, g->after) <= 0)
		return next;
	if (g->n == ENTRIES_MOST)
		return fault_set(f, FAULT_EXHAUSTED, "/path",
				 "the folder holds too much; list one of its subfolders");
	arena_add(a, g->entries, g->n,
		  (struct vault_entry){
			  .path = arena_strdup(a, e->path),
			  .kind = e->folder ? VAULT_KIND_FOLDER : VAULT_KIND_NOTE,
			  .size = e->folder ? 0 : e->stamp.size,
			  .modified_at = e->stamp.mtime_ns / 1000000,
		  });
	return next;
}

static int vault_list_by_path(const void *a, const void *b)
{
	return strcmp(((const struct vault_entry *)a)->path,
		      ((const struct vault_entry *)b)->path);
}

static int vault_list_run(struct call *call, struct vault_work *w)
{
	const struct vault_list_in *in = call->in;
	struct vault_list_out *out = call->out;
	struct gathered g = { .call = call,
			      .recursive = in->recursive,
			      .after = w->after };
	int rc = vault_list_walk(call, w->folder, in->path, vault_list_gather, &g);

	if (rc < 0)
		return rc;
	if (g.n > 1)
		qsort(g.entries, g.n, sizeof(*g.entries), vault_list_by_path);
	out->entries = g.entries;
	while (out->n_entries < g.n && out->n_entries < (size_t)in->limit &&
	       space_take(call, &record_vault_entry, &g.entries[out->n_entries]))
		out->n_entries++;
	out->more = out->n_entries < g.n;
	return 0;
}

int vault_list(struct call *call, const struct vault_list_in *in,
	       struct vault_list_out *out)
{
	struct vault_work *w = call->vault;
	int rc = vault_folder(call, in->path, "/path", &w->folder);

	(void)out;
	w->run = vault_list_run;
	if (rc < 0 || !in->after)
		return rc;
	return vault_folder(call, in->after, "/after", &w->after);
}

/* --- stats ---------------------------------------------------------------------------- */

struct counted {
	struct call *call;
	struct vault_stats_out *out;
	int64_t largest, newest;
};

static int vault_list_count(void *with, const struct note_entry *e, struct fault *f)
{
	struct counted *c = with;
	struct vault_stats_out *out = c->out;

	(void)f;
	if (e->closed || !vault_list_counts(c->call, e))
		return NOTES_PASS;
	if (e->folder) {
		out->folders++;
		return NOTES_ENTER;
	}
	out->notes++;
	out->bytes += e->stamp.size;
	if (!out->largest || e->stamp.size > c->largest) {
		out->largest = arena_strdup(&c->call->arena, e->path);
		c->largest = e->stamp.size;
	}
	if (!out->newest || e->stamp.mtime_ns > c->newest) {
		out->newest = arena_strdup(&c->call->arena, e->path);
		c->newest = e->stamp.mtime_ns;
	}
	return NOTES_PASS;
}

static int run_stats(struct call *call, struct vault_work *w)
{
	const struct vault_stats_in *in = call->in;
	struct counted c = { .call = call, .out = call->out };
	int rc = vault_list_walk(call, w->folder, in->path, vault_list_count, &c);

	return rc < 0 ? rc : 0;
}

int vault_stats(struct call *call, const struct vault_stats_in *in,
		struct vault_stats_out *out)
{
	(void)out;
	call->vault->run = run_stats;
	return vault_folder(call, in->path, "/path", &call->vault->folder);
}
