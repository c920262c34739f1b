#include "tests/run_op/coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 1000, EXCUSES = 100 };

void coverage_init(struct coverage *c)
{
	c->ops = calloc(op_count, sizeof(bool));
	c->faults = calloc(op_count * FAULT_COUNT, sizeof(bool));
	c->events = calloc(EVENTS, sizeof(bool));
	if (!c->ops || !c->faults || !c->events)
		abort();
}

void coverage_release(struct coverage *c)
{
	free(c->ops);
	free(c->faults);
	free(c->events);
}

void coverage_fault(struct coverage *c, const struct op *op, enum fault_code code)
{
	c->faults[(size_t)op->index * FAULT_COUNT + (size_t)(-1 - (int)code)] = true;
}

struct excuses {
	char what[EXCUSES][80];
	bool used[EXCUSES];
	size_t n;
	int missing;
};

static void read_excuses(struct excuses *e, const char *path)
{
	char line[400];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f) && e->n < EXCUSES) {
		char *colon = strchr(line, ':');

		if (line[0] == '#' || !colon)
			continue;
		snprintf(e->what[e->n++], sizeof(e->what[0]), "%.*s", (int)(colon - line),
			 line);
	}
	if (f)
		fclose(f);
}

static void missing(struct excuses *e, const char *what)
{
	for (size_t i = 0; i < e->n; i++) {
		if (strcmp(e->what[i], what) != 0)
			continue;
		e->used[i] = true;
		return;
	}
	printf("never seen: %s\n", what);
	e->missing++;
}

/* Whether every operation can fail with this code. main() makes each operation fail with each
 * of these codes except FAULT_RATE_LIMITED, which tests/e2e/limits.sh tests. */
static bool is_general(enum fault_code f)
{
	return f == FAULT_INVALID || f == FAULT_DENIED || f == FAULT_UNAVAILABLE ||
	       f == FAULT_RATE_LIMITED;
}

static void report_op(const struct coverage *c, const struct op *op, struct excuses *e)
{
	char what[80];

	if (!c->ops[op->index])
		missing(e, op->name);
	for (const enum fault_code *f = op->faults; *f; f++) {
		if (is_general(*f) ||
		    c->faults[(size_t)op->index * FAULT_COUNT + (size_t)(-1 - (int)*f)])
			continue;
		snprintf(what, sizeof(what), "%s %s", op->name, fault_info(*f)->name);
		missing(e, what);
	}
}

int coverage_report(const struct coverage *c, const char *path)
{
	struct excuses e = { 0 };

	read_excuses(&e, path);
	for (size_t i = 0; i < op_count; i++)
		report_op(c, &op_table[i], &e);
	for (size_t i = 0; i < event_count; i++)
		if (!c->events[event_table[i].number])
			missing(&e, event_table[i].name);
	for (size_t i = 0; i < e.n; i++) {
		if (e.used[i])
			continue;
		printf("excused in %s, but seen: %s\n", path, e.what[i]);
		e.missing++;
	}
	return e.missing;
}
