/*
 * setup on file systems with fewer features. NFS has no rename that refuses to replace a file,
 * and exFAT has no hard links. A new file still gets its name, and still does not replace a
 * file that appeared meanwhile. If a client writes into a file that setup changes or removes,
 * the client's text stays, whenever the client writes.
 */
#include <fcntl.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "tests/lib/setup.h"
#include "tests/unit/test_durable/journal.h"

/* From now on renameat2() with flags fails in this process with the error `renaming`. Unless
 * `linking` is 0, link() and linkat() fail with the error `linking`. */
static void let_fail(int renaming, int linking)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_linkat, 4, 0),
#ifdef __NR_link
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_link, 3, 0),
#else
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_linkat, 3, 0),
#endif
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_renameat2, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[4])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 2),
		BPF_STMT(BPF_RET | BPF_K, linking ? SECCOMP_RET_ERRNO | (unsigned)linking
						  : SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)renaming),
	};
	const struct sock_fprog prog = { .len = sizeof(code) / sizeof(*code),
					 .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(77);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
}

static char written[64]; /* path of the file that the client writes */

static void write_mine(void)
{
	put(written, "mine");
}

/* When the client writes the file. BEFORE: the client writes before setup checks whether the
 * file has changed, and the file keeps its former times. WITHIN: the client writes after this
 * check, right before setup's rename. */
enum comes { NEVER, BEFORE, WITHIN };

/* Changes or removes a file, while a client replaces the file's text by a text of the same
 * length. Returns 0 if setup changed or removed the file, 1 after a conflict, or 2 after
 * another fault. */
static int edit(const char *path, bool removes, enum comes comes)
{
	struct setup_target t;
	struct fault f = { 0 };

	snprintf(written, sizeof(written), "%s", path);
	if (setup_target_find(&t, path, "mine.json", NULL, &f) == 0 &&
	    setup_target_read(&t, &f) == 0) {
		if (comes == WITHIN)
			journal.before = write_mine;
		if (comes == BEFORE) {
			write_mine();
			utimensat(AT_FDCWD, path,
				  (struct timespec[]){ t.st.st_atim, t.st.st_mtim }, 0);
		}
		draft_splice(&t.draft, 0, t.draft.text.len, "ours", removes ? 0 : 4);
		t.draft.there = !removes;
		setup_target_write(&t, &f);
	}
	setup_target_release(&t);
	return !f.code ? 0 : f.code == FAULT_CONFLICT ? 1 : 2;
}

static void edits(int renaming, int linking, bool removes, enum comes comes)
{
	char dir[] = "/tmp/setup-XXXXXX", path[64], got[16] = "";
	FILE *file;
	int status;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/mine.json", dir);
	put(path, "seen");
	pid = fork();
	if (!pid) {
		if (renaming)
			let_fail(renaming, linking);
		_exit(edit(path, removes, comes));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), comes != NEVER);
	file = fopen(path, "r");
	assert_true(removes && comes == NEVER ? !file : file != NULL);
	if (file) {
		assert_non_null(fgets(got, sizeof(got), file));
		fclose(file);
		assert_string_equal(got, comes == NEVER ? "ours" : "mine");
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(dir), 0); /* the folder has no other file */
}

static void a_file_is_changed_and_removed(void **state)
{
	static const int unknown[][2] = { { 0, 0 },          { EINVAL, 0 },
					  { ENOSYS, 0 },     { EPERM, 0 },
					  { EOPNOTSUPP, 0 }, { EINVAL, EPERM } };

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		for (int removes = 0; removes < 2; removes++)
			edits(unknown[i][0], unknown[i][1], removes, NEVER);
}

static void what_a_client_writes_stays(void **state)
{
	static const int unknown[] = { 0, EINVAL, ENOSYS, EPERM, EOPNOTSUPP };

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		for (int removes = 0; removes < 2; removes++) {
			edits(unknown[i], 0, removes, BEFORE);
			edits(unknown[i], 0, removes, WITHIN);
		}
	edits(EINVAL, EPERM, true, WITHIN);
}

static void a_mode_set_meanwhile_stays(void **state)
{
	char path[] = "/tmp/setup-XXXXXX";
	struct setup_target t;
	struct fault f = { 0 };
	struct stat st;

	(void)state;
	close(mkstemp(path));
	chmod(path, 0644);
	assert_int_equal(setup_target_find(&t, path, "mine.json", NULL, &f), 0);
	assert_int_equal(setup_target_read(&t, &f), 0);
	chmod(path, 0600);
	text_addf(&t.draft.text, "ours");
	assert_int_equal(setup_target_write(&t, &f), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	setup_target_release(&t);
	unlink(path);
}

/* Writes a file that did not exist when setup tried to read it. Returns 0 if setup wrote the
 * file, 1 if the file had appeared meanwhile, or 2 after another fault. */
static int write_new(const char *path, enum comes comes)
{
	struct setup_target t;
	struct fault f = { 0 };

	snprintf(written, sizeof(written), "%s", path);
	if (setup_target_find(&t, path, "mine.json", NULL, &f) == 0 &&
	    setup_target_read(&t, &f) == 0) {
		if (comes == BEFORE)
			write_mine();
		if (comes == WITHIN)
			journal.before = write_mine;
		t.draft.there = true;
		text_addf(&t.draft.text, "ours");
		setup_target_write(&t, &f);
	}
	setup_target_release(&t);
	return !f.code ? 0 : f.code == FAULT_CONFLICT ? 1 : 2;
}

static void writes(int renaming, int linking, enum comes comes)
{
	char dir[] = "/tmp/setup-XXXXXX", path[64], got[16] = "";
	FILE *file;
	int status;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/mine.json", dir);
	pid = fork();
	if (!pid) {
		if (renaming)
			let_fail(renaming, linking);
		_exit(write_new(path, comes));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), comes != NEVER);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(got, sizeof(got), file));
	fclose(file);
	assert_string_equal(got, comes != NEVER ? "mine" : "ours");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0); /* the folder has no other file */
}

static void a_new_file_gets_its_name(void **state)
{
	(void)state;
	writes(0, 0, NEVER);
	writes(EINVAL, 0, NEVER);
	writes(EINVAL, EPERM, NEVER);
	writes(EINVAL, EOPNOTSUPP, NEVER);
	writes(ENOSYS, ENOSYS, NEVER);
}

static void a_file_made_meanwhile_stays(void **state)
{
	(void)state;
	writes(0, 0, BEFORE);
	writes(0, 0, WITHIN);
	writes(EINVAL, 0, BEFORE);
	writes(EINVAL, 0, WITHIN);
	writes(EINVAL, EPERM, WITHIN);
	writes(ENOSYS, ENOSYS, BEFORE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_file_gets_its_name),
		cmocka_unit_test(a_file_made_meanwhile_stays),
		cmocka_unit_test(a_file_is_changed_and_removed),
		cmocka_unit_test(what_a_client_writes_stays),
		cmocka_unit_test(a_mode_set_meanwhile_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
