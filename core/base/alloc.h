/*
 * alloc - memory that lives until it is freed; an allocation never fails.
 *
 * If no memory is left, the process aborts. An abort loses no acknowledged data, since the
 * database holds all acknowledged data. If a peer or a user chose the size, use malloc() and a
 * fault instead.
 */
#ifndef CORE_BASE_ALLOC_H
#define CORE_BASE_ALLOC_H

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *items, size_t n, size_t size);
char *xstrdup(const char *s); /* NULL gives NULL */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints that the memory is used up, and aborts. */
_Noreturn void out_of_memory(void);

#endif
