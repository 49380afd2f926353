#include "tests/hosted/arena.h"

#include "tests/hosted/pages.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const size_t leaf_bytes[PAGE_SIZES] = { PAGE_4K, PAGE_2M, PAGE_1G };

static void *base(void)
{
    return (void *)(uintptr_t)ARENA_BASE;
}

/* ---- opening ---------------------------------------------------------------------------------- */

/* Bytes of the reserved pages of a size that nobody uses. */
static size_t reserved_bytes(enum page_size size)
{
    char path[80];
    size_t pages = 0;
    (void)snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%zukB/free_hugepages",
                   leaf_bytes[size] / KIB);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        pages = fscanf(file, "%zu", &pages) == 1 ? pages : 0;
        (void)fclose(file);
    }
    return pages * leaf_bytes[size];
}

/* The word in brackets is the one that holds: "always [madvise] never". */
static bool has_transparent_pages(void)
{
    char line[80] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    if (file == NULL) {
        return false;
    }
    const bool read = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    return read && strstr(line, "[never]") == NULL;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void open_store(struct arena *arena, enum backing backing, size_t room)
{
    (void)store_open(&arena->store[backing], backing, room, arena->touch_order,
                     &arena->absent[backing]);
}

static void open_stores(struct arena *arena)
{
    const size_t transparent = has_transparent_pages() ? arena->room : 0;
    open_store(arena, SMALL_SCATTERED, arena->room);
    open_store(arena, SMALL_SHARED, arena->room);
    open_store(arena, SMALL_IN_ORDER, transparent);
    open_store(arena, LARGE, transparent);
    open_store(arena, RESERVED_2M, least(reserved_bytes(SIZE_2M), arena->room));
    open_store(arena, RESERVED_1G, reserved_bytes(SIZE_1G));
    if (transparent == 0) {
        arena->absent[SMALL_IN_ORDER] =
            "only transparent huge pages are neighbours in memory, and they are switched off";
        arena->absent[LARGE] = "transparent huge pages are switched off, and too few pages of 2 "
                               "MiB are reserved (vm.nr_hugepages)";
    }
    if (!store_is_open(&arena->store[RESERVED_1G])) {
        arena->absent[RESERVED_1G] = "no pages of 1 GiB are reserved (hugepages-1048576kB)";
    }
}

/* A store that opens need not give anything: one page tells. */
static void find_page_sizes(struct arena *arena, bool available[PAGE_SIZES],
                            const char *why_not[PAGE_SIZES])
{
    static const enum backing choice[PAGE_SIZES][2] = {
        [SIZE_4K] = { SMALL_SCATTERED, SMALL_SCATTERED },
        [SIZE_2M] = { RESERVED_2M, LARGE },
        [SIZE_1G] = { RESERVED_1G, RESERVED_1G },
    };
    for (unsigned size = 0; size < PAGE_SIZES; size++) {
        available[size] = false;
        for (unsigned i = 0; i < 2 && !available[size]; i++) {
            struct store *store = &arena->store[choice[size][i]];
            why_not[size] = arena->absent[store->backing];
            available[size] =
                store_is_open(store) && store_fill(store, leaf_bytes[size], &why_not[size]) == OK;
        }
        why_not[size] = available[size] ? NULL : why_not[size];
    }
}

static size_t pieces(const struct arena *arena)
{
    return least((arena->room + STORE_PIECE - 1) / STORE_PIECE, SIZE_MAX / PLACINGS);
}

static bool open_owners(struct arena *arena)
{
    const size_t each = pieces(arena);
    uint8_t *all =
        mmap(NULL, each * PLACINGS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        return false;
    }
    memset(all, BACKINGS, each * PLACINGS);
    for (size_t i = 0; i < PLACINGS; i++) {
        arena->owner[i] = all + i * each;
    }
    return true;
}

enum status arena_open(struct arena *arena, size_t bytes, uint64_t seed, bool available[PAGE_SIZES],
                       const char *why_not[PAGE_SIZES], const char **reason)
{
    memset(arena, 0, sizeof *arena);
    arena->room = bytes / SCATTER_BYTES * SCATTER_BYTES;
    store_touch_order(arena->touch_order, seed);
    open_stores(arena);
    if (!store_is_open(&arena->store[SMALL_SCATTERED])) {
        *reason = arena->absent[SMALL_SCATTERED];
        return ABSENT;
    }
    if (!open_owners(arena)) {
        *reason = "the system has no memory left";
        return ABSENT;
    }
    find_page_sizes(arena, available, why_not);
    return OK;
}

void arena_close(struct arena *arena)
{
    const char *ignored;
    if (arena->shown != NULL) {
        (void)store_hide(arena->shown, base(), &arena->shape, &ignored);
    }
    for (unsigned i = 0; i < BACKINGS; i++) {
        store_close(&arena->store[i]);
    }
    if (arena->owner[0] != NULL) {
        (void)munmap(arena->owner[0], pieces(arena) * PLACINGS);
    }
    memset(arena, 0, sizeof *arena);
}

/* ---- choosing --------------------------------------------------------------------------------- */

static bool can_hold(const struct arena *arena, enum backing backing, size_t bytes)
{
    return store_is_open(&arena->store[backing]) && bytes <= arena->store[backing].room;
}

/* The store for such a view; NULL, with a reason, where there is none. */
static struct store *choose(struct arena *arena, const struct layout *want,
                            const struct shape *shape, const char **reason)
{
    const bool aliased = shape->frames < shape->pages;
    const size_t bytes = shape->frames * shape->unit;
    enum backing backing;
    if (want->leaf == SIZE_1G) {
        backing = RESERVED_1G;
    } else if (want->leaf == SIZE_2M) {
        backing = aliased || can_hold(arena, RESERVED_2M, bytes) ? RESERVED_2M : LARGE;
    } else if (want->placing == PLACED_SCATTERED) {
        backing = aliased ? SMALL_SHARED : SMALL_SCATTERED;
    } else {
        backing = SMALL_IN_ORDER;
    }
    *reason = arena->absent[backing];
    return store_is_open(&arena->store[backing]) ? &arena->store[backing] : NULL;
}

/* Why no Linux program can have such a view, or NULL. */
static const char *impossible(const struct arena *arena, const struct layout *want,
                              const struct shape *shape)
{
    if (want->node != 0) {
        return "this program measures the memory of its own node";
    }
    if (want->placing == PLACED_BALANCED) {
        return "the system chooses the frames, and thereby their sets in the caches";
    }
    if (want->placing != PLACED_IN_ORDER && want->leaf != SIZE_4K) {
        return "only 4 KiB pages are scattered";
    }
    if (shape->pages == 0 || shape->pages > arena->room / shape->unit + 1) {
        return "larger than the memory there is to measure in";
    }
    if (shape->frames < shape->pages && want->leaf == SIZE_4K && want->placing == PLACED_IN_ORDER) {
        return "the system does not place frames in order that several pages show";
    }
    if (shape->frames < shape->pages && want->leaf == SIZE_2M &&
        !store_is_open(&arena->store[RESERVED_2M])) {
        return "only reserved pages of 2 MiB can be shown several times (vm.nr_hugepages)";
    }
    return NULL;
}

static struct shape shape_of(const struct layout *want)
{
    const size_t unit = leaf_bytes[want->leaf];
    const size_t pages = want->bytes / unit + (want->bytes % unit != 0);
    const bool aliased = want->frames != 0 && want->frames < pages;
    return (struct shape){ .unit = unit, .pages = pages, .frames = aliased ? want->frames : pages };
}

/* ---- showing ---------------------------------------------------------------------------------- */

static enum status hide(struct arena *arena, const char **reason)
{
    struct store *store = arena->shown;
    arena->shown = NULL;
    return store != NULL ? store_hide(store, base(), &arena->shape, reason) : OK;
}

/* Brings to `store` what the placing's other stores have of its first `bytes` bytes. (A page of
 * 1 GiB may be larger than what any of them can hold.) */
static void carry_over(struct arena *arena, enum placing placing, const struct store *store,
                       size_t bytes)
{
    const size_t shared = least(bytes, arena->room);
    for (size_t piece = 0; piece * STORE_PIECE < shared; piece++) {
        uint8_t *owner = &arena->owner[placing][piece];
        if (*owner != BACKINGS && *owner != store->backing) {
            memcpy(store->home + piece * STORE_PIECE,
                   arena->store[*owner].home + piece * STORE_PIECE, STORE_PIECE);
        }
        *owner = (uint8_t)store->backing;
    }
}

/* Was everything got as it was asked for? A system that does not tell is believed. */
static bool leaves_are_right(const struct arena *arena)
{
    uint64_t leaves[PAGE_SIZES];
    if (!arena_leaves(arena, leaves)) {
        return true;
    }
    for (unsigned size = 0; size < PAGE_SIZES; size++) {
        if (leaves[size] != (size == (unsigned)arena->leaf ? arena->shape.pages : 0)) {
            return false;
        }
    }
    return true;
}

static void touch_leaves(const struct arena *arena)
{
    const char *first = base();
    for (size_t page = 0; page < arena->shape.pages; page++) {
        (void)*(const volatile char *)(first + page * arena->shape.unit);
    }
}

enum status arena_show(struct arena *arena, const struct layout *want, const char **reason)
{
    const struct shape shape = shape_of(want);
    enum status status = hide(arena, reason);
    if (status != OK) {
        return status;
    }
    *reason = impossible(arena, want, &shape);
    struct store *store = *reason == NULL ? choose(arena, want, &shape, reason) : NULL;
    if (store == NULL) {
        return ABSENT;
    }
    status = store_fill(store, shape.frames * shape.unit, reason);
    if (status != OK) {
        return status;
    }
    carry_over(arena, want->placing, store, shape.frames * shape.unit);
    arena->shown = store;
    arena->shape = shape;
    arena->leaf = want->leaf;
    status = store_show(store, base(), &shape, reason);
    if (status == OK) {
        touch_leaves(arena);
        *reason = "the system took pages apart, or put them together, that it had given";
        status = leaves_are_right(arena) ? OK : ABSENT;
    }
    if (status != OK) {
        const char *ignored;
        (void)hide(arena, &ignored);
        return status;
    }
    *reason = NULL;
    return OK;
}

size_t arena_shown(const struct arena *arena)
{
    return arena->shown != NULL ? arena->shape.pages * arena->shape.unit : 0;
}

bool arena_leaves(const struct arena *arena, uint64_t leaves[PAGE_SIZES])
{
    return pages_count(base(), arena_shown(arena), leaves);
}
