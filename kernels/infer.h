/* Facts from curves: what a run says about the machine, beside what the machine says of itself.
 *
 * Each finding has the name, the measured value and its unit, the claimed value, whether they agree,
 * and a sentence. `measured` is computed from measured points alone; claims are only laid beside it.
 * What cannot be told is NAN, and the sentence says "cannot tell" and why.
 *
 * From the chase come l1d_size to l4_size (bytes), l1d_latency to l3_latency and memory_latency (ns,
 * and the same with _cycles), translation_cost_4k, translation_cost_2m, placement_cost and
 * prefetch_gain (ns a load).
 *
 * Pure but for a work space of their own, so that one caller at a time may use them. Window: no. */
#ifndef KERNELS_INFER_H
#define KERNELS_INFER_H

#include "kernels/result.h"

/* The most findings that either function makes. */
enum { INFER_MOST = 24 };

/* Findings of a run into `out`, at most `room`, in the order they should be read; returns how many.
 * Names and units are static. A run without a chase has none. */
size_t infer_run(const struct results *results, struct finding *out, size_t room);

/* A latency curve of any origin, in random order. */
struct latency_curve {
    const uint64_t *set; /* bytes, in any order */
    const double *latency;
    size_t points;    /* those of no set or no finite latency above 0 are left out, as is
                    * what comes after CURVE_SIZES */
    bool cycles;      /* the latency is in core cycles, else in ns */
    bool large_pages; /* 2 MiB or more: TLBs have no part in it. If in doubt, false */
};

/* The same from such a curve, with no claims. */
size_t infer_curve(const struct latency_curve *curve, struct finding *out, size_t room);

#endif
