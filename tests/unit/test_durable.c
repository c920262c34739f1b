/*
 * In which order names and contents get to the disk: what is given a name was synced
 * before, and the folder that holds the name afterwards, before anybody is told.
 *
 * The calls that matter are the test's own: each is done, and noted in a journal.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/host/known.h"
#include "core/machine/backend.h"
#include "core/machine/copy.h"
#include "core/machine/disk.h"
#include "storage/durable.h"
#include "storage/restore.h"
#include "storage/spool.h"
#include "storage/store.h"
#include "tests/lib/place.h"

/* --- the journal --------------------------------------------------------------------- */

enum { STEPS_MOST = 2000 };

struct step {
	enum { SYNC, SYNC_ALL, MOVE, MAKE } kind;
	char path[PATH_MAX], to[PATH_MAX];
};

static struct journal {
	struct step *steps; /* NULL: nothing is noted */
	size_t n;
	char base[64];
} journal;

static void path_of(int fd, char out[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, PATH_MAX - 1);
	out[n < 0 ? 0 : n] = '\0';
}

static void path_at(int dir, const char *name, char out[PATH_MAX])
{
	char above[PATH_MAX] = "";

	if (*name == '/' || dir == AT_FDCWD) {
		snprintf(out, PATH_MAX, "%.4000s", name);
		return;
	}
	path_of(dir, above);
	snprintf(out, PATH_MAX, "%.2000s/%.2000s", above, name);
}

/* The next step to fill; NULL when nothing is noted. */
static struct step *note(int kind)
{
	struct step *s;

	if (!journal.steps || journal.n == STEPS_MOST)
		return NULL;
	s = &journal.steps[journal.n++];
	*s = (struct step){ .kind = kind };
	return s;
}

static int note_sync(int fd, int kind)
{
	struct step *s = note(kind);

	if (s)
		path_of(fd, s->path);
	return 0;
}

int fsync(int fd)
{
	return note_sync(fd, SYNC), (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return note_sync(fd, SYNC), (int)syscall(SYS_fdatasync, fd);
}

int syncfs(int fd)
{
	return note_sync(fd, SYNC_ALL), (int)syscall(SYS_syncfs, fd);
}

static int move_at(int from, const char *name, int to, const char *other, unsigned flags)
{
	int rc = (int)syscall(SYS_renameat2, from, name, to, other, flags);
	int error = errno;
	struct step *s = rc == 0 ? note(MOVE) : NULL;

	if (s) {
		path_at(from, name, s->path);
		path_at(to, other, s->to);
	}
	errno = error;
	return rc;
}

int rename(const char *from, const char *to)
{
	return move_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from, const char *name, int to, const char *other)
{
	return move_at(from, name, to, other, 0);
}

int renameat2(int from, const char *name, int to, const char *other, unsigned flags)
{
	return move_at(from, name, to, other, flags);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
	int rc = (int)syscall(SYS_mkdirat, dir, name, mode);
	struct step *s = rc == 0 ? note(MAKE) : NULL;

	if (s)
		path_at(dir, name, s->path);
	return rc;
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

/* --- what is asked of it ---------------------------------------------------------------- */

static void begin(void)
{
	journal.n = 0;
	journal.steps = test_calloc(STEPS_MOST, sizeof(*journal.steps));
}

static void end(void)
{
	struct step *steps = journal.steps;

	journal.steps = NULL;
	assert_true(journal.n < STEPS_MOST);
	test_free(steps);
}

static void above(const char *path, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s", path);
	*strrchr(out, '/') = '\0';
}

/* Whether a step from `first` up to `last` has synced `path`. */
static bool is_synced(const char *path, size_t first, size_t last)
{
	for (size_t i = first; i < last; i++)
		if (journal.steps[i].kind == SYNC_ALL ||
		    (journal.steps[i].kind == SYNC && !strcmp(journal.steps[i].path, path)))
			return true;
	return false;
}

static bool is_later_moved(const char *path, size_t from)
{
	for (size_t i = from; i < journal.n; i++)
		if (journal.steps[i].kind == MOVE && !strcmp(journal.steps[i].path, path))
			return true;
	return false;
}

static const char *below(const char *path)
{
	size_t n = strlen(journal.base);

	return strncmp(path, journal.base, n) ? path : path + n;
}

/* Every folder that was made, and every name that was given, is on the disk in the end. */
static void check_names(void)
{
	char holder[PATH_MAX];

	for (size_t i = 0; i < journal.n; i++) {
		const struct step *s = &journal.steps[i];
		const char *path = s->kind == MOVE ? s->to : s->path;

		if ((s->kind != MOVE && s->kind != MAKE) || is_later_moved(path, i + 1))
			continue;
		above(path, holder);
		if (!is_synced(holder, i + 1, journal.n))
			fail_msg("the name %s is not synced", below(path));
	}
}

/* The step that moved `from` to `to`, both below base. */
static size_t find_move(const char *from, const char *to)
{
	for (size_t i = 0; i < journal.n; i++) {
		const struct step *s = &journal.steps[i];

		if (s->kind == MOVE && !strcmp(below(s->path), from) &&
		    !strcmp(below(s->to), to))
			return i;
	}
	fail_msg("%s is not moved to %s", from, to);
	return 0;
}

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
	temp_remove(journal.base);
	return 0;
}

static void a_folder_has_its_name(void **state)
{
	(void)state;
	begin();
	assert_int_equal(dir_make(at("/a"), 0700), 0);
	assert_int_equal(dir_make_all(at("/b/c/d"), 0700), 0);
	check_names();
	end();
	/* Whoever made it may not have come to that. */
	begin();
	assert_int_equal(dir_make(at("/a"), 0700), 0);
	assert_true(is_synced(journal.base, 0, journal.n));
	end();
	begin();
	assert_int_equal(dir_sync_above(at("/b/c/d/")), 0);
	assert_true(is_synced(at("/b/c"), 0, journal.n));
	end();
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
	begin();
	assert_int_equal(tree_copy(at("/from"), to, ".cadre", &f), 0);
	assert_true(is_synced(to, 0, journal.n));
	end();
	begin();
	assert_int_equal(tree_remove(to, &f), 0);
	assert_true(is_synced(journal.base, 0, journal.n));
	end();
}

/* --- states ---------------------------------------------------------------------------------- */

static void make_state(struct store **s)
{
	struct fault f = { 0 };

	assert_int_equal(store_open(s, at("/state"), STORE_CREATE, NULL, &f), 0);
}

/* Its content, then its name. */
static void a_backup_is_whole(void **state)
{
	struct fault f = { 0 };
	struct store *s;
	char temp[100];
	size_t moved;

	(void)state;
	make_state(&s);
	snprintf(temp, sizeof(temp), "/copy.db.%d.tmp", (int)getpid());
	begin();
	assert_int_equal(store_backup(s, at("/copy.db"), &f), 0);
	moved = find_move(temp, "/copy.db");
	/* By the step before: what SQLite syncs by itself is not all that was written. */
	assert_true(is_synced(at(temp), moved - 1, moved));
	check_names();
	end();
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

/* All that a restore needs is on the disk before its folder has the name that counts;
 * the former files are kept before new ones are put in their place. */
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
	begin();
	assert_int_equal(restore_commit(at("/state"), secret, aside, sizeof(aside), &f),
			 0);
	counts = find_move("/state/restore.tmp", "/state/restore.ready");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		snprintf(path, sizeof(path), "%s%s", staged, parts[i]);
		if (!is_synced(path, 0, counts))
			fail_msg("%s is not synced", below(path));
	}
	snprintf(kept, sizeof(kept), "%s/state.db", aside);
	former = find_move("/state/state.db", below(kept));
	assert_true(is_synced(at("/state"), counts, former));
	now = find_move("/state/restore.ready/state.db", "/state/state.db");
	assert_true(is_synced(aside, former, now));
	assert_true(is_synced(at("/state"), former, now));
	assert_true(is_synced(at("/state"), now, journal.n));
	check_names();
	end();
}

static void what_is_known_is_noted(void **state)
{
	struct fault f = { 0 };
	size_t moved;
	int dir;

	(void)state;
	mkdir(at("/known"), 0700);
	setenv("XDG_STATE_HOME", at("/user"), 1);
	dir = open(at("/known"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	begin();
	assert_int_equal(known_add(dir, at("/known"), KNOWN_MADE, &f), 0);
	moved = find_move("/user/cadre/known.new", "/user/cadre/known");
	assert_true(is_synced(at("/user/cadre/known.new"), 0, moved));
	/* The id is there before the file says that it is known. */
	assert_true(find_move("/known/id.new", "/known/id") < moved);
	assert_true(is_synced(at("/known/id.new"), 0,
			      find_move("/known/id.new", "/known/id")));
	check_names();
	end();
	close(dir);
}

static void a_spool_is_set_aside(void **state)
{
	struct spool_place place = { journal.base, "one", -1 };
	struct fault f = { 0 };
	struct spool *s;

	(void)state;
	assert_int_equal(spool_open(&s, &place, 1, &f), 0);
	spool_close(s);
	place.workspace = "two";
	begin();
	assert_int_equal(spool_open(&s, &place, 1, &f), 0);
	assert_true(is_synced(journal.base, find_move("/spool.db", "/spool.db.one"),
			      journal.n));
	end();
	spool_close(s);
}

/* --- workspaces -------------------------------------------------------------------------------- */

static char paths[3][100];

static struct spot spot_of(void)
{
	snprintf(paths[0], sizeof(paths[0]), "%s", journal.base);
	snprintf(paths[1], sizeof(paths[1]), "%s/workspaces/w", journal.base);
	snprintf(paths[2], sizeof(paths[2]), "%s/run", journal.base);
	return (struct spot){
		.id = "w", .name = "w", .home = paths[0], .path = paths[1], .sockets = paths[2]
	};
}

static void a_snapshot_keeps_the_order(void **state)
{
	const struct machine *m = &machine_process;
	struct spot spot = spot_of();
	struct fault f = { 0 };
	size_t away;

	(void)state;
	begin();
	assert_int_equal(m->make(NULL, &spot, &f), 0);
	check_names();
	end();
	write_file("/workspaces/w/file", 10);
	begin();
	assert_int_equal(m->snapshot(NULL, &spot, "s", &f), 0);
	assert_true(is_synced("", 0, find_move("/snapshots/w/s.half", "/snapshots/w/s")));
	check_names();
	end();
	begin();
	assert_int_equal(m->restore(NULL, &spot, "s", &f), 0);
	/* The former directory goes when the copy is there with its name, and no sooner. */
	away = find_move("/workspaces/w", "/snapshots/w/.old");
	assert_true(is_synced(at("/snapshots/w"), 0, away));
	assert_true(find_move("/snapshots/w/.new", "/workspaces/w") > away);
	check_names();
	end();
}

static void a_kept_layer_has_its_name(void **state)
{
	struct arena a = { 0 };
	struct disk d = { &a, journal.base, "w" };
	struct fault f = { 0 };

	(void)state;
	mkdir(at("/w"), 0700);
	write_file("/w/0.qcow2", 10);
	begin();
	assert_int_equal(disk_keep(&d, "s", at("/w/0.qcow2"), &f), 0);
	assert_true(journal.n > 0);
	check_names();
	end();
	arena_release(&a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_folder_has_its_name),	 TEST(a_copy_is_whole),
		TEST(a_backup_is_whole),	 TEST(a_restore_keeps_the_order),
		TEST(what_is_known_is_noted),	 TEST(a_spool_is_set_aside),
		TEST(a_snapshot_keeps_the_order), TEST(a_kept_layer_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
