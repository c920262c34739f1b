#include "tools/bench/stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int stage_open(struct stage *s, struct bench_ground *g, const char *name)
{
	struct fault f = { 0 };

	memset(s, 0, sizeof(*s));
	s->ground = g;
	if (ground_folder(g, name, s->dir))
		return -1;
	if (home_find(&s->home, s->dir, HOME_MAKE, &f))
		return bench_fail_fault(s->dir, &f);
	s->home.identity = (struct identity){ .level = WHO_OPERATOR };
	return 0;
}

/* Opens the client, which calls the host if the host runs. If no host runs, the client opens
 * the state itself. */
static int stage_need_client(struct stage *s)
{
	struct client_options o = { .home = &s->home, .direct = s->host == 0 };
	struct fault f = { 0 };

	o.identity = s->home.identity;
	if (!s->client && client_open(&s->client, &o, &f))
		return bench_fail_fault("client", &f);
	return 0;
}

int stage_call(struct stage *s, const char *op, const char *json, struct text *out)
{
	json_t *args = json_loads(json, 0, NULL);
	struct text mine = { 0 };
	struct fault f = { 0 };
	int rc;

	if (!args || !op_find(op))
		return bench_fail("%s %s is no call", op, json);
	if (stage_need_client(s))
		return -1;
	rc = client_call(s->client, op_find(op), args, out ? out : &mine, &f);
	json_decref(args);
	text_release(&mine);
	return rc ? bench_fail_fault(op, &f) : 0;
}

int stage_team(struct stage *s, int agents, int capacity)
{
	struct text args = { 0 }, made = { 0 };
	int rc;

	text_addf(&args, "{\"name\":\"t\",\"inbox_capacity\":%d,\"roles\":[", capacity);
	for (int i = 0; i < agents; i++) /* team.create also makes the lead, which is not
					    in the list */
		text_addf(&args, "%s{\"name\":\"a%d\"}", i ? "," : "", i);
	text_addf(&args, "]}");
	rc = stage_call(s, "team.create", args.data, &made);
	s->team = rc ? NULL : json_loads(made.data, 0, NULL);
	text_release(&args);
	text_release(&made);
	return rc;
}

const char *stage_token(const struct stage *s, int agent)
{
	char name[16];
	json_t *member;
	size_t i;

	snprintf(name, sizeof(name), "a%d", agent);
	json_array_foreach(json_object_get(s->team, "members"), i, member)
		if (!strcmp(json_string_value(json_object_get(member, "name")), name))
			return json_string_value(json_object_get(member, "token"));
	return "";
}

void stage_leave(struct stage *s)
{
	client_close(s->client);
	s->client = NULL;
}

int stage_serve(struct stage *s)
{
	const char *const argv[] = { s->ground->self, "--home", s->dir, "serve",
				     "--ready-fd",    "3",      NULL };
	struct start start = { .argv = argv };
	char answer[512];
	int ends[2];
	ssize_t n;

	stage_leave(s); /* from this point on only the host has the state open */
	if (pipe(ends))
		return bench_fail("no pipe");
	start.extra = ends[1];
	s->host = bench_start_program(&start);
	close(ends[1]);
	n = read(ends[0], answer, sizeof(answer) - 1);
	close(ends[0]);
	if (n >= 5 && !memcmp(answer, "ready", 5))
		return 0;
	answer[n < 0 ? 0 : n] = '\0';
	return bench_fail("the host did not start: %s", answer);
}

int stage_make_ready(struct stage *s, const char *args)
{
	return stage_call(s, "team.create", args, NULL) ||
	       stage_call(s, "team.wait",
			  "{\"team\":\"g\",\"until\":[\"ready\"],\"timeout\":120}", NULL);
}

void stage_end_team(struct stage *s)
{
	if (s->host &&
	    stage_call(s, "team.destroy", "{\"team\":\"g\",\"confirm\":true}", NULL) == 0)
		stage_call(s, "team.wait",
			   "{\"team\":\"g\",\"until\":[\"destroyed\"],\"timeout\":30}",
			   NULL);
}

void stage_http(const struct stage *s, char path[120])
{
	const char *own = s->home.socket;

	snprintf(path, 120, "%.*s/http.sock", (int)(strrchr(own, '/') - own), own);
}

int stage_allow_files(unsigned n)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = n;
	r.rlim_max = r.rlim_max < n ? n : r.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &r) ? bench_fail("%u descriptors: %m", n) : 0;
}

void stage_let_many(bool many)
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

void stage_stop(struct stage *s)
{
	bench_stop_program(s->host, SIGTERM);
	s->host = 0;
}

void stage_close(struct stage *s)
{
	stage_stop(s);
	client_close(s->client);
	json_decref(s->team);
	if (s->dir[0])
		bench_remove_tree(s->dir);
	if (s->home.run[0])
		bench_remove_tree(s->home.run);
	memset(s, 0, sizeof(*s));
}

/* --- the scene ---------------------------------------------------------------------- */

static int scene_open_stage(struct scene *s, int i)
{
	const struct bench *b = s->bench;
	struct stage *stage = &s->stages[i];

	if (stage_open(stage, s->ground, i == 0 ? "one" : "two") ||
	    (b->agents && stage_team(stage, b->agents, b->capacity)))
		return -1;
	/* When the client closes, the client updates the mirror's files. Otherwise the host
	 * would write these files during the acts. */
	stage_leave(stage);
	return fill_tasks(stage, b->tasks[i]) ||
	       fill_history(stage, b->messages[i] * (s->ground->many ? 10 : 1)) ||
	       (i < b->stages - b->hostless && stage_serve(stage));
}

int scene_open(struct scene *s)
{
	int rc = 0;

	for (int i = 0; i < s->bench->stages && rc == 0; i++)
		rc = scene_open_stage(s, i);
	return rc;
}

int scene_folder(struct scene *s)
{
	return s->dir[0] ? 0 : ground_folder(s->ground, "scene", s->dir);
}

void scene_close(struct scene *s)
{
	if (s->fifo > 0) {
		stage_end_team(&s->stages[0]);
		close(s->fifo);
	}
	for (int i = 0; i < 2; i++)
		stage_stop(&s->stages[i]);
	bench_stop_program(s->guest, SIGTERM);
	bench_stop_program(s->echo, SIGTERM);
	if (s->echo)
		close(s->echo_fd);
	for (int i = 0; s->followers && s->followers[i]; i++)
		close(s->followers[i]);
	free(s->followers);
	free(s->beside.ms);
	guests_close(s->guests);
	peer_close(&s->peer);
	floor_close(s);
	for (int i = 0; i < 2; i++)
		stage_close(&s->stages[i]);
	if (s->dir[0])
		bench_remove_tree(s->dir);
	free(s);
}
