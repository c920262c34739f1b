/*
 * How much memory a host holds: idle, and with many guests linked, and with runners.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/alloc.h"
#include "tools/bench/bench_guests.h"

enum { GUESTS = 200, LIGHT_GUESTS = 1000, FILES = 8192, PATIENCE_S = 120 };

double bench_resident(pid_t pid)
{
	char path[64], line[256];
	double kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "RssAnon:", 8) || !strncmp(line, "RssFile:", 8))
			kib += strtod(line + 8, NULL);
	fclose(f);
	return kib / 1024;
}

static void memory_rest(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

static const char team_g[] = "{\"team\":\"g\"}", team_t[] = "{\"team\":\"t\"}";

/* How many guests of a team answer; `team` is what names it. */
static int count_guests(struct stage *s, const char *team)
{
	struct text out = { 0 };
	json_t *answer, *w;
	size_t i;
	int n = 0;

	if (stage_call(s, "workspace.list", team, &out))
		return -1;
	answer = json_loadb(out.data, out.len, 0, NULL);
	json_array_foreach(json_object_get(answer, "workspaces"), i, w)
		n += !strcmp(json_string_value(json_object_get(w, "state")), "ready");
	json_decref(answer);
	text_release(&out);
	return n;
}

static int wait_for_guests(struct stage *s, const char *team, int guests)
{
	int64_t end = bench_now() + PATIENCE_S * INT64_C(1000000000);
	int n = 0;

	while (n >= 0 && n < guests && bench_now() < end) {
		memory_rest(0.5);
		n = count_guests(s, team);
	}
	return n >= guests ? 0 : bench_fail("only %d of %d guests came", n, guests);
}

/* The host settles for a moment first. */
static int with_guests(struct bench_ground *g, int guests, const char *runner,
		       double *mib)
{
	static const char many[] = "{\"name\":\"g\",\"max_vms\":%d,\"roles\":["
				   "{\"name\":\"w\",\"workspace\":true,\"count\":%d%s},"
				   "{\"name\":\"v\",\"workspace\":true,\"count\":%d%s}]}";
	struct stage *s = xcalloc(1, sizeof(*s));
	char args[256];
	int rc;

	snprintf(args, sizeof(args), guests ? many : "{\"name\":\"g\"}", guests,
		 guests / 2, runner, guests / 2, runner);
	rc = stage_open(s, g, "memory") || stage_serve(s) ||
			     stage_call(s, "team.create", args, NULL) ||
			     (guests && wait_for_guests(s, team_g, guests))
		     ? -1
		     : 0;
	if (rc == 0) {
		memory_rest(3);
		*mib = bench_resident(s->host);
		/* Guests outlive their host; they end with their team. */
		if (guests)
			rc = stage_call(s, "team.destroy", team_g, NULL);
		memory_rest(guests ? 5 : 0);
	}
	stage_close(s);
	free(s);
	return rc;
}

/* Raises the limit of open files: each guest takes two descriptors of this process. */
static void memory_allow_files(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max < FILES ? r.rlim_max : FILES;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* A thousand processes would measure the machine: the guests are light ones, whose
 * lines and heartbeats are those of others. */
static int with_light_guests(struct bench_ground *g, double *mib)
{
	struct stage *s = xcalloc(1, sizeof(*s));
	struct guests *guests = NULL;
	char folder[300];
	int rc;

	memory_allow_files();
	rc = stage_open(s, g, "light") || stage_team(s, LIGHT_GUESTS, 0) || stage_serve(s)
		     ? -1
		     : 0;
	/* The host sweeps its own folder "guests" of strangers. */
	snprintf(folder, sizeof(folder), "%s/front", s->dir);
	mkdir(folder, 0700);
	if (rc == 0)
		guests = guests_open(folder, NULL);
	for (int i = 0; i < LIGHT_GUESTS && rc == 0; i++)
		rc = guests_attach(s, i, folder);
	if (rc == 0 && (rc = wait_for_guests(s, team_t, LIGHT_GUESTS)) == 0) {
		memory_rest(6); /* heartbeats of all of them */
		*mib = bench_resident(s->host);
	}
	stage_stop(s);
	guests_close(guests);
	stage_close(s);
	free(s);
	return rc;
}

static void memory_let_many(bool many)
{
	static const char *const names[] = { "CADRE_LIMITS_MAX_VMS_PER_TEAM",
					     "CADRE_LIMITS_MAX_TOTAL_VMS",
					     "CADRE_TEAM_MAX_VMS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (many)
			setenv(names[i], "1000", 1);
		else
			unsetenv(names[i]);
}

int bench_memory(struct bench_ground *g)
{
	const bool adds = score_due(g, "memory-runners");
	double idle = 0, many = 0, runners = 0, light = 0;
	int rc = 0;

	memory_let_many(true);
	if (score_due(g, "memory-idle"))
		rc = with_guests(g, 0, "", &idle);
	if (rc == 0 && (adds || score_due(g, "memory-200")))
		rc = with_guests(g, GUESTS, "", &many);
	if (rc == 0 && adds)
		rc = with_guests(g, GUESTS, ",\"runner\":\"true\"", &runners);
	if (rc == 0 && score_due(g, "memory-1000"))
		rc = with_light_guests(g, &light);
	memory_let_many(false);
	if (rc)
		return -1;
	score_alone(g, "memory-idle", idle);
	score_alone(g, "memory-200", many);
	score_alone(g, "memory-runners", runners - many);
	score_alone(g, "memory-1000", light);
	return 0;
}
