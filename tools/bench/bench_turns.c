/*
 * How soon a message starts a turn: from the sender's call to the first thing that the runner
 * does.  Beside it stands what no push can do without, the base of push-p50.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/floor.h"
#include "tools/bench/stage.h"

enum { ROUNDS = 5, TURNS = 40, PATIENCE_MS = 10000 };

struct scene {
	struct stage stage;
	char fifo[300];
	int fd; /* of the fifo, into which each turn writes a line */
};

static const char at_team[] = "{\"team\":\"g\",\"limit\":1}";

/* Waits until the last turn is over. */
static int bench_turns_settle(struct scene *s)
{
	int64_t end = bench_now() + PATIENCE_MS * INT64_C(1000000);
	bool over = false;

	while (!over && bench_now() < end) {
		struct text out = { 0 };

		if (stage_call(&s->stage, "turn.list", at_team, &out))
			return -1;
		over = !strstr(out.data, "streaming") &&
		       !strstr(out.data, "queued\",\"m");
		text_release(&out);
		if (!over)
			poll(NULL, 0, 2);
	}
	return over ? 0 : bench_fail("a turn does not end");
}

/* The time from the call on until the runner has begun; in ms. */
static double time_turn(struct scene *s)
{
	static const char args[] =
		"{\"team\":\"g\",\"to\":[\"w\"],\"content\":\"go on\"}";
	struct pollfd begun = { .fd = s->fd, .events = POLLIN };
	int64_t at = bench_now();
	char line[64];
	double ms;

	if (stage_call(&s->stage, "message.send", args, NULL))
		return -1;
	if (poll(&begun, 1, PATIENCE_MS) <= 0 || read(s->fd, line, sizeof(line)) <= 0)
		return bench_fail("a turn does not begin");
	ms = (double)(bench_now() - at) / 1e6;
	return bench_turns_settle(s) ? -1 : ms;
}

static double bench_turns_time_floor(struct floor_page *page)
{
	double first = floor_page_sync(page), second = floor_page_sync(page);

	return first < 0 || second < 0 ? -1 : first + second;
}

static int open_scene(struct scene *s, struct bench_ground *g)
{
	char args[600];

	if (stage_open(&s->stage, g, "turns") || stage_serve(&s->stage))
		return -1;
	snprintf(s->fifo, sizeof(s->fifo), "%.250s/begun", s->stage.dir);
	if (mkfifo(s->fifo, 0600) || (s->fd = open(s->fifo, O_RDWR | O_NONBLOCK)) < 0)
		return bench_fail("cannot make a fifo");
	snprintf(args, sizeof(args),
		 "{\"name\":\"g\",\"roles\":[{\"name\":\"w\",\"workspace\":true,"
		 "\"runner\":\"echo >%s\"}]}",
		 s->fifo);
	return stage_call(&s->stage, "team.create", args, NULL) ||
			       stage_call(&s->stage, "team.wait",
					  "{\"team\":\"g\",\"until\":[\"ready\"],"
					  "\"timeout\":30}",
					  NULL) ||
			       time_turn(s) < 0
		       ? -1
		       : 0;
}

static int bench_turns_play_round(struct scene *s, struct floor_page *page,
				  struct judge *over, const struct bench_ground *g)
{
	double took[TURNS], base[TURNS];
	int n = g->fast ? TURNS / 4 : TURNS;

	for (int i = 0; i < n; i++)
		if ((base[i] = bench_turns_time_floor(page)) < 0 ||
		    (took[i] = time_turn(s)) < 0)
			return -1;
	judge_round(over, judge_median(took, (size_t)n), judge_median(base, (size_t)n));
	return 0;
}

int bench_turns(struct bench_ground *g)
{
	struct scene *s = xcalloc(1, sizeof(*s));
	struct floor_page page = { 0 };
	struct judge j = { 0 };
	int rc = floor_page_open(&page, g, "sync") || open_scene(s, g) ? -1 : 0;

	for (int i = 0; i < ROUNDS && rc == 0; i++)
		rc = bench_turns_play_round(s, &page, &j, g);
	stage_call(&s->stage, "team.destroy", "{\"team\":\"g\",\"confirm\":true}", NULL);
	if (s->fd > 0)
		close(s->fd);
	stage_close(&s->stage);
	floor_page_close(&page);
	free(s);
	if (rc == 0)
		score_rounds(g, "turn-p50", &j);
	return rc;
}
