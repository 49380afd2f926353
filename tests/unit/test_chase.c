/* The experiment `chase` but for its numbers: the data, its proof, and the plan of each suite. */
#include "kernels/chain.h"
#include "kernels/chase.h"
#include "kernels/loops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- The kernel's functions on real memory ------------------------------------------------- */

struct chase {
    struct variant variant;
    struct job job;
};

static void begin_chase(struct chase *chase, enum order_kind kind, size_t bytes, uint64_t seed)
{
    *chase = (struct chase){ .job = { .seed = seed, .bytes = bytes } };
    variant_set_number(&chase->variant, V_WORKING_SET, bytes);
    variant_set_text(&chase->variant, V_ORDER, order_name[kind]);
    chase->job.variant = &chase->variant;
    chase->job.data = aligned_alloc(PAGE_4K, (bytes + PAGE_4K - 1) / PAGE_4K * PAGE_4K);
    assert_non_null(chase->job.data);
    memset(chase->job.data, 0xaa, bytes);
    chase_kernel.code->begin(&chase->job);
}

static unsigned build_all(struct chase *chase)
{
    unsigned slices = 0;
    size_t step = 0;
    do {
        step = chase_kernel.code->build(&chase->job, step);
        slices++;
    } while (step != 0);
    return slices;
}

static const char *prove_all(const struct chase *chase)
{
    const char *reason = NULL;
    size_t step = 0;
    do {
        step = chase_kernel.code->prove(&chase->job, step, &reason);
    } while (step != 0);
    return reason;
}

/* One slice, a slice and a line, several slices, and more than is walked. */
static const size_t sets[] = { 64,         4096,       100ull * 4096, 4ull * MIB, 4ull * MIB + 64,
                               9ull * MIB, 17ull * MIB };

enum { SETS = sizeof sets / sizeof *sets };

static void test_built_data_is_proved(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < ORDERS; kind++) {
        for (size_t i = 0; i < SETS; i++) {
            struct chase chase;
            begin_chase(&chase, kind, sets[i], i);
            assert_int_equal(build_all(&chase), (sets[i] + 4ull * MIB - 1) / (4ull * MIB));
            assert_null(prove_all(&chase));
            assert_int_equal(chase_kernel.code->cycle_length(&chase.job), sets[i] / LINE_BYTES);
            free(chase.job.data);
        }
    }
}

/* The loop goes on where it stopped, for any number of hops, and ends where the check says. */
static void test_loop_goes_on(void **state)
{
    static const uint64_t hops[] = { 0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 1000, 65537 };
    (void)state;
    for (unsigned kind = 0; kind < ORDERS; kind++) {
        const struct kernel_code *code = chase_kernel.code;
        const char *reason = NULL;
        struct chase chase;
        begin_chase(&chase, kind, 777ull * LINE_BYTES, kind);
        (void)build_all(&chase);
        void *cursor = code->start(&chase.job);
        uint64_t operations = 0;
        for (size_t i = 0; i < sizeof hops / sizeof *hops; i++) {
            const struct node *expected = cursor;
            for (uint64_t hop = 0; hop < hops[i]; hop++) {
                expected = expected->next;
            }
            cursor = code->loop(cursor, hops[i]);
            operations += hops[i];
            assert_ptr_equal(cursor, expected);
            assert_true(code->check(&chase.job, cursor, operations, &reason));
            assert_false(code->check(&chase.job, cursor, operations + 1, &reason));
        }
        assert_non_null(reason);
        free(chase.job.data);
    }
}

/* Another visit's seed, another placement's memory: what lies there is no cycle of this order. */
static void test_proof_wants_this_order(void **state)
{
    struct chase chase;
    (void)state;
    begin_chase(&chase, ORDER_RANDOM, MIB, 1);
    assert_non_null(prove_all(&chase));
    (void)build_all(&chase);
    assert_null(prove_all(&chase));
    chase.job.seed = 2;
    chase_kernel.code->begin(&chase.job);
    assert_non_null(prove_all(&chase));
    free(chase.job.data);
}

/* A single wrong pointer is found in whichever slice it is. */
static void test_proof_sees_all_slices(void **state)
{
    static const size_t wrong[] = { 0, 65535, 65536, 200000, 278527 };
    struct chase chase;
    (void)state;
    begin_chase(&chase, ORDER_RANDOM, 17ull * MIB, 1);
    (void)build_all(&chase);
    struct node *node = chase.job.data;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct node *const right = node[wrong[i]].next;
        node[wrong[i]].next = node + wrong[i];
        assert_non_null(prove_all(&chase));
        node[wrong[i]].next = right;
    }
    assert_null(prove_all(&chase));
    free(chase.job.data);
}

/* Sets that are soon walked are walked, whatever the proof by arithmetic says. */
static void test_small_sets_are_walked(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETS; i++) {
        struct chase chase;
        const char *reason = NULL;
        unsigned slices = 0;
        size_t step = 0;
        begin_chase(&chase, ORDER_RANDOM, sets[i], 1);
        const unsigned built = build_all(&chase);
        do {
            step = chase_kernel.code->prove(&chase.job, step, &reason);
            slices++;
        } while (step != 0);
        assert_int_equal(slices, sets[i] <= 16ull * MIB ? 2 * built : built);
        free(chase.job.data);
    }
}

static void test_other_loops(void **state)
{
    char *lines = aligned_alloc(LINE_BYTES, 37ull * LINE_BYTES);
    (void)state;
    assert_non_null(lines);
    memset(lines, 0, 37ull * LINE_BYTES);
    for (uint64_t laps = 0; laps < 5; laps++) {
        assert_int_equal(spin_adds(laps), laps * SPIN_ADDS);
    }
    for (size_t n = 0; n <= 37; n++) {
        read_lines(lines + (37ull - n) * LINE_BYTES, n); /* a read past the end would be seen */
    }
    free(lines);
}

/* --- The plan ------------------------------------------------------------------------------ */

enum { ROOM = 4000 };

struct plan {
    struct machine machine;
    struct scope scope;
    struct measurement item[ROOM];
    struct measurement_list list;
};

static void add_cache(struct machine *machine, unsigned level, enum cache_type type, uint64_t size)
{
    struct processor *processor = &machine->processor;
    processor->cache[processor->caches++] = (struct cache){ .level = level, type, size };
}

static void make_plan(struct plan *plan, enum suite suite)
{
    static const unsigned per_octave[SUITES] = { 2, 4, 1 }, repetitions[SUITES] = { 11, 31, 3 };
    static const unsigned visits[SUITES] = { 3, 5, 1 };
    memset(plan, 0, sizeof *plan);
    add_cache(&plan->machine, 1, CACHE_DATA, 32ull * KIB);
    add_cache(&plan->machine, 1, CACHE_INSTRUCTION, 64ull * KIB);
    add_cache(&plan->machine, 2, CACHE_UNIFIED, MIB);
    add_cache(&plan->machine, 3, CACHE_UNIFIED, 32ull * MIB);
    plan->machine.arena_bytes = 16ull * GIB;
    for (unsigned i = 0; i < PAGE_SIZES; i++) {
        plan->machine.page_available[i] = true;
    }
    plan->scope = (struct scope){
        .machine = &plan->machine,
        .suite = suite,
        .per_octave = per_octave[suite],
        .repetitions = repetitions[suite],
        .visits = visits[suite],
        .seed = 1,
    };
    plan->list = (struct measurement_list){ .item = plan->item, .room = ROOM };
}

static void list_plan(struct plan *plan)
{
    plan->list.count = plan->list.lost = 0;
    chase_kernel.list(&plan->scope, &chase_kernel, &plan->list);
    assert_int_equal(plan->list.lost, 0);
    assert_true(plan->list.count > 0);
}

static struct plan *new_plan(enum suite suite)
{
    struct plan *plan = malloc(sizeof *plan);
    assert_non_null(plan);
    make_plan(plan, suite);
    return plan;
}

static bool is_view(const struct measurement *m, enum page_size leaf, enum placing placing)
{
    return m->layout.leaf == leaf && m->layout.placing == placing;
}

static bool has_order(const struct measurement *m, enum order_kind kind)
{
    return strcmp(m->variant.value[V_ORDER].text, order_name[kind]) == 0;
}

static unsigned count_views(const struct plan *plan, enum order_kind kind, enum page_size leaf,
                            enum placing placing)
{
    unsigned count = 0;
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i];
        count += has_order(m, kind) && is_view(m, leaf, placing);
    }
    return count;
}

static uint64_t largest_of(const struct plan *plan, enum order_kind kind)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i];
        if (has_order(m, kind) && m->bytes > largest) {
            largest = m->bytes;
        }
    }
    return largest;
}

/* What every plan keeps. */
static void expect_sound(const struct plan *plan)
{
    static const uint64_t leaf_bytes[PAGE_SIZES] = { PAGE_4K, PAGE_2M, PAGE_1G };
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i];
        const struct variant *v = &m->variant;
        assert_ptr_equal(m->kernel, &chase_kernel);
        assert_int_equal(v->value[V_WORKING_SET].number, m->bytes);
        assert_int_equal(m->layout.bytes, m->bytes);
        assert_int_equal(v->value[V_PAGE_SIZE].number, leaf_bytes[m->layout.leaf]);
        assert_string_equal(v->value[V_PLACEMENT].text, placement_name[m->layout.placing]);
        assert_string_equal(v->value[V_PREFETCHERS].text, "found");
        assert_int_equal(m->conditions.prefetchers_off, 0);
        assert_int_equal(m->bytes % (m->bytes > PAGE_4K ? PAGE_4K : LINE_BYTES), 0);
        assert_true(m->skip != NULL || m->seconds > 0);
        for (size_t j = 0; j < i; j++) {
            assert_false(variant_equal(v, &plan->list.item[j].variant));
        }
    }
}

/* One number of data, one size, order and placement; side by side; built by its first alone. */
static void expect_groups(const struct plan *plan)
{
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i], *before = m - 1;
        const bool same =
            i > 0 && before->bytes == m->bytes && before->layout.placing == m->layout.placing &&
            strcmp(before->variant.value[V_ORDER].text, m->variant.value[V_ORDER].text) == 0;
        assert_int_equal(m->data, i == 0 ? 1 : before->data + !same);
        if (m->skip == NULL) {
            const bool built = same && before->skip == NULL;
            assert_true(built ? m->build_seconds == 0 : m->build_seconds > 0);
        }
    }
}

static double plan_seconds(const struct plan *plan)
{
    double seconds = 0;
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i];
        const unsigned builds = m->bytes > 64ull * MIB ? 1 : plan->scope.visits;
        seconds += m->seconds + builds * m->build_seconds;
    }
    return seconds;
}

static void test_every_plan_is_sound(void **state)
{
    (void)state;
    for (unsigned suite = 0; suite < SUITES; suite++) {
        for (unsigned pages = 0; pages < 1u << PAGE_SIZES; pages++) {
            struct plan *plan = new_plan(suite);
            plan->scope.page_sizes = pages;
            plan->scope.max_working_set = pages == 3 ? 300000 : 0;
            plan->machine.page_available[SIZE_1G] = pages != 4;
            list_plan(plan);
            expect_sound(plan);
            expect_groups(plan);
            free(plan);
        }
    }
}

static void test_smoke(void **state)
{
    struct plan *plan = new_plan(SUITE_SMOKE);
    (void)state;
    list_plan(plan);
    /* 4 KiB to 64 MiB are 15 powers of two, to 8 MiB 12. */
    for (unsigned kind = 0; kind < ORDERS; kind++) {
        const unsigned sizes = kind == ORDER_RANDOM ? 15 : 12;
        const unsigned few = kind == ORDER_RANDOM ? 3 : 0;
        assert_int_equal(count_views(plan, kind, SIZE_4K, PLACED_SCATTERED), sizes);
        assert_int_equal(count_views(plan, kind, SIZE_2M, PLACED_IN_ORDER), sizes);
        assert_int_equal(count_views(plan, kind, SIZE_4K, PLACED_IN_ORDER), few);
        assert_int_equal(count_views(plan, kind, SIZE_1G, PLACED_IN_ORDER), few);
    }
    assert_int_equal(largest_of(plan, ORDER_RANDOM), 64ull * MIB);
    assert_int_equal(largest_of(plan, ORDER_PAGE_LOCAL), 8ull * MIB);
    for (size_t i = 0; i < plan->list.count; i++) {
        const size_t bytes = plan->list.item[i].bytes;
        assert_int_equal(bytes & (bytes - 1), 0);
    }
    assert_true(plan_seconds(plan) < 15); /* of the 60 that all experiments share */
    free(plan);
}

/* The sizes that views other than the usual are measured at lie in each level and beyond. */
static void test_quick(void **state)
{
    unsigned in_level[4] = { 0 };
    struct plan *plan = new_plan(SUITE_QUICK);
    (void)state;
    list_plan(plan);
    assert_int_equal(largest_of(plan, ORDER_RANDOM), 256ull * MIB);
    /* Between 4 and 8 KiB there is no whole page, and 5.66 KiB rounds to one. */
    assert_int_equal(count_views(plan, ORDER_RANDOM, SIZE_2M, PLACED_IN_ORDER), 2 * 16);
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i];
        if (is_view(m, SIZE_1G, PLACED_IN_ORDER)) {
            in_level[(m->bytes > 32ull * KIB) + (m->bytes > MIB) + (m->bytes > 32ull * MIB)]++;
            assert_true(m->bytes <= 24ull * KIB || m->bytes > 32ull * KIB);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(in_level[i], 3);
    }
    assert_int_equal(count_views(plan, ORDER_RANDOM, SIZE_4K, PLACED_IN_ORDER), 12);
    assert_int_equal(count_views(plan, ORDER_PAGE_LOCAL, SIZE_4K, PLACED_IN_ORDER), 0);
    plan->machine.processor.cache[3].size = 300ull * MIB;
    list_plan(plan);
    assert_int_equal(largest_of(plan, ORDER_RANDOM), 600ull * MIB);
    assert_true(plan_seconds(plan) < 45); /* of 90 */
    free(plan);
}

static void test_full(void **state)
{
    struct plan *plan = new_plan(SUITE_FULL);
    (void)state;
    list_plan(plan);
    for (unsigned kind = 0; kind < ORDERS; kind++) {
        assert_int_equal(largest_of(plan, kind), GIB);
        const unsigned sizes = count_views(plan, kind, SIZE_4K, PLACED_SCATTERED);
        /* 4 an octave from 4 KiB to 1 GiB, less those that round to the page before. */
        assert_in_range(sizes, 4 * 18 - 6, 4 * 18 + 1);
        assert_int_equal(count_views(plan, kind, SIZE_4K, PLACED_IN_ORDER), sizes);
        assert_int_equal(count_views(plan, kind, SIZE_1G, PLACED_IN_ORDER), sizes);
    }
    plan->machine.processor.cache[3].size = 256ull * MIB;
    list_plan(plan);
    assert_int_equal(largest_of(plan, ORDER_RANDOM), 2ull * GIB);
    free(plan);
}

/* With no caches known, or nonsense from a hypervisor, there is still a plan. */
static void test_unknown_caches(void **state)
{
    (void)state;
    for (unsigned suite = 0; suite < SUITES; suite++) {
        struct plan *plan = new_plan(suite);
        plan->machine.processor.caches = 0;
        list_plan(plan);
        expect_sound(plan);
        plan->machine.processor.caches = 3; /* L1 of both kinds, L2 */
        plan->machine.processor.cache[0].size = 100;
        plan->machine.processor.cache[2].size = 64;
        list_plan(plan);
        expect_sound(plan);
        free(plan);
    }
}

static void test_settings(void **state)
{
    static const uint64_t largest[] = { 1, 64, 100, 4096, 5000, 8191, 3ull * MIB + 5, 5ull * GIB };
    struct plan *plan = new_plan(SUITE_SMOKE);
    (void)state;
    for (size_t i = 0; i < sizeof largest / sizeof *largest; i++) {
        const uint64_t unit = largest[i] > PAGE_4K ? PAGE_4K : LINE_BYTES;
        const uint64_t whole = largest[i] < unit ? unit : largest[i] / unit * unit;
        plan->scope.max_working_set = largest[i];
        list_plan(plan);
        expect_sound(plan);
        assert_int_equal(largest_of(plan, ORDER_RANDOM), whole);
        assert_int_equal(largest_of(plan, ORDER_PAGE_LOCAL), whole);
    }
    plan->scope.max_working_set = 0;
    plan->scope.page_sizes = 1u << SIZE_1G;
    list_plan(plan);
    assert_int_equal(count_views(plan, ORDER_RANDOM, SIZE_1G, PLACED_IN_ORDER), 15);
    assert_int_equal(plan->list.count, 15 + 12 + 12);
    free(plan);
}

static void test_skipped_with_reason(void **state)
{
    struct plan *plan = new_plan(SUITE_SMOKE);
    (void)state;
    plan->machine.page_available[SIZE_1G] = false;
    plan->machine.page_reason[SIZE_1G] = "no free aligned GiB";
    plan->machine.arena_bytes = 16ull * MIB;
    list_plan(plan);
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i];
        if (m->layout.leaf == SIZE_1G) {
            assert_string_equal(m->skip, "no free aligned GiB");
        } else if (m->bytes > 16ull * MIB) {
            assert_non_null(strstr(m->skip, "larger than the memory"));
        } else {
            assert_null(m->skip);
        }
        assert_true(m->skip == NULL || (m->seconds == 0 && m->build_seconds == 0));
    }
    plan->machine.page_reason[SIZE_1G] = NULL;
    list_plan(plan);
    expect_sound(plan);
    free(plan);
}

static void test_no_room(void **state)
{
    struct plan *plan = new_plan(SUITE_SMOKE);
    (void)state;
    list_plan(plan);
    const size_t all = plan->list.count;
    plan->list = (struct measurement_list){ .item = plan->item, .room = 10 };
    chase_kernel.list(&plan->scope, &chase_kernel, &plan->list);
    assert_int_equal(plan->list.count, 10);
    assert_int_equal(plan->list.lost, all - 10);
    free(plan);
}

/* --- Prediction ---------------------------------------------------------------------------- */

/* Points of a machine that is as the model thinks: L1 1 ns, L2 4 ns, L3 15 ns, memory 100 ns. */
static double true_ns(double set)
{
    const double cache[] = { 32ull * KIB, MIB, 32ull * MIB, INFINITY }, ns[] = { 1, 4, 15, 100 };
    double sum = 0, before = 0;
    for (size_t i = 0; i < 4; i++) {
        const double share = fmin(1, cache[i] / set);
        sum += (share - before) * ns[i];
        before = share;
    }
    return sum;
}

static size_t measure_smoke(struct plan *plan, struct point *point)
{
    size_t n = 0;
    list_plan(plan);
    for (size_t i = 0; i < plan->list.count && has_order(&plan->item[i], ORDER_RANDOM); i++) {
        point[n] = (struct point){ .variant = plan->item[i].variant };
        point[n].ns.median = true_ns((double)plan->item[i].bytes);
        n++;
    }
    return n;
}

/* Nothing is predicted before a level has its point, and then exactly what the model says. */
static void test_prediction(void **state)
{
    static struct point point[100];
    struct plan *plan = new_plan(SUITE_SMOKE);
    unsigned known = 0;
    (void)state;
    const size_t n = measure_smoke(plan, point);
    for (size_t i = 0; i < n; i++) {
        const double found = chase_kernel.predict(&plan->machine, &point[i].variant, point, i);
        if (!isnan(found)) {
            assert_true(fabs(found - point[i].ns.median) < 1e-9 * point[i].ns.median);
            known++;
        }
    }
    /* Of 15 sizes, the first of each level has no prediction, and neither have those up to 1.5
     * times the level before: 4K, 64K, 2M, 64M. */
    assert_int_equal(known, 2 * (15 - 4));
    free(plan);
}

static void test_prediction_needs_its_own_view(void **state)
{
    static struct point point[100];
    struct plan *plan = new_plan(SUITE_SMOKE);
    (void)state;
    const size_t n = measure_smoke(plan, point);
    struct variant variant = point[10].variant;
    assert_true(isfinite(chase_kernel.predict(&plan->machine, &variant, point, n)));
    variant_set_text(&variant, V_PREFETCHERS, "off");
    assert_true(isnan(chase_kernel.predict(&plan->machine, &variant, point, n)));
    variant = point[10].variant;
    variant_set_text(&variant, V_ORDER, "page-local");
    assert_true(isnan(chase_kernel.predict(&plan->machine, &variant, point, n)));
    assert_true(isnan(chase_kernel.predict(&plan->machine, &point[10].variant, point, 0)));
    free(plan);
}

/* In sequential order a line is gone before its turn, unless all fit: a level is all or nothing. */
static void test_prediction_of_sequential(void **state)
{
    struct plan *plan = new_plan(SUITE_SMOKE);
    struct variant variant = { .present = 0 };
    struct point point[2];
    (void)state;
    variant_set_text(&variant, V_ORDER, "sequential");
    for (unsigned i = 0; i < 2; i++) {
        variant_set_number(&variant, V_WORKING_SET, i == 0 ? 16ull * KIB : 256ull * KIB);
        point[i] = (struct point){ .variant = variant, .ns = { .median = i == 0 ? 1 : 2 } };
    }
    variant_set_number(&variant, V_WORKING_SET, 40ull * KIB);
    assert_true(chase_kernel.predict(&plan->machine, &variant, point, 2) == 2);
    variant_set_number(&variant, V_WORKING_SET, 32ull * KIB);
    assert_true(chase_kernel.predict(&plan->machine, &variant, point, 2) == 1);
    free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built_data_is_proved),
        cmocka_unit_test(test_loop_goes_on),
        cmocka_unit_test(test_proof_wants_this_order),
        cmocka_unit_test(test_proof_sees_all_slices),
        cmocka_unit_test(test_small_sets_are_walked),
        cmocka_unit_test(test_other_loops),
        cmocka_unit_test(test_every_plan_is_sound),
        cmocka_unit_test(test_smoke),
        cmocka_unit_test(test_quick),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_unknown_caches),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_skipped_with_reason),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_prediction),
        cmocka_unit_test(test_prediction_needs_its_own_view),
        cmocka_unit_test(test_prediction_of_sequential),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
