/*
 * Tests of the daemon of a guest that is often killed. In every test an assignment that the
 * guest acknowledged has exactly one result and ran at most once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "tests/guest/cases.h"
#include "tests/lib/place.h"

static json_t *result_at(json_t *answer, size_t i)
{
	return json_array_get(json_object_get(answer, "results"), i);
}

static size_t count_of(json_t *answer)
{
	return json_array_size(json_object_get(answer, "results"));
}

static json_t *find_result(json_t *answer, const char *message_id)
{
	for (size_t i = 0; i < count_of(answer); i++)
		if (strcmp(text_at(result_at(answer, i), "source_message_id"),
			   message_id) == 0)
			return result_at(answer, i);
	fail_msg("no result of %s", message_id);
	return NULL;
}

static json_t *ack(int control, const char *ids)
{
	return askf(control,
		    "{\"type\":\"PollDaemonResults\",\"limit\":1000,"
		    "\"ack\":[%s]}",
		    ids);
}

static void expect_lines(const struct fixture *x, const char *name, size_t n)
{
	char *text = read_text(x, name);
	size_t lines = 0;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, n);
	free(text);
}

static void await_lines(const struct fixture *x, const char *name, size_t n)
{
	for (int64_t until = clock_steady_ms() + patience_ms(8000);
	     clock_steady_ms() < until; pause_ms(20)) {
		char *text = read_text(x, name);
		size_t lines = 0;

		for (const char *p = text; (p = strchr(p, '\n')); p++)
			lines++;
		free(text);
		if (lines >= n)
			return;
	}
	fail_msg("%s has too few lines", name);
}

void test_assignment(void **state)
{
	struct fixture *x = *state;
	int control = dial_hello(x, "control.sock");
	int relay = dial_hello(x, "relay.sock");
	int64_t began = clock_steady_ms();
	int64_t ready;
	json_t *a, *r;

	assign(relay, "m1", "echo out; echo err >&2; sleep 0.3; exit 5", 9);
	do { /* the guest reports a result at once, in a Heartbeat */
		a = hear_type(control, "Heartbeat", 3000);
		ready = int_at(a, "results");
		json_decref(a);
	} while (ready == 0);
	assert_true(clock_steady_ms() - began < patience_ms(4000));
	a = ack(control, "");
	r = find_result(a, "m1");
	assert_string_equal(text_at(r, "task_id"), "m1");
	assert_string_equal(text_at(r, "stdout"), "out\n");
	assert_string_equal(text_at(r, "stderr"), "err\n");
	assert_int_equal(int_at(r, "exit_code"), 5);
	assert_false(true_at(r, "success"));
	assert_null(json_object_get(r, "interrupted"));
	assert_int_equal(int_at(a, "pending_tasks"), 0);
	json_decref(a);
	a = ack(control, "\"m1\",\"unknown\"");
	assert_int_equal(count_of(a), 0);
	json_decref(a);
	close(control);
	close(relay);
}

static void push(int relay, const char *id, const char *content)
{
	json_t *message = json_pack("{s:s, s:{s:s, s:s, s:s, s:s, s:s, s:s}}", "type",
				    "TeamMessagePush", "message", "message_id", id,
				    "from", "lead", "to", "ann", "content", content,
				    "message_type", "task_assignment", "timestamp",
				    "2026-11-21T08:00:00Z");
	char *text = json_dumps(message, 0);

	expect_ok(ask(relay, text));
	free(text);
	json_decref(message);
}

void test_bad_assignments(void **state)
{
	struct fixture *x = *state;
	int control = dial(x, "control.sock"), relay = dial(x, "relay.sock");
	json_t *a, *r;

	push(relay, "b1", "not json");
	push(relay, "b2", "{\"task_id\":\"t\"}");
	push(relay, "b3",
	     "{\"task_id\":\"t\",\"command\":\"true\",\"env\":"
	     "{\"PATH\":\"x\"}}");
	push(relay, "b4",
	     "{\"task_id\":\"t\",\"command\":\"true\","
	     "\"workdir\":\"../..\"}");
	push(relay, "b5",
	     "{\"task_id\":\"t\",\"command\":\"echo $V; pwd\","
	     "\"workdir\":null,\"env\":{\"V\":\"v\"},\"x\":1}");
	assign(relay, "b6", "sleep 60 & sleep 60", 1);
	a = wait_results(control, 6, 8000);
	r = find_result(a, "b1");
	assert_int_equal(int_at(r, "exit_code"), -2);
	assert_non_null(strstr(text_at(r, "stderr"), "payload not understood"));
	assert_int_equal(int_at(find_result(a, "b2"), "exit_code"), -2);
	r = find_result(a, "b3");
	assert_int_equal(int_at(r, "exit_code"), -1);
	assert_non_null(strstr(text_at(r, "stderr"), "PATH"));
	assert_string_equal(text_at(r, "task_id"), "t");
	assert_int_equal(int_at(find_result(a, "b4"), "exit_code"), -1);
	r = find_result(a, "b5");
	assert_true(true_at(r, "success"));
	assert_memory_equal(text_at(r, "stdout"), "v\n/", 3);
	r = find_result(a, "b6");
	assert_int_equal(int_at(r, "exit_code"), -1);
	assert_non_null(strstr(text_at(r, "stderr"), "timed out after 1s"));
	json_decref(a);
	close(control);
	close(relay);
}

void test_pushed_again(void **state)
{
	struct fixture *x = *state;
	int control = dial_hello(x, "control.sock");
	int relay = dial_hello(x, "relay.sock");

	assign(relay, "m1", "echo x >> ran", 9);
	assign(relay, "m1", "echo x >> ran", 9);
	json_decref(wait_results(control, 1, 3000));
	assign(relay, "m1", "echo x >> ran", 9);
	json_decref(ack(control, "\"m1\""));
	assign(relay, "m1", "echo x >> ran", 9);
	guest_kill(x, SIGKILL);
	close(control);
	close(relay);
	guest_start(x);
	relay = dial_hello(x, "relay.sock");
	assign(relay, "m1", "echo x >> ran", 9);
	pause_ms(300);
	expect_lines(x, "ran", 1);
	close(relay);
}

static void call_off(int relay, const char *id)
{
	expect_ok(askf(relay,
		       "{\"type\":\"TeamMessage\",\"message_id\":\"%s\",\"to\":\"ann\","
		       "\"from\":\"lead\",\"content\":\"\",\"cancelled\":true,"
		       "\"message_type\":\"task_assignment\"}",
		       id));
}

/* When an assignment is called off, its running command ends with the whole process group. A
 * waiting command never begins. An assignment that arrives after its cancellation never runs. */
void test_called_off(void **state)
{
	struct fixture *x = *state;
	int control = dial_hello(x, "control.sock");
	int relay = dial_hello(x, "relay.sock");
	json_t *a, *r;

	call_off(relay, "never");
	assign(relay, "never", "echo x >> ran", 9);
	assign(relay, "m0",
	       "sleep 300 & trap 'echo end; exit 0' TERM; echo begun; echo x >> ran;"
	       " while :; do sleep 0.1; done",
	       900);
	for (int i = 1; i < 5; i++) {
		char id[16];

		snprintf(id, sizeof(id), "m%d", i);
		assign(relay, id, i < 4 ? "echo x >> ran; sleep 300" : "echo x >> ran",
		       900);
	}
	await_lines(x, "ran", 4);
	call_off(relay, "m4");
	call_off(relay, "m0");
	a = wait_results(control, 1, 8000);
	r = find_result(a, "m0");
	assert_false(true_at(r, "success"));
	assert_string_equal(text_at(r, "stdout"), "begun\nend\n");
	assert_non_null(strstr(text_at(r, "stderr"), "called off"));
	assert_int_equal(int_at(a, "pending_tasks"), 3);
	json_decref(a);
	call_off(relay, "m0"); /* m0 has ended, and keeps its result */
	call_off(relay, "m1");
	a = wait_results(control, 2, 8000);
	find_result(a, "m0");
	assert_int_equal(int_at(find_result(a, "m1"), "exit_code"), 128 + SIGTERM);
	json_decref(a);
	expect_lines(x, "ran", 4);
	close(control);
	close(relay);
}

void test_four_at_once(void **state)
{
	struct fixture *x = *state;
	int control = dial_hello(x, "control.sock");
	int relay = dial_hello(x, "relay.sock");
	size_t running;
	char id[16];
	json_t *a;

	for (int i = 0; i < 6; i++) {
		snprintf(id, sizeof(id), "m%d", i);
		assign(relay, id, "echo + >> log; sleep 1.5; echo - >> log", 9);
	}
	do {
		a = hear_type(control, "Heartbeat", 3000);
		running = json_array_size(json_object_get(a, "running"));
		json_decref(a);
	} while (running < 4);
	a = ack(control, "");
	assert_int_equal(int_at(a, "pending_tasks"), 6);
	json_decref(a);
	pause_ms(600);
	expect_lines(x, "log", 4); /* only four commands have begun */
	json_decref(wait_results(control, 6, 15000));
	expect_lines(x, "log", 12);
	close(control);
	close(relay);
}

void test_killed_while_running(void **state)
{
	struct fixture *x = *state;
	int relay = dial_hello(x, "relay.sock"), control;
	json_t *a, *r;

	assign(relay, "m1", "echo x >> ran; sleep 2; echo late >> ran", 60);
	await_lines(x, "ran", 1);
	guest_kill(x, SIGKILL);
	close(relay);
	guest_start(x);
	control = dial_hello(x, "control.sock");
	a = wait_results(control, 1, 3000);
	assert_int_equal(count_of(a), 1);
	r = find_result(a, "m1");
	assert_true(true_at(r, "interrupted"));
	assert_false(true_at(r, "success"));
	assert_int_equal(int_at(r, "exit_code"), -1);
	assert_non_null(strstr(text_at(r, "stderr"), "interrupted"));
	assert_int_equal(int_at(a, "pending_tasks"), 0);
	json_decref(a);
	pause_ms(2200);
	expect_lines(x, "ran", 1); /* the killed guest's command does not run on */
	close(control);
}

void test_killed_with_results(void **state)
{
	struct fixture *x = *state;
	int control = dial_hello(x, "control.sock");
	int relay = dial_hello(x, "relay.sock");
	json_t *a;

	assign(relay, "m1", "echo one", 9);
	json_decref(wait_results(control, 1, 3000));
	guest_kill(x, SIGKILL);
	close(control);
	close(relay);
	guest_start(x);
	control = dial_hello(x, "control.sock");
	a = wait_results(control, 1, 3000);
	assert_string_equal(text_at(result_at(a, 0), "stdout"), "one\n");
	assert_true(true_at(result_at(a, 0), "success"));
	json_decref(a);
	json_decref(ack(control, "\"m1\""));
	guest_kill(x, SIGKILL);
	close(control);
	guest_start(x);
	control = dial_hello(x, "control.sock");
	a = ack(control, "");
	assert_int_equal(count_of(a), 0);
	json_decref(a);
	close(control);
}

static void kill_after(struct fixture *x, int us)
{
	nanosleep(&(struct timespec){ 0, us * 1000L }, NULL);
	guest_kill(x, SIGKILL);
	guest_start(x);
}

/* Each round pushes an assignment, and kills the guest a little later than the round before
 * did. Then the round pushes the assignment again, as a host does if no answer has arrived. */
void test_killed_at_any_instant(void **state)
{
	enum { ROUNDS = 60 };
	struct fixture *x = *state;
	char id[16], command[64], name[16];
	int relay, control;
	json_t *a;

	for (int i = 0; i < ROUNDS; i++) {
		snprintf(id, sizeof(id), "r%d", i);
		snprintf(command, sizeof(command), "echo x >> ran%d", i);
		relay = dial_hello(x, "relay.sock");
		assign(relay, id, command, 9);
		kill_after(x, i * 250);
		close(relay);
		relay = dial_hello(x, "relay.sock");
		assign(relay, id, command, 9);
		close(relay);
	}
	control = dial_hello(x, "control.sock");
	a = wait_results(control, ROUNDS, 10000);
	assert_int_equal(count_of(a), ROUNDS);
	for (int i = 0; i < ROUNDS; i++) {
		snprintf(id, sizeof(id), "r%d", i);
		snprintf(name, sizeof(name), "ran%d", i);
		if (true_at(find_result(a, id), "interrupted")) {
			char *text = read_text(x, name);

			assert_true(strlen(text) <= 2);
			free(text);
		} else {
			expect_lines(x, name, 1);
		}
	}
	json_decref(a);
	close(control);
}

void test_ended_while_running(void **state)
{
	struct fixture *x = *state;
	int relay = dial_hello(x, "relay.sock"), control;
	char id[16];
	json_t *a;

	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "m%d", i);
		assign(relay, id, i < 4 ? "echo x >> began; sleep 60" : "echo next", 90);
	}
	await_lines(x, "began", 4);
	guest_kill(x, SIGTERM);
	close(relay);
	guest_start(x);
	control = dial_hello(x, "control.sock");
	a = wait_results(control, 5, 3000);
	for (int i = 0; i < 4; i++) {
		snprintf(id, sizeof(id), "m%d", i);
		assert_true(true_at(find_result(a, id), "interrupted"));
	}
	assert_string_equal(text_at(find_result(a, "m4"), "stdout"), "next\n");
	json_decref(a);
	close(control);
}

/* When the guest ends, even a command that ignores SIGTERM ends. */
void test_leaves_nothing(void **state)
{
	struct fixture *x = *state;
	int relay = dial_hello(x, "relay.sock");
	char *text, *later;

	assign(relay, "m1",
	       "(trap '' TERM; while :; do echo x >> alive; sleep 0.1; done) & wait", 60);
	await_lines(x, "alive", 3);
	close(relay);
	guest_kill(x, SIGTERM);
	text = read_text(x, "alive");
	assert_true(*text);
	pause_ms(400);
	later = read_text(x, "alive");
	assert_string_equal(text, later);
	free(text);
	free(later);
}

/* A peer that sent no Hello gets each result once. A peer that sent Hello gets a result with
 * every poll until the peer acknowledges the result. */
void test_old_poll(void **state)
{
	static const char poll[] = "{\"type\":\"PollDaemonResults\"}";
	struct fixture *x = *state;
	int old = dial(x, "control.sock"), relay = dial(x, "relay.sock");
	int host = dial_hello(x, "control.sock");
	json_t *a;

	assign(relay, "m1", "true", 9);
	json_decref(wait_results(old, 1, 3000));
	a = ask(host, poll);
	assert_int_equal(count_of(a), 1);
	json_decref(a);
	a = ask(old, poll);
	assert_int_equal(count_of(a), 1);
	json_decref(a);
	a = ask(old, poll);
	assert_int_equal(count_of(a), 0);
	json_decref(a);
	a = ask(relay, "{\"type\":\"TeamMessage\",\"to\":\"lead\",\"content\":"
		       "\"{}\",\"message_type\":\"task_assignment\"}");
	expect_ok(a); /* the guest makes an id for the assignment */
	a = wait_results(host, 1, 3000);
	assert_int_equal(strlen(text_at(result_at(a, 0), "source_message_id")), 36);
	json_decref(a);
	close(old);
	close(host);
	close(relay);
}

/* A result of 2 x 2 MiB does not fit into a frame. The guest first sends the beginning of the
 * result, and then the ranges that the host asks for. */
void test_large_results(void **state)
{
	struct fixture *x = *state;
	int control = dial_hello(x, "control.sock");
	int relay = dial_hello(x, "relay.sock");
	size_t got[2] = { 0 }, size;
	json_t *a, *r;
	bool more;

	assign(relay, "big",
	       "head -c 3000000 /dev/zero | tr '\\0' '\"'; "
	       "head -c 3000000 /dev/zero >&2",
	       30);
	a = wait_results(control, 1, 10000);
	assign(relay, "small", "echo s", 30);
	r = find_result(a, "big");
	size = (size_t)int_at(r, "stdout_size");
	assert_true(size > 2 << 20);
	do {
		got[0] += strlen(text_at(r, "stdout"));
		got[1] += strlen(text_at(r, "stderr"));
		more = true_at(r, "more");
		json_decref(a);
		if (!more)
			break;
		a = askf(control,
			 "{\"type\":\"PollDaemonResults\","
			 "\"message_id\":\"big\",\"stdout_offset\":%zu,"
			 "\"stderr_offset\":%zu}",
			 got[0], got[1]);
		r = find_result(a, "big");
	} while (true);
	assert_int_equal(got[0], size);
	assert_in_range(got[1], (2 << 20) - 2, (2 << 20) + 100);
	a = ack(control, "\"big\"");
	json_decref(a);
	a = wait_results(control, 1, 3000);
	assert_string_equal(text_at(find_result(a, "small"), "stdout"), "s\n");
	json_decref(a);
	close(control);
	close(relay);
}

static json_t *tell(int relay, const char *id, int64_t seq, int64_t unread)
{
	return askf(relay,
		    "{\"type\":\"TeamMessage\",\"to\":\"ann\",\"content\":\"text\","
		    "\"message_id\":\"%s\",\"seq\":%lld,\"unread\":%lld}",
		    id, (long long)seq, (long long)unread);
}

void test_full(void **state)
{
	struct fixture *x = *state;
	int relay = dial_hello(x, "relay.sock"), old = dial(x, "relay.sock");
	char id[16];

	for (int i = 0; i < 1004; i++) {
		snprintf(id, sizeof(id), "m%d", i);
		assign(relay, id, "sleep 60", 90);
	}
	expect_error(ask(relay, "{\"type\":\"TeamMessage\",\"to\":\"a\","
				"\"content\":\"{}\",\"message_type\":"
				"\"task_assignment\",\"message_id\":\"n\"}"),
		     "Exhausted");
	expect_error(ask(old, "{\"type\":\"TeamMessage\",\"to\":\"a\","
			      "\"content\":\"{}\",\"message_type\":"
			      "\"task_assignment\",\"message_id\":\"n\"}"),
		     "InvalidRequest");
	assign(relay, "m7", "sleep 60", 90); /* a repeated assignment needs no room */
	expect_ok(tell(relay, "text", 2000, 0)); /* plain messages have another limit */
	close(relay);
	close(old);
}

/* Returns the time of the last write to the spool's WAL, in ns. */
static int64_t spool_written_at(const struct fixture *x)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/spool.db-wal", x->state);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
}

/* A guest takes plain messages until its host says that 1,000 messages are unread. The ids and
 * numbers of the messages do not matter. If the host gives no count, the guest takes any number
 * of messages. The guest does not write plain messages to its spool. */
void test_full_of_messages(void **state)
{
	struct fixture *x = *state;
	int relay = dial_hello(x, "relay.sock"), old = dial(x, "relay.sock");
	char id[16];
	int64_t before = spool_written_at(x);

	for (int i = 1; i <= 1000; i++) {
		snprintf(id, sizeof(id), "m%d", i);
		expect_ok(tell(relay, id, i, i - 1));
	}
	expect_error(tell(relay, "more", 1001, 1000), "Exhausted");
	expect_error(tell(old, "more", 1001, 1000), "InvalidRequest");
	expect_ok(tell(relay, "more", 1001, 1)); /* only one message is still unread */
	expect_ok(tell(relay, "again", 1, 0)); /* a restored state repeats numbers */
	for (int i = 1; i <= 2000; i++)
		expect_ok(
			ask(relay,
			    "{\"type\":\"TeamMessage\",\"to\":\"a\",\"content\":\"c\"}"));
	assert_int_equal(spool_written_at(x), before);
	expect_error(tell(relay, "most", 3000, 1000), "Exhausted");
	assign(relay, "a1", "echo x >>ran", 9); /* an assignment is not a plain message */
	await_lines(x, "ran", 1);
	close(relay);
	close(old);
}

void test_second_guest(void **state)
{
	struct fixture *x = *state, second = **(struct fixture **)state;
	int fd = dial(x, "control.sock"), status;
	json_t *a;

	guest_start(&second);
	waitpid(second.pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 4);
	a = ask(fd, "{\"type\":\"Ping\"}");
	assert_string_equal(text_at(a, "type"), "Pong");
	json_decref(a);
	close(fd);
}
