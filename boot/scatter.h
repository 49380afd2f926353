/* Which physical 4 KiB frames the pages of a scattered view show: an order of the whole pool that
 * is computed, not stored, and always begins alike, so that a larger view shows the frames of a
 * smaller one first. Pure. */
#ifndef BOOT_SCATTER_H
#define BOOT_SCATTER_H

#include "boot/memory.h"
#include "kernels/order.h"

enum { SCATTER_MOST_COLOURS = 1024 };

/* `colours` are the classes of frames that fall into the same sets of a physically indexed cache:
 * frame number mod (cache bytes / ways / 4 KiB). The pool is cut into rows of a frame of each. */
struct scatter {
    struct memory_range range[MEMORY_ARENA_RANGES]; /* whole rows */
    size_t ranges;
    unsigned colours; /* 1: no matter which */
    uint64_t rows;
    struct order row_order, colour_order;
};

/* Lays the order down over the ranges' whole rows. `colours`: 1 to SCATTER_MOST_COLOURS. With more
 * than one, each stretch of that many frames has each colour about once: over any first frames, no
 * colour is more than two ahead of another. Same key, same order. */
void scatter_init(struct scatter *scatter, const struct memory_range *range, size_t ranges,
                  unsigned colours, uint64_t key);

/* Frames in the pool. */
uint64_t scatter_frames(const struct scatter *scatter);

/* A way through the order. No two frames in succession are neighbours in memory, but for the last
 * two of the pool. */
struct scatter_walk {
    const struct scatter *scatter;
    uint64_t next;    /* place in the order */
    uint64_t last;    /* address given last */
    uint64_t held[2]; /* what would have been a neighbour, until it is none */
    unsigned holding;
};

void scatter_begin(struct scatter_walk *walk, const struct scatter *scatter);

/* The next frame's address, a multiple of 4 KiB. At most scatter_frames times. */
uint64_t scatter_next(struct scatter_walk *walk);

#endif
