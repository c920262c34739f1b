#include "core/event.h"

int event_emit_as(struct call *call, int kind, int64_t team, int64_t actor,
		  int64_t subject, int64_t target, const char *detail)
{
	int rc = sql_run(call, event_add, .now = call->now, .kind = kind, .team = team,
			 .actor = actor, .via = call->identity.as, .subject = subject,
			 .target = target, .detail = detail);

	return rc < 0 ? rc : 0;
}

int event_emit(struct call *call, int kind, int64_t subject, int64_t target,
	       const char *detail)
{
	return event_emit_as(call, kind, call->caller.team, call->caller.agent, subject,
			     target, detail);
}
