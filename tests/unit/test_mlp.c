/* The experiment `mlp` but for its numbers: the data, the loops, the plan and the prediction. */
#include "kernels/chain.h"
#include "kernels/mlp.h"
#include "kernels/mlp_loops.h"
#include "kernels/walk.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const unsigned all_chains[] = { 1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64 };

enum { CHAINS = sizeof all_chains / sizeof *all_chains, REGISTER_CHAINS = 8 };

/* --- The kernel's functions on real memory ------------------------------------------------- */

struct chase {
    struct variant variant;
    struct job job;
};

static void begin_chase(struct chase *chase, unsigned chains, size_t bytes)
{
    *chase = (struct chase){ .job = { .seed = chains, .bytes = bytes } };
    variant_set_number(&chase->variant, V_WORKING_SET, bytes);
    variant_set_number(&chase->variant, V_CHAINS, chains);
    chase->job.variant = &chase->variant;
    chase->job.data = aligned_alloc(PAGE_4K, (bytes + PAGE_4K - 1) / PAGE_4K * PAGE_4K);
    assert_non_null(chase->job.data);
    memset(chase->job.data, 0xaa, bytes);
    mlp_kernel.code->begin(&chase->job);
}

static void build_all(struct chase *chase)
{
    size_t step = 0;
    do {
        step = mlp_kernel.code->build(&chase->job, step);
    } while (step != 0);
}

static const char *prove_all(const struct chase *chase)
{
    const char *reason = NULL;
    size_t step = 0;
    do {
        step = mlp_kernel.code->prove(&chase->job, step, &reason);
    } while (step != 0);
    return reason;
}

/* One slice, several, and more than is walked; no multiples of the chains. */
static const size_t sets[] = { 64ull * 64, 1001ull * 64, 9ull * MIB, 17ull * MIB + 64 };

enum { SETS = sizeof sets / sizeof *sets };

static void test_built_data_is_proved(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHAINS; i++) {
        for (size_t j = 0; j < SETS; j++) {
            struct chase chase;
            begin_chase(&chase, all_chains[i], sets[j]);
            build_all(&chase);
            assert_null(prove_all(&chase));
            assert_int_equal(mlp_kernel.code->cycle_length(&chase.job),
                             sets[j] / LINE_BYTES / all_chains[i]);
            free(chase.job.data);
        }
    }
}

/* From the cursors that the kernel starts with, each chain goes through lines of its own, and
 * together they have been at all lines but the few that are left out, each once. */
static void test_chains_share_the_set(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHAINS; i++) {
        const size_t lines = 1001, chains = all_chains[i];
        struct chase chase;
        begin_chase(&chase, all_chains[i], lines * LINE_BYTES);
        build_all(&chase);
        const struct node *node = chase.job.data;
        void **cursor = mlp_kernel.code->start(&chase.job);
        bool seen[1001] = { false };
        for (size_t chain = 0; chain < chains; chain++) {
            const struct node *at = cursor[chain];
            for (size_t hop = 0; hop < lines / chains; hop++) {
                assert_in_range(at - node, 0, lines / chains * chains - 1);
                assert_false(seen[at - node]);
                seen[at - node] = true;
                at = at->next;
            }
            assert_ptr_equal(at, cursor[chain]);
        }
        free(chase.job.data);
    }
}

/* A pointer that leads into another chain, and one that closes its chain too early: each is seen
 * wherever it is. */
static void test_proof_sees_a_wrong_pointer(void **state)
{
    static const size_t wrong[] = { 0, 65535, 65536, 200000, 278527 };
    struct chase chase;
    (void)state;
    begin_chase(&chase, 4, 17ull * MIB);
    build_all(&chase);
    struct node *node = chase.job.data;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct node *const right = node[wrong[i]].next;
        node[wrong[i]].next = node + (wrong[i] + 1) % 278528;
        assert_non_null(prove_all(&chase));
        node[wrong[i]].next = node + wrong[i];
        assert_non_null(prove_all(&chase));
        node[wrong[i]].next = right;
    }
    assert_null(prove_all(&chase));
    free(chase.job.data);
}

/* Data of another number of chains, or another seed, is none of this. */
static void test_proof_wants_this_order(void **state)
{
    struct chase chase;
    (void)state;
    begin_chase(&chase, 4, MIB);
    build_all(&chase);
    variant_set_number(&chase.variant, V_CHAINS, 8);
    mlp_kernel.code->begin(&chase.job);
    assert_non_null(prove_all(&chase));
    variant_set_number(&chase.variant, V_CHAINS, 4);
    chase.job.seed++;
    mlp_kernel.code->begin(&chase.job);
    assert_non_null(prove_all(&chase));
    free(chase.job.data);
}

/* Where each cursor must be, found by walking alone. */
static void walk_by_hand(const struct node **expected, size_t chains, uint64_t from, uint64_t hops)
{
    for (uint64_t hop = from; hop < from + hops; hop++) {
        expected[hop % chains] = expected[hop % chains]->next;
    }
}

/* The loop goes on where it stopped, for any number of hops: whole rounds or not. */
static void test_loop_goes_on(void **state)
{
    static const uint64_t hops[] = { 0, 1, 2, 3, 11, 48, 49, 63, 64, 65, 127, 960, 1000, 65537 };
    (void)state;
    for (size_t i = 0; i < CHAINS; i++) {
        const struct kernel_code *code = mlp_kernel.code;
        struct chase chase;
        const struct node *expected[MLP_MOST_CHAINS];
        begin_chase(&chase, all_chains[i], 777ull * LINE_BYTES);
        build_all(&chase);
        void **cursor = code->start(&chase.job);
        memcpy(expected, cursor, all_chains[i] * sizeof(void *));
        uint64_t operations = 0;
        for (size_t j = 0; j < sizeof hops / sizeof *hops; j++) {
            const char *reason = NULL;
            walk_by_hand(expected, all_chains[i], operations, hops[j]);
            assert_ptr_equal(code->loop(cursor, hops[j]), cursor);
            operations += hops[j];
            assert_memory_equal(cursor, expected, all_chains[i] * sizeof(void *));
            assert_true(code->check(&chase.job, cursor, operations, &reason));
            assert_null(reason);
            assert_false(code->check(&chase.job, cursor, operations + 1, &reason));
            assert_non_null(reason);
        }
        free(chase.job.data);
    }
}

/* One chain of many that lags or stands in another's place is seen. */
static void test_check_looks_at_every_chain(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHAINS; i++) {
        const struct kernel_code *code = mlp_kernel.code;
        struct chase chase;
        begin_chase(&chase, all_chains[i], 777ull * LINE_BYTES);
        build_all(&chase);
        void **cursor = code->loop(code->start(&chase.job), 5000);
        for (size_t chain = 0; chain < all_chains[i]; chain++) {
            const char *reason = NULL;
            const struct node *const right = cursor[chain];
            cursor[chain] = right->next;
            assert_false(code->check(&chase.job, cursor, 5000, &reason));
            assert_non_null(reason);
            cursor[chain] = (void *)right;
            assert_true(code->check(&chase.job, cursor, 5000, &reason));
        }
        free(chase.job.data);
    }
}

/* The warm-up's laps bring all of the set, not a chain's length of it. */
static void test_lap_is_of_all_chains(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHAINS; i++) {
        struct chase chase;
        begin_chase(&chase, all_chains[i], 1001ull * LINE_BYTES);
        const struct walk walk = { .code = mlp_kernel.code, .job = chase.job };
        assert_int_equal(walk_lap(&walk), 1001 / all_chains[i] * all_chains[i]);
        free(chase.job.data);
    }
}

/* A loop by itself: so many hops of each of its chains and of no other, the caller's registers
 * kept (the compiler has values in them here). */
static void test_loops_alone(void **state)
{
    static const struct {
        unsigned chains;
        mlp_loop *hops;
    } loops[] = {
        { 1, mlp_hops_1 },   { 2, mlp_hops_2 },   { 3, mlp_hops_3 },   { 4, mlp_hops_4 },
        { 6, mlp_hops_6 },   { 8, mlp_hops_8 },   { 10, mlp_hops_10 }, { 12, mlp_hops_12 },
        { 16, mlp_hops_16 }, { 24, mlp_hops_24 }, { 32, mlp_hops_32 }, { 48, mlp_hops_48 },
        { 64, mlp_hops_64 },
    };
    enum { RING = 1009 };
    static void *ring[RING];
    void *cursor[MLP_MOST_CHAINS + 1];
    (void)state;
    for (size_t i = 0; i < RING; i++) {
        ring[i] = &ring[(i + 1) % RING];
    }
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        for (uint64_t rounds = 0; rounds < 200; rounds++) {
            for (size_t chain = 0; chain <= MLP_MOST_CHAINS; chain++) {
                cursor[chain] = &ring[chain * 7];
            }
            loops[i].hops(cursor, rounds);
            for (size_t chain = 0; chain <= MLP_MOST_CHAINS; chain++) {
                const uint64_t hops = chain < loops[i].chains ? rounds : 0;
                assert_ptr_equal(cursor[chain], &ring[(chain * 7 + hops) % RING]);
            }
        }
    }
}

/* --- The plan ------------------------------------------------------------------------------ */

enum { ROOM = 1000 };

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

static struct plan *new_plan(enum suite suite)
{
    static const unsigned per_octave[SUITES] = { 2, 4, 1 }, repetitions[SUITES] = { 11, 31, 3 };
    static const unsigned visits[SUITES] = { 3, 5, 1 };
    struct plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
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
    return plan;
}

static void list_plan(struct plan *plan)
{
    plan->list.count = plan->list.lost = 0;
    mlp_kernel.list(&plan->scope, &mlp_kernel, &plan->list);
    assert_int_equal(plan->list.lost, 0);
    assert_true(plan->list.count > 0);
}

static uint64_t chains_of(const struct measurement *m)
{
    return m->variant.value[V_CHAINS].number;
}

static bool same_data(const struct measurement *a, const struct measurement *b)
{
    return a->bytes == b->bytes && a->layout.placing == b->layout.placing &&
           chains_of(a) == chains_of(b);
}

/* What every plan keeps. */
static void expect_sound(const struct plan *plan)
{
    static const uint64_t leaf_bytes[PAGE_SIZES] = { PAGE_4K, PAGE_2M, PAGE_1G };
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i], *before = m - 1;
        const struct variant *v = &m->variant;
        assert_ptr_equal(m->kernel, &mlp_kernel);
        assert_int_equal(v->value[V_WORKING_SET].number, m->bytes);
        assert_int_equal(m->layout.bytes, m->bytes);
        assert_int_equal(v->value[V_PAGE_SIZE].number, leaf_bytes[m->layout.leaf]);
        assert_string_equal(v->value[V_ORDER].text, "random");
        assert_string_equal(v->value[V_PLACEMENT].text, placement_name[m->layout.placing]);
        assert_string_equal(v->value[V_PREFETCHERS].text, "found");
        assert_true(m->skip != NULL ? m->seconds == 0 : m->seconds > 0);
        assert_true(m->skip != NULL || m->bytes / LINE_BYTES >= chains_of(m));
        for (size_t j = 0; j < i; j++) {
            assert_false(variant_equal(v, &plan->list.item[j].variant));
        }
        assert_true(i == 0 ||
                    (same_data(m, before) ? m->data == before->data : m->data > before->data));
        const bool built = i > 0 && same_data(m, before) && before->skip == NULL;
        assert_true(m->skip != NULL || (built ? m->build_seconds == 0 : m->build_seconds > 0));
    }
}

static unsigned count_rows(const struct plan *plan, enum page_size leaf, uint64_t bytes)
{
    unsigned count = 0;
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i];
        count += m->layout.leaf == leaf && m->bytes == bytes;
    }
    return count;
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
    static const uint64_t largest[] = { 0, 1, 64, 1000, 4096, 16384, 1000000, 5ull * GIB };
    (void)state;
    for (unsigned suite = 0; suite < SUITES; suite++) {
        for (unsigned pages = 0; pages < 1u << PAGE_SIZES; pages++) {
            struct plan *plan = new_plan(suite);
            plan->scope.page_sizes = pages;
            for (size_t i = 0; i < sizeof largest / sizeof *largest; i++) {
                plan->scope.max_working_set = largest[i];
                list_plan(plan);
                expect_sound(plan);
            }
            plan->machine.processor.caches = 0;
            list_plan(plan);
            expect_sound(plan);
            free(plan);
        }
    }
}

/* One set a level, and more chains than there are registers where a load takes long. */
static void test_smoke(void **state)
{
    struct plan *plan = new_plan(SUITE_SMOKE);
    (void)state;
    list_plan(plan);
    for (unsigned leaf = SIZE_4K; leaf <= SIZE_2M; leaf++) {
        assert_int_equal(count_rows(plan, leaf, 512ull * KIB), 4);
        assert_int_equal(count_rows(plan, leaf, 8ull * MIB), 5);
    }
    assert_int_equal(plan->list.count, 2 * (4 + 5));
    assert_true(plan_seconds(plan) < 4); /* of the 60 that all experiments share */
    free(plan);
}

static void test_quick(void **state)
{
    struct plan *plan = new_plan(SUITE_QUICK);
    (void)state;
    list_plan(plan);
    assert_int_equal(count_rows(plan, SIZE_2M, 741376), REGISTER_CHAINS); /* 2^19.5, whole pages */
    assert_int_equal(count_rows(plan, SIZE_4K, 741376), 4);
    assert_int_equal(count_rows(plan, SIZE_2M, 256ull * MIB), CHAINS);
    assert_int_equal(count_rows(plan, SIZE_4K, 256ull * MIB), 5);
    assert_int_equal(plan->list.count, 8 + 4 + 2 * (13 + 5));
    assert_true(plan_seconds(plan) < 13); /* of 90 */
    free(plan);
}

static void test_full(void **state)
{
    struct plan *plan = new_plan(SUITE_FULL);
    (void)state;
    list_plan(plan);
    for (unsigned leaf = 0; leaf < PAGE_SIZES; leaf++) {
        assert_int_equal(count_rows(plan, leaf, GIB), CHAINS);
    }
    assert_int_equal(plan->list.count, PAGE_SIZES * (8 + 13 + 13));
    free(plan);
}

static void test_settings(void **state)
{
    struct plan *plan = new_plan(SUITE_SMOKE);
    (void)state;
    plan->scope.page_sizes = 1u << SIZE_1G;
    plan->scope.max_working_set = 128ull * MIB;
    list_plan(plan);
    assert_int_equal(count_rows(plan, SIZE_1G, 128ull * MIB), 5);
    assert_int_equal(plan->list.count, 4 + 5 + 5);
    /* The first cache only where there is nothing beyond. */
    plan->scope.max_working_set = 16ull * KIB;
    list_plan(plan);
    assert_int_equal(count_rows(plan, SIZE_1G, 16ull * KIB), 4);
    assert_int_equal(plan->list.count, 4);
    free(plan);
}

static void test_skipped_with_reason(void **state)
{
    struct plan *plan = new_plan(SUITE_FULL);
    (void)state;
    plan->machine.page_available[SIZE_1G] = false;
    plan->machine.page_reason[SIZE_1G] = "no free aligned GiB";
    plan->machine.arena_bytes = 512ull * MIB;
    list_plan(plan);
    expect_sound(plan);
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i];
        if (m->layout.leaf == SIZE_1G) {
            assert_string_equal(m->skip, "no free aligned GiB");
        } else if (m->bytes > 512ull * MIB) {
            assert_non_null(strstr(m->skip, "larger than the memory"));
        } else {
            assert_null(m->skip);
        }
    }
    plan->scope.max_working_set = 4ull * LINE_BYTES;
    list_plan(plan);
    for (size_t i = 0; i < plan->list.count; i++) {
        const struct measurement *m = &plan->list.item[i];
        assert_true(chains_of(m) > 4 ? m->skip != NULL : m->layout.leaf == SIZE_1G || !m->skip);
    }
    free(plan);
}

/* --- Prediction ---------------------------------------------------------------------------- */

static struct point point_of(uint64_t bytes, uint64_t chains, double ns)
{
    struct point point = { .flags = 0 };
    variant_set_number(&point.variant, V_WORKING_SET, bytes);
    variant_set_number(&point.variant, V_CHAINS, chains);
    point.ns.median = ns;
    return point;
}

static double predicted(uint64_t bytes, uint64_t chains, const struct point *measured, size_t n)
{
    static const struct machine machine;
    const struct point point = point_of(bytes, chains, NAN);
    return mlp_kernel.predict(&machine, &point.variant, measured, n);
}

static void test_prediction(void **state)
{
    const struct point measured[] = {
        point_of(GIB, 1, 96), point_of(MIB, 1, 12), point_of(GIB, 2, 49),
        point_of(GIB, 4, 25), point_of(GIB, 8, 16), point_of(GIB, 16, 15),
    };
    (void)state;
    assert_true(isnan(predicted(GIB, 4, measured, 0)));
    assert_true(isnan(predicted(MIB, 4, measured, 1)));
    assert_true(predicted(GIB, 4, measured, 1) == 24);
    assert_true(predicted(GIB, 12, measured, 4) == 8); /* no limit is seen yet */
    assert_true(predicted(GIB, 12, measured, 5) == 16);
    assert_true(predicted(GIB, 24, measured, 6) == 15);
    assert_true(predicted(GIB, 2, measured, 6) == 48);
    assert_true(predicted(MIB, 24, measured, 6) == 0.5); /* another set has other limits */
    /* A slow row among others is no limit that those with more chains pass; and where more chains
     * are no better, the fastest is. */
    const struct point uneven[] = { point_of(GIB, 1, 96), point_of(GIB, 2, 60),
                                    point_of(GIB, 4, 24), point_of(GIB, 8, 25) };
    assert_true(predicted(GIB, 8, uneven, 3) == 12);
    assert_true(predicted(GIB, 16, uneven, 4) == 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built_data_is_proved),
        cmocka_unit_test(test_chains_share_the_set),
        cmocka_unit_test(test_proof_sees_a_wrong_pointer),
        cmocka_unit_test(test_proof_wants_this_order),
        cmocka_unit_test(test_loop_goes_on),
        cmocka_unit_test(test_check_looks_at_every_chain),
        cmocka_unit_test(test_lap_is_of_all_chains),
        cmocka_unit_test(test_loops_alone),
        cmocka_unit_test(test_every_plan_is_sound),
        cmocka_unit_test(test_smoke),
        cmocka_unit_test(test_quick),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_skipped_with_reason),
        cmocka_unit_test(test_prediction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
