/* A kernel's loop under way: one continuous walk over its data, whose cursor is carried on from
 * the warm-up into the samples and from each sample into the next. */
#ifndef KERNELS_WALK_H
#define KERNELS_WALK_H

#include "kernels/kernel.h"

struct walk {
    const struct bench *bench;
    const struct kernel_code *code;
    struct job job;
    void *cursor;
    uint64_t operations; /* done since the first cursor */
};

/* Puts the cursor at the start. job must have begun. Anywhere: touches no data. */
void walk_begin(struct walk *walk);

/* Goes on by that many operations, untimed. In a body only. */
void walk_on(struct walk *walk, uint64_t operations);

/* Operations of one lap over all the data: lines of its cycle, or of the cycles of all its chains;
 * at least 1. Anywhere. */
uint64_t walk_lap(const struct walk *walk);

/* The bench's clock now, and a duration in its ticks. In a body only. */
uint64_t bench_ticks(const struct bench *bench);
uint64_t ticks_in(const struct bench *bench, double seconds);

#endif
