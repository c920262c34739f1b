/*
 * arena - memory that is freed as a whole at the end of a call.
 *
 * Allocation never fails: an arena that gets no memory aborts the process. An abort loses no
 * acknowledged data, since the database holds all acknowledged data. Memory is zeroed and
 * aligned for any type. `(struct arena){ 0 }` is empty. arena_reset() goes back to a mark, so
 * that a handler can run again.
 */
#ifndef CORE_BASE_ARENA_H
#define CORE_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *top;
	size_t used; /* bytes taken from the top block */
	long fail_after; /* in tests, abort at the allocation with this number; 0:
			    never */
};

struct arena_mark {
	struct arena_block *top;
	size_t used;
};

void *arena_alloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s); /* NULL gives NULL */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Makes room for one more item in a growing array of `size`-byte items, and returns the place
 * of the new item. A full array is doubled in size; if the array moves, `*items` is updated.
 * `*n_items` is the number of items before the call, and is raised by one. */
void *arena_push(struct arena *a, void *items, size_t *n_items, size_t size);

/* Adds a value to a growing array of the value's type: arena_add(a, list, n, value). */
#define arena_add(a, items, n_items, ...)                              \
	(*(__typeof__(&(items)[0]))arena_push(a, &(items), &(n_items), \
					      sizeof((items)[0])) = __VA_ARGS__)

struct arena_mark arena_mark(const struct arena *a);
void arena_reset(struct arena *a, struct arena_mark mark);
void arena_release(struct arena *a); /* leaves the arena empty and usable */

#endif
