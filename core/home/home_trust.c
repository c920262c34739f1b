#include "core/home/home_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/home/home.h"
#include "core/home/home_find.h"
#include "core/home/paths.h"
#include "core/op/op.h"
#include "storage/durable.h"

/* --- the id of a state folder ------------------------------------------------------ */

enum { LINE = 100, PATIENCE_MS = 2000 };

static const char database[] = "state.db", staged[] = "restore.ready/state.db";

/* The lines of the file `id`. The first line is the id. The lines `db` and `next` are stored
 * without their first word. A missing line is "". */
struct lines {
	char id[LINE]; /* the id, and the inode and birth of its folder */
	char db[LINE], next[LINE];
};

static void state_id_take_line(const char *s, char out[LINE])
{
	snprintf(out, LINE, "%.*s", (int)strcspn(s, "\n"), s);
}

/* Reads the lines of the file `id`. A file with a second hard link counts as empty, since the
 * file's content could be changed through the other link. */
static void state_id_read_lines(int dir, struct lines *x)
{
	char text[1024], *s = text;
	struct stat st;

	if (paths_read(dir, "id", O_NOFOLLOW, text, sizeof(text), &st) < 0 ||
	    st.st_nlink != 1)
		text[0] = '\0';
	*x = (struct lines){ 0 };
	state_id_take_line(s, x->id);
	while ((s = strchr(s, '\n'))) {
		if (!strncmp(++s, "db ", 3))
			state_id_take_line(s + 3, x->db);
		else if (!strncmp(s, "next ", 5))
			state_id_take_line(s + 5, x->next);
	}
}

/* Writes the lines into a new file, since the present file may have a second hard link
 * elsewhere. */
static int write_lines(int dir, const struct lines *x, struct fault *f)
{
	char temp[40], text[4 * LINE];
	int n = snprintf(text, sizeof(text), "%s\n%s%s%s%s%s%s", x->id,
			 x->db[0] ? "db " : "", x->db, x->db[0] ? "\n" : "",
			 x->next[0] ? "next " : "", x->next, x->next[0] ? "\n" : "");

	snprintf(temp, sizeof(temp), "id.%d", (int)gettid());
	return paths_write(dir, temp, "id", text, (size_t)n)
		       ? fault_set(f, FAULT_IO, "", "cannot write the state's id: %m")
		       : 0;
}

static bool has_id(const struct lines *x)
{
	return strspn(x->id, "0123456789abcdef") == STATE_ID &&
	       (x->id[STATE_ID] == ' ' || !x->id[STATE_ID]);
}

/* Reads the id of the folder open as `dir`. Returns false if the folder has no id. */
static bool state_id_read(int dir, char id[STATE_ID + 1])
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
	paths_birth(dir, "", NULL, folder);
	return has_id(&x) && x.id[STATE_ID] && folder[0] &&
	       !strcmp(x.id + STATE_ID + 1, folder);
}

/* Locks the folder, so that no other process changes the file `id`. Waits at most two seconds
 * for the lock. The lock belongs to the returned descriptor: closing the descriptor releases
 * the lock. If the file system has no locks for folders, the function succeeds without a lock. */
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

/* --- the database of a state folder ------------------------------------------------ */

static bool state_id_is_named(const struct lines *x, const char *part)
{
	return !strcmp(x->db, part) || !strcmp(x->next, part);
}

/* Whether the id names the database that an interrupted restore would install. Also returns
 * true if no restore was interrupted. */
static bool restores_ours(int dir, const struct lines *x, const char *db)
{
	char next[LINE];

	if (faccessat(dir, "restore.ready", F_OK, AT_SYMLINK_NOFOLLOW))
		return true;
	paths_birth(dir, staged, "", next);
	if (next[0])
		return state_id_is_named(x, next);
	return x->next[0] && !strcmp(x->next, db);
}

/* Whether the id names the present database, and also names the database that an interrupted
 * restore would install. A missing file does not count as another database. */
enum state_id_db { STATE_ID_SAME, STATE_ID_OTHER, STATE_ID_UNNAMED };

static enum state_id_db state_id_look_at(int dir, const struct lines *x)
{
	char db[LINE];

	if (!x->db[0] && !x->next[0])
		return STATE_ID_UNNAMED;
	paths_birth(dir, database, "", db);
	if (!restores_ours(dir, x, db) || (db[0] && !state_id_is_named(x, db)))
		return STATE_ID_OTHER;
	return STATE_ID_SAME;
}

static enum state_id_db state_id_look(int dir)
{
	enum state_id_db found;
	struct lines x;

	state_id_read_lines(dir, &x);
	found = state_id_look_at(dir, &x);
	if (found == STATE_ID_OTHER) { /* database and id may have changed: check again */
		state_id_read_lines(dir, &x);
		found = state_id_look_at(dir, &x);
	}
	return found;
}

/* A function that changes the lines of the file `id`. Returns false if nothing has to be
 * written. */
typedef bool change(int dir, struct lines *x, const char *file);

/* Makes a new id, which names no database. */
static bool state_id_make_lines(int dir, struct lines *x, const char *file)
{
	char folder[PATHS_BIRTH];

	(void)file;
	*x = (struct lines){ 0 };
	paths_birth(dir, "", NULL, folder);
	snprintf(x->id, LINE, "%016" PRIx64 "%016" PRIx64 "%s%s", home_random(),
		 home_random(), folder[0] ? " " : "", folder);
	return true;
}

static int state_id_edit(int dir, change *how, const char *file, struct fault *f)
{
	struct lines x;
	int held = state_id_hold(dir, f), rc = 0;

	if (held < 0)
		return f->code;
	state_id_read_lines(dir, &x);
	if ((how == state_id_make_lines || has_id(&x)) && how(dir, &x, file))
		rc = write_lines(dir, &x, f);
	close(held);
	return rc;
}

static bool state_id_bind_lines(int dir, struct lines *x, const char *file)
{
	(void)file;
	if (state_id_look_at(dir, x) != STATE_ID_UNNAMED)
		return false;
	paths_birth(dir, database, "", x->db);
	paths_birth(dir, staged, "", x->next);
	return x->db[0] || x->next[0];
}

static bool unbind(int dir, struct lines *x, const char *file)
{
	bool was = x->db[0] || x->next[0];

	(void)dir, (void)file;
	x->db[0] = x->next[0] = '\0';
	return was;
}

/* Names the present database in the id, even if the id names another database. */
static bool state_id_adopt_lines(int dir, struct lines *x, const char *file)
{
	unbind(dir, x, file);
	state_id_bind_lines(dir, x, file);
	return true;
}

static bool expect(int dir, struct lines *x, const char *file)
{
	if (state_id_look_at(dir, x) != STATE_ID_OTHER)
		paths_birth(dir, database, "", x->db);
	paths_birth(dir, file, "", x->next);
	return true;
}

static bool state_id_settle_lines(int dir, struct lines *x, const char *file)
{
	char db[LINE];

	(void)file;
	paths_birth(dir, database, "", db);
	if (!x->next[0] || strcmp(x->next, db) != 0 ||
	    !faccessat(dir, "restore.ready", F_OK, AT_SYMLINK_NOFOLLOW))
		return false;
	memcpy(x->db, x->next, LINE);
	x->next[0] = '\0';
	return true;
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

int state_id_expect(int dir, const char *file, struct fault *f)
{
	return state_id_edit(dir, expect, file, f);
}

/* On an overlay file system, the first opening for writing copies a file from a lower layer.
 * The copy has a new time of birth. This function opens the database for writing, so that the
 * file system copies the database now. Returns true if the database has a new time of birth. */
static bool copy_up(int dir, const struct lines *x)
{
	char db[LINE];
	struct stat st;
	int fd;

	paths_birth(dir, database, "", db);
	if (!db[0] || strcmp(x->db, db) != 0 ||
	    fstatat(dir, database, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	fd = openat(dir, database,
		    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	paths_birth(dir, database, "", db);
	return strcmp(x->db, db) != 0;
}

int state_id_settle(int dir, struct fault *f)
{
	struct lines x;

	state_id_read_lines(dir, &x);
	if (copy_up(dir, &x))
		return state_id_edit(dir, state_id_adopt_lines, NULL, f);
	return x.next[0] ? state_id_edit(dir, state_id_settle_lines, NULL, f) : 0;
}

/* --- the lines of the notes -------------------------------------------------------- */

enum {
	FILE_MOST = 1 << 20,
	LINES_MOST = 2000,
	LINES_SWEPT = 100, /* from this number of lines on, the lines of missing folders
			      are removed */
	KEEP_DAYS = 30, /* a younger line is kept: its folder is perhaps being moved */
	LOCK_MS = 5000,
	LINE_SIZE = 3 * 4096 + 200,
};

static const char heading[] =
	"# The states that this user made or trusts (see `cadre help trust`):\n"
	"# how, since when, id, device, inode, folder, sum of its settings.\n";

static const char *const how_words[] = {
	[KNOWN_NOT] = "",
	[KNOWN_MADE] = "made",
	[KNOWN_TRUSTED] = "trusted",
	[KNOWN_TRACKED] = "tracked",
};

/* Appends a path. Escapes each byte that is invisible, or that would end the line or the word. */
static void known_add_path(struct text *out, const char *path)
{
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c <= ' ' || c == '%' || c == 127)
			text_addf(out, "%%%02x", c);
		else
			text_add(out, path, 1);
	}
}

static bool known_take_path(const char *s, char out[4096])
{
	size_t n = 0;
	unsigned c;

	for (; *s && n < 4095; s++) {
		if (*s != '%')
			out[n++] = *s;
		else if (sscanf(s, "%%%2x", &c) == 1 && c && s[1] && s[2])
			out[n++] = (char)c, s += 2;
		else
			return false;
	}
	out[n] = '\0';
	return n && !*s;
}

static void known_add_line(struct text *out, const struct known *k)
{
	text_addf(out, "%s %s %s %" PRIx64 " %" PRIu64 " ", how_words[k->how], k->day,
		  k->id, k->dev, k->ino);
	known_add_path(out, k->path);
	text_addf(out, "%s%s\n", k->sum[0] ? " " : "", k->sum);
}

/* Reads the line at *s and moves *s to the next line. Returns false if the line is not a note. */
static bool known_take_line(const char **s, struct known *k)
{
	size_t n = strcspn(*s, "\n");
	char line[LINE_SIZE], how[8];
	int at = 0;

	snprintf(line, sizeof(line), "%.*s", (int)(n < LINE_SIZE ? n : 0), *s);
	*s += n + ((*s)[n] == '\n');
	if (sscanf(line, "%7s %10s %32s %" SCNx64 " %" SCNu64 " %n", how, k->day, k->id,
		   &k->dev, &k->ino, &at) < 5 ||
	    !at || strlen(k->id) != STATE_ID)
		return false;
	for (k->how = KNOWN_TRACKED; k->how && strcmp(how, how_words[k->how]) != 0;)
		k->how--;
	n = (size_t)at + strcspn(line + at, " ");
	snprintf(k->sum, sizeof(k->sum), "%s", line[n] ? line + n + 1 : "");
	line[n] = '\0';
	return k->how && known_take_path(line + at, k->path);
}

/* --- the file of the notes --------------------------------------------------------- */

static int file_path(char out[4096], const char *name, struct fault *f)
{
	char dir[4096];

	if (home_users_folder(dir, f) < 0 || paths_join(out, dir, name))
		return f->code;
	return fault_set(f, FAULT_INVALID, "", "the path is too long: %.100s", dir);
}

/* Reads the whole file, which must belong to this user and be writable for no other user.
 * Returns a text for free(), or NULL with a fault. A missing file gives an empty text. */
static char *known_read_all(struct fault *f)
{
	char path[4096], *all = xmalloc(FILE_MOST + 2);
	struct fault none = { 0 };
	struct stat st = { 0 };
	ssize_t n = 0;

	all[0] = '\0';
	if (file_path(path, "known", &none) == 0)
		n = paths_read(AT_FDCWD, path, O_NOFOLLOW, all, FILE_MOST + 2, &st);
	if (n < 0 && !st.st_mode && errno == ENOENT)
		return all;
	if (n < 0 && !st.st_mode) {
		fault_set(f, FAULT_IO, "", "cannot open %.150s: %m", path);
	} else if (st.st_mode &&
		   (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)) {
		fault_set(f, FAULT_DENIED, "",
			  "%.150s must be a file that only you can write", path);
		fault_hint(f, "if all lines in it are yours: chmod 600 it");
	} else if (n < 0) {
		fault_set(f, FAULT_IO, "", "cannot read %.150s: %m", path);
	} else if (n > FILE_MOST) {
		fault_set(f, FAULT_EXHAUSTED, "", "%.150s is too large", path);
	} else {
		return all;
	}
	free(all);
	return NULL;
}

int trust_prepare(struct fault *f)
{
	char path[4096];
	struct stat st;
	int fd, rc = 0;

	if (home_users_folder(path, f) < 0 || home_may_make(f) < 0)
		return f->code;
	fd = dir_make_all(path, 0700)
		     ? -1
		     : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		rc = fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", path);
	else if (st.st_uid != geteuid())
		rc = fault_set(f, FAULT_DENIED, "", "%.150s belongs to another user",
			       path);
	else if ((st.st_mode & 077) && fchmod(fd, 0700))
		rc = fault_set(f, FAULT_IO, "", "cannot make %.150s private: %m", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Takes the lock of the notes and returns its descriptor. Closing the descriptor releases the
 * lock. */
static int known_lock(int wait_ms, struct fault *f)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[4096];
	int fd;

	if (file_path(path, "known.lock", f) < 0)
		return f->code;
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fault_set(f, FAULT_IO, "", "cannot open %.150s: %m", path);
	for (; fcntl(fd, F_OFD_SETLK, &all); wait_ms -= 20) {
		if (wait_ms <= 0) {
			close(fd);
			return fault_set(f, FAULT_UNAVAILABLE, "",
					 "another process holds %.150s", path);
		}
		poll(NULL, 0, 20);
	}
	return fd;
}

/* Replaces the file of the notes. The caller holds the lock. */
static int known_write_all(const struct text *all, struct fault *f)
{
	char path[4096];
	int dir, rc = -1;

	if (home_users_folder(path, f) < 0)
		return f->code;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		rc = paths_write(dir, "known.new", "known", all->data, all->len);
	if (rc)
		fault_set(f, FAULT_IO, "", "cannot write %.150s/known: %m", path);
	if (dir >= 0)
		close(dir);
	return f->code;
}

static void today(char out[11], int days_ago)
{
	char when[25];

	time_format(((int64_t)time(NULL) - days_ago * 86400LL) * 1000, when);
	snprintf(out, 11, "%.10s", when);
}

/* Whether the folder is missing now, and was noted before `day`. */
static bool is_gone(const struct known *k, const char *day)
{
	struct stat st;

	return strcmp(k->day, day) < 0 && lstat(k->path, &st) && errno == ENOENT;
}

/* Copies the lines to `out` and returns how many were copied. Leaves out lines with the same
 * path or the same inode as `left`. Also leaves out lines that were noted before `day` and
 * whose folders are missing. */
static int keep_others(struct text *out, const char *s, const struct known *left,
		       const char *day)
{
	struct known k;
	int n = 0;

	out->len = 0;
	text_addf(out, "%s", heading);
	while (*s) {
		if (!known_take_line(&s, &k) || !strcmp(k.path, left->path) ||
		    (k.dev == left->dev && k.ino == left->ino) || is_gone(&k, day))
			continue;
		known_add_line(out, &k);
		n++;
	}
	return n;
}

/* Writes the file without the old line of `k`. Adds a new line for `k` if k->how is not
 * KNOWN_NOT. */
static int known_replace(const struct known *k, struct fault *f)
{
	char day[11], *all = known_read_all(f);
	struct text out = { 0 };
	int n;

	if (!all)
		return f->code;
	today(day, KEEP_DAYS);
	n = keep_others(&out, all, k, "");
	if (n >= LINES_SWEPT)
		n = keep_others(&out, all, k, day);
	if (n >= LINES_MOST)
		n = keep_others(&out, all, k, "9999");
	if (k->how)
		known_add_line(&out, k);
	if (k->how && (n >= LINES_MOST || out.len > FILE_MOST)) {
		fault_set(f, FAULT_EXHAUSTED, "",
			  "%d states are noted: there is no room for more", n);
		fault_hint(f, "remove some: cadre trust --list, cadre trust --remove");
	} else {
		known_write_all(&out, f);
	}
	free(all);
	text_release(&out);
	return f->code;
}

/* --- sums -------------------------------------------------------------------------- */

/* Whether the folder still has the noted sum. For a state made here, the sum covers only the
 * state's settings, since a state with a file that git tracks would not count anyway. For a
 * trusted state, the sum also covers the tracked files. */
static bool has_noted_sum(const struct known *noted, const char *path)
{
	char sum[TRACKED_SUM + 1];

	git_tracked_sum(path, noted->how == KNOWN_TRUSTED, sum);
	return !strcmp(sum, noted->sum);
}

/* Whether git may have changed the settings, or the tracked files of a trusted state, since the
 * state was noted. Without a repository only the user can have edited the settings, and the
 * user's edit does not count as a change. */
static bool known_is_changed(const struct known *noted, const char *path)
{
	if (noted->how == KNOWN_TRACKED || !git_may_track(path))
		return false;
	return !has_noted_sum(noted, path);
}

/* Whether the user changed the settings in a folder that no git repository contains. If so, the
 * note needs a new sum, although known_is_changed() is false. */
static bool known_wants_sum(const struct known *noted, const char *path)
{
	return noted->how != KNOWN_TRACKED && !git_may_track(path) &&
	       !has_noted_sum(noted, path);
}

/* --- notes ------------------------------------------------------------------------- */

static bool known_is_same(const struct known *noted, const struct known *here)
{
	return noted->ino == here->ino && !strcmp(noted->id, here->id) &&
	       (noted->dev == here->dev || !strcmp(noted->path, here->path));
}

/* Fills `here` with the folder's id, device, inode and path. Returns false if the folder has no
 * id. */
static bool known_see(int dir, const char *path, struct known *here)
{
	struct stat st;

	*here = (struct known){ 0 };
	if (fstat(dir, &st) || !state_id_read(dir, here->id) ||
	    snprintf(here->path, sizeof(here->path), "%s", path) >= 4096)
		return false;
	here->dev = st.st_dev;
	here->ino = st.st_ino;
	return true;
}

/* Finds the note of the folder `here`. Fills `noted` and here->how; KNOWN_NOT means that there
 * is no note. */
static int find_noted(struct known *here, struct known *noted, struct fault *f)
{
	char *all = known_read_all(f);

	for (const char *s = all; s && *s && !here->how;)
		if (known_take_line(&s, noted) && known_is_same(noted, here)) {
			here->how = noted->how;
			memcpy(here->day, noted->day, sizeof(here->day));
			memcpy(here->sum, noted->sum, sizeof(here->sum));
		}
	free(all);
	return f->code;
}

static bool is_moved(const struct known *noted, const struct known *here)
{
	return noted->dev != here->dev || strcmp(noted->path, here->path) != 0;
}

/* A function that changes the notes. The caller holds the lock. */
typedef int known_act(int dir, const char *path, enum known_how how, struct fault *f);

static int known_locked(int wait_ms, known_act *act, int dir, const char *path,
			enum known_how how, struct fault *f)
{
	int held = known_lock(wait_ms, f), rc;

	if (held < 0)
		return f->code;
	rc = act(dir, path, how, f);
	close(held);
	return rc;
}

/* Writes a new note if the state has moved, or if the user changed its settings. */
static int note_locked(int dir, const char *path, enum known_how how, struct fault *f)
{
	struct known here, noted;

	(void)how;
	if (!known_see(dir, path, &here) || find_noted(&here, &noted, f) < 0 || !here.how)
		return f->code;
	if (known_wants_sum(&noted, path))
		git_tracked_sum(path, here.how == KNOWN_TRUSTED, here.sum);
	if (is_moved(&noted, &here) || strcmp(noted.sum, here.sum) != 0)
		known_replace(&here, f);
	return f->code;
}

int trust_edit(int dir, const char *path, trust_write *write, void *arg, struct fault *f)
{
	struct known here, noted;
	int held = known_lock(LOCK_MS, f);

	if (held < 0)
		return f->code;
	if (!known_see(dir, path, &here) || find_noted(&here, &noted, f) < 0)
		here.how = KNOWN_NOT;
	if (!f->code && here.how && known_is_changed(&noted, path))
		trust_refuse(path, here.how == KNOWN_MADE ? FOUND_EDITED : FOUND_CHANGED,
			     f);
	if (!f->code && write(arg, f) == 0 && here.how) {
		git_tracked_sum(path, here.how == KNOWN_TRUSTED, here.sum);
		known_replace(&here, f);
	}
	close(held);
	return f->code;
}

/* Adds a note that git tracks the state. While this process holds the lock, no other process
 * can note that the state is trusted. */
static int taint_locked(int dir, const char *path, enum known_how how, struct fault *f)
{
	struct known here, noted;

	if (!known_see(dir, path, &here) || find_noted(&here, &noted, f) < 0 ||
	    here.how != KNOWN_MADE)
		return f->code;
	here.how = how;
	return known_replace(&here, f);
}

int trust_taint(int dir, const char *path, struct fault *f)
{
	enum known_how how = trust_look(dir, path);

	if (how != KNOWN_MADE && how != KNOWN_EDITED)
		return 0;
	return known_locked(LOCK_MS, taint_locked, dir, path, KNOWN_TRACKED, f);
}

/* Looks again while no other process edits the settings by trust_edit(), which writes the file
 * before the note. Fills `noted` anew. */
static bool known_is_still_changed(struct known *here, struct known *noted,
				   const char *path)
{
	struct fault ignored = { 0 };
	int held = known_lock(LOCK_MS, &ignored);
	bool changed;

	here->how = KNOWN_NOT;
	changed = find_noted(here, noted, &ignored) < 0 || known_is_changed(noted, path);
	if (held >= 0)
		close(held);
	return changed;
}

enum known_how trust_look(int dir, const char *path)
{
	struct known here, noted;
	struct fault f = { 0 };

	if (!known_see(dir, path, &here) || find_noted(&here, &noted, &f) < 0)
		return KNOWN_NOT;
	if (here.how && known_is_changed(&noted, path) &&
	    known_is_still_changed(&here, &noted, path))
		return here.how == KNOWN_MADE ? KNOWN_EDITED : KNOWN_CHANGED;
	if (here.how && (is_moved(&noted, &here) || known_wants_sum(&noted, path)))
		/* If the note cannot be written, the next call of trust_look() tries again. */
		known_locked(0, note_locked, dir, path, here.how, &f);
	return here.how;
}

/* Adds a note, and keeps the notes that another process has made meanwhile. Keeps an id that is
 * noted already or that was made for this folder, since other users and environments may have
 * noted this id. Otherwise makes a new id, since the sender of the folder could send another
 * state with the old id. */
static int add_locked(int dir, const char *path, enum known_how how, struct fault *f)
{
	struct known here, noted;
	bool keep = known_see(dir, path, &here), again;

	if (find_noted(&here, &noted, f) < 0)
		return f->code;
	again = here.how == how || here.how == KNOWN_TRUSTED;
	keep = keep && state_id_is_ours(dir) && tracked_look(path) == TRACKED_NOTHING;
	if (!again && !keep && state_id_edit(dir, state_id_make_lines, NULL, f) < 0)
		return f->code;
	/* The id must name the trusted database before the folder counts. */
	if (how == KNOWN_TRUSTED && state_id_edit(dir, state_id_adopt_lines, NULL, f) < 0)
		return f->code;
	if (!again && !known_see(dir, path, &here))
		return fault_set(f, FAULT_IO, "", "%.150s has no id", path);
	if (!again)
		today(here.day, 0);
	here.how = again ? here.how : how;
	if (!again || how == KNOWN_TRUSTED)
		git_tracked_sum(path, here.how == KNOWN_TRUSTED, here.sum);
	return known_replace(&here, f);
}

int trust_add(int dir, const char *path, enum known_how how, struct fault *f)
{
	return trust_prepare(f) < 0
		       ? (int)f->code
		       : known_locked(LOCK_MS, add_locked, dir, path, how, f);
}

static int remove_locked(int dir, const char *path, enum known_how how, struct fault *f)
{
	struct known left = { .how = how };

	(void)dir;
	snprintf(left.path, sizeof(left.path), "%s", path);
	return known_replace(&left, f) < 0 ? (int)f->code : 1;
}

static int known_is_at(void *path, const struct known *k)
{
	return !strcmp(k->path, path);
}

int trust_remove(const char *path, struct fault *f)
{
	int found = trust_each(known_is_at, (void *)path, f);

	return found > 0 ? known_locked(LOCK_MS, remove_locked, -1, path, KNOWN_NOT, f)
			 : found;
}

int trust_each(int (*each)(void *with, const struct known *k), void *with,
	       struct fault *f)
{
	char *all = known_read_all(f);
	struct known k;
	int rc = f->code;

	for (const char *s = all; s && *s && !rc;)
		if (known_take_line(&s, &k))
			rc = each(with, &k);
	free(all);
	return rc;
}

/* --- judging ----------------------------------------------------------------------- */

int home_open(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool found_has(int dir, const char *name)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
}

bool home_has_state(int dir)
{
	return found_has(dir, "state.db");
}

/* Judges a state that was made here. The state does not count if git tracks files in the
 * state's folder. Git may have changed the tracked files. So the user must trust the state
 * again, even if git tracks no file later. */
static enum found_why judge_tracked(int dir, const char *path)
{
	enum tracked is = tracked_look(path);
	struct fault f = { 0 };

	if (is != TRACKED_SOME)
		return is == TRACKED_NOTHING ? FOUND_COUNTS : FOUND_NO_INDEX;
	if (trust_taint(dir, path, &f) < 0)
		return FOUND_UNNOTED; /* the next call tries to note the state again */
	return FOUND_TRACKED;
}

/* Whether the database is the same as at the last check. */
static enum found_why judge_database(int dir)
{
	enum state_id_db is = state_id_look(dir);
	struct fault none = { 0 };

	if (is == STATE_ID_UNNAMED)
		state_id_bind(dir, &none); /* if this fails, the next check tries again */
	return is == STATE_ID_OTHER ? FOUND_OTHER : FOUND_COUNTS;
}

/* A known folder counts as a state even while its files are lost or being restored. Otherwise
 * the search would silently use another state. */
static enum found_why judge_open(int dir, const char *path)
{
	/* The folder is examined before the notes, since `init` first adds a folder's note and
	 * then fills the folder. */
	bool is_state = home_has_state(dir) || found_has(dir, "restore.ready");
	enum known_how how = trust_look(dir, path);
	enum found_why why = FOUND_COUNTS;
	struct stat folder;

	if (fstat(dir, &folder) || (how == KNOWN_NOT && !is_state))
		return FOUND_NONE;
	if (how == KNOWN_CHANGED)
		return FOUND_CHANGED;
	if (how != KNOWN_TRUSTED && folder.st_uid != geteuid())
		return FOUND_FOREIGN;
	if (how == KNOWN_NOT)
		return FOUND_UNKNOWN;
	if (how != KNOWN_TRUSTED)
		why = judge_tracked(dir, path);
	if (how == KNOWN_TRACKED && why == FOUND_COUNTS)
		return FOUND_WAS_TRACKED;
	if (how == KNOWN_EDITED && why == FOUND_COUNTS)
		return state_id_look(dir) == STATE_ID_OTHER ? FOUND_OTHER : FOUND_EDITED;
	return why == FOUND_COUNTS ? judge_database(dir) : why;
}

enum found_why trust_judge(const char *path)
{
	struct stat st;
	enum found_why why;
	int dir;

	if (lstat(path, &st))
		return FOUND_NONE;
	if (S_ISLNK(st.st_mode))
		return FOUND_LINK;
	if (!S_ISDIR(st.st_mode))
		return FOUND_NONE;
	dir = home_open(path);
	if (dir < 0)
		return st.st_uid == geteuid() ? FOUND_UNKNOWN : FOUND_FOREIGN;
	why = judge_open(dir, path);
	close(dir);
	return why;
}

/* --- words ------------------------------------------------------------------------- */

static const struct {
	const char *what, *hint; /* %s stands for the folder */
} words[] = {
	[FOUND_UNKNOWN] = { "was not made here by you",
			    "if you trust all that is in it: cadre trust %.150s" },
	[FOUND_LINK] = { "is a link, and cadre follows no link to a state",
			 "remove the link, or name the state that you mean: --home DIR" },
	[FOUND_FOREIGN] = { "belongs to another user",
			    "name a state of your own: --home DIR" },
	[FOUND_TRACKED] = { "holds files that git tracks, so a pull can change the folder",
			    "switch to a branch of your own, or move the folder "
			    "away; if you trust all that is in it: cadre trust "
			    "%.150s" },
	[FOUND_WAS_TRACKED] = { "held files that git tracked, so others may have "
				"changed it",
				"move it away, and `cadre restore` your backup; if you "
				"trust all that is in it: cadre trust %.150s" },
	[FOUND_UNNOTED] = { "holds files that git tracks, and this cannot be noted",
			    "make the file `known` and its folder writable (`cadre "
			    "help trust`), and try again; then move %.150s away, "
			    "or trust it" },
	[FOUND_CHANGED] = { "has entries in git's index, or a cadre.toml, that have "
			    "changed since you trusted it",
			    "if you trust all that is in it now: cadre trust %.150s" },
	[FOUND_EDITED] = { "has settings (cadre.toml) that have changed since you made it",
			   "if you changed them: cadre trust %.150s" },
	[FOUND_OTHER] = { "has another state.db than the one that you made or trusted",
			  "move it away, and `cadre restore` your backup; "
			  "if you trust all that is in it: cadre trust %.150s" },
	[FOUND_NO_INDEX] = { "is in a repository whose index cannot be read",
			     "repair the repository, or trust the state: cadre "
			     "trust %.150s" },
	[FOUND_STRAY] = { "belongs to a repository that does not know this worktree",
			  "run `git worktree repair` there, or name the state: "
			  "--home DIR" },
};

int trust_refuse(const char *path, enum found_why why, struct fault *f)
{
	if (why == FOUND_NONE || why == FOUND_COUNTS)
		return 0;
	fault_set(f, FAULT_DENIED, "", "%.150s %s: it is not used", path,
		  words[why].what);
	return fault_hint(f, words[why].hint, path);
}

const char *trust_reason(enum found_why why)
{
	return words[why].what;
}
