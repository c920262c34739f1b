/* mirror_slice - shows the rows of one slice of the mirror's work. */
#include "core/base/clock.h"
#include "core/mirror/mirror_inside.h"
#include "ops.gen.h"

enum { SLICE_EVENTS = 20000 }; /* the maximum number of events in a slice */

/* The rows that the events of a slice changed. */
struct touched {
	struct ids tasks, agents, teams, changed, renamed, boards, mail, redacted;
	struct former { /* a former name of a team */
		int64_t team;
		const char *name;
	} * former; /* former names in the order of the log, in the call's arena */
	size_t n_former;
};

/* --- everything ----------------------------------------------------------------------- */

/* Reads the next ids after the cursor's row. */
static int mirror_slice_read_page(struct mirror *m, enum sql id, const void *in,
				  struct ids *out)
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
		     int (*act)(struct mirror_show *s, int64_t team))
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < ids->n; i++)
		rc = act(&m->show, ids->v[i]);
	return rc;
}

static int show_stage(struct mirror *m, enum mirror_stage stage, const struct ids *ids)
{
	switch (stage) {
	case STAGE_TEAMS:
		return each_team(m, ids, show_team);
	case STAGE_AGENTS:
		return show_agents(&m->show, ids);
	case STAGE_TASKS:
		return show_tasks(&m->show, ids);
	case STAGE_SUMMARIES:
		return each_team(m, ids, show_summary);
	case STAGE_SWEEP:
		return each_team(m, ids, show_sweep_team);
	case STAGE_FOLDERS:
		return show_sweep_folders(&m->show);
	case STAGE_MAIL:
	case STAGE_FOLLOW:
		break;
	}
	return 0;
}

static int page_ids(struct mirror *m, const struct mirror_cursor *at, struct ids *ids)
{
	switch (at->stage) {
	case STAGE_TEAMS:
	case STAGE_SUMMARIES:
	case STAGE_SWEEP:
		return mirror_slice_read_page(m, sql_mirror_team_ids,
					      &(const struct sql_mirror_team_ids_in){
						      .after = at->row,
						      .limit = m->batch / 16 + 1 },
					      ids);
	case STAGE_AGENTS:
		return mirror_slice_read_page(
			m, sql_mirror_agent_ids,
			&(const struct sql_mirror_agent_ids_in){ .after = at->row,
								 .limit = m->batch },
			ids);
	case STAGE_TASKS:
		return mirror_slice_read_page(
			m, sql_mirror_task_ids,
			&(const struct sql_mirror_task_ids_in){ .after = at->row,
								.limit = m->batch },
			ids);
	case STAGE_FOLDERS:
	case STAGE_MAIL:
	case STAGE_FOLLOW:
		break;
	}
	return 0;
}

/* Shows the next messages. Messages are read by their numbers, since there are far more
 * messages than other rows. */
static int pass_mail(struct mirror *m, struct mirror_cursor *at)
{
	int64_t row = at->row;
	int rc = 0;

	if (m->mail.on)
		rc = mail_pass(&m->mail, &m->show, &row, m->batch * 4);
	else
		row = 0;
	if (rc >= 0 && files_commit(&m->show.files, &m->show.call.fault) < 0)
		return m->show.call.fault.code;
	if (rc == 0 && row == 0)
		at->stage = STAGE_FOLLOW;
	if (rc >= 0)
		at->row = row;
	return rc < 0 ? rc : 0;
}

int slice_pass(struct mirror *m, struct mirror_cursor *at)
{
	struct ids ids = { 0 };
	int rc;

	if (at->stage == STAGE_MAIL)
		return pass_mail(m, at);
	if ((rc = page_ids(m, at, &ids)) < 0 ||
	    (rc = show_stage(m, at->stage, &ids)) < 0 ||
	    (rc = files_commit(&m->show.files, &m->show.call.fault)) < 0)
		goto out;
	if (ids.n > 0) {
		at->row = ids.v[ids.n - 1];
	} else {
		at->stage = at->stage + 1;
		at->row = 0;
	}
	m->show.sweep.n = 0; /* STAGE_SWEEP sweeps all folders */
out:
	ids_release(&ids);
	return rc;
}

/* Gives the folders of teams their present names, before any file is written into the folders. */
static int find_folders(struct mirror *m)
{
	int rc;

	m->show.ahead = false;
	rc = show_find_renamed(&m->show);
	m->show.ahead = true;
	return rc;
}

int slice_everything(struct mirror *m)
{
	int rc = 0;

	if (m->at.stage == STAGE_TEAMS && !m->at.row)
		rc = find_folders(m);
	if (rc >= 0)
		rc = slice_pass(m, &m->at);
	if (rc >= 0)
		rc = mirror_save(m, true);
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

/* Adds the cards of agents that may have claimed or lost a task, since a card says whether its
 * agent works. */
static void touch_holders(struct touched *t, const struct mirror_events_row *event)
{
	const int64_t agents[] = { event->actor, event->target };

	switch (event->kind) {
	case EVENT_TASK_CLAIMED:
	case EVENT_TASK_COMPLETED:
	case EVENT_TASK_FAILED:
	case EVENT_TASK_CANCELLED:
	case EVENT_TASK_RELEASED:
	case EVENT_TASK_LAPSED:
		for (size_t i = 0; i < sizeof(agents) / sizeof(*agents); i++)
			if (agents[i] > 0)
				ids_add(&t->agents, agents[i]);
		break;
	default:
		break;
	}
}

/* Adds the pages of a team's parent and child teams, since these pages name the team. If the
 * team was `renamed`, also adds the cards and tasks of the parent and child teams. */
static int touch_kin(struct call *call, struct touched *t, int64_t team, bool renamed)
{
	struct mirror_kin_row row;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, mirror_kin, &row, .team = team)) > 0) {
		ids_add(&t->teams, row.id);
		if (renamed)
			ids_add(&t->renamed, row.id);
	}
	query_end(&q);
	return rc;
}

/* Whether an event changes only the page of its own team. */
static bool mirror_slice_is_own(const struct mirror_events_row *event)
{
	return event->kind == EVENT_TEAM_LOW || event->kind == EVENT_TEAM_EXHAUSTED ||
	       event->kind == EVENT_TEAM_USAGE;
}

/* Adds the cards that can show a door. A card shows the door's address if the policies of the
 * team and of the teams above allow the door. */
static int touch_doors(struct call *call, struct touched *t, int64_t team)
{
	struct mirror_agents_of_row row;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, mirror_doors_below, &row, .team = team)) > 0)
		ids_add(&t->agents, row.id);
	return rc;
}

static int touch_team(struct call *call, struct touched *t,
		      const struct mirror_events_row *event)
{
	bool renamed = event->kind == EVENT_TEAM_UPDATED && event->detail &&
		       *event->detail;
	struct former *was;
	int rc;

	if (event->kind == EVENT_TEAM_STATE) /* the team's summary shows the new state */
		return 0;
	ids_add(&t->teams, event->team);
	if (event->kind == EVENT_TEAM_UPDATED &&
	    (rc = touch_doors(call, t, event->team)) < 0)
		return rc;
	if (!renamed)
		return mirror_slice_is_own(event)
			       ? 0
			       : touch_kin(call, t, event->team, false);
	ids_add(&t->renamed, event->team);
	was = arena_push(&call->arena, &t->former, &t->n_former, sizeof(*was));
	*was = (struct former){ event->team, event->detail };
	return touch_kin(call, t, event->team, true);
}

static int touch(struct call *call, struct touched *t,
		 const struct mirror_events_row *event)
{
	if (event->kind == EVENT_MESSAGE_SENT) {
		ids_add(&t->mail, event->subject);
		return 0;
	}
	if (event->kind == EVENT_MESSAGE_REDACTED) {
		ids_add(&t->redacted, event->subject);
		return 0;
	}
	ids_add(&t->boards, event->team);
	switch (events_of(event->kind)) {
	case EVENTS_TEAM:
		return touch_team(call, t, event);
	case EVENTS_AGENT:
		ids_add(&t->agents, event->subject);
		if (event->kind == EVENT_AGENT_UPDATED && event->detail && *event->detail)
			ids_add(&t->renamed, event->team);
		break;
	case EVENTS_WORKSPACE:
		return touch_workspace(call, t, event->subject);
	case EVENTS_TASK:
		ids_add(&t->tasks, event->subject);
		touch_holders(t, event);
		if (event->kind != EVENT_TASK_NOTED && event->kind != EVENT_TASK_TICKED)
			ids_add(&t->changed, event->subject);
		break;
	case EVENTS_MESSAGE:
	case EVENTS_ASSIGNMENT:
	case EVENTS_VAULT:
	case EVENTS_TOKEN:
	case EVENTS_TURN:
	case EVENTS_RESERVATION:
	case EVENTS_NONE:
		break;
	}
	return 0;
}

/* Adds the tasks that depend on a changed task, since the file of a task shows the states of
 * its dependencies. */
static int touch_dependents(struct call *call, struct touched *t)
{
	struct mirror_dependents_row row;
	struct query q = { 0 };
	int rc;

	ids_settle(&t->changed);
	if (t->changed.n == 0)
		return 0;
	while ((rc = sql_each(call, &q, mirror_dependents, &row,
			      .ids = ids_json(&t->changed, 0, t->changed.n,
					      &call->arena))) > 0)
		ids_add(&t->tasks, row.task);
	return rc;
}

/* After a rename of a team or agent, adds all tasks and cards of the team, since the tasks and
 * cards show the changed name. */
static int touch_renamed(struct call *call, struct touched *t)
{
	struct mirror_agents_of_row agent;
	struct mirror_tasks_of_row row;
	struct query q;
	int rc = 0;

	ids_settle(&t->renamed);
	for (size_t i = 0; rc >= 0 && i < t->renamed.n; i++) {
		sql_query(call, &q, mirror_tasks_of, .team = t->renamed.v[i]);
		while ((rc = sql_next(call, &q, &row)) > 0)
			ids_add(&t->tasks, row.id);
		if (rc < 0)
			break;
		sql_query(call, &q, mirror_agents_of, .team = t->renamed.v[i]);
		while ((rc = sql_next(call, &q, &agent)) > 0)
			ids_add(&t->agents, agent.id);
	}
	return rc;
}

/* Reads the events of the log after m->at. Sets *upto to the last event that was read. */
static int read_log(struct mirror *m, struct touched *t, int64_t *upto)
{
	struct call *call = &m->show.call;
	struct mirror_events_row event;
	struct query q = { 0 };
	int64_t n = 0;
	int rc;

	m->show.ahead = false; /* folders are moved after the last messages of ended teams
				  were shown */
	if ((rc = show_begin(&m->show, NULL)) < 0)
		return rc;
	*upto = m->show.rev;
	if (*upto > m->at.seq + SLICE_EVENTS)
		*upto = m->at.seq + SLICE_EVENTS;
	while ((rc = sql_each(call, &q, mirror_events, &event, .after = m->at.seq,
			      .upto = *upto, .mail = m->mail.on, .limit = m->batch + 1)) >
	       0) {
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
	else if ((rc = touch_dependents(call, t)) >= 0 &&
		 (rc = touch_renamed(call, t)) >= 0)
		rc = mail_follow(&m->mail, call, &t->mail);
	show_end(&m->show);
	for (size_t i = 0; i < t->redacted.n; i++)
		ids_add(&m->mail.redacted, t->redacted.v[i]);
	return rc;
}

/* Shows the messages of ended teams, before the folders of these teams are archived or purged. */
static int slice_last_mail(struct mirror *m)
{
	int rc;

	do {
		rc = mail_show(&m->mail, &m->show, true);
		if (rc >= 0 && files_commit(&m->show.files, &m->show.call.fault) < 0)
			rc = m->show.call.fault.code;
	} while (rc > 0);
	return rc;
}

/* Moves the folders of renamed teams. If an ended team had the new name, the ended team's last
 * messages are shown before the ended team's folder is moved away. */
static int move_folders(struct mirror *m, const struct touched *t, int64_t upto)
{
	int rc = 0;

	if (t->n_former > 0)
		rc = slice_last_mail(m);
	for (size_t i = 0; rc >= 0 && i < t->n_former; i++)
		rc = show_renamed(&m->show, t->former[i].team, t->former[i].name);
	if (m->show.moved < upto)
		m->show.moved = upto;
	m->show.ahead = true;
	return rc;
}

/* Shows the changed rows. */
static int show_touched(struct mirror *m, struct touched *t, int64_t upto)
{
	int rc;

	if ((rc = move_folders(m, t, upto)) < 0 ||
	    (rc = mail_redact(&m->mail, &m->show)) < 0)
		return rc;
	if (t->teams.n > 0 && (rc = slice_last_mail(m)) < 0)
		return rc;
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
	rc = each_team(m, &m->show.sweep, show_sweep_team);
	m->show.sweep.n = 0;
	return rc;
}

bool slice_owes(const struct mirror *m)
{
	return m->stale.n > 0 || m->mail.days.n > 0 || m->mail.redacted.n > 0;
}

static bool summaries_due(const struct mirror *m, bool at_end)
{
	if (!slice_owes(m))
		return false;
	return m->direct ? at_end : clock_steady_ms() - m->summaries_at >= SUMMARY_MS;
}

int slice_finish(struct mirror *m)
{
	int rc, more;

	ids_settle(&m->stale);
	if ((rc = each_team(m, &m->stale, show_summary)) < 0 ||
	    (rc = more = mail_show(&m->mail, &m->show, false)) < 0 ||
	    (rc = files_commit(&m->show.files, &m->show.call.fault)) < 0)
		return rc;
	m->stale.n = 0;
	if (more)
		return more;
	m->mail.days.n = 0;
	m->summaries_at = clock_steady_ms();
	return 0;
}

static void mark_stale(struct mirror *m, const struct touched *t)
{
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
	ids_release(&t->mail);
	ids_release(&t->redacted);
}

int slice_log(struct mirror *m, int64_t newest)
{
	struct files *fs = &m->show.files;
	struct touched t = { 0 };
	int64_t upto = m->at.seq;
	bool due, wrote;
	int rc = 0;

	if (!slice_owes(m))
		m->stale_after = m->at.seq;
	if ((newest > m->at.seq && (rc = read_log(m, &t, &upto)) < 0) ||
	    (rc = show_touched(m, &t, upto)) < 0)
		goto out;
	mark_stale(m, &t);
	due = summaries_due(m, upto >= newest);
	wrote = due || fs->n_staged > 0 || fs->made;
	rc = due ? slice_finish(m) : wrote ? files_commit(fs, &m->show.call.fault) : 0;
	if (rc < 0)
		goto out;
	m->at.seq = upto;
	if (mirror_save(m, wrote) < 0)
		rc = m->show.call.fault.code;
out:
	touched_release(&t);
	return rc < 0 ? rc : rc || upto < newest;
}
