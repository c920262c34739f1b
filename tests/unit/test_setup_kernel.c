/*
 * setup on file systems that know less: a new file gets its name, and one that came meanwhile
 * stays, where no rename may say that it is to replace nothing (NFS).
 * What a client writes into a file that setup changes or removes stays, whenever it comes.
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

/* From here on renameat2() with flags fails in this process. */
static void let_fail(int renaming)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_renameat2, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[4])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
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

static char written[64]; /* path of the file that a client writes */

static void write_mine(void)
{
	put(written, "mine");
}

/* Changes or removes a file, beside a client that writes as many bytes: just before setup looks
 * whether it is the same, with the times of before, or right behind that look.  0: setup did it. */
static int edit(const char *path, bool removes, bool late)
{
	struct setup_target t;
	struct fault f = { 0 };

	snprintf(written, sizeof(written), "%s", path);
	put(path, "seen");
	if (setup_target_find(&t, path, "mine.json", NULL, &f) == 0 &&
	    setup_target_read(&t, &f) == 0) {
		if (late) {
			journal.before = write_mine;
		} else {
			write_mine();
			utimensat(AT_FDCWD, path,
				  (struct timespec[]){ t.st.st_atim, t.st.st_mtim }, 0);
		}
		draft_splice(&t.draft, 0, t.draft.text.len, "ours", removes ? 0 : 4);
		t.draft.there = !removes;
		setup_target_write(&t, &f);
	}
	setup_target_release(&t);
	return f.code;
}

static void what_a_client_writes_stays(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		char dir[] = "/tmp/setup-XXXXXX", path[64], got[16] = "";
		FILE *file;

		assert_non_null(mkdtemp(dir));
		snprintf(path, sizeof(path), "%s/mine.json", dir);
		assert_int_equal(edit(path, i & 1, i & 2), FAULT_CONFLICT);
		file = fopen(path, "r");
		assert_non_null(file);
		assert_non_null(fgets(got, sizeof(got), file));
		fclose(file);
		assert_string_equal(got, "mine");
		assert_int_equal(unlink(path), 0);
		assert_int_equal(rmdir(dir), 0); /* and nothing is beside it */
	}
}

/* When a file of the same name comes, seen from the write of a new one. */
enum comes { NEVER, BEFORE, WITHIN };

/* Writes a file that was not there when it was looked for: 0, 1 where it was found to be changed
 * meanwhile, or 2. */
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

static void writes(int renaming, enum comes comes)
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
			let_fail(renaming);
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
	assert_int_equal(rmdir(dir), 0); /* and nothing is beside it */
}

static void a_new_file_gets_its_name(void **state)
{
	(void)state;
	writes(0, NEVER);
	writes(EINVAL, NEVER);
	writes(ENOSYS, NEVER);
}

static void a_file_made_meanwhile_stays(void **state)
{
	(void)state;
	writes(0, BEFORE);
	writes(0, WITHIN);
	writes(EINVAL, BEFORE);
	writes(ENOSYS, BEFORE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_file_gets_its_name),
		cmocka_unit_test(a_file_made_meanwhile_stays),
		cmocka_unit_test(what_a_client_writes_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
