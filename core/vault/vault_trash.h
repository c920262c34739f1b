/*
 * vault_trash - notes that were removed, kept for a while in the vault's folder `.trash`.
 *
 * Each removal makes an entry: a folder in `.trash` that holds the removed note or folder at
 * its path from the vault's root. The entry's name holds the time of removal, the size in
 * bytes, the row and creation time of the owning team, and a hash of the removed path:
 * `20261121-080000.123.4096.7-1795248000000.0123456789abcdef`. The name of a team may be given
 * to another team, but a row is not. The creation time is needed, because after a restore of
 * another state's backup the row may belong to another team.
 */
#ifndef CORE_VAULT_VAULT_TRASH_H
#define CORE_VAULT_VAULT_TRASH_H

#include "core/call/call.h"
#include "core/vault/notes.h"

struct vault_trash {
	const char *name; /* of its folder */
	int64_t removed_at; /* milliseconds since 1970 */
	int64_t bytes;
	int64_t team; /* 0: no living team */
	int64_t team_made; /* milliseconds since 1970 */
};

/* The place in the trash for a removed note or folder, from the root; `as` has no name. */
const char *vault_trash_place(struct arena *a, const struct vault_trash *as,
			      const char *path);

/* The former path of a note in the trash; NULL: the note is not in the trash. */
const char *vault_trash_origin(const char *path);

/* Lists the entries, newest first: 0 or a fault. */
int vault_trash_list(const struct notes *notes, struct arena *a,
		     struct vault_trash **entries, size_t *n, struct fault *f);

/* Removes the entries that were kept for their time, and the oldest entries if the trash is too
 * large; a locked entry, or an entry from which a note is still to be restored, stays until the
 * next time. Outside a transaction. */
void vault_trash_trim(struct call *call);

#endif
