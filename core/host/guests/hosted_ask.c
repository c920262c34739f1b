#include "core/host/guests/hosted_ask.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/host/guests/hosted_ask_inside.h"
#include "core/host/guests/replay.h"
#include "core/host/host_inside.h"
#include "core/host/workspaces/hosted_workspace.h"
#include "core/call/space.h"
#include "ops.gen.h"

enum {
	GRACE_MS = 15000, /* beyond a command's own time */
	LINK_MS = 3000, /* to reach the guest; a host that starts dials all guests */
};

/* A message that asks a guest, and how its answer is read.  Fields that the call's
 * arguments, the message, its answer and the call's answer have under one name are copied
 * from one to the next; an ask_kind says the rest, and a message without one needs
 * nothing. */
struct ask_kind {
	const struct record *asks;
	const struct record *in; /* of the only operation that it is for; NULL: of any */
	void (*fill)(struct job *job, void *message); /* what has another name */
	void (*check)(struct job *job, void *answer); /* sets the call's fault */
	/* Instead of both: fills the call's answer or its fault; true when it has sent
	 * another message to get the rest. */
	bool (*take)(struct job *job, struct packet *answer, struct guest_conn *conn);
};

static const struct ask_kind *ask_kind_of(const struct job *job);
static void on_answer(void *arg, struct packet *answer, struct fault *f);

bool ask_is_gone(struct job *job)
{
	return job->conn->closing || atomic_load(&job->gone);
}

void ask_guest(struct job *job, struct guest_conn *conn, const char *type,
	       const void *src, int64_t ms)
{
	guest_conn_ask(conn, type, src, ms, on_answer, job);
}

/* Tells the guest how much the answer may hold, where its caller allows less than a frame
 * takes.  The rest stays with the guest; a later call can ask for the rest. */
static void set_room(const struct job *job, const struct record *r, void *message)
{
	const struct field *room = field_find(r, "room");

	if (!room || !job->call.form.most)
		return;
	*(int64_t *)((char *)message + room->at) = (int64_t)space_all(&job->call);
	*(bool *)((char *)message + room->at2) = true;
}

void ask_fields(struct job *job, struct guest_conn *conn, int64_t ms)
{
	const struct wire *w = job->call.op->message;
	const struct ask_kind *kind = ask_kind_of(job);
	void *m = arena_alloc(&job->call.arena, w->record->size);

	record_copy(job->call.op->in, job->call.in, w->record, m);
	if (kind && kind->fill)
		kind->fill(job, m);
	set_room(job, w->record, m);
	ask_guest(job, conn, w->name, m, ms);
}

/* Fills the call's answer from the guest's and, where that is a bare Ok, from what was
 * asked. */
static void hosted_ask_take_fields(struct job *job, struct packet *answer)
{
	const struct op *op = job->call.op;
	const struct ask_kind *kind = ask_kind_of(job);
	const struct record *r = wire_answer(op->message, SIDE_HOST)->record;
	struct fault *f = &job->call.fault;
	void *m = arena_alloc(&job->call.arena, r->size);

	if (op->message->answer &&
	    answer_decode_as(answer, r, m, &job->call.arena, f) < 0)
		return;
	if (kind && kind->check)
		kind->check(job, m);
	if (f->code)
		return;
	record_copy(op->in, job->call.in, op->out, job->call.out);
	record_copy(r, m, op->out, job->call.out);
}

struct gather *gather_of(struct job *job)
{
	struct gather *g = job->owner;

	if (g)
		return g;
	g = job->owner = arena_alloc(&job->call.arena, sizeof(*g));
	g->room = ANSWER_ROOM;
	return g;
}

static const struct ask_kind ask_kinds[] = {
	{ .asks = &record_wire_exec,
	  .in = &record_workspace_exec_in,
	  .take = ask_take_exec },
	{ .asks = &record_wire_exec_background, .check = ask_check_background },
	{ .asks = &record_wire_exec_poll, .check = ask_check_poll },
	{ .asks = &record_wire_file_read,
	  .in = &record_workspace_file_read_in,
	  .fill = ask_fill_read,
	  .check = ask_check_content },
	{ .asks = &record_wire_file_write,
	  .in = &record_workspace_file_write_in,
	  .fill = ask_fill_write },
	{ .asks = &record_wire_list_dir,
	  .in = &record_workspace_list_dir_in,
	  .fill = ask_fill_list,
	  .take = ask_take_list },
	{ .asks = &record_wire_set_env, .check = ask_check_set_env },
};

static const struct ask_kind *ask_kind_of(const struct job *job)
{
	for (size_t i = 0; i < sizeof(ask_kinds) / sizeof(*ask_kinds); i++)
		if (ask_kinds[i].asks == job->call.op->message->record &&
		    (!ask_kinds[i].in || ask_kinds[i].in == job->call.op->in))
			return &ask_kinds[i];
	return NULL;
}

/* Whether the guest surely did nothing, by the call's fault.  After any other fault the guest
 * may have acted; after a first part of an answer it has acted: the key stays used. */
static bool did_nothing(const struct job *job)
{
	const enum fault_code code = job->call.fault.code;

	return !job->owner && (code == FAULT_INVALID || code == FAULT_NOT_FOUND ||
			       code == FAULT_CONFLICT || code == FAULT_DENIED ||
			       code == FAULT_EXHAUSTED);
}

static bool hosted_ask_take(struct job *job, struct packet *answer,
			    struct guest_conn *conn)
{
	const struct ask_kind *kind = ask_kind_of(job);

	if (kind && kind->take)
		return kind->take(job, answer, conn);
	hosted_ask_take_fields(job, answer);
	return false;
}

static void on_answer(void *arg, struct packet *answer, struct fault *f)
{
	struct job *job = arg;
	struct hosted_guest *t =
		hosted_guest_of(job->conn->host, job->call.workspace.asked);

	if (!answer)
		job->call.fault = *f;
	else if (!t)
		fault_set(&job->call.fault, FAULT_UNAVAILABLE, "/workspace",
			  "the workspace is gone");
	else if ((!ask_is_gone(job) || replay_has_row(job)) &&
		 hosted_ask_take(job, answer, &t->control))
		return;
	if (t && answer && job->call.fault.code)
		log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN,
			   "a guest answers what it may not",
			   LOG_TEXT("workspace", t->id), LOG_FAULT(&job->call.fault));
	replay_keep(job, did_nothing(job));
}

/* --- waiting for a link ------------------------------------------------------------- */

static void hosted_ask_guest(struct job *job, struct hosted_guest *t)
{
	int64_t ms = ANSWER_MS;

	if (job->call.op->within)
		ms = call_within(&job->call) * 1000 + GRACE_MS;
	ask_fields(job, &t->control, ms);
}

static void hosted_ask_refuse(struct host *host, struct job *job)
{
	bool boots = hosted_boots(host, job->call.workspace.asked);

	fault_set(&job->call.fault, FAULT_UNAVAILABLE, "/workspace",
		  boots ? "the workspace's VM boots"
			: "the workspace's guest does not answer");
	job->call.fault.retry_after_ms = boots ? 5000 : 1000;
	replay_keep(job, true);
}

/* Asks the guest, or refuses the call.  False: its guest may still come. */
static bool hosted_ask_begin(struct host *host, struct job *job)
{
	struct hosted_guest *t = hosted_guest_of(host, job->call.workspace.asked);

	if (ask_is_gone(job))
		hosted_ask_refuse(host, job);
	else if (t && t->up)
		hosted_ask_guest(job, t);
	else if (host->stopping || clock_boot_ms() >= job->due)
		hosted_ask_refuse(host, job);
	else
		return false;
	return true;
}

void ask_look(struct host *host)
{
	struct chain waiting = host->guests->unlinked;

	host->guests->unlinked = (struct chain){ 0 };
	for (struct job *job; (job = chain_pop(&waiting));)
		if (!hosted_ask_begin(host, job))
			chain_add(&host->guests->unlinked, job);
}

void ask_start(struct host *host, struct job *job)
{
	if (!job->call.op->message) {
		fault_set(&job->call.fault, FAULT_INTERNAL, "", "%s has no message",
			  job->call.op->name);
		replay_keep(job, true);
		return;
	}
	job->due = clock_boot_ms() + LINK_MS;
	if (!hosted_ask_begin(host, job))
		chain_add(&host->guests->unlinked, job);
}
