/*
 * vault_inside - helpers that the vault's handlers share.
 */
#ifndef CORE_VAULT_VAULT_INSIDE_H
#define CORE_VAULT_VAULT_INSIDE_H

#include "core/vault/vault.h"

static inline const struct notes *notes_of(const struct call *call)
{
	return call->settings->notes;
}

/* Finds the living team that owns the folder of a note. Returns 1 and fills `row` if there is
 * such a team, 0 if not, or a negative fault code. */
int vault_team_in(struct call *call, const char *path, struct vault_team_row *row);

/* Plans a write of the note `path`. */
int vault_plan(struct call *call, const char *path,
	       int (*run)(struct call *call, struct vault_work *w));

/* Decides the write in the second run of a handler. If the call is repeated, reports the
 * earlier write. Fills the answer's fields `path` and `size`; the argument `size` may be NULL.
 * Does nothing in the first run, which has just planned the write. Returns 0 or negative. */
int vault_finish(struct call *call, const char **path, int64_t *size);

/* Reads a note and its stamp. Returns 1 if there is a note, 0 if not, or a negative fault code. */
int vault_old(struct call *call, const char *path, struct text *old,
	      struct note_stamp *was);

/* Stages `text` as the new content of w->path. `was` is the stamp of the note that `text`
 * replaces. */
int vault_stage(struct call *call, struct vault_work *w, const struct text *text,
		const struct note_stamp *was);

/* The path of an agent's card. */
struct vault_card {
	const char *path, *team, *agent;
};

/* Whether an argument at /path is the path of an agent's card that the caller may see. Returns
 * 1 and fills `card` if this is true, 0 if the argument is no path of a card, or a negative
 * fault code. */
int vault_card_named(struct call *call, const char *given, struct vault_card *card);
/* Changes a card to the values of its new text. A plan only checks whether this change is
 * possible. Returns 0 or negative. */
int vault_write_card(struct call *call, const struct vault_card *card,
		     const char *content);

/* Finds the note that is to be moved to `to`, or to be deleted if `to` is NULL. Fills w->move. */
int vault_find(struct call *call, struct vault_work *w, const char *to);

/* Returns 0, or `conflict` at /to if a file or folder has the path `to`. */
int vault_vacant(struct call *call, const char *to);

/* Sets the fault `not_found` at /path, and returns the fault's code. */
int vault_none(struct call *call, const char *path);

/* Checks, in the transaction that decides a write, that the folders of the write's paths still
 * belong to the same teams. Returns 0 or a fault. */
int vault_held(struct call *call, const struct vault_work *w);

/* Reads the rows of decided changes. Some of these changes may have been made already. Must be
 * called outside a transaction. Returns 0 or negative. */
int vault_moves_read(struct call *call, struct vault_move_row **rows, size_t *n);
/* Reads the fields of a decided change from its row. */
struct note_move vault_move_read(const struct vault_move_row *r);

/* Whether a note with this path can have a frontmatter. */
bool vault_has_front(const char *path);

/* If somebody has edited a file of the mirror, returns a warning for readers of the file. The
 * warning is in the call's arena. Returns NULL if the file is a note, or is exactly as the
 * mirror wrote the file. */
const char *vault_edited(struct call *call, const char *path, const char *data,
			 size_t len);

/* Writes a JSON value as a text in the call's arena. */
const char *vault_json(struct call *call, json_t *json);

#endif
