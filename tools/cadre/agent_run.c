/*
 * agent_run - runs a program, such as a client, with the identity of an agent, and on request
 * in a git worktree of the agent. `agent worktree` makes only the worktree.
 *
 * The program replaces this process, as with `env`. So the program itself gets the terminal and
 * all signals, also Ctrl-Z, and gives the exit status. A keeper process runs beside the
 * program, but is no child of the program. Every minute the keeper calls cadre to keep the
 * agent's leases alive. When the program ends, the keeper sets the agent's status to offline.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/machine/child.h"
#include "core/machine/git_worktree.h"
#include "core/machine/pid.h"
#include "core/machine/starter.h"
#include "ops.gen.h"
#include "storage/durable.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/setup/setup.h"

enum { BEAT_S = 60, LOCK_TRIES = 100, LOCK_MS = 100, PROGRAM_FD = 3 };

struct running {
	struct cli *cli;
	const char *name, *role;
	bool worktree, made;
	char **words; /* the program's words, with a NULL at the end; may be none */
	int lock; /* held by this process, later by the keeper; -1: no lock is needed */
};

static int agent_run_take_words(struct running *r, int argc, char **argv)
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
	r->words = argv + i + (i < argc);
	return r->name ? 0 : -1;
}

static json_t *agent_run_call(struct running *r, const struct op *op, json_t *args,
			      struct fault *f)
{
	if (r->cli->team)
		json_object_set_new(args, "team", json_string(r->cli->team));
	return run_args(r->cli, op, args, f);
}

/* Finds the agent named in `r`; registers the agent if no agent has that name. */
static json_t *agent_run_find(struct running *r, struct fault *f)
{
	json_t *env = agent_run_call(r, op_agent_env, json_pack("{ss}", "name", r->name),
				     f),
	       *made;

	if (env || f->code != FAULT_NOT_FOUND || strcmp(f->where, "/name"))
		return env;
	*f = (struct fault){ 0 };
	made = agent_run_call(r, op_agent_register,
			      json_pack("{ss, ss*}", "name", r->name, "role", r->role),
			      f);
	if (!made)
		return NULL;
	json_decref(made);
	r->made = true;
	return agent_run_call(r, op_agent_env, json_pack("{ss}", "name", r->name), f);
}

static void be(const json_t *env)
{
	char session[37];

	if (*json_text_at(env, "home"))
		setenv("CADRE_HOME", json_text_at(env, "home"), 1);
	setenv("CADRE_TEAM", json_text_at(env, "team"), 1);
	setenv("CADRE_AGENT", json_text_at(env, "name"), 1);
	setenv("CADRE_TOKEN", json_text_at(env, "token"), 1);
	/* A client may start each command in a new session of the system. All these commands
	 * are one session of the agent. */
	client_key(session);
	setenv("CADRE_SESSION", session, 1);
}

/* The name of an agent's files: the team's name, a dot and the agent's name. Neither name
 * contains a dot. */
static const char *file_name(const struct running *r, const json_t *env)
{
	return arena_printf(&r->cli->arena, "%s.%s", json_text_at(env, "team"),
			    json_text_at(env, "name"));
}

/* Reads a program's process id from the lock's file into `*pid`. Returns whether this program
 * is alive. */
static bool is_running(int lock, int64_t *pid)
{
	char note[128] = "";
	struct process p = { 0 };
	long long number = 0, start = 0;

	if (pread(lock, note, sizeof(note) - 1, 0) <= 0 ||
	    sscanf(note, "%lld %lld %39s", &number, &start, p.boot) != 3)
		return false;
	p.pid = *pid = number;
	p.start = start;
	return pid_alive(&p);
}

/* Writes the id of this process into the lock's file, since the program will replace this
 * process. */
static void note_program(int lock)
{
	struct process p = { 0 };

	pid_find(getpid(), &p);
	if (ftruncate(lock, 0) == 0)
		dprintf(lock, "%lld %lld %s\n", (long long)p.pid, (long long)p.start,
			p.boot);
}

/* Takes the lock. After a program has ended, the program's keeper still holds the lock for a
 * moment, so this function waits. If only the keeper was killed, the program runs on without
 * the lock, so this function also checks the program's process. */
static int lock_program(struct running *r, const char *path, struct fault *f)
{
	const struct timespec pause = { .tv_nsec = LOCK_MS * 1000000L };
	int64_t pid = 0;
	int rc = -1;

	for (int i = 0; rc && i < LOCK_TRIES && !is_running(r->lock, &pid); i++)
		if ((rc = flock(r->lock, LOCK_EX | LOCK_NB)) && errno == EWOULDBLOCK)
			nanosleep(&pause, NULL);
		else if (rc)
			return fault_set(f, FAULT_IO, "", "cannot lock %.200s: %s", path,
					 strerror(errno));
	if (!rc)
		return 0;
	fault_set(f, FAULT_CONFLICT, "", "a program runs as %s already (process %lld)",
		  r->name, (long long)pid);
	return fault_hint(f, "Run another agent, or end that program first.");
}

/* Makes sure that no second program runs as the agent at the same time. */
static int agent_run_hold(struct running *r, const json_t *env, struct fault *f)
{
	struct arena *a = &r->cli->arena;
	const char *folder = arena_printf(a, "%s/programs", json_text_at(env, "home"));
	const char *path = arena_printf(a, "%s/%s", folder, file_name(r, env));

	r->lock = -1;
	if (!*json_text_at(env, "home")) /* a workspace has only one agent */
		return 0;
	if (dir_have(folder, 0700) == 0)
		r->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (r->lock < 0)
		return fault_set(f, FAULT_IO, "", "cannot make %.200s: %s", path,
				 strerror(errno));
	if (lock_program(r, path, f))
		return f->code;
	note_program(r->lock);
	return 0;
}

/* Makes the worktree. Without a terminal, git must not ask for a password. */
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
		fprintf(stderr, "%s\n", said);
	return f->code;
}

/* Stores the worktree as the agent's project folder, unless the agent has a folder already. If
 * this fails, the program runs all the same. */
static void agent_run_note_folder(struct running *r, const char *path)
{
	struct fault ignored = { 0 };
	json_t *answer = agent_run_call(r, op_agent_whois,
					json_pack("{ss}", "name", r->name), &ignored),
	       *card = json_object_get(answer, "card");

	if (card && !json_object_get(card, "project"))
		json_decref(agent_run_call(r, op_agent_update,
					   json_pack("{ss, ss}", "name", r->name,
						     "project", path),
					   &ignored));
	json_decref(answer);
}

/* Makes the agent's worktree of the current repository if there is none, and changes into the
 * worktree. Returns the worktree's path, or NULL and a fault. */
static const char *agent_run_move_in(struct running *r, const json_t *env,
				     struct fault *f)
{
	struct arena *a = &r->cli->arena;
	const char *branch = file_name(r, env);
	const char *path =
		arena_printf(a, "%s/worktrees/%s", json_text_at(env, "home"), branch);

	if (!*json_text_at(env, "home"))
		fault_set(f, FAULT_INVALID, "", "a workspace cannot have worktrees");
	else if (make_worktree(r, branch, path, f) == 0 && chdir(path))
		fault_set(f, FAULT_IO, "", "cannot go to %.200s: %s", path,
			  strerror(errno));
	if (f->code)
		return NULL;
	agent_run_note_folder(r, path);
	return path;
}

/* Gives the program the agent's identity. If the program is a client, also gives it the MCP
 * server and the hooks, since the worktree may lack the client's files. */
static int agent_run_equip(struct running *r, const json_t *env, struct fault *f)
{
	struct arena *a = &r->cli->arena;
	const char *home = json_text_at(env, "home"), *beside = NULL;
	const char *folder = arena_printf(a, "%s/clients", home);

	be(env);
	if (*home && dir_have(folder, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %.200s: %s", folder,
				 strerror(errno));
	if (*home)
		beside = arena_printf(a, "%s/%s", folder, file_name(r, env));
	return setup_run(a, beside, &r->words, f);
}

/* --- while the program runs ---------------------------------------------------------- */

/* Runs cadre as the agent that the environment names. */
static void agent_run_say(const char *const *words)
{
	struct fault ignored = { 0 };

	child_run(words, NULL, &ignored);
}

static void say_offline(void)
{
	agent_run_say((const char *const[]){ "/proc/self/exe", "agent", "status",
					     "offline", NULL });
}

/* Detaches the keeper from the program's terminal, folder and descriptors. Also clears the
 * arguments of the keeper, so that a search for the program by its arguments does not find the
 * keeper. */
static void stand_alone(const struct running *r, int program, char **words)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int kept[] = { fcntl(program, F_DUPFD_CLOEXEC, 10),
		       fcntl(r->lock, F_DUPFD_CLOEXEC, 10) };
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	dup2(kept[0], PROGRAM_FD);
	if (dup2(kept[1], PROGRAM_FD + 1) < 0) /* there is no lock */
		close(PROGRAM_FD + 1);
	close_range(PROGRAM_FD + 2, ~0U, 0);
	for (; *words; words++)
		memset(*words, 0, strlen(*words));
	if (chdir("/"))
		_exit(1);
}

static _Noreturn void agent_run_keep(void)
{
	struct pollfd end = { .fd = PROGRAM_FD, .events = POLLIN };

	while (poll(&end, 1, BEAT_S * 1000) <= 0)
		agent_run_say((const char *const[]){ "/proc/self/exe", "agent",
						     "heartbeat", NULL });
	say_offline();
	_exit(0);
}

/* Starts the keeper for this process. */
static int start_keeper(const struct running *r, char **words, struct fault *f)
{
	int program = (int)syscall(SYS_pidfd_open, getpid(), 0);
	pid_t pid = program < 0 ? -1 : fork();

	if (pid == 0) {
		pid = fork();
		if (pid)
			_exit(pid < 0 ? 1 : 0);
		stand_alone(r, program, words);
		agent_run_keep();
	}
	if (pid < 0)
		fault_set(f, FAULT_UNAVAILABLE, "",
			  "cannot start the process that keeps the leases: %s",
			  strerror(errno));
	else
		waitpid(pid, NULL, 0);
	close(program);
	return f->code;
}

/* Replaces this process by the program. */
static int become_program(char **words)
{
	signal(SIGXFSZ, SIG_DFL); /* main() has ignored the signal */
	execvp(words[0], words);
	fprintf(stderr, "cadre: cannot run %s: %s\n", words[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

/* Sets a new agent offline, since no program of the agent runs. Prints the fault, if there is
 * one, and returns the exit status. */
static int agent_run_end(struct running *r, json_t *env, const struct fault *f)
{
	if (r->made && env) {
		be(env);
		say_offline();
	}
	json_decref(env);
	return f->code ? cli_fault(r->cli, f) : 0;
}

/* Connects to the state, and finds or registers the agent. Returns the agent's variables, or
 * NULL and a fault. */
static json_t *agent_run_begin(struct running *r, struct fault *f)
{
	starter_forget(false);
	return cli_client(r->cli, HOME_WRITE, f) < 0 ? NULL : agent_run_find(r, f);
}

/* Names the worktree. Tells a person what to do when the program has ended, since this process
 * then no longer exists. */
static void agent_run_tell(const struct running *r, const char *branch, const char *path)
{
	fprintf(stderr, "%s works in %s, on branch %s\n", r->name, path, branch);
	if (isatty(STDERR_FILENO))
		cli_tell(
			"afterwards: cadre shows what %s left undone; git merge %s takes "
			"over the commits",
			r->name, branch);
}

int agent_run_main(struct cli *cli, int argc, char **argv)
{
	struct running r = { .cli = cli };
	struct fault f = { 0 };
	const char *path = NULL;
	json_t *env;

	if (agent_run_take_words(&r, argc, argv) || !*r.words)
		return cli_usage(cli,
				 "write `agent %s NAME [--role ROLE] [--worktree] -- "
				 "PROGRAM [WORD...]`",
				 argv[0]);
	if (!(env = agent_run_begin(&r, &f)))
		return cli_fault(cli, &f);
	if (agent_run_hold(&r, env, &f) ||
	    (r.worktree && !(path = agent_run_move_in(&r, env, &f))) ||
	    agent_run_equip(&r, env, &f))
		return agent_run_end(&r, env, &f);
	if (path)
		agent_run_tell(&r, file_name(&r, env), path);
	json_decref(env);
	client_close(cli->client);
	cli->client = NULL;
	agent_run_say((const char *const[]){ "/proc/self/exe", "agent", "status", "ready",
					     NULL });
	fflush(stderr);
	if (start_keeper(&r, argv, &f))
		return cli_fault(cli, &f);
	return become_program(r.words);
}

/* The verb `agent worktree`. The folder alone goes to standard output, for `cd "$(...)"`. */
int agent_worktree_main(struct cli *cli, int argc, char **argv)
{
	struct running r = { .cli = cli };
	struct fault f = { 0 };
	const char *path, *team, *token;
	json_t *env;

	if (agent_run_take_words(&r, argc, argv) || r.worktree || *r.words)
		return cli_usage(cli, "write `agent %s NAME [--role ROLE]`", argv[0]);
	if (!(env = agent_run_begin(&r, &f)))
		return cli_fault(cli, &f);
	team = json_text_at(env, "team");
	token = json_text_at(env, "token");
	if (home_can_keep(&cli->home, &f) || !(path = agent_run_move_in(&r, env, &f)) ||
	    home_keep_here(&cli->home, team, r.name, token, true, &f))
		return agent_run_end(&r, env, &f);
	if (cli->json)
		print_json_new(json_pack("{ss, ss, ss}", "name", r.name, "team", team,
					 "path", path));
	else
		puts(path);
	fprintf(stderr, "whenever cadre runs there, it acts as %s of team %s\n", r.name,
		team);
	return agent_run_end(&r, env, &f);
}
