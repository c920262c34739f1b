/* transfer_import - adds the rows of an export to a state, in one transaction. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/pair.h"
#include "core/access/token.h"
#include "core/agent/agent.h"
#include "core/assignment/assignment.h"
#include "core/team/team.h"
#include "core/transfer/rule.h"
#include "core/transfer/transfer_inside.h"

/* transfer_check - checks the relations between the rows of an export, after the rows were
 * added. */

/* Returns the value of a column in a line that is a row. */
static const struct transfer_value *transfer_value_of(const struct transfer_line *line,
						      const char *column)
{
	return &line->values[transfer_column(line->table, column)];
}

/* Returns the highest key that a table had before the import. */
static int64_t transfer_from(const struct import *m, const char *table)
{
	return m->from[transfer_find(table)];
}

/* Sets a fault that names a line of the file. The line is the first row of `table` that has
 * `number` in the column `column`. */
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
							    "is not the number of a row");
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
					      transfer_column(table, rule->column),
					      row - from, rule->what);
}

/* Checks all references between rows, and all rules. Returns 0, or a fault that names the line. */
static int transfer_check_rows(struct import *m, FILE *in)
{
	int rc = transfer_check_references(m, in);

	for (size_t i = 0; i < rule_count && rc >= 0; i++)
		rc = check_rule(m, in, &rule_table[i]);
	return rc;
}

/* Checks that the tasks of each team are numbered from 1 without gaps. */
static int transfer_check_numbers(struct import *m, FILE *in)
{
	int task = transfer_find("task");
	struct transfer_gap_row gap;
	int rc = sql_row(m->call, transfer_gap, &gap, .from = transfer_from(m, "team"));

	return rc <= 0 ? rc
		       : transfer_check_blame(
				 m, in, task, transfer_column(task, "number"), gap.number,
				 "is not the next number: tasks are numbered from 1");
}

enum { DEEPEST = 64, NAME_MOST = 64 };

static bool is_row(const struct transfer_line *line, const char *table)
{
	return line->kind == LINE_ROW && !strcmp(transfer_table[line->table].name, table);
}

static bool is_team(const struct transfer_line *line)
{
	return is_row(line, "team");
}

/* --- the first reading ---------------------------------------------------------------- */

static int check_schema(struct import *m, const json_t *said)
{
	struct fault *f = &m->call->fault;
	int64_t newest = store_schema_version(m->call->store, f);

	if (f->code)
		return f->code;
	if (json_is_integer(said) && json_integer_value(said) > 0 &&
	    json_integer_value(said) <= newest)
		return 0;
	return fault_set(f, FAULT_INVALID, "/file",
			 "schema has to be a number from 1 to %" PRId64
			 ", the schema of this program",
			 newest);
}

static int keep_header(struct import *m, const json_t *json)
{
	const json_t *ids = json_object_get(json, "ids");

	m->counts = json_incref(json_object_get(json, "counts"));
	m->has_state = !json_object_get(json, "team");
	m->created_at = json_int_at(json, "created_at");
	m->counts_from = json_int_at(json, "counts_from");
	for (size_t i = 0; i < 3; i++)
		m->ids[i] = json_integer_value(json_array_get(ids, i));
	return check_schema(m, json_object_get(json, "schema"));
}

static void transfer_import_keep_team(struct import *m, const struct transfer_line *line)
{
	struct arena *a = &m->call->arena;
	struct transfer_name *name;

	if (!is_team(line) || !transfer_value_of(line, "destroyed_at")->null)
		return;
	if (transfer_value_of(line, "parent")->null && !m->n_roots++)
		m->root = m->n_names;
	name = arena_push(a, &m->names, &m->n_names, sizeof(*name));
	name->was = arena_strdup(a, transfer_value_of(line, "name")->text);
}

/* Checks that an operation could have given this name to the team or agent. A name with correct
 * spelling may still be reserved. */
static int transfer_import_check_name(struct import *m, const struct transfer_line *line)
{
	const char *name = is_team(line) || is_row(line, "agent")
				   ? transfer_value_of(line, "name")->text
				   : NULL;

	if (!name)
		return 0;
	if (is_team(line))
		return transfer_value_of(line, "destroyed_at")->null
			       ? team_check_name(m->call, name, "/file")
			       : 0;
	if (!agent_reserved(name) ||
	    transfer_value_of(line, "kind")->n == AGENT_KIND_OPERATOR)
		return 0;
	return fault_set(&m->call->fault, FAULT_INVALID, "/file",
			 "%s is a reserved name, which no member has", name);
}

/* Compares the number of rows of each table with the number in the header. The file may have
 * fewer notes than the header says, since notes may have been removed during the export. */
static int check_counts(struct import *m)
{
	struct fault *f = &m->call->fault;
	const char *name;
	json_t *told;

	json_object_foreach(m->counts, name, told) {
		bool notes = !strcmp(name, "note");
		int table = notes ? transfer_count : transfer_find(name);

		if (table < 0)
			fault_set(f, FAULT_INVALID, "/file", "there are no rows of %.64s",
				  name);
		else if (!json_is_integer(told) ||
			 (!notes && json_integer_value(told) != m->found[table]))
			fault_set(f, FAULT_INVALID, "/file",
				  "counts: the file holds %" PRId64 " rows of %s",
				  m->found[table], name);
		if (f->code)
			return transfer_at(1, f);
	}
	return 0;
}

static int transfer_import_check_line(struct import *m, const struct transfer_line *line)
{
	switch (line->kind) {
	case LINE_HEADER:
		return keep_header(m, line->json);
	case LINE_NOTE:
		m->found[transfer_count]++;
		return transfer_note_check(m->call, line->path);
	case LINE_ROW:
		m->found[line->table]++;
		transfer_import_keep_team(m, line);
		return transfer_import_check_name(m, line);
	case LINE_END:
		break;
	}
	return 0;
}

static int transfer_import_check_all(struct import *m, FILE *in)
{
	struct call *call = m->call;
	struct transfer_reader *r = &m->reader;
	int rc;

	m->found = arena_alloc(&call->arena,
			       ((size_t)transfer_count + 1) * sizeof(*m->found));
	memset(m->found, 0, ((size_t)transfer_count + 1) * sizeof(*m->found));
	transfer_reader_init(r, in, call->now);
	while ((rc = transfer_read(r, &call->fault)) > 0)
		if (transfer_import_check_line(m, &r->line) < 0)
			return transfer_at(r->n, &call->fault);
	transfer_reader_release(r);
	return rc < 0 ? rc : check_counts(m);
}

/* --- names ---------------------------------------------------------------------------- */

/* Whether a living team, or another team of the file, has this name. For a team of the file,
 * both its old name and its new name count. */
static int is_taken(struct import *m, size_t own, const char *name)
{
	struct team_taken_row row;

	for (size_t i = 0; i < m->n_names; i++)
		if (i != own && (!strcmp(m->names[i].was, name) ||
				 (m->names[i].is && !strcmp(m->names[i].is, name))))
			return 1;
	return sql_row(m->call, team_taken, &row, .name = name);
}

static int choose_name(struct import *m, size_t own)
{
	const char *was = m->names[own].was, *name = was;
	int rc;

	for (int i = 2; (rc = is_taken(m, own, name)) > 0; i++) {
		char end[16];
		int n = snprintf(end, sizeof(end), "-%d", i);

		name = arena_printf(&m->call->arena, "%.*s%s", NAME_MOST - n, was, end);
	}
	m->names[own].is = name;
	return rc;
}

static int check_as(struct import *m, struct fault *f)
{
	const struct transfer_column name = {
		.name = "the name", .kind = TRANSFER_TYPE, .text = true, .type = "name"
	};
	struct transfer_value v;
	json_t *said = json_string(m->as);

	if (transfer_take(&name, said, m->call->now, &v, f) < 0)
		snprintf(f->where, sizeof(f->where), "/as");
	json_decref(said);
	return f->code ? (int)f->code : team_check_name(m->call, m->as, "/as");
}

static int take_as(struct import *m)
{
	struct fault *f = &m->call->fault;
	int rc;

	if (check_as(m, f) < 0)
		return f->code;
	if (m->n_roots != 1)
		return fault_set(f, FAULT_INVALID, "/as",
				 "the export holds %zu teams without a team above, and "
				 "a new name is for one team",
				 m->n_roots);
	rc = is_taken(m, m->root, m->as);
	if (rc > 0) {
		fault_set(f, FAULT_CONFLICT, "/as", "there is a team %.64s already",
			  m->as);
		return fault_hint(f, "choose another name");
	}
	m->names[m->root].is = m->as;
	return rc;
}

static int choose_names(struct import *m)
{
	int rc = m->as ? take_as(m) : 0;

	for (size_t i = 0; i < m->n_names && rc >= 0; i++)
		if (!m->names[i].is)
			rc = choose_name(m, i);
	return rc < 0 ? rc : 0;
}

static const char *new_name(const struct import *m, const char *was, size_t n)
{
	for (size_t i = 0; i < m->n_names; i++)
		if (strlen(m->names[i].was) == n && !memcmp(m->names[i].was, was, n))
			return m->names[i].is;
	return NULL;
}

/* --- rows ------------------------------------------------------------------------------ */

/* Returns the table that holds the subject of an event of this kind, or -1 if there is no such
 * table. */
static int subject_table(int64_t kind)
{
	switch (events_of(kind)) {
	case EVENTS_AGENT:
		return transfer_find("agent");
	case EVENTS_MESSAGE:
	case EVENTS_ASSIGNMENT:
		return transfer_find("message");
	case EVENTS_TASK:
		return transfer_find("task");
	case EVENTS_TEAM:
		return transfer_find("team");
	case EVENTS_WORKSPACE:
		return transfer_find("workspace");
	case EVENTS_TURN:
		return transfer_find("turn");
	case EVENTS_TOKEN:
	case EVENTS_VAULT:
	case EVENTS_RESERVATION:
	case EVENTS_NONE:
		break;
	}
	return -1;
}

/* Checks that a row refers only to earlier rows of its own table, so that no row is its own
 * ancestor. */
static int check_earlier(const struct transfer_line *line,
			 const struct transfer_column *c, int64_t n, struct fault *f)
{
	const struct transfer_column *key = &transfer_table[line->table].columns[0];

	/* The agent in the column `holder` may have a later row. The team of this agent is
	 * checked after all rows were added. */
	if (c->kind != TRANSFER_ROW || c->table != line->table ||
	    strcmp(c->name, "holder") == 0 || key->kind != TRANSFER_KEY ||
	    n < line->values[0].n)
		return 0;
	return fault_set(f, FAULT_INVALID, "/file",
			 "%s is not the number of an earlier row", c->name);
}

/* Raises the row's numbers above the numbers that this state already uses. */
static int move_numbers(struct import *m, struct transfer_line *line)
{
	const struct transfer_table *t = &transfer_table[line->table];
	struct transfer_value moved[TRANSFER_COLUMNS];
	int64_t kind = 0;

	memcpy(moved, line->values, sizeof(moved));
	for (int i = 0; i < t->n_columns; i++) {
		const struct transfer_column *c = &t->columns[i];
		const int64_t n = line->values[i].n;
		int table = c->kind == TRANSFER_KEY ? line->table : c->table;

		if (c->kind == TRANSFER_EVENT)
			kind = n;
		if (c->kind == TRANSFER_SUBJECT)
			table = subject_table(kind);
		if (line->values[i].null || table < 0 || n <= 0)
			continue;
		if (check_earlier(line, c, n, &m->call->fault) < 0)
			return m->call->fault.code;
		moved[i].n = n + m->from[table];
		if (moved[i].n > transfer_key_most(m->call->now))
			return fault_set(
				&m->call->fault, FAULT_INVALID, "/file",
				"%s %" PRId64
				" is too large to be added to the present numbers",
				c->name, n);
	}
	memcpy(line->values, moved, sizeof(moved));
	return 0;
}

static int transfer_import_add_row(struct import *m, struct transfer_line *line)
{
	struct transfer_value *name;

	if (move_numbers(m, line) < 0)
		return m->call->fault.code;
	if (is_team(line) && transfer_value_of(line, "destroyed_at")->null) {
		name = (struct transfer_value *)transfer_value_of(line, "name");
		name->text = new_name(m, name->text, name->size);
		name->size = strlen(name->text);
	}
	m->report->rows++;
	return transfer_add(m->rows, line->table, line->values, &m->call->fault);
}

static int add_note(struct import *m, const struct transfer_line *line)
{
	const char *path = line->path, *name;

	if (!strncmp(path, "teams/", 6)) {
		size_t n = strcspn(path + 6, "/");

		name = new_name(m, path + 6, n);
		if (name)
			path = arena_printf(&m->call->arena, "teams/%s%s", name,
					    path + 6 + n);
	}
	m->report->notes++;
	return transfer_note_stage(m->call, &m->notes, line, path);
}

/* Does the second reading. The file is checked again, because it may have changed since the
 * first reading. */
static int transfer_import_add_all(struct import *m, FILE *in)
{
	struct transfer_reader *r = &m->reader;
	struct fault *f = &m->call->fault;
	int rc;

	transfer_reader_init(r, in, m->call->now);
	while ((rc = transfer_read(r, f)) > 0) {
		if (r->line.kind == LINE_ROW)
			rc = transfer_import_add_row(m, &r->line);
		else if (r->line.kind == LINE_NOTE)
			rc = add_note(m, &r->line);
		if (rc < 0)
			return transfer_at(r->n, f);
	}
	return rc;
}

/* --- values that follow from the rows ------------------------------------------------------ */

static int set_depths(struct import *m)
{
	int rc = 1;

	for (int i = 0; rc > 0 && i < DEEPEST; i++)
		rc = sql_run(m->call, transfer_depth, .from = transfer_from(m, "team"));
	if (rc > 0)
		return fault_set(&m->call->fault, FAULT_INVALID, "/file",
				 "teams are more than %d deep", DEEPEST);
	return rc;
}

static int set_counts(struct import *m, FILE *in)
{
	struct call *call = m->call;
	int64_t team = transfer_from(m, "team"), agent = transfer_from(m, "agent");
	int rc;

	if ((rc = set_depths(m)) < 0 ||
	    (rc = sql_run(call, transfer_budgets, .from = team)) < 0 ||
	    (rc = sql_run(call, transfer_clocks, .from = team, .now = call->now)) < 0 ||
	    (rc = sql_run(call, transfer_teams, .from = team)) < 0 ||
	    (rc = transfer_check_numbers(m, in)) < 0 ||
	    (rc = sql_run(call, transfer_deps, .from = transfer_from(m, "task"))) < 0 ||
	    (rc = sql_run(call, transfer_boards, .from = team)) < 0 ||
	    (rc = sql_run(call, transfer_reserved, .from = team)) < 0 ||
	    (rc = sql_run(call, transfer_tasks, .from = transfer_from(m, "task"))) < 0 ||
	    (rc = sql_run(call, transfer_stuck, .from = transfer_from(m, "task"))) < 0 ||
	    (rc = sql_run(call, transfer_tags, .from = transfer_from(m, "task"))) < 0 ||
	    (rc = sql_run(call, transfer_owed, .from = transfer_from(m, "message"))) <
		    0 ||
	    (rc = sql_run(call, transfer_turns_end, .from = transfer_from(m, "turn"),
			  .now = call->now)) < 0 ||
	    (rc = sql_run(call, transfer_inboxes, .from = agent)) < 0)
		return rc;
	rc = sql_run(call, transfer_inbox_counts, .from = agent);
	return rc < 0 ? rc : 0;
}

/* Corrects times that are too far in the future. The clock of the exported state may have been
 * ahead, or somebody may have edited the file. A lease that ends too late begins again now. A
 * message whose delay is longer than PAIR_DELAY_MOST_MS is delivered now. */
static int set_times(struct import *m)
{
	struct call *call = m->call;
	int rc = sql_run(call, task_from_future, .now = call->now);

	if (rc >= 0)
		rc = sql_run(call, delivery_from_future, .now = call->now);
	if (rc >= 0)
		rc = sql_run(call, delayed_from_future, .now = call->now,
			     .latest = call->now + PAIR_DELAY_MOST_MS);
	return rc < 0 ? rc : 0;
}

/* Gives each imported member a token that is made with this state's secret. The operator can
 * get the token. */
static int give_tokens(struct import *m)
{
	struct call *call = m->call;
	struct transfer_members_row *all = NULL;
	size_t n = 0;
	int64_t from = transfer_from(m, "agent");
	/* If this state continues the exported state, the imported members keep their
	 * generations. */
	int rc = m->report->whole ? 0 : sql_run(call, transfer_generations, .from = from);

	if (rc >= 0)
		rc = sql_all(call, transfer_members, &all, &n, .from = from);

	for (size_t i = 0; i < n && rc >= 0; i++) {
		char token[TOKEN_SIZE];
		uint8_t hash[TOKEN_HASH];

		token_make(call->settings->secret, all[i].id, all[i].generation, token);
		token_hash(token, hash);
		rc = sql_run(call, agent_set_token, .agent = all[i].id,
			     .token = { hash, TOKEN_HASH });
	}
	return rc < 0 ? rc : 0;
}

/* Ends all open commands of the import. This state cannot know whether such a command has run
 * or still runs elsewhere. */
static int end_commands(struct import *m)
{
	struct call *call = m->call;
	struct transfer_at_work_row *all = NULL;
	size_t n;
	int rc = sql_all(call, transfer_at_work, &all, &n,
			 .from = transfer_from(m, "agent"));

	for (size_t i = 0; i < n && rc >= 0; i++) {
		rc = assignment_end_all(call, all[i].agent,
					"interrupted: its team was imported; this "
					"command may still run elsewhere");
		m->report->ended += rc > 0 ? rc : 0;
	}
	return rc < 0 ? rc : 0;
}

static int renew_state(struct import *m)
{
	struct call *call = m->call;
	const char *incarnation =
		arena_printf(&call->arena, "%016" PRIx64, (uint64_t)call->seed);
	int rc = sql_run(call, transfer_renew, .incarnation = incarnation);

	if (rc < 0 || !m->report->whole)
		return rc < 0 ? rc : 0;
	rc = sql_run(call, transfer_adopt, .created_at = m->created_at, .id_a = m->ids[0],
		     .id_b = m->ids[1], .id_c = m->ids[2], .counts_from = m->counts_from);
	return rc < 0 ? rc : 0;
}

/* --- the whole --------------------------------------------------------------------------------- */

static int look_at_state(struct import *m)
{
	struct transfer_begun_row begun;
	int rc = sql_row(m->call, transfer_begun, &begun);

	m->report->whole = m->has_state && !begun.so;
	m->from = arena_alloc(&m->call->arena, (size_t)transfer_count * sizeof(*m->from));
	for (int i = 0; i < transfer_count && rc >= 0; i++)
		rc = transfer_last(m->rows, i, &m->from[i], &m->call->fault);
	return rc < 0 ? rc : 0;
}

/* Writes all rows of the import, between BEGIN and COMMIT. */
static int transfer_import_write_all(struct import *m, FILE *in)
{
	int rc;

	if ((rc = look_at_state(m)) < 0 || (rc = choose_names(m)) < 0 ||
	    (rc = renew_state(m)) < 0 || (rc = transfer_import_add_all(m, in)) < 0 ||
	    (rc = transfer_check_rows(m, in)) < 0 || (rc = set_counts(m, in)) < 0 ||
	    (rc = set_times(m)) < 0 || (rc = give_tokens(m)) < 0 ||
	    (rc = end_commands(m)) < 0)
		return rc;
	return transfer_note_decide(m->call, &m->notes);
}

int transfer_import(struct call *call, FILE *in, const char *as,
		    struct transfer_report *report)
{
	struct import m = { .call = call, .as = as, .report = report };
	int rc;

	*report = (struct transfer_report){ 0 };
	if (transfer_import_check_all(&m, in) < 0 || (rc = call_begin(call, true)) < 0)
		goto out;
	m.rows = transfer_begin(call->store);
	rc = transfer_import_write_all(&m, in);
	transfer_end(m.rows);
	if (rc < 0)
		store_rollback(call->store);
	else
		store_commit(call->store, &call->fault);
	report->teams = m.names;
	report->n_teams = m.n_names;
out:
	if (call->fault.code)
		transfer_note_drop(call, &m.notes);
	json_decref(m.counts);
	transfer_note_end(call, &m.notes);
	transfer_reader_release(&m.reader);
	return call->fault.code;
}
