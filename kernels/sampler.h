/* From a measurement to samples, from samples to a point: the same code on the metal, hosted and
 * on the model machine. */
#ifndef KERNELS_SAMPLER_H
#define KERNELS_SAMPLER_H

#include "kernels/kernel.h"

struct sample {
    double ns, cycles; /* per operation; cycles NAN where unknown */
    unsigned visit;
    uint32_t flags; /* bit i: enum flag i */
};

/* All samples of one measurement so far; the caller owns the memory and hands it in empty. */
struct series {
    struct sample *sample;
    size_t count, room;
    size_t wanted;     /* samples that all visits shall have: the first one's pilot sets it */
    size_t retaken;    /* samples thrown away because something struck, at most 3R */
    double operations; /* of all samples together */
    uint32_t flags;    /* of the measurement: unsettled, smashed… */
    struct point_proof proof;
    struct fault fault; /* if a visit FAULTED */
    const char *reason; /* static text, or NULL */
};

struct sampling {
    unsigned repetitions;   /* R: at least this many samples in all visits, at most 4R */
    unsigned visits;        /* of the suite; sets over 64 MiB have one */
    uint64_t seed;          /* of the run; each visit derives its own */
    double warm_up_seconds; /* most the data's warm-up may take: 0.5, `smoke` 0.05 */
    double spin_seconds;    /* most the clock's warm-up may take: 0.02 */
    uint64_t last_cache;    /* bytes, for the warm-up's rules */
    uint64_t second_cache;  /* bytes of L2 */
};

/* Visits that this measurement has under `how`. Pure. */
unsigned sampler_visits(const struct sampling *how, const struct measurement *measurement);

/* Maps the view, builds and proves the data if `build` (first member of a group or a new seed),
 * warms up and adds the samples of visit `number`, from 0, to the series. Outside the window.
 * OK; ABSENT: no such view, `series->reason` tells; FAULTED: `series->fault` tells;
 * DENIED: the data's proof or a sample's check failed, `series->reason` tells. */
enum status sampler_visit(const struct bench *bench, const struct measurement *measurement,
                          const struct sampling *how, unsigned number, bool build,
                          struct series *series);

/* Makes the point of a series with at least one sample: statistics, flags, proof. Pure. */
void sampler_point(const struct measurement *measurement, const struct sampling *how,
                   const struct series *series, struct point *point);

#endif
