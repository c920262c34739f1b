/* test_mirror - files equal to rows, nothing lost, nothing written for nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/host/mirror.h"
#include "tests/lib/folder.h"
#include "core/host/mirror_page.h"
#include "core/host/mirror_render.h"

struct world {
	char dir[100];
	struct home home;
	struct store *store;
	sqlite3 *db; /* rows are written past the handlers */
	struct mirror *mirror;
};

/* --- scaffolding ------------------------------------------------------------------- */

static void run(struct world *w, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(w->db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error);
}

static void __attribute__((format(printf, 2, 3)))
runf(struct world *w, const char *fmt, ...)
{
	char sql[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(sql, sizeof(sql), fmt, args);
	va_end(args);
	run(w, sql);
}

static void event(struct world *w, int kind, int team, int subject, const char *detail)
{
	runf(w,
	     "INSERT INTO event (at, kind, team, actor, via, subject, target, detail) "
	     "VALUES (5, %d, %d, 1, 0, %d, 0, %s%s%s)",
	     kind, team, subject, detail ? "'" : "", detail ? detail : "NULL",
	     detail ? "'" : "");
}

static void add_team(struct world *w, int id, const char *name)
{
	runf(w,
	     "INSERT INTO team (id, name, created_at, inbox_capacity, max_vms) "
	     "VALUES (%d, '%s', 1000, 100, 10)",
	     id, name);
	event(w, 100, id, id, NULL);
}

static void add_agent(struct world *w, int id, int team, const char *name)
{
	runf(w,
	     "INSERT INTO agent (id, team, name, role, description, status, created_at, "
	     "active_at) VALUES (%d, %d, '%s', 'dev', 'writes | code', 1, 1000, 1000)",
	     id, team, name);
	event(w, 110, team, id, NULL);
}

static void add_task(struct world *w, int id, int team, int number, const char *title)
{
	runf(w,
	     "INSERT INTO task (id, team, number, slug, title, description, priority, "
	     "created_by, created_at, updated_at) VALUES (%d, %d, %d, 'slug', '%s', "
	     "'do it', 3, (SELECT min(id) FROM agent WHERE team = %d), 1000, 2000)",
	     id, team, number, title, team);
	event(w, 200, team, id, NULL);
}

static struct world *world_start(void)
{
	struct world *w = calloc(1, sizeof(*w));
	struct fault f = { 0 };
	char path[160];

	snprintf(w->dir, sizeof(w->dir), "%s/cadre-mirror-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->home.dir, sizeof(w->home.dir), "%s", w->dir);
	snprintf(w->home.vault, sizeof(w->home.vault), "%s/a/vault", w->dir);
	if (store_open(&w->store, w->dir, STORE_CREATE, NULL, &f) < 0)
		fail_msg("%s", f.text);
	snprintf(path, sizeof(path), "%s/state.db", w->dir);
	assert_int_equal(sqlite3_open(path, &w->db), SQLITE_OK);
	run(w, "PRAGMA synchronous=OFF");
	return w;
}

static void open_mirror(struct world *w)
{
	struct fault f = { 0 };

	if (mirror_open(&w->mirror, &w->home, &f) < 0)
		fail_msg("%s", f.text);
}

static void close_mirror(struct world *w)
{
	mirror_close(w->mirror);
	w->mirror = NULL;
}

static void pause_ms(int64_t ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* Mirrors until there is nothing more to do, waits for summaries included. */
static void settle(struct world *w)
{
	struct fault f = { 0 };
	bool more;

	if (!w->mirror)
		open_mirror(w);
	do {
		if (mirror_step(w->mirror, w->store, 1000, &more, &f) < 0)
			fail_msg("%s", f.text);
		if (!more && mirror_due(w->mirror) > 0)
			pause_ms(mirror_due(w->mirror));
	} while (more || mirror_due(w->mirror) >= 0);
}

static void equal(struct world *w)
{
	struct text report = { 0 };
	struct fault f = { 0 };
	int rc = mirror_verify(&w->home, w->store, &report, &f);

	if (rc != 0)
		fail_msg("%d differences: %s%s", rc, report.data ? report.data : "",
			 f.text);
	text_release(&report);
}

static void world_end(struct world *w)
{
	close_mirror(w);
	store_close(w->store);
	sqlite3_close(w->db);
	assert_int_equal(folder_remove(w->dir), 0);
	free(w);
}

static const char *at(struct world *w, const char *path)
{
	static __thread char full[4][512];
	static __thread unsigned turn;
	char *out = full[turn++ % 4];

	snprintf(out, 512, "%s/a/vault/%s", w->dir, path);
	return out;
}

static char *slurp(const char *path)
{
	FILE *in = fopen(path, "r");
	char *out;
	size_t n;

	if (!in)
		return NULL;
	out = calloc(1, 1 << 20);
	n = fread(out, 1, (1 << 20) - 1, in);
	out[n] = '\0';
	fclose(in);
	return out;
}

static void spit(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void holds(struct world *w, const char *path, const char *needle)
{
	char *text = slurp(at(w, path));

	if (!text)
		fail_msg("%s is not there", path);
	if (!strstr(text, needle))
		fail_msg("%s lacks «%s»:\n%s", path, needle, text);
	free(text);
}

static bool there(struct world *w, const char *path)
{
	struct stat st;

	return lstat(at(w, path), &st) == 0;
}

static ino_t inode(struct world *w, const char *path)
{
	struct stat st;

	assert_int_equal(stat(at(w, path), &st), 0);
	return st.st_ino;
}

static void small_team(struct world *w)
{
	add_team(w, 1, "demo");
	add_agent(w, 1, 1, "ada");
	add_agent(w, 2, 1, "bob");
	add_task(w, 1, 1, 1, "First");
	add_task(w, 2, 1, 2, "Second | with \"quotes\"");
	run(w, "INSERT INTO task_dep VALUES (2, 1)");
	run(w, "UPDATE task SET open_deps = 1 WHERE id = 2");
	event(w, 214, 1, 2, NULL);
}

/* --- tests ---------------------------------------------------------------------------- */

static void test_shows_everything(void **state)
{
	struct world *w = world_start();
	char *cursor;

	(void)state;
	small_team(w);
	run(w, "INSERT INTO task_tag VALUES (1, 0, 'a: b'), (1, 1, 'null')");
	run(w,
	    "INSERT INTO task_criterion VALUES (1, 1, 'it works', 1), (1, 2, 'docs', 0)");
	run(w, "INSERT INTO task_note (task, agent, at, text) VALUES "
	       "(1, 2, 3000, 'one' || char(10) || '## Result' || char(10) || 'two')");
	run(w,
	    "UPDATE task SET description = 'a' || char(10) || '## Notes' || char(10) || "
	    "'b' WHERE id = 1");
	event(w, 213, 1, 1, NULL);
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.md",
	      "---\nid: \"001\"\nstatus: pending\nowner: null\npriority: 3\n"
	      "depends_on: []\nblocked_by: []\ncreated_by: \"ada\"\n"
	      "created_at: \"1970-01-01T00:00:01.000Z\"\n"
	      "updated_at: \"1970-01-01T00:00:02.000Z\"\n"
	      "tags: [\"a: b\", \"null\"]\nepoch: 0\nrev: 7\nsum: ");
	holds(w, "teams/demo/tasks/001-slug.md",
	      "---\n\n# First\n\n## Description\n\na\n\\## Notes\nb\n\n"
	      "## Acceptance Criteria\n\n- [x] it works\n- [ ] docs\n\n## Notes\n\n"
	      "- 1970-01-01T00:00:03.000Z **bob**: one\n  \\## Result\n  two\n\n"
	      "## Result\n\n");
	holds(w, "teams/demo/tasks/002-slug.md",
	      "depends_on: [\"001\"]\nblocked_by: [\"001\"]");
	holds(w, "teams/demo/tasks/INDEX.md", "| pending | 2 |");
	holds(w, "teams/demo/tasks/INDEX.md",
	      "| [002](002-slug.md) | Second \\| with \"quotes\" | 3 |  | 001 |");
	holds(w, "teams/demo/TEAM.md",
	      "| [ada](cards/ada.json) | dev | ready | writes \\| code |");
	holds(w, "teams/demo/cards/ada.json", "\n  \"name\": \"ada\",\n");
	cursor = slurp(at(w, ".cadre-cursor"));
	assert_non_null(strstr(cursor, ".7\n"));
	free(cursor);
	world_end(w);
}

static void test_writes_nothing_unchanged(void **state)
{
	static const char *const files[] = { "teams/demo/tasks/001-slug.md",
					     "teams/demo/tasks/INDEX.md",
					     "teams/demo/TEAM.md",
					     "teams/demo/cards/ada.json" };
	struct world *w = world_start();
	ino_t before[4];

	(void)state;
	small_team(w);
	settle(w);
	for (int i = 0; i < 4; i++)
		before[i] = inode(w, files[i]);
	close_mirror(w);
	assert_int_equal(unlink(at(w, ".cadre-cursor")), 0);
	settle(w);
	event(w, 201, 1, 1, NULL);
	settle(w);
	for (int i = 0; i < 4; i++)
		assert_int_equal(inode(w, files[i]), before[i]);
	equal(w);
	world_end(w);
}

static void test_follows(void **state)
{
	struct world *w = world_start();

	(void)state;
	small_team(w);
	settle(w);
	run(w,
	    "UPDATE task SET state = 5, result = 'broke', updated_at = 9000 WHERE id = 1");
	event(w, 206, 1, 1, NULL);
	add_task(w, 3, 1, 3, "Third");
	add_agent(w, 3, 1, "eve");
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.md", "status: failed");
	holds(w, "teams/demo/tasks/001-slug.md", "## Result\n\nbroke\n");
	holds(w, "teams/demo/tasks/002-slug.md", "blocked_by: [\"001 (failed)\"]");
	holds(w, "teams/demo/tasks/INDEX.md", "| failed | 1 |");
	holds(w, "teams/demo/TEAM.md", "eve");
	run(w, "UPDATE agent SET name = 'adele' WHERE id = 1");
	event(w, 112, 1, 1, "ada");
	settle(w);
	equal(w);
	assert_false(there(w, "teams/demo/cards/ada.json"));
	holds(w, "teams/demo/tasks/001-slug.md", "created_by: \"adele\"");
	world_end(w);
}

static void touch_first(struct world *w, int priority)
{
	runf(w, "UPDATE task SET priority = %d WHERE id = 1", priority);
	event(w, 214, 1, 1, NULL);
}

static void test_keeps_what_a_person_wrote(void **state)
{
	struct world *w = world_start();
	const char *file = "teams/demo/tasks/001-slug.md";

	(void)state;
	small_team(w);
	settle(w);
	spit(at(w, file), "mine\n");
	touch_first(w, 1);
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.conflict.md", "mine\n");
	spit(at(w, file), "mine again\n");
	touch_first(w, 2);
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.conflict.md", "mine\n");
	holds(w, "teams/demo/tasks/001-slug.conflict-2.md", "mine again\n");
	/* A whole pass puts it back too, and keeps it. */
	spit(at(w, "teams/demo/cards/ada.json"), "{}\n");
	close_mirror(w);
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	equal(w);
	holds(w, "teams/demo/cards/ada.conflict.json", "{}\n");
	/* What a crash left in the stage: a person's text, and half a page. */
	close_mirror(w);
	spit(at(w, ".cadre-stage/old~00~teams~demo~tasks~002-slug.md"), "typed\n");
	spit(at(w, ".cadre-stage/new~01"), "---\nid: \"0");
	settle(w);
	holds(w, "teams/demo/tasks/002-slug.conflict.md", "typed\n");
	assert_false(there(w, ".cadre-stage/new~01"));
	world_end(w);
}

static void test_waits_for_a_writer(void **state)
{
	struct world *w = world_start();
	struct fault f = { 0 };
	int fd;

	(void)state;
	small_team(w);
	settle(w);
	/* An editor that opened the file before the exchange writes after it. */
	fd = open(at(w, "teams/demo/tasks/001-slug.md"), O_WRONLY | O_APPEND);
	assert_true(fd >= 0);
	touch_first(w, 1);
	close_mirror(w);
	assert_int_equal(mirror_catch_up(&w->home, w->store, 500, &f), 0);
	assert_false(there(w, "teams/demo/tasks/001-slug.conflict.md"));
	assert_int_equal(write(fd, "late\n", 5), 5);
	close(fd);
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-slug.conflict.md", "late\n");
	world_end(w);
}

static void test_follows_no_symlink(void **state)
{
	struct world *w = world_start();
	char outside[160], *text;

	(void)state;
	snprintf(outside, sizeof(outside), "%s/outside", w->dir);
	spit(outside, "untouched");
	small_team(w);
	settle(w);
	unlink(at(w, "teams/demo/tasks/001-slug.md"));
	assert_int_equal(symlink(outside, at(w, "teams/demo/tasks/001-slug.md")), 0);
	touch_first(w, 1);
	settle(w);
	equal(w);
	text = slurp(outside);
	assert_string_equal(text, "untouched");
	free(text);
	assert_true(there(w, "teams/demo/tasks/001-slug.conflict.md"));
	/* A folder of the mirror that leads out of the vault. */
	unlink(outside);
	assert_int_equal(mkdir(outside, 0700), 0);
	assert_int_equal(rename(at(w, "teams/demo/cards"), at(w, "elsewhere")), 0);
	assert_int_equal(symlink(outside, at(w, "teams/demo/cards")), 0);
	close_mirror(w);
	unlink(at(w, ".cadre-cursor"));
	settle(w);
	equal(w);
	assert_int_equal(rmdir(outside), 0);
	assert_true(there(w, "teams/demo/cards.conflict"));
	world_end(w);
}

static void destroy(struct world *w, int team, int purge)
{
	runf(w,
	     "UPDATE task SET state = 6, owner = NULL, lease_until = NULL WHERE team = %d",
	     team);
	runf(w, "UPDATE agent SET gone = 1 WHERE team = %d", team);
	runf(w,
	     "UPDATE team SET destroyed_at = 86400000, state = 4, purge = %d WHERE id = %d",
	     purge, team);
	event(w, 102, team, team, NULL);
}

static void test_archives(void **state)
{
	struct world *w = world_start();

	(void)state;
	small_team(w);
	settle(w);
	destroy(w, 1, 0);
	add_team(w, 2, "demo");
	add_agent(w, 9, 2, "zoe");
	add_task(w, 9, 2, 1, "New");
	settle(w);
	equal(w);
	holds(w, "teams/.archive/demo-1970-01-02/tasks/001-slug.md", "status: cancelled");
	holds(w, "teams/.archive/demo-1970-01-02/TEAM.md", "state: destroyed");
	assert_true(there(w, "teams/.archive/demo-1970-01-02/cards/ada.json"));
	assert_false(there(w, "teams/demo/cards/ada.json"));
	holds(w, "teams/demo/tasks/001-slug.md", "# New");
	destroy(w, 2, 0);
	settle(w);
	holds(w, "teams/.archive/demo-1970-01-02-2/tasks/001-slug.md", "# New");
	add_team(w, 3, "gone");
	add_agent(w, 10, 3, "kim");
	settle(w);
	assert_int_equal(symlink("/etc", at(w, "teams/gone/link")), 0);
	destroy(w, 3, 1);
	settle(w);
	assert_false(there(w, "teams/gone"));
	assert_true(access("/etc/passwd", F_OK) == 0);
	equal(w);
	world_end(w);
}

static void test_another_incarnation(void **state)
{
	struct world *w = world_start();

	(void)state;
	small_team(w);
	add_team(w, 2, "lost");
	add_agent(w, 5, 2, "kim");
	settle(w);
	spit(at(w, "teams/demo/tasks/my-own.md"), "a note of mine\n");
	/* A restored state knows nothing of task 2, of bob and of team 2. */
	run(w, "UPDATE state SET incarnation = 'beef'");
	run(w, "DELETE FROM task_dep");
	run(w, "DELETE FROM task WHERE id = 2");
	run(w, "DELETE FROM agent WHERE id IN (2, 5)");
	run(w, "DELETE FROM team WHERE id = 2");
	run(w, "DELETE FROM event WHERE seq > 3");
	settle(w);
	equal(w);
	assert_false(there(w, "teams/demo/tasks/002-slug.md"));
	assert_false(there(w, "teams/demo/cards/bob.json"));
	assert_false(there(w, "teams/lost"));
	holds(w, "teams/demo/tasks/my-own.md", "a note of mine\n");
	holds(w, ".cadre-cursor", "beef.3\n");
	world_end(w);
}

static void test_throttles_the_index(void **state)
{
	struct world *w = world_start();
	int64_t until;
	int writes = 0, steps = 0;
	ino_t last;
	struct timespec now;
	struct fault f = { 0 };
	bool more;

	(void)state;
	small_team(w);
	settle(w);
	last = inode(w, "teams/demo/tasks/INDEX.md");
	clock_gettime(CLOCK_MONOTONIC, &now);
	until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1000;
	do {
		touch_first(w, 1 + steps++ % 5);
		assert_int_equal(mirror_step(w->mirror, w->store, 50, &more, &f), 0);
		if (inode(w, "teams/demo/tasks/INDEX.md") != last)
			writes++;
		last = inode(w, "teams/demo/tasks/INDEX.md");
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until);
	print_message("%d changes in 1 s, INDEX.md written %d times\n", steps, writes);
	assert_in_range(writes, 1, 5);
	settle(w);
	equal(w);
	world_end(w);
}

static void test_one_at_a_time(void **state)
{
	struct world *w = world_start();
	struct fault f = { 0 };
	int64_t lag;

	(void)state;
	small_team(w);
	settle(w);
	touch_first(w, 1);
	/* The host holds the mirror: a direct process leaves it to the host. */
	assert_int_equal(mirror_catch_up(&w->home, w->store, 50, &f), 0);
	assert_int_equal(mirror_lag(&w->home, w->store, &lag, &f), 0);
	assert_int_equal(lag, 1);
	close_mirror(w);
	assert_int_equal(mirror_catch_up(&w->home, w->store, 50, &f), 0);
	assert_int_equal(mirror_lag(&w->home, w->store, &lag, &f), 0);
	assert_int_equal(lag, 0);
	equal(w);
	world_end(w);
}

static void test_quotes(void **state)
{
	struct world *w = world_start();

	(void)state;
	add_team(w, 1, "demo");
	add_agent(w, 1, 1, "null");
	add_task(w, 1, 1, 1, "x");
	run(w, "UPDATE task SET slug = '../../etc/x', title = 'a' || char(10) || '---'");
	run(w, "INSERT INTO task_tag VALUES (1, 0, 'q\"' || char(127, 133, 65279, 10) || "
	       "'sum: 0123456789abcdef' || char(8364))");
	settle(w);
	equal(w);
	holds(w, "teams/demo/tasks/001-------etc-x.md",
	      "tags: [\"q\\\"\\u007f\\u0085\\ufeff\\nsum: 0123456789abcdef€\"]");
	holds(w, "teams/demo/tasks/001-------etc-x.md", "# a ---\n");
	holds(w, "teams/demo/tasks/001-------etc-x.md", "created_by: \"null\"");
	world_end(w);
}

static void many(struct world *w, int n)
{
	run(w, "BEGIN");
	add_team(w, 1, "demo");
	add_agent(w, 1, 1, "ada");
	runf(w,
	     "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d) "
	     "INSERT INTO task (id, team, number, slug, title, description, priority, "
	     "created_by, created_at, updated_at) SELECT i, 1, i, 'a-task', 'Task ' || i, "
	     "hex(randomblob(300)), 1 + i %% 5, 1, i, i FROM c",
	     n);
	run(w, "INSERT INTO task_dep SELECT id, id - 1 FROM task WHERE id % 3 = 0");
	run(w, "INSERT INTO task_criterion SELECT id, 1, 'it holds', 0 FROM task");
	run(w,
	    "INSERT INTO task_note (task, agent, at, text) SELECT id, 1, 5, 'seen' FROM task");
	run(w, "INSERT INTO task_tag SELECT id, 0, 'tag' FROM task");
	run(w, "INSERT INTO event (at, kind, team, actor, via, subject, target) "
	       "SELECT 5, 200, 1, 1, 0, id, 0 FROM task");
	run(w, "COMMIT");
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void test_ten_thousand(void **state)
{
	struct world *w = world_start();
	double start, all, again, followed;

	(void)state;
	many(w, 10000);
	start = seconds();
	settle(w);
	all = seconds() - start;
	equal(w);
	close_mirror(w);
	unlink(at(w, ".cadre-cursor"));
	start = seconds();
	settle(w);
	again = seconds() - start;
	run(w, "UPDATE task SET state = 6, updated_at = 77");
	run(w, "INSERT INTO event (at, kind, team, actor, via, subject, target) "
	       "SELECT 5, 207, 1, 1, 0, id, 0 FROM task");
	start = seconds();
	settle(w);
	followed = seconds() - start;
	equal(w);
	print_message("10,000 tasks: written in %.2f s, compared in %.2f s, "
		      "replaced in %.2f s\n",
		      all, again, followed);
	assert_true(all < (getenv("ASAN_OPTIONS") ? 30 : 3));
	world_end(w);
}

/* A process that ends after 50 ms moves a large first pass forward each time. */
static void test_short_turns(void **state)
{
	struct world *w = world_start();
	struct fault f = { 0 };
	int64_t lag;
	int turns = 0;

	(void)state;
	many(w, 3000);
	do {
		assert_int_equal(mirror_catch_up(&w->home, w->store, 20, &f), 0);
		assert_int_equal(mirror_lag(&w->home, w->store, &lag, &f), 0);
	} while (lag != 0 && ++turns < 1000);
	print_message("3,000 tasks in %d short turns\n", turns + 1);
	assert_int_equal(lag, 0);
	equal(w);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shows_everything),
		cmocka_unit_test(test_writes_nothing_unchanged),
		cmocka_unit_test(test_follows),
		cmocka_unit_test(test_keeps_what_a_person_wrote),
		cmocka_unit_test(test_waits_for_a_writer),
		cmocka_unit_test(test_follows_no_symlink),
		cmocka_unit_test(test_archives),
		cmocka_unit_test(test_another_incarnation),
		cmocka_unit_test(test_throttles_the_index),
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_ten_thousand),
		cmocka_unit_test(test_short_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
