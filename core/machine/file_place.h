/*
 * file_place - moves a file to its final path without losing another file.
 *
 * The vault's notes and the mirror's pages are first written elsewhere, and then exchanged with
 * the old files. Folders are open descriptors on one file system.
 */
#ifndef CORE_MACHINE_FILE_PLACE_H
#define CORE_MACHINE_FILE_PLACE_H

/* Moves the entry `name` of the folder `from` to `dir`/`file`. If `dir`/`file` existed, the old
 * entry is moved to `from` and is called `name` there. Returns 1; 0 if `dir`/`file` did not
 * exist; or -1 with errno. */
int file_exchange(int from, const char *name, int dir, const char *file);

/* Moves the entry `name` of the folder `from` into `dir`, beside `file`. The new name is the
 * name of `file` with `.conflict` before the extension, and with a number if the new name is
 * taken. Returns 0, or -1 with errno. */
int file_keep(int from, const char *name, int dir, const char *file);

/* How other processes have a file open; a lease on the file shows this. If leases do not work,
 * a reader is assumed, but no writer. */
enum file_holder { FILE_FREE, FILE_READ, FILE_WRITTEN };
enum file_holder file_holder(int fd);

#endif
