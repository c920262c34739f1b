#include "core/client/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/access/limit.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/client/client_inside.h"
#include "core/mirror/mirror.h"

int client_open(struct client **out, const struct client_options *o, struct fault *f)
{
	struct client *c = xcalloc(1, sizeof(*c));

	c->o = *o;
	c->bell = c->epoll = -1;
	if (o->way) {
		*out = c;
		return 0;
	}
	mirror_attend(c->o.home);
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0) {
		free(c);
		return fault_set(f, FAULT_IO, "", "epoll: %m");
	}
	*out = c;
	return 0;
}

void client_close(struct client *c)
{
	struct ticket *t;

	if (!c)
		return;
	client_settle_all(c, false);
	while ((t = c->calls)) {
		c->calls = t->next;
		if (c->o.way)
			c->o.way->cancel(c->o.way_arg, t->number);
		if (t->link)
			socket_leave(c, t->link);
		direct_forget(t);
		json_decref(t->args);
		free(t);
	}
	if (c->link)
		socket_close(c, c->link);
	direct_close(c);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c);
}

bool client_hosted(const struct client *c)
{
	return c->hosted;
}

/* A host takes a connection for whom its first frame named. */
void client_become(struct client *c, const struct identity *who)
{
	for (struct ticket *t = c->calls; t; t = t->next)
		if (!t->as) {
			t->before = c->o.identity;
			t->as = &t->before;
		}
	c->o.identity = *who;
	socket_part(c);
}

void client_act_as(struct client *c, const struct identity *who)
{
	c->as = who;
}

int client_fd(const struct client *c)
{
	return c->epoll;
}

/* --- calls ------------------------------------------------------------------- */

/* Keys are UUIDv7, in order of time, so that keys made at one time are neighbours in
 * their index. */
void client_key(char out[37])
{
	uint64_t a = home_random(), b = home_random();
	uint64_t now = (uint64_t)clock_wall_ms();

	snprintf(out, 37, "%08llx-%04llx-7%03llx-%04llx-%012llx",
		 (unsigned long long)(now >> 16 & 0xffffffff),
		 (unsigned long long)(now & 0xffff), (unsigned long long)(a & 0xfff),
		 (unsigned long long)(0x8000 | (a >> 12 & 0x3fff)),
		 (unsigned long long)(b & 0xffffffffffff));
}

static void client_add_key(const struct op *op, json_t *args)
{
	const char *name = op_key(op);
	char key[37];

	if (!(op->flags & OP_WRITE) || op->who == WHO_HOST || json_object_get(args, name))
		return;
	client_key(key);
	json_object_set_new(args, name, json_string(key));
}

/* The value of a number among the arguments, its default when absent. */
static int64_t int_arg(const json_t *args, const struct field *field)
{
	const json_t *value;

	if (!field)
		return 0;
	value = json_object_get(args, field_spelling(field, args));
	return json_is_integer(value) ? json_integer_value(value) : field->def_int;
}

static int64_t client_wait_of(const struct op *op, const json_t *args)
{
	int64_t seconds = op_waits(op, args) ? int_arg(args, op->wait) : 0;

	seconds += int_arg(args, op->within);
	return seconds > 0 && seconds < INT32_MAX ? seconds * 1000 : 0;
}

/* Whether an operation's answer hands out messages or claims, which nobody would hold if
 * it were lost. */
static bool gives(const struct op *op, const json_t *args)
{
	return op->gives && (op->flags & OP_REQUEST || op_waits(op, args));
}

void ticket_end(struct client *c, struct ticket *t, const char *result,
		const struct fault *f)
{
	for (struct ticket **at = &c->calls; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			break;
		}
	c->telling = t->number;
	t->done(t->arg, result, f);
	direct_forget(t);
	json_decref(t->args);
	free(t);
}

void ticket_fail(struct client *c, struct ticket *t, enum fault_code code,
		 const char *text, const char *hint)
{
	struct fault f = { 0 };

	fault_set(&f, code, "", "%s", text);
	if (hint)
		fault_hint(&f, "%s", hint);
	ticket_end(c, t, NULL, &f);
}

bool client_reads_itself(const struct client *c, const struct op *op)
{
	return c->o.local_reads && c->o.home->dir[0] && !(op->flags & OP_WRITE) &&
	       !limit_binds(&c->o.home->settings.config, &c->o.identity, op->rate);
}

/* Reads may run beside the host, except those that tell about the host itself. */
static bool is_local(const struct client *c, const struct op *op)
{
	return c->o.direct || (client_reads_itself(c, op) &&
			       !(op->flags & (OP_NEEDS_HOST | OP_PREFERS_HOST)));
}

static bool client_is_open(const struct client *c, int64_t number)
{
	for (const struct ticket *t = c->calls; t; t = t->next)
		if (t->number == number)
			return true;
	return false;
}

void client_form(struct client *c, struct form form)
{
	c->form = form;
}

static void way_start(struct client *c, struct ticket *t)
{
	struct fault f = { 0 };

	t->until = INT64_MAX;
	if (c->o.way->start(c->o.way_arg, c, t->number, t->op, t->args, t->form,
			    t->confirms, &f) < 0)
		ticket_end(c, t, NULL, &f);
}

void client_answer(struct client *c, int64_t number, const char *result,
		   const struct fault *f, const struct given *given)
{
	struct ticket *t = c->calls;

	while (t && t->number != number)
		t = t->next;
	if (!t)
		return;
	if (given)
		client_owe(c, t, NULL, given);
	ticket_end(c, t, result, f);
}

/*~ Is there a host?  Station 3 of 12.
 *
 * A host is the process that `cadre up` starts.  It is a convenience, never a condition:
 * socket_start() takes the call to its socket if one listens, and otherwise direct_start()
 * opens the file in this process and runs the very same code.  Both give the same
 * guarantees, because what guards the state is in the file and in its locks and not in a
 * process that may be killed.
 *
 * Note client_add_key().  Every write gets an idempotency key, a random number that is stored
 * together with what the call did.  If the host dies while we wait, nobody can tell whether
 * it had done its work.  We need not know: the same call under the same key is sent again,
 * and is either done now or answered with what was done before.  That is how a call is
 * done exactly once over a connection that can break at any byte.
 *
 * We follow the socket into the host.
 *
 * Next: core/host/conn.c
 */
int64_t client_start(struct client *c, const struct op *op, json_t *args,
		     client_done *done, void *arg)
{
	struct ticket *t = xcalloc(1, sizeof(*t));
	int64_t number = ++c->last;

	if (!(t->args = json_copy(args)))
		out_of_memory();
	client_add_key(op, t->args);
	t->number = number;
	t->op = op;
	t->as = c->as;
	t->form = c->form;
	t->done = done;
	t->arg = arg;
	t->wait_ms = client_wait_of(op, t->args);
	t->confirms = c->o.confirms && gives(op, t->args);
	t->next = c->calls;
	c->calls = t;
	if (c->o.way)
		way_start(c, t);
	else if (is_local(c, op) || !socket_start(c, t))
		direct_start(c, t);
	return client_is_open(c, number) ? number : 0;
}

void client_cancel(struct client *c, int64_t number)
{
	for (struct ticket **at = &c->calls; *at; at = &(*at)->next) {
		struct ticket *t = *at;

		if (t->number != number)
			continue;
		*at = t->next;
		if (c->o.way)
			c->o.way->cancel(c->o.way_arg, t->number);
		/* A wait has a connection of its own: the host sees it go. */
		if (t->link && t->confirms && !t->wait_ms)
			socket_settle(c, t->link, t->number, false);
		else if (t->link)
			socket_leave(c, t->link);
		direct_forget(t);
		json_decref(t->args);
		free(t);
		return;
	}
}

/* --- answers that gave something -------------------------------------------------- */

void client_owe(struct client *c, const struct ticket *t, struct client_conn *l,
		const struct given *given)
{
	struct debt *d = xcalloc(1, sizeof(*d));

	*d = (struct debt){ .next = c->debts, .number = t->number, .link = l };
	if (given)
		d->given = *given;
	c->debts = d;
}

int64_t client_telling(const struct client *c)
{
	return c->telling;
}

static void client_settle_debt(struct client *c, struct debt *d, bool arrived)
{
	if (c->o.way)
		c->o.way->settle(c->o.way_arg, &d->given, arrived);
	else if (d->link)
		socket_settle(c, d->link, d->number, arrived);
	else if (!arrived)
		direct_undo(c, &d->given);
	else if (d->given.for_good)
		direct_take(c, &d->given);
	free(d);
}

void client_settle(struct client *c, int64_t number, bool arrived)
{
	for (struct debt **at = &c->debts; *at; at = &(*at)->next) {
		struct debt *d = *at;

		if (d->number != number)
			continue;
		*at = d->next;
		client_settle_debt(c, d, arrived);
		return;
	}
}

void client_settle_all(struct client *c, bool arrived)
{
	while (c->debts)
		client_settle(c, c->debts->number, arrived);
}

/* --- time ------------------------------------------------------------------------ */

int client_timeout(const struct client *c)
{
	int64_t now = clock_steady_ms();
	int64_t next = c->rest_at ? c->rest_at : INT64_MAX;

	for (const struct ticket *t = c->calls; t; t = t->next) {
		int64_t at = t->until;

		if (t->due)
			return 0;
		if (t->call && direct_next_look(c) < at)
			at = direct_next_look(c);
		next = at < next ? at : next;
	}
	if (next == INT64_MAX)
		return -1;
	return next <= now ? 0 : (int)(next - now);
}

static struct ticket *due_ticket(struct client *c)
{
	struct ticket *t = c->calls;

	while (t && !t->due)
		t = t->next;
	return t;
}

/* Ends calls that took too long: parked calls answer with what there is, silent
 * connections are closed. */
static void step_late(struct client *c)
{
	int64_t now = clock_steady_ms();
	struct ticket *t;

	for (t = c->calls; t; t = t->next)
		t->due |= t->until <= now;
	while ((t = due_ticket(c))) {
		t->due = false;
		if (t->link)
			socket_drop(c, t->link);
		else
			direct_run(c, t);
	}
}

void client_step(struct client *c)
{
	struct epoll_event events[16];
	int n = c->o.way ? 0 : epoll_wait(c->epoll, events, 16, 0);
	bool rung = false;

	for (int i = 0; i < n; i++) {
		if (!events[i].data.ptr) {
			rung = true;
			continue;
		}
		socket_step(c, events[i].data.ptr, events[i].events);
		/* An owner's answer may have closed another link of this batch. */
		break;
	}
	if (c->looked_at)
		direct_look(c, rung);
	step_late(c);
	if (c->rest_at && c->rest_at <= clock_steady_ms())
		direct_rest(c);
}

struct wanted {
	struct text *out;
	struct fault *fault;
	bool done;
};

static void client_take_answer(void *arg, const char *result, const struct fault *f)
{
	struct wanted *w = arg;

	w->done = true;
	if (result)
		text_add(w->out, result, strlen(result));
	else if (!w->fault->code)
		*w->fault = *f;
}

int client_call(struct client *c, const struct op *op, json_t *args, struct text *out,
		struct fault *f)
{
	struct wanted w = { out, f, false };
	struct epoll_event event;

	client_start(c, op, args, client_take_answer, &w);
	while (!w.done) {
		if (epoll_pwait(c->epoll, &event, 1, client_timeout(c), c->o.waiting) <
			    0 &&
		    errno != EINTR)
			return fault_set(f, FAULT_IO, "", "epoll: %m");
		client_step(c);
	}
	return f->code;
}
