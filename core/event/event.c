#include "core/event/event.h"

int event_record(struct call *call, const struct new_event *d)
{
	int64_t seq = d->seq ? d->seq : sql_new_id(call, event);
	int rc = seq < 0 ? (int)seq
			 : sql_late(call, event_add, .seq = seq, .now = call->now,
				    .kind = d->kind, .team = d->team, .actor = d->actor,
				    .via = d->actor != ACTOR_HOST && call->identity.as,
				    .subject = d->subject, .target = d->target,
				    .detail = d->detail);

	return rc < 0 ? rc : 0;
}

int64_t event_actor(const struct call *call)
{
	if (call->caller.agent)
		return call->caller.agent;
	return call->caller.level == WHO_HOST ? ACTOR_HOST : ACTOR_OPERATOR;
}

const char *event_actor_name(int64_t actor, const char *agent)
{
	return actor == ACTOR_HOST ? "host" : actor < 0 ? "operator" : agent;
}

int event_emit(struct call *call, int kind, int64_t subject, int64_t target,
	       const char *detail)
{
	return event_by(call, .kind = kind, .team = call->caller.team,
			.actor = event_actor(call), .subject = subject, .target = target,
			.detail = detail);
}
