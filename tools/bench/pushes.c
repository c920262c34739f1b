/*
 * Measures the delays of pushes to guests. Three delays are measured: until one guest has a
 * message, until all guests have a message, and until a message has started a runner.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/bench/stage.h"

enum { PATIENCE_MS = 10000 };

/* Makes a folder in the scene's folder, for sockets or files. */
static const char *push_folder(struct scene *s, const char *name, char out[300])
{
	snprintf(out, 300, "%.200s/%s", s->dir, name);
	mkdir(out, 0700);
	return out;
}

/* --- one guest and all guests ------------------------------------------------------------- */

/* Starts a real guest: a process with a folder and a spool on the disk. */
static int push_start_guest(struct scene *s)
{
	char dir[300], state[300], behind[300], front[300], listen[320];
	const char *const argv[] = { s->ground->self, "guest",    "--dir", dir, "--state",
				     state,           "--listen", listen,  NULL };

	push_folder(s, "work", dir);
	snprintf(listen, sizeof(listen), "unix:%s", push_folder(s, "behind", behind));
	snprintf(state, sizeof(state), "%.200s/guest", s->dir);
	s->guest = bench_start_program(&(struct start){ .argv = argv });
	s->guests = guests_open(push_folder(s, "front", front), behind);
	return s->guest < 0 ? -1 : guests_attach(&s->stages[0], 1, front);
}

int scene_push(struct scene *s)
{
	struct series scrap = { 0 };

	return scene_open(s) || scene_folder(s) || push_start_guest(s) ||
	       act_push(s, NULL, &scrap);
}

/* Measures the time until all guests of the scene have answered Ok. A real guest answers Ok
 * when the guest has stored the message. For a message to one guest, the time begins at the
 * call. For a message to all guests, the time begins when the message is committed and the
 * sender has the answer. */
int act_push(struct scene *s, const struct act *a, struct series *out)
{
	const bool all = s->bench->agents > 1;
	int64_t begun = bench_now();
	char args[100];

	(void)a;
	snprintf(args, sizeof(args),
		 "{\"team\":\"t\",\"to\":[\"%s\"],\"content\":\"hello\"}",
		 all ? "*" : "a0");
	if (stage_call(&s->stages[0], "message.send", args, NULL))
		return -1;
	if (all)
		begun = bench_now();
	if (guests_await(s->guests, s->bench->agents))
		return -1;
	series_add(out, bench_ms(begun));
	return 0;
}

/* The guests are light guests, which store nothing. Two hundred real guests would all write to
 * the same disk, and the bench would measure the disk. */
int scene_fanout(struct scene *s)
{
	const int n = s->bench->agents;
	struct series scrap = { 0 };
	char front[300];
	int rc;

	stage_let_many(true);
	rc = scene_open(s) || scene_folder(s);
	stage_let_many(false);
	if (rc)
		return -1;
	s->guests = guests_open(push_folder(s, "front", front), NULL);
	/* The first push, which is not measured, waits for the guests' connections. */
	return guests_attach(&s->stages[0], n, front) || act_push(s, NULL, &scrap);
}

/* --- a turn --------------------------------------------------------------------------------- */

/* Waits until the newest turn of team g has ended. */
static int push_settle(struct stage *s)
{
	int64_t begun = bench_now();
	bool over = false;

	while (!over && bench_ms(begun) < PATIENCE_MS) {
		struct text out = { 0 };

		if (stage_call(s, "turn.list", "{\"team\":\"g\",\"limit\":1}", &out))
			return -1;
		over = !strstr(out.data, "streaming") &&
		       !strstr(out.data, "queued\",\"m");
		text_release(&out);
		if (!over)
			bench_rest(0.002);
	}
	return over ? 0 : bench_fail("a turn does not end");
}

/* Opens a scene with a runner that writes a line into a fifo when a turn begins. */
int scene_turns(struct scene *s)
{
	struct series scrap = { 0 };
	char fifo[300], args[600];

	if (scene_open(s) || scene_folder(s))
		return -1;
	snprintf(fifo, sizeof(fifo), "%.250s/begun", s->dir);
	if (mkfifo(fifo, 0600) ||
	    (s->fifo = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
		return bench_fail("%s: %m", fifo);
	snprintf(args, sizeof(args),
		 "{\"name\":\"g\",\"roles\":[{\"name\":\"w\",\"workspace\":true,"
		 "\"runner\":\"echo >%s\"}]}",
		 fifo);
	return stage_make_ready(&s->stages[0], args) || act_turn(s, NULL, &scrap);
}

/* Measures the time from the call of message.send until the runner has begun. */
int act_turn(struct scene *s, const struct act *a, struct series *out)
{
	struct pollfd begun = { .fd = s->fifo, .events = POLLIN };
	int64_t at = bench_now();
	char line[64];

	(void)a;
	if (stage_call(&s->stages[0], "message.send",
		       "{\"team\":\"g\",\"to\":[\"w\"],\"content\":\"go on\"}", NULL))
		return -1;
	if (poll(&begun, 1, PATIENCE_MS) <= 0 || read(s->fifo, line, sizeof(line)) <= 0)
		return bench_fail("a turn does not begin");
	series_add(out, bench_ms(at));
	return push_settle(&s->stages[0]);
}
