/* Memory of one kind, as a Linux program can get it, and shown where measurements expect it.
 *
 * What leaf shows a page cannot be chosen on Linux: it follows from how the memory was got. So each
 * way of getting it is a store. Its memory is at `home`, where it is filled and copied; while it is
 * shown, it is at the base of all views, and nowhere else (the shared kinds: there as well).
 * Nothing here is called from a body. */
#ifndef TESTS_HOSTED_STORE_H
#define TESTS_HOSTED_STORE_H

#include "hw/machine.h"

enum backing {
    /* 4 KiB leaves over memory that was got as transparent huge pages, whose page-table leaves
     * were then taken apart: so 512 pages in succession are neighbours in physical memory. */
    SMALL_IN_ORDER,
    /* 4 KiB pages, each got when first touched, in an order in which no two neighbours follow
     * each other. The system gives the frames of a free stretch one after the other. */
    SMALL_SCATTERED,
    SMALL_SHARED, /* the same, of a file in memory, so that many pages can show one frame */
    LARGE,        /* transparent huge pages of 2 MiB */
    RESERVED_2M,  /* the pages that the administrator has set aside (hugetlb) */
    RESERVED_1G,
    BACKINGS
};

/* Stores grow in whole pieces at least. */
enum { STORE_PIECE = 2 * MIB };

/* Frames of the scattered kinds are mixed within such stretches. */
enum { SCATTER_BYTES = 64 * MIB, SCATTER_PAGES = SCATTER_BYTES / PAGE_4K };

struct store {
    enum backing backing;
    char *home;
    size_t room;                 /* bytes it may grow to */
    size_t filled;               /* bytes there are, from the first on */
    size_t away;                 /* of these, bytes that are shown and thereby not at home */
    int file;                    /* of the shared kinds */
    const uint16_t *touch_order; /* of the scattered kinds: SCATTER_PAGES pages */
};

/* The order in which to touch the pages of a stretch of SCATTER_BYTES. Same seed, same order. */
void store_touch_order(uint16_t order[SCATTER_PAGES], uint64_t seed);

/* Sets address space aside for up to `room` bytes, of reserved pages for as many as are free; takes
 * no memory. `touch_order` outlives the store. ABSENT with a reason where there is none of this
 * kind; the store is then closed. */
enum status store_open(struct store *store, enum backing backing, size_t room,
                       const uint16_t *touch_order, const char **reason);
bool store_is_open(const struct store *store);
/* Gives everything back. Not while it is shown. */
void store_close(struct store *store);

/* Sees to it that there are `bytes` bytes, every page present. Those that were there stay as and
 * where they are. ABSENT with a reason; what there was is still there. Not while it is shown. */
enum status store_fill(struct store *store, size_t bytes, const char **reason);

/* How a store is shown. */
struct shape {
    size_t unit;          /* bytes of a leaf */
    size_t pages, frames; /* page k shows the frame k mod `frames` */
};

/* Shows its first `frames` pages at `base`, where nothing may be mapped. With fewer frames than
 * pages the store must be of a shared kind. ABSENT with a reason: the system does not. */
enum status store_show(struct store *store, void *base, const struct shape *shape,
                       const char **reason);
/* Takes back what is shown at `base`. */
enum status store_hide(struct store *store, void *base, const struct shape *shape,
                       const char **reason);

#endif
