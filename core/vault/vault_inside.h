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

/* Finds the living team that owns the folder of a note: 1 with the team's row, 0 if there is no
 * such team, or negative. */
int vault_team_in(struct call *call, const char *path, struct vault_team_row *row);

/* Plans a write of the note `path`. */
int vault_plan(struct call *call, const char *path,
	       int (*run)(struct call *call, struct vault_work *w));

/* Ends a write in the second run of its handler, or reports a repeated write, and fills
 * `path` and `size` (or NULL) of the answer.  In the first run, which has just planned the
 * write, it does nothing.  0 or negative. */
int vault_finish(struct call *call, const char **path, int64_t *size);

/* Reads a note and its stamp: 1, 0 if there is no note, negative. */
int vault_old(struct call *call, const char *path, struct text *old,
	      struct note_stamp *was);

/* Stages `text` for w->path in place of `was`. */
int vault_stage(struct call *call, struct vault_work *w, const struct text *text,
		const struct note_stamp *was);

/* A path that is the card of an agent. */
struct vault_card {
	const char *path, *team, *agent;
};

/* Whether an argument at /path names an agent's card that the caller sees: 1 with `card`, 0, or
 * negative. */
int vault_card_named(struct call *call, const char *given, struct vault_card *card);
/* Changes a card to its new text; in a plan, only checks whether this is possible: 0 or
 * negative. */
int vault_write_card(struct call *call, const struct vault_card *card,
		     const char *content);

/* Finds the note of a move to `to`, or of a deletion (`to` is NULL), and fills the work's move. */
int vault_find(struct call *call, struct vault_work *w, const char *to);

/* Fails with `conflict` at /to if a file or folder has the path `to`: 0 or negative. */
int vault_vacant(struct call *call, const char *to);

/* Fails with `not_found` at /path. */
int vault_none(struct call *call, const char *path);

/* In the transaction that decides a write: 0 if the folders still belong to their teams,
 * or a fault. */
int vault_held(struct call *call, const struct vault_work *w);

/* Reads the changes that were decided, and may have been made: 0 or negative.  Outside a
 * transaction. */
int vault_moves_read(struct call *call, struct vault_move_row **rows, size_t *n);
/* A decided change, from its row. */
struct note_move vault_move_read(const struct vault_move_row *r);

/* Whether a note of this name can have a frontmatter. */
bool vault_has_front(const char *path);

/* For a file that shows a row and was edited by somebody: a text that tells readers of the
 * edit, in the call's arena. NULL: the file is a note, or is exactly as the mirror wrote the
 * file. */
const char *vault_edited(struct call *call, const char *path, const char *data,
			 size_t len);

/* A JSON value as a text of the call. */
const char *vault_json(struct call *call, json_t *json);

#endif
