/*
 * chatter - a guest that sends messages without a pause although nobody asked for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "tests/answer/cases.h"
#include "tests/answer/scene.h"
#include "tests/lib/place.h"

static struct rig_peer *peer_at(struct scene *s, unsigned port)
{
	struct rig_peer *p = s->rig.peers;

	while (p->port != port)
		p = p->next;
	return p;
}

/* Sends the message `what` again and again until the host stops reading from the connection. */
static void say_on(struct scene *s, struct rig_peer *p, struct guest_conn *line,
		   const char *what)
{
	for (int64_t until = clock_steady_ms() + PATIENCE_MS;
	     !line->deaf && clock_steady_ms() < until;) {
		for (int i = 0; i < 200; i++)
			rig_say(p, what, strlen(what));
		rig_step(&s->rig, false);
	}
	if (!line->deaf)
		fail_msg("%s is heard for ever", what);
	while (flow_left(&p->flow) < 4 << 20) /* more bytes than socket buffers hold */
		rig_say(p, what, strlen(what));
}

/* Runs the loop for some steps while nothing else uses the link. Returns the number of bytes
 * that the host has not read. */
static size_t left_after_steps(struct scene *s, const struct rig_peer *p)
{
	for (int i = 0; i < 200; i++)
		rig_step(&s->rig, false);
	return flow_left(&p->flow);
}

static void expect_pause(struct scene *s, unsigned port, const char *what)
{
	struct hosted_guest *t = s->rig.guest;
	struct guest_conn *line = port == LINK_CONTROL ? &t->control : &t->relay;
	struct rig_peer *p = peer_at(s, port);
	size_t left;

	say_on(s, p, line, what);
	left = left_after_steps(s, p);
	assert_int_equal(left_after_steps(s, p), left);
	assert_true(left > 0);
	line->chatter.bytes = 0; /* ends the pause */
	hosted_guests_tick(&s->rig.host);
	assert_false(line->deaf);
	assert_true(left_after_steps(s, p) < left);
	assert_true(t->up);
	rig_unlink(&s->rig);
	assert_true(rig_link(&s->rig, PATIENCE_MS));
}

/* The host pauses on both connections to the guest before it reads further frames that nobody
 * asked for. */
static void expect_pauses(bool old)
{
	struct scene *s = scene_open(place_unix, old);

	expect_pause(s, LINK_CONTROL, "{\"type\":\"Heartbeat\",\"load\":1}");
	expect_pause(s, LINK_RELAY, "{\"type\":\"Heartbeat\",\"load\":1}");
	if (!old) /* in the older dialect the host takes a Pong as the answer to the next
		     request */
		expect_pause(s, LINK_CONTROL, "{\"type\":\"Pong\",\"id\":77777}");
	expect_pause(s, LINK_RELAY, "{\"type\":\"TaskList\",\"id\":1}");
	scene_close(s);
}

/* Expected answers and valid requests cause no pause, since other limits apply to both. */
static void expect_no_pause(void)
{
	static const char args[] = "{\"workspace\":\"w\",\"command\":\"x\"}";
	struct scene *s = scene_open(place_unix, false);

	for (int i = 0; i < 2000; i++) {
		json_t *answer = rig_ask(&s->rig, "workspace.exec",
					 json_loads(args, 0, NULL), PATIENCE_MS);

		assert_non_null(answer);
		json_decref(answer);
	}
	assert_int_equal(s->rig.guest->control.chatter.bytes, 0);
	scene_close(s);
}

void test_chatter(void **state)
{
	(void)state;
	expect_pauses(false);
	expect_pauses(true);
	expect_no_pause();
}
