/*
 * judge - the rules of the proof, as queries.
 *
 * The journals become tables beside those of the state (schema `s`). A rule is a query. Each
 * row of a rule's answer is a finding.
 */
#ifndef TESTS_CRASH_JUDGE_H
#define TESTS_CRASH_JUDGE_H

#include <stdbool.h>

/* A part of rules.sql. */
struct rule {
	bool is_rule;
	char *says; /* the fault that a row of the query proves; in other parts the part's name */
	char *sql;
	const char *end; /* where the next part begins */
};

/* Replaces *r by the next part, or by the first part if *r is empty. False if there is no next
 * part. */
bool rules_next(struct rule *r);

/* Returns the SQL of the part, to be freed. "tables" runs before the journals are read, "views"
 * runs after that, and "counts" gives one row of totals. */
char *rules_part(const char *name);

#endif
