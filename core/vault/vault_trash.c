#include "core/vault/vault_trash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/vault/vault_inside.h"

/* --- names ------------------------------------------------------------------------ */

const char *vault_trash_place(struct arena *a, const struct vault_trash *as,
			      const char *path)
{
	char stamp[CLOCK_STAMP];

	clock_stamp(as->removed_at, stamp);
	return arena_printf(a,
			    NOTES_TRASH "/%s.%03d.%" PRId64 ".%" PRId64 "-%" PRId64
					".%016" PRIx64 "/%s",
			    stamp, (int)(as->removed_at % 1000), as->bytes, as->team,
			    as->team_made, hash_text(path), path);
}

const char *vault_trash_origin(const char *path)
{
	const size_t n = strlen(NOTES_TRASH "/");
	const char *slash = path && strncmp(path, NOTES_TRASH "/", n) == 0
				    ? strchr(path + n, '/')
				    : NULL;

	return slash ? slash + 1 : NULL;
}

static bool vault_trash_read_name(const char *name, struct vault_trash *out)
{
	const size_t n = CLOCK_STAMP + strlen("123");
	const char *at = name + n + 1;
	char when[32], *end;

	if (strlen(name) <= n || name[n] != '.')
		return false;
	snprintf(when, sizeof(when), "%.4s-%.2s-%.2sT%.2s:%.2s:%.6sZ", name, name + 4,
		 name + 6, name + 9, name + 11, name + 13);
	out->removed_at = time_parse(when);
	out->bytes = strtoll(at, &end, 10);
	if (out->removed_at < 0 || end == at || *end != '.' || out->bytes < 0)
		return false;
	at = end + 1;
	out->team = strtoll(at, &end, 10);
	out->team_made = *end == '-' ? strtoll(end + 1, &end, 10) : -1;
	return end > at && *end == '.';
}

/* --- entries ------------------------------------------------------------------------ */

struct gathered {
	struct arena *arena;
	struct vault_trash *entries;
	size_t n;
};

static int vault_trash_gather(void *with, const struct note_entry *e, struct fault *f)
{
	struct gathered *g = with;
	const char *name = strrchr(e->path, '/');
	struct vault_trash entry;

	(void)f;
	if (!e->folder || !name || !vault_trash_read_name(name + 1, &entry))
		return NOTES_PASS;
	entry.name = arena_strdup(g->arena, name + 1);
	*(struct vault_trash *)arena_push(g->arena, &g->entries, &g->n, sizeof(entry)) =
		entry;
	return NOTES_PASS;
}

static int vault_trash_newest_first(const void *a, const void *b)
{
	return strcmp(((const struct vault_trash *)b)->name,
		      ((const struct vault_trash *)a)->name);
}

int vault_trash_list(const struct notes *notes, struct arena *a,
		     struct vault_trash **entries, size_t *n, struct fault *f)
{
	struct gathered g = { .arena = a };
	int rc = notes->walk(notes->self, NOTES_TRASH, NULL, vault_trash_gather, &g, f);

	if (g.n > 1)
		qsort(g.entries, g.n, sizeof(*g.entries), vault_trash_newest_first);
	*entries = g.entries;
	*n = g.n;
	return rc < 0 ? rc : 0;
}

static int lock_entry(const struct notes *notes, struct arena *a,
		      const struct vault_trash *entry, bool wait, struct fault *f)
{
	return notes->lock(notes->self, arena_printf(a, NOTES_TRASH "/%s", entry->name),
			   NULL, wait, f);
}

int vault_trash_lock(const struct notes *notes, struct arena *a,
		     const struct vault_trash *entry, struct fault *f)
{
	return lock_entry(notes, a, entry, true, f);
}

/* Whether a note is decided to come back out of the entry, and is still in it; the caller
 * holds the entry's lock. */
static bool entry_is_needed(struct call *call, const struct vault_trash *entry)
{
	const struct notes *notes = call->settings->notes;
	const char *folder = arena_printf(&call->arena, NOTES_TRASH "/%s/", entry->name);
	struct vault_move_row *rows = NULL;
	size_t n = 0;
	bool wanted = vault_moves_read(call, &rows, &n) < 0;

	for (size_t i = 0; !wanted && i < n; i++) {
		struct note_move m = vault_move_read(&rows[i]);

		wanted = strncmp(m.from, folder, strlen(folder)) == 0 &&
			 !notes->made(notes->self, &m);
	}
	return wanted;
}

static void vault_trash_remove_entry(struct call *call, const struct vault_trash *entry)
{
	const struct notes *notes = call->settings->notes;
	int lock = lock_entry(notes, &call->arena, entry, false, &call->fault);

	if (lock < 0)
		return;
	if (!entry_is_needed(call, entry))
		notes->forget(notes->self, entry->name, &call->fault);
	notes->unlock(notes->self, lock);
}

void vault_trash_trim(struct call *call)
{
	const struct settings *s = call->settings;
	const int64_t old = call->now - settings_keep_ms(s);
	const struct arena_mark mark = arena_mark(&call->arena);
	const struct fault before = call->fault;
	struct vault_trash *entries;
	int64_t sum = 0;
	size_t n = 0;

	if (s->notes &&
	    vault_trash_list(s->notes, &call->arena, &entries, &n, &call->fault) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		sum += entries[i].bytes;
		if (sum > settings_trash_bytes(s) || entries[i].removed_at <= old)
			vault_trash_remove_entry(call, &entries[i]);
	}
	arena_reset(&call->arena, mark);
	call->fault = before;
}
