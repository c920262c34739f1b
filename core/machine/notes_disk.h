/*
 * notes_disk - notes in a folder of this machine.
 *
 * Staged notes are in the folder `.cadre-notes` in the vault's root, so all files that a crash
 * leaves are in one folder. The name of a staged note contains the number of a byte. The note's
 * writer keeps this byte locked. The locked bytes are bytes of the file `vault.lock` in the
 * state folder, one byte for each path.
 */
#ifndef CORE_MACHINE_NOTES_DISK_H
#define CORE_MACHINE_NOTES_DISK_H

#include "core/vault/notes.h"

struct notes_disk {
	struct notes notes; /* the table of functions for callers */
	const char *root; /* the vault's root folder; the first write makes it */
	const char *state; /* the state folder */
};

/* Initializes `d`. `root` and `state` are borrowed. `*d` must not be copied. */
void notes_disk_init(struct notes_disk *d, const char *root, const char *state);

#endif
