/*
 * passing - a file of a VFS that stands before a file of the VFS below, and the
 * methods that only pass on.
 */
#ifndef STORAGE_PASSING_H
#define STORAGE_PASSING_H

#include <sqlite3.h>

struct passing {
	sqlite3_file base;
	sqlite3_file *real;
};

/* The file below `f`, which begins with a struct passing. */
sqlite3_file *passing_real(sqlite3_file *f);

/* The methods of an sqlite3_file, passed on to the real file. */
int passing_close(sqlite3_file *f);
int passing_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at);
int passing_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at);
int passing_truncate(sqlite3_file *f, sqlite3_int64 size);
int passing_sync(sqlite3_file *f, int flags);
int passing_size(sqlite3_file *f, sqlite3_int64 *size);
int passing_lock(sqlite3_file *f, int level);
int passing_unlock(sqlite3_file *f, int level);
int passing_check_lock(sqlite3_file *f, int *reserved);
int passing_control(sqlite3_file *f, int op, void *arg);
int passing_sector(sqlite3_file *f);
int passing_character(sqlite3_file *f);
int passing_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out);
int passing_shm_lock(sqlite3_file *f, int at, int n, int flags);
void passing_shm_barrier(sqlite3_file *f);
int passing_shm_unmap(sqlite3_file *f, int del);

#endif
