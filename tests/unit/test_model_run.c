/* From settings to results on the model machine: plan, run loop, sampler and the kernels as they
 * are. What comes out is the model's geometry, in the time that the plan said. */
#include "boot/run.h"
#include "kernels/loops.h"
#include "tests/fakes/model.h"

/* In place of the machine's own loops. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "tests/fakes/model_loops.c"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define L1    KIBS(16)
#define L2    KIBS(64)
#define L3    KIBS(256)
#define ABOUT 0.3 /* an estimate is honest within so much */

/* Slow, so that few loads fill a sample: the model follows each. */
static const struct model_geometry geometry = {
    .tsc_hz = 2e9,
    .core_hz = 1e8,
    .levels = 3,
    .level = { { .size = L1, .ways = 8, .cycles = 4 },
               { .size = L2, .ways = 8, .cycles = 14 },
               { .size = L3, .ways = 16, .cycles = 40 } },
    .memory_ns = 900,
    .stream_ns = 6,
    .tlbs = 1,
    .tlb = { { .page_sizes = 7, .entries = 64 } },
    .walk_cycles = { 10, 10, 10 },
    .memory_bytes = MIBS(64),
    .page_available = { true, true, false },
    .counts_cycles = true,
    .read_ns = 20,
};

/* One run, from settings to results. */
struct trial {
    struct settings settings;
    struct machine machine;
    struct model *model;
    struct plan plan;
    struct measurement *measurement;
    struct run run;
    struct results results;
    void *memory;
    size_t told;                    /* points, in the order of the list */
    double least_guess, most_guess; /* of the whole run's time, in any progress */
    double stop_share;              /* of the planned time, after which the run is stopped */
};

static struct trial *prepare(const char *const *setting)
{
    struct trial *trial = calloc(1, sizeof *trial);
    assert_non_null(trial);
    const struct setting_place place = { SOURCE_OPTIONS, "load options", 0 };
    settings_defaults(&trial->settings, kernel_table);
    settings_assign(&trial->settings, &place, "experiments=chase");
    settings_assign(&trial->settings, &place, "max_working_set=512K");
    for (; *setting != NULL; setting++) {
        settings_assign(&trial->settings, &place, *setting);
    }
    assert_true(settings_ok(&trial->settings));
    trial->machine = (struct machine){
        .processor = { .caches = 3,
                       .cache = { { .level = 1, .type = CACHE_DATA, .size = L1 },
                                  { .level = 2, .type = CACHE_UNIFIED, .size = L2 },
                                  { .level = 3, .type = CACHE_UNIFIED, .size = L3 } } },
        .arena_bytes = MIBS(64),
        .page_available = { true, true, false },
        .page_reason = { [SIZE_1G] = "no free aligned GiB" },
    };
    trial->stop_share = INFINITY;
    trial->least_guess = INFINITY;
    return trial;
}

/* The model gives the firmware its turns, too. */
static double seconds(void *self)
{
    const struct trial *trial = self;
    return model_seconds(trial->model);
}

static void see_progress(void *self, const struct progress *progress)
{
    struct trial *trial = self;
    const double guess = progress->seconds_done + progress->seconds_left;
    assert_true(progress->done < progress->all);
    trial->least_guess = fmin(trial->least_guess, guess);
    trial->most_guess = fmax(trial->most_guess, guess);
}

/* Points are told in the order of the list. */
static void see_point(void *self, const struct experiment *experiment, const struct point *point,
                      const struct series *series)
{
    struct trial *trial = self;
    (void)experiment;
    assert_int_equal(series->count, point->ns.samples);
    while (!variant_equal(&trial->plan.measurement[trial->told].variant, &point->variant)) {
        trial->told++;
        assert_true(trial->told < trial->plan.measurements);
    }
    trial->told++;
}

static bool wants_stop(void *self)
{
    struct trial *trial = self;
    return seconds(trial) >= trial->stop_share * trial->plan.seconds;
}

static void go(struct trial *trial, const struct model_geometry *model)
{
    const struct observer observer = {
        .self = trial,
        .progress = see_progress,
        .point = see_point,
        .wants_stop = wants_stop,
    };
    const size_t count = plan_count(&trial->settings, &trial->machine);
    trial->measurement = calloc(count, sizeof *trial->measurement);
    plan_make(&trial->plan, &trial->settings, &trial->machine, trial->measurement, count);
    trial->model = model_new(model);
    assert_non_null(trial->model);
    trial->run = (struct run){ .plan = &trial->plan,
                               .bench = model_bench(trial->model),
                               .results = &trial->results,
                               .observer = &observer,
                               .observers = 1,
                               .self = trial,
                               .seconds = seconds };
    trial->memory = malloc(run_bytes(&trial->plan));
    run_divide(&trial->run, trial->memory);
    run_plan(&trial->run);
}

static void finish(struct trial *trial)
{
    model_free(trial->model);
    free(trial->memory);
    free(trial->measurement);
    free(trial);
}

static uint64_t size_of(const struct point *point)
{
    return point->variant.value[V_WORKING_SET].number;
}

static double latency(uint64_t size)
{
    return size <= L1 ? 40 : size <= L2 ? 140 : size <= L3 ? 400 : 900;
}

static void assert_honest(const char *what, double said, double took)
{
    if (!(fabs(said - took) <= ABOUT * took)) {
        fail_msg("%s %.2f s, took %.2f s", what, said, took);
    }
}

/* Every point on large pages says what the model's levels cost. */
static size_t assert_latencies(const struct trial *trial)
{
    size_t seen = 0;
    for (size_t i = 0; i < trial->results.points; i++) {
        const struct point *point = &trial->results.point[i];
        if (point->variant.value[V_PAGE_SIZE].number == PAGE_2M) {
            const double want = latency(size_of(point));
            if (!(fabs(point->ns.median - want) <= 1e-3 * want)) {
                fail_msg("%zu bytes: %.9g ns, want %.9g", (size_t)size_of(point), point->ns.median,
                         want);
            }
            seen++;
        }
    }
    return seen;
}

static void test_quick(void **state)
{
    (void)state;
    static const char *const settings[] = { "suite=quick", NULL };
    struct trial *trial = prepare(settings);
    go(trial, &geometry);
    const struct experiment *experiment = &trial->results.experiment[0];
    assert_int_equal(trial->results.status, RUN_COMPLETE);
    assert_int_equal(trial->results.experiments, 1);
    assert_int_equal(experiment->status, EXPERIMENT_OK);
    assert_non_null(strstr(experiment->reason, "not measured: no free aligned GiB"));
    assert_int_equal(trial->results.points, trial->plan.experiment[0].measured);
    assert_true(assert_latencies(trial) >= 20);
    for (size_t i = 0; i < trial->results.points; i++) {
        const struct point *point = &trial->results.point[i];
        assert_int_equal(point->ns.visits, 3);
        assert_true(point->ns.samples >= 11);
        assert_int_equal(point->flags & (1u << FLAG_PARTIAL | 1u << FLAG_SUSPECT), 0);
        assert_int_equal(point->proof.cycle_length, size_of(point) / LINE_BYTES);
    }
    /* The plan was honest, and each guess on the way was. */
    const double took = seconds(trial);
    assert_honest("planned", trial->plan.seconds, took);
    assert_honest("guessed", trial->least_guess, took);
    assert_honest("guessed", trial->most_guess, took);
    finish(trial);
}

static void test_smoke_is_planned_honestly(void **state)
{
    (void)state;
    static const char *const settings[] = { "suite=smoke", NULL };
    struct trial *trial = prepare(settings);
    go(trial, &geometry);
    assert_honest("planned", trial->plan.seconds, seconds(trial));
    assert_true(assert_latencies(trial) >= 20);
    finish(trial);
}

/* The same settings on the same machine say the same, to the last bit. */
static void test_same_seed_same_run(void **state)
{
    (void)state;
    static const char *const settings[] = { "suite=quick", "max_working_set=32K", NULL };
    struct trial *one = prepare(settings), *two = prepare(settings);
    go(one, &geometry);
    go(two, &geometry);
    assert_int_equal(one->results.points, two->results.points);
    assert_true(one->results.points > 0);
    for (size_t i = 0; i < one->results.points; i++) {
        assert_memory_equal(&one->results.point[i].ns, &two->results.point[i].ns,
                            sizeof one->results.point[i].ns);
    }
    finish(one);
    finish(two);
}

/* Stopped in the middle: what was measured until then is as good as ever. */
static void test_stopped(void **state)
{
    (void)state;
    static const char *const settings[] = { "suite=quick", "max_working_set=32K", NULL };
    struct trial *trial = prepare(settings);
    trial->stop_share = 0.5; /* in the second of three visits */
    go(trial, &geometry);
    assert_int_equal(trial->results.status, RUN_PARTIAL);
    assert_int_equal(trial->results.experiment[0].status, EXPERIMENT_PARTIAL);
    assert_int_equal(trial->results.points, trial->plan.experiment[0].measured);
    assert_true(assert_latencies(trial) > 10);
    bool one = false, two = false;
    for (size_t i = 0; i < trial->results.points; i++) {
        const struct point *point = &trial->results.point[i];
        assert_true((point->flags & 1u << FLAG_PARTIAL) != 0);
        one = one || point->ns.visits == 1;
        two = two || point->ns.visits == 2;
    }
    assert_true(one && two);
    finish(trial);
}

/* A fault ends the experiment, not what it has measured. */
static void test_faulted(void **state)
{
    (void)state;
    static const char *const settings[] = { "suite=smoke", "max_working_set=32K", NULL };
    struct model_geometry faulty = geometry;
    faulty.fault_after = 40;
    struct trial *trial = prepare(settings);
    go(trial, &faulty);
    const struct experiment *experiment = &trial->results.experiment[0];
    assert_int_equal(trial->results.status, RUN_FAILED);
    assert_int_equal(experiment->status, EXPERIMENT_FAILED);
    assert_int_equal(experiment->fault.vector, 14);
    assert_non_null(strstr(experiment->reason, "in chase: working_set="));
    assert_in_range(trial->results.points, 5, trial->plan.experiment[0].measured - 1);
    assert_true(assert_latencies(trial) > 1);
    finish(trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quick),
        cmocka_unit_test(test_smoke_is_planned_honestly),
        cmocka_unit_test(test_same_seed_same_run),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_faulted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
