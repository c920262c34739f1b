/*
 * vault_trash - notes that were removed, kept for a while in the vault's folder `.trash`.
 *
 * What one removal takes is an entry: a folder there that holds it at its path from the
 * vault's root, and whose name says when it was removed, how many bytes it has, the row of
 * the team whose it was with the time at which that was created, and which path it was, as a
 * hash: `20261121-080000.123.4096.7-1795248000000.0123456789abcdef`.  Names of teams change
 * hands, rows do not; a backup of another state has other teams in the same rows.
 */
#ifndef CORE_VAULT_VAULT_TRASH_H
#define CORE_VAULT_VAULT_TRASH_H

#include "core/call/call.h"
#include "core/vault/notes.h"

struct vault_trash {
	const char *name; /* of its folder */
	int64_t removed_at; /* milliseconds since 1970 */
	int64_t bytes;
	int64_t team; /* 0: of none that lived */
	int64_t team_made; /* milliseconds since 1970; -1: an older version did not say */
};

/* Where a note or folder goes that is removed, from the root; `as` has no name. */
const char *vault_trash_place(struct arena *a, const struct vault_trash *as,
			      const char *path);

/* The path at which a note was that is in the trash; NULL: it is not in there. */
const char *vault_trash_origin(const char *path);

/* The entries, newest first: 0 or a fault. */
int vault_trash_list(const struct notes *notes, struct arena *a,
		     struct vault_trash **entries, size_t *n, struct fault *f);

/* Locks an entry, while a note is taken out of it: the lock, or negative.  It waits for one
 * who removes the entry or takes something out of it. */
int vault_trash_lock(const struct notes *notes, struct arena *a,
		     const struct vault_trash *entry, struct fault *f);

/* Removes the entries whose time is over, and the oldest of those that are too much;
 * one that is locked, or out of which a note is still to come back, stays until the next
 * time.  Outside a transaction. */
void vault_trash_trim(struct call *call);

#endif
