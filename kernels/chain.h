/* The nodes of a chase in memory: written, proved and walked in slices.
 *
 * A node fills a line and begins with the address of the next. The set is `order->lines` nodes from
 * `node` on, which the caller has mapped. Window: yes, and nowhere else (mapped memory). */
#ifndef KERNELS_CHAIN_H
#define KERNELS_CHAIN_H

#include "kernels/order.h"

/* Sets up to this size are also proved by walking. */
#define CHAIN_WALKED_BYTES (16ull * MIB)

struct node {
    struct node *next;
    uint64_t filler[LINE_BYTES / sizeof(uint64_t) - 1];
};

/* Writes `count` nodes from line `from` on. */
void chain_build(const struct order *order, struct node *node, uint64_t from, uint64_t count);

/* Proves `count` nodes from line `from` on: the order can be undone, and each node leads to the
 * line one step later. Once all lines are proved, they are cycles of order_cycle() lines each.
 * False, with the reason (static text), at the first node that is wrong. */
bool chain_prove(const struct order *order, const struct node *node, uint64_t from, uint64_t count,
                 const char **reason);

/* Walks `hops` hops of the cycle that begins at position `cycle`, from the `from`-th hop of a lap
 * on, and sees that it ends where it must and does not come back to the start before the whole
 * cycle is done. Only in a proved set, since it follows the pointers. */
bool chain_walk(const struct order *order, const struct node *node, uint64_t cycle, uint64_t from,
                uint64_t hops, const char **reason);

#endif
