#include "core/home/known.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/home/known_sum.h"
#include "core/home/paths.h"
#include "core/home/state_id.h"
#include "core/home/tracked.h"
#include "core/home/users.h"
#include "core/op/op.h"
#include "storage/durable.h"

enum {
	FILE_MOST = 1 << 20,
	LINES_MOST = 2000,
	LINES_SWEPT = 100, /* with so many, those of removed folders are dropped */
	KEEP_DAYS = 30, /* but only notes so old: a folder may just be moved */
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

/* --- lines -------------------------------------------------------------------- */

/* Appends a path in which every byte that would end a line or be invisible is escaped. */
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

/* Reads the line at *s and moves *s behind it; false when it is no note. */
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

/* --- the file ------------------------------------------------------------------- */

static bool file_path(char out[4096], const char *name)
{
	char dir[4096];

	return paths_user_state(dir) && paths_join(out, dir, name);
}

static int known_check_file(int fd, const char *path, struct fault *f)
{
	struct stat st;

	if (fstat(fd, &st))
		return fault_set(f, FAULT_IO, "", "cannot look at %.150s: %m", path);
	if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022))
		return 0;
	fault_set(f, FAULT_DENIED, "", "%.150s is no file that only you can write", path);
	return fault_hint(f, "if all that is in it is yours: chmod 600 it");
}

static int read_open(int fd, const char *path, struct text *out, struct fault *f)
{
	char piece[8192];
	ssize_t n = 0;

	while (out->len <= FILE_MOST && (n = read(fd, piece, sizeof(piece))) > 0)
		text_add(out, piece, (size_t)n);
	if (n < 0)
		return fault_set(f, FAULT_IO, "", "cannot read %.150s: %m", path);
	return n ? fault_set(f, FAULT_EXHAUSTED, "", "%.150s is too large", path) : 0;
}

/* Reads the whole file, if it is this user's and nobody else may write it.  A missing
 * file is empty; an unreadable file is a fault. */
static int known_read_all(struct text *out, struct fault *f)
{
	char path[4096];
	int fd, rc;

	if (!file_path(path, "known"))
		return 0;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0
				       : fault_set(f, FAULT_IO, "",
						   "cannot open %.150s: %m", path);
	rc = known_check_file(fd, path, f);
	if (rc == 0)
		rc = read_open(fd, path, out, f);
	close(fd);
	return rc;
}

/* A fault that says why the file has no path. */
static int known_refuse_place(struct fault *f)
{
	char path[4096];

	return users_folder(path, f);
}

int known_prepare(struct fault *f)
{
	char path[4096];
	struct stat st;
	int fd, rc = 0;

	if (users_folder(path, f) < 0 || users_may_make(f) < 0)
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

/* A descriptor that holds the lock until it is closed. */
static int known_lock(int wait_ms, struct fault *f)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[4096];
	int fd;

	if (!file_path(path, "known.lock"))
		return known_refuse_place(f);
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

static int known_write_all(const struct text *all, struct fault *f)
{
	char path[4096], temp[4096];
	int fd, rc = 0;

	if (!file_path(path, "known") || !file_path(temp, "known.new"))
		return known_refuse_place(f);
	unlink(temp); /* a file that a killed process left: the lock is ours */
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, all->data, all->len) != (ssize_t)all->len || fsync(fd) ||
	    rename(temp, path) || dir_sync_above(path))
		rc = fault_set(f, FAULT_IO, "", "cannot write %.150s: %m", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* --- changes ---------------------------------------------------------------------- */

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

/* Copies all lines but those of the path or the folder of `left`, and those noted before
 * `day` whose folders are missing; returns how many lines were copied. */
static int keep_others(struct text *out, const struct text *all, const struct known *left,
		       const char *day)
{
	const char *s = all->data ? all->data : "";
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

/* Writes the file without `k`, and with it if it says how it is known. */
static int known_replace(const struct known *k, struct fault *f)
{
	struct text all = { 0 }, out = { 0 };
	char day[11];
	int n, rc;

	if ((rc = known_read_all(&all, f)) < 0) {
		text_release(&all);
		return rc;
	}
	today(day, KEEP_DAYS);
	n = keep_others(&out, &all, k, "");
	if (n >= LINES_SWEPT)
		n = keep_others(&out, &all, k, day);
	if (n >= LINES_MOST)
		n = keep_others(&out, &all, k, "9999");
	if (k->how)
		known_add_line(&out, k);
	if (k->how && (n >= LINES_MOST || out.len > FILE_MOST)) {
		rc = fault_set(f, FAULT_EXHAUSTED, "", "%d states are noted", n);
		fault_hint(f, "remove some: cadre trust --list, cadre trust --remove");
	} else {
		rc = known_write_all(&out, f);
	}
	text_release(&all);
	text_release(&out);
	return rc;
}

/* --- the interface ----------------------------------------------------------------- */

static bool known_is_same(const struct known *noted, const struct known *here)
{
	return noted->ino == here->ino && !strcmp(noted->id, here->id) &&
	       (noted->dev == here->dev || !strcmp(noted->path, here->path));
}

/* Fills `here` with id, place and path of the folder; false when it has no id. */
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

/* Looks `here` up among the notes: fills `noted`, and here->how (KNOWN_NOT: no note). */
static int find_noted(struct known *here, struct known *noted, struct fault *f)
{
	struct text all = { 0 };
	const char *s;
	int rc = known_read_all(&all, f);

	for (s = rc == 0 && all.data ? all.data : ""; *s && !here->how;)
		if (known_take_line(&s, noted) && known_is_same(noted, here)) {
			here->how = noted->how;
			memcpy(here->day, noted->day, sizeof(here->day));
			memcpy(here->sum, noted->sum, sizeof(here->sum));
		}
	text_release(&all);
	return rc;
}

static bool is_moved(const struct known *noted, const struct known *here)
{
	return noted->dev != here->dev || strcmp(noted->path, here->path) != 0;
}

/* Brings an id of the older form up to date, for a state that was made here: the id of
 * one that is only trusted may have come with it. */
static int known_complete(int dir, const struct known *here, struct fault *f)
{
	return here->how == KNOWN_MADE ? state_id_complete(dir, here->id, f) : 0;
}

/* Writes the note of a state anew that has moved, or that has no sum yet.  An id of the
 * older form, which names no folder, is brought up to date: environments that trust the
 * state keep it then. */
static void note_change(int dir, const char *path)
{
	struct fault f = { 0 };
	struct known here, noted;
	int held = known_lock(0, &f);

	if (held < 0)
		return;
	if (known_see(dir, path, &here) && find_noted(&here, &noted, &f) == 0 &&
	    here.how) {
		known_complete(dir, &here, &f);
		if (known_wants_sum(&noted, path) && !known_is_changed(&noted, path))
			known_take_sum(here.how, path, here.sum);
		if (is_moved(&noted, &here) || strcmp(noted.sum, here.sum) != 0)
			known_replace(&here, &f);
	}
	close(held);
}

/* The caller has the lock: nobody else notes meanwhile that the state is trusted. */
static int taint_locked(int dir, const char *path, struct fault *f)
{
	struct known here, noted;

	if (!known_see(dir, path, &here) || find_noted(&here, &noted, f) < 0 ||
	    here.how != KNOWN_MADE)
		return f->code;
	here.how = KNOWN_TRACKED;
	return known_replace(&here, f);
}

int known_taint(int dir, const char *path, struct fault *f)
{
	enum known_how how = known_look(dir, path);
	int held, rc;

	if (how != KNOWN_MADE && how != KNOWN_EDITED)
		return 0;
	held = known_lock(LOCK_MS, f);
	if (held < 0)
		return f->code;
	rc = taint_locked(dir, path, f);
	close(held);
	return rc;
}

enum known_how known_look(int dir, const char *path)
{
	struct known here, noted;
	struct fault f = { 0 };

	if (!known_see(dir, path, &here) || find_noted(&here, &noted, &f) < 0)
		return KNOWN_NOT;
	if (here.how && known_is_changed(&noted, path))
		return here.how == KNOWN_MADE ? KNOWN_EDITED : KNOWN_CHANGED;
	if (here.how && (is_moved(&noted, &here) || known_wants_sum(&noted, path) ||
			 (here.how == KNOWN_MADE && !state_id_is_ours(dir))))
		note_change(dir, path); /* if it fails, the next look does it */
	return here.how;
}

/* The caller has the lock.  Notes that another process has made in the meantime stay, and
 * so does the id that other users and environments have noted.  An id that came with the
 * folder is never kept: its sender could send another state with the same id. */
static int add_locked(int dir, const char *path, enum known_how how, struct fault *f)
{
	struct known here, noted;
	bool keep = known_see(dir, path, &here), again;

	if (find_noted(&here, &noted, f) < 0)
		return f->code;
	if (here.how && known_complete(dir, &here, f) < 0)
		return f->code;
	again = here.how == how || here.how == KNOWN_TRUSTED;
	keep = keep && state_id_is_ours(dir) && tracked_look(path) == TRACKED_NOTHING;
	if (!again && !keep && state_id_make(dir, f) < 0)
		return f->code;
	/* The id must name the trusted database before the folder counts. */
	if (how == KNOWN_TRUSTED && state_id_adopt(dir, f) < 0)
		return f->code;
	if (!again && !known_see(dir, path, &here))
		return fault_set(f, FAULT_IO, "", "%.150s has no id", path);
	if (!again)
		today(here.day, 0);
	here.how = again ? here.how : how;
	if (!again || how == KNOWN_TRUSTED)
		known_take_sum(here.how, path, here.sum);
	return known_replace(&here, f);
}

int known_add(int dir, const char *path, enum known_how how, struct fault *f)
{
	int held, rc;

	if (known_prepare(f) < 0 || (held = known_lock(LOCK_MS, f)) < 0)
		return f->code;
	rc = add_locked(dir, path, how, f);
	close(held);
	return rc;
}

int known_remove(const char *path, struct fault *f)
{
	struct known left = { .how = KNOWN_NOT }, noted;
	struct text all = { 0 };
	const char *s;
	int held, found = 0;

	snprintf(left.path, sizeof(left.path), "%s", path);
	known_read_all(&all, f);
	for (s = !f->code && all.data ? all.data : ""; *s && !found;)
		found = known_take_line(&s, &noted) && !strcmp(noted.path, path);
	text_release(&all);
	if (!found)
		return f->code;
	held = known_lock(LOCK_MS, f);
	if (held < 0)
		return f->code;
	known_replace(&left, f);
	close(held);
	return f->code ? (int)f->code : 1;
}

int known_each(int (*each)(void *with, const struct known *k), void *with,
	       struct fault *f)
{
	struct text all = { 0 };
	struct known k;
	const char *s;
	int rc = known_read_all(&all, f);

	for (s = all.data ? all.data : ""; *s && !rc;)
		if (known_take_line(&s, &k))
			rc = each(with, &k);
	text_release(&all);
	return rc;
}
