/*
 * file_place - moves a file to its final path without losing another file.
 *
 * The vault's notes and the mirror's pages are first written to another folder, and then
 * exchanged with the old files. All folders are given as open descriptors, and are on one file
 * system.
 */
#ifndef CORE_MACHINE_FILE_PLACE_H
#define CORE_MACHINE_FILE_PLACE_H

/* Moves the entry `name` of the folder `from` to `dir`/`file`. If `dir`/`file` existed, the old
 * entry is moved into the folder `from`, under the name `name`. Returns 1 if `dir`/`file`
 * existed, 0 if it did not exist, or -1 with errno. */
int file_exchange(int from, const char *name, int dir, const char *file);

/* Moves the entry `name` of the folder `from` into `dir`, beside `file`. The new name is the
 * name of `file` with `.conflict` before the extension, and with a number if the new name is
 * taken. Returns 0, or -1 with errno. */
int file_keep(int from, const char *name, int dir, const char *file);

/* How other processes have a file open. file_holder() tries to get a lease on the file, since a
 * lease is refused while another process has the file open. If leases do not work,
 * file_holder() returns FILE_READ. */
enum file_holder { FILE_FREE, FILE_READ, FILE_WRITTEN };
enum file_holder file_holder(int fd);

#endif
