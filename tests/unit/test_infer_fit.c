/* kernels/infer_shape.c and kernels/infer_fit.c: the shapes against the caches they stand for, and sums
 * of rises that must come out as they were put in. */
#include "kernels/infer_fit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state_of_random = 1;

static uint64_t random_below(uint64_t n)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (state_of_random >> 33) % n;
}

/* --- Shapes --------------------------------------------------------------------------------- */

static void test_shapes_rise_from_0_to_1(void **state)
{
    (void)state;
    for (unsigned shape = 0; shape < MISS_SHAPES; shape++) {
        double before = 0;
        assert_true(miss_share(shape, 0.05) < 1e-3);
        for (int i = 0; i < 250; i++) {
            const double share = miss_share(shape, 0.05 * exp2(i / 23.0));
            assert_true(share >= before - 1e-12 && share <= 1);
            before = share;
        }
        assert_true(miss_share(shape, 1) < 0.5);
        assert_true(miss_share(shape, 8) > 0.8);
    }
}

static void assert_near(double found, double wanted, double within)
{
    if (!(fabs(found - wanted) <= within)) {
        fail_msg("%.6g instead of %.6g", found, wanted);
    }
}

static void test_plain_shapes(void **state)
{
    (void)state;
    assert_near(miss_share(MISS_SHARE, 1), 0, 0);
    assert_near(miss_share(MISS_SHARE, 2), 0.5, 1e-12);
    assert_near(miss_share(MISS_SHARE, 10), 0.9, 1e-12);
    assert_near(miss_share(MISS_CLIFF, 1), 0, 0);
    assert_near(miss_share(MISS_CLIFF, 1.15), 0.5, 1e-9);
    assert_near(miss_share(MISS_CLIFF, 1.31), 1, 0);
}

/* The mean over caches whose size is distributed log-normally, in a thousand steps. */
static double mean_share(double power, double deviation, double ratio)
{
    double sum = 0, weights = 0;
    for (int i = -500; i <= 500; i++) {
        const double z = i / 125.0, weight = exp(-z * z / 2);
        const double own = ratio * exp(z * deviation);
        sum += weight * (own > 1 ? 1 - pow(own, -power) : 0);
        weights += weight;
    }
    return sum / weights;
}

static void test_smeared_shapes_are_means_over_sizes(void **state)
{
    (void)state;
    static const struct {
        enum miss_shape shape;
        double power, deviation, claimed;
    } smeared[] = { { MISS_SHARE_SMEARED, 1, 0.3, 1.15 },
                    { MISS_STEEP, 1.5, 0.3, 1.12 },
                    { MISS_STEEPER, 2, 0.3, 1.12 },
                    { MISS_WIDE, 1.5, 0.6, 1.22 } };
    for (size_t i = 0; i < sizeof smeared / sizeof *smeared; i++) {
        for (int j = 0; j < 18; j++) {
            const double ratio = 0.3 * exp2(j / 3.0);
            assert_near(
                miss_share(smeared[i].shape, ratio),
                mean_share(smeared[i].power, smeared[i].deviation, ratio * smeared[i].claimed),
                0.03);
        }
    }
}

/* Pages thrown into the colours of a cache: those of a colour with more pages than ways miss. */
static double thrown_pages(unsigned ways, double ratio)
{
    enum { COLOURS = 4096 };
    static unsigned pages[COLOURS];
    const unsigned all = (unsigned)(ratio * ways * COLOURS);
    unsigned missing = 0;
    memset(pages, 0, sizeof pages);
    for (unsigned i = 0; i < all; i++) {
        pages[random_below(COLOURS)]++;
    }
    for (unsigned i = 0; i < COLOURS; i++) {
        missing += pages[i] > ways ? pages[i] : 0;
    }
    return (double)missing / all;
}

static void test_pages_at_random_overflow_colours(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        const double ratio = 0.4 * exp2(i / 3.0);
        assert_near(miss_share(MISS_PAGES_8, ratio), thrown_pages(8, 0.95 * ratio), 0.02);
        assert_near(miss_share(MISS_PAGES_16, ratio), thrown_pages(16, 0.95 * ratio), 0.02);
    }
}

/* --- Fits ----------------------------------------------------------------------------------- */

static struct fit_data data; /* large */

/* Points of a staircase at so many sizes an octave, up to 256 MiB. */
static void draw(const struct staircase *stairs, unsigned per_octave)
{
    data.points = 16 * per_octave + 1;
    for (size_t i = 0; i < data.points; i++) {
        data.set[i] = PAGE_4K * exp2((double)i / per_octave);
        data.value[i] = staircase_at(stairs, data.set[i]);
    }
}

static const struct staircase examples[] = {
    { .base = 4 },
    { 4, 1, { { 48 * KIB, 10, MISS_CLIFF } } },
    { 3, 1, { { 256 * KIB, 60, MISS_SHARE } } },
    { 1.5, 2, { { 32 * KIB, 2.5, MISS_CLIFF }, { 8 * MIB, 70, MISS_STEEP } } },
    { 4,
      3,
      { { 32 * KIB, 10, MISS_CLIFF }, { MIB, 50, MISS_PAGES_16 }, { 16 * MIB, 200, MISS_SHARE } } },
    { 5,
      4,
      { { 32 * KIB, 10, MISS_CLIFF },
        { 512 * KIB, 30, MISS_CLIFF },
        { 4 * MIB, 40, MISS_CLIFF },
        { 32 * MIB, 200, MISS_STEEPER } } },
};

static void test_what_was_put_in_comes_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct staircase found;
        draw(&examples[i], 3);
        fit_staircase(&data, &found);
        assert_int_equal(found.rises, examples[i].rises);
        assert_near(found.base / examples[i].base, 1, 0.01);
        for (size_t j = 0; j < found.rises; j++) {
            const struct rise *wanted = &examples[i].rise[j];
            assert_near(log2(found.rise[j].size / wanted->size), 0, 1.0 / 3);
            assert_near(found.rise[j].amount / wanted->amount, 1, 0.12);
        }
        for (size_t j = 0; j < data.points; j++) {
            assert_near(staircase_at(&found, data.set[j]) / data.value[j], 1, 0.1);
        }
    }
}

static void test_whole_numbers_are_not_steps(void **state)
{
    (void)state;
    const struct staircase slow = { 4.4, 1, { { 64 * KIB, 8.3, MISS_SHARE } } };
    struct staircase found;
    draw(&slow, 4);
    for (size_t i = 0; i < data.points; i++) {
        data.value[i] = floor(data.value[i] + 0.5);
    }
    fit_staircase(&data, &found);
    assert_int_equal(found.rises, 1);
    assert_near(found.base, 4.4, 0.5);
}

/* What a neighbour's interference does to two points changes nothing elsewhere. */
static void test_spikes_are_no_steps(void **state)
{
    (void)state;
    struct staircase found;
    draw(&examples[3], 3);
    data.value[6] *= 2;
    data.value[20] *= 1.5;
    fit_staircase(&data, &found);
    assert_int_equal(found.rises, 2);
    for (size_t i = 0; i < data.points; i++) {
        assert_near(staircase_at(&found, data.set[i]) / staircase_at(&examples[3], data.set[i]), 1,
                    0.05);
    }
}

static void test_falling_and_few_points(void **state)
{
    (void)state;
    struct staircase found;
    data.points = 12;
    for (size_t i = 0; i < data.points; i++) {
        data.set[i] = 4096.0 * (double)(1 << i);
        data.value[i] = 20 - (double)i / 2;
    }
    fit_staircase(&data, &found);
    assert_int_equal(found.rises, 0);
    data.points = 3;
    data.value[2] = 100;
    fit_staircase(&data, &found);
    assert_int_equal(found.rises, 0);
    assert_near(found.base, 20, 0);
    data.points = 0;
    fit_staircase(&data, &found);
    assert_int_equal(found.rises, 0);
}

/* More steps than there is room for, and steep ones at both ends. */
static void test_awkward_curves(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 20; trial++) {
        struct staircase found;
        double value = 1;
        data.points = 4 + random_below(40);
        for (size_t i = 0; i < data.points; i++) {
            value *= random_below(3) == 0 ? 1 + (double)random_below(400) / 100 : 1;
            data.set[i] = 1024.0 * exp2((double)i / 2);
            data.value[i] = value;
        }
        fit_staircase(&data, &found);
        assert_true(found.rises <= FIT_RISES && found.base >= 0);
        for (size_t i = 0; i < found.rises; i++) {
            assert_true(found.rise[i].amount > 0);
            assert_true(i == 0 || found.rise[i].size >= found.rise[i - 1].size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_rise_from_0_to_1),
        cmocka_unit_test(test_plain_shapes),
        cmocka_unit_test(test_smeared_shapes_are_means_over_sizes),
        cmocka_unit_test(test_pages_at_random_overflow_colours),
        cmocka_unit_test(test_what_was_put_in_comes_out),
        cmocka_unit_test(test_whole_numbers_are_not_steps),
        cmocka_unit_test(test_spikes_are_no_steps),
        cmocka_unit_test(test_falling_and_few_points),
        cmocka_unit_test(test_awkward_curves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
