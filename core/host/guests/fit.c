#include "core/host/guests/fit.h"

#include <string.h>

#include "core/room.h"
#include "ops.gen.h"

/* Errors come first: they are short as a rule, and output is what is cut. */
static void fit_exec(struct job *job)
{
	struct workspace_exec_out *out = job->call.out;
	int64_t errors, output;
	size_t all = job->call.room, half = all / 2;

	if (!out->stdout || !out->stderr)
		return;
	if (text_json_size(out->stdout) < half)
		half = all - text_json_size(out->stdout);
	out->stderr = room_text(&job->call, out->stderr, half, &errors);
	out->stdout = room_text(&job->call, out->stdout, all, &output);
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
	out->stderr = room_text(&job->call, out->stderr, job->call.room / 2, &errors);
	out->stdout = room_text(&job->call, out->stdout, job->call.room, &output);
	if (errors || output)
		out->has_more = out->more = true;
}

static void fit_list_dir(struct job *job)
{
	struct workspace_list_dir_out *out = job->call.out;
	size_t n = 0;

	while (n < out->n_entries &&
	       room_take(&job->call, &record_dir_entry, &out->entries[n]))
		n++;
	if (n == out->n_entries)
		return;
	out->n_entries = n;
	out->has_more = out->more = true;
}

void fit_answer(struct job *job)
{
	room_open(&job->call);
	if (job->call.op->out == &record_workspace_exec_out)
		fit_exec(job);
	else if (job->call.op->out == &record_workspace_exec_poll_out)
		fit_poll(job);
	else if (job->call.op->out == &record_workspace_list_dir_out)
		fit_list_dir(job);
}
