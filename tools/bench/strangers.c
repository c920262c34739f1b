/*
 * The cost of strangers at the HTTP door, beside a server that reads and drops as many bytes.  They
 * come to the door's port: its Unix socket is open to the user.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/load.h"

enum { BODY = 1 << 20, PIECE = 64 << 10 };

static struct sockaddr_in stranger_at(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* Sends a body as far as the server takes it; how many bytes went, or -1. */
static int64_t stranger_send(int port)
{
	static const char head[] = "POST /api/messages HTTP/1.1\r\nHost: localhost\r\n"
				   "Content-Type: application/json\r\n"
				   "Content-Length: 1048576\r\n\r\n";
	static char piece[PIECE];
	const struct timeval patience = { .tv_sec = 5 };
	int64_t sent;
	const struct sockaddr_in at = stranger_at(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	for (size_t i = 0; i < sizeof(piece); i++)
		piece[i] = "{},"[i % 3];
	n = connect(fd, (const struct sockaddr *)&at, sizeof(at));
	sent = n < 0 ? -1 : 0;
	if (n == 0)
		n = write(fd, head, sizeof(head) - 1);
	while (n > 0 && sent < BODY)
		if ((n = write(fd, piece,
			       BODY - sent < PIECE ? (size_t)(BODY - sent) : PIECE)) > 0)
			sent += n;
	shutdown(fd, SHUT_WR);
	while (read(fd, piece, sizeof(piece)) > 0)
		;
	close(fd);
	return sent;
}

/* Milliseconds of a core that a process needs for a MiB of a.batch bodies. */
static int stranger_cost(const struct act *a, int port, pid_t pid, struct series *out)
{
	struct timespec before, behind;
	int64_t sent = 0, n = 0;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock))
		return bench_fail("no clock of %d", pid);
	clock_gettime(clock, &before);
	for (int i = 0; i < a->batch && n >= 0; i++)
		sent += n = stranger_send(port);
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
	char path[300], url[100] = "";
	const char *colon;
	FILE *f;

	snprintf(path, sizeof(path), "%s/endpoint", s->stages[0].dir);
	f = fopen(path, "re");
	colon = f && fgets(url, sizeof(url), f) ? strrchr(url, ':') : NULL;
	if (f)
		fclose(f);
	return colon ? stranger_cost(a, (int)strtol(colon + 1, NULL, 10),
				     s->stages[0].host, out)
		     : bench_fail("%s names no port", path);
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
	struct sockaddr_in at = stranger_at(0);
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;
	pid_t pid;

	(void)s;
	if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 64) ||
	    getsockname(listener, (struct sockaddr *)&at, &size)) {
		close(listener);
		return bench_fail("no port: %m");
	}
	pid = bench_fork();
	if (pid == 0)
		stranger_drop_all(listener);
	rc = stranger_cost(a, ntohs(at.sin_port), pid, out);
	bench_stop_program(pid, SIGKILL);
	close(listener);
	return rc;
}
