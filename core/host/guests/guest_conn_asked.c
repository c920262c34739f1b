#include "core/host/guests/guest_conn_inside.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/home/home.h"
#include "core/host/guests/hosted_guest.h"

void asked_end(struct asked *a, struct packet *answer, struct fault *f)
{
	a->done(a->arg, f->code ? NULL : answer, f);
	text_release(&a->held);
	free(a);
}

static void fail_asked(struct asked *a, enum fault_code code)
{
	struct fault f = { 0 };

	fault_set(&f, code, "",
		  code == FAULT_EXHAUSTED ? "the workspace's guest does not read"
		  : code == FAULT_INVALID ? "this is too much for one message to a guest"
					  : "the workspace's guest does not answer");
	asked_end(a, NULL, &f);
}

static struct asked *take_at(struct guest_conn *conn, struct asked **at)
{
	struct asked *a = *at;

	*at = a->next;
	if (!a->next)
		conn->asked_end = at;
	return a;
}

void guest_conn_fail_all(struct guest_conn *conn)
{
	while (conn->asked)
		fail_asked(take_at(conn, &conn->asked), FAULT_UNAVAILABLE);
}

struct asked *asked_take(struct guest_conn *conn, const json_t *id)
{
	/* A guest of the older dialect knows no ids: its answers come in order. */
	if (!id && conn->asked &&
	    (conn->guest->old || conn->state == GUEST_CONN_GREETING))
		return take_at(conn, &conn->asked);
	for (struct asked **at = &conn->asked; *at && json_is_integer(id);
	     at = &(*at)->next)
		if ((*at)->id == json_integer_value(id))
			return take_at(conn, at);
	return NULL;
}

void asked_next(struct guest_conn *conn)
{
	struct asked *a = conn->asked;

	if (!a || !a->held.len || conn->state < GUEST_CONN_GREETING ||
	    conn->state == GUEST_CONN_CLOSING)
		return;
	text_add(&conn->flow.out, a->held.data, a->held.len);
	text_release(&a->held);
	a->held = (struct text){ 0 };
	guest_conn_send(conn);
}

/* A request that cannot be sent is answered with a fault at the next tick. */
static enum fault_code send_asked(struct guest_conn *conn, struct asked *a,
				  const char *type, const void *src)
{
	bool old = conn->guest->old;
	json_t *id = old ? NULL : json_integer(a->id);
	struct fault f = { 0 };
	int rc;

	if (conn->state < GUEST_CONN_GREETING || conn->state == GUEST_CONN_CLOSING)
		rc = FAULT_UNAVAILABLE;
	else if (flow_left(&conn->flow) > UNREAD_MOST)
		rc = FAULT_EXHAUSTED;
	else
		rc = wire_write(old ? &a->held : &conn->flow.out, type, src, id, &f);
	json_decref(id);
	return (enum fault_code)rc;
}

void guest_conn_ask(struct guest_conn *conn, const char *type, const void *src,
		    int64_t timeout_ms, guest_conn_done *done, void *arg)
{
	struct asked *a = xcalloc(1, sizeof(*a));

	a->id = ++conn->last_id;
	a->type = wire_find(type);
	a->at = clock_boot_ms();
	a->until = a->at + timeout_ms;
	a->done = done;
	a->arg = arg;
	a->why = send_asked(conn, a, type, src);
	*conn->asked_end = a;
	conn->asked_end = &a->next;
	if (!a->why && conn->guest->old)
		asked_next(conn);
	else if (!a->why)
		guest_conn_send(conn);
}

/* Commands that stand still take their time: all that was asked before. */
static bool guest_conn_asked_stands_still(const struct guest_conn *conn,
					  const struct asked *a)
{
	return conn->guest->halted && a->at <= conn->guest->halt_since;
}

void asked_time_out(struct guest_conn *conn, int64_t now)
{
	struct asked **at = &conn->asked;

	while (*at) {
		struct asked *a = *at;
		enum fault_code why = a->why ? a->why : FAULT_TIMEOUT;

		if (!a->why &&
		    (a->until > now || guest_conn_asked_stands_still(conn, a))) {
			at = &a->next;
			continue;
		}
		/* An old guest's answers have no ids: a late one would be taken for the
		 * next. */
		if (why == FAULT_TIMEOUT && conn->guest->old && !a->held.len) {
			guest_conn_drop(conn);
			return;
		}
		fail_asked(take_at(conn, at), why);
		at = &conn->asked; /* the callee may have changed the list */
	}
}

void asked_leap(struct guest_conn *conn, int64_t ms)
{
	for (struct asked *a = conn->asked; a; a = a->next)
		a->until += ms;
}
