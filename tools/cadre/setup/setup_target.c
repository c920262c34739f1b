/*
 * setup_target - a file that setup reads and writes: in one step, or not at all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "storage/durable.h"
#include "tools/cadre/setup/setup.h"

enum { MOST = 64 << 20, LIST_MOST = 64 << 10 };

/* --- where it is ------------------------------------------------------------------------- */

/* The path without links of a file that need not be there; false with errno set. */
static bool setup_target_resolve(const char *path, char out[4096])
{
	char above[4096], real[4096];
	struct stat st;

	if (realpath(path, out))
		return true;
	if (errno != ENOENT || !lstat(path, &st)) /* or a link that leads to nothing */
		return false;
	snprintf(above, sizeof(above), "%s", path);
	do
		if (!paths_up(above))
			return false;
	while (!realpath(above, real) && errno == ENOENT);
	return snprintf(out, 4096, "%s%s", strcmp(real, "/") ? real : "",
			path + (strcmp(above, "/") ? strlen(above) : 0)) < 4096;
}

/* A project may have come with a clone: its links lead to no file elsewhere. */
static int check_inside(const struct setup_target *t, const char *project,
			struct fault *f)
{
	char real[4096];
	size_t n;

	if (!realpath(project, real))
		return fault_set(f, FAULT_IO, "", "cannot look at %.150s: %m", project);
	n = strlen(real);
	if (!strncmp(t->path, real, n) && (t->path[n] == '/' || n == 1))
		return 0;
	fault_set(f, FAULT_DENIED, "", "%.80s leads out of the project, to %.120s",
		  t->shown, t->path);
	return fault_hint(f, "Put a file in the place of that link.");
}

/* --- reading -------------------------------------------------------------------------------- */

static int setup_target_read_all(int fd, struct setup_target *t, struct fault *f)
{
	char piece[1 << 16];
	ssize_t n = 0;

	if (fstat(fd, &t->st))
		return fault_set(f, FAULT_IO, "", "cannot look at %.150s: %m", t->shown);
	if (!S_ISREG(t->st.st_mode))
		return fault_set(f, FAULT_INVALID, "", "%.150s is no file", t->shown);
	while (t->before.len <= MOST && (n = read(fd, piece, sizeof(piece))) > 0)
		text_add(&t->before, piece, (size_t)n);
	if (n < 0)
		return fault_set(f, FAULT_IO, "", "cannot read %.150s: %m", t->shown);
	return n ? fault_set(f, FAULT_INVALID, "", "%.150s is larger than 64 MiB",
			     t->shown)
		 : 0;
}

int setup_target_find(struct setup_target *t, const char *path, const char *shown,
		      const char *project, struct fault *f)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->shown, sizeof(t->shown), "%s", shown);
	t->draft.name = t->shown;
	if (!setup_target_resolve(path, t->path))
		return fault_set(f, FAULT_IO, "", "cannot look at %.150s: %m", shown);
	return project ? check_inside(t, project, f) : 0;
}

int setup_target_read(struct setup_target *t, struct fault *f)
{
	int fd = open(t->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0
				       : fault_set(f, FAULT_IO, "",
						   "cannot open %.150s: %m", t->shown);
	t->was = t->draft.there = true;
	if (setup_target_read_all(fd, t, f) == 0)
		text_add(&t->draft.text, t->before.data, t->before.len);
	close(fd);
	return f->code;
}

bool setup_target_changed(const struct setup_target *t)
{
	return t->was != t->draft.there ||
	       (t->was && (t->before.len != t->draft.text.len ||
			   (t->before.len && memcmp(t->before.data, t->draft.text.data,
						    t->before.len) != 0)));
}

void setup_target_undo(struct setup_target *t)
{
	draft_splice(&t->draft, 0, t->draft.text.len, t->before.data, t->before.len);
	t->draft.there = t->was;
}

void setup_target_release(struct setup_target *t)
{
	text_release(&t->before);
	text_release(&t->draft.text);
}

/* --- what a setup that was killed has left ------------------------------------------------- */

/* Stands behind the name of a file in that of the one that is to become it. */
static const char mark[] = ".cadre-";

static bool is_beside(const char *entry, const char *name)
{
	size_t n = strlen(name), marked = n + sizeof(mark) - 1;

	return !strncmp(entry, name, n) && !strncmp(entry + n, mark, sizeof(mark) - 1) &&
	       strlen(entry + marked) == 16 &&
	       strspn(entry + marked, "0123456789abcdef") == 16;
}

/* Removes a file, unless it is another's or its writer lives. */
static void setup_target_remove_left(int dir, const char *entry, const char *name)
{
	int fd = openat(dir, entry,
			O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st, whose;

	if (fd < 0)
		return;
	if (fstatat(dir, name, &whose, AT_SYMLINK_NOFOLLOW))
		whose.st_uid = geteuid();
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    (st.st_uid == geteuid() || st.st_uid == whose.st_uid) &&
	    !flock(fd, LOCK_EX | LOCK_NB))
		unlinkat(dir, entry, 0);
	close(fd);
}

void setup_target_sweep(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	struct dirent *entry;
	char above[4096];
	DIR *dir;

	snprintf(above, sizeof(above), "%s", path);
	dir = paths_up(above) ? opendir(above) : NULL;
	while (dir && (entry = readdir(dir)))
		if (is_beside(entry->d_name, name))
			setup_target_remove_left(dirfd(dir), entry->d_name, name);
	if (dir)
		closedir(dir);
}

/* --- writing --------------------------------------------------------------------------------- */

static int changed_meanwhile(const struct setup_target *t, struct fault *f)
{
	fault_set(f, FAULT_CONFLICT, "", "%.150s was changed meanwhile", t->shown);
	return fault_hint(f, "Run it again.");
}

int setup_target_check(const struct setup_target *t, struct fault *f)
{
	if (!t->was || !setup_target_changed(t))
		return 0;
	if (!(t->st.st_mode & 0222) || access(t->path, W_OK)) {
		fault_set(f, FAULT_DENIED, "", "%.150s is read-only", t->shown);
		return fault_hint(f, "chmod u+w it, if it is yours to change.");
	}
	if (t->st.st_nlink > 1) {
		fault_set(f, FAULT_DENIED, "",
			  "%.120s is one of %lu names (hard links) of a file; the others "
			  "would keep the old text",
			  t->shown, (unsigned long)t->st.st_nlink);
		return fault_hint(f,
				  "Make it a file of its own (cp -p FILE NEW && mv NEW "
				  "FILE), or a symbolic link to the other one.");
	}
	return 0;
}

/* Whether the file has the bytes `want`.  Times have the grain of a tick, and numbers of files are
 * used again at once: only the bytes tell whether somebody has written the file. */
static bool has_bytes(const char *path, const struct text *want)
{
	struct setup_target now = { 0 };
	struct fault unread = { 0 };
	bool has;

	snprintf(now.path, sizeof(now.path), "%s", path);
	has = setup_target_read(&now, &unread) == 0 && now.was &&
	      now.before.len == want->len &&
	      (!want->len || !memcmp(now.before.data, want->data, want->len));
	setup_target_release(&now);
	return has;
}

/* Whether a file that was read is still the same; of one that was not there setup_target_put_in_place()
 * finds out. */
static int check_same(const struct setup_target *t, struct fault *f)
{
	struct stat st;

	if (!t->was)
		return 0;
	if (lstat(t->path, &st) || st.st_ino != t->st.st_ino ||
	    st.st_dev != t->st.st_dev || st.st_mode != t->st.st_mode ||
	    st.st_nlink != t->st.st_nlink || !has_bytes(t->path, &t->before))
		return changed_meanwhile(t, f);
	return 0;
}

static bool setup_target_write_all(int fd, const struct text *text)
{
	size_t done = 0;

	while (done < text->len) {
		ssize_t n = write(fd, text->data + done, text->len - done);

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* Gives a file the access list of the one that it replaces, or none, though the folder may have
 * one for new files: with the mode alone its group bits would hold for all whom that names. */
static bool keep_list(int fd, const struct setup_target *t)
{
	static const char name[] = "system.posix_acl_access";
	char *list = malloc(LIST_MOST);
	ssize_t n = list ? getxattr(t->path, name, list, LIST_MOST) : -1;
	bool kept;

	if (n >= 0)
		kept = !fsetxattr(fd, name, list, (size_t)n, 0);
	else if (list && errno == ENODATA)
		kept = !fremovexattr(fd, name) || errno == ENODATA || errno == ENOTSUP;
	else
		kept = list && errno == ENOTSUP;
	free(list);
	return kept;
}

static bool keep_owner(int fd, const struct setup_target *t)
{
	struct stat st;

	if (!t->was)
		return true;
	/* A folder may give its group to new files. */
	return !fstat(fd, &st) &&
	       ((t->st.st_uid == st.st_uid && t->st.st_gid == st.st_gid) ||
		fchown(fd, t->st.st_uid, t->st.st_gid) == 0) &&
	       keep_list(fd, t) && fchmod(fd, t->st.st_mode & 07777) == 0;
}

/* Whether a call failed since the file system, or the kernel, does not know it. */
static bool setup_target_is_unknown(void)
{
	return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ||
	       errno == EPERM;
}

/* Renames a file to a name that none may have; false with errno set.  NFS knows no such flag,
 * exFAT and some of FUSE no links either: there the name is taken by an empty file first. */
static bool rename_to_new(const char *from, const char *to)
{
	int fd, why;

	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return true;
	if (!setup_target_is_unknown())
		return false;
	if (!link(from, to))
		return !unlink(from);
	if (!setup_target_is_unknown())
		return false;
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	close(fd);
	if (!rename(from, to))
		return true;
	why = errno;
	unlink(to);
	errno = why;
	return false;
}

/* Exchanges the written file with the file that it replaces, and checks the replaced file.  If a
 * client has written that file since, exchanges the two back.  1, 0: not known here, or -1. */
static int setup_target_exchange(const struct setup_target *t, const char *beside)
{
	if (renameat2(AT_FDCWD, beside, AT_FDCWD, t->path, RENAME_EXCHANGE))
		return setup_target_is_unknown() ? 0 : -1;
	if (has_bytes(beside, &t->before))
		return 1;
	/* A client may have written once more meanwhile, in the place of ours: that stays. */
	if (renameat2(AT_FDCWD, beside, AT_FDCWD, t->path, RENAME_EXCHANGE))
		return -1;
	if (!has_bytes(beside, &t->draft.text))
		renameat2(AT_FDCWD, beside, AT_FDCWD, t->path, RENAME_EXCHANGE);
	errno = EEXIST;
	return -1;
}

/* Gives the file that was written its name, which no other may have got meanwhile. */
static int setup_target_put_in_place(const struct setup_target *t, const char *beside,
				     struct fault *f)
{
	int rc;

	if (check_same(t, f) < 0)
		return f->code;
	rc = t->was                           ? setup_target_exchange(t, beside)
	     : rename_to_new(beside, t->path) ? 1
					      : -1;
	if (rc > 0 || (rc == 0 && !rename(beside, t->path)))
		return 0;
	return errno == EEXIST
		       ? changed_meanwhile(t, f)
		       : fault_set(f, FAULT_IO, "", "cannot write %.150s: %m", t->shown);
}

static void name_beside(const struct setup_target *t, char out[4200])
{
	snprintf(out, 4200, "%s%s%016llx", t->path, mark,
		 (unsigned long long)home_random());
}

/* Writes the text beside the file, which it then becomes. */
static int setup_target_replace(struct setup_target *t, struct fault *f)
{
	char beside[4200];
	int fd;
	bool done;

	name_beside(t, beside);
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  t->was ? 0600 : 0666);
	if (fd < 0)
		return fault_set(f, FAULT_IO, "", "cannot write beside %.150s: %m",
				 t->shown);
	flock(fd, LOCK_EX | LOCK_NB); /* until the writer ends */
	done = setup_target_write_all(fd, &t->draft.text) && keep_owner(fd, t) &&
	       fsync(fd) == 0;
	if (!done)
		fault_set(f, FAULT_IO, "", "cannot write %.150s: %m", t->shown);
	if (done)
		setup_target_put_in_place(t, beside, f);
	close(fd);
	if (!f->code && dir_sync_above(t->path))
		fault_set(f, FAULT_IO, "", "cannot sync %.150s: %m", t->shown);
	if (!t->was || has_bytes(beside, &t->draft.text) ||
	    has_bytes(beside, &t->before) || !done)
		unlink(beside); /* else it is a client's, and stands nowhere else */
	return f->code;
}

static int remove_file(struct setup_target *t, struct fault *f)
{
	char beside[4200];

	name_beside(t, beside);
	if (check_same(t, f) < 0)
		return f->code;
	if (!rename_to_new(t->path, beside)) {
		fault_set(f, FAULT_IO, "", "cannot remove %.150s: %m", t->shown);
	} else if (!has_bytes(beside, &t->before)) {
		changed_meanwhile(t, f);
		if (rename_to_new(beside, t->path) || errno != EEXIST)
			return f->code; /* a client's text is never removed */
	} else if (dir_sync_above(t->path)) {
		fault_set(f, FAULT_IO, "", "cannot sync %.150s: %m", t->shown);
	}
	unlink(beside);
	return f->code;
}

int setup_target_write(struct setup_target *t, struct fault *f)
{
	if (!t->draft.there)
		return t->was ? remove_file(t, f) : 0;
	if (setup_target_check(t, f) < 0 || check_same(t, f) < 0 ||
	    (!t->was && setup_made_folders(t->path, f) < 0))
		return f->code;
	return setup_target_replace(t, f);
}
