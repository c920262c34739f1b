#include "core/host/guests/line_inside.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/home/home.h"
#include "core/host/guests/tether.h"

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

static struct asked *take_at(struct line *line, struct asked **at)
{
	struct asked *a = *at;

	*at = a->next;
	if (!a->next)
		line->asked_end = at;
	return a;
}

void line_fail_all(struct line *line)
{
	while (line->asked)
		fail_asked(take_at(line, &line->asked), FAULT_UNAVAILABLE);
}

struct asked *asked_take(struct line *line, const json_t *id)
{
	/* A guest of the older dialect knows no ids: its answers come in order. */
	if (!id && line->asked && (line->tether->old || line->state == LINE_GREETING))
		return take_at(line, &line->asked);
	for (struct asked **at = &line->asked; *at && json_is_integer(id);
	     at = &(*at)->next)
		if ((*at)->id == json_integer_value(id))
			return take_at(line, at);
	return NULL;
}

void asked_next(struct line *line)
{
	struct asked *a = line->asked;

	if (!a || !a->held.len || line->state < LINE_GREETING ||
	    line->state == LINE_CLOSING)
		return;
	text_add(&line->flow.out, a->held.data, a->held.len);
	text_release(&a->held);
	a->held = (struct text){ 0 };
	line_send(line);
}

/* A request that cannot be sent is answered with a fault at the next tick. */
static enum fault_code send_asked(struct line *line, struct asked *a, const char *type,
				  const void *src)
{
	bool old = line->tether->old;
	json_t *id = old ? NULL : json_integer(a->id);
	struct fault f = { 0 };
	int rc;

	if (line->state < LINE_GREETING || line->state == LINE_CLOSING)
		rc = FAULT_UNAVAILABLE;
	else if (flow_left(&line->flow) > UNREAD_MOST)
		rc = FAULT_EXHAUSTED;
	else
		rc = wire_write(old ? &a->held : &line->flow.out, type, src, id, &f);
	json_decref(id);
	return (enum fault_code)rc;
}

void line_ask(struct line *line, const char *type, const void *src, int64_t timeout_ms,
	      line_done *done, void *arg)
{
	struct asked *a = xcalloc(1, sizeof(*a));

	a->id = ++line->last_id;
	a->type = wire_find(type);
	a->until = clock_boot_ms() + timeout_ms;
	a->done = done;
	a->arg = arg;
	a->why = send_asked(line, a, type, src);
	*line->asked_end = a;
	line->asked_end = &a->next;
	if (!a->why && line->tether->old)
		asked_next(line);
	else if (!a->why)
		line_send(line);
}

void asked_time_out(struct line *line, int64_t now)
{
	struct asked **at = &line->asked;

	while (*at) {
		struct asked *a = *at;
		enum fault_code why = a->why ? a->why : FAULT_TIMEOUT;

		if (!a->why && a->until > now) {
			at = &a->next;
			continue;
		}
		/* Without ids a late answer would be taken for the next one's. */
		if (why == FAULT_TIMEOUT && line->tether->old && !a->held.len) {
			line_drop(line);
			return;
		}
		fail_asked(take_at(line, at), why);
		at = &line->asked; /* the callee may have changed the list */
	}
}

void asked_leap(struct line *line, int64_t ms)
{
	for (struct asked *a = line->asked; a; a = a->next)
		a->until += ms;
}
