/*
 * up - starts, runs, stops and restarts the host.
 *
 * `up` starts `serve` in a new session. From a pipe, `up` reads "ready\n", or the fault with
 * which the host ended.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/version.h"
#include "core/host/host.h"
#include "core/machine/backend.h"
#include "core/machine/net/net_linux.h"
#include "core/machine/starter.h"
#include "ops.gen.h"
#include "storage/durable.h"
#include "tools/cadre/cli.h"

/*
 * Counts and ends those guests of a state that still run when no host runs.
 */

/* Backends whose guests are processes of this machine. `folder`: a folder in the state's
 * folder, with one subfolder for each guest of the backend. */
static const struct {
	const struct backend *backend;
	const char *folder;
} kinds[] = {
	{ &backend_process, "guests" },
	{ &backend_qemu, "disks" },
};

/* A function that is called for each running guest. */
typedef void visit_guest(const struct backend *b, const struct process *p, void *with);

static size_t visit_guests(const char *home, visit_guest *visit, void *with)
{
	struct arena a = { 0 };
	struct process p;
	struct dirent *e;
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct backend *b = kinds[i].backend;
		DIR *dir = opendir(arena_printf(&a, "%s/%s", home, kinds[i].folder));

		while (dir && (e = readdir(dir))) {
			if (e->d_name[0] == '.' || !b->seek(home, e->d_name, &p))
				continue;
			n++;
			if (visit)
				visit(b, &p, with);
		}
		if (dir)
			closedir(dir);
	}
	arena_release(&a);
	return n;
}

size_t guests_running(const char *home)
{
	return visit_guests(home, NULL, NULL);
}

static void stop_guest(const struct backend *b, const struct process *p, void *with)
{
	struct fault ignored = { 0 };

	b->stop(p, *(bool *)with, &ignored); /* running guests are counted later */
}

/* Asks the guests to end, and waits for at most `seconds`. `*ended` becomes the number of ended
 * guests. Returns the number of guests that still run. */
static size_t guests_end(const char *home, int seconds, size_t *ended)
{
	int64_t began = clock_steady_ms(), until = began + (int64_t)seconds * 1000;
	const struct timespec pause = { .tv_nsec = 50000000 };
	bool now = false;
	size_t left = visit_guests(home, stop_guest, &now), all = left;

	while (left && clock_steady_ms() < until) {
		nanosleep(&pause, NULL);
		/* After half of the time, the guests that still run are ended at once. */
		now = clock_steady_ms() - began > (int64_t)seconds * 500;
		left = visit_guests(home, now ? stop_guest : NULL, &now);
	}
	*ended = all > left ? all - left : 0;
	return left;
}

int guests_end_network(const struct home *home, struct fault *f)
{
	const char *tag = home->settings.tag;
	struct net_linux net;
	int rc = 0;

	net_linux_init(&net);
	if (tag && net.network.present(net.network.self, tag))
		rc = net.network.remove(net.network.self, tag, f) < 0 ? (int)f->code : 1;
	net_linux_release(&net);
	return rc;
}

enum { UP_SECONDS = 20, DOWN_SECONDS = 30 };

/* --- serve ------------------------------------------------------------------------ */

/* Writes the fault into the pipe to the process that started this host. Without a fault, the
 * host writes "ready" instead. */
static void up_report(int fd, const struct fault *f)
{
	char hint[HINT_SIZE];

	if (fd >= 0)
		dprintf(fd, "%s\t%s\t%s\n", fault_info(f->code)->name, f->text,
			hint_plain(f->hint, hint));
}

static int ready_fd(const char *word)
{
	char *end;
	long fd = word ? strtol(word, &end, 10) : -1;

	return word && *word && !*end && fd > 2 && fd < 65536 ? (int)fd : -1;
}

int serve_main(struct cli *cli, int argc, char **argv)
{
	struct host_options options = { .home = &cli->home, .ready_fd = -1 };
	struct fault f = { 0 };

	for (int i = 1; i < argc; i++) {
		const char *fd = cli_option(argc, argv, &i, "--ready-fd");

		if (!fd)
			return cli_usage(cli, "`serve` does not know %.60s", argv[i]);
		options.ready_fd = ready_fd(fd);
		if (options.ready_fd >= 0)
			fcntl(options.ready_fd, F_SETFD, FD_CLOEXEC);
	}
	signal(SIGPIPE, SIG_IGN);
	starter_forget(true);
	if (cli_folder(cli, HOME_WRITE, &f) == 0 && host_run(&options, &f) == 0)
		return 0;
	up_report(options.ready_fd, &f);
	return cli_fault(cli, &f);
}

/* --- up ----------------------------------------------------------------------------- */

/* Starts `cadre serve` with the configuration flags given to `up`. The absolute path of the
 * vault is passed too. This is necessary because a relative path in a flag is relative to the
 * folder in which `up` runs, but `serve` runs in another folder. */
static void exec_serve(struct cli *cli)
{
	const char *words[CLI_FLAGS + 8] = { "cadre", "--home", cli->home.dir };
	const char *vault = cli->home.settings.config.vault_root;
	size_t n = 3;

	for (size_t i = 0; i < cli->n_flags; i++)
		words[n++] = arena_printf(&cli->arena, "--%s", cli->flags[i]);
	if (vault)
		words[n++] = arena_printf(&cli->arena, "--vault.root=%s", vault);
	words[n++] = "serve";
	words[n++] = "--ready-fd";
	words[n] = "3";
	execv("/proc/self/exe", (char *const *)words);
}

/* Turns this process into the host. All output of the host, even the output of a crash, is
 * written to the host's log. */
static void become_host(struct cli *cli, int ready)
{
	char path[4200];
	int null = open("/dev/null", O_RDWR), log;

	snprintf(path, sizeof(path), "%s/log", cli->home.dir);
	dir_have(path, 0700);
	snprintf(path, sizeof(path), "%s/log/host.log", cli->home.dir);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	dup2(null, 0);
	dup2(log < 0 ? null : log, 1);
	dup2(log < 0 ? null : log, 2);
	if (ready == 3) /* dup3() refuses equal descriptors */
		fcntl(ready, F_SETFD, 0);
	else
		dup2(ready, 3);
	close_range(4, ~0U, 0);
	/* A command in a workspace may start this host. Without CADRE_WORKSPACE and
	 * CADRE_GUEST, the host is not ended together with the workspace's processes. */
	unsetenv("CADRE_WORKSPACE");
	unsetenv("CADRE_GUEST");
	/* The host looks for cadre.toml in its working directory and in the folders above, as
	 * clients do. So the state's folder becomes the working directory. */
	if (chdir(cli->home.dir))
		_exit(127);
	exec_serve(cli);
	_exit(127);
}

/* Starts the host through two forks, so that the host has no terminal and is no child of this
 * process. */
static int spawn_host(struct cli *cli, struct fault *f)
{
	int ends[2], status;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return fault_set(f, FAULT_IO, "", "pipe: %m");
	child = fork();
	if (!child) {
		setsid();
		if (!fork())
			become_host(cli, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return fault_set(f, FAULT_IO, "", "fork: %m");
	}
	waitpid(child, &status, 0);
	return ends[0];
}

/* Reads the fault from a line "code\ttext\thint". */
static int read_report(char *line, struct fault *f)
{
	char *rest = line, *code, *text, *hint;

	line[strcspn(line, "\n")] = '\0';
	code = strsep(&rest, "\t");
	text = strsep(&rest, "\t");
	hint = strsep(&rest, "\t");
	if (!text) {
		fault_set(f, FAULT_UNAVAILABLE, "", "the host ended before it was ready");
		return fault_hint(f, "see `cadre logs`");
	}
	fault_set(f, fault_named(code), "", "%s", text);
	if (hint && *hint)
		fault_hint(f, "%s", hint);
	return f->code;
}

static int up_await_ready(int fd, int seconds, struct fault *f)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char line[600] = "";
	size_t len = 0;
	ssize_t n = 1;
	int rc;

	while (n > 0 && len < sizeof(line) - 1 && !strchr(line, '\n')) {
		rc = poll(&wait, 1, seconds * 1000);
		if (rc < 0 && errno == EINTR)
			continue;
		if (rc == 0) {
			fault_set(f, FAULT_TIMEOUT, "",
				  "the host is not ready after %d s", seconds);
			return fault_hint(f, "the host is still starting: see `cadre "
					     "logs`");
		}
		n = read(fd, line + len, sizeof(line) - 1 - len);
		if (n > 0)
			len += (size_t)n;
	}
	return strcmp(line, "ready\n") ? read_report(line, f) : 0;
}

static int seconds_option(struct cli *cli, int argc, char **argv, int *seconds)
{
	for (int i = 1; i < argc; i++) {
		const char *value = cli_option(argc, argv, &i, "--timeout");
		char *end = NULL;
		long n = value ? strtol(value, &end, 10) : 0;

		if (!value || !*value || *end || n < 1 || n > 3600)
			return cli_usage(cli, "`%s` takes --timeout 1..3600", argv[0]);
		*seconds = (int)n;
	}
	return 0;
}

/* Warns if the versions of the running host and of this program differ, for example after an
 * upgrade. */
static void warn_version(struct cli *cli)
{
	struct fault f = { 0 };
	json_t *status = run_args(cli, op_state_status, json_object(), &f);
	const char *version = json_find_text(status, "version");

	if (version && strcmp(version, CADRE_VERSION) != 0)
		fprintf(stderr,
			"cadre: the host has version %s, this program has version %s: "
			"`cadre restart` starts a host of this version\n",
			version, CADRE_VERSION);
	json_decref(status);
}

static int say_host(struct cli *cli, pid_t pid, bool started)
{
	if (!started)
		warn_version(cli);
	if (cli->json)
		print_json_new(json_pack("{sb,si,ss,ss}", "started", started, "pid",
					 (int)pid, "socket", cli->home.socket, "home",
					 cli->home.dir));
	else
		cli_say("%s: process %d, %s", started ? "up" : "up already", (int)pid,
			cli->home.socket);
	return 0;
}

/* Whether a host answers at the socket. The lock does not show whether a host answers. A killed
 * host still holds its lock for a moment, and a new host has no socket yet. */
static bool host_answers(struct cli *cli)
{
	struct client_options o = { .home = &cli->home, .identity.level = WHO_OPERATOR };
	struct text answer = { 0 };
	struct client *client;
	struct fault f = { 0 };
	json_t *none = json_object();
	bool hosted = false;

	if (client_open(&client, &o, &f) == 0) {
		client_call(client, op_state_status, none, &answer, &f);
		hosted = client_hosted(client);
		client_close(client);
	}
	text_release(&answer);
	json_decref(none);
	return hosted;
}

/* Returns the process of the running host. Returns 0 without a fault if no host runs. If a
 * silent process holds the lock, waits until the process answers or ends. At the time `until`
 * the wait ends, and the function returns 0 with the fault filled. A host that was told to end
 * may still answer one call that it has already read. A process counts as a running host only
 * if the process answers two calls. */
static pid_t living_host(struct cli *cli, int64_t until, struct fault *f)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	bool deaf;
	pid_t pid;

	while ((pid = (pid_t)home_host_of(cli->home.dir, &deaf)) &&
	       !(host_answers(cli) && host_answers(cli))) {
		if (clock_steady_ms() > until) {
			fault_set(f, FAULT_TIMEOUT, "",
				  deaf ? "process %d runs, but its sockets are gone"
				       : "process %d holds the host's lock and does not "
					 "answer",
				  (int)pid);
			fault_hint(f, "end it with `kill -9 %d`: nothing is lost",
				   (int)pid);
			return 0;
		}
		nanosleep(&pause, NULL);
	}
	return pid;
}

static int start_host(struct cli *cli, int seconds, struct fault *f)
{
	int fd = spawn_host(cli, f);

	if (fd < 0)
		return f->code;
	up_await_ready(fd, seconds, f);
	close(fd);
	return f->code;
}

int up_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	int seconds = UP_SECONDS, status = seconds_option(cli, argc, argv, &seconds);
	int64_t until;
	pid_t pid;

	if (status)
		return status;
	if (cli_folder(cli, HOME_WRITE, &f) < 0)
		return cli_fault(cli, &f);
	until = clock_steady_ms() + seconds * 1000LL;
	do {
		f = (struct fault){ 0 };
		pid = living_host(cli, until, &f);
		if (pid)
			return say_host(cli, pid, false);
		if (!f.code && start_host(cli, seconds, &f) == 0)
			return say_host(cli, home_holder(&cli->home), true);
		/* If another `up` was faster, its host is used. */
	} while (f.code == FAULT_CONFLICT && clock_steady_ms() < until);
	return cli_fault(cli, &f);
}

/* --- down ------------------------------------------------------------------------------ */

/* Ends the process that holds the lock, and waits for the process's end. The signal is sent
 * through a pidfd, which can never refer to a later process with the same number. */
static int stop_host(const struct home *home, pid_t pid, int seconds, struct fault *f)
{
	int fd = pidfd_open(pid, 0);
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int rc = 0;

	if (fd < 0 && errno != ESRCH)
		return fault_set(f, FAULT_IO, "", "process %d: %m", (int)pid);
	if (fd < 0)
		return 0;
	/* If the process still holds the lock, the descriptor `fd` refers to the lock's holder. */
	if (home_holder(home) == pid && pidfd_send_signal(fd, SIGTERM, NULL, 0) &&
	    errno != ESRCH)
		rc = fault_set(f, FAULT_DENIED, "", "process %d: %m", (int)pid);
	else if (!poll(&wait, 1, seconds * 1000))
		rc = fault_set(f, FAULT_TIMEOUT, "", "process %d has not ended in %d s",
			       (int)pid, seconds);
	close(fd);
	return rc < 0 && f->code == FAULT_TIMEOUT
		       ? fault_hint(f, "end it with `kill -9 %d`: nothing is lost",
				    (int)pid)
		       : rc;
}

/* Reports that the host has ended or that no host runs. Also reports how many guests have
 * ended, and how many guests still run. */
static void say_down(const struct cli *cli, pid_t pid, size_t ended, size_t guests)
{
	if (cli->json) {
		print_json_new(json_pack("{sb,si,sI,sI}", "stopped", pid != 0, "pid",
					 (int)pid, "ended", (json_int_t)ended, "guests",
					 (json_int_t)guests));
		return;
	}
	if (pid)
		printf("down: process %d has ended\n", (int)pid);
	else
		printf("no host runs\n");
	if (ended)
		printf("%zu guest%s ended\n", ended, ended > 1 ? "s" : "");
	if (guests)
		printf("%zu guest%s on; `cadre down --all` ends %s\n", guests,
		       guests > 1 ? "s go" : " goes", guests > 1 ? "them" : "it");
}

/* Ends the host of the state. Returns the host's process, 0 if no host runs, or a negative
 * number with the fault filled. */
static pid_t end_host(struct cli *cli, int seconds, struct fault *f)
{
	pid_t pid;

	/* A host whose state.db is missing is ended too. */
	if (cli_folder(cli, HOME_LOOK, f) < 0 && !cli->home.gone)
		return -1;
	*f = (struct fault){ 0 };
	pid = home_holder(&cli->home);
	return pid && stop_host(&cli->home, pid, seconds, f) < 0 ? -1 : pid;
}

int down_main(struct cli *cli, int argc, char **argv)
{
	bool all = cli_take_word(&argc, argv, "--all");
	int seconds = DOWN_SECONDS, status = seconds_option(cli, argc, argv, &seconds);
	struct fault f = { 0 };
	size_t guests, ended = 0;
	pid_t pid;

	if (status)
		return status;
	if ((pid = end_host(cli, seconds, &f)) < 0)
		return cli_fault(cli, &f);
	guests = all ? guests_end(cli->home.dir, seconds, &ended)
		     : guests_running(cli->home.dir);
	if (all && !guests)
		home_clear_run(&cli->home);
	say_down(cli, pid, ended, guests);
	if (all && !guests && !home_holder(&cli->home) &&
	    guests_end_network(&cli->home, &f) < 0)
		return cli_fault(cli, &f);
	if (!all || !guests)
		return 0;
	fault_set(&f, FAULT_TIMEOUT, "", "%zu guests have not ended in %d s", guests,
		  seconds);
	return cli_fault(cli, &f);
}

int restart_main(struct cli *cli, int argc, char **argv)
{
	int seconds = DOWN_SECONDS, status = seconds_option(cli, argc, argv, &seconds);
	struct fault f = { 0 };
	size_t guests;

	if (status)
		return status;
	if (end_host(cli, seconds, &f) < 0)
		return cli_fault(cli, &f);
	guests = guests_running(cli->home.dir);
	status = up_main(cli, argc, argv);
	if (!status && guests && !cli->json)
		printf("%zu guest%s went on\n", guests, guests == 1 ? "" : "s");
	return status;
}
