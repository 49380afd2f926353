/* From the list of `mlp` to its points, on the model machine: the concurrency that the points tell
 * is the model's. */
#include "kernels/mlp.h"
#include "kernels/plausible.h"
#include "kernels/sampler.h"
#include "tests/fakes/model.h"

/* In place of the machine's own loops. NOLINTBEGIN(bugprone-suspicious-include) */
#include "tests/fakes/model_loops.c"
#include "tests/fakes/model_mlp_loops.c"
/* NOLINTEND(bugprone-suspicious-include) */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { ROOM = 200, SAMPLES = 256, OUTSTANDING = 10 };

#define L1 KIBS(32)
#define L2 KIBS(256)
#define L3 MIBS(1)

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
    .outstanding = OUTSTANDING,
    .memory_bytes = MIBS(32),
    .page_available = { true, true, false },
    .read_ns = 40,
};

static const struct machine machine = {
    .processor = { .caches = 3,
                   .cache = { { .level = 1, .type = CACHE_DATA, .size = L1 },
                              { .level = 2, .type = CACHE_UNIFIED, .size = L2 },
                              { .level = 3, .type = CACHE_UNIFIED, .size = L3 } } },
    .arena_bytes = MIBS(32),
    .page_available = { true, true, false },
    .page_reason = { [SIZE_1G] = "no free aligned GiB" },
};

static const struct scope scope = {
    .machine = &machine,
    .suite = SUITE_QUICK,
    .per_octave = 1,
    .max_working_set = MIBS(4),
    .page_sizes = 1u << SIZE_2M,
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
static size_t points;

static void measure_one(const struct bench *bench, const struct measurement *next)
{
    struct sample sample[SAMPLES];
    struct series series = { .sample = sample, .room = SAMPLES };
    const enum status status = sampler_visit(bench, next, &how, 0, true, &series);
    if (status != OK) {
        fail_msg("status %d: %s", status, series.reason);
    }
    sampler_point(next, &how, &series, &point[points]);
    point[points].predicted = mlp_kernel.predict(&machine, &next->variant, point, points);
    (void)plausible_judge(&point[points], point, points);
    points++;
}

static int measure_all(void **state)
{
    struct measurement_list list = { .item = measurement, .room = ROOM };
    (void)state;
    mlp_kernel.list(&scope, &mlp_kernel, &list);
    struct model *model = model_new(&geometry);
    if (model == NULL || list.lost != 0) {
        return -1;
    }
    for (size_t i = 0; i < list.count; i++) {
        if (list.item[i].skip != NULL) {
            return -1;
        }
        measure_one(model_bench(model), &list.item[i]);
    }
    model_free(model);
    return 0;
}

static uint64_t chains_of(const struct point *measured)
{
    return measured->variant.value[V_CHAINS].number;
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

/* The latency of one chain over the time of a load is as many chains as there are, and never more
 * than the model can have under way. (A sample's hops that are no whole round are charged one by
 * one: up to 126 of 100 ns, 1.3 % of the millisecond that it lasts.) */
static void test_concurrency(void **state)
{
    unsigned seen = 0;
    (void)state;
    for (size_t i = 0; i < points; i++) {
        const double chains = (double)chains_of(&point[i]);
        const double under_way = latency(size_of(&point[i])) / point[i].ns.median;
        assert_about(under_way, fmin(chains, OUTSTANDING), 0.02);
        seen += chains > OUTSTANDING;
    }
    assert_int_equal(points, 8 + 13 + 13);
    assert_int_equal(seen, 1 + 6 + 6);
}

/* All is as predicted, but for the first that has more than can be under way: nothing told so. */
static void test_prediction(void **state)
{
    (void)state;
    for (size_t i = 0; i < points; i++) {
        const uint64_t chains = chains_of(&point[i]);
        if (chains == 1) {
            assert_true(isnan(point[i].predicted));
        } else if (chains != 12) {
            assert_about(point[i].predicted, point[i].ns.median, 0.02);
        }
    }
}

static void test_cycles_are_of_one_chain(void **state)
{
    (void)state;
    for (size_t i = 0; i < points; i++) {
        assert_int_equal(point[i].proof.cycle_length,
                         size_of(&point[i]) / LINE_BYTES / chains_of(&point[i]));
    }
}

static void test_nothing_to_complain_of(void **state)
{
    (void)state;
    for (size_t i = 0; i < points; i++) {
        assert_int_equal(point[i].flags & (1u << FLAG_SUSPECT | 1u << FLAG_UNSETTLED), 0);
        assert_null(point[i].reason);
        assert_true(point[i].ns.samples >= 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concurrency),
        cmocka_unit_test(test_prediction),
        cmocka_unit_test(test_cycles_are_of_one_chain),
        cmocka_unit_test(test_nothing_to_complain_of),
    };
    return cmocka_run_group_tests(tests, measure_all, NULL);
}
