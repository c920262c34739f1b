/*
 * image - builds images for VMs from packages, and lists the images.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/machine/child.h"
#include "core/machine/machine_copy.h"
#include "core/machine/vm/vm_image.h"
#include "storage/durable.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/screen/progress.h"

/*
 * The steps of `cadre image build`, which make the files of an image.
 */

/* Folders and files of a build. */
struct image_build {
	struct arena arena;
	const char *half; /* folder of the unfinished image */
	const char *work; /* temporary folder, removed after the build */
	const char *cache; /* folder of fetched packages */
	const char *rootfs; /* root folder or disk given by the user, or NULL */
	const char *kernel; /* the kernel's version, set by find_version() */
	const char *guest; /* program of the guest, set by image_guest() */
	struct progress *progress; /* NULL: no line of progress is shown */
};

/* --- an initrd as cpio's "newc" ----------------------------------------- */

struct archive {
	FILE *file;
	unsigned entries;
	struct fault *fault; /* the first fault */
};

/* Shows the current step in the progress line. If there is no progress line, prints the step to
 * stderr. */
static __attribute__((format(printf, 2, 3))) void image_say(struct image_build *b,
							    const char *fmt, ...)
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

/* Sets a fault if a signal asks the build to end. Returns the code of the fault, or 0. */
static int image_wanted(struct fault *f)
{
	return signals_came() ? fault_set(f, FAULT_IO, "", "the build was ended")
			      : f->code;
}

/* --- packages --------------------------------------------------------------------- */

/* Downloads packages into the cache. A package is not downloaded again if the cache has the
 * version that is current in the archive. */
static int image_fetch(struct image_build *b, const char *const *packages,
		       struct fault *f)
{
	static const char *const begin[] = { "apt-get", "-qq", "download", NULL };
	const char *const *lists[] = { begin, packages }, **words = NULL;
	size_t n = 0;

	for (size_t i = 0; i < 2; i++)
		for (const char *const *w = lists[i]; *w; w++)
			arena_add(&b->arena, words, n, *w);
	arena_add(&b->arena, words, n, NULL);
	return child_run(words, b->cache, f);
}

/* Finds the newest file of the package in the cache. */
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

/* Downloads packages into the cache, and unpacks the packages into the folder `to`. `packages`:
 * the packages' names in the archive. */
static int image_unpack(struct image_build *b, const char *const *packages,
			const char *to, struct fault *f)
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

static void archive_fail(struct archive *ar, const char *name)
{
	fault_set(ar->fault, FAULT_IO, "", "%.120s: %s", name, strerror(errno));
}

static int archive_open(struct archive *ar, const char *path, struct fault *f)
{
	*ar = (struct archive){ .file = fopen(path, "we"), .fault = f };
	if (!ar->file)
		archive_fail(ar, path);
	return f->code;
}

static void pad(struct archive *ar)
{
	while (ar->file && ftell(ar->file) % 4)
		fputc(0, ar->file);
}

/* Writes the head of an entry. The head has a magic, thirteen numbers of eight hexadecimal
 * digits, and the entry's name. Then the archive is padded to a multiple of four bytes. */
static void head(struct archive *ar, const char *name, unsigned mode, size_t size,
		 unsigned major, unsigned minor)
{
	if (!ar->file)
		return;
	fprintf(ar->file, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		++ar->entries, mode, 0u, 0u, 1u, 0u, (unsigned)size, 0u, 0u, major, minor,
		(unsigned)strlen(name) + 1, 0u);
	fwrite(name, 1, strlen(name) + 1, ar->file);
	pad(ar);
}

static void archive_folder(struct archive *ar, const char *name)
{
	head(ar, name, S_IFDIR | 0755, 0, 0, 0);
}

static void archive_device(struct archive *ar, const char *name, unsigned mode,
			   unsigned major, unsigned minor)
{
	head(ar, name, S_IFCHR | mode, 0, major, minor);
}

/* Adds a file with the bytes of the file `from`. */
static void archive_file(struct archive *ar, const char *name, unsigned mode,
			 const char *from)
{
	FILE *in = ar->file ? fopen(from, "re") : NULL;
	char buf[65536];
	struct stat st;
	size_t n;

	if (!ar->file)
		return;
	if (!in || fstat(fileno(in), &st)) {
		archive_fail(ar, from);
	} else {
		head(ar, name, S_IFREG | mode, (size_t)st.st_size, 0, 0);
		while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
			fwrite(buf, 1, n, ar->file);
		pad(ar);
	}
	if (in)
		fclose(in);
}

/* Ends the archive. Returns 0, or the archive's first fault. */
static int archive_close(struct archive *ar)
{
	head(ar, "TRAILER!!!", 0, 0, 0, 0);
	if (ar->file && (fflush(ar->file) || ferror(ar->file)))
		archive_fail(ar, "initrd");
	if (ar->file)
		fclose(ar->file);
	ar->file = NULL;
	return ar->fault->code;
}

/*
 * The kernel is Debian's cloud kernel. The build fetches and unpacks the kernel's package, but
 * does not install it. The kernel's drivers for VMs are modules. The modules that a guest needs
 * are put into the initrd. In the table `modules`, each module follows the modules on which it
 * depends.
 */

#define META "linux-image-cloud-amd64"

/* `when`: a letter that tells guest/guest_boot.c when to load the module. `a`: always. `n`: if
 * the VM has a network card. `v`: if the VM has vsock. `z`: once the guest runs. */
static const struct module {
	char when;
	const char *path;
} modules[] = {
	{ 'a', "drivers/virtio/virtio_ring" },
	{ 'a', "drivers/virtio/virtio" },
	{ 'a', "drivers/virtio/virtio_mmio" },
	{ 'a', "drivers/block/virtio_blk" },
	{ 'a', "drivers/char/virtio_console" },
	{ 'n', "net/core/failover" },
	{ 'n', "drivers/net/net_failover" },
	{ 'n', "drivers/net/virtio_net" },
	{ 'v', "net/vmw_vsock/vsock" },
	{ 'v', "net/vmw_vsock/vmw_vsock_virtio_transport_common" },
	{ 'v', "net/vmw_vsock/vmw_vsock_virtio_transport" },
	{ 'z', "drivers/char/hw_random/virtio-rng" },
	{ 'z', "fs/overlayfs/overlay" },
};

/* Finds the kernel package on which the meta package currently depends. */
static int find_package(struct image_build *b, const char **package, struct fault *f)
{
	const char *words[] = { "apt-cache", "depends", META, NULL };
	static const char mark[] = "Depends: linux-image-";
	char *text, *at;

	if (child_read(words, NULL, &b->arena, &text, f))
		return f->code;
	at = strstr(text, mark);
	if (!at) {
		fault_set(f, FAULT_NOT_FOUND, "", "the package archive has no " META);
		return fault_hint(f, "Fetch Debian's lists: apt-get update");
	}
	at += strlen("Depends: ");
	*package = arena_strndup(&b->arena, at, strcspn(at, "\n "));
	return 0;
}

/* Finds the kernel's version, which is the name of the only folder in lib/modules. */
static int find_version(struct image_build *b, const char *root, struct fault *f)
{
	DIR *dir = opendir(arena_printf(&b->arena, "%s/lib/modules", root));
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			b->kernel = arena_strdup(&b->arena, e->d_name);
	if (dir)
		closedir(dir);
	return b->kernel ? 0
			 : fault_set(f, FAULT_IO, "",
				     "the kernel's package holds no modules");
}

/* Finds the guest's program. The program is beside this program, in the folder above, or in
 * ../lib/cadre, into which `make install` copies the guest's program. */
static int image_guest(struct image_build *b, struct fault *f)
{
	static const char *const places[] = { "cadre-guest", "../lib/cadre/cadre-guest",
					      "../cadre-guest" };
	char self[PATH_MAX], *slash;
	const char **guest = &b->guest;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		*guest = arena_printf(&b->arena, "%.*s/%s", (int)(slash - self), self,
				      places[i]);
		if (access(*guest, X_OK) == 0)
			return 0;
	}
	fault_set(f, FAULT_NOT_FOUND, "", "cadre-guest is not beside %.100s", self);
	return fault_hint(f, "Build or install cadre-guest with cadre: make, or make "
			     "install.");
}

/* The name of a module in the initrd. The alphabetical order of these names is the order in which
 * the modules are loaded. */
static const char *module_name(struct image_build *b, size_t i)
{
	return arena_printf(&b->arena, "modules/%c%02zu-%s.ko", modules[i].when, i,
			    strrchr(modules[i].path, '/') + 1);
}

static int make_initrd(struct image_build *b, const char *root, struct fault *f)
{
	struct archive ar;

	if (archive_open(&ar, arena_printf(&b->arena, "%s/initrd", b->half), f))
		return f->code;
	archive_folder(&ar, "dev");
	archive_device(&ar, "dev/console", 0600, 5, 1);
	archive_folder(&ar, "modules");
	archive_file(&ar, "init", 0755, b->guest);
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		archive_file(&ar, module_name(b, i), 0644,
			     arena_printf(&b->arena, "%s/lib/modules/%s/kernel/%s.ko",
					  root, b->kernel, modules[i].path));
	return archive_close(&ar);
}

/* Makes half/vmlinuz and half/initrd. */
static int image_kernel(struct image_build *b, struct fault *f)
{
	const char *root = arena_printf(&b->arena, "%s/kernel", b->work);
	const char *packages[] = { NULL, NULL };

	if (find_package(b, &packages[0], f))
		return f->code;
	image_say(b, "fetching the kernel, %s", packages[0]);
	if (image_unpack(b, packages, root, f) || find_version(b, root, f))
		return f->code;
	if (rename(arena_printf(&b->arena, "%s/boot/vmlinuz-%s", root, b->kernel),
		   arena_printf(&b->arena, "%s/vmlinuz", b->half)))
		return fault_set(f, FAULT_IO, "", "the kernel is not in its package: %m");
	progress_say(b->progress, "packing the initrd");
	return make_initrd(b, root, f);
}

/*
 * The root disk is an ext4 file system in a qcow2 file. The disk is made from packages or from
 * the user's own directory, or is a copy of the user's own disk.
 */

/* Packages on which other packages depend, but which have no use inside the VM. */
static const char *const left_out[] = {
	"perl",    "liberror-perl", "git-man",  "debconf",         "dpkg",       "tar",
	"openssl", "libdb5.3",      "libgdbm6", "libgdbm-compat4", "gcc-12-base"
};

enum { BLOCK = 4096, INODE = 512 };

/* The image's disk is as large as disks of VMs usually are, so that the file system need not
 * grow when a VM boots. Empty blocks take no room in a qcow2. */
#define DISK_BYTES (8LL << 30)
#define SPARE_BYTES (256LL << 20)

static bool is_left_out(const char *package)
{
	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		if (!strcmp(package, left_out[i]))
			return true;
	return !strncmp(package, "perl-", 5) || !strncmp(package, "libperl", 7);
}

/* Lists the packages that a shell and git need on an empty system. apt prints each package as
 * `'URI' NAME_VERSION_ARCH.deb SIZE HASH`. */
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
				"-o", /* an empty cache, so that apt omits no package */
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
			arena_add(&b->arena, *out, n, name);
	}
	arena_add(&b->arena, *out, n, NULL);
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

/* Makes a link to busybox for each program of busybox that the root folder lacks. */
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

/* Joins the certificates into one file, as the installation of ca-certificates would do. */
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

static long long tree_bytes; /* nftw() passes no argument to its callback */

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

/* Returns Debian's path of mkfs.ext4, because the program is not in every user's PATH. If there
 * is no program at this path, returns a name that is looked up in PATH. */
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

/* Makes half/root.qcow2. */
static int image_root(struct image_build *b, struct fault *f)
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

/* Makes the name of a version from the time. Names sort by time, and the last three digits
 * distinguish versions of the same second. */
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

/* Removes the folders of builds whose processes have ended. The folders of a running build
 * stay. */
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
	tree_remove(b->work, &ignored); /* before tree_sync(), which need not store this
					   folder */
	if (!f->code &&
	    image_make_folder(arena_printf(a, "%s/%s", folder, name), f) == 0 &&
	    (tree_sync(b->half) || rename(b->half, *dir) || dir_sync_above(*dir) ||
	     dir_sync_path(folder)))
		fault_set(f, FAULT_IO, "", "%.180s: %s", *dir, strerror(errno));
	tree_remove(b->half, &ignored);
	return f->code;
}

/* Checks that the caller may build images. Images belong to this machine, and are used by the
 * VMs of all teams. No agent, and no caller inside a VM, may build an image. */
static int image_check_may(struct cli *cli, struct fault *f)
{
	if (cli_refuse_agent(cli, "image build", f) < 0)
		return f->code;
	return cli->home.socket[0] ? cli_outside(cli, f) : 0;
}

/* Builds an image. A signal stops the build at once, but the process removes the unfinished
 * files before it ends. */
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
		print_json_new(json_pack("{ss,ss,ss}", "name", name, "dir", dir, "kernel",
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
	static const char *const names[] = { "name", "version", "size", "dir" };
	json_t *list = json_array();
	struct table t = { 0 };
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct image *all;
	size_t n;

	if (image_list(&a, &all, &n, &f) < 0 || table_begin(cli, &t, names, 4, &f) < 0) {
		json_decref(list);
		return cli_fault(cli, &f);
	}
	for (size_t i = 0; i < n; i++) {
		long long bytes = image_size_of(&a, &all[i]);

		json_array_append_new(list,
				      json_pack("{ss,ss,sI,ss}", "name", all[i].name,
						"version", all[i].version, "size",
						(json_int_t)bytes, "dir", all[i].dir));
		table_cell(&t, all[i].name);
		table_cell(&t, all[i].version);
		table_cell(&t, cli->people ? arena_printf(&a, "%lld MiB", bytes >> 20)
					   : arena_printf(&a, "%lld", bytes));
		table_cell(&t, all[i].dir);
	}
	if (cli->json)
		print_json(list);
	else if (n || !cli->people)
		table_print(cli, &t, true, 0);
	if (!cli->json && !n)
		print_beside(cli, "no images: `cadre image build` makes one");
	json_decref(list);
	arena_release(&t.arena);
	arena_release(&a);
	return 0;
}

int image_main(struct cli *cli, int argc, char **argv)
{
	if (argc >= 2 && !strcmp(argv[1], "build"))
		return build_main(cli, argc - 1, argv + 1);
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list_main(cli);
	return cli_usage(cli, "`image` needs build or list");
}
