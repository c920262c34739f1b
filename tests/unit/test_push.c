/*
 * The rows that a host writes about its pushes. The row of a message that the guest accepted is
 * marked as told. The row of a refused message is not marked. A new guest gets all messages
 * again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/host/guests/hosted_push.h"
#include "tests/lib/bench.h"
#include "tests/lib/place.h"

enum { PATIENCE_MS = 10000, STEPS = 40, PAGE = 100 };

struct pusher {
	struct bench bench;
	const char *boot; /* boot id of the guest */
	const char *code; /* code of refusals; NULL: the guest accepts messages */
	int refuses; /* number of messages accepted before the first refusal */
	int heard; /* number of messages that the guest received */
	/* Number of messages that were recorded as offered when the first message arrived. */
	int offered_before;
	bool leaves; /* the link breaks before the guest answers */
	bool endless; /* after each message that the guest gets, a whole page of messages
			 waits for the guest again */
};

static void on_message(struct pusher *b, struct rig_peer *peer, json_t *request)
{
	if (b->heard++ == 0)
		b->offered_before = b->bench.rig.offered;
	if (b->endless)
		b->bench.rig.pushes = PAGE;
	if (b->leaves)
		rig_unlink(&b->bench.rig);
	else if (b->code && b->heard > b->refuses)
		rig_reply(peer,
			  json_pack("{ssssss}", "type", "Error", "code", b->code,
				    "message", "no"),
			  request);
	else
		rig_reply(peer, rig_honest(request), request);
}

static void on_request(void *arg, struct rig_peer *peer, json_t *request)
{
	const char *type = json_string_value(json_object_get(request, "type"));
	struct pusher *b = arg;
	json_t *answer;

	if (!strcmp(type, "TeamMessage")) {
		on_message(b, peer, request);
		return;
	}
	answer = rig_honest(request);
	if (!strcmp(type, "Hello"))
		json_object_set_new(answer, "boot_id", json_string(b->boot));
	rig_reply(peer, answer, request);
}

static int set_up(void **state)
{
	bench_open(state, sizeof(struct pusher), "push", on_request);
	((struct pusher *)*state)->boot = "first";
	return 0;
}

/* Whether no page is being read, and either no message waits or the guest has a pause. */
static bool is_idle(const struct pusher *b)
{
	const struct pushing *p = &b->bench.rig.guest->push;

	return !p->reading && (b->bench.rig.pushes == 0 || p->retry_at);
}

static void settle(struct pusher *b)
{
	int64_t until = clock_steady_ms() + patience_ms(PATIENCE_MS);

	while (!is_idle(b) && clock_steady_ms() < until)
		rig_step(&b->bench.rig, true);
	assert_true(is_idle(b));
}

static void link_up(struct pusher *b)
{
	b->bench.rig.guest->dial_at = 0;
	assert_true(rig_link(&b->bench.rig, patience_ms(PATIENCE_MS)));
	settle(b);
}

static void push(struct pusher *b, int n, bool unoffered)
{
	b->heard = b->bench.rig.told = b->bench.rig.refused = b->bench.rig.offered = 0;
	b->bench.rig.asked_for_all = b->bench.rig.asked_for_assignments = 0;
	b->bench.rig.asked_for_texts = 0;
	b->bench.rig.pushes = n;
	b->bench.rig.unoffered = unoffered;
	b->bench.rig.guest->push.retry_at = 1; /* the guest's pause is over */
	push_tick(b->bench.rig.guest, 1);
	settle(b);
}

static void what_is_taken_was_told(void **state)
{
	struct pusher *b = *state;

	link_up(b);
	push(b, 3, false);
	assert_int_equal(b->heard, 3);
	assert_int_equal(b->bench.rig.told, 3);
	assert_int_equal(b->bench.rig.refused, 0);
}

/* A refused message is sent again later, whatever the reason of the refusal was. */
static void what_is_refused_was_not_told(void **state)
{
	static const char *const codes[] = { "InvalidRequest", "Conflict",
					     "Exhausted",      "PermissionDenied",
					     "Unavailable",    "Internal" };
	struct pusher *b = *state;

	link_up(b);
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		b->code = codes[i];
		push(b, 3, false);
		assert_int_equal(b->heard, 3);
		assert_int_equal(b->bench.rig.told, 0);
		b->refuses = 1;
		push(b, 3, false);
		assert_int_equal(b->bench.rig.told, 1);
		b->refuses = 0;
		b->code = NULL; /* the guest has room again */
		push(b, 3, false);
	}
}

/* Adds waiting messages, but does not end the guest's pause. */
static void push_at_once(struct pusher *b, int n, bool unoffered)
{
	b->heard = b->bench.rig.told = 0;
	b->bench.rig.pushes = n;
	b->bench.rig.unoffered = unoffered;
	push_poke(b->bench.rig.guest);
	settle(b);
}

/* A guest without room for messages still gets assignments at once, even during the guest's
 * pause. */
static void a_full_guest_is_told_of_assignments(void **state)
{
	struct pusher *b = *state;

	link_up(b);
	b->code = "Exhausted";
	push(b, 2, false);
	assert_int_equal(b->bench.rig.asked_for_all, 1);
	assert_int_equal(b->bench.rig.asked_for_assignments, 1);
	push_at_once(b, 1, false);
	assert_int_equal(b->heard, 0);
	b->code = NULL;
	push_at_once(b, 1, true);
	assert_int_equal(b->bench.rig.told, 1);
	assert_true(b->bench.rig.guest->push.retry_at);
}

/* A guest without room for assignments still gets other messages. */
static void a_full_spool_holds_no_messages_back(void **state)
{
	struct pusher *b = *state;

	link_up(b);
	b->code = "Exhausted";
	push(b, 2, true);
	assert_int_equal(b->bench.rig.refused, 2);
	assert_int_equal(b->bench.rig.asked_for_texts, 1);
	push_at_once(b, 1, true);
	assert_int_equal(b->heard, 0);
	b->code = NULL;
	push_at_once(b, 3, false);
	assert_int_equal(b->bench.rig.told, 3);
	assert_true(b->bench.rig.guest->push.retry_at);
	push(b, 2, true);
	assert_int_equal(b->bench.rig.told, 2);
}

/* After the pause the host sends a single message, to learn whether the guest has room again. */
static void a_single_message_asks_for_room(void **state)
{
	struct pusher *b = *state;

	link_up(b);
	b->code = "Exhausted";
	push(b, 3, false);
	assert_int_equal(b->heard, 3);
	push(b, 3, false);
	assert_int_equal(b->heard, 1);
	b->code = NULL;
	push(b, 3, false);
	assert_int_equal(b->bench.rig.told, 3);
}

/* A guest may run an assignment as soon as the guest has received it. So the host records that
 * the assignment was offered before the host sends the assignment. If the guest has certainly
 * not accepted the assignment, the host records the refusal. */
static void what_may_run_is_written_down_before(void **state)
{
	struct pusher *b = *state;

	link_up(b);
	push(b, 2, true);
	assert_int_equal(b->heard, 2);
	assert_int_equal(b->offered_before, 2);
	assert_int_equal(b->bench.rig.told, 2);
	b->code = "Exhausted";
	push(b, 2, true);
	assert_int_equal(b->bench.rig.told, 0);
	assert_int_equal(b->bench.rig.refused, 2);
	/* After the code Unavailable the host cannot know whether the guest accepted the
	 * assignment. */
	b->code = "Unavailable";
	push(b, 2, true);
	assert_int_equal(b->bench.rig.told, 0);
	assert_int_equal(b->bench.rig.refused, 0);
}

static void what_is_not_answered_was_not_told(void **state)
{
	struct pusher *b = *state;

	link_up(b);
	b->leaves = true;
	push(b, 2, true);
	assert_int_equal(b->bench.rig.told, 0);
	assert_int_equal(b->bench.rig.refused, 0);
}

static void come_again(struct pusher *b, const char *boot)
{
	b->boot = boot;
	b->bench.rig.boot_noted[0] = '\0';
	rig_unlink(&b->bench.rig);
	for (int i = 0; i < STEPS; i++)
		rig_step(&b->bench.rig, false);
	b->bench.rig.pushes = 1;
	link_up(b);
}

/* A guest that connects again still knows the messages that it has received. A new guest knows
 * no messages, so the host sends all messages again, but only once. */
static void a_new_guest_is_told_all_again(void **state)
{
	struct pusher *b = *state;

	b->bench.rig.pushes = 1;
	link_up(b);
	assert_true(b->bench.rig.asked_again);
	assert_string_equal(b->bench.rig.boot_noted, "first");
	push(b, 1, false);
	assert_false(b->bench.rig.asked_again);
	come_again(b, "first");
	assert_false(b->bench.rig.asked_again);
	assert_string_equal(b->bench.rig.boot_noted, "");
	come_again(b, "second");
	assert_true(b->bench.rig.asked_again);
	assert_string_equal(b->bench.rig.boot_noted, "second");
	come_again(b, "second");
	assert_false(b->bench.rig.asked_again);
}

/* A guest counts as new until it has accepted all messages. At each new connection the host
 * sends all messages again to a new guest. */
static void a_new_guest_that_is_full_stays_new(void **state)
{
	struct pusher *b = *state;

	b->code = "Exhausted";
	b->bench.rig.pushes = 1;
	link_up(b);
	assert_string_equal(b->bench.rig.boot_noted, "");
	b->code = NULL;
	come_again(b, "first");
	assert_true(b->bench.rig.asked_again);
	assert_string_equal(b->bench.rig.boot_noted, "first");
}

/* The link breaks while a page is read, and then the read of the page fails. The failed page
 * belongs to the former link, so the new link gets the messages at once. */
static void a_failed_page_of_a_former_link_delays_nothing(void **state)
{
	struct pusher *b = *state;

	link_up(b);
	b->bench.rig.reads_held = true;
	b->bench.rig.pushes = 2;
	push_poke(b->bench.rig.guest);
	rig_unlink(&b->bench.rig);
	for (int i = 0; i < STEPS; i++)
		rig_step(&b->bench.rig, false);
	assert_true(rig_link(&b->bench.rig, patience_ms(PATIENCE_MS)));
	b->bench.rig.page_fault = FAULT_UNAVAILABLE;
	b->bench.rig.reads_held = false;
	settle(b);
	assert_int_equal(b->bench.rig.told, 2);
}

/* If a guest refuses a whole page of messages, the host pauses before the next page. */
static void a_refused_page_is_followed_by_a_pause(void **state)
{
	struct pusher *b = *state;

	link_up(b);
	b->code = "InvalidRequest";
	push(b, 250, false);
	assert_int_equal(b->heard, 100);
	assert_true(b->bench.rig.guest->push.retry_at);
	b->code = NULL;
	push(b, 150, false);
	assert_int_equal(b->bench.rig.told, 150);
}

/* A guest has no room for messages, and refuses assignments because its disk is full. The host
 * pauses after one page of refused assignments. */
static void a_full_guest_with_a_full_disk_is_left_in_peace(void **state)
{
	struct pusher *b = *state;

	link_up(b);
	b->code = "Exhausted";
	push(b, 2, false);
	assert_true(b->bench.rig.guest->push.no_texts);
	b->code = "Internal";
	b->endless = true;
	b->heard = 0;
	b->bench.rig.pushes = PAGE;
	b->bench.rig.unoffered = true;
	push_poke(b->bench.rig.guest);
	for (int i = 0; i < 10 * STEPS; i++)
		rig_step(&b->bench.rig, false);
	assert_int_equal(b->heard, PAGE);
	assert_true(b->bench.rig.guest->push.retry_at);
}

#define BENCH(test) cmocka_unit_test_setup_teardown(test, set_up, bench_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH(what_is_taken_was_told),
		BENCH(what_is_refused_was_not_told),
		BENCH(what_may_run_is_written_down_before),
		BENCH(what_is_not_answered_was_not_told),
		BENCH(a_full_guest_is_told_of_assignments),
		BENCH(a_full_spool_holds_no_messages_back),
		BENCH(a_single_message_asks_for_room),
		BENCH(a_new_guest_is_told_all_again),
		BENCH(a_new_guest_that_is_full_stays_new),
		BENCH(a_failed_page_of_a_former_link_delays_nothing),
		BENCH(a_refused_page_is_followed_by_a_pause),
		BENCH(a_full_guest_with_a_full_disk_is_left_in_peace),
	};

	alarm(120); /* a host without a pause would push for ever */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
