/*
 * lines - a turn whose client prints a line of JSON that takes long to parse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/host/turns/hosted_turn.h"
#include "tests/answer/cases.h"
#include "tests/answer/scene.h"

enum { HALF = 1900 << 10 }; /* bytes of the line's text in each part */

/* The first call makes the first half of a line. The second call makes the second half and ends
 * the turn. */
static json_t *make_half(struct scene *s)
{
	static const char begin[] = "{\"type\":\"assistant\",\"message\":{\"content\":["
				    "{\"type\":\"text\",\"text\":\"";
	const bool last = s->nth++ > 0;
	struct text part = { 0 };
	json_t *m;

	text_addf(&part, "%s", last ? "" : begin);
	for (int i = 0; i < HALF; i++)
		text_add(&part, "x", 1);
	text_addf(&part, "%s", last ? "\"}]}}\n" : "");
	m = json_pack("{sssbsisssssb}", "type", "BackgroundStatus", "running", !last,
		      "exit_code", 0, "stdout", part.data, "stderr", "", "more", 0);
	text_release(&part);
	return m;
}

/* Makes an answer that holds a short line and ends the turn. */
static json_t *make_short(struct scene *s)
{
	s->nth++;
	return json_pack("{sssbsisssssb}", "type", "BackgroundStatus", "running", false,
			 "exit_code", 0, "stdout",
			 "{\"type\":\"assistant\",\"message\":{\"content\":["
			 "{\"type\":\"text\",\"text\":\"done\"}]}}\n",
			 "stderr", "", "more", 0);
}

/* Opens a turn whose client prints the parts that make() makes. The worker threads are held
 * back until finish_turn() runs. */
static struct scene *open_turn(json_t *(*make)(struct scene *s))
{
	const struct turn_start start = {
		.turn = 1,
		.workspace = 7,
		.runner = "claude",
		.prompt = "p",
	};
	struct scene *s = scene_open(place_unix, false);

	s->asked = "ExecPoll";
	s->make = make;
	s->rig.works_held = true;
	s->rig.guest->knows_turns = true;
	snprintf(s->rig.guest->agent_token, sizeof(s->rig.guest->agent_token), "token");
	hosted_turn_new(&s->rig.host, &start);
	return s;
}

/* Opens a turn. The first half of a long line has arrived and is not parsed yet. */
static struct scene *open_long(void)
{
	struct scene *s = open_turn(make_half);

	for (int64_t until = clock_steady_ms() + PATIENCE_MS;
	     !s->rig.host.calls->works.n && clock_steady_ms() < until;)
		rig_step(&s->rig, true);
	assert_int_equal(s->rig.host.calls->works.n, 1);
	return s;
}

static void finish_turn(struct scene *s)
{
	s->rig.works_held = false;
	for (int64_t until = clock_steady_ms() + PATIENCE_MS;
	     !s->rig.ends && clock_steady_ms() < until;)
		rig_step(&s->rig, true);
	assert_int_equal(s->rig.ends, 1);
	assert_int_equal(s->rig.printed_by_end, s->rig.printed);
}

/* While a worker parses a part of a line, the host answers other calls and asks the guest for
 * no further part. Each part is parsed once, and the parts are parsed in order. */
void test_long_line(void **state)
{
	struct scene *s = open_long();
	json_t *answer;

	(void)state;
	for (int i = 0; i < 3; i++) {
		answer = rig_ask(&s->rig, "workspace.list_dir",
				 json_pack("{ss}", "workspace", "w"), PATIENCE_MS);
		assert_non_null(answer);
		json_decref(answer);
	}
	assert_int_equal(s->rig.host.calls->works.n, 1);
	assert_int_equal(s->answers, 1);
	assert_int_equal(s->rig.printed, 0);
	finish_turn(s);
	assert_int_equal(s->answers, 2);
	assert_int_equal(s->rig.printed, 2 * HALF + 1); /* the text and the newline */
	scene_close(s);
}

/* If a turn ends while a worker parses a line, the text that the client has printed so far is
 * kept. */
void test_end_in_line(void **state)
{
	struct scene *s = open_long();

	(void)state;
	s->rig.guest->workspace++; /* the workspace of the turn is gone */
	hosted_turns_tick(&s->rig.host);
	for (int i = 0; i < 10; i++)
		rig_step(&s->rig, false);
	assert_int_equal(s->rig.ends, 0);
	finish_turn(s);
	assert_in_range(s->rig.printed, 1,
			HALF); /* the bytes of the unfinished line are counted */
	scene_close(s);
}

/* A short part is parsed immediately, without waiting for a worker. */
void test_short_line(void **state)
{
	struct scene *s = open_turn(make_short);

	(void)state;
	for (int64_t until = clock_steady_ms() + PATIENCE_MS;
	     !s->rig.ends && clock_steady_ms() < until;) {
		rig_step(&s->rig, true);
		assert_int_equal(s->rig.host.calls->works.n, 0);
	}
	assert_int_equal(s->rig.ends, 1);
	assert_int_equal(s->rig.printed, strlen("done\n"));
	scene_close(s);
}
