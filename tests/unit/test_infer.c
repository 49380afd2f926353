/* kernels/infer.c, infer_view.c and infer_cost.c: from the points of a run to findings with names,
 * claims and sentences, and that no claim has a part in what is measured. */
#include "kernels/infer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KIBS(n)   ((uint64_t)(n)*KIB)
#define MIBS(n)   ((uint64_t)(n)*MIB)
#define CORE_GHZ  3.0
#define L1        KIBS(32)
#define L2        KIBS(1024)
#define L3        MIBS(16)
#define L1_CYCLES 4.0
#define L2_CYCLES 14.0
#define L3_CYCLES 60.0
#define MEMORY_NS 90.0

/* A run of the chase, and what was found in it. */
struct trial {
    struct machine machine;
    struct results results;
    struct experiment experiment[2];
    struct point point[400];
    struct finding finding[INFER_MOST];
    size_t findings;
};

static struct trial *new_trial(void)
{
    static struct trial trial;
    trial = (struct trial){
        .machine = { .processor = { .caches = 4,
                                    .cache = { { .level = 1, .type = CACHE_DATA, .size = L1 },
                                               { .level = 1,
                                                 .type = CACHE_INSTRUCTION,
                                                 .size = L1 },
                                               { .level = 2, .type = CACHE_UNIFIED, .size = L2 },
                                               { .level = 3,
                                                 .type = CACHE_UNIFIED,
                                                 .size = L3 } } } },
        .experiment = { { .name = "bandwidth", .points = 1 },
                        { .name = "chase", .first_point = 1 } },
        .findings = 0,
    };
    trial.results = (struct results){ .machine = &trial.machine,
                                      .experiment = trial.experiment,
                                      .experiments = 2,
                                      .point = trial.point,
                                      .points = 1 };
    /* A point of another experiment must not be taken for one of the chase. */
    trial.point[0] = (struct point){ .unit = "byte", .ns = { .median = 0.01 } };
    return &trial;
}

static struct spread spread(double median)
{
    return (struct spread){ .median = median,
                            .min = 0.99 * median,
                            .max = 1.01 * median,
                            .low = 0.998 * median,
                            .high = 1.002 * median,
                            .coverage = 0.98,
                            .samples = 11,
                            .visits = 3 };
}

/* Adds a point of the chase and returns it. */
static struct point *add(struct trial *trial, const char *order, uint64_t page,
                         const char *placement, uint64_t set, double ns)
{
    struct point *point = &trial->point[trial->results.points++];
    assert_true(trial->results.points <= sizeof trial->point / sizeof *trial->point);
    trial->experiment[1].points++;
    *point = (struct point){ .unit = "load", .ns = spread(ns), .cycles = spread(CORE_GHZ * ns) };
    variant_set_number(&point->variant, V_WORKING_SET, set);
    variant_set_number(&point->variant, V_PAGE_SIZE, page);
    variant_set_text(&point->variant, V_ORDER, order);
    variant_set_text(&point->variant, V_PREFETCHERS, "found");
    variant_set_text(&point->variant, V_PLACEMENT, placement);
    for (size_t i = 0; i < COUNTERS; i++) {
        point->counter[i] = NAN;
    }
    return point;
}

/* Load-to-use latency of random order, without translation. Beyond a cache, it goes on answering
 * its share of the loads, but for L1. */
static double latency(uint64_t set)
{
    const double l2 = fmin(1, (double)L2 / (double)set), l3 = fmin(1, (double)L3 / (double)set);
    if (set <= L1) {
        return L1_CYCLES / CORE_GHZ;
    }
    return l2 * L2_CYCLES / CORE_GHZ + (l3 - l2) * L3_CYCLES / CORE_GHZ + (1 - l3) * MEMORY_NS;
}

/* The rows of a view from 4 KiB to `largest`, at two sizes an octave. */
static void add_view(struct trial *trial, uint64_t page, const char *placement, uint64_t largest,
                     double extra)
{
    for (unsigned i = 0; 4096ull << (i / 2) <= largest; i++) {
        const uint64_t set = (i % 2 == 0 ? 4096ull : 6144ull) << (i / 2);
        if (set <= largest) {
            add(trial, "random", page, placement, set,
                latency(set) + (set > KIBS(256) ? extra : 0));
        }
    }
}

static void infer(struct trial *trial)
{
    memset(trial->finding, 0, sizeof trial->finding);
    trial->findings = infer_run(&trial->results, trial->finding, INFER_MOST);
    assert_true(trial->findings <= INFER_MOST);
    for (size_t i = 0; i < trial->findings; i++) {
        const struct finding *finding = &trial->finding[i];
        assert_non_null(finding->name);
        assert_non_null(finding->unit);
        assert_int_equal(isnan(finding->measured), strstr(finding->text, "cannot tell") != NULL);
        assert_true(finding->agreement_known || !finding->agrees);
        assert_true(strlen(finding->text) < sizeof finding->text - 1); /* not cut */
    }
}

static const struct finding *named(const struct trial *trial, const char *name)
{
    const struct finding *found = NULL;
    for (size_t i = 0; i < trial->findings; i++) {
        if (strcmp(trial->finding[i].name, name) == 0) {
            assert_null(found);
            found = &trial->finding[i];
        }
    }
    return found;
}

static double measured(const struct trial *trial, const char *name)
{
    const struct finding *finding = named(trial, name);
    if (finding == NULL) {
        fail_msg("no finding %s", name);
    }
    return finding == NULL ? NAN : finding->measured;
}

static void assert_about(double found, double wanted, double within)
{
    if (!(fabs(found / wanted - 1) <= within)) {
        fail_msg("%.6g instead of %.6g", found, wanted);
    }
}

static void assert_text(const struct trial *trial, const char *name, const char *part)
{
    const struct finding *finding = named(trial, name);
    const char *text = finding == NULL ? "" : finding->text;
    if (strstr(text, part) == NULL) {
        fail_msg("%s: \"%s\" is not in \"%s\"", name, part, text);
    }
}

static void assert_cannot_tell(const struct trial *trial, const char *name, const char *why)
{
    assert_true(isnan(measured(trial, name)));
    assert_text(trial, name, why);
}

/* --- Levels --------------------------------------------------------------------------------- */

static void test_levels_of_a_run(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add_view(trial, PAGE_4K, "scattered", MIBS(2048), 8);
    add_view(trial, PAGE_2M, "in-order", MIBS(2048), 0);
    infer(trial);
    assert_true(measured(trial, "l1d_size") == (double)L1);
    assert_about(measured(trial, "l2_size"), (double)L2, 0.51);
    assert_about(measured(trial, "l3_size"), (double)L3, 0.51);
    assert_null(named(trial, "l4_size"));
    assert_about(measured(trial, "l1d_latency"), L1_CYCLES / CORE_GHZ, 0.01);
    assert_about(measured(trial, "l2_latency"), L2_CYCLES / CORE_GHZ, 0.03);
    assert_about(measured(trial, "l3_latency"), L3_CYCLES / CORE_GHZ, 0.10);
    assert_about(measured(trial, "l1d_latency_cycles"), L1_CYCLES, 0.01);
    assert_about(measured(trial, "l2_latency_cycles"), L2_CYCLES, 0.03);
    assert_about(measured(trial, "l3_latency_cycles"), L3_CYCLES, 0.10);
    assert_about(measured(trial, "memory_latency"), MEMORY_NS, 0.03);
    assert_about(measured(trial, "memory_latency_cycles"), CORE_GHZ * MEMORY_NS, 0.03);
    assert_string_equal(named(trial, "l1d_size")->unit, "bytes");
    assert_string_equal(named(trial, "l1d_latency")->unit, "ns");
    assert_string_equal(named(trial, "l1d_latency_cycles")->unit, "cycles");
    assert_true(named(trial, "l1d_size")->agrees && named(trial, "l2_size")->agrees &&
                named(trial, "l3_size")->agrees);
    assert_true(named(trial, "l3_size")->claimed == (double)L3);
    assert_true(isnan(named(trial, "l3_latency")->claimed));
    assert_text(trial, "l1d_size", "measured about 32 KiB, 4 cycles; CPUID says 32 KiB: agrees");
}

/* Whatever is claimed, the same is measured. */
static void test_claims_do_not_measure(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    static struct finding before[INFER_MOST];
    add_view(trial, PAGE_4K, "scattered", MIBS(2048), 8);
    infer(trial);
    memcpy(before, trial->finding, sizeof before);
    const size_t count = trial->findings;
    trial->machine.processor.cache[0].size = KIBS(64);
    trial->machine.processor.cache[2].size = MIBS(4);
    trial->machine.processor.cache[3].size = MIBS(300);
    infer(trial);
    assert_int_equal(trial->findings, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(trial->finding[i].name, before[i].name);
        assert_memory_equal(&trial->finding[i].measured, &before[i].measured, sizeof(double));
    }
    assert_true(named(trial, "l2_size")->agreement_known);
    assert_false(named(trial, "l2_size")->agrees);
    assert_true(named(trial, "l2_size")->claimed == (double)MIBS(4));
    assert_text(trial, "l2_size", "CPUID says 4 MiB: differs");
    trial->results.machine = NULL;
    infer(trial);
    assert_int_equal(trial->findings, count);
    assert_false(named(trial, "l3_size")->agreement_known);
    assert_true(isnan(named(trial, "l3_size")->claimed));
}

static void test_guest_gets_less_than_it_claims(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add_view(trial, PAGE_2M, "in-order", MIBS(2048), 0);
    trial->machine.processor.cache[3].size = MIBS(300);
    strcpy(trial->machine.processor.hypervisor, "KVM");
    infer(trial);
    assert_false(named(trial, "l3_size")->agrees);
    assert_text(trial, "l3_size", "This guest claims an L3 of 300 MiB; latency says that it gets");
    assert_text(trial, "l2_size", "agrees");
    /* More than is claimed is no share of it. */
    trial->machine.processor.cache[3].size = MIBS(2);
    infer(trial);
    assert_text(trial, "l3_size", "CPUID says 2 MiB: differs");
}

static void test_levels_out_of_reach(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add_view(trial, PAGE_2M, "in-order", MIBS(12), 0);
    infer(trial);
    assert_true(measured(trial, "l1d_size") == (double)L1);
    assert_cannot_tell(trial, "l3_size", "no further cache up to 6 MiB");
    assert_true(named(trial, "l3_size")->claimed == (double)L3);
    assert_false(named(trial, "l3_size")->agreement_known);
    assert_null(named(trial, "l3_latency"));
    assert_cannot_tell(trial, "memory_latency", "it may lie in a cache");
}

/* A claimed level is out of reach of the names when the curve begins beyond it. */
static void test_curve_that_begins_late(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    for (uint64_t set = KIBS(64); set <= MIBS(2048); set *= 2) {
        add(trial, "random", PAGE_2M, "in-order", set, latency(set));
    }
    infer(trial);
    assert_cannot_tell(trial, "l1d_size", "no set was small enough");
    assert_about(measured(trial, "l2_size"), (double)L2, 1);
    assert_about(measured(trial, "l3_size"), (double)L3, 1);
}

static void test_memory_still_rising(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add_view(trial, PAGE_2M, "in-order", MIBS(128), 0);
    infer(trial);
    assert_cannot_tell(trial, "memory_latency", "at least");
    assert_cannot_tell(trial, "memory_latency_cycles", "at least");
    /* With the misses counted, what the last cache still answers is taken off. */
    trial->point[trial->results.points - 1].counter[C_L3_MISS] = 1 - 16.0 / 128;
    infer(trial);
    assert_about(measured(trial, "memory_latency"), MEMORY_NS, 0.03);
    assert_about(measured(trial, "memory_latency_cycles"), CORE_GHZ * MEMORY_NS, 0.03);
}

static void test_cycles_that_were_not_counted(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add_view(trial, PAGE_2M, "in-order", MIBS(2048), 0);
    for (size_t i = 0; i < trial->results.points; i++) {
        trial->point[i].cycles = (struct spread){ .samples = 0 };
    }
    infer(trial);
    assert_cannot_tell(trial, "l2_latency_cycles", "core cycles were not measured");
    assert_cannot_tell(trial, "memory_latency_cycles", "core cycles were not measured");
    assert_about(measured(trial, "l2_latency"), L2_CYCLES / CORE_GHZ, 0.03);
    assert_text(trial, "l1d_size", "1.33 ns");
}

static void test_emulated_time_means_nothing(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add_view(trial, PAGE_2M, "in-order", MIBS(256), 0);
    trial->point[3].flags |= 1u << FLAG_EMULATED;
    infer(trial);
    assert_true(trial->findings >= 5);
    for (size_t i = 0; i < trial->findings; i++) {
        assert_cannot_tell(trial, trial->finding[i].name, "emulator");
    }
    assert_true(named(trial, "l2_size")->claimed == (double)L2);
}

static void test_large_pages_are_preferred_where_there_are_enough(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add_view(trial, PAGE_4K, "scattered", MIBS(2048), 30);
    add_view(trial, PAGE_1G, "in-order", KIBS(64), 0); /* a few anchors only */
    infer(trial);
    assert_about(measured(trial, "memory_latency"), MEMORY_NS + 30, 0.03);
    assert_text(trial, "memory_latency", "with what 4 KiB pages cost");
    add_view(trial, PAGE_2M, "in-order", MIBS(2048), 0);
    infer(trial);
    assert_about(measured(trial, "memory_latency"), MEMORY_NS, 0.03);
    assert_null(strstr(named(trial, "memory_latency")->text, "4 KiB"));
}

static void test_other_orders_are_left_alone(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add_view(trial, PAGE_2M, "in-order", MIBS(256), 0);
    for (uint64_t set = KIBS(4); set <= MIBS(256); set *= 2) {
        add(trial, "sequential", PAGE_2M, "in-order", set, 0.5);
        add(trial, "page-local", PAGE_2M, "in-order", set, 0.7);
    }
    infer(trial);
    assert_about(measured(trial, "l1d_latency"), L1_CYCLES / CORE_GHZ, 0.01);
    trial->experiment[1].first_point += trial->experiment[1].points - 20;
    trial->experiment[1].points = 20; /* only those */
    infer(trial);
    assert_cannot_tell(trial, "l1d_size", "no chase in random order");
}

static void test_no_chase_no_findings(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    trial->results.experiments = 1;
    infer(trial);
    assert_int_equal(trial->findings, 0);
}

static void test_room_is_not_passed(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add_view(trial, PAGE_2M, "in-order", MIBS(2048), 0);
    for (size_t room = 0; room < 5; room++) {
        struct finding *out = calloc(room + 1, sizeof *out);
        assert_int_equal(infer_run(&trial->results, out, room), room);
        assert_null(out[room].name);
        free(out);
    }
}

/* --- Costs ---------------------------------------------------------------------------------- */

static void test_costs_of_translation_and_placement(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add_view(trial, PAGE_4K, "scattered", MIBS(1024), 0);
    static const uint64_t anchors[] = { MIBS(1), MIBS(256), MIBS(16) };
    for (size_t i = 0; i < 3; i++) {
        const double far = (double)anchors[i] / (double)MIBS(256);
        const double base = latency(anchors[i]);
        add(trial, "random", PAGE_4K, "in-order", anchors[i], base + 25 * far);
        add(trial, "random", PAGE_2M, "in-order", anchors[i], base + 6 * far);
        add(trial, "random", PAGE_1G, "in-order", anchors[i], base + 2 * far);
        add(trial, "sequential", PAGE_4K, "in-order", 4 * anchors[i], 99);
        add(trial, "sequential", PAGE_2M, "in-order", 4 * anchors[i], 9);
    }
    infer(trial);
    assert_about(measured(trial, "translation_cost_4k"), 23, 1e-9);
    assert_about(measured(trial, "translation_cost_2m"), 4, 1e-9);
    assert_about(measured(trial, "placement_cost"), -25, 1e-9);
    assert_string_equal(named(trial, "translation_cost_4k")->unit, "ns");
    assert_text(trial, "translation_cost_4k", "set of 256 MiB");
    assert_cannot_tell(trial, "prefetch_gain", "as found and off");
    /* Without 1 GiB pages, 2 MiB ones are what the others are held against. */
    for (size_t i = 0; i < trial->results.points; i++) {
        if (trial->point[i].variant.value[V_PAGE_SIZE].number == PAGE_1G) {
            trial->point[i].ns.median = NAN;
        }
    }
    infer(trial);
    assert_about(measured(trial, "translation_cost_4k"), 19, 1e-9);
    assert_cannot_tell(trial, "translation_cost_2m", "on 2 MiB and on 1 GiB pages");
}

static void test_smashed_pages_tell_no_cost(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add(trial, "random", PAGE_4K, "in-order", MIBS(64), 100);
    add(trial, "random", PAGE_4K, "scattered", MIBS(64), 120);
    add(trial, "random", PAGE_2M, "in-order", MIBS(64), 80)->flags = 1u << FLAG_SMASHED;
    infer(trial);
    assert_cannot_tell(trial, "translation_cost_4k", "cuts large pages");
    assert_about(measured(trial, "placement_cost"), 20, 1e-9);
}

static void test_differences_within_the_spread(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add(trial, "random", PAGE_4K, "in-order", MIBS(64), 100);
    struct point *scattered = add(trial, "random", PAGE_4K, "scattered", MIBS(64), 100.3);
    infer(trial);
    assert_cannot_tell(trial, "placement_cost", "within the spread");
    scattered->ns = spread(100.5);
    infer(trial);
    assert_about(measured(trial, "placement_cost"), 0.5, 1e-6);
    /* Without an interval, all samples count. */
    scattered->ns.coverage = scattered->ns.low = scattered->ns.high = NAN;
    infer(trial);
    assert_cannot_tell(trial, "placement_cost", "within the spread");
}

static void test_prefetch_gain(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    add(trial, "random", PAGE_2M, "in-order", MIBS(64), 90);
    variant_set_text(&add(trial, "random", PAGE_2M, "in-order", MIBS(64), 95)->variant,
                     V_PREFETCHERS, "off");
    infer(trial);
    assert_about(measured(trial, "prefetch_gain"), 5, 1e-9);
    assert_text(trial, "prefetch_gain", "random order");
    /* Sequential order is what they are made for. */
    add(trial, "sequential", PAGE_2M, "in-order", MIBS(32), 6);
    variant_set_text(&add(trial, "sequential", PAGE_2M, "in-order", MIBS(32), 40)->variant,
                     V_PREFETCHERS, "off:l2_stream");
    infer(trial);
    assert_about(measured(trial, "prefetch_gain"), 5, 1e-9);
    variant_set_text(&add(trial, "sequential", PAGE_2M, "in-order", MIBS(32), 70)->variant,
                     V_PREFETCHERS, "off");
    infer(trial);
    assert_about(measured(trial, "prefetch_gain"), 64, 1e-9);
    assert_text(trial, "prefetch_gain", "sequential order");
}

/* --- Curves of others ----------------------------------------------------------------------- */

static void test_curve_in_any_order_and_unit(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    uint64_t set[40];
    double value[40];
    for (unsigned i = 0; i < 40; i++) {
        set[39 - i] = (i % 2 == 0 ? 4096ull : 6144ull) << (i / 2);
        value[39 - i] = CORE_GHZ * latency(set[39 - i]);
    }
    set[5] = 0;      /* no set */
    value[7] = NAN;  /* no value */
    value[8] = -1.0; /* none either */
    const struct latency_curve cycles = { set, value, 40, true, true };
    trial->findings = infer_curve(&cycles, trial->finding, INFER_MOST);
    assert_true(measured(trial, "l1d_size") == (double)L1);
    assert_about(measured(trial, "l2_size"), (double)L2, 0.51);
    assert_about(measured(trial, "l3_size"), (double)L3, 0.51);
    assert_about(measured(trial, "l2_latency_cycles"), L2_CYCLES, 0.03);
    assert_null(named(trial, "l2_latency"));
    assert_null(named(trial, "prefetch_gain"));
    assert_true(isnan(named(trial, "l2_size")->claimed));
    assert_false(named(trial, "l2_size")->agreement_known);
    const struct latency_curve ns = { set, value, 40, false, true };
    trial->findings = infer_curve(&ns, trial->finding, INFER_MOST);
    assert_about(measured(trial, "l2_latency"), L2_CYCLES, 0.03);
    assert_cannot_tell(trial, "l2_latency_cycles", "not measured");
}

static void test_empty_and_flat_curves(void **state)
{
    (void)state;
    struct trial *trial = new_trial();
    uint64_t set[30];
    double value[30];
    const struct latency_curve empty = { set, value, 0, true, false };
    trial->findings = infer_curve(&empty, trial->finding, INFER_MOST);
    assert_cannot_tell(trial, "l1d_size", "no chase");
    for (size_t i = 0; i < 30; i++) {
        set[i] = 4096ull << (i / 2);
        value[i] = 5;
    }
    const struct latency_curve flat = { set, value, 30, true, false };
    trial->findings = infer_curve(&flat, trial->finding, INFER_MOST);
    assert_cannot_tell(trial, "l1d_size", "no further cache");
    assert_cannot_tell(trial, "memory_latency_cycles", "it may lie in a cache");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_of_a_run),
        cmocka_unit_test(test_claims_do_not_measure),
        cmocka_unit_test(test_guest_gets_less_than_it_claims),
        cmocka_unit_test(test_levels_out_of_reach),
        cmocka_unit_test(test_curve_that_begins_late),
        cmocka_unit_test(test_memory_still_rising),
        cmocka_unit_test(test_cycles_that_were_not_counted),
        cmocka_unit_test(test_emulated_time_means_nothing),
        cmocka_unit_test(test_large_pages_are_preferred_where_there_are_enough),
        cmocka_unit_test(test_other_orders_are_left_alone),
        cmocka_unit_test(test_no_chase_no_findings),
        cmocka_unit_test(test_room_is_not_passed),
        cmocka_unit_test(test_costs_of_translation_and_placement),
        cmocka_unit_test(test_smashed_pages_tell_no_cost),
        cmocka_unit_test(test_differences_within_the_spread),
        cmocka_unit_test(test_prefetch_gain),
        cmocka_unit_test(test_curve_in_any_order_and_unit),
        cmocka_unit_test(test_empty_and_flat_curves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
