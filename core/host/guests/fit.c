#include "core/host/guests/fit.h"

#include <string.h>

#include "core/call/space.h"
#include "core/wire/base64.h"
#include "ops.gen.h"

/* Errors come first: they are short as a rule, and output is what is cut. */
static void fit_exec(struct job *job)
{
	struct workspace_exec_out *out = job->call.out;
	int64_t errors, output;
	size_t all = job->call.space, half = all / 2;

	if (!out->stdout || !out->stderr)
		return;
	if (text_json_size(out->stdout) < half)
		half = all - text_json_size(out->stdout);
	out->stderr = space_text(&job->call, out->stderr, half, &errors);
	out->stdout = space_text(&job->call, out->stdout, all, &output);
	if (!errors && !output)
		return;
	if (!out->has_stdout_size)
		out->stdout_size = output ? output : (int64_t)strlen(out->stdout);
	if (!out->has_stderr_size)
		out->stderr_size = errors ? errors : (int64_t)strlen(out->stderr);
	out->has_stdout_size = out->has_stderr_size = true;
	out->has_job_id = out->job_id != 0;
}

/* Cuts what a guest of an earlier version has sent to what the caller allows. */
static void fit_poll(struct job *job)
{
	struct workspace_exec_poll_out *out = job->call.out;
	int64_t errors, output;

	if (!job->call.form.most || !out->stdout || !out->stderr)
		return;
	out->stderr = space_text(&job->call, out->stderr, job->call.space / 2, &errors);
	out->stdout = space_text(&job->call, out->stdout, job->call.space, &output);
	if (errors || output)
		out->has_more = out->more = true;
}

static void fit_list_dir(struct job *job)
{
	struct workspace_list_dir_out *out = job->call.out;
	size_t n = 0;

	while (n < out->n_entries &&
	       space_take(&job->call, &record_dir_entry, &out->entries[n]))
		n++;
	if (n == out->n_entries)
		return;
	out->n_entries = n;
	out->has_more = out->more = true;
}

/* How many of the bytes are a text without NUL; a character may be cut at the end where
 * more of the file is behind it.  0: they are none. */
static size_t text_bytes(const char *bytes, size_t n, bool more)
{
	size_t at = 0, wide;

	while (at < n && bytes[at]) {
		wide = (unsigned char)bytes[at] < 0x80 ? 1 : text_wide(bytes + at);
		if (!wide)
			break;
		at += wide;
	}
	return at == n || (more && bytes[at] && n - at < 4) ? at : 0;
}

/* Models are shown so much and no more, and read a text better than base64. */
static void fit_read(struct job *job)
{
	struct workspace_file_read_out *out = job->call.out;
	size_t len = out->content ? strlen(out->content) : 0, n;
	char *bytes;
	ssize_t came;

	if (!job->call.form.most || !out->content)
		return;
	bytes = arena_alloc(&job->call.arena, len + 1);
	came = base64_decode(bytes, out->content, len);
	n = came > 0 ? text_bytes(bytes, (size_t)came, out->more) : 0;
	if (came < 0 || (came && !n))
		return;
	n = text_json_fit(bytes, n, &job->call.space);
	out->text = arena_strndup(&job->call.arena, bytes, n);
	out->content = NULL;
	out->has_more = out->more = out->more || n < (size_t)came;
	out->size = (int64_t)n;
}

void fit_answer(struct job *job)
{
	space_open(&job->call);
	if (job->call.op->out == &record_workspace_exec_out)
		fit_exec(job);
	else if (job->call.op->out == &record_workspace_exec_poll_out)
		fit_poll(job);
	else if (job->call.op->out == &record_workspace_file_read_out)
		fit_read(job);
	else if (job->call.op->out == &record_workspace_list_dir_out)
		fit_list_dir(job);
}
