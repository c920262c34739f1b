/*
 * judge - the rules of the proof, as queries.
 *
 * The journals are read into tables. The tables of the state are in the schema `s`. A rule is a
 * query. Each row of a rule's answer is a finding.
 */
#ifndef TESTS_CRASH_JUDGE_H
#define TESTS_CRASH_JUDGE_H

#include <stdbool.h>

/* A part of rules.sql. */
struct rule {
	bool is_rule;
	char *says; /* the fault that a row proves, or the name of a part that is no rule */
	char *sql;
	const char *end; /* where the next part begins */
};

/* Replaces *r by the next part, or by the first part if *r is empty. Returns false if there is
 * no next part. */
bool rules_next(struct rule *r);

/* Returns the SQL of a part, which the caller frees. The part "tables" runs before the journals
 * are read, and the part "views" runs afterwards. The part "counts" gives one row of totals. */
char *rules_part(const char *name);

#endif
