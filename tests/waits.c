/*
 * waits - a call that waits at a host is answered as soon as the awaited event occurs. Other
 * waiting calls are not disturbed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/home/home.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"
#include "tests/lib/raw.h"

enum {
	ANSWER_MS = 60000, /* time limit of an answer, far below WAIT_S */
	WAIT_S = 300, /* seconds that the calls ask to wait */
	WAITING = 7, /* id of the waiting call */
};

struct scene {
	char base[64], home[100], log[100];
	struct home found;
	pid_t host;
	struct raw ann, bob;
};

static json_t *ask(struct raw *r, const char *op, json_t *args)
{
	static int id = 100;
	json_t *answer = raw_ask(r, raw_call(++id, op, args), ANSWER_MS);

	if (!json_object_get(answer, "result"))
		fail_msg("%s: %s", op, answer ? json_dumps(answer, 0) : "no answer");
	return answer;
}

static void do_it(struct raw *r, const char *op, json_t *args)
{
	json_decref(ask(r, op, args));
}

static void dial(struct scene *s, struct raw *r, const char *agent)
{
	json_t *hello;

	assert_true(raw_dial(r, s->found.socket));
	assert_true(raw_say(r, raw_hello("crew", agent)));
	hello = raw_hear(r, ANSWER_MS);
	assert_non_null(hello);
	json_decref(hello);
}

static int set_up(void **state)
{
	struct scene *s = test_calloc(1, sizeof(*s));
	struct fault f = { 0 };
	struct raw operator;
	char path[100];

	assert_int_equal(temp_make(s->base, "waits"), 0);
	snprintf(s->home, sizeof(s->home), "%s/state", s->base);
	snprintf(s->log, sizeof(s->log), "%s/log", s->base);
	snprintf(path, sizeof(path), "%s/runtime", s->base);
	mkdir(path, 0700);
	setenv("XDG_RUNTIME_DIR", path, 1);
	assert_int_equal(home_find(&s->found, s->home, HOME_MAKE, &f), 0);
	s->host = host_start(s->home, NULL, s->log, ANSWER_MS);
	assert_true(s->host > 0);
	dial(s, &operator, NULL);
	do_it(&operator, "team.create",
	      json_pack("{sss[{ss}{ss}{ss}]}", "name", "crew", "roles", "name", "ann",
			"name", "bob", "name", "cyd"));
	raw_hang_up(&operator);
	dial(s, &s->ann, "ann");
	dial(s, &s->bob, "bob");
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	raw_hang_up(&s->ann);
	raw_hang_up(&s->bob);
	child_end(s->host, ANSWER_MS);
	child_end_all();
	temp_remove(s->base);
	test_free(s);
	return 0;
}

/* As the agent ann, makes a call that must wait. The answer to a later call on the same
 * connection shows that the host has run the waiting call once. */
static void wait_for(struct scene *s, const char *op, json_t *args)
{
	json_t *answer;

	assert_true(raw_say(&s->ann, raw_call(WAITING, op, args)));
	assert_true(raw_say(&s->ann, raw_call(1, "agent.heartbeat", json_object())));
	answer = raw_hear(&s->ann, ANSWER_MS);
	if (json_integer_value(json_object_get(answer, "id")) != 1)
		fail_msg("%s did not wait: %s", op, json_dumps(answer, 0));
	json_decref(answer);
}

/* Returns the member `name` of ann's next answer, as text. */
static char *told(struct scene *s, const char *name)
{
	json_t *answer = raw_hear(&s->ann, ANSWER_MS), *value;
	char *text;

	if (!answer)
		fail_msg("it still waits");
	assert_int_equal(json_integer_value(json_object_get(answer, "id")), WAITING);
	value = json_object_get(json_object_get(answer, "result"), name);
	text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : strdup("");
	json_decref(answer);
	return text;
}

static void assert_told(struct scene *s, const char *name, const char *what)
{
	char *text = told(s, name);

	if (!strstr(text, what))
		fail_msg("%s is not in %s", what, text);
	free(text);
}

static json_t *message(const char *to, const char *content)
{
	return json_pack("{ssss}", "to", to, "content", content);
}

static void a_message_wakes_its_receiver(void **state)
{
	struct scene *s = *state;

	wait_for(s, "message.receive", json_pack("{si}", "wait_seconds", WAIT_S));
	do_it(&s->bob, "message.send", message("ann", "wake up"));
	assert_told(s, "messages", "wake up");
	/* Repeats the case often, so that some messages arrive just while the host makes the
	 * call a waiting call. */
	for (int i = 0; i < 50; i++) {
		assert_true(raw_say(&s->ann,
				    raw_call(WAITING, "message.receive",
					     json_pack("{si}", "wait_seconds", WAIT_S))));
		do_it(&s->bob, "message.send", message("ann", "again"));
		assert_told(s, "messages", "again");
	}
}

static void a_task_wakes_who_would_claim_it(void **state)
{
	struct scene *s = *state;

	wait_for(s, "task.claim", json_pack("{si}", "wait_seconds", WAIT_S));
	do_it(&s->bob, "task.create", json_pack("{ss}", "title", "work"));
	assert_told(s, "epoch", "1");
	do_it(&s->ann, "task.complete", json_pack("{ss}", "task", "001"));
	/* A task that becomes ready wakes the waiting call, and so does a released task. */
	do_it(&s->bob, "task.create", json_pack("{ss}", "title", "first"));
	do_it(&s->bob, "task.create",
	      json_pack("{sss[s]}", "title", "second", "depends_on", "002"));
	do_it(&s->bob, "task.claim", json_object());
	wait_for(s, "task.claim", json_pack("{si}", "wait_seconds", WAIT_S));
	do_it(&s->bob, "task.complete", json_pack("{ss}", "task", "002"));
	assert_told(s, "task", "second");
	wait_for(s, "task.claim", json_pack("{si}", "wait_seconds", WAIT_S));
	do_it(&s->ann, "task.release", json_pack("{ss}", "task", "003"));
	assert_told(s, "task", "second");
}

/* As ann, asks bob, and waits for the answer. Returns the message that bob receives. */
static json_t *ask_bob(struct scene *s, const char *content)
{
	json_t *inbox, *asked;

	wait_for(s, "message.send",
		 json_pack("{sssssbsi}", "to", "bob", "content", content,
			   "wait_for_reply", 1, "timeout_seconds", WAIT_S));
	inbox = ask(&s->bob, "message.receive", json_object());
	asked = json_array_get(
		json_object_get(json_object_get(inbox, "result"), "messages"), 0);
	json_incref(asked);
	json_decref(inbox);
	return asked;
}

static void reply_to(struct scene *s, const json_t *asked, const char *content)
{
	do_it(&s->bob, "message.reply",
	      json_pack("{sOss}", "message_id", json_object_get(asked, "message_id"),
			"content", content));
}

/* A reply ends the wait, and so does a message without `reply_to` from the agent that was
 * asked. A message from another agent and a reply to another message do not end the wait. */
static void a_reply_wakes_who_asked(void **state)
{
	struct scene *s = *state;
	json_t *why = ask_bob(s, "why"), *how;
	struct raw cyd;

	dial(s, &cyd, "cyd");
	do_it(&cyd, "message.send", message("ann", "by the way"));
	reply_to(s, why, "because");
	assert_told(s, "reply", "because");
	how = ask_bob(s, "how");
	do_it(&cyd, "message.send", message("ann", "by the way"));
	reply_to(s, why, "once more");
	do_it(&s->bob, "message.send", message("ann", "like this"));
	assert_told(s, "reply", "like this");
	json_decref(why);
	json_decref(how);
	raw_hang_up(&cyd);
}

/* Ann receives a message by a call that promises to confirm the answer. Ann does not confirm
 * the answer, and another call of ann waits. */
static void receive_unconfirmed(struct scene *s, struct raw *r)
{
	json_t *call = raw_call(WAITING, "message.receive",
				json_pack("{ss}", "request_id", "r")),
	       *answer;

	do_it(&s->bob, "message.send", message("ann", "for you"));
	dial(s, r, "ann");
	json_object_set_new(call, "confirms", json_true());
	answer = raw_ask(r, call, ANSWER_MS);
	assert_non_null(json_object_get(answer, "result"));
	json_decref(answer);
	wait_for(s, "message.receive", json_pack("{si}", "wait_seconds", WAIT_S));
}

/* If the caller disconnects without confirming the answer, the waiting call gets the message.
 * The message has attempt 2, since the first caller may have read the message. */
static void an_answer_that_may_have_arrived_wakes_another(void **state)
{
	struct scene *s = *state;
	struct raw first;

	receive_unconfirmed(s, &first);
	raw_hang_up(&first);
	assert_told(s, "messages", "\"attempt\":2");
}

/* If the caller reports the answer as lost, the waiting call gets the message as attempt 1. */
static void an_answer_that_is_lost_wakes_another(void **state)
{
	struct scene *s = *state;
	struct raw first;

	receive_unconfirmed(s, &first);
	assert_true(
		raw_say(&first, json_pack("{ssss}", "type", "Cancel", "request", "7")));
	assert_told(s, "messages", "\"attempt\":1");
	raw_hang_up(&first);
}

/* A wait ends with an empty answer when its time is over. */
static void a_wait_has_an_end(void **state)
{
	struct scene *s = *state;

	wait_for(s, "message.receive", json_pack("{si}", "wait_seconds", 1));
	assert_told(s, "count", "0");
}

int main(void)
{
#define SCENE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		SCENE(a_message_wakes_its_receiver),
		SCENE(a_task_wakes_who_would_claim_it),
		SCENE(a_reply_wakes_who_asked),
		SCENE(an_answer_that_may_have_arrived_wakes_another),
		SCENE(an_answer_that_is_lost_wakes_another),
		SCENE(a_wait_has_an_end),
	};

	child_adopt();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
