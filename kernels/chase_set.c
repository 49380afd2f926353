#include "kernels/chase_set.h"

#include <string.h>

/* Some milliseconds of building, proving or walking. */
#define SLICE_LINES (1ull << 16)

_Static_assert(sizeof(struct order) <= sizeof((struct job *)0)->state, "the order fits a job");

struct order chase_set_order(const struct job *job)
{
    struct order order;
    memcpy(&order, job->state, sizeof order);
    return order;
}

void chase_set_begin(struct job *job, enum order_kind kind, uint64_t lines, uint64_t step)
{
    struct order order;
    order_init(&order, kind, lines, step, job->seed);
    memcpy(job->state, &order, sizeof order);
}

struct node *chase_set_node(const struct job *job, uint64_t cycle, uint64_t hops)
{
    const struct order order = chase_set_order(job);
    return (struct node *)job->data + order_at(&order, cycle + order_later(&order, hops));
}

uint64_t chase_set_cycle(const struct job *job)
{
    const struct order order = chase_set_order(job);
    return order_cycle(&order);
}

static uint64_t slices_of(const struct order *order)
{
    return (order->lines + SLICE_LINES - 1) / SLICE_LINES;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Lines of the slice that begins at line `from`. */
static uint64_t slice_at(const struct order *order, uint64_t from)
{
    return smaller(order->lines - from, SLICE_LINES);
}

size_t chase_set_build(struct job *job, size_t from)
{
    const struct order order = chase_set_order(job);
    const uint64_t line = from * SLICE_LINES;
    chain_build(&order, job->data, line, slice_at(&order, line));
    return from + 1 < slices_of(&order) ? from + 1 : 0;
}

/* Walks so many hops of all that the cycles have together, one cycle after the other. */
static bool walk_cycles(const struct order *order, const struct node *node, uint64_t from,
                        uint64_t hops, const char **reason)
{
    const uint64_t length = order_cycle(order);
    while (hops > 0) {
        const uint64_t count = smaller(hops, length - from % length);
        if (!chain_walk(order, node, from / length, from % length, count, reason)) {
            return false;
        }
        from += count;
        hops -= count;
    }
    return true;
}

size_t chase_set_prove(const struct job *job, size_t from, const char **reason)
{
    const struct order order = chase_set_order(job);
    const uint64_t slices = slices_of(&order);
    const uint64_t all = job->bytes <= CHAIN_WALKED_BYTES ? 2 * slices : slices;
    const uint64_t line = from % slices * SLICE_LINES;
    const uint64_t lines = slice_at(&order, line);
    const bool right = from < slices ? chain_prove(&order, job->data, line, lines, reason)
                                     : walk_cycles(&order, job->data, line, lines, reason);
    return right && from + 1 < all ? from + 1 : 0;
}
