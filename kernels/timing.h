/* From two readings of the clock to one sample: the timer's own cost, how long a sample must
 * last, core cycles with and without a counter, and what struck meanwhile.
 * Everything here runs in a body, writes to the caller's memory and the stack only, and rounds
 * nothing. */
#ifndef KERNELS_TIMING_H
#define KERNELS_TIMING_H

#include "kernels/sampler.h"
#include "kernels/walk.h"

/* What the clock itself costs. */
struct timer {
    double ticks, cycles; /* between two readings with nothing in between: median; cycles NAN
                             where the bench counts none */
    double uncertainty;   /* of a difference of two readings, in ticks */
    uint64_t chain_laps;  /* of spin_adds, for a rate that is known to 0.1 % */
};

/* How much a sample does: `calls` of the loop, each of `operations`, each after a `prepare` where
 * the kernel has one. */
struct sample_length {
    uint64_t operations, calls;
};

/* Measures the timer. Takes well below a millisecond. */
void timer_measure(const struct bench *bench, struct timer *timer);

/* Laps of spin_adds (64 dependent adds each) that last about `ticks`. */
uint64_t spin_laps(const struct bench *bench, double ticks);

/* Adds a tick over that many laps, less the timer's cost: one add a cycle, so the core clock in
 * units of the TSC's. */
double spin_rate(const struct bench *bench, uint64_t laps, double timer_ticks);

/* Ticks that a sample must last at least: a millisecond if `memory` (many refresh intervals of
 * 7.8 or 3.9 us), and a thousand times the timer's uncertainty; but never more than 50 ms, and
 * then *resolved is false. Pure. */
double sample_ticks(const struct bench *bench, const struct timer *timer, bool memory,
                    bool *resolved);

/* Takes one sample where the walk stands. Fills ns, cycles and flags, and answers with its length
 * in ticks, the timer's cost taken off. */
double take_sample(struct walk *walk, const struct timer *timer, struct sample_length length,
                   struct sample *sample);

/* A length that lasts `wanted` ticks, a little more rather than less, after one of `ticks`. A
 * kernel that is prepared before each call gets more calls, any other more operations. Pure. */
struct sample_length longer_sample(const struct walk *walk, struct sample_length length,
                                   double ticks, double wanted);

#endif
