/*
 * fan - runs one command in many workspaces at once, as in `cadre exec --all make`.
 *
 * Each workspace gets a cadre process of its own, which runs the command in this workspace.
 * This process prints the lines of their output behind the workspaces' names, and passes
 * signals on. The exit status is the highest status of all commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/machine/child.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/screen/screen.h"

enum {
	AT_ONCE = 16, /* commands that run at the same time */
	LINE_MOST = 65536, /* a longer line is printed in parts */
};

/* One of the two outputs of a process. */
struct fan_stream {
	int fd; /* -1: closed */
	FILE *to;
	struct text line; /* bytes that are not printed yet */
};

/* A workspace in which the command runs. */
struct fan_place {
	const char *name, *label; /* the workspace's name; the name that people use */
	pid_t pid; /* 0: the process does not run */
	struct fan_stream streams[2];
};

struct fan {
	struct cli *cli;
	const struct op *op;
	const char *wanted; /* glob for names; NULL: all workspaces */
	const char **options; /* the operation's options */
	size_t n_options;
	const char *const *command;
	struct fan_place *places;
	size_t n, begun, running;
	int worst;
};

extern char **environ;

static const int fan_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0 };

/* --- words -------------------------------------------------------------------------------- */

bool fan_takes_all(const struct op *op, int argc, char **argv)
{
	for (int i = 0; op->runs && i < argc && argv[i][0] == '-' && argv[i][1]; i++)
		if (!strcmp(argv[i], "--all"))
			return true;
		else if (run_option(op, argv[i]))
			i++;
	return false;
}

/* Reads the words behind the verb. Returns whether the words ask for many workspaces. */
static bool fan_take_words(struct fan *f, int argc, char **argv)
{
	const bool all = fan_takes_all(f->op, argc, argv);
	bool found = all;
	int i;

	f->options = arena_alloc(&f->cli->arena, ((size_t)argc + 1) * sizeof(char *));
	for (i = 0; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--all"))
			continue;
		if (argv[i][0] == '-') {
			const bool value = run_option(f->op, argv[i]) && i + 1 < argc;

			f->options[f->n_options++] = argv[i];
			if (value)
				f->options[f->n_options++] = argv[++i];
			continue;
		}
		if (found)
			break;
		found = true;
		f->wanted = argv[i];
	}
	i += i < argc && !strcmp(argv[i], "--");
	f->command = (const char *const *)argv + i;
	return i < argc && (all || (f->wanted && strpbrk(f->wanted, "*?[")));
}

/* --- workspaces --------------------------------------------------------------------------- */

static bool fan_matches(struct fan *f, const char *name, const char *team,
			const char *agent)
{
	const char *both = arena_printf(&f->cli->arena, "%s/%s", team, agent);

	return !f->wanted || !fnmatch(f->wanted, name, 0) ||
	       (*agent &&
		(!fnmatch(f->wanted, agent, 0) || !fnmatch(f->wanted, both, 0)));
}

/* Adds the workspaces of the list that match. A workspace that is not ready is passed over, and
 * the user is told so. */
static void fan_choose(struct fan *f, const json_t *rows)
{
	struct arena *a = &f->cli->arena;
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		const char *name = arena_strdup(a, json_text_at(row, "name")),
			   *agent = arena_strdup(a, json_text_at(row, "agent")),
			   *state = json_text_at(row, "state"),
			   *label = *agent ? agent : name;

		if (!fan_matches(f, name, json_text_at(row, "team"), agent))
			continue;
		if (strcmp(state, "ready") != 0)
			cli_tell("cadre: %s is %s, so nothing runs there", label, state);
		else
			*(struct fan_place *)arena_push(a, &f->places, &f->n,
							sizeof(*f->places)) =
				(struct fan_place){ .name = name, .label = label };
	}
}

static int fan_find(struct fan *f, struct fault *fault)
{
	const struct field *place = field_find(f->op->in, f->op->cli_fields[0]);
	const struct noun *noun = noun_find(place->names);
	json_t *rows =
		run_rows(f->cli, op_find(noun->list), noun->rows, NULL, NULL, fault);

	if (!fault->code)
		fan_choose(f, rows);
	json_decref(rows);
	if (!fault->code && !f->n) {
		fault_set(fault, FAULT_NOT_FOUND, "", "no %s%s%s is ready", noun->name,
			  f->wanted ? " with a name like " : "",
			  f->wanted ? f->wanted : "");
		fault_hint(fault, "See the list: cadre %s list", noun->name);
	}
	return fault->code;
}

/* --- output ------------------------------------------------------------------------------- */

static void fan_print_line(struct fan *f, const struct fan_place *p, struct fan_stream *s,
			   size_t n)
{
	struct text line = { 0 };

	text_add(&line, s->line.data, n);
	if (f->cli->terminal)
		text_mask(&line, 0);
	fprintf(s->to, "%s%s:%s ", screen_dim(f->cli), p->label, screen_plain(f->cli));
	fwrite(line.data ? line.data : "", 1, line.len, s->to);
	fputc('\n', s->to);
	text_release(&line);
}

/* Prints the whole lines that have come, and at the end also the last line. */
static void fan_print(struct fan *f, const struct fan_place *p, struct fan_stream *s,
		      bool end)
{
	size_t at;

	while (s->line.len) {
		const char *newline = memchr(s->line.data, '\n', s->line.len);

		if (!newline && !end && s->line.len < LINE_MOST)
			break;
		at = newline ? (size_t)(newline - s->line.data) : s->line.len;
		fan_print_line(f, p, s, at);
		at += newline != NULL;
		memmove(s->line.data, s->line.data + at, s->line.len - at);
		s->line.len -= at;
	}
	fflush(s->to);
}

/* Prints the answer of a process as JSON on one line, with the name of the workspace. */
static void fan_print_answer(const struct fan_place *p, struct fan_stream *s)
{
	json_t *answer =
		json_loadb(s->line.data ? s->line.data : "", s->line.len, 0, NULL);

	if (json_is_object(answer)) {
		json_object_set_new(answer, "workspace", json_text(p->label));
		print_json(answer);
		fflush(stdout);
	}
	json_decref(answer);
}

static void fan_read(struct fan *f, struct fan_place *p, struct fan_stream *s)
{
	const bool whole = f->cli->json && s->to == stdout;
	char bytes[8192];
	ssize_t n = read(s->fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		text_add(&s->line, bytes, (size_t)n);
	if (!whole)
		fan_print(f, p, s, n <= 0);
	if (n > 0)
		return;
	if (whole)
		fan_print_answer(p, s);
	close(s->fd);
	s->fd = -1;
	text_release(&s->line);
}

/* --- processes ---------------------------------------------------------------------------- */

struct fan_words {
	struct arena *arena;
	const char **words;
	size_t n;
};

/* Adds a word with its prefix. A NULL word is left out. */
static void fan_add(struct fan_words *w, const char *prefix, const char *word)
{
	if (word)
		arena_add(w->arena, w->words, w->n,
			  arena_printf(w->arena, "%s%s", prefix, word));
}

/* The words that run the command in one workspace. */
static const char *const *fan_words_of(struct fan *f, const struct fan_place *p)
{
	const struct cli *cli = f->cli;
	struct fan_words w = { .arena = &f->cli->arena };

	fan_add(&w, "", "cadre");
	fan_add(&w, "--home=", cli->dir);
	fan_add(&w, "--team=", cli->team);
	fan_add(&w, "--as=", cli->as);
	fan_add(&w, "", cli->as_operator ? "--operator" : NULL);
	fan_add(&w, "", cli->json ? "--json" : NULL);
	for (size_t i = 0; i < cli->n_flags; i++)
		fan_add(&w, "--", cli->flags[i]);
	fan_add(&w, "", f->op->cli[0]);
	fan_add(&w, "", f->op->cli[1]);
	for (size_t i = 0; i < f->n_options; i++)
		fan_add(&w, "", f->options[i]);
	fan_add(&w, "", p->name);
	fan_add(&w, "", "--");
	for (size_t i = 0; f->command[i]; i++)
		fan_add(&w, "", f->command[i]);
	arena_add(w.arena, w.words, w.n, NULL);
	return w.words;
}

/* Starts the process for a workspace. The process has its own session, so that a signal from
 * the terminal reaches it only once, through this process. Returns 0 or an errno. */
static int fan_begin(struct fan *f, struct fan_place *p)
{
	posix_spawn_file_actions_t files;
	int pipes[2][2], rc;

	if (pipe2(pipes[0], O_CLOEXEC) || pipe2(pipes[1], O_CLOEXEC))
		return errno;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, pipes[0][1], 1);
	posix_spawn_file_actions_adddup2(&files, pipes[1][1], 2);
	rc = child_spawn(&p->pid, "/proc/self/exe", fan_words_of(f, p), environ, &files,
			 true);
	for (int i = 0; i < 2; i++) {
		close(pipes[i][1]);
		p->streams[i] = (struct fan_stream){ .fd = pipes[i][0],
						     .to = i ? stderr : stdout };
	}
	f->running += !rc;
	p->pid = rc ? 0 : p->pid;
	return rc;
}

static void fan_end(struct fan *f, struct fan_place *p)
{
	int status = 0, code;

	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	f->worst = code > f->worst ? code : f->worst;
	p->pid = 0;
	f->running--;
}

static void fan_pass_signals(struct fan *f)
{
	int number;

	while ((number = signals_next())) {
		f->begun = f->n; /* no more processes start */
		for (size_t i = 0; i < f->n; i++)
			if (f->places[i].pid)
				kill(f->places[i].pid, number);
	}
}

/* Waits for output of the running processes, and prints it. */
static void fan_step(struct fan *f, const sigset_t *waiting)
{
	struct pollfd fds[2 * AT_ONCE];
	struct fan_place *of[AT_ONCE];
	nfds_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->places[i].pid) {
			of[n / 2] = &f->places[i];
			for (int k = 0; k < 2; k++)
				fds[n++] = (struct pollfd){
					.fd = f->places[i].streams[k].fd,
					.events = POLLIN,
				};
		}
	if (ppoll(fds, n, NULL, waiting) < 0)
		return;
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].revents)
			fan_read(f, of[i / 2], &of[i / 2]->streams[i % 2]);
	for (nfds_t i = 0; i < n; i += 2)
		if (of[i / 2]->streams[0].fd < 0 && of[i / 2]->streams[1].fd < 0)
			fan_end(f, of[i / 2]);
}

static int fan_go(struct fan *f, struct fault *fault)
{
	sigset_t waiting;
	int rc = 0;

	signals_block(fan_signals, &waiting);
	signals_note(fan_signals);
	while (f->running || (f->begun < f->n && !rc)) {
		while (f->begun < f->n && f->running < AT_ONCE && !rc)
			rc = fan_begin(f, &f->places[f->begun++]);
		if (f->running)
			fan_step(f, &waiting);
		fan_pass_signals(f);
	}
	signals_release(fan_signals, &waiting);
	if (!rc)
		return f->worst;
	fault_set(fault, FAULT_UNAVAILABLE, "", "cannot start a process: %s",
		  strerror(rc));
	return cli_fault(f->cli, fault);
}

bool fan_run(struct cli *cli, const struct op *op, int argc, char **argv, int *status)
{
	struct fan f = { .cli = cli, .op = op };
	struct fault fault = { 0 };

	if (!op->runs || !fan_take_words(&f, argc, argv))
		return false;
	if (fan_find(&f, &fault))
		*status = cli_fault(cli, &fault);
	else
		*status = fan_go(&f, &fault);
	return true;
}
