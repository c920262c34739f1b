#include "core/mirror/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/mirror/mirror_inside.h"

static const char lock_name[] = ".cadre-mirror";
static const char cursor_name[] = ".cadre-cursor";

enum {
	SAVE_MS = 1000, /* between two cursors that only passed over mail */
	SAVE_EVENTS = 2000, /* number of such events after which it is saved too, for a
			       process that ends soon */
	RETRY_MS = 100, /* until the lock is asked for again */
};

/* --- lock and cursor ----------------------------------------------------------------- */

int mirror_open(struct mirror **out, const struct home *home, struct fault *f)
{
	struct mirror *m = xcalloc(1, sizeof(*m));
	int rc;

	m->lock = -1;
	m->show.call.settings = &home->settings;
	m->mail.on = home->settings.config.vault_messages;
	if ((rc = files_open_mending(&m->show.files, home->vault, f)) < 0)
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

/* Takes the lock: 1 when this process holds the mirror, 0 when another process does. */
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

int mirror_read_cursor(struct files *fs, struct mirror_cursor *c, struct fault *f)
{
	int rc = files_read(fs, ".", cursor_name, &fs->old, f);

	*c = (struct mirror_cursor){ 0 };
	if (rc > 0)
		cursor_parse(c, fs->old.data ? fs->old.data : "");
	return rc < 0 ? rc : 0;
}

/* The cursor that may be saved: not past an event that INDEX.md or TEAM.md does not show
 * yet. */
static struct mirror_cursor safe_cursor(const struct mirror *m)
{
	struct mirror_cursor c = m->at;

	if (m->stale.n > 0)
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

/* Reads the cursor once after the lock was taken, and checks that it fits the state. */
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

/* After a failure, reads the cursor from its file again and settles the stage. */
static void start_over(struct mirror *m)
{
	m->known = m->show.ahead = false;
	m->stale.n = 0;
	m->show.sweep.n = 0;
	m->show.files.n_staged = 0;
	m->show.files.left = true;
	files_forget(&m->show.files);
}

/* The rows of a slice.  A file costs about 100 µs and each slice two syncs of the file
 * system, so a slice exceeds a small budget rather than sync for a few files; a process
 * that a caller waits for does not. */
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
	if (m->stale.n > 0)
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

int mirror_finish_summaries(struct mirror *m)
{
	int rc;

	if (m->stale.n == 0)
		return 0;
	if ((rc = slice_summaries(m)) < 0 ||
	    (rc = files_commit(&m->show.files, &m->show.call.fault)) < 0)
		return rc;
	m->stale.n = 0;
	return mirror_save(m, true);
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
		/* Events that others committed while we held the lock are ours to show:
		 * the others found it taken, and left them to us. */
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

int mirror_read_lag(const struct home *home, struct store *store,
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
