/* What the store promises: to one process, to many, and when the disk fails. */
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/op.h"
#include "ops.gen.h"
#include "storage/fault_vfs.h"

/* --- folders and states ------------------------------------------------------- */

struct place {
	char dir[64];
	struct fault fault;
	struct arena arena;
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	const char *temp = getenv("TMPDIR");

	snprintf(p->dir, sizeof(p->dir), "%.40s/store.XXXXXX", temp ? temp : "/tmp");
	assert_non_null(mkdtemp(p->dir));
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
	arena_release(&p->arena);
	free(p);
	return 0;
}

static struct store *open_with(struct place *p, unsigned flags, const char *vfs)
{
	struct store *s = NULL;

	if (store_open(&s, p->dir, flags, vfs, &p->fault) < 0)
		fail_msg("%s", p->fault.text);
	return s;
}

static struct store *open_at(struct place *p)
{
	return open_with(p, STORE_CREATE, NULL);
}

static int add_event(struct store *s, int64_t actor, int64_t subject, struct fault *f)
{
	const struct sql_event_add_in in = {
		.now = 1000, .kind = 1, .team = 1, .actor = actor, .subject = subject,
		.detail = "a small detail",
	};

	return store_run(s, sql_event_add, &in, f);
}

/* One event in a transaction of its own. */
static int commit_event(struct store *s, int64_t actor, int64_t subject, struct fault *f)
{
	if (store_begin(s, true, f) < 0)
		return f->code;
	if (add_event(s, actor, subject, f) < 0) {
		store_rollback(s);
		return f->code;
	}
	return store_commit(s, f);
}

static int64_t number(const char *dir, const char *sql)
{
	char path[128];
	sqlite3_stmt *st;
	sqlite3 *db;
	int64_t n;

	snprintf(path, sizeof(path), "%s/state.db", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

static int64_t events(struct store *s)
{
	struct sql_event_last_in in = { 0 };
	struct event_last_row row;
	struct arena arena = { 0 };
	struct fault f = { 0 };

	assert_int_equal(store_row(s, sql_event_last, &in, &row, sizeof(row), &arena, &f), 1);
	arena_release(&arena);
	return row.seq;
}

static void assert_sound(struct place *p)
{
	struct store *s = open_at(p);

	assert_int_equal(store_check(s, &p->fault), 0);
	store_close(s);
}

/* --- many processes ------------------------------------------------------------ */

static pid_t start(struct place *p, int id, int (*run)(struct place *, int))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(run(p, id));
	return pid;
}

static void wait_all(pid_t *pids, int n)
{
	for (int i = 0; i < n; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

static int write_some(struct place *p, int id, int n)
{
	struct store *s = NULL;

	if (store_open(&s, p->dir, STORE_CREATE, NULL, &p->fault) < 0)
		goto out;
	for (int i = 0; i < n; i++)
		if (commit_event(s, id, i, &p->fault) < 0)
			goto out;
out:
	if (p->fault.code)
		fprintf(stderr, "writer %d: %s\n", id, p->fault.text);
	store_close(s);
	return p->fault.code != 0;
}

static int write_one(struct place *p, int id)
{
	return write_some(p, id, 1);
}

static int write_500(struct place *p, int id)
{
	return write_some(p, id, 500);
}

static void test_first_open_at_once(void **state)
{
	struct place *p = *state;
	pid_t pids[16];

	for (int i = 0; i < 16; i++)
		pids[i] = start(p, i, write_one);
	wait_all(pids, 16);
	assert_int_equal(number(p->dir, "SELECT count(*) FROM event"), 16);
	assert_int_equal(number(p->dir, "PRAGMA auto_vacuum"), 2);
	assert_sound(p);
}

static void test_writers_take_turns(void **state)
{
	struct place *p = *state;
	char path[128];
	struct stat st;
	pid_t pids[8];

	for (int i = 0; i < 8; i++)
		pids[i] = start(p, i, write_500);
	wait_all(pids, 8);
	assert_int_equal(number(p->dir, "SELECT count(*) FROM event"), 4000);
	snprintf(path, sizeof(path), "%s/bell", p->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 1);
	assert_sound(p);
}

/* Writes until it is killed; what was acknowledged is counted in shared memory. */
static atomic_long *acknowledged(struct place *p)
{
	char path[128];
	void *memory;
	int fd;

	snprintf(path, sizeof(path), "%s/acked", p->dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, 4096), 0);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(memory != MAP_FAILED);
	close(fd);
	return memory;
}

static int write_for_ever(struct place *p, int id)
{
	atomic_long *acked = acknowledged(p);
	struct store *s = NULL;

	if (store_open(&s, p->dir, STORE_CREATE, NULL, &p->fault) < 0)
		return 1;
	while (commit_event(s, id, atomic_load(&acked[id]) + 1, &p->fault) == 0)
		atomic_fetch_add(&acked[id], 1);
	fprintf(stderr, "writer %d: %s\n", id, p->fault.text);
	return 1;
}

static void test_kill_loses_nothing(void **state)
{
	struct place *p = *state;
	atomic_long *acked = acknowledged(p);
	pid_t pids[4];

	srandom(7);
	for (int i = 0; i < 4; i++)
		pids[i] = start(p, i, write_for_ever);
	for (int round = 0; round < 40; round++) {
		int i = (int)(random() % 4), status;

		usleep((useconds_t)(random() % 20000));
		kill(pids[i], SIGKILL);
		waitpid(pids[i], &status, 0);
		assert_true(WIFSIGNALED(status));
		pids[i] = start(p, i, write_for_ever);
	}
	for (int i = 0; i < 4; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	for (int i = 0; i < 4; i++) {
		char sql[120];

		snprintf(sql, sizeof(sql), "SELECT count(DISTINCT subject) FROM event"
			 " WHERE actor = %d AND subject <= %ld", i, acked[i]);
		assert_int_equal(number(p->dir, sql), acked[i]);
	}
	munmap(acked, 4096);
	assert_sound(p);
}

/* --- one process ------------------------------------------------------------------ */

static void test_place(void **state)
{
	static const char *const names[] = { "state.db", "state.db-wal", "state.lock", "bell" };
	struct place *p = *state;
	struct store *s = NULL, *two;
	mode_t mask = umask(0);
	struct stat st;
	char path[128];

	assert_int_equal(store_open(&s, p->dir, 0, NULL, &p->fault), FAULT_NOT_FOUND);
	p->fault = (struct fault){ 0 };
	s = open_at(p);
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	umask(mask);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", p->dir, names[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	two = open_with(p, STORE_READ, NULL);
	assert_int_equal(events(two), 1);
	store_close(two);
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	store_close(s);
}

static void test_rewind_keeps_others(void **state)
{
	struct place *p = *state;
	struct store *s = open_at(p);
	struct sql_task_criteria_in in = { 1 };
	struct query q;

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	for (int i = 1; i <= 9; i++) {
		assert_int_equal(store_savepoint(s, &p->fault), 0);
		assert_int_equal(add_event(s, 1, i, &p->fault), 1);
		if (i % 3)
			assert_int_equal(store_release(s, &p->fault), 0);
		else {
			store_query(s, &q, sql_task_criteria, &in); /* left open */
			assert_int_equal(store_rewind(s, &p->fault), 0);
			query_end(&q);
		}
	}
	assert_int_equal(store_commit(s, &p->fault), 0);
	store_close(s);
	assert_int_equal(number(p->dir, "SELECT sum(subject) FROM event"), 1 + 2 + 4 + 5 + 7 + 8);
}

static void test_values(void **state)
{
	struct place *p = *state;
	struct store *s = open_with(p, STORE_MEMORY, NULL);
	const struct sql_replay_add_in add = {
		.key = { "0123456789abcdef", 16 }, .caller = 3, .op = -1, .args = INT64_MIN,
		.made = INT64_MAX, .now = 5
	};
	const struct sql_replay_find_in find = { .key = { "0123456789abcdef", 16 }, .caller = 3 };
	const struct sql_replay_find_in miss = { .key = { "0123456789abcdeF", 16 }, .caller = 3 };
	struct replay_find_row row;

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	assert_int_equal(store_run(s, sql_replay_add, &add, &p->fault), 1);
	assert_int_equal(store_row(s, sql_replay_find, &find, &row, sizeof(row), &p->arena,
				   &p->fault), 1);
	assert_true(row.op == -1 && row.args == INT64_MIN && row.made == INT64_MAX);
	assert_int_equal(store_row(s, sql_replay_find, &miss, &row, sizeof(row), &p->arena,
				   &p->fault), 0);
	/* The same key again: a bug of ours, and the transaction lives on. */
	assert_int_equal(store_run(s, sql_replay_add, &add, &p->fault), FAULT_INTERNAL);
	assert_non_null(strstr(p->fault.text, "replay_add: UNIQUE"));
	assert_true(store_intact(s));
	p->fault = (struct fault){ 0 };
	assert_int_equal(store_commit(s, &p->fault), 0);
	store_close(s);
}

static int64_t add_team(struct store *s, const char *name, struct fault *f)
{
	const struct sql_team_add_in in = { .name = name, .now = 1, .max_vms = 1 };

	assert_int_equal(store_run(s, sql_team_add, &in, f), 1);
	return store_last_id(s);
}

static int add_agent(struct store *s, int64_t team, const char *name, struct fault *f)
{
	const struct sql_agent_add_in in = {
		.team = team, .name = name, .role = "r", .description = "", .now = 1
	};

	return store_run(s, sql_agent_add, &in, f);
}

static void test_returning(void **state)
{
	struct place *p = *state;
	struct store *s = open_with(p, STORE_MEMORY, NULL);
	struct sql_agent_next_generation_in in = { .now = 1 };
	struct agent_next_generation_row next;
	int64_t team;

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	team = add_team(s, "red", &p->fault);
	assert_int_equal(add_agent(s, team, "ann", &p->fault), 1);
	in.agent = store_last_id(s);
	assert_int_equal(add_agent(s, team, "ann", &p->fault), 0); /* DO NOTHING */
	assert_int_equal(store_row(s, sql_agent_next_generation, &in, &next, sizeof(next),
				   &p->arena, &p->fault), 1);
	assert_int_equal(next.generation, 2);
	assert_int_equal(store_run(s, sql_agent_next_generation, &in, &p->fault), 1);
	assert_int_equal(store_row(s, sql_agent_next_generation, &in, &next, sizeof(next),
				   &p->arena, &p->fault), 1);
	assert_int_equal(next.generation, 4);
	assert_int_equal(add_agent(s, 999, "eve", &p->fault), FAULT_INTERNAL);
	assert_non_null(strstr(p->fault.text, "FOREIGN KEY"));
	assert_true(store_intact(s));
	store_rollback(s);
	store_close(s);
}

static int64_t add_task(struct store *s, struct fault *f)
{
	struct sql_task_add_in in = {
		.team = add_team(s, "red", f), .number = 1, .slug = "t", .title = "t",
		.description = "", .priority = 3, .now = 1
	};

	assert_int_equal(add_agent(s, in.team, "ann", f), 1);
	in.created_by = store_last_id(s);
	assert_int_equal(store_run(s, sql_task_add, &in, f), 1);
	return store_last_id(s);
}

static void test_rows_into_a_record(void **state)
{
	static const char *const texts[] = { "zero", "one", "two" };
	struct place *p = *state;
	struct store *s = open_with(p, STORE_MEMORY, NULL);
	struct sql_task_criteria_in in;
	struct criterion row;
	struct query q;
	int64_t task;

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	task = add_task(s, &p->fault);
	for (int i = 0; i < 3; i++) {
		const struct sql_task_criterion_add_in add = {
			.task = task, .n = i + 1, .text = texts[i], .done = i == 1
		};

		assert_int_equal(store_run(s, sql_task_criterion_add, &add, &p->fault), 1);
	}
	in.task = task;
	store_query(s, &q, sql_task_criteria, &in);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(store_next(&q, &row, sizeof(row), &p->arena, &p->fault), 1);
		assert_string_equal(row.text, texts[i]);
		assert_int_equal(row.done, i == 1);
	}
	assert_int_equal(store_next(&q, &row, sizeof(row), &p->arena, &p->fault), 0);
	assert_int_equal(store_next(&q, &row, sizeof(row), &p->arena, &p->fault), 0);
	assert_int_equal(store_commit(s, &p->fault), 0);
	store_close(s);
}

static void test_others_are_noticed(void **state)
{
	struct place *p = *state;
	struct store *s = open_at(p), *reader = open_with(p, STORE_READ, NULL);
	int64_t before = store_data_version(reader);

	assert_int_equal(store_data_version(reader), before);
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	assert_int_not_equal(store_data_version(reader), before);
	assert_int_equal(store_begin(reader, false, &p->fault), 0);
	assert_int_equal(events(reader), 1);
	assert_int_equal(commit_event(s, 1, 2, &p->fault), 0);
	assert_int_equal(events(reader), 1); /* its snapshot */
	assert_int_equal(store_commit(reader, &p->fault), 0);
	assert_int_equal(events(reader), 2);
	store_close(reader);
	store_close(s);
}

static void test_checkpoint(void **state)
{
	struct place *p = *state;
	struct store *s = open_with(p, STORE_CREATE | STORE_NO_CHECKPOINT, NULL);
	struct store *beside = open_with(p, STORE_READ, NULL);
	int64_t grown;

	for (int i = 0; i < 50; i++)
		assert_int_equal(commit_event(s, 1, i, &p->fault), 0);
	grown = store_wal_frames(s);
	assert_true(grown >= 50);
	assert_int_equal(store_checkpoint(beside, &p->fault), 0);
	assert_int_equal(store_checkpoint(s, &p->fault), 0);
	assert_int_equal(store_wal_frames(s), 0);
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	assert_in_range(store_wal_frames(s), 1, 10);
	store_close(beside);
	store_close(s);
}

static void test_backup(void **state)
{
	struct place *p = *state;
	struct store *s = open_at(p);
	char path[128], moved[128];
	struct stat st;

	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	snprintf(path, sizeof(path), "%s/copy.db", p->dir);
	assert_int_equal(store_backup(s, path, &p->fault), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(store_backup(s, path, &p->fault), FAULT_CONFLICT);
	p->fault = (struct fault){ 0 };
	store_close(s);
	/* It is a state: restored, it opens. */
	snprintf(moved, sizeof(moved), "%s/state.db", p->dir);
	assert_int_equal(rename(path, moved), 0);
	s = open_at(p);
	assert_int_equal(events(s), 1);
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	store_close(s);
	assert_sound(p);
}

static void test_copy(void **state)
{
	struct place *p = *state;
	struct store *s = open_with(p, STORE_MEMORY, NULL);
	struct store *copy = open_with(p, STORE_MEMORY, NULL);

	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	assert_int_equal(events(copy), 0);
	assert_int_equal(store_copy(copy, s, &p->fault), 0);
	assert_int_equal(events(copy), 1);
	assert_int_equal(commit_event(copy, 1, 2, &p->fault), 0);
	assert_int_equal(events(s), 1);
	store_close(copy);
	store_close(s);
}

/* --- failures ---------------------------------------------------------------------- */

static void test_failed_commit(void **state)
{
	struct place *p = *state;
	struct store *s = open_at(p), *other = open_at(p);

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	assert_int_equal(add_event(s, 1, 1, &p->fault), 1);
	store_fail(s, 1, SQLITE_IOERR_FSYNC);
	assert_int_equal(store_commit(s, &p->fault), FAULT_UNAVAILABLE);
	assert_non_null(strstr(p->fault.text, "outcome is not known"));
	p->fault = (struct fault){ 0 };
	assert_int_equal(commit_event(other, 2, 1, &p->fault), 0); /* the turn is free */
	assert_int_equal(commit_event(s, 1, 2, &p->fault), 0);
	store_close(other);
	store_close(s);
	assert_int_equal(number(p->dir, "SELECT count(*) FROM event"), 2);
}

static void test_dropped_transaction(void **state)
{
	struct place *p = *state;
	struct store *s = open_at(p);

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	assert_int_equal(store_savepoint(s, &p->fault), 0);
	assert_int_equal(add_event(s, 1, 1, &p->fault), 1);
	store_fail(s, 1, SQLITE_FULL);
	assert_int_equal(add_event(s, 1, 2, &p->fault), FAULT_UNAVAILABLE);
	assert_non_null(strstr(p->fault.text, "disk is full"));
	assert_false(store_intact(s));
	/* Nothing slips through alone. */
	p->fault = (struct fault){ 0 };
	assert_int_equal(add_event(s, 1, 3, &p->fault), FAULT_UNAVAILABLE);
	p->fault = (struct fault){ 0 };
	assert_int_equal(store_savepoint(s, &p->fault), FAULT_UNAVAILABLE);
	p->fault = (struct fault){ 0 };
	store_rollback(s);
	assert_int_equal(commit_event(s, 1, 4, &p->fault), 0);
	store_close(s);
	assert_int_equal(number(p->dir, "SELECT sum(subject) FROM event"), 4);
}

static void test_full_disk(void **state)
{
	struct place *p = *state;
	struct fault_control control = { 0 };
	struct store *s;

	assert_int_equal(fault_vfs_register(&control), 0);
	s = open_with(p, STORE_CREATE, "faulty");
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	control.kinds = FAULT_DISK_WRITE;
	control.result = SQLITE_FULL;
	control.lasting = 1;
	control.after = 1;
	for (int i = 0; i < 5; i++) {
		p->fault = (struct fault){ 0 };
		assert_int_equal(commit_event(s, 2, i, &p->fault), FAULT_UNAVAILABLE);
		assert_non_null(strstr(p->fault.text, "full"));
		assert_int_equal(events(s), 1); /* reads go on */
	}
	control.after = 0; /* somebody made room */
	p->fault = (struct fault){ 0 };
	assert_int_equal(commit_event(s, 1, 2, &p->fault), 0);
	store_close(s);
	fault_vfs_unregister();
	assert_int_equal(number(p->dir, "SELECT count(*) FROM event WHERE actor = 1"), 2);
	assert_sound(p);
}

/* Ten transactions while the n-th disk operation fails; what was acknowledged
 * must be there for a healthy reader, and the store must recover by itself. */
static bool survive(struct place *p, struct fault_control *c, long n, int *made)
{
	struct fault f = { 0 };
	struct store *s = NULL;
	bool acked[10] = { false };

	atomic_store(&c->failed, 0);
	atomic_store(&c->after, n);
	if (store_open(&s, p->dir, STORE_CREATE, "faulty", &f) == 0)
		for (int i = 0; i < 10; i++) {
			f = (struct fault){ 0 };
			acked[i] = commit_event(s, n, i, &f) == 0;
			*made += acked[i];
			assert_true(acked[i] || f.code == FAULT_UNAVAILABLE ||
				    f.code == FAULT_IO);
		}
	store_close(s);
	atomic_store(&c->after, 0);
	for (int i = 0; i < 10; i++) {
		char sql[120];

		if (!acked[i])
			continue;
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM event"
			 " WHERE actor = %ld AND subject = %d", n, i);
		assert_int_equal(number(p->dir, sql), 1);
	}
	return atomic_load(&c->failed) > 0;
}

static void sweep(struct place *p, int kinds, int result)
{
	struct fault_control control = { .kinds = kinds, .result = result };
	int made = 0;
	long n = 1;

	assert_int_equal(fault_vfs_register(&control), 0);
	assert_sound(p); /* make it */
	while (survive(p, &control, n, &made))
		n++;
	fault_vfs_unregister();
	assert_true(n > 5 && made > 0);
	assert_sound(p);
}

static void test_every_failing_write(void **state)
{
	sweep(*state, FAULT_DISK_WRITE, SQLITE_IOERR_WRITE);
}

static void test_every_full_write(void **state)
{
	sweep(*state, FAULT_DISK_WRITE, SQLITE_FULL);
}

static void test_every_failing_sync(void **state)
{
	sweep(*state, FAULT_DISK_SYNC, SQLITE_IOERR_FSYNC);
}

static void test_every_failing_read(void **state)
{
	sweep(*state, FAULT_DISK_READ | FAULT_DISK_TRUNCATE | FAULT_DISK_OPEN,
	      SQLITE_IOERR_READ);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(test_first_open_at_once),
		STORY(test_writers_take_turns),
		STORY(test_kill_loses_nothing),
		STORY(test_place),
		STORY(test_rewind_keeps_others),
		STORY(test_values),
		STORY(test_returning),
		STORY(test_rows_into_a_record),
		STORY(test_others_are_noticed),
		STORY(test_checkpoint),
		STORY(test_backup),
		STORY(test_copy),
		STORY(test_failed_commit),
		STORY(test_dropped_transaction),
		STORY(test_full_disk),
		STORY(test_every_failing_write),
		STORY(test_every_full_write),
		STORY(test_every_failing_sync),
		STORY(test_every_failing_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
