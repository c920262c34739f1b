/*
 * TOML, checked with the published suite in tests/toml/. A valid TOML file gives the tree that
 * the JSON file beside it describes, and an invalid file is refused. Further tests check
 * places, depths and sizes, which the suite does not check.
 */
#include <fts.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/config/toml.h"

/* --- files --------------------------------------------------------------------- */

static char *read_all(const char *path, size_t *len)
{
	FILE *file = fopen(path, "r");
	char *data = calloc(1, 1 << 20);

	assert_non_null(file);
	assert_non_null(data);
	*len = fread(data, 1, 1 << 20, file);
	assert_true(*len < 1 << 20);
	fclose(file);
	return data;
}

/* Calls `check` for each .toml file below `dir`. Returns the number of files. */
static int for_each(const char *dir,
		    void (*check)(const char *path, const char *data, size_t len))
{
	char *const dirs[] = { (char *)dir, NULL };
	FTS *walk = fts_open(dirs, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int n = 0;

	assert_non_null(walk);
	for (FTSENT *e; (e = fts_read(walk));) {
		const char *end = strrchr(e->fts_name, '.');
		size_t len;
		char *data;

		if (e->fts_info != FTS_F || !end || strcmp(end, ".toml"))
			continue;
		data = read_all(e->fts_path, &len);
		check(e->fts_path, data, len);
		free(data);
		n++;
	}
	fts_close(walk);
	return n;
}

/* --- comparison of trees -------------------------------------------------------- */

static const char *const names[] = {
	[TOML_TEXT] = "string",     [TOML_INT] = "integer",
	[TOML_REAL] = "float",      [TOML_BOOL] = "bool",
	[TOML_TIME] = "datetime",   [TOML_LOCAL_TIME] = "datetime-local",
	[TOML_DATE] = "date-local", [TOML_CLOCK] = "time-local",
	[TOML_ARRAY] = "",          [TOML_TABLE] = "",
};

/* Writes a time in the suite's form, without zeros at the end of the fraction of a second. */
static void time_text(const struct toml_value *v, char *out, size_t room)
{
	const struct time_parts *t = &v->time;
	size_t n = 0;

	if (v->kind != TOML_CLOCK)
		n += (size_t)snprintf(out, room, "%04d-%02d-%02d", t->year, t->month,
				      t->day);
	if (v->kind == TOML_DATE)
		return;
	n += (size_t)snprintf(out + n, room - n, "%s%02d:%02d:%02d", n ? "T" : "",
			      t->hour, t->minute, t->second);
	if (t->nanosecond) {
		n += (size_t)snprintf(out + n, room - n, ".%09d", t->nanosecond);
		while (out[n - 1] == '0')
			out[--n] = '\0';
	}
	if (v->kind == TOML_TIME && t->offset)
		snprintf(out + n, room - n, "%c%02d:%02d", t->offset < 0 ? '-' : '+',
			 abs(t->offset) / 60, abs(t->offset) % 60);
	else if (v->kind == TOML_TIME)
		snprintf(out + n, room - n, "Z");
}

/* Removes the zeros at the end of the fraction of a second, which do not change the time. */
static void cut_zeros(char *s)
{
	char *point = strchr(s, '.');
	char *end = point ? point + 1 + strspn(point + 1, "0123456789") : NULL;
	char *last = end;

	if (!point)
		return;
	while (last[-1] == '0')
		last--;
	if (last - 1 == point)
		last = point;
	memmove(last, end, strlen(end) + 1);
}

static bool same_time(const struct toml_value *v, const char *expected)
{
	char ours[80], theirs[80];

	time_text(v, ours, sizeof(ours));
	snprintf(theirs, sizeof(theirs), "%s", expected);
	cut_zeros(theirs);
	return strcmp(ours, theirs) == 0;
}

static bool same_real(double real, const char *expected)
{
	double e = strtod(expected, NULL);

	return isnan(e) ? isnan(real) : real == e && signbit(real) == signbit(e);
}

static bool same_scalar(const struct toml_value *v, const char *expected, size_t len)
{
	switch (v->kind) {
	case TOML_TEXT:
		return v->text.len == len && memcmp(v->text.data, expected, len) == 0;
	case TOML_INT:
		return v->integer == strtoll(expected, NULL, 10);
	case TOML_REAL:
		return same_real(v->real, expected);
	case TOML_BOOL:
		return strcmp(expected, v->boolean ? "true" : "false") == 0;
	case TOML_TIME:
	case TOML_LOCAL_TIME:
	case TOML_DATE:
	case TOML_CLOCK:
		return same_time(v, expected);
	case TOML_ARRAY:
	case TOML_TABLE:
		break;
	}
	return false;
}

static bool same(const struct toml_value *v, json_t *expected);

/* Jansson accepts no NUL in a key. So the suite's key that contains a NUL is loaded under this
 * name. */
static const char nul_key[] = "NUL!!!";

static json_t *load_expected(const char *path)
{
	size_t len;
	char *data = read_all(path, &len), *nul = strstr(data, "\"\\u0000\":");
	json_error_t error;
	json_t *expected;

	if (nul)
		memcpy(nul + 1, nul_key, strlen(nul_key));
	expected = json_loadb(data, len, JSON_ALLOW_NUL, &error);
	if (!expected)
		fail_msg("%s: %s", path, error.text);
	free(data);
	return expected;
}

static json_t *expected_under(json_t *expected, const struct toml_text *key)
{
	if (key->len == 1 && !*key->data)
		return json_object_get(expected, nul_key);
	return json_object_getn(expected, key->data, key->len);
}

static bool same_table(const struct toml_table *t, json_t *expected)
{
	size_t n = 0;

	for (const struct toml_entry *e = t->first; e; e = e->next, n++) {
		json_t *other = expected_under(expected, &e->key);

		if (!other || !same(&e->value, other) ||
		    toml_find(t, e->key.data, e->key.len) != e)
			return false;
	}
	return n == t->n && n == json_object_size(expected);
}

static bool same_array(const struct toml_array *a, json_t *expected)
{
	for (size_t i = 0; i < a->n; i++)
		if (!same(&a->items[i], json_array_get(expected, i)))
			return false;
	return json_is_array(expected) && a->n == json_array_size(expected);
}

static bool same(const struct toml_value *v, json_t *expected)
{
	json_t *type = json_object_get(expected, "type");
	json_t *value = json_object_get(expected, "value");

	if (v->at.line < 1 || v->at.column < 1)
		return false;
	if (v->kind == TOML_TABLE)
		return same_table(v->table, expected);
	if (v->kind == TOML_ARRAY)
		return same_array(v->array, expected);
	return json_is_string(value) && json_is_string(type) &&
	       !strcmp(names[v->kind], json_string_value(type)) &&
	       same_scalar(v, json_string_value(value), json_string_length(value));
}

static void check_valid(const char *path, const char *data, size_t len)
{
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct toml_table *root;
	json_t *expected;
	char beside[300];

	snprintf(beside, sizeof(beside), "%.*s.json", (int)strlen(path) - 5, path);
	expected = load_expected(beside);
	if (toml_read(&a, path, data, len, &root, &f) < 0)
		fail_msg("%s", f.text);
	if (!same_table(root, expected))
		fail_msg("%s: another tree", path);
	json_decref(expected);
	arena_release(&a);
}

static void check_invalid(const char *path, const char *data, size_t len)
{
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct toml_table *root = NULL;
	const char *end = strrchr(path, '/');

	if (toml_read(&a, path, data, len, &root, &f) == 0)
		fail_msg("%s: is taken", path);
	assert_int_equal(f.code, FAULT_INVALID);
	assert_non_null(strstr(f.text, end)); /* the fault names the file */
	assert_null(root);
	arena_release(&a);
}

static void test_valid(void **state)
{
	(void)state;
	assert_int_equal(for_each("tests/toml/valid", check_valid), 157);
}

static void test_invalid(void **state)
{
	(void)state;
	assert_int_equal(for_each("tests/toml/invalid", check_invalid), 375);
}

/* --- beyond the suite ------------------------------------------------------------------ */

/* Lines and columns are counted as an editor counts them. */
static void test_places(void **state)
{
	static const char text[] = "\n[a]\r\n  b . c = [ 1,\n\t'''x\n''', { d = 2 } ]\n";
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct toml_table *root;
	struct toml_entry *e;
	struct toml_value *items;

	(void)state;
	assert_int_equal(toml_read(&a, "f", text, sizeof(text) - 1, &root, &f), 0);
	e = toml_find(root, "a", 1);
	assert_int_equal(e->at.line, 2);
	assert_int_equal(e->at.column, 2);
	e = toml_find(e->value.table, "b", 1);
	assert_int_equal(e->at.line, 3);
	assert_int_equal(e->at.column, 3);
	e = toml_find(e->value.table, "c", 1);
	assert_int_equal(e->at.column, 7);
	assert_int_equal(e->value.at.column, 11);
	items = e->value.array->items;
	assert_int_equal(items[1].at.line, 4);
	assert_int_equal(items[1].at.column, 2);
	assert_int_equal(items[2].at.line, 5);
	assert_int_equal(items[2].at.column, 6);
	assert_int_equal(items[2].table->first->value.at.column, 12);
	arena_release(&a);
}

static void test_faults(void **state)
{
	static const struct {
		const char *text, *fault;
	} cases[] = {
		{ "a = 1\nb = two", "f:2:5: 'two' is not a value; put a text in quotes" },
		{ "a =", "f:1:4: a value is missing here" },
		{ "a = 1\n\na = 2", "f:3:1: 'a' is defined already, in line 1" },
		{ "[a]\nb = 1\n[a.b]", "f:3:4: 'b' is defined already, in line 2" },
		{ "a = 1 b", "f:1:7: only a comment may follow here" },
		{ "\n[a", "f:2:3: the header does not end with ]" },
		{ "a = \"x\nb = 1", "f:1:6: this text does not end with \"" },
		{ "a = '''\n\n", "f:2:1: this text does not end with three '" },
		{ "a = [1 2]", "f:1:8: a comma or ] must follow a value of an array" },
		{ "a = 007", "f:1:5: a number must not begin with 0" },
		{ "a = 9223372036854775808", "f:1:5: a number beyond 64 bits" },
		{ "a = \"\\x41\"", "f:1:7: unknown escape; write \\\\ for a backslash" },
		{ "a = 1\nb = '\xff'", "f:2:6: not UTF-8" },
		{ "# \x01", "f:1:3: a control character (0x01) is not allowed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena a = { 0 };
		struct fault f = { 0 };
		struct toml_table *root;

		toml_read(&a, "f", cases[i].text, strlen(cases[i].text), &root, &f);
		assert_string_equal(f.text, cases[i].fault);
		arena_release(&a);
	}
}

/* A path that is too long is cut at its beginning, because its end names the file. */
static void test_long_path(void **state)
{
	struct fault f = { 0 };
	char path[4000];

	(void)state;
	memset(path, 'x', sizeof(path));
	snprintf(path + 3900, 100, "/cadre.toml");
	toml_refuse(path, (struct toml_place){ 12, 3 }, &f, "%0500d", 7);
	assert_non_null(strstr(f.text, "/cadre.toml:12:3: 000"));
	assert_memory_equal(f.text, "...", 3);
}

static int read_text(const char *text, size_t len)
{
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct toml_table *root;
	int rc = toml_read(&a, "f", text, len, &root, &f);

	arena_release(&a);
	return rc;
}

/* Reads a text of `head`, `times` copies of `piece`, `times` copies of `end`, and `last`. */
static int read_deep(const char *head, const char *piece, const char *end, int times,
		     const char *last)
{
	char text[4096];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", head);

	for (int i = 0; i < times; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", piece);
	for (int i = 0; i < times; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", end);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", last);
	assert_true(n < sizeof(text));
	return read_text(text, n);
}

static void test_depth(void **state)
{
	(void)state;
	assert_int_equal(read_deep("a = ", "[", "]", TOML_DEPTH, ""), 0);
	assert_int_equal(read_deep("a = ", "[", "]", TOML_DEPTH + 1, ""), FAULT_INVALID);
	assert_int_equal(read_deep("a = ", "[", "", 4000, ""), FAULT_INVALID);
	assert_int_equal(read_deep("a = ", "{b=", "", 1300, "1"), FAULT_INVALID);
	assert_int_equal(read_deep("a", ".a", "", TOML_DEPTH, " = 1"), 0);
	assert_int_equal(read_deep("a", ".a", "", TOML_DEPTH + 1, " = 1"), FAULT_INVALID);
	assert_int_equal(read_deep("[a", ".a", "", TOML_DEPTH - 1, "]"), 0);
	assert_int_equal(read_deep("[a", ".a", "", 2000, "]"), FAULT_INVALID);
	assert_int_equal(read_deep("[[a", ".a", "", TOML_DEPTH - 2, "]]"), 0);
	assert_int_equal(read_deep("[[a", ".a", "", TOML_DEPTH - 1, "]]"), FAULT_INVALID);
}

/* A table with many keys is read fast, and each of its keys is found fast. A key that is in the
 * table twice is detected fast, too. */
static void test_many(void **state)
{
	enum { KEYS = 20000 };
	char *text = calloc(KEYS + 1, 24);
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct toml_table *root;
	size_t n = 0;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < KEYS; i++)
		n += (size_t)snprintf(text + n, 24, "key-%d = %d\n", i, i);
	assert_int_equal(toml_read(&a, "f", text, n, &root, &f), 0);
	assert_int_equal(root->n, KEYS);
	assert_int_equal(toml_find(root, "key-12345", 9)->value.integer, 12345);
	assert_null(toml_find(root, "key-20000", 9));
	n += (size_t)snprintf(text + n, 24, "key-77 = 1\n");
	assert_int_equal(toml_read(&a, "f", text, n, &root, &f), FAULT_INVALID);
	assert_string_equal(f.text, "f:20001:1: 'key-77' is defined already, in line 78");
	arena_release(&a);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),     cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_places),    cmocka_unit_test(test_faults),
		cmocka_unit_test(test_long_path), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
