/* Whoever watches a run: the console and the journal implement it, the run loop calls it.
 * Every member may be NULL. All calls come outside the window. */
#ifndef KERNELS_OBSERVER_H
#define KERNELS_OBSERVER_H

#include "kernels/result.h"

struct kernel;
struct measurement;
struct series;

struct progress {
    size_t done, all;    /* measurements (visits counted singly) */
    double seconds_done; /* since the run began */
    double seconds_left; /* estimate */
    const char *experiment;
    const struct variant *variant; /* of the measurement that comes next */
};

struct observer {
    void *self;
    void (*begin)(void *self, const struct results *results);
    void (*progress)(void *self, const struct progress *progress);
    void (*experiment_begin)(void *self, const struct results *results,
                             const struct experiment *experiment, const struct kernel *kernel);
    /* One visit's samples of a measurement that has more visits to come. */
    void (*visit)(void *self, const struct experiment *experiment,
                  const struct measurement *measurement, const struct series *series);
    /* `series` holds the samples the point was made of. */
    void (*point)(void *self, const struct experiment *experiment, const struct point *point,
                  const struct series *series);
    void (*experiment_end)(void *self, const struct results *results,
                           const struct experiment *experiment);
    void (*finding)(void *self, const struct finding *finding);
    void (*end)(void *self, const struct results *results);
    /* Asked between windows: true once somebody wants the run to end. */
    bool (*wants_stop)(void *self);
};

#endif
