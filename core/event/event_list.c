/* event_list - reads the event log. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/access/who.h"
#include "core/event/event.h"
#include "core/call/space.h"

/* A call searches at most LOOK_MOST event numbers. If this limit shortens the search, the
 * answer gives an event number. The next call goes on from this number. In a search for the
 * newest events, this number is the one at which the search began. */
enum { LOOK_MOST = 100000, NOBODY = -2 };

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct names {
	int64_t low, high; /* numbers of event kinds; 0: any kind */
	int64_t kinds; /* bit set of wanted kinds: bit 0 stands for `low` */
};

/* A kind `task` means every kind whose name begins with `task.`; a whole name such as
 * `task.claimed` means only that kind. */
static int kinds_of(struct call *call, const char *kind, struct names *out)
{
	size_t n = kind ? strlen(kind) : 0;

	*out = (struct names){ 0 };
	if (!kind)
		return 0;
	for (size_t i = 0; i < event_count; i++) {
		if (!event_kind_is(&event_table[i], kind, n))
			continue;
		if (!out->low)
			out->low = event_table[i].number;
		out->high = event_table[i].number;
		/* The kinds of one noun need not have consecutive numbers. Kinds of other nouns
		 * may lie between them. */
		assert(out->high - out->low < 63);
		out->kinds |= (int64_t)1 << (out->high - out->low);
	}
	if (out->low)
		return 0;
	return fault_set(&call->fault, FAULT_INVALID, "/kind", "there is no event %s",
			 kind);
}

/* The conditions for the events that the caller wants. */
struct wanted {
	struct names kinds;
	const char *by; /* the actor's name; NULL: any actor */
	int64_t actor; /* actor number of `by`; NOBODY: `by` is an agent or NULL */
	int64_t since, upto; /* the first and the last number of wanted events */
	int64_t looked_from; /* number at which a search for the newest events begins; 0:
				the first number */
};

static int find_actor(struct call *call, const char *by, struct wanted *w)
{
	struct event_actor_known_row r;
	int rc;

	w->by = by;
	w->actor = !by                           ? NOBODY
		   : strcmp(by, "operator") == 0 ? ACTOR_OPERATOR
		   : strcmp(by, "host") == 0     ? ACTOR_HOST
						 : NOBODY;
	if (!by || w->actor != NOBODY)
		return 0;
	rc = sql_row(call, event_actor_known, &r, .name = by, .team = call->caller.team);
	if (rc < 0 || r.known)
		return rc < 0 ? rc : 0;
	return fault_set(&call->fault, FAULT_NOT_FOUND, "/by", "there is no %s", by);
}

/* Finds the first event at or after a time. The result is `otherwise` if no time is given. */
static int first_at(struct call *call, bool has, int64_t at, int64_t otherwise,
		    int64_t *out)
{
	struct event_since_row r;
	int rc = has ? sql_row(call, event_since, &r, .at = at) : 0;

	*out = rc > 0 ? r.seq : otherwise;
	return rc < 0 ? rc : 0;
}

static int find_wanted(struct call *call, const struct event_list_in *in, int64_t first,
		       int64_t last, struct wanted *w)
{
	int64_t end;
	int rc;

	if ((rc = kinds_of(call, in->kind, &w->kinds)) < 0 ||
	    (rc = find_actor(call, in->by, w)) < 0 ||
	    (rc = first_at(call, in->has_since, in->since, first, &w->since)) < 0 ||
	    (rc = first_at(call, in->has_until, in->until, last + 1, &end)) < 0)
		return rc;
	w->upto = end - 1;
	return 0;
}

/* The number at which a search for the newest events begins. The search is limited so that
 * other callers need not wait long. The operator's search is not limited. */
static int64_t look_from(const struct call *call, const struct wanted *w)
{
	if (call->caller.level >= WHO_OPERATOR)
		return w->since;
	return larger(w->since, w->upto - LOOK_MOST + 1);
}

/* Finds the event number after which the answer begins. */
static int event_list_find_start(struct call *call, const struct event_list_in *in,
				 struct wanted *w, int64_t *after)
{
	const int64_t low = look_from(call, w);
	struct events_newest_row r;
	int rc;

	*after = in->has_after ? in->after : w->since - 1;
	if (in->has_since && *after < w->since - 1)
		*after = w->since - 1;
	if (in->has_after || in->has_since)
		return 0;
	rc = sql_row(call, events_newest, &r, .team = call->caller.team,
		     .low = w->kinds.low, .high = w->kinds.high, .kinds = w->kinds.kinds,
		     .by = w->by, .actor = w->actor, .since = low, .upto = w->upto,
		     .limit = in->limit);
	*after = r.seq;
	if (rc > 0 && low > w->since && r.n < in->limit)
		w->looked_from = low;
	return rc < 0 ? rc : 0;
}

static int read_events(struct call *call, const struct event_list_in *in, int64_t after,
		       int64_t upto, const struct wanted *w, struct event_list_out *out)
{
	struct event_line_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, events_after, &r, .after = after, .upto = upto,
			      .team = call->caller.team, .low = w->kinds.low,
			      .high = w->kinds.high, .kinds = w->kinds.kinds, .by = w->by,
			      .actor = w->actor, .limit = in->limit + 1)) > 0) {
		struct event e;

		if ((rc = event_show(call, &r, &e)) < 0 ||
		    (!call->form.brief && (rc = event_tell(call, &r, &e)) < 0))
			break;
		e.detail = space_cut(call, e.detail, space_all(call) / 8, &e.detail_size);
		e.has_detail_size = e.detail_size > 0;
		if (!space_put(call, out, events, &record_event, &e, in->limit))
			break;
	}
	return query_over(&q, rc);
}

int event_gone(struct call *call, const char *where, int64_t first)
{
	call->as_of = first - 1;
	fault_set(&call->fault, FAULT_NOT_FOUND, where,
		  "events up to %" PRId64 " were removed", first - 1);
	return fault_hint(&call->fault, "Continue after event %" PRId64 ".", first - 1);
}

int event_list(struct call *call, const struct event_list_in *in,
	       struct event_list_out *out)
{
	struct event_first_row first;
	struct event_last_row last;
	struct state_keys_row state;
	struct team_born_row born = { 0 };
	struct wanted w = { 0 };
	int64_t after, upto;
	int rc;

	if (((in->team || call->identity.agent) &&
	     (rc = who_team_then(call, in->team)) < 0) ||
	    (rc = sql_row(call, event_first, &first)) < 0 ||
	    (rc = sql_row(call, event_last, &last)) < 0 ||
	    (rc = sql_row(call, state_keys, &state)) < 0 ||
	    (rc = sql_row(call, team_born, &born, .team = call->caller.team)) < 0 ||
	    (rc = find_wanted(call, in, larger(first.seq, born.first_event), last.seq,
			      &w)) < 0 ||
	    (rc = event_list_find_start(call, in, &w, &after)) < 0)
		return rc;
	if (in->has_after && after < first.seq - 1)
		return event_gone(call, "/after", first.seq);
	after = larger(after, born.first_event - 1);
	upto = w.upto;
	if (upto - after > LOOK_MOST && (in->has_after || in->has_since))
		upto = after + LOOK_MOST;
	if (upto > after && (rc = read_events(call, in, after, upto, &w, out)) < 0)
		return rc;
	call->as_of = last.seq;
	out->looked_from = w.looked_from;
	out->has_looked_from = w.looked_from > 0;
	out->next = out->n_events ? out->events[out->n_events - 1].seq : after;
	if (!out->more && upto < w.upto) {
		/* Skips event numbers without an event, such as the gap after an import.
		 * Otherwise a caller would read many empty pages. */
		if ((rc = sql_row(call, event_first, &first, .after = upto)) < 0)
			return rc;
		out->more = true;
		out->next = first.seq - 1;
	} else if (!out->more && (out->next < last.seq || !out->n_events)) {
		out->next = last.seq; /* even if `after` is beyond the last event */
	}
	out->cursor =
		arena_printf(&call->arena, "%s.%" PRId64, state.incarnation, out->next);
	if (out->n_events == 0 && !out->more && in->wait_seconds > 0) {
		call->wait_on = WAKE_EVENT;
		call->wait_key = call->caller.team;
	}
	return 0;
}
