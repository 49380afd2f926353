#include "tests/hosted/store.h"

#include "boot/scatter.h"
#include "tests/hosted/pages.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static bool is_file(enum backing backing)
{
    return backing == SMALL_SHARED || backing == RESERVED_2M || backing == RESERVED_1G;
}

static bool is_scattered(enum backing backing)
{
    return backing == SMALL_SCATTERED || backing == SMALL_SHARED;
}

/* A store grows by whole units. */
static size_t unit_of(enum backing backing)
{
    return backing == RESERVED_1G ? PAGE_1G : is_scattered(backing) ? SCATTER_BYTES : STORE_PIECE;
}

void store_touch_order(uint16_t order[SCATTER_PAGES], uint64_t seed)
{
    const struct memory_range stretch = { 0, SCATTER_BYTES };
    struct scatter scatter;
    struct scatter_walk walk;
    scatter_init(&scatter, &stretch, 1, 1, seed);
    scatter_begin(&walk, &scatter);
    for (unsigned page = 0; page < SCATTER_PAGES; page++) {
        order[scatter_next(&walk) / PAGE_4K] = (uint16_t)page;
    }
}

/* ---- opening ---------------------------------------------------------------------------------- */

/* A range of addresses that begins at a whole unit. */
static char *reserve(size_t room, size_t unit)
{
    char *all = mmap(NULL, room + unit, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) {
        return NULL;
    }
    const size_t before = round_up((uintptr_t)all, unit) - (uintptr_t)all;
    if (before > 0) {
        (void)munmap(all, before);
    }
    (void)munmap(all + before + room, unit - before);
    return all + before;
}

static int open_file(enum backing backing)
{
    const unsigned size = backing == RESERVED_1G   ? MFD_HUGETLB | MFD_HUGE_1GB
                          : backing == RESERVED_2M ? MFD_HUGETLB | MFD_HUGE_2MB
                                                   : 0;
    return memfd_create("ironchase", MFD_CLOEXEC | size);
}

/* In place of the range that was set aside. A file may be longer than the memory there is for it. */
static bool map_file(struct store *store)
{
    store->file = open_file(store->backing);
    if (store->file < 0 || ftruncate(store->file, (off_t)store->room) != 0) {
        return false;
    }
    const int flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
    return mmap(store->home, store->room, PROT_READ | PROT_WRITE, flags, store->file, 0) !=
           MAP_FAILED;
}

void store_close(struct store *store)
{
    if (store->home != NULL) {
        (void)munmap(store->home, store->room);
        if (store->file >= 0) {
            (void)close(store->file);
        }
    }
    *store = (struct store){ .backing = store->backing, .file = -1 };
}

/* Swapping must not touch what is measured. Where there is a limit on locked memory below the
 * store's room, as for most users, this fails and nothing is lost. */
static void lock(const struct store *store)
{
    (void)mlock2(store->home, store->room, MLOCK_ONFAULT);
}

enum status store_open(struct store *store, enum backing backing, size_t room,
                       const uint16_t *touch_order, const char **reason)
{
    const size_t unit = unit_of(backing);
    *store = (struct store){
        .backing = backing,
        .room = room / unit * unit,
        .file = -1,
        .touch_order = touch_order,
    };
    *reason = "there is less free memory than one page";
    if (store->room == 0) {
        return ABSENT;
    }
    *reason = "the system sets no address space aside";
    store->home = reserve(store->room, unit);
    if (store->home != NULL && (!is_file(backing) || map_file(store))) {
        lock(store);
        const bool large = backing == LARGE || backing == SMALL_IN_ORDER;
        (void)madvise(store->home, store->room, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        return OK;
    }
    store_close(store);
    return ABSENT;
}

bool store_is_open(const struct store *store)
{
    return store->home != NULL;
}

/* ---- filling ---------------------------------------------------------------------------------- */

static void touch(char *at)
{
    *(volatile char *)at = 0;
}

static void touch_each(char *from, size_t bytes, size_t stride)
{
    for (size_t i = 0; i < bytes; i += stride) {
        touch(from + i);
    }
}

/* Gives back what came in the wrong size. */
static void drop(char *from, size_t bytes)
{
    if (madvise(from, bytes, MADV_DONTNEED_LOCKED) != 0) {
        (void)madvise(from, bytes, MADV_DONTNEED);
    }
}

/* Large pages that are there with large leaves: those of the store's mapping, and in it there are
 * no others than the new ones (SMALL_IN_ORDER) or the old and the new ones (LARGE). */
static enum status touch_large(const struct store *store, size_t more, const char **reason)
{
    uint64_t leaves[PAGE_SIZES];
    char *from = store->home + store->filled;
    const size_t expected = store->backing == LARGE ? store->filled + more : more;
    touch_each(from, more, PAGE_2M);
    if (pages_count(store->home, store->room, leaves) && leaves[SIZE_2M] == expected / PAGE_2M) {
        return OK;
    }
    drop(from, more);
    *reason = "the system has not as many transparent huge pages of 2 MiB";
    return ABSENT;
}

/* A page-table leaf of 2 MiB is taken apart when the rights of a part of it change; the memory
 * behind it stays one piece. (Linux, Documentation/mm/transhuge.rst: refcounts and PTE-mapped huge
 * pages.) Without MADV_NOHUGEPAGE khugepaged would put it together again. */
static enum status fill_in_order(const struct store *store, size_t more, const char **reason)
{
    char *from = store->home + store->filled;
    bool done = true;
    (void)madvise(store->home, store->room, MADV_HUGEPAGE);
    const enum status status = touch_large(store, more, reason);
    for (size_t i = 0; status == OK && i < more; i += PAGE_2M) {
        done = done && mprotect(from + i, PAGE_4K, PROT_READ) == 0 &&
               mprotect(from + i, PAGE_4K, PROT_READ | PROT_WRITE) == 0;
    }
    (void)madvise(store->home, store->room, MADV_NOHUGEPAGE);
    if (!done) {
        drop(from, more);
        *reason = "the system does not take the leaves of large pages apart";
        return ABSENT;
    }
    return status;
}

static void fill_scattered(const struct store *store, size_t more)
{
    for (size_t stretch = 0; stretch < more; stretch += SCATTER_BYTES) {
        char *from = store->home + store->filled + stretch;
        for (unsigned i = 0; i < SCATTER_PAGES; i++) {
            touch(from + (size_t)store->touch_order[i] * PAGE_4K);
        }
    }
}

static enum status fill_reserved(const struct store *store, size_t more, const char **reason)
{
    if (fallocate(store->file, 0, (off_t)store->filled, (off_t)more) != 0) {
        *reason = "the system has not as many reserved pages left (hugetlb)";
        return ABSENT;
    }
    touch_each(store->home + store->filled, more, PAGE_2M);
    return OK;
}

static enum status fill(const struct store *store, size_t more, const char **reason)
{
    switch (store->backing) {
    case SMALL_IN_ORDER: return fill_in_order(store, more, reason);
    case LARGE: return touch_large(store, more, reason);
    case RESERVED_2M:
    case RESERVED_1G: return fill_reserved(store, more, reason);
    default: fill_scattered(store, more); return OK;
    }
}

enum status store_fill(struct store *store, size_t bytes, const char **reason)
{
    if (bytes > store->room) {
        *reason = "larger than the memory there is to measure in";
        return ABSENT;
    }
    const size_t wanted = round_up(bytes, unit_of(store->backing));
    if (wanted <= store->filled) {
        return OK;
    }
    const enum status status = fill(store, wanted - store->filled, reason);
    if (status == OK) {
        store->filled = wanted;
    }
    return status;
}

/* ---- showing ---------------------------------------------------------------------------------- */

/* Moves the pages; the leaves stay as they are. Where they were, nothing else may settle. */
static enum status move_away(struct store *store, void *base, size_t bytes, const char **reason)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mremap(store->home, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, base) != base) {
        *reason = "the system does not move this memory";
        return ABSENT;
    }
    store->away = bytes;
    if (mmap(store->home, bytes, PROT_NONE, flags, -1, 0) != store->home) {
        *reason = "the system keeps no place for this memory";
        return ABSENT;
    }
    return OK;
}

static enum status move_back(struct store *store, void *base, const char **reason)
{
    const size_t bytes = store->away;
    if (mremap(base, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, store->home) != store->home) {
        *reason = "the system does not move this memory back";
        return IO_ERROR;
    }
    store->away = 0;
    return OK;
}

/* One mapping shows `frames` pages; all begin with the first frame. */
static enum status map_shared(const struct store *store, char *base, const struct shape *shape,
                              const char **reason)
{
    const int flags = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
    for (size_t page = 0; page < shape->pages; page += shape->frames) {
        const size_t left = shape->pages - page;
        const size_t bytes = (left < shape->frames ? left : shape->frames) * shape->unit;
        char *at = base + page * shape->unit;
        if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags, store->file, 0) != at) {
            *reason = "the system has no room for as many mappings (vm.max_map_count)";
            (void)munmap(base, shape->pages * shape->unit);
            return ABSENT;
        }
        if (store->backing == SMALL_SHARED) {
            (void)madvise(at, bytes, MADV_NOHUGEPAGE);
        }
    }
    return OK;
}

enum status store_show(struct store *store, void *base, const struct shape *shape,
                       const char **reason)
{
    return is_file(store->backing) ? map_shared(store, base, shape, reason)
                                   : move_away(store, base, shape->pages * shape->unit, reason);
}

enum status store_hide(struct store *store, void *base, const struct shape *shape,
                       const char **reason)
{
    if (!is_file(store->backing)) {
        return store->away > 0 ? move_back(store, base, reason) : OK;
    }
    if (munmap(base, shape->pages * shape->unit) != 0) {
        *reason = "the system does not take a mapping away";
        return IO_ERROR;
    }
    return OK;
}
