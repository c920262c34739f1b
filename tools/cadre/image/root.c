/*
 * The root disk: an ext4 file system in a qcow2, from packages, or from the
 * user's own directory, or a copy of the user's own disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/machine/child.h"
#include "core/machine/machine_copy.h"
#include "tools/cadre/image/image.h"

/* Packages that come as dependencies, but are of no use inside the VM. */
static const char *const left_out[] = {
	"perl",    "liberror-perl", "git-man",  "debconf",         "dpkg",       "tar",
	"openssl", "libdb5.3",      "libgdbm6", "libgdbm-compat4", "gcc-12-base"
};

enum { BLOCK = 4096, INODE = 512 };

/* The image's disk is as large as VMs' disks usually are, so that the file system need
 * not grow when one boots; empty blocks take no room in a qcow2. */
#define DISK_BYTES (8LL << 30)
#define SPARE_BYTES (256LL << 20)

static bool is_left_out(const char *package)
{
	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		if (!strcmp(package, left_out[i]))
			return true;
	return !strncmp(package, "perl-", 5) || !strncmp(package, "libperl", 7);
}

/* Lists the packages that a shell and git need, as if nothing were installed: apt names
 * each as `'URI' NAME_VERSION_ARCH.deb SIZE HASH`. */
static int list_packages(struct image_build *b, const char ***out, struct fault *f)
{
	const char *words[] = { "apt-get",
				"-qq",
				"--print-uris",
				"--no-install-recommends",
				"-o",
				"Dir::State::status=/dev/null",
				"-o",
				"Debug::NoLocking=true",
				"-o", /* packages in the usual cache would not be named */
				arena_printf(&b->arena, "Dir::Cache::archives=%s/",
					     b->work),
				"install",
				"busybox-static",
				"dash",
				"coreutils",
				"git",
				"ca-certificates",
				NULL };
	char *text, *line, *save;
	size_t n = 0;

	*out = NULL;
	if (child_read(words, NULL, &b->arena, &text, f))
		return f->code;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *name = strchr(line, ' ');

		name = name ? arena_strndup(&b->arena, name + 1, strcspn(name + 1, "_"))
			    : "perl";
		if (!is_left_out(name))
			*(const char **)arena_push(&b->arena, out, &n, sizeof(*out)) =
				name;
	}
	*(const char **)arena_push(&b->arena, out, &n, sizeof(*out)) = NULL;
	return n > 1 ? 0 : fault_set(f, FAULT_IO, "", "apt names no packages");
}

/* --- a root from packages ------------------------------------------------------------ */

static int root_write_file(struct image_build *b, const char *root, const char *path,
			   const char *text, struct fault *f)
{
	const char *full = arena_printf(&b->arena, "%s/%s", root, path);
	FILE *file = fopen(full, "we");

	if (!file || fputs(text, file) < 0)
		fault_set(f, FAULT_IO, "", "%s: %m", full);
	if (file && fclose(file))
		fault_set(f, FAULT_IO, "", "%s: %m", full);
	return f->code;
}

static int make_files(struct image_build *b, const char *root, struct fault *f)
{
	static const char *const folders[] = {
		"bin",       "dev",           "etc",           "etc/ssl", "etc/ssl/certs",
		"proc",      "root",          "run",           "sys",     "tmp",
		"usr",       "usr/local",     "usr/local/bin", "var",     "var/lib",
		"workspace", "var/lib/cadre",
	};
	static const char *const files[][2] = {
		{ "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
				"nobody:x:65534:65534:nobody:/:/bin/false\n" },
		{ "etc/group", "root:x:0:\nnogroup:x:65534:\n" },
		{ "etc/nsswitch.conf",
		  "passwd: files\ngroup: files\nhosts: files dns\n" },
		{ "etc/gitconfig", "[safe]\n\tdirectory = *\n" },
	};

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		mkdir(arena_printf(&b->arena, "%s/%s", root, folders[i]), 0755);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !f->code; i++)
		root_write_file(b, root, files[i][0], files[i][1], f);
	return f->code;
}

/* Links busybox under the names of programs that are missing. */
static int link_applets(struct image_build *b, const char *root, struct fault *f)
{
	const char *busybox = arena_printf(&b->arena, "%s/bin/busybox", root);
	const char *words[] = { busybox, "--list", NULL };
	char *text, *name, *save;

	if (child_read(words, NULL, &b->arena, &text, f))
		return f->code;
	for (name = strtok_r(text, "\n", &save); name;
	     name = strtok_r(NULL, "\n", &save)) {
		static const char *const folders[] = { "bin", "sbin", "usr/bin",
						       "usr/sbin" };
		bool there = false;

		for (size_t i = 0; i < 4; i++) {
			struct stat st;

			there |= !lstat(arena_printf(&b->arena, "%s/%s/%s", root,
						     folders[i], name),
					&st);
		}
		if (!there &&
		    symlink("busybox", arena_printf(&b->arena, "%s/bin/%s", root, name)))
			return fault_set(f, FAULT_IO, "", "%s: %m", name);
	}
	return 0;
}

/* Joins the certificates into one file, as installing ca-certificates would do. */
static void join_certificates(struct image_build *b, const char *root)
{
	FILE *out = fopen(arena_printf(&b->arena, "%s/etc/ssl/certs/ca-certificates.crt",
				       root),
			  "we");
	glob_t found = { 0 };
	char buf[8192];
	size_t n;

	glob(arena_printf(&b->arena, "%s/usr/share/ca-certificates/*/*.crt", root), 0,
	     NULL, &found);
	for (size_t i = 0; out && i < found.gl_pathc; i++) {
		FILE *in = fopen(found.gl_pathv[i], "re");

		while (in && (n = fread(buf, 1, sizeof(buf), in)) > 0)
			fwrite(buf, 1, n, out);
		if (in)
			fclose(in);
	}
	globfree(&found);
	if (out)
		fclose(out);
}

static int drop_documents(struct image_build *b, const char *root, struct fault *f)
{
	static const char *const folders[] = { "usr/share/doc", "usr/share/man",
					       "usr/share/locale", "usr/share/lintian" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && !f->code; i++)
		tree_remove(arena_printf(&b->arena, "%s/%s", root, folders[i]), f);
	return f->code;
}

static int root_make_tree(struct image_build *b, const char *root, struct fault *f)
{
	const char **packages;

	if (list_packages(b, &packages, f))
		return f->code;
	image_say(b, "fetching a shell, coreutils, busybox and git");
	if (image_unpack(b, packages, root, f) || make_files(b, root, f) ||
	    link_applets(b, root, f))
		return f->code;
	join_certificates(b, root);
	return drop_documents(b, root, f);
}

/* --- a disk from a tree --------------------------------------------------------------- */

static long long tree_bytes; /* nftw() has no argument for its callback */

static int add_size(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)type;
	(void)ftw;
	tree_bytes += (st->st_size + BLOCK - 1) / BLOCK * BLOCK + INODE;
	return 0;
}

static int convert(struct image_build *b, const char *from, struct fault *f)
{
	const char *words[] = {
		"qemu-img", "convert", "-O",
		"qcow2",    from,      arena_printf(&b->arena, "%s/root.qcow2", b->half),
		NULL
	};

	return child_run(words, NULL, f);
}

/* The path of mkfs.ext4 in Debian, which is not in the PATH of all users. */
static const char *mkfs_program(void)
{
	return access("/usr/sbin/mkfs.ext4", X_OK) ? "mkfs.ext4" : "/usr/sbin/mkfs.ext4";
}

static int make_raw(const char *raw, long long bytes, struct fault *f)
{
	int fd = open(raw, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, bytes))
		fault_set(f, FAULT_IO, "", "%.180s: %m", raw);
	if (fd >= 0)
		close(fd);
	return f->code;
}

static int make_disk(struct image_build *b, const char *root, struct fault *f)
{
	const char *raw = arena_printf(&b->arena, "%s/root.raw", b->work);
	const char *words[] = { mkfs_program(),
				"-q",
				"-F",
				"-L",
				"cadre",
				"-b",
				"4096",
				"-m",
				"0",
				"-E",
				"root_owner=0:0,lazy_itable_init=1,lazy_journal_init=1",
				"-d",
				root,
				raw,
				NULL };
	long long bytes;

	image_say(b, "writing the root disk");
	tree_bytes = 0;
	if (nftw(root, add_size, 64, FTW_PHYS))
		return fault_set(f, FAULT_IO, "", "%.180s: %m", root);
	bytes = tree_bytes + tree_bytes / 4 + SPARE_BYTES;
	bytes = bytes < DISK_BYTES ? DISK_BYTES : bytes / BLOCK * BLOCK;
	if (make_raw(raw, bytes, f) || child_run(words, NULL, f))
		return f->code;
	return convert(b, raw, f);
}

int image_root(struct image_build *b, struct fault *f)
{
	const char *root = arena_printf(&b->arena, "%s/root", b->work);
	struct stat st;

	if (!b->rootfs)
		return root_make_tree(b, root, f) ? f->code : make_disk(b, root, f);
	if (stat(b->rootfs, &st))
		return fault_set(f, FAULT_NOT_FOUND, "/rootfs", "%.180s: %s", b->rootfs,
				 strerror(errno));
	image_say(b, "taking %s", b->rootfs);
	return S_ISDIR(st.st_mode) ? make_disk(b, b->rootfs, f)
				   : convert(b, b->rootfs, f);
}
