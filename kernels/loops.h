/* The measured loops, each written in assembly: nothing runs in them but what their files show.
 * The model machine of tests/ has functions of the same names in their place.
 *
 * All take and return general registers by the System V convention, use no stack but the return
 * address, write no memory, and do the same work at any alignment. Window: yes. */
#ifndef KERNELS_LOOPS_H
#define KERNELS_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* Follows `hops` pointers from the one that `cursor` points at, and returns the last one read.
 * Each load needs the one before; at most 66 instructions for 64 hops, and 14 a call. */
void *chase_hops(void *cursor, uint64_t hops);

enum { SPIN_ADDS = 64 }; /* of a lap */

/* A chain of SPIN_ADDS dependent additions of registers a lap, one cycle each on any processor.
 * Returns how many there were, counted by the chain itself. */
uint64_t spin_adds(uint64_t laps);

/* Reads 8 bytes of each of `lines` lines, by address; no load needs another. */
void read_lines(const void *from, size_t lines);

#endif
