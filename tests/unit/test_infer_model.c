/* From a model machine to findings: plan, run loop, sampler, kernels and inference as they are. What is
 * found is the geometry of the model, whatever the machine claims. */
#include "boot/run.h"
#include "kernels/infer.h"
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

#define STEP 1.5 /* between two sizes, at two an octave and rounded to pages, at most */

static const char *const latency_names[] = { "l1d_latency_cycles", "l2_latency_cycles",
                                             "l3_latency_cycles" };
static const char *const size_names[] = { "l1d_size", "l2_size", "l3_size" };

/* Small, and of a slow core, so that few loads fill a sample: the model follows each. */
static struct model_geometry geometry(unsigned levels)
{
    return (struct model_geometry){
        .tsc_hz = 2e9,
        .core_hz = 1e8,
        .levels = levels,
        .level = { { .size = KIBS(16), .ways = 8, .cycles = 4 },
                   { .size = KIBS(128), .ways = 8, .cycles = 14 },
                   { .size = KIBS(512), .ways = 16, .cycles = 40 } },
        .memory_ns = 1100,
        .stream_ns = 6,
        .tlbs = 1,
        .tlb = { { .page_sizes = 7, .entries = 64 } },
        .walk_cycles = { 20, 10, 10 },
        .memory_bytes = MIBS(64),
        .page_available = { true, true, false },
        .counts_cycles = true,
        .read_ns = 20,
    };
}

/* A machine that claims what the model has. */
static struct machine machine_of(const struct model_geometry *model)
{
    struct machine machine = {
        .arena_bytes = MIBS(64),
        .page_available = { true, true, false },
        .page_reason = { [SIZE_1G] = "no free aligned GiB" },
    };
    machine.processor.caches = model->levels;
    for (unsigned i = 0; i < model->levels; i++) {
        machine.processor.cache[i] = (struct cache){ .level = i + 1,
                                                     .type = i == 0 ? CACHE_DATA : CACHE_UNIFIED,
                                                     .size = model->level[i].size };
    }
    return machine;
}

static double seconds(void *self)
{
    return model_seconds(self);
}

/* One run, and what was found in it. */
struct trial {
    struct settings settings;
    struct plan plan;
    struct run run;
    struct results results;
    struct finding finding[INFER_MOST];
    size_t findings;
};

/* Runs the chase on the model and draws the findings. */
static void go(struct trial *trial, const struct model_geometry *geometry,
               const struct machine *machine, const char *page_sizes)
{
    static const char *const setting[] = { "experiments=chase", "suite=quick",
                                           "max_working_set=2M" };
    const struct setting_place place = { SOURCE_OPTIONS, "load options", 0 };
    struct model *model = model_new(geometry);
    assert_non_null(model);
    *trial = (struct trial){ .findings = 0 };
    settings_defaults(&trial->settings, kernel_table);
    for (size_t i = 0; i < sizeof setting / sizeof *setting; i++) {
        settings_assign(&trial->settings, &place, setting[i]);
    }
    settings_assign(&trial->settings, &place, page_sizes);
    assert_true(settings_ok(&trial->settings));
    const size_t count = plan_count(&trial->settings, machine);
    struct measurement *measurement = calloc(count, sizeof *measurement);
    plan_make(&trial->plan, &trial->settings, machine, measurement, count);
    trial->run = (struct run){ .plan = &trial->plan,
                               .bench = model_bench(model),
                               .results = &trial->results,
                               .self = model,
                               .seconds = seconds };
    void *memory = malloc(run_bytes(&trial->plan));
    run_divide(&trial->run, memory);
    run_plan(&trial->run);
    assert_int_equal(trial->results.status, RUN_COMPLETE);
    trial->results.machine = machine;
    trial->findings = infer_run(&trial->results, trial->finding, INFER_MOST);
    trial->results.machine = NULL; /* the caller's */
    model_free(model);
    free(memory);
    free(measurement);
}

static const struct finding *named(const struct trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->findings; i++) {
        if (strcmp(trial->finding[i].name, name) == 0) {
            return &trial->finding[i];
        }
    }
    return NULL;
}

static double measured(const struct trial *trial, const char *name)
{
    const struct finding *finding = named(trial, name);
    return finding == NULL ? NAN : finding->measured;
}

static void assert_near(const char *what, double found, double wanted, double factor)
{
    if (!(found <= wanted * factor && found >= wanted / factor)) {
        fail_msg("%s is %.6g instead of %.6g", what, found, wanted);
    }
}

/* Sizes within one step, latencies within 3 %. */
static void assert_geometry(const struct trial *trial, const struct model_geometry *model)
{
    for (unsigned i = 0; i < 3; i++) {
        if (i < model->levels) {
            assert_near(size_names[i], measured(trial, size_names[i]), (double)model->level[i].size,
                        STEP);
            assert_near(latency_names[i], measured(trial, latency_names[i]), model->level[i].cycles,
                        1.03);
        } else {
            assert_true(isnan(measured(trial, size_names[i])));
            assert_null(named(trial, latency_names[i]));
        }
    }
    assert_near("memory_latency", measured(trial, "memory_latency"), model->memory_ns, 1.03);
}

static void test_three_levels(void **state)
{
    (void)state;
    static struct trial trial;
    const struct model_geometry model = geometry(3);
    const struct machine machine = machine_of(&model);
    go(&trial, &model, &machine, "page_sizes=auto");
    assert_geometry(&trial, &model);
    for (size_t i = 0; i < 3; i++) {
        assert_true(named(&trial, size_names[i])->agrees);
    }
    /* 64 entries reach 256 KiB of 4 KiB pages, and all of the set on 2 MiB ones; of 512 pages, LRU
     * keeps the 64 last ones. */
    const double walk = 1e9 / model.core_hz * model.walk_cycles[SIZE_4K];
    assert_near("translation_cost_4k", measured(&trial, "translation_cost_4k"),
                walk * (1 - 64.0 / 512), 1.03);
    assert_true(isnan(measured(&trial, "translation_cost_2m")));
}

/* As on a small core: no L3, though one is claimed. */
static void test_two_levels_of_three_claimed(void **state)
{
    (void)state;
    static struct trial trial;
    const struct model_geometry model = geometry(2), claimed = geometry(3);
    const struct machine machine = machine_of(&claimed);
    go(&trial, &model, &machine, "page_sizes=2M");
    assert_geometry(&trial, &model);
    assert_true(named(&trial, "l3_size")->claimed == (double)claimed.level[2].size);
    assert_false(named(&trial, "l3_size")->agreement_known);
}

static void test_guest_with_false_claims(void **state)
{
    (void)state;
    static struct trial trial;
    const struct model_geometry model = geometry(3);
    struct machine machine = machine_of(&model);
    machine.processor.cache[1].size = MIBS(4);
    machine.processor.cache[2].size = MIBS(300);
    strcpy(machine.processor.hypervisor, "KVM");
    go(&trial, &model, &machine, "page_sizes=2M");
    assert_geometry(&trial, &model);
    assert_true(named(&trial, "l1d_size")->agrees);
    assert_false(named(&trial, "l2_size")->agrees);
    assert_non_null(strstr(named(&trial, "l3_size")->text, "This guest claims an L3 of 300 MiB"));
}

/* Interrupted by the firmware, with a clock that drifts and neighbours on the memory bus. */
static void test_noisy_machine(void **state)
{
    (void)state;
    static struct trial trial;
    struct model_geometry model = geometry(3);
    model.noise = 0.05;
    model.noise_ns = 2e6;
    model.drift = 0.002;
    model.counts_smis = true;
    model.smi = (struct model_strike){ .every_ns = 5e7, .costs_ns = 3e5 };
    const struct machine machine = machine_of(&model);
    go(&trial, &model, &machine, "page_sizes=2M");
    assert_geometry(&trial, &model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_levels),
        cmocka_unit_test(test_two_levels_of_three_claimed),
        cmocka_unit_test(test_guest_with_false_claims),
        cmocka_unit_test(test_noisy_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
