/* What one condition costs: the difference between two points of the chase that have all else in
 * common. Pure. Window: no. */
#ifndef KERNELS_INFER_COST_H
#define KERNELS_INFER_COST_H

#include "kernels/infer_tell.h"

/* Tells translation_cost_4k, translation_cost_2m, placement_cost and prefetch_gain from the `n`
 * points of the chase; each is taken at the largest set that was measured both ways. With a `reason`
 * (static text) none can be told. */
void tell_costs(struct finding_list *list, const struct point *chase, size_t n, const char *reason);

#endif
