/* Which frames a view shows, and what else its page tables hold. The arena is memory of this
 * program whose "physical" addresses are its own; only tables are ever written to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "boot/view.h"

#define K(n) ((uint64_t)(n) << 10)
#define M(n) ((uint64_t)(n) << 20)
#define G(n) ((uint64_t)(n) << 30)

/* Above what the sanitizer uses, below the views. */
#define ARENA (UINT64_C(32) << 40)

enum { ARENA_GIB = 8, IMAGE_BYTES = 64 * KIB, LEAVES = 1 << 20 };

static uint8_t *low;
static uint8_t *image;
static struct mtrr mtrr;
static struct view_region regions[4];
static struct view_setup setup;
static struct views views;
static struct view view;
static struct memory_range all_of_it = { ARENA, G(ARENA_GIB) };

static void *memory(uint64_t at, uint64_t bytes)
{
    void *found = mmap(
        (void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != 0 ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    assert_true(found != MAP_FAILED);
    return found;
}

static int make_memory(void **state)
{
    (void)state;
    (void)memory(ARENA, G(ARENA_GIB));
    low = memory(ARENA - M(2), VIEW_LOW_BYTES);
    image = memory(ARENA - M(1), IMAGE_BYTES);
    return 0;
}

/* A machine where everything is as usual. */
static int usual(void **state)
{
    (void)state;
    const uint64_t base = (uint64_t)(uintptr_t)image;
    mtrr = (struct mtrr){ .pat = { 6, 4, 7, 0, 6, 4, 7, 0 }, .limit = 1ull << 52 };
    regions[0] = (struct view_region){ base, K(16), VIEW_CODE };
    regions[1] = (struct view_region){ base + K(16), K(8), VIEW_CONSTANTS };
    regions[2] = (struct view_region){ base + K(24), K(32), VIEW_DATA };
    regions[3] = (struct view_region){ 0xfee00000, K(4), VIEW_REGISTERS };
    setup = (struct view_setup){
        .arena = &all_of_it,
        .ranges = 1,
        .low_base = (uint64_t)(uintptr_t)low,
        .region = regions,
        .regions = 4,
        .mtrr = &mtrr,
        .rules = { .levels = 4, .no_execute = true, .physical_bits = 52 },
        .pages_1g = true,
        .colours = 32,
        .key = 1,
    };
    return 0;
}

static void prepare(void)
{
    const char *reason = NULL;
    assert_int_equal(views_prepare(&views, &setup, &reason), OK);
    assert_null(reason);
}

static void prepare_with(const struct memory_range *range, size_t ranges)
{
    setup.arena = range;
    setup.ranges = ranges;
    prepare();
    setup.arena = &all_of_it;
    setup.ranges = 1;
}

static struct layout layout(uint64_t bytes, enum page_size leaf, enum placing placing)
{
    return (struct layout){ .bytes = bytes, .leaf = leaf, .placing = placing };
}

static void build(struct layout wanted)
{
    const char *reason = NULL;
    assert_int_equal(views_build(&views, &wanted, &view, &reason), OK);
    assert_null(reason);
}

static void must_be_absent(struct layout wanted)
{
    const char *reason = NULL;
    assert_int_equal(views_build(&views, &wanted, &view, &reason), ABSENT);
    assert_non_null(reason);
}

/* Physical address of a byte of the view. */
static uint64_t shown(uint64_t offset)
{
    struct paging_leaf leaf;
    assert_true(paging_find(&view.space, VIEW_BASE + offset, &leaf));
    return leaf.physical;
}

static bool neighbours(uint64_t a, uint64_t b)
{
    return a - b == PAGE_4K || b - a == PAGE_4K;
}

/* ---- the order of frames ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Walks the whole pool: every frame once, and no two neighbours but at the very end. */
static uint64_t check_whole_pool(const struct scatter *scatter, const struct memory_range *range,
                                 size_t ranges)
{
    const uint64_t frames = scatter_frames(scatter);
    uint64_t *frame = calloc(frames + 1, sizeof *frame);
    struct scatter_walk walk;
    assert_non_null(frame);
    scatter_begin(&walk, scatter);
    for (uint64_t i = 0; i < frames; i++) {
        frame[i] = scatter_next(&walk);
        const bool at_the_end = i + 2 >= frames;
        assert_true(i == 0 || at_the_end || !neighbours(frame[i], frame[i - 1]));
    }
    qsort(frame, frames, sizeof *frame, by_value);
    size_t at = 0;
    for (uint64_t i = 0; i < frames; i++) {
        while (at < ranges && frame[i] >= range[at].base + range[at].bytes) {
            at++;
        }
        assert_true(at < ranges && frame[i] >= range[at].base);
        assert_int_equal(frame[i] % PAGE_4K, 0);
        assert_true(i == 0 || frame[i] > frame[i - 1]);
    }
    free(frame);
    return frames;
}

static void test_every_frame_once_and_no_neighbours(void **state)
{
    (void)state;
    static struct scatter scatter;
    const struct memory_range pool[] = { { M(1), K(12) }, { M(16), M(64) }, { G(4), K(4) } };
    scatter_init(&scatter, pool, 3, 1, 1);
    assert_int_equal(check_whole_pool(&scatter, pool, 3), 3 + 64 * 256 + 1);
    scatter_init(&scatter, pool, 3, 16, 1);
    assert_int_equal(check_whole_pool(&scatter, pool, 3), 64 * 256);
    /* Small pools, where neighbours are hardest to avoid. */
    for (uint64_t frames = 1; frames <= 40; frames++) {
        for (uint64_t key = 0; key < 50; key++) {
            const struct memory_range small = { M(1), frames * PAGE_4K };
            scatter_init(&scatter, &small, 1, 1, key);
            assert_int_equal(check_whole_pool(&scatter, &small, 1), frames);
        }
    }
    scatter_init(&scatter, pool, 0, 1, 1);
    assert_int_equal(scatter_frames(&scatter), 0);
}

static void test_frames_come_from_all_over_the_pool(void **state)
{
    (void)state;
    enum { PARTS = 16, DRAWN = 4096 };
    static struct scatter scatter;
    const struct memory_range pool = { G(4), G(1) };
    for (unsigned colours = 1; colours <= 64; colours *= 64) {
        unsigned count[PARTS] = { 0 };
        unsigned near = 0;
        uint64_t last = 0;
        struct scatter_walk walk;
        scatter_init(&scatter, &pool, 1, colours, 3);
        scatter_begin(&walk, &scatter);
        for (unsigned i = 0; i < DRAWN; i++) {
            const uint64_t frame = scatter_next(&walk);
            count[(frame - pool.base) / (pool.bytes / PARTS)]++;
            near += frame / M(2) == last / M(2) ? 1 : 0;
            last = frame;
        }
        for (unsigned i = 0; i < PARTS; i++) { /* five standard deviations */
            assert_in_range(count[i], DRAWN / PARTS - 78, DRAWN / PARTS + 78);
        }
        assert_true(near < 30); /* by chance 8 of 4096 follow one in the same 2 MiB */
    }
}

static void test_key_gives_the_order(void **state)
{
    (void)state;
    static struct scatter scatter[3];
    static const uint64_t key[3] = { 1, 1, 2 };
    const struct memory_range pool = { G(4), M(256) };
    struct scatter_walk walk[3];
    unsigned same = 0;
    for (size_t i = 0; i < 3; i++) {
        scatter_init(&scatter[i], &pool, 1, 1, key[i]);
        scatter_begin(&walk[i], &scatter[i]);
    }
    for (unsigned i = 0; i < 1000; i++) {
        const uint64_t frame = scatter_next(&walk[0]);
        assert_int_equal(scatter_next(&walk[1]), frame);
        same += scatter_next(&walk[2]) == frame ? 1 : 0;
    }
    assert_true(same < 5);
}

static void test_colours_are_even(void **state)
{
    (void)state;
    enum { MOST = 64 };
    static const unsigned colours[] = { 2, 8, 16, 24, 32, 64 };
    static struct scatter scatter;
    const struct memory_range pool[] = { { M(3) + K(20), M(100) }, { G(4), M(200) } };
    for (size_t c = 0; c < sizeof colours / sizeof colours[0]; c++) {
        unsigned count[MOST] = { 0 };
        struct scatter_walk walk;
        scatter_init(&scatter, pool, 2, colours[c], 1);
        scatter_begin(&walk, &scatter);
        for (unsigned i = 0; i < 8000; i++) {
            count[scatter_next(&walk) / PAGE_4K % colours[c]]++;
            unsigned least = count[0];
            unsigned most = count[0];
            for (unsigned k = 0; k < colours[c]; k++) {
                least = count[k] < least ? count[k] : least;
                most = count[k] > most ? count[k] : most;
            }
            assert_true(most - least <= 2);
        }
    }
}

/* The colours come in another order in each stretch. */
static void test_order_of_colours_changes(void **state)
{
    (void)state;
    enum { COLOURS = 32, STRETCHES = 50 };
    static struct scatter scatter;
    const struct memory_range pool = { G(4), M(200) };
    struct scatter_walk walk;
    uint64_t last[COLOURS] = { 0 };
    unsigned same = 0;
    scatter_init(&scatter, &pool, 1, COLOURS, 1);
    scatter_begin(&walk, &scatter);
    for (unsigned i = 0; i < STRETCHES * COLOURS; i++) {
        const uint64_t colour = scatter_next(&walk) / PAGE_4K % COLOURS;
        same += last[i % COLOURS] == colour ? 1 : 0;
        last[i % COLOURS] = colour;
    }
    assert_true(same < STRETCHES * COLOURS / 8);
}

/* ---- views -------------------------------------------------------------------------------------- */

static void test_each_page_size_shows_the_same_lines(void **state)
{
    (void)state;
    static const uint64_t offset[] = { 0, 64, K(4), M(2) - 64, M(300), G(2) - 64 };
    const struct memory_range arena = { ARENA + M(700), G(6) };
    uint64_t root[PAGE_SIZES];
    prepare_with(&arena, 1);
    for (unsigned leaf = 0; leaf < PAGE_SIZES; leaf++) {
        build(layout(G(2), leaf, PLACED_IN_ORDER));
        assert_int_equal(view.leaf, leaf);
        assert_int_equal(view.bytes, G(2));
        for (size_t i = 0; i < sizeof offset / sizeof offset[0]; i++) {
            assert_int_equal(shown(offset[i]), ARENA + G(1) + offset[i]);
        }
        struct paging_count count;
        paging_count(&view.space, VIEW_BASE, VIEW_END - VIEW_BASE, &count);
        for (unsigned size = 0; size < PAGE_SIZES; size++) {
            const uint64_t expected = size == leaf ? G(2) / paging_bytes(leaf) : 0;
            assert_int_equal(count.leaves[size], expected);
            assert_int_equal(count.accessed[size], 0);
        }
        root[leaf] = view.space.root;
    }
    assert_true(root[0] != root[1] && root[1] != root[2] && root[0] != root[2]);
}

static void test_bytes_are_rounded_up_to_leaves(void **state)
{
    (void)state;
    prepare();
    build(layout(1, SIZE_4K, PLACED_IN_ORDER));
    assert_int_equal(view.bytes, PAGE_4K);
    build(layout(PAGE_4K + 1, SIZE_4K, PLACED_SCATTERED));
    assert_int_equal(view.bytes, 2ull * PAGE_4K);
    build(layout(M(2) + 1, SIZE_2M, PLACED_IN_ORDER));
    assert_int_equal(view.bytes, M(4));
    build(layout(K(64), SIZE_1G, PLACED_IN_ORDER));
    assert_int_equal(view.bytes, G(1));
}

/* A larger view begins with the frames of a smaller one, and no two neighbours are. */
static void test_scattered_views_begin_alike(void **state)
{
    (void)state;
    enum { SMALL = 100, LARGE = 20000 };
    static uint64_t first[SMALL];
    static const enum placing kinds[] = { PLACED_SCATTERED, PLACED_BALANCED };
    prepare();
    for (size_t k = 0; k < 2; k++) {
        build(layout((uint64_t)SMALL * PAGE_4K, SIZE_4K, kinds[k]));
        for (uint64_t i = 0; i < SMALL; i++) {
            first[i] = shown(i * PAGE_4K);
        }
        build(layout(K(64), SIZE_4K, PLACED_IN_ORDER));
        build(layout((uint64_t)LARGE * PAGE_4K, SIZE_4K, kinds[k]));
        for (uint64_t i = 0; i < SMALL; i++) {
            assert_int_equal(shown(i * PAGE_4K), first[i]);
        }
        for (uint64_t i = 1; i < LARGE; i++) {
            assert_false(neighbours(shown(i * PAGE_4K), shown((i - 1) * PAGE_4K)));
        }
    }
}

static void test_aliases_repeat_the_frames(void **state)
{
    (void)state;
    prepare();
    for (unsigned i = 0; i < 4; i++) {
        static const struct {
            enum page_size leaf;
            enum placing placing;
            size_t frames;
        } kind[] = { { SIZE_4K, PLACED_IN_ORDER, 7 },
                     { SIZE_4K, PLACED_SCATTERED, 7 },
                     { SIZE_2M, PLACED_IN_ORDER, 3 },
                     { SIZE_1G, PLACED_IN_ORDER, 1 } };
        const uint64_t unit = paging_bytes(kind[i].leaf);
        struct layout wanted = layout(1000 * unit, kind[i].leaf, kind[i].placing);
        wanted.frames = kind[i].frames;
        build(wanted);
        assert_int_equal(view.bytes, 1000 * unit);
        for (uint64_t page = kind[i].frames; page < 1000; page++) {
            assert_int_equal(shown(page * unit), shown((page - kind[i].frames) * unit));
        }
        for (uint64_t page = 1; page < kind[i].frames; page++) {
            assert_true(shown(page * unit) != shown(0));
        }
        struct paging_leaf behind;
        assert_false(paging_find(&view.space, VIEW_BASE + 1000 * unit, &behind));
    }
    /* More frames than pages: then each page has its own. */
    struct layout wanted = layout(M(1), SIZE_4K, PLACED_IN_ORDER);
    wanted.frames = 1000;
    build(wanted);
    assert_int_equal(shown(M(1) - 1) - shown(0), M(1) - 1);
    wanted.placing = PLACED_SCATTERED;
    build(wanted);
    struct paging_leaf behind;
    assert_false(paging_find(&view.space, VIEW_BASE + M(1), &behind));
}

/* ---- what there is not -------------------------------------------------------------------------- */

static void test_absent_page_sizes(void **state)
{
    (void)state;
    const struct memory_range no_gib = { ARENA + M(1), G(2) - M(2) };
    const struct memory_range odd[] = { { ARENA + K(4), M(100) }, { ARENA + M(300), M(100) } };
    setup.pages_1g = false;
    prepare();
    assert_true(views.available[SIZE_4K] && views.available[SIZE_2M]);
    assert_false(views.available[SIZE_1G]);
    assert_null(views.reason[SIZE_2M]);
    assert_non_null(strstr(views.reason[SIZE_1G], "processor"));
    must_be_absent(layout(M(1), SIZE_1G, PLACED_IN_ORDER));
    build(layout(M(1), SIZE_2M, PLACED_IN_ORDER));

    setup.pages_1g = true;
    prepare_with(&no_gib, 1);
    assert_false(views.available[SIZE_1G]);
    assert_non_null(strstr(views.reason[SIZE_1G], "GiB of memory"));
    must_be_absent(layout(M(1), SIZE_1G, PLACED_IN_ORDER));
    build(layout(G(1), SIZE_2M, PLACED_IN_ORDER));
    prepare_with(odd, 2);
    assert_true(views.available[SIZE_2M]);
    assert_int_equal(views.in_order.base % M(2), 0);
}

static void test_absent_views(void **state)
{
    (void)state;
    const struct memory_range two[] = { { ARENA, M(200) }, { ARENA + M(512), M(300) } };
    prepare_with(two, 2);
    struct layout elsewhere = layout(M(1), SIZE_4K, PLACED_IN_ORDER);
    elsewhere.node = 1;
    must_be_absent(elsewhere);
    must_be_absent(layout(0, SIZE_4K, PLACED_IN_ORDER));
    must_be_absent(layout(UINT64_MAX, SIZE_4K, PLACED_IN_ORDER));
    must_be_absent(layout(M(1), SIZE_2M, PLACED_SCATTERED));
    must_be_absent(layout(M(1), SIZE_2M, PLACED_BALANCED));
    must_be_absent(layout(M(400), SIZE_4K, PLACED_IN_ORDER));
    build(layout(views.in_order.bytes, SIZE_4K, PLACED_IN_ORDER));
    must_be_absent(layout(views.in_order.bytes + 1, SIZE_4K, PLACED_IN_ORDER));
    /* A quarter of the memory can be scattered. */
    const uint64_t most = views_bytes(&views) / 4 / PAGE_4K * PAGE_4K;
    build(layout(most, SIZE_4K, PLACED_SCATTERED));
    must_be_absent(layout(most + PAGE_4K, SIZE_4K, PLACED_SCATTERED));
    /* Aliases need frames only for the set, but an address each. */
    prepare();
    struct layout aliases = layout(VIEW_END - VIEW_BASE, SIZE_1G, PLACED_IN_ORDER);
    aliases.frames = 1;
    build(aliases);
    aliases.bytes += PAGE_1G;
    must_be_absent(aliases);
    setup.colours = 1;
    prepare();
    must_be_absent(layout(M(1), SIZE_4K, PLACED_BALANCED));
    build(layout(M(1), SIZE_4K, PLACED_SCATTERED));
}

static void test_used_up_tables_are_said(void **state)
{
    (void)state;
    const struct memory_range small = { ARENA, M(80) };
    prepare_with(&small, 1);
    struct layout aliases = layout(G(16), SIZE_4K, PLACED_IN_ORDER);
    aliases.frames = 1;
    must_be_absent(aliases);
    build(layout(M(16), SIZE_4K, PLACED_SCATTERED));
}

static void must_refuse(enum status wanted)
{
    const char *reason = NULL;
    assert_int_equal(views_prepare(&views, &setup, &reason), wanted);
    assert_non_null(reason);
    (void)usual(NULL);
}

static void test_refusals(void **state)
{
    (void)state;
    static struct view_region many[VIEW_REGIONS + 1];
    const struct memory_range little = { ARENA, M(63) };
    mtrr.pat[0] = MEMORY_WRITE_THROUGH;
    must_refuse(DENIED);
    mtrr.pat[3] = MEMORY_WRITE_COMBINING;
    must_refuse(DENIED);
    setup.region = many;
    setup.regions = VIEW_REGIONS + 1;
    must_refuse(DENIED);
    regions[3].base = VIEW_BASE;
    must_refuse(DENIED);
    regions[3].bytes = UINT64_MAX;
    must_refuse(DENIED);
    setup.arena = &little;
    must_refuse(ABSENT);
    mtrr.present = true; /* and off: nothing is write-back */
    must_refuse(ABSENT);
}

/* ---- memory types ------------------------------------------------------------------------------- */

/* A hole of uncached memory in the middle of a GiB. */
static void test_only_write_back_memory_is_shown(void **state)
{
    (void)state;
    const uint64_t hole = ARENA + G(1) + M(512);
    struct memory_range arena = { ARENA, G(4) };
    mtrr.present = true;
    mtrr.enabled = true;
    mtrr.default_type = MEMORY_WRITE_BACK;
    mtrr.variables = 1;
    mtrr.variable[0] = (struct mtrr_variable){ .base = hole,
                                               .mask = (mtrr.limit - 1) & ~(M(1) - 1),
                                               .type = MEMORY_UNCACHED };
    prepare_with(&arena, 1);
    assert_int_equal(views.in_order.base, ARENA + G(2));
    assert_int_equal(views_bytes(&views) / M(1), (G(4) - M(1)) / M(1) - 9); /* tables and stack */
    build(layout(M(900), SIZE_4K, PLACED_SCATTERED));
    for (uint64_t at = 0; at < M(900); at += PAGE_4K) {
        const uint64_t frame = shown(at);
        assert_false(frame >= hole && frame < hole + M(1));
    }
    build(layout(G(2), SIZE_1G, PLACED_IN_ORDER));
    must_be_absent(layout(G(3), SIZE_1G, PLACED_IN_ORDER));
}

/* ---- everything else in the tables -------------------------------------------------------------- */

static bool is_in(uint64_t at, uint64_t base, uint64_t bytes)
{
    return at - base < bytes;
}

static bool is_shown_memory(uint64_t physical)
{
    for (size_t i = 0; i < views.pieces; i++) {
        if (is_in(physical, views.piece[i].base, views.piece[i].bytes)) {
            return true;
        }
    }
    return false;
}

/* What a page outside the view may be, by its place; all else must not be mapped. */
static unsigned rights_of(uint64_t at)
{
    for (size_t i = 0; i < setup.regions; i++) {
        static const unsigned flags[] = { PAGING_EXECUTE, 0, PAGING_WRITE,
                                          PAGING_WRITE | PAGING_UNCACHED };
        if (is_in(at, regions[i].base, regions[i].bytes)) {
            return flags[regions[i].kind];
        }
    }
    if (is_in(at, views.stack_end - VIEW_STACK_BYTES, VIEW_STACK_BYTES)) {
        return PAGING_WRITE;
    }
    assert_true(at == view.space.root || is_in(at, views.tables.base, views.tables.bytes));
    return 0;
}

/* Visits every leaf of a table and of those below it; the number of pages outside the view. */
static uint64_t check_leaves(uint64_t table, unsigned level, uint64_t base)
{
    const uint64_t span = 1ull << (12 + 9 * (level - 1));
    uint64_t pages = 0;
    for (uint64_t i = 0; i < 512; i++) {
        const uint64_t entry = ((const uint64_t *)(uintptr_t)table)[i];
        const uint64_t at = base + i * span;
        if ((entry & 1) == 0) {
            continue;
        }
        if (level > 1 && (entry & 0x80) == 0) {
            pages += check_leaves(entry & 0x000ffffffffff000, level - 1, at);
            continue;
        }
        struct paging_leaf leaf;
        assert_true(paging_find(&view.space, at, &leaf));
        if (at >= VIEW_BASE) {
            assert_true(is_in(at, VIEW_BASE, view.bytes));
            assert_int_equal(leaf.flags, PAGING_WRITE);
            assert_true(is_shown_memory(leaf.physical));
        } else {
            assert_int_equal(level, 1);
            assert_int_equal(leaf.physical, at);
            assert_int_equal(leaf.flags, rights_of(at));
            assert_false(is_shown_memory(at));
            pages++;
        }
    }
    return pages;
}

static void check_view(unsigned levels)
{
    const uint64_t expected =
        (IMAGE_BYTES - K(8)) / PAGE_4K + 1 + VIEW_STACK_BYTES / PAGE_4K + 1; /* and tables */
    struct paging_leaf leaf;
    const uint64_t pages = check_leaves(view.space.root, levels, 0);
    assert_true(pages >= expected + views.tables.used / PAGE_4K);
    assert_false(paging_find(&view.space, views.guard, &leaf));
    assert_int_equal(views.guard + PAGE_4K + VIEW_STACK_BYTES, views.stack_end);
    assert_int_equal(views.stack_end % 16, 0);
    for (uint64_t at = 0; at < views.tables.used; at += PAGE_4K) { /* to be read and flushed */
        assert_true(paging_find(&view.space, views.tables.base + at, &leaf));
    }
    assert_true(is_in(view.space.root, setup.low_base, VIEW_LOW_BYTES));
}

static void test_only_what_is_needed_is_mapped(void **state)
{
    (void)state;
    for (unsigned levels = 4; levels <= 5; levels++) {
        setup.rules.levels = levels;
        prepare();
        build(layout(M(256), SIZE_4K, PLACED_SCATTERED));
        check_view(levels);
        build(layout(M(256), SIZE_4K, PLACED_IN_ORDER));
        check_view(levels);
        build(layout(G(1), SIZE_2M, PLACED_IN_ORDER));
        check_view(levels);
        build(layout(G(3), SIZE_1G, PLACED_IN_ORDER));
        check_view(levels);
    }
}

static void test_a_view_of_nothing(void **state)
{
    (void)state;
    const char *reason = NULL;
    struct paging_leaf leaf;
    prepare();
    build(layout(M(1), SIZE_4K, PLACED_IN_ORDER));
    const uint64_t root = view.space.root;
    assert_int_equal(views_build(&views, NULL, &view, &reason), OK);
    assert_true(view.space.root != root);
    assert_int_equal(view.bytes, 0);
    assert_false(paging_find(&view.space, VIEW_BASE, &leaf));
    check_view(4);
}

static void test_regions_are_widened_to_pages(void **state)
{
    (void)state;
    struct paging_leaf leaf;
    const uint64_t base = regions[2].base;
    regions[2].base = base + 100;
    regions[2].bytes = K(4); /* into a second page */
    regions[3] = (struct view_region){ base + 8, 8, VIEW_DATA };
    prepare();
    build(layout(M(1), SIZE_4K, PLACED_IN_ORDER));
    assert_true(paging_find(&view.space, base, &leaf));
    assert_true(paging_find(&view.space, base + K(4), &leaf));
    assert_false(paging_find(&view.space, base + K(8), &leaf));
}

static void test_tables_are_small_and_in_one_piece(void **state)
{
    (void)state;
    prepare();
    build(layout(G(1), SIZE_4K, PLACED_SCATTERED));
    assert_true(views.tables.used < G(1) / 100);
    assert_true(is_in(views.tables.base, ARENA, G(ARENA_GIB)));
    assert_false(is_shown_memory(views.tables.base));
    assert_false(is_shown_memory(views.tables.base + views.tables.bytes - 1));
    assert_false(is_shown_memory(views.guard));
    assert_true(views.tables.bytes + VIEW_STACK_BYTES < G(ARENA_GIB) / 100);
    assert_int_equal(views_bytes(&views),
                     G(ARENA_GIB) - views.tables.bytes - VIEW_STACK_BYTES - PAGE_4K);
}

/* Tables and stack go where they cost no aligned GiB. */
static void test_tables_cost_no_aligned_gib(void **state)
{
    (void)state;
    const struct memory_range head = { ARENA + G(1) - M(32), G(1) + M(32) };
    const struct memory_range tail = { ARENA + G(1), G(1) + M(32) };
    const struct memory_range beside[] = { { ARENA, M(64) }, { ARENA + G(1), G(1) } };
    prepare_with(&head, 1);
    assert_int_equal(views.in_order.base, ARENA + G(1));
    assert_true(views.available[SIZE_1G]);
    prepare_with(&tail, 1);
    assert_int_equal(views.in_order.base, ARENA + G(1));
    assert_true(views.available[SIZE_1G]);
    prepare_with(beside, 2);
    assert_int_equal(views.in_order.base, ARENA + G(1));
    assert_int_equal(views.in_order.bytes, G(1));
}

/* Two allocations side by side are one piece. */
static void test_neighbouring_ranges_are_one(void **state)
{
    (void)state;
    const struct memory_range halves[] = { { ARENA + G(1), M(500) },
                                           { ARENA + G(1) + M(500), M(600) } };
    prepare_with(halves, 2);
    assert_true(views.available[SIZE_1G]);
    build(layout(G(1), SIZE_1G, PLACED_IN_ORDER));
}

/* Everything there is, page by page, beside large regions: the tables suffice. */
static void test_the_largest_view(void **state)
{
    (void)state;
    const struct memory_range arena = { ARENA + K(4), M(70) + K(12) };
    for (unsigned levels = 4; levels <= 5; levels++) {
        setup.rules.levels = levels;
        regions[3] = (struct view_region){ ARENA + G(4), M(300), VIEW_DATA };
        prepare_with(&arena, 1);
        build(layout(views.in_order.bytes, SIZE_4K, PLACED_IN_ORDER));
        /* More and more aliases, until the tables are used up to the last. */
        const char *reason = NULL;
        struct layout aliases = layout(views_bytes(&views), SIZE_4K, PLACED_SCATTERED);
        aliases.frames = views_bytes(&views) / PAGE_4K / 4;
        build(aliases);
        while (views_build(&views, &aliases, &view, &reason) == OK) {
            (void)check_leaves(view.space.root, levels, 0);
            aliases.bytes += PAGE_2M;
        }
        assert_true(views.tables.bytes - views.tables.used < PAGE_4K);
    }
}

/* As little memory as there may be, in as many pieces: no 2 MiB, and where a region wants many
 * tables no room for them. */
static void test_crumbs(void **state)
{
    (void)state;
    static struct memory_range crumb[MEMORY_ARENA_RANGES];
    for (uint64_t i = 0; i < MEMORY_ARENA_RANGES; i++) {
        crumb[i] = (struct memory_range){ ARENA + i * M(2), M(64) / MEMORY_ARENA_RANGES };
    }
    prepare_with(crumb, MEMORY_ARENA_RANGES);
    assert_false(views.available[SIZE_2M]);
    assert_non_null(views.reason[SIZE_2M]);
    must_be_absent(layout(M(1), SIZE_2M, PLACED_IN_ORDER));
    build(layout(M(15), SIZE_4K, PLACED_SCATTERED));
    regions[3] = (struct view_region){ ARENA + G(4), G(1), VIEW_DATA };
    setup.arena = crumb;
    setup.ranges = MEMORY_ARENA_RANGES;
    must_refuse(ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_frame_once_and_no_neighbours),
        cmocka_unit_test(test_frames_come_from_all_over_the_pool),
        cmocka_unit_test(test_key_gives_the_order),
        cmocka_unit_test(test_colours_are_even),
        cmocka_unit_test(test_order_of_colours_changes),
        cmocka_unit_test_setup(test_each_page_size_shows_the_same_lines, usual),
        cmocka_unit_test_setup(test_bytes_are_rounded_up_to_leaves, usual),
        cmocka_unit_test_setup(test_scattered_views_begin_alike, usual),
        cmocka_unit_test_setup(test_aliases_repeat_the_frames, usual),
        cmocka_unit_test_setup(test_absent_page_sizes, usual),
        cmocka_unit_test_setup(test_absent_views, usual),
        cmocka_unit_test_setup(test_used_up_tables_are_said, usual),
        cmocka_unit_test_setup(test_refusals, usual),
        cmocka_unit_test_setup(test_only_write_back_memory_is_shown, usual),
        cmocka_unit_test_setup(test_only_what_is_needed_is_mapped, usual),
        cmocka_unit_test_setup(test_a_view_of_nothing, usual),
        cmocka_unit_test_setup(test_regions_are_widened_to_pages, usual),
        cmocka_unit_test_setup(test_tables_are_small_and_in_one_piece, usual),
        cmocka_unit_test_setup(test_tables_cost_no_aligned_gib, usual),
        cmocka_unit_test_setup(test_neighbouring_ranges_are_one, usual),
        cmocka_unit_test_setup(test_the_largest_view, usual),
        cmocka_unit_test_setup(test_crumbs, usual),
    };
    return cmocka_run_group_tests(tests, make_memory, NULL);
}
