/*
 * agent_doing - says what members of a team do, for a caller that waits for them.
 */
#include <inttypes.h>
#include <string.h>

#include "core/agent/agent.h"

enum {
	DOING_MOST = 5, /* maximum number of members without a given name */
	DOING_MIN = 120, /* seconds from which the time is in minutes */
};

static void agent_doing_add(struct call *call, const struct agent_line *line,
			    const char **doing)
{
	const int64_t s = (call->now - line->last_active) / 1000;
	const bool in_min = s >= DOING_MIN;
	const enum agent_status status = agent_status_now(line->status, line->task);

	*doing = arena_printf(
		&call->arena, "%s%s%s is %s%s%s%s%s, last seen %" PRId64 " %s ago",
		*doing ? *doing : "", *doing && **doing ? "; " : "", line->name,
		line->blocked && status == AGENT_STATUS_WORKING
			? "blocked"
			: field_choice(&record_agent_line, "status", status),
		line->task ? " on " : "", line->task ? line->task : "",
		line->blocked ? ": " : "", line->blocked ? line->blocked : "",
		in_min  ? s / 60
		: s > 0 ? s
			: 0,
		in_min ? "min" : "s");
}

/* Whether `doing` has a sentence about the member already. */
static bool agent_doing_has(const char *doing, const char *name)
{
	const size_t n = strlen(name);

	for (const char *s = doing; s && *s; s = strstr(s, "; "), s = s ? s + 2 : NULL)
		if (!strncmp(s, name, n) && !strncmp(s + n, " is ", 4))
			return true;
	return false;
}

int agent_tell_doing(struct call *call, const char *only, const char **doing)
{
	struct agent_line line;
	struct query q = { 0 };
	size_t n = 0;
	int rc;

	while (memset(&line, 0, sizeof(line)),
	       (rc = sql_each(call, &q, agent_lines, &line, .team = call->caller.team,
			      .after = "", .now = call->now)) > 0) {
		if (only ? strcmp(line.name, only) != 0
			 : !line.task || !strcmp(line.name, call->caller.name))
			continue;
		if (!agent_doing_has(*doing, line.name))
			agent_doing_add(call, &line, doing);
		if (only || ++n == DOING_MOST)
			break;
	}
	return query_over(&q, rc);
}
