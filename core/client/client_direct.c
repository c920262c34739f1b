/*
 * client_direct - calls without a host: this process opens the file itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "core/access/pair.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/client/client_inside.h"
#include "core/mirror/mirror.h"
#include "core/team/estop.h"
#include "ops.gen.h"

enum { MIRROR_MS = 50 };

/* --- the store ------------------------------------------------------------------ */

/* Opens the state that is in the folder now, which may be another one than when this
 * process started. */
static int open_store(struct client *c, struct store **out, unsigned flags,
		      struct fault *f)
{
	if (!op_table->run) {
		fault_set(f, FAULT_UNAVAILABLE, "",
			  "this program can open no state itself");
		return fault_hint(f, "Ask a host: CADRE_SOCKET says where it is.");
	}
	if (home_renew(c->o.home, f) < 0)
		return f->code;
	return store_open(out, c->o.home->dir, flags, NULL, f);
}

/* A client that only reads beside a host opens no connection that could write. */
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

/* Shows this process's writes in the vault, for at most 50 ms.  A failure is left to the
 * next mirror: the rows are safe.  A state that was removed is not made again. */
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

void direct_close(struct client *c)
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

/* Calls that are parked on a lost store end with its fault first. */
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

/* Watches the bell, from before the first look of a call that may wait, so that commits
 * in between are noticed.  Without inotify the data's version is read four times a
 * second. */
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

void direct_forget(struct ticket *t)
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

/* A file that is lost stays open for the next call, which is told. */
void direct_rest(struct client *c)
{
	struct store *s = any_store(c);

	c->rest_at = 0;
	if (has_parked(c))
		c->rest_at = clock_steady_ms() + REST_MS;
	else if (s && !store_lost(s))
		direct_close(c);
}

/* Parked calls begin anew, under the keys that they have: each opens the state, and that
 * waits until it is migrated. */
static void make_way(struct client *c)
{
	for (struct ticket *t = c->calls; t; t = t->next) {
		t->due |= t->call != NULL;
		direct_forget(t);
	}
	direct_close(c);
}

/* Notes when the next lease or life ends: without a host nobody writes that down at its
 * instant, so the waiting process looks again by itself. */
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

int64_t direct_next_look(const struct client *c)
{
	int64_t next = c->looked_at + LOOK_MS, left = c->lapse_at - clock_wall_ms();

	if (!c->lapse_at || left >= LOOK_MS)
		return next;
	left = clock_steady_ms() + (left > 0 ? left : 0);
	return left < next ? left : next;
}

void direct_look(struct client *c, bool rung)
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

/* --- calls --------------------------------------------------------------------------- */

static int client_direct_prepare(struct client *c, struct ticket *t, struct fault *f)
{
	struct call *call = xcalloc(1, sizeof(*call));
	int rc;

	t->call = call;
	call->settings = &c->o.home->settings;
	call->identity = t->as ? *t->as : c->o.identity;
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

/* Renews the leases of a reading owner: any call renews them, but a read cannot write. */
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

void direct_undo(struct client *c, const struct given *given)
{
	run_as_host(c, op_answer_undo,
		    json_pack("{sIsIsIsI}", "agent", (json_int_t)given->agent, "request",
			      (json_int_t)given->request, "task", (json_int_t)given->task,
			      "epoch", (json_int_t)given->epoch));
}

void direct_take(struct client *c, const struct given *given)
{
	run_as_host(c, op_answer_take,
		    json_pack("{sIsI}", "agent", (json_int_t)given->agent, "request",
			      (json_int_t)given->request));
}

/* Without a host nobody sees that the clock was put back.  So the next caller does the
 * work of a host that starts: a grant with a time in the future counts as granted now. */
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
	if (back.so && !call_finds_host(call)) /* a stopped host will see the change */
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
	/* Our own commits do not change the version that we see. */
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

void direct_run(struct client *c, struct ticket *t)
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
