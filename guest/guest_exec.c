/*
 * guest_exec - runs commands, and answers requests for the output of commands.
 *
 * A request Exec is answered when its command has ended. If the output of a command is too
 * large for a frame, the command becomes a finished job, so that the host can poll the rest of
 * the output. If the host follows a command, the command is a job from its start.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "storage/durable.h"

#include "core/base/alloc.h"
#include "core/op/op.h"
#include "guest/guest_peer.h"
#include "guest/guest_serve.h"
#include "guest/guest_target.h"
#include "guest/outbuf.h"

/* --- jobs of the host -------------------------------------------------------- */

/*
 * background - keeps jobs, which are commands that run in the background.
 *
 * After the end of its command, a job keeps its output until another job needs the place. The
 * guest keeps at most FOLLOWED_KEPT ended jobs that were followed. These jobs are kept because
 * their callers may not have received the last answer.
 */

/* follow - lets requests wait for the output of a command. An ExecPoll waits for the output of
 * a job, and a turn is a job, too.
 *
 * Each request waits until the command has output after the request's offsets, until the
 * command has ended, or until the request's waiting time has passed. Output that is printed at
 * about the same time is sent in one answer, so that many short lines become few answers. For a
 * short command, one answer contains both the output and the end.
 */

/* Answers the request `q`, or sends a fault. The process `run` may still be running. */
typedef void follow_tell(struct guest_request *q, struct proc *run);

struct background_job {
	struct guest *guest;
	int id;
	struct proc *run; /* run->owner is the job */
	int64_t turn; /* the turn that the job runs; 0: no turn */
	bool seen; /* a caller polled the job after its end */
	int ended; /* number of an ended job that was followed, counted from 1 in the
		      order of the ends; 0: any other job */
	struct background_job *next; /* an older job */
};

struct command {
	const char *const *argv;
	const char *workdir;
	const struct pair *env;
	size_t n_env;
	int64_t timeout_secs;
	int input; /* descriptor of the command's input; 0: no input */
	bool waits; /* unread output is not dropped; see proc_spec.waits */
};

enum {
	GATHER_MS = 10, /* time from the first output to the answer */
	PLENTY = 64 << 10, /* an answer with this many bytes is sent at once */
};

struct follower {
	struct guest_request *q;
	struct proc *run;
	size_t offset[2];
	uv_timer_t timer;
	bool gathering;
	follow_tell *tell;
	struct follower *next, **place; /* links in the list run->followers */
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

/* Returns the number of kept bytes of output after the offsets of the request. */
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

/* Ends the wait of a request that gets no answer. Returns the process for whose output the
 * request waited. */
static struct proc *follow_end(struct guest_request *q)
{
	struct follower *w = q->owner;

	guest_follow_drop(w);
	return w->run;
}

static void guest_follow_gone(struct guest_request *q)
{
	follow_end(q);
	guest_request_free(q);
}

/* Makes a request wait for output of a process that has not ended. `how` is called once, after
 * follow_begin() has returned. During the wait, q->owner belongs to this wait, and q->gone ends
 * the wait. */
static void follow_begin(struct guest_request *q, struct proc *run,
			 const size_t offset[2], int64_t ms, follow_tell *how)
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

/* Called when the process `run` has printed something. Answers waiting requests that have much
 * output, and lets other waiting requests gather output. */
static void follow_printed(struct proc *run)
{
	struct follower *next;

	for (struct follower *w = run->followers; w; w = next) {
		next = w->next;
		if (pending(w) < PLENTY) {
			guest_follow_gather(w);
			continue;
		}
		guest_follow_tell(w);
		next = run->followers; /* guest_follow_tell() may have freed other
					  followers */
	}
}

static void follow_over(struct proc *run)
{
	while (run->followers)
		guest_follow_tell(run->followers);
}

enum {
	FOLLOWED_KEPT = 64, /* maximum number of jobs that were followed, have ended, and
			       are kept by the guest */
	WAIT_MOST = 300, /* longest wait of a poll, in seconds */
};

/* --- commands --------------------------------------------------------------------- */

/* Makes a command's process, which waits for proc_go(). Returns 0 or a fault. */
static int command_start(struct guest_request *q, const struct command *c,
			 struct proc **out, struct fault *f)
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

static const char *const *command_shell(struct arena *a, const char *command)
{
	const char **argv = arena_alloc(a, 4 * sizeof(*argv));

	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = command;
	return argv;
}

/* Fills the fault of a command that could not be started. */
static int command_not_started(const struct proc *run, const char *what, struct fault *f)
{
	return guest_path_fault(run->start_errno, "/command", what, f);
}

/* Returns how many bytes of an answer both streams together may use. The result is the `room`
 * that the host's request contains, if this number is positive and below FRAME_ROOM, else
 * FRAME_ROOM. */
static size_t command_room(bool has_room, int64_t room)
{
	return has_room && room > 0 && room < FRAME_ROOM ? (size_t)room : FRAME_ROOM;
}

static int command_lost(struct fault *f)
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

/* Forgets the followed job that ended first, if too many followed jobs have ended. */
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

/* Makes sure that the guest has a place for one more job. If all places are taken, frees the
 * oldest job whose end a caller has seen. */
static int background_place(struct guest *g, struct fault *f)
{
	struct background_job **oldest = NULL;

	if (g->n_jobs < JOBS)
		return 0;
	for (struct background_job **p = &g->jobs; *p; p = &(*p)->next)
		if ((*p)->seen)
			oldest = p;
	if (!oldest)
		return fault_set(f, FAULT_EXHAUSTED, "",
				 "%d jobs still run, or were not polled to their end",
				 JOBS);
	background_job_free(g, oldest);
	return 0;
}

/* Called when the process of a background job has ended. For a followed job,
 * background_followed_done() is called instead. */
static void background_done(struct proc *run)
{
	follow_over(run);
}

static void background_followed_done(struct proc *run)
{
	struct background_job *job = run->owner;

	job->ended = ++job->guest->last_ended;
	forget_followed(job->guest);
	follow_over(run);
}

/* Makes a job of the process `run`. The caller has called background_place() before, so a place
 * is free. */
static struct background_job *background_new(struct guest *g, struct proc *run)
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

static int background_find(struct guest *g, int64_t id, struct background_job **out,
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
				 "the offset is behind the end, or inside a character");
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

/* Whether a poll may wait. If a poll's offset is after the end of the output, the guest answers
 * with a fault, without a wait. */
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

enum {
	FIRST_MS = 300, /* longest wait for a followed command's first answer */
};

/* --- Exec -------------------------------------------------------------------------- */

static int64_t timeout_of(const struct wire_exec *in)
{
	return in->timeout_secs < INT32_MAX ? in->timeout_secs : INT32_MAX;
}

/* Writes the job's number and the size of the output into the answer. The caller can poll the
 * rest of the output from this job. */
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

/* Reports the lost output. Lost are bytes that were not kept, and bytes that are not text. */
static void tell_loss(struct wire_exec_result *out, const struct output_parts *p)
{
	out->stdout_written = (int64_t)p->written[0];
	out->stderr_written = (int64_t)p->written[1];
	out->has_stdout_written = p->written[0] > 0;
	out->has_stderr_written = p->written[1] > 0;
	out->has_replaced = out->replaced = p->replaced;
}

/* Answers with the result of a command. If the output cannot be read, returns a fault without
 * an answer. *job is the job of the process `run`, or NULL. If the answer has no room for all
 * output and *job is NULL, makes a job, unless all places for jobs are taken. */
static int tell_result(struct guest_request *q, struct proc *run,
		       struct background_job **job, struct fault *f)
{
	const struct wire_exec *in = q->body;
	struct wire_exec_result out = { .exit_code = proc_exit_code(run) };
	struct output_parts p = { 0 };
	size_t room = command_room(in->has_room, in->room);
	bool old = !q->peer->hello;
	struct fault full = { 0 }; /* this fault is not reported: without a free place,
				      the rest of the output is lost */

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

/* Answers the request of a command that has ended. */
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

/* Answers with the output that the command has printed until now. The caller polls further
 * output from the job. */
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

/* Called when the caller leaves before the caller got the number of the job. Ends the command. */
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

/* Called when the caller leaves. Ends the command. */
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
	struct fault full = { 0 }; /* this fault is not reported: without a free place,
				      the command is not followed */
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

/* --- turns ------------------------------------------------------------------- */

/*
 * guest_turn - runs the commands of the agent's turns, one at a time. The command of a turn is
 * a job that reads a prompt.
 */

/* Before a turn begins, the whole guest waits at most this time for the end of processes that
 * were killed. */
enum { DYING_MS = 200 };

/* --- the file for the client ---------------------------------------------------- */

static const char *config_path(const struct guest *g, struct arena *a)
{
	return arena_printf(a, "%s/turn-mcp.json", g->state);
}

static const char *guest_turn_find(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

/* Returns the program that a client starts for `cadre mcp`. In a VM the result is `cadre`, and
 * outside a VM the path of this program. */
static const char *program(const struct guest *g, struct arena *a)
{
	char path[4096];
	ssize_t n = g->options->vm ? 0 : readlink("/proc/self/exe", path, sizeof(path));

	return n > 0 && n < (ssize_t)sizeof(path) ? arena_strndup(a, path, (size_t)n)
						  : "cadre";
}

/* Writes the file that tells the turn's client how to start `cadre mcp`. The file contains
 * variables for the server, since a client passes only few variables of its environment to a
 * server. Without the member `trust`, some clients ask their user before each call of a server. */
static void write_config(const struct guest *g, char *const *env, struct text *t,
			 struct arena *a)
{
	static const char *const names[] = { "CADRE_SOCKET", "CADRE_TEAM", "CADRE_AGENT",
					     "CADRE_TOKEN", "CADRE_WORKSPACE" };
	bool first = true;

	text_addf(t, "{\"mcpServers\":{\"cadre\":{\"command\":");
	text_add_json(t, program(g, a));
	text_addf(t, ",\"args\":[\"mcp\"],\"env\":{");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = guest_turn_find(env, names[i]);

		if (!value)
			continue;
		text_add_member(t, names[i], first);
		text_add_json(t, value);
		first = false;
	}
	text_addf(t, "},\"trust\":true}}}\n");
}

static int guest_turn_fail(struct fault *f, const char *what)
{
	return fault_set(f, FAULT_IO, "", "cannot %s: %s", what, strerror(errno));
}

static int make_config(struct guest *g, const struct wire_turn_start *in, struct arena *a,
		       struct fault *f)
{
	const char *path = config_path(g, a);
	struct text t = { 0 };
	char **env;
	int fd, rc = guest_env(g, in->env, in->n_env, a, &env, f);

	if (rc)
		return rc;
	write_config(g, env, &t, a);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, t.data, t.len))
		guest_turn_fail(f, "write the file for the turn's client");
	if (fd >= 0)
		close(fd);
	text_release(&t);
	return f->code;
}

static void remove_config(const struct guest *g)
{
	struct arena a = { 0 };

	unlink(config_path(g, &a));
	arena_release(&a);
}

/* --- the command ------------------------------------------------------------------ */

static int open_prompt(const char *prompt, struct fault *f)
{
	int fd = memfd_create("prompt", MFD_CLOEXEC);

	if (fd >= 0 && !fd_write_all(fd, prompt, strlen(prompt)) &&
	    lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	guest_turn_fail(f, "keep the prompt");
	if (fd >= 0)
		close(fd);
	return -1;
}

static void turn_done(struct proc *run)
{
	struct background_job *job = run->owner;

	/* A turn that ends well may leave a server running. If a turn was stopped or has
	 * failed, its processes are killed, since these processes would go on working during
	 * the next turn. */
	if (run->status || run->signalled || run->timed_out)
		guest_kill_orphans(job->guest, job->turn, run->group);
	if (job->guest->turn_job == job->id) {
		job->guest->turn_job = 0;
		remove_config(job->guest);
	}
	background_followed_done(run);
}

/* Kills the running turn. Sets turn_job to 0 at once, so that the end of the killed job does
 * not change the next turn. */
static void kill_turn(struct guest *g)
{
	struct background_job *job;
	struct fault none = { 0 };

	if (g->turn_job && background_find(g, g->turn_job, &job, &none) == 0) {
		proc_kill(job->run, SIGKILL);
		guest_kill_orphans(g, job->turn, job->run->group);
	}
	g->turn_job = 0;
	remove_config(g);
}

int answer_turn_stop(struct guest_request *q, struct fault *f)
{
	(void)f;
	kill_turn(q->guest);
	guest_request_answer(q, "Ok", NULL);
	return 0;
}

/* Sets the variables of the turn's command, which are the variables from the host and three
 * variables of the guest. */
static void add_env(const struct guest *g, const struct wire_turn_start *in,
		    struct command *c, struct arena *a)
{
	struct pair *all = arena_alloc(a, (in->n_env + 3) * sizeof(*all));

	if (in->n_env)
		memcpy(all, in->env, in->n_env * sizeof(*all));
	all[in->n_env] = (struct pair){ "CADRE_MCP_CONFIG", config_path(g, a) };
	all[in->n_env + 1] =
		(struct pair){ "CADRE_TURN",
			       arena_printf(a, "%lld", (long long)in->turn) };
	all[in->n_env + 2] = (struct pair){ "CADRE_PROGRAM", program(g, a) };
	c->env = all;
	c->n_env = in->n_env + 3;
}

int answer_turn(struct guest_request *q, struct fault *f)
{
	const struct wire_turn_start *in = q->body;
	struct guest *g = q->guest;
	struct command c = { .argv = command_shell(&q->arena, in->command),
			     .timeout_secs = in->timeout_secs,
			     .waits = true };
	struct wire_background_started out = { 0 };
	struct background_job *job;
	struct proc *run;
	int rc;

	kill_turn(g);
	if (!guest_orphans_ended(g, DYING_MS))
		return fault_set(f, FAULT_CONFLICT, "",
				 "processes that were killed here have not ended yet");
	if (in->timeout_secs < 1)
		return fault_set(f, FAULT_INVALID, "/timeout_secs",
				 "a timeout is at least 1 s");
	if (g->halted)
		return fault_set(f, FAULT_CONFLICT, "",
				 "this workspace's commands are stopped");
	add_env(g, in, &c, &q->arena);
	if ((rc = background_place(g, f)))
		return rc;
	if (make_config(g, in, &q->arena, f) == 0 &&
	    (c.input = open_prompt(in->prompt, f)) >= 0) {
		command_start(q, &c, &run, f);
		close(c.input);
	}
	if (f->code) {
		remove_config(g);
		return f->code;
	}
	job = background_new(g, run);
	job->turn = in->turn;
	g->turn_job = job->id;
	run->done = turn_done;
	run->printed = follow_printed;
	proc_go(run);
	out.job_id = job->id;
	guest_request_answer(q, "BackgroundStarted", &out);
	return 0;
}
