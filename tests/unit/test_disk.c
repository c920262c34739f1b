/* Chains of qcow2 layers: which layers exist after a freeze, a fork, a snapshot and a sweep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/machine/child.h"
#include "core/machine/vm/disk.h"
#include "tests/lib/folder.h"

static char root[64];
static struct arena arena;
static struct fault fault;

static struct disk disk(const char *id)
{
	return (struct disk){ &arena, arena_printf(&arena, "%s/disks", root), id };
}

static void run(const char *const *words)
{
	if (child_run(words, root, &fault))
		fail_msg("%s", fault.text);
}

static int set_up(void **state)
{
	const char *make[] = { "qemu-img", "create",           "-q",  "-f",
			       "qcow2",    "image/root.qcow2", "64M", NULL };

	(void)state;
	snprintf(root, sizeof(root), "/tmp/cadre-disk-XXXXXX");
	assert_non_null(mkdtemp(root));
	fault = (struct fault){ 0 };
	mkdir(arena_printf(&arena, "%s/image", root), 0700);
	run(make);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	folder_remove(root);
	arena_release(&arena);
	return 0;
}

/* Writes to a layer, as a running VM would. */
static void write_to(const char *layer)
{
	const char *words[] = {
		"qemu-io", "-f", "qcow2", "-c", "write 0 64k", layer, NULL
	};

	run(words);
}

static void begin(const struct disk *d, int64_t gb)
{
	if (disk_begin(d, arena_printf(&arena, "%s/image", root), gb, &fault))
		fail_msg("%s", fault.text);
}

static const char *freeze(const struct disk *d)
{
	const char *layer = NULL;

	if (disk_freeze(d, &layer, &fault))
		fail_msg("%s", fault.text);
	return layer;
}

static size_t layers(void)
{
	glob_t found = { 0 };
	size_t n;

	glob(arena_printf(&arena, "%s/disks/*/*.qcow2", root), 0, NULL, &found);
	n = found.gl_pathc;
	globfree(&found);
	return n;
}

static bool ends_in(const char *path, const char *end)
{
	size_t n = path ? strlen(path) : 0, m = strlen(end);

	return n >= m && !strcmp(path + n - m, end);
}

static void a_disk_begins_with_its_image(void **state)
{
	struct disk d = disk("a");

	(void)state;
	assert_null(disk_top(&d));
	begin(&d, 1);
	begin(&d, 1); /* a second call has no effect */
	assert_true(ends_in(disk_top(&d), "/disks/a/0.qcow2"));
	assert_true(ends_in(disk_image(&d), "/image"));
	assert_true(ends_in(layer_below(&arena, disk_top(&d)), "/image/root.qcow2"));
	assert_int_equal(layer_size(disk_top(&d)), INT64_C(1) << 30);
	assert_int_equal(layer_size(arena_printf(&arena, "%s/image", root)), -1);
}

/* A freeze of a disk without writes makes no new layer. */
static void a_freeze_makes_a_layer_when_there_is_something_in_it(void **state)
{
	struct disk d = disk("a");

	(void)state;
	begin(&d, 0);
	assert_true(ends_in(freeze(&d), "/image/root.qcow2"));
	write_to(disk_top(&d));
	assert_true(ends_in(freeze(&d), "/disks/a/0.qcow2"));
	assert_true(ends_in(disk_top(&d), "/disks/a/1.qcow2"));
	assert_true(ends_in(freeze(&d), "/disks/a/0.qcow2"));
	assert_int_equal(layers(), 2);
}

static void forks_keep_the_layers_of_a_parent_that_is_gone(void **state)
{
	struct disk a = disk("a"), b = disk("b");

	(void)state;
	begin(&a, 0);
	write_to(disk_top(&a));
	assert_int_equal(disk_branch(&b, &a, freeze(&a), 2, &fault), 0);
	assert_true(ends_in(disk_image(&b), "/image"));
	assert_int_equal(layer_size(disk_top(&b)), INT64_C(2) << 30);
	write_to(disk_top(&a));
	disk_abandon(&a);
	disk_sweep(root);
	assert_int_equal(layers(), 2); /* layer 0 of a, and layer 0 of b */
	assert_true(ends_in(layer_below(&arena, disk_top(&b)), "/disks/a/0.qcow2"));
	disk_abandon(&b);
	disk_sweep(root);
	assert_int_equal(layers(), 0);
	assert_int_equal(access(arena_printf(&arena, "%s/a", a.folder), F_OK), -1);
}

static void a_snapshot_keeps_its_layer_until_it_is_forgotten(void **state)
{
	struct disk d = disk("a");
	const char *kept, *top;

	(void)state;
	begin(&d, 0);
	write_to(disk_top(&d));
	assert_int_equal(disk_keep(&d, "s", freeze(&d), &fault), 0);
	kept = disk_kept(&d, "s");
	assert_true(ends_in(kept, "/disks/a/0.qcow2"));
	assert_null(disk_kept(&d, "t"));
	write_to(disk_top(&d));
	/* The snapshot is restored, so later writes are lost. */
	assert_int_equal(disk_cover(&d, kept, &top, &fault), 0);
	disk_sweep(root);
	assert_string_equal(disk_top(&d), top);
	assert_int_equal(layers(), 2);
	disk_forget(&d, "s");
	disk_sweep(root);
	assert_int_equal(layers(), 2); /* the top layer is based on layer 0 */
}

/* Layers that a killed host left incomplete or unused do no harm. */
static void leftovers_do_no_harm(void **state)
{
	struct disk d = disk("a");
	const char *top;

	(void)state;
	begin(&d, 0);
	write_to(disk_top(&d));
	assert_int_equal(disk_cover(&d, disk_top(&d), &top, &fault), 0);
	/* QEMU never got the name of layer 1. So QEMU still writes to layer 0, and now gets the
	 * name of layer 2. */
	assert_int_equal(disk_cover(&d, arena_printf(&arena, "%s/a/0.qcow2", d.folder),
				    &top, &fault),
			 0);
	disk_sweep(root);
	assert_true(ends_in(disk_top(&d), "/2.qcow2"));
	assert_int_equal(layers(), 2);
	assert_int_equal(truncate(top, 0), 0);
	assert_int_equal(disk_freeze(&d, &top, &fault), FAULT_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_disk_begins_with_its_image, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_freeze_makes_a_layer_when_there_is_something_in_it, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			forks_keep_the_layers_of_a_parent_that_is_gone, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_snapshot_keeps_its_layer_until_it_is_forgotten, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(leftovers_do_no_harm, set_up, tear_down),
	};
	const char *there[] = { "qemu-img", "--version", NULL };

	if (child_run(there, NULL, &fault)) {
		printf("skipped: no qemu-img here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
