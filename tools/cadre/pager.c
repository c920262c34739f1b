/*
 * pager - an answer that is longer than the terminal goes through a pager, as git's does.
 *
 * The answer is written to a file in memory first.  So nobody pages what fits, a pager that
 * is left early breaks no pipe, and one that cannot be started costs nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cadre/cli.h"

enum { ROWS_USUAL = 24, NOT_STARTED = 127 };

static const char *pager_command(void)
{
	const char *own = getenv("CADRE_PAGER"), *any = getenv("PAGER");

	return own ? own : any ? any : "less";
}

void pager_begin(struct cli *cli)
{
	const char *command = pager_command();
	int file;

	if (!cli->terminal || cli->json || cli->unpaged || cli->screen || !*command ||
	    !strcmp(command, "cat"))
		return;
	fflush(stdout);
	file = memfd_create("answer", MFD_CLOEXEC);
	cli->screen = file < 0 ? 0 : fcntl(1, F_DUPFD_CLOEXEC, 3);
	if (cli->screen > 0)
		dup2(file, 1);
	else
		cli->screen = 0;
	if (file >= 0)
		close(file);
}

/* Rows that a text takes; the command has wrapped its lines. */
static size_t pager_count_rows(const char *text, size_t len)
{
	size_t rows = 0;

	for (size_t i = 0; i < len; i++)
		rows += text[i] == '\n';
	return rows;
}

static size_t window_rows(int screen)
{
	struct winsize size;

	return ioctl(screen, TIOCGWINSZ, &size) || !size.ws_row ? ROWS_USUAL
								: size.ws_row;
}

/* Runs the pager with the answer on its standard input: false where there is none. */
static bool run_pager(int file)
{
	pid_t pid;
	int status;

	signal(SIGINT, SIG_IGN); /* Ctrl-C is the pager's */
	signal(SIGQUIT, SIG_IGN);
	lseek(file, 0, SEEK_SET);
	pid = fork();
	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		setenv("LESS", "FRX", 0);
		dup2(file, 0);
		execl("/bin/sh", "sh", "-c", pager_command(), (char *)NULL);
		_exit(NOT_STARTED);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return true; /* nobody may wait for it: it has shown the text */
	return pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED);
}

void pager_end(struct cli *cli)
{
	int file;
	off_t len;
	char *text;

	if (!cli->screen)
		return;
	fflush(stdout);
	file = fcntl(1, F_DUPFD_CLOEXEC, 3);
	dup2(cli->screen, 1);
	len = lseek(file, 0, SEEK_END);
	text = len > 0 ? mmap(NULL, (size_t)len, PROT_READ, MAP_SHARED, file, 0)
		       : MAP_FAILED;
	if (text != MAP_FAILED &&
	    (pager_count_rows(text, (size_t)len) < window_rows(cli->screen) ||
	     !run_pager(file)))
		fwrite(text, 1, (size_t)len, stdout);
	if (text != MAP_FAILED)
		munmap(text, (size_t)len);
	close(cli->screen);
	close(file);
	cli->screen = 0;
}
