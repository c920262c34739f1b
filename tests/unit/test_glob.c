/* test_glob - compares the matcher for globs with a second matcher, on all short paths of a
 * small alphabet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/reservation/glob.h"
#include "tests/lib/dice.h"
#include "tests/lib/place.h"

static size_t steps; /* number of steps in all comparisons */

static void test_matches(void **state)
{
	static const struct {
		const char *glob, *path;
		bool so;
	} all[] = {
		{ "a.c", "a.c", true },
		{ "a.c", "a.h", false },
		{ "a.c", "b/a.c", false },
		{ "src", "src/x/y.c", true },
		{ "src", "srcs", false },
		{ "src/*", "src/a.c", true },
		{ "src/*", "src/a/b.c", false },
		{ "src/*.c", "src/.c", true },
		{ "src/*", "src", false },
		{ "src/**", "src", false },
		{ "src/**", "src/a/b", true },
		{ "**", "a", true },
		{ "**/a.c", "a.c", true },
		{ "**/a.c", "x/y/a.c", true },
		{ "**/a.c", "xa.c", false },
		{ "a/**/b", "a/b", true },
		{ "a/**/b", "a/x/y/b", true },
		{ "a/**/b", "a/x/yb", false },
		{ "a**b", "axxb", true },
		{ "a**b", "ax/xb", false },
		{ "?.c", "\xc3\xa4.c", true },
		{ "?.c", "ab.c", false },
		{ "a?b", "a/b", false },
		{ "app/[id]/page.tsx", "app/[id]/page.tsx", true },
		{ "app/[id]/page.tsx", "app/i/page.tsx", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (glob_matches(all[i].glob, all[i].path, &steps) != all[i].so)
			fail_msg("%s and %s", all[i].glob, all[i].path);
}

/* --- a second matcher ----------------------------------------------------------------- */

/* Compares one name of a glob with one name of a path. */
static bool name_matches(const char *g, size_t n, const char *p, size_t len)
{
	if (!n)
		return !len;
	if (*g == '*')
		return name_matches(g + 1, n - 1, p, len) ||
		       (len && name_matches(g, n, p + 1, len - 1));
	return len && (*g == '?' || *g == *p) &&
	       name_matches(g + 1, n - 1, p + 1, len - 1);
}

static const char *after(const char *s)
{
	s += strcspn(s, "/");
	return *s ? s + 1 : NULL;
}

/* Compares the names from `g` on with the names from `p` on; NULL: no names are left. */
static bool below_matches(const char *g, const char *p)
{
	size_t n;

	if (!g || !p)
		return !g && !p;
	n = strcspn(g, "/");
	if (n == 2 && !memcmp(g, "**", 2)) {
		if (!after(g))
			return true;
		return below_matches(after(g), p) || below_matches(g, after(p));
	}
	if (!name_matches(g, n, p, strcspn(p, "/")))
		return false;
	if (!after(g) && !strpbrk(g, "*?"))
		return true; /* a plain name matches all paths below it */
	return below_matches(after(g), after(p));
}

/* --- all paths of a small alphabet ------------------------------------------------------ */

enum { GLOB_MOST = 5, PATH_MOST = 8, PATHS_MOST = 8000 };

static char paths[PATHS_MOST][PATH_MOST + 1];
static size_t n_paths;

/* Adds every path that begins with the text in `path` and contains only `a`, `b` and `/`. */
static void add_paths(char *path, size_t n)
{
	if (n && path[n - 1] != '/') {
		assert_true(n_paths < PATHS_MOST);
		memcpy(paths[n_paths++], path, n + 1);
	}
	for (const char *c = "ab/"; n < PATH_MOST && *c; c++) {
		if (*c == '/' && (!n || path[n - 1] == '/'))
			continue;
		path[n] = *c;
		path[n + 1] = '\0';
		add_paths(path, n + 1);
		path[n] = '\0';
	}
}

/* Makes a random tidy glob of at most GLOB_MOST characters. */
static void make_glob(struct dice *dice, char *out)
{
	static const char signs[] = "aab**?//";
	char raw[16];

	do {
		int n = 1 + dice_below(dice, GLOB_MOST);

		for (int i = 0; i < n; i++)
			raw[i] = signs[dice_below(dice, sizeof(signs) - 1)];
		raw[n] = '\0';
	} while (glob_tidy(raw, "/", out) || glob_fault(out));
}

static void test_globs_against_all_paths(void **state)
{
	char path[PATH_MOST + 1] = "", a[GLOB_PATH], b[GLOB_PATH];
	long met = 0, apart = 0, each = 4, first = first_of(&each);
	struct dice dice = { 7 };

	(void)state;
	add_paths(path, 0);
	for (long i = 0; i < 2000; i++) {
		bool both = false;

		make_glob(&dice, a);
		make_glob(&dice, b);
		if (i % each != first)
			continue;
		for (size_t k = 0; k < n_paths; k++) {
			bool in_a = below_matches(a, paths[k]);

			if (glob_matches(a, paths[k], &steps) != in_a)
				fail_msg("'%s' and the path %s", a, paths[k]);
			both |= in_a && below_matches(b, paths[k]);
		}
		/* If two globs of at most GLOB_MOST characters overlap, some path of at most
		 * PATH_MOST characters matches both. The globs `aaaa*` and `*bbbb` need a path
		 * of that length. */
		if (glob_meets(a, b, &steps) != both || glob_meets(b, a, &steps) != both)
			fail_msg("'%s' and '%s': %d", a, b, both);
		met += both;
		apart += !both;
	}
	assert_true(met > 300 / each && apart > 300 / each);
}

/* The longest globs, which contain the most tokens. */
static void test_longest(void **state)
{
	char a[GLOB_BYTES + 1], b[GLOB_BYTES + 1];

	(void)state;
	for (int i = 0; i < 127; i++)
		memcpy(a + 2 * i, "*/", 2);
	memcpy(a + 253, "a", 2);
	memset(b, '*', GLOB_BYTES);
	b[GLOB_BYTES] = '\0';
	assert_int_equal(strlen(a), 254);
	assert_null(glob_fault(a));
	assert_null(glob_fault(b));
	assert_false(glob_meets(a, b, &steps));
	for (int i = 0; i < 85; i++)
		memcpy(b + 3 * i, "**/", 3);
	b[254] = 'a';
	assert_true(glob_meets(a, b, &steps));
	assert_true(glob_meets(b, b, &steps));
	/* Counts the steps for the pair of globs that takes the most steps, and for two typical
	 * pairs in a project. */
	for (int i = 0; i < 127; i++) {
		memcpy(a + 2 * i, "*a", 2);
		memcpy(b + 2 * i, i < 126 ? "*b" : "*c", 3);
	}
	steps = 0;
	assert_false(glob_meets(a, b, &steps));
	assert_in_range(steps, 10000, 100000);
	steps = 0;
	assert_false(glob_meets("src/**/a.c", "src/b/*.h", &steps));
	assert_in_range(steps, 10, 200);
	assert_false(glob_meets("src/a.c", "src/b*", &steps));
	assert_in_range(steps, 10, 200);
}

static void test_tidy(void **state)
{
	static const struct {
		const char *given, *tidy; /* NULL: `given` is refused */
	} all[] = {
		{ "a/b", "a/b" },         { "./a//b/", "a/b" },
		{ "a/../b", "b" },        { "a/..", "" },
		{ "..", NULL },           { "a/../../b", NULL },
		{ "/p/a/b", "a/b" },      { "/p", "" },
		{ "/pa", NULL },          { "/", NULL },
		{ "/p/../a", NULL },      { "*/../a", NULL },
		{ "..a/...", "..a/..." },
	};
	char out[GLOB_PATH], big[2 * GLOB_PATH];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const char *why = glob_tidy(all[i].given, "/p/", out);

		if (!why != !!all[i].tidy || (!why && strcmp(out, all[i].tidy) != 0))
			fail_msg("%s: %s", all[i].given, why ? why : out);
	}
	assert_non_null(glob_tidy("/p/a", NULL, out));
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_non_null(glob_tidy(big, NULL, out));
	big[GLOB_PATH - 2] = '\0';
	assert_null(glob_tidy(big, NULL, out));
	assert_false(glob_matches("b", big, &steps));
	assert_true(glob_matches("a*", big, &steps));
	assert_non_null(glob_fault(big));
	assert_non_null(glob_fault(""));
	assert_non_null(glob_fault("*.{c,h}"));
	assert_non_null(glob_fault("x{1..3}"));
	assert_non_null(glob_fault("a\\b"));
	assert_null(glob_fault("routes/{-$lang}/{{x}}/a,b"));
	assert_null(glob_fault("[a].c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_globs_against_all_paths),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_tidy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
