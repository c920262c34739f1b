/*
 * notes_disk - notes in a folder of this machine.
 *
 * Staged notes lie in `.cadre-notes` in the vault's root, so all remains of a crash are
 * in one place.  The name of a staged note tells the lock that its writer held.  Locks
 * are bytes of `vault.lock` in the state folder, one a path.
 */
#ifndef CORE_MACHINE_NOTES_DISK_H
#define CORE_MACHINE_NOTES_DISK_H

#include "core/vault/notes.h"

struct notes_disk {
	struct notes notes; /* the table to give to callers */
	const char *root; /* of the vault; made by the first write */
	const char *state; /* the state folder */
};

/* The texts are borrowed; the struct is not copied. */
void notes_disk_init(struct notes_disk *d, const char *root, const char *state);

#endif
