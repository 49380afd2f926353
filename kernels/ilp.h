/* The experiment `ilp`: what an operation costs, by how many of them need not wait for another. */
#ifndef KERNELS_ILP_H
#define KERNELS_ILP_H

#include "kernels/kernel.h"

extern const struct kernel ilp_kernel;

#endif
