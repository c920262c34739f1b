/*
 * The delay until guests are told: of one message to one guest, and of one message to all guests.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/floor.h"
#include "tools/bench/bench_guests.h"

enum { ROUNDS = 5, PUSHES = 200, BROADCASTS = 5, GUESTS = 200, PATIENCE_S = 60 };

/* A child that answers each line of 64 bytes with the same. */
struct echo {
	pid_t pid;
	int fd;
};

static void echo_lines(int fd)
{
	char line[64];

	while (read(fd, line, sizeof(line)) == sizeof(line) &&
	       load_write_all(fd, line, sizeof(line)) == 0)
		;
	_exit(0);
}

static int echo_open(struct echo *e)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return bench_fail("no sockets");
	e->pid = fork();
	if (e->pid == 0) {
		close(ends[0]);
		echo_lines(ends[1]);
	}
	close(ends[1]);
	e->fd = ends[0];
	return e->pid < 0 ? -1 : 0;
}

static void echo_close(struct echo *e)
{
	if (e->pid <= 0)
		return;
	close(e->fd); /* the end of its input ends it */
	waitpid(e->pid, NULL, 0);
}

static int echo_ask(struct echo *e, int n)
{
	char line[64] = { 0 };

	for (int i = 0; i < n; i++)
		if (load_write_all(e->fd, line, sizeof(line)) ||
		    read(e->fd, line, sizeof(line)) != sizeof(line))
			return bench_fail("the echo is gone");
	return 0;
}

/* A host, and what its guests are behind. */
struct scene {
	struct stage stage;
	struct guests *guests;
	pid_t guest;
	char front[256], behind[256];
	int64_t told; /* pushes so far */
};

/* The time in ms from the sender's answer (the message is committed) to the last Ok of its
 * guests (the message is stored there).  This process reads a single clock for both ends;
 * the time includes the way of each answer through a socket. */
static double time_send(struct scene *s, const char *args, int guests)
{
	int64_t sent, at;

	if (stage_call(&s->stage, "message.send", args, NULL))
		return -1;
	sent = bench_now();
	s->told += guests;
	at = guests_await(s->guests, s->told, PATIENCE_S);
	if (at < 0)
		return bench_fail("a push does not come");
	return at > sent ? (double)(at - sent) / 1e6 : 0;
}

static int scene_open(struct scene *s, struct bench_ground *g, const char *name,
		      int agents)
{
	if (stage_open(&s->stage, g, name) || stage_team(&s->stage, agents, 0) ||
	    stage_serve(&s->stage))
		return -1;
	snprintf(s->front, sizeof(s->front), "%.200s/front", s->stage.dir);
	snprintf(s->behind, sizeof(s->behind), "%.200s/behind", s->stage.dir);
	mkdir(s->front, 0700);
	return 0;
}

static void scene_close(struct scene *s)
{
	stage_stop(&s->stage);
	bench_stop_program(s->guest, SIGTERM);
	guests_close(s->guests);
	stage_close(&s->stage);
	free(s);
}

static struct scene *scene_new(void)
{
	struct scene *s = xcalloc(1, sizeof(*s));

	return s;
}

/* --- one ----------------------------------------------------------------------------- */

/* The guest is a real one: a process with a folder and a spool on the disk. */
static int bench_push_start_guest(struct scene *s)
{
	char dir[300], state[300], listen[300];
	const char *const argv[] = { s->stage.ground->self,
				     "guest",
				     "--dir",
				     dir,
				     "--state",
				     state,
				     "--listen",
				     listen,
				     NULL };
	const struct start start = { .argv = argv, .in = -1, .out = -1, .extra = -1 };

	snprintf(dir, sizeof(dir), "%s/work", s->stage.dir);
	snprintf(state, sizeof(state), "%s/guest", s->stage.dir);
	snprintf(listen, sizeof(listen), "unix:%s", s->behind);
	mkdir(dir, 0700);
	mkdir(s->behind, 0700);
	s->guest = bench_start_program(&start);
	s->guests = guests_open(s->front, s->behind);
	return s->guest < 0 || guests_attach(&s->stage, 0, s->front) ? -1 : 0;
}

/* Times what no push can do without: the host's fsync and the guest's, the way of the call
 * and the way of the push. */
static double bench_push_time_floor(struct echo *e, struct floor_page *page)
{
	int64_t begun = bench_now();

	for (int i = 0; i < 2; i++)
		if (floor_page_sync(page) < 0 || echo_ask(e, 1))
			return -1;
	return (double)(bench_now() - begun) / 1e6;
}

/* The time of a push from the call on, since the base has the host's fsync in it, too;
 * in ms. */
static double time_push(struct scene *s, const char *args)
{
	int64_t begun = bench_now();

	if (time_send(s, args, 1) < 0)
		return -1;
	return (double)(bench_now() - begun) / 1e6;
}

static int push_round(struct scene *s, struct echo *e, struct floor_page *page,
		      struct judge *p50, struct judge *p99)
{
	static const char args[] = "{\"team\":\"t\",\"to\":[\"a0\"],\"content\":"
				   "\"is this there already?\"}";
	double took[PUSHES], base[PUSHES];
	int n = s->stage.ground->fast ? PUSHES / 4 : PUSHES;

	for (int i = 0; i < n; i++)
		if ((base[i] = bench_push_time_floor(e, page)) < 0 ||
		    (took[i] = time_push(s, args)) < 0)
			return -1;
	judge_round(p50, judge_median(took, (size_t)n), judge_median(base, (size_t)n));
	judge_round(p99, judge_share(took, (size_t)n, 0.99),
		    judge_share(base, (size_t)n, 0.99));
	return 0;
}

int bench_push(struct bench_ground *g)
{
	static const char first[] =
		"{\"team\":\"t\",\"to\":[\"a0\"],\"content\":\"hello\"}";
	struct scene *s = scene_new();
	struct judge p50 = { 0 }, p99 = { 0 };
	struct floor_page page = { 0 };
	struct echo e = { 0 };
	int rc = floor_page_open(&page, g, "sync") || echo_open(&e) ||
				 scene_open(s, g, "push", 1) ||
				 bench_push_start_guest(s) || time_send(s, first, 1) < 0
			 ? -1
			 : 0;

	for (int i = 0; i < ROUNDS && rc == 0; i++)
		rc = push_round(s, &e, &page, &p50, &p99);
	scene_close(s);
	echo_close(&e);
	floor_page_close(&page);
	if (rc == 0) {
		score_rounds(g, "push-p50", &p50);
		score_rounds(g, "push-p99", &p99);
	}
	return rc;
}

/* --- all ----------------------------------------------------------------------------- */

static void bench_push_let_many(bool many)
{
	static const char *const names[] = { "CADRE_LIMITS_MAX_VMS_PER_TEAM",
					     "CADRE_LIMITS_MAX_TOTAL_VMS",
					     "CADRE_TEAM_MAX_VMS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (many)
			setenv(names[i], "400", 1);
		else
			unsetenv(names[i]);
}

/* The guests are light guests, which keep nothing: two hundred guests that each write to
 * the one disk of this machine would measure that disk. */
static int open_many(struct scene *s, struct bench_ground *g)
{
	if (scene_open(s, g, "fanout", GUESTS))
		return -1;
	s->guests = guests_open(s->front, NULL);
	for (int i = 0; i < GUESTS; i++)
		if (guests_attach(&s->stage, i, s->front))
			return -1;
	return 0;
}

static int fanout_round(struct scene *s, struct echo *e, struct judge *j)
{
	static const char args[] =
		"{\"team\":\"t\",\"to\":[\"*\"],\"content\":\"all of you\"}";
	double took[BROADCASTS], base[BROADCASTS];

	for (int i = 0; i < BROADCASTS; i++) {
		int64_t begun = bench_now();

		if (echo_ask(e, GUESTS))
			return -1;
		base[i] = (double)(bench_now() - begun) / 1e6;
		if ((took[i] = time_send(s, args, GUESTS)) < 0)
			return -1;
	}
	judge_round(j, judge_median(took, BROADCASTS), judge_median(base, BROADCASTS));
	return 0;
}

/* Compares a message to all guests with as many round trips, one behind the other. */
int bench_fanout(struct bench_ground *g)
{
	struct scene *s = scene_new();
	struct judge j = { 0 };
	struct echo e = { 0 };
	int rc;

	bench_push_let_many(true);
	rc = echo_open(&e) || open_many(s, g) ? -1 : 0;
	for (int i = 0; i <= ROUNDS && rc == 0; i++) {
		rc = fanout_round(s, &e, &j);
		j.n -= i == 0 && rc == 0; /* the first waits for the lines */
	}
	scene_close(s);
	echo_close(&e);
	bench_push_let_many(false);
	if (rc == 0)
		score_rounds(g, "fanout", &j);
	return rc;
}
