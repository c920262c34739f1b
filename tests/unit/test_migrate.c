/* A database file of a version other than the program's is migrated or refused. Only one
 * process migrates the file, after a backup.
 *
 * This program uses its own table of migrations instead of the generated table. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "storage/stmt.h"
#include "storage/writer_queue.h"

const struct migration migration_table[] = {
	{ 1, "0001-first.sql", "CREATE TABLE a (x INTEGER); PRAGMA user_version = 1;" },
	{ 2, "0002-unique.sql",
	  "CREATE UNIQUE INDEX a_x ON a(x); PRAGMA user_version = 2;" },
};
const int migration_count = 2;
const struct schema_object schema_table[] = {
	{ "index", "a_x", "a", "CREATE UNIQUE INDEX a_x ON a(x)" },
	{ "table", "a", "a", "CREATE TABLE a (x INTEGER)" },
};
const int schema_count = 2;
const char schema_rows[] = "PRAGMA user_version = 2;";
const struct statement statement_table[SQL_COUNT + 1] = { { 0 } };

struct place {
	char dir[64], db[80], backup[100];
	struct fault fault;
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	const char *temp = getenv("TMPDIR");

	snprintf(p->dir, sizeof(p->dir), "%.40s/migrate.XXXXXX", temp ? temp : "/tmp");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->db, sizeof(p->db), "%s/state.db", p->dir);
	snprintf(p->backup, sizeof(p->backup), "%s.v1.backup", p->db);
	*state = p;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_place(void **state)
{
	struct place *p = *state;

	nftw(p->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(p);
	return 0;
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static int64_t number(const char *path, const char *sql)
{
	sqlite3_stmt *st;
	sqlite3 *db;
	int64_t n;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

static int try_open(struct place *p, unsigned flags)
{
	struct store *s = NULL;
	int rc;

	p->fault = (struct fault){ 0 };
	rc = store_open(&s, p->dir, flags, NULL, &p->fault);
	store_close(s);
	return rc;
}

static void make_v1(struct place *p, const char *rows)
{
	run_sql(p->db, migration_table[0].text);
	run_sql(p->db, rows);
}

/* Reads all bytes of a file, so that a test can compare them with the bytes later. The caller
 * frees the result. */
static char *bytes(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *data;

	assert_non_null(f);
	data = malloc(1 << 20);
	*size = fread(data, 1, 1 << 20, f);
	fclose(f);
	return data;
}

static void assert_untouched(struct place *p, int code, const char *said)
{
	size_t before, after;
	char *old = bytes(p->db, &before), *new;

	assert_int_equal(try_open(p, STORE_CREATE), code);
	assert_non_null(strstr(p->fault.text, said));
	new = bytes(p->db, &after);
	assert_int_equal(before, after);
	assert_memory_equal(old, new, before);
	free(old);
	free(new);
}

static void test_new(void **state)
{
	struct place *p = *state;

	assert_int_equal(try_open(p, STORE_CREATE), 0);
	assert_int_equal(number(p->db, "PRAGMA user_version"), 2);
	assert_int_equal(access(p->backup, F_OK), -1);
	assert_int_equal(try_open(p, 0), 0);
}

static void test_backup_first(void **state)
{
	struct place *p = *state;
	struct stat st;

	make_v1(p, "INSERT INTO a VALUES (1), (2)");
	assert_int_equal(try_open(p, 0), 0);
	assert_int_equal(number(p->db, "PRAGMA user_version"), 2);
	assert_int_equal(number(p->db, "SELECT count(*) FROM a"), 2);
	assert_int_equal(number(p->backup, "PRAGMA user_version"), 1);
	assert_int_equal(number(p->backup, "SELECT count(*) FROM a"), 2);
	assert_int_equal(stat(p->backup, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_all_or_nothing(void **state)
{
	struct place *p = *state;

	/* The migration fails, because its unique index refuses two equal rows. */
	make_v1(p, "INSERT INTO a VALUES (1), (1)");
	assert_int_equal(try_open(p, 0), FAULT_INTERNAL);
	assert_int_equal(number(p->db, "PRAGMA user_version"), 1);
	assert_int_equal(number(p->db, "SELECT count(*) FROM a"), 2);
	run_sql(p->db, "DELETE FROM a WHERE rowid = 2");
	assert_int_equal(try_open(p, 0), 0); /* a new backup is made */
	assert_int_equal(number(p->backup, "SELECT count(*) FROM a"), 1);
}

static void test_at_once(void **state)
{
	struct place *p = *state;
	int status;

	make_v1(p, "INSERT INTO a VALUES (1), (2)");
	for (int i = 0; i < 8; i++)
		if (fork() == 0)
			_exit(try_open(p, STORE_CREATE) ? 1 : 0);
	for (int i = 0; i < 8; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(number(p->db, "PRAGMA user_version"), 2);
}

static void test_newer(void **state)
{
	struct place *p = *state;

	run_sql(p->db, "PRAGMA journal_mode = WAL; CREATE TABLE z (x);"
		       "PRAGMA user_version = 3;");
	assert_untouched(p, FAULT_UNAVAILABLE, "to version 3");
}

static void test_strangers(void **state)
{
	struct place *p = *state;
	FILE *f;

	run_sql(p->db, "CREATE TABLE photos (x)");
	assert_untouched(p, FAULT_UNAVAILABLE, "another program");
	f = fopen(p->db, "w");
	for (int i = 0; i < 1000; i++)
		fprintf(f, "Dear diary, ");
	fclose(f);
	assert_untouched(p, FAULT_IO, "not a database");
}

/* A file of any version is refused if it has schema objects that no migration made. The refusal
 * names the foreign objects. No trigger among the foreign objects has run. */
static const struct {
	const char *sql, *said;
} oddities[] = {
	{ "CREATE TABLE m (x); CREATE TRIGGER t AFTER INSERT ON a BEGIN"
	  " INSERT INTO m VALUES (1); END; DROP TABLE m",
	  "holds a trigger that does not belong to cadre: t" },
	{ "CREATE TABLE \"a b\" (x)",
	  "holds a table that does not belong to cadre: a b" },
	{ "CREATE VIEW v AS SELECT 1", "holds a view that does not belong to cadre: v" },
	{ "CREATE INDEX a_y ON a(x DESC)",
	  "holds an index that does not belong to cadre: a_y" },
	{ "DROP TABLE a; CREATE VIEW a AS SELECT 1 AS x", "its table a is missing" },
	{ "DROP TABLE a; CREATE TABLE a (x, y); CREATE UNIQUE INDEX IF NOT EXISTS a_x"
	  " ON a(x)",
	  "its table a is not as cadre made it" },
};

static void test_oddities(void **state)
{
	struct place *p = *state;

	for (int version = 1; version <= 2; version++)
		for (size_t i = 0; i < sizeof(oddities) / sizeof(*oddities); i++) {
			unlink(p->db);
			make_v1(p, version == 2 ? migration_table[1].text : "");
			run_sql(p->db, oddities[i].sql);
			assert_int_equal(try_open(p, 0), FAULT_DENIED);
			if (!strstr(p->fault.text, oddities[i].said) &&
			    !strstr(p->fault.text, "its index a_x is missing") &&
			    !strstr(p->fault.text,
				    "index that does not belong to cadre: a_x"))
				fail_msg("%s gives: %s", oddities[i].sql, p->fault.text);
			assert_int_equal(number(p->db, "PRAGMA user_version"), version);
			assert_int_equal(access(p->backup, F_OK), -1);
		}
	unlink(p->db);
	make_v1(p, "INSERT INTO a VALUES (1)");
	assert_int_equal(try_open(p, 0), 0);
	run_sql(p->db, "ANALYZE");
	assert_int_equal(try_open(p, 0), 0);
}

static struct store *open_v2(struct place *p)
{
	struct store *s = NULL;

	unlink(p->db);
	make_v1(p, migration_table[1].text);
	p->fault = (struct fault){ 0 };
	assert_int_equal(store_open(&s, p->dir, 0, NULL, &p->fault), 0);
	return s;
}

/* Returns 0 if an open store can write, or the code of the fault. */
static int try_write(struct place *p, struct store *s)
{
	p->fault = (struct fault){ 0 };
	if (store_begin(s, true, &p->fault) < 0)
		return p->fault.code;
	return store_commit(s, &p->fault);
}

/* If foreign objects appear while a store is open, every write is refused until the objects are
 * removed. */
static void test_oddities_beside(void **state)
{
	struct place *p = *state;
	struct store *s;

	for (size_t i = 0; i < sizeof(oddities) / sizeof(*oddities); i++) {
		s = open_v2(p);
		run_sql(p->db, oddities[i].sql);
		assert_int_equal(try_write(p, s), FAULT_DENIED);
		assert_int_equal(try_write(p, s), FAULT_DENIED);
		store_close(s);
	}
	s = open_v2(p);
	assert_int_equal(try_write(p, s), 0);
	run_sql(p->db, "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM a; END");
	assert_int_equal(try_write(p, s), FAULT_DENIED);
	assert_non_null(strstr(p->fault.text,
			       "holds a trigger that does not belong to cadre: t"));
	run_sql(p->db, "DROP TRIGGER t; ANALYZE");
	assert_int_equal(try_write(p, s), 0);
	run_sql(p->db, "PRAGMA user_version = 3");
	assert_int_equal(try_write(p, s), FAULT_UNAVAILABLE);
	run_sql(p->db, "PRAGMA user_version = 2");
	assert_int_equal(try_write(p, s), 0);
	store_close(s);
}

/* A process that needs exclusive access to the file is refused while other processes have the
 * file open. The refusal names these processes. */
static void test_holders(void **state)
{
	struct place *p = *state;
	struct writer_queue mine = { .lock = -1, .bell = -1 };
	struct store *s = NULL;
	int dir, ready[2], go[2];
	char pid[16], c;
	pid_t child;

	assert_int_equal(pipe(ready) | pipe(go), 0);
	child = fork();
	if (child == 0) {
		store_open(&s, p->dir, STORE_CREATE, NULL, &p->fault);
		if (write(ready[1], "", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(1);
		store_close(s);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	dir = open(p->dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(writer_queue_open(&mine, dir, &p->fault), 0);
	close(dir);
	assert_int_equal(writer_queue_alone(&mine, 50, &p->fault), FAULT_UNAVAILABLE);
	snprintf(pid, sizeof(pid), " %d", (int)child);
	assert_non_null(strstr(p->fault.text, pid));
	p->fault = (struct fault){ 0 };
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(writer_queue_alone(&mine, 5000, &p->fault), 0);
	writer_queue_close(&mine);
	waitpid(child, NULL, 0);
}

/* Waits for a byte from `go`, begins a write, and sends a byte to `begun`. */
static int write_beside(struct place *p, int go, int begun)
{
	struct store *s = NULL;
	char c;

	if (read(go, &c, 1) != 1 || store_open(&s, p->dir, 0, NULL, &p->fault) < 0 ||
	    store_begin(s, true, &p->fault) < 0 || write(begun, "x", 1) != 1)
		return 1;
	store_rollback(s);
	store_close(s);
	return 0;
}

/* If a writer is slow in its turn, the other writers wait and do not fail. */
static void test_turn_is_exclusive(void **state)
{
	struct place *p = *state;
	struct store *s = NULL;
	int go[2], begun[2], status;
	char c;

	/* The child is forked before SQLite is used, since SQLite must not be used across a
	 * fork. */
	assert_int_equal(pipe(go) | pipe(begun), 0);
	if (fork() == 0)
		_exit(write_beside(p, go[0], begun[1]));
	assert_int_equal(store_open(&s, p->dir, STORE_CREATE, NULL, &p->fault), 0);
	assert_int_equal(store_begin(s, true, &p->fault), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	fcntl(begun[0], F_SETFL, O_NONBLOCK);
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	assert_int_equal(read(begun[0], &c, 1), -1);
	assert_int_equal(store_commit(s, &p->fault), 0);
	wait(&status);
	assert_int_equal(status, 0);
	assert_int_equal(read(begun[0], &c, 1), 1);
	store_close(s);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(test_new),
		STORY(test_backup_first),
		STORY(test_all_or_nothing),
		STORY(test_at_once),
		STORY(test_newer),
		STORY(test_strangers),
		STORY(test_oddities),
		STORY(test_oddities_beside),
		STORY(test_holders),
		STORY(test_turn_is_exclusive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
