/* Which rises of a latency curve are caches. Pure. Window: yes.
 *
 * Rises that stand close together are one level, whose step no single shape fits; a small one by itself
 * is a TLB that begins to miss, or what the page tables' lines add: a cache is a good deal slower
 * than the one before it, a first-level TLB costs a few cycles. Nothing that the processor claims is
 * used. */
#ifndef KERNELS_INFER_LEVELS_H
#define KERNELS_INFER_LEVELS_H

#include "kernels/infer_fit.h"

enum { INFER_LEVELS = 4 };

struct level {
    uint64_t size;  /* bytes: the size of the curve that is nearest to the cache's */
    double latency; /* of its hits, from the staircase, in the curve's unit */
    /* Points [rest_first, rest_end) of sets that the level answers nearly alone; none if equal. */
    size_t rest_first, rest_end;
};

struct ladder {
    size_t levels;                        /* caches that were found */
    struct level level[INFER_LEVELS + 1]; /* by size; the one after the last is what lies beyond,
                                        * its size the largest set */
};

/* Finds the levels of a fitted curve; `small_pages`: on 4 KiB pages, where TLBs have their part.
 * A cache of more than half the largest set is not found: too little of its step is seen. */
void find_levels(const struct fit_data *data, const struct staircase *stairs, bool small_pages,
                 struct ladder *ladder);

#endif
