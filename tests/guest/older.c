/*
 * older - a guest whose host knows a newer copy of the guest's spool, or another spool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/guest/cases.h"

static char spool[64];
static int64_t seq;

/* Sends Hello as a peer that knows the spool `knows`, and returns the guest's Hello. If `knows`
 * is NULL, the peer knows no spool. */
static json_t *say_hello(int fd, const char *role, const char *knows, int64_t count)
{
	return knows ? askf(fd,
			    "{\"type\":\"Hello\",\"version\":\"1\",\"role\":\"%s\","
			    "\"boot_id\":\"b\",\"spool\":\"%s\",\"spool_seq\":%lld}",
			    role, knows, (long long)count)
		     : askf(fd,
			    "{\"type\":\"Hello\",\"version\":\"1\",\"role\":\"%s\","
			    "\"boot_id\":\"b\"}",
			    role);
}

static int dial_as(const struct fixture *x, const char *role, const char *knows,
		   int64_t count)
{
	int fd = dial(x, "control.sock");
	json_t *hello = say_hello(fd, role, knows, count);

	assert_string_equal(text_at(hello, "type"), "Hello");
	snprintf(spool, sizeof(spool), "%s", text_at(hello, "spool"));
	seq = int_at(hello, "spool_seq");
	json_decref(hello);
	return fd;
}

/* Kills and restarts the guest while four long commands run and a fifth command waits. */
static void kill_with_one_waiting(struct fixture *x)
{
	int control = dial_as(x, "host", NULL, 0), relay = dial_hello(x, "relay.sock");
	char id[16];
	json_t *a;

	for (int i = 0; i < 4; i++) {
		snprintf(id, sizeof(id), "m%d", i);
		assign(relay, id, "sleep 100", 200);
	}
	assign(relay, "waits", "echo + >>log", 9);
	do {
		a = hear_type(control, "Heartbeat", 6000);
		seq = int_at(a, "spool_seq");
		json_decref(a);
	} while (seq < 4);
	assert_int_equal(seq, 4);
	guest_kill(x, SIGKILL);
	close(control);
	close(relay);
	guest_start(x);
}

static size_t pending(int control)
{
	json_t *a = ask(control, "{\"type\":\"PollDaemonResults\",\"ack\":[]}");
	size_t n = (size_t)int_at(a, "pending_tasks");

	json_decref(a);
	return n;
}

static void expect_log(const struct fixture *x, const char *text)
{
	char *log = read_text(x, "log");

	assert_string_equal(log, text);
	free(log);
}

/* Waiting commands begin only after a host that knows the guest's spool has connected. */
void test_begins_with_its_host(void **state)
{
	struct fixture *x = *state;
	int control;

	kill_with_one_waiting(x);
	control = dial_as(x, "client", NULL, 0);
	assert_int_equal(pending(control), 1);
	json_decref(ask(control, "{\"type\":\"Ping\"}"));
	close(control);
	control = dial(x, "control.sock"); /* no Hello yet, so the dialect is unknown */
	json_decref(ask(control, "{\"type\":\"Ping\"}"));
	pause_ms(300);
	expect_log(x, "");
	close(control);
	control = dial_as(x, "host", spool, seq);
	assert_int_equal(seq, 4); /* the fifth command begins after this Hello */
	json_decref(wait_results(control, 5, 8000));
	expect_log(x, "+\n");
	close(control);
}

static void expect_emptied(struct fixture *x, const char *knows, int64_t count)
{
	char before[64];
	int control;

	kill_with_one_waiting(x);
	snprintf(before, sizeof(before), "%s", spool);
	control = dial_as(x, "host", knows ? knows : before, count);
	assert_string_not_equal(spool, before);
	assert_int_equal(seq, 0);
	assert_int_equal(pending(control), 0);
	pause_ms(300);
	expect_log(x, "");
	close(control);
}

/* If the host knows no spool, or speaks the older dialect, the guest keeps its spool and runs
 * the waiting command. */
void test_unknown_spool(void **state)
{
	struct fixture *x = *state;
	int control;

	kill_with_one_waiting(x);
	control = dial_as(x, "host", NULL, 0);
	json_decref(wait_results(control, 5, 8000));
	expect_log(x, "+\n");
	close(control);
}

void test_older_host(void **state)
{
	struct fixture *x = *state;
	int control;

	kill_with_one_waiting(x);
	control = dial(x, "control.sock");
	json_decref(wait_results(control, 5, 8000));
	expect_log(x, "+\n");
	close(control);
}

/* The host knows that five commands began, and the spool knows only four. The guest must not
 * run the waiting command, since this command may be the fifth command. */
void test_older_spool(void **state)
{
	expect_emptied(*state, NULL, 5);
}

void test_other_spool(void **state)
{
	expect_emptied(*state, "of another", 0);
}
