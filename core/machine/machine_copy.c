#include "core/machine/machine_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "storage/durable.h"

static int machine_copy_failed(struct fault *f, const char *what, const char *name)
{
	return fault_set(f, FAULT_IO, "", "cannot %s %s: %s", what, name,
			 strerror(errno));
}

/* Fills the fault about an entry that cannot be read, for example because an agent has removed
 * the right to read the entry. */
static int machine_copy_unread(int dir, const char *name, struct fault *f)
{
	char itself[40], folder[200] = "";
	int error = errno;

	snprintf(itself, sizeof(itself), "/proc/self/fd/%d", dir);
	(void)!readlink(itself, folder, sizeof(folder) - 1);
	return fault_set(f, FAULT_IO, "", "cannot read %.100s: %s%s%s", name,
			 strerror(error), *folder ? ", in " : "", folder);
}

/* Copies a range of bytes by read and write, for files between which the kernel cannot copy. */
static int copy_by_hand(int from, int to, off_t at, off_t end)
{
	char buffer[64 << 10];
	ssize_t n = 1, m;

	while (at < end && n > 0) {
		size_t want = end - at < (off_t)sizeof(buffer) ? (size_t)(end - at)
							       : sizeof(buffer);

		n = pread(from, buffer, want, at);
		for (ssize_t done = 0; done < n; done += m)
			if ((m = pwrite(to, buffer + done, (size_t)(n - done),
					at + done)) < 0)
				return -1;
		at += n > 0 ? n : 0;
	}
	return n < 0 ? -1 : 0;
}

static int copy_range(int from, int to, off_t at, off_t end)
{
	off_t in = at, out = at;
	ssize_t n = 1;

	while (in < end && n > 0)
		n = copy_file_range(from, &in, to, &out, (size_t)(end - in), 0);
	return n < 0 ? copy_by_hand(from, to, in, end) : 0;
}

/* Copies the content of a file. If the file system cannot share the blocks, copies only the
 * data, so that holes stay holes. */
static int copy_bytes(int from, int to, off_t size)
{
	off_t at = 0, end;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	while (at < size && (at = lseek(from, at, SEEK_DATA)) >= 0) {
		if ((end = lseek(from, at, SEEK_HOLE)) < 0)
			return -1;
		if (copy_range(from, to, at, end))
			return -1;
		at = end;
	}
	/* After ENXIO the rest of the file is a hole. */
	return at < 0 && errno != ENXIO ? -1 : ftruncate(to, size);
}

/* The mode for the copy of a file. If the file belongs to another user than the copy, the copy
 * gets no setuid and setgid bits. */
static mode_t mode_for(const struct stat *st)
{
	return st->st_mode & (st->st_uid == geteuid() ? 07777 : 01777);
}

static int copy_content(int from, int to_dir, const char *name, struct fault *f)
{
	struct stat st;
	int to, rc = 0;

	if (fstat(from, &st))
		return machine_copy_failed(f, "read", name);
	if (!S_ISREG(st.st_mode))
		return fault_set(f, FAULT_IO, "", "%s is not a file any more", name);
	to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0 || copy_bytes(from, to, st.st_size) || fchmod(to, mode_for(&st)) ||
	    futimens(to, (const struct timespec[]){ st.st_atim, st.st_mtim }))
		rc = machine_copy_failed(f, "copy", name);
	if (to >= 0)
		close(to);
	return rc;
}

/* Copies the regular file `name` from one open directory to another, in which `name` must not
 * exist. If a link or a pipe has replaced the file meanwhile, the function fails and does not
 * wait. */
static int machine_copy_file(int from_dir, int to_dir, const char *name, struct fault *f)
{
	int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc;

	if (from < 0) /* the file cannot be opened, or has been removed since fstatat() */
		return errno == ENOENT ? 0 : machine_copy_unread(from_dir, name, f);
	rc = copy_content(from, to_dir, name, f);
	close(from);
	return rc;
}

static int copy_link(int from_dir, int to_dir, const char *name, struct fault *f)
{
	char target[4096];
	ssize_t n = readlinkat(from_dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return machine_copy_failed(f, "read", name);
	target[n] = '\0';
	if (symlinkat(target, to_dir, name))
		return machine_copy_failed(f, "copy", name);
	return 0;
}

/* --- trees ----------------------------------------------------------------------- */

/* A directory on the walk down a tree. Only the current directory and its copy are open, so no
 * tree is too deep. The walk returns to the directory above through `..`, and checks that `..`
 * is still the same directory as on the way down. */
struct level {
	struct level *up;
	struct stat in, out;
	char *names; /* names of the entries, each with a NUL, then an empty name */
	char *next;
	size_t size;
};

struct copying {
	struct level *level;
	int in, out;
	const char *except; /* name of the entry that is left out of the topmost
			       directory */
	const char *home; /* the caller's state; NULL: states are copied too */
	struct stat top, own; /* `top`: status of the new folder; `own`: of `home` */
	int64_t left_out;
};

static int write_names(DIR *dir, FILE *names)
{
	struct dirent *e;

	while (errno = 0, (e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			fwrite(e->d_name, 1, strlen(e->d_name) + 1, names);
	return errno ? -1 : 0;
}

static int list_names(int fd, struct level *level)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = -1;
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	FILE *names = dir ? open_memstream(&level->names, &level->size) : NULL;

	if (names) {
		rc = write_names(dir, names);
		fputc('\0', names);
		if (fclose(names))
			rc = -1;
	}
	if (dir)
		closedir(dir);
	else if (own >= 0)
		close(own);
	level->next = level->names;
	return rc;
}

static void stand_in(struct copying *c, int in, int out)
{
	if (c->in >= 0)
		close(c->in);
	if (c->out >= 0)
		close(c->out);
	c->in = in;
	c->out = out;
}

static bool is_one(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static struct level *drop_level(struct level *level)
{
	struct level *up = level->up;

	free(level->names);
	free(level);
	return up;
}

static int machine_copy_enter(struct copying *c, const char *from, const char *to,
			      struct fault *f)
{
	const int how = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (c->level ? O_NOFOLLOW : 0);
	const int in_at = c->level ? c->in : AT_FDCWD;
	const int out_at = c->level ? c->out : AT_FDCWD;
	struct level *level = xcalloc(1, sizeof(*level));
	int in = openat(in_at, from, how), out = -1;

	level->up = c->level;
	if (in < 0 || fstat(in, &level->in) || list_names(in, level))
		machine_copy_unread(in_at, from, f);
	else if (mkdirat(out_at, to, 0700) || (out = openat(out_at, to, how)) < 0 ||
		 fstat(out, &level->out))
		machine_copy_failed(f, "make", to);
	if (!f->code) {
		c->level = level;
		stand_in(c, in, out);
		return 0;
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	drop_level(level);
	return f->code;
}

static bool machine_copy_is_same(int fd, const struct stat *want)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && is_one(&st, want);
}

/* Sets the mode and times of a copied directory. The mode and times are set last, since new
 * entries change the times. The owner gets all rights in the topmost directory. In a copy of a
 * person's folder, the owner gets all rights in every directory. */
static int finish_dir(const struct copying *c)
{
	const struct stat *st = &c->level->in;
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	const mode_t open = c->home || !c->level->up ? 0700 : 0;

	return fchmod(c->out, mode_for(st) | open) || futimens(c->out, times);
}

static int machine_copy_leave(struct copying *c, struct fault *f)
{
	const int how = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	const bool below = c->level->up;
	int in = below ? openat(c->in, "..", how) : -1;
	int out = below ? openat(c->out, "..", how) : -1;

	if (finish_dir(c))
		machine_copy_failed(f, "make", "a directory");
	c->level = drop_level(c->level);
	if (below && !f->code) {
		if (!machine_copy_is_same(in, &c->level->in) ||
		    !machine_copy_is_same(out, &c->level->out))
			fault_set(f, FAULT_IO, "",
				  "a directory was moved while it was copied");
	}
	stand_in(c, in, out);
	return f->code;
}

/* Whether the folder is a state. States are not copied, since a reader of a state's secret has
 * all rights of the state's owner. Only the topmost folder may be a link, as in
 * machine_copy_enter(). */
static bool machine_copy_is_state(int dir, const char *name)
{
	const int follow = dir == AT_FDCWD ? 0 : O_NOFOLLOW;
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC | follow);
	bool is = fd >= 0 && faccessat(fd, "secret", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
		  faccessat(fd, "state.db", F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

/* Whether a folder must not be copied, because the folder is a state or is the new folder
 * itself. A copy of the new folder into itself would not end. */
static bool machine_copy_is_closed(const struct copying *c, const char *name,
				   const struct stat *st)
{
	return is_one(st, &c->top) ||
	       (c->home && (is_one(st, &c->own) || machine_copy_is_state(c->in, name)));
}

static int copy_folder(struct copying *c, const char *name, const struct stat *st,
		       struct fault *f)
{
	if (!machine_copy_is_closed(c, name, st))
		return machine_copy_enter(c, name, name, f);
	c->left_out++;
	return 0;
}

static int copy_entry(struct copying *c, const char *name, struct fault *f)
{
	struct stat st;

	if (!c->level->up && strcmp(name, c->except) == 0) {
		c->left_out++;
		return 0;
	}
	if (fstatat(c->in, name, &st, AT_SYMLINK_NOFOLLOW))
		/* The file may have been removed since the folder was read. */
		return errno == ENOENT ? 0 : machine_copy_failed(f, "read", name);
	if (S_ISDIR(st.st_mode))
		return copy_folder(c, name, &st, f);
	if (S_ISLNK(st.st_mode))
		return copy_link(c->in, c->out, name, f);
	if (S_ISREG(st.st_mode))
		return machine_copy_file(c->in, c->out, name, f);
	c->left_out++;
	return 0;
}

static int copy_all(struct copying *c, struct fault *f)
{
	int rc = 0;

	while (rc == 0 && c->level) {
		const char *name = c->level->next;

		if (!*name) {
			rc = machine_copy_leave(c, f);
			continue;
		}
		c->level->next += strlen(name) + 1;
		rc = copy_entry(c, name, f);
	}
	return rc;
}

/* Opens the source and the new folder. Refuses the folder of a state as the source. */
static int machine_copy_begin(struct copying *c, const char *from, const char *to,
			      struct fault *f)
{
	struct stat st;

	if (c->home && stat(c->home, &c->own))
		return machine_copy_failed(f, "read", c->home);
	if (c->home && ((stat(from, &st) == 0 && is_one(&st, &c->own)) ||
			machine_copy_is_state(AT_FDCWD, from)))
		return fault_set(f, FAULT_INVALID, "",
				 "%.180s is the folder of a state: it cannot be copied",
				 from);
	if (machine_copy_enter(c, from, to, f) == 0)
		c->top = c->level->out;
	return f->code;
}

/* Closes the directories of a failed copy and frees their levels. */
static void machine_copy_give_up(struct copying *c)
{
	while (c->level)
		c->level = drop_level(c->level);
	stand_in(c, -1, -1);
}

static int copy_tree(struct copying *c, const char *from, const char *to,
		     int64_t *left_out, struct fault *f)
{
	if (machine_copy_begin(c, from, to, f) == 0)
		copy_all(c, f);
	machine_copy_give_up(c);
	if (f->code)
		return f->code;
	if (left_out)
		*left_out += c->left_out;
	return tree_sync(to) ? machine_copy_failed(f, "sync", to) : 0;
}

int tree_copy(const char *from, const char *to, const char *except, int64_t *left_out,
	      struct fault *f)
{
	struct copying c = { .in = -1, .out = -1, .except = except };

	return copy_tree(&c, from, to, left_out, f);
}

int tree_copy_golden(const char *from, const char *to, const char *home,
		     int64_t *left_out, struct fault *f)
{
	struct copying c = { .in = -1, .out = -1, .except = ".cadre", .home = home };

	return copy_tree(&c, from, to, left_out, f);
}
