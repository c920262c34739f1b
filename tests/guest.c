/*
 * Calls a real guest over its sockets, as a host does. The tests cover commands, messages, the
 * order of answers, the older dialect and garbage. The tests of files are in guest/files.c, and
 * the tests of the daemon are in guest/daemon.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "tests/guest/cases.h"
#include "tests/lib/place.h"
#include "tests/lib/usage.h"

static void test_ping_and_hello(void **state)
{
	struct fixture *x = *state;
	int old = dial(x, "control.sock"), relay = dial(x, "relay.sock");
	json_t *a = ask(old, "{\"type\":\"Ping\",\"id\":null,\"new\":[1]}");

	assert_string_equal(text_at(a, "type"), "Pong");
	assert_string_equal(text_at(a, "version"), "0.1.0");
	assert_null(json_object_get(a, "id"));
	json_decref(a);
	a = ask(relay, "{\"type\":\"Ping\",\"id\":\"p1\"}");
	assert_string_equal(text_at(a, "id"), "p1");
	json_decref(a);
	close(dial_hello(x, "control.sock"));
	expect_error(ask(old, "{\"type\":\"Hello\",\"version\":\"1\",\"role\":"
			      "\"host\",\"boot_id\":\"b\",\"workspace\":\"w\"}"),
		     "Conflict");
	close(old);
	close(relay);
}

static void test_where_messages_belong(void **state)
{
	static const char *const for_vms[] = {
		"{\"type\":\"SetHostname\",\"hostname\":\"h\"}",
		"{\"type\":\"ConfigureNetwork\",\"ip_address\":\"10.0.0.2/24\",\"gateway\":\"10.0.0.1\"}",
		"{\"type\":\"ConfigureWorkspace\",\"ip_address\":\"10.0.0.2/24\",\"gateway\":\"10.0.0.1\","
		"\"hostname\":\"h\"}",
	};
	struct fixture *x = *state;
	int control = dial(x, "control.sock"), relay = dial(x, "relay.sock");
	json_t *a = ask(relay, "{\"type\":\"Exec\",\"command\":\"true\"}");

	assert_non_null(strstr(text_at(a, "message"), "5000"));
	expect_error(a, "InvalidRequest");
	a = ask(control, "{\"type\":\"TeamMessage\",\"to\":\"a\","
			 "\"content\":\"c\"}");
	assert_non_null(strstr(text_at(a, "message"), "5001"));
	expect_error(a, "InvalidRequest");
	a = ask(control, "{\"type\":\"TeamReceive\"}");
	assert_non_null(strstr(text_at(a, "message"), "guest to host"));
	expect_error(a, "InvalidRequest");
	expect_error(ask(control, "{\"type\":\"Dance\",\"id\":7}"), "InvalidRequest");
	expect_error(ask(control, "{\"type\":\"Ok\"}"), "InvalidRequest");
	for (size_t i = 0; i < sizeof(for_vms) / sizeof(*for_vms); i++) {
		a = ask(control, for_vms[i]);
		assert_non_null(strstr(text_at(a, "message"), "is for VMs"));
		expect_error(a, "InvalidRequest");
	}
	close(control);
	close(relay);
}

/* A bad message gets an error, and the connection stays open. A bad length ends the connection. */
static void test_garbage(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"7",
		"\"Ping\"",
		"null",
		"{}",
		"{\"type\":7}",
		"{\"type\":\"Exec\"}",
		"{\"type\":\"Exec\",\"command\":7}",
		"{\"type\":\"Exec\",\"command\":\"a\\u0000b\"}",
		"{\"type\":\"Exec\",\"command\":\"\xff\"}",
		"{\"type\":\"Exec\",\"command\":\"true\",\"args\":{}}",
		"{\"type\":\"Ping\",\"id\":{\"a\":1}}",
	};
	struct fixture *x = *state;
	int fd = dial(x, "control.sock"), half;
	json_t *a;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_error(ask(fd, bad[i]), "InvalidRequest");
	a = ask(fd, "{\"type\":\"Ping\"}");
	assert_string_equal(text_at(a, "type"), "Pong");
	json_decref(a);
	say_bytes(fd, "GET / HTTP/1.1\r\n\r\n", 18);
	expect_error(hear(fd, 5000), "InvalidRequest");
	assert_null(hear(fd, 5000));
	close(fd);
	half = dial(x, "control.sock");
	say_bytes(half, "\0\0\1\0{\"type\"", 11);
	close(half);
	fd = dial(x, "relay.sock");
	say_bytes(fd, "\0\0", 2);
	pause_ms(20);
	say_bytes(fd, "\0\x0f{\"type\":\"Ping\"}", 17);
	a = hear(fd, 5000);
	assert_string_equal(text_at(a, "type"), "Pong");
	json_decref(a);
	close(fd);
}

static void test_exec(void **state)
{
	struct fixture *x = *state;
	int fd = dial(x, "control.sock");
	json_t *a = ask(fd, "{\"type\":\"Exec\",\"command\":\"echo $OWN $A; "
			    "pwd; cat; echo err >&2; exit 3\",\"env\":"
			    "{\"A\":\"b\"},\"workdir\":null}");
	char want[160];

	snprintf(want, sizeof(want), "own b\n%s\n", x->dir);
	assert_string_equal(text_at(a, "stdout"), want);
	assert_string_equal(text_at(a, "stderr"), "err\n");
	assert_int_equal(int_at(a, "exit_code"), 3);
	json_decref(a);
	a = ask(fd, "{\"type\":\"Exec\",\"command\":\"printf\",\"args\":"
		    "[\"%s|\",\"a b\",\"$HOME\"]}");
	assert_string_equal(text_at(a, "stdout"), "a b|$HOME|");
	json_decref(a);
	a = ask(fd, "{\"type\":\"Exec\",\"command\":\"kill -9 $$\"}");
	assert_int_equal(int_at(a, "exit_code"), 137);
	json_decref(a);
	a = ask(fd, "{\"type\":\"Exec\",\"command\":"
		    "\"printf 'a\\\\000b\\\\377c\\\\303'\"}");
	assert_string_equal(text_at(a, "stdout"), "a\xef\xbf\xbd"
						  "b\xef\xbf\xbd"
						  "c\xef\xbf\xbd");
	json_decref(a);
	expect_error(ask(fd, "{\"type\":\"Exec\",\"command\":\"/no/such\","
			     "\"args\":[\"x\"]}"),
		     "NotFound");
	expect_error(ask(fd, "{\"type\":\"Exec\",\"command\":\"true\","
			     "\"env\":{\"LD_PRELOAD\":\"x\"}}"),
		     "InvalidRequest");
	expect_error(ask(fd, "{\"type\":\"Exec\",\"command\":\"true\","
			     "\"workdir\":\"../..\"}"),
		     "PermissionDenied");
	expect_error(ask(fd, "{\"type\":\"Exec\",\"command\":\"true\","
			     "\"workdir\":\"/etc\"}"),
		     "PermissionDenied");
	expect_error(ask(fd, "{\"type\":\"Exec\",\"command\":\"true\","
			     "\"workdir\":\"/tmp/../etc\"}"),
		     "PermissionDenied");
	/* Every guest accepts /tmp and /workspace, even if its workspace is another folder. */
	a = ask(fd, "{\"type\":\"Exec\",\"command\":\"pwd\",\"workdir\":\"/tmp\"}");
	assert_string_equal(text_at(a, "stdout"), "/tmp\n");
	json_decref(a);
	a = ask(fd, "{\"type\":\"Exec\",\"command\":\"pwd\",\"workdir\":\"/workspace\"}");
	snprintf(want, sizeof(want), "%s\n", x->dir);
	assert_string_equal(text_at(a, "stdout"), want);
	json_decref(a);
	close(fd);
}

static void test_set_env(void **state)
{
	struct fixture *x = *state;
	int fd = dial(x, "control.sock");
	json_t *a = ask(fd, "{\"type\":\"SetEnv\",\"vars\":{\"A\":\"1\","
			    "\"B\":\"2\"}}");

	assert_int_equal(int_at(a, "count"), 2);
	json_decref(a);
	expect_error(ask(fd, "{\"type\":\"SetEnv\",\"vars\":{\"PATH\":\"\"}}"),
		     "InvalidRequest");
	expect_error(ask(fd, "{\"type\":\"SetEnv\",\"vars\":{\"1A\":\"\"}}"),
		     "InvalidRequest");
	guest_kill(x, SIGKILL);
	close(fd);
	guest_start(x);
	fd = dial(x, "control.sock");
	a = ask(fd, "{\"type\":\"Exec\",\"command\":\"echo $A$B\",\"env\":"
		    "{\"B\":\"3\"}}");
	assert_string_equal(text_at(a, "stdout"), "13\n");
	json_decref(a);
	close(fd);
}

/* At the timeout all processes of the command's group end, even processes that ignore SIGTERM. */
static void test_timeout(void **state)
{
	struct fixture *x = *state;
	int fd = dial_hello(x, "control.sock");
	int64_t began = clock_steady_ms();
	char *first, *later;
	json_t *a;

	say(fd, "{\"type\":\"Exec\",\"id\":1,\"timeout_secs\":1,"
		"\"command\":\"(trap '' TERM; while :; do echo x "
		">> alive; sleep 0.1; done) & wait\"}");
	say(fd, "{\"type\":\"Exec\",\"id\":2,\"timeout_secs\":1,"
		"\"command\":\"sleep 60 | sleep 60\"}");
	for (int id = 2; id >= 1; id--) { /* the group that obeys SIGTERM ends first */
		a = hear_type(fd, "Error", 30000);
		assert_int_equal(int_at(a, "id"), id);
		expect_error(a, "Timeout");
	}
	assert_true(clock_steady_ms() - began >= 2900);
	first = read_text(x, "alive");
	assert_true(strlen(first) > 4);
	pause_ms(400);
	later = read_text(x, "alive");
	assert_string_equal(first, later);
	free(first);
	free(later);
	close(fd);
}

static void test_nothing_waits_for_an_exec(void **state)
{
	struct fixture *x = *state;
	int control = dial_hello(x, "control.sock");
	int other = dial(x, "control.sock"), relay = dial(x, "relay.sock");
	int64_t began = clock_steady_ms();
	json_t *a;

	say(control, "{\"type\":\"Exec\",\"command\":\"sleep 3\",\"id\":1}");
	say(other, "{\"type\":\"Exec\",\"command\":\"sleep 1; echo a\"}");
	say(other, "{\"type\":\"Exec\",\"command\":\"echo b\"}");
	say(other, "{\"type\":\"Ping\",\"id\":2}");
	expect_ok(ask(relay, "{\"type\":\"TeamMessage\",\"to\":\"lead\",\"from\""
			     ":\"lead\",\"content\":\"x\",\"message_id\":"
			     "\"m1\"}"));
	a = ask(control, "{\"type\":\"Ping\",\"id\":\"two\"}");
	assert_string_equal(text_at(a, "id"), "two");
	json_decref(a);
	a = hear(other, 30000); /* the answer to the Ping overtakes the answers to the
				   commands */
	assert_int_equal(int_at(a, "id"), 2);
	json_decref(a);
	a = hear(other, 30000); /* answers without ids keep the order of the requests */
	assert_string_equal(text_at(a, "stdout"), "a\n");
	json_decref(a);
	a = hear(other, 30000);
	assert_string_equal(text_at(a, "stdout"), "b\n");
	json_decref(a);
	a = hear_type(control, "ExecResult", 30000);
	assert_int_equal(int_at(a, "id"), 1);
	json_decref(a);
	assert_true(clock_steady_ms() - began >= 2900);
	close(control);
	close(other);
	close(relay);
}

/* The guest ends a command if the caller's connection is closed. */
static void test_gone_asker(void **state)
{
	struct fixture *x = *state;
	int fd = dial(x, "control.sock");
	char *text;

	say(fd, "{\"type\":\"Exec\",\"command\":\"sleep 1; echo x > late\"}");
	pause_ms(300);
	close(fd);
	pause_ms(1200);
	text = read_text(x, "late");
	assert_string_equal(text, "");
	free(text);
}

/* The guest keeps 2 MiB of each output stream of a command, and a marker for the rest. The host
 * reads the kept output in ranges. In the older dialect the output is cut to fit one answer. */
static void test_much_output(void **state)
{
	static const char exec[] = "{\"type\":\"Exec\",\"command\":"
				   "\"head -c 5242880 /dev/zero | tr '\\\\0' '\\\\001'; "
				   "head -c 5242880 /dev/zero | tr '\\\\0' e >&2\"}";
	struct fixture *x = *state;
	int fd = dial_hello(x, "control.sock"), old = dial(x, "control.sock");
	json_t *a = ask(fd, exec);
	size_t got[2] = { 0 }, size = (size_t)int_at(a, "stdout_size");
	int job = (int)int_at(a, "job_id");
	bool more = true;

	assert_true(true_at(a, "more"));
	assert_in_range(size, 2 << 20, (2 << 20) + 100);
	while (more) {
		assert_int_equal(int_at(a, "stdout_written"), 5242880);
		assert_int_equal(int_at(a, "stderr_written"), 5242880);
		got[0] += strlen(text_at(a, "stdout"));
		got[1] += strlen(text_at(a, "stderr"));
		more = true_at(a, "more");
		json_decref(a);
		if (more)
			a = askf(fd,
				 "{\"type\":\"ExecPoll\",\"job_id\":%d,"
				 "\"stdout_offset\":%zu,\"stderr_offset\":%zu}",
				 job, got[0], got[1]);
	}
	assert_int_equal(got[0], size);
	assert_int_equal(got[1], size);
	a = ask(old, exec);
	assert_null(json_object_get(a, "more"));
	assert_non_null(strstr(text_at(a, "stdout"), "[cadre: cut here"));
	json_decref(a);
	close(fd);
	close(old);
}

/* A command can write 200 MB of output without blocking, and the guest keeps only a part of the
 * output. */
static void test_flood_of_output(void **state)
{
	struct fixture *x = *state;
	int fd = dial_hello(x, "control.sock");
	long before = memory_of(x->pid);
	json_t *a = ask(fd, "{\"type\":\"Exec\",\"timeout_secs\":60,\"command\":"
			    "\"head -c 100000000 /dev/zero & "
			    "head -c 100000000 /dev/zero >&2; wait; exit 7\"}");

	assert_int_equal(int_at(a, "exit_code"), 7);
	json_decref(a);
	assert_in_range(memory_of(x->pid), 0, before + 100000);
	close(fd);
}

/* Waits until the job has ended or has printed `text`, and returns its status. */
static json_t *wait_job(int fd, int job, const char *text)
{
	for (int i = 0; i < patience_ms(500); i++, pause_ms(20)) {
		json_t *a = askf(fd, "{\"type\":\"ExecPoll\",\"job_id\":%d}", job);

		if (!true_at(a, "running") ||
		    (text && strcmp(text_at(a, "stdout"), text) == 0))
			return a;
		json_decref(a);
	}
	fail_msg("job %d does not end", job);
	return NULL;
}

static void test_background(void **state)
{
	struct fixture *x = *state;
	int fd = dial_hello(x, "control.sock");
	json_t *a = ask(fd, "{\"type\":\"ExecBackground\",\"command\":\"echo "
			    "one; sleep 1; echo two; exit 4\",\"env\":null}");
	int job = (int)int_at(a, "job_id");

	json_decref(a);
	a = wait_job(fd, job, "one\n");
	assert_true(true_at(a, "running"));
	assert_string_equal(text_at(a, "stdout"), "one\n");
	json_decref(a);
	json_decref(wait_job(fd, job, NULL));
	for (int i = 0; i < 2; i++) { /* a repeated poll gets the same output */
		a = askf(fd,
			 "{\"type\":\"ExecPoll\",\"job_id\":%d,"
			 "\"stdout_offset\":4}",
			 job);
		assert_false(true_at(a, "running"));
		assert_string_equal(text_at(a, "stdout"), "two\n");
		assert_int_equal(int_at(a, "exit_code"), 4);
		json_decref(a);
	}
	expect_error(ask(fd, "{\"type\":\"ExecPoll\",\"job_id\":9}"), "NotFound");
	expect_error(askf(fd,
			  "{\"type\":\"ExecPoll\",\"job_id\":%d,"
			  "\"stdout_offset\":99}",
			  job),
		     "InvalidRequest");
	a = ask(fd, "{\"type\":\"ExecBackground\",\"command\":"
		    "\"sleep 60 | sleep 60\"}");
	job = (int)int_at(a, "job_id");
	json_decref(a);
	expect_ok(askf(fd, "{\"type\":\"ExecKill\",\"job_id\":%d}", job));
	a = wait_job(fd, job, NULL);
	assert_int_equal(int_at(a, "exit_code"), 137);
	json_decref(a);
	close(fd);
}

static void test_many_jobs(void **state)
{
	struct fixture *x = *state;
	int fd = dial_hello(x, "control.sock");
	json_t *a = ask(fd, "{\"type\":\"ExecBackground\",\"command\":\"echo x\"}");
	int first = (int)int_at(a, "job_id");

	json_decref(a);
	for (int i = 1; i < 1000; i++)
		json_decref(ask(fd, "{\"type\":\"ExecBackground\","
				    "\"command\":\"echo x\"}"));
	expect_error(ask(fd, "{\"type\":\"ExecBackground\",\"command\":"
			     "\"true\"}"),
		     "Exhausted");
	/* The command is answered, although no job is free to keep the rest of the output. */
	a = ask(fd, "{\"type\":\"Exec\",\"command\":"
		    "\"head -c 2000000 /dev/zero | tr '\\\\0' '\\\\001'; exit 3\"}");
	assert_string_equal(text_at(a, "type"), "ExecResult");
	assert_int_equal(int_at(a, "exit_code"), 3);
	assert_true(true_at(a, "more"));
	assert_null(json_object_get(a, "job_id"));
	json_decref(a);
	json_decref(wait_job(fd, first, NULL));
	json_decref(ask(fd, "{\"type\":\"ExecBackground\","
			    "\"command\":\"true\"}"));
	expect_error(askf(fd, "{\"type\":\"ExecPoll\",\"job_id\":%d}", first),
		     "NotFound");
	close(fd);
}

static void test_many_peers(void **state)
{
	struct fixture *x = *state;
	int fd[65];
	json_t *a;

	for (int i = 0; i < 65; i++)
		fd[i] = dial(x, "control.sock");
	a = ask(fd[63], "{\"type\":\"Ping\"}");
	assert_string_equal(text_at(a, "type"), "Pong");
	json_decref(a);
	json_decref(hear(fd[64], 5000));
	assert_null(hear(fd[64], 5000));
	for (int i = 0; i < 65; i++)
		close(fd[i]);
}

static void test_shutdown(void **state)
{
	struct fixture *x = *state;
	int fd = dial(x, "control.sock");
	struct stat st;
	char path[160];

	snprintf(path, sizeof(path), "%s/control.sock", x->state);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	snprintf(path, sizeof(path), "%s/spool.db", x->state);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	expect_ok(ask(fd, "{\"type\":\"Shutdown\"}"));
	assert_null(hear(fd, 3000));
	close(fd);
	guest_kill(x, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_ping_and_hello),
		EACH(test_where_messages_belong),
		EACH(test_garbage),
		EACH(test_exec),
		EACH(test_set_env),
		EACH(test_timeout),
		EACH(test_nothing_waits_for_an_exec),
		EACH(test_gone_asker),
		EACH(test_much_output),
		EACH(test_flood_of_output),
		EACH(test_background),
		EACH(test_many_jobs),
		EACH(test_many_peers),
		EACH(test_connects),
		EACH(test_unconfirmed),
		EACH(test_waiting_callers),
		EACH(test_shutdown),
		EACH(test_read_and_write),
		EACH(test_ranges),
		EACH(test_ranges_that_are_not),
		EACH(test_upload),
		EACH(test_edit),
		EACH(test_list),
		EACH(test_escapes),
		EACH(test_assignment),
		EACH(test_bad_assignments),
		EACH(test_pushed_again),
		EACH(test_called_off),
		EACH(test_begins_with_its_host),
		EACH(test_unknown_spool),
		EACH(test_older_host),
		EACH(test_older_spool),
		EACH(test_other_spool),
		EACH(test_four_at_once),
		EACH(test_killed_while_running),
		EACH(test_killed_with_results),
		EACH(test_killed_at_any_instant),
		EACH(test_ended_while_running),
		EACH(test_leaves_nothing),
		EACH(test_old_poll),
		EACH(test_large_results),
		EACH(test_full),
		EACH(test_full_of_messages),
		EACH(test_second_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
