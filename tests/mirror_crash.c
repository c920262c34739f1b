/*
 * mirror_crash - kills the mirror many times while the mirror writes files and a person edits
 * these files. At the end the files must match the rows, and the team's message pages must have
 * each message once. Each edit must still be in one of the files.
 *
 *   mirror_crash [KILLS [SEED]]
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/mirror/mirror.h"
#include "storage/store_inside.h"
#include "tests/lib/folder.h"

enum { TASKS = 60, FIRST_KILLS = 40 };

struct world {
	char dir[100];
	struct home home;
	uint64_t seed;
	int edits; /* markers written: edit-0, edit-1, … */
};

/* --- scaffolding ---------------------------------------------------------------- */

static void die(const char *what, const char *why)
{
	fprintf(stderr, "mirror_crash: %s: %s\n", what, why);
	exit(1);
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void sleep_us(uint64_t us)
{
	const struct timespec t = { .tv_sec = (time_t)(us / 1000000),
				    .tv_nsec = (long)(us % 1000000) * 1000 };

	nanosleep(&t, NULL);
}

static struct store *open_store(struct world *w)
{
	struct fault f = { 0 };
	struct store *s;

	if (store_open(&s, w->dir, STORE_CREATE, NULL, &f) < 0)
		die("store_open", f.text);
	return s;
}

static sqlite3 *open_rows(struct world *w)
{
	char path[160];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/state.db", w->dir);
	if (sqlite3_open(path, &db) != SQLITE_OK)
		die("open", sqlite3_errmsg(db));
	sqlite3_busy_timeout(db, 10000);
	return db;
}

static void run(sqlite3 *db, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
		die(sql, error);
}

static const char log_it[] =
	"INSERT INTO event (at, kind, team, actor, via, subject, target, detail) ";

static void make_rows(sqlite3 *db)
{
	char sql[1024];

	run(db, "PRAGMA synchronous=OFF; BEGIN;"
		"INSERT INTO team (id, name, created_at, inbox_capacity, max_vms) "
		"VALUES (1, 'demo', 1000, 0, 1);"
		"INSERT INTO agent (id, team, name, created_at, active_at) "
		"VALUES (1, 1, 'ada', 1000, 1000);"
		"INSERT INTO agent_inbox (agent) VALUES (1)");
	for (int i = 1; i <= TASKS; i++) {
		snprintf(sql, sizeof(sql),
			 "INSERT INTO task (id, team, number, slug, title, priority, "
			 "created_by, created_at, updated_at) VALUES "
			 "(%d, 1, %d, 'task', 'Task', 3, 1, 1000, 1000)",
			 i, i);
		run(db, sql);
	}
	snprintf(sql, sizeof(sql),
		 "UPDATE team SET next_task = %d; INSERT INTO board (team) VALUES (1);"
		 "COMMIT",
		 TASKS + 1);
	run(db, sql);
}

/* --- the process that is killed ----------------------------------------------------- */

/* Changes rows in a transaction of the store. A process that writes without the store and is
 * killed may leave a WAL file behind. The store may take this file for another program's. */
static void write_rows(struct store *store, const char *sql)
{
	struct fault f = { 0 };

	if (store_begin(store, true, &f) < 0)
		die("store_begin", f.text);
	run(store->db, sql);
	if (store_commit(store, &f) < 0)
		die("store_commit", f.text);
}

/* Makes a random change with its event, in one transaction. */
static void change(struct store *store, uint64_t *seed)
{
	int task = 1 + (int)(next(seed) % TASKS);
	char sql[1024];

	switch (next(seed) % 8) {
	case 0:
		snprintf(sql, sizeof(sql),
			 "UPDATE agent SET name = CASE name WHEN 'ada' "
			 "THEN 'adele' ELSE 'ada' END; %s VALUES (5, 112, 1, 1, 0, 1, 0, "
			 "'other');",
			 log_it);
		break;
	case 1:
		snprintf(sql, sizeof(sql),
			 "UPDATE team SET destroyed_at = 5, state = 4 "
			 "WHERE id > 1 AND destroyed_at IS NULL;"
			 "%s SELECT 5, 102, max(id), 1, 0, max(id), 0, NULL FROM team;"
			 "INSERT INTO team (name, created_at, inbox_capacity, max_vms) "
			 "VALUES ('other', 1000, 0, 1);"
			 "%s VALUES (5, 100, last_insert_rowid(), 1, 0, "
			 "last_insert_rowid(), 0, NULL);"
			 "INSERT INTO board (team) SELECT max(id) FROM team;",
			 log_it, log_it);
		break;
	case 2:
		snprintf(sql, sizeof(sql),
			 "UPDATE task SET state = 6 * (state = 0); "
			 "UPDATE board SET cancelled = (SELECT count(*) FROM task "
			 "WHERE team = board.team AND state = 6); "
			 "%s SELECT 5, 207, 1, 1, 0, id, 0, NULL FROM task;",
			 log_it);
		break;
	case 3:
	case 4:
	case 5:
		snprintf(sql, sizeof(sql),
			 "INSERT INTO message (team, sender, at, urgent, "
			 "to_all, ack_required, type, content) VALUES (1, 1, 5, 0, 1, 0, "
			 "'text', hex(randomblob(%d)));"
			 "%s VALUES (5, 120, 1, 1, 0, last_insert_rowid(), 0, NULL);",
			 (int)(next(seed) % 20000), log_it);
		break;
	default:
		snprintf(sql, sizeof(sql),
			 "UPDATE task SET description = 'd%d' WHERE "
			 "id = %d; %s VALUES (5, 214, 1, 1, 0, %d, 0, NULL);",
			 (int)next(seed), task, log_it, task);
	}
	write_rows(store, sql);
}

/* Changes rows and mirrors the changes, either like a host or like a sequence of commands. */
static void work(struct world *w, uint64_t seed)
{
	struct store *store = open_store(w);
	struct mirror *m = NULL;
	struct fault f = { 0 };
	bool more;

	run(store->db, "PRAGMA synchronous=OFF");
	if (next(&seed) % 2 && mirror_open(&m, &w->home, &f) < 0)
		die("mirror_open", f.text);
	for (;;) {
		change(store, &seed);
		if (m ? mirror_step(m, store, 20, &more, &f) < 0
		      : mirror_catch_up(&w->home, store, 20, &f) < 0)
			die("mirror", f.text);
	}
}

/* --- the person ------------------------------------------------------------------------ */

/* Whether the file holds an edit. The test itself must not overwrite an earlier edit. */
static bool is_edited(const char *path)
{
	char text[8192] = "";
	int fd = open(path, O_RDONLY);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

	if (fd >= 0)
		close(fd);
	return n > 0 && strstr(text, "edit-");
}

/* Writes a marker into a task's file like an editor, either slowly in place, or by renaming a
 * new file over the old file. */
static void edit(struct world *w)
{
	char path[256], other[300], text[64];
	int len = snprintf(text, sizeof(text), "edit-%d;\n", w->edits), fd;
	bool in_place = next(&w->seed) % 2;

	snprintf(path, sizeof(path), "%s/vault/teams/demo/tasks/%03d-task.md", w->dir,
		 1 + (int)(next(&w->seed) % TASKS));
	if (is_edited(path))
		return;
	snprintf(other, sizeof(other), "%s.swp", path);
	fd = open(in_place ? path : other,
		  O_WRONLY |
			  (in_place ? next(&w->seed) % 2 ? O_TRUNC : O_APPEND : O_CREAT),
		  0600);
	if (fd < 0)
		return; /* the file does not exist yet */
	sleep_us(next(&w->seed) % 3000);
	if (write(fd, text, (size_t)len) != len)
		die(path, strerror(errno));
	close(fd);
	if (!in_place && rename(other, path) < 0)
		die(path, strerror(errno));
	w->edits++;
}

/* --- the end ------------------------------------------------------------------------------ */

static void mark_found(const char *path, char *found, int edits)
{
	char *text = NULL, *at;
	size_t size = 0;
	FILE *file = fopen(path, "r");

	if (!file)
		die(path, strerror(errno));
	if (getdelim(&text, &size, '\0', file) > 0)
		for (at = text; (at = strstr(at, "edit-")); at++) {
			long n = strtol(at + 5, NULL, 10);

			if (n >= 0 && n < edits)
				found[n] = 1;
		}
	free(text);
	fclose(file);
}

static void look_through(const char *folder, char *found, int edits)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[600];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' && strcmp(entry->d_name, ".archive") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_type == DT_DIR)
			look_through(path, found, edits);
		else
			mark_found(path, found, edits);
	}
	if (dir)
		closedir(dir);
}

static int count_lost(struct world *w)
{
	char folder[160], *found = calloc((size_t)w->edits + 1, 1);
	int lost = 0;

	snprintf(folder, sizeof(folder), "%s/vault/teams", w->dir);
	look_through(folder, found, w->edits);
	for (int i = 0; i < w->edits; i++) {
		if (!found[i])
			fprintf(stderr, "edit-%d is lost\n", i);
		lost += !found[i];
	}
	free(found);
	return lost;
}

/* Reads the headings of a page. If a heading's message number is `*expected`, adds 1 to
 * `*expected`. Returns the number of all other headings. */
static int count_page(FILE *page, int *expected)
{
	char *line = NULL;
	size_t room = 0;
	int wrong = 0;

	while (getline(&line, &room, page) > 0) {
		const char *mark = strncmp(line, "## ", 3) == 0 ? strstr(line, "<!-- ")
								: NULL;

		if (mark && strtol(mark + 5, NULL, 10) == *expected)
			++*expected;
		else if (mark)
			wrong++;
	}
	free(line);
	return wrong;
}

/* Returns the number of wrong or missing headings in the team's message pages. The pages must
 * have one heading for each of the messages 1, 2, 3, … in this order. */
static int count_wrong(struct world *w, int messages)
{
	int expected = 1, wrong = 0;
	char path[200], number[20] = "";
	FILE *page;

	for (int i = 2;; i++) {
		snprintf(path, sizeof(path),
			 "%s/vault/teams/demo/messages/1970-01-01%s.md", w->dir, number);
		if (!(page = fopen(path, "r")))
			break;
		wrong += count_page(page, &expected);
		fclose(page);
		snprintf(number, sizeof(number), "-%d", i);
	}
	return wrong + abs(messages + 1 - expected);
}

static int count_messages(struct world *w)
{
	sqlite3 *db = open_rows(w);
	sqlite3_stmt *st = NULL;
	int n;

	if (sqlite3_prepare_v2(db, "SELECT count(*) FROM message", -1, &st, NULL) !=
		    SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW)
		die("count", sqlite3_errmsg(db));
	n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

/* Changes all tasks, so that each edited file is written anew, and lets the mirror finish. */
static int finish(struct world *w)
{
	struct store *store = open_store(w);
	struct text report = { 0 };
	struct fault f = { 0 };
	sqlite3 *db = open_rows(w);
	int64_t lag;
	int rc;

	run(db, "UPDATE task SET description = 'the end';"
		"INSERT INTO event (at, kind, team, actor, via, subject, target) "
		"SELECT 5, 214, 1, 1, 0, id, 0 FROM task");
	do {
		if (mirror_catch_up(&w->home, store, 50, &f) < 0 ||
		    mirror_lag(&w->home, store, &lag, &f) < 0)
			die("mirror", f.text);
	} while (lag != 0);
	rc = mirror_verify(&w->home, store, &report, NULL, &f);
	if (rc)
		fprintf(stderr, "%s%s", report.data ? report.data : "", f.text);
	text_release(&report);
	sqlite3_close(db);
	store_close(store);
	return rc;
}

int main(int argc, char **argv)
{
	struct world w = { 0 };
	int kills = argc > 1 ? (int)strtol(argv[1], NULL, 10) : FIRST_KILLS;
	int differences, lost, messages, wrong;
	sqlite3 *db;

	w.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
	fprintf(stderr, "mirror_crash %d %" PRIu64 "\n", kills, w.seed);
	snprintf(w.dir, sizeof(w.dir), "%s/cadre-crash-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(w.dir))
		die(w.dir, strerror(errno));
	snprintf(w.home.dir, sizeof(w.home.dir), "%s", w.dir);
	snprintf(w.home.vault, sizeof(w.home.vault), "%s/vault", w.dir);
	notes_disk_init(&w.home.notes, w.home.vault, w.home.dir);
	w.home.settings.notes = &w.home.notes.notes;
	w.home.settings.config.vault_messages = true;
	store_close(open_store(&w));
	db = open_rows(&w);
	make_rows(db);
	sqlite3_close(db);
	differences = finish(&w);
	for (int i = 0; i < kills; i++) {
		uint64_t seed = next(&w.seed), edits = next(&w.seed) % 4;
		pid_t child = fork();
		int status;

		if (child == 0)
			work(&w, seed);
		while (edits-- > 0) {
			sleep_us(next(&w.seed) % 20000);
			edit(&w);
		}
		sleep_us(next(&w.seed) % 30000);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		if (!WIFSIGNALED(status))
			die("the mirror", "ended by itself");
	}
	differences += finish(&w);
	lost = count_lost(&w);
	messages = count_messages(&w);
	wrong = count_wrong(&w, messages);
	printf("%d kills, %d edits, %d messages: %d files differ, %d edits lost, "
	       "%d messages out of place\n",
	       kills, w.edits, messages, differences, lost, wrong);
	if (differences || lost || wrong)
		return 1;
	return folder_remove(w.dir) != 0;
}
