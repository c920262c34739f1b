/*
 * background - commands in the background.
 *
 * A job keeps its run, with the output, until the place is needed.  A followed job is kept
 * for a while after its end, since its caller may have lost the last answer.
 */
#include "guest/background.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "guest/outbuf.h"

enum {
	GATHER_MS = 10, /* from the first output on */
	PLENTY = 64 << 10, /* bytes that are told at once */
};

struct follower {
	struct guest_request *q;
	struct proc *run;
	size_t offset[2];
	uv_timer_t timer;
	bool gathering;
	follow_tell *tell;
	struct follower *next, **place; /* in run->followers */
};

static void guest_follow_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void guest_follow_drop(struct follower *w)
{
	*w->place = w->next;
	if (w->next)
		w->next->place = w->place;
	w->q->owner = NULL;
	w->q->gone = NULL;
	uv_close((uv_handle_t *)&w->timer, guest_follow_timer_closed);
}

static void guest_follow_tell(struct follower *w)
{
	struct guest_request *q = w->q;
	struct proc *run = w->run;
	follow_tell *how = w->tell;

	guest_follow_drop(w);
	how(q, run);
}

static void guest_follow_time_is_up(uv_timer_t *timer)
{
	guest_follow_tell(timer->data);
}

/* Bytes that are there behind the offsets. */
static size_t pending(const struct follower *w)
{
	size_t n = 0;

	for (int i = 0; i < 2; i++)
		if (w->run->streams[i].kept.len > w->offset[i])
			n += w->run->streams[i].kept.len - w->offset[i];
	return n;
}

static void guest_follow_gather(struct follower *w)
{
	if (w->gathering || !pending(w))
		return;
	w->gathering = true;
	uv_timer_start(&w->timer, guest_follow_time_is_up, GATHER_MS, 0);
}

static void guest_follow_gone(struct guest_request *q)
{
	follow_end(q);
	guest_request_free(q);
}

void follow_begin(struct guest_request *q, struct proc *run, const size_t offset[2],
		  int64_t ms, follow_tell *how)
{
	struct follower *w = xcalloc(1, sizeof(*w));

	*w = (struct follower){ .q = q,
				.run = run,
				.offset = { offset[0], offset[1] },
				.tell = how,
				.next = run->followers,
				.place = &run->followers };
	if (w->next)
		w->next->place = &w->next;
	run->followers = w;
	q->owner = w;
	q->gone = guest_follow_gone;
	uv_timer_init(run->loop, &w->timer);
	w->timer.data = w;
	uv_timer_start(&w->timer, guest_follow_time_is_up, (uint64_t)ms, 0);
	guest_follow_gather(w);
}

struct proc *follow_end(struct guest_request *q)
{
	struct follower *w = q->owner;

	guest_follow_drop(w);
	return w->run;
}

void follow_printed(struct proc *run)
{
	struct follower *next;

	for (struct follower *w = run->followers; w; w = next) {
		next = w->next;
		if (pending(w) < PLENTY) {
			guest_follow_gather(w);
			continue;
		}
		guest_follow_tell(w);
		next = run->followers; /* a lost peer's other followers are freed too */
	}
}

static void follow_over(struct proc *run)
{
	while (run->followers)
		guest_follow_tell(run->followers);
}

enum {
	FOLLOWED_KEPT = 64, /* of those that are over */
	WAIT_MOST = 300, /* seconds */
};

/* --- commands --------------------------------------------------------------------- */

int command_start(struct guest_request *q, const struct command *c, struct proc **out,
		  struct fault *f)
{
	struct guest *g = q->guest;
	struct proc_spec spec = {
		.argv = c->argv,
		.timeout_ms = c->timeout_secs * 1000,
		.folder = g->options->state,
		.input = c->input,
		.waits = c->waits,
	};
	int rc = guest_env(g, c->env, c->n_env, &q->arena, &spec.envp, f);

	if (rc)
		return rc;
	spec.dir = guest_workdir(g, c->workdir, &q->arena, f);
	if (spec.dir < 0)
		return spec.dir;
	rc = proc_new(out, &g->runs, &g->loop, &spec, f);
	close(spec.dir);
	return rc;
}

const char *const *command_shell(struct arena *a, const char *command)
{
	const char **argv = arena_alloc(a, 4 * sizeof(*argv));

	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = command;
	return argv;
}

int command_not_started(const struct proc *run, const char *what, struct fault *f)
{
	return guest_path_fault(run->start_errno, "/command", what, f);
}

size_t command_room(bool has_room, int64_t room)
{
	return has_room && room > 0 && room < FRAME_ROOM ? (size_t)room : FRAME_ROOM;
}

int command_lost(struct fault *f)
{
	return fault_set(f, FAULT_IO, "", "the output cannot be read back");
}

/* --- jobs ------------------------------------------------------------------------- */

static void background_job_free(struct guest *g, struct background_job **place)
{
	struct background_job *job = *place;

	*place = job->next;
	proc_free(job->run);
	free(job);
	g->n_jobs--;
}

/* Forgets the followed job that ended first, when there are too many of them. */
static void forget_followed(struct guest *g)
{
	struct background_job **first = NULL;
	int n = 0;

	for (struct background_job **p = &g->jobs; *p; p = &(*p)->next) {
		if (!(*p)->ended)
			continue;
		n++;
		if (!first || (*p)->ended < (*first)->ended)
			first = p;
	}
	if (n > FOLLOWED_KEPT)
		background_job_free(g, first);
}

int background_place(struct guest *g, struct fault *f)
{
	struct background_job **oldest = NULL;

	if (g->n_jobs < JOBS)
		return 0;
	for (struct background_job **p = &g->jobs; *p; p = &(*p)->next)
		if ((*p)->seen)
			oldest = p;
	if (!oldest)
		return fault_set(f, FAULT_EXHAUSTED, "",
				 "%d jobs run or were not polled to their end", JOBS);
	background_job_free(g, oldest);
	return 0;
}

/* The `done` of a job's run, and of one that is followed. */
static void background_done(struct proc *run)
{
	follow_over(run);
}

void background_followed_done(struct proc *run)
{
	struct background_job *job = run->owner;

	job->ended = ++job->guest->last_ended;
	forget_followed(job->guest);
	follow_over(run);
}

struct background_job *background_new(struct guest *g, struct proc *run)
{
	struct background_job *job = xcalloc(1, sizeof(*job));

	*job = (struct background_job){
		.guest = g, .id = ++g->last_job, .run = run, .next = g->jobs
	};
	run->owner = job;
	g->jobs = job;
	g->n_jobs++;
	return job;
}

void jobs_free(struct guest *g)
{
	while (g->jobs)
		background_job_free(g, &g->jobs);
}

int background_find(struct guest *g, int64_t id, struct background_job **out,
		    struct fault *f)
{
	struct background_job *job = g->jobs;

	while (job && job->id != id)
		job = job->next;
	*out = job;
	return job ? 0
		   : fault_set(f, FAULT_NOT_FOUND, "/job_id", "unknown job_id %lld",
			       (long long)id);
}

/* --- background --------------------------------------------------------------------- */

int answer_background(struct guest_request *q, struct fault *f)
{
	const struct wire_exec_background *in = q->body;
	struct command c = {
		.argv = command_shell(&q->arena, in->command),
		.workdir = in->workdir,
		.env = in->env,
		.n_env = in->n_env,
	};
	struct wire_background_started out = { 0 };
	struct background_job *job;
	struct proc *run;
	int rc = background_place(q->guest, f);

	if (!rc)
		rc = command_start(q, &c, &run, f);
	if (rc)
		return rc;
	job = background_new(q->guest, run);
	run->done = background_done;
	run->printed = follow_printed;
	proc_go(run);
	out.job_id = job->id;
	guest_request_answer(q, "BackgroundStarted", &out);
	return 0;
}

static void background_describe(struct wire_background_status *out,
				struct output_parts *p, size_t room, bool old,
				struct arena *a)
{
	output_parts_fit(p, &room, old, a);
	out->stdout = p->text[0];
	out->stderr = p->text[1];
	out->stdout_size = (int64_t)p->size[0];
	out->stderr_size = (int64_t)p->size[1];
	out->has_stdout_size = out->has_stderr_size = true;
	out->has_more = out->more = p->more && !old;
	if (old)
		return;
	out->stdout_written = (int64_t)p->written[0];
	out->stderr_written = (int64_t)p->written[1];
	out->has_stdout_written = p->written[0] > 0;
	out->has_stderr_written = p->written[1] > 0;
	out->has_replaced = out->replaced = p->replaced;
}

static int tell_job(struct guest_request *q, struct proc *run, struct fault *f)
{
	const struct wire_exec_poll *in = q->body;
	struct wire_background_status out = { 0 };
	struct output_parts p = { .offset = { (size_t)in->stdout_offset,
					      (size_t)in->stderr_offset } };
	struct background_job *job = run->owner;
	int bad;

	if (!output_parts_read(&p, &run->streams[0].kept, &run->streams[1].kept,
			       &q->arena))
		return command_lost(f);
	bad = output_parts_bad_offset(&p);
	if (bad >= 0)
		return fault_set(f, FAULT_INVALID,
				 bad ? "/stderr_offset" : "/stdout_offset",
				 "behind the end, or inside a character");
	if (run->over && run->start_errno)
		return command_not_started(run, "the command", f);
	out.running = !run->over;
	out.has_exit_code = run->over;
	out.exit_code = run->over ? proc_exit_code(run) : 0;
	out.has_timed_out = out.timed_out = run->over && run->timed_out;
	background_describe(&out, &p, command_room(in->has_room, in->room),
			    !q->peer->hello, &q->arena);
	job->seen = run->over && !out.more;
	guest_request_answer(q, "BackgroundStatus", &out);
	return 0;
}

static void poll_tell(struct guest_request *q, struct proc *run)
{
	struct fault f = { 0 };

	if (tell_job(q, run, &f))
		guest_request_fail(q, &f);
}

/* A look behind the end is a fault, for which nobody waits. */
static bool may_wait(const struct wire_exec_poll *in, const struct proc *run)
{
	return in->has_wait_seconds && in->wait_seconds > 0 && !run->over &&
	       (size_t)in->stdout_offset <= run->streams[0].kept.len &&
	       (size_t)in->stderr_offset <= run->streams[1].kept.len;
}

int answer_poll(struct guest_request *q, struct fault *f)
{
	const struct wire_exec_poll *in = q->body;
	const size_t offset[2] = { (size_t)in->stdout_offset, (size_t)in->stderr_offset };
	struct background_job *job;

	if (background_find(q->guest, in->job_id, &job, f))
		return f->code;
	for (int i = 0; i < 2; i++)
		proc_seen(job->run, i, offset[i]);
	if (!may_wait(in, job->run))
		return tell_job(q, job->run, f);
	follow_begin(q, job->run, offset,
		     (in->wait_seconds < WAIT_MOST ? in->wait_seconds : WAIT_MOST) * 1000,
		     poll_tell);
	return 0;
}

int answer_kill(struct guest_request *q, struct fault *f)
{
	const struct wire_exec_kill *in = q->body;
	struct background_job *job;

	if (in->signal < 1 || in->signal >= NSIG)
		return fault_set(f, FAULT_INVALID, "/signal", "no signal %lld",
				 (long long)in->signal);
	if (background_find(q->guest, in->job_id, &job, f))
		return f->code;
	proc_kill(job->run, (int)in->signal);
	guest_request_answer(q, "Ok", NULL);
	return 0;
}
