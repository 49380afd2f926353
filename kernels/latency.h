/* What a dependent load should cost, from the machine's caches and what was measured so far.
 *
 * A cache answers as large a share of the loads as it holds of the set. Each level's own latency is
 * taken from the points of the same view that lie well inside of it, so a prediction says whether
 * the point fits between its neighbours and to the claimed capacities. */
#ifndef KERNELS_LATENCY_H
#define KERNELS_LATENCY_H

#include "kernels/result.h"

/* Predicted ns a load for a variant that has a working set and an order, from `n` points of the
 * same experiment; NAN while a level that is needed has no point. Pure. Window: yes. */
double latency_predict(const struct machine *machine, const struct variant *variant,
                       const struct point *measured, size_t n);

#endif
