/*
 * agent_run - a program that runs as an agent, such as a client: with the agent's identity, in
 * a git worktree of its own if that is asked for.
 *
 * While it runs the agent's leases are kept alive, by calls of the same program every minute;
 * when it ends, the agent is offline.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/machine/child.h"
#include "core/machine/git_worktree.h"
#include "core/machine/starter.h"
#include "ops.gen.h"
#include "storage/durable.h"
#include "tools/cadre/cli.h"

extern char **environ;

enum { BEAT_S = 60 };

struct running {
	struct cli *cli;
	const char *name, *role;
	bool worktree, made;
	char **words; /* of the program, with a NULL at the end */
	int lock; /* held until this process ends; -1 where none is needed */
};

static int take_words(struct running *r, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const char *role = cli_option(argc, argv, &i, "--role");

		if (role)
			r->role = role;
		else if (strcmp(argv[i], "--worktree") == 0)
			r->worktree = true;
		else if (*argv[i] == '-' || r->name)
			return -1;
		else
			r->name = argv[i];
	}
	r->words = argv + i + 1;
	return r->name && i + 1 < argc ? 0 : -1;
}

static json_t *call(struct running *r, const struct op *op, json_t *args, struct fault *f)
{
	json_t *answer;

	if (r->cli->team)
		json_object_set_new(args, "team", json_string(r->cli->team));
	answer = run_op(r->cli, op, args, f);
	json_decref(args);
	return answer;
}

/* The agent of that name, which is made if there is none. */
static json_t *find_agent(struct running *r, struct fault *f)
{
	json_t *env = call(r, op_agent_env, json_pack("{ss}", "name", r->name), f), *made;

	if (env || f->code != FAULT_NOT_FOUND || strcmp(f->where, "/name"))
		return env;
	*f = (struct fault){ 0 };
	made = call(r, op_agent_register,
		    json_pack("{ss, ss*}", "name", r->name, "role", r->role), f);
	if (!made)
		return NULL;
	json_decref(made);
	r->made = true;
	return call(r, op_agent_env, json_pack("{ss}", "name", r->name), f);
}

static const char *text_of(const json_t *json, const char *name)
{
	const char *s = json_string_value(json_object_get(json, name));

	return s ? s : "";
}

static void be(const json_t *env)
{
	if (*text_of(env, "home"))
		setenv("CADRE_HOME", text_of(env, "home"), 1);
	setenv("CADRE_TEAM", text_of(env, "team"), 1);
	setenv("CADRE_AGENT", text_of(env, "name"), 1);
	setenv("CADRE_TOKEN", text_of(env, "token"), 1);
}

/* A name for an agent's files: a name has no dot. */
static const char *file_name(const struct running *r, const json_t *env)
{
	return arena_printf(&r->cli->arena, "%s.%s", text_of(env, "team"),
			    text_of(env, "name"));
}

/* An agent is run once at a time: the lock ends with this process. */
static int hold(struct running *r, const json_t *env, struct fault *f)
{
	struct arena *a = &r->cli->arena;
	const char *folder = arena_printf(a, "%s/programs", text_of(env, "home"));
	const char *path = arena_printf(a, "%s/%s", folder, file_name(r, env));

	r->lock = -1;
	if (!*text_of(env, "home")) /* a workspace is one agent's anyhow */
		return 0;
	if (dir_have(folder, 0700) == 0)
		r->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (r->lock < 0)
		return fault_set(f, FAULT_IO, "", "cannot make %.200s: %s", path,
				 strerror(errno));
	if (flock(r->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return fault_set(f, FAULT_IO, "", "cannot lock %.200s: %s", path,
				 strerror(errno));
	fault_set(f, FAULT_CONFLICT, "", "a program runs as %s already",
		  text_of(env, "name"));
	return fault_hint(f, "Run another agent, or end that program first.");
}

/* git asks nobody for a password where no person is. */
static int make_worktree(struct running *r, const char *branch, const char *path,
			 struct fault *f)
{
	const bool mute = !isatty(STDIN_FILENO) && !getenv("GIT_TERMINAL_PROMPT");
	const int64_t minutes = r->cli->home.settings.config.agent_worktree_minutes;
	const char *said = NULL;

	if (mute)
		setenv("GIT_TERMINAL_PROMPT", "0", 1);
	git_worktree_make(branch, path, minutes * 60000, &r->cli->arena, &said, f);
	if (mute)
		unsetenv("GIT_TERMINAL_PROMPT");
	if (said)
		fputs(said, stderr);
	return f->code;
}

/* Makes the agent's worktree of the repository here, and goes there. */
static int move_in(struct running *r, const json_t *env, struct fault *f)
{
	struct arena *a = &r->cli->arena;
	const char *branch = file_name(r, env);
	const char *path =
		arena_printf(a, "%s/worktrees/%s", text_of(env, "home"), branch);

	if (!*text_of(env, "home"))
		return fault_set(f, FAULT_INVALID, "",
				 "a workspace has no worktrees: it is one");
	if (make_worktree(r, branch, path, f))
		return f->code;
	if (chdir(path))
		return fault_set(f, FAULT_IO, "", "cannot go to %.200s: %s", path,
				 strerror(errno));
	fprintf(stderr, "%s works in %s\n", r->name, path);
	return 0;
}

/* --- while it runs ------------------------------------------------------------------- */

static volatile sig_atomic_t passing; /* a signal that the program is to get as well */

static void pass(int number)
{
	passing = number;
}

/* Calls this program, as the agent that its environment says. */
static void say(const char *const *words)
{
	struct fault ignored = { 0 };

	child_run(words, NULL, &ignored);
}

static void beat(void)
{
	say((const char *const[]){ "/proc/self/exe", "agent", "heartbeat", NULL });
}

static void say_offline(void)
{
	say((const char *const[]){ "/proc/self/exe", "agent", "status", "offline",
				   NULL });
}

/* The terminal's signals reach the program by themselves; others are passed on to it. */
static void heed_signals(sigset_t *before)
{
	static const int passed[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, 0 };
	struct sigaction passes = { .sa_handler = pass };

	signals_block(passed, before);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	for (size_t i = 0; passed[i]; i++)
		sigaction(passed[i], &passes, NULL);
}

static int status_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Waits for the end of the program: its status as a shell tells it.  Signals come only while it
 * waits, so that none is missed. */
static int attend(pid_t pid, const sigset_t *before)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), status = 0, n = 0;
	struct pollfd end = { .fd = fd, .events = POLLIN };
	const struct timespec beat_time = { .tv_sec = BEAT_S };

	while (fd >= 0 && (n = ppoll(&end, 1, &beat_time, before)) <= 0) {
		if (passing)
			kill(pid, passing);
		passing = 0;
		if (n == 0)
			beat();
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (fd >= 0)
		close(fd);
	return status_of(status);
}

static pid_t start(char **words, const sigset_t *before, struct fault *f)
{
	static const int taken[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	pid_t wrapper = getpid(), pid = fork();

	if (pid == 0) {
		/* A program whose wrapper was killed is told to end, before it is run again. */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != wrapper)
			_exit(128 + SIGTERM);
		for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
			signal(taken[i], SIG_DFL);
		sigprocmask(SIG_SETMASK, before, NULL);
		execvp(words[0], words);
		fprintf(stderr, "cadre: cannot run %s: %s\n", words[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0)
		fault_set(f, FAULT_UNAVAILABLE, "", "cannot start %.100s: %s", words[0],
			  strerror(errno));
	return pid;
}

int agent_run_main(struct cli *cli, int argc, char **argv)
{
	struct running r = { .cli = cli };
	struct fault f = { 0 };
	sigset_t before;
	json_t *env;
	int status;
	pid_t pid;

	if (take_words(&r, argc, argv))
		return cli_usage(
			cli,
			"it is `agent %s NAME [--role ROLE] [--worktree] -- PROGRAM "
			"[WORD...]`",
			argv[0]);
	starter_forget(false);
	if (cli_client(cli, HOME_WRITE, &f) < 0 || !(env = find_agent(&r, &f)))
		return cli_fault(cli, &f);
	if (hold(&r, env, &f) || (r.worktree && move_in(&r, env, &f))) {
		if (r.made) { /* it would be taken for one that works */
			be(env);
			say_offline();
		}
		json_decref(env);
		return cli_fault(cli, &f);
	}
	be(env);
	json_decref(env);
	say((const char *const[]){ "/proc/self/exe", "agent", "status", "ready", NULL });
	heed_signals(&before);
	if ((pid = start(r.words, &before, &f)) < 0)
		return cli_fault(cli, &f);
	status = attend(pid, &before);
	say_offline();
	return status;
}
