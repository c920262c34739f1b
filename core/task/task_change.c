/*
 * task_change - makes tasks, and makes the changes for which the caller needs no claim.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/assignment/assignment.h"
#include "core/call/id.h"
#include "core/call/space.h"
#include "core/task/task.h"

/* --- making ------------------------------------------------------------------------------ */

/* Makes a file name of at most 40 bytes from a title, with lower-case letters and dashes. */
static const char *slug_of(struct call *call, const char *title)
{
	char *slug = arena_alloc(&call->arena, 42);
	size_t n = 0;

	for (const char *p = title; *p && n < 40; p++) {
		if (isalnum((unsigned char)*p))
			slug[n++] = (char)tolower((unsigned char)*p);
		else if (n > 0 && slug[n - 1] != '-')
			slug[n++] = '-';
	}
	while (n > 0 && slug[n - 1] == '-')
		n--;
	slug[n] = '\0';
	return n ? slug : "task";
}

/* Returns the title without the blanks around it. Sets a fault and returns NULL if the title
 * has nothing but blanks. */
static const char *trimmed(struct call *call, const char *title)
{
	size_t n;

	title += strspn(title, " \t\r\n");
	n = strlen(title);
	while (n > 0 && strchr(" \t\r\n", title[n - 1]))
		n--;
	if (n)
		return arena_strndup(&call->arena, title, n);
	fault_set(&call->fault, FAULT_INVALID, "/title", "must contain more than blanks");
	return NULL;
}

static int set_tags(struct call *call, int64_t task, const char **tags, size_t n)
{
	int rc = sql_run(call, task_tags_clear, .task = task);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = sql_run(call, task_tag_add, .task = task, .n = (int64_t)i,
			     .tag = tags[i]);
	return rc < 0 ? rc : sql_run(call, task_has, .id = task, .parts = TASK_HAS_TAGS);
}

static int set_criteria(struct call *call, int64_t task, const struct criterion *c,
			size_t n)
{
	int rc = sql_run(call, task_criteria_clear, .task = task);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = sql_run(call, task_criterion_add, .task = task, .n = (int64_t)i + 1,
			     .text = c[i].text, .done = c[i].done);
	return rc < 0 ? rc
		      : sql_run(call, task_has, .id = task, .parts = TASK_HAS_CRITERIA);
}

/* Refuses a dependency that leads back to the task, because the task could never begin. */
static int check_cycle(struct call *call, const struct task_row *t,
		       const struct task_row *dep, const char *where)
{
	struct task_way_row at = { dep->id, dep->number };
	const char *way;
	int rc;

	if (t->id == dep->id)
		return fault_set(&call->fault, FAULT_CONFLICT, where,
				 "task %s would wait for itself",
				 task_name(call, t->number));
	way = arena_printf(&call->arena, "%s → %s", task_name(call, t->number),
			   task_name(call, dep->number));
	while (at.id != t->id) {
		if ((rc = sql_row(call, task_way, &at, .task = t->id, .from = at.id)) <=
		    0)
			return rc;
		way = arena_printf(&call->arena, "%s → %s", way,
				   task_name(call, at.number));
	}
	fault_set(&call->fault, FAULT_CONFLICT, where,
		  "the dependencies would form a cycle: %s", way);
	return fault_hint(&call->fault, "Leave out one of these dependencies.");
}

static int set_deps(struct call *call, const struct task_row *t, const char **deps,
		    size_t n)
{
	struct task_count_deps_row count;
	struct task_row dep;
	bool waits;
	int rc = sql_run(call, task_dep_clear, .task = t->id);

	for (size_t i = 0; i < n && rc >= 0; i++) {
		const char *where = arena_printf(&call->arena, "/depends_on/%zu", i);

		rc = task_find_maybe(call, deps[i], &dep);
		if (rc == 0)
			return fault_set(&call->fault, FAULT_NOT_FOUND, where,
					 "there is no task %s in team %s", deps[i],
					 call->caller.team_name);
		if (rc < 0 || (rc = check_cycle(call, t, &dep, where)) < 0)
			return rc;
		rc = sql_run(call, task_dep_add, .task = t->id, .dep = dep.id);
		if (rc >= 0)
			rc = sql_run(call, task_await, .id = dep.id);
	}
	if (rc < 0 ||
	    (rc = sql_run(call, task_has, .id = t->id, .parts = TASK_HAS_DEPS)) < 0)
		return rc;
	if ((rc = sql_row(call, task_count_deps, &count, .id = t->id)) < 0 ||
	    (rc = sql_run(call, task_restick, .task = t->id)) < 0)
		return rc;
	waits = count.open_deps > 0;
	if (waits != (t->open_deps > 0) &&
	    (rc = sql_run(call, board_change, .team = call->caller.team,
			  .waiting = waits ? 1 : -1)) < 0)
		return rc;
	return waits;
}

/* Lets the pending tasks `ids` wait for the new task. A member may do so for every task, since
 * the member has found that the new task comes first. */
static int hold_up(struct call *call, const struct task_row *t, const char **ids,
		   size_t n)
{
	struct task_count_deps_row count;
	struct task_row held;
	int rc = 0;

	for (size_t i = 0; i < n && rc >= 0; i++) {
		const char *where = arena_printf(&call->arena, "/before/%zu", i);

		if ((rc = task_find(call, ids[i], &held)) < 0)
			return fault_move(&call->fault, "/task", where);
		if (held.state != TASK_STATE_PENDING)
			return fault_set(
				&call->fault, FAULT_CONFLICT, where,
				"task %s is %s; only a ready or waiting task can wait",
				task_name(call, held.number),
				task_word(held.state, held.open_deps));
		if ((rc = check_cycle(call, &held, t, where)) < 0 ||
		    (rc = sql_run(call, task_dep_add, .task = held.id, .dep = t->id)) <
			    0 ||
		    (rc = sql_run(call, task_await, .id = t->id)) < 0 ||
		    (rc = sql_run(call, task_has, .id = held.id,
				  .parts = TASK_HAS_DEPS)) < 0 ||
		    (rc = sql_row(call, task_count_deps, &count, .id = held.id)) < 0 ||
		    (rc = sql_run(call, task_restick, .task = held.id)) < 0 ||
		    (rc = sql_run(call, task_touch, .id = held.id, .now = call->now)) < 0)
			return rc;
		if (!held.open_deps &&
		    (rc = sql_run(call, board_change, .team = held.team, .waiting = 1)) <
			    0)
			return rc;
		rc = event_emit(call, EVENT_TASK_UPDATED, held.id, 0, NULL);
	}
	return rc < 0 ? rc : 0;
}

/* Finds the assignee of the new task, if the call names an assignee. */
static int find_assignee(struct call *call, const struct task_create_in *in,
			 struct agent_row *assignee)
{
	int rc;

	if (!in->assignee)
		return 0;
	if ((rc = who_one(call, in->assignee, "/assignee", assignee)) < 0 ||
	    (rc = who_may_own(call, assignee, "/assignee")) < 0)
		return rc;
	return assignee->id == call->caller.agent
		       ? 0
		       : who_leads(call, "/assignee", "", "give a task to another agent");
}

int task_make(struct call *call, const struct task_create_in *in)
{
	struct agent_row assignee = { 0 };
	struct task_row t = { 0 };
	const char *title = trimmed(call, in->title);
	struct task_number_row n;
	int rc;

	if (!title || (rc = find_assignee(call, in, &assignee)) < 0 ||
	    (rc = sql_row(call, task_number, &n, .team = call->caller.team)) < 0 ||
	    (t.id = sql_new_id(call, task)) < 0)
		return call->fault.code;
	rc = sql_run(call, task_add, .id = t.id, .team = call->caller.team,
		     .number = n.number, .slug = slug_of(call, title), .title = title,
		     .description = in->description, .priority = in->priority,
		     .assignee = assignee.id, .created_by = call->caller.agent,
		     .now = call->now);
	if (rc < 0)
		return rc;
	call->made = t.id;
	t.number = n.number;
	if ((in->n_tags && (rc = set_tags(call, t.id, in->tags, in->n_tags)) < 0) ||
	    (in->n_acceptance_criteria &&
	     (rc = set_criteria(call, t.id, in->acceptance_criteria,
				in->n_acceptance_criteria)) < 0) ||
	    (in->n_depends_on &&
	     (rc = set_deps(call, &t, in->depends_on, in->n_depends_on)) < 0))
		return rc;
	rc = event_emit(call, EVENT_TASK_CREATED, t.id, 0, NULL);
	if (rc >= 0)
		rc = hold_up(call, &t, in->before, in->n_before);
	if (rc >= 0 && assignee.id)
		rc = event_emit(call, EVENT_TASK_ASSIGNED, t.id, assignee.id, NULL);
	return rc < 0 ? rc : team_announce(call, call->caller.team);
}

int task_create(struct call *call, const struct task_create_in *in,
		struct task_create_out *out)
{
	int rc;

	if ((rc = who_team(call, in->team)) < 0)
		return rc;
	if (!call->made && (rc = task_make(call, in)) < 0)
		return rc;
	if (in->n_before)
		out->behind = task_behind(call, call->made);
	return call->fault.code ? call->fault.code
				: task_tell(call, call->made, &out->task);
}

/* Makes the tasks. The rows of the tasks have consecutive numbers, and call->made is the first
 * number. So a repeated call finds all the rows. A fault names the task and the task's
 * argument. */
static int create_all(struct call *call, const struct task_create_many_in *in)
{
	int64_t first = 0;

	for (size_t i = 0; i < in->n_tasks; i++) {
		struct task_create_in one = { 0 };
		char where[96];

		record_copy(&record_new_task, &in->tasks[i], &record_task_create_in,
			    &one);
		if (task_make(call, &one) < 0) {
			snprintf(where, sizeof(where), "/tasks/%zu%.60s", i,
				 call->fault.where);
			return fault_move(&call->fault, call->fault.where, where);
		}
		if (i == 0)
			first = call->made;
	}
	call->made = first;
	return 0;
}

int task_create_many(struct call *call, const struct task_create_many_in *in,
		     struct task_create_many_out *out)
{
	struct task_row t;
	int rc;

	if ((rc = who_team(call, in->team)) < 0)
		return rc;
	if (in->n_tasks == 0)
		return fault_set(&call->fault, FAULT_INVALID, "/tasks",
				 "must hold at least one task");
	if (!call->made && (rc = create_all(call, in)) < 0)
		return rc;
	for (size_t i = 0; i < in->n_tasks; i++) {
		if ((rc = sql_row(call, task_by_id, &t, .id = call->made + (int64_t)i,
				  .now = call->now)) <= 0)
			return rc < 0 ? rc
				      : fault_set(&call->fault, FAULT_NOT_FOUND, "",
						  "the tasks are gone");
		arena_add(&call->arena, out->ids, out->n_ids, task_name(call, t.number));
	}
	out->created = (int64_t)in->n_tasks;
	out->first = out->ids[0];
	out->last = out->ids[in->n_tasks - 1];
	return 0;
}

/* --- changing ------------------------------------------------------------------------------- */

/* Checks that the caller may change the text of a task. The creator, the owner and the lead may
 * change the text. */
static int may_edit(struct call *call, const struct task_row *t)
{
	if (t->created_by == call->caller.agent || t->owner == call->caller.agent)
		return 0;
	if (who_leads(call, "/task", "the task's creator, its owner",
		      "change the task") == 0)
		return 0;
	return fault_hint(&call->fault, "Write a note on the task: %s{| TEXT}.",
			  task_command(call, "task.note", t->number));
}

static int task_change_set_text(struct call *call, const struct task_update_in *in,
				const struct task_row *t, const char *title)
{
	int rc = sql_run(call, task_set_text, .id = t->id, .title = title,
			 .description = in->description,
			 .priority = in->has_priority ? in->priority : 0,
			 .seen = in->has_updated_at ? in->updated_at : 0,
			 .now = call->now);

	if (rc > 0 && in->has_priority)
		return sql_run(call, task_tag_rank, .task = t->id,
			       .priority = in->priority);
	if (rc)
		return rc;
	fault_set(&call->fault, FAULT_CONFLICT, "/updated_at",
		  "task %s changed meanwhile", task_name(call, t->number));
	return fault_hint(&call->fault, "Read the task again: %s.",
			  task_command(call, "task.show", t->number));
}

/* Whether a call gives anything to change. */
static bool task_change_gives(const struct task_update_in *in)
{
	return in->title || in->description || in->has_priority || in->tags ||
	       in->acceptance_criteria || in->depends_on;
}

static int task_change_update(struct call *call, const void *arg,
			      const struct task_row *t)
{
	const struct task_update_in *in = arg;
	const char *title = in->title ? trimmed(call, in->title) : NULL;
	int rc, blocked;

	if (in->title && !title)
		return call->fault.code;
	if ((rc = may_edit(call, t)) < 0 || !task_change_gives(in))
		return rc;
	if ((rc = task_change_set_text(call, in, t, title)) < 0 ||
	    (in->tags && (rc = set_tags(call, t->id, in->tags, in->n_tags)) < 0) ||
	    (in->acceptance_criteria &&
	     (rc = set_criteria(call, t->id, in->acceptance_criteria,
				in->n_acceptance_criteria)) < 0))
		return rc;
	if (in->depends_on) {
		if (t->state != TASK_STATE_PENDING)
			return fault_set(
				&call->fault, FAULT_CONFLICT, "/depends_on",
				"only a ready or waiting task can wait for other tasks");
		blocked = set_deps(call, t, in->depends_on, in->n_depends_on);
		if (blocked < 0)
			return blocked;
		if (!blocked && t->open_deps &&
		    (rc = event_emit(call, EVENT_TASK_READY, t->id, 0, NULL)) < 0)
			return rc;
	}
	return event_emit(call, EVENT_TASK_UPDATED, t->id, 0, NULL);
}

int task_update(struct call *call, const struct task_update_in *in,
		struct task_update_out *out)
{
	int rc = task_once(call, in->team, in->task, task_change_update, in, &out->task);

	out->changed = task_change_gives(in);
	if (rc >= 0 && !out->changed)
		out->note = arena_printf(&call->arena, "nothing to change in task %s",
					 out->task.id);
	return rc;
}

static int task_change_tick(struct call *call, const void *arg, const struct task_row *t)
{
	const struct task_tick_in *in = arg;
	int rc = 1;

	if (!in->n_criterion)
		return fault_set(&call->fault, FAULT_INVALID, "/criterion",
				 "must name at least one criterion");
	for (size_t i = 0; i < in->n_criterion && rc >= 0; i++) {
		const int64_t n = in->criterion[i];

		rc = sql_run(call, task_criterion_tick, .task = t->id, .n = n,
			     .done = in->done);
		if (rc == 0) {
			fault_set(&call->fault, FAULT_NOT_FOUND, "/criterion",
				  "task %s has no criterion %" PRId64,
				  task_name(call, t->number), n);
			return fault_hint(&call->fault,
					  "The criteria of the task, with numbers: %s.",
					  task_command(call, "task.show", t->number));
		}
		if (rc > 0)
			rc = event_emit(call, EVENT_TASK_TICKED, t->id, 0,
					arena_printf(&call->arena, "%" PRId64, n));
	}
	return rc < 0 ? rc : sql_run(call, task_touch, .id = t->id, .now = call->now);
}

int task_ticks(struct call *call, int64_t task, struct task_ticks *t)
{
	struct criterion c = { 0 };
	struct query q = { 0 };
	int64_t n = 0;
	int rc;

	while ((rc = sql_each(call, &q, task_criteria, &c, .task = task)) > 0) {
		n++;
		if (c.done)
			arena_add(&call->arena, t->ticked, t->n_ticked, n);
		else
			arena_add(&call->arena, t->left, t->n_left,
				  arena_printf(&call->arena, "%" PRId64 " %s", n,
					       c.text));
	}
	return rc;
}

const char *task_join(struct call *call, const char *const *texts, size_t n, size_t most)
{
	struct text out = { 0 };
	const char *all;

	for (size_t i = 0; i < n; i++) {
		size_t room = most > out.len ? most - out.len : 0;

		if (i && strlen(texts[i]) > room) {
			text_addf(&out, "; and %zu more", n - i);
			break;
		}
		text_addf(&out, "%s%.*s", i ? "; " : "",
			  (int)text_json_fit(texts[i], strlen(texts[i]), &room),
			  texts[i]);
	}
	all = arena_strdup(&call->arena, out.data ? out.data : "");
	text_release(&out);
	return all;
}

int task_tick(struct call *call, const struct task_tick_in *in, struct task_tick_out *out)
{
	struct task_ticks t = { 0 };
	int rc = task_once(call, in->team, in->task, task_change_tick, in, &out->task);

	if (rc < 0 || (rc = task_ticks(call, call->made, &t)) < 0)
		return rc;
	out->ticked = t.ticked;
	out->n_ticked = t.n_ticked;
	for (out->left = t.left;
	     out->n_left < t.n_left && space_take_text(call, t.left[out->n_left]);)
		out->n_left++;
	return 0;
}

int task_add_note(struct call *call, int64_t agent, int64_t task, const char *text)
{
	int64_t id = sql_new_id(call, task_note);
	int rc = id < 0 ? call->fault.code
			: sql_late(call, task_note_add, .id = id, .task = task,
				   .agent = agent, .now = call->now, .text = text);

	return rc < 0 ? rc
		      : sql_run(call, task_count_note, .id = task,
				.parts = TASK_HAS_NOTES, .now = call->now);
}

static int task_change_write_note(struct call *call, const void *arg,
				  const struct task_row *t)
{
	const struct task_note_in *in = arg;
	int rc;

	if (in->has_epoch && in->epoch != t->epoch) {
		fault_set(&call->fault, FAULT_CONFLICT, "/epoch",
			  "epoch %" PRId64 " is over; the task's epoch is %" PRId64,
			  in->epoch, t->epoch);
		return fault_hint(&call->fault,
				  "Leave `epoch` out to write without the claim.");
	}
	if ((rc = task_add_note(call, call->caller.agent, t->id, in->text)) < 0)
		return rc;
	return event_emit(call, EVENT_TASK_NOTED, t->id, 0, NULL);
}

int task_note(struct call *call, const struct task_note_in *in, struct task_note_out *out)
{
	return task_once(call, in->team, in->task, task_change_write_note, in,
			 &out->task);
}

int task_put_back(struct call *call, int64_t task)
{
	struct task_retry_row t;
	int rc = sql_row(call, task_retry, &t, .id = task, .now = call->now);

	if (rc <= 0)
		return rc;
	rc = task_moved(call, call->caller.team, TASK_STATE_FAILED, TASK_STATE_PENDING,
			t.open_deps);
	if (rc >= 0)
		rc = sql_run(call, task_restick, .task = task);
	if (rc < 0)
		return rc;
	/* If a person marked the task as failed, the task's command may still run. */
	if ((rc = assignment_call_off(call, task, true, event_actor(call))) < 0 ||
	    (rc = event_emit(call, EVENT_TASK_RETRIED, task, 0, NULL)) < 0)
		return rc;
	return 1;
}

static int retry(struct call *call, const void *arg, const struct task_row *t)
{
	const struct task_retry_in *in = arg;
	int rc = task_put_back(call, t->id);

	if (rc < 0)
		return rc;
	if (rc == 0) {
		fault_set(&call->fault, FAULT_CONFLICT, "/task",
			  "task %s is %s; only a failed task can be retried", in->task,
			  task_word(t->state_now, t->open_deps));
		return t->state == TASK_STATE_COMPLETED
			       ? task_hint(call, t->number, TASK_STATE_COMPLETED)
			       : call->fault.code;
	}
	return team_announce(call, call->caller.team);
}

int task_retry(struct call *call, const struct task_retry_in *in,
	       struct task_retry_out *out)
{
	return task_once(call, in->team, in->task, retry, in, &out->task);
}

static int task_change_cancel(struct call *call, const void *arg,
			      const struct task_row *t)
{
	const struct task_cancel_in *in = arg;
	int rc;

	if (t->created_by != call->caller.agent &&
	    (rc = who_leads(call, "/task", "the task's creator", "call the task off")) <
		    0)
		return rc;
	if ((rc = sql_run(call, task_cancel, .id = t->id, .agent = call->caller.agent,
			  .now = call->now)) < 0)
		return rc;
	if (rc == 0) {
		fault_set(&call->fault, FAULT_CONFLICT, "/task", "task %s is %s",
			  in->task, task_word(t->state, t->open_deps));
		return task_hint(call, t->number, (enum task_state)t->state);
	}
	if ((rc = task_moved(call, t->team, t->state, TASK_STATE_CANCELLED,
			     t->open_deps)) < 0 ||
	    (rc = assignment_call_off(call, t->id, true, event_actor(call))) < 0 ||
	    (rc = event_emit(call, EVENT_TASK_CANCELLED, t->id, t->owner, in->text)) <
		    0 ||
	    (rc = task_tell_stuck(call, t->team, t->id, t->number, false)) < 0)
		return rc;
	return team_announce(call, call->caller.team);
}

int task_cancel(struct call *call, const struct task_cancel_in *in,
		struct task_cancel_out *out)
{
	return task_once(call, in->team, in->task, task_change_cancel, in, &out->task);
}

/* --- assigning ------------------------------------------------------------------------------ */

static int dispatch(struct call *call, const struct task_assign_in *in,
		    const struct agent_row *to)
{
	struct draft d = { .sender = call->caller.agent,
			   .content = "",
			   .type = "task_assignment" };
	struct task_payload p = { .task_id = in->task,
				  .command = in->command,
				  .workdir = in->workdir,
				  .env = in->env,
				  .n_env = in->n_env,
				  .timeout_secs = in->timeout_secs };
	int64_t message = assignment_send(call, &d, to, &p);

	return message < 0 ? (int)message : 0;
}

static int assign(struct call *call, const void *arg, const struct task_row *t)
{
	const struct task_assign_in *in = arg;
	struct agent_row to = { 0 };
	int rc;

	if (in->agent && (rc = who_one(call, in->agent, "/agent", &to)) < 0)
		return rc;
	if (in->command && !in->agent)
		return fault_set(&call->fault, FAULT_INVALID, "/agent",
				 "a command needs an agent, whose daemon runs it");
	if (in->agent && !in->command && (rc = who_may_own(call, &to, "/agent")) < 0)
		return rc;
	/* If an observer's daemon runs the command, the task gets no assignee. An observer
	 * cannot claim tasks, so after a lapse no agent could claim the task. */
	rc = sql_run(call, task_assign, .id = t->id,
		     .assignee = in->agent && who_observes(&to) ? 0 : to.id,
		     .now = call->now);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return fault_set(
			&call->fault, FAULT_CONFLICT, "/task",
			"task %s is %s; only a ready or waiting task can be assigned",
			in->task, task_word(t->state_now, t->open_deps));
	if ((rc = event_emit(call, EVENT_TASK_ASSIGNED, t->id, to.id, NULL)) < 0)
		return rc;
	return in->command ? dispatch(call, in, &to) : 0;
}

int task_assign(struct call *call, const struct task_assign_in *in,
		struct task_assign_out *out)
{
	struct assignment_of_task_row x;
	int rc = task_once(call, in->team, in->task, assign, in, &out->task);

	if (rc < 0 || !in->command)
		return rc;
	rc = sql_row(call, assignment_of_task, &x, .task = call->made);
	if (rc > 0) {
		out->message_id = id_public(call, ID_MESSAGE, x.message, x.at);
		out->has_seq = true;
		out->seq = x.message;
	}
	return rc < 0 ? rc : 0;
}
