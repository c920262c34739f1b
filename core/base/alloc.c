#include "core/base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void out_of_memory(void)
{
	fputs("cadre: out of memory\n", stderr);
	abort();
}

static void *have(void *p)
{
	if (!p)
		out_of_memory();
	return p;
}

void *xmalloc(size_t size)
{
	return have(malloc(size));
}

void *xcalloc(size_t n, size_t size)
{
	return have(calloc(n, size));
}

void *xreallocarray(void *items, size_t n, size_t size)
{
	return have(reallocarray(items, n, size));
}

char *xstrdup(const char *s)
{
	return s ? have(strdup(s)) : NULL;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return have(n < 0 ? NULL : s);
}
