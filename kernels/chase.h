/* The experiment `chase`: what a load costs that needs the one before it, by the set's size. */
#ifndef KERNELS_CHASE_H
#define KERNELS_CHASE_H

#include "kernels/kernel.h"

extern const struct kernel chase_kernel;

#endif
