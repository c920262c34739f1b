/*
 * Exec and the background jobs.  A job keeps its run, with what that printed,
 * until the place is needed; an Exec whose output fits no frame becomes a
 * finished job, so that the rest can be polled.  One that is followed is a job
 * from its start, and is kept for a while behind its end, since its caller may
 * have lost the last answer.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "guest/follow.h"
#include "guest/output_parts.h"
#include "guest/serve.h"

enum {
	FIRST_MS = 300, /* a followed command is answered for by then */
	FOLLOWED_KEPT = 64, /* of those that are over */
	WAIT_MOST = 300, /* seconds */
};

struct background_job {
	struct guest *guest;
	int id;
	struct proc *run; /* its owner is the job */
	bool seen; /* polled after its end */
	int ended; /* place in the order in which followed ones ended; 0: not over */
	struct background_job *next; /* an older one */
};

struct command {
	const char *const *argv;
	const char *workdir;
	const struct pair *env;
	size_t n_env;
	int64_t timeout_secs;
};

static int start(struct guest_request *q, const struct command *c, struct proc **out,
		 struct fault *f)
{
	struct guest *g = q->guest;
	struct proc_spec spec = {
		.argv = c->argv,
		.timeout_ms = c->timeout_secs * 1000,
		.folder = g->options->state,
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

static const char *const *shell(struct arena *a, const char *command)
{
	const char **argv = arena_alloc(a, 4 * sizeof(*argv));

	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = command;
	return argv;
}

static int not_started(const struct proc *run, const char *what, struct fault *f)
{
	return guest_path_fault(run->start_errno, "/command", what, f);
}

/* --- jobs ------------------------------------------------------------------------ */

static void job_free(struct guest *g, struct background_job **place)
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
		job_free(g, first);
}

/* The oldest one whose end was seen gives way to a new one. */
static int make_place(struct guest *g, struct fault *f)
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
	job_free(g, oldest);
	return 0;
}

static void job_done(struct proc *run)
{
	follow_over(run);
}

static void followed_done(struct proc *run)
{
	struct background_job *job = run->owner;

	job->ended = ++job->guest->last_ended;
	forget_followed(job->guest);
	follow_over(run);
}

static struct background_job *job_new(struct guest *g, struct proc *run)
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
		job_free(g, &g->jobs);
}

static int find_job(struct guest *g, int64_t id, struct background_job **out,
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

/* --- Exec -------------------------------------------------------------------------- */

/* Bytes of an answer that two streams may take, where the host says so. */
static size_t room_of(bool has_room, int64_t room)
{
	return has_room && room > 0 && room < FRAME_ROOM ? (size_t)room : FRAME_ROOM;
}

static int64_t timeout_of(const struct wire_exec *in)
{
	return in->timeout_secs < INT32_MAX ? in->timeout_secs : INT32_MAX;
}

static int output_lost(struct fault *f)
{
	return fault_set(f, FAULT_IO, "", "the output cannot be read back");
}

/* Tells the caller under which job more of the output is to be had. */
static void name_job(struct wire_exec_result *out, const struct output_parts *p,
		     const struct background_job *job)
{
	out->more = out->has_more = true;
	out->stdout_size = (int64_t)p->size[0];
	out->stderr_size = (int64_t)p->size[1];
	out->has_stdout_size = out->has_stderr_size = true;
	out->job_id = job ? job->id : 0;
	out->has_job_id = job != NULL;
}

/* Tells what is not as the command wrote it: what was not kept, and bytes that are no text. */
static void tell_loss(struct wire_exec_result *out, const struct output_parts *p)
{
	out->stdout_written = (int64_t)p->written[0];
	out->stderr_written = (int64_t)p->written[1];
	out->has_stdout_written = p->written[0] > 0;
	out->has_stderr_written = p->written[1] > 0;
	out->has_replaced = out->replaced = p->replaced;
}

/* Answers, unless it is a fault.  *job is the one that has the run; one is made if there
 * is none and some of the output has no room. */
static int tell_result(struct guest_request *q, struct proc *run,
		       struct background_job **job, struct fault *f)
{
	const struct wire_exec *in = q->body;
	struct wire_exec_result out = { .exit_code = proc_exit_code(run) };
	struct output_parts p = { 0 };
	size_t room = room_of(in->has_room, in->room);
	bool old = !q->peer->hello;
	struct fault full = { 0 }; /* the command ran: its rest is lost, not its answer */

	if (!output_parts_read(&p, &run->streams[0].kept, &run->streams[1].kept,
			       &q->arena))
		return output_lost(f);
	output_parts_fit(&p, &room, old, &q->arena);
	out.stdout = p.text[0];
	out.stderr = p.text[1];
	if (p.more && !old && !*job && make_place(q->guest, &full) == 0)
		*job = job_new(q->guest, run);
	if (p.more && !old)
		name_job(&out, &p, *job);
	if (!old)
		tell_loss(&out, &p);
	guest_request_answer(q, "ExecResult", &out);
	return 0;
}

/* Answers for a command that is over. */
static void tell_end(struct guest_request *q, struct proc *run,
		     struct background_job **job)
{
	const struct wire_exec *in = q->body;
	struct fault f = { 0 };

	if (run->start_errno)
		not_started(run, in->command, &f);
	else if (run->timed_out)
		fault_set(&f, FAULT_TIMEOUT, "/timeout_secs",
			  "command timed out after %llds", (long long)in->timeout_secs);
	else
		tell_result(q, run, job, &f);
	if (f.code)
		guest_request_fail(q, &f);
}

static void exec_done(struct proc *run)
{
	struct background_job *job = NULL;

	tell_end(run->owner, run, &job);
	if (!job)
		proc_free(run);
}

/* --- a followed Exec ---------------------------------------------------------------- */

/* Answers with the output so far; the caller reads on from the job. */
static int tell_so_far(struct guest_request *q, struct proc *run,
		       const struct background_job *job, struct fault *f)
{
	const struct wire_exec *in = q->body;
	size_t room = room_of(in->has_room, in->room);
	struct output_parts p = { 0 };
	struct wire_exec_result out = {
		.running = true,
		.has_running = true,
		.job_id = job->id,
		.has_job_id = true,
	};

	if (!output_parts_read(&p, &run->streams[0].kept, &run->streams[1].kept,
			       &q->arena))
		return output_lost(f);
	output_parts_fit(&p, &room, false, &q->arena);
	out.stdout = p.text[0];
	out.stderr = p.text[1];
	guest_request_answer(q, "ExecResult", &out);
	return 0;
}

static void followed_tell(struct guest_request *q, struct proc *run)
{
	struct background_job *job = run->owner;
	struct fault f = { 0 };

	if (run->over)
		tell_end(q, run, &job);
	else if (tell_so_far(q, run, job, &f))
		guest_request_fail(q, &f);
}

/* The caller is gone before it was told of the job: ends the command. */
static void followed_gone(struct guest_request *q)
{
	struct proc *run = follow_end(q);

	proc_end(run);
	guest_request_free(q);
}

static void follow_exec(struct guest_request *q, struct proc *run)
{
	static const size_t start[2];

	job_new(q->guest, run);
	run->done = followed_done;
	run->printed = follow_printed;
	follow_begin(q, run, start, FIRST_MS, followed_tell);
	q->gone = followed_gone;
}

/* --- Exec that is answered at its end ------------------------------------------------- */

/* The caller is gone: ends the command. */
static void exec_gone(struct guest_request *q)
{
	proc_free(q->owner);
	guest_request_free(q);
}

static const char *const *direct(struct arena *a, const struct wire_exec *in)
{
	const char **argv = arena_alloc(a, (in->n_args + 2) * sizeof(*argv));

	argv[0] = in->command;
	for (size_t i = 0; i < in->n_args; i++)
		argv[i + 1] = in->args[i];
	return argv;
}

static int check_timeout(int64_t secs, struct fault *f)
{
	if (secs > 0)
		return 0;
	return fault_set(f, FAULT_INVALID, "/timeout_secs", "a timeout is at least 1 s");
}

int answer_exec(struct guest_request *q, struct fault *f)
{
	const struct wire_exec *in = q->body;
	struct command c = {
		.argv = in->n_args ? direct(&q->arena, in)
				   : shell(&q->arena, in->command),
		.workdir = in->workdir,
		.env = in->env,
		.n_env = in->n_env,
		.timeout_secs = timeout_of(in),
	};
	struct proc *run;
	struct fault full = { 0 }; /* no place: it is answered at its end */
	int rc = check_timeout(in->timeout_secs, f);

	if (!rc)
		rc = start(q, &c, &run, f);
	if (rc)
		return rc;
	if (in->follow && q->peer->hello && make_place(q->guest, &full) == 0) {
		follow_exec(q, run);
	} else {
		run->owner = q;
		run->done = exec_done;
		q->owner = run;
		q->gone = exec_gone;
	}
	proc_go(run);
	return 0;
}

/* --- background --------------------------------------------------------------------- */

int answer_background(struct guest_request *q, struct fault *f)
{
	const struct wire_exec_background *in = q->body;
	struct command c = {
		.argv = shell(&q->arena, in->command),
		.workdir = in->workdir,
		.env = in->env,
		.n_env = in->n_env,
	};
	struct wire_background_started out = { 0 };
	struct background_job *job;
	struct proc *run;
	int rc = make_place(q->guest, f);

	if (!rc)
		rc = start(q, &c, &run, f);
	if (rc)
		return rc;
	job = job_new(q->guest, run);
	run->done = job_done;
	run->printed = follow_printed;
	proc_go(run);
	out.job_id = job->id;
	guest_request_answer(q, "BackgroundStarted", &out);
	return 0;
}

static void describe(struct wire_background_status *out, struct output_parts *p,
		     size_t room, bool old, struct arena *a)
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
		return output_lost(f);
	bad = output_parts_bad_offset(&p);
	if (bad >= 0)
		return fault_set(f, FAULT_INVALID,
				 bad ? "/stderr_offset" : "/stdout_offset",
				 "behind the end, or inside a character");
	if (run->over && run->start_errno)
		return not_started(run, "the command", f);
	out.running = !run->over;
	out.has_exit_code = run->over;
	out.exit_code = run->over ? proc_exit_code(run) : 0;
	out.has_timed_out = out.timed_out = run->over && run->timed_out;
	describe(&out, &p, room_of(in->has_room, in->room), !q->peer->hello, &q->arena);
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

	if (find_job(q->guest, in->job_id, &job, f))
		return f->code;
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
	if (find_job(q->guest, in->job_id, &job, f))
		return f->code;
	proc_kill(job->run, (int)in->signal);
	guest_request_answer(q, "Ok", NULL);
	return 0;
}
