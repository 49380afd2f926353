/* The ways in which a measurement can be taken: with the core's prefetchers as found, off, or some
 * of them off. Pure; anywhere. */
#ifndef KERNELS_PREFETCH_VARIANTS_H
#define KERNELS_PREFETCH_VARIANTS_H

#include "kernels/kernel.h"

/* What suits a measurement where the settings leave the choice to the suite. */
enum prefetching {
    PREFETCH_FOUND, /* as found */
    PREFETCH_BOTH,  /* as found, and all off: the difference is the prefetchers */
    PREFETCH_OFF,   /* all off where they can be, else as found: they would only disturb */
};

/* Appends the measurement once for each of these ways, or for each that the settings name, with
 * V_PREFETCHERS and the conditions set. A way that this machine does not let us take is listed
 * with its reason as the `skip`, unless the measurement has one already. False: no room, counted in
 * the list. */
bool prefetch_add(const struct scope *scope, const struct measurement *measurement,
                  enum prefetching suits, struct measurement_list *out);

#endif
