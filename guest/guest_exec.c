/*
 * guest_exec - commands that are answered when they are over.
 *
 * A command whose output fits no frame becomes a finished job, so that the rest can be
 * polled.  A followed command is a job from its start.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "guest/background.h"
#include "guest/outbuf.h"
#include "guest/guest_serve.h"

enum {
	FIRST_MS = 300, /* a followed command is answered for by then */
};

/* --- Exec -------------------------------------------------------------------------- */

static int64_t timeout_of(const struct wire_exec *in)
{
	return in->timeout_secs < INT32_MAX ? in->timeout_secs : INT32_MAX;
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

/* Reports losses of the output: bytes that were not kept, and bytes that are no text. */
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
	size_t room = command_room(in->has_room, in->room);
	bool old = !q->peer->hello;
	struct fault full = { 0 }; /* the command ran: its rest is lost, not its answer */

	if (!output_parts_read(&p, &run->streams[0].kept, &run->streams[1].kept,
			       &q->arena))
		return command_lost(f);
	output_parts_fit(&p, &room, old, &q->arena);
	out.stdout = p.text[0];
	out.stderr = p.text[1];
	if (p.more && !old && !*job && background_place(q->guest, &full) == 0)
		*job = background_new(q->guest, run);
	if (p.more && !old)
		name_job(&out, &p, *job);
	if (!old)
		tell_loss(&out, &p);
	guest_request_answer(q, "ExecResult", &out);
	return 0;
}

/* Answers for a command that is over. */
static void guest_exec_tell_end(struct guest_request *q, struct proc *run,
				struct background_job **job)
{
	const struct wire_exec *in = q->body;
	struct fault f = { 0 };

	if (run->start_errno)
		command_not_started(run, in->command, &f);
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

	guest_exec_tell_end(run->owner, run, &job);
	if (!job)
		proc_free(run);
}

/* --- a followed Exec ---------------------------------------------------------------- */

/* Answers with the output so far; the caller reads on from the job. */
static int tell_so_far(struct guest_request *q, struct proc *run,
		       const struct background_job *job, struct fault *f)
{
	const struct wire_exec *in = q->body;
	size_t room = command_room(in->has_room, in->room);
	struct output_parts p = { 0 };
	struct wire_exec_result out = {
		.running = true,
		.has_running = true,
		.job_id = job->id,
		.has_job_id = true,
	};

	if (!output_parts_read(&p, &run->streams[0].kept, &run->streams[1].kept,
			       &q->arena))
		return command_lost(f);
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
		guest_exec_tell_end(q, run, &job);
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

	background_new(q->guest, run);
	run->done = background_followed_done;
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
				   : command_shell(&q->arena, in->command),
		.workdir = in->workdir,
		.env = in->env,
		.n_env = in->n_env,
		.timeout_secs = timeout_of(in),
	};
	struct proc *run;
	struct fault full = { 0 }; /* no place: the answer comes at the end */
	int rc = check_timeout(in->timeout_secs, f);

	if (!rc)
		rc = command_start(q, &c, &run, f);
	if (rc)
		return rc;
	if (in->follow && q->peer->hello && background_place(q->guest, &full) == 0) {
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
