/*
 * hosted_ask_command - how the answers about commands are read: output that comes in parts, and jobs.
 */
#include <string.h>

#include "core/host/guests/hosted_ask_inside.h"
#include "core/host/host_inside.h"
#include "ops.gen.h"

static void fill_exec(struct job *job, const struct gather *g, bool more)
{
	struct workspace_exec_out *out = job->call.out;
	const char *text[2];
	int64_t size[2];
	bool cut[2];
	size_t len[2];

	outputs_join(g->stream, text, len, &job->call.arena);
	for (int i = 0; i < 2; i++) {
		size[i] = g->written[i] > g->stream[i].size ? g->written[i]
							    : g->stream[i].size;
		cut[i] = !out->running &&
			 ((int64_t)len[i] < size[i] || output_wants(&g->stream[i], more));
	}
	out->stdout = text[0];
	out->stderr = text[1];
	out->has_stdout_size = cut[0];
	out->has_stderr_size = cut[1];
	out->stdout_size = size[0];
	out->stderr_size = size[1];
	out->has_replaced = out->replaced = g->replaced;
	out->has_job_id = g->job_id && (out->running || cut[0] || cut[1]);
	out->job_id = g->job_id; /* told where the answer has no room for all */
}

/* Asks for the rest of the output.  False: it could not, and the call has its fault. */
static bool hosted_ask_command_ask_rest(struct job *job, struct gather *g,
					struct guest_conn *conn)
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

/* A part of both streams as a guest sends it.  size: of what the guest keeps, written: of the
 * whole; each 0 if not told. */
struct streams {
	const char *part[2];
	int64_t size[2], written[2];
	bool replaced;
};

#define STREAMS_OF(m)                                                  \
	((struct streams){ { (m).stdout, (m).stderr },                 \
			   { (m).stdout_size, (m).stderr_size },       \
			   { (m).stdout_written, (m).stderr_written }, \
			   (m).replaced })

/* A size is told to the caller: it is what came, or more that there may be. */
static bool check_streams(const struct gather *g, const struct streams *m,
			  struct fault *f)
{
	for (int i = 0; i < 2 && !f->code; i++) {
		int64_t came = output_offset(&g->stream[i]) + (int64_t)strlen(m->part[i]);

		if (m->size[i] && (m->size[i] < came || m->size[i] > STREAM_MOST))
			answer_refuse(f, "says that %lld bytes of output are %lld in all",
				      (long long)came, (long long)m->size[i]);
		else if (m->written[i] < 0)
			answer_refuse(f, "says that a command wrote %lld bytes",
				      (long long)m->written[i]);
	}
	return !f->code;
}

/* Takes a part of both streams; false when it brought nothing. */
static bool hosted_ask_command_take_part(struct job *job, struct gather *g,
					 const struct streams *m)
{
	const struct workspace_exec_in *in = job->call.in;
	bool brought = false;

	g->replaced |= m->replaced;
	for (int i = 0; i < 2; i++) {
		if (m->written[i] > g->written[i])
			g->written[i] = m->written[i];
		if (output_take(&g->stream[i], m->part[i], m->size[i],
				in->max_output_bytes, &job->call.arena))
			brought = true;
	}
	return brought;
}

static bool take_exec_rest(struct job *job, struct packet *answer,
			   struct guest_conn *conn)
{
	struct gather *g = job->owner;
	struct fault *f = &job->call.fault;
	struct wire_background_status m = { 0 };
	struct streams streams;
	bool brought;

	if (answer_decode(answer, &m, &job->call.arena, f) < 0)
		return false;
	streams = STREAMS_OF(m);
	if (!check_streams(g, &streams, &job->call.fault))
		return false;
	brought = hosted_ask_command_take_part(job, g, &streams);
	if (m.more &&
	    (output_wants(&g->stream[0], true) || output_wants(&g->stream[1], true))) {
		if (brought)
			return hosted_ask_command_ask_rest(job, g, conn);
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
bool ask_take_exec(struct job *job, struct packet *answer, struct guest_conn *conn)
{
	struct workspace_exec_out *out = job->call.out;
	struct gather *g = job->owner;
	struct wire_exec_result m = { 0 };
	struct fault *f = &job->call.fault;
	struct streams streams;

	if (g)
		return take_exec_rest(job, answer, conn);
	if (answer_decode(answer, &m, &job->call.arena, f) < 0 || !check_exec(job, &m, f))
		return false;
	g = gather_of(job);
	streams = STREAMS_OF(m);
	if (!check_streams(g, &streams, f))
		return false;
	g->job_id = m.has_job_id ? m.job_id : 0;
	out->running = out->has_running = m.running;
	out->exit_code = m.exit_code;
	out->has_exit_code = !m.running;
	hosted_ask_command_take_part(job, g, &streams);
	if (m.more && !m.running && m.has_job_id && !ask_is_gone(job) &&
	    !job->call.form.most &&
	    (output_wants(&g->stream[0], true) || output_wants(&g->stream[1], true)))
		return hosted_ask_command_ask_rest(job, g, conn);
	fill_exec(job, g, m.more);
	return false;
}

void ask_check_background(struct job *job, void *answer)
{
	const struct wire_background_started *m = answer;

	check_job_id(m->job_id, &job->call.fault);
}

void ask_check_poll(struct job *job, void *answer)
{
	struct wire_background_status *m = answer;

	check_exit_code(m->exit_code, &job->call.fault);
	/* Sizes tell the caller of dropped output; kept output comes in later parts. */
	m->has_stdout_size = m->has_stdout_written && m->stdout_written > 0;
	m->stdout_size = m->stdout_written;
	m->has_stderr_size = m->has_stderr_written && m->stderr_written > 0;
	m->stderr_size = m->stderr_written;
}

void ask_check_set_env(struct job *job, void *answer)
{
	const struct wire_set_env_result *m = answer;

	if (m->count < 0 || m->count > INT32_MAX)
		answer_refuse(&job->call.fault, "says that %lld variables are set",
			      (long long)m->count);
}
