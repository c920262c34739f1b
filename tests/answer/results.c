/*
 * results - a guest's bad results, endless results, and results without an assignment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/host/guests/hosted_answer.h"
#include "core/host/guests/hosted_daemon.h"
#include "tests/answer/cases.h"
#include "tests/answer/scene.h"
#include "tests/lib/place.h"

static json_t *make_part(struct scene *s)
{
	json_t *r = json_pack("{sssbsisssssisssb}", "task_id", "t", "success", 1,
			      "exit_code", 0, "stdout", "z", "stderr", "", "elapsed_secs",
			      1, "source_message_id", s->nth ? "other" : "m", "more", 1);

	return json_pack("{sss[o]si}", "type", "DaemonResults", "results", r,
			 "pending_tasks", 0);
}

static json_t *make_other_part(struct scene *s)
{
	json_t *m = make_part(s);

	s->nth = 1;
	return m;
}

/* Answers the first request with the good first part of a result, and the next request with a
 * message of another type. */
static json_t *make_other_type(struct scene *s)
{
	return s->nth++ ? json_pack("{ss}", "type", "Pong") : make_part(s);
}

/* Waits until the guest has answered all requests for results. */
static void wait_polled(struct scene *s)
{
	for (int64_t until = clock_steady_ms() + PATIENCE_MS;
	     s->rig.guest->daemon.polling && clock_steady_ms() < until;)
		rig_step(&s->rig, true);
	assert_false(s->rig.guest->daemon.polling);
}

/* The guest sends endless parts of a result. In other cases, the guest's second message is a
 * part of another result or has another type. The host stores a failure with the reason instead
 * of the result. The bad result is not sent again and does not delay other results. */
void test_endless_result(void **state)
{
	static const struct {
		json_t *(*make)(struct scene *s);
		int answers;
		const char *why;
	} cases[] = {
		{ make_part, ANSWER_PARTS_MOST + 1, "more than 64 parts" },
		{ make_other_part, 2, "sends another" },
		{ make_other_type, 2, "with 'Pong'" },
	};
	struct scene *s = scene_open(place_unix, false);

	(void)state;
	wait_polled(s); /* the host asks for results as soon as the guest is connected */
	for (int i = 0; i < 3; i++) {
		s->asked = "PollDaemonResults";
		s->make = cases[i].make;
		s->answers = s->nth = s->rig.stored = s->rig.failures = 0;
		collect_poke(s->rig.guest, true);
		for (int64_t until = clock_steady_ms() + PATIENCE_MS;
		     !s->rig.stored && clock_steady_ms() < until;)
			rig_step(&s->rig, true);
		s->make = NULL;
		assert_int_equal(s->answers, cases[i].answers);
		assert_int_equal(s->rig.failures, 1);
		assert_non_null(strstr(s->rig.why, cases[i].why));
		wait_polled(s);
	}
	scene_close(s);
}

static json_t *good_result(const char *id)
{
	return json_pack("{sssbsisssssiss}", "task_id", "t", "success", 1, "exit_code", 0,
			 "stdout", "z", "stderr", "", "elapsed_secs", 1,
			 "source_message_id", id);
}

/* Makes a page of good and bad results. Of the bad results, two have an id, one has an id that
 * is no string, and one is no object. */
static json_t *make_mixed(struct scene *s)
{
	json_t *page = json_array(), *bad = good_result("bad");

	s->make = NULL; /* the guest gives this answer only once */
	json_object_set_new(bad, "exit_code", json_string("none"));
	json_array_append_new(page, good_result("one"));
	json_array_append_new(page, bad);
	json_array_append_new(page, json_pack("{si}", "source_message_id", 5));
	json_array_append_new(page, json_string("nonsense"));
	bad = good_result("nul");
	json_object_set_new(bad, "stdout", json_stringn("a\0b", 3));
	json_array_append_new(page, bad);
	json_array_append_new(page, good_result("two"));
	return json_pack("{sssosi}", "type", "DaemonResults", "results", page,
			 "pending_tasks", 0);
}

/* The good results of a page are stored, even if the page also holds bad results. A bad result
 * that names an assignment ends this assignment. The guest sends no result again. */
void test_bad_result(void **state)
{
	struct scene *s = scene_open(place_unix, false);

	(void)state;
	wait_polled(s);
	s->asked = "PollDaemonResults";
	s->make = make_mixed;
	collect_poke(s->rig.guest, true);
	for (int64_t until = clock_steady_ms() + PATIENCE_MS;
	     s->rig.acked < 4 && clock_steady_ms() < until;)
		rig_step(&s->rig, true);
	assert_int_equal(s->rig.stored, 4);
	assert_int_equal(s->rig.failures, 2);
	assert_int_equal(s->rig.acked, 4);
	scene_close(s);
}

static json_t *make_strays(struct scene *s)
{
	return json_pack("{sss[o,o]si}", "type", "DaemonResults", "results",
			 good_result(s->nth++ % 2 ? "a" : "b"), good_result("c"),
			 "pending_tasks", 0);
}

static json_t *make_none(struct scene *s)
{
	(void)s;
	return json_pack("{sss[]si}", "type", "DaemonResults", "results", "pending_tasks",
			 0);
}

static json_t *make_error(struct scene *s)
{
	(void)s;
	return json_pack("{ssssss}", "type", "Error", "code", "Unavailable", "message",
			 "not now");
}

/* Lets the host acknowledge the results that have arrived, and ends the host's pause. */
static void forget(struct scene *s)
{
	futile_end(&s->rig.guest->daemon.futile);
	s->make = NULL;
	collect_poke(s->rig.guest, false);
	wait_polled(s);
	futile_end(&s->rig.guest->daemon.futile);
}

/* Returns the number of the host's requests for results in 300 steps. In each step the guest
 * reports results, and no pause of the host ends. */
static int count_polls(struct scene *s, json_t *(*make)(struct scene *s))
{
	static const char beat[] = "{\"type\":\"Heartbeat\",\"results\":5}";
	struct hosted_guest *t = s->rig.guest;
	struct rig_peer *p = s->rig.peers;

	while (p->port != LINK_CONTROL)
		p = p->next;
	s->asked = "PollDaemonResults";
	s->make = make;
	s->answers = 0;
	for (int i = 0; i < 300; i++) {
		rig_say(p, beat, sizeof(beat) - 1);
		t->control.chatter.bytes = 0; /* the host reads each heartbeat */
		hosted_guests_tick(&s->rig.host);
		rig_step(&s->rig, false);
		scene_hold(&t->daemon.futile);
	}
	return s->answers;
}

/* The pauses between the host's requests for results get longer while no result is stored. The
 * pauses end when the host stores a result. */
void test_futile(void **state)
{
	static json_t *(*const made[])(struct scene *) = { make_strays, make_none,
							   make_error };
	struct scene *s = scene_open(place_unix, false);
	struct hosted_guest *t = s->rig.guest;

	(void)state;
	wait_polled(s);
	s->rig.strays = true;
	for (int i = 0; i < 3; i++) {
		forget(s);
		for (int64_t ms = FUTILE_FIRST_MS; ms < 8 * FUTILE_FIRST_MS; ms *= 2) {
			assert_int_equal(count_polls(s, made[i]), 1);
			assert_int_equal(t->daemon.futile.ms, ms);
			scene_elapse(&t->daemon.futile);
		}
	}
	assert_true(t->up);
	s->rig.strays = false;
	s->make = make_mixed;
	for (int64_t until = clock_steady_ms() + PATIENCE_MS;
	     s->make && clock_steady_ms() < until;) {
		hosted_guests_tick(&s->rig.host);
		rig_step(&s->rig, true);
	}
	wait_polled(s);
	assert_int_equal(t->daemon.futile.ms, 0);
	scene_close(s);
}
