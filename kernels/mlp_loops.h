/* The measured loops of `mlp`, in assembly: hops of N chains that need nothing of one another.
 * The model machine of tests/ has functions of the same names in their place. */
#ifndef KERNELS_MLP_LOOPS_H
#define KERNELS_MLP_LOOPS_H

#include <stdint.h>

enum {
    MLP_REGISTER_CHAINS = 12, /* up to so many, cursors live in registers, and a round is N loads */
    MLP_MOST_CHAINS = 64,
};

/* Takes each of N cursors `rounds` hops on: cursor[i] becomes *cursor[i], so often. Up to 12 chains
 * 50 instructions at most for 48 hops, and 50 a call; each chain beyond adds three a round, and its
 * cursor's place is read and written in each. Window: yes. */
typedef void mlp_loop(void **cursor, uint64_t rounds);

mlp_loop mlp_hops_1, mlp_hops_2, mlp_hops_3, mlp_hops_4, mlp_hops_6, mlp_hops_8, mlp_hops_10,
    mlp_hops_12, mlp_hops_16, mlp_hops_24, mlp_hops_32, mlp_hops_48, mlp_hops_64;

#endif
