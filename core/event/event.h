/*
 * event - the log of all changes with their actors, and the functions by which all handlers use
 * the log.
 */
#ifndef CORE_EVENT_EVENT_H
#define CORE_EVENT_EVENT_H

#include "core/call/call.h"
#include "ops.gen.h"

/* Actors other than agents. */
enum { ACTOR_OPERATOR = -1, ACTOR_HOST = 0 };

/* An event to write, with its actor, kind, subject and target. */
struct new_event {
	int kind; /* EVENT_… */
	int64_t team, actor, subject, target;
	const char *detail; /* may be NULL */
	int64_t seq; /* from sql_new_id(); 0: the next number */
};

/* Appends an event in any team and by any actor. A change that the clock causes counts as a
 * change by the host, even if another process stores the change. Returns 0 or negative. */
int event_record(struct call *call, const struct new_event *d);
#define event_by(call, ...) event_record((call), &(const struct new_event){ __VA_ARGS__ })

/* Appends an event by the caller in the caller's team; `detail` may be NULL. Returns 0 or
 * negative. */
int event_emit(struct call *call, int kind, int64_t subject, int64_t target,
	       const char *detail);

/* The number by which an event names the caller as its actor. */
int64_t event_actor(const struct call *call);

/* An actor's name. `agent` is the name in the agent's row. */
const char *event_actor_name(int64_t actor, const char *agent);

/* --- event_show.c: events as answers show them ------------------------------------ */

/* Fills `e` from a row, with the names of subject and target. The texts are in the row and in
 * the call's arena. Returns 0 or negative. */
int event_show(struct call *call, const struct event_line_row *row, struct event *e);

/* Fills e->text and e->to, which event_show() leaves out: the first words of what was said, the
 * title of a task, and the recipients of a message to several. The texts of a message that the
 * caller may not see are left out. Returns 0 or negative. */
int event_tell(struct call *call, const struct event_line_row *row, struct event *e);
/* The first words of a note on a task, or of a ticked criterion. *out stays for other events.
 * Returns 0 or negative. */
int event_task_text(struct call *call, int64_t kind, int64_t task, int64_t at,
		    const char *detail, const char **out);

/* Whether the `n` bytes at `word` are the whole name or the noun of the kind. */
bool event_kind_is(const struct event_kind *kind, const char *word, size_t n);

/* Refuses a call that asks for removed events. `first` is the number of the first event that is
 * not removed. */
int event_gone(struct call *call, const char *where, int64_t first);

#endif
