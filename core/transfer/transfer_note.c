/* transfer_note - moves notes of an export into a vault. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/transfer/transfer_inside.h"
#include "core/vault/vault.h"
#include "core/wire/base64.h"

int transfer_note_check(struct call *call, const char *path)
{
	const char *resolved;

	if (!call->settings->notes)
		return fault_set(&call->fault, FAULT_INVALID, "/file",
				 "there is no vault for a note");
	if (strchr(path, '\n') ||
	    vault_note(call, path, "/file", VAULT_WRITE, &resolved) < 0)
		return call->fault.code;
	if (!strcmp(resolved, path))
		return 0;
	return fault_set(&call->fault, FAULT_INVALID, "/file",
			 "path is not the path of a note");
}

/* Gets the bytes of a line's note. Bytes decoded from base64 are in the arena. */
static int transfer_note_take_bytes(struct call *call, const struct transfer_line *line,
				    struct text *out)
{
	ssize_t n;

	*out = (struct text){ .data = (char *)line->text, .len = line->size };
	if (line->text)
		return 0;
	out->data = arena_alloc(&call->arena, line->size + 4);
	n = base64_decode(out->data, line->base64, line->size);
	if (n < 0)
		return fault_set(&call->fault, FAULT_INVALID, "/file",
				 "base64 is not valid");
	out->len = (size_t)n;
	return 0;
}

/* Compares the note at `path` with these bytes. Returns 1 if the note has the same bytes, 2 if
 * the note differs, 0 if there is no note, or a negative fault code. */
static int transfer_note_look(struct call *call, const char *path,
			      const struct text *bytes)
{
	const struct notes *notes = call->settings->notes;
	const struct note_part all = { .most = NOTE_MOST };
	struct note_stamp stamp;
	struct text there = { 0 };
	int rc = notes->read(notes->self, path, all, &there, &stamp, &call->fault);

	if (rc > 0 &&
	    (there.len != bytes->len || memcmp(there.data, bytes->data, bytes->len) != 0))
		rc = 2;
	text_release(&there);
	return rc;
}

/* Finds a path at which a note can be staged, either `*path` or a path beside `*path`, and
 * stores the found path in `*path`. Returns 0 if the path is free and no other note of the
 * import gets the path. Returns 1 if the same note is already at the path, or a negative fault
 * code. */
static int transfer_note_find_place(struct call *call, const struct transfer_notes *n,
				    const struct text *bytes, const char **path)
{
	const char *asked = *path, *dot = strrchr(asked, '.');
	int stem = dot ? (int)(dot - asked) : (int)strlen(asked), rc;

	for (int i = 1; (rc = transfer_note_look(call, *path, bytes)) == 2 ||
			(rc == 0 && json_is_true(json_object_get(n->staged, *path)));
	     i++)
		*path = i == 1 ? arena_printf(&call->arena, "%.*s.imported%s", stem,
					      asked, asked + stem)
			       : arena_printf(&call->arena, "%.*s.imported-%d%s", stem,
					      asked, i, asked + stem);
	return rc;
}

static int transfer_note_taken(struct call *call, const char *path, const char *what)
{
	return fault_set(&call->fault, FAULT_INVALID, "/file", "path %.150s: %s", path,
			 what);
}

/* Reserves a path in `set`. Two notes cannot have the same path, and the path of a note cannot
 * be a folder of another note. */
static int transfer_note_take_path(struct call *call, json_t **set, const char *path)
{
	const json_t *is;

	if (!*set)
		*set = json_object();
	if ((is = json_object_get(*set, path)))
		return transfer_note_taken(
			call, path,
			json_is_true(is) ? "an earlier note has the same path"
					 : "an earlier note is below this path");
	for (const char *p = path; (p = strchr(p, '/')); p++) {
		if (json_is_true(json_object_getn(*set, path, (size_t)(p - path))))
			return transfer_note_taken(
				call, path, "a folder of this path is an earlier note");
		json_object_setn_new(*set, path, (size_t)(p - path), json_false());
	}
	json_object_set_new(*set, path, json_true());
	return 0;
}

int transfer_note_stage(struct call *call, struct transfer_notes *n,
			const struct transfer_line *line, const char *path)
{
	const struct notes *notes = call->settings->notes;
	struct arena *a = &call->arena;
	struct note_move move = { 0 };
	struct text bytes;
	int lock, rc;

	if (transfer_note_take_path(call, &n->asked, path) < 0 ||
	    transfer_note_take_bytes(call, line, &bytes) < 0)
		return call->fault.code;
	if (bytes.len > NOTE_MOST)
		return fault_set(&call->fault, FAULT_INVALID, "/file",
				 "a note has at most %d bytes", NOTE_MOST);
	path = arena_strdup(a, path);
	if ((rc = transfer_note_find_place(call, n, &bytes, &path)) != 0)
		return rc < 0 ? rc : 0;
	if (transfer_note_take_path(call, &n->staged, path) < 0)
		return call->fault.code;
	/* Code in a transaction must not wait for a lock. */
	lock = notes->lock(notes->self, path, NULL, false, &call->fault);
	if (lock < 0)
		return lock;
	arena_add(a, n->locks, n->n_locks, lock);
	if (notes->stage(notes->self, path, &bytes, &move, a, &call->fault) < 0)
		return call->fault.code;
	arena_add(a, n->moves, n->n_moves, move);
	return 0;
}

/* An import's moves have no events. So their rows in vault_move get event numbers that no event
 * has. */
int transfer_note_decide(struct call *call, const struct transfer_notes *n)
{
	struct transfer_moves_row all;
	int rc = sql_row(call, transfer_moves, &all);

	for (size_t i = 0; i < n->n_moves && rc >= 0; i++) {
		const struct note_move *m = &n->moves[i];

		rc = sql_run(call, vault_move_add, .event = all.low - 1 - (int64_t)i,
			     .from_path = m->from, .to_path = m->to, .ino = m->is.ino,
			     .mtime = m->is.mtime_ns, .size = m->is.size);
	}
	return rc < 0 ? rc : 0;
}

void transfer_note_drop(struct call *call, struct transfer_notes *n)
{
	const struct notes *notes = call->settings->notes;
	struct fault f = { 0 };

	for (size_t i = 0; i < n->n_moves; i++)
		notes->drop(notes->self, n->moves[i].from, &f);
	n->n_moves = 0;
}

void transfer_note_end(struct call *call, struct transfer_notes *n)
{
	const struct notes *notes = call->settings->notes;

	for (size_t i = 0; i < n->n_locks; i++)
		notes->unlock(notes->self, n->locks[i]);
	n->n_locks = 0;
	json_decref(n->asked);
	json_decref(n->staged);
	n->asked = n->staged = NULL;
}
