/* Tests of a guest whose callers do not confirm that the guest's answers arrived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/guest/cases.h"
#include "tests/lib/usage.h"

enum { UNCONFIRMED = 5000, KEPT = 1000, GROWN_KIB = 8 << 10 };

/* Limits the freed memory that the sanitizer keeps, since the kept memory would count as used. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8";
}

static void say_call(int door, int i)
{
	char call[128];

	snprintf(call, sizeof(call),
		 "{\"type\":\"Call\",\"id\":%d,\"op\":\"message.receive\",\"args\":{},"
		 "\"confirms\":true}",
		 i);
	say(door, call);
}

static void say_word(int door, const char *type, int i)
{
	char word[80];

	snprintf(word, sizeof(word), "{\"type\":\"%s\",\"request\":\"%d\"}", type, i);
	say(door, word);
}

/* Sends a call of message.receive from the caller at `door` to the host, and an answer of 4 KiB
 * back. */
static void receive(int door, int host, int i)
{
	char content[4096], said[32], *text;
	json_t *a, *back;

	memset(content, 'x', sizeof(content) - 1);
	content[sizeof(content) - 1] = '\0';
	say_call(door, i);
	a = hear_type(host, "Call", 5000);
	assert_true(true_at(a, "confirms"));
	snprintf(said, sizeof(said), "guest-%d", i);
	assert_string_equal(text_at(a, "id"), said);
	back = json_pack("{s:s, s:s, s:{s:[{s:s}]}}", "type", "CallResult", "id", said,
			 "result", "messages", "content", content);
	json_decref(a);
	text = json_dumps(back, JSON_COMPACT);
	say(host, text);
	free(text);
	json_decref(back);
	a = hear_type(door, "CallResult", 5000);
	assert_int_equal(json_object_size(json_object_get(a, "result")), 1);
	json_decref(a);
}

/* Expects a message of this type about answer `number`. If `gone`, the guest sends the message
 * by itself, without a message of the caller. */
static void expect_word(int host, const char *type, int number, bool gone)
{
	json_t *a = hear_type(host, type, 5000);
	char name[32];

	snprintf(name, sizeof(name), "guest-%d", number);
	assert_string_equal(text_at(a, "request"), name);
	assert_int_equal(json_is_true(json_object_get(a, "gone")), gone);
	json_decref(a);
}

/* For each caller a guest keeps the names of a thousand unconfirmed answers. Older unconfirmed
 * answers count as lost. When the caller disconnects, all its unconfirmed answers count as
 * lost. */
void test_unconfirmed(void **state)
{
	struct fixture *x = *state;
	int host = dial_hello(x, "control.sock"), door = dial(x, "door.sock");
	long memory = 0;

	for (int i = 1; i <= UNCONFIRMED; i++) {
		receive(door, host, i);
		if (i > KEPT)
			expect_word(host, "Cancel", i - KEPT, true);
		if (i == KEPT)
			memory = memory_of(x->pid);
	}
	assert_in_range(memory_of(x->pid), 1, memory + GROWN_KIB);
	say_word(door, "Arrived", UNCONFIRMED);
	expect_word(host, "Arrived", UNCONFIRMED, false);
	say_word(door, "Cancel", UNCONFIRMED - 1);
	expect_word(host, "Cancel", UNCONFIRMED - 1, false);
	close(door);
	for (int i = UNCONFIRMED - 2; i > UNCONFIRMED - KEPT; i--)
		expect_word(host, "Cancel", i, true);
	close(host);
}

/* The guest cancels a waiting call when the caller cancels the call or disconnects. */
void test_waiting_callers(void **state)
{
	struct fixture *x = *state;
	int host = dial_hello(x, "control.sock"), door = dial(x, "door.sock");

	for (int i = 1; i <= 2; i++) {
		say_call(door, i);
		json_decref(hear_type(host, "Call", 5000));
		if (i == 1)
			say_word(door, "Cancel", i);
		else
			close(door);
		expect_word(host, "Cancel", i, false);
	}
	close(host);
}
