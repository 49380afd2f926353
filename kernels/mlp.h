/* The experiment `mlp`: how many misses a core has under way at once, by the level they go to. */
#ifndef KERNELS_MLP_H
#define KERNELS_MLP_H

#include "kernels/kernel.h"

extern const struct kernel mlp_kernel;

#endif
