#include "core/home/state_id.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINE = 100, FILE_MOST = 1024, PATIENCE_MS = 2000 };

static const char database[] = "state.db", staged[] = "restore.ready/state.db";

/* The file's lines, each without its first word; "" where there is none. */
struct lines {
	char id[LINE]; /* the id and its folder */
	char db[LINE], next[LINE];
};

/* --- names -------------------------------------------------------------------- */

/* Names a file or folder by inode and time of birth; "" where it does not exist.
 * `need_birth`: also "" where the file system keeps no time of birth. */
static void name_part(int dir, const char *path, bool need_birth, char out[LINE])
{
	struct statx st;

	out[0] = '\0';
	if (statx(dir, path, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME,
		  &st))
		return;
	if (st.stx_mask & STATX_BTIME)
		snprintf(out, LINE, "%llx %llx.%08x", (unsigned long long)st.stx_ino,
			 (unsigned long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
	else if (!need_birth)
		snprintf(out, LINE, "%llx", (unsigned long long)st.stx_ino);
}

/* --- the file ----------------------------------------------------------------- */

static void state_id_take_line(const char *line, size_t n, struct lines *x)
{
	static const char *const words[] = { "db ", "next " };
	char *const parts[] = { x->db, x->next };

	for (size_t i = 0; i < 2; i++) {
		size_t skip = strlen(words[i]);

		if (!strncmp(line, words[i], skip))
			snprintf(parts[i], LINE, "%.*s", (int)(n - skip), line + skip);
	}
}

/* A file that has a second name could be changed under that name: it counts as no id. */
static ssize_t read_own(int fd, char *text, size_t room)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return -1;
	return read(fd, text, room);
}

static void state_id_read_lines(int dir, struct lines *x)
{
	int fd = openat(dir, "id", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	char text[FILE_MOST], *s = text;
	ssize_t n = read_own(fd, text, sizeof(text) - 1);

	*x = (struct lines){ 0 };
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	snprintf(x->id, LINE, "%.*s", (int)strcspn(s, "\n"), s);
	while ((s = strchr(s, '\n'))) {
		s++;
		state_id_take_line(s, strcspn(s, "\n"), x);
	}
}

/* Gives the file to the folder's owner, which matters where root has made it. */
static int give(int dir, int fd)
{
	struct stat st;

	if (fstat(dir, &st))
		return -1;
	return st.st_uid == geteuid() ? 0 : fchown(fd, st.st_uid, st.st_gid);
}

static int write_open(int fd, const struct lines *x)
{
	if (dprintf(fd, "%s\n", x->id) < 0 ||
	    (x->db[0] && dprintf(fd, "db %s\n", x->db) < 0) ||
	    (x->next[0] && dprintf(fd, "next %s\n", x->next) < 0))
		return -1;
	return fsync(fd);
}

/* The lines go into a new file: the present one may have another name, outside. */
static int write_lines(int dir, const struct lines *x, struct fault *f)
{
	char temp[40];
	int fd, rc = 0;

	snprintf(temp, sizeof(temp), "id.%d", (int)gettid());
	unlinkat(dir, temp, 0);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 || give(dir, fd) || write_open(fd, x) ||
	    renameat(dir, temp, dir, "id") || fsync(dir))
		rc = fault_set(f, FAULT_IO, "", "cannot write the state's id: %m");
	if (rc && fd >= 0)
		unlinkat(dir, temp, 0);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* --- the id --------------------------------------------------------------------- */

static bool has_id(const struct lines *x)
{
	return strspn(x->id, "0123456789abcdef") == STATE_ID &&
	       (x->id[STATE_ID] == ' ' || !x->id[STATE_ID]);
}

bool state_id_read(int dir, char id[STATE_ID + 1])
{
	struct lines x;

	state_id_read_lines(dir, &x);
	snprintf(id, STATE_ID + 1, "%.*s", has_id(&x) ? STATE_ID : 0, x.id);
	return id[0] != '\0';
}

bool state_id_is_ours(int dir)
{
	char folder[LINE];
	struct lines x;

	state_id_read_lines(dir, &x);
	name_part(dir, "", true, folder);
	return has_id(&x) && x.id[STATE_ID] && folder[0] &&
	       !strcmp(x.id + STATE_ID + 1, folder);
}

/* Waits until no other process changes the file: the folder is locked, through a
 * descriptor of its own, until that is closed.  A file system without such locks is used
 * without. */
static int state_id_hold(int dir, struct fault *f)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return fault_set(f, FAULT_IO, "", "cannot open the state's folder: %m");
	for (int left = PATIENCE_MS; left > 0 && (rc = flock(fd, LOCK_EX | LOCK_NB)) &&
				     (errno == EWOULDBLOCK || errno == EINTR);
	     left -= 10)
		poll(NULL, 0, 10);
	if (!rc || (errno != EWOULDBLOCK && errno != EINTR))
		return fd;
	close(fd);
	fault_set(
		f, FAULT_UNAVAILABLE, "",
		"the state's folder is locked by another process: its id is not changed");
	return fault_hint(f, "try again when that process (see `lslocks`) has ended");
}

int state_id_make(int dir, struct fault *f)
{
	uint8_t bytes[STATE_ID / 2];
	struct lines x = { 0 };
	char folder[LINE];
	int held, rc;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return fault_set(f, FAULT_IO, "", "no randomness: %m");
	for (size_t i = 0; i < STATE_ID / 2; i++)
		snprintf(x.id + 2 * i, 3, "%02x", bytes[i]);
	name_part(dir, "", true, folder);
	if (folder[0])
		snprintf(x.id + STATE_ID, LINE - STATE_ID, " %.60s", folder);
	held = state_id_hold(dir, f);
	if (held < 0)
		return f->code;
	rc = write_lines(dir, &x, f);
	close(held);
	return rc;
}

/* --- its database ----------------------------------------------------------------- */

static bool state_id_is_named(const struct lines *x, const char *part)
{
	return !strcmp(x->db, part) || !strcmp(x->next, part);
}

/* Whether the database that an interrupted restore would put in place is the one that was
 * staged. */
static bool restores_ours(int dir, const struct lines *x, const char *db)
{
	char next[LINE];

	if (faccessat(dir, "restore.ready", F_OK, AT_SYMLINK_NOFOLLOW))
		return true;
	name_part(dir, staged, false, next);
	if (next[0])
		return state_id_is_named(x, next);
	return x->next[0] && !strcmp(x->next, db);
}

static bool is_overlay(int dir)
{
	struct statfs fs;

	return !fstatfs(dir, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* On an overlay the first opening for writing copies a file of a lower layer, which keeps
 * its inode but gets a new time of birth.  Whether the database is such a copy of the
 * named one, with nothing written to it yet: a file that git puts there is written after
 * its birth, even if it gets the inode of the former file. */
static bool is_copied_up(int dir, const char *named)
{
	struct statx st;
	char db[LINE];

	name_part(dir, database, false, db);
	if (!named[0] || !strcmp(named, db) || !is_overlay(dir) ||
	    statx(dir, database, AT_SYMLINK_NOFOLLOW,
		  STATX_INO | STATX_TYPE | STATX_MTIME | STATX_BTIME, &st) ||
	    !(st.stx_mask & STATX_BTIME) || !S_ISREG(st.stx_mode))
		return false;
	return strtoull(named, NULL, 16) == st.stx_ino &&
	       (st.stx_mtime.tv_sec < st.stx_btime.tv_sec ||
		(st.stx_mtime.tv_sec == st.stx_btime.tv_sec &&
		 st.stx_mtime.tv_nsec < st.stx_btime.tv_nsec));
}

static enum state_id_db state_id_look_at(int dir, const struct lines *x)
{
	char db[LINE];

	if (!x->db[0] && !x->next[0])
		return STATE_ID_UNNAMED;
	name_part(dir, database, false, db);
	if (!restores_ours(dir, x, db) ||
	    (db[0] && !state_id_is_named(x, db) && !is_copied_up(dir, x->db)))
		return STATE_ID_OTHER;
	return STATE_ID_SAME;
}

enum state_id_db state_id_look(int dir)
{
	enum state_id_db found;
	struct lines x;

	state_id_read_lines(dir, &x);
	found = state_id_look_at(dir, &x);
	if (found == STATE_ID_OTHER) { /* unless both have changed between the readings */
		state_id_read_lines(dir, &x);
		found = state_id_look_at(dir, &x);
	}
	return found;
}

/* A change of the lines, named by its function; false: nothing is to be written. */
typedef bool change(int dir, struct lines *x, const char *file);

static int state_id_edit(int dir, change *how, const char *file, struct fault *f)
{
	struct lines x;
	int held = state_id_hold(dir, f), rc = 0;

	if (held < 0)
		return f->code;
	state_id_read_lines(dir, &x);
	if (has_id(&x) && how(dir, &x, file))
		rc = write_lines(dir, &x, f);
	close(held);
	return rc;
}

static bool state_id_complete_lines(int dir, struct lines *x, const char *id)
{
	char folder[LINE];

	name_part(dir, "", true, folder);
	if (!folder[0] || strcmp(x->id, id) != 0)
		return false;
	snprintf(x->id + STATE_ID, LINE - STATE_ID, " %.60s", folder);
	return true;
}

static bool state_id_bind_lines(int dir, struct lines *x, const char *file)
{
	(void)file;
	if (state_id_look_at(dir, x) != STATE_ID_UNNAMED)
		return false;
	name_part(dir, database, false, x->db);
	name_part(dir, staged, false, x->next);
	return x->db[0] || x->next[0];
}

static bool unbind(int dir, struct lines *x, const char *file)
{
	bool was = x->db[0] || x->next[0];

	(void)dir, (void)file;
	x->db[0] = x->next[0] = '\0';
	return was;
}

static bool state_id_adopt_lines(int dir, struct lines *x, const char *file)
{
	unbind(dir, x, file);
	state_id_bind_lines(dir, x, file);
	return true;
}

static bool expect(int dir, struct lines *x, const char *file)
{
	if (state_id_look_at(dir, x) != STATE_ID_OTHER)
		name_part(dir, database, false, x->db);
	name_part(dir, file, false, x->next);
	return true;
}

static bool state_id_settle_lines(int dir, struct lines *x, const char *file)
{
	char db[LINE];

	(void)file;
	name_part(dir, database, false, db);
	if (is_copied_up(dir, x->db)) {
		memcpy(x->db, db, LINE);
		return true;
	}
	if (!x->next[0] || strcmp(x->next, db) != 0 ||
	    !faccessat(dir, "restore.ready", F_OK, AT_SYMLINK_NOFOLLOW))
		return false;
	memcpy(x->db, x->next, LINE);
	x->next[0] = '\0';
	return true;
}

int state_id_complete(int dir, const char id[STATE_ID + 1], struct fault *f)
{
	return state_id_edit(dir, state_id_complete_lines, id, f);
}

int state_id_bind(int dir, struct fault *f)
{
	return state_id_look(dir) == STATE_ID_UNNAMED
		       ? state_id_edit(dir, state_id_bind_lines, NULL, f)
		       : 0;
}

int state_id_unbind(int dir, struct fault *f)
{
	return state_id_look(dir) == STATE_ID_UNNAMED
		       ? 0
		       : state_id_edit(dir, unbind, NULL, f);
}

int state_id_adopt(int dir, struct fault *f)
{
	return state_id_edit(dir, state_id_adopt_lines, NULL, f);
}

int state_id_expect(int dir, const char *file, struct fault *f)
{
	return state_id_edit(dir, expect, file, f);
}

/* Lets an overlay copy the database up now, before anything is written to it, so that it
 * can be recognised as the same file.  A file in the upper layer stays as it is. */
static void copy_up(int dir, const struct lines *x)
{
	char db[LINE];
	struct stat st;
	int fd;

	name_part(dir, database, false, db);
	if (!db[0] || strcmp(x->db, db) != 0 || !is_overlay(dir) ||
	    fstatat(dir, database, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return;
	fd = openat(dir, database,
		    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
}

int state_id_settle(int dir, struct fault *f)
{
	struct lines x;

	state_id_read_lines(dir, &x);
	copy_up(dir, &x);
	return x.next[0] || is_copied_up(dir, x.db)
		       ? state_id_edit(dir, state_id_settle_lines, NULL, f)
		       : 0;
}
