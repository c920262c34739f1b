/*
 * answer - a guest that answers whatever it likes.
 *
 * Every request that a host sends, answered by every type of the wire and by
 * nonsense, in both dialects and over every kind of link that needs no VM; and
 * answers that never end.  The host goes on, and whoever waits is told.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/host/answer.h"
#include "core/host/collect.h"
#include "core/host/push.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"
#include "tests/lib/rig.h"
#include "tests/lib/switch.h"

enum { PATIENCE_MS = 20000, STEPS = 40 };

struct scene {
	char base[64], guest[80], listen[160], dial[160];
	pid_t between;
	struct rig rig;
	const char *asked; /* the request that is answered wrongly */
	json_t *answer; /* by this, or ... */
	const char *raw; /* ... by these bytes; NULL: honestly */
	size_t raw_size;
	json_t *(*make)(struct scene *s); /* ... or by what this makes, each time */
	int answers, nth;
	bool mute; /* it does not even read */
};

static void on_request(void *arg, struct rig_peer *peer, json_t *request)
{
	struct scene *s = arg;
	const char *type = json_string_value(json_object_get(request, "type"));
	bool mine = s->asked && !strcmp(type, s->asked);

	if (mine)
		s->answers++;
	if (mine && s->raw)
		rig_say(peer, s->raw, s->raw_size);
	else if (mine && s->make)
		rig_reply(peer, s->make(s), request);
	else if (mine && s->answer)
		rig_reply(peer, json_deep_copy(s->answer), request);
	else if (wire_find(type)->senders & SIDE_HOST)
		rig_reply(peer, rig_honest(request), request);
}

/* --- links ------------------------------------------------------------------------------ */

static int free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	getsockname(fd, (struct sockaddr *)&at, &size);
	port = ntohs(at.sin_port);
	close(fd);
	return port;
}

static void place_unix(struct scene *s)
{
	snprintf(s->listen, sizeof(s->listen), "unix:%s", s->guest);
	snprintf(s->dial, sizeof(s->dial), "unix:%s", s->guest);
}

static void place_tcp(struct scene *s)
{
	snprintf(s->listen, sizeof(s->listen), "tcp:127.0.0.1:%d", free_port());
	memcpy(s->dial, s->listen, sizeof(s->dial));
}

static void place_hybrid(struct scene *s)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/v.sock", s->base);
	s->between = switch_vmm(path, s->guest);
	snprintf(s->listen, sizeof(s->listen), "unix:%s", s->guest);
	snprintf(s->dial, sizeof(s->dial), "hybrid:%s", path);
}

static void place_serial(struct scene *s)
{
	char host[100];

	snprintf(host, sizeof(host), "%s/qemu", s->base);
	mkdir(host, 0700);
	s->between = switch_qemu(host, s->guest);
	snprintf(s->listen, sizeof(s->listen), "serial:%s", s->guest);
	snprintf(s->dial, sizeof(s->dial), "serial:%s", host);
}

static struct scene *scene_open(void (*place)(struct scene *s), bool old)
{
	struct scene *s = test_calloc(1, sizeof(*s));
	bool there = false;

	assert_int_equal(temp_make(s->base, "answer"), 0);
	snprintf(s->guest, sizeof(s->guest), "%s/guest", s->base);
	mkdir(s->guest, 0700);
	/* A free port may be taken before it is listened at. */
	for (int i = 0; i < 20 && !there; i++) {
		place(s);
		there = rig_open(&s->rig, s->listen, s->dial, old, on_request, s);
		if (!there)
			rig_close(&s->rig);
	}
	assert_true(there);
	assert_true(rig_link(&s->rig, PATIENCE_MS));
	return s;
}

static void scene_close(struct scene *s)
{
	rig_close(&s->rig);
	if (s->between > 0)
		child_end(s->between, 10000);
	temp_remove(s->base);
	test_free(s);
}

/* --- every question, every answer --------------------------------------------------------- */

static const struct question {
	const char *type, *op, *args; /* op NULL: the host asks by itself */
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
	"", "null", "[]", "{", "5", "{\"type\":5}", "{\"type\":null,\"id\":1}",
	"{\"type\":\"Nonsense\"}", "{\"type\":\"Pong\"}", "{\"type\":\"Error\"}",
	"{\"type\":\"Error\",\"code\":5,\"message\":[]}",
	"{\"type\":\"ExecResult\",\"exit_code\":1e999}",
	"{\"type\":\"ExecResult\",\"exit_code\":99999999999999999999}",
	"{\"type\":\"FileContent\",\"content\":\"\\u0000\",\"size\":-1}",
	"{\"type\":\"DaemonResults\",\"results\":{},\"pending_tasks\":-1.5}",
	"{\"type\":\"Ok\",\"id\":18446744073709551615}",
};

static int n_told; /* callers */

static void end_pending(struct scene *s)
{
	json_t *answer;

	rig_unlink(&s->rig);
	while ((answer = rig_answer(&s->rig)))
		json_decref(answer);
}

/* The host asks by itself; what it does with the answer is seen by its going on. */
static void provoke(struct scene *s, const char *type)
{
	struct tether *t = s->rig.tether;

	s->rig.pushes = 1;
	if (!strcmp(type, "PollDaemonResults"))
		collect_poke(t);
	else if (!strcmp(type, "TeamMessage"))
		push_poke(t);
	else if (!strcmp(type, "Ping"))
		t->control.heard_at = t->relay.heard_at = 1;
	else
		rig_unlink(&s->rig);
	t->dial_at = 0;
	for (int i = 0; i < STEPS; i++) {
		tethers_tick(&s->rig.host);
		rig_step(&s->rig, false);
	}
	/* What still waits would hold up the next question. */
	if (t->control.asked || t->relay.asked)
		end_pending(s);
}

static void expect_told(const struct question *q, const char *with, bool right,
			json_t *answer)
{
	const char *type = json_string_value(json_object_get(answer, "type"));
	const char *code = json_string_value(json_object_get(answer, "code"));

	if (!answer)
		fail_msg("%s answered with %s: the caller is told nothing", q->type, with);
	n_told++;
	if (right ? strcmp(type, "CallResult") && strcmp(code, "IoError")
		  : !code || (strcmp(code, "IoError") && strcmp(code, "Internal") &&
			      strcmp(code, "Unavailable")))
		fail_msg("%s answered with %s: %s", q->type, with, json_dumps(answer, 0));
	json_decref(answer);
}

/* The answer to a call; where none can come, only some steps are waited. */
static json_t *wait_for(struct scene *s, bool sure)
{
	int64_t until = tick_ms() + PATIENCE_MS;
	json_t *answer = NULL;

	s->answers = 0;
	for (int i = 0; tick_ms() < until && (sure || i < STEPS); i += s->answers > 0) {
		rig_step(&s->rig, s->between > 0);
		if ((answer = rig_answer(&s->rig)))
			break;
	}
	return answer;
}

static void ask_one(struct scene *s, const struct question *q, const char *with)
{
	const struct wire *came = wire_find(with), *asked = wire_find(q->type);
	/* A request of the guest's own answers nothing, nor does what has no id. */
	bool sure = came && (!came->ports || !strcmp(with, "Hello"));
	json_t *answer;

	if (!s->rig.tether->up) {
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
			expect_told(q, with, came == wire_answer(asked, SIDE_HOST),
				    answer);
		else
			end_pending(s);
	}
	s->asked = NULL;
}

static void ask_all(void (*place)(struct scene *s), bool old)
{
	struct scene *s = scene_open(place, old);

	for (int q = 0; q < QUESTIONS; q++) {
		for (size_t i = 0; i < wire_count; i++) {
			s->answer = rig_brim(&wire_table[i]);
			ask_one(s, &questions[q], wire_table[i].name);
			json_decref(s->answer);
		}
		s->answer = NULL;
		for (size_t i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++) {
			s->raw = nonsense[i];
			s->raw_size = strlen(nonsense[i]);
			ask_one(s, &questions[q], "Nonsense");
		}
		s->raw = NULL;
	}
	scene_close(s);
}

static void test_unix(void **state)
{
	(void)state;
	ask_all(place_unix, false);
	ask_all(place_unix, true);
}

static void test_tcp(void **state)
{
	(void)state;
	ask_all(place_tcp, false);
	ask_all(place_tcp, true);
}

static void test_hybrid(void **state)
{
	(void)state;
	ask_all(place_hybrid, false);
	ask_all(place_hybrid, true);
}

static void test_serial(void **state)
{
	(void)state;
	ask_all(place_serial, false);
	ask_all(place_serial, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unix),
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_serial),
	};

	signal(SIGPIPE, SIG_IGN);
	child_adopt();
	return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
