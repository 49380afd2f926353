/* From the chase's own list to its points, on the model machine: the printed latencies are the
 * model's. */
#include "kernels/chase.h"
#include "kernels/loops.h"
#include "kernels/plausible.h"
#include "kernels/sampler.h"
#include "tests/fakes/model.h"

/* In place of the machine's own loops. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "tests/fakes/model_loops.c"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 400, SAMPLES = 64 };

#define L1           KIBS(32)
#define L2           KIBS(256)
#define L3           MIBS(2)
#define LARGEST      MIBS(8)
#define WALK         10.0
#define TLB_PAGES    64
#define LINES_A_PAGE 64.0

/* A core of 1 GHz, so that cycles are ns. */
static const struct model_geometry geometry = {
    .tsc_hz = 2e9,
    .core_hz = 1e9,
    .levels = 3,
    .level = { { .size = L1, .ways = 8, .cycles = 4 },
               { .size = L2, .ways = 8, .cycles = 14 },
               { .size = L3, .ways = 16, .cycles = 40 } },
    .memory_ns = 100,
    .stream_ns = 5,
    .tlbs = 1,
    .tlb = { { .page_sizes = 7, .entries = TLB_PAGES } },
    .walk_cycles = { WALK, WALK, WALK },
    .memory_bytes = MIBS(64),
    .page_available = { true, true, false },
    .read_ns = 40,
};

static const struct machine machine = {
    .processor = { .caches = 3,
                   .cache = { { .level = 1, .type = CACHE_DATA, .size = L1 },
                              { .level = 2, .type = CACHE_UNIFIED, .size = L2 },
                              { .level = 3, .type = CACHE_UNIFIED, .size = L3 } } },
    .arena_bytes = MIBS(64),
    .page_available = { true, true, false },
    .page_reason = { [SIZE_1G] = "no free aligned GiB" },
};

static const struct scope scope = {
    .machine = &machine,
    .suite = SUITE_SMOKE,
    .per_octave = 1,
    .max_working_set = LARGEST,
    .repetitions = 3,
    .visits = 1,
    .seed = 1,
};

static const struct sampling how = {
    .repetitions = 3,
    .visits = 1,
    .seed = 1,
    .warm_up_seconds = 0.05,
    .spin_seconds = 0.02,
    .last_cache = L3,
    .second_cache = L2,
};

static struct measurement measurement[ROOM];
static struct point point[ROOM];
static size_t points, skipped;

/* As the run loop does: what shares its data is built once. */
static void measure_one(const struct bench *bench, const struct measurement *next, bool build)
{
    struct sample sample[SAMPLES];
    struct series series = { .sample = sample, .room = SAMPLES };
    const enum status status = sampler_visit(bench, next, &how, 0, build, &series);
    if (status != OK) {
        fail_msg("status %d: %s", status, series.reason);
    }
    sampler_point(next, &how, &series, &point[points]);
    (void)plausible_judge(&point[points], point, points);
    points++;
}

static int measure_all(void **state)
{
    (void)state;
    struct measurement_list list = { .item = measurement, .room = ROOM };
    chase_kernel.list(&scope, &chase_kernel, &list);
    struct model *model = model_new(&geometry);
    if (model == NULL || list.lost != 0) {
        return -1;
    }
    unsigned built = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (list.item[i].skip != NULL) {
            skipped++;
            continue;
        }
        measure_one(model_bench(model), &list.item[i], list.item[i].data != built);
        built = list.item[i].data;
    }
    model_free(model);
    return 0;
}

static bool is(const struct point *candidate, const char *order, const char *placement,
               uint64_t page_size)
{
    const union variant_value *value = candidate->variant.value;
    return strcmp(value[V_ORDER].text, order) == 0 &&
           strcmp(value[V_PLACEMENT].text, placement) == 0 &&
           value[V_PAGE_SIZE].number == page_size;
}

static uint64_t size_of(const struct point *measured)
{
    return measured->variant.value[V_WORKING_SET].number;
}

static void assert_about(double got, double want, double share)
{
    if (!(fabs(got - want) <= share * want)) {
        fail_msg("got %.9g, want %.9g", got, want);
    }
}

/* One cycle through more lines than a least-recently-used cache holds misses it always. */
static double latency(uint64_t size)
{
    return size <= L1 ? 4 : size <= L2 ? 14 : size <= L3 ? 40 : 100;
}

/* Share of hops that leave their page for one that the TLB has not, in random order: all pages
 * but the last 64 different ones. */
static double walks_at_random(uint64_t size)
{
    const double pages = (double)size / PAGE_4K;
    return pages <= TLB_PAGES ? 0 : 1 - TLB_PAGES / pages;
}

static void test_staircase(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (size_t i = 0; i < points; i++) {
        const struct point *measured = &point[i];
        if (is(measured, "random", "in-order", PAGE_2M)) {
            assert_about(measured->ns.median, latency(size_of(measured)), 1e-4);
            assert_about(measured->ns.max, latency(size_of(measured)), 1e-3);
            assert_about(measured->cycles.median, latency(size_of(measured)), 2e-3);
            assert_int_equal(measured->proof.cycle_length, size_of(measured) / LINE_BYTES);
            seen++;
        }
    }
    assert_int_equal(seen, 12); /* 4 KiB to 8 MiB */
}

/* The same lines under small pages: the difference is the walks. */
static void test_translation_cost(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (size_t i = 0; i < points; i++) {
        const struct point *measured = &point[i];
        if (is(measured, "random", "in-order", PAGE_4K)) {
            const uint64_t size = size_of(measured);
            const double walks = measured->ns.median - latency(size);
            assert_true(fabs(walks - WALK * walks_at_random(size)) < 0.02 * WALK);
            seen += size > TLB_PAGES * (uint64_t)PAGE_4K ? 1 : 0;
        }
    }
    assert_true(seen >= 1);
}

/* By address and page by page a page is walked to once for all its lines. */
static void test_orders_that_spare_the_tlb(void **state)
{
    (void)state;
    static const char *const order[] = { "sequential", "page-local" };
    unsigned seen = 0;
    for (size_t i = 0; i < points; i++) {
        const struct point *measured = &point[i];
        const uint64_t size = size_of(measured);
        for (size_t k = 0; k < 2; k++) {
            if (is(measured, order[k], "scattered", PAGE_4K) && size > L3) {
                assert_about(measured->ns.median, 100 + WALK / LINES_A_PAGE, 1e-3);
                seen++;
            }
            if (is(measured, order[k], "in-order", PAGE_2M)) {
                assert_about(measured->ns.median, latency(size), 1e-3);
                seen++;
            }
        }
    }
    assert_true(seen >= 2 * (12 + 2));
}

/* Scattered pages meet in some sets of the second level and leave others empty, so that a set
 * of its size misses now and then; the first level's sets all lie within a page. */
static void test_scattered_pages(void **state)
{
    (void)state;
    for (size_t i = 0; i < points; i++) {
        const struct point *measured = &point[i];
        const uint64_t size = size_of(measured);
        if (!is(measured, "random", "scattered", PAGE_4K)) {
            continue;
        }
        const double walks = WALK * walks_at_random(size);
        if (size <= L1 || size > L3) {
            assert_about(measured->ns.median, latency(size) + walks, 2e-3);
        } else if (size == L2) {
            assert_true(measured->ns.median > 14.1 && measured->ns.median < 40);
        }
    }
}

static void test_nothing_to_complain_of(void **state)
{
    (void)state;
    for (size_t i = 0; i < points; i++) {
        assert_int_equal(point[i].flags & (1u << FLAG_SUSPECT | 1u << FLAG_UNSETTLED), 0);
        assert_null(point[i].reason);
        assert_int_equal(point[i].ns.visits, 1);
        assert_true(point[i].ns.samples >= 3);
    }
}

static void test_what_is_missing_has_its_reason(void **state)
{
    (void)state;
    assert_true(skipped >= 1);
    for (size_t i = 0; i < points + skipped; i++) {
        if (measurement[i].layout.leaf == SIZE_1G) {
            assert_string_equal(measurement[i].skip, "no free aligned GiB");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_staircase),
        cmocka_unit_test(test_translation_cost),
        cmocka_unit_test(test_orders_that_spare_the_tlb),
        cmocka_unit_test(test_scattered_pages),
        cmocka_unit_test(test_nothing_to_complain_of),
        cmocka_unit_test(test_what_is_missing_has_its_reason),
    };
    return cmocka_run_group_tests(tests, measure_all, NULL);
}
