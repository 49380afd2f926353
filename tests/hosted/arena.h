/* The memory that the hosted bench shows: what kernels/bench.h promises of `map`, made of stores.
 *
 * Each page size has memory of its own here, so what one view of a placing wrote is carried over,
 * in pieces, to the next view that shows it under another page size. A placing keeps its frames per
 * page size, all its contents, and the one base. Nothing here is called from a body. */
#ifndef TESTS_HOSTED_ARENA_H
#define TESTS_HOSTED_ARENA_H

#include "kernels/bench.h"
#include "tests/hosted/store.h"

/* Where every view begins: as on the bare machine (boot/view.h), so that the same order is the same
 * pointers. Programs and libraries lie above it. */
#define ARENA_BASE (UINT64_C(64) << 40)

enum { ARENA_LEAST = SCATTER_BYTES }; /* bytes of the largest view, at least */

struct arena {
    struct store store[BACKINGS];
    const char *absent[BACKINGS]; /* why a store is not open */
    uint16_t touch_order[SCATTER_PAGES];
    size_t room;              /* bytes of the largest view */
    uint8_t *owner[PLACINGS]; /* of each piece: the store that has its contents, or BACKINGS */

    /* What is shown. */
    struct store *shown; /* NULL: nothing */
    struct shape shape;
    enum page_size leaf;
};

/* Sets address space aside for views of up to `bytes` bytes (at least ARENA_LEAST). `seed`: of the
 * scattered frames. Fills in the page sizes there are. ABSENT with a reason: there can be none at
 * all. The arena must not be moved afterwards. */
enum status arena_open(struct arena *arena, size_t bytes, uint64_t seed, bool available[PAGE_SIZES],
                       const char *why_not[PAGE_SIZES], const char **reason);
/* Gives everything back. */
void arena_close(struct arena *arena);

/* Shows memory as `want` at ARENA_BASE, instead of what was shown. ABSENT with a reason where there
 * is none such, or where the system does not give the promised leaves; nothing is shown then. */
enum status arena_show(struct arena *arena, const struct layout *want, const char **reason);

/* Bytes that are shown, 0 if nothing is. */
size_t arena_shown(const struct arena *arena);

/* Counts the leaves of what is shown; false where the system hides them. */
bool arena_leaves(const struct arena *arena, uint64_t leaves[PAGE_SIZES]);

#endif
