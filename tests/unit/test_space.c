/* The room for the items of an answer, and the item at which the next page begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/call/space.h"

/* An item uses as much room as its JSON and a comma. */
static void items_take_their_place(void **state)
{
	struct call call = { 0 };

	(void)state;
	space_open(&call);
	assert_int_equal(call.space, ROOM_ITEMS);
	assert_true(space_take_bytes(&call, 100));
	assert_int_equal(call.space, ROOM_ITEMS - 101);
	assert_true(space_take_text(&call, "a\"b"));
	assert_int_equal(call.space, ROOM_ITEMS - 101 - 7);
	call.space = 10;
	assert_false(space_take_bytes(&call, 10));
	assert_int_equal(call.space, 10);
	assert_true(space_take_bytes(&call, 9));
	assert_int_equal(call.space, 0);
	assert_false(space_take_bytes(&call, 0));
}

/* A text that does not fit is cut between two characters, so that it fits the room that is
 * left. `size` becomes the size of the whole text if the text was cut, or else 0. */
static void texts_are_cut_to_what_is_left(void **state)
{
	struct call call = { .space = 5 };
	int64_t size = -1;

	(void)state;
	assert_string_equal(space_text(&call, "abcd", 100, &size), "abcd");
	assert_int_equal(size, 0);
	assert_int_equal(call.space, 1);
	assert_string_equal(space_text(&call, "abcd", 100, &size), "a");
	assert_int_equal(size, 4);
	assert_int_equal(call.space, 0);
	assert_string_equal(space_text(&call, "abcd", 100, &size), "");
	call.space = 100;
	assert_string_equal(space_text(&call, "a\xc3\xa4z", 2, &size), "a");
	assert_string_equal(space_text(&call, "a\xc3\xa4z", 3, &size), "a\xc3\xa4");
	assert_null(space_text(&call, NULL, 3, &size));
	assert_int_equal(size, 0);
	arena_release(&call.arena);
}

/* For every length, successive ranges make up the whole text. No range begins or ends inside a
 * character. */
static void ranges_give_the_whole(void **state)
{
	static const char whole[] = "a\xc3\xa4"
				    "b\xe2\x82\xac"
				    "c\xf0\x9f\x98\x80\n\"z";
	struct call call = { 0 };
	char got[sizeof(whole)];

	(void)state;
	for (int64_t length = 1; length < 8; length++) {
		struct space_range r = { .length = length };
		size_t n = 0;

		do {
			int64_t before = r.offset;

			call.space = ROOM_ITEMS;
			space_range(&call, whole, &r);
			assert_int_equal(r.size, sizeof(whole) - 1);
			assert_true(r.next > before);
			assert_int_not_equal((unsigned char)r.text[0] & 0xc0, 0x80);
			assert_true(strlen(r.text) <= (size_t)length ||
				    text_wide(r.text) == strlen(r.text));
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s", r.text);
			r.offset = r.next;
		} while (r.next < r.size);
		assert_string_equal(got, whole);
	}
	arena_release(&call.arena);
}

/* An answer that does not fit a frame is refused, whatever the handler returns. */
static void no_answer_is_too_large(void **state)
{
	struct envelope envelope = { .message_id = "", .from = "", .to = "" };
	struct message_peek_out out = { .messages = &envelope, .n_messages = 1 };
	struct call call = { .op = op_find("message.peek"), .out = &out };
	char *text = malloc(ROOM_ANSWER + 1);
	size_t beside;

	(void)state;
	envelope.content = envelope.message_type = "";
	beside = op_size(call.op->out, &out);
	memset(text, 'x', ROOM_ANSWER);
	text[ROOM_ANSWER - beside] = '\0';
	envelope.content = text;
	assert_int_equal(space_check(&call), 0);
	text[ROOM_ANSWER - beside] = 'x';
	text[ROOM_ANSWER - beside + 1] = '\0';
	assert_int_equal(space_check(&call), FAULT_INVALID);
	free(text);
	arena_release(&call.arena);
}

static void check_next(const char *op, const char *answer, const char *next)
{
	json_t *json = json_loads(answer, 0, NULL);
	const json_t *value = page_next(op_find(op), json);
	char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;

	assert_non_null(json);
	if (!next)
		assert_null(text);
	else
		assert_string_equal(text, next);
	free(text);
	json_decref(json);
}

/* If there are more items, the next page begins behind the last item of this page. */
static void pages_begin_behind_the_last_item(void **state)
{
	(void)state;
	check_next("task.list",
		   "{\"tasks\":[{\"id\":\"001\"},{\"id\":\"002\"}],\"more\":true}",
		   "\"002\"");
	check_next("task.list", "{\"tasks\":[{\"id\":\"001\"}],\"more\":false}", NULL);
	check_next("task.list", "{\"tasks\":[],\"more\":true}", NULL);
	/* The value for the next page must have the type of the page argument. Any other value
	 * is not used. */
	check_next("task.list", "{\"tasks\":[{\"id\":true}],\"more\":true}", NULL);
	check_next("message.peek", "{\"messages\":[],\"next\":3,\"more\":true}", "3");
	check_next("message.peek", "{\"messages\":[],\"next\":\"3\",\"more\":true}",
		   NULL);
	check_next("message.receipt", "{\"deliveries\":[{\"to\":\"ann\"}],\"more\":true}",
		   "\"ann\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_take_their_place),
		cmocka_unit_test(texts_are_cut_to_what_is_left),
		cmocka_unit_test(ranges_give_the_whole),
		cmocka_unit_test(no_answer_is_too_large),
		cmocka_unit_test(pages_begin_behind_the_last_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
