/* The plan: what is measured, in which order, for how long, and what is left out. */
#include "boot/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 4096, LINES = 64 };

static struct settings settings;
static struct plan plan;
static struct measurement measurement[ROOM];
static struct machine machine;

/* --- Kernels that list what a test wants --------------------------------------------------- */

static struct measurement listed[16];
static size_t listed_count;
static struct scope scope_seen;

static void list(const struct scope *scope, const struct kernel *self, struct measurement_list *out)
{
    scope_seen = *scope;
    for (size_t i = 0; i < listed_count; i++) {
        struct measurement copy = listed[i];
        copy.kernel = self;
        (void)measurement_add(out, &copy);
    }
}

static const enum variant_key columns[] = { VARIANT_KEYS };

#define KERNEL(id, by_name)                                                               \
    {                                                                                     \
        .name = #id, .title = "Title of " #id, .unit = "load", .only_by_name = (by_name), \
        .list = list, .columns = columns                                                  \
    }

static const struct kernel mlp = KERNEL(mlp, false);
static const struct kernel chase = KERNEL(chase, false);
static const struct kernel bandwidth = KERNEL(bandwidth, false);
static const struct kernel secret = KERNEL(secret, true);
static const struct kernel noise = KERNEL(noise, false);
static const struct kernel calibrate = KERNEL(calibrate, false);
static const struct kernel *const kernels[] = { &mlp,   &chase,     &bandwidth, &secret,
                                                &noise, &calibrate, NULL };

/* Capacities in KiB. */
static struct machine machine_of(uint64_t l1, uint64_t l2, uint64_t l3)
{
    struct machine result = { .arena_bytes = UINT64_C(8) * GIB,
                              .page_available = { true, true, false },
                              .page_reason = { NULL, NULL, "no free aligned GiB" } };
    const uint64_t size[] = { l1, l2, l3 };
    for (unsigned i = 0; i < 3; i++) {
        result.processor.cache[i] = (struct cache){
            .level = i + 1,
            .type = i == 0 ? CACHE_DATA : CACHE_UNIFIED,
            .size = size[i] * KIB,
            .line = LINE_BYTES,
        };
    }
    result.processor.caches = 3;
    return result;
}

static int fresh(void **state)
{
    (void)state;
    settings_defaults(&settings, kernels);
    machine = machine_of(48, 2048, 61440);
    memset(listed, 0, sizeof listed);
    listed_count = 0;
    return 0;
}

static void set(const char *assignment)
{
    const struct setting_place place = { SOURCE_OPTIONS, "load options", 0 };
    settings_assign(&settings, &place, assignment);
    assert_true(settings_ok(&settings));
}

static void make(void)
{
    const size_t count = plan_count(&settings, &machine);
    assert_in_range(count, 0, ROOM);
    plan_make(&plan, &settings, &machine, measurement, count);
    assert_int_equal(plan.measurements, count);
}

static struct measurement *add(unsigned data, size_t bytes, double seconds, double build_seconds)
{
    struct measurement *at = &listed[listed_count++];
    *at = (struct measurement){
        .bytes = bytes, .data = data, .seconds = seconds, .build_seconds = build_seconds
    };
    variant_set_number(&at->variant, V_WORKING_SET, bytes);
    return at;
}

static void assert_near(double value, double want)
{
    if (!(fabs(value - want) < 1e-9)) {
        fail_msg("%.12g is not %.12g", value, want);
    }
}

/* --- What is asked for --------------------------------------------------------------------- */

static void test_suites(void **state)
{
    (void)state;
    static const struct {
        const char *suite;
        enum suite number;
        unsigned per_octave, repetitions, visits;
        double warm_up;
    } rows[] = {
        { "suite=quick", SUITE_QUICK, 2, 11, 3, 0.5 },
        { "suite=full", SUITE_FULL, 4, 31, 5, 0.5 },
        { "suite=smoke", SUITE_SMOKE, 1, 3, 1, 0.05 },
    };
    set("experiments=chase");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        set(rows[i].suite);
        make();
        assert_string_equal(plan.suite, rows[i].suite + strlen("suite="));
        assert_int_equal(scope_seen.suite, rows[i].number);
        assert_int_equal(scope_seen.per_octave, rows[i].per_octave);
        assert_int_equal(scope_seen.repetitions, rows[i].repetitions);
        assert_int_equal(scope_seen.visits, rows[i].visits);
        assert_int_equal(plan.sampling.repetitions, rows[i].repetitions);
        assert_int_equal(plan.sampling.visits, rows[i].visits);
        assert_near(plan.sampling.warm_up_seconds, rows[i].warm_up);
        assert_near(plan.sampling.spin_seconds, 0.02);
    }
}

static void test_scope(void **state)
{
    (void)state;
    set("experiments=chase");
    make();
    assert_ptr_equal(scope_seen.machine, &machine);
    assert_int_equal(scope_seen.max_working_set, 0);
    assert_int_equal(scope_seen.page_sizes, 0);
    assert_int_equal(scope_seen.seed, 1);
    assert_int_equal(plan.sampling.second_cache, 2 * MIB);
    assert_int_equal(plan.sampling.last_cache, 60 * MIB);
    assert_int_equal(plan.repeat, 1);
    assert_near(plan.time_limit, 0);
    set("max_working_set=64M");
    set("page_sizes=4K,1G");
    set("seed=7");
    set("repetitions=2");
    set("repeat=3");
    set("time_limit=90");
    make();
    assert_int_equal(scope_seen.max_working_set, 64 * MIB);
    assert_int_equal(scope_seen.page_sizes, 1u << SIZE_4K | 1u << SIZE_1G);
    assert_int_equal(scope_seen.seed, 7);
    assert_int_equal(plan.sampling.seed, 7);
    assert_int_equal(plan.sampling.repetitions, 2);
    assert_int_equal(plan.sampling.visits, 2); /* a visit has a sample at least */
    assert_int_equal(plan.repeat, 3);
    assert_near(plan.time_limit, 90);
}

static void assert_experiments(const char *names)
{
    char text[128] = "";
    make();
    for (size_t i = 0; i < plan.experiments; i++) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "",
                       plan.experiment[i].kernel->name);
    }
    assert_string_equal(text, names);
}

static void test_order_of_experiments(void **state)
{
    (void)state;
    assert_experiments("noise calibrate bandwidth chase mlp");
    set("experiments=mlp,chase,selftest,secret,noise");
    assert_experiments("selftest noise chase mlp secret");
    set("experiments=all,selftest");
    assert_experiments("selftest noise calibrate bandwidth chase mlp");
    assert_ptr_equal(plan.experiment[0].kernel, &selftest_row);
    set("experiments=secret");
    assert_experiments("secret");
}

/* Each experiment has its own stretch of the measurements, one after the other. */
static void test_stretches(void **state)
{
    (void)state;
    (void)add(1, 4096, 1, 0);
    (void)add(2, 8192, 1, 0);
    set("experiments=chase,selftest,mlp");
    make();
    assert_int_equal(plan.measurements, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(plan.experiment[i].count, i == 0 ? 0 : 2);
        assert_int_equal(plan.experiment[i].first, i == 2 ? 2 : 0);
    }
    assert_ptr_equal(plan.measurement[1].kernel, &chase);
    assert_ptr_equal(plan.measurement[2].kernel, &mlp);
    plan_make(&plan, &settings, &machine, measurement, 3); /* never past its room */
    assert_int_equal(plan.measurements, 3);
    assert_int_equal(plan.experiment[2].count, 1);
}

/* --- How long it takes --------------------------------------------------------------------- */

static void test_estimate(void **state)
{
    (void)state;
    (void)add(1, 4096, 0.25, 0.5);        /* three visits, built in each */
    (void)add(1, 4096, 0.125, 0);         /* of the same data */
    (void)add(2, (size_t)65 * MIB, 2, 1); /* one visit */
    (void)add(3, 8192, 4, 0.0625);        /* left out: its build falls to the next one */
    (void)add(3, 8192, 0.75, 0);
    listed[3].skip = "no such pages";
    set("experiments=chase");
    make();
    const double once = 0.25 + 0.125 + 3 * 0.5 + 2 + 1 + 0.75 + 3 * 0.0625;
    assert_near(plan.seconds, once);
    assert_near(plan.experiment[0].seconds, once);
    assert_int_equal(plan.experiment[0].count, 5);
    assert_int_equal(plan.experiment[0].measured, 4);
    assert_int_equal(plan.experiment[0].visits, 3 + 3 + 1 + 3);
    set("repeat=4");
    make();
    assert_near(plan.seconds, 4 * once);
    assert_near(plan.experiment[0].seconds, once);
    set("suite=smoke");
    make();
    assert_near(plan.experiment[0].seconds, once - 2 * 0.5 - 2 * 0.0625);
}

static void test_estimate_of_nothing(void **state)
{
    (void)state;
    (void)add(1, 4096, 0.25, 0.5);
    listed[0].skip = "no such pages";
    set("experiments=chase");
    make();
    assert_near(plan.seconds, 0);
    assert_int_equal(plan.experiment[0].visits, 0);
    set("experiments=selftest");
    make();
    assert_in_range((int)plan.seconds, 3, 10); /* a hundred windows of 20 ms and more */
}

static void test_groups(void **state)
{
    (void)state;
    static const unsigned data[] = { 1, 1, 2, 2, 2, 1 };
    struct measurement item[6] = { { .data = 0 } };
    for (size_t i = 0; i < 6; i++) {
        item[i].data = data[i];
        item[i].build_seconds = (double)i;
    }
    assert_int_equal(plan_group(item, 6), 2);
    assert_int_equal(plan_group(item + 2, 4), 3);
    assert_int_equal(plan_group(item + 2, 2), 2);
    assert_int_equal(plan_group(item + 5, 1), 1);
    assert_int_equal(plan_group(item, 0), 0);
    assert_near(plan_group_build(item + 2, 3), 4);
    make();
    item[2].bytes = (size_t)65 * MIB;
    assert_int_equal(plan_group_visits(&plan, item, 2), 3);
    assert_int_equal(plan_group_visits(&plan, item + 2, 1), 1);
    assert_int_equal(plan_group_visits(&plan, item + 2, 3), 3);
    item[0].skip = item[1].skip = "none";
    assert_int_equal(plan_group_visits(&plan, item, 2), 0);
}

/* --- What is left out ---------------------------------------------------------------------- */

static void test_settings_that_exclude(void **state)
{
    (void)state;
    (void)add(1, 4096, 1, 0);
    (void)add(2, 4096, 1, 0);
    (void)add(3, 4096, 1, 0);
    variant_set_text(&listed[0].variant, V_PREFETCHERS, "found");
    variant_set_text(&listed[1].variant, V_PREFETCHERS, "off");
    listed[2].layout.node = 1;
    set("experiments=chase");
    static const struct {
        const char *setting;
        bool skipped[3];
    } cases[] = {
        { "prefetchers=auto", { false, false, false } },
        { "prefetchers=found", { false, true, false } },
        { "prefetchers=off", { true, false, false } }, /* the third has nothing to do with them */
        { "prefetchers=off:dcu", { true, true, false } },
        { "prefetchers=found,off", { false, false, false } },
        { "numa=local", { false, false, true } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set(cases[i].setting);
        make();
        for (size_t j = 0; j < 3; j++) {
            assert_int_equal(measurement[j].skip != NULL, cases[i].skipped[j]);
        }
    }
    listed[2].skip = "no such node"; /* the kernel's reason stays */
    make();
    assert_string_equal(measurement[2].skip, "no such node");
}

static const char *reason_of(const void *self, size_t index)
{
    return ((const char *const *)self)[index];
}

static void test_reasons(void **state)
{
    (void)state;
    char again[] = "too large"; /* the same text elsewhere */
    const char *const reasons[] = { NULL, "too large", "no pages", again, NULL, "too large" };
    char text[128];
    assert_int_equal(plan_reasons(reason_of, reasons, 6, text, sizeof text), 4);
    assert_string_equal(text, "3 not measured: too large; 1 not measured: no pages");
    assert_int_equal(plan_reasons(reason_of, reasons, 1, text, sizeof text), 0);
    assert_string_equal(text, "");
    memset(text, 'x', sizeof text);
    assert_int_equal(plan_reasons(reason_of, reasons, 6, text, 20), 4);
    assert_string_equal(text, "3 not measured: too");
    assert_int_equal(text[20], 'x');
}

/* --- As text ------------------------------------------------------------------------------- */

static char line[LINES][PLAN_LINE];
static size_t lines;

static void take_line(void *self, const char *text)
{
    assert_ptr_equal(self, &settings);
    assert_in_range(strlen(text), 1, PLAN_LINE - 1);
    assert_in_range(lines, 0, LINES - 1);
    (void)snprintf(line[lines++], PLAN_LINE, "%s", text);
}

static void print(void)
{
    lines = 0;
    plan_print(&plan, take_line, &settings);
}

static void test_print(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        struct measurement *at = add(i, (size_t)4096 << i, 10, 0);
        variant_set_number(&at->variant, V_PAGE_SIZE, i % 2 == 0 ? PAGE_4K : PAGE_2M);
        variant_set_text(&at->variant, V_ORDER, "random");
    }
    variant_set_text(&listed[7].variant, V_ORDER, "sequential");
    listed[7].skip = "too large";
    set("experiments=chase,selftest");
    set("seed=5");
    make();
    print();
    static const char *const want[] = {
        "Plan of the suite quick: at least 11 samples a point in 3 visits, seed 5",
        "  selftest     Self-test: faults are caught, and the machine is restored",
        "    about 0:06",
        "  chase        Title of chase",
        "    7 measurements, about 1:10",
        "    working_set   4 KiB to 256 KiB (7 values)",
        "    page_size     4K, 2M",
        "    order         random",
        "    1 not measured: too large",
        "All of it, about 1:16",
    };
    assert_int_equal(lines, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < lines; i++) {
        assert_string_equal(line[i], want[i]);
    }
    set("repeat=2");
    set("time_limit=75");
    make();
    print();
    assert_string_equal(line[lines - 2], "All of it 2 times, about 2:32");
    assert_string_equal(line[lines - 1], "It stops after 1:15 (time_limit).");
}

/* Keys with many or long texts stay within a line. */
static void test_print_many_texts(void **state)
{
    (void)state;
    static char name[16][64];
    for (unsigned i = 0; i < 16; i++) {
        (void)snprintf(name[i], sizeof name[i], "%02u%060d", i, 0);
        variant_set_text(&add(i, 4096, 1, 0)->variant, V_OPERATION, name[i]);
    }
    set("experiments=chase");
    make();
    print();
    const char *operations = line[4];
    assert_true(strncmp(operations, "    operation     00", 20) == 0);
    assert_string_equal(operations + strlen(operations) - 17, ", ... (16 values)");
}

/* --- The real kernels ---------------------------------------------------------------------- */

static void test_real_kernels(void **state)
{
    (void)state;
    static const char *const suites[] = { "suite=smoke", "suite=quick", "suite=full" };
    settings_defaults(&settings, kernel_table);
    for (size_t s = 0; s < 3; s++) {
        set(suites[s]);
        make();
        assert_true(plan.measurements > 0);
        assert_true(plan.experiments > 0);
        for (size_t i = 0; i < plan.experiments; i++) {
            const struct planned *planned = &plan.experiment[i];
            for (size_t j = planned->first; j < planned->first + planned->count; j++) {
                const struct measurement *at = &plan.measurement[j];
                assert_ptr_equal(at->kernel, planned->kernel);
                assert_true(j == planned->first || at->data >= at[-1].data);
                /* the firmware's turn is in it */
                assert_true(at->skip != NULL ||
                            at->seconds >= 0.02 * sampler_visits(&plan.sampling, at));
            }
        }
    }
}

static void test_quick_is_quick(void **state)
{
    (void)state;
    settings_defaults(&settings, kernel_table);
    make();
    assert_in_range((int)plan.seconds, 5, 90);
    machine = machine_of(32, 1024, 524288);
    make();
    assert_in_range((int)plan.seconds, 5, 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_suites, fresh),
        cmocka_unit_test_setup(test_scope, fresh),
        cmocka_unit_test_setup(test_order_of_experiments, fresh),
        cmocka_unit_test_setup(test_stretches, fresh),
        cmocka_unit_test_setup(test_estimate, fresh),
        cmocka_unit_test_setup(test_estimate_of_nothing, fresh),
        cmocka_unit_test_setup(test_groups, fresh),
        cmocka_unit_test_setup(test_settings_that_exclude, fresh),
        cmocka_unit_test_setup(test_reasons, fresh),
        cmocka_unit_test_setup(test_print, fresh),
        cmocka_unit_test_setup(test_print_many_texts, fresh),
        cmocka_unit_test_setup(test_real_kernels, fresh),
        cmocka_unit_test_setup(test_quick_is_quick, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
