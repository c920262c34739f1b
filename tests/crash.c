/*
 * crash - proves that kill -9 is a normal way to stop.
 *
 *	crash [N [SEED]] [--direct-only] [--keep]
 *
 * Of eight clients, four call through the host and four call without the host. With
 * --direct-only there is no host. The clients send and receive messages, claim and finish
 * tasks, and assign commands. The clients also make teams, spend the teams' budgets and end the
 * teams. The test kills the host, guests and clients with SIGKILL, N times in all. The test
 * also stops the whole team and thaws the team. Each client keeps a journal of the answers that
 * arrived. At the end no acknowledged call may be missing, and no call may have been done
 * twice.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/crash/crash.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"

struct toll {
	int host, guests, clients;
	int64_t host_at; /* time to kill the host; 0: a random time */
};

static void kill_somebody(struct scene *s, struct toll *t)
{
	int luck = s->direct_only ? 99 : dice_below(&s->dice, 100);
	pid_t guest;

	if (dice_percent(&s->dice, 4))
		scene_stop(s);
	if (t->host_at || luck < 20) {
		t->host_at = 0;
		t->host += scene_kill(&s->host);
	} else if (luck < 50) {
		guest = scene_guest(s);
		t->guests += guest && kill(guest, SIGKILL) == 0;
		/* Often the host is killed soon after the guest, while the host is about to
		 * start another guest. */
		if (guest && dice_percent(&s->dice, 40))
			t->host_at = clock_steady_ms() + dice_below(&s->dice, 700);
	} else {
		t->clients += scene_kill(&s->clients[dice_below(&s->dice, CLIENTS)]);
	}
}

static int killed(const struct toll *t)
{
	return t->host + t->guests + t->clients;
}

/* Kills processes in bursts with pauses between the bursts, so that kills also hit processes
 * that have just started. */
static void rage(struct scene *s, int n, struct toll *t)
{
	int64_t until = clock_steady_ms() + patience_ms(5000 + n * 1000);

	scene_stop(s);
	while (killed(t) < n && clock_steady_ms() < until) {
		int64_t next =
			clock_steady_ms() + 1 +
			dice_below(&s->dice, dice_percent(&s->dice, 30) ? 30 : 350);

		if (t->host_at)
			next = t->host_at;
		while (clock_steady_ms() < next) {
			scene_tend(s, true);
			pause_for(3);
		}
		kill_somebody(s, t);
	}
	if (killed(t) < n) {
		printf("only %d of %d kills in time\n", killed(t), n);
		s->faults++;
	}
}

/* --- the result -------------------------------------------------------------------- */

static int report(struct scene *s, const struct toll *t, int findings)
{
	int bad = findings + s->faults;

	printf("crash: seed %llu, %d kills (%d host, %d guests, %d clients) and %d of commands, %s\n",
	       (unsigned long long)s->seed, killed(t), t->host, t->guests, t->clients,
	       s->stops_killed, bad ? "FAILED" : "nothing lost, nothing twice");
	return bad;
}

static int prove(struct scene *s, int n, bool keep)
{
	struct toll toll = { 0 };
	int bad = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("crash: seed %llu\n", (unsigned long long)s->seed);
	if (scene_open(s) == 0) {
		rage(s, n, &toll);
		scene_work_on(s);
		scene_settle(s);
		if (s->host.pid > 0)
			s->faults += child_end(s->host.pid, 10000) != 0;
		s->host.pid = 0;
		bad = report(s, &toll, judge(s));
	}
	scene_close(s, !bad && !keep);
	return bad != 0;
}

int main(int argc, char **argv)
{
	struct scene s = { 0 };
	bool keep = false;
	long n = 20;

	if (argc > 1 && !strcmp(argv[1], "--worker"))
		return worker_main(argc, argv);
	s.seed = (uint64_t)clock_wall_ms() % 1000000;
	for (int i = 1, words = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--direct-only"))
			s.direct_only = true;
		else if (!strcmp(argv[i], "--keep"))
			keep = true;
		else if (words++ == 0)
			n = strtol(argv[i], NULL, 10);
		else
			s.seed = strtoull(argv[i], NULL, 10);
	}
	if (n < 1 || n > 1000000) {
		fprintf(stderr, "usage: crash [N [SEED]] [--direct-only] [--keep], "
				"N kills, 1 or more\n");
		return 2;
	}
	return prove(&s, (int)n, keep);
}
