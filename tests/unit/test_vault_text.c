/* Tests of notes as text, and of the lines in which an expression finds a match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/vault/vault_regex.h"
#include "core/vault/vault_text.h"

static void composes(enum note_mode mode, const char *old, const char *add,
		     const char *want)
{
	struct text before = { 0 }, out = { 0 };

	text_add(&before, old, strlen(old));
	vault_note_compose(mode, &before, vault_note_front(old, strlen(old)), add, &out);
	assert_string_equal(out.data, want);
	text_release(&before);
	text_release(&out);
}

static void test_compose(void **state)
{
	(void)state;
	composes(NOTE_OVERWRITE, "old", "new", "new");
	composes(NOTE_APPEND, "", "new", "new");
	composes(NOTE_APPEND, "old", "new", "old\nnew");
	composes(NOTE_APPEND, "old\n", "new\n", "old\nnew\n");
	composes(NOTE_PREPEND, "", "new", "new");
	composes(NOTE_PREPEND, "old", "new", "new\nold");
	composes(NOTE_PREPEND, "---\na: 1\n---\nold", "new\n",
		 "---\na: 1\n---\nnew\nold");
	composes(NOTE_PREPEND, "---\na: 1\n---", "new", "---\na: 1\n---\nnew");
	composes(NOTE_PREPEND, "--- no front\nold", "new", "new\n--- no front\nold");
	composes(NOTE_PREPEND, "---\nnever closed", "new", "new\n---\nnever closed");
}

static void test_front(void **state)
{
	(void)state;
	assert_int_equal(vault_note_front("---\na: 1\n---\nx", 14), 13);
	assert_int_equal(vault_note_front("---\r\na: 1\r\n...\r\nx", 17), 16);
	assert_int_equal(vault_note_front("---\n---", 7), 7);
	assert_int_equal(vault_note_front("---", 3), 0);
	assert_int_equal(vault_note_front("----\n----\n", 10), 0);
	assert_int_equal(vault_note_front("\n---\n---\n", 9), 0);
}

static void test_fit(void **state)
{
	(void)state;
	assert_int_equal(vault_note_fit("plain", 5, 100), 5);
	assert_int_equal(vault_note_fit("plain", 5, 3), 3);
	assert_int_equal(vault_note_fit("\n\n\n", 3, 12), 2);
	assert_int_equal(vault_note_fit("a\xc3\xbc", 2, 100), 1); /* cuts a character */
	assert_int_equal(vault_note_fit("a\xc3\xbc", 3, 100), 3);
	assert_int_equal(vault_note_fit("\xe2\x82\xac", 2, 100),
			 2); /* with 0 bytes a reader would make no progress */
	assert_int_equal(vault_note_fit("a\xf0\x9f\x98\x80", 4, 100), 1);
	assert_int_equal(vault_note_fit("\x80\x80\x80\x80\x80", 5, 100), 5);
}

static void test_zeros(void **state)
{
	struct arena a = { 0 };

	(void)state;
	assert_string_equal(vault_note_text(&a, "a\0b\0", 4), "a\xef\xbf\xbd"
							      "b\xef\xbf\xbd");
	assert_string_equal(vault_note_text(&a, "", 0), "");
	arena_release(&a);
}

/* Returns the offset of the match in `line`; -1: there is no match; -2: the pattern is refused. */
static int finds(const char *pattern, const char *line, size_t len)
{
	struct vault_regex r;
	struct fault f = { 0 };
	size_t at = 0;
	bool found;

	if (regex_open(&r, pattern, &f) < 0)
		return -2;
	found = regex_finds(&r, line, len, &at);
	regex_close(&r);
	return found ? (int)at : -1;
}

static void test_regex(void **state)
{
	(void)state;
	assert_int_equal(finds("b+", "aabb", 4), 2);
	assert_int_equal(finds("^$", "", 0), 0);
	assert_int_equal(finds("\\d{3}", "a123", 4), 1);
	assert_int_equal(finds("[\\d]", "1", 1), -1); /* `\d` is not special in a set */
	assert_int_equal(finds("[^]]x", "]xax", 4), 2);
	assert_int_equal(finds("[[:upper:]]", "aB", 2), 1);
	assert_int_equal(finds("b", "a\0b", 3), 2);
	assert_int_equal(finds("a\\{", "a{", 2), 0);
	assert_int_equal(finds("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
			       "01234567-89ab-cdef-0123-456789abcdef", 36),
			 0);
	assert_int_equal(finds("\\2", "2", 1), -2);
	assert_int_equal(finds("(a", "a", 1), -2);
	assert_int_equal(finds("a{151}", "a", 1), -2);
	assert_int_equal(finds("((){99}){99}", "a", 1), -2);
	assert_int_equal(finds("[z-a]", "a", 1), -2);
}

/* A long line is searched in pieces. A match across two pieces is found too. */
static void test_long_line(void **state)
{
	size_t len = 100000;
	char *line = calloc(1, len + 1);

	(void)state;
	memset(line, 'a', len);
	assert_int_equal(finds("x", line, len), -1);
	for (size_t at = 2000; at < 2100; at++) {
		memcpy(line + at, "needle", 6);
		assert_int_equal(finds("needle", line, len), (int)at);
		memset(line + at, 'a', 6);
	}
	memcpy(line + len - 6, "needle", 6);
	assert_int_equal(finds("needle$", line, len), (int)len - 6);
	assert_int_equal(finds("^needle", line, len), -1);
	memcpy(line + 2048, "needle", 6);
	assert_int_equal(finds("needle$", line, len), (int)len - 6);
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compose), cmocka_unit_test(test_front),
		cmocka_unit_test(test_fit),     cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_regex),   cmocka_unit_test(test_long_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
