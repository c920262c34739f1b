#include "core/host/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/host/mirror_cursor.h"
#include "core/host/mirror_show.h"
#include "ops.gen.h"

static const char lock_name[] = ".cadre-mirror";
static const char cursor_name[] = ".cadre-cursor";

enum {
	SUMMARY_MS = 250, /* between two writes of the same INDEX.md */
	SAVE_MS = 1000, /* between two cursors that only passed over mail */
	SAVE_EVENTS = 2000, /* or so many events, for a process that ends soon */
	RETRY_MS = 100, /* until the lock is asked for again */
	SLICE_EVENTS = 20000, /* mail included */
};

struct mirror {
	struct show show;
	int lock; /* descriptor */
	bool locked, known; /* holds the lock; `at` was read from the file */
	bool direct; /* of a process that ends soon: nothing is put off */
	int64_t batch; /* rows or relevant events in one slice */
	struct mirror_cursor at, saved; /* shown so far; in the file */
	struct ids stale; /* teams whose summary is behind ... */
	int64_t stale_after; /* ... what the log held up to this event */
	int64_t summaries_at, saved_at; /* monotonic ms of the last writes */
};

/* What a slice of the log touched. */
struct touched {
	struct ids tasks, agents, teams, changed, renamed, boards;
};

static int64_t clock_ms(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t mono_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

/* --- lock and cursor ----------------------------------------------------------------- */

int mirror_open(struct mirror **out, const struct home *home, struct fault *f)
{
	struct mirror *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		abort();
	m->lock = -1;
	if ((rc = files_open(&m->show.files, home->vault, f)) < 0)
		goto out;
	m->lock = openat(m->show.files.root, lock_name,
			 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
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

/* 1 when this process holds the mirror, 0 when another one does. */
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
	m->locked = false;
}

static int read_cursor(struct files *fs, struct mirror_cursor *c, struct fault *f)
{
	int rc = files_read(fs, ".", cursor_name, &fs->old, f);

	*c = (struct mirror_cursor){ 0 };
	if (rc > 0)
		cursor_parse(c, fs->old.data ? fs->old.data : "");
	return rc < 0 ? rc : 0;
}

/* What the file may say: nothing that a stale summary has yet to show. */
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
	return mono_ms() - m->saved_at >= SAVE_MS;
}

/* `worth`: files were written, so that reading on from the old place would
 * have them compared again. */
static int save_cursor(struct mirror *m, bool worth)
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
	m->saved_at = mono_ms();
	return 0;
}

/* Reads the cursor once per lock, and sees whether it fits the state. */
static int find_place(struct mirror *m, const struct mirror_head_row *head)
{
	int rc;

	if (!m->known) {
		rc = read_cursor(&m->show.files, &m->saved, &m->show.call.fault);
		if (rc < 0)
			return rc;
		m->at = m->saved;
		m->stale.n = 0;
		m->saved_at = mono_ms();
		m->known = true;
	}
	if (strcmp(m->at.incarnation, head->incarnation) == 0 &&
	    m->at.seq <= head->newest &&
	    (m->at.stage != STAGE_FOLLOW || m->at.seq + 1 >= head->oldest))
		return 0;
	m->stale.n = 0;
	m->at = (struct mirror_cursor){ .seq = head->newest, .stage = STAGE_TEAMS };
	strncpy(m->at.incarnation, head->incarnation, sizeof(m->at.incarnation) - 1);
	return 0;
}

/* --- everything ----------------------------------------------------------------------- */

/* A page of ids after the cursor's row. */
static int read_page(struct mirror *m, enum sql id, const void *in, struct ids *out)
{
	struct call *call = &m->show.call;
	struct mirror_team_ids_row row;
	struct query q;
	int rc = show_begin(&m->show, NULL);

	if (rc < 0)
		return rc;
	store_query(call->store, &q, id, in);
	while ((rc = store_next(&q, &row, sizeof(row), &call->arena, &call->fault)) > 0)
		ids_add(out, row.id);
	show_end(&m->show);
	return rc;
}

_Static_assert(sizeof(struct mirror_team_ids_row) == sizeof(int64_t), "an id only");
_Static_assert(sizeof(struct mirror_task_ids_row) == sizeof(int64_t), "an id only");
_Static_assert(sizeof(struct mirror_agent_ids_row) == sizeof(int64_t), "an id only");

static int each_team(struct mirror *m, const struct ids *ids,
		     int (*act)(struct show *s, int64_t team))
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < ids->n; i++)
		rc = act(&m->show, ids->v[i]);
	return rc;
}

static int show_stage(struct mirror *m, const struct ids *ids)
{
	switch (m->at.stage) {
	case STAGE_TEAMS:
		return each_team(m, ids, show_team);
	case STAGE_AGENTS:
		return show_agents(&m->show, ids);
	case STAGE_TASKS:
		return show_tasks(&m->show, ids);
	case STAGE_SUMMARIES:
		return each_team(m, ids, show_summary);
	case STAGE_SWEEP:
		return each_team(m, ids, sweep_team);
	case STAGE_FOLDERS:
		return sweep_folders(&m->show);
	case STAGE_FOLLOW:
		break;
	}
	return 0;
}

static int page_ids(struct mirror *m, struct ids *ids)
{
	switch (m->at.stage) {
	case STAGE_TEAMS:
	case STAGE_SUMMARIES:
	case STAGE_SWEEP:
		return read_page(m, sql_mirror_team_ids,
				 &(const struct sql_mirror_team_ids_in){
					 .after = m->at.row, .limit = m->batch / 16 + 1 },
				 ids);
	case STAGE_AGENTS:
		return read_page(m, sql_mirror_agent_ids,
				 &(const struct sql_mirror_agent_ids_in){
					 .after = m->at.row, .limit = m->batch },
				 ids);
	case STAGE_TASKS:
		return read_page(m, sql_mirror_task_ids,
				 &(const struct sql_mirror_task_ids_in){
					 .after = m->at.row, .limit = m->batch },
				 ids);
	case STAGE_FOLDERS:
	case STAGE_FOLLOW:
		break;
	}
	return 0;
}

/* One slice of showing everything; the cursor moves to where it ended. */
static int show_everything(struct mirror *m)
{
	struct call *call = &m->show.call;
	struct ids ids = { 0 };
	int rc;

	if ((rc = page_ids(m, &ids)) < 0 || (rc = show_stage(m, &ids)) < 0 ||
	    (rc = files_commit(&m->show.files, &call->fault)) < 0)
		goto out;
	if (ids.n > 0) {
		m->at.row = ids.v[ids.n - 1];
	} else {
		m->at.stage = m->at.stage == STAGE_FOLDERS ? STAGE_FOLLOW
							   : m->at.stage + 1;
		m->at.row = 0;
	}
	m->show.sweep.n = 0; /* a stage of its own sweeps all */
	rc = save_cursor(m, true);
out:
	ids_release(&ids);
	return rc < 0 ? rc : 1;
}

/* --- following ---------------------------------------------------------------------------- */

static int touch_workspace(struct call *call, struct touched *t, int64_t workspace)
{
	struct mirror_workspace_agent_row row;
	int rc = sql_row(call, mirror_workspace_agent, &row, .id = workspace);

	if (rc > 0)
		ids_add(&t->agents, row.agent);
	return rc;
}

static int touch(struct call *call, struct touched *t,
		 const struct mirror_events_row *event)
{
	ids_add(&t->boards, event->team);
	if (event->kind == EVENT_TEAM_STATE) {
		return 0; /* the summary says it */
	} else if (event->kind < 110) {
		ids_add(&t->teams, event->team);
	} else if (event->kind < 120) {
		ids_add(&t->agents, event->subject);
		if (event->kind == EVENT_AGENT_UPDATED && event->detail && *event->detail)
			ids_add(&t->renamed, event->team);
	} else if (event->kind < 200) {
		return touch_workspace(call, t, event->subject);
	} else {
		ids_add(&t->tasks, event->subject);
		if (event->kind != EVENT_TASK_NOTED && event->kind != EVENT_TASK_TICKED)
			ids_add(&t->changed, event->subject);
	}
	return 0;
}

/* Tasks that show the state of one that changed. */
static int touch_dependents(struct call *call, struct touched *t)
{
	struct mirror_dependents_row row;
	struct query q;
	int rc;

	ids_settle(&t->changed);
	if (t->changed.n == 0)
		return 0;
	sql_query(call, &q, mirror_dependents,
		  .ids = ids_json(&t->changed, 0, t->changed.n, &call->arena));
	while ((rc = sql_next(call, &q, &row)) > 0)
		ids_add(&t->tasks, row.task);
	return rc;
}

/* A name shows in the files of a whole board. */
static int touch_renamed(struct call *call, struct touched *t)
{
	struct mirror_tasks_of_row row;
	struct query q;
	int rc = 0;

	ids_settle(&t->renamed);
	for (size_t i = 0; rc >= 0 && i < t->renamed.n; i++) {
		sql_query(call, &q, mirror_tasks_of, .team = t->renamed.v[i]);
		while ((rc = sql_next(call, &q, &row)) > 0)
			ids_add(&t->tasks, row.id);
	}
	return rc;
}

/* Reads the log from `m->at` on; *upto is the last event it covers. */
static int read_log(struct mirror *m, struct touched *t, int64_t *upto)
{
	struct call *call = &m->show.call;
	struct mirror_events_row event;
	struct query q;
	int64_t n = 0;
	int rc;

	if ((rc = show_begin(&m->show, NULL)) < 0)
		return rc;
	*upto = m->show.rev;
	if (*upto > m->at.seq + SLICE_EVENTS)
		*upto = m->at.seq + SLICE_EVENTS;
	sql_query(call, &q, mirror_events, .after = m->at.seq, .upto = *upto);
	while ((rc = sql_next(call, &q, &event)) > 0) {
		if (++n > m->batch) {
			*upto = event.seq - 1;
			query_end(&q);
			break;
		}
		if ((rc = touch(call, t, &event)) < 0)
			break;
	}
	if (rc < 0)
		query_end(&q);
	else if ((rc = touch_dependents(call, t)) >= 0)
		rc = touch_renamed(call, t);
	show_end(&m->show);
	return rc;
}

static int show_touched(struct mirror *m, struct touched *t)
{
	int rc;

	ids_settle(&t->teams);
	ids_settle(&t->agents);
	ids_settle(&t->tasks);
	if ((rc = each_team(m, &t->teams, show_team)) < 0 ||
	    (rc = show_agents(&m->show, &t->agents)) < 0 ||
	    (rc = show_tasks(&m->show, &t->tasks)) < 0)
		return rc;
	for (size_t i = 0; i < t->renamed.n; i++)
		ids_add(&m->show.sweep, t->renamed.v[i]);
	ids_settle(&m->show.sweep);
	rc = each_team(m, &m->show.sweep, sweep_team);
	m->show.sweep.n = 0;
	return rc;
}

static bool summaries_due(const struct mirror *m, bool at_end)
{
	if (m->stale.n == 0)
		return false;
	return m->direct ? at_end : mono_ms() - m->summaries_at >= SUMMARY_MS;
}

/* Stages the summaries that are behind. */
static int show_summaries(struct mirror *m)
{
	int rc;

	ids_settle(&m->stale);
	if ((rc = each_team(m, &m->stale, show_summary)) < 0)
		return rc;
	m->summaries_at = mono_ms();
	return 0;
}

static void mark_stale(struct mirror *m, const struct touched *t)
{
	if (m->stale.n == 0)
		m->stale_after = m->at.seq;
	for (size_t i = 0; i < t->boards.n; i++)
		ids_add(&m->stale, t->boards.v[i]);
	ids_settle(&m->stale);
}

static void touched_release(struct touched *t)
{
	ids_release(&t->tasks);
	ids_release(&t->agents);
	ids_release(&t->teams);
	ids_release(&t->changed);
	ids_release(&t->renamed);
	ids_release(&t->boards);
}

/* One slice of the log: 1 if there is more of it, 0, negative. */
static int follow(struct mirror *m, int64_t newest)
{
	struct files *fs = &m->show.files;
	struct touched t = { 0 };
	int64_t upto = m->at.seq;
	bool due = false, wrote;
	int rc = 0;

	if (newest > m->at.seq &&
	    ((rc = read_log(m, &t, &upto)) < 0 || (rc = show_touched(m, &t)) < 0))
		goto out;
	mark_stale(m, &t);
	due = summaries_due(m, upto >= newest);
	if (due && (rc = show_summaries(m)) < 0)
		goto out;
	wrote = fs->n_staged > 0 || fs->made;
	if (wrote && (rc = files_commit(fs, &m->show.call.fault)) < 0)
		goto out;
	m->at.seq = upto;
	if (due)
		m->stale.n = 0;
	rc = save_cursor(m, wrote || due);
out:
	touched_release(&t);
	return rc < 0 ? rc : upto < newest;
}

/* --- steps ---------------------------------------------------------------------------------- */

static int one_slice(struct mirror *m)
{
	struct arena_mark mark = arena_mark(&m->show.call.arena);
	struct mirror_head_row head;
	int rc = show_begin(&m->show, &head);

	if (rc < 0)
		return rc;
	show_end(&m->show);
	if ((rc = find_place(m, &head)) >= 0)
		rc = m->at.stage == STAGE_FOLLOW ? follow(m, head.newest)
						 : show_everything(m);
	files_forget(&m->show.files);
	arena_reset(&m->show.call.arena, mark);
	return rc;
}

/* After a failure the file's cursor is what counts, and the stage is settled. */
static void start_over(struct mirror *m)
{
	m->known = false;
	m->stale.n = 0;
	m->show.sweep.n = 0;
	m->show.files.n_staged = 0;
	m->show.files.left = true;
	files_forget(&m->show.files);
}

/* A file costs about 100 µs and each slice two syncs of the file system, so a
 * slice goes over a small budget rather than sync for a few files; but a process
 * that somebody waits for does not. */
static int64_t batch_of(const struct mirror *m, int64_t budget_ms)
{
	int64_t n = budget_ms * (m->direct ? 8 : 40);

	return n < 64 ? 64 : n > 4096 ? 4096 : n;
}

int mirror_step(struct mirror *m, struct store *store, int64_t budget_ms, bool *more,
		struct fault *f)
{
	struct call *call = &m->show.call;
	int64_t end = mono_ms() + budget_ms;
	int rc;

	*more = false;
	call->store = store;
	call->now = clock_ms(CLOCK_REALTIME);
	call->fault = (struct fault){ 0 };
	m->batch = batch_of(m, budget_ms);
	if ((rc = take_lock(m)) == 0)
		return 0;
	if (rc > 0 && m->show.files.left)
		rc = files_settle(&m->show.files, &call->fault);
	if (rc >= 0) {
		do {
			rc = one_slice(m);
		} while (rc > 0 && mono_ms() < end);
	}
	*more = rc > 0;
	if (rc >= 0)
		return 0;
	start_over(m);
	*f = f->code ? *f : call->fault;
	return rc;
}

int64_t mirror_due(const struct mirror *m)
{
	struct mirror_cursor c = safe_cursor(m);
	int64_t now = mono_ms(), due = -1;

	if (!m->locked)
		return RETRY_MS;
	if (m->stale.n > 0)
		due = m->summaries_at + SUMMARY_MS - now;
	else if (m->known && !cursor_equal(&c, &m->saved))
		due = m->saved_at + SAVE_MS - now;
	else if (m->show.files.left)
		due = SAVE_MS;
	else
		return -1;
	return due < 0 ? 0 : due;
}

void mirror_close(struct mirror *m)
{
	if (!m)
		return;
	if (m->locked && m->known && !m->direct)
		save_cursor(m, true);
	drop_lock(m);
	if (m->lock >= 0)
		close(m->lock);
	ids_release(&m->stale);
	show_release(&m->show);
	free(m);
}

/* --- a process of its own ---------------------------------------------------------------------- */

/* What a budget that ran out has put off. */
static int finish_summaries(struct mirror *m)
{
	int rc;

	if (m->stale.n == 0)
		return 0;
	if ((rc = show_summaries(m)) < 0 ||
	    (rc = files_commit(&m->show.files, &m->show.call.fault)) < 0)
		return rc;
	m->stale.n = 0;
	return save_cursor(m, true);
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

int mirror_catch_up(const struct home *home, struct store *store, int64_t budget_ms,
		    struct fault *f)
{
	int64_t end = mono_ms() + budget_ms;
	struct mirror *m = NULL;
	bool more;
	int rc;

	if ((rc = mirror_open(&m, home, f)) < 0)
		return rc;
	m->direct = true;
	do {
		int64_t left = end - mono_ms();

		rc = mirror_step(m, store, left > 0 ? left : 0, &more, f);
		if (rc < 0 || !m->locked)
			break;
		if ((rc = finish_summaries(m)) < 0) {
			*f = f->code ? *f : m->show.call.fault;
			break;
		}
		drop_lock(m);
		/* Who committed while the lock was held has gone away. */
		rc = is_behind(m);
	} while (rc > 0 && mono_ms() < end);
	mirror_close(m);
	return rc < 0 ? rc : 0;
}

/* --- for doctor and cleaning ---------------------------------------------------------------------- */

int mirror_lag(const struct home *home, struct store *store, int64_t *events,
	       struct fault *f)
{
	struct show s = { .call.store = store };
	struct mirror_head_row head;
	struct mirror_lag_row row;
	struct mirror_cursor c;
	int rc;

	*events = -1;
	if ((rc = files_open(&s.files, home->vault, f)) < 0)
		return rc;
	if ((rc = read_cursor(&s.files, &c, &s.call.fault)) < 0 ||
	    (rc = show_begin(&s, &head)) < 0)
		goto out;
	if (c.stage == STAGE_FOLLOW && strcmp(c.incarnation, head.incarnation) == 0 &&
	    c.seq + 1 >= head.oldest) {
		rc = sql_row(&s.call, mirror_lag, &row, .after = c.seq);
		*events = rc > 0 ? row.n : -1;
	}
	show_end(&s);
out:
	if (rc < 0)
		*f = f->code ? *f : s.call.fault;
	show_release(&s);
	return rc < 0 ? rc : 0;
}

int64_t mirror_cursor(const struct home *home, const char *incarnation)
{
	struct mirror_cursor c = { 0 };
	struct fault f = { 0 };
	struct files fs;

	if (files_open(&fs, home->vault, &f) < 0)
		return 0;
	read_cursor(&fs, &c, &f);
	files_close(&fs);
	return strcmp(c.incarnation, incarnation) == 0 ? c.seq : 0;
}
