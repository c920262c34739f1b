/*
 * How soon guests are told: of one message, and of one to all of them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/bench/guests.h"
#include "tools/bench/rows.h"

enum { PUSHES = 1000, BROADCASTS = 20, GUESTS = 200, PATIENCE_S = 60 };

/* A host, and what its guests are behind. */
struct scene {
	struct stage stage;
	struct guests *guests;
	pid_t guest;
	char front[256], behind[256];
	int64_t told; /* pushes so far */
};

/* From the sender's answer, which tells it that the message is committed, to the
 * last Ok of the guests that it is for, which tells that they have stored it; in
 * ms.  Both are taken in this process, so that one clock is read; the way of each
 * through a socket is in it. */
static double time_send(struct scene *s, const char *args, int guests)
{
	int64_t sent, at;

	if (stage_call(&s->stage, "message.send", args, NULL))
		return -1;
	sent = bench_now();
	s->told += guests;
	at = guests_await(s->guests, s->told, PATIENCE_S);
	if (at < 0)
		return fail("a push does not come");
	return at > sent ? (double)(at - sent) / 1e6 : 0;
}

static int time_sends(struct scene *s, const char *args, int guests, double *took, int n)
{
	for (int i = 0; i < n; i++)
		if ((took[i] = time_send(s, args, guests)) < 0)
			return -1;
	return 0;
}

static void print_ms(const char *name, double value, double base, const char *target,
		     double most)
{
	score_print(&(struct score){ .name = name,
				     .unit = "ms",
				     .value = value,
				     .base = base,
				     .target = target,
				     .ok = value <= most });
}

static int scene_open(struct scene *s, struct ground *g, const char *name, int agents)
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
	stop_program(s->guest, SIGTERM);
	guests_close(s->guests);
	stage_close(&s->stage);
	free(s);
}

static struct scene *scene_new(void)
{
	struct scene *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	return s;
}

/* --- one ----------------------------------------------------------------------------- */

/* The guest is a real one: a process with a folder and a spool on the disk. */
static int start_guest(struct scene *s)
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
	s->guest = start_program(&start);
	s->guests = guests_open(s->front, s->behind);
	return s->guest < 0 || guests_attach(&s->stage, 0, s->front) ? -1 : 0;
}

/* Beside one write and its fdatasync, which the guest cannot do without. */
int bench_push(struct ground *g)
{
	static const char args[] = "{\"team\":\"t\",\"to\":[\"a0\"],\"content\":"
				   "\"is this there already?\"}";
	struct scene *s = scene_new();
	double *took = calloc(PUSHES, sizeof(*took)), p50, p99, sync = floor_sync(g);
	int n = g->fast ? PUSHES / 5 : PUSHES, rc;

	rc = !took || sync < 0 || scene_open(s, g, "push", 1) || start_guest(s) ||
			     time_send(s, args, 1) < 0 || time_sends(s, args, 1, took, n)
		     ? -1
		     : 0;
	scene_close(s);
	if (rc == 0) {
		p50 = share_of(took, (size_t)n, 0.5);
		p99 = share_of(took, (size_t)n, 0.99);
		print_ms("push-p50", p50, sync, "<=0.6", 0.6);
		print_ms("push-p99", p99, 0, "<=5", 5);
	}
	free(took);
	return rc;
}

/* --- all ----------------------------------------------------------------------------- */

/* The guests are light ones, which keep nothing: two hundred that each write to the
 * one disk of this machine would be a measure of that disk. */
int bench_fanout(struct ground *g)
{
	static const char args[] =
		"{\"team\":\"t\",\"to\":[\"*\"],\"content\":\"all of you\"}";
	struct scene *s = scene_new();
	double took[BROADCASTS];
	int n = g->fast ? BROADCASTS / 4 : BROADCASTS, rc;

	setenv("CADRE_LIMITS_MAX_VMS_PER_TEAM", "400", 1);
	setenv("CADRE_LIMITS_MAX_TOTAL_VMS", "400", 1);
	setenv("CADRE_TEAM_MAX_VMS", "400", 1);
	rc = scene_open(s, g, "fanout", GUESTS);
	if (rc == 0)
		s->guests = guests_open(s->front, NULL);
	for (int i = 0; i < GUESTS && rc == 0; i++)
		rc = guests_attach(&s->stage, i, s->front);
	rc = rc || time_send(s, args, GUESTS) < 0 || time_sends(s, args, GUESTS, took, n)
		     ? -1
		     : 0;
	scene_close(s);
	if (rc == 0)
		print_ms("fanout", median(took, (size_t)n), 0, "<=50", 50);
	return rc;
}
