/* The leaf sizes as a kernel's list needs them. Pure; anywhere. */
#ifndef KERNELS_LEAF_H
#define KERNELS_LEAF_H

#include "hw/machine.h"

/* Bytes of a leaf, the value of V_PAGE_SIZE. */
uint64_t leaf_bytes(enum page_size leaf);

/* Why a set of so many bytes cannot be shown on leaves of that size (static text), or NULL. */
const char *leaf_absent(const struct machine *machine, enum page_size leaf, uint64_t bytes);

#endif
