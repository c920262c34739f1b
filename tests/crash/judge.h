/*
 * judge - rules that must hold, as queries.
 *
 * The journals become the tables below, beside the state (schema `s`).  A rule is
 * a query whose every row is a finding, so its text is the proof.
 */
#ifndef TESTS_CRASH_JUDGE_H
#define TESTS_CRASH_JUDGE_H

#include <stdbool.h>

/* A part of rules.sql. */
struct rule {
	bool is_rule;
	char *says; /* the fault that a row of the query proves; else the part's name */
	char *sql;
	const char *end; /* where the next part begins */
};

/* The part behind this one, the first behind an empty one; false when there is none. */
bool rules_next(struct rule *r);

/* To be freed: "tables" before the journals are read, "views" after that, "counts" for one
 * row of what happened. */
char *rules_part(const char *name);

#endif
