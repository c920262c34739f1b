/*
 * answer - a guest that gives wrong answers of every kind.
 *
 * The guest answers each request of the host with every message type of the wire and with
 * nonsense. The tests run in both dialects and over every kind of link that needs no VM. Other
 * tests send answers that never end. The host must go on running, and each waiting caller must
 * get an answer or an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/host/guests/hosted_daemon.h"
#include "core/host/guests/hosted_push.h"
#include "tests/answer/cases.h"
#include "tests/answer/scene.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"

enum { STEPS = 40 };

static const struct question {
	const char *type, *op, *args; /* op is NULL for a request without a caller */
} questions[] = {
	{ "Exec", "workspace.exec", "{\"workspace\":\"w\",\"command\":\"x\"}" },
	{ "ExecBackground", "workspace.exec_background",
	  "{\"workspace\":\"w\",\"command\":\"x\"}" },
	{ "ExecKill", "workspace.exec_kill", "{\"workspace\":\"w\",\"job_id\":1}" },
	{ "ExecPoll", "workspace.exec_poll", "{\"workspace\":\"w\",\"job_id\":1}" },
	{ "EditFile", "workspace.file_edit",
	  "{\"workspace\":\"w\",\"path\":\"p\",\"old_string\":\"a\",\"new_string\":\"b\"}" },
	{ "FileRead", "workspace.file_read", "{\"workspace\":\"w\",\"path\":\"p\"}" },
	{ "FileWrite", "workspace.file_write",
	  "{\"workspace\":\"w\",\"path\":\"p\",\"content\":\"QQ==\"}" },
	{ "ListDir", "workspace.list_dir", "{\"workspace\":\"w\"}" },
	{ "SetEnv", "workspace.set_env", "{\"workspace\":\"w\",\"vars\":{\"A\":\"b\"}}" },
	{ "Hello", NULL, NULL },
	{ "Ping", NULL, NULL },
	{ "PollDaemonResults", NULL, NULL },
	{ "TeamMessage", NULL, NULL },
};

enum { QUESTIONS = sizeof(questions) / sizeof(*questions) };

static const char *const nonsense[] = {
	"",
	"null",
	"[]",
	"{",
	"5",
	"{\"type\":5}",
	"{\"type\":null,\"id\":1}",
	"{\"type\":\"Nonsense\"}",
	"{\"type\":\"Pong\"}",
	"{\"type\":\"Error\"}",
	"{\"type\":\"Error\",\"code\":5,\"message\":[]}",
	"{\"type\":\"ExecResult\",\"exit_code\":1e999}",
	"{\"type\":\"ExecResult\",\"exit_code\":99999999999999999999}",
	"{\"type\":\"FileContent\",\"content\":\"\\u0000\",\"size\":-1}",
	"{\"type\":\"DaemonResults\",\"results\":{},\"pending_tasks\":-1.5}",
	"{\"type\":\"Ok\",\"id\":18446744073709551615}",
};

static int n_told; /* callers that got an answer so far */

static void end_pending(struct scene *s)
{
	json_t *answer;

	rig_unlink(&s->rig);
	while ((answer = rig_answer(&s->rig)))
		json_decref(answer);
}

/* Makes the host send a request for which no caller waits. Runs STEPS steps of the loop, so
 * that the guest can answer the request. */
static void provoke(struct scene *s, const char *type)
{
	struct hosted_guest *t = s->rig.guest;

	s->rig.pushes = 1;
	futile_end(&t->daemon.futile); /* ends the pause that earlier answers caused */
	if (!strcmp(type, "PollDaemonResults"))
		collect_poke(t, true);
	else if (!strcmp(type, "TeamMessage"))
		push_poke(t);
	else if (!strcmp(type, "Ping"))
		t->control.heard_at = t->relay.heard_at = 1;
	else
		rig_unlink(&s->rig);
	t->dial_at = 0;
	for (int i = 0; i < STEPS; i++) {
		hosted_guests_tick(&s->rig.host);
		rig_step(&s->rig, false);
	}
	/* A request that still waits for its answer would delay the next request. */
	if (t->control.asked || t->relay.asked)
		end_pending(s);
}

static void expect_told(const struct question *q, const char *with, bool right,
			json_t *answer)
{
	const char *type = json_string_value(json_object_get(answer, "type"));
	const char *code = json_string_value(json_object_get(answer, "code"));

	if (!answer)
		fail_msg("%s answered with %s: the caller is told nothing", q->type,
			 with);
	n_told++;
	if (right ? strcmp(type, "CallResult") && strcmp(code, "IoError")
		  : !code || (strcmp(code, "IoError") && strcmp(code, "Internal") &&
			      strcmp(code, "Unavailable")))
		fail_msg("%s answered with %s: %s", q->type, with, json_dumps(answer, 0));
	json_decref(answer);
}

/* Returns the answer to a call. Waits for only a few steps if the answer may never come
 * (!sure). */
static json_t *wait_for(struct scene *s, bool sure)
{
	int64_t until = clock_steady_ms() + PATIENCE_MS;
	json_t *answer = NULL;

	s->answers = 0;
	for (int i = 0; clock_steady_ms() < until && (sure || i < STEPS);
	     i += s->answers > 0) {
		rig_step(&s->rig, s->between > 0);
		if ((answer = rig_answer(&s->rig)))
			break;
	}
	return answer;
}

static void ask_one(struct scene *s, const struct question *q, const char *with)
{
	const struct wire *came = wire_find(with), *asked = wire_find(q->type);
	bool sure = came != NULL; /* the host may ignore a nonsense message */
	bool right = came == wire_answer(asked, SIDE_HOST) || s->honest_too;
	json_t *answer;

	if (!s->rig.guest->up) {
		s->asked = NULL;
		assert_true(rig_link(&s->rig, PATIENCE_MS));
	}
	s->asked = q->type;
	if (!q->op) {
		provoke(s, q->type);
	} else {
		assert_true(rig_call(&s->rig, q->op, json_loads(q->args, 0, NULL)));
		answer = wait_for(s, sure);
		if (answer || sure)
			expect_told(q, with, right, answer);
		else
			end_pending(s);
	}
	s->asked = NULL;
}

static void ask_all(void (*place)(struct scene *s), bool old, int last)
{
	struct scene *s = scene_open(place, old);

	for (int q = 0; q < last; q++) {
		for (size_t i = 0; i < wire_count; i++) {
			s->answer = rig_brim(&wire_table[i]);
			s->honest_too = wire_table[i].ports &&
					strcmp(wire_table[i].name, "Hello") != 0;
			ask_one(s, &questions[q], wire_table[i].name);
			json_decref(s->answer);
		}
		s->answer = NULL;
		s->honest_too = false;
		for (size_t i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++) {
			s->raw = nonsense[i];
			s->raw_size = strlen(nonsense[i]);
			ask_one(s, &questions[q], "Nonsense");
		}
		s->raw = NULL;
		s->honest_too = false;
	}
	scene_close(s);
}

/* In the older dialect each wrong answer ends the link. Hybrid and serial links are slow to
 * connect again, so they are tested in this dialect with only one type of request. */
static void test_unix(void **state)
{
	(void)state;
	ask_all(place_unix, false, QUESTIONS);
	ask_all(place_unix, true, QUESTIONS);
}

static void test_tcp(void **state)
{
	(void)state;
	ask_all(place_tcp, false, QUESTIONS);
	ask_all(place_tcp, true, QUESTIONS);
}

static void test_hybrid(void **state)
{
	(void)state;
	ask_all(place_hybrid, false, QUESTIONS);
	ask_all(place_hybrid, true, 1);
}

static void test_serial(void **state)
{
	(void)state;
	ask_all(place_serial, false, QUESTIONS);
	ask_all(place_serial, true, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unix),           cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_hybrid),         cmocka_unit_test(test_serial),
		cmocka_unit_test(test_endless),        cmocka_unit_test(test_gone),
		cmocka_unit_test(test_endless_result), cmocka_unit_test(test_wide),
		cmocka_unit_test(test_unread),         cmocka_unit_test(test_lies),
		cmocka_unit_test(test_bad_result),     cmocka_unit_test(test_futile),
		cmocka_unit_test(test_unread_long),    cmocka_unit_test(test_unread_all),
		cmocka_unit_test(test_refused),        cmocka_unit_test(test_chatter),
		cmocka_unit_test(test_long_line),      cmocka_unit_test(test_end_in_line),
		cmocka_unit_test(test_short_line),
	};

	signal(SIGPIPE, SIG_IGN);
	child_adopt();
	return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
