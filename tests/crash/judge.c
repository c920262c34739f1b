#include "tests/crash/judge.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/mirror/mirror.h"
#include "tests/crash/crash.h"
#include "tests/crash/journal.h"
#include "tests/lib/place.h"

enum { SHOWN = 5, MIRROR_MS = 10000 };

struct court {
	sqlite3 *db;
	sqlite3_stmt *try, *end, *again, *note;
	const char *who; /* the client whose journal is read */
	int findings;
};

static void finding(struct court *c, const char *what, const char *detail)
{
	printf("  ! %s: %s\n", what, detail);
	c->findings++;
}

/* --- journals into tables ---------------------------------------------------------- */

static void bind_json(sqlite3_stmt *st, int at, const json_t *json)
{
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	sqlite3_bind_text(st, at, text, -1, SQLITE_TRANSIENT);
	free(text);
}

static void bind_text(sqlite3_stmt *st, int at, const json_t *json, const char *name)
{
	sqlite3_bind_text(st, at, json_string_value(json_object_get(json, name)), -1,
			  SQLITE_TRANSIENT);
}

static void run(struct court *c, sqlite3_stmt *st)
{
	if (sqlite3_step(st) != SQLITE_DONE)
		finding(c, "a journal cannot be read", sqlite3_errmsg(c->db));
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
}

static void enter(void *arg, const char *line, json_t *json)
{
	struct court *c = arg;
	json_int_t at = json_integer_value(json_object_get(json, "at"));
	sqlite3_stmt *st = json_object_get(json, "try") ? c->
	try : json_object_get(json, "end")
		? c->end : json_object_get(json, "note") ? c->note : c->again;

	(void)line;
	sqlite3_bind_int64(st, sqlite3_bind_parameter_index(st, ":at"), at);
	sqlite3_bind_text(st, sqlite3_bind_parameter_index(st, ":who"), c->who, -1,
			  SQLITE_STATIC);
	for (int i = 1; i <= sqlite3_bind_parameter_count(st); i++) {
		const char *name = sqlite3_bind_parameter_name(st, i) + 1;
		const json_t *value = json_object_get(json, name);

		if (json_is_string(value))
			bind_text(st, i, json, name);
		else if (json_is_object(value))
			bind_json(st, i, value);
	}
	run(c, st);
}

static void read_journals(struct court *c, const struct scene *s)
{
	char path[128];

	sqlite3_prepare_v2(c->db,
			   "INSERT INTO act (who, key, op, args, tried_at)"
			   " VALUES (:who, :try, :op, :args, :at)",
			   -1, &c->try, NULL);
	sqlite3_prepare_v2(c->db,
			   "UPDATE act SET code = :code, result = :result, text = :text,"
			   " ended_at = :at WHERE key = :end AND :who IS NOT NULL",
			   -1, &c->end, NULL);
	sqlite3_prepare_v2(
		c->db,
		"INSERT INTO again (key, code, result, at) VALUES (:again, :code,"
		" coalesce(:result, :text), iif(:who IS NULL, 0, :at))",
		-1, &c->again, NULL);
	sqlite3_prepare_v2(c->db,
			   "INSERT INTO note (key, text, at)"
			   " VALUES (:note, :text, iif(:who IS NULL, 0, :at))",
			   -1, &c->note, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		snprintf(path, sizeof(path), "%s/journal/%s", s->base, client_names[i]);
		c->who = client_names[i];
		journal_read(path, enter, c);
	}
	sqlite3_finalize(c->try);
	sqlite3_finalize(c->end);
	sqlite3_finalize(c->again);
	sqlite3_finalize(c->note);
}

static int count_lines(const char *path)
{
	FILE *in = fopen(path, "re");
	int n = 0, ch;

	while (in && (ch = getc(in)) != EOF)
		n += ch == '\n';
	if (in)
		fclose(in);
	return n;
}

static void read_runs(struct court *c, const struct scene *s)
{
	char path[400];
	sqlite3_stmt *st;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/runs", s->base);
	dir = opendir(path);
	sqlite3_prepare_v2(c->db, "INSERT INTO ran (key, lines) VALUES (?, ?)", -1, &st,
			   NULL);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/runs/%s", s->base, e->d_name);
		sqlite3_bind_text(st, 1, e->d_name, -1, SQLITE_TRANSIENT);
		sqlite3_bind_int(st, 2, count_lines(path));
		run(c, st);
	}
	if (dir)
		closedir(dir);
	sqlite3_finalize(st);
}

/* --- the rules ------------------------------------------------------------------------ */

static void print_row(sqlite3_stmt *st, const char *between)
{
	for (int i = 0; i < sqlite3_column_count(st); i++) {
		const char *text = (const char *)sqlite3_column_text(st, i);

		printf("%s%s=%.400s", i ? between : "", sqlite3_column_name(st, i),
		       text ? text : "-");
	}
	printf("\n");
}

/* The first column of a finding holds a key. Prints the lines of the journals that concern this
 * key. */
static void print_journal(struct court *c, sqlite3_stmt *row)
{
	sqlite3_stmt *st;

	if (strncmp(sqlite3_column_name(row, 0), "key", 3))
		return;
	sqlite3_prepare_v2(
		c->db,
		"SELECT key, op, args, tried_at, code, ended_at, coalesce(result, text)"
		"	AS said FROM act WHERE instr(?, key) ORDER BY tried_at",
		-1, &st, NULL);
	sqlite3_bind_value(st, 1, sqlite3_column_value(row, 0));
	while (sqlite3_step(st) == SQLITE_ROW) {
		printf("      ");
		print_row(st, " ");
	}
	sqlite3_finalize(st);
}

static void apply(struct court *c, const struct rule *r)
{
	sqlite3_stmt *st = NULL;
	int n = 0, rc = sqlite3_prepare_v2(c->db, r->sql, -1, &st, NULL);

	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(st);
		if (rc != SQLITE_ROW)
			break;
		if (n++ == 0)
			finding(c, "broken", r->says);
		if (n > SHOWN)
			continue;
		printf("    ");
		print_row(st, " ");
		print_journal(c, st);
	}
	if (rc != SQLITE_DONE)
		finding(c, r->says, sqlite3_errmsg(c->db));
	else if (n > SHOWN)
		printf("    ... %d in all\n", n);
	sqlite3_finalize(st);
}

static int run_part(struct court *c, const char *name)
{
	char *sql = rules_part(name);
	int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);

	free(sql);
	return rc;
}

static void sum_up(struct court *c, const struct scene *s)
{
	char *sql = rules_part("counts");
	sqlite3_stmt *st;

	sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);
	free(sql);
	if (sqlite3_step(st) == SQLITE_ROW)
		print_row(st, ", ");
	for (int i = 0; i < sqlite3_column_count(st); i++) {
		const char *name = sqlite3_column_name(st, i);

		if (sqlite3_column_int(st, i) == 0 &&
		    (!strcmp(name, "sends") || !strcmp(name, "handed") ||
		     !strcmp(name, "acks") || (!strcmp(name, "ran") && !s->direct_only)))
			finding(c, "nothing happened", name);
	}
	sqlite3_finalize(st);
}

static void judge_rows(struct court *c, const struct scene *s)
{
	struct rule r = { 0 };
	char attach[160];

	snprintf(attach, sizeof(attach), "ATTACH 'file:%s/state.db?mode=ro' AS s",
		 s->home);
	if (sqlite3_open_v2("file::memory:", &c->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
			    NULL) != SQLITE_OK ||
	    sqlite3_exec(c->db, attach, NULL, NULL, NULL) != SQLITE_OK ||
	    run_part(c, "tables") != SQLITE_OK ||
	    sqlite3_exec(c->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) {
		finding(c, "the state cannot be opened", sqlite3_errmsg(c->db));
		return;
	}
	read_journals(c, s);
	read_runs(c, s);
	if (run_part(c, "views") != SQLITE_OK)
		finding(c, "the journals make no sense", sqlite3_errmsg(c->db));
	while (rules_next(&r))
		if (r.is_rule)
			apply(c, &r);
	sum_up(c, s);
}

/* --- the file and the mirror -------------------------------------------------------------- */

static void judge_mirror(struct court *c, const struct home *home, struct store *store)
{
	int64_t until = clock_steady_ms() + patience_ms(MIRROR_MS), lag = 1;
	struct text report = { 0 };
	struct fault f = { 0 };

	/* Without a host, each writer updates the mirror only for a moment. The next writer
	 * continues the update. */
	while (lag != 0 && clock_steady_ms() < until && !f.code) {
		mirror_catch_up(home, store, 200, &f);
		mirror_lag(home, store, &lag, &f);
	}
	if (lag != 0)
		finding(c, "the mirror does not catch up", f.text);
	if (mirror_verify(home, store, &report, NULL, &f) != 0)
		finding(c, "the mirror is not what the rows are",
			f.code        ? f.text
			: report.data ? report.data
				      : "");
	text_release(&report);
}

static void judge_file(struct court *c, const struct scene *s)
{
	struct home *home = calloc(1, sizeof(*home));
	struct store *store = NULL;
	struct fault f = { 0 };

	if (home_find(home, s->home, HOME_LOOK, &f) < 0 ||
	    store_open(&store, home->dir, 0, NULL, &f) < 0 || store_check(store, &f) < 0)
		finding(c, "the state file", f.text);
	else
		judge_mirror(c, home, store);
	store_close(store);
	free(home);
}

int judge(const struct scene *s)
{
	struct court c = { 0 };

	judge_rows(&c, s);
	sqlite3_close(c.db);
	judge_file(&c, s);
	return c.findings;
}
