/*
 * rule - rules that operations keep and that no table's constraint enforces.
 *
 * An import checks these rules for the imported rows, the doctor for the whole state, and tests
 * for the rows that operations have written.
 */
#ifndef CORE_TRANSFER_RULE_H
#define CORE_TRANSFER_RULE_H

#include "storage/store.h"

struct rule {
	enum sql statement; /* of storage/rule.sql: takes only `from`, and gives the
			       `id` of the first row behind `from` that breaks the
			       rule */
	const char *table, *column; /* names that row ... */
	const char *of; /* ... by the number of a row of this table */
	const char *what; /* text of the fault for a row that breaks the rule */
};

extern const struct rule rule_table[];
extern const size_t rule_count;

/* Finds the first row behind the number `from` that breaks a rule: 1, 0 or a fault. */
int rule_broken(struct store *store, const struct rule *rule, int64_t from, int64_t *row,
		struct fault *f);

/* Checks only the rules that find references to missing rows: 0, or a fault that names the
 * first missing row. */
int rule_check_lost(struct store *store, struct fault *f);

#endif
