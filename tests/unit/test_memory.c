/* From the firmware's memory map to the arena: recorded maps, awkward maps, random maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "boot/memory.h"
#include "tests/fakes/hex_file.h"

#define K(n) ((uint64_t)(n) << 10)
#define M(n) ((uint64_t)(n) << 20)
#define G(n) ((uint64_t)(n) << 30)

enum { ROOM = 2048, RAW_BYTES = 128 * KIB, OVMF_STRIDE = 48, WRITE_BACK = 0xf };
enum { RESERVED = 0, BOOT_DATA = 4, RUNTIME_DATA = 6, FREE = 7, IO = 11, PERSISTENT = 14 };

static uint8_t raw[RAW_BYTES];
static size_t raw_bytes;
static struct memory_descriptor map[ROOM];
static size_t entries;
static struct memory_range free_range[ROOM];
static size_t free_ranges;
static struct memory_range arena[MEMORY_ARENA_RANGES];
static size_t ranges;

/* ---- writing maps as a firmware does ------------------------------------------------------------ */

static void put(uint8_t *at, uint64_t value, size_t bytes)
{
    memcpy(at, &value, bytes);
}

static void begin_map(void)
{
    memset(raw, 0xcc, sizeof raw); /* between the descriptors there is anything */
    raw_bytes = 0;
}

static void add(size_t stride, uint32_t kind, uint64_t base, uint64_t bytes, uint64_t attributes)
{
    uint8_t *at = &raw[raw_bytes];
    assert_true(raw_bytes + stride <= sizeof raw);
    put(at, kind, 4);
    put(at + 8, base, 8);
    put(at + 16, 0, 8);
    put(at + 24, bytes / 4096, 8);
    put(at + 32, attributes, 8);
    raw_bytes += stride;
}

static void add_free(uint64_t base, uint64_t bytes)
{
    add(MEMORY_STRIDE, FREE, base, bytes, WRITE_BACK);
}

static void read_map(size_t stride)
{
    const char *reason = NULL;
    assert_int_equal(memory_read(raw, raw_bytes, stride, map, ROOM, &entries, &reason), OK);
    assert_null(reason);
    free_ranges = memory_free_ranges(map, entries, free_range);
}

static void load(const char *path)
{
    begin_map();
    raw_bytes = hex_file_load(path, raw, sizeof raw);
    read_map(OVMF_STRIDE);
}

/* ---- what every plan must be -------------------------------------------------------------------- */

static uint64_t bytes_below(const struct memory_range *range, size_t count, uint64_t limit)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = range[i].base + range[i].bytes;
        end = end < limit ? end : limit;
        bytes += range[i].base < end ? end - range[i].base : 0;
    }
    return bytes;
}

static bool is_within_free(const struct memory_range *range)
{
    for (size_t i = 0; i < free_ranges; i++) {
        if (range->base >= free_range[i].base &&
            range->base - free_range[i].base + range->bytes <= free_range[i].bytes) {
            return true;
        }
    }
    return false;
}

static void check_plan(void)
{
    const uint64_t low_free = bytes_below(free_range, free_ranges, G(4));
    const uint64_t low_taken = bytes_below(arena, ranges, G(4));
    uint64_t end = M(1);
    assert_true(ranges <= MEMORY_ARENA_RANGES);
    for (size_t i = 0; i < ranges; i++) {
        assert_true(arena[i].base >= end);
        assert_true(arena[i].bytes >= M(2));
        assert_int_equal((arena[i].base | arena[i].bytes) % 4096, 0);
        assert_true(is_within_free(&arena[i]));
        end = arena[i].base + arena[i].bytes;
    }
    assert_true(low_free - low_taken >= M(64) || low_taken == 0);
}

static void plan(uint64_t most)
{
    const char *reason = NULL;
    assert_int_equal(memory_plan(free_range, free_ranges, most, arena, &ranges, &reason), OK);
    assert_null(reason);
    check_plan();
}

static void must_refuse_plan(void)
{
    const char *reason = NULL;
    assert_int_equal(memory_plan(free_range, free_ranges, 0, arena, &ranges, &reason), ABSENT);
    assert_non_null(reason);
}

static void check_range(const struct memory_range *range, uint64_t base, uint64_t bytes)
{
    assert_int_equal(range->base, base);
    assert_int_equal(range->bytes, bytes);
}

/* ---- recorded maps ------------------------------------------------------------------------------ */

static void test_recorded_256_mib(void **state)
{
    (void)state;
    load("tests/data/memory/ovmf_256m.txt");
    assert_int_equal(entries, 117);
    assert_int_equal(memory_total(map, entries), 0xff20000);
    assert_int_equal(free_ranges, 9);
    check_range(&free_range[0], 0x1000, 0x9f000);
    check_range(&free_range[4], 0x1500000, 0xaa75000);
    check_range(&free_range[8], 0xfe00000, 0xdb000);
    plan(0);
    /* The one large piece, less what the firmware keeps; not much more than it has to. */
    assert_int_equal(ranges, 1);
    assert_true(memory_bytes(arena, ranges) >= memory_bytes(free_range, free_ranges) - M(68));
}

static void test_recorded_4_gib(void **state)
{
    (void)state;
    load("tests/data/memory/ovmf_4g.txt");
    assert_int_equal(entries, 120);
    assert_int_equal(memory_total(map, entries), 0xfff20000);
    assert_int_equal(free_ranges, 9);
    plan(0);
    check_range(&arena[ranges - 1], G(4), G(2));
    assert_true(memory_bytes(arena, ranges) >= memory_bytes(free_range, free_ranges) - M(68));
}

static void test_any_stride(void **state)
{
    (void)state;
    static struct memory_descriptor as_recorded[ROOM];
    static const size_t strides[] = { 40, 48, 56, 64, 128 };
    load("tests/data/memory/ovmf_4g.txt");
    const size_t count = entries;
    memcpy(as_recorded, map, sizeof map);
    for (size_t s = 0; s < sizeof strides / sizeof strides[0]; s++) {
        begin_map();
        for (size_t i = 0; i < count; i++) {
            add(strides[s], as_recorded[i].kind, as_recorded[i].base, as_recorded[i].bytes,
                as_recorded[i].attributes);
        }
        read_map(strides[s]);
        assert_int_equal(entries, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(map[i].kind, as_recorded[i].kind);
            assert_int_equal(map[i].base, as_recorded[i].base);
            assert_int_equal(map[i].bytes, as_recorded[i].bytes);
            assert_int_equal(map[i].attributes, as_recorded[i].attributes);
        }
    }
}

/* ---- reading ------------------------------------------------------------------------------------ */

static void must_refuse_map(size_t stride, size_t room)
{
    const char *reason = NULL;
    assert_int_equal(memory_read(raw, raw_bytes, stride, map, room, &entries, &reason),
                     BAD_SETTING);
    assert_non_null(reason);
}

static void test_refuses_unreadable_maps(void **state)
{
    (void)state;
    begin_map();
    add_free(M(1), M(1));
    add_free(M(4), M(1));
    must_refuse_map(0, ROOM);
    must_refuse_map(39, ROOM);
    must_refuse_map(MEMORY_STRIDE, 1);
    read_map(MEMORY_STRIDE);
    assert_int_equal(entries, 2);
}

/* A map that ends in half a descriptor: the half is not looked at (the memory behind is not ours). */
static void test_half_a_descriptor(void **state)
{
    (void)state;
    const char *reason = NULL;
    begin_map();
    add_free(M(1), M(1));
    uint8_t *exact = malloc(MEMORY_STRIDE + 8);
    assert_non_null(exact);
    memcpy(exact, raw, MEMORY_STRIDE + 8);
    assert_int_equal(
        memory_read(exact, MEMORY_STRIDE + 8, MEMORY_STRIDE, map, ROOM, &entries, &reason), OK);
    assert_int_equal(entries, 1);
    assert_int_equal(memory_read(exact, 0, MEMORY_STRIDE, map, ROOM, &entries, &reason), OK);
    assert_int_equal(entries, 0);
    free(exact);
}

static void test_drops_what_holds_nothing(void **state)
{
    (void)state;
    begin_map();
    add_free(M(8), 0);
    add_free(M(1), M(1));
    add(MEMORY_STRIDE, FREE, 1ull << 52, M(1), WRITE_BACK);
    add(MEMORY_STRIDE, FREE, (1ull << 52) - K(4), K(8), WRITE_BACK);
    add(MEMORY_STRIDE, RESERVED, UINT64_MAX - 4095, K(8), 0);
    add(MEMORY_STRIDE, FREE, M(16), 0, WRITE_BACK);
    put(&raw[raw_bytes - MEMORY_STRIDE + 24], UINT64_MAX, 8); /* pages without number */
    read_map(MEMORY_STRIDE);
    assert_int_equal(entries, 1);
    assert_int_equal(free_ranges, 1);
    check_range(&free_range[0], M(1), M(1));
}

static void test_sorts_and_merges(void **state)
{
    (void)state;
    begin_map();
    add_free(M(12), M(4));
    add_free(M(2), M(2));
    add(MEMORY_STRIDE, RESERVED, M(20), M(1), 0);
    add_free(M(4), M(8));
    add_free(M(16), M(4));
    add_free(M(21), M(1));
    read_map(MEMORY_STRIDE);
    assert_int_equal(free_ranges, 2);
    check_range(&free_range[0], M(2), M(18));
    check_range(&free_range[1], M(21), M(1));
}

static void test_what_is_not_free(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind;
        bool free, ram;
        uint64_t attributes;
    } entry[] = {
        { 0, false, false, 0xf },
        { 1, false, true, 0xf },
        { 2, false, true, 0xf },
        { 3, false, true, 0xf },
        { 4, false, true, 0xf },
        { 5, false, true, 1ull << 63 | 0xf },
        { 6, false, true, 1ull << 63 },
        { 7, true, true, 0xf },
        { 7, true, true, 0 },
        { 7, false, true, 0xf | 1ull << 18 },
        { 7, false, true, 0xf | 1 << 15 },
        { 8, false, false, 0xf },
        { 9, false, true, 0xf },
        { 10, false, true, 0xf },
        { 11, false, false, 1 },
        { 12, false, false, 1 },
        { 13, false, false, 0xf },
        { 14, false, false, 0xf | 1 << 15 },
        { 15, false, false, 0xf },
        { 0x80000007, false, false, 0xf },
    };
    for (size_t i = 0; i < sizeof entry / sizeof entry[0]; i++) {
        begin_map();
        add(MEMORY_STRIDE, entry[i].kind, M(1), M(1), entry[i].attributes);
        read_map(MEMORY_STRIDE);
        assert_int_equal(free_ranges, entry[i].free);
        assert_int_equal(memory_total(map, entries), entry[i].ram ? M(1) : 0);
    }
}

static void test_overlaps_are_not_free(void **state)
{
    (void)state;
    begin_map();
    add_free(M(16), M(16));
    add(MEMORY_STRIDE, RUNTIME_DATA, M(20), M(2), WRITE_BACK);
    add_free(M(24), M(16));
    add(MEMORY_STRIDE, RESERVED, M(8), M(9), 0);
    add(MEMORY_STRIDE, BOOT_DATA, M(39), M(9), WRITE_BACK);
    read_map(MEMORY_STRIDE);
    assert_int_equal(free_ranges, 2);
    check_range(&free_range[0], M(17), M(3));
    check_range(&free_range[1], M(22), M(17));
    assert_int_equal(memory_total(map, entries), M(32));
}

/* ---- plans -------------------------------------------------------------------------------------- */

static void test_nothing_usable(void **state)
{
    (void)state;
    begin_map();
    read_map(MEMORY_STRIDE);
    must_refuse_plan();
    add(MEMORY_STRIDE, RESERVED, 0, G(64), 0);
    read_map(MEMORY_STRIDE);
    must_refuse_plan();
    begin_map();
    add_free(G(4), M(63));
    read_map(MEMORY_STRIDE);
    must_refuse_plan();
    begin_map();
    add_free(M(16), M(127)); /* of which 64 stay with the firmware */
    read_map(MEMORY_STRIDE);
    must_refuse_plan();
}

static void test_just_enough(void **state)
{
    (void)state;
    begin_map();
    add_free(G(4), M(64));
    read_map(MEMORY_STRIDE);
    plan(0);
    begin_map();
    add_free(M(16), M(128));
    read_map(MEMORY_STRIDE);
    plan(0);
    assert_int_equal(memory_bytes(arena, ranges), M(64));
}

static void test_small_pieces_and_the_first_megabyte_are_left(void **state)
{
    (void)state;
    begin_map();
    add_free(0, K(640));
    add_free(M(2), M(2) - K(4));
    add_free(M(8), M(2));
    add_free(M(16), M(400));
    add_free(G(4), M(2));
    add_free(G(5), M(2) - K(4));
    read_map(MEMORY_STRIDE);
    plan(0);
    assert_int_equal(ranges, 2);
    check_range(&arena[1], G(4), M(2));
}

static void test_a_range_over_four_gib_is_two(void **state)
{
    (void)state;
    begin_map();
    add_free(G(4) - M(256), M(512));
    read_map(MEMORY_STRIDE);
    plan(0);
    assert_int_equal(ranges, 2);
    check_range(&arena[1], G(4), M(256));
    assert_int_equal(arena[0].bytes, M(192));
}

static void test_no_aligned_gib_is_cut(void **state)
{
    (void)state;
    /* Cut at its head this loses none, at its tail it would. */
    begin_map();
    add_free(G(1) - M(100), G(2) + M(100));
    read_map(MEMORY_STRIDE);
    plan(0);
    check_range(&arena[0], G(1) - M(36), G(2) + M(36));
    /* And the other way round. */
    begin_map();
    add_free(G(1), G(1) + M(100));
    read_map(MEMORY_STRIDE);
    plan(0);
    check_range(&arena[0], G(1), G(1) + M(36));
    assert_int_equal(memory_aligned_gib(&arena[0]), 1);
}

/* A desktop's or server's map after hours in the firmware's setup: pieces over pieces. */
static void test_hundreds_of_entries(void **state)
{
    (void)state;
    enum { PIECES = 300, LARGE = 4, STRIDE = 48 };
    begin_map();
    for (uint64_t i = 0; i < PIECES; i++) {
        add(STRIDE, FREE, M(16) + i * M(8), i % LARGE ? K(64) : M(3) + i * K(4), WRITE_BACK);
        add(STRIDE, BOOT_DATA, M(16) + i * M(8) + M(5), M(3), WRITE_BACK);
    }
    add(STRIDE, FREE, G(4), G(124), WRITE_BACK);
    read_map(STRIDE);
    assert_int_equal(entries, 2 * PIECES + 1);
    assert_int_equal(free_ranges, PIECES + 1);
    plan(0);
    check_range(&arena[ranges - 1], G(4), G(124));
    /* Of the many pieces the largest were kept, and of these the firmware got the smallest. */
    assert_true(ranges > MEMORY_ARENA_RANGES / 2);
    for (size_t i = 1; i < ranges; i++) {
        assert_true(arena[i].bytes > arena[i - 1].bytes);
    }
    check_range(&arena[ranges - 2], M(16) + (PIECES - LARGE) * M(8),
                M(3) + (PIECES - LARGE) * K(4));
}

/* The same when the large pieces come first. */
static void test_small_pieces_do_not_push_out_large_ones(void **state)
{
    (void)state;
    enum { PIECES = 100 };
    begin_map();
    for (uint64_t i = 0; i < PIECES; i++) {
        add_free(G(4) + i * M(16), M(12) - i * K(64));
    }
    read_map(MEMORY_STRIDE);
    plan(0);
    assert_int_equal(ranges, MEMORY_ARENA_RANGES);
    check_range(&arena[0], G(4), M(12));
    check_range(&arena[ranges - 1], G(4) + (ranges - 1) * M(16), M(12) - (ranges - 1) * K(64));
}

static void test_asks_for_an_aligned_gib_first(void **state)
{
    (void)state;
    begin_map();
    add_free(G(4) + M(256), M(1700)); /* longer, and no GiB in it is aligned */
    add_free(G(8), G(1));
    read_map(MEMORY_STRIDE);
    plan(G(1));
    assert_int_equal(ranges, 1);
    check_range(&arena[0], G(8), G(1));
    begin_map();
    add_free(G(4), M(65) + K(4)); /* whose end is not on 2 MiB */
    read_map(MEMORY_STRIDE);
    plan(M(65));
    check_range(&arena[0], G(4), M(65) + K(4));
}

static void test_no_more_than_asked_for(void **state)
{
    (void)state;
    begin_map();
    add_free(M(16), G(2));
    add_free(G(4) + M(512), G(100));
    add_free(G(200), M(900));
    read_map(MEMORY_STRIDE);
    plan(G(8));
    assert_int_equal(ranges, 1);
    check_range(&arena[0], G(5), G(8));
    plan(G(101)); /* more than the best piece has */
    assert_int_equal(ranges, 2);
    check_range(&arena[1], G(4) + M(512), G(100));
    check_range(&arena[0], G(1), G(1));
    plan(1); /* never less than a run needs */
    assert_int_equal(memory_bytes(arena, ranges), M(64));
}

static void test_aligned_gib(void **state)
{
    (void)state;
    static const struct {
        uint64_t base, bytes, gib;
    } range[] = { { 0, G(1), 1 },           { G(1), G(1) - K(4), 0 },
                  { G(1) - K(4), G(1), 0 }, { G(1) - K(4), G(1) + K(4), 1 },
                  { M(1), G(4), 3 },        { G(3) + K(4), M(1), 0 } };
    for (size_t i = 0; i < sizeof range / sizeof range[0]; i++) {
        const struct memory_range one = { range[i].base, range[i].bytes };
        assert_int_equal(memory_aligned_gib(&one), range[i].gib);
    }
}

/* ---- random maps -------------------------------------------------------------------------------- */

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (*state >> 24) % limit;
}

/* Against a list of all pages. */
static void test_random_small_maps(void **state)
{
    (void)state;
    enum { PAGES = 256 };
    uint64_t random = 5;
    for (unsigned round = 0; round < 3000; round++) {
        bool is_free[PAGES] = { false };
        bool is_taken[PAGES] = { false };
        begin_map();
        for (uint64_t i = random_below(&random, 30); i > 0; i--) {
            const uint64_t first = random_below(&random, PAGES);
            const uint64_t count = random_below(&random, PAGES - first + 1);
            const bool free = random_below(&random, 3) != 0;
            add(MEMORY_STRIDE, free ? FREE : RESERVED, first * 4096, count * 4096, WRITE_BACK);
            memset(free ? &is_free[first] : &is_taken[first], true, count);
        }
        read_map(MEMORY_STRIDE);
        assert_true(free_ranges <= entries);
        size_t at = 0;
        for (size_t page = 0; page < PAGES; page++) {
            const uint64_t address = page * 4096;
            while (at < free_ranges && free_range[at].base + free_range[at].bytes <= address) {
                at++;
            }
            const bool found = at < free_ranges && free_range[at].base <= address;
            assert_int_equal(found, is_free[page] && !is_taken[page]);
        }
        for (size_t i = 1; i < free_ranges; i++) { /* neighbours would have been merged */
            assert_true(free_range[i].base > free_range[i - 1].base + free_range[i - 1].bytes);
        }
    }
}

static void test_random_plans(void **state)
{
    (void)state;
    uint64_t random = 9;
    for (unsigned round = 0; round < 2000; round++) {
        const char *reason = NULL;
        begin_map();
        for (uint64_t i = random_below(&random, 120); i > 0; i--) {
            const uint64_t base = random_below(&random, G(8)) / 4096 * 4096;
            const uint64_t bytes = K(4) << random_below(&random, 20);
            const bool free = random_below(&random, 2) != 0;
            add(MEMORY_STRIDE, free ? FREE : BOOT_DATA, base, bytes, WRITE_BACK);
        }
        read_map(MEMORY_STRIDE);
        const uint64_t most = random_below(&random, 2) != 0 ? random_below(&random, G(9)) : 0;
        const enum status status =
            memory_plan(free_range, free_ranges, most, arena, &ranges, &reason);
        check_plan();
        assert_true(status == OK ? memory_bytes(arena, ranges) >= M(64) : reason != NULL);
        assert_true(most == 0 || memory_bytes(arena, ranges) <= most + M(64));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_256_mib),
        cmocka_unit_test(test_recorded_4_gib),
        cmocka_unit_test(test_any_stride),
        cmocka_unit_test(test_refuses_unreadable_maps),
        cmocka_unit_test(test_half_a_descriptor),
        cmocka_unit_test(test_drops_what_holds_nothing),
        cmocka_unit_test(test_sorts_and_merges),
        cmocka_unit_test(test_what_is_not_free),
        cmocka_unit_test(test_overlaps_are_not_free),
        cmocka_unit_test(test_nothing_usable),
        cmocka_unit_test(test_just_enough),
        cmocka_unit_test(test_small_pieces_and_the_first_megabyte_are_left),
        cmocka_unit_test(test_a_range_over_four_gib_is_two),
        cmocka_unit_test(test_no_aligned_gib_is_cut),
        cmocka_unit_test(test_hundreds_of_entries),
        cmocka_unit_test(test_small_pieces_do_not_push_out_large_ones),
        cmocka_unit_test(test_asks_for_an_aligned_gib_first),
        cmocka_unit_test(test_no_more_than_asked_for),
        cmocka_unit_test(test_aligned_gib),
        cmocka_unit_test(test_random_small_maps),
        cmocka_unit_test(test_random_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
