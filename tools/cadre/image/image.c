/*
 * image - the images that VMs boot: built from packages, and listed.
 */
#include "tools/cadre/image/image.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/child.h"
#include "core/machine/machine_copy.h"
#include "core/machine/vm/vm_image.h"
#include "storage/durable.h"
#include "tools/cadre/cli.h"

void image_say(struct image_build *b, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	progress_say(b->progress, "%s", text);
	if (!b->progress)
		fprintf(stderr, "image: %s\n", text);
}

int image_wanted(struct fault *f)
{
	return signals_came() ? fault_set(f, FAULT_IO, "", "the build was ended")
			      : f->code;
}

/* --- packages --------------------------------------------------------------------- */

/* Downloads packages; a package that the cache holds as the archive has it is not
 * fetched again. */
static int image_fetch(struct image_build *b, const char *const *packages,
		       struct fault *f)
{
	const char **words = NULL;
	size_t n = 0;

	*(const char **)arena_push(&b->arena, &words, &n, sizeof(*words)) = "apt-get";
	*(const char **)arena_push(&b->arena, &words, &n, sizeof(*words)) = "-qq";
	*(const char **)arena_push(&b->arena, &words, &n, sizeof(*words)) = "download";
	for (; *packages; packages++)
		*(const char **)arena_push(&b->arena, &words, &n, sizeof(*words)) =
			*packages;
	*(const char **)arena_push(&b->arena, &words, &n, sizeof(*words)) = NULL;
	return child_run(words, b->cache, f);
}

/* The newest file of the package in the cache. */
static int image_find_file(struct image_build *b, const char *package, const char **file,
			   struct fault *f)
{
	glob_t found = { 0 };
	time_t newest = 0;
	struct stat st;

	*file = NULL;
	glob(arena_printf(&b->arena, "%s/%s_*.deb", b->cache, package), 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (stat(found.gl_pathv[i], &st) || (*file && st.st_mtime < newest))
			continue;
		newest = st.st_mtime;
		*file = arena_strdup(&b->arena, found.gl_pathv[i]);
	}
	globfree(&found);
	return *file ? 0 : fault_set(f, FAULT_IO, "", "%s was not fetched", package);
}

int image_unpack(struct image_build *b, const char *const *packages, const char *to,
		 struct fault *f)
{
	if (image_fetch(b, packages, f))
		return f->code;
	for (; *packages && image_wanted(f) == 0; packages++) {
		const char *words[] = { "dpkg", "-x", NULL, to, NULL };

		progress_say(b->progress, "unpacking %s", *packages);
		if (image_find_file(b, *packages, &words[2], f) == 0)
			child_run(words, NULL, f);
	}
	return f->code;
}

/* --- build ------------------------------------------------------------------------- */

static int image_make_folder(const char *path, struct fault *f)
{
	if (dir_make_all(path, 0755))
		return fault_set(f, FAULT_IO, "", "%.180s: %s", path, strerror(errno));
	return 0;
}

static const char *cache_folder(struct arena *a)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && cache[0] == '/')
		return arena_printf(a, "%s/cadre/packages", cache);
	return arena_printf(a, "%s/.cache/cadre/packages", home ? home : "");
}

/* Sorts by time; the last digits part two of one second. */
static const char *new_version(struct arena *a)
{
	int64_t now = clock_wall_ms();
	char when[CLOCK_STAMP];

	clock_stamp(now, when);
	return arena_printf(a, "%s.%03d", when, (int)(now % 1000));
}

static int make_parts(struct image_build *b, struct fault *f)
{
	if (image_make_folder(b->cache, f) || image_make_folder(b->work, f) ||
	    image_make_folder(b->half, f) || image_kernel(b, f) || image_wanted(f) ||
	    image_root(b, f))
		return f->code;
	return image_wanted(f);
}

/* Removes the leftovers of builds whose processes are gone; a running build is left alone. */
static void image_sweep(struct arena *a, const char *folder)
{
	DIR *dir = opendir(folder);
	struct fault ignored = { 0 };
	struct dirent *e;
	int pid;

	while (dir && (e = readdir(dir)))
		if ((sscanf(e->d_name, ".half-%d", &pid) == 1 ||
		     sscanf(e->d_name, ".work-%d", &pid) == 1) &&
		    kill(pid, 0) < 0 && errno == ESRCH)
			tree_remove(arena_printf(a, "%s/%s", folder, e->d_name),
				    &ignored);
	if (dir)
		closedir(dir);
}

static int build(struct image_build *b, const char *name, const char **dir,
		 struct fault *f)
{
	struct arena *a = &b->arena;
	const char *folder = image_folder(a);
	struct fault ignored = { 0 };

	*dir = arena_printf(a, "%s/%s/%s", folder, name, new_version(a));
	b->half = arena_printf(a, "%s/.half-%d", folder, (int)getpid());
	b->work = arena_printf(a, "%s/.work-%d", folder, (int)getpid());
	b->cache = cache_folder(a);
	image_sweep(a, folder);
	if (image_guest(b, f) == 0)
		make_parts(b, f);
	tree_remove(b->work, &ignored); /* nothing of it needs to reach the disk */
	if (!f->code &&
	    image_make_folder(arena_printf(a, "%s/%s", folder, name), f) == 0 &&
	    (tree_sync(b->half) || rename(b->half, *dir) || dir_sync_above(*dir) ||
	     dir_sync_path(folder)))
		fault_set(f, FAULT_IO, "", "%.180s: %s", *dir, strerror(errno));
	tree_remove(b->half, &ignored);
	return f->code;
}

/* Images are this machine's, for the VMs of all teams, and not for who is in one. */
static int image_check_may(struct cli *cli, struct fault *f)
{
	if (cli_refuse_agent(cli, "image build", f) < 0)
		return f->code;
	return cli->home.socket[0] ? cli_outside(cli, f) : 0;
}

/* A signal ends the build where it stands, and the process when what it has made is gone. */
static int build_main(struct cli *cli, int argc, char **argv)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, 0 };
	const char *name = IMAGE_DEFAULT, *value, *dir = NULL;
	struct image_build b = { 0 };
	struct fault f = { 0 };

	if (image_check_may(cli, &f) < 0)
		return cli_fault(cli, &f);
	for (int i = 1; i < argc; i++) {
		if ((value = cli_option(argc, argv, &i, "--rootfs")))
			b.rootfs = value;
		else if ((value = cli_option(argc, argv, &i, "--name")))
			name = value;
		else
			return cli_usage(cli, "`image build` does not know %.60s",
					 argv[i]);
	}
	signals_note(ending);
	b.progress = progress_begin(cli, "finding the packages of the image");
	if (image_check_name(name, "/name", &f) == 0)
		build(&b, name, &dir, &f);
	progress_end(b.progress);
	if (signals_came())
		signals_die(cli, signals_next());
	if (f.code) {
		arena_release(&b.arena);
		return cli_fault(cli, &f);
	}
	if (cli->json)
		print_json(json_pack("{ss,ss,ss}", "name", name, "dir", dir, "kernel",
				     b.kernel));
	else
		printf("%s\n", dir);
	arena_release(&b.arena);
	return 0;
}

/* --- list -------------------------------------------------------------------------- */

static long long image_size_of(struct arena *a, const struct image *image)
{
	static const char *const files[] = { "vmlinuz", "initrd", "root.qcow2" };
	long long bytes = 0;
	struct stat st;

	for (size_t i = 0; i < 3; i++)
		if (!stat(arena_printf(a, "%s/%s", image->dir, files[i]), &st))
			bytes += st.st_size;
	return bytes;
}

static int list_main(struct cli *cli)
{
	json_t *list = json_array();
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct image *all;
	size_t n;

	if (image_list(&a, &all, &n, &f)) {
		json_decref(list);
		return cli_fault(cli, &f);
	}
	for (size_t i = 0; i < n; i++) {
		long long bytes = image_size_of(&a, &all[i]);

		json_array_append_new(list,
				      json_pack("{ss,ss,sI,ss}", "name", all[i].name,
						"version", all[i].version, "size",
						(json_int_t)bytes, "dir", all[i].dir));
		if (!cli->json)
			printf("%-16s  %-20s  %5lld MiB  %s\n", all[i].name,
			       all[i].version, bytes >> 20, all[i].dir);
	}
	if (cli->json)
		print_json(list);
	else if (!n)
		printf("no images: `cadre image build` makes one\n");
	json_decref(list);
	arena_release(&a);
	return 0;
}

int image_main(struct cli *cli, int argc, char **argv)
{
	if (argc >= 2 && !strcmp(argv[1], "build"))
		return build_main(cli, argc - 1, argv + 1);
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list_main(cli);
	return cli_usage(cli, "`image` is followed by build or list");
}
