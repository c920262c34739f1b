#include "core/host/guests/replay.h"

#include <string.h>

#include "core/host/host_inside.h"
#include "ops.gen.h"

enum { STDOUT_KEPT = 4096, STDERR_KEPT = 2048 };

/* Cuts a stream for keeping; its size is told then, as where an answer had no room. */
static void cut_stream(const char **text, size_t most, int64_t *size, bool *has_size,
		       struct arena *a)
{
	size_t n = strlen(*text);

	if (n <= most)
		return;
	if (!*has_size)
		*size = (int64_t)n;
	*has_size = true;
	while (most > 0 && ((unsigned char)(*text)[most] & 0xc0) == 0x80)
		most--;
	*text = arena_strndup(a, *text, most);
}

/* The answer as a repeat is told it. */
static const char *kept_answer(const struct job *job, struct arena *a)
{
	const struct record *r = job->call.op->out;
	void *out = arena_alloc(a, r->size);
	struct text text = { 0 };
	const char *kept;

	memcpy(out, job->call.out, r->size);
	if (r == &record_workspace_exec_out) {
		struct workspace_exec_out *e = out;

		cut_stream(&e->stdout, STDOUT_KEPT, &e->stdout_size, &e->has_stdout_size,
			   a);
		cut_stream(&e->stderr, STDERR_KEPT, &e->stderr_size, &e->has_stderr_size,
			   a);
	}
	op_encode(r, out, &text);
	kept = arena_strndup(a, text.data, text.len);
	text_release(&text);
	return kept;
}

bool replay_has_row(const struct job *job)
{
	return job->call.has_key && job->call.made;
}

static void replay_on_kept(struct job *note)
{
	struct job *asking = note->owner;

	if (note->call.fault.code)
		log_line(asking->conn->host->log, LOG_LEVEL_WARN,
			 "an answer is not noted", LOG_FAULT(&note->call.fault));
	job_free(note);
	conn_answer(asking);
}

void replay_keep(struct job *job, bool nothing_done)
{
	struct host *host = job->conn->host;
	struct workspace_answered_in *in;
	struct job *note;

	if (!replay_has_row(job) ||
	    (job->call.fault.code && (job->call.replayed || !nothing_done))) {
		conn_answer(job);
		return;
	}
	note = host_job(host, op_workspace_answered, replay_on_kept, job);
	in = note->call.in;
	in->caller = call_key_caller(&job->call);
	in->key = call_key_text(&job->call, &note->call.arena);
	in->asked = job->call.asked;
	if (!job->call.fault.code)
		in->answer = kept_answer(job, &note->call.arena);
	host_submit(host, note);
}
