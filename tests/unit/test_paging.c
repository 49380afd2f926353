/* The builder of page tables against a walker of its own, which knows the manual's formats and
 * nothing of the builder. */
#include "hw/paging.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

enum { POOL_BYTES = 8 * MIB };

#define PAGES(n) ((uint64_t)(n)*PAGE_4K)

static struct {
    struct paging_pool pool;
    uint64_t root;
    struct paging space;
} test;

static int set_up(void **state)
{
    (void)state;
    void *memory = mmap(NULL, POOL_BYTES + PAGE_4K, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return -1;
    }
    /* Stale contents, as real memory has them. */
    memset(memory, 0xA5, POOL_BYTES + PAGE_4K);
    test.root = (uint64_t)(uintptr_t)memory;
    test.pool = (struct paging_pool){ .base = test.root + PAGE_4K, .bytes = POOL_BYTES };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return munmap((void *)(uintptr_t)test.root, POOL_BYTES + PAGE_4K);
}

static void start(unsigned levels, bool no_execute)
{
    const struct paging_rules rules = { levels, no_execute, 52 };
    test.pool.used = 0;
    paging_init(&test.space, &rules, test.root, &test.pool);
}

static const char *must_refuse(enum status wanted, uint64_t virtual, uint64_t physical,
                               uint64_t bytes, enum page_size size)
{
    const char *reason = NULL;
    assert_int_equal(paging_map(&test.space, virtual, physical, bytes, size, 0, &reason), wanted);
    assert_non_null(reason);
    return reason;
}

static void must_map(uint64_t virtual, uint64_t physical, uint64_t bytes, enum page_size size,
                     unsigned flags)
{
    const char *reason = "unset";
    assert_int_equal(paging_map(&test.space, virtual, physical, bytes, size, flags, &reason), OK);
    assert_null(reason);
}

/* ---- the walker: SDM vol. 3A, 4.5.4, tables 4-14 to 4-20 --------------------------------------- */

struct walked {
    bool present;
    uint64_t physical, entry, bytes;
    bool writable_above, all_above_accessed, all_tables_ours;
};

static bool is_table_of_ours(uint64_t address)
{
    return address >= test.pool.base && address < test.pool.base + test.pool.used;
}

static struct walked walk(uint64_t cr3, unsigned levels, uint64_t linear)
{
    static const unsigned shift[] = { 12, 21, 30, 39, 48 };
    struct walked result = { .writable_above = true,
                             .all_above_accessed = true,
                             .all_tables_ours = true };
    uint64_t table = cr3 & 0x000ffffffffff000;
    for (unsigned i = levels; i-- > 0;) {
        uint64_t entry = ((const uint64_t *)(uintptr_t)table)[(linear >> shift[i]) & 0x1ff];
        if ((entry & 1) == 0) {
            result.bytes = 1ull << shift[i];
            return result;
        }
        bool leaf = i == 0 || (i <= 2 && (entry & 0x80) != 0);
        if (leaf) {
            uint64_t inside = (1ull << shift[i]) - 1;
            result.present = true;
            result.entry = entry;
            result.bytes = inside + 1;
            result.physical = (entry & 0x000ffffffffff000 & ~inside) | (linear & inside);
            /* Reserved bits of a large leaf: between the PAT bit and the frame. */
            assert_true(i == 0 || (entry & inside & ~0x1fffull) == 0);
            return result;
        }
        assert_int_equal(entry & 0x80, 0);
        table = entry & 0x000ffffffffff000;
        result.writable_above = result.writable_above && (entry & 2) != 0;
        result.all_above_accessed = result.all_above_accessed && (entry & 0x20) != 0;
        result.all_tables_ours = result.all_tables_ours && is_table_of_ours(table) &&
                                 (entry >> 63) == 0 && (entry & 4) == 0;
    }
    return result;
}

static struct walked walk_to(uint64_t linear)
{
    return walk(test.root, test.space.rules.levels, linear);
}

/* Every leaf of the range, with exactly the bits that it must have. */
static void check_range(uint64_t virtual, uint64_t physical, uint64_t bytes, uint64_t leaf,
                        uint64_t bits)
{
    for (uint64_t at = 0; at < bytes; at += leaf) {
        struct walked found = walk_to(virtual + at + leaf / 2);
        assert_true(found.present);
        assert_int_equal(found.bytes, leaf);
        assert_int_equal(found.physical, physical + at + leaf / 2);
        assert_int_equal(found.entry & 0xfff0000000000fff, bits);
        assert_true(found.writable_above);
        assert_true(found.all_above_accessed);
        assert_true(found.all_tables_ours);
    }
    assert_false(walk_to(virtual - 1).present);
    assert_false(walk_to(virtual + bytes).present);
}

/* Present, writable, dirty; and what is added by kind. */
#define P_W_D      0x043ull
#define PAGE_SIZE_ 0x080ull
#define PCD_PWT    0x018ull
#define NX         (1ull << 63)

/* ---- mapping ----------------------------------------------------------------------------------- */

static void maps_each_size(unsigned levels)
{
    const uint64_t base = 64ull << 40;
    start(levels, true);
    must_map(base, 0x1234000, PAGES(700), SIZE_4K, PAGING_WRITE);
    check_range(base, 0x1234000, PAGES(700), PAGE_4K, P_W_D | NX);
    start(levels, true);
    must_map(base + 510ull * PAGE_2M, 6ull * PAGE_2M, 5ull * PAGE_2M, SIZE_2M, PAGING_WRITE);
    check_range(base + 510ull * PAGE_2M, 6ull * PAGE_2M, 5ull * PAGE_2M, PAGE_2M,
                P_W_D | PAGE_SIZE_ | NX);
    start(levels, true);
    must_map(base + 511ull * PAGE_1G, 5ull << 30, 3ull * PAGE_1G, SIZE_1G, PAGING_WRITE);
    check_range(base + 511ull * PAGE_1G, 5ull << 30, 3ull * PAGE_1G, PAGE_1G,
                P_W_D | PAGE_SIZE_ | NX);
}

static void test_each_size_with_four_levels(void **state)
{
    (void)state;
    maps_each_size(4);
}

static void test_each_size_with_five_levels(void **state)
{
    (void)state;
    maps_each_size(5);
}

static void test_rights_and_types(void **state)
{
    (void)state;
    start(4, true);
    must_map(0x10000, 0x10000, PAGE_4K, SIZE_4K, PAGING_EXECUTE);
    must_map(0x20000, 0x20000, PAGE_4K, SIZE_4K, 0);
    must_map(0x30000, 0xfee00000, PAGE_4K, SIZE_4K, PAGING_WRITE | PAGING_UNCACHED);
    must_map(0x40000000, 0x40000000, PAGE_1G, SIZE_1G, PAGING_WRITE | PAGING_EXECUTE);
    check_range(0x10000, 0x10000, PAGE_4K, PAGE_4K, 0x041);
    check_range(0x20000, 0x20000, PAGE_4K, PAGE_4K, 0x041 | NX);
    check_range(0x30000, 0xfee00000, PAGE_4K, PAGE_4K, P_W_D | PCD_PWT | NX);
    check_range(0x40000000, 0x40000000, PAGE_1G, PAGE_1G, P_W_D | PAGE_SIZE_);
}

static void test_no_execute_bit_only_where_it_exists(void **state)
{
    (void)state;
    start(4, false);
    must_map(0x10000, 0x10000, PAGE_4K, SIZE_4K, PAGING_WRITE);
    check_range(0x10000, 0x10000, PAGE_4K, PAGE_4K, P_W_D);
    struct paging_leaf leaf;
    assert_true(paging_find(&test.space, 0x10000, &leaf));
    assert_int_equal(leaf.flags, PAGING_WRITE | PAGING_EXECUTE);
}

static void test_sizes_mix_in_one_space(void **state)
{
    (void)state;
    for (unsigned levels = 4; levels <= 5; levels++) {
        const uint64_t gib = 64ull << 40;
        start(levels, true);
        must_map(gib, 1ull << 40, PAGE_1G, SIZE_1G, PAGING_WRITE);
        must_map(gib + PAGE_1G + PAGE_2M, 4ull << 20, 2ull * PAGE_2M, SIZE_2M, PAGING_WRITE);
        must_map(gib + PAGE_1G + 4ull * PAGE_2M, 0x7000, PAGES(3), SIZE_4K, PAGING_WRITE);
        must_map(gib + PAGE_1G + 5ull * PAGE_2M, 6ull << 20, PAGE_2M, SIZE_2M, PAGING_WRITE);
        assert_int_equal(walk_to(gib + 12345).physical, (1ull << 40) + 12345);
        assert_false(walk_to(gib + PAGE_1G).present);
        assert_int_equal(walk_to(gib + PAGE_1G + PAGE_2M).bytes, PAGE_2M);
        assert_int_equal(walk_to(gib + PAGE_1G + 4ull * PAGE_2M + 0x2fff).physical, 0x9fff);
        assert_false(walk_to(gib + PAGE_1G + 4ull * PAGE_2M + 0x3000).present);
        assert_int_equal(walk_to(gib + PAGE_1G + 5ull * PAGE_2M + 9).physical, (6ull << 20) + 9);
    }
}

static void test_upper_half_and_last_page(void **state)
{
    (void)state;
    for (unsigned levels = 4; levels <= 5; levels++) {
        start(levels, true);
        must_map(-PAGES(2), 0x5000, PAGES(2), SIZE_4K, PAGING_WRITE);
        assert_int_equal(walk_to(UINT64_MAX).physical, 0x6fff);
        struct paging_count count;
        paging_count(&test.space, -(uint64_t)PAGE_2M, PAGE_2M - 1, &count);
        assert_int_equal(count.leaves[SIZE_4K], 2);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static void test_refuses_what_is_no_multiple(void **state)
{
    (void)state;
    static const enum page_size sizes[] = { SIZE_4K, SIZE_2M, SIZE_1G };
    start(4, true);
    for (size_t i = 0; i < 3; i++) {
        const uint64_t unit = paging_bytes(sizes[i]);
        const uint64_t off = unit / 2;
        (void)must_refuse(DENIED, unit + off, unit, unit, sizes[i]);
        (void)must_refuse(DENIED, unit, unit + off, unit, sizes[i]);
        (void)must_refuse(DENIED, unit, unit, unit + off, sizes[i]);
        (void)must_refuse(DENIED, unit, unit, 0, sizes[i]);
    }
    assert_int_equal(test.pool.used, 0);
}

static void test_refuses_addresses_that_are_not_canonical(void **state)
{
    (void)state;
    const uint64_t end4 = 1ull << 47;
    start(4, true);
    (void)must_refuse(DENIED, end4, 0, PAGE_4K, SIZE_4K);
    (void)must_refuse(DENIED, end4 - PAGE_4K, 0, PAGES(2), SIZE_4K);
    (void)must_refuse(DENIED, -end4 - PAGE_4K, 0, PAGE_4K, SIZE_4K);
    (void)must_refuse(DENIED, -(uint64_t)PAGE_4K, 0, PAGES(2), SIZE_4K);
    (void)must_refuse(DENIED, end4 - PAGE_1G, 0, 2ull * PAGE_1G - 2 * end4, SIZE_1G);
    must_map(end4 - PAGE_4K, 0, PAGE_4K, SIZE_4K, 0);
    must_map(-end4, 0, PAGE_4K, SIZE_4K, 0);
    start(5, true);
    must_map(end4, 0, PAGE_4K, SIZE_4K, 0);
    must_map((1ull << 56) - PAGE_4K, 0, PAGE_4K, SIZE_4K, 0);
    (void)must_refuse(DENIED, 1ull << 56, 0, PAGE_4K, SIZE_4K);
}

static void test_refuses_beyond_the_physical_width(void **state)
{
    (void)state;
    const struct paging_rules rules = { 4, true, 39 };
    test.pool.used = 0;
    paging_init(&test.space, &rules, test.root, &test.pool);
    (void)must_refuse(DENIED, 0, 1ull << 39, PAGE_4K, SIZE_4K);
    (void)must_refuse(DENIED, 0, (1ull << 39) - PAGE_1G, 2ull * PAGE_1G, SIZE_1G);
    must_map(0, (1ull << 39) - PAGE_4K, PAGE_4K, SIZE_4K, 0);
}

static void test_refuses_contradictions(void **state)
{
    (void)state;
    start(4, true);
    must_map(PAGE_1G, PAGE_1G, PAGE_1G, SIZE_1G, PAGING_WRITE);
    must_map(0x200000, 0x5000, PAGE_4K, SIZE_4K, PAGING_WRITE);
    (void)must_refuse(DENIED, PAGE_1G, PAGE_1G, PAGE_4K, SIZE_4K);
    (void)must_refuse(DENIED, PAGE_1G + PAGE_2M, PAGE_1G + PAGE_2M, PAGE_2M, SIZE_2M);
    (void)must_refuse(DENIED, 0, 0, PAGE_1G, SIZE_1G);
    (void)must_refuse(DENIED, 0x200000, 0x200000, PAGE_2M, SIZE_2M);
    (void)must_refuse(DENIED, 0x200000, 0x6000, PAGE_4K, SIZE_4K);
    (void)must_refuse(DENIED, 0x200000, 0x5000, PAGE_4K, SIZE_4K); /* without the right to write */
    must_map(0x200000, 0x5000, PAGE_4K, SIZE_4K, PAGING_WRITE);
    must_map(0x1ff000, 0x4000, PAGES(3), SIZE_4K, PAGING_WRITE);
    assert_int_equal(walk_to(0x201000).physical, 0x6000);
}

static void test_says_when_the_pool_is_used_up(void **state)
{
    (void)state;
    start(4, true);
    struct paging_pool small = { test.pool.base, PAGES(3), 0 };
    test.space.pool = &small;
    uint8_t *behind = (uint8_t *)(uintptr_t)(small.base + small.bytes);
    memset(behind, 0xA5, PAGE_4K);
    const char *reason = NULL;
    assert_int_equal(paging_map(&test.space, 0, 0, PAGE_2M, SIZE_4K, 0, &reason), OK);
    assert_int_equal(small.used, small.bytes);
    assert_int_equal(paging_map(&test.space, PAGE_2M, 0, PAGE_4K, SIZE_4K, 0, &reason), ABSENT);
    assert_non_null(reason);
    assert_int_equal(small.used, small.bytes);
    /* Nothing was written behind the pool. */
    for (size_t i = 0; i < PAGE_4K; i++) {
        assert_int_equal(behind[i], 0xA5);
    }
}

/* ---- reading back ------------------------------------------------------------------------------ */

static void touch(uint64_t linear)
{
    static const unsigned shift[] = { 12, 21, 30, 39, 48 };
    uint64_t table = test.root;
    for (unsigned i = test.space.rules.levels; i-- > 0;) {
        uint64_t *entry = &((uint64_t *)(uintptr_t)table)[(linear >> shift[i]) & 0x1ff];
        *entry |= 0x20;
        if (i == 0 || (*entry & 0x80) != 0) {
            return;
        }
        table = *entry & 0x000ffffffffff000;
    }
}

static void test_accessed_bits_are_counted_and_cleared(void **state)
{
    (void)state;
    const uint64_t base = 64ull << 40;
    struct paging_count count;
    for (unsigned levels = 4; levels <= 5; levels++) {
        start(levels, true);
        must_map(base, 0, PAGES(1000), SIZE_4K, PAGING_WRITE);
        must_map(base + 3ull * PAGE_2M, 0, 2ull * PAGE_2M, SIZE_2M, PAGING_WRITE);
        must_map(base + PAGE_1G, 0, PAGE_1G, SIZE_1G, PAGING_WRITE);
        touch(base + PAGES(3) + 5);
        touch(base + PAGES(999));
        touch(base + 4ull * PAGE_2M + 77777);
        touch(base + PAGE_1G + 99999999);
        paging_count(&test.space, base, 2ull * PAGE_1G, &count);
        assert_int_equal(count.leaves[SIZE_4K], 1000);
        assert_int_equal(count.leaves[SIZE_2M], 2);
        assert_int_equal(count.leaves[SIZE_1G], 1);
        assert_int_equal(count.accessed[SIZE_4K], 2);
        assert_int_equal(count.accessed[SIZE_2M], 1);
        assert_int_equal(count.accessed[SIZE_1G], 1);
        paging_count(&test.space, base + PAGES(3), PAGES(513), &count);
        assert_int_equal(count.leaves[SIZE_4K], 513);
        assert_int_equal(count.accessed[SIZE_4K], 1);
        assert_int_equal(count.leaves[SIZE_2M], 0);
        paging_clear_accessed(&test.space, base, PAGES(4));
        paging_count(&test.space, base, 2ull * PAGE_1G, &count);
        assert_int_equal(count.accessed[SIZE_4K], 1);
        paging_clear_accessed(&test.space, base, 2ull * PAGE_1G);
        paging_count(&test.space, base, 2ull * PAGE_1G, &count);
        for (unsigned size = 0; size < PAGE_SIZES; size++) {
            assert_int_equal(count.accessed[size], 0);
        }
        assert_true(walk_to(base).all_above_accessed);
        assert_int_equal(walk_to(base).entry & 0x40, 0x40);
    }
}

static void test_find_tells_what_the_walker_sees(void **state)
{
    (void)state;
    struct paging_leaf leaf;
    start(5, true);
    must_map(0x300000, 0x700000, PAGE_4K, SIZE_4K, PAGING_WRITE | PAGING_UNCACHED);
    must_map(1ull << 50, 3ull * PAGE_2M, PAGE_2M, SIZE_2M, PAGING_EXECUTE);
    assert_true(paging_find(&test.space, 0x300123, &leaf));
    assert_int_equal(leaf.physical, 0x700123);
    assert_int_equal(leaf.size, SIZE_4K);
    assert_int_equal(leaf.flags, PAGING_WRITE | PAGING_UNCACHED);
    assert_true(leaf.dirty);
    assert_false(leaf.accessed);
    touch((1ull << 50) + 1000000);
    assert_true(paging_find(&test.space, (1ull << 50) + 1000000, &leaf));
    assert_int_equal(leaf.physical, 3ull * PAGE_2M + 1000000);
    assert_int_equal(leaf.size, SIZE_2M);
    assert_int_equal(leaf.flags, PAGING_EXECUTE);
    assert_true(leaf.accessed);
    assert_false(paging_find(&test.space, 0x301000, &leaf));
    assert_false(paging_find(&test.space, (1ull << 57) | 0x300000, &leaf));
    start(4, true);
    must_map(0x300000, 0x700000, PAGE_4K, SIZE_4K, PAGING_WRITE);
    assert_false(paging_find(&test.space, (1ull << 48) | 0x300000, &leaf));
}

/* ---- cost -------------------------------------------------------------------------------------- */

static void test_table_bytes_are_foretold(void **state)
{
    (void)state;
    static const struct {
        uint64_t virtual, bytes;
        enum page_size size;
    } range[] = {
        { 0, PAGE_4K, SIZE_4K },
        { PAGE_2M - PAGE_4K, PAGES(2), SIZE_4K },
        { PAGE_1G - PAGE_4K, PAGES(2), SIZE_4K },
        { (512ull << 30) - PAGE_4K, PAGES(2), SIZE_4K },
        { 0x12345000, 300ull << 20, SIZE_4K },
        { 0, 3ull << 30, SIZE_2M },
        { PAGE_1G - PAGE_2M, 2ull * PAGE_2M, SIZE_2M },
        { 0, 700ull << 30, SIZE_1G },
        { (512ull << 30) - PAGE_1G, 2ull * PAGE_1G, SIZE_1G },
    };
    for (unsigned levels = 4; levels <= 5; levels++) {
        for (size_t i = 0; i < sizeof range / sizeof range[0]; i++) {
            start(levels, true);
            must_map(range[i].virtual, 0, range[i].bytes, range[i].size, 0);
            assert_int_equal(
                paging_table_bytes(levels, range[i].virtual, range[i].bytes, range[i].size),
                test.pool.used);
        }
        assert_int_equal(paging_table_bytes(levels, 0, 0, SIZE_4K), 0);
    }
}

/* A GiB in small pages: tables of a fifth of a percent, and far from a second even with the
 * sanitizers in the way. */
static void test_a_gib_in_small_pages_is_cheap(void **state)
{
    (void)state;
    start(4, true);
    clock_t began = clock();
    must_map(64ull << 40, 1ull << 32, PAGE_1G, SIZE_4K, PAGING_WRITE);
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    assert_true(test.pool.used < PAGE_1G / 100 / 4);
    assert_true(seconds < 0.5);
    assert_int_equal(walk_to((64ull << 40) + PAGE_1G - 1).physical, (1ull << 32) + PAGE_1G - 1);
}

/* ---- many random mappings against a plain list of them ------------------------------------------ */

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (*state >> 20) % limit;
}

struct mapping {
    uint64_t virtual, physical, bytes, leaf;
};

static bool overlaps(const struct mapping *a, const struct mapping *b)
{
    return a->virtual < b->virtual + b->bytes && b->virtual < a->virtual + a->bytes;
}

static void check_against(const struct mapping *mapping, size_t count, uint64_t linear)
{
    struct walked found = walk_to(linear);
    struct paging_leaf leaf;
    for (size_t i = 0; i < count; i++) {
        if (linear - mapping[i].virtual < mapping[i].bytes) {
            assert_true(found.present);
            assert_int_equal(found.physical, mapping[i].physical + (linear - mapping[i].virtual));
            assert_int_equal(found.bytes, mapping[i].leaf);
            assert_true(paging_find(&test.space, linear, &leaf));
            assert_int_equal(leaf.physical, found.physical);
            return;
        }
    }
    assert_false(found.present);
    assert_false(paging_find(&test.space, linear, &leaf));
}

static void test_random_mappings(void **state)
{
    (void)state;
    enum { MAPPINGS = 60 };
    const uint64_t reach = 6ull * PAGE_1G;
    uint64_t random = 7;
    for (unsigned round = 0; round < 40; round++) {
        struct mapping mapping[MAPPINGS];
        size_t count = 0;
        uint64_t expected[PAGE_SIZES] = { 0 };
        start(4 + round % 2, true);
        for (size_t i = 0; i < MAPPINGS; i++) {
            const enum page_size size = (enum page_size)random_below(&random, PAGE_SIZES);
            const uint64_t unit = paging_bytes(size);
            struct mapping made = {
                .virtual = random_below(&random, reach) / unit * unit,
                .physical = random_below(&random, 1ull << 40) / unit * unit,
                .bytes = (1 + random_below(&random, size == SIZE_1G ? 2 : 700)) * unit,
                .leaf = unit,
            };
            bool free = made.bytes <= PAGE_1G;
            for (size_t k = 0; k < count; k++) {
                free = free && !overlaps(&made, &mapping[k]);
            }
            if (free) {
                must_map(made.virtual, made.physical, made.bytes, size, PAGING_WRITE);
                expected[size] += made.bytes / unit;
                mapping[count++] = made;
            }
        }
        for (unsigned i = 0; i < 500; i++) {
            check_against(mapping, count, random_below(&random, 2 * reach));
        }
        for (size_t k = 0; k < count; k++) {
            check_against(mapping, count, mapping[k].virtual);
            check_against(mapping, count, mapping[k].virtual + mapping[k].bytes - 1);
            check_against(mapping, count, mapping[k].virtual - 1);
            check_against(mapping, count, mapping[k].virtual + mapping[k].bytes);
        }
        struct paging_count found;
        paging_count(&test.space, 0, 2 * reach, &found);
        assert_memory_equal(found.leaves, expected, sizeof expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_size_with_four_levels),
        cmocka_unit_test(test_each_size_with_five_levels),
        cmocka_unit_test(test_rights_and_types),
        cmocka_unit_test(test_no_execute_bit_only_where_it_exists),
        cmocka_unit_test(test_sizes_mix_in_one_space),
        cmocka_unit_test(test_upper_half_and_last_page),
        cmocka_unit_test(test_refuses_what_is_no_multiple),
        cmocka_unit_test(test_refuses_addresses_that_are_not_canonical),
        cmocka_unit_test(test_refuses_beyond_the_physical_width),
        cmocka_unit_test(test_refuses_contradictions),
        cmocka_unit_test(test_says_when_the_pool_is_used_up),
        cmocka_unit_test(test_accessed_bits_are_counted_and_cleared),
        cmocka_unit_test(test_find_tells_what_the_walker_sees),
        cmocka_unit_test(test_table_bytes_are_foretold),
        cmocka_unit_test(test_a_gib_in_small_pages_is_cheap),
        cmocka_unit_test(test_random_mappings),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
