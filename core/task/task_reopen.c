/*
 * task_reopen - puts a completed task back on the board.
 */
#include <inttypes.h>

#include "core/assignment/assignment.h"
#include "core/task/task.h"

enum {
	REOPEN_SHOWN = 1000, /* maximum number of tasks that wait again in the answer */
	REOPEN_BYTES = 160, /* bytes of the tasks in a fault */
};

/* Refuses to reopen a task if tasks that depend on it are claimed or have ended, since these
 * tasks cannot wait for it again. Claims whose lease has run out are ended first. */
static int reopen_refuse(struct call *call, const struct task_row *t)
{
	struct task_dependents_row *all = NULL;
	const char **past = NULL;
	size_t n, n_past = 0;
	int rc = sql_all(call, task_dependents, &all, &n, .dep = t->id, .now = call->now);

	for (size_t i = 0; i < n && rc >= 0; i++) {
		if (all[i].state != all[i].state_now)
			rc = task_settle(call, all[i].id, 1, NULL);
		if (all[i].state_now != TASK_STATE_PENDING)
			arena_add(&call->arena, past, n_past,
				  arena_printf(&call->arena, "%s (%s)",
					       task_name(call, all[i].number),
					       field_choice(&record_task, "status",
							    all[i].state_now)));
	}
	if (rc < 0 || !n_past)
		return rc;
	fault_set(&call->fault, FAULT_CONFLICT, "/task",
		  "tasks that depend on task %s are claimed or have ended: %s",
		  task_name(call, t->number),
		  task_join(call, past, n_past, REOPEN_BYTES));
	return fault_hint(&call->fault, "To leave these tasks as they are, add "
					"{anyway=true|--anyway}.");
}

/* Keeps the result of a task as a note, with who completed the task. */
static int reopen_note(struct call *call, const struct task_row *t)
{
	struct agent_name_row a = { 0 };
	struct text note = { 0 };
	int rc = sql_row(call, agent_name, &a, .id = t->ended_by);

	if (rc < 0)
		return rc;
	text_addf(&note, "Reopened. %s had completed the task", rc ? a.name : "Somebody");
	if (t->branch)
		text_addf(&note, ", on branch %s", t->branch);
	if (t->commit_id)
		text_addf(&note, ", at commit %s", t->commit_id);
	text_addf(&note, t->result && *t->result ? ": %s" : ".%s",
		  t->result ? t->result : "");
	rc = task_add_note(call, call->caller.agent, t->id,
			   arena_strdup(&call->arena, note.data));
	text_release(&note);
	return rc;
}

/* Lets the pending tasks that depend on the task wait for it again. */
static int reopen_block(struct call *call, const struct task_row *t,
			struct task_reopen_out *out)
{
	struct task_unblocks_row *all = NULL;
	int64_t waiting = 0;
	size_t n;
	int rc = sql_all(call, task_reblocks, &all, &n, .dep = t->id);

	for (size_t i = 0; i < n && rc >= 0; i++) {
		if (all[i].open_deps != 1 || all[i].state != TASK_STATE_PENDING)
			continue;
		if (waiting++ < REOPEN_SHOWN)
			arena_add(&call->arena, out->waiting, out->n_waiting,
				  task_name(call, all[i].number));
	}
	if (rc >= 0 && waiting)
		rc = sql_run(call, board_change, .team = t->team, .waiting = waiting);
	return rc < 0 ? rc : sql_run(call, task_restick, .task = t->id);
}

struct reopening {
	const struct task_reopen_in *in;
	struct task_reopen_out *out;
};

static int reopen(struct call *call, const void *arg, const struct task_row *t)
{
	const struct reopening *r = arg;
	struct fault *f = &call->fault;
	int rc = sql_run(call, task_reopen, .id = t->id, .now = call->now);

	if (rc < 0)
		return rc;
	if (rc == 0) {
		fault_set(f, FAULT_CONFLICT, "/task",
			  "task %s is %s; only a completed one is reopened",
			  task_name(call, t->number), task_word(t->state, t->open_deps));
		return t->state == TASK_STATE_FAILED
			       ? task_hint(call, t->number, TASK_STATE_FAILED)
			       : f->code;
	}
	if ((t->ended_by != call->caller.agent &&
	     (rc = who_leads(call, "/task", "the agent that completed the task",
			     "reopen the task")) < 0) ||
	    (!r->in->anyway && (rc = reopen_refuse(call, t)) < 0) ||
	    (rc = reopen_note(call, t)) < 0 ||
	    (rc = task_moved(call, t->team, TASK_STATE_COMPLETED, TASK_STATE_PENDING,
			     t->open_deps)) < 0 ||
	    (rc = reopen_block(call, t, r->out)) < 0 ||
	    /* If a person completed the task, the task's command may still run. */
	    (rc = assignment_call_off(call, t->id, true, event_actor(call))) < 0 ||
	    (rc = event_emit(call, EVENT_TASK_REOPENED, t->id, t->ended_by, NULL)) < 0)
		return rc;
	return team_announce(call, t->team);
}

int task_reopen(struct call *call, const struct task_reopen_in *in,
		struct task_reopen_out *out)
{
	struct reopening r = { in, out };

	return task_once(call, in->team, in->task, reopen, &r, &out->task);
}
