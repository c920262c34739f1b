#include "core/base/fault.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct fault_info infos[] = {
#define X(id, name, exit, http, wire, doc, hint) { name, exit, http, wire, doc, hint },
	FAULT_LIST(X)
#undef X
};

const struct fault_info *fault_info(enum fault_code code)
{
	assert(code < 0 && code >= -FAULT_COUNT);
	return &infos[-1 - (int)code];
}

enum fault_code fault_named(const char *name)
{
	for (int i = 0; i < FAULT_COUNT; i++)
		if (strcmp(infos[i].name, name) == 0 || strcmp(infos[i].wire, name) == 0)
			return (enum fault_code)(-1 - i);
	return FAULT_INTERNAL;
}

int fault_set(struct fault *f, enum fault_code code, const char *where, const char *fmt,
	      ...)
{
	va_list ap;

	if (f->code)
		return f->code;
	f->code = code;
	snprintf(f->where, sizeof(f->where), "%s", where);
	snprintf(f->hint, sizeof(f->hint), "%s", fault_info(code)->hint);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return code;
}

int fault_hint(struct fault *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->hint, sizeof(f->hint), fmt, ap);
	va_end(ap);
	return f->code;
}

int fault_move(struct fault *f, const char *from, const char *to)
{
	if (strcmp(f->where, from) == 0)
		snprintf(f->where, sizeof(f->where), "%s", to);
	return f->code;
}
