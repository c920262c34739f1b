/*
 * The daemon runs the assignments that the host has pushed, in order, at most four at once.
 *
 *     pushed -> waiting (spool) -> started (spool) -> result (spool) -> acked.
 *
 * Each of these steps is stored on the disk before the next step begins. So a guest that is
 * killed at any instant runs no assignment twice and loses no assignment. Messages that are no
 * assignments wait in the host's inbox, and the guest does not store these messages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "guest/outbuf.h"
#include "guest/guest_serve.h"

enum {
	RETRY_MS = 1000, /* pause after a failed write of the spool */
	RESULTS_MOST = 1000, /* results in one answer */
	UNREAD_MOST = 1000, /* maximum number of unread messages that are not
			       assignments */
};

/* --- an assignment's end -------------------------------------------------------- */

static void guest_daemon_leave(struct guest_assignment *d)
{
	proc_free(d->run);
	free(d->message_id);
	free(d->task_id);
	*d = (struct guest_assignment){ .guest = d->guest };
}

static bool read_streams(const struct proc *run, struct spool_result_row *r,
			 struct arena *a)
{
	const struct outbuf *o = &run->streams[0].kept, *e = &run->streams[1].kept;
	size_t n;

	r->out = outbuf_read(o, 0, o->len, a, &n);
	r->err = outbuf_read(e, 0, e->len, a, &n);
	return r->out && r->err;
}

/* Appends `reason` to the text that the command wrote to stderr. */
static void give_reason(struct spool_result_row *r, const char *reason, struct arena *a)
{
	size_t n = strlen(r->err);
	const char *gap = n && r->err[n - 1] != '\n' ? "\n" : "";

	r->err = arena_printf(a, "%s%s%s", r->err, gap, reason);
}

static void guest_daemon_describe(const struct guest_assignment *d,
				  struct spool_result_row *r, struct arena *a)
{
	const struct proc *run = d->run;
	uint64_t now = uv_now(run->loop);

	*r = (struct spool_result_row){
		.message_id = d->message_id,
		.task_id = d->task_id,
		.exit_code = proc_exit_code(run),
		.elapsed_secs = (int64_t)((now - run->started) / 1000),
	};
	if (!read_streams(run, r, a)) {
		r->out = r->err = "";
		give_reason(r, "the output could not be read back", a);
		r->exit_code = -1;
	}
	if (run->start_errno || run->timed_out)
		r->exit_code = -1;
	if (run->start_errno)
		give_reason(r,
			    arena_printf(a, "cannot start: %s",
					 strerror(run->start_errno)),
			    a);
	else if (run->timed_out)
		give_reason(r,
			    arena_printf(a, "timed out after %llds",
					 (long long)run->timeout_ms / 1000),
			    a);
	else if (d->cancelled)
		give_reason(r, "called off", a);
	else if (WIFSIGNALED(run->status))
		give_reason(r,
			    arena_printf(a, "ended by signal %d (%s)",
					 WTERMSIG(run->status),
					 strsignal(WTERMSIG(run->status))),
			    a);
	r->success = r->exit_code == 0 && !d->cancelled;
}

/* Stores the result of an ended command. If the write fails, tries again later until the result
 * is stored. The assignment keeps its place among the running assignments until its result is
 * stored. */
static void guest_daemon_store(struct guest_assignment *d)
{
	struct guest *g = d->guest;
	struct spool_result_row r;
	struct arena a = { 0 };
	struct fault f = { 0 };

	guest_daemon_describe(d, &r, &a);
	if (spool_finish(g->spool, &r, clock_wall_ms(), &f) == 0)
		guest_daemon_leave(d);
	arena_release(&a);
}

static void duty_done(struct proc *run)
{
	struct guest_assignment *d = run->owner;

	/* If the command was killed because this guest ends, the next guest reports that the
	 * assignment was interrupted. */
	if (d->guest->stopping)
		return;
	guest_daemon_store(d);
	guest_assignment_work(d->guest);
}

/* --- an assignment's start --------------------------------------------------------- */

static int read_payload(struct task_payload *p, json_t **json, const char *content,
			struct arena *a, struct fault *f)
{
	json_error_t error;

	*json = json_take(content, strlen(content),
			  JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
	if (!*json)
		return fault_set(f, FAULT_INVALID, "", "not JSON: %s", error.text);
	if (!json_is_object(*json))
		return fault_set(f, FAULT_INVALID, "", "not a JSON object");
	return op_decode(&record_task_payload, *json, p, DECODE_LENIENT, a, f);
}

/* Creates the command's process, which waits for proc_go(). Returns 0 if the process was made,
 * -1 after a failure, or -2 if the payload was not understood. */
static int guest_daemon_prepare(struct guest *g, struct guest_assignment *d,
				const struct spool_assignment_row *as, struct arena *a,
				struct fault *f)
{
	struct task_payload p = { 0 };
	const char *argv[] = { "/bin/sh", "-c", NULL, NULL };
	struct proc_spec spec = { .argv = argv, .folder = g->options->state };
	json_t *json = NULL;
	int rc = -2;

	if (read_payload(&p, &json, as->content, a, f))
		goto out;
	d->task_id = xstrdup(p.task_id);
	argv[2] = p.command;
	spec.timeout_ms = p.timeout_secs * 1000;
	rc = -1;
	if (guest_env(g, p.env, p.n_env, a, &spec.envp, f))
		goto out;
	spec.dir = guest_workdir(g, p.workdir, a, f);
	if (spec.dir < 0)
		goto out;
	rc = proc_new(&d->run, &g->runs, &g->loop, &spec, f) ? -1 : 0;
	close(spec.dir);
out:
	json_decref(json);
	return rc;
}

/* Stores a result for an assignment if its command could not be started. */
static int guest_daemon_refuse(struct guest *g, struct guest_assignment *d, int code,
			       const struct fault *why)
{
	struct fault f = { 0 };
	struct arena a = { 0 };
	struct spool_result_row r = {
		.message_id = d->message_id,
		.task_id = d->task_id ? d->task_id : "",
		.exit_code = code,
		.out = "",
	};
	int rc;

	r.err = arena_printf(&a, "%s%s%s%s",
			     code == -2 ? "payload not understood: " : "cannot start: ",
			     why->where, *why->where ? ": " : "", why->text);
	rc = spool_finish(g->spool, &r, clock_wall_ms(), &f);
	arena_release(&a);
	return rc;
}

/* Begins the command of an assignment, or stores the reason why the command cannot begin. Sets
 * *told if a heartbeat has told the hosts that this command begins. The heartbeat comes before
 * the command runs, because the command may at once report that its task has ended. At that
 * report, a host calls off the task's commands that have not begun as far as the host knows. */
static int guest_daemon_begin(struct guest *g, struct guest_assignment *d,
			      const struct spool_assignment_row *as, struct arena *a,
			      bool *told)
{
	struct fault f = { 0 };
	int code, rc;

	*told = false;
	d->message_id = xstrdup(as->message_id);
	code = guest_daemon_prepare(g, d, as, a, &f);
	if (code) {
		rc = guest_daemon_refuse(g, d, code, &f);
		guest_daemon_leave(d);
		return rc;
	}
	d->run->owner = d;
	d->run->done = duty_done;
	rc = spool_start(g->spool, d->message_id, d->task_id, clock_wall_ms(), &f);
	if (rc) {
		guest_daemon_leave(d); /* the command has not begun to run */
		return rc;
	}
	guest_assignment_beat(g);
	*told = true;
	proc_go(d->run);
	return 0;
}

static struct guest_assignment *free_place(struct guest *g)
{
	for (int i = 0; i < AT_ONCE; i++)
		if (!g->duties[i].run)
			return &g->duties[i];
	return NULL;
}

static void try_again(uv_timer_t *timer)
{
	struct guest *g = timer->data;

	for (int i = 0; i < AT_ONCE; i++)
		if (g->duties[i].run && g->duties[i].run->over)
			guest_daemon_store(&g->duties[i]);
	guest_assignment_work(g);
}

void guest_assignment_work(struct guest *g)
{
	struct spool_assignment_row as;
	struct arena a = { 0 };
	struct fault f = { 0 };
	bool later = false, told = false;
	struct guest_assignment *d;
	int rc = 1;

	while (g->spool_settled && !g->halted && !g->stopping && rc > 0 &&
	       (d = free_place(g))) {
		d->guest = g;
		rc = spool_next(g->spool, &a, &as, &f);
		if (rc > 0 && guest_daemon_begin(g, d, &as, &a, &told))
			rc = -1;
		arena_release(&a);
	}
	for (int i = 0; i < AT_ONCE; i++)
		later |= g->duties[i].run && g->duties[i].run->over;
	if (rc < 0)
		guest_check(g);
	if ((rc < 0 || later) && !g->stopping)
		uv_timer_start(&g->again, try_again, RETRY_MS, 0);
	if (!told)
		guest_assignment_beat(g);
}

/* --- pushes --------------------------------------------------------------------------- */

/* Returns the id of a message. A message of the older dialect may have no id. A message without
 * an id gets a random id here, and the guest reports the message's result under this random id. */
static const char *message_name(struct arena *a, const char *id)
{
	unsigned char r[16];

	if (*id)
		return id;
	if (uv_random(NULL, NULL, r, sizeof(r), 0, NULL))
		memset(r, 0, sizeof(r));
	return arena_printf(a,
			    "%02x%02x%02x%02x-%02x%02x-4%x%02x-8%x%02x-"
			    "%02x%02x%02x%02x%02x%02x",
			    r[0], r[1], r[2], r[3], r[4], r[5], r[6] & 15, r[7],
			    r[8] & 15, r[9], r[10], r[11], r[12], r[13], r[14], r[15]);
}

void guest_assignment_call_off(struct guest *g)
{
	for (int i = 0; i < AT_ONCE; i++) {
		struct guest_assignment *d = &g->duties[i];

		if (!d->run || d->run->over)
			continue;
		d->cancelled = true;
		proc_end(d->run);
	}
}

/* Calls off a command. If the command has already ended, its result does not change. */
static int guest_daemon_call_off(struct guest *g, const char *id, struct fault *f)
{
	for (int i = 0; i < AT_ONCE; i++) {
		struct guest_assignment *d = &g->duties[i];

		if (!d->run || d->run->over || strcmp(d->message_id, id) != 0)
			continue;
		d->cancelled = true;
		proc_end(d->run);
		return 0;
	}
	return spool_drop(g->spool, id, clock_wall_ms(), f);
}

/* Contents of a push, in the newer or in the older dialect. */
struct pushed {
	const char *id, *type, *content;
	bool cancelled;
	int64_t unread; /* unread plain messages; 0: the push does not contain the
			   number */
};

static int guest_daemon_take(struct guest_request *q, const struct pushed *m,
			     struct fault *f)
{
	struct guest *g = q->guest;
	bool work = strcmp(m->type, "task_assignment") == 0;
	const char *id;
	int rc = 0;

	if (strlen(m->id) > MESSAGE_ID)
		return fault_set(f, FAULT_INVALID, "/message_id", "longer than %d bytes",
				 MESSAGE_ID);
	id = message_name(&q->arena, m->id);
	if (m->cancelled)
		rc = guest_daemon_call_off(g, id, f);
	else if (work)
		rc = spool_put(g->spool, id, m->content, clock_wall_ms(), f);
	else if (m->unread >= UNREAD_MOST) /* after this fault the delivery stays queued
					      at the host */
		rc = fault_set(f, FAULT_EXHAUSTED, "", "%lld messages are unread already",
			       (long long)m->unread);
	if (rc) {
		guest_check(g);
		return rc;
	}
	guest_request_answer(q, "Ok", NULL);
	if (work)
		guest_assignment_work(g);
	return 0;
}

int answer_message(struct guest_request *q, struct fault *f)
{
	const struct wire_team_message *in = q->body;

	return guest_daemon_take(q,
				 &(struct pushed){ in->message_id, in->message_type,
						   in->content, in->cancelled,
						   in->unread },
				 f);
}

int answer_push(struct guest_request *q, struct fault *f)
{
	const struct wire_team_message_push *in = q->body;

	return guest_daemon_take(q,
				 &(struct pushed){ in->message.message_id,
						   in->message.message_type,
						   in->message.content, false, 0 },
				 f);
}

/* --- results ----------------------------------------------------------------------------- */

struct poll {
	struct guest *guest;
	const struct wire_poll_daemon_results *in;
	struct wire_daemon_results out;
	struct arena *arena;
	size_t room;
	bool old, takes; /* old: the older dialect. takes: the answer's results leave the
			    spool */
	const char **taken;
	size_t n_taken;
};

static void put_streams(struct daemon_result *to, const struct output_parts *p, bool old)
{
	bool part = (p->more && !old) || p->offset[0] || p->offset[1];

	to->stdout = p->text[0];
	to->stderr = p->text[1];
	to->has_stdout_size = to->has_stderr_size = part;
	to->stdout_size = (int64_t)p->size[0];
	to->stderr_size = (int64_t)p->size[1];
	to->has_more = to->more = p->more && !old;
}

static size_t cost_of(const struct spool_result_row *r, const struct output_parts *p)
{
	size_t room = SIZE_MAX, before = room;

	text_json_fit(r->message_id, strlen(r->message_id), &room);
	text_json_fit(r->task_id, strlen(r->task_id), &room);
	text_json_fit(p->text[0], p->len[0], &room);
	text_json_fit(p->text[1], p->len[1], &room);
	return before - room + 300; /* 300 bytes for numbers and for names of fields */
}

/* Adds a result to the answer if the answer has room. The first result is always added, and is
 * cut to the room. Returns false if the answer has no room. */
static bool add_result(struct poll *poll, const struct spool_result_row *r,
		       struct output_parts *p)
{
	size_t cost = cost_of(r, p), left;
	struct daemon_result *to;
	const char **id;

	if (cost > poll->room && poll->out.n_results)
		return false;
	left = poll->room - 1000 - strlen(r->task_id) * 6;
	output_parts_fit(p, &left, poll->old, poll->arena);
	poll->room -= cost < poll->room ? cost : poll->room;
	to = arena_push(poll->arena, &poll->out.results, &poll->out.n_results,
			sizeof(*to));
	*to = (struct daemon_result){
		.task_id = r->task_id,
		.source_message_id = r->message_id,
		.success = r->success,
		.exit_code = r->exit_code,
		.elapsed_secs = r->elapsed_secs,
		.interrupted = r->interrupted,
		.has_interrupted = r->interrupted,
	};
	put_streams(to, p, poll->old);
	id = arena_push(poll->arena, &poll->taken, &poll->n_taken, sizeof(*id));
	*id = r->message_id;
	return true;
}

static int guest_daemon_add_all(struct poll *poll, struct fault *f)
{
	struct spool *spool = poll->guest->spool;
	int64_t limit = poll->in->limit;
	struct spool_result_row r = { 0 };
	int rc;

	if (limit > RESULTS_MOST)
		limit = RESULTS_MOST;
	while ((rc = spool_result(spool, r.seq, NULL, poll->arena, &r, f)) > 0) {
		struct output_parts p = { 0 };

		output_parts_take(&p, r.out, strlen(r.out), r.err, strlen(r.err));
		if ((int64_t)poll->out.n_results >= limit || !add_result(poll, &r, &p)) {
			poll->out.more = poll->out.has_more = true;
			return 0;
		}
	}
	return rc;
}

static int add_one(struct poll *poll, struct fault *f)
{
	const struct wire_poll_daemon_results *in = poll->in;
	struct output_parts p = { .offset = { (size_t)in->stdout_offset,
					      (size_t)in->stderr_offset } };
	struct spool_result_row r;
	int rc = spool_result(poll->guest->spool, 0, in->message_id, poll->arena, &r, f);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return fault_set(f, FAULT_NOT_FOUND, "/message_id",
				 "no result of message %.64s", in->message_id);
	output_parts_take(&p, r.out, strlen(r.out), r.err, strlen(r.err));
	if (output_parts_bad_offset(&p) >= 0)
		return fault_set(f, FAULT_INVALID, "/stdout_offset",
				 "the offset is behind the end, or inside a character");
	add_result(poll, &r, &p);
	return 0;
}

int answer_results(struct guest_request *q, struct fault *f)
{
	struct poll poll = {
		.guest = q->guest,
		.in = q->body,
		.arena = &q->arena,
		.room = FRAME_ROOM,
		.old = !q->peer->hello,
	};
	struct spool *spool = q->guest->spool;
	struct spool_counts_row c = { 0 };
	int rc = spool_ack(spool, poll.in->ack, poll.in->n_ack, f);

	poll.takes = poll.old && !packet_has(&q->packet, "ack");
	if (!rc)
		rc = poll.in->message_id ? add_one(&poll, f)
					 : guest_daemon_add_all(&poll, f);
	if (!rc && poll.takes)
		rc = spool_ack(spool, poll.taken, poll.n_taken, f);
	if (!rc)
		rc = spool_count(spool, &c, f);
	if (rc)
		return rc;
	poll.out.pending_tasks = c.waiting + c.running;
	guest_request_answer(q, "DaemonResults", &poll.out);
	return 0;
}

/* --- heartbeat ----------------------------------------------------------------------------- */

static int64_t load_percent(void)
{
	double load = 0;
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (getloadavg(&load, 1) < 1 || n < 1)
		return 0;
	return (int64_t)(load * 100 / (double)n);
}

void guest_assignment_beat(struct guest *g)
{
	const char *running[AT_ONCE];
	struct wire_heartbeat beat = { .running = running, .load = load_percent() };
	struct spool_counts_row c = { 0 };
	struct fault f = { 0 };

	spool_count(g->spool, &c, &f);
	beat.has_spool_seq = true;
	beat.spool_seq = spool_seq(g->spool);
	beat.waiting = c.waiting;
	beat.results = c.results;
	for (int i = 0; i < AT_ONCE; i++)
		if (g->duties[i].run)
			running[beat.n_running++] = g->duties[i].message_id;
	for (struct peer *peer = g->peers, *next; peer; peer = next) {
		next = peer->next;
		if (peer->hello && peer->port == WIRE_CONTROL)
			peer_send(peer, "Heartbeat", &beat);
	}
}
