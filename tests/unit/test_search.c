/* test_search - the results of a search, and which callers may see the results. If the index is
 * lost, no result is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "storage/search/search.h"
#include "storage/search/search_vault.h"
#include "tests/lib/folder.h"
#include "tests/lib/place.h"

struct world {
	char dir[100];
	struct store *store;
	sqlite3 *db; /* writes rows without the handlers */
	struct arena arena;
};

static void run(struct world *w, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(w->db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error);
}

static void open_store(struct world *w)
{
	struct fault f = { 0 };

	if (store_open(&w->store, w->dir, STORE_CREATE, NULL, &f) < 0)
		fail_msg("%s", f.text);
}

static struct world *world_start(void)
{
	struct world *w = calloc(1, sizeof(*w));
	char path[160];

	snprintf(w->dir, sizeof(w->dir), "%s/cadre-search-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(w->dir));
	open_store(w);
	snprintf(path, sizeof(path), "%s/state.db", w->dir);
	assert_int_equal(sqlite3_open(path, &w->db), SQLITE_OK);
	run(w, "PRAGMA synchronous=OFF;"
	       "INSERT INTO team (id, name, created_at, inbox_capacity, max_vms) "
	       "VALUES (1, 'one', 1, 0, 1), (2, 'two', 1, 0, 1);"
	       "INSERT INTO agent (id, team, name, created_at, active_at) VALUES "
	       "(1, 1, 'ada', 1, 1), (2, 1, 'bob', 1, 1), (3, 1, 'eve', 1, 1), "
	       "(4, 2, 'zoe', 1, 1);"
	       "INSERT INTO agent_inbox (agent) SELECT id FROM agent");
	return w;
}

static void world_end(struct world *w)
{
	arena_release(&w->arena);
	store_close(w->store);
	sqlite3_close(w->db);
	assert_int_equal(folder_remove(w->dir), 0);
	free(w);
}

static void send(struct world *w, int team, int from, int to, const char *text)
{
	char *sql = sqlite3_mprintf(
		"INSERT INTO message (team, sender, at, urgent, to_all, ack_required, type, "
		"content) VALUES (%d, %d, 5, 0, %d, 0, 'text', %Q);"
		"INSERT INTO event (at, kind, team, actor, via, subject, target) VALUES "
		"(5, 120, %d, %d, 0, last_insert_rowid(), %d)",
		team, from, to == 0, text, team, from, to);

	run(w, sql);
	sqlite3_free(sql);
	if (to) {
		sql = sqlite3_mprintf(
			"INSERT INTO delivery (message, agent, lane, state) "
			"SELECT max(id), %d, 1, 0 FROM message",
			to);
		run(w, sql);
		sqlite3_free(sql);
	}
}

/* Indexes every row. Returns the number of the last indexed event. */
static int64_t step(struct world *w)
{
	int64_t indexed_to = -1;
	struct fault f = { 0 };
	struct search *s;
	bool more;

	do {
		s = store_search(w->store, &f);
		if (!s || store_begin(w->store, false, &f) < 0 ||
		    search_step(s, w->store, 50, &indexed_to, &more, &f) < 0)
			fail_msg("%s", f.text);
		store_rollback(w->store);
	} while (more);
	return indexed_to;
}

/* Searches on behalf of the agent `agent` of team 1 (0: without a restriction to an agent).
 * Returns the numbers of the rows that were found, such as "3,1". */
static const char *find(struct world *w, enum search_place place, int agent,
			const char *text)
{
	struct search_scope scope = { .place = place,
				      .team = 1,
				      .agent = agent,
				      .before = INT64_MAX,
				      .limit = 20 };
	struct search *s;
	struct search_query q;
	struct fault f = { 0 };
	int64_t rows[20];
	char *out = arena_strdup(&w->arena, "");
	int n;

	step(w);
	s = store_search(w->store, &f);
	if (search_parse(s, text, &q, &w->arena, &f) < 0)
		return arena_printf(&w->arena, "%s %s", f.where, f.text);
	n = search_match(s, &q, &scope, rows, &f);
	if (n < 0)
		fail_msg("%s: %s -> %s", f.text, text, q.match);
	for (int i = 0; i < n; i++)
		out = arena_printf(&w->arena, "%s%s%d", out, i ? "," : "", (int)rows[i]);
	return out;
}

/* Finds tasks, those whose title alone matches first. */
static const char *find_tasks(struct world *w, const char *text)
{
	const char *titles = find(w, SEARCH_TITLES, 0, text),
		   *others = find(w, SEARCH_TASKS, 0, text);

	return arena_printf(&w->arena, "%s%s%s", titles, *titles && *others ? "," : "",
			    others);
}

static const char *excerpt(struct world *w, const char *query, const char *text)
{
	struct search_query q;
	struct fault f = { 0 };
	struct search *s = store_search(w->store, &f);

	assert_int_equal(search_parse(s, query, &q, &w->arena, &f), 0);
	return search_excerpt(s, &q, text, &w->arena);
}

/* --- tests ------------------------------------------------------------------------ */

static void test_syntax(void **state)
{
	static const struct {
		const char *query, *found;
	} cases[] = {
		{ "alpha", "5,4,1" },
		{ "ALPHA beta", "5,1" },
		{ "alpha AND beta", "5,1" },
		{ "beta OR delta", "5,4,2,1" },
		{ "alpha NOT beta", "4" },
		{ "alpha NOT beta NOT delta", "" },
		{ "\"alpha beta\"", "1" },
		{ "\"beta alpha\"", "5" },
		{ "alp*", "5,4,1" },
		{ "\"alpha be\"*", "1" },
		{ "(alpha OR gamma) beta", "5,2,1" },
		{ "cafe", "3" },
		{ "café", "3" },
		{ "foo-bar", "3" },
		{ "foo - bar", "3" },
		{ "x.y()", "/query an operator has nothing to work on" },
		{ "\"x.y()\"", "3" },
		{ "scope:t2", "" },
		{ "{scope}:t1", "" },
		{ "and", "" },
		{ "\"and\" OR delta", "4" },
		{ "don't; DROP TABLE message_text", "" },
		{ "body : alpha", "" },
		{ "^alpha NEAR(beta)", "" },
		{ "-", "/query there is no word to look for" },
		{ "NOT alpha", "/query NOT needs something before it" },
		{ "alpha OR", "/query an operator has nothing to work on" },
		{ "OR alpha", "/query an operator has nothing to work on" },
		{ "alpha AND AND beta", "/query an operator has nothing to work on" },
		{ "alpha NOT", "/query an operator has nothing to work on" },
		{ "(alpha", "/query a parenthesis is not closed" },
		{ "alpha)", "/query a parenthesis closes nothing" },
		{ "\"alpha", "/query a quote is not closed" },
		{ "((((((((((alpha))))))))))", "/query parentheses go too deep" },
	};
	struct world *w = world_start();

	(void)state;
	send(w, 1, 1, 2, "alpha beta");
	send(w, 1, 1, 2, "Beta gamma");
	send(w, 1, 1, 2, "Café foo-bar x.y()");
	send(w, 1, 1, 2, "alpha delta");
	send(w, 1, 1, 2, "the beta alpha");
	send(w, 2, 4, 0, "alpha of another team");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *found = find(w, SEARCH_MESSAGES, 0, cases[i].query);

		if (strcmp(found, cases[i].found) != 0)
			fail_msg("%s: found %s, not %s", cases[i].query, found,
				 cases[i].found);
	}
	world_end(w);
}

static void test_many_words(void **state)
{
	struct world *w = world_start();
	char query[501] = "";

	(void)state;
	send(w, 1, 1, 2, "a");
	for (int i = 0; i < 250; i++)
		memcpy(query + 2 * i, i % 2 ? "b " : "a ", 3);
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, query), "");
	for (int i = 0; i < 100; i++)
		memcpy(query + 5 * i, "a OR ", 6);
	memcpy(query + 495, "a", 2);
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, query), "1");
	for (int i = 0; i < 83; i++)
		memcpy(query + 6 * i, "a NOT ", 7);
	memcpy(query + 498, "c", 2);
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, query), "");
	world_end(w);
}

static void test_who_sees_what(void **state)
{
	struct world *w = world_start();

	(void)state;
	send(w, 1, 1, 2, "secret one");
	send(w, 1, 2, 3, "secret two");
	send(w, 1, 1, 0, "secret for all");
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, "secret"), "3,2,1");
	assert_string_equal(find(w, SEARCH_MESSAGES, 1, "secret"), "3,1");
	assert_string_equal(find(w, SEARCH_MESSAGES, 2, "secret"), "3,2,1");
	assert_string_equal(find(w, SEARCH_MESSAGES, 3, "secret"), "3,2");
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, "t1"), "");
	world_end(w);
}

static void add_task(struct world *w, int id, const char *title)
{
	char *sql = sqlite3_mprintf(
		"INSERT INTO task (id, team, number, slug, title, priority, created_by, "
		"created_at, updated_at) VALUES (%d, 1, %d, 's', %Q, 3, 1, 5, 5);"
		"INSERT INTO event (at, kind, team, actor, via, subject, target) VALUES "
		"(5, 200, 1, 1, 0, %d, 0)",
		id, id, title, id);

	run(w, sql);
	sqlite3_free(sql);
}

static void test_tasks_change(void **state)
{
	struct world *w = world_start();

	(void)state;
	add_task(w, 1, "paint the fence");
	add_task(w, 2, "fence the garden");
	run(w,
	    "INSERT INTO task_note (task, agent, at, text) VALUES (1, 2, 6, 'no paint')");
	assert_string_equal(find_tasks(w, "fence"), "2,1");
	assert_string_equal(find(w, SEARCH_NOTES, 3, "paint"), "1");
	run(w, "UPDATE task SET title = 'paint the wall', result = 'blue' WHERE id = 1;"
	       "INSERT INTO event (at, kind, team, actor, via, subject, target) VALUES "
	       "(5, 205, 1, 1, 0, 1, 0)");
	assert_string_equal(find_tasks(w, "fence"), "2");
	assert_string_equal(find_tasks(w, "wall blue"), "1");
	assert_string_equal(find(w, SEARCH_TITLES, 0, "wall blue"), "");
	assert_string_equal(find(w, SEARCH_TITLES, 0, "wall"), "1");
	assert_string_equal(find(w, SEARCH_TASKS, 0, "wall"), "");
	assert_int_equal(step(w), 3);
	world_end(w);
}

static void change_task(struct world *w, int id, const char *title)
{
	char *sql = sqlite3_mprintf(
		"UPDATE task SET title = %Q WHERE id = %d;"
		"INSERT INTO event (at, kind, team, actor, via, subject, target) VALUES "
		"(5, 205, 1, 1, 0, %d, 0)",
		title, id, id);

	run(w, sql);
	sqlite3_free(sql);
}

/* More tasks change than one slice can index. The tasks change in mixed order, and some change
 * twice. */
static void test_many_tasks_change(void **state)
{
	struct world *w = world_start();

	(void)state;
	for (int i = 1; i <= 300; i++)
		add_task(w, i, "paint the fence");
	assert_true(strncmp(find_tasks(w, "fence"), "300,299,298,", 12) == 0);
	for (int i = 0; i < 301; i++)
		change_task(w, 1 + i * 7 % 300, "paint the wall");
	change_task(w, 8, "mend the gate");
	change_task(w, 150, "mend the gate");
	change_task(w, 8, "paint the gate");
	assert_string_equal(find_tasks(w, "fence"), "");
	assert_true(strncmp(find_tasks(w, "wall"), "300,299,298,", 12) == 0);
	assert_string_equal(find_tasks(w, "gate"), "150,8");
	assert_string_equal(find_tasks(w, "gate paint"), "8");
	world_end(w);
}

static void search_path(struct world *w, char out[160])
{
	snprintf(out, 160, "%s/search.db", w->dir);
}

static void reopen(struct world *w)
{
	store_close(w->store);
	open_store(w);
}

static void test_thrown_away(void **state)
{
	struct world *w = world_start();
	char path[160], noise[8192];
	struct stat st;
	FILE *file;

	(void)state;
	send(w, 1, 1, 2, "before");
	add_task(w, 1, "task before");
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, "before"), "1");
	search_path(w, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* The file of the index is missing. */
	store_close(w->store);
	assert_int_equal(unlink(path), 0);
	open_store(w);
	assert_string_equal(find_tasks(w, "before"), "1");
	/* The state gets another incarnation, so words of the former rows are not found. */
	run(w, "UPDATE state SET incarnation = 'beef'; DELETE FROM message;"
	       "DELETE FROM delivery;"
	       "DELETE FROM event WHERE seq = 1");
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, "before"), "");
	send(w, 1, 1, 2, "after before");
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, "before"), "1");
	/* The file of the index is not a database. */
	store_close(w->store);
	memset(noise, 'x', sizeof(noise));
	file = fopen(path, "w");
	assert_int_equal(fwrite(noise, 1, sizeof(noise), file), sizeof(noise));
	fclose(file);
	open_store(w);
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, "after"), "1");
	assert_string_equal(find_tasks(w, "before"), "1");
	/* Events that the index has not read are deleted, so all tasks are read again. */
	run(w,
	    "UPDATE task SET title = 'renamed';"
	    "INSERT INTO event (at, kind, team, actor, via, subject, target) VALUES "
	    "(5, 214, 1, 1, 0, 1, 0), (5, 120, 1, 1, 0, 1, 0), (5, 120, 1, 1, 0, 1, 0);"
	    "DELETE FROM event WHERE seq < (SELECT max(seq) FROM event)");
	assert_string_equal(find_tasks(w, "renamed"), "1");
	reopen(w);
	assert_string_equal(find_tasks(w, "before"), "");
	world_end(w);
}

/* While another program has a transaction on search.db, an existing index can be opened. A call
 * that has to make the index waits half a second and fails. */
static void test_locked(void **state)
{
	struct world *w = world_start();
	struct search *search = NULL;
	struct fault f = { 0 };
	sqlite3 *other;
	char path[160];
	int64_t began;

	(void)state;
	send(w, 1, 1, 2, "before");
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, "before"), "1");
	search_path(w, path);
	store_close(w->store);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), 0);
	open_store(w);
	assert_int_equal(search_open(&search, w->dir, &f), 0);
	search_close(search);
	assert_int_equal(sqlite3_exec(other,
				      "ROLLBACK; PRAGMA user_version = 0;"
				      "BEGIN IMMEDIATE",
				      NULL, NULL, NULL),
			 0);
	began = clock_steady_ms();
	assert_int_equal(search_open(&search, w->dir, &f), FAULT_UNAVAILABLE);
	assert_true(clock_steady_ms() - began >= 500);
	assert_non_null(strstr(f.hint, "keeps search.db"));
	sqlite3_close(other);
	world_end(w);
}

/* If the mirror's folders were read in less than a millisecond, the next search reads them
 * again. After a slower read there is a pause, which grows with the read's time up to half a
 * minute. */
static void test_rests(void **state)
{
	struct search *s = NULL;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(search_open(&s, NULL, &f), 0);
	assert_false(search_shown_rest(s, 0));
	search_shown_looked(s, 100, 100);
	assert_false(search_shown_rest(s, 100));
	search_shown_looked(s, 100, 110);
	assert_true(search_shown_rest(s, 20099));
	assert_false(search_shown_rest(s, 20100));
	search_shown_looked(s, 100, 9000);
	assert_true(search_shown_rest(s, 30099));
	assert_false(search_shown_rest(s, 30100));
	search_close(s);
}

/* If the machine crashed while the index was open, the index cannot be trusted. */
static void test_unclean(void **state)
{
	struct world *w = world_start();
	char path[160];
	sqlite3 *db;
	sqlite3_stmt *st;

	(void)state;
	send(w, 1, 1, 2, "hello");
	step(w);
	reopen(w);
	search_path(w, path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT boot FROM place", -1, &st, NULL),
			 0);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(st, 0), "");
	sqlite3_finalize(st);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE place SET boot = 'another'; "
				      "INSERT INTO message_text(rowid, scope, body) "
				      "VALUES (9, 't1', 'hello')",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, "hello"), "1");
	world_end(w);
}

static void test_excerpts(void **state)
{
	struct world *w = world_start();
	char longer[4000] = "", *at = longer;
	const char *out;

	(void)state;
	assert_string_equal(excerpt(w, "beta", "alpha Beta\n\tgamma"),
			    "alpha [Beta] gamma");
	assert_string_equal(excerpt(w, "cafe AND gam*", "Café, gamma!"),
			    "[Café], [gamma]!");
	assert_string_equal(excerpt(w, "\"a b\" NOT c", "c a x a b c"), "c a x [a b] c");
	assert_string_equal(excerpt(w, "zzz", "nothing"), "nothing");
	assert_string_equal(excerpt(w, "zzz", ""), "");
	for (int i = 0; i < 300; i++)
		at += snprintf(at, 16, "wörd%d ", i);
	out = excerpt(w, "wörd200", longer);
	assert_non_null(strstr(out, " [wörd200] "));
	assert_memory_equal(out, "…wörd19", strlen("…wörd19"));
	assert_true(strstr(out, "[wörd200]") - out < 30);
	assert_true(strlen(out) < 230);
	assert_memory_equal(out + strlen(out) - 3, "…", 3);
	memset(longer, 'x', sizeof(longer) - 1);
	assert_true(strlen(excerpt(w, "y", longer)) < 230);
	world_end(w);
}

/* Sixteen processes make and fill the index at once, and one of these processes is killed
 * meanwhile. */
static void test_many_processes(void **state)
{
	struct world *w = world_start();
	pid_t child[16];

	(void)state;
	run(w, "BEGIN");
	for (int i = 0; i < 3000; i++)
		send(w, 1, 1, 2, "one more word");
	run(w, "COMMIT");
	store_close(w->store);
	for (int i = 0; i < 16; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			open_store(w);
			_exit(step(w) == 3000 ? 0 : 1);
		}
	}
	kill(child[3], SIGKILL);
	for (int i = 0; i < 16; i++) {
		int status;

		waitpid(child[i], &status, 0);
		if (i != 3)
			assert_int_equal(status, 0);
	}
	open_store(w);
	assert_string_equal(find(w, SEARCH_MESSAGES, 0, "more NOT word"), "");
	assert_int_equal(step(w), 3000);
	assert_true(strncmp(find(w, SEARCH_MESSAGES, 2, "more"), "3000,2999,", 10) == 0);
	world_end(w);
}

enum { PARTS_FEW = 8, PAGE_MOST = 1024 };

/* Runs a statement in search.db, and returns the number that the statement returns. */
static int64_t ask_index(struct world *w, const char *sql)
{
	char path[160];
	sqlite3 *db;
	sqlite3_stmt *st;
	int64_t n;

	search_path(w, path);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

static int64_t parts(struct world *w)
{
	return ask_index(w, "SELECT count(DISTINCT segid) FROM message_text_idx");
}

/* An index that was filled in many small steps has few parts. An index that was filled in large
 * steps has few parts after some more steps. */
static void test_parts(void **state)
{
	struct world *w = world_start();

	(void)state;
	for (int i = 0; i < 300; i++) {
		send(w, 1, 1, 2, "a word");
		step(w);
		if (i % 10 == 0) /* sometimes FTS5 merges all parts by itself */
			assert_in_range(parts(w), 1, PARTS_FEW);
	}
	for (int i = 0; i < 5000; i++)
		send(w, 1, 1, 2, "a word of many");
	for (int i = 0; i < 20; i++)
		step(w);
	assert_in_range(parts(w), 1, PARTS_FEW);
	assert_true(strncmp(find(w, SEARCH_MESSAGES, 2, "word"), "5300,5299,", 10) == 0);
	world_end(w);
}

/* A search that finds many rows but returns few of them still reads a whole page of each part
 * of the index. Therefore the pages must be small. */
static void test_pages(void **state)
{
	struct world *w = world_start();

	(void)state;
	for (int i = 0; i < 3000; i++)
		send(w, 1, 1, 2, "a word of many");
	step(w);
	assert_in_range(ask_index(w, "SELECT max(length(block)) FROM message_text_data"),
			PAGE_MOST / 2, PAGE_MOST);
	assert_true(strncmp(find(w, SEARCH_MESSAGES, 2, "word"), "3000,2999,", 10) == 0);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_many_words),
		cmocka_unit_test(test_who_sees_what),
		cmocka_unit_test(test_tasks_change),
		cmocka_unit_test(test_many_tasks_change),
		cmocka_unit_test(test_thrown_away),
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_rests),
		cmocka_unit_test(test_unclean),
		cmocka_unit_test(test_excerpts),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
