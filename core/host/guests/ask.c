#include "core/host/guests/ask.h"

#include <string.h>

#include "core/host/guests/gather.h"
#include "core/host/guests/replay.h"
#include "core/host/inside.h"
#include "core/host/workspaces/hosted_workspace.h"
#include "core/room.h"
#include "core/wire/base64.h"
#include "ops.gen.h"

enum { GRACE_MS = 15000 /* beyond a command's own time */ };

/* A message that asks a guest, and how its answer is read.  Fields that the call's
 * arguments, the message, its answer and the call's answer have under one name are copied
 * from one to the next; an ask_kind says the rest, and a message without one needs
 * nothing. */
struct ask_kind {
	const struct record *asks;
	const struct record *in; /* of the only operation that it is for; NULL: of any */
	void (*fill)(struct job *job, void *message); /* what has another name */
	void (*check)(struct job *job, const void *answer); /* sets the call's fault */
	/* Instead of both: fills the call's answer or its fault; true when it has sent
	 * another message to get the rest. */
	bool (*take)(struct job *job, struct packet *answer, struct guest_conn *conn);
};

static const struct ask_kind *ask_kind_of(const struct job *job);
static void on_answer(void *arg, struct packet *answer, struct fault *f);

/* Whether the caller waits no more: the guest is asked no further then. */
static bool is_gone(struct job *job)
{
	return job->conn->closing || atomic_load(&job->gone);
}

static void ask_guest(struct job *job, struct guest_conn *conn, const char *type,
		      const void *src, int64_t ms)
{
	guest_conn_ask(conn, type, src, ms, on_answer, job);
}

/* Tells the guest how much the answer may hold, where its caller allows less than a frame
 * takes: what is beyond stays with the guest, and can be asked for. */
static void set_room(const struct job *job, const struct record *r, void *message)
{
	const struct field *room = field_find(r, "room");

	if (!room || !job->call.form.most)
		return;
	*(int64_t *)((char *)message + room->at) = (int64_t)room_all(&job->call);
	*(bool *)((char *)message + room->at2) = true;
}

static void ask_fields(struct job *job, struct guest_conn *conn, int64_t ms)
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
static void take_fields(struct job *job, struct packet *answer)
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

/* Decodes the last answer to a call: its texts point into the packet, which lives
 * until the call is answered. */
#define decode(job, answer, dst) \
	(answer_decode(answer, dst, &(job)->call.arena, &(job)->call.fault) == 0)

/* --- commands --------------------------------------------------------------------- */

/* An answer that is being gathered: job->owner, in the call's arena. */
struct gather {
	struct answer_parts parts;
	struct output stream[2];
	int64_t job_id; /* under which the guest keeps the rest */
	size_t room; /* of a directory: JSON that still fits */
};

static struct gather *gather_of(struct job *job)
{
	struct gather *g = job->owner;

	if (g)
		return g;
	g = job->owner = arena_alloc(&job->call.arena, sizeof(*g));
	g->room = ANSWER_ROOM;
	return g;
}

static void fill_exec(struct job *job, const struct gather *g, bool more)
{
	struct workspace_exec_out *out = job->call.out;
	const char *text[2];
	bool cut[2];
	size_t len[2];

	outputs_join(g->stream, text, len, &job->call.arena);
	for (int i = 0; i < 2; i++)
		cut[i] = !out->running && ((int64_t)len[i] < g->stream[i].size ||
					   output_wants(&g->stream[i], more));
	out->stdout = text[0];
	out->stderr = text[1];
	out->has_stdout_size = cut[0];
	out->has_stderr_size = cut[1];
	out->stdout_size = g->stream[0].size;
	out->stderr_size = g->stream[1].size;
	out->has_job_id = g->job_id && (out->running || cut[0] || cut[1]);
	out->job_id = g->job_id; /* told where the answer has no room for all */
}

/* Asks for the rest of the output.  False: it could not, and the call has its fault. */
static bool ask_rest(struct job *job, struct gather *g, struct guest_conn *conn)
{
	struct wire_exec_poll m = {
		.job_id = g->job_id,
		.stdout_offset = output_offset(&g->stream[0]),
		.stderr_offset = output_offset(&g->stream[1]),
	};
	int64_t ms = answer_more(&g->parts, &job->call.fault);

	if (ms > 0)
		ask_guest(job, conn, "ExecPoll", &m, ms);
	return ms > 0;
}

/* A part of both streams as a guest sends it; size: of the whole, 0 if not told. */
struct streams {
	const char *part[2];
	int64_t size[2];
};

/* A size is told to the caller: it is what came, or more that there may be. */
static bool check_streams(const struct gather *g, const struct streams *m,
			  struct fault *f)
{
	for (int i = 0; i < 2 && !f->code; i++) {
		int64_t came = output_offset(&g->stream[i]) + (int64_t)strlen(m->part[i]);

		if (m->size[i] && (m->size[i] < came || m->size[i] > STREAM_MOST))
			answer_refuse(f, "says that %lld bytes of output are %lld in all",
				      (long long)came, (long long)m->size[i]);
	}
	return !f->code;
}

/* Takes a part of both streams; false when it brought nothing. */
static bool take_part(struct job *job, struct gather *g, const struct streams *m)
{
	const struct workspace_exec_in *in = job->call.in;
	bool brought = false;

	for (int i = 0; i < 2; i++)
		if (output_take(&g->stream[i], m->part[i], m->size[i],
				in->max_output_bytes, &job->call.arena))
			brought = true;
	return brought;
}

static bool take_exec_rest(struct job *job, struct packet *answer,
			   struct guest_conn *conn)
{
	struct gather *g = job->owner;
	struct wire_background_status m = { 0 };
	struct streams streams;
	bool brought;

	if (!decode(job, answer, &m))
		return false;
	streams = (struct streams){ { m.stdout, m.stderr },
				    { m.stdout_size, m.stderr_size } };
	if (!check_streams(g, &streams, &job->call.fault))
		return false;
	brought = take_part(job, g, &streams);
	if (m.more &&
	    (output_wants(&g->stream[0], true) || output_wants(&g->stream[1], true))) {
		if (brought)
			return ask_rest(job, g, conn);
		answer_refuse(&job->call.fault, "says more and more, and sends nothing");
		return false;
	}
	fill_exec(job, g, false);
	return false;
}

static bool check_exit_code(int64_t code, struct fault *f)
{
	if (code < INT32_MIN || code > INT32_MAX)
		answer_refuse(f, "says that a command ended with %lld", (long long)code);
	return !f->code;
}

static bool check_job_id(int64_t id, struct fault *f)
{
	if (id < 1 || id > INT32_MAX)
		answer_refuse(f, "calls a command job %lld", (long long)id);
	return !f->code;
}

/* Checks how a guest says that a command ended, or that it runs on.  The latter counts only
 * where the call follows the command. */
static bool check_exec(const struct job *job, struct wire_exec_result *m, struct fault *f)
{
	const struct workspace_exec_in *in = job->call.in;

	m->running = m->running && in->follow;
	if (m->running && !m->has_job_id)
		answer_refuse(f, "says that a command runs on, and names no job");
	return !f->code && check_exit_code(m->exit_code, f) &&
	       (!m->has_job_id || check_job_id(m->job_id, f));
}

/* A command's output may come in parts: the first with its end, the others
 * by polling the job under which the rest is kept. */
static bool take_exec(struct job *job, struct packet *answer, struct guest_conn *conn)
{
	struct workspace_exec_out *out = job->call.out;
	struct gather *g = job->owner;
	struct wire_exec_result m = { 0 };
	struct fault *f = &job->call.fault;
	struct streams streams;

	if (g)
		return take_exec_rest(job, answer, conn);
	if (!decode(job, answer, &m) || !check_exec(job, &m, f))
		return false;
	g = gather_of(job);
	streams = (struct streams){ { m.stdout, m.stderr },
				    { m.stdout_size, m.stderr_size } };
	if (!check_streams(g, &streams, f))
		return false;
	g->job_id = m.has_job_id ? m.job_id : 0;
	out->running = out->has_running = m.running;
	out->exit_code = m.exit_code;
	out->has_exit_code = !m.running;
	take_part(job, g, &streams);
	if (m.more && !m.running && m.has_job_id && !is_gone(job) &&
	    !job->call.form.most &&
	    (output_wants(&g->stream[0], true) || output_wants(&g->stream[1], true)))
		return ask_rest(job, g, conn);
	fill_exec(job, g, m.more);
	return false;
}

static void check_background(struct job *job, const void *answer)
{
	const struct wire_background_started *m = answer;

	check_job_id(m->job_id, &job->call.fault);
}

static void check_poll(struct job *job, const void *answer)
{
	const struct wire_background_status *m = answer;

	check_exit_code(m->exit_code, &job->call.fault);
}

static void check_set_env(struct job *job, const void *answer)
{
	const struct wire_set_env_result *m = answer;

	if (m->count < 0 || m->count > INT32_MAX)
		answer_refuse(&job->call.fault, "says that %lld variables are set",
			      (long long)m->count);
}

/* --- files ------------------------------------------------------------------------- */

static void fill_read(struct job *job, void *message)
{
	const struct workspace_file_read_in *in = job->call.in;
	struct wire_file_read *m = message;

	m->has_offset = in->offset > 0;
	int64_t most = (int64_t)room_all(&job->call) / 4 * 3; /* as base64 */

	m->limit = in->length;
	m->has_limit = in->has_length;
	if (job->call.form.most && (!m->has_limit || m->limit > most)) {
		m->limit = most;
		m->has_limit = true;
	}
}

/* Guests are told bytes in base64 alone. */
static void fill_write(struct job *job, void *message)
{
	const struct workspace_file_write_in *in = job->call.in;
	struct wire_file_write *m = message;
	size_t n = in->text ? strlen(in->text) : 0;
	char *content;

	if (!in->text)
		return;
	content = arena_alloc(&job->call.arena, base64_size(n) + 1);
	base64_encode(content, in->text, n);
	m->content = content;
}

/* The size is that of the bytes, and no more of them than were asked for. */
static void check_content(struct job *job, const void *answer)
{
	const struct wire_file_content *m = answer;
	const struct workspace_file_read_in *in = job->call.in;
	struct fault *f = &job->call.fault;
	size_t n = strlen(m->content);
	ssize_t bytes = base64_bytes(m->content, n);

	if (bytes < 0 || bytes != m->size)
		answer_refuse(f, "says %lld bytes and sends %zd in base64",
			      (long long)m->size, bytes);
	else if (in->has_length && bytes > in->length)
		answer_refuse(f, "sends %zd bytes of the %lld that were asked for", bytes,
			      (long long)in->length);
	else if (bytes == 0 && m->more)
		answer_refuse(f, "says more and more, and sends nothing");
	else if (!base64_is(m->content, n))
		answer_refuse(f, "sends what is no base64");
}

/* The next page begins behind the last name that came. */
static void fill_list(struct job *job, void *message)
{
	const struct workspace_list_dir_out *out = job->call.out;
	struct wire_list_dir *m = message;

	if (out->n_entries > 0)
		m->after = out->entries[out->n_entries - 1].name;
}

/* Names go up, over all pages: none comes twice. */
static bool check_page(struct job *job, const struct wire_dir_listing *m)
{
	const struct workspace_list_dir_out *out = job->call.out;
	struct fault *f = &job->call.fault;
	const char *last = "";

	if (out->n_entries > 0)
		last = out->entries[out->n_entries - 1].name;
	for (size_t i = 0; i < m->n_entries && !f->code; i++) {
		if (!listing_is_entry(&m->entries[i]))
			answer_refuse(f, "lists what is no entry of a directory");
		else if (strcmp(m->entries[i].name, last) <= 0)
			answer_refuse(f, "lists names again that it has listed");
		last = m->entries[i].name;
	}
	return !f->code;
}

/* A long directory comes in pages; as much of it as fits is answered. */
static bool take_page(struct job *job, const struct wire_dir_listing *m,
		      struct guest_conn *conn)
{
	struct workspace_list_dir_out *out = job->call.out;
	struct gather *g = gather_of(job);
	int64_t ms;

	if (!check_page(job, m))
		return false;
	if (!listing_take(out, m, &g->room, &job->call.arena)) {
		out->more = out->has_more = true;
		return false;
	}
	if (!m->more)
		return false;
	if (m->n_entries == 0)
		answer_refuse(&job->call.fault, "says more and more, and sends nothing");
	ms = job->call.fault.code ? -1 : answer_more(&g->parts, &job->call.fault);
	if (ms > 0)
		ask_fields(job, conn, ms);
	return ms > 0;
}

static bool take_list(struct job *job, struct packet *answer, struct guest_conn *conn)
{
	struct wire_dir_listing m = { 0 };
	struct arena page = { 0 };
	bool asked = false;

	if (answer_decode(answer, &m, &page, &job->call.fault) == 0)
		asked = take_page(job, &m, conn);
	arena_release(&page);
	return asked;
}

/* --- asking ------------------------------------------------------------------------- */

static const struct ask_kind ask_kinds[] = {
	{ .asks = &record_wire_exec, .in = &record_workspace_exec_in, .take = take_exec },
	{ .asks = &record_wire_exec_background, .check = check_background },
	{ .asks = &record_wire_exec_poll, .check = check_poll },
	{ .asks = &record_wire_file_read,
	  .in = &record_workspace_file_read_in,
	  .fill = fill_read,
	  .check = check_content },
	{ .asks = &record_wire_file_write,
	  .in = &record_workspace_file_write_in,
	  .fill = fill_write },
	{ .asks = &record_wire_list_dir,
	  .in = &record_workspace_list_dir_in,
	  .fill = fill_list,
	  .take = take_list },
	{ .asks = &record_wire_set_env, .check = check_set_env },
};

static const struct ask_kind *ask_kind_of(const struct job *job)
{
	for (size_t i = 0; i < sizeof(ask_kinds) / sizeof(*ask_kinds); i++)
		if (ask_kinds[i].asks == job->call.op->message->record &&
		    (!ask_kinds[i].in || ask_kinds[i].in == job->call.op->in))
			return &ask_kinds[i];
	return NULL;
}

/* Whether the call's fault says that nothing was done.  After any other one something may
 * have been, and after a first part of an answer it was: the key stays used. */
static bool did_nothing(const struct job *job)
{
	const enum fault_code code = job->call.fault.code;

	return !job->owner && (code == FAULT_INVALID || code == FAULT_NOT_FOUND ||
			       code == FAULT_CONFLICT || code == FAULT_DENIED ||
			       code == FAULT_EXHAUSTED);
}

static bool take(struct job *job, struct packet *answer, struct guest_conn *conn)
{
	const struct ask_kind *kind = ask_kind_of(job);

	if (kind && kind->take)
		return kind->take(job, answer, conn);
	take_fields(job, answer);
	return false;
}

static void on_answer(void *arg, struct packet *answer, struct fault *f)
{
	struct job *job = arg;
	struct hosted_guest *t = hosted_guest_of(job->conn->host, job->call.workspace);

	if (!answer)
		job->call.fault = *f;
	else if (!t)
		fault_set(&job->call.fault, FAULT_UNAVAILABLE, "/workspace",
			  "the workspace is gone");
	else if ((!is_gone(job) || replay_has_row(job)) && take(job, answer, &t->control))
		return;
	if (t && answer && job->call.fault.code)
		log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN, "workspace %s: %s",
			   t->id, job->call.fault.text);
	replay_keep(job, did_nothing(job));
}

/* Whether the guest is there to be asked; else the call's fault says why not. */
static bool may_ask(struct host *host, struct job *job)
{
	struct hosted_guest *t = hosted_guest_of(host, job->call.workspace);

	if (!job->call.op->message) {
		fault_set(&job->call.fault, FAULT_INTERNAL, "", "%s has no message",
			  job->call.op->name);
		return false;
	}
	if (!t || !t->up) {
		bool boots = hosted_boots(host, job->call.workspace);

		fault_set(&job->call.fault, FAULT_UNAVAILABLE, "/workspace",
			  boots ? "the workspace's VM boots"
				: "the workspace's guest does not answer");
		job->call.fault.retry_after_ms = boots ? 5000 : 1000;
		return false;
	}
	return true;
}

void ask_start(struct host *host, struct job *job)
{
	int64_t ms = ANSWER_MS;

	if (!may_ask(host, job)) {
		replay_keep(job, true);
		return;
	}
	if (job->call.op->within)
		ms = call_within(&job->call) * 1000 + GRACE_MS;
	ask_fields(job, &hosted_guest_of(host, job->call.workspace)->control, ms);
}
