/*
 * rule - rules that operations keep and no table does.
 *
 * An import asks them of the rows that came in, the doctor of the whole state, and tests of
 * what operations have made.
 */
#ifndef CORE_TRANSFER_RULE_H
#define CORE_TRANSFER_RULE_H

#include "storage/store.h"

struct rule {
	enum sql statement; /* of storage/rule.sql: takes `from` alone, and gives the `id` of the
				first row behind it that breaks the rule */
	const char *table, *column; /* names that row ... */
	const char *of; /* ... by the number of a row of this table */
	const char *what; /* said of such a row */
};

extern const struct rule rule_table[];
extern const size_t rule_count;

/* Finds the first row behind the number `from` that breaks a rule: 1, 0 or a fault. */
int rule_broken(struct store *store, const struct rule *rule, int64_t from, int64_t *row,
		struct fault *f);

/* Asks only the rules that find lost rows: 0, or a fault that names the first such
 * row. */
int rule_check_lost(struct store *store, struct fault *f);

#endif
