/* The limits on paths of a workspace: no path leads above the workspace, through a symbolic
 * link, or into the guest's own folder. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "guest/guest_inside.h"
#include "tests/lib/place.h"

struct bench {
	char base[64], dir[100], state[100];
	struct guest_options options;
	struct guest guest;
	struct arena arena;
};

static int set_up(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));

	assert_int_equal(temp_make(b->base, "path"), 0);
	snprintf(b->dir, sizeof(b->dir), "%s/work", b->base);
	snprintf(b->state, sizeof(b->state), "%s/work/own", b->base);
	assert_int_equal(mkdir(b->dir, 0700) + mkdir(b->state, 0700), 0);
	b->options.dir = b->guest.dir = b->dir;
	b->guest.state = b->state;
	b->guest.options = &b->options;
	b->guest.root = open(b->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	arena_release(&b->arena);
	close(b->guest.root);
	temp_remove(b->base);
	test_free(b);
	return 0;
}

/* Returns the path relative to the root of the workspace, or the fault's name. */
static const char *clean(struct bench *b, const char *path)
{
	struct fault f = { 0 };
	const char *out = NULL;

	if (guest_path(&b->guest, path, "/path", &b->arena, &out, &f))
		return fault_info(f.code)->name;
	return out;
}

static const char *in_dir(struct bench *b, const char *rest)
{
	return clean(b, arena_printf(&b->arena, "%s%s", b->dir, rest));
}

static void a_path_stays_inside(void **state)
{
	struct bench *b = *state;

	assert_string_equal(clean(b, "a/./b//c/"), "a/b/c");
	assert_string_equal(clean(b, "a/../b"), "b");
	assert_string_equal(clean(b, "a/b/../../c"), "c");
	assert_string_equal(clean(b, "."), ".");
	assert_string_equal(clean(b, "..."), "...");
	assert_string_equal(clean(b, ""), "invalid");
	assert_string_equal(clean(b, ".."), "denied");
	assert_string_equal(clean(b, "a/../../work/b"), "denied");
	assert_string_equal(clean(b, "a/b/../../.."), "denied");
}

static void an_absolute_path_is_of_the_workspace(void **state)
{
	struct bench *b = *state;

	assert_string_equal(in_dir(b, "/a"), "a");
	assert_string_equal(in_dir(b, ""), ".");
	/* A folder beside the workspace is outside, even if its path begins with the same text
	 * (.../worker and .../work). */
	assert_string_equal(in_dir(b, "er/a"), "denied");
	assert_string_equal(in_dir(b, "/../a"), "denied");
	assert_string_equal(clean(b, "/etc/passwd"), "denied");
	/* In a VM the team may use every path. */
	b->options.vm = true;
	assert_string_equal(clean(b, "/etc/passwd"), "/etc/passwd");
	assert_string_equal(clean(b, "/etc/../.."), "denied");
}

static void the_guest_has_a_folder_of_its_own(void **state)
{
	struct bench *b = *state;

	assert_string_equal(clean(b, "own/spool.db"), "not_found");
	assert_string_equal(clean(b, "a/../own"), "not_found");
	assert_string_equal(in_dir(b, "/own/x"), "not_found");
	assert_string_equal(clean(b, "owner/x"), "owner/x");
}

static int open_fault(struct bench *b, const char *path)
{
	struct fault f = { 0 };
	int fd = guest_path_open(b->guest.root, path, O_RDONLY, "/path", &f);

	if (fd >= 0)
		close(fd);
	return f.code;
}

/* A command in the workspace may have made a symbolic link to any path. */
static void no_link_is_followed(void **state)
{
	struct bench *b = *state;
	int dir = b->guest.root;

	assert_int_equal(mkdirat(dir, "real", 0700), 0);
	assert_int_equal(symlinkat("/etc", dir, "out"), 0);
	assert_int_equal(symlinkat("real", dir, "in"), 0);
	assert_int_equal(open_fault(b, "real"), 0);
	assert_int_equal(open_fault(b, "out"), FAULT_DENIED);
	assert_int_equal(open_fault(b, "out/passwd"), FAULT_DENIED);
	assert_int_equal(open_fault(b, "in"), FAULT_DENIED);
	assert_int_equal(open_fault(b, "none"), FAULT_NOT_FOUND);
}

#define BENCH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH(a_path_stays_inside),
		BENCH(an_absolute_path_is_of_the_workspace),
		BENCH(the_guest_has_a_folder_of_its_own),
		BENCH(no_link_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
