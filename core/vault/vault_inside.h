/*
 * vault_inside - what the handlers of the vault share.
 */
#ifndef CORE_VAULT_VAULT_INSIDE_H
#define CORE_VAULT_VAULT_INSIDE_H

#include "core/vault/vault.h"

static inline const struct notes *notes_of(const struct call *call)
{
	return call->settings->notes;
}

/* Plans a write of the note `path`. */
int vault_plan(struct call *call, const char *path,
	       int (*run)(struct call *call, struct vault_work *w));

/* The second run of a write, or the report of a repeated one: negative or 0.  1
 * when this is neither, so that the first one has just planned it.  `size` may
 * be NULL. */
int vault_finish(struct call *call, const char **path, int64_t *size);

/* What a note holds and which file it is: 1, 0 if there is none, negative. */
int vault_old(struct call *call, const char *path, struct text *old,
	      struct note_stamp *was);

/* Stages `text` for w->path in place of `was`. */
int vault_stage(struct call *call, struct vault_work *w, const struct text *text,
		const struct note_stamp *was);

/* `not_found` at /path. */
int vault_none(struct call *call, const char *path);

/* Whether it may have a frontmatter. */
bool vault_has_front(const char *path);

/* A JSON value as a text of the call. */
const char *vault_json(struct call *call, json_t *json);

#endif
