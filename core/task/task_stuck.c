/*
 * task_stuck - tasks that stand still behind one that failed or was called off, and who is
 * told of them.
 */
#include "core/task/task.h"
#include "core/team/team.h"
#include "core/turn/chain.h"

enum {
	STUCK_NAMED = 8, /* the others are counted... */
	STUCK_COUNTED = 20, /* ...up to so many */
};

/* The first of the tasks by their ids, and how many more there are. */
static const char *stuck_ids(struct call *call, const struct tasks_behind_row *rows,
			     size_t n)
{
	const char *list = "";

	for (size_t i = 0; i < n && i < STUCK_NAMED; i++)
		list = arena_printf(&call->arena, "%s%s%s", list, *list ? ", " : "",
				    task_name(call, rows[i].number));
	if (n > STUCK_COUNTED)
		return arena_printf(&call->arena, "%s and more", list);
	return n > STUCK_NAMED ? arena_printf(&call->arena, "%s and %zu more", list,
					      n - STUCK_NAMED)
			       : list;
}

int task_stuck(struct call *call, const char **says)
{
	struct tasks_behind_row *rows = NULL;
	size_t n = 0;
	int rc = sql_all(call, tasks_stuck, &rows, &n, .team = call->caller.team,
			 .limit = STUCK_COUNTED + 1);

	*says = NULL;
	if (rc >= 0 && n)
		*says = arena_printf(&call->arena,
				     "%s%zu %s for failed or called-off tasks: %s",
				     n > STUCK_COUNTED ? "over " : "",
				     n > STUCK_COUNTED ? STUCK_COUNTED : n,
				     n == 1 ? "waits" : "wait", stuck_ids(call, rows, n));
	return rc < 0 ? rc : 0;
}

const char *task_behind(struct call *call, int64_t task)
{
	struct tasks_behind_row *rows = NULL;
	size_t n = 0;
	int rc = sql_all(call, tasks_behind, &rows, &n, .task = task,
			 .limit = STUCK_COUNTED + 1);

	return rc < 0 || !n ? NULL
			    : arena_printf(&call->arena, "%s %s for it",
					   stuck_ids(call, rows, n),
					   n == 1 ? "waits" : "wait");
}

int task_tell_stuck(struct call *call, int64_t team, int64_t task, int64_t number,
		    bool failed)
{
	const char *behind, *id = task_name(call, number);
	struct task_in_the_way_row w;
	int rc = sql_row(call, task_in_the_way, &w, .dep = task);

	if (rc <= 0 || !w.any)
		return rc < 0 ? rc : 0;
	if ((rc = sql_run(call, task_restick, .task = task)) < 0 ||
	    !(behind = task_behind(call, task)))
		return call->fault.code;
	/* A lead knows of what it calls off itself. */
	if (!failed && call->caller.level == WHO_LEAD)
		return 0;
	return team_tell(
		call, team, "task_update",
		arena_printf(&call->arena,
			     "Task %s %s, and %s. %s the tasks that wait other "
			     "dependencies (`task update`).",
			     id, failed ? "failed" : "was called off", behind,
			     failed ? arena_printf(&call->arena,
						   "Retry it (`task retry %s`), or give",
						   id)
				    : "Give"),
		CHAIN_NOTICE);
}
