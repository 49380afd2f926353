/* The experiment `ilp`: what its loops compute, the proof of it, and the plan of each suite. */
#include "kernels/ilp.h"
#include "kernels/ilp_loops.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 200, FIRST_FMA = 4 * ILP_VECTOR, FIRST_GENERAL = 5 * ILP_VECTOR };

/* Everything a machine may have. */
static struct machine able_machine(void)
{
    struct machine machine = { .arena_bytes = GIB, .page_available = { true, true, true } };
    machine.processor.features = 1ull << FEATURE_FMA | 1ull << FEATURE_AVX2;
    return machine;
}

static bool host_has_fma(void)
{
    return __builtin_cpu_supports("fma") != 0;
}

/* --- The loops, without the kernel --------------------------------------------------------- */

static uint64_t pattern_of(double value, bool single)
{
    const float narrow = (float)value;
    uint64_t pattern = 0;
    memcpy(&pattern, single ? (const void *)&narrow : &value,
           single ? sizeof narrow : sizeof value);
    return pattern;
}

/* Sums of ones count the operations. `class` is the number of the class's first loop. */
static void count_vector(unsigned class, bool single)
{
    for (unsigned n = 1; n <= ILP_VECTOR; n++) {
        const unsigned number = class + n - 1;
        struct ilp_registers registers = { .vector_source = pattern_of(1, single) };
        const double each = 7.0 * ilp_loop[number].operations / n;
        ilp_laps(&registers, 7, number);
        for (unsigned i = 0; i < ILP_VECTOR; i++) {
            const uint64_t expected = pattern_of(i < n ? each : 0, single);
            assert_int_equal(registers.vector[i], expected);
        }
        assert_int_equal(registers.vector_source, pattern_of(1, single));
    }
}

/* Products of twos count them in the exponent. */
static void count_products(unsigned class, bool single)
{
    for (unsigned n = 1; n <= ILP_VECTOR; n++) {
        const unsigned number = class + n - 1;
        struct ilp_registers registers = { .vector_source = pattern_of(2, single) };
        for (unsigned i = 0; i < ILP_VECTOR; i++) {
            registers.vector[i] = pattern_of(1, single);
        }
        ilp_laps(&registers, 3, number);
        for (unsigned i = 0; i < ILP_VECTOR; i++) {
            const int each = i < n ? (int)(3 * ilp_loop[number].operations / n) : 0;
            assert_int_equal(registers.vector[i], pattern_of(ldexp(1, each), single));
        }
    }
}

static void test_vector_loops(void **state)
{
    (void)state;
    count_vector(0, true);
    count_vector(ILP_VECTOR, false);
    count_products(2 * ILP_VECTOR, true);
    count_products(3 * ILP_VECTOR, false);
    if (host_has_fma()) {
        count_vector(FIRST_FMA, false);
    }
}

static void test_general_loops(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= ILP_GENERAL; n++) {
        struct ilp_registers sums = { .general_source = 1 }, products = { .general_source = 3 };
        const unsigned add = FIRST_GENERAL + n - 1, multiply = add + ILP_GENERAL;
        uint64_t product = 1;
        for (unsigned i = 0; i < 2 * ilp_loop[multiply].operations / n; i++) {
            product *= 3;
        }
        for (unsigned i = 0; i < ILP_GENERAL; i++) {
            products.general[i] = i + 1;
        }
        ilp_laps(&sums, 5, add);
        ilp_laps(&products, 2, multiply);
        for (unsigned i = 0; i < ILP_GENERAL; i++) {
            assert_int_equal(sums.general[i], i < n ? 5 * ilp_loop[add].operations / n : 0);
            assert_int_equal(products.general[i], (i + 1) * (i < n ? product : 1));
        }
    }
}

static void test_loads_and_stores(void **state)
{
    struct ilp_registers registers = { .vector_source = 0 };
    (void)state;
    for (unsigned i = 0; i < ILP_WORDS; i++) {
        registers.read[i] = 100 + i;
    }
    ilp_laps(&registers, 1, ILP_LOOPS - 2);
    for (unsigned i = 0; i < ILP_GENERAL; i++) {
        assert_int_equal(registers.general[i], 100 + ILP_WORDS - ILP_GENERAL + i);
        assert_int_equal(registers.written[i], 0);
    }
    ilp_laps(&registers, 1, ILP_LOOPS - 1);
    for (unsigned i = 0; i < ILP_WORDS; i++) {
        assert_int_equal(registers.written[i], registers.general[i % ILP_GENERAL]);
        assert_int_equal(registers.read[i], 100 + i);
    }
}

static void test_no_laps(void **state)
{
    const struct ilp_registers before = { .general = { 1, 2, 3 }, .general_source = 4 };
    struct ilp_registers registers = before;
    (void)state;
    for (unsigned i = 0; i < ILP_LOOPS; i++) {
        ilp_laps(&registers, 0, i);
        assert_memory_equal(&registers, &before, sizeof before);
    }
}

/* --- The kernel's functions on real memory ------------------------------------------------- */

struct plan {
    struct machine machine;
    struct scope scope;
    struct measurement item[ROOM];
    struct measurement_list list;
};

static void list_plan(struct plan *plan, enum suite suite)
{
    static const unsigned repetitions[SUITES] = { 11, 31, 3 }, visits[SUITES] = { 3, 5, 1 };
    plan->scope = (struct scope){
        .machine = &plan->machine,
        .suite = suite,
        .repetitions = repetitions[suite],
        .visits = visits[suite],
    };
    plan->list = (struct measurement_list){ .item = plan->item, .room = ROOM };
    ilp_kernel.list(&plan->scope, &ilp_kernel, &plan->list);
    assert_int_equal(plan->list.lost, 0);
}

static struct plan *new_plan(enum suite suite)
{
    struct plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
    plan->machine = able_machine();
    list_plan(plan, suite);
    return plan;
}

static void *new_data(void)
{
    void *data = aligned_alloc(PAGE_4K, PAGE_4K);
    assert_non_null(data);
    memset(data, 0xaa, PAGE_4K);
    return data;
}

static struct job begin_job(const struct variant *variant, void *data)
{
    struct job job = { .variant = variant, .data = data, .bytes = PAGE_4K };
    ilp_kernel.code->begin(&job);
    return job;
}

static void build_data(void *data)
{
    struct job job = { .data = data, .bytes = PAGE_4K };
    const char *reason = NULL;
    assert_int_equal(ilp_kernel.code->build(&job, 0), 0);
    assert_int_equal(ilp_kernel.code->prove(&job, 0, &reason), 0);
    assert_null(reason);
}

static bool runs_here(const struct measurement *m)
{
    return m->conditions.vectors == VECTORS_NONE || host_has_fma();
}

/* Any number of operations, each measurement after the other on the data that was built once. */
static void test_every_measurement_is_right(void **state)
{
    static const uint64_t counts[] = { 1, 1, 11, 12, 13, 95, 100, 0, 1000, 12345, 1 };
    struct plan *plan = new_plan(SUITE_FULL);
    void *data = new_data();
    (void)state;
    build_data(data);
    for (unsigned visit = 0; visit < 2; visit++) {
        for (size_t i = 0; i < plan->list.count; i++) {
            if (!runs_here(&plan->item[i])) {
                continue;
            }
            const struct job job = begin_job(&plan->item[i].variant, data);
            void *cursor = ilp_kernel.code->start(&job);
            uint64_t operations = 0;
            for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
                const char *reason = NULL;
                cursor = ilp_kernel.code->loop(cursor, counts[j]);
                operations += counts[j];
                assert_true(ilp_kernel.code->check(&job, cursor, operations, &reason));
                assert_null(reason);
                assert_false(ilp_kernel.code->check(&job, cursor, operations + 1, &reason));
                assert_non_null(reason);
            }
        }
    }
    free(data);
    free(plan);
}

static bool run_once(const struct variant *variant, void *data, uint64_t operations)
{
    const char *reason = NULL;
    const struct job job = begin_job(variant, data);
    void *cursor = ilp_kernel.code->loop(ilp_kernel.code->start(&job), operations);
    const bool right = ilp_kernel.code->check(&job, cursor, operations, &reason);
    assert_true(right == (reason == NULL));
    return right;
}

/* Several parts: nothing overflows, no result is too small to be normal, no sum stops to grow. */
static void test_many_operations_stay_normal(void **state)
{
    struct plan *plan = new_plan(SUITE_SMOKE);
    void *data = new_data();
    (void)state;
    build_data(data);
    (void)feclearexcept(FE_ALL_EXCEPT);
    __builtin_ia32_ldmxcsr(0x1f80);
    for (size_t i = 0; i < plan->list.count; i++) {
        assert_true(!runs_here(&plan->item[i]) || run_once(&plan->item[i].variant, data, 5000000));
    }
    /* Invalid, denormal, divide by zero, overflow, underflow; that products are rounded is right. */
    assert_int_equal(__builtin_ia32_stmxcsr() & 0x1f, 0);
    free(data);
    free(plan);
}

static bool is_named(const struct measurement *m, const char *operation)
{
    return strcmp(m->variant.value[V_OPERATION].text, operation) == 0;
}

/* Another rounding gives other products, and that is seen. */
static void test_wrong_products_are_seen(void **state)
{
    struct plan *plan = new_plan(SUITE_SMOKE);
    void *data = new_data();
    unsigned seen = 0;
    (void)state;
    build_data(data);
    (void)fesetround(FE_UPWARD);
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->item[i];
        if (is_named(m, "mul-single") || is_named(m, "mul-double")) {
            seen += !run_once(&m->variant, data, 1000);
        }
    }
    (void)fesetround(FE_TONEAREST);
    assert_int_equal(seen, 6);
    free(data);
    free(plan);
}

static void test_wrong_words_are_seen(void **state)
{
    struct plan *plan = new_plan(SUITE_SMOKE);
    void *data = new_data();
    struct job job = { .data = data, .bytes = PAGE_4K };
    const char *reason = NULL;
    (void)state;
    build_data(data);
    /* The last words, which the last loads bring. */
    ((struct ilp_registers *)data)->read[ILP_WORDS - 3]++;
    (void)ilp_kernel.code->prove(&job, 0, &reason);
    assert_non_null(reason);
    for (size_t i = 0; i < plan->list.count; i++) {
        if (is_named(&plan->item[i], "load")) {
            assert_false(run_once(&plan->item[i].variant, data, 1000));
        } else if (runs_here(&plan->item[i])) {
            assert_true(run_once(&plan->item[i].variant, data, 1000));
        }
    }
    free(data);
    free(plan);
}

/* A measurement's cursor is no other's, and a walk that goes on is no walk that begins. */
static void test_cursor_is_checked(void **state)
{
    struct plan *plan = new_plan(SUITE_SMOKE);
    void *data = new_data();
    const char *reason = NULL;
    (void)state;
    build_data(data);
    const struct job one = begin_job(&plan->item[0].variant, data);
    const struct job other = begin_job(&plan->item[1].variant, data);
    void *cursor = ilp_kernel.code->loop(ilp_kernel.code->start(&one), 1000);
    assert_true(ilp_kernel.code->check(&one, cursor, 1000, &reason));
    assert_false(ilp_kernel.code->check(&other, cursor, 1000, &reason));
    assert_false(ilp_kernel.code->check(&one, ilp_kernel.code->start(&one), 1000, &reason));
    free(data);
    free(plan);
}

/* --- The plan ------------------------------------------------------------------------------ */

static unsigned count_of(const struct plan *plan, const char *operation)
{
    unsigned count = 0;
    for (size_t i = 0; i < plan->list.count; i++) {
        count += is_named(&plan->item[i], operation);
    }
    return count;
}

static void expect_sound(const struct plan *plan)
{
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->item[i];
        assert_ptr_equal(m->kernel, &ilp_kernel);
        assert_int_equal(m->bytes, PAGE_4K);
        assert_int_equal(m->layout.bytes, PAGE_4K);
        assert_int_equal(m->data, 1);
        assert_true(i == 0 ? m->build_seconds > 0 : m->build_seconds == 0);
        assert_true((m->skip == NULL) == (m->seconds > 0));
        assert_int_equal(m->conditions.vectors,
                         is_named(m, "fma-double") ? VECTORS_AVX2 : VECTORS_NONE);
        for (size_t j = 0; j < i; j++) {
            assert_false(variant_equal(&m->variant, &plan->item[j].variant));
        }
    }
}

static void test_plans(void **state)
{
    static const unsigned vector[SUITES] = { 8, 15, 3 }, general[SUITES] = { 8, 12, 3 };
    static const double seconds[SUITES] = { 15, 60, 6 };
    static const char *const names[] = { "add-single", "add-double", "mul-single", "mul-double",
                                         "fma-double" };
    (void)state;
    for (unsigned suite = 0; suite < SUITES; suite++) {
        struct plan *plan = new_plan(suite);
        double sum = 0;
        expect_sound(plan);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            assert_int_equal(count_of(plan, names[i]), vector[suite]);
        }
        assert_int_equal(count_of(plan, "add-integer"), general[suite]);
        assert_int_equal(count_of(plan, "mul-integer"), general[suite]);
        assert_int_equal(count_of(plan, "load"), 1);
        assert_int_equal(count_of(plan, "store"), 1);
        for (size_t i = 0; i < plan->list.count; i++) {
            sum += plan->item[i].seconds;
        }
        assert_true(sum < seconds[suite]);
        free(plan);
    }
}

static void test_without_fma(void **state)
{
    struct plan *plan = new_plan(SUITE_FULL);
    (void)state;
    plan->machine.processor.features = 1ull << FEATURE_AVX2;
    list_plan(plan, SUITE_FULL);
    expect_sound(plan);
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->item[i];
        assert_true(is_named(m, "fma-double") == (m->skip != NULL));
        assert_true(m->skip == NULL || strstr(m->skip, "FMA") != NULL);
    }
    free(plan);
}

/* --- Prediction ---------------------------------------------------------------------------- */

/* A machine with a latency of 4 ns and two units. */
static void test_prediction(void **state)
{
    static struct point point[ROOM];
    struct plan *plan = new_plan(SUITE_FULL);
    (void)state;
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct variant *variant = &plan->item[i].variant;
        const double found = ilp_kernel.predict(&plan->machine, variant, point, i);
        const double n = (double)variant->value[V_ACCUMULATORS].number;
        if (!variant_has(variant, V_ACCUMULATORS) || n == 1) {
            assert_true(isnan(found));
        } else { /* that nine fill the units is news when there are nine */
            assert_true(fabs(found - (n < 10 ? 4 / n : 0.5)) < 1e-12);
        }
        point[i] = (struct point){ .variant = *variant };
        point[i].ns.median = variant_has(variant, V_ACCUMULATORS) ? fmax(4 / n, 0.5) : 0.1;
    }
    free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector_loops),
        cmocka_unit_test(test_general_loops),
        cmocka_unit_test(test_loads_and_stores),
        cmocka_unit_test(test_no_laps),
        cmocka_unit_test(test_every_measurement_is_right),
        cmocka_unit_test(test_many_operations_stay_normal),
        cmocka_unit_test(test_wrong_products_are_seen),
        cmocka_unit_test(test_wrong_words_are_seen),
        cmocka_unit_test(test_cursor_is_checked),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_without_fma),
        cmocka_unit_test(test_prediction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
