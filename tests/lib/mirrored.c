#include "tests/lib/mirrored.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/lib/folder.h"
#include "tests/lib/place.h"

void run(struct mirrored *w, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(w->db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error);
}

void runf(struct mirrored *w, const char *fmt, ...)
{
	char sql[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(sql, sizeof(sql), fmt, args);
	va_end(args);
	run(w, sql);
}

void event(struct mirrored *w, int kind, int team, int subject, const char *detail)
{
	runf(w,
	     "INSERT INTO event (at, kind, team, actor, via, subject, target, detail) "
	     "VALUES (5, %d, %d, 1, 0, %d, 0, %s%s%s)",
	     kind, team, subject, detail ? "'" : "", detail ? detail : "NULL",
	     detail ? "'" : "");
}

/* Stores the counts that the handlers would have stored. */
static void count_boards(struct mirrored *w)
{
	run(w, "UPDATE team SET next_task = 1 + "
	       "(SELECT count(*) FROM task k WHERE k.team = team.id)");
	run(w, "REPLACE INTO board (team, waiting, completed, failed, cancelled) "
	       "SELECT t.id, count(k.id) FILTER (WHERE k.state = 0 AND k.open_deps > 0), "
	       "count(k.id) FILTER (WHERE k.state = 4), "
	       "count(k.id) FILTER (WHERE k.state = 5), "
	       "count(k.id) FILTER (WHERE k.state = 6) "
	       "FROM team t LEFT JOIN task k ON k.team = t.id GROUP BY t.id");
}

void add_team(struct mirrored *w, int id, const char *name)
{
	runf(w,
	     "INSERT INTO team (id, name, created_at, inbox_capacity, max_vms) "
	     "VALUES (%d, '%s', 1000, 100, 10)",
	     id, name);
	count_boards(w);
	event(w, 100, id, id, NULL);
}

void add_agent(struct mirrored *w, int id, int team, const char *name)
{
	runf(w,
	     "INSERT INTO agent (id, team, name, role, description, status, created_at, "
	     "active_at) VALUES (%d, %d, '%s', 'dev', 'writes | code', 1, 1000, 1000)",
	     id, team, name);
	runf(w, "INSERT INTO agent_inbox (agent) VALUES (%d)", id);
	event(w, 110, team, id, NULL);
}

void add_task(struct mirrored *w, int id, int team, int number, const char *title)
{
	runf(w,
	     "INSERT INTO task (id, team, number, slug, title, description, priority, "
	     "created_by, created_at, updated_at) VALUES (%d, %d, %d, 'slug', '%s', "
	     "'do it', 3, (SELECT min(id) FROM agent WHERE team = %d), 1000, 2000)",
	     id, team, number, title, team);
	event(w, 200, team, id, NULL);
}

struct mirrored *mirrored_open(void)
{
	struct mirrored *w = calloc(1, sizeof(*w));
	struct fault f = { 0 };
	char path[160];

	snprintf(w->dir, sizeof(w->dir), "%s/cadre-mirror-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->home.dir, sizeof(w->home.dir), "%s", w->dir);
	snprintf(w->home.vault, sizeof(w->home.vault), "%s/a/vault", w->dir);
	notes_disk_init(&w->home.notes, w->home.vault, w->home.dir);
	w->home.settings.notes = &w->home.notes.notes;
	if (store_open(&w->store, w->dir, STORE_CREATE, NULL, &f) < 0)
		fail_msg("%s", f.text);
	snprintf(path, sizeof(path), "%s/state.db", w->dir);
	assert_int_equal(sqlite3_open(path, &w->db), SQLITE_OK);
	run(w, "PRAGMA synchronous=OFF");
	return w;
}

void open_mirror(struct mirrored *w)
{
	struct fault f = { 0 };

	if (mirror_open(&w->mirror, &w->home, &f) < 0)
		fail_msg("%s", f.text);
}

void close_mirror(struct mirrored *w)
{
	mirror_close(w->mirror);
	w->mirror = NULL;
}

void settle(struct mirrored *w)
{
	struct fault f = { 0 };
	bool more;

	count_boards(w);
	if (!w->mirror)
		open_mirror(w);
	do {
		if (mirror_step(w->mirror, w->store, 1000, &more, &f) < 0)
			fail_msg("%s", f.text);
		if (!more && mirror_due(w->mirror) > 0)
			pause_for((int)mirror_due(w->mirror));
	} while (more || mirror_due(w->mirror) >= 0);
}

void equal(struct mirrored *w)
{
	struct text report = { 0 };
	struct fault f = { 0 };
	int rc;

	count_boards(w);
	rc = mirror_verify(&w->home, w->store, &report, NULL, &f);

	if (rc != 0)
		fail_msg("%d differences: %s%s", rc, report.data ? report.data : "",
			 f.text);
	text_release(&report);
}

void mirrored_close(struct mirrored *w)
{
	close_mirror(w);
	store_close(w->store);
	sqlite3_close(w->db);
	assert_int_equal(folder_remove(w->dir), 0);
	free(w);
}

const char *at(struct mirrored *w, const char *path)
{
	static __thread char full[4][512];
	static __thread unsigned turn;
	char *out = full[turn++ % 4];

	snprintf(out, 512, "%s/a/vault/%s", w->dir, path);
	return out;
}

char *slurp(const char *path)
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

void spit(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

void holds(struct mirrored *w, const char *path, const char *needle)
{
	char *text = slurp(at(w, path));

	if (!text)
		fail_msg("%s is not there", path);
	if (!strstr(text, needle))
		fail_msg("%s lacks «%s»:\n%s", path, needle, text);
	free(text);
}

bool there(struct mirrored *w, const char *path)
{
	struct stat st;

	return lstat(at(w, path), &st) == 0;
}

ino_t inode(struct mirrored *w, const char *path)
{
	struct stat st;

	assert_int_equal(stat(at(w, path), &st), 0);
	return st.st_ino;
}

void small_team(struct mirrored *w)
{
	add_team(w, 1, "demo");
	add_agent(w, 1, 1, "ada");
	add_agent(w, 2, 1, "bob");
	add_task(w, 1, 1, 1, "First");
	add_task(w, 2, 1, 2, "Second | with \"quotes\"");
	run(w, "INSERT INTO task_dep VALUES (2, 1)");
	run(w, "UPDATE task SET open_deps = 1 WHERE id = 2");
	count_boards(w);
	event(w, 214, 1, 2, NULL);
}

void touch_first(struct mirrored *w, int priority)
{
	runf(w, "UPDATE task SET priority = %d WHERE id = 1", priority);
	event(w, 214, 1, 1, NULL);
}

void many(struct mirrored *w, int n)
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
	run(w, "INSERT INTO task_tag (task, n, tag) SELECT id, 0, 'tag' FROM task");
	run(w, "INSERT INTO event (at, kind, team, actor, via, subject, target) "
	       "SELECT 5, 200, 1, 1, 0, id, 0 FROM task");
	count_boards(w);
	run(w, "COMMIT");
}
