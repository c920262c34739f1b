/* The guarantees of the store for one process and for many processes. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "core/op/op.h"
#include "ops.gen.h"
#include "storage/stmt.h"
#include "tests/lib/hooks.h"
#include "tests/unit/test_store/place.h"

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
	assert_int_equal(place_number(p, "SELECT count(*) FROM event"), 16);
	assert_int_equal(place_number(p, "PRAGMA auto_vacuum"), 2);
	place_assert_sound(p);
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
	assert_int_equal(place_number(p, "SELECT count(*) FROM event"), 4000);
	snprintf(path, sizeof(path), "%s/bell", p->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 1);
	place_assert_sound(p);
}

/* Returns the counters of acknowledged writes, one for each writer, in memory that the writing
 * processes share. */
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

/* Returns a pseudo-random number. With the same seed, each run kills the same writers in the
 * same order. */
static unsigned some(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

static void rest(unsigned us)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)us * 1000 }, NULL);
}

static void test_kill_loses_nothing(void **state)
{
	struct place *p = *state;
	atomic_long *acked = acknowledged(p);
	unsigned seed = 7;
	pid_t pids[4];

	for (int i = 0; i < 4; i++)
		pids[i] = start(p, i, write_for_ever);
	/* Waits for the first write of each writer. Otherwise, on a busy machine, all writers
	 * could be killed before the state is made. */
	for (int i = 0; i < 4; i++)
		while (!atomic_load(&acked[i]) && waitpid(pids[i], NULL, WNOHANG) == 0)
			rest(1000);
	for (int round = 0; round < 40; round++) {
		int i = (int)(some(&seed) % 4), status;

		rest(some(&seed) % 20000);
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

		snprintf(sql, sizeof(sql),
			 "SELECT count(DISTINCT subject) FROM event"
			 " WHERE actor = %d AND subject <= %ld",
			 i, acked[i]);
		assert_true(acked[i] > 0);
		assert_int_equal(place_number(p, sql), acked[i]);
	}
	munmap(acked, 4096);
	place_assert_sound(p);
}

/* --- one process ------------------------------------------------------------------ */

static void test_place(void **state)
{
	static const char *const names[] = { "state.db", "state.db-wal", "state.lock",
					     "bell" };
	struct place *p = *state;
	struct store *s = NULL, *two;
	mode_t mask = umask(0);
	struct stat st;
	char path[128];

	assert_int_equal(store_open(&s, p->dir, 0, NULL, &p->fault), FAULT_NOT_FOUND);
	p->fault = (struct fault){ 0 };
	s = place_open(p);
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	umask(mask);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", p->dir, names[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	two = place_open_with(p, STORE_READ, NULL);
	assert_int_equal(events(two), 1);
	store_close(two);
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	store_close(s);
}

static void test_rewind_keeps_others(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct sql_task_criteria_in in = { 1 };
	struct query q;

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	for (int i = 1; i <= 9; i++) {
		assert_int_equal(store_savepoint(s, &p->fault), 0);
		assert_int_equal(add_event(s, 1, i, &p->fault), 0);
		if (i % 3)
			assert_int_equal(store_release(s, &p->fault), 0);
		else {
			/* The query is still open when the savepoint is undone. */
			store_query(s, &q, sql_task_criteria, &in);
			assert_int_equal(store_rewind(s, &p->fault), 0);
			query_end(&q);
		}
	}
	assert_int_equal(store_commit(s, &p->fault), 0);
	store_close(s);
	assert_int_equal(place_number(p, "SELECT sum(subject) FROM event"),
			 1 + 2 + 4 + 5 + 7 + 8);
}

static void test_values(void **state)
{
	struct place *p = *state;
	struct store *s = place_open_with(p, STORE_MEMORY, NULL);
	const struct sql_replay_add_in add = { .key = { "0123456789abcdef", 16 },
					       .caller = 3,
					       .op = -1,
					       .args = INT64_MIN,
					       .made = INT64_MAX,
					       .now = 5 };
	const struct sql_replay_find_in find = { .key = { "0123456789abcdef", 16 },
						 .caller = 3 };
	const struct sql_replay_find_in miss = { .key = { "0123456789abcdeF", 16 },
						 .caller = 3 };
	const struct sql_delivery_add_in copy = { .message = 1, .agent = 2, .lane = 1 };
	struct replay_find_row row;

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	assert_int_equal(store_run(s, sql_late_replay_add, &add, &p->fault), 0);
	assert_int_equal(store_row(s, sql_replay_find, &find, &row, sizeof(row),
				   &p->arena, &p->fault),
			 1);
	assert_true(row.op == -1 && row.args == INT64_MIN && row.made == INT64_MAX);
	assert_int_equal(store_row(s, sql_replay_find, &miss, &row, sizeof(row),
				   &p->arena, &p->fault),
			 0);
	/* A caller that adds the same row again has a bug. The second call fails, but the
	 * transaction stays open. */
	assert_int_equal(store_run(s, sql_late_delivery_add, &copy, &p->fault), 0);
	assert_int_equal(store_run(s, sql_late_delivery_add, &copy, &p->fault),
			 FAULT_INTERNAL);
	assert_non_null(strstr(p->fault.text, "delivery_add: UNIQUE"));
	assert_true(store_intact(s));
	p->fault = (struct fault){ 0 };
	assert_int_equal(store_commit(s, &p->fault), 0);
	store_close(s);
}

static int64_t add_team(struct store *s, const char *name, struct fault *f)
{
	const struct sql_team_add_in in = { .id = store_new_id(s, sql_team_new_id, f),
					    .name = name,
					    .now = 1,
					    .max_vms = 1 };

	assert_int_equal(store_run(s, sql_team_add, &in, f), 1);
	return in.id;
}

static int add_agent(struct store *s, int64_t id, int64_t team, const char *name,
		     struct fault *f)
{
	const struct sql_agent_add_in in = { .id = id,
					     .team = team,
					     .name = name,
					     .role = "r",
					     .description = "",
					     .now = 1 };

	return store_run(s, sql_agent_add, &in, f);
}

static void test_returning(void **state)
{
	struct place *p = *state;
	struct store *s = place_open_with(p, STORE_MEMORY, NULL);
	struct sql_agent_next_generation_in in = { .now = 1 };
	struct agent_next_generation_row next;
	int64_t team;

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	team = add_team(s, "red", &p->fault);
	in.agent = 7;
	assert_int_equal(add_agent(s, in.agent, team, "ann", &p->fault), 1);
	/* A second agent with the same name is not added. */
	assert_int_equal(add_agent(s, 8, team, "ann", &p->fault), 0);
	assert_int_equal(store_row(s, sql_agent_next_generation, &in, &next, sizeof(next),
				   &p->arena, &p->fault),
			 1);
	assert_int_equal(next.generation, 2);
	assert_int_equal(store_run(s, sql_agent_next_generation, &in, &p->fault), 1);
	assert_int_equal(store_row(s, sql_agent_next_generation, &in, &next, sizeof(next),
				   &p->arena, &p->fault),
			 1);
	assert_int_equal(next.generation, 4);
	assert_int_equal(add_agent(s, 9, 999, "eve", &p->fault), FAULT_INTERNAL);
	assert_non_null(strstr(p->fault.text, "FOREIGN KEY"));
	assert_true(store_intact(s));
	store_rollback(s);
	store_close(s);
}

static int64_t add_task(struct store *s, struct fault *f)
{
	struct sql_task_add_in in = { .team = add_team(s, "red", f),
				      .number = 1,
				      .slug = "t",
				      .title = "t",
				      .description = "",
				      .priority = 3,
				      .now = 1 };

	in.created_by = store_new_id(s, sql_agent_new_id, f);
	assert_int_equal(add_agent(s, in.created_by, in.team, "ann", f), 1);
	in.id = store_new_id(s, sql_task_new_id, f);
	assert_int_equal(store_run(s, sql_task_add, &in, f), 1);
	return in.id;
}

static void test_rows_into_a_record(void **state)
{
	static const char *const texts[] = { "zero", "one", "two" };
	struct place *p = *state;
	struct store *s = place_open_with(p, STORE_MEMORY, NULL);
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

		assert_int_equal(store_run(s, sql_task_criterion_add, &add, &p->fault),
				 1);
	}
	in.task = task;
	store_query(s, &q, sql_task_criteria, &in);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(store_next(&q, &row, sizeof(row), &p->arena, &p->fault),
				 1);
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
	struct store *s = place_open(p), *reader = place_open_with(p, STORE_READ, NULL);
	int64_t before = store_data_version(reader);

	assert_int_equal(store_data_version(reader), before);
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	assert_int_not_equal(store_data_version(reader), before);
	assert_int_equal(store_begin(reader, false, &p->fault), 0);
	assert_int_equal(events(reader), 1);
	assert_int_equal(commit_event(s, 1, 2, &p->fault), 0);
	assert_int_equal(events(reader), 1); /* the reader sees only its snapshot */
	assert_int_equal(store_commit(reader, &p->fault), 0);
	assert_int_equal(events(reader), 2);
	store_close(reader);
	store_close(s);
}

/* --- kept rows ------------------------------------------------------------------- */

/* Reads the role of the agent `a` inside a write transaction, and returns the role. */
static const char *role_of(struct place *p, struct store *s)
{
	struct sql_caller_by_name_in in = { .team_name = "t", .name = "a" };
	struct caller_row row = { 0 };

	assert_int_equal(store_row(s, sql_caller_by_name, &in, &row, sizeof(row),
				   &p->arena, &p->fault),
			 1);
	assert_string_equal(row.team_name, "t");
	return row.role;
}

static void set_role(struct place *p, struct store *s, const char *role)
{
	struct sql_agent_set_role_in in = { .agent = 1, .role = role, .description = "" };

	assert_int_equal(store_run(s, sql_agent_set_role, &in, &p->fault), 1);
}

static void begin(struct place *p, struct store *s)
{
	assert_int_equal(store_begin(s, true, &p->fault), 0);
}

static void commit(struct place *p, struct store *s)
{
	assert_int_equal(store_commit(s, &p->fault), 0);
}

static int64_t new_team(struct place *p, struct store *s)
{
	return store_new_id(s, sql_team_new_id, &p->fault);
}

/* A new id is never given to two rows, even if another store has written meanwhile. When a
 * change is undone, the change's ids can be used again. */
static void test_new_ids(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p), *other = place_open(p);

	begin(p, s);
	assert_int_equal(add_team(s, "one", &p->fault), 1);
	assert_int_equal(add_team(s, "two", &p->fault), 2);
	assert_int_equal(new_team(p, s), 3); /* no row gets this id */
	assert_int_equal(add_team(s, "four", &p->fault), 4);
	commit(p, s);
	begin(p, other);
	assert_int_equal(add_team(other, "five", &p->fault), 5);
	commit(p, other);
	begin(p, s);
	assert_int_equal(new_team(p, s), 6);
	store_rollback(s);
	begin(p, s);
	assert_int_equal(store_savepoint(s, &p->fault), 0);
	assert_int_equal(add_team(s, "six", &p->fault), 6);
	assert_int_equal(store_rewind(s, &p->fault), 0);
	assert_int_equal(add_team(s, "six again", &p->fault), 6);
	commit(p, s);
	store_close(other);
	store_close(s);
}

/* A kept row always equals the row that a query finds in the database. */
static void test_kept_rows(void **state)
{
	struct sql_team_add_in team = { .id = 1, .name = "t" };
	struct sql_agent_add_in agent = {
		.id = 1, .team = 1, .name = "a", .role = "one", .description = ""
	};
	struct place *p = *state;
	struct store *s = place_open(p), *other = place_open(p);

	begin(p, s);
	assert_int_equal(store_run(s, sql_team_add, &team, &p->fault), 1);
	assert_int_equal(store_run(s, sql_agent_add, &agent, &p->fault), 1);
	assert_string_equal(role_of(p, s), "one");
	assert_string_equal(role_of(p, s), "one");
	set_role(p, s, "two");
	assert_string_equal(role_of(p, s), "two");
	commit(p, s);

	begin(p, s);
	assert_string_equal(role_of(p, s), "two");
	assert_int_equal(store_savepoint(s, &p->fault), 0);
	set_role(p, s, "three");
	assert_string_equal(role_of(p, s), "three");
	assert_int_equal(store_rewind(s, &p->fault), 0);
	assert_string_equal(role_of(p, s), "two");
	set_role(p, s, "four");
	assert_string_equal(role_of(p, s), "four");
	store_rollback(s);

	begin(p, s);
	assert_string_equal(role_of(p, s), "two");
	commit(p, s);
	begin(p, other);
	set_role(p, other, "five");
	commit(p, other);
	begin(p, s);
	assert_string_equal(role_of(p, s), "five");
	commit(p, s);
	store_close(other);
	store_close(s);
}

/* A store keeps the rows of all agents, even in a large team. A statement that changes no kept
 * row does not drop the kept rows. */
static void test_kept_by_many(void **state)
{
	struct sql_team_add_in team = { .id = 1, .name = "t" };
	struct sql_lease_renew_in renew = { .agent = 1, .now = 1 };
	struct place *p = *state;
	struct store *s = place_open(p);
	char name[16];

	begin(p, s);
	assert_int_equal(store_run(s, sql_team_add, &team, &p->fault), 1);
	for (int i = 0; i < 64; i++) {
		struct sql_agent_add_in agent = { .id = i + 1,
						  .team = 1,
						  .name = name,
						  .role = "one",
						  .description = "" };

		snprintf(name, sizeof(name), "a%d", i);
		assert_int_equal(store_run(s, sql_agent_add, &agent, &p->fault), 1);
	}
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 64; i++) {
			struct sql_caller_by_name_in in = { .team_name = "t",
							    .name = name };
			struct caller_row row = { 0 };

			snprintf(name, sizeof(name), "a%d", i);
			assert_int_equal(store_row(s, sql_caller_by_name, &in, &row,
						   sizeof(row), &p->arena, &p->fault),
					 1);
		}
		if (round == 0)
			assert_int_equal(store_run(s, sql_lease_renew, &renew, &p->fault),
					 0);
		store_fail(s, 1,
			   10 /* SQLITE_IOERR */); /* from now on no row can be read */
	}
	store_fail(s, 0, 0);
	store_rollback(s);
	store_close(s);
}

static void test_checkpoint(void **state)
{
	struct place *p = *state;
	struct store *s = place_open_with(p, STORE_CREATE | STORE_NO_CHECKPOINT, NULL);
	struct store *beside = place_open_with(p, STORE_READ, NULL);
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
	/* The number of frames is also right when the restarted WAL grows longer than before
	 * the restart. */
	for (int64_t i = 1; i <= grown; i++) {
		assert_int_equal(commit_event(s, 1, 100 + (int)i, &p->fault), 0);
		assert_true(store_wal_frames(s) > i);
	}
	store_close(beside);
	store_close(s);
}

static void test_backup(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
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
	/* The copy is a complete state, and opens after it was moved to the state's path. */
	snprintf(moved, sizeof(moved), "%s/state.db", p->dir);
	assert_int_equal(rename(path, moved), 0);
	s = place_open(p);
	assert_int_equal(events(s), 1);
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	store_close(s);
	place_assert_sound(p);
}

static void test_copy(void **state)
{
	struct place *p = *state;
	struct store *s = place_open_with(p, STORE_MEMORY, NULL);
	struct store *copy = place_open_with(p, STORE_MEMORY, NULL);

	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	assert_int_equal(events(copy), 0);
	assert_int_equal(store_copy(copy, s, &p->fault), 0);
	assert_int_equal(events(copy), 1);
	assert_int_equal(commit_event(copy, 1, 2, &p->fault), 0);
	assert_int_equal(events(s), 1);
	store_close(copy);
	store_close(s);
}

/* --- a new state ----------------------------------------------------------------- */

static int64_t number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st;
	int64_t n;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) || sqlite3_step(st) != SQLITE_ROW)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

/* Makes a query for each table. The query counts the rows that are in only one of the two
 * files, and leaves out columns that differ between new states. */
static const char differences[] =
	"SELECT replace(replace('SELECT count(*) FROM ("
	"SELECT * FROM (SELECT COLS FROM main.TABLE EXCEPT SELECT COLS FROM made.TABLE) UNION ALL "
	"SELECT * FROM (SELECT COLS FROM made.TABLE EXCEPT SELECT COLS FROM main.TABLE))',"
	" 'COLS', (SELECT group_concat(name) FROM pragma_table_info(t.name)"
	"	WHERE name NOT IN ('incarnation', 'created_at', 'id_a', 'id_b', 'id_c'))),"
	" 'TABLE', t.name) FROM made.sqlite_schema t WHERE t.type = 'table'";

/* A new state has the same rows as an empty file after all migrations. schema_check() has
 * already compared the schema objects of the new state. */
static void test_new_as_migrated(void **state)
{
	struct place *p = *state;
	struct store *s = NULL;
	sqlite3_stmt *st;
	sqlite3 *db;
	char *attach;
	int n = 0;

	assert_int_equal(store_open(&s, p->dir, STORE_CREATE, NULL, &p->fault), 0);
	store_close(s);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (int i = 0; i < migration_count; i++)
		assert_int_equal(sqlite3_exec(db, migration_table[i].text, NULL, NULL,
					      NULL),
				 SQLITE_OK);
	attach = sqlite3_mprintf("ATTACH '%q/state.db' AS made", p->dir);
	assert_int_equal(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_free(attach);
	assert_int_equal(sqlite3_prepare_v2(db, differences, -1, &st, NULL), SQLITE_OK);
	for (; sqlite3_step(st) == SQLITE_ROW; n++)
		if (number(db, (const char *)sqlite3_column_text(st, 0)))
			fail_msg("%s", sqlite3_column_text(st, 0));
	assert_true(n > 30);
	assert_int_equal(number(db, "PRAGMA main.user_version"),
			 number(db, "PRAGMA made.user_version"));
	sqlite3_finalize(st);
	sqlite3_close(db);
}

/* Each new state gets its own random keys. Keys that are too short to be unique are not
 * compared. */
static void test_new_states_differ(void **state)
{
	struct place *p = *state;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (int i = 0; i < 2; i++) {
		char dir[200], *attach;
		struct store *s = NULL;

		snprintf(dir, sizeof(dir), "%s/%c", p->dir, 'a' + i);
		assert_int_equal(mkdir(dir, 0700), 0);
		assert_int_equal(store_open(&s, dir, STORE_CREATE, NULL, &p->fault), 0);
		store_close(s);
		attach = sqlite3_mprintf("ATTACH '%q/state.db' AS %c", dir, 'a' + i);
		assert_int_equal(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
		sqlite3_free(attach);
	}
	assert_int_equal(
		number(db, "SELECT x.incarnation <> y.incarnation AND x.id_c <> y.id_c "
			   "FROM a.state x, b.state y"),
		1);
	sqlite3_close(db);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(test_new_as_migrated),
		STORY(test_new_states_differ),
		STORY(test_first_open_at_once),
		STORY(test_writers_take_turns),
		STORY(test_kill_loses_nothing),
		STORY(test_place),
		STORY(test_rewind_keeps_others),
		STORY(test_values),
		STORY(test_returning),
		STORY(test_rows_into_a_record),
		STORY(test_others_are_noticed),
		STORY(test_new_ids),
		STORY(test_kept_rows),
		STORY(test_kept_by_many),
		STORY(test_checkpoint),
		STORY(test_backup),
		STORY(test_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) + run_fault_tests();
}
