/*
 * crash - kill -9 is a normal way to stop, proved.
 *
 *	crash [N [SEED]] [--direct-only] [--keep]
 *
 * Eight clients, half through the host and half beside it, send, receive, claim,
 * finish and assign, while host, guests and clients are killed with SIGKILL, N
 * times in all.  Each keeps a journal of what it was told.  In the end nothing that
 * was acknowledged may be missing, and nothing may have been done twice.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/crash/crash.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"

struct toll {
	int host, guests, clients;
	int64_t host_at; /* it is next, at this tick; 0: chance decides */
};

static bool kill_part(struct part *p)
{
	if (p->pid <= 0 || p->killed)
		return false;
	p->killed = true;
	return kill(p->pid, SIGKILL) == 0;
}

static void kill_somebody(struct scene *s, struct toll *t)
{
	int luck = s->direct_only ? 99 : dice_below(&s->dice, 100);
	pid_t guest;

	if (t->host_at || luck < 20) {
		t->host_at = 0;
		t->host += kill_part(&s->host);
	} else if (luck < 50) {
		guest = scene_guest(s);
		t->guests += guest && kill(guest, SIGKILL) == 0;
		/* Often the host too, while it is about to start another. */
		if (guest && dice_percent(&s->dice, 40))
			t->host_at = tick_ms() + dice_below(&s->dice, 700);
	} else {
		t->clients += kill_part(&s->clients[dice_below(&s->dice, CLIENTS)]);
	}
}

static int killed(const struct toll *t)
{
	return t->host + t->guests + t->clients;
}

/* Kills come in bursts and pauses: in the middle of work, and of coming back. */
static void rage(struct scene *s, int n, struct toll *t)
{
	int64_t until = tick_ms() + patience_ms(5000 + n * 1000);

	while (killed(t) < n && tick_ms() < until) {
		int64_t next =
			tick_ms() + 1 +
			dice_below(&s->dice, dice_percent(&s->dice, 30) ? 30 : 350);

		if (t->host_at)
			next = t->host_at;
		while (tick_ms() < next) {
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

/* However few kills there are, the others work until there is something to judge:
 * mail that was acknowledged, commands that ran. */
static void work_on(struct scene *s)
{
	int64_t until = tick_ms() + patience_ms(30000);
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT max(0, 20 - (SELECT count(*) FROM delivery WHERE state = 3))"
		 " + max(0, %d - (SELECT count(*) FROM result))",
		 s->direct_only ? 0 : 5);
	while (scene_number(s, sql) != 0 && tick_ms() < until) {
		scene_tend(s, true);
		pause_for(20);
	}
}

/* --- the end ----------------------------------------------------------------------- */

static bool all_gone(const struct scene *s)
{
	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i].pid > 0)
			return false;
	return true;
}

static void let_clients_end(struct scene *s, int ms)
{
	int64_t until = tick_ms() + patience_ms(ms);

	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i].in > 0) {
			close(s->clients[i].in);
			s->clients[i].in = 0;
		}
	while (!all_gone(s) && tick_ms() < until) {
		scene_tend(s, false);
		pause_for(3);
	}
	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i].pid > 0) {
			printf("%s does not end\n", client_names[i]);
			s->faults++;
			kill_part(&s->clients[i]);
		}
}

static void run_to_end(struct scene *s, const char *how)
{
	char all[4];

	for (int i = 0; i < CLIENTS; i++) {
		snprintf(all, sizeof(all), "%s%s", how,
			 s->direct_only || i % 2 ? "d" : "");
		scene_start_client(s, i, all);
	}
	let_clients_end(s, 60000);
}

static void expect(struct scene *s, const char *what, const char *sql, int ms)
{
	if (scene_await(s, sql, ms))
		return;
	printf("%s: %lld left\n", what, (long long)scene_number(s, sql));
	s->faults++;
}

/* The host once more; what was left open is asked again; what was assigned runs
 * to its end, and its results are fetched. */
static void settle_all(struct scene *s)
{
	let_clients_end(s, 30000);
	if (!s->direct_only) {
		kill_part(&s->host);
		while (s->host.pid) {
			scene_tend(s, false);
			pause_for(3);
		}
		scene_start_host(s);
	}
	run_to_end(s, "s");
	if (s->direct_only)
		return;
	scene_revive(s);
	expect(s, "guests that are not up",
	       "SELECT count(*) FROM workspace WHERE state <> 1", 30000);
	expect(s, "assignments without a result",
	       "SELECT count(*) FROM assignment WHERE state < 2", 60000);
	run_to_end(s, "s");
	if (scene_mirror_lag(s, 15000) != 0) {
		printf("the host does not bring the mirror up to date\n");
		s->faults++;
	}
}

static int report(struct scene *s, const struct toll *t, int findings)
{
	int bad = findings + s->faults;

	printf("crash: seed %llu, %d kills (%d host, %d guests, %d clients), %s\n",
	       (unsigned long long)s->seed, killed(t), t->host, t->guests, t->clients,
	       bad ? "FAILED" : "nothing lost, nothing twice");
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
		work_on(s);
		settle_all(s);
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
	s.seed = (uint64_t)now_ms() % 1000000;
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
