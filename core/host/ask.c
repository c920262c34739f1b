#include "core/host/ask.h"

#include <string.h>

#include "core/host/running.h"
#include "ops.gen.h"

enum {
	ANSWER_MS = 60000,
	GRACE_MS = 15000, /* beyond a command's own time */
};

/* One operation: the message that asks for it, and what becomes of the answer.
 * `send` sends the (next) message; `take` fills the call's answer, and returns
 * true when it has sent another message to get the rest. */
struct errand {
	const char *op;
	void (*send)(struct job *job, struct line *line);
	bool (*take)(struct job *job, struct packet *answer, struct line *line);
};

static void on_answer(void *arg, struct packet *answer, struct fault *f);

static void ask_guest(struct job *job, struct line *line, const char *type,
		      const void *src, int64_t ms)
{
	line_ask(line, type, src, ms, on_answer, job);
}

/* The answer as `dst`. */
static bool decode(struct job *job, struct packet *answer, void *dst)
{
	/* What texts are borrowed from lives until the next answer. */
	json_decref(job->packet.json);
	job->packet.json = json_incref(answer->json);
	return packet_decode(answer, dst, &job->call.arena, &job->call.fault) == 0;
}

/* --- commands --------------------------------------------------------------------- */

static void send_exec(struct job *job, struct line *line)
{
	const struct workspace_exec_in *in = job->call.in;
	struct wire_exec m = {
		.command = in->command,
		.args = in->args,
		.n_args = in->n_args,
		.env = in->env,
		.n_env = in->n_env,
		.workdir = in->workdir,
		.timeout_secs = in->timeout_secs,
	};

	ask_guest(job, line, "Exec", &m, in->timeout_secs * 1000 + GRACE_MS);
}

static const char *joined(struct arena *a, const char *head, const char *tail,
			  int64_t most)
{
	size_t n = head ? strlen(head) : 0, m = strlen(tail);
	char *s;

	if (n + m > (size_t)most)
		m = n < (size_t)most ? (size_t)most - n : 0;
	while (m > 0 && m < strlen(tail) && ((unsigned char)tail[m] & 0xc0) == 0x80)
		m--; /* not inside a character */
	s = arena_alloc(a, n + m + 1);
	if (n)
		memcpy(s, head, n);
	memcpy(s + n, tail, m);
	return s;
}

static void ask_rest(struct job *job, struct line *line)
{
	const struct workspace_exec_out *out = job->call.out;
	struct wire_exec_poll m = {
		.job_id = job->number,
		.stdout_offset = (int64_t)strlen(out->stdout),
		.stderr_offset = (int64_t)strlen(out->stderr),
	};

	ask_guest(job, line, "ExecPoll", &m, ANSWER_MS);
}

static bool has_room(const struct job *job)
{
	const struct workspace_exec_in *in = job->call.in;
	const struct workspace_exec_out *out = job->call.out;

	return (int64_t)strlen(out->stdout) < in->max_output_bytes &&
	       (int64_t)strlen(out->stderr) < in->max_output_bytes;
}

/* A command's output may come in parts: the first with its end, the others
 * by polling the job under which the rest is kept. */
static bool take_exec(struct job *job, struct packet *answer, struct line *line)
{
	const struct workspace_exec_in *in = job->call.in;
	struct workspace_exec_out *out = job->call.out;
	struct arena *a = &job->call.arena;
	struct wire_background_status part = { 0 };
	struct wire_exec_result m = { 0 };

	if (!strcmp(answer->type, "ExecResult")) {
		if (!decode(job, answer, &m))
			return false;
		out->exit_code = m.exit_code;
		out->stdout = joined(a, NULL, m.stdout, in->max_output_bytes);
		out->stderr = joined(a, NULL, m.stderr, in->max_output_bytes);
		job->number = m.job_id;
		part.more = m.more && m.has_job_id;
	} else {
		if (!decode(job, answer, &part))
			return false;
		part.more = part.more && (*part.stdout || *part.stderr);
		out->stdout = joined(a, out->stdout, part.stdout, in->max_output_bytes);
		out->stderr = joined(a, out->stderr, part.stderr, in->max_output_bytes);
	}
	if (!part.more || !has_room(job))
		return false;
	ask_rest(job, line);
	return true;
}

static void send_background(struct job *job, struct line *line)
{
	const struct workspace_exec_background_in *in = job->call.in;
	struct wire_exec_background m = {
		.command = in->command,
		.workdir = in->workdir,
		.env = in->env,
		.n_env = in->n_env,
	};

	ask_guest(job, line, "ExecBackground", &m, ANSWER_MS);
}

static bool take_background(struct job *job, struct packet *answer, struct line *line)
{
	struct workspace_exec_background_out *out = job->call.out;
	struct wire_background_started m = { 0 };

	(void)line;
	if (decode(job, answer, &m))
		out->job_id = m.job_id;
	return false;
}

static void send_poll(struct job *job, struct line *line)
{
	const struct workspace_exec_poll_in *in = job->call.in;
	struct wire_exec_poll m = {
		.job_id = in->job_id,
		.stdout_offset = in->stdout_offset,
		.stderr_offset = in->stderr_offset,
	};

	ask_guest(job, line, "ExecPoll", &m, ANSWER_MS);
}

static bool take_poll(struct job *job, struct packet *answer, struct line *line)
{
	struct workspace_exec_poll_out *out = job->call.out;
	struct wire_background_status m = { 0 };

	(void)line;
	if (decode(job, answer, &m))
		*out = (struct workspace_exec_poll_out){
			.running = m.running,
			.exit_code = m.exit_code,
			.has_exit_code = m.has_exit_code,
			.stdout = m.stdout,
			.stderr = m.stderr,
			.more = m.more,
			.has_more = m.has_more,
		};
	return false;
}

static void send_kill(struct job *job, struct line *line)
{
	const struct workspace_exec_kill_in *in = job->call.in;
	struct wire_exec_kill m = { .job_id = in->job_id, .signal = in->signal };

	ask_guest(job, line, "ExecKill", &m, ANSWER_MS);
}

static bool take_kill(struct job *job, struct packet *answer, struct line *line)
{
	const struct workspace_exec_kill_in *in = job->call.in;
	struct workspace_exec_kill_out *out = job->call.out;

	(void)answer;
	(void)line;
	out->job_id = in->job_id;
	return false;
}

static void send_set_env(struct job *job, struct line *line)
{
	const struct workspace_set_env_in *in = job->call.in;
	struct wire_set_env m = { .vars = in->vars, .n_vars = in->n_vars };

	ask_guest(job, line, "SetEnv", &m, ANSWER_MS);
}

static bool take_set_env(struct job *job, struct packet *answer, struct line *line)
{
	struct workspace_set_env_out *out = job->call.out;
	struct wire_set_env_result m = { 0 };

	(void)line;
	if (decode(job, answer, &m))
		out->count = m.count;
	return false;
}

/* --- files ------------------------------------------------------------------------- */

static void send_read(struct job *job, struct line *line)
{
	const struct workspace_file_read_in *in = job->call.in;
	struct wire_file_read m = {
		.path = in->path,
		.offset = in->offset,
		.has_offset = in->offset > 0,
		.limit = in->length,
		.has_limit = in->has_length,
	};

	ask_guest(job, line, "FileRead", &m, ANSWER_MS);
}

static bool take_read(struct job *job, struct packet *answer, struct line *line)
{
	struct workspace_file_read_out *out = job->call.out;
	struct wire_file_content m = { 0 };

	(void)line;
	if (decode(job, answer, &m))
		*out = (struct workspace_file_read_out){
			.content = m.content,
			.size = m.size,
			.more = m.more,
			.has_more = m.has_more,
		};
	return false;
}

static void send_write(struct job *job, struct line *line)
{
	const struct workspace_file_write_in *in = job->call.in;
	struct wire_file_write m = {
		.path = in->path,
		.content = in->content,
		.mode = in->mode,
		.has_mode = in->has_mode,
		.offset = in->offset,
		.has_offset = in->has_offset,
		.upload = in->upload,
		.size = in->size,
		.has_size = in->has_size,
	};

	ask_guest(job, line, "FileWrite", &m, ANSWER_MS);
}

static bool take_write(struct job *job, struct packet *answer, struct line *line)
{
	const struct workspace_file_write_in *in = job->call.in;
	struct workspace_file_write_out *out = job->call.out;

	(void)answer;
	(void)line;
	out->path = in->path;
	return false;
}

static void send_edit(struct job *job, struct line *line)
{
	const struct workspace_file_edit_in *in = job->call.in;
	struct wire_edit_file m = {
		.path = in->path,
		.old_string = in->old_string,
		.new_string = in->new_string,
	};

	ask_guest(job, line, "EditFile", &m, ANSWER_MS);
}

static bool take_edit(struct job *job, struct packet *answer, struct line *line)
{
	const struct workspace_file_edit_in *in = job->call.in;
	struct workspace_file_edit_out *out = job->call.out;

	(void)answer;
	(void)line;
	out->path = in->path;
	return false;
}

static void send_list(struct job *job, struct line *line)
{
	const struct workspace_list_dir_in *in = job->call.in;
	const struct workspace_list_dir_out *out = job->call.out;
	struct wire_list_dir m = { .path = in->path, .after = in->after };

	if (out->n_entries > 0)
		m.after = out->entries[out->n_entries - 1].name;
	ask_guest(job, line, "ListDir", &m, ANSWER_MS);
}

/* A long directory comes in pages; the JSON of each is kept by copying. */
static bool take_list(struct job *job, struct packet *answer, struct line *line)
{
	struct workspace_list_dir_out *out = job->call.out;
	struct arena *a = &job->call.arena;
	struct wire_dir_listing m = { 0 };

	if (!decode(job, answer, &m))
		return false;
	for (size_t i = 0; i < m.n_entries; i++) {
		struct dir_entry *e =
			arena_push(a, &out->entries, &out->n_entries, sizeof(*e));

		*e = m.entries[i];
		e->name = arena_strdup(a, e->name);
		e->kind = arena_strdup(a, e->kind);
		e->permissions = arena_strdup(a, e->permissions);
	}
	if (!m.more || m.n_entries == 0)
		return false;
	send_list(job, line);
	return true;
}

/* --- asking ------------------------------------------------------------------------- */

static const struct errand errands[] = {
	{ "workspace.exec", send_exec, take_exec },
	{ "workspace.exec_background", send_background, take_background },
	{ "workspace.exec_kill", send_kill, take_kill },
	{ "workspace.exec_poll", send_poll, take_poll },
	{ "workspace.file_edit", send_edit, take_edit },
	{ "workspace.file_read", send_read, take_read },
	{ "workspace.file_write", send_write, take_write },
	{ "workspace.list_dir", send_list, take_list },
	{ "workspace.set_env", send_set_env, take_set_env },
};

static const struct errand *errand_of(const struct job *job)
{
	for (size_t i = 0; i < sizeof(errands) / sizeof(*errands); i++)
		if (!strcmp(errands[i].op, job->call.op->name))
			return &errands[i];
	return NULL;
}

static void on_answer(void *arg, struct packet *answer, struct fault *f)
{
	struct job *job = arg;
	struct tether *t = tether_of(job->conn->host, job->call.workspace);

	if (!answer)
		job->call.fault = *f;
	else if (t && errand_of(job)->take(job, answer, &t->control))
		return;
	conn_answer(job);
}

bool ask_start(struct host *host, struct job *job)
{
	struct tether *t = tether_of(host, job->call.workspace);
	const struct errand *errand = errand_of(job);

	if (!errand) {
		fault_set(&job->call.fault, FAULT_INTERNAL, "", "%s has no message",
			  job->call.op->name);
		return false;
	}
	if (!t || !t->up) {
		fault_set(&job->call.fault, FAULT_UNAVAILABLE, "/workspace",
			  "the workspace's guest does not answer");
		job->call.fault.retry_after_ms = 1000;
		return false;
	}
	/* A replayed call has been asked before: the guest is not asked twice
	 * for what may not be done twice. */
	errand->send(job, &t->control);
	return true;
}
