/* transfer_check - checks what holds between the rows of an export, once they are added. */
#include <inttypes.h>
#include <string.h>

#include "core/transfer/rule.h"
#include "core/transfer/transfer_inside.h"

const struct transfer_value *transfer_value_of(const struct transfer_line *line,
					       const char *column)
{
	const struct transfer_table *t = &transfer_table[line->table];

	for (int i = 0; i < t->n_columns; i++)
		if (!strcmp(t->columns[i].name, column))
			return &line->values[i];
	return NULL;
}

int64_t transfer_from(const struct import *m, const char *table)
{
	return m->from[transfer_find(table)];
}

/* Names the line of a row of that table with that number in the column. */
static int transfer_check_blame(struct import *m, FILE *in, int table, int column,
				int64_t number, const char *what)
{
	const char *name = transfer_table[table].columns[column].name;
	struct transfer_reader *r = &m->reader;
	struct fault f = { 0 };

	transfer_reader_release(r);
	transfer_reader_init(r, in, m->call->now);
	while (transfer_read(r, &f) > 0)
		if (r->line.kind == LINE_ROW && r->line.table == table &&
		    !r->line.values[column].null && r->line.values[column].n == number)
			break;
	fault_set(&m->call->fault, FAULT_INVALID, "/file", "%s %" PRId64 " %s", name,
		  number, what);
	return transfer_at(r->n, &m->call->fault);
}

static int transfer_check_column_of(int table, const char *name)
{
	int column = 0;

	while (strcmp(transfer_table[table].columns[column].name, name) != 0)
		column++;
	return column;
}

static int transfer_check_references(struct import *m, FILE *in)
{
	struct fault *f = &m->call->fault;

	for (int i = 0; i < transfer_count; i++) {
		const struct transfer_table *t = &transfer_table[i];

		for (int c = 0; c < t->n_columns; c++) {
			int to = t->columns[c].table;
			int64_t n;
			int rc = to < 0 ? 0
					: transfer_loose(m->rows, i, c, m->from[to], &n,
							 f);

			if (rc > 0)
				return transfer_check_blame(m, in, i, c, n - m->from[to],
							    "is the number of no row");
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

static int check_rule(struct import *m, FILE *in, const struct rule *rule)
{
	const int64_t from = transfer_from(m, rule->of);
	int table = transfer_find(rule->table);
	int64_t row;
	int rc = rule_broken(m->call->store, rule, from, &row, &m->call->fault);

	return rc <= 0 ? rc
		       : transfer_check_blame(m, in, table,
					      transfer_check_column_of(table,
								       rule->column),
					      row - from, rule->what);
}

int transfer_check_rows(struct import *m, FILE *in)
{
	int rc = transfer_check_references(m, in);

	for (size_t i = 0; i < rule_count && rc >= 0; i++)
		rc = check_rule(m, in, &rule_table[i]);
	return rc;
}

int transfer_check_numbers(struct import *m, FILE *in)
{
	int task = transfer_find("task");
	struct transfer_gap_row gap;
	int rc = sql_row(m->call, transfer_gap, &gap, .from = transfer_from(m, "team"));

	return rc <= 0 ? rc
		       : transfer_check_blame(
				 m, in, task, transfer_check_column_of(task, "number"),
				 gap.number,
				 "is not the next one: tasks are numbered from 1");
}
