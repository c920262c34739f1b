/* At the end of a proof, all processes finish their work, and open calls are settled. */
#include "tests/crash/crash.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/lib/place.h"

/* Even after only a few kills, the processes work on until enough messages are acknowledged and
 * enough commands have run. */
void scene_work_on(struct scene *s)
{
	int64_t until = clock_steady_ms() + patience_ms(30000);
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT max(0, 20 - (SELECT count(*) FROM delivery WHERE state = 3))"
		 " + max(0, %d - (SELECT count(*) FROM result))",
		 s->direct_only ? 0 : 5);
	while ((scene_number(s, sql) != 0 || s->stop.thaw_at) &&
	       clock_steady_ms() < until) {
		scene_tend(s, true);
		pause_for(20);
	}
}

static bool all_gone(const struct scene *s)
{
	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i].pid > 0)
			return false;
	return true;
}

static void let_clients_end(struct scene *s, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms);

	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i].in > 0) {
			close(s->clients[i].in);
			s->clients[i].in = 0;
		}
	while (!all_gone(s) && clock_steady_ms() < until) {
		scene_tend(s, false);
		pause_for(3);
	}
	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i].pid > 0) {
			printf("%s does not end\n", client_names[i]);
			s->faults++;
			scene_kill(&s->clients[i]);
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

/* Starts the host once more. Then clients repeat their open calls, assigned commands run to
 * their end, and clients fetch the results. */
void scene_settle(struct scene *s)
{
	let_clients_end(s, 30000);
	if (!s->direct_only) {
		scene_kill(&s->host);
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
	       "SELECT count(*) FROM workspace WHERE state NOT IN (1, 4)", 30000);
	expect(s, "assignments without a result",
	       "SELECT count(*) FROM assignment WHERE state < 2", 60000);
	run_to_end(s, "s");
	if (scene_mirror_lag(s, 15000) != 0) {
		printf("the host does not bring the mirror up to date\n");
		s->faults++;
	}
}
