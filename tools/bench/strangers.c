/*
 * The cost of strangers at the HTTP door: bytes of a body without a token beside a server that reads
 * and drops as many, and a sender beside 64 strangers with 1 MiB each a second.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/floor.h"
#include "tools/bench/stage.h"

enum { STRANGERS = 64, ROUNDS = 5, BODY = 1 << 20, PIECE = 64 << 10 };

static const struct timespec second = { .tv_sec = 1 };

/* --- a stranger ------------------------------------------------------------------------- */

static int stranger_join(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval patience = { .tv_sec = 5 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Sends a body as far as the server takes it; how many bytes went, or -1. */
static int64_t stranger_send(int port)
{
	static const char head[] = "POST /api/messages HTTP/1.1\r\nHost: localhost\r\n"
				   "Content-Type: application/json\r\n"
				   "Content-Length: 1048576\r\n\r\n";
	char piece[PIECE];
	int64_t sent = 0;
	int fd = stranger_join(port);
	ssize_t n;

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < sizeof(piece); i++)
		piece[i] = "{},"[i % 3];
	n = send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL);
	while (n > 0 && sent < BODY)
		if ((n = send(fd, piece,
			      BODY - sent < PIECE ? (size_t)(BODY - sent) : PIECE,
			      MSG_NOSIGNAL)) > 0)
			sent += n;
	shutdown(fd, SHUT_WR);
	while ((n = recv(fd, piece, sizeof(piece), 0)) > 0)
		;
	close(fd);
	return sent;
}

/* --- a server that drops all ---------------------------------------------------------------- */

static void drop_serve(int listener)
{
	static const char answer[] =
		"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
	char piece[PIECE];
	int fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		while (recv(fd, piece, sizeof(piece), 0) > 0)
			;
		send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
		close(fd);
	}
}

/* Starts it: its id, or -1. */
static pid_t drop_start(int *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid = -1;

	if (bind(listener, (struct sockaddr *)&at, size) == 0 &&
	    listen(listener, 64) == 0 &&
	    getsockname(listener, (struct sockaddr *)&at, &size) == 0)
		pid = fork();
	if (pid == 0) {
		drop_serve(listener);
		_exit(0);
	}
	close(listener);
	*port = ntohs(at.sin_port);
	return pid;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Seconds of a core that a process has had. */
static double stranger_cpu(pid_t pid)
{
	char path[300];
	struct dirent *e;
	double all = 0;
	long long ns;
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat", (int)pid,
			 e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (f && fscanf(f, "%lld", &ns) == 1)
			all += (double)ns / 1e9;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return all;
}

/* Milliseconds of a core that a process needs for a MiB, or -1. */
static double stranger_cost(pid_t pid, int port, int bodies)
{
	double before = stranger_cpu(pid);
	int64_t sent = 0, n = 0;

	for (int i = 0; i < bodies && n >= 0; i++)
		sent += n = stranger_send(port);
	return n < 0 || sent <= 0
		       ? bench_fail("a stranger cannot send")
		       : 1e3 * (stranger_cpu(pid) - before) * (double)BODY / (double)sent;
}

static int compare_bytes(const struct bench_ground *g, pid_t host, int port,
			 struct judge *j)
{
	const int bodies = g->fast ? 20 : 100;
	int base_port = 0;
	pid_t base = drop_start(&base_port);
	int rc = base > 0 ? 0 : bench_fail("the server that drops all does not start");

	for (int i = 0; i < ROUNDS && rc == 0; i++) {
		double floor = stranger_cost(base, base_port, bodies);
		double ours = stranger_cost(host, port, bodies);

		if (floor <= 0 || ours < 0)
			rc = -1;
		else
			judge_round(j, ours, floor);
	}
	if (base > 0)
		bench_stop_program(base, SIGKILL);
	return rc;
}

/* --- a sender beside them --------------------------------------------------------------------- */

struct crowd {
	pthread_t threads[STRANGERS];
	int port;
	atomic_bool comes, ends;
};

static void *stranger_live(void *arg)
{
	struct crowd *c = arg;

	while (!atomic_load(&c->ends)) {
		if (atomic_load(&c->comes))
			stranger_send(c->port);
		nanosleep(&second, NULL);
	}
	return NULL;
}

static double stranger_p99(const struct stage *s, const struct bench_ground *g)
{
	static const struct talk plain = { .body = FLOOR_BODY };
	const struct load load = { .script = &script_send,
				   .socket = s->home.socket,
				   .arg = &plain,
				   .clients = 1,
				   .window = 1,
				   .warm = 0.3,
				   .seconds = g->fast ? 1 : 3 };
	struct outcome o = { 0 };

	return load_run(&load, &o) || o.failed
		       ? bench_fail("a sender beside strangers failed")
		       : o.p99_ms;
}

static int compare_senders(const struct bench_ground *g, const struct stage *s, int port,
			   struct judge *j)
{
	struct crowd *c = calloc(1, sizeof(*c));
	int rc = 0;

	if (!c)
		abort();
	c->port = port;
	for (int i = 0; i < STRANGERS; i++)
		if (pthread_create(&c->threads[i], NULL, stranger_live, c))
			abort();
	for (int i = 0; i < ROUNDS && rc == 0; i++) {
		double alone = stranger_p99(s, g), beside;

		atomic_store(&c->comes, true);
		nanosleep(&second, NULL);
		beside = stranger_p99(s, g);
		atomic_store(&c->comes, false);
		nanosleep(&second, NULL);
		if (alone <= 0 || beside < 0)
			rc = -1;
		else
			judge_round(j, beside, alone);
	}
	atomic_store(&c->ends, true);
	for (int i = 0; i < STRANGERS; i++)
		pthread_join(c->threads[i], NULL);
	free(c);
	return rc;
}

/* --- both ----------------------------------------------------------------------------------- */

static int stranger_port(const struct stage *s)
{
	char path[4200], url[100] = "";
	const char *colon;
	FILE *f;

	snprintf(path, sizeof(path), "%s/endpoint", s->home.dir);
	f = fopen(path, "r");
	if (f && !fgets(url, sizeof(url), f))
		url[0] = '\0';
	if (f)
		fclose(f);
	colon = strrchr(url, ':');
	return colon ? (int)strtol(colon + 1, NULL, 10) : 0;
}

int bench_strangers(struct bench_ground *g)
{
	struct stage *s = stage_new(g, "strangers", 1, 0, true);
	struct judge bytes = { 0 }, senders = { 0 };
	int port = s ? stranger_port(s) : 0, rc = port ? 0 : -1;

	if (rc == 0 && score_due(g, "stranger-mib"))
		rc = compare_bytes(g, s->host, port, &bytes);
	if (rc == 0 && score_due(g, "stranger-p99"))
		rc = compare_senders(g, s, port, &senders);
	stage_free(s);
	if (rc)
		return -1;
	score_rounds(g, "stranger-mib", &bytes);
	score_rounds(g, "stranger-p99", &senders);
	return 0;
}
