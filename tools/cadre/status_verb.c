/*
 * status_verb - prints the status, and with --watch prints the status anew after each event.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "ops.gen.h"
#include "tools/cadre/cli.h"

/* The status is printed anew after REFRESH_MS at the latest, because it shows how long ago
 * things happened. GATHER_MS: events that come together cause one new print. */
enum { REFRESH_MS = 10000, GATHER_MS = 200 };

/* Starts a process that follows the events, as `cadre events -f` does, and writes each event to
 * a pipe. The process ends with this process. Returns the pipe's end to read, or -1. */
static int status_follow(const struct cli *cli)
{
	char events[] = "events", follow[] = "-f", *words[] = { events, follow, NULL };
	struct cli own = *cli;
	int ends[2], null;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	switch (fork()) {
	case -1:
		close(ends[0]);
		ends[0] = -1;
		break;
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, STDIN_FILENO);
		dup2(null, STDERR_FILENO);
		dup2(ends[1], STDOUT_FILENO);
		own.json = true;
		own.terminal = false;
		_exit(events_main(&own, 2, words));
	default:
		break;
	}
	close(ends[1]);
	return ends[0];
}

/* Prints one frame. If the call fails, the frame has the fault, and the next frame uses a new
 * connection. */
static void status_draw(struct cli *cli, const struct op *op, json_t *args)
{
	struct fault f = { 0 };
	json_t *answer = run_op(cli, op, args, &f);

	frame_begin(cli);
	if (answer) {
		print_answer(cli, op, answer);
	} else {
		cli_say("cadre: %s", f.text);
		client_close(cli->client);
		cli->client = NULL;
	}
	frame_end(cli, "q ends");
	json_decref(answer);
}

/* Waits until an event comes, a key is typed or REFRESH_MS have passed. Returns false if the
 * person ends the watch. */
static bool status_wait(int *events)
{
	struct pollfd on[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = *events, .events = POLLIN } };
	char text[4096];
	ssize_t n;

	poll(on, 2, REFRESH_MS);
	if (signals_came())
		return false;
	if (on[0].revents)
		return read(STDIN_FILENO, text, 1) == 1 && *text != 'q' && *text != 'Q';
	if (!on[1].revents)
		return true;
	poll(on, 1, GATHER_MS);
	n = read(*events, text, sizeof(text));
	if (n <= 0) {
		close(*events);
		*events = -1; /* the events cannot be followed; the time remains */
	}
	return true;
}

/* The terminal shows the frames on its second screen, so the first one stays as it was. */
static int status_watch(struct cli *cli, const struct op *op, json_t *args)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0 };
	int events = status_follow(cli);
	struct termios before, now;

	tcgetattr(STDIN_FILENO, &before);
	now = before;
	now.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &now);
	signals_note(ends);
	printf("\033[?1049h\033[?25l");
	do
		status_draw(cli, op, args);
	while (status_wait(&events));
	printf("\033[?25h\033[?1049l");
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	if (events >= 0)
		close(events);
	return 0;
}

int status_main(struct cli *cli, int argc, char **argv)
{
	const bool watches = cli_take_word(&argc, argv, "--watch");
	int taken, status;
	const struct op *op = op_command(argc, argv, &taken);
	struct fault f = { 0 };
	json_t *args;

	if (!watches)
		return run_words(cli, op, argc - taken, argv + taken);
	if (!cli->terminal || !isatty(STDIN_FILENO) || cli->json)
		return cli_usage(cli, "--watch needs a terminal");
	args = op_args(op, argc - taken, argv + taken, &f);
	if (!args)
		return cli_fault(cli, &f);
	if (cli->team)
		json_object_set_new(args, "team", json_string(cli->team));
	status = status_watch(cli, op, args);
	json_decref(args);
	return status;
}
