#include "tests/lib/rig.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/host/guests/hosted_ask.h"
#include "core/host/guests/hosted_daemon.h"
#include "core/host/guests/hosted_push.h"
#include "core/host/metrics/metrics.h"
#include "tests/lib/place.h"

enum { WORKSPACE = 7, TEAM = 3, AGENT = 5 };

static const struct home no_home;

/* --- the guest's end ------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
	struct rig_peer *p = handle->data;

	frame_release(&p->in);
	flow_release(&p->flow);
	free(p);
}

static void drop(struct rig_peer *p)
{
	struct rig_peer **at = &p->rig->peers;

	if (p->closing)
		return;
	p->closing = true;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	uv_close((uv_handle_t *)&p->pipe, on_closed);
}

static void on_wrote(struct flow *flow, int status)
{
	struct rig_peer *p = flow->arg;

	if (status < 0 || (!p->closing && flow_send(flow)))
		drop(p);
}

void rig_say(struct rig_peer *p, const char *body, size_t size)
{
	struct fault f = { 0 };
	size_t start = frame_open(&p->flow.out);

	text_add(&p->flow.out, body, size);
	frame_close(&p->flow.out, start, &f);
	if (!p->closing && flow_send(&p->flow))
		drop(p);
}

void rig_reply(struct rig_peer *p, json_t *json, const json_t *request)
{
	json_t *id = json_object_get(request, "id");
	char *text;

	if (id)
		json_object_set(json, "id", id);
	text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
	rig_say(p, text, strlen(text));
	free(text);
	json_decref(json);
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct rig_peer *p = stream->data;
	struct fault f = { 0 };
	size_t used;

	for (size_t at = 0; n > 0 && at < (size_t)n && !p->closing; at += used) {
		int rc = frame_read(&p->in, buf->base + at, (size_t)n - at, &used, &f);
		json_t *json = rc > 0 ? json_loadb(p->in.body, p->in.size, 0, NULL)
				      : NULL;

		if (json)
			p->rig->heard(p->rig->arg, p, json);
		json_decref(json);
	}
	free(buf->base);
	if (n < 0)
		drop(p);
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	(void)handle;
	*buf = uv_buf_init(malloc(size), (unsigned)size);
}

static void on_caller(struct rig *r, int fd, unsigned port)
{
	struct rig_peer *p = calloc(1, sizeof(*p));

	p->rig = r;
	p->port = port;
	p->next = r->peers;
	r->peers = p;
	uv_pipe_init(&r->host.loop, &p->pipe, 0);
	p->pipe.data = p;
	p->flow.stream = (uv_stream_t *)&p->pipe;
	p->flow.wrote = on_wrote;
	p->flow.arg = p;
	if (uv_pipe_open(&p->pipe, fd) ||
	    uv_read_start((uv_stream_t *)&p->pipe, on_room, on_bytes))
		drop(p);
}

static void on_control(void *arg, int fd, const struct link_caller *who)
{
	(void)who;
	on_caller(arg, fd, LINK_CONTROL);
}

static void on_relay(void *arg, int fd, const struct link_caller *who)
{
	(void)who;
	on_caller(arg, fd, LINK_RELAY);
}

/* --- the host's end ------------------------------------------------------------------- */

/* Returns waiting messages instead of rows of the store. Returns no message if the host does
 * not ask for messages of the waiting kind. */
static void fill_pushes(struct rig *r, struct job *job)
{
	const struct delivery_waiting_in *in = job->call.in;
	struct delivery_waiting_out *out = job->call.out;
	bool asked = r->unoffered ? !in->texts : !in->assignments;
	int n = !asked ? 0 : r->pushes < in->limit ? r->pushes : (int)in->limit;

	if (r->page_fault) {
		fault_set(&job->call.fault, r->page_fault, "", "no store");
		r->page_fault = FAULT_NONE;
		return;
	}
	out->n_pushes = (size_t)n;
	out->pushes =
		arena_alloc(&job->call.arena, (out->n_pushes + 1) * sizeof(*out->pushes));
	for (int i = 0; i < n; i++)
		out->pushes[i] = (struct push){
			.message = i + 1,
			.message_id = "01890000-0000-7000-8000-000000000001",
			.from = "lead",
			.to = "ann",
			.content = "x",
			.message_type = r->unoffered ? "task_assignment" : "text",
			.unoffered = r->unoffered,
			.has_unread = !r->unoffered,
		};
	r->pushes -= n;
	r->asked_again = in->again;
	r->asked_for_all += !in->assignments && !in->texts;
	r->asked_for_assignments += in->assignments;
	r->asked_for_texts += in->texts;
}

/* Counts the messages in the host's notes about pushes, instead of storing the notes. Keeps the
 * guest's boot id from a note about a workspace. */
static void note(struct rig *r, const struct job *job)
{
	const struct delivery_notified_in *n = job->call.in;
	const struct workspace_note_in *w = job->call.in;

	if (job->call.op == op_delivery_offered)
		r->offered +=
			(int)((struct delivery_offered_in *)job->call.in)->n_messages;
	if (job->call.op == op_delivery_notified) {
		r->told += (int)n->n_messages;
		r->refused += (int)n->n_refused;
	}
	if (job->call.op == op_workspace_note && w->guest_boot)
		snprintf(r->boot_noted, sizeof(r->boot_noted), "%s", w->guest_boot);
}

/* Counts a result that arrived, instead of storing the result. */
static void store(struct rig *r, struct job *job)
{
	const struct result_store_in *in = job->call.in;
	struct result_store_out *out = job->call.out;

	r->stored++;
	r->failures += !in->success;
	snprintf(r->why, sizeof(r->why), "%s", in->stderr);
	out->stored = !r->strays;
	if (r->store_fault)
		fault_set(&job->call.fault, r->store_fault, "", "no store");
}

static void note_turn(struct rig *r, const struct job *job)
{
	const struct turn_output_in *in = job->call.in;
	struct turn_output_out *out = job->call.out;

	if (job->call.op == op_turn_output) {
		r->printed += strlen(in->text);
		out->kept = true;
	} else if (job->call.op == op_turn_end) {
		r->printed_by_end = r->printed;
		r->ends++;
	}
}

static void finish(struct rig *r, struct chain *jobs)
{
	for (struct job *job; (job = chain_pop(jobs));) {
		r->host.calls->n_writes -= job->writing;
		r->host.calls->n_reads -= job->reading;
		job->writing = job->reading = false;
		if (jobs == &r->host.calls->works && job->read)
			job->read(job, NULL);
		if (job->call.op == op_delivery_waiting)
			fill_pushes(r, job);
		if (job->call.op == op_result_store)
			store(r, job);
		note(r, job);
		note_turn(r, job);
		if (job->conn) /* a call that the guest itself makes */
			fault_set(&job->call.fault, FAULT_UNAVAILABLE, "", "no store");
		job->done(job);
	}
}

void rig_step(struct rig *r, bool wait)
{
	struct pollfd ready = { .fd = uv_backend_fd(&r->host.loop), .events = POLLIN };

	uv_run(&r->host.loop, UV_RUN_NOWAIT);
	finish(r, &r->host.calls->writes);
	if (!r->reads_held)
		finish(r, &r->host.calls->reads);
	if (!r->works_held)
		finish(r, &r->host.calls->works);
	finish(r, &r->host.calls->early);
	conn_flush(&r->host);
	if (wait)
		poll(&ready, 1, 1);
}

static bool tether_start(struct rig *r, const char *dial)
{
	struct fault f = { 0 };
	const struct guest_wanted to = {
		.workspace = WORKSPACE,
		.team = TEAM,
		.agent = AGENT,
		.id = "01890000-0000-7000-8000-000000000001",
		.address = dial,
		.token = "a token",
		.team_name = "red",
		.agent_name = "ann",
		.agent_token = "t",
	};

	r->guest = hosted_guest_open(&r->host, &to, &f);
	return r->guest != NULL;
}

bool rig_open(struct rig *r, const char *listen, const char *dial, bool old,
	      rig_heard *heard, void *arg)
{
	static void (*const called[])(
		void *, int, const struct link_caller *) = { on_control, on_relay };
	struct link_address at;
	struct fault f = { 0 };

	signal(SIGPIPE, SIG_IGN); /* a host also ignores SIGPIPE */
	*r = (struct rig){ .old = old, .heard = heard, .arg = arg };
	r->host.home = &no_home;
	host_make_rooms(&r->host);
	r->host.metrics = metrics_new();
	r->host.stopping = true; /* the host does not start or stop workspaces */
	snprintf(r->host.boot_id, sizeof(r->host.boot_id), "host");
	uv_loop_init(&r->host.loop);
	r->conn.host = &r->host;
	r->conn.greeted = r->conn.is_dirty = true;
	r->conn.flow.busy = true; /* answers stay in flow.out */
	if (link_parse(listen, "", &at, &f))
		return false;
	for (int i = 0; i < RIG_PORTS; i++)
		r->ears[i] = link_listen(&r->host.loop, &at, LINK_CONTROL + (unsigned)i,
					 called[i], r, &f);
	return r->ears[0] && r->ears[1] && tether_start(r, dial);
}

void rig_close(struct rig *r)
{
	room_guests.close(&r->host);
	for (int i = 0; i < RIG_PORTS; i++)
		link_deafen(r->ears[i]);
	while (r->peers)
		drop(r->peers);
	while (r->host.clients->first)
		conn_close(r->host.clients->first);
	do
		rig_step(r, false);
	while (uv_loop_alive(&r->host.loop));
	assert(r->conn.n_jobs == 0 && r->host.clients->n_jobs == 0);
	uv_loop_close(&r->host.loop);
	text_release(&r->conn.flow.out);
	job_pool_release(&r->host.jobs);
	metrics_free(r->host.metrics);
	host_free_rooms(&r->host);
}

bool rig_link(struct rig *r, int ms)
{
	int64_t until = clock_steady_ms() + ms;

	while (!r->guest->up && clock_steady_ms() < until) {
		if (r->guest->control.state == GUEST_CONN_IDLE &&
		    r->guest->relay.state == GUEST_CONN_IDLE) {
			r->guest->old = r->old;
			r->guest->dial_at = 0;
		}
		hosted_guests_tick(&r->host);
		rig_step(r, true);
	}
	return r->guest->up;
}

void rig_unlink(struct rig *r)
{
	hosted_guest_down(r->guest);
}

/* --- calls ---------------------------------------------------------------------------- */

bool rig_call(struct rig *r, const char *op, json_t *args)
{
	struct job *job = job_new(&r->host.jobs);
	struct conn *c = &r->conn;

	job->call.settings = &no_home.settings;
	if (call_decode(&job->call, op_find(op), args)) {
		job_free(job);
		return false;
	}
	job_own(job);
	job->id = json_integer(1);
	json_decref(args);
	job->call.workspace.asked = WORKSPACE;
	job->conn = c;
	job->sibling_at = &c->jobs;
	c->jobs = job;
	c->n_jobs = r->host.clients->n_jobs = 1;
	ask_start(&r->host, job);
	return true;
}

json_t *rig_answer(struct rig *r)
{
	struct text *out = &r->conn.flow.out;
	struct frame_reader in = { 0 };
	struct fault f = { 0 };
	json_t *json = NULL;
	size_t used;

	if (out->len && frame_read(&in, out->data, out->len, &used, &f) > 0)
		json = json_loadb(in.body, in.size, 0, NULL);
	if (json)
		out->len = 0;
	frame_release(&in);
	return json;
}

json_t *rig_ask(struct rig *r, const char *op, json_t *args, int ms)
{
	int64_t until = clock_steady_ms() + ms;
	json_t *answer;

	if (!rig_call(r, op, args))
		return NULL;
	while (!(answer = rig_answer(r)) && clock_steady_ms() < until)
		rig_step(r, true);
	return answer;
}

void rig_forsake(struct rig *r)
{
	for (struct job *job = r->conn.jobs; job; job = job->sibling)
		atomic_store(&job->gone, true);
}

/* --- messages of a guest ------------------------------------------------------------------ */

static json_t *brim_record(const struct record *record);

static json_t *brim_value(const struct type *t)
{
	switch (t->kind) {
	case KIND_INT:
		return json_integer(t->max ? t->max : 0x4141414141414141);
	case KIND_BOOL:
		return json_true();
	case KIND_TIME:
		return json_string("2026-01-01T00:00:00Z");
	case KIND_ENUM:
		return json_string(t->choices[0].name);
	case KIND_JSON:
	case KIND_MAP:
		return json_pack("{ss}", "A", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
	case KIND_RECORD:
		return brim_record(t->record);
	case KIND_TEXT:
		break;
	}
	return json_string("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
}

static json_t *brim_record(const struct record *record)
{
	json_t *json = json_object();

	for (size_t i = 0; i < record->n_fields; i++) {
		const struct field *f = &record->fields[i];
		json_t *value = f->flags & FIELD_LIST ? json_array()
						      : brim_value(f->type);

		for (int n = 0; n < 5 && f->flags & FIELD_LIST; n++)
			json_array_append_new(value, brim_value(f->type));
		json_object_set_new(json, f->name, value);
	}
	return json;
}

json_t *rig_brim(const struct wire *wire)
{
	json_t *json = brim_record(wire->record);

	json_object_set_new(json, "type", json_string(wire->name));
	return json;
}

json_t *rig_honest(const json_t *request)
{
	const char *type = json_string_value(json_object_get(request, "type"));

	if (!strcmp(type, "Hello"))
		return json_pack("{ssssssss}", "type", "Hello", "version", "0", "role",
				 "guest", "boot_id", "b");
	if (!strcmp(type, "Ping"))
		return json_pack("{sssssi}", "type", "Pong", "version", "0",
				 "uptime_secs", 1);
	if (!strcmp(type, "PollDaemonResults"))
		return json_pack("{sss[]si}", "type", "DaemonResults", "results",
				 "pending_tasks", 0);
	if (!strcmp(type, "TurnStart"))
		return json_pack("{sssi}", "type", "BackgroundStarted", "job_id", 1);
	return json_pack("{ss}", "type", wire_answer(wire_find(type), SIDE_HOST)->name);
}
