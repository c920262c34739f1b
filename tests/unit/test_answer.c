/*
 * Tests which messages from a guest count as answers for the host, and how many parts an answer
 * may have. Also tests which type of message answers each message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/home/home.h"
#include "core/host/guests/hosted_answer.h"
#include "ops.gen.h"

static void read_type(struct packet *p, const char *type)
{
	struct fault f = { 0 };
	char body[100];
	int n = snprintf(body, sizeof(body), "{\"type\":\"%s\"}", type);

	assert_int_equal(packet_read(p, body, (size_t)n, &f), 0);
}

/* A number beyond 64 bits or half of a surrogate pair makes the whole message unreadable, even
 * in an unknown field. The fault says what is wrong with the value. */
static void numbers_and_texts_are_of_i_json(void **state)
{
	static const char *const cases[][2] = {
		{ "9223372036854775807", "" },
		{ "-9223372036854775808", "" },
		{ "9223372036854775808", "beyond 64 bits: too big integer" },
		{ "-99999999999999999999", "beyond 64 bits: too big negative integer" },
		{ "1e999", "beyond 64 bits: real number overflow" },
		{ "\"\\ud83d\\ude00\"", "" },
		{ "\"\\ud83d\"", "\\uD83D" },
		{ "\"\\udc00x\"", "\\uDC00" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fault f = { 0 };
		struct packet p;
		char body[100];
		int n = snprintf(body, sizeof(body), "{\"type\":\"Pong\",\"newer\":[%s]}",
				 cases[i][0]);

		packet_read(&p, body, (size_t)n, &f);
		assert_int_equal(f.code, *cases[i][1] ? FAULT_INVALID : 0);
		if (!strstr(f.text, cases[i][1]))
			fail_msg("%s: '%s' does not say '%s'", cases[i][0], f.text,
				 cases[i][1]);
		packet_release(&p);
	}
}

static bool is_question(const struct wire *w)
{
	return w->ports && w->senders & SIDE_HOST;
}

/* Only a message of the right type is an answer. Every other well-formed message is refused. */
static void one_type_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < wire_count; i++) {
		const struct wire *asked = &wire_table[i];

		for (size_t k = 0; k < wire_count && is_question(asked); k++) {
			const struct wire *came = &wire_table[k];
			bool right = came == wire_answer(asked, SIDE_HOST);
			struct fault f = { 0 };
			struct packet p;

			if (!strcmp(came->name, "Error"))
				continue;
			read_type(&p, came->name);
			if (answer_judge(&p, asked, &f) !=
			    (right ? ANSWER_GOOD : ANSWER_WRONG))
				fail_msg("%s answers %s", came->name, asked->name);
			assert_int_equal(f.code, right ? 0 : FAULT_IO);
			packet_release(&p);
		}
	}
}

/* In schema/wire.op, the first arrow of a message names the type of the answer that the host
 * gets. The second arrow names the type of the answer that a guest gets. With only one arrow
 * both sides get this type. Without an arrow the answer is Ok. */
static void each_side_has_its_answer(void **state)
{
	int apart = 0;

	(void)state;
	for (size_t i = 0; i < wire_count; i++) {
		const struct wire *w = &wire_table[i];
		const struct wire *usual = w->answer ? w->answer : wire_find("Ok");

		assert_ptr_equal(wire_answer(w, SIDE_HOST), usual);
		assert_ptr_equal(wire_answer(w, SIDE_GUEST),
				 w->guest_answer ? w->guest_answer : usual);
		apart += w->guest_answer && w->guest_answer != usual;
	}
	assert_true(apart > 0);
}

/* A struct is filled only from a message of the struct's own type. */
static void a_message_fills_its_own_struct(void **state)
{
	struct wire_exec_result out = { 0 };
	const struct record *own = wire_record_of(&out);
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct packet p;

	(void)state;
	for (size_t i = 0; i < wire_count; i++) {
		f = (struct fault){ 0 };
		if (wire_table[i].record == own)
			continue;
		read_type(&p, wire_table[i].name);
		assert_int_equal(packet_decode_as(&p, own, &out, &a, &f), FAULT_INVALID);
		assert_string_equal(f.where, "/type");
		f = (struct fault){ 0 };
		assert_int_equal(answer_decode_as(&p, own, &out, &a, &f), FAULT_IO);
		packet_release(&p);
	}
	f = (struct fault){ 0 };
	read_type(&p, "no such type");
	assert_int_equal(packet_decode_as(&p, own, &out, &a, &f), FAULT_INVALID);
	packet_release(&p);
	arena_release(&a);
}

/* An answer has a limited number of parts, and all parts must arrive within a limited time. */
static void parts_have_an_end(void **state)
{
	struct answer_parts parts = { 0 };
	struct fault f = { 0 };

	(void)state;
	for (int i = 0; i < ANSWER_PARTS_MOST; i++) {
		int64_t ms = answer_more(&parts, &f);

		assert_true(ms > 0 && ms <= ANSWER_MS);
	}
	assert_int_equal(answer_more(&parts, &f), FAULT_IO);

	f = (struct fault){ 0 };
	parts = (struct answer_parts){ .until = clock_boot_ms() + 1000 };
	assert_in_range(answer_more(&parts, &f), 1, 1000);
	parts.until = clock_boot_ms();
	assert_int_equal(answer_more(&parts, &f), FAULT_IO);
}

/* A message is accepted from the senders and on the ports that its type names. A type that is
 * only used as an answer names no port. */
static void a_message_belongs_somewhere(void **state)
{
	static const enum side sides[] = { SIDE_HOST, SIDE_GUEST };

	(void)state;
	for (size_t i = 0; i < wire_count; i++)
		for (int k = 0; k < 4; k++) {
			const struct wire *w = &wire_table[i];
			unsigned port = k % 2 ? WIRE_CONTROL : WIRE_RELAY;
			struct packet p = { .type = w->name, .wire = w };
			struct fault f = { 0 };
			bool may = w->ports & port && w->senders & sides[k / 2];

			assert_int_equal(packet_belongs(&p, sides[k / 2], port, &f),
					 may ? 0 : FAULT_INVALID);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_type_answers),
		cmocka_unit_test(numbers_and_texts_are_of_i_json),
		cmocka_unit_test(each_side_has_its_answer),
		cmocka_unit_test(a_message_fills_its_own_struct),
		cmocka_unit_test(a_message_belongs_somewhere),
		cmocka_unit_test(parts_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
