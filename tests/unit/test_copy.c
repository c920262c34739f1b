/* Tests how directories are copied and removed: deep directories, sparse files, and files that
 * are left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/machine/machine_copy.h"

enum { DEEP = 600 };

static int64_t left_out;

static char root[64], from[100], to[100];
static struct fault fault;

static int set_up(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/cadre-copy-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(from, sizeof(from), "%s/from", root);
	snprintf(to, sizeof(to), "%s/to", root);
	fault = (struct fault){ 0 };
	return mkdir(from, 0755);
}

static int tear_down(void **state)
{
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(tree_remove(root, &f), 0);
	assert_int_not_equal(access(root, F_OK), 0);
	return 0;
}

static const char *below(const char *dir, const char *name)
{
	static char path[4][256];
	static int n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof(path[n]), "%s/%s", dir, name);
	return path[n];
}

static void put(const char *dir, const char *name, const char *text, mode_t mode)
{
	int fd = open(below(dir, name), O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static const char level_name[] = "a directory on the way down";

static void make_deep(const char *top)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY), next;

	for (int i = 0; i < DEEP; i++) {
		assert_int_equal(mkdirat(fd, level_name, 0755), 0);
		next = openat(fd, level_name, O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = next;
	}
	close(openat(fd, "leaf", O_WRONLY | O_CREAT, 0640));
	close(fd);
}

static int depth_of(const char *top)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY), next, n = 0;

	while ((next = openat(fd, level_name, O_RDONLY | O_DIRECTORY)) >= 0) {
		close(fd);
		fd = next;
		n++;
	}
	n += faccessat(fd, "leaf", F_OK, 0) == 0;
	close(fd);
	return n;
}

/* Copies and removes a directory that is much deeper than the longest path. */
static void test_deep(void **state)
{
	(void)state;
	make_deep(from);
	put(from, "behind", "x", 0600);
	assert_int_equal(tree_copy(from, to, ".cadre", NULL, &fault), 0);
	assert_int_equal(depth_of(to), DEEP + 1);
	assert_int_equal(access(below(to, "behind"), F_OK), 0);
	assert_int_equal(tree_remove(from, &fault), 0);
	assert_int_not_equal(access(from, F_OK), 0);
}

static void test_modes_and_kinds(void **state)
{
	(void)state;
	put(from, "plain", "text", 0640);
	put(from, "own", "text", 04755);
	assert_int_equal(mkdir(below(from, "dir"), 0750), 0);
	assert_int_equal(symlink("plain", below(from, "link")), 0);
	assert_int_equal(mkfifo(below(from, "pipe"), 0600), 0);
	if (geteuid() == 0) {
		put(from, "theirs", "text", 0600);
		assert_int_equal(chown(below(from, "theirs"), 12345, 12345), 0);
		assert_int_equal(chmod(below(from, "theirs"), 06755), 0);
	}
	left_out = 0;
	assert_int_equal(tree_copy(from, to, ".cadre", &left_out, &fault), 0);
	assert_int_equal(left_out, 1);
	assert_int_equal(mode_of(below(to, "plain")), 0640);
	assert_int_equal(mode_of(below(to, "own")), 04755);
	assert_int_equal(mode_of(below(to, "dir")), 0750);
	assert_int_equal(access(below(to, "link"), F_OK), 0);
	assert_int_not_equal(access(below(to, "pipe"), F_OK), 0);
	if (geteuid() == 0)
		assert_int_equal(mode_of(below(to, "theirs")), 0755);
}

/* A folder `.cadre` in a folder of the project belongs to the project, not to the workspace. */
static void test_except(void **state)
{
	(void)state;
	assert_int_equal(mkdir(below(from, ".cadre"), 0700), 0);
	assert_int_equal(mkdir(below(from, "shop"), 0700), 0);
	assert_int_equal(mkdir(below(from, "shop/.cadre"), 0700), 0);
	put(from, "shop/.cadre/state.db", "all", 0600);
	assert_int_equal(tree_copy(from, to, ".cadre", NULL, &fault), 0);
	assert_int_not_equal(access(below(to, ".cadre"), F_OK), 0);
	assert_int_equal(access(below(to, "shop/.cadre/state.db"), F_OK), 0);
}

/* A limit on processor time ends an endless copy before the disk is full. Returns how many
 * folders the copy left out. */
static int copy_in_bounds(const char *where)
{
	const struct rlimit second = { 1, 1 };
	int64_t n = 0;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CPU, &second);
		_exit(tree_copy(from, where, ".cadre", &n, &fault) ? 100 : (int)n);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The folder that is copied contains the destination of the copy, and also the folder of the
 * state. */
static void test_copy_into_itself(void **state)
{
	char inner[200], home[200];

	(void)state;
	snprintf(home, sizeof(home), "%s/deep/state", from);
	snprintf(inner, sizeof(inner), "%s/deep/state/to", from);
	assert_int_equal(mkdir(below(from, "deep"), 0700), 0);
	assert_int_equal(mkdir(home, 0700), 0);
	put(home, "file", "x", 0600);
	assert_int_equal(copy_in_bounds(inner), 1);
	assert_int_equal(access(below(inner, "deep/state/file"), F_OK), 0);
	assert_int_not_equal(access(below(inner, "deep/state/to"), F_OK), 0);
	assert_int_equal(tree_remove(inner, &fault), 0);
	left_out = 0;
	assert_int_equal(tree_copy_golden(from, inner, home, &left_out, &fault), 0);
	assert_int_equal(left_out, 1);
	assert_int_equal(access(below(inner, "deep"), F_OK), 0);
	assert_int_not_equal(access(below(inner, "deep/state"), F_OK), 0);
	assert_int_not_equal(tree_copy_golden(home, to, home, NULL, &fault), 0);
	assert_non_null(strstr(fault.text, "is the folder of a state"));
	assert_int_not_equal(access(to, F_OK), 0);
}

/* No secret of a state is copied into an agent's folder. */
static void test_states_below(void **state)
{
	(void)state;
	assert_int_equal(mkdir(below(from, "tool"), 0700), 0);
	assert_int_equal(mkdir(below(from, "tool/.cadre"), 0700), 0);
	put(from, "tool/.cadre/state.db", "all", 0600);
	put(from, "tool/.cadre/secret", "all", 0600);
	put(from, "tool/file", "x", 0600);
	assert_int_equal(mkdir(below(from, "secret"), 0700), 0);
	put(from, "secret/secret", "x", 0600); /* this folder is not a state */
	left_out = 0;
	assert_int_equal(tree_copy_golden(from, to, root, &left_out, &fault), 0);
	assert_int_equal(left_out, 1);
	assert_int_equal(access(below(to, "tool/file"), F_OK), 0);
	assert_int_equal(access(below(to, "secret/secret"), F_OK), 0);
	assert_int_not_equal(access(below(to, "tool/.cadre"), F_OK), 0);
	assert_int_equal(tree_remove(to, &fault), 0);
	/* A state's folder is refused even if the caller names a symbolic link to the folder. */
	assert_int_equal(symlink(below(from, "tool/.cadre"), below(root, "link")), 0);
	assert_int_not_equal(
		tree_copy_golden(below(root, "link"), to, root, NULL, &fault), 0);
	assert_non_null(strstr(fault.text, "is the folder of a state"));
	assert_int_not_equal(access(to, F_OK), 0);
	fault = (struct fault){ 0 };
	assert_int_equal(tree_copy(from, to, ".cadre", NULL, &fault), 0);
	assert_int_equal(access(below(to, "tool/.cadre/secret"), F_OK), 0);
}

static void test_sparse(void **state)
{
	const off_t size = (off_t)1 << 40, middle = (off_t)1 << 39;
	char text[6] = "";
	struct stat st;
	int fd = open(below(from, "sparse"), O_RDWR | O_CREAT, 0600);

	(void)state;
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(pwrite(fd, "there", 5, middle), 5);
	close(fd);
	assert_int_equal(tree_copy(from, to, ".cadre", NULL, &fault), 0);
	fd = open(below(to, "sparse"), O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, size);
	assert_true(st.st_blocks < 1000);
	assert_int_equal(pread(fd, text, 5, middle), 5);
	assert_string_equal(text, "there");
	close(fd);
}

static void test_remove(void **state)
{
	(void)state;
	assert_int_equal(mkdir(below(from, "a"), 0700), 0);
	assert_int_equal(mkdir(below(from, "a/b"), 0700), 0);
	put(from, "a/b/f", "x", 0400);
	put(root, "kept", "x", 0600);
	assert_int_equal(symlink(root, below(from, "a/up")), 0);
	assert_int_equal(chmod(below(from, "a/b"), 0), 0);
	assert_int_equal(tree_remove(from, &fault), 0);
	assert_int_not_equal(access(from, F_OK), 0);
	/* The removal follows no link. */
	assert_int_equal(access(below(root, "kept"), F_OK), 0);
	assert_int_equal(tree_remove(from, &fault), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_deep, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_modes_and_kinds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_except, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copy_into_itself, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_states_below, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sparse, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_remove, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
