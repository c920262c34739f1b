/* The cost of strangers at the HTTP door, beside a server that reads and drops as many bytes. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/load.h"

enum { BODY = 1 << 20, PIECE = 64 << 10 };

/* Sends a body as far as the server takes it; how many bytes went, or -1. */
static int64_t stranger_send(const char *path)
{
	static const char head[] = "POST /api/messages HTTP/1.1\r\nHost: localhost\r\n"
				   "Content-Type: application/json\r\n"
				   "Content-Length: 1048576\r\n\r\n";
	static char piece[PIECE];
	const struct timeval patience = { .tv_sec = 5 };
	int64_t sent = 0;
	int fd = load_connect(path);
	ssize_t n = fd < 0 ? -1 : 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	for (size_t i = 0; i < sizeof(piece); i++)
		piece[i] = "{},"[i % 3];
	if (n > 0)
		n = write(fd, head, sizeof(head) - 1);
	while (n > 0 && sent < BODY)
		if ((n = write(fd, piece,
			       BODY - sent < PIECE ? (size_t)(BODY - sent) : PIECE)) > 0)
			sent += n;
	shutdown(fd, SHUT_WR);
	while (fd >= 0 && read(fd, piece, sizeof(piece)) > 0)
		;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : sent;
}

/* Milliseconds of a core that a process needs for a MiB of a.batch bodies. */
static int stranger_cost(const struct act *a, const char *path, pid_t pid,
			 struct series *out)
{
	struct timespec before, behind;
	int64_t sent = 0, n = 0;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock))
		return bench_fail("no clock of %d", pid);
	clock_gettime(clock, &before);
	for (int i = 0; i < a->batch && n >= 0; i++)
		sent += n = stranger_send(path);
	clock_gettime(clock, &behind);
	if (n < 0 || sent <= 0)
		return bench_fail("a stranger cannot send");
	series_rate(out, ((double)(behind.tv_sec - before.tv_sec) * 1e3 +
			  (double)(behind.tv_nsec - before.tv_nsec) / 1e6) *
				 BODY / (double)sent);
	return 0;
}

int act_stranger(struct scene *s, const struct act *a, struct series *out)
{
	char path[120];

	stage_http(&s->stages[0], path);
	return stranger_cost(a, path, s->stages[0].host, out);
}

static _Noreturn void stranger_drop_all(int listener)
{
	static const char answer[] =
		"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
	static char piece[PIECE];
	int fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		while (read(fd, piece, sizeof(piece)) > 0)
			;
		load_write_all(fd, answer, sizeof(answer) - 1);
		close(fd);
	}
	_exit(1);
}

/* The same at a server that drops all. */
int act_dropped(struct scene *s, const struct act *a, struct series *out)
{
	char path[300];
	int listener, rc;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/drop.sock", s->ground->dir);
	listener = load_listen(path);
	pid = bench_fork();
	if (pid == 0)
		stranger_drop_all(listener);
	rc = stranger_cost(a, path, pid, out);
	bench_stop_program(pid, SIGKILL);
	close(listener);
	return unlink(path) || rc;
}
