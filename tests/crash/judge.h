/*
 * judge - what must hold, as queries.
 *
 * The journals become the tables below, beside the state (schema `s`).  A rule is
 * a query whose every row is a finding, so its text is the proof.
 */
#ifndef TESTS_CRASH_JUDGE_H
#define TESTS_CRASH_JUDGE_H

struct rule {
	const char *says; /* what is wrong when the query has a row */
	const char *sql;
};

extern const char judge_schema[]; /* before the journals are read */
extern const char judge_views[]; /* after it */
extern const struct rule judge_rules[]; /* ends with a NULL */
extern const char judge_counts[]; /* one row: what happened, for the summary */

#endif
