/*
 * rule - rules that operations keep and that no table's constraint enforces.
 *
 * An import checks these rules for the imported rows, and the doctor checks them for the whole
 * state. Tests check the rules for rows that operations have written.
 */
#ifndef CORE_TRANSFER_RULE_H
#define CORE_TRANSFER_RULE_H

#include "storage/store.h"

struct rule {
	enum sql statement; /* finds the first bad row after `from` (storage/rule.sql) */
	const char *table, *column; /* a fault names the bad row by this column */
	const char *of; /* the column has row numbers of this table */
	const char *what; /* text of the fault for a row that breaks the rule */
};

extern const struct rule rule_table[];
extern const size_t rule_count;

/* Finds the first row that breaks a rule and whose number is higher than `from`. Returns 1 if
 * such a row was found, 0 if there is no such row, or a fault. */
int rule_broken(struct store *store, const struct rule *rule, int64_t from, int64_t *row,
		struct fault *f);

/* Checks only the rules that find references to missing rows. Returns 0, or a fault that names
 * the first row with such a reference. */
int rule_check_lost(struct store *store, struct fault *f);

#endif
