/*
 * vault_trash - keeps removed notes for a while in the vault's folder `.trash`.
 *
 * A removal makes an entry, which is a folder in `.trash`. If a note is empty, or does not fit
 * into the trash, the note is removed without an entry. The removed note or folder has the same
 * path below the entry as it had below the vault's root. The entry's name contains the time of
 * removal, the size in bytes, the row number and creation time of the owning team, and a hash.
 * An example of a name is `20261121-080000.123.4096.7-1795248000000.0123456789abcdef`. A new
 * team may get the name of an ended team, but not the row number. The creation time is needed,
 * because after a restore of another state's backup the row number may belong to another team.
 */
#ifndef CORE_VAULT_VAULT_TRASH_H
#define CORE_VAULT_VAULT_TRASH_H

#include "core/call/call.h"
#include "core/vault/notes.h"

struct vault_trash {
	const char *name; /* name of the entry's folder */
	int64_t removed_at; /* milliseconds since 1970 */
	int64_t bytes;
	int64_t team; /* row number of the owning team; 0 if no living team owned the path */
	int64_t team_made; /* when the team was created, in milliseconds since 1970 */
};

/* The path in the trash, from the vault's root, for the removed note or folder `path`. The
 * function does not read the member `name` of `as`. */
const char *vault_trash_place(struct arena *a, const struct vault_trash *as,
			      const char *path);

/* The former path of a note in the trash, or NULL if `path` is not in the trash. */
const char *vault_trash_origin(const char *path);

/* Lists the entries, newest first. Returns 0 or a fault. */
int vault_trash_list(const struct notes *notes, struct arena *a,
		     struct vault_trash **entries, size_t *n, struct fault *f);

/* Removes the entries that were kept for the configured time. Also removes the oldest entries
 * if the trash is too large. An entry stays until the next call if the entry is locked, or if a
 * decided restore still needs a note of the entry. The caller has no transaction open. */
void vault_trash_trim(struct call *call);

#endif
