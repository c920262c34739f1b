/*
 * answer - a guest that answers whatever it likes.
 *
 * Every request that a host sends, answered by every type of the wire and by
 * nonsense, in both dialects and over every kind of link that needs no VM; and
 * answers that never end.  The host goes on, and whoever waits is told.
 */
#include <setjmp.h>
#include <errno.h>
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
	bool honest_too; /* and then as it should */
};

static void on_request(void *arg, struct rig_peer *peer, json_t *request)
{
	struct scene *s = arg;
	const char *type = json_string_value(json_object_get(request, "type"));
	bool mine = s->asked && !strcmp(type, s->asked);

	if (mine)
		s->answers++;
	s->rig.acked += (int)json_array_size(json_object_get(request, "ack"));
	if (mine && s->raw)
		rig_say(peer, s->raw, s->raw_size);
	else if (mine && s->make)
		rig_reply(peer, s->make(s), request);
	else if (mine && s->answer)
		rig_reply(peer, json_deep_copy(s->answer), request);
	/* A request of the guest's own is no answer: the honest one follows. */
	if (mine && (s->raw || s->make || (s->answer && !s->honest_too)))
		return;
	if (wire_find(type)->senders & SIDE_HOST)
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
	futile_end(&t->daemon.futile); /* what was answered before is forgotten */
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
		fail_msg("%s answered with %s: the caller is told nothing", q->type,
			 with);
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
	bool sure = came != NULL; /* what has no id may answer nothing */
	bool right = came == wire_answer(asked, SIDE_HOST) || s->honest_too;
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

/* In the older dialect each wrong answer ends the link: where that is slow to come
 * again, one question is enough. */
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

/* --- answers without an end ------------------------------------------------------------ */

static long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Asks while the guest answers with what `make` makes. */
static json_t *ask_made(struct scene *s, const char *op, const char *args,
			const char *type, json_t *(*make)(struct scene *s))
{
	json_t *answer;

	s->asked = type;
	s->make = make;
	s->answers = s->nth = 0;
	answer = rig_ask(&s->rig, op, json_loads(args, 0, NULL), PATIENCE_MS);
	if (!answer)
		fail_msg("%s: no end after %d parts", op, s->answers);
	s->make = NULL;
	return answer;
}

static void expect_refused(json_t *answer, const char *why)
{
	const char *text = json_string_value(json_object_get(answer, "message"));

	assert_string_equal(json_string_value(json_object_get(answer, "code")),
			    "IoError");
	if (!strstr(text, why))
		fail_msg("'%s' does not say '%s'", text, why);
	json_decref(answer);
}

static const char exec[] = "{\"workspace\":\"w\",\"command\":\"x\"}";
static const char list[] = "{\"workspace\":\"w\"}";

static json_t *make_output(struct scene *s, const char *text)
{
	const char *type = strcmp(s->asked, "Exec") ? "BackgroundStatus" : "ExecResult";
	json_t *m = json_pack("{sssssssbsisisb}", "type", type, "stdout", text, "stderr",
			      "", "more", 1, "job_id", 1, "exit_code", 0, "running", 1);

	s->asked = NULL; /* what follows is asked under another type */
	return m;
}

static json_t *make_small(struct scene *s)
{
	json_t *m = make_output(s, "z");

	s->asked = "ExecPoll";
	return m;
}

static json_t *make_empty(struct scene *s)
{
	json_t *m = make_output(s, "");

	s->asked = "ExecPoll";
	return m;
}

static json_t *make_names(struct scene *s)
{
	json_t *entries = json_array();
	char name[220];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%08d%0200d", s->nth++, 0);
		json_array_append_new(entries,
				      json_pack("{sssssisssi}", "name", name, "kind",
						"file", "size", 1, "permissions",
						"rw-r--r--", "modified", 1));
	}
	return json_pack("{sssosb}", "type", "DirListing", "entries", entries, "more", 1);
}

static json_t *make_names_again(struct scene *s)
{
	s->nth = 0;
	return make_names(s);
}

static json_t *make_lie(struct scene *s)
{
	(void)s;
	return json_pack("{sssssisb}", "type", "FileContent", "content", "QUJD", "size",
			 2000000000, "more", 1);
}

static json_t *make_longer(struct scene *s)
{
	(void)s;
	return json_pack("{sssssi}", "type", "FileContent", "content", "QUJD", "size", 3);
}

static void test_endless(void **state)
{
	struct scene *s = scene_open(place_unix, false);
	json_t *answer;
	long before = peak_kib();

	(void)state;
	expect_refused(ask_made(s, "workspace.exec", exec, "Exec", make_small),
		       "more than 64 parts");
	assert_int_equal(s->answers, ANSWER_PARTS_MOST + 1);
	expect_refused(ask_made(s, "workspace.exec", exec, "Exec", make_empty),
		       "sends nothing");
	expect_refused(ask_made(s, "workspace.list_dir", list, "ListDir",
				make_names_again),
		       "that it has listed");
	answer = ask_made(s, "workspace.list_dir", list, "ListDir", make_names);
	assert_true(
		json_is_true(json_object_get(json_object_get(answer, "result"), "more")));
	json_decref(answer);
	expect_refused(ask_made(s, "workspace.file_read",
				"{\"workspace\":\"w\",\"path\":\"p\"}", "FileRead",
				make_lie),
		       "says 2000000000 bytes and sends 3");
	expect_refused(ask_made(s, "workspace.file_read",
				"{\"workspace\":\"w\",\"path\":\"p\",\"length\":2}",
				"FileRead", make_longer),
		       "sends 3 bytes of the 2");
	if (peak_kib() - before > 256 << 10)
		fail_msg("%ld KiB for answers of 4 MiB", peak_kib() - before);
	assert_true(s->rig.tether->up);
	scene_close(s);
}

static const struct {
	const char *type, *op, *args, *answer, *why;
} lies[] = {
	{ "FileRead", "workspace.file_read", "{\"workspace\":\"w\",\"path\":\"p\"}",
	  "{\"type\":\"FileContent\",\"content\":\"!!!!\",\"size\":3}", "no base64" },
	{ "FileRead", "workspace.file_read", "{\"workspace\":\"w\",\"path\":\"p\"}",
	  "{\"type\":\"FileContent\",\"content\":\"\",\"size\":0,"
	  "\"more\":true}",
	  "sends nothing" },
	{ "ListDir", "workspace.list_dir", list,
	  "{\"type\":\"DirListing\",\"entries\":[{\"name\":\"..\",\"kind\":"
	  "\"dir\",\"size\":1,\"permissions\":\"r\"}]}",
	  "no entry" },
	{ "ListDir", "workspace.list_dir", list,
	  "{\"type\":\"DirListing\",\"entries\":[{\"name\":\"a\",\"kind\":"
	  "\"file\",\"size\":-1,\"permissions\":\"r\"}]}",
	  "no entry" },
	{ "ListDir", "workspace.list_dir", list,
	  "{\"type\":\"DirListing\",\"entries\":[{\"name\":\"a\",\"kind\":"
	  "\"other\",\"size\":1,\"permissions\":\"r\"}]}",
	  "no entry" },
	{ "Exec", "workspace.exec", exec,
	  "{\"type\":\"ExecResult\",\"exit_code\":0,\"stdout\":\"abc\","
	  "\"stderr\":\"\",\"stdout_size\":9223372036854775807}",
	  "3 bytes of output are 9223372036854775807" },
	{ "Exec", "workspace.exec", exec,
	  "{\"type\":\"ExecResult\",\"exit_code\":0,\"stdout\":\"\","
	  "\"stderr\":\"abc\",\"stderr_size\":2}",
	  "3 bytes of output are 2" },
	{ "Exec", "workspace.exec", exec,
	  "{\"type\":\"ExecResult\",\"exit_code\":0,\"stdout\":\"abc\","
	  "\"stderr\":\"\",\"stdout_size\":-1}",
	  "3 bytes of output are -1" },
	{ "Exec", "workspace.exec", exec,
	  "{\"type\":\"ExecResult\",\"exit_code\":4294967296,\"stdout\":\"\","
	  "\"stderr\":\"\"}",
	  "ended with 4294967296" },
	{ "ExecBackground", "workspace.exec_background", exec,
	  "{\"type\":\"BackgroundStarted\",\"job_id\":2147483648}", "job" },
	{ "SetEnv", "workspace.set_env", "{\"workspace\":\"w\",\"vars\":{\"A\":\"b\"}}",
	  "{\"type\":\"SetEnvResult\",\"count\":-1}", "variables" },
};

/* Well-formed answers that cannot be true are not passed on. */
static void test_lies(void **state)
{
	struct scene *s = scene_open(place_unix, false);

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		s->answer = json_loads(lies[i].answer, 0, NULL);
		expect_refused(ask_made(s, lies[i].op, lies[i].args, lies[i].type, NULL),
			       lies[i].why);
		json_decref(s->answer);
	}
	s->answer = NULL;
	scene_close(s);
}

/* A caller that has gone is not asked for: its command's output stays there. */
static json_t *make_and_leave(struct scene *s)
{
	if (s->answers == 3)
		rig_forsake(&s->rig);
	return make_small(s);
}

static void test_gone(void **state)
{
	struct scene *s = scene_open(place_unix, false);

	(void)state;
	s->asked = "Exec";
	s->make = make_and_leave;
	assert_true(rig_call(&s->rig, "workspace.exec", json_loads(exec, 0, NULL)));
	for (int i = 0; i < 200; i++)
		rig_step(&s->rig, true);
	assert_int_equal(s->answers, 3);
	assert_int_equal(s->rig.conn.n_jobs, 0);
	scene_close(s);
}

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

/* The first part is good, the answer to the next question is of another type. */
static json_t *make_other_type(struct scene *s)
{
	return s->nth++ ? json_pack("{ss}", "type", "Pong") : make_part(s);
}

/* Waits until no question is under way. */
static void wait_polled(struct scene *s)
{
	for (int64_t until = tick_ms() + PATIENCE_MS;
	     s->rig.tether->daemon.polling && tick_ms() < until;)
		rig_step(&s->rig, true);
	assert_false(s->rig.tether->daemon.polling);
}

/* A result in parts without an end, of another result, or of another type, is stored as
 * a failure that says why: it does not come again, and stands in the way of no other. */
static void test_endless_result(void **state)
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
	wait_polled(s); /* as it does when it has come */
	for (int i = 0; i < 3; i++) {
		s->asked = "PollDaemonResults";
		s->make = cases[i].make;
		s->answers = s->nth = s->rig.stored = s->rig.failures = 0;
		collect_poke(s->rig.tether, true);
		for (int64_t until = tick_ms() + PATIENCE_MS;
		     !s->rig.stored && tick_ms() < until;)
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

/* Bad ones between good ones: without an id, with one, and of another type. */
static json_t *make_mixed(struct scene *s)
{
	json_t *page = json_array(), *bad = good_result("bad");

	s->make = NULL; /* once */
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

/* Whatever else a page holds, its good results are stored, each bad one that says to
 * which assignment it belongs ends that, and none comes again. */
static void test_bad_result(void **state)
{
	struct scene *s = scene_open(place_unix, false);

	(void)state;
	wait_polled(s);
	s->asked = "PollDaemonResults";
	s->make = make_mixed;
	collect_poke(s->rig.tether, true);
	for (int64_t until = tick_ms() + PATIENCE_MS;
	     s->rig.acked < 4 && tick_ms() < until;)
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

/* How often the host asks while the guest says all the time that it has results. */
static int count_polls(struct scene *s, json_t *(*make)(struct scene *s))
{
	static const char beat[] = "{\"type\":\"Heartbeat\",\"results\":5}";
	struct tether *t = s->rig.tether;
	struct rig_peer *p = s->rig.peers;

	while (p->port != LINK_CONTROL)
		p = p->next;
	futile_end(&t->daemon.futile);
	s->asked = "PollDaemonResults";
	s->make = make;
	s->answers = 0;
	for (int i = 0; i < 400; i++) {
		rig_say(p, beat, sizeof(beat) - 1);
		tethers_tick(&s->rig.host);
		rig_step(&s->rig, false);
	}
	return s->answers;
}

/* The pauses between questions that bring nothing get longer, and end when one
 * brings something. */
static void test_futile(void **state)
{
	static json_t *(*const made[])(struct scene *) = { make_strays, make_none,
							   make_error };
	struct scene *s = scene_open(place_unix, false);
	struct tether *t = s->rig.tether;

	(void)state;
	wait_polled(s);
	s->rig.strays = true;
	for (int i = 0; i < 3; i++) {
		/* One question now; a slow machine may come to the next ones. */
		assert_in_range(count_polls(s, made[i]), 1, 4);
		assert_true(t->daemon.futile.ms >= FUTILE_FIRST_MS);
	}
	assert_true(t->up);
	s->rig.strays = false;
	t->daemon.futile.until = 0; /* the pause is over */
	t->daemon.futile.ms = FUTILE_MOST_MS;
	s->make = make_mixed;
	for (int64_t until = tick_ms() + PATIENCE_MS; s->make && tick_ms() < until;) {
		tethers_tick(&s->rig.host);
		rig_step(&s->rig, true);
	}
	wait_polled(s);
	assert_int_equal(t->daemon.futile.ms, 0);
	scene_close(s);
}

static json_t *make_refusal(struct scene *s)
{
	s->rig.pushes = 100; /* and so it is with the next page */
	return json_pack("{ssssss}", "type", "Error", "code", "InvalidRequest", "message",
			 "no");
}

/* A guest that refuses whole pages of messages is not told them all the time. */
static void test_refused(void **state)
{
	struct scene *s = scene_open(place_unix, false);

	(void)state;
	while (s->rig.tether->push.reading)
		rig_step(&s->rig, true);
	s->asked = "TeamMessage";
	s->make = make_refusal;
	s->rig.pushes = 100;
	push_poke(s->rig.tether);
	for (int i = 0; i < 400; i++) {
		tethers_tick(&s->rig.host);
		rig_step(&s->rig, false);
	}
	assert_in_range(s->answers, 100, 300);
	assert_true(s->rig.tether->up);
	scene_close(s);
}

/* A frame full of the smallest values is not even parsed. */
static void test_wide(void **state)
{
	struct scene *s = scene_open(place_unix, false);
	struct text body = { 0 };
	long before;
	json_t *answer;

	(void)state;
	text_addf(&body, "{\"type\":\"DirListing\",\"id\":1,\"entries\":[[]");
	while (body.len + 8 < FRAME_MAX)
		text_add(&body, ",[]", 3);
	text_add(&body, "]}", 2);
	before = peak_kib();
	s->asked = "ListDir";
	s->raw = body.data;
	s->raw_size = body.len;
	answer = rig_ask(&s->rig, "workspace.list_dir", json_loads(list, 0, NULL),
			 PATIENCE_MS);
	assert_string_equal(json_string_value(json_object_get(answer, "code")),
			    "Unavailable");
	json_decref(answer);
	if (peak_kib() - before > 48 << 10)
		fail_msg("%ld KiB for a frame of 4 MiB", peak_kib() - before);
	s->raw = NULL;
	text_release(&body);
	scene_close(s);
}

/* Who asks and asks and does not read is given up before much waits for it. */
static void test_unread(void **state)
{
	static const char ask[] = "{\"type\":\"Nonsense\",\"id\":\"0123456789\"}";
	struct scene *s = scene_open(place_unix, false);
	struct rig_peer *p = s->rig.peers;
	size_t most = 0;

	(void)state;
	while (p->port != LINK_CONTROL)
		p = p->next;
	uv_read_stop((uv_stream_t *)&p->pipe);
	for (int i = 0; i < 1500 && s->rig.tether->up; i++) {
		for (int n = 0; n < 200; n++)
			rig_say(p, ask, sizeof(ask) - 1);
		rig_step(&s->rig, false);
		if (flow_left(&s->rig.tether->control.flow) > most)
			most = flow_left(&s->rig.tether->control.flow);
	}
	assert_false(s->rig.tether->up);
	assert_in_range(most, 1 << 20, 10 << 20);
	scene_close(s);
}

/* --- clients that do not read ------------------------------------------------------------ */

/* A client of the host's socket for which so many bytes of answers wait; *fd is its
 * end. */
static struct conn *client_open(struct scene *s, size_t bytes, int *fd)
{
	const struct identity who = { .level = WHO_OBSERVER,
				      .team = "red",
				      .agent = "ann" };
	struct conn *c;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, ends),
			 0);
	conn_adopt(&s->rig.host, ends[1], &who, true);
	c = s->rig.host.conns;
	for (size_t n = 0; n < bytes; n += sizeof(s->rig.host.buffer))
		text_add(&c->flow.out, s->rig.host.buffer, sizeof(s->rig.host.buffer));
	c->is_dirty = true;
	c->dirty = s->rig.host.dirty;
	s->rig.host.dirty = c;
	conn_flush(&s->rig.host);
	*fd = ends[0];
	return c;
}

static size_t clients(const struct scene *s)
{
	size_t n = 0;

	for (const struct conn *c = s->rig.host.conns; c; c = c->next)
		n++;
	return n;
}

/* Reads all; false when the host has closed it. */
static bool client_read(struct scene *s, int fd)
{
	char some[64 << 10];
	ssize_t n;

	do {
		rig_step(&s->rig, false);
		n = read(fd, some, sizeof(some));
	} while (n > 0);
	if (n < 0 && errno != ECONNRESET)
		assert_int_equal(errno, EAGAIN);
	return n < 0 && errno == EAGAIN;
}

/* Unread answers are kept for a minute; a client that reads keeps its connection. */
static void test_unread_long(void **state)
{
	struct scene *s = scene_open(place_unix, false);
	int slow, reads;

	(void)state;
	client_open(s, 3 << 20, &slow);
	client_open(s, 3 << 20, &reads);
	for (int i = 0; i < UNREAD_SOFT_S - 1; i++)
		unread_tick(&s->rig.host);
	assert_int_equal(clients(s), 2);
	assert_true(client_read(s, reads));
	unread_tick(&s->rig.host);
	assert_int_equal(clients(s), 1);
	assert_true(client_read(s, reads));
	assert_false(client_read(s, slow));
	assert_int_equal(s->rig.host.unread.bytes, 0);
	close(slow);
	close(reads);
	scene_close(s);
}

/* All clients together may leave so much unread; who has most goes first. */
static void test_unread_all(void **state)
{
	enum { MOST = UNREAD_ALL / (60 << 20) };
	struct scene *s = scene_open(place_unix, false);
	int fd[MOST + 1], small;

	(void)state;
	client_open(s, 4 << 20, &small);
	for (int i = 0; i < MOST; i++)
		client_open(s, (size_t)(60 - i) << 20, &fd[i]);
	assert_int_equal(clients(s), MOST + 1);
	client_open(s, (size_t)58 << 20, &fd[MOST]);
	assert_int_equal(clients(s), MOST + 1);
	assert_in_range(s->rig.host.unread.bytes, 1, UNREAD_ALL);
	assert_false(client_read(s, fd[0]));
	assert_true(client_read(s, small));
	for (int i = 0; i <= MOST; i++)
		close(fd[i]);
	close(small);
	scene_close(s);
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
		cmocka_unit_test(test_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	child_adopt();
	return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
