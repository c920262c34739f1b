#include "core/access/pair.h"

#include <inttypes.h>

enum {
	FIRST_MS = 2000, /* the first wait; each later wait is twice as long */
	MOST_MS = 30000, /* the longest wait */
	SOON_MS = 5000, /* a message within this time after the pair's last message makes
			   the next wait longer */
	LATE_MS = 1000, /* a message within this time after the end of a wait makes the
			   next wait longer */
	QUIET_MS = 30000, /* after this time without a message, a pair begins again
			     without a wait */
	A_MINUTE = 10, /* maximum number of a pair's messages in a minute */
};

static int64_t pair_wait_of(int64_t level)
{
	return level < 4 ? FIRST_MS << level : MOST_MS;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The time at which the next message of a pair may be sent. `p` is the pair's last message.
 * `*level` gets the next message's level: how many times the pair's wait was doubled. */
static int64_t pair_next_of(const struct pair_last_row *p, int64_t now, int64_t *level)
{
	int64_t free = p->due_at + pair_wait_of(p->level);
	int64_t soon = later(p->due_at + SOON_MS, free + LATE_MS);

	*level = 0;
	if (now >= later(p->due_at + QUIET_MS, free + LATE_MS))
		return now;
	*level = now < soon ? p->level + 1 : p->level;
	return later(now, free);
}

static int pair_refuse(struct call *call, const struct agent_row *to, int64_t wait,
		       bool delays, const char *where)
{
	fault_set(&call->fault, FAULT_RATE_LIMITED, where,
		  delays ? "too many messages to %s are delayed already"
			 : "you wrote to %s a moment ago",
		  to->name);
	fault_hint(&call->fault,
		   "Wait %" PRId64 ".%03d s, then send the message again%s.", wait / 1000,
		   (int)(wait % 1000),
		   delays ? ""
			  : ", or send it now with {on_limit=delay|--on-limit "
			    "delay}, for delivery after that time");
	call->fault.retry_after_ms = wait;
	return call->fault.code;
}

/* Finds the time `*due` at which a new message of the pair may be delivered, and the message's
 * `*level` (how many times the pair's wait was doubled). */
static int pair_find_next(struct call *call, int64_t sender, int64_t recipient,
			  int64_t *due, int64_t *level)
{
	struct pair_before_row tenth;
	struct pair_last_row last;
	int rc;

	*due = call->now;
	*level = 0;
	rc = sql_row(call, pair_last, &last, .sender = sender, .recipient = recipient);
	if (rc > 0)
		*due = later(pair_next_of(&last, call->now, level), last.due_at + 1);
	if (rc >= 0)
		rc = sql_row(call, pair_before, &tenth, .sender = sender,
			     .recipient = recipient, .skip = A_MINUTE - 1);
	if (rc > 0)
		*due = later(*due, tenth.due_at + PAIR_MINUTE_MS);
	return rc < 0 ? rc : 0;
}

bool pair_holds(const struct call *call, bool turns)
{
	const struct config *c = &call->settings->config;

	if (!c->limits_enabled || !call->identity.agent || call->identity.as)
		return false;
	return c->limits_pair == PAIR_SCOPE_ALL ||
	       (c->limits_pair == PAIR_SCOPE_TURNS && turns);
}

int pair_next(struct call *call, int64_t sender, int64_t recipient, int64_t *at)
{
	int64_t level;

	return pair_find_next(call, sender, recipient, at, &level);
}

int pair_ask(struct call *call, int64_t sender, const struct agent_row *to, bool delays,
	     const char *where, int64_t *due)
{
	int64_t latest = call->now + (delays ? PAIR_DELAY_MOST_MS : 0), level;
	int rc = sql_late(call, pair_forget, .sender = sender, .recipient = to->id,
			  .before = call->now - PAIR_MINUTE_MS, .now = call->now);

	if (rc < 0 || (rc = pair_find_next(call, sender, to->id, due, &level)) < 0)
		return rc;
	if (*due > latest)
		return pair_refuse(call, to, *due - latest, delays, where);
	rc = sql_run(call, pair_add, .sender = sender, .recipient = to->id,
		     .due_at = *due, .now = call->now, .level = level);
	return rc < 0 ? rc : 0;
}
