/*
 * file_place - brings a file into its place and loses no other file.
 *
 * The vault's notes and the mirror's pages are first written elsewhere, and then exchanged with the
 * files that they replace.  Folders are open descriptors on one file system.
 */
#ifndef CORE_MACHINE_FILE_PLACE_H
#define CORE_MACHINE_FILE_PLACE_H

/* Moves the entry `name` of the folder `from` to `dir`/`file`.  The entry that stood there is
 * called `name` in `from` then.  1, 0 if nothing stood there, or -1 with errno. */
int file_exchange(int from, const char *name, int dir, const char *file);

/* Keeps the entry `name` of the folder `from` in `dir`, beside `file`: the name gets `.conflict`
 * before its extension, numbered if that is taken.  0, or -1 with errno. */
int file_keep(int from, const char *name, int dir, const char *file);

/* The other processes that have a file open, as a lease on the file tells.  If leases do
 * not work, a reader is assumed, and no writer. */
enum file_holder { FILE_FREE, FILE_READ, FILE_WRITTEN };
enum file_holder file_holder(int fd);

#endif
