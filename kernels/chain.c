#include "kernels/chain.h"

_Static_assert(sizeof(struct node) == LINE_BYTES, "a node is a line");

/* What fills the nodes must not look like an address: processors with a data-dependent prefetcher
 * (Intel since Golden Cove) would follow it. Bits 63 and 62 differ, so that it is not canonical
 * with 48 or 57 bits of linear address, and no two lines have the same. */
static uint64_t filler_of(uint64_t line)
{
    return 1ull << 63 | (line + 1) * 0x9e3779b97f4a7c15ull >> 2;
}

static size_t batch_of(uint64_t left)
{
    return left < ORDER_BATCH ? (size_t)left : ORDER_BATCH;
}

static void positions_of_lines(const struct order *order, uint64_t from, uint64_t *position,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        position[i] = from + i;
    }
    order_position_many(order, position, count);
}

void chain_build(const struct order *order, struct node *node, uint64_t from, uint64_t count)
{
    uint64_t next[ORDER_BATCH];
    for (uint64_t done = 0; done < count; done += ORDER_BATCH) {
        const size_t batch = batch_of(count - done);
        positions_of_lines(order, from + done, next, batch);
        order_step_many(order, next, batch);
        order_at_many(order, next, batch);
        for (size_t i = 0; i < batch; i++) {
            const uint64_t line = from + done + i;
            const uint64_t filler = filler_of(line);
            node[line] =
                (struct node){ node + next[i],
                               { filler, filler, filler, filler, filler, filler, filler } };
        }
    }
}

/* The line that a pointer means; one beyond the set if it is no node's address. */
static uint64_t line_of(const struct order *order, const struct node *node,
                        const struct node *pointer)
{
    const uintptr_t offset = (uintptr_t)pointer - (uintptr_t)node;
    const uint64_t line = offset / sizeof *node;
    return offset % sizeof *node == 0 && line < order->lines ? line : order->lines;
}

/* The position of a line leads back to it. As there are as many positions as lines, no two lines
 * share one then. */
static bool is_undone(const struct order *order, uint64_t from, const uint64_t *position,
                      size_t count)
{
    uint64_t line[ORDER_BATCH];
    for (size_t i = 0; i < count; i++) {
        if (position[i] >= order->lines) {
            return false;
        }
        line[i] = position[i];
    }
    order_at_many(order, line, count);
    for (size_t i = 0; i < count; i++) {
        if (line[i] != from + i) {
            return false;
        }
    }
    return true;
}

/* Takes the positions one step on, and compares. */
static bool leads_on(const struct order *order, const struct node *node, uint64_t from,
                     uint64_t *position, size_t count)
{
    uint64_t next[ORDER_BATCH];
    for (size_t i = 0; i < count; i++) {
        next[i] = line_of(order, node, node[from + i].next);
        if (next[i] == order->lines) {
            return false;
        }
    }
    order_position_many(order, next, count);
    order_step_many(order, position, count);
    for (size_t i = 0; i < count; i++) {
        if (next[i] != position[i]) {
            return false;
        }
    }
    return true;
}

bool chain_prove(const struct order *order, const struct node *node, uint64_t from, uint64_t count,
                 const char **reason)
{
    uint64_t position[ORDER_BATCH];
    for (uint64_t done = 0; done < count; done += ORDER_BATCH) {
        const size_t batch = batch_of(count - done);
        positions_of_lines(order, from + done, position, batch);
        if (!is_undone(order, from + done, position, batch)) {
            *reason = "the order of the lines cannot be undone";
            return false;
        }
        if (!leads_on(order, node, from + done, position, batch)) {
            *reason = "a node does not lead to the next line of its order";
            return false;
        }
    }
    return true;
}

bool chain_walk(const struct order *order, const struct node *node, uint64_t cycle, uint64_t from,
                uint64_t hops, const char **reason)
{
    const struct node *start = node + order_at(order, cycle);
    const struct node *cursor = node + order_at(order, cycle + order_later(order, from));
    for (uint64_t hop = from; hop < from + hops; hop++) {
        cursor = cursor->next;
        if (cursor == start && (hop + 1) % order_cycle(order) != 0) {
            *reason = "the walk came back before it had seen all lines";
            return false;
        }
    }
    if (cursor != node + order_at(order, cycle + order_later(order, from + hops))) {
        *reason = "the walk did not end where its order leads";
        return false;
    }
    return true;
}
