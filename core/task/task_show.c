/*
 * task_show - shows whole tasks, lines of tasks, and the history of a task.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "core/call/space.h"
#include "core/reservation/reservation.h"
#include "core/task/task.h"
#include "core/team/estop.h"

enum { NOTES_SHOWN = 100, BLOCKERS_SHOWN = 100, HELD_UP_SHOWN = 10 };

/* --- telling ------------------------------------------------------------------------- */

/* Sets `more` of the task if an entry has no room in the answer. The caller then leaves out
 * this entry and the rest of the list. */
static bool task_show_fits(struct task *out, bool fits)
{
	out->more |= !fits;
	out->has_more |= !fits;
	return fits;
}

static int tell_deps(struct call *call, int64_t task, struct task *out)
{
	struct task_deps_row d;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, task_deps, &d, .task = task, .now = call->now)) >
	       0) {
		struct blocker b = { task_name(call, d.number), d.state_now };
		bool open = d.state_now != TASK_STATE_COMPLETED;

		if (!task_show_fits(out, space_take_text(call, b.id) &&
						 (!open ||
						  space_take(call, &record_blocker, &b))))
			break;
		arena_add(&call->arena, out->depends_on, out->n_depends_on, b.id);
		if (open)
			arena_add(&call->arena, out->blocked_by, out->n_blocked_by, b);
	}
	return query_over(&q, rc);
}

static int tell_tags(struct call *call, int64_t task, struct task *out)
{
	struct task_tags_row g;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, task_tags, &g, .task = task)) > 0 &&
	       task_show_fits(out, space_take_text(call, g.tag)))
		arena_add(&call->arena, out->tags, out->n_tags, g.tag);
	return query_over(&q, rc);
}

static int tell_criteria(struct call *call, int64_t task, struct task *out)
{
	struct criterion c = { 0 };
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, task_criteria, &c, .task = task)) > 0 &&
	       task_show_fits(out, space_take(call, &record_criterion, &c)))
		arena_add(&call->arena, out->acceptance_criteria,
			  out->n_acceptance_criteria, c);
	return query_over(&q, rc);
}

/* Takes space for a note in the answer. Returns false if the note does not fit. A note that
 * needs more than half of a whole answer is cut, and note->text_size gives the size of the
 * uncut text. */
static bool note_take(struct call *call, struct note *note)
{
	size_t most = space_all(call) / 2;

	/* The rest of a cut text can be read in parts, by task.part. */
	note->text = space_cut(call, note->text, most, &note->text_size);
	note->has_text_size = note->text_size > 0;
	return space_take(call, &record_note, note);
}

/* Lists the newest notes that fit, at most NOTES_SHOWN, and sorts them from old to new. `all`
 * is the number of all notes of the task. */
static int show_notes(struct call *call, int64_t task, int64_t all, struct task *out)
{
	struct task_notes_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, task_notes, &r, .task = task,
			      .limit = NOTES_SHOWN + 1)) > 0) {
		struct note note = { .by = r.name,
				     .at = r.at,
				     .text = r.text,
				     .number = all - (int64_t)out->n_notes };

		if (!task_show_fits(out,
				    out->n_notes < NOTES_SHOWN && note_take(call, &note)))
			break;
		arena_add(&call->arena, out->notes, out->n_notes, note);
	}
	query_end(&q);
	for (size_t i = 0; i < out->n_notes / 2; i++) {
		struct note swap = out->notes[i];

		out->notes[i] = out->notes[out->n_notes - 1 - i];
		out->notes[out->n_notes - 1 - i] = swap;
	}
	return rc < 0 ? rc : 0;
}

/* Whether a task is completed, failed or cancelled. */
static bool is_over(int64_t state)
{
	return state == TASK_STATE_COMPLETED || state == TASK_STATE_FAILED ||
	       state == TASK_STATE_CANCELLED;
}

static bool is_ready(int64_t state, int64_t open_deps)
{
	return state == TASK_STATE_PENDING && open_deps == 0;
}

/* Adds to the answer the rows that other tables have for a task. Most tasks have no such rows,
 * and are read by one statement. */
static int tell_parts(struct call *call, const struct task_whole_row *t, struct task *out)
{
	int rc = 0;

	if (t->parts & TASK_HAS_DEPS)
		rc = tell_deps(call, t->id, out);
	if (rc >= 0 && (t->parts & TASK_HAS_TAGS))
		rc = tell_tags(call, t->id, out);
	if (rc >= 0 && (t->parts & TASK_HAS_CRITERIA))
		rc = tell_criteria(call, t->id, out);
	if (rc >= 0 && (t->parts & TASK_HAS_NOTES))
		rc = show_notes(call, t->id, t->notes, out);
	return rc;
}

/* Bytes that the field `description_size` adds to a task. */
enum { SIZE_FIELD = 32 };

/* Cuts a description or result that is too large for the answer. If the answer may fill a whole
 * frame, a description and a result always fit, even with all escapes. */
static void cut_texts(struct call *call, struct task *out, bool has_lists)
{
	struct task rest = *out;
	size_t room = space_all(call), taken;

	if (!call->form.most)
		return;
	rest.description = rest.result = NULL;
	taken = space_size(call, &record_task, &rest);
	room = room > taken + 2 * SIZE_FIELD ? room - taken - 2 * SIZE_FIELD : 0;
	if (has_lists)
		room = room * 3 / 4;
	out->description = space_cut(call, out->description,
				     out->result ? room * 2 / 3 : room,
				     &out->description_size);
	taken = out->description ? text_json_size(out->description) : 0;
	out->result = space_cut(call, out->result, room > taken ? room - taken : 0,
				&out->result_size);
	out->has_description_size = out->description_size > 0;
	out->has_result_size = out->result_size > 0;
}

int task_tell(struct call *call, int64_t id, struct task *out)
{
	struct task_whole_row t;
	bool live, over;
	int rc = sql_row(call, task_whole, &t, .id = id, .now = call->now);

	if (rc <= 0)
		return rc < 0 ? rc
			      : fault_set(&call->fault, FAULT_NOT_FOUND, "/task",
					  "the task is gone");
	live = t.owner && t.state_now == t.state;
	over = is_over(t.state_now);
	*out = (struct task){
		.id = task_name(call, t.number),
		.title = t.title,
		.status = t.state_now,
		.priority = t.priority,
		.ready = is_ready(t.state_now, t.open_deps),
		.owner = live ? t.holder_name : NULL,
		.assignee = t.assignee_name,
		.epoch = t.epoch,
		.has_lease_until = live && t.lease_until && t.lease_until < ESTOP_FAR,
		.lease_until = t.lease_until,
		.attempts = t.attempts,
		.created_by = t.creator_name,
		.created_at = t.created_at,
		.updated_at = t.updated_at,
		.ended_by = over ? t.holder_name : NULL,
		.has_ended_at = over,
		.ended_at = t.ended_at ? t.ended_at : t.lease_until,
		.description = *t.description ? t.description : NULL,
		.result = t.result,
		.branch = t.branch,
		.commit = t.commit_id,
	};
	cut_texts(call, out, t.parts != 0);
	if (t.parts && !space_take(call, &record_task, out))
		call->space = 0;
	return tell_parts(call, &t, out);
}

int task_tell_line(struct call *call, const struct task_line_row *r,
		   struct task_line *out)
{
	const bool over = is_over(r->state_now),
		   held = !over && r->state_now != TASK_STATE_PENDING;
	struct task_blocked_row hindrance;
	struct task_blockers_row d;
	struct query q = { 0 };
	int rc = 0;

	*out = (struct task_line){
		.id = task_name(call, r->number),
		.title = r->title,
		.status = r->state_now,
		.priority = r->priority,
		.ready = is_ready(r->state_now, r->open_deps),
		.has_stuck = r->stuck,
		.stuck = r->stuck,
		.owner = held ? r->holder_name : NULL,
		.assignee = r->assignee_name,
		.epoch = r->epoch,
		.has_lease_until = held && r->lease_until && r->lease_until < ESTOP_FAR,
		.lease_until = r->lease_until,
		.updated_at = r->updated_at,
		.ended_by = over ? r->holder_name : NULL,
	};
	if (r->state_now == TASK_STATE_BLOCKED) {
		if ((rc = sql_row(call, task_blocked, &hindrance, .task = r->id)) < 0)
			return rc;
		out->blocked = hindrance.why;
	}
	if (r->open_deps == 0)
		return 0;
	while ((rc = sql_each(call, &q, task_blockers, &d, .task = r->id,
			      .now = call->now, .limit = BLOCKERS_SHOWN)) > 0)
		arena_add(&call->arena, out->blocked_by, out->n_blocked_by,
			  task_name(call, d.number));
	return rc;
}

/* The groups of task.list, in their order. */
enum task_group {
	GROUP_IN_WORK,
	GROUP_READY,
	GROUP_WAITING,
	GROUP_BLOCKED,
	GROUP_OVER,
	GROUPS,
	GROUP_ANY = GROUPS
};

static enum task_group task_show_group_of(int64_t state, int64_t open_deps)
{
	if (is_over(state))
		return GROUP_OVER;
	if (state == TASK_STATE_BLOCKED)
		return GROUP_BLOCKED;
	if (state == TASK_STATE_PENDING)
		return is_ready(state, open_deps) ? GROUP_READY : GROUP_WAITING;
	return GROUP_IN_WORK;
}

struct task_page {
	struct task_line *lines;
	size_t n_lines;
	int64_t limit;
	unsigned states; /* bits of enum board_state; 0: all states */
	enum task_group group; /* the group whose rows are added now */
	bool more;
};

static bool wants(const struct task_page *p, const struct task_line_row *r)
{
	const enum task_group group = task_show_group_of(r->state_now, r->open_deps);
	const bool pending = r->state_now == TASK_STATE_PENDING;
	const unsigned own = 1u << task_board_state(r->state_now, r->open_deps) |
			     (unsigned)pending << BOARD_STATE_PENDING;

	return (!p->states || p->states & own) &&
	       (p->group == GROUP_ANY || p->group == group);
}

static int task_show_tell_page(struct call *call, struct query *q, struct task_page *p)
{
	struct task_line_row r;
	struct task_line line;
	int rc;

	while ((rc = sql_next(call, q, &r)) > 0) {
		if (!wants(p, &r))
			continue;
		if ((rc = task_tell_line(call, &r, &line)) < 0)
			break;
		if (!space_put(call, p, lines, &record_task_line, &line, p->limit))
			break;
	}
	return query_over(q, rc);
}

/* Tells why the task is blocked, and which tasks wait for the task. */
static int show_hindrance(struct call *call, const struct task_row *t, struct task *out)
{
	struct task_blocked_row hindrance;
	struct task_held_up_row d;
	struct query q = { 0 };
	int rc;

	if (out->status == TASK_STATE_BLOCKED) {
		if ((rc = sql_row(call, task_blocked, &hindrance, .task = t->id)) < 0)
			return rc;
		out->blocked = hindrance.why;
	}
	if (out->status == TASK_STATE_COMPLETED)
		return 0;
	while ((rc = sql_each(call, &q, task_held_up, &d, .task = t->id,
			      .limit = HELD_UP_SHOWN)) > 0)
		arena_add(&call->arena, out->holds_up, out->n_holds_up,
			  task_name(call, d.number));
	return rc;
}

int task_show(struct call *call, const struct task_show_in *in, struct task_show_out *out)
{
	struct task_row t;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = task_find(call, in->task, &t)) < 0)
		return rc;
	if ((rc = task_tell(call, t.id, &out->task)) < 0 ||
	    (rc = show_hindrance(call, &t, &out->task)) < 0 || !out->task.owner)
		return rc;
	return reservation_words(call, t.owner, &out->task.reserved,
				 &out->task.n_reserved);
}

#define OPEN_STATES                                              \
	(1u << BOARD_STATE_PENDING | 1u << BOARD_STATE_CLAIMED | \
	 1u << BOARD_STATE_IN_PROGRESS | 1u << BOARD_STATE_BLOCKED)

/* Returns the states for which the caller asks, as bits, or 0 for all states. */
static unsigned states_of(const struct task_list_in *in)
{
	unsigned states = 0;

	for (size_t i = 0; i < in->n_status; i++)
		states |= 1u << in->status[i];
	if (in->closed)
		states |= 1u << BOARD_STATE_COMPLETED | 1u << BOARD_STATE_FAILED |
			  1u << BOARD_STATE_CANCELLED;
	if (in->all)
		return 0; /* `all` includes the closed tasks */
	if (states)
		return states;
	return OPEN_STATES;
}

/* Parameters of task_lines_in for the states whose bits are set. */
#define TASK_STATES(bits)                                     \
	.pending = (bits) >> BOARD_STATE_PENDING & 1,         \
	.claimed = (bits) >> BOARD_STATE_CLAIMED & 1,         \
	.in_progress = (bits) >> BOARD_STATE_IN_PROGRESS & 1, \
	.blocked = (bits) >> BOARD_STATE_BLOCKED & 1,         \
	.completed = (bits) >> BOARD_STATE_COMPLETED & 1,     \
	.failed = (bits) >> BOARD_STATE_FAILED & 1,           \
	.cancelled = (bits) >> BOARD_STATE_CANCELLED & 1

/* Starts the statement whose index fits the call's arguments and the page's group best.
 * task_show_tell_page() leaves out the rows of other groups and unwanted states, and stops when
 * the page is full. */
static void query_lines(struct call *call, struct query *q, const struct task_list_in *in,
			int64_t owner, const struct task_page *p,
			const struct task_row *after)
{
	static const unsigned members[] = {
		[GROUP_IN_WORK] = 1u << BOARD_STATE_CLAIMED |
				  1u << BOARD_STATE_IN_PROGRESS,
		[GROUP_BLOCKED] = 1u << BOARD_STATE_BLOCKED,
		[GROUP_OVER] = 1u << BOARD_STATE_COMPLETED | 1u << BOARD_STATE_FAILED |
			       1u << BOARD_STATE_CANCELLED,
	};
	const int64_t team = call->caller.team, now = call->now, limit = in->limit + 1;

	if (owner)
		sql_query(call, q, task_lines_of, .owner = owner, .team = team,
			  .tag = in->tag, .priority = after->priority,
			  .number = after->number, .now = now);
	else if (in->tag)
		sql_query(call, q, task_lines_tagged, .tag = in->tag, .team = team,
			  .priority = after->priority, .number = after->number,
			  .now = now);
	else if (p->group == GROUP_READY)
		sql_query(call, q, task_ready_lines, .team = team,
			  .priority = after->priority, .number = after->number,
			  .limit = limit, .now = now);
	else if (p->group == GROUP_WAITING)
		sql_query(call, q, task_lines_waiting, .team = team,
			  .priority = after->priority, .number = after->number,
			  .limit = limit, .now = now);
	else
		sql_query(call, q, task_lines_in,
			  TASK_STATES(members[p->group] & (p->states ? p->states : ~0u)),
			  .team = team, .priority = after->priority,
			  .number = after->number, .limit = limit, .now = now);
}

/* Adds the tasks to the page, group by group. The page begins behind the task `after`, in the
 * group of this task, or with the first group if `after` is a row of zeros. */
static int list_groups(struct call *call, const struct task_list_in *in, int64_t owner,
		       const struct task_row *after, struct task_page *p)
{
	static const struct task_row first = { 0 };
	const enum task_group begin =
		after->id ? task_show_group_of(after->state_now, after->open_deps)
			  : GROUP_IN_WORK;
	struct query q;
	int rc = 0;

	/* Each group would read all tasks that have the tag. So they come in one order. */
	if (in->tag && !owner) {
		p->group = GROUP_ANY;
		query_lines(call, &q, in, owner, p, after);
		return task_show_tell_page(call, &q, p);
	}
	for (p->group = begin; p->group < GROUPS && !p->more && rc >= 0; p->group++) {
		query_lines(call, &q, in, owner, p, p->group == begin ? after : &first);
		rc = task_show_tell_page(call, &q, p);
	}
	return rc;
}

static int find_owner(struct call *call, const struct task_list_in *in,
		      struct agent_row *owner)
{
	if (in->mine && in->owner)
		return fault_set(&call->fault, FAULT_INVALID, "/owner",
				 "give `mine` or `owner`, not both");
	if (in->mine)
		return who_is(call, NULL, "/mine", owner);
	return in->owner ? who_agent(call, in->owner, "/owner", owner) : 0;
}

/* Says how many finished tasks a list of open tasks leaves out, or returns NULL if there are
 * none or the caller has asked for only some tasks. */
static const char *tell_finished(struct call *call, const struct task_list_in *in,
				 const struct board_counts *counts)
{
	bool some = in->n_status || in->all || in->closed || in->mine || in->owner ||
		    in->tag || in->after;
	int64_t n = counts->completed + counts->failed + counts->cancelled;

	return some || !n
		       ? NULL
		       : arena_printf(&call->arena,
				      "no task is open; `all` lists %" PRId64 " finished",
				      n);
}

int task_list(struct call *call, const struct task_list_in *in, struct task_list_out *out)
{
	struct task_page p = { .limit = in->limit, .states = states_of(in) };
	struct agent_row owner = { 0 };
	struct task_row after = { 0 };
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = find_owner(call, in, &owner)) < 0 ||
	    (in->after && (rc = task_find(call, in->after, &after)) < 0))
		return rc;
	if ((rc = sql_row(call, team_board, &out->counts, .team = call->caller.team,
			  .now = call->now)) < 0 ||
	    (rc = task_stuck(call, &out->stuck)) < 0)
		return rc;
	rc = list_groups(call, in, owner.id, &after, &p);
	out->tasks = p.lines;
	out->n_tasks = p.n_lines;
	out->more = p.more;
	if (!p.n_lines)
		out->finished = tell_finished(call, in, &out->counts);
	return rc;
}

int task_ready(struct call *call, const struct task_ready_in *in,
	       struct task_ready_out *out)
{
	struct task_page p = { .limit = in->limit, .group = GROUP_ANY };
	struct task_row after = { 0 };
	struct query q;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (in->after && (rc = task_find(call, in->after, &after)) < 0))
		return rc;
	sql_query(call, &q, task_ready_lines, .team = call->caller.team,
		  .priority = after.priority, .number = after.number,
		  .limit = in->limit + 1, .now = call->now);
	rc = task_show_tell_page(call, &q, &p);
	out->tasks = p.lines;
	out->n_tasks = p.n_lines;
	out->more = p.more;
	return rc < 0 ? rc : task_stuck(call, &out->stuck);
}

int task_history(struct call *call, const struct task_history_in *in,
		 struct task_history_out *out)
{
	struct task_history_row r;
	struct task_row t;
	struct query q = { 0 };
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = task_find(call, in->task, &t)) < 0)
		return rc;
	while ((rc = sql_each(call, &q, task_history, &r, .task = t.id,
			      .after = in->after_seq, .limit = in->limit + 1)) > 0) {
		struct happening h = { .seq = r.seq,
				       .at = r.at,
				       .event = event_kind((int)r.kind)->name,
				       .by = event_actor_name(r.actor, r.name),
				       .has_as_operator = r.via,
				       .as_operator = r.via,
				       .detail = r.detail,
				       .target = r.target };

		if ((rc = event_task_text(call, r.kind, t.id, r.at, r.detail, &h.text)) <
		    0)
			break;
		if (!space_put(call, out, history, &record_happening, &h, in->limit))
			break;
	}
	return query_over(&q, rc);
}

/*
 * Shows a task's lists by pages and a task's texts by ranges, if they are too large for one
 * answer.
 */

struct page {
	struct call *call;
	const struct task_part_in *in;
	int64_t task, offset, limit;
	int64_t next; /* for a text, the offset of the end of the shown part */
	struct task_part_out *out;
};

/* Whether the entry that was just counted is on the page. out->size is the number of entries
 * that were counted so far. */
static bool task_part_is_here(const struct page *p)
{
	const struct task_part_out *out = p->out;

	return out->size > p->offset && !out->more && out->size - p->offset <= p->limit;
}

static void page_text(struct page *p, const char *text)
{
	struct task_part_out *out = p->out;

	out->size++;
	if (!task_part_is_here(p))
		return;
	if (!space_take_text(p->call, text))
		out->more = true;
	else
		arena_add(&p->call->arena, out->entries, out->n_entries, text);
}

static int page_notes(struct page *p)
{
	struct task_part_out *out = p->out;
	struct task_notes_from_row r;
	struct task_whole_row t = { 0 };
	struct query q = { 0 };
	int rc = sql_row(p->call, task_whole, &t, .id = p->task, .now = p->call->now);

	out->size = t.notes;
	if (rc < 0)
		return rc;
	while ((rc = sql_each(p->call, &q, task_notes_from, &r, .task = p->task,
			      .offset = p->offset, .limit = p->limit)) > 0) {
		struct note note = { .by = r.name,
				     .at = r.at,
				     .text = r.text,
				     .number = p->offset + (int64_t)out->n_notes + 1 };

		if (!note_take(p->call, &note))
			break;
		arena_add(&p->call->arena, out->notes, out->n_notes, note);
	}
	return query_over(&q, rc);
}

static int page_criteria(struct page *p)
{
	struct task_part_out *out = p->out;
	struct criterion c = { 0 };
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(p->call, &q, task_criteria, &c, .task = p->task)) > 0) {
		out->size++;
		if (task_part_is_here(p))
			space_put(p->call, out, acceptance_criteria, &record_criterion,
				  &c, INT64_MAX);
	}
	return rc;
}

static int page_tags(struct page *p)
{
	struct task_tags_row g;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(p->call, &q, task_tags, &g, .task = p->task)) > 0)
		page_text(p, g.tag);
	return rc;
}

static int page_deps(struct page *p)
{
	struct task_deps_row d;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(p->call, &q, task_deps, &d, .task = p->task,
			      .now = p->call->now)) > 0)
		page_text(p, task_name(p->call, d.number));
	return rc;
}

/* --- texts ------------------------------------------------------------------------------ */

static void range(struct page *p, const char *whole)
{
	struct space_range r = { .offset = p->offset,
				 .length = (int64_t)space_all(p->call) };

	space_range(p->call, whole, &r);
	p->out->text = r.text;
	p->out->size = r.size;
	p->next = r.next;
}

static int range_whole(struct page *p)
{
	struct task_whole_row t;
	int rc = sql_row(p->call, task_whole, &t, .id = p->task, .now = p->call->now);

	if (rc > 0)
		range(p, p->in->part == TASK_PART_RESULT ? t.result : t.description);
	return rc;
}

static int range_note(struct page *p)
{
	struct task_notes_from_row r;
	struct query q;
	int rc;

	sql_query(p->call, &q, task_notes_from, .task = p->task,
		  .offset = p->in->number - 1, .limit = 1);
	if ((rc = sql_next(p->call, &q, &r)) > 0)
		range(p, r.text);
	query_end(&q);
	if (rc == 0)
		return fault_set(&p->call->fault, FAULT_NOT_FOUND, "/number",
				 "the task has no note %lld", (long long)p->in->number);
	return rc;
}

int task_part(struct call *call, const struct task_part_in *in, struct task_part_out *out)
{
	static int (*const parts[])(struct page *) = {
		[TASK_PART_NOTES] = page_notes,
		[TASK_PART_ACCEPTANCE_CRITERIA] = page_criteria,
		[TASK_PART_TAGS] = page_tags,
		[TASK_PART_DEPENDS_ON] = page_deps,
		[TASK_PART_DESCRIPTION] = range_whole,
		[TASK_PART_RESULT] = range_whole,
		[TASK_PART_NOTE] = range_note,
	};
	struct page p = { .call = call,
			  .in = in,
			  .offset = in->offset,
			  .limit = in->has_limit ? in->limit : INT32_MAX,
			  .out = out };
	struct task_row t;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = task_find(call, in->task, &t)) < 0)
		return rc;
	p.task = t.id;
	rc = parts[in->part](&p);
	out->next = out->text ? p.next
			      : in->offset + (int64_t)(out->n_notes +
						       out->n_acceptance_criteria +
						       out->n_entries);
	out->more = out->next < out->size;
	return rc < 0 ? rc : 0;
}
