/* Output for people: the width of a text, characters that must not reach a terminal, and times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tools/cadre/cli.h"

static void test_width(void **state)
{
	(void)state;
	assert_int_equal(cli_width(""), 0);
	assert_int_equal(cli_width("plain"), 5);
	assert_int_equal(cli_width("naïve"), 5);
	assert_int_equal(cli_width("日本語"), 6);
	assert_int_equal(cli_width("e\xcc\x81"), 1); /* a combining mark takes no
							column */
	assert_int_equal(cli_width("\xf0\x9f\x98\x80"), 2);
	assert_int_equal(cli_width("\xff\xe6"), 2); /* invalid and incomplete UTF-8 */
	assert_int_equal(cli_width("☕⭐✅"), 6);
	assert_int_equal(cli_width("⚠"), 1);
	assert_int_equal(cli_width("⚠️"), 2); /* shown as a picture */
	assert_int_equal(cli_width("👨‍👩‍👧"), 2); /* three joined pictures */
	assert_int_equal(cli_width("👍🏽"), 2); /* a picture with a skin tone */
	assert_int_equal(cli_width("🇩🇪🇫🇷"), 4);
	assert_int_equal(cli_width("→✓"), 2);
	assert_int_equal(cli_fit("👨‍👩‍👧x", 1),
			 0); /* a cut falls between characters, not within a character */
}

static void test_plain(void **state)
{
	struct arena a = { 0 };

	(void)state;
	assert_string_equal(cli_plain(&a, "a\033[31mb\007c\177", true), "a?[31mb?c?");
	assert_string_equal(cli_plain(&a, "a\nb\tc\rd", true), "a\nb\tc?d");
	assert_string_equal(cli_plain(&a, "a\nb\tc", false), "a b c");
	assert_string_equal(cli_plain(&a,
				      "x\xc2\x9b"
				      "31m",
				      false),
			    "x??31m"); /* CSI, a control character of the C1 set */
	assert_string_equal(cli_plain(&a, "\xc2\xa0é", false), "\xc2\xa0é");
	/* U+202E and U+2066 become question marks. The arrow begins with the same byte as these
	 * two characters, but stays. */
	assert_string_equal(cli_plain(&a,
				      "a\xe2\x80\xae"
				      "b\xe2\x81\xa6"
				      "c→",
				      false),
			    "a???b???c→");
	assert_string_equal(cli_plain(&a, NULL, false), "");
	arena_release(&a);
}

static const char *ago(int64_t seconds)
{
	static char out[32];

	print_ago(1000000000000 - seconds * 1000, 1000000000000, out);
	return out;
}

static void test_ago(void **state)
{
	(void)state;
	assert_string_equal(ago(0), "now");
	assert_string_equal(ago(5), "5 s ago");
	assert_string_equal(ago(180), "3 min ago");
	assert_string_equal(ago(3 * 3600), "3 h ago");
	assert_string_equal(ago(47 * 3600), "47 h ago");
	assert_string_equal(ago(49 * 3600), "2 days ago");
	assert_string_equal(ago(-900), "in 15 min");
}

/* Copies the output of table_print() to `out`. During the call stdout is a temporary file. */
static void read_table(const struct cli *cli, struct table *t, char *out, size_t room)
{
	FILE *file = tmpfile(), *old = stdout;
	size_t n;

	assert_non_null(file);
	stdout = file;
	table_print(cli, t, true, 0);
	stdout = old;
	rewind(file);
	n = fread(out, 1, room - 1, file);
	out[n] = '\0';
	fclose(file);
}

static void fill(struct table *t)
{
	static const char *const cells[] = {
		"ID",
		"TEXT",
		"01a1fd4b-1773-734a-8bf5-e000ed5ab3e6",
		"日本語 and so on and on",
	};

	t->n_columns = 2;
	for (size_t i = 0; i < 4; i++)
		table_cell(t, cells[i]);
}

static void test_table(void **state)
{
	struct cli cli = { 0 };
	struct table t = { 0 };
	char out[400];

	(void)state;
	/* For programs, a tab separates cells, and a tab in a cell is escaped. */
	fill(&t);
	table_cell(&t, "");
	table_cell(&t, "a\tb\nc\\d\033");
	read_table(&cli, &t, out, sizeof(out));
	assert_string_equal(out, "ID\tTEXT\n"
				 "01a1fd4b-1773-734a-8bf5-e000ed5ab3e6\t"
				 "日本語 and so on and on\n"
				 "\ta\\tb\\nc\\\\d?\n");
	cli.people = true;
	/* On a narrow terminal the text is cut, but not the id, so that a person can copy the
	 * id. */
	cli.width = 54;
	fill(&t);
	read_table(&cli, &t, out, sizeof(out));
	assert_string_equal(out,
			    "ID                                    TEXT\n"
			    "01a1fd4b-1773-734a-8bf5-e000ed5ab3e6  日本語 and so o…\n");
	/* On a narrower terminal a column is left out, so that no line wraps. */
	cli.width = 38;
	fill(&t);
	read_table(&cli, &t, out, sizeof(out));
	assert_string_equal(out, "ID\n01a1fd4b-1773-734a-8bf5-e000ed5ab3e6\n");
}

/* A later row of the same list is printed under the heading that was printed before. If columns
 * get wider, the heading is printed again. */
static void test_kept_table(void **state)
{
	static const char *const cells[] = { "ID", "WHO",        "TEXT",
					     "1",  "ann",        "some words",
					     "2",  "alexandria", "many words that go on" };
	struct cli cli = { .people = true, .width = 34 };
	struct layout kept = { 0 };
	struct table t = { .kept = &kept, .n_columns = 3 };
	char out[400];

	(void)state;
	for (size_t i = 0; i < 6; i++)
		table_cell(&t, cells[i]);
	read_table(&cli, &t, out, sizeof(out));
	assert_string_equal(out, "ID  WHO  TEXT\n1   ann  some words\n");
	for (int twice = 0; twice < 2; twice++) {
		for (size_t i = 0; i < 9; i++)
			if (i < 3 || i > 5) /* the first three cells are the heading */
				table_cell(&t, cells[i]);
		read_table(&cli, &t, out, sizeof(out));
		assert_string_equal(out, twice ? "2   alexandria  many words that g…\n"
					       : "ID  WHO         TEXT\n"
						 "2   alexandria  many words that g…\n");
	}
}

static void test_colors(void **state)
{
	struct cli cli = { .color = true };
	struct arena a = { 0 };

	(void)state;
	assert_string_equal(cli_colored(&cli, &a, "failed"), "\033[31mfailed\033[0m");
	assert_string_equal(cli_colored(&cli, &a, "pending"), "pending");
	cli.color = false;
	assert_string_equal(cli_colored(&cli, &a, "failed"), "failed");
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_width),      cmocka_unit_test(test_plain),
		cmocka_unit_test(test_ago),        cmocka_unit_test(test_table),
		cmocka_unit_test(test_kept_table), cmocka_unit_test(test_colors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
