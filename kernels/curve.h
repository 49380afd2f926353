/* Which sizes a curve over the working set has, and which of them speak for a cache level.
 * All pure; may be called anywhere. Window: yes. */
#ifndef KERNELS_CURVE_H
#define KERNELS_CURVE_H

#include "hw/machine.h"

enum {
    CURVE_SIZES = 160, /* most: 4 an octave from 4 KiB to 2^52 bytes */
    CURVE_LEVELS = MACHINE_CACHES + 1,
    LEVEL_ANCHORS = 3,
};

struct curve {
    uint64_t size[CURVE_SIZES]; /* bytes, rising: whole lines, above a page whole 4 KiB pages */
    bool anchor[CURVE_SIZES];   /* this size was marked */
    size_t count;
};

/* Sizes from 4 KiB on, `per_octave` (at least 1) in each doubling, and `largest` as the last; none
 * is marked. A largest of less than 4 KiB is the only one, and at least one line. */
void curve_make(struct curve *curve, unsigned per_octave, uint64_t largest);

/* Capacities of the machine's data caches, rising; a level that is not larger than the one before
 * adds nothing and is left out. Returns how many. */
size_t cache_sizes(const struct machine *machine, uint64_t size[MACHINE_CACHES]);
/* Capacity of the last cache, 0 if none is known. */
uint64_t last_cache_size(const struct machine *machine);

/* Sizes, as first and last index, that lie in one cache level and not in the one before, or beyond
 * all. The top quarter of a cache is left out: it is shared with code and page tables, and its
 * sets do not fill evenly. */
struct span {
    size_t first, last;
};

/* The levels that the curve has sizes in, rising; the last may be memory. Returns how many. */
size_t curve_levels(const struct curve *curve, const struct machine *machine,
                    struct span level[CURVE_LEVELS]);

/* Marks LEVEL_ANCHORS sizes of each level, evenly spread in ratio, its largest included. */
void curve_mark_levels(struct curve *curve, const struct machine *machine);
/* Marks LEVEL_ANCHORS sizes in all: of the first level, of a middle one, and the largest. */
void curve_mark_few(struct curve *curve, const struct machine *machine);
void curve_mark_all(struct curve *curve);

#endif
