/* The set of a chase as a kernel's data: lines in an order, built and proved in slices.
 *
 * The order is kept in job->state. With a step of n, which must divide the lines, the set is n
 * cycles of equal length; the one numbered c begins at position c. Window: yes. */
#ifndef KERNELS_CHASE_SET_H
#define KERNELS_CHASE_SET_H

#include "kernels/chain.h"
#include "kernels/kernel.h"

/* Begins a job whose set is `lines` lines (they fit job->bytes) from job->data on. Anywhere. */
void chase_set_begin(struct job *job, enum order_kind kind, uint64_t lines, uint64_t step);
/* The order of a job that has begun. Anywhere. */
struct order chase_set_order(const struct job *job);
/* The node that a cycle's walk reaches in so many hops. Anywhere: touches no data. */
struct node *chase_set_node(const struct job *job, uint64_t cycle, uint64_t hops);

/* As `build`, `prove` and `cycle_length` of a kernel's code. Sets of up to CHAIN_WALKED_BYTES are
 * first proved line by line, then all their cycles are walked. */
size_t chase_set_build(struct job *job, size_t from);
size_t chase_set_prove(const struct job *job, size_t from, const char **reason);
uint64_t chase_set_cycle(const struct job *job);

#endif
