/*
 * wait - reads that wait until a task, a result, a team, an agent or a workspace has the state
 * that the caller wants, and one read that waits for anything that concerns the caller.
 *
 * A read that waits looks at rows. The read is answered when the rows have the wanted state, or
 * can no longer get the wanted state. While the read waits, any event of the team runs the read
 * again, because every change of the rows writes an event. If only a host can change the rows
 * and no host runs, the read is answered at once. The answer then says that no host runs.
 */
#include <inttypes.h>
#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/assignment/assignment.h"
#include "core/call/id.h"
#include "core/call/space.h"
#include "core/message/inbox.h"
#include "core/task/task.h"
#include "core/workspace/workspace.h"

#define BIT(state) (1u << (state))

/* Returns the states for which the caller waits, as bits, or `otherwise` if the call gives no
 * state. */
static unsigned wait_wanted(const int64_t *until, size_t n, unsigned otherwise)
{
	unsigned bits = 0;

	for (size_t i = 0; i < n; i++)
		bits |= BIT(until[i]);
	return bits ? bits : otherwise;
}

/* Whether rows cannot change because no host of this state runs. `here` says that the rows wait
 * for a host on this machine. This process cannot know whether a host runs on another machine. */
static bool wait_is_hostless(const struct call *call, int64_t here)
{
	return here && !call_finds_host(call);
}

/* Lets the call wait for an event of its team. If `at_once` is true or `seconds` is 0, the call
 * is answered now. */
static int wait_go_on(struct call *call, int64_t seconds, bool at_once)
{
	if (at_once || seconds == 0)
		return 0;
	call->wait_on = WAKE_EVENT;
	call->wait_key = call->caller.team;
	return 0;
}

/* Finds the task. Later runs of the call find the task by its row. Returns 0 or a fault. */
static int find_task(struct call *call, const struct task_wait_in *in, struct task_row *t)
{
	int rc;

	if (call->made) {
		rc = sql_row(call, task_by_id, t, .id = call->made, .now = call->now);
		return rc < 0 ? rc : who_enter_again(call, t->team);
	}
	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = task_find(call, in->task, t)) < 0)
		return rc;
	call->made = t->id;
	return 0;
}

/* Finds the reason why the task cannot be completed. Returns 1 if the task cannot be completed,
 * 0 if nothing prevents its completion, or a negative fault code. */
static int tell_hindrance(struct call *call, const struct task_row *t, const char **why)
{
	struct task_hindrance_row h;
	int rc = sql_row(call, task_hindrance, &h, .task = t->id);

	if (rc <= 0)
		return rc;
	*why = h.why && *h.why ? h.why : NULL;
	if (h.id != t->id)
		*why = arena_printf(
			&call->arena, "task %s must be completed first, but %s%s%s",
			task_name(call, h.number),
			h.state == TASK_STATE_FAILED ? "failed" : "was called off",
			*why ? ": " : "", *why ? *why : "");
	return 1;
}

/* Tells what the task's owner does, unless the owner is the caller. */
static int tell_owner(struct call *call, const struct task_row *t, const char **why)
{
	struct agent_name_row owner = { 0 };
	const char *doing = "";
	int rc;

	if (!t->owner || t->owner == call->caller.agent)
		return 0;
	if ((rc = sql_row(call, agent_name, &owner, .id = t->owner)) <= 0)
		return rc;
	rc = agent_tell_doing(call, owner.name, &doing);
	*why = *doing ? doing : NULL;
	return rc;
}

int task_wait(struct call *call, const struct task_wait_in *in, struct task_wait_out *out)
{
	const unsigned ends = BIT(TASK_STATE_COMPLETED) | BIT(TASK_STATE_FAILED) |
			      BIT(TASK_STATE_CANCELLED);
	const unsigned want =
		wait_wanted(in->until, in->n_until, BIT(TASK_STATE_COMPLETED));
	struct task_row t = { 0 };
	int rc;

	if ((rc = find_task(call, in, &t)) < 0 ||
	    (rc = tell_hindrance(call, &t, &out->why)) < 0)
		return rc;
	out->team = call->caller.team_name;
	out->task = task_name(call, t.number);
	out->status = t.state_now;
	out->ready = t.state_now == TASK_STATE_PENDING && !t.open_deps;
	out->reached = BIT(t.state_now) & want;
	/* A task that waits for a failed task can still be called off. */
	out->over = !out->reached && ((BIT(t.state_now) & ends) ||
				      (rc > 0 && !(want & BIT(TASK_STATE_CANCELLED))));
	if (!out->reached && !out->over && !out->why &&
	    (rc = tell_owner(call, &t, &out->why)) < 0)
		return rc;
	return wait_go_on(call, in->wait_seconds, out->reached || out->over);
}

/* The statuses of an agent that has nothing to do. */
static const unsigned at_rest = BIT(AGENT_STATUS_READY) | BIT(AGENT_STATUS_IDLE) |
				BIT(AGENT_STATUS_DONE);

/* Finds the agent. Later runs of the call find the agent by its row, because the agent or its
 * team may have another name by then. Returns 0 or a fault. */
static int wait_find_agent(struct call *call, const struct agent_wait_in *in,
			   struct agent_row *a)
{
	int rc;

	if (call->made) {
		rc = sql_row(call, agent_by_id, a, .id = call->made);
		return rc < 0 ? rc : who_enter_again(call, a->team);
	}
	if ((rc = who_team_of(call, in->team, in->name, "/name")) < 0 ||
	    (rc = who_agent(call, in->name, "/name", a)) < 0)
		return rc;
	call->made = a->id;
	return 0;
}

int agent_wait(struct call *call, const struct agent_wait_in *in,
	       struct agent_wait_out *out)
{
	const unsigned ends = BIT(AGENT_STATUS_DONE) | BIT(AGENT_STATUS_FAILED);
	struct agent_holds_row holds;
	struct agent_row a = { 0 };
	int rc;

	if ((rc = wait_find_agent(call, in, &a)) < 0 ||
	    (rc = sql_row(call, agent_holds, &holds, .agent = a.id, .now = call->now)) <
		    0)
		return rc;
	out->team = call->caller.team_name;
	out->name = !strchr(in->name, '/') ? a.name
					   : arena_printf(&call->arena, "%s/%s",
							  call->caller.team_name, a.name);
	out->status = agent_status_now(a.status, holds.any);
	out->reached = BIT(out->status) & wait_wanted(in->until, in->n_until, at_rest);
	out->over = !out->reached && (BIT(out->status) & ends);
	return wait_go_on(call, in->wait_seconds, out->reached || out->over);
}

enum { WAIT_TITLE = 80 }; /* bytes of a title, a message or an error that a wait tells */

/* Returns the first line of a text, at most WAIT_TITLE bytes. A mark tells that there is more. */
static const char *wait_line(struct call *call, const char *text)
{
	const size_t line = strcspn(text, "\r\n");
	const bool more = text[line + strspn(text + line, "\r\n")];
	int64_t size;

	text = space_cut(call, arena_strndup(&call->arena, text, line), WAIT_TITLE,
			 &size);
	return size || more ? arena_printf(&call->arena, "%s…", text) : text;
}

/* --- results ---------------------------------------------------------------------- */

/* Finds the assignment. Later runs of the call find the assignment by its row. Returns 0 or a
 * fault. */
static int find_assignment(struct call *call, const struct result_wait_in *in,
			   struct assignment_row *x)
{
	int64_t message = call->made;
	int rc;

	if (call->made) {
		rc = sql_row(call, assignment_by_message, x, .message = message);
		return rc < 0 ? rc : who_enter_again(call, x->team);
	}
	if ((rc = who_team(call, in->team)) < 0)
		return rc;
	if ((rc = assignment_named(call, in->id, false, &message)) > 0)
		rc = sql_row(call, assignment_by_message, x, .message = message);
	if (rc == 0) {
		if (message)
			fault_set(&call->fault, FAULT_NOT_FOUND, "/id",
				  "message #%lld carries no command", (long long)message);
		else
			fault_set(&call->fault, FAULT_NOT_FOUND, "/id",
				  "no command was assigned under %.100s", in->id);
		return fault_hint(&call->fault,
				  "See the commands with: {assignment.list}.");
	}
	call->made = x->message;
	return rc < 0 ? rc : 0;
}

/* Checks that the caller sent the command, has to run the command, or leads the team. */
static int check_knows(struct call *call, const struct assignment_row *x)
{
	if (x->sender == call->caller.agent || x->agent == call->caller.agent)
		return 0;
	return who_leads(call, "/id", "the command's sender, its agent",
			 "see the result");
}

/* Returns the reason why a queued command does not run yet, as a text. */
static const char *place_text(const struct assignment_place_row *place)
{
	static const char *const states[] = {
		[WORKSPACE_STATE_CREATING] = "its workspace is being made",
		[WORKSPACE_STATE_READY] = "its workspace has not received it yet",
		[WORKSPACE_STATE_STOPPED] = "its workspace is stopped",
		[WORKSPACE_STATE_FAILED] = "its workspace failed",
		[WORKSPACE_STATE_DESTROYED] = "its workspace is destroyed",
	};

	if (place->offered)
		return "its workspace has the command, but has not reported its start";
	return place->workspace ? states[place->state] : "its agent has no workspace";
}

int result_wait(struct call *call, const struct result_wait_in *in,
		struct result_wait_out *out)
{
	struct assignment_row x = { 0 };
	struct assignment_place_row place = { 0 };
	struct result_row r = { 0 };
	struct agent_row a = { 0 };
	int64_t cut_label;
	int rc;

	if ((rc = find_assignment(call, in, &x)) < 0 ||
	    (rc = check_knows(call, &x)) < 0 ||
	    (rc = sql_row(call, agent_by_id, &a, .id = x.agent)) < 0 ||
	    (rc = sql_row(call, result_by_message, &r, .message = x.message, .first = 1,
			  .stdout_length = 0, .stderr_length = 2 * WAIT_TITLE)) < 0 ||
	    sql_row(call, assignment_place, &place, .message = x.message,
		    .host = store_host(call->store)) < 0)
		return call->fault.code;
	*out = (struct result_wait_out){
		.team = call->caller.team_name,
		.message_id = id_public(call, ID_MESSAGE, x.message, x.at),
		.seq = x.message,
		.task_id = space_cut(call, x.label, space_all(call) / 8, &cut_label),
		.agent = a.name,
		.state = x.state,
		.has_success = rc > 0,
		.success = r.success,
		.has_exit_code = rc > 0,
		.exit_code = r.exit_code,
		.reached = rc > 0 && r.success,
		.over = rc > 0 ? !r.success : x.state == ASSIGNMENT_STATE_CANCELLED,
	};
	if (rc > 0 && !r.success && r.stderr && *r.stderr)
		out->stderr = wait_line(call, r.stderr);
	out->hostless = !out->reached && !out->over && wait_is_hostless(call, place.here);
	if (x.state == ASSIGNMENT_STATE_QUEUED)
		out->place = place_text(&place);
	return wait_go_on(call, in->wait_seconds,
			  out->reached || out->over || out->hostless);
}

/* --- teams and workspaces, ended ones too --------------------------------------------- */

/* Clears a `not_found` fault, because the team or workspace may have ended. Returns 0, or `rc`
 * if the call's fault is not `not_found`. */
static int look_back(struct call *call, int rc)
{
	if (call->fault.code != FAULT_NOT_FOUND)
		return rc;
	call->fault = (struct fault){ 0 };
	return 0;
}

/* Finds the team with this name that ended last, or a team by its id. Returns 1 if the team was
 * found, 0 if there is no such team, or a negative fault code. */
static int find_ended_team(struct call *call, const char *name, int64_t *team)
{
	const struct id_among all = { .noun = ID_TEAM, .ended = true, .where = "/team" };
	struct team_ended_row last;
	int64_t at;
	int rc = sql_row(call, team_ended, &last, .name = name);

	if (rc > 0)
		*team = last.id;
	if (rc == 0 && (rc = id_short(call, &all, name, &name)) > 0)
		rc = id_parse(call, ID_TEAM, name, team, &at);
	return rc;
}

/* Finds a living team with this name, or else the team with this name that ended last. Later
 * runs of the call find the team by its row. Returns 0 or a fault. */
static int wait_find_team(struct call *call, const char *name, struct team_row *t)
{
	int rc = call->made ? 0 : who_team(call, name);
	struct fault why = call->fault;

	if (call->made)
		call->caller.team = call->made;
	if (rc < 0) {
		if (!name || (rc = look_back(call, rc)) < 0 ||
		    (rc = find_ended_team(call, name, &call->caller.team)) < 0)
			return rc;
		if (rc == 0) {
			call->fault = why;
			return why.code;
		}
	}
	call->made = call->caller.team;
	return sql_row(call, team_by_id, t, .id = call->caller.team);
}

/* Without `until` the call waits until the team is made. The wait ends if a workspace of the
 * team could not be made, because somebody then has to make the workspace again or remove its
 * member. */
int team_wait(struct call *call, const struct team_wait_in *in, struct team_wait_out *out)
{
	const unsigned made = BIT(TEAM_STATE_READY) | BIT(TEAM_STATE_WORKING) |
			      BIT(TEAM_STATE_COMPLETING);
	const unsigned want = wait_wanted(in->until, in->n_until, made);
	struct team_places_row places;
	struct team_state_row s;
	struct team_row t;
	bool lacks;
	int rc;

	if ((rc = wait_find_team(call, in->team, &t)) < 0 ||
	    (rc = sql_row(call, team_state, &s, .team = t.id, .now = call->now)) < 0 ||
	    (rc = sql_row(call, team_places, &places, .team = t.id,
			  .host = store_host(call->store))) < 0)
		return rc;
	lacks = places.failed > 0 &&
		!(want & (BIT(s.now_state) | BIT(TEAM_STATE_DESTROYED)));
	out->team = t.name;
	out->state = s.now_state;
	out->failed = places.failed;
	out->guests = t.destroyed_at ? places.guests : 0;
	out->reached = (want & BIT(s.now_state)) && !out->guests;
	out->over = !out->reached &&
		    (lacks || (t.destroyed_at && !(want & BIT(s.now_state))));
	/* A team can be destroyed without a host, but only a host can end the guests of the
	 * team. */
	out->hostless = !out->reached && !out->over &&
			(t.destroyed_at || !(want & BIT(TEAM_STATE_DESTROYED))) &&
			wait_is_hostless(call, places.here);
	return wait_go_on(call, in->wait_seconds,
			  out->reached || out->over || out->hostless);
}

/* Finds the destroyed workspace with this id, name or agent. If there are several, finds the
 * newest. The caller must be allowed to see the workspace. Returns 1 if the workspace was
 * found, 0 if there is no such workspace, or a negative fault code. */
static int find_ended_workspace(struct call *call, const struct workspace_wait_in *in,
				struct workspace_row *w)
{
	const char *name = in->workspace, *slash = strchr(name, '/');
	const int64_t own = in->team || !who_roams(call) ? call->caller.team : 0;
	const struct id_among among = {
		.noun = ID_WORKSPACE,
		.own = own,
		.ended = true,
		.where = "/workspace",
	};
	struct workspace_ended_row last = { 0 };
	int64_t at;
	int rc = id_parse(call, ID_WORKSPACE, name, &last.id, &at);

	if (rc == 0)
		rc = sql_row(call, workspace_ended, &last, .own = own, .name = name,
			     .team_name = slash      ? arena_strndup(&call->arena, name,
								     (size_t)(slash - name))
					  : in->team ? in->team
						     : call->caller.team_name,
			     .agent_name = slash ? slash + 1 : name);
	if (rc > 0 && !last.id)
		rc = 0;
	if (rc == 0 && (rc = id_short(call, &among, name, &name)) > 0)
		rc = id_parse(call, ID_WORKSPACE, name, &last.id, &at);
	if (rc > 0)
		rc = sql_row(call, workspace_by_id, w, .id = last.id);
	return rc > 0 && own && w->team != own ? 0 : rc;
}

/* Finds a living workspace, or else a destroyed workspace. Later runs of the call find the
 * workspace by its row. Returns 0 or a fault. */
static int find_workspace(struct call *call, const struct workspace_wait_in *in,
			  struct workspace_row *w)
{
	struct fault why;
	int rc;

	if (call->made) {
		rc = sql_row(call, workspace_by_id, w, .id = call->made);
		call->caller.team = w->team;
		call->caller.team_name = w->team_name;
		return rc < 0 ? rc : 0;
	}
	rc = workspace_find(call, in->team, in->workspace, w);
	why = call->fault;
	if (rc >= 0 || (rc = look_back(call, rc)) < 0)
		return rc;
	rc = find_ended_workspace(call, in, w);
	if (rc > 0)
		call->caller.team = w->team;
	if (rc == 0)
		call->fault = why;
	return rc > 0 ? 0 : (int)call->fault.code;
}

int workspace_wait(struct call *call, const struct workspace_wait_in *in,
		   struct workspace_wait_out *out)
{
	const unsigned ended = BIT(WORKSPACE_STATE_DESTROYED),
		       down = BIT(WORKSPACE_STATE_STOPPED) | ended,
		       failed = BIT(WORKSPACE_STATE_FAILED),
		       want = wait_wanted(in->until, in->n_until,
					  BIT(WORKSPACE_STATE_READY));
	struct workspace_place_row place = { 0 };
	struct workspace_row w;
	unsigned next;
	int rc;

	if ((rc = find_workspace(call, in, &w)) < 0 ||
	    (rc = sql_row(call, workspace_place, &place, .id = w.id,
			  .host = store_host(call->store))) < 0)
		return rc;
	call->made = w.id;
	out->team = w.team_name;
	out->workspace = id_public(call, ID_WORKSPACE, w.id, w.created_at);
	out->name = w.name;
	out->state = w.state;
	out->has_pid = w.pid && (BIT(w.state) & down);
	out->pid = w.pid;
	out->reached = (want & BIT(w.state)) && !out->has_pid;
	out->over = !(want & BIT(w.state)) &&
		    (BIT(w.state) & (want & ended ? 0 : ended | failed));
	/* A host is needed for the states in `next`. A host makes a workspace ready, or fails
	 * to make it ready. A host also ends the guest of a workspace that is stopped or
	 * destroyed. */
	next = w.state == WORKSPACE_STATE_CREATING ? BIT(WORKSPACE_STATE_READY) | failed
						   : BIT(w.state);
	out->hostless = !out->reached && !out->over && (want & next) &&
			wait_is_hostless(call, place.here);
	return wait_go_on(call, in->wait_seconds,
			  out->reached || out->over || out->hostless);
}

/* --- everything that concerns the caller ------------------------------------------------- */

enum {
	WAIT_READY = 100, /* maximum number of ready tasks that are looked at */
	WAIT_CHANGES = 1000, /* maximum number of changes that are looked at */
	WAIT_LOOKS = 10000, /* number of newest events among which changes are found */
};

struct watch {
	struct call *call;
	const struct event_wait_in *in;
	struct event_wait_out *out;
	struct agent_row self;
	const char *doing; /* what the followed agents do; "" at first */
	struct changes_since_row *changes; /* since the wait began, the newest first */
	size_t n_changes;
};

/* Fills in the news, unless the answer has news already. */
static void watch_end(struct watch *w, enum news what, const char *name, const char *text)
{
	if (w->out->has_what)
		return;
	w->out->has_what = true;
	w->out->what = what;
	w->out->name = name;
	w->out->text = text;
}

/* Whether a waiting message answers the caller. An agent to which the caller wrote before may
 * answer without `reply_to`. */
static int watch_is_reply(struct watch *w, const struct inbox_row *m)
{
	struct message_asked_row asked = { 0 };
	int rc = m->reply_to ? 1
			     : sql_row(w->call, message_asked, &asked, .self = w->self.id,
				       .sender = m->sender, .before = m->message);

	return rc < 0 ? rc : m->reply_to || asked.so;
}

static int watch_message(struct watch *w, const struct inbox_row *m, int64_t queued)
{
	struct arena *a = &w->call->arena;
	const char *name = arena_printf(a, "#%" PRId64, m->message);
	int rc = watch_is_reply(w, m);

	if (rc >= 0)
		watch_end(w, rc ? NEWS_REPLY : NEWS_MAIL, name,
			  arena_printf(
				  a, "%s%s from %s: %s%s", rc ? "reply " : "message ",
				  name, m->sender_name, wait_line(w->call, m->content),
				  queued < 2 ? ""
					     : arena_printf(a, "; %" PRId64 " more wait",
							    queued - 1)));
	return rc < 0 ? rc : 0;
}

/* Finds the first message in a query that this session has not received. Returns 1, 0 if there
 * is none, or a negative fault code. */
static int watch_fresh(struct watch *w, struct query *q, struct inbox_row *m)
{
	const char *const *seen = (const char *const *)w->in->seen;
	int rc;

	while ((rc = sql_next(w->call, q, m)) > 0 &&
	       inbox_knows(w->call, w->self.id, m, seen, w->in->n_seen))
		continue;
	return rc;
}

/* Looks for a message, or for the result of a command. */
static int watch_mail(struct watch *w)
{
	struct call *call = w->call;
	struct results_waiting_row results;
	struct inbox_state_row inbox;
	struct inbox_row first;
	struct query q;
	int rc;

	if ((rc = inbox_counters(call, w->self.id, &inbox)) < 0 ||
	    (rc = sql_row(call, results_waiting, &results, .agent = w->self.id,
			  .most = 1)) < 0)
		return rc;
	sql_query(call, &q, inbox_next, .agent = w->self.id, .now = call->now,
		  .limit = inbox.queued + 1);
	if ((rc = watch_fresh(w, &q, &first)) == 0) {
		query_end(&q);
		sql_query(call, &q, inbox_came, .agent = w->self.id, .now = call->now,
			  .limit = 1);
		rc = sql_next(call, &q, &first);
	}
	if (rc > 0)
		rc = watch_message(w, &first, inbox.queued);
	else if (rc == 0 && results.n)
		watch_end(w, NEWS_MAIL, NULL, "a command has ended: its result waits");
	query_end(&q);
	return rc;
}

/* Finds the changes since the wait began. The first run of a wait has none. */
static int watch_changes(struct watch *w)
{
	if (!w->in->n_follow || !w->in->has_after)
		return 0;
	return sql_all(w->call, changes_since, &w->changes, &w->n_changes,
		       .team = w->call->caller.team, .after = w->in->after,
		       .looks = WAIT_LOOKS, .limit = WAIT_CHANGES);
}

/* Notes in the arguments, which later runs of the call get again, when the wait began. Changes
 * are told apart by the numbers of events, since the clock may be set during the wait. Only the
 * end of a lease needs a time: it has no event. */
static int watch_begin(struct call *call, const struct event_wait_in *in,
		       struct event_wait_out *out)
{
	struct event_wait_in *kept = call->in;
	struct event_last_row last = { .seq = in->after };

	if (!in->has_after && sql_row(call, event_last, &last) < 0)
		return call->fault.code;
	out->after = kept->after = last.seq;
	out->since = kept->since = in->has_since ? in->since : call->now;
	kept->has_after = kept->has_since = true;
	call->made = out->since; /* marks later runs */
	return 0;
}

/* The newest change of a task since the wait began, or NULL. For a ready task every change counts.
 * For a followed task, assignments and the caller's own changes do not count. */
static const struct changes_since_row *watch_change_of(const struct watch *w,
						       int64_t task, bool ready)
{
	const struct changes_since_row *c = w->changes, *end = c + w->n_changes;
	const int64_t self = event_actor(w->call);

	for (; c < end; c++)
		if (c->kind != EVENT_AGENT_STATUS && c->kind != EVENT_AGENT_UPDATED &&
		    c->subject == task &&
		    (ready || (c->kind != EVENT_TASK_ASSIGNED && c->actor != self)))
			return c;
	return NULL;
}

/* Whether the lease of a claim has ended since the wait began. Without a host no event says so
 * until the task is claimed again. */
static bool watch_has_lapsed(const struct watch *w, int64_t lease_until)
{
	return lease_until > w->out->since && lease_until <= w->call->now;
}

/* The newest change of a task that another caller made, in words, or NULL. `text` tells the
 * task's state. */
static const char *watch_changed(struct watch *w, const struct task_row *t,
				 const char *why, const char *text)
{
	const struct changes_since_row *c = watch_change_of(w, t->id, false);
	const char *tells;

	if (!c)
		return watch_has_lapsed(w, t->lease_until) ? text : NULL;
	if (c->kind == EVENT_TASK_READY)
		return text;
	tells = event_kind((int)c->kind)->tells;
	if (!why)
		why = c->kind == EVENT_TASK_BLOCKED && c->detail ? c->detail : t->title;
	return arena_printf(&w->call->arena, "%s %.*s%s %s: %s",
			    event_actor_name(c->actor, c->actor_name),
			    (int)strcspn(tells, "["), tells,
			    c->kind == EVENT_TASK_LAPSED ? " on" : "",
			    task_name(w->call, t->number), wait_line(w->call, why));
}

/* Looks at a followed task. */
static int watch_task(struct watch *w, const struct task_row *t)
{
	struct call *call = w->call;
	struct arena *a = &call->arena;
	const unsigned state = BIT(t->state_now);
	const unsigned bad = BIT(TASK_STATE_FAILED) | BIT(TASK_STATE_CANCELLED);
	const char *id = task_name(call, t->number), *why = NULL, *text, *changed;
	struct agent_name_row owner = { 0 };
	int rc = tell_hindrance(call, t, &why);

	if (rc < 0 || (t->owner && t->state_now != TASK_STATE_PENDING &&
		       (rc = sql_row(call, agent_name, &owner, .id = t->owner)) < 0))
		return rc;
	text = arena_printf(a, "task %s is %s%s%s%s%s", id,
			    task_word(t->state_now, t->open_deps),
			    owner.name ? ", held by " : "", owner.name ? owner.name : "",
			    why ? ": " : "", why ? why : "");
	changed = watch_changed(w, t, why, text);
	if (why || state & bad)
		w->out->over = !w->out->has_what;
	if (changed || why || state & (bad | BIT(TASK_STATE_COMPLETED)))
		watch_end(w, NEWS_TASK, id, changed ? changed : text);
	if (owner.name && t->owner != w->self.id)
		return agent_tell_doing(call, owner.name, &w->doing);
	w->doing = arena_printf(a, "%s%s%s", w->doing, *w->doing ? "; " : "", text);
	return 0;
}

static bool watch_ends_claim(int kind)
{
	return kind == EVENT_TASK_COMPLETED || kind == EVENT_TASK_FAILED ||
	       kind == EVENT_TASK_CANCELLED || kind == EVENT_TASK_RELEASED ||
	       kind == EVENT_TASK_LAPSED;
}

/* Whether a claim of an agent has ended since the wait began. For an agent that is at rest, a
 * new status counts, too. */
static bool watch_has_ended(const struct watch *w, int64_t agent, bool rests)
{
	for (size_t i = 0; i < w->n_changes; i++) {
		const struct changes_since_row *c = &w->changes[i];

		if (c->kind == EVENT_AGENT_STATUS
			    ? rests && c->subject == agent
			    : watch_ends_claim((int)c->kind) &&
				      (c->target ? c->target : c->actor) == agent)
			return true;
	}
	return false;
}

/* Finds an agent by the name that it had when the wait began. */
static int watch_find_agent(struct watch *w, const char *name, struct agent_row *r)
{
	const struct changes_since_row *c = w->changes + w->n_changes;

	while (c-- > w->changes)
		if (c->kind == EVENT_AGENT_UPDATED && !strcmp(c->detail, name))
			return sql_row(w->call, agent_by_id, r, .id = c->subject);
	return who_agent(w->call, name, "/follow", r);
}

/* Looks at a followed agent. */
static int watch_agent(struct watch *w, const struct agent_row *r)
{
	struct agent_holds_row holds;
	int64_t status;
	int rc = sql_row(w->call, agent_holds, &holds, .agent = r->id,
			 .now = w->call->now);

	if (rc < 0)
		return rc;
	status = agent_status_now(r->status, holds.any);
	if (BIT(status) & (BIT(AGENT_STATUS_FAILED) | BIT(AGENT_STATUS_STUCK)))
		w->out->over = !w->out->has_what;
	if (w->out->over || watch_has_ended(w, r->id, BIT(status) & at_rest))
		watch_end(w, NEWS_AGENT, r->name,
			  arena_printf(&w->call->arena, "agent %s %s%s", r->name,
				       BIT(status) & at_rest || w->out->over
					       ? "is "
					       : "has ended a task and is ",
				       field_choice(&record_teammate, "status", status)));
	return agent_tell_doing(w->call, r->name, &w->doing);
}

/* Looks at everything that the call follows. */
static int watch_followed(struct watch *w)
{
	struct call *call = w->call;
	int rc = 0;

	for (size_t i = 0; i < w->in->n_follow && rc >= 0; i++) {
		const char *name = w->in->follow[i];
		struct task_row t = { 0 };
		struct agent_row a = { 0 };

		if (!name[strspn(name, "#0123456789")])
			rc = (rc = task_find(call, name, &t)) < 0 ? rc
								  : watch_task(w, &t);
		else if ((rc = watch_find_agent(w, name, &a)) >= 0)
			rc = watch_agent(w, &a);
	}
	return rc < 0 ? rc : 0;
}

/* Looks for a task that the caller can claim. */
static int watch_ready(struct watch *w)
{
	struct call *call = w->call;
	struct agent_holds_row holds;
	struct task_line_row t;
	struct query q = { 0 };
	bool own, fresh;
	int rc =
		sql_row(call, agent_holds, &holds, .agent = w->self.id, .now = call->now);

	if (rc < 0 || w->self.kind != AGENT_KIND_MEMBER)
		return rc < 0 ? rc : 0;
	while ((rc = sql_each(call, &q, task_ready_lines, &t, .team = call->caller.team,
			      .limit = WAIT_READY, .now = call->now)) > 0) {
		own = t.assignee_name && !strcmp(t.assignee_name, w->self.name);
		fresh = !w->in->n_follow || watch_change_of(w, t.id, true) ||
			watch_has_lapsed(w, t.lease_until);
		if (!fresh || !(own || (!t.assignee_name && !holds.any)))
			continue;
		watch_end(w, NEWS_READY, task_name(call, t.number),
			  arena_printf(&call->arena, "task %s is ready: %s",
				       task_name(call, t.number),
				       wait_line(call, t.title)));
		break;
	}
	return query_over(&q, rc);
}

int event_wait(struct call *call, const struct event_wait_in *in,
	       struct event_wait_out *out)
{
	struct watch w = { .call = call, .in = in, .out = out, .doing = "" };
	int rc;

	if ((rc = watch_begin(call, in, out)) < 0 ||
	    (rc = who_team(call, in->team)) < 0 ||
	    (rc = sql_row(call, agent_by_id, &w.self, .id = call->caller.agent)) < 0 ||
	    (rc = watch_mail(&w)) < 0 || (rc = watch_changes(&w)) < 0 ||
	    (rc = watch_followed(&w)) < 0 || (rc = watch_ready(&w)) < 0 ||
	    (!out->has_what && !in->n_follow &&
	     (rc = agent_tell_doing(call, NULL, &w.doing)) < 0))
		return rc;
	out->reached = out->has_what && !out->over;
	if (!out->has_what)
		out->text = arena_printf(&call->arena, "nothing has come%s%s",
					 *w.doing ? "; " : "", w.doing);
	return wait_go_on(call, in->wait_seconds, out->has_what);
}
