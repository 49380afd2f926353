/* kernels/plausible.c: each rule at its border, and that it asks of two rows only what it may. */
#include "kernels/plausible.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define KIBS(n) ((uint64_t)(n)*KIB)
#define MIBS(n) ((uint64_t)(n)*MIB)

static const char larger_reason[] = "a larger set was measured faster than a smaller one";
static const char random_reason[] = "random order was measured faster than sequential order";
static const char chains_reason[] = "n chains were measured more than n times faster than one";

/* A row with an interval of 1 % around its median. */
static struct point row(const char *order, uint64_t bytes, double ns)
{
    struct point point = { .flags = 0 };
    variant_set_text(&point.variant, V_ORDER, order);
    variant_set_number(&point.variant, V_WORKING_SET, bytes);
    variant_set_number(&point.variant, V_PAGE_SIZE, PAGE_2M);
    point.ns = (struct spread){ .median = ns,
                                .min = 0.9 * ns,
                                .max = 1.1 * ns,
                                .low = 0.995 * ns,
                                .high = 1.005 * ns,
                                .coverage = 0.98 };
    return point;
}

static struct point without_interval(struct point point)
{
    point.ns.low = point.ns.high = point.ns.coverage = NAN;
    return point;
}

static void assert_believed(struct point point, struct point before)
{
    assert_false(plausible_judge(&point, &before, 1));
    assert_int_equal(point.flags, 0);
    assert_null(point.reason);
}

static void assert_suspect(struct point point, struct point before, const char *reason)
{
    assert_true(plausible_judge(&point, &before, 1));
    assert_int_equal(point.flags, 1u << FLAG_SUSPECT);
    assert_string_equal(point.reason, reason);
}

static void test_larger_set_is_not_faster(void **state)
{
    (void)state;
    assert_believed(row("random", MIBS(2), 97.1), row("random", MIB, 100));
    assert_suspect(row("random", MIBS(2), 96.9), row("random", MIB, 100), larger_reason);
    /* In whatever order they were measured; the one before stays as it was printed. */
    assert_suspect(row("random", MIB, 100), row("random", MIBS(2), 96.9), larger_reason);
    assert_believed(row("random", MIB, 100), row("random", MIBS(2), 150));
    assert_believed(row("random", MIB, 100), row("random", MIB, 50));
}

static void test_only_random_order_must_rise(void **state)
{
    (void)state;
    assert_believed(row("sequential", MIBS(2), 50), row("sequential", MIB, 100));
    assert_believed(row("page-local", MIBS(2), 50), row("page-local", MIB, 100));
}

static void test_only_the_same_view_compares(void **state)
{
    (void)state;
    struct point other = row("random", MIBS(2), 50);
    variant_set_number(&other.variant, V_PAGE_SIZE, PAGE_4K);
    assert_believed(other, row("random", MIB, 100));
    other = row("random", MIBS(2), 50);
    variant_set_text(&other.variant, V_PREFETCHERS, "off");
    assert_believed(other, row("random", MIB, 100));
}

static void test_random_is_not_faster_than_sequential(void **state)
{
    (void)state;
    assert_believed(row("random", MIB, 97), row("sequential", MIB, 100));
    /* 0.97 of the lowest, 99.5, is 96.515: the highest is 1.005 of the median. */
    assert_believed(row("random", MIB, 96.1), row("sequential", MIB, 100));
    assert_suspect(row("random", MIB, 96.0), row("sequential", MIB, 100), random_reason);
    assert_suspect(row("sequential", MIB, 100), row("random", MIB, 96.0), random_reason);
    assert_believed(row("sequential", MIB, 50), row("random", MIB, 100));
    assert_believed(row("random", MIBS(4), 50), row("sequential", MIB, 100));
    assert_believed(row("page-local", MIB, 50), row("sequential", MIB, 100));
    assert_believed(row("random", MIB, 50), row("page-local", MIB, 100));
}

static struct point chains_row(uint64_t chains, double ns)
{
    struct point point = row("random", MIB, ns);
    variant_set_number(&point.variant, V_CHAINS, chains);
    return point;
}

static void test_chains_share_their_latency(void **state)
{
    (void)state;
    /* 0.995 of one chain's against 1.05 n times 1.005 of the others': 99.5 / 4.221 is 23.573. */
    assert_believed(chains_row(4, 23.6), chains_row(1, 100));
    assert_suspect(chains_row(4, 23.5), chains_row(1, 100), chains_reason);
    assert_suspect(chains_row(1, 100), chains_row(4, 23.5), chains_reason);
    /* Without an interval 90 against 4.2 times 1.1 of the others': 19.48. */
    assert_believed(without_interval(chains_row(4, 19.6)), without_interval(chains_row(1, 100)));
    assert_suspect(without_interval(chains_row(4, 19.4)), without_interval(chains_row(1, 100)),
                   chains_reason);
    /* Two against four says nothing, and another set has another latency. */
    assert_believed(chains_row(4, 10), chains_row(2, 100));
    struct point larger = chains_row(4, 10);
    variant_set_number(&larger.variant, V_WORKING_SET, MIBS(2));
    assert_believed(larger, chains_row(1, 100));
}

static void test_few_samples_stand_for_all_they_saw(void **state)
{
    (void)state;
    const struct point sequential = without_interval(row("sequential", MIB, 100)); /* 90..110 */
    assert_believed(without_interval(row("random", MIB, 80)), sequential);         /* 88 > 87.3 */
    assert_suspect(without_interval(row("random", MIB, 79)), sequential, random_reason);
}

static void test_rows_without_the_keys(void **state)
{
    (void)state;
    struct point bare = { .ns = { .median = 1 } }, other = { .ns = { .median = 100 } };
    assert_believed(bare, other);
    variant_set_number(&bare.variant, V_WORKING_SET, MIBS(2));
    variant_set_number(&other.variant, V_WORKING_SET, MIB);
    assert_believed(bare, other);
}

static void test_unknown_numbers_prove_nothing(void **state)
{
    (void)state;
    assert_believed(row("random", MIBS(2), NAN), row("random", MIB, 100));
    assert_believed(row("random", MIBS(2), 50), row("random", MIB, NAN));
    assert_believed(row("random", MIB, NAN), row("sequential", MIB, 100));
}

/* All rows before are looked at, none is changed, and a reason that stands already is kept. */
static void test_many_rows(void **state)
{
    (void)state;
    struct point before[] = { row("random", KIBS(64), 10), row("random", MIB, 100),
                              row("sequential", MIBS(2), 5) };
    struct point copy[3];
    memcpy(copy, before, sizeof before);
    struct point point = row("random", MIBS(2), 50);
    point.reason = "a reason of its own";
    point.flags = 1u << FLAG_NOISY;
    assert_false(plausible_judge(&point, before, 1));
    assert_false(plausible_judge(&point, before, 0));
    assert_true(plausible_judge(&point, before, 3));
    assert_string_equal(point.reason, "a reason of its own");
    assert_int_equal(point.flags, 1u << FLAG_NOISY | 1u << FLAG_SUSPECT);
    assert_memory_equal(before, copy, sizeof before);
}

static const char *verdict(uint32_t found_off, uint32_t set, uint32_t read_back)
{
    const struct prefetcher_facts facts = {
        .switches = 4, .readable = 7, .works = 5, .found_off = found_off
    };
    const struct conditions conditions = { .prefetchers_off = set };
    struct point point = { .proof = { .prefetchers_known = true, .prefetchers_off = read_back } };
    const bool suspect = plausible_prefetchers(&point, &conditions, &facts);
    assert_int_equal(suspect, point.reason != NULL);
    assert_int_equal(point.flags, point.reason != NULL ? 1u << FLAG_SUSPECT : 0);
    return point.reason;
}

/* What the registers say after the samples is held against what the row promises. */
static void test_prefetchers_are_as_promised(void **state)
{
    (void)state;
    assert_null(verdict(0, 0, 0));
    assert_null(verdict(2, 0, 2));
    assert_null(verdict(2, UINT32_MAX, 7)); /* all that work, and what was off before */
    assert_null(verdict(0, 1, 1));
    assert_non_null(verdict(0, 0, 1)); /* nobody had asked for it */
    assert_non_null(verdict(2, 0, 0));
    assert_non_null(verdict(0, UINT32_MAX, 4)); /* one came back on */
    assert_non_null(verdict(0, 1, 5));
}

static void test_prefetchers_that_nobody_saw(void **state)
{
    (void)state;
    const struct prefetcher_facts none = { .switches = 0 };
    const struct conditions conditions = { .prefetchers_off = 0 };
    struct point point = { .proof = { .prefetchers_known = false, .prefetchers_off = 3 } };
    assert_false(plausible_prefetchers(&point, &conditions, &none));
    assert_int_equal(point.flags, 0);
}

/* The reason that a point came with is the one that is told. */
static void test_suspect_prefetchers_keep_a_reason(void **state)
{
    (void)state;
    const struct prefetcher_facts facts = { .switches = 1, .readable = 1, .works = 1 };
    const struct conditions conditions = { .prefetchers_off = UINT32_MAX };
    struct point point = { .reason = "another", .proof = { .prefetchers_known = true } };
    assert_true(plausible_prefetchers(&point, &conditions, &facts));
    assert_string_equal(point.reason, "another");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefetchers_are_as_promised),
        cmocka_unit_test(test_prefetchers_that_nobody_saw),
        cmocka_unit_test(test_suspect_prefetchers_keep_a_reason),
        cmocka_unit_test(test_larger_set_is_not_faster),
        cmocka_unit_test(test_only_random_order_must_rise),
        cmocka_unit_test(test_only_the_same_view_compares),
        cmocka_unit_test(test_random_is_not_faster_than_sequential),
        cmocka_unit_test(test_chains_share_their_latency),
        cmocka_unit_test(test_few_samples_stand_for_all_they_saw),
        cmocka_unit_test(test_rows_without_the_keys),
        cmocka_unit_test(test_unknown_numbers_prove_nothing),
        cmocka_unit_test(test_many_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
