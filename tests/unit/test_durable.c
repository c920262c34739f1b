/*
 * The order in which names and contents reach the disk. A file is synced before it gets its
 * name. The folder of that name is synced afterwards, and before the call is answered.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/home/home_trust.h"
#include "core/machine/backend.h"
#include "core/machine/machine_copy.h"
#include "core/machine/vm/disk.h"
#include "storage/durable.h"
#include "storage/store_restore.h"
#include "storage/spool/spool.h"
#include "storage/store.h"
#include "tests/lib/place.h"
#include "tests/unit/test_durable/journal.h"

static const char *at(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", journal.base, name);
	return path;
}

/* --- folders ----------------------------------------------------------------------------- */

static int set_up(void **state)
{
	(void)state;
	return temp_make(journal.base, "durable");
}

static int tear_down(void **state)
{
	(void)state;
	if (journal.steps)
		journal_end(); /* runs only after a failed test */
	temp_remove(journal.base);
	return 0;
}

static void a_folder_has_its_name(void **state)
{
	(void)state;
	journal_begin();
	assert_int_equal(dir_make(at("/a"), 0700), 0);
	assert_int_equal(dir_make_all(at("/b/c/d"), 0700), 0);
	journal_check_names();
	journal_end();
	/* The process that made the folder may have been killed before the process synced the
	 * folder's name. */
	journal_begin();
	assert_int_equal(dir_make(at("/a"), 0700), 0);
	assert_true(journal_synced(journal.base, 0, journal.n));
	journal_end();
	journal_begin();
	assert_int_equal(dir_sync_above(at("/b/c/d/")), 0);
	assert_true(journal_synced(at("/b/c"), 0, journal.n));
	journal_end();
}

static void write_file(const char *name, size_t size)
{
	FILE *out = fopen(at(name), "w");

	for (size_t i = 0; i < size; i++)
		fputc('x', out);
	assert_int_equal(fclose(out), 0);
}

static void a_copy_is_whole(void **state)
{
	struct fault f = { 0 };
	char to[PATH_MAX];

	(void)state;
	mkdir(at("/from"), 0700);
	write_file("/from/file", 100);
	snprintf(to, sizeof(to), "%s", at("/to"));
	journal_begin();
	assert_int_equal(tree_copy(at("/from"), to, ".cadre", NULL, &f), 0);
	assert_true(journal_synced(to, 0, journal.n));
	journal_end();
	journal_begin();
	assert_int_equal(tree_remove(to, &f), 0);
	assert_true(journal_synced(journal.base, 0, journal.n));
	journal_end();
}

/* --- states ---------------------------------------------------------------------------------- */

static void make_state(struct store **s)
{
	struct fault f = { 0 };

	assert_int_equal(store_open(s, at("/state"), STORE_CREATE, NULL, &f), 0);
}

/* The content of a backup is synced before the backup's name is synced. */
static void a_backup_is_whole(void **state)
{
	struct fault f = { 0 };
	struct store *s;
	char temp[100];
	size_t moved;

	(void)state;
	make_state(&s);
	snprintf(temp, sizeof(temp), "/copy.db.%d.tmp", (int)getpid());
	journal_begin();
	assert_int_equal(store_backup(s, at("/copy.db"), &f), 0);
	moved = journal_move(temp, "/copy.db");
	/* The step before the rename syncs the file, because SQLite alone would not sync all of
	 * the file's content. */
	assert_true(journal_synced(at(temp), moved - 1, moved));
	journal_check_names();
	journal_end();
	store_close(s);
}

static void stage(char out[PATH_MAX])
{
	struct fault f = { 0 };
	char file[PATH_MAX];
	struct store *s;

	make_state(&s);
	snprintf(file, sizeof(file), "%s", at("/backup.db"));
	assert_int_equal(store_backup(s, file, &f), 0);
	store_close(s);
	write_file("/secret", 32);
	write_file("/state/secret", 32);
	assert_int_equal(restore_stage(at("/state"), file, out, PATH_MAX, &f), 0);
}

/* All files that a restore needs are on the disk before the folder of these files gets its
 * final name. The former files are set aside before the new files take their place. */
static void a_restore_keeps_the_order(void **state)
{
	static const char *const parts[] = { "/state.db", "/secret", "/aside", "" };
	char staged[PATH_MAX], secret[PATH_MAX], aside[PATH_MAX], path[PATH_MAX + 20];
	char kept[PATH_MAX + 20];
	struct fault f = { 0 };
	size_t counts, former, now;

	(void)state;
	stage(staged);
	snprintf(secret, sizeof(secret), "%s", at("/secret"));
	journal_begin();
	assert_int_equal(restore_commit(at("/state"), secret, aside, sizeof(aside), &f),
			 0);
	counts = journal_move("/state/restore.tmp", "/state/restore.ready");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		snprintf(path, sizeof(path), "%s%s", staged, parts[i]);
		if (!journal_synced(path, 0, counts))
			fail_msg("%s is not synced", journal_below(path));
	}
	snprintf(kept, sizeof(kept), "%s/state.db", aside);
	former = journal_move("/state/state.db", journal_below(kept));
	assert_true(journal_synced(at("/state"), counts, former));
	now = journal_move("/state/restore.ready/state.db", "/state/state.db");
	assert_true(journal_synced(aside, former, now));
	assert_true(journal_synced(at("/state"), former, now));
	/* The files are moved out of the staging folder, and the folder that now has the files
	 * is synced. Only then is the staging folder removed. */
	assert_true(journal_synced(at("/state"), now,
				   journal_removal("/state/restore.ready")));
	journal_check_names();
	journal_end();
}

static void what_is_known_is_noted(void **state)
{
	struct fault f = { 0 };
	char written[40];
	size_t moved;
	int dir;

	(void)state;
	mkdir(at("/known"), 0700);
	setenv("XDG_STATE_HOME", at("/user"), 1);
	dir = open(at("/known"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	journal_begin();
	assert_int_equal(trust_add(dir, at("/known"), KNOWN_MADE, &f), 0);
	moved = journal_move("/user/cadre/known.new", "/user/cadre/known");
	assert_true(journal_synced(at("/user/cadre/known.new"), 0, moved));
	/* The file `id` has its final name before the file `known` names the id. */
	snprintf(written, sizeof(written), "/known/id.%d", (int)getpid());
	assert_true(journal_move(written, "/known/id") < moved);
	assert_true(journal_synced(at(written), 0, journal_move(written, "/known/id")));
	journal_check_names();
	journal_end();
	close(dir);
}

static void a_spool_is_set_aside(void **state)
{
	struct spool_place place = { journal.base, "one", -1 };
	struct fault f = { 0 };
	struct spool *s;
	size_t moved;

	(void)state;
	assert_int_equal(spool_open(&s, &place, 1, &f), 0);
	spool_close(s);
	place.workspace = "two";
	journal_begin();
	assert_int_equal(spool_open(&s, &place, 1, &f), 0);
	/* The move of the old spool is synced before a new spool is made at the same path. */
	moved = journal_move("/spool.db", "/spool.db.one");
	assert_true(journal_has(SYNC, journal.base, moved + 1, moved + 2));
	journal_end();
	spool_close(s);
}

/* --- workspaces -------------------------------------------------------------------------------- */

static char paths[3][100];

static struct workspace_spec spot_of(void)
{
	snprintf(paths[0], sizeof(paths[0]), "%s", journal.base);
	snprintf(paths[1], sizeof(paths[1]), "%s/workspaces/w", journal.base);
	snprintf(paths[2], sizeof(paths[2]), "%s/run", journal.base);
	return (struct workspace_spec){ .id = "w",
					.name = "w",
					.home = paths[0],
					.path = paths[1],
					.sockets = paths[2] };
}

static void a_snapshot_keeps_the_order(void **state)
{
	const struct backend *m = &backend_process;
	struct workspace_spec spec = spot_of();
	struct fault f = { 0 };
	size_t away;

	(void)state;
	journal_begin();
	assert_int_equal(m->make(&spec, &f), 0);
	journal_check_names();
	journal_end();
	write_file("/workspaces/w/file", 10);
	journal_begin();
	assert_int_equal(m->snapshot(&spec, "s", &f), 0);
	assert_true(journal_has(SYNC_ALL, NULL, 0,
				journal_move("/snapshots/w/s.half", "/snapshots/w/s")));
	journal_check_names();
	journal_end();
	journal_begin();
	assert_int_equal(m->restore(&spec, "s", &f), 0);
	/* The former directory is moved away only after the copy is complete and the copy's
	 * name is synced. */
	away = journal_move("/workspaces/w", "/snapshots/w/.old");
	assert_true(journal_has(SYNC, at("/snapshots/w"), 0, away));
	assert_true(journal_move("/snapshots/w/.new", "/workspaces/w") > away);
	journal_check_names();
	journal_end();
}

static void a_kept_layer_has_its_name(void **state)
{
	struct arena a = { 0 };
	struct disk d = { &a, journal.base, "w" };
	struct fault f = { 0 };

	(void)state;
	mkdir(at("/w"), 0700);
	write_file("/w/0.qcow2", 10);
	journal_begin();
	assert_int_equal(disk_keep(&d, "s", at("/w/0.qcow2"), &f), 0);
	assert_true(journal.n > 0);
	journal_check_names();
	journal_end();
	arena_release(&a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_folder_has_its_name),      TEST(a_copy_is_whole),
		TEST(a_backup_is_whole),          TEST(a_restore_keeps_the_order),
		TEST(what_is_known_is_noted),     TEST(a_spool_is_set_aside),
		TEST(a_snapshot_keeps_the_order), TEST(a_kept_layer_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
