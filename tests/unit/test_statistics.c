/* kernels/statistics.c against values worked out by hand and against exhaustive counting. */
#include "kernels/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct column column_of(const double *values, size_t count)
{
    return (struct column){ values, sizeof *values, count };
}

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fmax(1, fabs(want)))) {
        fail_msg("got %.17g, want %.17g", got, want);
    }
}

/* --- Medians, ranks, distances --- */

static void test_median_of_odd_and_even(void **state)
{
    (void)state;
    const double odd[] = { 9, 1, 5 };
    const double even[] = { 4, 8, 1, 6 };
    const struct column one = column_of(odd, 1), three = column_of(odd, 3),
                        four = column_of(even, 4), none = column_of(odd, 0);
    assert_near(column_median(&one), 9);
    assert_near(column_median(&three), 5);
    assert_near(column_median(&four), 5); /* (4 + 6) / 2 */
    assert_true(isnan(column_median(&none)));
}

static void test_unknown_values_are_left_out(void **state)
{
    (void)state;
    const double values[] = { NAN, 3, NAN, 1, 2 };
    const struct column column = column_of(values, COUNT(values));
    assert_int_equal(column_known(&column), 3);
    assert_near(column_median(&column), 2);
    assert_near(column_rank(&column, 1), 1);
    assert_near(column_rank(&column, 3), 3);
    assert_true(isnan(column_rank(&column, 4)));
    assert_true(isnan(column_rank(&column, 0)));
    const struct column unknown = column_of(values, 1);
    assert_true(isnan(column_median(&unknown)));
    assert_true(isnan(column_mad(&unknown, 0)));
}

static void test_median_distance(void **state)
{
    (void)state;
    /* Distances from 5: 4 3 0 1 95 -> sorted 0 1 3 4 95. */
    const double values[] = { 1, 2, 5, 6, 100 };
    const struct column column = column_of(values, COUNT(values));
    assert_near(column_mad(&column, column_median(&column)), 3);
}

/* Anything from 0 up to `below`; the same at each run. */
static uint64_t anything(uint64_t below)
{
    static uint64_t x = 1;
    x = x * 6364136223846793005u + 1442695040888963407u;
    return (x >> 33) % below;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Every rank of random values of both signs, many magnitudes and with repeats is the one that
 * sorting gives, and the values stay where they were. */
static void test_ranks_agree_with_sorting(void **state)
{
    (void)state;
    double values[257] = { 0 }, before[257], sorted[257];
    for (size_t n = 1; n <= COUNT(values); n += 16) {
        for (size_t i = 0; i < n; i++) {
            values[i] = ldexp((double)anything(64) - 32, (int)anything(80) - 40);
        }
        memcpy(before, values, sizeof values);
        memcpy(sorted, values, sizeof values);
        qsort(sorted, n, sizeof *sorted, by_value);
        const struct column column = column_of(values, n);
        for (size_t rank = 1; rank <= n; rank++) {
            assert_true(column_rank(&column, rank) == sorted[rank - 1]);
        }
        assert_memory_equal(values, before, n * sizeof *values);
    }
}

static void test_stride(void **state)
{
    (void)state;
    const struct {
        double skipped, value;
    } pairs[] = { { 100, 3 }, { 200, 1 }, { 300, 2 } };
    const struct column column = { &pairs[0].value, sizeof *pairs, COUNT(pairs) };
    assert_near(column_median(&column), 2);
    assert_near(column_rank(&column, 3), 3);
}

/* --- The interval --- */

static void test_interval_of_eleven(void **state)
{
    (void)state;
    struct median_interval interval;
    assert_true(median_interval(11, &interval));
    assert_int_equal(interval.low, 2);
    assert_int_equal(interval.high, 10);
    assert_near(interval.coverage, 1 - 2 * (1 + 11) / 2048.0); /* 98.8 % */
}

static void test_no_interval_below_six(void **state)
{
    (void)state;
    struct median_interval interval;
    for (size_t n = 0; n < 6; n++) {
        assert_false(median_interval(n, &interval));
    }
    assert_true(median_interval(6, &interval));
    assert_int_equal(interval.low, 1);
    assert_int_equal(interval.high, 6);
    assert_near(interval.coverage, 1 - 2 / 64.0);
}

/* Of the 2^n ways in which n samples fall below or above the median, those in which ranks low and
 * high enclose it, counted one by one. */
static double counted_coverage(unsigned n, size_t low, size_t high)
{
    uint64_t enclosed = 0;
    for (uint64_t way = 0; way < 1ull << n; way++) {
        const size_t below = (size_t)__builtin_popcountll(way);
        enclosed += below >= low && below < high ? 1 : 0;
    }
    return (double)enclosed / (double)(1ull << n);
}

static void test_coverage_by_exhaustion(void **state)
{
    (void)state;
    for (unsigned n = 6; n <= 20; n++) {
        struct median_interval interval;
        assert_true(median_interval(n, &interval));
        assert_int_equal(interval.low + interval.high, n + 1);
        assert_near(interval.coverage, counted_coverage(n, interval.low, interval.high));
        assert_true(interval.coverage >= 0.95);
        /* and the next narrower pair falls short */
        assert_true(counted_coverage(n, interval.low + 1, interval.high - 1) < 0.95);
    }
}

/* The same for numbers that cannot be counted out: Pascal's triangle, row by row. */
static void test_coverage_of_many_samples(void **state)
{
    (void)state;
    enum { MOST = 1400 };
    static long double share[MOST + 2]; /* C(n, k) / 2^n */
    share[0] = 1;
    for (size_t n = 1; n <= MOST; n++) {
        for (size_t k = n; k > 0; k--) {
            share[k] = (share[k] + share[k - 1]) / 2;
        }
        share[0] /= 2;
        struct median_interval interval;
        if (!median_interval(n, &interval)) {
            assert_true(n < 6);
            continue;
        }
        long double enclosed = 0;
        for (size_t k = interval.low; k < interval.high; k++) {
            enclosed += share[k];
        }
        assert_true(fabsl(enclosed - interval.coverage) < 1e-12L);
        const long double narrower = enclosed - share[interval.low] - share[interval.high - 1];
        assert_true(interval.coverage >= 0.95 && narrower < 0.95L);
    }
}

/* --- Spread within and between visits --- */

struct observed {
    double value;
    unsigned visit;
};

static struct observations observe(const struct observed *all, size_t count)
{
    return (struct observations){ { &all->value, sizeof *all, count }, &all->visit };
}

static void test_spread_of_one_visit(void **state)
{
    (void)state;
    struct observed all[11];
    for (unsigned i = 0; i < COUNT(all); i++) {
        all[i] = (struct observed){ 100 + (i * 7) % 11, 0 }; /* 100..110, mixed up */
    }
    const struct observations observations = observe(all, COUNT(all));
    struct spread spread;
    assert_false(spread_of(&observations, &spread));
    assert_near(spread.median, 105);
    assert_near(spread.min, 100);
    assert_near(spread.max, 110);
    assert_near(spread.mad, 3); /* 0 1 1 2 2 3 3 4 4 5 5 */
    assert_near(spread.low, 101);
    assert_near(spread.high, 109);
    assert_near(spread.within, 9);
    assert_true(isnan(spread.between));
    assert_int_equal(spread.samples, 11);
    assert_int_equal(spread.visits, 1);
}

static void test_spread_of_nothing(void **state)
{
    (void)state;
    const struct observed unknown[] = { { NAN, 0 }, { NAN, 1 } };
    for (size_t count = 0; count <= COUNT(unknown); count++) {
        const struct observations observations = observe(unknown, count);
        struct spread spread;
        assert_false(spread_of(&observations, &spread));
        assert_true(isnan(spread.median) && isnan(spread.min) && isnan(spread.max));
        assert_true(isnan(spread.mad) && isnan(spread.low) && isnan(spread.high));
        assert_true(isnan(spread.coverage) && isnan(spread.within) && isnan(spread.between));
        assert_int_equal(spread.samples, 0);
        assert_int_equal(spread.visits, 0);
        assert_false(spread_is_noisy(&spread));
    }
}

/* Three visits of four samples with medians 100, 100.5 and 101 that each spread over 6: the ranks
 * 3 and 10 of 12 stand. */
static void test_visits_that_agree(void **state)
{
    (void)state;
    struct observed all[12];
    static const double around[] = { -3, -1, 1, 3 };
    for (unsigned i = 0; i < COUNT(all); i++) {
        const unsigned visit = i / 4;
        all[i] = (struct observed){ 100 + 0.5 * visit + around[i % 4], visit };
    }
    const struct observations observations = observe(all, COUNT(all));
    struct spread spread;
    assert_false(spread_of(&observations, &spread));
    assert_near(spread.between, 1);
    assert_near(spread.within, 3 * 2); /* median distance (1 + 3) / 2 */
    assert_near(spread.low, 98);       /* 97 97.5 98 99 ... */
    assert_near(spread.high, 103);     /* ... 102 103 103.5 104 */
    assert_near(spread.coverage, 1 - 2 * (1 + 12 + 66) / 4096.0);
}

/* Five visits of seven that are quiet, but differ: the ranks 12 and 24 of 35 lie in the second and
 * the fourth visit, and the interval is widened to the first and the fifth. */
static void test_visits_that_differ(void **state)
{
    (void)state;
    struct observed all[35];
    for (unsigned i = 0; i < COUNT(all); i++) {
        const unsigned visit = i / 7;
        all[i] = (struct observed){ 100 + 10 * visit + 0.1 * (i % 7), visit };
    }
    const struct observations observations = observe(all, COUNT(all));
    struct spread spread;
    assert_true(spread_of(&observations, &spread));
    assert_near(spread.between, 40);
    assert_near(spread.within, 3 * 0.2);
    assert_near(spread.low, 100.3);
    assert_near(spread.high, 140.3);
    assert_int_equal(spread.visits, 5);
}

/* One sample a visit tells nothing about the spread within. */
static void test_single_samples(void **state)
{
    (void)state;
    const struct observed all[] = { { 1, 0 }, { 2, 1 }, { 3, 2 } };
    const struct observations observations = observe(all, COUNT(all));
    struct spread spread;
    assert_false(spread_of(&observations, &spread));
    assert_true(isnan(spread.within));
    assert_near(spread.between, 2);
}

static void test_noisy(void **state)
{
    (void)state;
    struct spread spread = { .median = 100, .min = 90, .max = 110, .low = 99.1, .high = 101 };
    spread.coverage = 0.98;
    assert_false(spread_is_noisy(&spread)); /* 1.9 wide, whatever the extremes are */
    spread.low = 98.9;
    assert_true(spread_is_noisy(&spread));
    spread.coverage = spread.low = spread.high = NAN;
    assert_true(spread_is_noisy(&spread)); /* without an interval the extremes count */
    spread.min = 99.1;
    spread.max = 101;
    assert_false(spread_is_noisy(&spread));
}

/* --- Trend --- */

static bool has_trend(double (*value)(unsigned visit, unsigned i), size_t visits, unsigned each)
{
    struct observed all[128];
    assert_true(visits * each <= COUNT(all));
    for (unsigned i = 0; i < visits * each; i++) {
        all[i] = (struct observed){ value(i / each, i % each), i / each };
    }
    const struct observations observations = observe(all, visits * each);
    return observations_have_trend(&observations);
}

static double falling(unsigned visit, unsigned i)
{
    (void)visit;
    return 100 - 0.5 * i;
}

static double falling_a_little(unsigned visit, unsigned i)
{
    (void)visit;
    return 100 - 0.01 * i;
}

static double alternating(unsigned visit, unsigned i)
{
    (void)visit;
    return 100 + 5 * (i % 2) - 2.5;
}

static double falling_between(unsigned visit, unsigned i)
{
    return 100 - 5 * (double)visit + alternating(visit, i);
}

static double random_value(unsigned visit, unsigned i)
{
    (void)visit;
    (void)i;
    return 100 + (double)anything(1 << 20) * 0x1p-20;
}

static void test_trend(void **state)
{
    (void)state;
    assert_true(has_trend(falling, 1, 11));
    assert_true(has_trend(falling, 3, 4));  /* too few in each visit, enough together */
    assert_false(has_trend(falling, 1, 3)); /* one order in six: chance */
    assert_false(has_trend(falling, 1, 1));
    assert_false(has_trend(falling, 0, 0));
    assert_false(has_trend(falling_a_little, 1, 31)); /* clear, but far below half a percent */
    assert_false(has_trend(alternating, 1, 31));
    assert_false(has_trend(falling_between, 5, 7)); /* what differs between visits is no trend */
}

/* One percent of series without any trend may be called one. */
static void test_trend_by_chance(void **state)
{
    (void)state;
    enum { TRIALS = 4000 };
    unsigned called = 0;
    for (unsigned i = 0; i < TRIALS; i++) {
        called += has_trend(random_value, 1, 12) ? 1 : 0;
    }
    assert_true(called < TRIALS / 100 * 3 / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median_of_odd_and_even),
        cmocka_unit_test(test_unknown_values_are_left_out),
        cmocka_unit_test(test_median_distance),
        cmocka_unit_test(test_ranks_agree_with_sorting),
        cmocka_unit_test(test_stride),
        cmocka_unit_test(test_interval_of_eleven),
        cmocka_unit_test(test_no_interval_below_six),
        cmocka_unit_test(test_coverage_by_exhaustion),
        cmocka_unit_test(test_coverage_of_many_samples),
        cmocka_unit_test(test_spread_of_one_visit),
        cmocka_unit_test(test_spread_of_nothing),
        cmocka_unit_test(test_visits_that_agree),
        cmocka_unit_test(test_visits_that_differ),
        cmocka_unit_test(test_single_samples),
        cmocka_unit_test(test_noisy),
        cmocka_unit_test(test_trend),
        cmocka_unit_test(test_trend_by_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
