/*
 * Messages that are read and written again, byte for byte. Each line of tests/wire/golden.txt
 * has a message, a tab, and the text of the same message when it is written again. `=` stands
 * for the same text. A change in golden.txt changes the messages that older programs receive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/wire/frame.h"
#include "core/wire/wire.h"
#include "ops.gen.h"

enum { TYPES_MOST = 128 };

/* Reads a frame from `in` and writes the parsed message as a frame again. */
static void write_again(const char *in, struct text *out, bool seen[TYPES_MOST])
{
	struct frame_reader r = { 0 };
	struct text frame = { 0 };
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct packet p;
	size_t start = frame_open(&frame), used;
	void *body;

	text_add(&frame, in, strlen(in));
	assert_int_equal(frame_close(&frame, start, &f), 0);
	assert_int_equal(frame_read(&r, frame.data, frame.len, &used, &f), 1);
	if (packet_take(&p, &r, &f) || !p.wire)
		fail_msg("%s: %s", in, f.text);
	seen[p.wire - wire_table] = true;
	body = arena_alloc(&a, p.wire->record->size + 1);
	if (packet_decode_as(&p, p.wire->record, body, &a, &f) ||
	    wire_write(out, p.type, body, p.id, &f))
		fail_msg("%s: %s", in, f.text);
	packet_release(&p);
	frame_release(&r);
	text_release(&frame);
	arena_release(&a);
}

static void check(const char *in, const char *want, bool seen[TYPES_MOST])
{
	const unsigned char head[] = { 0, 0, (unsigned char)(strlen(want) >> 8),
				       (unsigned char)strlen(want) };
	struct text out = { 0 };

	write_again(in, &out, seen);
	if (out.len != 4 + strlen(want) || memcmp(out.data + 4, want, strlen(want)) != 0)
		fail_msg("%s\n gives %.*s\n  not %s", in, (int)out.len - 4, out.data + 4,
			 want);
	assert_memory_equal(out.data, head, 4);
	text_release(&out);
}

static void test_golden(void **state)
{
	FILE *in = fopen("tests/wire/golden.txt", "re");
	bool seen[TYPES_MOST] = { false };
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	(void)state;
	assert_non_null(in);
	while ((n = getline(&line, &room, in)) > 0) {
		char *tab;

		line[n - 1] = '\0';
		tab = strchr(line, '\t');
		assert_non_null(tab);
		*tab = '\0';
		check(line, strcmp(tab + 1, "=") ? tab + 1 : line, seen);
	}
	free(line);
	fclose(in);
	for (size_t i = 0; i < wire_count; i++)
		if (!seen[i])
			fail_msg("no golden frame of %s", wire_table[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_golden) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
