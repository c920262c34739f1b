/*
 * told - a guest that refuses messages, or does not read the host's answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/host/guests/hosted_push.h"
#include "tests/answer/cases.h"
#include "tests/answer/scene.h"

static json_t *make_refusal(struct scene *s)
{
	s->rig.pushes = 100; /* the next page also has 100 messages */
	return json_pack("{ssssss}", "type", "Error", "code", "InvalidRequest", "message",
			 "no");
}

/* The host pauses between pages of messages if the guest refuses all messages of a page. */
void test_refused(void **state)
{
	struct scene *s = scene_open(place_unix, false);
	struct pushing *p = &s->rig.guest->push;

	(void)state;
	while (p->reading)
		rig_step(&s->rig, true);
	s->asked = "TeamMessage";
	s->make = make_refusal;
	s->rig.pushes = 100;
	push_poke(s->rig.guest);
	for (int64_t ms = FUTILE_FIRST_MS; ms < 8 * FUTILE_FIRST_MS; ms *= 2) {
		s->answers = 0;
		for (int i = 0; i < 400; i++) {
			hosted_guests_tick(&s->rig.host);
			rig_step(&s->rig, false);
			scene_hold(&p->futile);
			p->retry_at = p->futile.until;
		}
		assert_int_equal(s->answers, 100);
		assert_int_equal(p->futile.ms, ms);
		scene_elapse(&p->futile);
		p->retry_at = p->futile.until;
	}
	assert_true(s->rig.guest->up);
	scene_close(s);
}

/* If a guest sends request after request and does not read the host's answers, the host ends
 * the link. The unsent answers stay below a limit. */
void test_unread(void **state)
{
	static const char ask[] = "{\"type\":\"Nonsense\",\"id\":\"0123456789\"}";
	struct scene *s = scene_open(place_unix, false);
	struct rig_peer *p = s->rig.peers;
	struct guest_conn *line = &s->rig.guest->control;
	size_t most = 0;

	(void)state;
	while (p->port != LINK_CONTROL)
		p = p->next;
	uv_read_stop((uv_stream_t *)&p->pipe);
	for (int i = 0; i < 1500 && s->rig.guest->up; i++) {
		for (int n = 0; n < 200; n++)
			rig_say(p, ask, sizeof(ask) - 1);
		line->chatter.bytes = 0; /* as if the guest asked very slowly */
		guest_conn_tick(line, line->heard_at);
		rig_step(&s->rig, false);
		if (flow_left(&line->flow) > most)
			most = flow_left(&line->flow);
	}
	assert_false(s->rig.guest->up);
	assert_in_range(most, 1 << 20, 10 << 20);
	scene_close(s);
}
