/* A kernel that is easy to see through: a ring over all lines of the data, each line's successor
 * given by a congruence of full period. The working set must be a power of two lines. */
#ifndef TESTS_FAKES_RING_H
#define TESTS_FAKES_RING_H

#include "kernels/kernel.h"

extern const struct kernel_code ring_code; /* a memory kernel over chase_hops */
extern const struct kernel ring_kernel;

/* Line that so many hops from the start lead to. */
uint64_t ring_line_after(const struct job *job, uint64_t hops);

#endif
