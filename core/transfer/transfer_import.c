/* transfer_import - adds the rows of an export to a state, in one transaction. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/token.h"
#include "core/assignment.h"
#include "core/base/alloc.h"
#include "core/event.h"
#include "core/transfer/transfer_inside.h"

enum { DEEPEST = 64, NAME_MOST = 64 };

struct import {
	struct call *call;
	struct transfer_reader reader;
	const char *as;
	struct transfer_report *report;
	/* Names of living teams in the file, and those they get. */
	struct transfer_name *names;
	size_t n_names;
	size_t root, n_roots; /* the first of those that are below none; how many */
	bool has_state; /* the header is of a whole state */
	int64_t created_at, ids[3], counts_from;
	int64_t *from; /* of each table: the highest key before the import */
	struct transfer *rows;
	struct transfer_notes notes;
};

static const struct transfer_value *value_of(const struct transfer_line *line,
					     const char *column)
{
	const struct transfer_table *t = &transfer_table[line->table];

	for (int i = 0; i < t->n_columns; i++)
		if (!strcmp(t->columns[i].name, column))
			return &line->values[i];
	return NULL;
}

static bool is_team(const struct transfer_line *line)
{
	return line->kind == LINE_ROW &&
	       !strcmp(transfer_table[line->table].name, "team");
}

/* --- the first reading ---------------------------------------------------------------- */

static void keep_header(struct import *m, const json_t *json)
{
	const json_t *ids = json_object_get(json, "ids");

	m->has_state = !json_object_get(json, "team");
	m->created_at = json_integer_value(json_object_get(json, "created_at"));
	m->counts_from = json_integer_value(json_object_get(json, "counts_from"));
	for (size_t i = 0; i < 3; i++)
		m->ids[i] = json_integer_value(json_array_get(ids, i));
}

static void keep_team(struct import *m, const struct transfer_line *line)
{
	struct arena *a = &m->call->arena;
	struct transfer_name *name;

	if (!is_team(line) || !value_of(line, "destroyed_at")->null)
		return;
	if (value_of(line, "parent")->null && !m->n_roots++)
		m->root = m->n_names;
	name = arena_push(a, &m->names, &m->n_names, sizeof(*name));
	name->was = arena_strdup(a, value_of(line, "name")->text);
}

static int check_all(struct import *m, FILE *in)
{
	struct call *call = m->call;
	struct transfer_reader *r = &m->reader;
	int rc;

	transfer_reader_init(r, in);
	while ((rc = transfer_read(r, &call->fault)) > 0) {
		if (r->line.kind == LINE_HEADER)
			keep_header(m, r->line.json);
		else if (r->line.kind == LINE_NOTE &&
			 transfer_note_check(call, r->line.path) < 0)
			return transfer_at(r->n, &call->fault);
		else
			keep_team(m, &r->line);
	}
	transfer_reader_release(r);
	return rc;
}

/* --- names ---------------------------------------------------------------------------- */

/* Whether a living team has the name, or another one of the file has it or gets it. */
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

static int check_as(const char *as, struct fault *f)
{
	const struct transfer_column name = {
		.name = "the name", .kind = TRANSFER_TYPE, .text = true, .type = "name"
	};
	struct transfer_value v;
	json_t *said = json_string(as);

	if (transfer_take(&name, said, &v, f) < 0)
		snprintf(f->where, sizeof(f->where), "/as");
	json_decref(said);
	return f->code;
}

static int take_as(struct import *m)
{
	struct fault *f = &m->call->fault;
	int rc;

	if (check_as(m->as, f) < 0)
		return f->code;
	if (m->n_roots != 1)
		return fault_set(f, FAULT_INVALID, "/as",
				 "the export holds %zu teams that are below none, and a "
				 "name is for one",
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

/* The table whose row an event of that kind is about, or -1. */
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
	case EVENTS_TOKEN:
	case EVENTS_VAULT:
	case EVENTS_NONE:
		break;
	}
	return -1;
}

/* A row refers to earlier ones of its own table alone, so that none is above itself. */
static int check_earlier(const struct transfer_line *line,
			 const struct transfer_column *c, int64_t n, struct fault *f)
{
	const struct transfer_column *key = &transfer_table[line->table].columns[0];

	if (c->kind != TRANSFER_ROW || c->table != line->table ||
	    key->kind != TRANSFER_KEY || n < line->values[0].n)
		return 0;
	return fault_set(f, FAULT_INVALID, "/file",
			 "%s is not the number of an earlier row", c->name);
}

/* Gives the row's numbers their places behind those that are here. */
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
	}
	memcpy(line->values, moved, sizeof(moved));
	return 0;
}

static int add_row(struct import *m, struct transfer_line *line)
{
	struct transfer_value *name;

	if (move_numbers(m, line) < 0)
		return m->call->fault.code;
	if (is_team(line) && value_of(line, "destroyed_at")->null) {
		name = (struct transfer_value *)value_of(line, "name");
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

/* The second reading; the file may have changed since the first, and is checked again. */
static int add_all(struct import *m, FILE *in)
{
	struct transfer_reader *r = &m->reader;
	struct fault *f = &m->call->fault;
	int rc;

	transfer_reader_init(r, in);
	while ((rc = transfer_read(r, f)) > 0) {
		if (r->line.kind == LINE_ROW)
			rc = add_row(m, &r->line);
		else if (r->line.kind == LINE_NOTE)
			rc = add_note(m, &r->line);
		if (rc < 0)
			return transfer_at(r->n, f);
	}
	return rc;
}

/* --- what refers to nothing --------------------------------------------------------------- */

/* Names the line of a row of that table with that number in the column. */
static int blame(struct import *m, FILE *in, int table, int column, int64_t number,
		 const char *what)
{
	const char *name = transfer_table[table].columns[column].name;
	struct transfer_reader *r = &m->reader;
	struct fault f = { 0 };

	transfer_reader_release(r);
	transfer_reader_init(r, in);
	while (transfer_read(r, &f) > 0)
		if (r->line.kind == LINE_ROW && r->line.table == table &&
		    r->line.values[column].n == number)
			break;
	fault_set(&m->call->fault, FAULT_INVALID, "/file", "%s %" PRId64 " %s", name,
		  number, what);
	return transfer_at(r->n, &m->call->fault);
}

static int check_references(struct import *m, FILE *in)
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
				return blame(m, in, i, c, n - m->from[to],
					     "is the number of no row");
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/* --- what follows from the rows ------------------------------------------------------------ */

static int64_t from(const struct import *m, const char *table)
{
	return m->from[transfer_find(table)];
}

static int set_depths(struct import *m)
{
	int rc = 1;

	for (int i = 0; rc > 0 && i < DEEPEST; i++)
		rc = sql_run(m->call, transfer_depth, .from = from(m, "team"));
	if (rc > 0)
		return fault_set(&m->call->fault, FAULT_INVALID, "/file",
				 "teams are more than %d deep", DEEPEST);
	return rc;
}

static int check_numbers(struct import *m, FILE *in)
{
	int task = transfer_find("task"), column = 0;
	struct transfer_gap_row gap;
	int rc = sql_row(m->call, transfer_gap, &gap, .from = from(m, "team"));

	while (strcmp(transfer_table[task].columns[column].name, "number") != 0)
		column++;
	return rc <= 0 ? rc
		       : blame(m, in, task, column, gap.number,
			       "is not the next one: tasks are numbered from 1");
}

static int set_counts(struct import *m, FILE *in)
{
	struct call *call = m->call;
	int64_t team = from(m, "team"), agent = from(m, "agent");
	int rc;

	if ((rc = set_depths(m)) < 0 ||
	    (rc = sql_run(call, transfer_budgets, .from = team)) < 0 ||
	    (rc = sql_run(call, transfer_teams, .from = team)) < 0 ||
	    (rc = check_numbers(m, in)) < 0 ||
	    (rc = sql_run(call, transfer_deps, .from = from(m, "task"))) < 0 ||
	    (rc = sql_run(call, transfer_boards, .from = team)) < 0 ||
	    (rc = sql_run(call, transfer_inboxes, .from = agent)) < 0)
		return rc;
	rc = sql_run(call, transfer_inbox_counts, .from = agent);
	return rc < 0 ? rc : 0;
}

/* Members get tokens of this state, which the operator can ask for. */
static int give_tokens(struct import *m)
{
	struct call *call = m->call;
	struct transfer_members_row *all = NULL;
	size_t n;
	int rc = sql_all(call, transfer_members, &all, &n, .from = from(m, "agent"));

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

/* Whether a command ran, or runs in the state that was exported, is not known here. */
static int end_commands(struct import *m)
{
	struct call *call = m->call;
	struct transfer_at_work_row *all = NULL;
	size_t n;
	int rc = sql_all(call, transfer_at_work, &all, &n, .from = from(m, "agent"));

	for (size_t i = 0; i < n && rc >= 0; i++) {
		rc = assignment_end_all(call, all[i].agent,
					"interrupted: its team was imported; whether "
					"this command runs elsewhere is not known");
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

/* Everything that is written, between BEGIN and COMMIT. */
static int write_all(struct import *m, FILE *in)
{
	int rc;

	if ((rc = look_at_state(m)) < 0 || (rc = choose_names(m)) < 0 ||
	    (rc = renew_state(m)) < 0 || (rc = add_all(m, in)) < 0 ||
	    (rc = check_references(m, in)) < 0 || (rc = set_counts(m, in)) < 0 ||
	    (rc = give_tokens(m)) < 0 || (rc = end_commands(m)) < 0)
		return rc;
	return transfer_note_decide(m->call, &m->notes);
}

int transfer_import(struct call *call, FILE *in, const char *as,
		    struct transfer_report *report)
{
	struct import m = { .call = call, .as = as, .report = report };
	int rc;

	*report = (struct transfer_report){ 0 };
	if (check_all(&m, in) < 0 || (rc = call_begin(call, true)) < 0)
		goto out;
	m.rows = transfer_begin(call->store);
	rc = write_all(&m, in);
	transfer_end(m.rows);
	if (rc < 0)
		store_rollback(call->store);
	else
		store_commit(call->store, &call->fault);
	report->teams = m.names;
	report->n_teams = m.n_names;
out:
	transfer_note_end(call, &m.notes);
	transfer_reader_release(&m.reader);
	return call->fault.code;
}
