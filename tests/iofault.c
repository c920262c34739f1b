/*
 * iofault - a host whose disk fails at every step, and a host on a full disk.
 *
 * The host must report each error and keep all acknowledged data. Reads must go on while writes
 * fail. The host must recover by itself when the disk works again.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "tests/iofault/stage.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"

/* --- a disk with planted faults ------------------------------------------------------ */

static int host_setup(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));

	stage_open(s, NULL);
	stage_start(s);
	*state = s;
	return 0;
}

static int host_teardown(void **state)
{
	stage_close(*state);
	free(*state);
	return 0;
}

/* Each round makes one disk operation fail, and the next round makes a later disk operation
 * fail. Ends after a round in which no disk operation failed. */
static void fail_each(struct stage *s, int kinds, int result)
{
	long step = 3, struck = 0;
	int unavailable = 0;

	for (long n = 1 + first_of(&step); n < 400; n += step) {
		int before = s->n_asked, yes;

		disk_break(s, kinds, result, n, false);
		yes = stage_round(s);
		unavailable += s->n_asked - before - yes;
		if (!atomic_load(&s->disk->failed))
			break;
		struck++;
		disk_mend(s);
		stage_settle(s);
	}
	disk_mend(s);
	stage_settle(s);
	print_message("           %ld steps failed, %d calls unavailable\n", struck,
		      unavailable);
	assert_true(struck > 0);
}

static void end_well(struct stage *s)
{
	stage_stop(s, false);
	stage_judge(s);
}

static void test_each_write(void **state)
{
	fail_each(*state, FAULT_DISK_WRITE, SQLITE_IOERR_WRITE);
	end_well(*state);
}

static void test_each_full(void **state)
{
	fail_each(*state, FAULT_DISK_WRITE, SQLITE_FULL);
	end_well(*state);
}

static void test_each_sync(void **state)
{
	fail_each(*state, FAULT_DISK_SYNC, SQLITE_IOERR_FSYNC);
	end_well(*state);
}

/* Makes a big board, so that later calls read from the disk. The rows of a small board would
 * stay in the host's memory. */
static void fill(struct stage *s, int n)
{
	char text[4000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < n; i++)
		assert_int_equal(stage_write(s, "task.create",
					     json_pack("{sosssi}", "title",
						       json_sprintf("filler %d", i),
						       "description", text, "priority",
						       5),
					     NULL),
				 SAID_YES);
}

static enum said look(struct stage *s)
{
	json_t *answer;
	enum said said = stage_read(
		s, "task.list", json_pack("{sisb}", "limit", 1000, "all", 1), &answer);

	json_decref(answer);
	return said;
}

static void test_each_read(void **state)
{
	struct stage *s = *state;
	int refused = 0, failed = 0;
	long step = 3;

	fill(s, 600);
	for (long n = first_of(&step), i = 0; n < 60; n += step, i++) {
		/* A new host has no rows in memory. */
		if (i % 10 == 0) {
			stage_stop(s, false);
			stage_start(s);
		}
		disk_break(s, FAULT_DISK_READ, SQLITE_IOERR_SHORT_READ, n % 10 * 3 + 1,
			   false);
		refused += look(s) != SAID_YES;
		stage_round(s);
		failed += atomic_load(&s->disk->failed) > 0;
		disk_mend(s);
		stage_settle(s);
		assert_int_equal(look(s), SAID_YES);
	}
	print_message("           %d reads failed, %d looks refused\n", failed, refused);
	assert_true(failed > 0);
	end_well(s);
}

/* Makes all disk operations of these kinds fail for a while. */
static void away(struct stage *s, int kinds, int result, bool reads)
{
	int64_t until = clock_steady_ms() + 700;
	int rounds = 0;

	disk_break(s, kinds, result, 1, true);
	for (; clock_steady_ms() < until; rounds++) {
		assert_int_equal(stage_send(s), SAID_UNAVAILABLE);
		stage_round(s);
		if (reads)
			assert_int_equal(look(s), SAID_YES);
		pause_for(10);
	}
	assert_true(rounds > 3);
	assert_true(atomic_load(&s->disk->failed) > 0);
	disk_mend(s);
	stage_settle(s);
	assert_true(stage_round(s) >= 4);
}

static void test_disk_full_for_a_while(void **state)
{
	away(*state, FAULT_DISK_WRITE, SQLITE_FULL, true);
	end_well(*state);
}

/* Makes free pages in the state's file, as a cleanup of old rows does. */
static void make_free_pages(struct stage *s)
{
	char path[200];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/state.db", s->home);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "CREATE TABLE filler (x); "
				      "INSERT INTO filler VALUES (zeroblob(16777216)); "
				      "DROP TABLE filler",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* On the full disk no file can grow, but the host can copy the WAL to the state's file and
 * overwrite the WAL. The host copies even a short WAL, without a request, and then accepts
 * writes again. */
static void test_makes_room_on_a_full_disk(void **state)
{
	struct stage *s = *state;
	int refused = 0, turns = 0;

	stage_stop(s, false);
	make_free_pages(s);
	stage_start(s);
	for (int i = 0; i < 10; i++)
		stage_round(s);
	disk_break(s, FAULT_DISK_GROW, SQLITE_FULL, 1, true);
	while (refused < 5) {
		int64_t until = clock_steady_ms() + patience_ms(10000);

		for (; stage_send(s) != SAID_YES; refused++) {
			if (clock_steady_ms() > until)
				fail_msg("no room was made: %s", s->fault.text);
			pause_for(5);
		}
		turns++;
	}
	print_message("           %d sends, %d refused\n", turns, refused);
	assert_true(atomic_load(&s->disk->failed) > 0);
	disk_mend(s);
	stage_settle(s);
	end_well(s);
}

static void test_disk_gone_for_a_while(void **state)
{
	away(*state, FAULT_DISK_WRITE | FAULT_DISK_SYNC | FAULT_DISK_TRUNCATE,
	     SQLITE_IOERR, true);
	away(*state, FAULT_DISK_ALL, SQLITE_IOERR, false);
	end_well(*state);
}

/* The operations that fail include the writes and truncations of checkpoints. */
static void test_checkpoints_fail(void **state)
{
	struct stage *s = *state;

	for (int i = 0; i < 6; i++) {
		disk_break(s, FAULT_DISK_WRITE | FAULT_DISK_SYNC | FAULT_DISK_TRUNCATE,
			   SQLITE_IOERR, 701 + i * 37, false);
		for (int k = 0; k < 60; k++)
			stage_round(s);
		disk_mend(s);
		stage_settle(s);
	}
	end_well(s);
}

/* Kills the host while its disk fails. Acknowledged data must stay. */
static void test_killed_while_failing(void **state)
{
	struct stage *s = *state;

	for (int i = 0; i < 5; i++) {
		stage_round(s);
		disk_break(s, FAULT_DISK_WRITE | FAULT_DISK_SYNC, SQLITE_IOERR, 3 + i * 5,
			   true);
		stage_round(s);
		stage_stop(s, true);
		disk_mend(s);
		stage_start(s);
		stage_settle(s);
	}
	end_well(s);
}

/* --- without a host --------------------------------------------------------------------- */

/* Runs `cadre --direct send`, with the planted disk fault if `faulty`. Returns the command's
 * exit status. */
static int send_direct(struct stage *s, int number, bool faulty)
{
	char key[40], text[80], vfs[120];
	const char *const argv[] = { cadre_path(), "--direct", "--home", s->home,
				     "--as",       "ann",      "--key",  key,
				     "send",       "bob",      text,     NULL };
	const char *const env[] = { vfs, NULL };
	const struct child c = { .argv = argv,
				 .env = faulty ? env : NULL,
				 .log = s->log,
				 .in = -1,
				 .fd3 = -1 };

	snprintf(key, sizeof(key), "direct-%d", number);
	snprintf(text, sizeof(text), "direct %d", number);
	snprintf(vfs, sizeof(vfs), "CADRE_TEST_VFS=%s", s->disk_file);
	return child_wait(child_start(&c), 20000);
}

static void test_direct_process(void **state)
{
	static const int kinds[] = { FAULT_DISK_OPEN, FAULT_DISK_READ, FAULT_DISK_WRITE,
				     FAULT_DISK_SYNC };
	struct stage *s = *state;
	int number = 0, refused = 0;
	long step = 3;

	stage_stop(s, false);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		for (long n = 1 + first_of(&step); n < 40; n += step) {
			int status, struck;

			disk_break(s, kinds[k], SQLITE_IOERR, n, false);
			status = send_direct(s, ++number, true);
			struck = atomic_load(&s->disk->failed);
			disk_mend(s);
			assert_true(WIFEXITED(status));
			if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 7 &&
			    WEXITSTATUS(status) != 1)
				fail_msg("status %d; see %s", status, s->log);
			refused += status != 0;
			if (status != 0)
				assert_int_equal(send_direct(s, number, false), 0);
			if (!struck)
				break;
		}
	print_message("           %d sends, %d refused at first\n", number, refused);
	stage_start(s);
	end_well(s);
}

/* --- a disk that is really full --------------------------------------------------------- */

/* Mounts a small file system that only this process and its children see. */
static bool mount_small(const char *at)
{
	mkdir(at, 0700);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", at, "tmpfs", 0, "size=32m,mode=700") == 0;
}

static void take_space(const char *path, size_t most)
{
	char block[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	memset(block, 'x', sizeof(block));
	for (size_t n = 0; n < most && write(fd, block, sizeof(block)) > 0;)
		n += sizeof(block);
	close(fd);
}

/* Writes until the host reports a full disk 20 times. Returns false if the disk does not get
 * full. */
static bool write_until_full(struct stage *s)
{
	int refused = 0;

	for (int i = 0; i < 2000 && refused < 20; i++) {
		refused += stage_send(s) == SAID_UNAVAILABLE;
		stage_round(s);
	}
	return refused == 20;
}

struct full {
	struct stage stage;
	char place[64], home[80], filler[80];
	bool mounted, open;
};

static int full_setup(void **state)
{
	struct full *x = calloc(1, sizeof(*x));

	snprintf(x->place, sizeof(x->place), "/tmp/cadre-full.%d", (int)getpid());
	snprintf(x->home, sizeof(x->home), "%s/state", x->place);
	snprintf(x->filler, sizeof(x->filler), "%s/filler", x->place);
	x->mounted = mount_small(x->place);
	*state = x;
	return 0;
}

static int full_teardown(void **state)
{
	struct full *x = *state;

	if (x->open)
		stage_close(&x->stage);
	if (x->mounted)
		umount(x->place);
	rmdir(x->place);
	free(x);
	return 0;
}

static void test_really_full(void **state)
{
	struct full *x = *state;
	struct stage *s = &x->stage;

	if (!x->mounted) {
		print_message("           skipped: mounting is not permitted here\n");
		skip();
	}
	x->open = true;
	stage_open(s, x->home);
	stage_start(s);
	for (int i = 0; i < 3; i++) {
		stage_round(s);
		take_space(x->filler, 64 << 20);
		assert_true(write_until_full(s));
		assert_int_equal(look(s), SAID_YES);
		unlink(x->filler);
		stage_settle(s);
		assert_true(stage_round(s) >= 4);
	}
	end_well(s);
}

static int end_children(void **state)
{
	(void)state;
	child_end_all();
	return 0;
}

int main(void)
{
#define WITH_HOST(test) cmocka_unit_test_setup_teardown(test, host_setup, host_teardown)
	const struct CMUnitTest tests[] = {
		WITH_HOST(test_each_write),
		WITH_HOST(test_each_full),
		WITH_HOST(test_each_sync),
		WITH_HOST(test_each_read),
		WITH_HOST(test_disk_full_for_a_while),
		WITH_HOST(test_makes_room_on_a_full_disk),
		WITH_HOST(test_disk_gone_for_a_while),
		WITH_HOST(test_checkpoints_fail),
		WITH_HOST(test_killed_while_failing),
		WITH_HOST(test_direct_process),
		cmocka_unit_test_setup_teardown(test_really_full, full_setup,
						full_teardown),
	};

	child_adopt();
	cadre_path_with_disk();
	return cmocka_run_group_tests(tests, NULL, end_children);
}
