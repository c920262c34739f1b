/* The limit on the time that git may take to make a worktree. tests/e2e/agent-worktree.sh tests
 * all else about worktrees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "core/machine/child.h"
#include "core/machine/git_worktree.h"
#include "tests/lib/folder.h"

static char root[64], before[4096];
static struct arena arena;

static void run(const char *script)
{
	const char *const words[] = { "sh", "-c", script, NULL };
	struct fault f = { 0 };

	if (child_run(words, root, &f))
		fail_msg("%s: %s", script, f.text);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/cadre-worktree-XXXXXX");
	assert_non_null(mkdtemp(root));
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(root), 0);
	run("mkdir trees && touch gate && git init -q . && echo '* filter=slow' >.gitattributes "
	    "&& echo 1 >one && git add . && git -c user.name=a -c user.email=a@b commit -qm 1 && "
	    "echo \"i=0; while [ -e $PWD/gate ] && [ \\$i -lt 200 ]; do i=\\$((i + 1)); sleep 0.02; done; cat\" >slow && "
	    "git config filter.slow.smudge \"sh $PWD/slow\"");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(chdir(before), 0);
	folder_remove(root);
	arena_release(&arena);
	return 0;
}

static int make(int64_t ms, struct fault *f)
{
	const char *said = NULL;

	*f = (struct fault){ 0 };
	return git_worktree_make("it", arena_printf(&arena, "%s/trees/it", root), ms,
				 &arena, &said, f);
}

/* If git took too long, the worktree is made again after the processes of the first try have
 * stopped writing. */
static void git_has_an_end(void **state)
{
	struct fault f;

	(void)state;
	assert_int_equal(make(300, &f), FAULT_TIMEOUT);
	assert_non_null(strstr(f.hint, "agent.worktree_minutes"));
	assert_int_equal(access("trees/it.making", F_OK), 0);
	assert_int_equal(unlink("gate"), 0);
	assert_int_equal(make(0, &f), 0);
	assert_int_equal(access("trees/it/one", F_OK), 0);
	assert_int_equal(access("trees/it.making", F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(git_has_an_end, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
