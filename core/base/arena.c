#include "core/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

enum { BLOCK = 8192, ALIGN = 16 };

struct arena_block {
	struct arena_block *below;
	size_t size;
	_Alignas(ALIGN) char data[];
};

static void arena_grow(struct arena *a, size_t size)
{
	size_t want = size > BLOCK ? size : BLOCK;
	struct arena_block *b = xmalloc(sizeof(*b) + want);

	b->below = a->top;
	b->size = want;
	a->top = b;
	a->used = 0;
}

void *arena_alloc(struct arena *a, size_t size)
{
	size_t need = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	void *p;

	if (a->fail_after && --a->fail_after == 0)
		abort();
	if (!a->top || a->top->size - a->used < need)
		arena_grow(a, need);
	p = a->top->data + a->used;
	a->used += need;
	return memset(p, 0, size);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	return memcpy(arena_alloc(a, n + 1), s, n);
}

char *arena_strdup(struct arena *a, const char *s)
{
	return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	char shorter[128], *s; /* most texts are short, and need no second vsnprintf() */
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(shorter, sizeof(shorter), fmt, ap);
	va_end(ap);
	s = arena_alloc(a, (size_t)n + 1);
	if ((size_t)n < sizeof(shorter))
		return memcpy(s, shorter, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

void *arena_push(struct arena *a, void *items, size_t *n_items, size_t size)
{
	void **array = items;
	size_t n = (*n_items)++;

	/* The array is full if the count is 0, or a power of two from 8 on. */
	if (n == 0 || (n >= 8 && (n & (n - 1)) == 0)) {
		void *more = arena_alloc(a, (n ? 2 * n : 8) * size);

		if (n)
			memcpy(more, *array, n * size);
		*array = more;
	}
	return (char *)*array + n * size;
}

struct arena_mark arena_mark(const struct arena *a)
{
	return (struct arena_mark){ a->top, a->used };
}

void arena_reset(struct arena *a, struct arena_mark mark)
{
	while (a->top != mark.top) {
		struct arena_block *below = a->top->below;

		free(a->top);
		a->top = below;
	}
	a->used = mark.used;
}

void arena_release(struct arena *a)
{
	arena_reset(a, (struct arena_mark){ 0 });
}
