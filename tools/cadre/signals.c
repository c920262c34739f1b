/*
 * signals - notes signals that would end the process, until the command is ready to end.
 *
 * A command that was given a message or a claim must not end before the output is written. A
 * command may show the output of a second command that runs elsewhere. Then the first command
 * must pass signals on to the second command. Commands of both kinds block signals. While
 * signals are blocked, a signal arrives only during a wait, and is then noted.
 */
#include <signal.h>

#include "tools/cadre/cli.h"

static const int known[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static volatile sig_atomic_t came[KNOWN]; /* signals that were caught and not taken yet */

static void signals_catch(int number)
{
	for (int i = 0; i < KNOWN; i++)
		if (known[i] == number)
			came[i]++;
}

void signals_block(const int *numbers, sigset_t *before)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	for (; *numbers; numbers++)
		sigaddset(&blocked, *numbers);
	sigprocmask(SIG_BLOCK, &blocked, before);
}

void signals_note(const int *numbers)
{
	const struct sigaction noted = { .sa_handler = signals_catch };
	struct sigaction was;

	for (; *numbers; numbers++)
		if (!sigaction(*numbers, NULL, &was) && was.sa_handler != SIG_IGN)
			sigaction(*numbers, &noted, NULL);
}

void signals_release(const int *numbers, const sigset_t *before)
{
	struct sigaction now;

	for (; *numbers; numbers++)
		if (!sigaction(*numbers, NULL, &now) && now.sa_handler == signals_catch)
			signal(*numbers, SIG_DFL);
	sigprocmask(SIG_SETMASK, before, NULL);
}

int signals_came(void)
{
	for (int i = 0; i < KNOWN; i++)
		if (came[i])
			return known[i];
	return 0;
}

int signals_next(void)
{
	int number = signals_came();

	for (int i = 0; i < KNOWN; i++)
		came[i] -= known[i] == number;
	return number;
}

void signals_die(struct cli *cli, int number)
{
	sigset_t all;

	client_close(cli->client);
	cli->client = NULL;
	signal(number, SIG_DFL);
	sigemptyset(&all);
	sigaddset(&all, number);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	raise(number);
}
