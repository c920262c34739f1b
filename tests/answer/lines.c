/*
 * lines - a turn whose client prints a line of JSON that is long to read.
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

enum { HALF = 1900 << 10 }; /* of the text in the line */

/* The line comes in two parts, and the turn is over with the second. */
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

/* A line that is short, and the end of the turn. */
static json_t *make_short(struct scene *s)
{
	s->nth++;
	return json_pack("{sssbsisssssb}", "type", "BackgroundStatus", "running", false,
			 "exit_code", 0, "stdout",
			 "{\"type\":\"assistant\",\"message\":{\"content\":["
			 "{\"type\":\"text\",\"text\":\"done\"}]}}\n",
			 "stderr", "", "more", 0);
}

/* A turn that prints such parts; no worker runs. */
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

/* A turn of which the first part of a long line has come, and is not read. */
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

/* While a worker reads a part of a line, others are answered, and the guest is asked for no
 * more; the parts are read in order, and each once. */
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
	assert_int_equal(s->rig.printed, 2 * HALF + 1); /* the text and its end of line */
	scene_close(s);
}

/* A turn that ends while a worker reads keeps what it has printed. */
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
			HALF); /* the line has no end: its length is told */
	scene_close(s);
}

/* A short part is read at once: it does not wait behind the calls of workers. */
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
