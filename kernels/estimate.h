/* How long a measurement is expected to take, for the plan: from guesses that fit no machine well,
 * and most within a factor of two. Nothing measured depends on them. All pure. Window: yes. */
#ifndef KERNELS_ESTIMATE_H
#define KERNELS_ESTIMATE_H

#include "kernels/kernel.h"
#include "kernels/order.h"

/* Guessed ns of one dependent load from a set of so many bytes. */
double estimate_load(const struct machine *machine, uint64_t set);
/* Seconds for all visits of a measurement of memory under `scope`: windows, the sampler's warm-up
 * rules and its samples, without building. */
double estimate_visits(const struct scope *scope, const struct measurement *measurement);
/* Seconds of building and proving an order of so many lines once, walk included. */
double estimate_build(const struct machine *machine, enum order_kind kind, uint64_t lines);

#endif
