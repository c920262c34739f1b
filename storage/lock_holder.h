/*
 * lock_holder - finds the processes that lock a byte of a file, so that a fault can name these
 * processes.
 */
#ifndef STORAGE_LOCK_HOLDER_H
#define STORAGE_LOCK_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A process by number and command line, such as `12 (cadre mcp)`.  A long command line is cut. */
struct lock_holder {
	char name[80];
	bool stopped; /* the process was stopped by Ctrl-Z or a debugger */
};

/* Finds the process that locks byte `byte` of `fd` exclusively, through another descriptor.
 * Returns false if no process locks the byte, or if the calling process may not see the holder. */
bool lock_holder_find(int fd, int64_t byte, struct lock_holder *out);
/* Writes the number and the command line of a process, as struct lock_holder holds them. */
void lock_holder_name(long pid, char *out, size_t size);
/* Writes the names of all processes that lock the byte, exclusively or shared, through a
 * descriptor other than `fd`. */
void lock_holder_all(int fd, int64_t byte, char *out, size_t size);

#endif
