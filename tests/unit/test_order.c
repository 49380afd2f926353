/* Orders: one cycle through all lines, uniform, and wrong ones found out. */
#include "kernels/chain.h"
#include "kernels/order.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Sizes of every kind: the smallest, primes, beside whole pages, powers of two and beside them. */
static const uint64_t size[] = {
    1,     2,     3,     4,     5,      7,      8,      13,     31,      32,      33,
    63,    64,    65,    127,   128,    129,    191,    192,    193,     251,     256,
    509,   1000,  1021,  1024,  4095,   4096,   4097,   4160,   6079,    8191,    10007,
    65535, 65536, 65537, 98304, 100003, 131072, 262139, 786432, 1048575, 1048576,
};

enum { SIZES = sizeof size / sizeof *size };

static struct node *make_nodes(const struct order *order)
{
    struct node *node = aligned_alloc(LINE_BYTES, order->lines * sizeof *node);
    assert_non_null(node);
    chain_build(order, node, 0, order->lines);
    return node;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    return b == 0 ? a : greatest_common_divisor(b, a % b);
}

/* A line's position leads back to it, and no two share one: seen without the proof. */
static void expect_permutation(const struct order *order)
{
    bool *seen = calloc(order->lines, sizeof *seen);
    assert_non_null(seen);
    for (uint64_t line = 0; line < order->lines; line++) {
        const uint64_t position = order_position(order, line);
        assert_true(position < order->lines);
        assert_false(seen[position]);
        seen[position] = true;
        assert_int_equal(order_at(order, position), line);
    }
    free(seen);
}

static void test_permutation(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < ORDERS; kind++) {
        for (size_t i = 0; i < SIZES && size[i] <= 10007; i++) {
            struct order order;
            order_init(&order, kind, size[i], 1, i);
            expect_permutation(&order);
        }
    }
}

/* Follows the pointers and marks every line. */
static void expect_one_cycle(const struct order *order, const struct node *node)
{
    bool *seen = calloc(order->lines, sizeof *seen);
    assert_non_null(seen);
    const struct node *const start = node + order_at(order, 0);
    const struct node *cursor = start;
    for (uint64_t hop = 0; hop < order->lines; hop++) {
        assert_true(cursor >= node && cursor < node + order->lines);
        assert_false(seen[cursor - node]);
        seen[cursor - node] = true;
        cursor = cursor->next;
    }
    assert_ptr_equal(cursor, start);
    free(seen);
}

static void test_one_cycle(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < ORDERS; kind++) {
        for (size_t i = 0; i < SIZES; i++) {
            const char *reason = NULL;
            struct order order;
            order_init(&order, kind, size[i], 1, 7 * i);
            struct node *node = make_nodes(&order);
            expect_one_cycle(&order, node);
            assert_true(chain_prove(&order, node, 0, size[i], &reason));
            assert_true(chain_walk(&order, node, 0, 0, size[i], &reason));
            assert_null(reason);
            free(node);
        }
    }
}

/* Built, proved and walked in slices that fit nothing, it is the same as at once. */
static void test_slices(void **state)
{
    enum { LINES = 12345, SLICE = 777 };
    (void)state;
    for (unsigned kind = 0; kind < ORDERS; kind++) {
        const char *reason = NULL;
        struct order order;
        order_init(&order, kind, LINES, 1, 3);
        struct node *whole = make_nodes(&order);
        struct node *sliced = aligned_alloc(LINE_BYTES, LINES * sizeof *sliced);
        assert_non_null(sliced);
        for (uint64_t from = 0; from < LINES; from += SLICE) {
            chain_build(&order, sliced, from, LINES - from < SLICE ? LINES - from : SLICE);
        }
        for (uint64_t from = 0; from < LINES; from += SLICE) {
            const uint64_t count = LINES - from < SLICE ? LINES - from : SLICE;
            assert_true(chain_prove(&order, sliced, from, count, &reason));
            assert_true(chain_walk(&order, sliced, 0, from, count, &reason));
        }
        for (size_t i = 0; i < LINES; i++) {
            assert_int_equal(sliced[i].next - sliced, whole[i].next - whole);
        }
        free(whole);
        free(sliced);
    }
}

/* Steps of N give as many cycles as N and the lines have in common, each of equal length. */
static void test_steps(void **state)
{
    static const uint64_t lines[] = { 7, 64, 640, 1000, 4096 };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        for (uint64_t step = 1; step <= lines[i] && step <= 64; step++) {
            const char *reason = NULL;
            struct order order;
            order_init(&order, ORDER_RANDOM, lines[i], step, step);
            struct node *node = make_nodes(&order);
            assert_true(chain_prove(&order, node, 0, lines[i], &reason));
            const uint64_t length = lines[i] / greatest_common_divisor(lines[i], step);
            assert_int_equal(order_cycle(&order), length);
            const struct node *start = node + order_at(&order, 0);
            const struct node *cursor = start->next;
            uint64_t hops = 1;
            for (; cursor != start; cursor = cursor->next) {
                assert_ptr_equal(cursor, node + order_at(&order, order_later(&order, hops)));
                hops++;
            }
            assert_int_equal(hops, length);
            free(node);
        }
    }
}

/* --- Uniformity ---------------------------------------------------------------------------- */

/* Hops that stay within their page, over what chance would give. */
static double in_page_share(const struct order *order)
{
    const double lines = (double)order->lines;
    const double whole = floor(lines / ORDER_PAGE), rest = lines - whole * ORDER_PAGE;
    const double pairs = whole * ORDER_PAGE * (ORDER_PAGE - 1) + rest * (rest - 1);
    double hops = 0;
    for (uint64_t position = 0; position < order->lines; position++) {
        const uint64_t from = order_at(order, position);
        const uint64_t to = order_at(order, (position + 1) % order->lines);
        hops += from / ORDER_PAGE == to / ORDER_PAGE;
    }
    return hops / (pairs / (lines - 1));
}

static void test_random_seldom_stays_in_a_page(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES; i++) {
        if (size[i] < 4096 || size[i] > 262144) {
            continue;
        }
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct order order;
            order_init(&order, ORDER_RANDOM, size[i], 1, seed);
            const double share = in_page_share(&order);
            assert_true(share < 2);
            assert_true(share > 0.4);
        }
    }
}

/* Chi-square of counts that should be equal, over the degrees of freedom: about 1. */
static double unevenness(const unsigned *count, size_t n, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (count[i] - expected) * (count[i] - expected) / expected;
    }
    return sum / (double)(n - 1);
}

/* Every distance of a hop is as likely as any other, whatever the key. */
static void test_random_has_all_distances(void **state)
{
    enum { BINS = 64, SEEDS = 40 };
    static const uint64_t lines[] = { 4096, 6079, 8192, 65536 };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        double sum = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            unsigned bin[BINS] = { 0 };
            struct order order;
            order_init(&order, ORDER_RANDOM, lines[i], 1, seed);
            for (uint64_t at = 0; at < lines[i]; at++) {
                const uint64_t from = order_at(&order, at);
                const uint64_t to = order_at(&order, (at + 1) % lines[i]);
                bin[(to + lines[i] - from) % lines[i] * BINS / lines[i]]++;
            }
            const double found = unevenness(bin, BINS, (double)lines[i] / BINS);
            assert_true(found < 3);
            sum += found;
        }
        assert_true(sum / SEEDS < 1.1);
    }
}

/* Over many keys, each line follows each other one equally often, even in the smallest sets. */
static void test_random_has_all_successors(void **state)
{
    enum { MOST = 64, SEEDS = 20000 };
    static const uint64_t lines[] = { 3, 4, 5, 7, 8, 13, 16, 33, 64 };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const uint64_t n = lines[i];
        static unsigned follows[MOST][MOST];
        memset(follows, 0, sizeof follows);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct order order;
            order_init(&order, ORDER_RANDOM, n, 1, seed);
            uint64_t from = order_at(&order, n - 1);
            for (uint64_t at = 0; at < n; at++) {
                const uint64_t to = order_at(&order, at);
                follows[from][to]++;
                from = to;
            }
        }
        const double expected = (double)SEEDS / (double)(n - 1);
        for (uint64_t a = 0; a < n; a++) {
            for (uint64_t b = 0; b < n; b++) {
                assert_true(a == b ? follows[a][b] == 0
                                   : fabs(follows[a][b] - expected) <
                                         0.15 * expected + 6 * sqrt(expected));
            }
        }
    }
}

static void test_seeds_differ(void **state)
{
    enum { LINES = 4096, SEEDS = 50 };
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct order a, same, b;
        unsigned agree = 0;
        order_init(&a, ORDER_RANDOM, LINES, 1, seed);
        order_init(&same, ORDER_RANDOM, LINES, 1, seed);
        order_init(&b, ORDER_RANDOM, LINES, 1, seed + 1);
        for (uint64_t at = 0; at < LINES; at++) {
            assert_int_equal(order_at(&a, at), order_at(&same, at));
            agree += order_at(&a, at) == order_at(&b, at);
        }
        assert_true(agree < 12); /* one by chance */
    }
}

/* --- The other orders ---------------------------------------------------------------------- */

static void test_sequential(void **state)
{
    struct order order;
    (void)state;
    order_init(&order, ORDER_SEQUENTIAL, 1000, 1, 5);
    for (uint64_t at = 0; at < 1000; at++) {
        assert_int_equal(order_at(&order, at), at);
    }
}

/* All lines of a page, then all of another, whatever the last page has. */
static void expect_page_by_page(const struct order *order)
{
    const uint64_t pages = (order->lines + ORDER_PAGE - 1) / ORDER_PAGE;
    bool *left = calloc(pages, sizeof *left);
    assert_non_null(left);
    uint64_t page = order_at(order, 0) / ORDER_PAGE, changes = 0;
    for (uint64_t at = 0; at < order->lines; at++) {
        const uint64_t here = order_at(order, at) / ORDER_PAGE;
        if (here != page) {
            left[page] = true;
            page = here;
            changes++;
        }
        assert_false(left[here]);
    }
    assert_int_equal(changes, pages - 1);
    free(left);
}

static void test_page_local(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES && size[i] <= 100003; i++) {
        struct order order;
        order_init(&order, ORDER_PAGE_LOCAL, size[i], 1, 11 * i);
        expect_page_by_page(&order);
    }
}

/* Pages come at random, and each has an order of its own. */
static void test_page_local_is_random(void **state)
{
    enum { PAGES = 1024, LINES = PAGES * ORDER_PAGE };
    unsigned page_distance[32] = { 0 }, line_distance[ORDER_PAGE] = { 0 },
             first[ORDER_PAGE] = { 0 };
    struct order order;
    (void)state;
    order_init(&order, ORDER_PAGE_LOCAL, LINES, 1, 21);
    for (uint64_t at = 0; at < LINES; at++) {
        const uint64_t from = order_at(&order, at), to = order_at(&order, (at + 1) % LINES);
        const uint64_t page = from / ORDER_PAGE, next = to / ORDER_PAGE;
        if (page != next) {
            page_distance[(next + PAGES - page) % PAGES / (PAGES / 32)]++;
            first[to % ORDER_PAGE]++;
        } else {
            line_distance[(to + ORDER_PAGE - from) % ORDER_PAGE]++;
        }
    }
    assert_true(unevenness(page_distance, 32, PAGES / 32.0) < 2);
    assert_true(unevenness(first, ORDER_PAGE, PAGES / (double)ORDER_PAGE) < 2);
    assert_true(unevenness(line_distance + 1, ORDER_PAGE - 1, PAGES) < 2);
}

static void test_names(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < ORDERS; kind++) {
        assert_int_equal(order_named(order_name[kind]), kind);
    }
    assert_int_equal(order_named("ascending"), ORDERS);
}

/* --- The proof ----------------------------------------------------------------------------- */

enum { PROVED_LINES = 5000 };

struct broken {
    struct order order;
    struct node *node;
};

static struct broken make_sound(void)
{
    struct broken broken;
    order_init(&broken.order, ORDER_RANDOM, PROVED_LINES, 1, 17);
    broken.node = make_nodes(&broken.order);
    return broken;
}

static void expect_refused(struct broken *broken, const char *because)
{
    const char *reason = NULL;
    assert_false(chain_prove(&broken->order, broken->node, 0, PROVED_LINES, &reason));
    assert_non_null(reason);
    assert_non_null(strstr(reason, because));
    free(broken->node);
}

/* Two nodes that lead to each other's next make two cycles of one. */
static void test_proof_sees_swapped_nodes(void **state)
{
    struct broken broken = make_sound();
    struct node *const other = broken.node[123].next;
    (void)state;
    broken.node[123].next = broken.node[4567].next;
    broken.node[4567].next = other;
    const char *reason = NULL;
    assert_false(chain_walk(&broken.order, broken.node, 0, 0, PROVED_LINES, &reason));
    expect_refused(&broken, "next line");
}

/* Just past the right node, before the set, behind it, and far away. */
static void test_proof_sees_a_wrong_pointer(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct broken broken = make_sound();
        struct node *const last = broken.node + PROVED_LINES - 1;
        const uintptr_t set = (uintptr_t)broken.node;
        const uintptr_t wrong[] = { (uintptr_t)last->next + 8, set - LINE_BYTES,
                                    set + PROVED_LINES * sizeof *last, UINTPTR_MAX };
        last->next = (struct node *)wrong[i];
        expect_refused(&broken, "next line");
    }
}

/* Data that another seed or step wrote is no cycle of this order. */
static void test_proof_sees_another_order(void **state)
{
    struct broken broken = make_sound();
    (void)state;
    order_init(&broken.order, ORDER_RANDOM, PROVED_LINES, 1, 18);
    expect_refused(&broken, "next line");
    broken = make_sound();
    broken.order.step = 3;
    expect_refused(&broken, "next line");
}

static void test_proof_sees_a_wrong_inverse(void **state)
{
    struct broken broken = make_sound();
    (void)state;
    broken.order.mixer.inverse[2] ^= 16;
    expect_refused(&broken, "undone");
}

/* Within one round: the constants of a rule that is not invertible. */
static void test_proof_sees_no_permutation(void **state)
{
    struct broken broken = make_sound();
    (void)state;
    broken.order.mixer.multiplier[1] &= ~1ull;
    chain_build(&broken.order, broken.node, 0, PROVED_LINES);
    expect_refused(&broken, "undone");
}

static void test_walk_sees_a_short_cycle(void **state)
{
    struct broken broken = make_sound();
    const char *reason = NULL;
    (void)state;
    const uint64_t last = order_at(&broken.order, 99);
    broken.node[last].next = broken.node + order_at(&broken.order, 0);
    assert_false(chain_walk(&broken.order, broken.node, 0, 0, PROVED_LINES, &reason));
    assert_non_null(strstr(reason, "came back"));
    assert_false(chain_walk(&broken.order, broken.node, 0, 50, 100, &reason));
    free(broken.node);
}

/* Nothing in a node but its first word can be taken for an address. */
static void test_filler_is_no_address(void **state)
{
    struct broken broken = make_sound();
    (void)state;
    for (size_t i = 0; i < PROVED_LINES; i++) {
        for (size_t j = 0; j < sizeof broken.node->filler / sizeof *broken.node->filler; j++) {
            assert_int_equal(broken.node[i].filler[j] >> 62, 2);
        }
        assert_true(i == 0 || broken.node[i].filler[0] != broken.node[i - 1].filler[0]);
    }
    free(broken.node);
}

/* The largest sets are beyond a test's memory, but not beyond its arithmetic. */
static void test_largest(void **state)
{
    static const uint64_t lines[] = { ORDER_MOST_LINES, ORDER_MOST_LINES - 1, (1ull << 39) + 1 };
    (void)state;
    for (unsigned kind = 0; kind < ORDERS; kind++) {
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            struct order order;
            order_init(&order, kind, lines[i], 1, 1);
            for (uint64_t at = 0; at < 1000; at++) {
                const uint64_t position = at * 0x9e3779b97f4a7c15ull % lines[i];
                assert_true(order_at(&order, position) < lines[i]);
                assert_int_equal(order_position(&order, order_at(&order, position)), position);
            }
            assert_int_equal(order_later(&order, UINT64_MAX), UINT64_MAX % lines[i]);
        }
    }
    struct order order;
    order_init(&order, ORDER_RANDOM, ORDER_MOST_LINES - 1, ORDER_MOST_STEP, 1);
    const unsigned __int128 far = (unsigned __int128)UINT64_MAX * ORDER_MOST_STEP;
    assert_int_equal(order_later(&order, UINT64_MAX), (uint64_t)(far % order.lines));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_one_cycle),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_random_seldom_stays_in_a_page),
        cmocka_unit_test(test_random_has_all_distances),
        cmocka_unit_test(test_random_has_all_successors),
        cmocka_unit_test(test_seeds_differ),
        cmocka_unit_test(test_sequential),
        cmocka_unit_test(test_page_local),
        cmocka_unit_test(test_page_local_is_random),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_proof_sees_swapped_nodes),
        cmocka_unit_test(test_proof_sees_a_wrong_pointer),
        cmocka_unit_test(test_proof_sees_another_order),
        cmocka_unit_test(test_proof_sees_a_wrong_inverse),
        cmocka_unit_test(test_proof_sees_no_permutation),
        cmocka_unit_test(test_walk_sees_a_short_cycle),
        cmocka_unit_test(test_filler_is_no_address),
        cmocka_unit_test(test_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
