/*
 * guest_turn - the commands of the agent's turns: jobs that read a prompt, one at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/op/op.h"
#include "guest/background.h"
#include "guest/guest_target.h"

/* For so long a turn, and with it the guest, waits for the processes that it killed. */
enum { DYING_MS = 200 };

/* --- the file for its client ---------------------------------------------------- */

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

/* The program that a client starts: this one; in a VM that is the command `cadre`. */
static const char *program(const struct guest *g, struct arena *a)
{
	char path[4096];
	ssize_t n = g->options->vm ? 0 : readlink("/proc/self/exe", path, sizeof(path));

	return n > 0 && n < (ssize_t)sizeof(path) ? arena_strndup(a, path, (size_t)n)
						  : "cadre";
}

/* Clients start servers with few variables of their own environment.  Without `trust`, some
 * clients ask before each call of a server. */
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
	if (fd < 0 || !file_write_all(fd, t.data, t.len))
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

	if (fd >= 0 && file_write_all(fd, prompt, strlen(prompt)) &&
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

	/* A turn that ends well may leave a server running.  The processes of a turn that was
	 * stopped or failed would work on beside the next one. */
	if (run->status || run->signalled || run->timed_out)
		guest_kill_orphans(job->guest, job->turn, run->group);
	if (job->guest->turn_job == job->id) {
		job->guest->turn_job = 0;
		remove_config(job->guest);
	}
	background_followed_done(run);
}

/* Kills the running turn.  Clears turn_job at once, so the job's end changes nothing. */
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

/* Variables of the turn's command beside those that the host says. */
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
		return fault_set(f, FAULT_CONFLICT, "", "commands stand still here");
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
