#include "core/client/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "core/access/limit.h"
#include "core/access/pair.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/client/client_inside.h"
#include "core/mirror/mirror.h"
#include "core/team/estop.h"
#include "ops.gen.h"

/* Whether this process runs the operation on the state's files, even if a host is running. */
static bool client_reads_itself(const struct client *c, const struct op *op)
{
	return c->o.local_reads && c->o.home->dir[0] && !(op->flags & OP_WRITE) &&
	       !limit_binds(&c->o.home->settings.config, &c->o.identity, op->rate);
}

/* --- direct ------------------------------------------------------------------ */

/*
 * client_direct - calls without a host: this process opens the state's file itself.
 */

enum { MIRROR_MS = 50 };

/* --- the store ------------------------------------------------------------------ */

/* Opens the state that is in the folder now. Since the start of this process, another state may
 * have replaced the first state. */
static int open_store(struct client *c, struct store **out, unsigned flags,
		      struct fault *f)
{
	if (!op_table->run) {
		fault_set(f, FAULT_UNAVAILABLE, "",
			  "this program cannot open a state itself");
		return fault_hint(f, "Set CADRE_SOCKET to the socket of a host.");
	}
	if (home_renew(c->o.home, f) < 0)
		return f->code;
	return store_open(out, c->o.home->dir, flags, NULL, f);
}

/* The store for an operation. For a read that this process runs itself, a store that cannot
 * write is preferred. */
static struct store *store_for(struct client *c, const struct op *op, struct fault *f)
{
	bool reads = client_reads_itself(c, op);

	if (c->o.rests)
		c->rest_at = clock_steady_ms() + REST_MS;
	if (c->store)
		return c->store;
	if (reads && !c->reader) {
		struct fault why = { 0 };

		open_store(c, &c->reader, STORE_READ, &why);
	}
	if (reads && c->reader)
		return c->reader;
	open_store(c, &c->store, home_store_flags(c->o.home), f);
	return c->store;
}

/* Writes this process's changes into the vault, for at most 50 ms. After a failure the next
 * mirror run repeats the work, since the rows are safe in the database. A removed state is not
 * created again. */
static void mirror_owed(struct client *c)
{
	struct fault f = { 0 };

	if (c->owes_mirror && c->store && !store_lost(c->store))
		mirror_catch_up(c->o.home, c->store, MIRROR_MS, &f);
	c->owes_mirror = false;
}

static void close_stores(struct client *c)
{
	store_close(c->reader);
	store_close(c->store);
	if (c->bell >= 0)
		close(c->bell);
	c->reader = c->store = NULL;
	c->bell = -1;
	c->looked_at = c->lapse_at = c->rest_at = 0;
	c->lost = false;
}

static void direct_close(struct client *c)
{
	mirror_owed(c);
	close_stores(c);
}

static bool has_parked(const struct client *c)
{
	for (const struct ticket *t = c->calls; t; t = t->next)
		if (t->call)
			return true;
	return false;
}

/* Closes the files of a lost store, but only after all calls parked on this store have ended
 * with a fault. */
static void leave_lost(struct client *c)
{
	if (has_parked(c))
		return;
	c->owes_mirror = false;
	close_stores(c);
}

/* --- waiting ---------------------------------------------------------------------- */

static struct store *any_store(const struct client *c)
{
	return c->reader ? c->reader : c->store;
}

/* Watches the bell. The watch begins before the first read by a call that may wait. So the
 * client misses no commit after that read. Without inotify, the data version of the state is
 * read four times a second. */
static void watch_bell(struct client *c)
{
	char path[4200];
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

	if (c->looked_at)
		return;
	c->version = store_data_version(any_store(c));
	c->looked_at = clock_steady_ms();
	c->apart = clock_wall_ms() - c->looked_at;
	c->bell = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (c->bell < 0)
		return;
	snprintf(path, sizeof(path), "%s/bell", c->o.home->dir);
	inotify_add_watch(c->bell, path, IN_MODIFY);
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->bell, &event);
}

/* Frees the struct call of the ticket. */
static void direct_forget(struct ticket *t)
{
	if (!t->call)
		return;
	arena_release(&t->call->arena);
	free(t->call);
	t->call = NULL;
}

static void wake_all(struct client *c)
{
	for (struct ticket *t = c->calls; t; t = t->next)
		t->due |= t->call != NULL;
}

/* Closes the state's files if no call is parked and the files are not lost. A lost file stays
 * open, so that the next call reports the loss. */
static void direct_rest(struct client *c)
{
	struct store *s = any_store(c);

	c->rest_at = 0;
	if (has_parked(c))
		c->rest_at = clock_steady_ms() + REST_MS;
	else if (s && !store_lost(s))
		direct_close(c);
}

/* Closes the files, so that another process can migrate the state. Parked calls begin anew
 * under their old keys. Each parked call opens the state again, and waits until the state is
 * migrated. */
static void make_way(struct client *c)
{
	for (struct ticket *t = c->calls; t; t = t->next) {
		t->due |= t->call != NULL;
		direct_forget(t);
	}
	direct_close(c);
}

/* Stores the time at which the next lease ends or the next message expires. Without a host, no
 * process records the end of a lease or a message in the state. So the waiting process reads
 * the state again at the stored time. */
static void note_lapse(struct client *c, const struct call *call)
{
	struct call look = { .store = call->store, .now = call->now };
	struct next_lapse_row next = { 0 };

	if (store_begin(look.store, false, &look.fault) < 0)
		return;
	if (sql_row(&look, next_lapse, &next, .now = look.now) > 0)
		c->lapse_at = next.at;
	store_rollback(look.store);
	arena_release(&look.arena);
}

/* The time (clock_steady_ms()) at which the state must be read again for parked calls. */
static int64_t direct_next_look(const struct client *c)
{
	int64_t next = c->looked_at + LOOK_MS, left = c->lapse_at - clock_wall_ms();

	if (!c->lapse_at || left >= LOOK_MS)
		return next;
	left = clock_steady_ms() + (left > 0 ? left : 0);
	return left < next ? left : next;
}

/* Marks the parked calls as due if another process has committed or wants to migrate the state,
 * or if a lease or a message has ended. Does the same if the clock has leapt or the files are
 * lost. */
static void direct_look(struct client *c, bool rung)
{
	char data[4096];
	int64_t now = clock_steady_ms(), wall = clock_wall_ms(), version;

	if ((c->lapse_at && c->lapse_at <= wall) ||
	    llabs(wall - now - c->apart) > LEAP_MS) {
		c->lapse_at = 0;
		c->apart = wall - now;
		wake_all(c);
	}
	if (!rung && now < c->looked_at + LOOK_MS)
		return;
	while (rung && read(c->bell, data, sizeof(data)) > 0)
		;
	c->looked_at = now;
	if (store_is_wanted(any_store(c))) {
		make_way(c);
		return;
	}
	if (store_lost(any_store(c))) {
		c->lost = true;
		wake_all(c);
		return;
	}
	version = store_data_version(any_store(c));
	if (version == c->version)
		return;
	c->version = version;
	wake_all(c);
}

/* --- direct calls -------------------------------------------------------------------- */

static int client_direct_prepare(struct client *c, struct ticket *t, struct fault *f)
{
	struct call *call = xcalloc(1, sizeof(*call));
	int rc;

	t->call = call;
	call->settings = &c->o.home->settings;
	call->identity = t->as ? *t->as : c->o.identity;
	call->identity.by_default = c->o.home->settings.config.team_default;
	call->seed = home_random();
	call->settles = t->confirms;
	call->form = t->form;
	rc = call_decode(call, t->op, t->args);
	t->mark = arena_mark(&call->arena);
	if (rc < 0) {
		*f = call->fault;
		return rc;
	}
	call->store = store_for(c, t->op, f);
	return call->store ? 0 : (int)f->code;
}

/* Renews the leases of an agent whose call only reads. A write renews the leases of the calling
 * agent in its own transaction. A read cannot write, so a separate call renews the leases. */
static void client_direct_renew(struct client *c, const struct call *read)
{
	struct call call = { .settings = &c->o.home->settings,
			     .identity = call_renewer(read),
			     .now = clock_wall_ms(),
			     .seed = home_random() };
	json_t *none = json_object();

	call.store = store_for(c, op_agent_heartbeat, &call.fault);
	if (call.store && call_decode(&call, op_agent_heartbeat, none) == 0)
		call_run(&call);
	json_decref(none);
	arena_release(&call.arena);
}

static void run_as_host(struct client *c, const struct op *op, json_t *args)
{
	struct call call = { .settings = &c->o.home->settings,
			     .identity = { .level = WHO_HOST },
			     .now = clock_wall_ms(),
			     .seed = home_random() };

	call.store = store_for(c, op, &call.fault);
	if (call.store && call_decode(&call, op, args) == 0 && call_run(&call) == 0)
		c->owes_mirror = true;
	json_decref(args);
	arena_release(&call.arena);
}

static void direct_undo(struct client *c, const struct given *given)
{
	run_as_host(c, op_answer_undo,
		    json_pack("{sIsIsIsI}", "agent", (json_int_t)given->agent, "request",
			      (json_int_t)given->request, "task", (json_int_t)given->task,
			      "epoch", (json_int_t)given->epoch));
}

static void direct_take(struct client *c, const struct given *given)
{
	run_as_host(c, op_answer_take,
		    json_pack("{sIsI}", "agent", (json_int_t)given->agent, "request",
			      (json_int_t)given->request));
}

/* Without a host no process notices that the clock was put back. So the next caller corrects
 * the state as a starting host does: a grant with a time in the future counts as granted now. */
static void settle_clock(struct client *c, const struct call *call)
{
	struct call look = { .store = call->store, .now = call->now };
	struct clock_is_back_row back = { 0 };

	if (look.store == c->reader || store_begin(look.store, false, &look.fault) < 0)
		return;
	sql_row(&look, clock_is_back, &back, .now = look.now, .far = ESTOP_FAR,
		.latest = look.now + PAIR_DELAY_MOST_MS);
	store_rollback(look.store);
	arena_release(&look.arena);
	if (back.so && !call_finds_host(call)) /* a suspended host (SIGSTOP) checks the
						  clock when it continues */
		run_as_host(c, op_clock_tick, json_pack("{sb}", "start", true));
}

static void client_direct_answer(struct client *c, struct ticket *t)
{
	struct text out = { 0 };

	if (t->confirms && t->call->given.agent)
		client_owe(c, t, NULL, &t->call->given);
	call_encode(t->call, &out);
	ticket_end(c, t, out.data ? out.data : "{}", NULL);
	text_release(&out);
}

static void client_direct_run(struct client *c, struct ticket *t)
{
	struct call *call = t->call;
	bool writes = t->op->flags & OP_WRITE, was_made = call->made;
	struct fault f;

	arena_reset(&call->arena, t->mark);
	memset(call->out, 0, t->op->out->size);
	call->now = clock_wall_ms();
	if (t->wait_ms)
		watch_bell(c);
	settle_clock(c, call);
	if (call_run(call) < 0) {
		f = call->fault;
		c->lost |= f.code == FAULT_UNAVAILABLE && store_lost(call->store);
		ticket_end(c, t, NULL, &f);
		return;
	}
	/* A commit of this process does not change the data version that this process reads. */
	if (writes && !was_made)
		wake_all(c);
	t->due = false;
	c->owes_mirror |= writes;
	if (call->wait_on && clock_steady_ms() < t->until) {
		call->waited = true;
		note_lapse(c, call);
		return;
	}
	if (call->renew)
		client_direct_renew(c, call);
	client_direct_answer(c, t);
}

/* Runs a call. Unless the call is parked, the function first makes the struct call. */
static void direct_run(struct client *c, struct ticket *t)
{
	struct fault f = { 0 };

	if (!t->call && client_direct_prepare(c, t, &f) < 0)
		ticket_end(c, t, NULL, &f);
	else
		client_direct_run(c, t);
}

void direct_start(struct client *c, struct ticket *t)
{
	if (!c->o.home->dir[0]) {
		ticket_fail(c, t, FAULT_UNAVAILABLE, "the host does not answer",
			    "outside a workspace, name the state: --home DIR");
		return;
	}
	t->until = clock_steady_ms() + t->wait_ms;
	if (c->lost)
		leave_lost(c);
	direct_run(c, t);
}

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

/* A host takes the caller of a connection from the connection's first frame. So a new caller
 * needs a new connection. */
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

/* Keys are UUIDv7, which sort by time, so that keys made at about the same time are neighbours
 * in the index of keys. */
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

/* The value of a number argument; if the argument is absent, the argument's default. */
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

/* Whether an operation's answer hands out messages or claims. If such an answer is lost, no
 * caller knows of the messages or claims, which must be taken back. */
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

/* Whether a call runs in this process. A read may run in this process even if a host is
 * running, unless the read reports about the host or is subject to limits. */
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
 * A host is the process that `cadre up` starts. Only guests and VMs need a host. If a host
 * listens, socket_start() sends the call to the host's socket. Otherwise direct_start() opens
 * the file in this process and runs the very same code. Both ways give the same guarantees: the
 * file and its locks protect the state, even if a process is killed.
 *
 * Look at client_add_key(). Every write gets an idempotency key, a new UUID that is stored
 * together with the result of the call. If the host dies while the client waits, nobody can
 * tell whether the host had done the work. The client need not know this. The client sends the
 * same call under the same key again, and the call is either done now or answered with the
 * stored result. In this way a call is done exactly once over a connection that can break at
 * any byte.
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
		/* A call that waits has a connection of its own. If the call is cancelled, the
		 * host sees the end of the call's connection. */
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

/* --- answers that gave messages or a claim ---------------------------------------- */

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

/* Ends calls whose time has run out. A parked call is answered with the present data. A
 * connection on which the host is silent is closed. */
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
		/* The owner of an ended call may have closed another link that is in `events`. */
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
