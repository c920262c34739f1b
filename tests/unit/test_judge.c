/*
 * The judge's verdict on the rounds of a bench. The verdict compares ratios, or says that the
 * machine was too busy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tools/bench/judge.h"

static struct finding find(const double (*rounds)[2], size_t n, enum want want,
			   double limit)
{
	struct judge j = { 0 };

	for (size_t i = 0; i < n; i++)
		judge_round(&j, rounds[i][0], rounds[i][1]);
	return judge_find(&j, want, limit, 0);
}

static void the_ratio_is_the_median_of_the_rounds(void **state)
{
	/* The quotient of the medians of the two columns would be 6 / 10. */
	static const double rounds[][2] = {
		{ 10, 10 }, { 6, 12 }, { 1, 9 }, { 4.5, 9 }, { 8, 10 }
	};
	struct finding f = find(rounds, 5, AT_MOST, 1);

	(void)state;
	assert_float_equal(f.value, 6, 1e-9);
	assert_float_equal(f.base, 10, 1e-9);
	assert_float_equal(f.ratio, 0.5, 1e-9);
	assert_float_equal(f.spread, 12.0 / 9, 1e-9);
}

/* When a machine slows down during the run, value and base get slower together, so the verdict
 * is the same. */
static void a_machine_that_slows_down_changes_no_ratio(void **state)
{
	static const double quiet[][2] = { { 800, 1000 }, { 810, 1010 }, { 790, 990 } };
	static const double slowed[][2] = { { 800, 1000 }, { 560, 700 }, { 640, 800 } };

	(void)state;
	assert_float_equal(find(quiet, 3, AT_LEAST, 0.7).ratio, 0.8, 0.01);
	assert_float_equal(find(slowed, 3, AT_LEAST, 0.7).ratio, 0.8, 0.01);
	assert_int_equal(find(slowed, 3, AT_LEAST, 0.7).verdict, VERDICT_OK);
}

static void the_limit_belongs_to_what_is_wanted(void **state)
{
	static const double rounds[][2] = { { 130, 100 }, { 130, 100 } };

	(void)state;
	assert_int_equal(find(rounds, 2, AT_MOST, 1.3).verdict, VERDICT_OK);
	assert_int_equal(find(rounds, 2, AT_MOST, 1.29).verdict, VERDICT_SHORT);
	assert_int_equal(find(rounds, 2, AT_LEAST, 1.3).verdict, VERDICT_OK);
	assert_int_equal(find(rounds, 2, AT_LEAST, 1.31).verdict, VERDICT_SHORT);
}

/* If the machine was busy, the verdict is neither "ok" nor "short", whatever the ratio is. */
static void a_base_that_wavers_is_noisy(void **state)
{
	static const double still[][2] = { { 90, 100 }, { 90, 150 }, { 90, 110 } };
	static const double wavers[][2] = { { 90, 100 }, { 90, 151 }, { 90, 110 } };

	(void)state;
	assert_int_equal(find(still, 3, AT_MOST, 1).verdict, VERDICT_OK);
	assert_int_equal(find(wavers, 3, AT_MOST, 1).verdict, VERDICT_NOISY);
	assert_int_equal(find(wavers, 3, AT_LEAST, 1).verdict, VERDICT_NOISY);
}

static void what_is_over_the_base_is_judged_by_itself(void **state)
{
	/* The difference of the medians of the two columns would be 24. */
	static const double rounds[][2] = { { 105, 100 }, { 140, 110 }, { 124, 90 } };
	struct finding f = find(rounds, 3, AT_MOST_OVER, 30);

	(void)state;
	assert_float_equal(f.over, 30, 1e-9);
	assert_int_equal(f.verdict, VERDICT_OK);
	assert_int_equal(find(rounds, 3, AT_MOST_OVER, 29).verdict, VERDICT_SHORT);
}

/* A base with one thread may keep its speed while other processes run. So the share of the
 * machine that other processes use is judged, too. */
static void a_machine_that_others_had_is_noisy(void **state)
{
	struct judge j = { .n = 1, .value = { 3 }, .base = { 2 } };

	(void)state;
	assert_int_equal(judge_find(&j, AT_MOST, 2, 0.2).verdict, VERDICT_OK);
	assert_int_equal(judge_find(&j, AT_MOST, 2, 0.21).verdict, VERDICT_NOISY);
	assert_float_equal(judge_find(&j, AT_MOST, 2, 0.21).others, 0.21, 1e-9);
}

static void a_value_alone_is_never_noisy(void **state)
{
	(void)state;
	assert_int_equal(judge_alone(12, 12).verdict, VERDICT_OK);
	assert_int_equal(judge_alone(12.1, 12).verdict, VERDICT_SHORT);
}

static void only_a_noisy_line_is_measured_again(void **state)
{
	(void)state;
	assert_true(judge_again(VERDICT_NONE, 0));
	assert_true(judge_again(VERDICT_NOISY, 1));
	assert_true(judge_again(VERDICT_NOISY, JUDGE_REPEATS));
	assert_false(judge_again(VERDICT_NOISY, JUDGE_REPEATS + 1));
	assert_false(judge_again(VERDICT_OK, 1));
	assert_false(judge_again(VERDICT_SHORT, 1));
	assert_false(
		judge_again(VERDICT_NONE, 1)); /* this run does not measure the line */
}

static void only_a_quiet_verdict_stays(void **state)
{
	(void)state;
	assert_true(judge_stays(VERDICT_OK));
	assert_true(judge_stays(VERDICT_SHORT));
	assert_false(judge_stays(VERDICT_NOISY));
	assert_false(judge_stays(VERDICT_NONE));
}

/* The value may differ very much from round to round, because only the base shows whether the
 * machine was busy. */
static void ours_may_waver(void **state)
{
	static const double rounds[][2] = { { 10, 100 }, { 90, 100 }, { 50, 100 } };

	(void)state;
	assert_int_equal(find(rounds, 3, AT_MOST, 0.6).verdict, VERDICT_OK);
}

static void a_single_round_has_no_spread(void **state)
{
	static const double rounds[][2] = { { 3, 2 } };
	struct finding f = find(rounds, 1, AT_MOST, 2);

	(void)state;
	assert_float_equal(f.spread, 1, 1e-9);
	assert_float_equal(f.ratio, 1.5, 1e-9);
	assert_int_equal(f.verdict, VERDICT_OK);
}

static void shares_of_all(void **state)
{
	double v[1000];

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		v[i] = (double)(1000 - i);
	assert_float_equal(judge_share(v, 1000, 0.99), 990, 1e-9);
	assert_float_equal(judge_share(v, 1000, 1), 1000, 1e-9);
	assert_float_equal(judge_median(v, 1000), 500, 1e-9);
	assert_float_equal(judge_median(v, 0), 0, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ratio_is_the_median_of_the_rounds),
		cmocka_unit_test(a_machine_that_slows_down_changes_no_ratio),
		cmocka_unit_test(the_limit_belongs_to_what_is_wanted),
		cmocka_unit_test(a_base_that_wavers_is_noisy),
		cmocka_unit_test(what_is_over_the_base_is_judged_by_itself),
		cmocka_unit_test(a_machine_that_others_had_is_noisy),
		cmocka_unit_test(a_value_alone_is_never_noisy),
		cmocka_unit_test(only_a_noisy_line_is_measured_again),
		cmocka_unit_test(only_a_quiet_verdict_stays),
		cmocka_unit_test(ours_may_waver),
		cmocka_unit_test(a_single_round_has_no_spread),
		cmocka_unit_test(shares_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
