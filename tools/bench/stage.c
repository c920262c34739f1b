#include "tools/bench/stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

static int open_here(struct stage *s)
{
	struct fault f = { 0 };

	if (home_find(&s->home, s->dir, HOME_MAKE, &f))
		return bench_fail_fault(s->dir, &f);
	s->home.identity = (struct identity){ .level = WHO_OPERATOR };
	return 0;
}

int stage_open(struct stage *s, struct bench_ground *g, const char *name)
{
	memset(s, 0, sizeof(*s));
	s->ground = g;
	if (ground_folder(g, name, s->dir))
		return -1;
	return open_here(s);
}

int stage_open_at(struct stage *s, struct bench_ground *g, const char *dir)
{
	memset(s, 0, sizeof(*s));
	s->ground = g;
	s->kept = true;
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
	return open_here(s);
}

/* Opens the client, which goes through the host if it runs, else directly. */
static int need_client(struct stage *s)
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
	if (need_client(s))
		return -1;
	rc = client_call(s->client, op_find(op), args, out ? out : &mine, &f);
	json_decref(args);
	text_release(&mine);
	return rc ? bench_fail_fault(op, &f) : 0;
}

int stage_team(struct stage *s, int agents, int capacity)
{
	struct text args = { 0 };
	int rc;

	text_addf(&args, "{\"name\":\"t\",\"inbox_capacity\":%d,\"roles\":[", capacity);
	for (int i = 0; i < agents; i++) /* a lead comes by itself */
		text_addf(&args, "%s{\"name\":\"a%d\"}", i ? "," : "", i);
	text_addf(&args, "]}");
	rc = stage_call(s, "team.create", args.data, NULL);
	text_release(&args);
	return rc;
}

int stage_serve(struct stage *s)
{
	const char *const argv[] = { s->ground->self, "--home", s->dir, "serve",
				     "--ready-fd",    "3",      NULL };
	char answer[512];
	struct start start = { .argv = argv, .in = -1, .out = -1 };
	int ends[2];
	ssize_t n;

	client_close(s->client); /* from here on the opened state is the host's */
	s->client = NULL;
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

struct stage *stage_new(struct bench_ground *g, const char *name, int agents,
			int capacity, bool hosted)
{
	struct stage *s = xcalloc(1, sizeof(*s));

	if (stage_open(s, g, name) == 0 && stage_team(s, agents, capacity) == 0 &&
	    (!hosted || stage_serve(s) == 0))
		return s;
	stage_free(s);
	return NULL;
}

void stage_free(struct stage *s)
{
	if (s)
		stage_close(s);
	free(s);
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
	if (s->dir[0] && !s->kept)
		bench_remove_tree(s->dir);
	if (s->home.run[0])
		bench_remove_tree(s->home.run);
}

int stage_store(struct stage *s, struct call *call)
{
	struct fault f = { 0 };

	memset(call, 0, sizeof(*call));
	call->settings = &s->home.settings;
	call->now = clock_wall_ms();
	if (store_open(&call->store, s->home.dir, STORE_CREATE | STORE_NO_CHECKPOINT,
		       NULL, &f))
		return bench_fail_fault("store", &f);
	return 0;
}
