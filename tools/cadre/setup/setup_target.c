/*
 * setup_target - a file that setup reads, and then writes in one step or not at all.
 *
 * The bytes of a file tell whether setup made it, but a folder has no bytes. So setup notes the
 * paths of its folders. The notes are a file in the user's XDG state folder, with one path per
 * line. A path is noted before its folder is made, because a setup may be killed at any moment.
 * If a folder's path cannot be noted, the folder is never removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "core/machine/child.h"
#include "storage/durable.h"
#include "tools/cadre/setup/setup.h"

enum { MOST = 64 << 20, PATIENCE_MS = 60000 };

static int setup_target_fail(const char *what, const char *path, struct fault *f)
{
	return fault_set(f, FAULT_IO, "", "cannot %s %.150s: %m", what, path);
}

/* --- the path ---------------------------------------------------------------------------- */

/* Finds a file's path without links. The file need not exist. False: there is an error, and
 * errno is set. */
static bool setup_target_resolve(const char *path, char out[4096])
{
	char above[4096], real[4096];
	struct stat st;

	if (realpath(path, out))
		return true;
	if (errno != ENOENT || !lstat(path, &st)) /* lstat() finds broken links */
		return false;
	snprintf(above, sizeof(above), "%s", path);
	do
		if (!paths_up(above))
			return false;
	while (!realpath(above, real) && errno == ENOENT);
	return snprintf(out, 4096, "%s%s", strcmp(real, "/") ? real : "",
			path + (strcmp(above, "/") ? strlen(above) : 0)) < 4096;
}

/* Refuses a file outside of the project. The project may come from a clone, so its links must
 * not lead out of the project. */
static int check_inside(const struct setup_target *t, const char *project,
			struct fault *f)
{
	char real[4096];
	size_t n;

	if (!realpath(project, real))
		return setup_target_fail("look at", project, f);
	n = strlen(real);
	if (!strncmp(t->path, real, n) && (t->path[n] == '/' || n == 1))
		return 0;
	fault_set(f, FAULT_DENIED, "", "%.80s leads out of the project, to %.120s",
		  t->shown, t->path);
	return fault_hint(f, "Replace the link by a file.");
}

/* --- reading -------------------------------------------------------------------------------- */

int setup_target_find(struct setup_target *t, const char *path, const char *shown,
		      const char *project, struct fault *f)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->shown, sizeof(t->shown), "%s", shown);
	t->draft.name = t->shown;
	if (!setup_target_resolve(path, t->path))
		return setup_target_fail("look at", shown, f);
	return project && *project ? check_inside(t, project, f) : 0;
}

int setup_target_read(struct setup_target *t, struct fault *f)
{
	int fd = open(t->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	char piece[1 << 16];
	ssize_t n = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : setup_target_fail("open", t->shown, f);
	t->was = t->draft.there = true;
	if (fstat(fd, &t->st))
		setup_target_fail("look at", t->shown, f);
	else if (!S_ISREG(t->st.st_mode))
		fault_set(f, FAULT_INVALID, "", "%.150s is not a file", t->shown);
	while (!f->code && t->before.len <= MOST &&
	       (n = read(fd, piece, sizeof(piece))) > 0)
		text_add(&t->before, piece, (size_t)n);
	if (n < 0)
		setup_target_fail("read", t->shown, f);
	else if (n)
		fault_set(f, FAULT_INVALID, "", "%.150s is larger than 64 MiB", t->shown);
	text_add(&t->draft.text, t->before.data, t->before.len);
	close(fd);
	return f->code;
}

static bool setup_target_equal(const struct text *a, const struct text *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

bool setup_target_changed(const struct setup_target *t)
{
	return t->was != t->draft.there ||
	       !setup_target_equal(&t->before, &t->draft.text);
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

/* --- leftovers of a killed setup ----------------------------------------------------------- */

/* The name of a file's new version consists of the file's name, this mark and a random number. */
static const char mark[] = ".cadre-";

/* Removes a leftover beside the file `name`. A leftover stays if its writer still runs, or if
 * its owner is neither this user nor the owner of `name`. */
static void setup_target_remove_left(int dir, const char *left, const char *name)
{
	int fd = openat(dir, left,
			O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st, whose;

	if (fstatat(dir, name, &whose, AT_SYMLINK_NOFOLLOW))
		whose.st_uid = geteuid();
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    (st.st_uid == geteuid() || st.st_uid == whose.st_uid) &&
	    !flock(fd, LOCK_EX | LOCK_NB))
		unlinkat(dir, left, 0);
	if (fd >= 0)
		close(fd);
}

void setup_target_sweep(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	size_t n = strlen(name), marked = n + sizeof(mark) - 1;
	struct dirent *e;
	char above[4096];
	DIR *dir;

	snprintf(above, sizeof(above), "%.*s", (int)(name - path), path);
	dir = opendir(above);
	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, name, n) &&
		    !strncmp(e->d_name + n, mark, marked - n) &&
		    strlen(e->d_name + marked) == 16 &&
		    strspn(e->d_name + marked, "0123456789abcdef") == 16)
			setup_target_remove_left(dirfd(dir), e->d_name, name);
	if (dir)
		closedir(dir);
}

/* --- the change of a file ------------------------------------------------------------------- */

void setup_diff(const struct setup_target *t, struct text *out)
{
	const char *from = t->was ? t->shown : "/dev/null";
	const char *to = t->draft.there ? t->shown : "/dev/null";
	/* `diff` inherits both descriptors. */
	int before = memfd_create("before", 0), after = memfd_create("after", 0);
	struct arena a = { 0 };
	const char *b = arena_printf(&a, "/dev/fd/%d", before),
		   *c = arena_printf(&a, "/dev/fd/%d", after);
	const char *words[] = { "diff", "-au", "-L", from, "-L", to, b, c, NULL };
	struct fault ignored = { 0 };
	struct child_end end;

	setenv("LC_ALL", "C", 1); /* `diff` must write English words */
	if (setup_target_changed(t) &&
	    !fd_write_all(before, t->before.data, t->before.len) &&
	    (!t->draft.there ||
	     !fd_write_all(after, t->draft.text.data, t->draft.text.len)) &&
	    child_hear(words, NULL, 0, -1, &a, &end, &ignored) == 0 &&
	    WIFEXITED(end.status) && WEXITSTATUS(end.status) == 1)
		text_addf(out, "%s", end.out);
	else if (setup_target_changed(t))
		text_addf(out,
			  "--- %s\n+++ %s\n"
			  "(no `diff` in PATH: the change is not shown)\n",
			  from, to);
	close(before);
	close(after);
	arena_release(&a);
}

/* --- folders that setup made ----------------------------------------------------------------- */

enum made { MADE_ASK, MADE_ADD, MADE_DROP };

/* Whether a folder is in the notes. With MADE_ADD, also adds the folder to the notes. With
 * MADE_DROP, also removes the folder from the notes. */
static bool setup_target_note(const char *dir, enum made act)
{
	struct setup_target t = { 0 };
	struct fault ignored = { 0 };
	char state[4096], path[4096], line[4098];
	size_t n = (size_t)snprintf(line, sizeof(line), "%s\n", dir);
	const char *at = "";
	bool noted = false;

	if (!strchr(dir, '\n') && paths_user_state(state) && !access(state, W_OK) &&
	    paths_join(path, state, "setup-folders") &&
	    setup_target_find(&t, path, path, "", &ignored) == 0 &&
	    setup_target_read(&t, &ignored) == 0) {
		for (at = t.was && t.before.len ? t.before.data : "";
		     *at && strncmp(at, line, n) != 0; at += *at == '\n')
			at += strcspn(at, "\n");
		noted = *at;
		if (act == MADE_ADD && !noted)
			text_add(&t.draft.text, line, n);
		if (act == MADE_DROP && noted)
			draft_splice(&t.draft, (size_t)(at - t.before.data),
				     (size_t)(at - t.before.data) + n, "", 0);
		t.draft.there = t.draft.text.len > 0;
		if (setup_target_changed(&t))
			setup_target_write(&t, &ignored);
	}
	setup_target_release(&t);
	return noted;
}

/* Makes the missing folders above a file, and notes the folders that were made. */
static int setup_target_make_folders(const char *path, struct fault *f)
{
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s", path);
	if (!paths_up(dir) || !access(dir, F_OK))
		return 0;
	if (setup_target_make_folders(dir, f) < 0)
		return f->code;
	setup_target_note(dir, MADE_ADD);
	if (dir_make(dir, 0777) == 0)
		return 0;
	setup_target_fail("make", dir, f);
	setup_target_note(dir, MADE_DROP);
	return f->code;
}

void setup_target_remove_folders(const char *path)
{
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s", path);
	/* A noted folder is missing if setup was killed after the note and before the folder
	 * was made. */
	while (paths_up(dir) && setup_target_note(dir, MADE_ASK) &&
	       (!rmdir(dir) || errno == ENOENT)) {
		dir_sync_above(dir);
		setup_target_note(dir, MADE_DROP);
	}
}

int setup_lock(bool make, struct fault *f)
{
	char dir[4096], notes[4096];
	int fd, rc = 0;

	if (!paths_user_state(dir) || !paths_join(notes, dir, "setup-folders") ||
	    (make && dir_make_all(dir, 0700)))
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	for (int left = PATIENCE_MS;
	     left > 0 && (rc = flock(fd, LOCK_EX | LOCK_NB)) && errno == EWOULDBLOCK;
	     left -= 10)
		poll(NULL, 0, 10);
	if (rc && errno == EWOULDBLOCK) {
		close(fd);
		fault_set(f, FAULT_UNAVAILABLE, "", "another cadre setup runs");
		fault_hint(f, "Try again when it has ended; lslocks shows the process.");
		return -1;
	}
	setup_target_sweep(notes);
	return fd;
}

/* --- writing --------------------------------------------------------------------------------- */

static int changed_meanwhile(const struct setup_target *t, struct fault *f)
{
	fault_set(f, FAULT_CONFLICT, "", "%.150s was changed during the setup", t->shown);
	return fault_hint(f, "Run the setup again.");
}

int setup_target_check(const struct setup_target *t, struct fault *f)
{
	if (!t->was || !setup_target_changed(t) ||
	    ((t->st.st_mode & 0222) && !access(t->path, W_OK)))
		return 0;
	fault_set(f, FAULT_DENIED, "", "%.150s is read-only", t->shown);
	return fault_hint(f, "chmod u+w it, if it is yours to change.");
}

/* Whether the file has the bytes `want`. File times change only with each tick of a clock, and
 * the inode number of a removed file may be used again at once. So only the bytes tell whether
 * another process has written the file. */
static bool has_bytes(const char *path, const struct text *want)
{
	struct setup_target now = { 0 };
	struct fault unread = { 0 };
	bool has;

	snprintf(now.path, sizeof(now.path), "%s", path);
	has = setup_target_read(&now, &unread) == 0 && now.was &&
	      setup_target_equal(&now.before, want);
	setup_target_release(&now);
	return has;
}

/* Gives a new file the owner, the mode and the access list of the file that it replaces. If the
 * old file has no access list, the new file must not keep the list that it got from its folder.
 * With such a list, the mode would only set the list's mask. */
static bool keep_owner(int fd, const struct setup_target *t)
{
	static const char acl[] = "system.posix_acl_access";
	char list[1 << 16];
	struct stat st, now;
	ssize_t n;

	if (!t->was)
		return true;
	/* The group is compared too, because the new file may have got the group of its folder. */
	if (fstat(fd, &st) || lstat(t->path, &now) || !S_ISREG(now.st_mode) ||
	    ((now.st_uid != st.st_uid || now.st_gid != st.st_gid) &&
	     fchown(fd, now.st_uid, now.st_gid)))
		return false;
	n = lgetxattr(t->path, acl, list, sizeof(list));
	if (n < 0 && errno != ENODATA && errno != ENOTSUP)
		return false;
	if (n >= 0 ? fsetxattr(fd, acl, list, (size_t)n, 0)
		   : fremovexattr(fd, acl) && errno != ENODATA && errno != ENOTSUP)
		return false;
	return fchmod(fd, now.st_mode & 07777) == 0;
}

/* Writes the text to a new file beside the file; later the new file replaces the old file.
 * Returns a descriptor that is locked until the writer ends; -1: a fault. */
static int setup_target_write_beside(const struct setup_target *t, const char *beside,
				     struct fault *f)
{
	int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      t->was ? 0600 : 0666);

	if (fd < 0)
		return setup_target_fail("write beside", t->shown, f), -1;
	flock(fd, LOCK_EX | LOCK_NB);
	if (!fd_write_all(fd, t->draft.text.data, t->draft.text.len) &&
	    keep_owner(fd, t) && fsync(fd) == 0)
		return fd;
	setup_target_fail("write", t->shown, f);
	unlink(beside);
	close(fd);
	return -1;
}

static void setup_target_name_beside(const struct setup_target *t, char out[4200])
{
	snprintf(out, 4200, "%s%s%016llx", t->path, mark,
		 (unsigned long long)home_random());
}

/* Whether a call failed because the call is not supported by the file system (NFS, some FUSE
 * file systems) or by a sandbox. */
static bool setup_target_is_unknown(void)
{
	return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ||
	       errno == EPERM;
}

/* Does the same as renameat2(). If the flags of renameat2() are not supported, the work is done
 * step by step. During an exchange, the file exists at every moment, but a rename by a client
 * between link() and rename() is not noticed. If links are not supported, an exchange leaves no
 * file `from`. */
static int setup_target_rename(const struct setup_target *t, const char *from,
			       const char *to, unsigned flag)
{
	char third[4200];
	bool linked;
	int fd;

	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, flag))
		return 0;
	if (!setup_target_is_unknown())
		return -1;
	if (from == t->path) /* `to` is a new name */
		return rename(from, to);
	if (flag == RENAME_EXCHANGE) {
		setup_target_name_beside(t, third);
		linked = !link(to, third);
		if ((!linked && !setup_target_is_unknown()) || rename(from, to))
			return -1;
		return linked ? rename(third, from) : 0;
	}
	if (!link(from, to))
		return unlink(from);
	if (!setup_target_is_unknown() ||
	    (fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
		return -1;
	close(fd);
	return rename(from, to) ? unlink(to), -1 : 0;
}

/* Puts the new text in place, or takes the file away. The old bytes are then in `beside`. If a
 * client has written the file since setup read the file, the client's bytes are put back in
 * place. Returns 0, or -1 with errno set. */
static int setup_target_move(const struct setup_target *t, const char *beside)
{
	const bool there = t->draft.there;
	const unsigned flag = there && t->was ? RENAME_EXCHANGE : RENAME_NOREPLACE;
	const char *from = there ? beside : t->path, *to = there ? t->path : beside;

	if (setup_target_rename(t, from, to, flag))
		return -1;
	if (!t->was || access(beside, F_OK) || has_bytes(beside, &t->before))
		return 0;
	/* If a client has replaced setup's file in the meantime, the client's newest bytes
	 * stay. */
	if (!setup_target_rename(t, beside, t->path, flag) && there &&
	    !has_bytes(beside, &t->draft.text))
		setup_target_rename(t, beside, t->path, flag);
	errno = EEXIST;
	return -1;
}

int setup_target_write(struct setup_target *t, struct fault *f)
{
	char beside[4200];
	int fd = -1;

	if ((!t->was && !t->draft.there) || setup_target_check(t, f) < 0)
		return f->code;
	if (t->was ? !has_bytes(t->path, &t->before) : !access(t->path, F_OK))
		return changed_meanwhile(t, f);
	if (!t->was && setup_target_make_folders(t->path, f) < 0)
		return f->code;
	setup_target_name_beside(t, beside);
	if (t->draft.there && (fd = setup_target_write_beside(t, beside, f)) < 0)
		return f->code;
	if (setup_target_move(t, beside) == 0)
		unlink(beside);
	else if (errno == EEXIST)
		changed_meanwhile(t, f);
	else
		setup_target_fail("write", t->shown, f);
	/* `beside` may have the only copy of another process's bytes. So `beside` is removed
	 * only if it has setup's text. */
	if (f->code && has_bytes(beside, &t->draft.text))
		unlink(beside);
	if (fd >= 0)
		close(fd);
	return !f->code && dir_sync_above(t->path)
		       ? setup_target_fail("sync", t->shown, f)
		       : f->code;
}
