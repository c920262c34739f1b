#include "core/mirror/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/mirror/mirror_file.h"
#include "core/mirror/mirror_inside.h"

/* Reads the first line of a cursor's file. Returns false if the line is not a cursor. */
static bool cursor_parse(struct mirror_cursor *c, const char *text)
{
	struct mirror_cursor read = { .stage = STAGE_FOLLOW };
	char line[128];
	int stage = 0, n;

	/* Behind a short line, the file may still hold the end of an older, longer line. */
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	n = sscanf(line, "%39[0-9a-f].%" SCNd64 " %d %" SCNd64, read.incarnation,
		   &read.seq, &stage, &read.row);
	if (n != 2 && n != 4)
		return false;
	if (stage < STAGE_FOLLOW || stage > LAST_STAGE || read.seq < 0 || read.row < 0)
		return false;
	read.stage = (enum mirror_stage)stage;
	*c = read;
	return true;
}

static void cursor_format(const struct mirror_cursor *c, char out[128])
{
	if (c->stage == STAGE_FOLLOW)
		snprintf(out, 128, "%s.%" PRId64 "\n", c->incarnation, c->seq);
	else
		snprintf(out, 128, "%s.%" PRId64 " %d %" PRId64 "\n", c->incarnation,
			 c->seq, (int)c->stage, c->row);
}

/* Whether two cursors name the same place of the same incarnation. */
static bool cursor_equal(const struct mirror_cursor *a, const struct mirror_cursor *b)
{
	return strcmp(a->incarnation, b->incarnation) == 0 && a->seq == b->seq &&
	       a->stage == b->stage && a->row == b->row;
}

/* Checks that all files of the mirror exist, and writes lost files again. */

enum {
	CHECK_ROWS = 256, /* rows in a slice of the check, about 25 ms of work */
	CHECK_REST_MS = 100, /* time between two slices of the check */
	CHECK_EVERY_MS =
		600000, /* time between two checks, if some folders cannot be watched */
	LOST_MS = 500, /* time for an editor to put a lost file back */
};

/* Starts the check of files at the beginning of `stage`, without a wait. */
static void check_from(struct mirror *m, enum mirror_stage stage)
{
	m->check = (struct mirror_cursor){ .stage = stage };
	m->check_at = 0;
}

int mirror_watch(struct mirror *m)
{
	if (m->watching)
		return m->losses.fd;
	losses_open(&m->losses, m->show.files.root);
	m->watching = true;
	m->show.files.losses = &m->losses;
	check_from(m, STAGE_TEAMS);
	return m->losses.fd;
}

/* Whether files were lost at least LOST_MS ago. Within LOST_MS after a loss, an editor may put
 * the files back. */
static bool settled(struct mirror *m, int64_t now)
{
	losses_read(&m->losses);
	if (!losses_any(&m->losses))
		return false;
	if (m->lost_at == 0)
		m->lost_at = now;
	return now - m->lost_at >= LOST_MS;
}

static int mirror_check_bring_back(struct mirror *m)
{
	struct losses *l = &m->losses;
	struct call *call = &m->show.call;
	bool more = false;
	int rc = 0;

	if (l->gone)
		return fault_set(&call->fault, FAULT_UNAVAILABLE, "",
				 "the vault was removed: the host makes it again");
	if (l->all)
		check_from(m, STAGE_TEAMS);
	else if (m->check.stage == STAGE_FOLLOW || m->check.stage == STAGE_MAIL)
		check_from(m, STAGE_MAIL); /* the lost file may have been a day's log
					      of messages */
	for (int i = 0; rc >= 0 && i < l->n_teams; i++) {
		rc = show_complete_team(&m->show, l->teams[i], (size_t)m->batch);
		more |= rc > 0;
	}
	if (rc >= 0)
		rc = files_commit(&m->show.files, &call->fault);
	if (rc < 0)
		return rc;
	if (!more)
		losses_forget(l);
	l->all = false;
	m->lost_at = more ? 1 : 0;
	return 0;
}

static int check_slice(struct mirror *m, int64_t now)
{
	int64_t batch = m->batch;
	int rc;

	m->batch = CHECK_ROWS;
	rc = slice_pass(m, &m->check);
	m->batch = batch;
	m->check_at =
		now + (m->check.stage != STAGE_FOLLOW ? CHECK_REST_MS : CHECK_EVERY_MS);
	return rc;
}

/* Checks some files if the check is due, and restores removed files. Does not change files that
 * a person edited. Returns a negative fault code on failure. */
static int check_some(struct mirror *m)
{
	struct arena_mark mark = arena_mark(&m->show.call.arena);
	struct files *fs = &m->show.files;
	int64_t now = clock_steady_ms();
	int rc = 0;

	if (!m->watching || m->at.stage != STAGE_FOLLOW)
		return 0;
	fs->spare = SPARE_ALL;
	if (settled(m, now))
		rc = mirror_check_bring_back(m);
	if (rc >= 0 && m->check.stage == STAGE_FOLLOW && m->losses.partial &&
	    now >= m->check_at)
		check_from(m, STAGE_TEAMS);
	if (rc >= 0 && m->check.stage != STAGE_FOLLOW && now >= m->check_at)
		rc = check_slice(m, now);
	fs->spare = SPARE_NOTHING;
	files_forget(fs);
	arena_reset(&m->show.call.arena, mark);
	return rc;
}

/* Milliseconds until check_some() has work, or -1 if check_some() has no work before a file is
 * removed. */
static int64_t check_due(const struct mirror *m)
{
	bool checks = m->check.stage != STAGE_FOLLOW || m->losses.partial;
	int64_t now = clock_steady_ms(), at = INT64_MAX;

	if (!m->watching || (!checks && m->lost_at == 0))
		return -1;
	if (checks)
		at = m->check_at;
	if (m->lost_at != 0 && m->lost_at + LOST_MS < at)
		at = m->lost_at + LOST_MS;
	return at < now ? 0 : at - now;
}

static const char lock_name[] = ".cadre-mirror";
static const char cursor_name[] = ".cadre-cursor";

enum {
	SAVE_MS = 1000, /* time between two writes of the cursor, if only mail was read */
	SAVE_EVENTS = 2000, /* a process that ends soon saves the cursor after this number
			       of mail events */
	RETRY_MS = 100, /* time until the next try to take the lock */
};

/* --- lock and cursor ----------------------------------------------------------------- */

int mirror_open(struct mirror **out, const struct home *home, struct fault *f)
{
	struct mirror *m = xcalloc(1, sizeof(*m));
	int rc;

	m->lock = -1;
	m->show.call.settings = &home->settings;
	m->mail.on = home->settings.config.vault_messages;
	if ((rc = files_open(&m->show.files, home->vault, f)) < 0)
		goto out;
	m->lock = openat(m->show.files.root, lock_name,
			 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (m->lock < 0) {
		rc = fault_set(f, FAULT_IO, "", "cannot open %s/%s: %s", home->vault,
			       lock_name, strerror(errno));
		goto out;
	}
	*out = m;
	m = NULL;
	rc = 0;
out:
	mirror_close(m);
	return rc;
}

void mirror_keep(struct mirror *m, const char *folder)
{
	m->show.files.attic = folder;
}

/* Takes the lock. Returns 1 if this process holds the lock, 0 if another process holds the
 * lock, or a fault code. */
static int take_lock(struct mirror *m)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (m->locked)
		return 1;
	if (fcntl(m->lock, F_OFD_SETLK, &whole) < 0) {
		if (errno == EAGAIN || errno == EACCES)
			return 0;
		return fault_set(&m->show.call.fault, FAULT_IO, "",
				 "cannot lock the mirror: %s", strerror(errno));
	}
	m->locked = true;
	m->known = false;
	return files_settle(&m->show.files, &m->show.call.fault) < 0
		       ? m->show.call.fault.code
		       : 1;
}

static void drop_lock(struct mirror *m)
{
	struct flock whole = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	if (m->locked)
		fcntl(m->lock, F_OFD_SETLK, &whole);
	m->locked = m->show.ahead = false;
}

/* Reads the place from the cursor's file. If there is no file, all members of `c` are 0.
 * Returns 0 or a negative fault code. */
static int mirror_read_cursor(struct files *fs, struct mirror_cursor *c, struct fault *f)
{
	int rc = files_read(fs, ".", cursor_name, &fs->old, f);

	*c = (struct mirror_cursor){ 0 };
	if (rc > 0)
		cursor_parse(c, fs->old.data ? fs->old.data : "");
	return rc < 0 ? rc : 0;
}

/* Returns the cursor that may be saved. The saved cursor must not pass an event that INDEX.md,
 * TEAM.md or a page of messages does not show yet. */
static struct mirror_cursor safe_cursor(const struct mirror *m)
{
	struct mirror_cursor c = m->at;

	if (slice_owes(m))
		c.seq = m->stale_after;
	return c;
}

static bool save_is_due(const struct mirror *m, const struct mirror_cursor *c)
{
	if (m->direct)
		return c->seq - m->saved.seq >= SAVE_EVENTS;
	return clock_steady_ms() - m->saved_at >= SAVE_MS;
}

int mirror_save(struct mirror *m, bool worth)
{
	struct mirror_cursor c = safe_cursor(m);
	char line[128];
	int rc;

	if (!m->known || cursor_equal(&c, &m->saved) || (!worth && !save_is_due(m, &c)))
		return 0;
	cursor_format(&c, line);
	rc = files_note(&m->show.files, cursor_name, line, &m->show.call.fault);
	if (rc < 0)
		return rc;
	m->saved = c;
	m->saved_at = clock_steady_ms();
	return 0;
}

/* Reads the cursor if it was not read since the lock was taken. If the cursor does not fit the
 * state, makes the mirror show everything anew. */
static int mirror_find_place(struct mirror *m, const struct mirror_head_row *head)
{
	int rc;

	if (!m->known) {
		rc = mirror_read_cursor(&m->show.files, &m->saved, &m->show.call.fault);
		if (rc < 0)
			return rc;
		m->at = m->saved;
		m->show.moved = m->at.seq;
		m->stale.n = 0;
		mail_forget(&m->mail);
		m->saved_at = clock_steady_ms();
		m->known = true;
	}
	if (strcmp(m->at.incarnation, head->incarnation) == 0 &&
	    m->at.seq <= head->newest &&
	    (m->at.stage != STAGE_FOLLOW || m->at.seq + 1 >= head->oldest))
		return 0;
	m->stale.n = 0;
	m->check.stage = STAGE_FOLLOW;
	mail_forget(&m->mail);
	m->at = (struct mirror_cursor){ .seq = head->newest, .stage = STAGE_TEAMS };
	m->show.moved = head->newest;
	strncpy(m->at.incarnation, head->incarnation, sizeof(m->at.incarnation) - 1);
	return 0;
}

/* --- steps ---------------------------------------------------------------------------------- */

static int one_slice(struct mirror *m)
{
	struct arena_mark mark = arena_mark(&m->show.call.arena);
	struct mirror_head_row head;
	int rc;

	m->show.ahead = false;
	if ((rc = show_begin(&m->show, &head)) < 0)
		return rc;
	show_end(&m->show);
	m->show.ahead = (rc = mirror_find_place(m, &head)) >= 0;
	if (rc >= 0)
		rc = m->at.stage == STAGE_FOLLOW ? slice_log(m, head.newest)
						 : slice_everything(m);
	files_forget(&m->show.files);
	arena_reset(&m->show.call.arena, mark);
	return rc;
}

/* After a failure, makes the next step read the cursor from its file again. The next step also
 * removes or keeps each staged file. */
static void start_over(struct mirror *m)
{
	m->known = m->show.ahead = false;
	m->stale.n = 0;
	mail_forget(&m->mail);
	m->show.sweep.n = 0;
	m->show.files.n_staged = 0;
	m->show.files.left = true;
	files_forget(&m->show.files);
}

/* Returns the maximum number of rows in a slice. A file costs about 100 µs, and each slice
 * costs two syncs of the file system. The maximum is at least 64 rows, because the two syncs
 * cost the same for a smaller slice. So a slice may take longer than a small budget. Slices are
 * smaller if a caller waits for the process (`direct`). */
static int64_t batch_of(const struct mirror *m, int64_t budget_ms)
{
	int64_t n = budget_ms * (m->direct ? 8 : 40);

	return n < 64 ? 64 : n > 4096 ? 4096 : n;
}

int mirror_step(struct mirror *m, struct store *store, int64_t budget_ms, bool *more,
		struct fault *f)
{
	struct call *call = &m->show.call;
	int64_t end = clock_steady_ms() + budget_ms;
	int rc;

	*more = false;
	call->store = store;
	call->now = clock_wall_ms();
	call->fault = (struct fault){ 0 };
	m->batch = batch_of(m, budget_ms);
	if ((rc = take_lock(m)) == 0)
		return 0;
	if (rc > 0 && m->show.files.left)
		rc = files_settle(&m->show.files, &call->fault);
	if (rc >= 0) {
		do {
			rc = one_slice(m);
		} while (rc > 0 && clock_steady_ms() < end);
	}
	*more = rc > 0;
	if (rc == 0 && (rc = mirror_show_again(m)) == 0)
		rc = check_some(m);
	if (rc >= 0)
		return 0;
	start_over(m);
	*f = f->code ? *f : call->fault;
	return rc;
}

int64_t mirror_due(const struct mirror *m)
{
	struct mirror_cursor c = safe_cursor(m);
	int64_t now = clock_steady_ms(), due = check_due(m), at;

	if (!m->locked)
		return RETRY_MS;
	if (m->judged)
		return 0;
	if (slice_owes(m))
		at = m->summaries_at + SUMMARY_MS;
	else if (m->known && !cursor_equal(&c, &m->saved))
		at = m->saved_at + SAVE_MS;
	else if (m->show.files.left)
		at = now + SAVE_MS;
	else
		return due;
	if (due >= 0 && due < at - now)
		return due;
	return at < now ? 0 : at - now;
}

void mirror_close(struct mirror *m)
{
	if (!m)
		return;
	if (m->locked && m->known && !m->direct)
		mirror_save(m, true);
	drop_lock(m);
	if (m->lock >= 0)
		close(m->lock);
	if (m->watching)
		losses_close(&m->losses);
	ids_release(&m->stale);
	mirror_forget_edits(m);
	mail_release(&m->mail);
	show_release(&m->show);
	free(m);
}

/* --- a process of its own ---------------------------------------------------------------------- */

/* Writes the summaries and messages for which the budget of earlier steps was too short.
 * Returns 0 or a negative fault code. */
static int mirror_finish_summaries(struct mirror *m)
{
	int rc;

	if (!slice_owes(m))
		return 0;
	rc = slice_finish(m);
	return rc < 0 ? rc : mirror_save(m, true);
}

static int is_behind(struct mirror *m)
{
	struct arena_mark mark = arena_mark(&m->show.call.arena);
	struct mirror_head_row head;
	int rc = show_begin(&m->show, &head);

	if (rc < 0)
		return rc;
	show_end(&m->show);
	arena_reset(&m->show.call.arena, mark);
	return head.newest > m->at.seq;
}

int mirror_catch_up_telling(const struct home *home, struct store *store,
			    int64_t budget_ms, struct mirror_aside *aside,
			    struct fault *f)
{
	int64_t end = clock_steady_ms() + budget_ms;
	struct mirror *m = NULL;
	bool more;
	int rc;

	if ((rc = mirror_open(&m, home, f)) < 0)
		return rc;
	m->direct = true;
	m->show.aside = aside;
	do {
		int64_t left = end - clock_steady_ms();

		rc = mirror_step(m, store, left > 0 ? left : 0, &more, f);
		if (rc < 0 || !m->locked)
			break;
		if ((rc = mirror_finish_summaries(m)) < 0) {
			*f = f->code ? *f : m->show.call.fault;
			break;
		}
		drop_lock(m);
		/* A process that finds the lock taken leaves its events to the lock's holder.
		 * The holder therefore looks for new events once more after it has dropped the
		 * lock. */
		rc = is_behind(m);
	} while (rc > 0 && clock_steady_ms() < end);
	if (aside)
		aside->conflicts = m->show.files.kept;
	mirror_close(m);
	return rc < 0 ? rc : 0;
}

int mirror_catch_up(const struct home *home, struct store *store, int64_t budget_ms,
		    struct fault *f)
{
	return mirror_catch_up_telling(home, store, budget_ms, NULL, f);
}

/* --- for doctor and cleaning ---------------------------------------------------------------------- */

/* Counts the events after the place in the cursor's file. Returns 1 if the events were counted,
 * 0 if there is no cursor or everything is to be shown anew, or a negative fault code. */
static int mirror_read_lag(const struct home *home, struct store *store,
			   struct mirror_lag_row *lag, struct fault *f)
{
	struct mirror_show s = { .call.store = store };
	struct mirror_head_row head;
	struct mirror_cursor c;
	int rc;

	if ((rc = files_open(&s.files, home->vault, f)) < 0)
		return rc;
	if ((rc = mirror_read_cursor(&s.files, &c, &s.call.fault)) < 0 ||
	    (rc = show_begin(&s, &head)) < 0)
		goto out;
	if (c.stage == STAGE_FOLLOW && strcmp(c.incarnation, head.incarnation) == 0 &&
	    c.seq + 1 >= head.oldest)
		rc = sql_row(&s.call, mirror_lag, lag, .after = c.seq,
			     .mail = home->settings.config.vault_messages);
	show_end(&s);
out:
	if (rc < 0)
		*f = f->code ? *f : s.call.fault;
	show_release(&s);
	return rc;
}

int mirror_lag(const struct home *home, struct store *store, int64_t *events,
	       struct fault *f)
{
	struct mirror_lag_row lag;
	int rc = mirror_read_lag(home, store, &lag, f);

	*events = rc > 0 ? lag.n : -1;
	return rc < 0 ? rc : 0;
}

int64_t mirror_cursor(const struct home *home, const char *incarnation)
{
	struct mirror_cursor c = { 0 };
	struct fault f = { 0 };
	struct files fs;

	if (files_open(&fs, home->vault, &f) < 0)
		return 0;
	mirror_read_cursor(&fs, &c, &f);
	files_close(&fs);
	return strcmp(c.incarnation, incarnation) == 0 ? c.seq : 0;
}

/* Finds the team to which a folder belongs, and makes the mirror move the folder to the team's
 * place. */

enum {
	SETTLE_MS = 10000,
	STEP_MS = 50,
	LOOK_MS = 5, /* time between two checks of another process's work */
	HEAD = 1024, /* number of bytes that are read from TEAM.md to find the team's
			row */
};

/* --- the team of a folder ---------------------------------------------------------- */

static int64_t folder_row(const void *self, const char *name, struct fault *f)
{
	const struct home *home = self;
	int root = open(home->vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	char path[FILES_PATH], head[HEAD];
	ssize_t n = 0;

	(void)f; /* An unreadable page is no fault here, since the mirror writes the page anew. */
	snprintf(path, sizeof(path), "teams/%.64s/TEAM.md", name);
	if (root >= 0) {
		fd = files_open_below(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
		close(root);
	}
	if (fd >= 0) {
		n = read(fd, head, sizeof(head));
		close(fd);
	}
	return n > 0 ? page_number(head, (size_t)n, "row: ") : 0;
}

/* --- bringing a folder up to date -------------------------------------------------- */

struct wish {
	const struct home *home;
	struct store *store;
	const char *name;
	int64_t team; /* 0 if the folder has no team */
};

/* Returns 1 if the mirror has read all events that change teams' folders, 0 if such events are
 * left, or a negative fault code. */
static int is_followed(const void *self, struct store *store, struct fault *f)
{
	struct mirror_lag_row lag;
	int rc = mirror_read_lag(self, store, &lag, f);

	return rc > 0 ? lag.folders == 0 : rc;
}

/* Returns 1 if the mirroring process seems to have done its work on the folder, 0 if the work
 * is not done, or a negative fault code. */
static int mirror_own_is_done(const struct wish *w, struct fault *f)
{
	if (folder_row(w->home, w->name, f) == w->team)
		return 1;
	return is_followed(w->home, w->store, f);
}

/* Finishes the mirror's work in this process, including the summaries. Writes the team's page
 * anew if a person removed or edited the page. */
static int own_finish(const struct wish *w, struct mirror *m)
{
	int rc = w->team ? show_team(&m->show, w->team) : 0;

	if (rc >= 0)
		rc = files_commit(&m->show.files, &m->show.call.fault);
	files_forget(&m->show.files);
	return rc < 0 ? rc : mirror_finish_summaries(m);
}

/* Takes a step of the mirror, or checks whether another process that mirrors has done the work.
 * Returns 1 if the work is done, 0 if the work is not done, or a negative fault code. */
static int try_settle(const struct wish *w, struct mirror *m, struct fault *f)
{
	bool more = false;
	int rc = mirror_step(m, w->store, STEP_MS, &more, f);

	if (rc < 0)
		return rc;
	if (!m->locked)
		return mirror_own_is_done(w, f);
	if (more)
		return 0;
	if ((rc = own_finish(w, m)) < 0)
		*f = m->show.call.fault;
	return rc < 0 ? rc : 1;
}

static int own_settle(const void *self, struct store *store, const char *name,
		      int64_t team, struct fault *f)
{
	struct wish w = { .home = self, .store = store, .name = name, .team = team };
	const int64_t end = clock_steady_ms() + SETTLE_MS;
	struct mirror *m = NULL;
	int rc;

	if ((rc = mirror_open(&m, w.home, f)) < 0)
		return rc;
	m->direct = true;
	while (rc >= 0 && (rc = try_settle(&w, m, f)) == 0) {
		if (clock_steady_ms() >= end) {
			rc = fault_set(f, FAULT_UNAVAILABLE, "/path",
				       "the folder teams/%.64s is not up to date yet",
				       name);
			f->retry_after_ms = 1000;
		} else if (!m->locked)
			poll(NULL, 0, LOOK_MS);
	}
	mirror_close(m);
	return rc < 0 ? rc : 0;
}

void mirror_attend(struct home *home)
{
	home->folders = (struct team_folders){
		.self = home,
		.row = folder_row,
		.settle = own_settle,
		.followed = is_followed,
	};
	home->settings.folders = &home->folders;
}
