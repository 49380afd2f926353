/* In which order a chase visits the lines of its set: arithmetic only, no memory.
 *
 * An order is a permutation of n lines that can be computed both ways: the line at a position, and
 * the position of a line. So the data of a chase is written and proved in the order of addresses,
 * at the speed of the memory, where a shuffle takes a miss a line. A lap goes through the positions
 * in steps of `step` from position 0: with step 1 one cycle through all lines, by construction.
 *
 * Nothing here fails or keeps anything. Window: yes. */
#ifndef KERNELS_ORDER_H
#define KERNELS_ORDER_H

#include "hw/machine.h"

enum order_kind {
    ORDER_RANDOM,     /* uniform over the whole set */
    ORDER_SEQUENTIAL, /* by address */
    ORDER_PAGE_LOCAL, /* all lines of a 4 KiB page at random, then those of another page */
    ORDERS
};

enum {
    ORDER_ROUNDS = 5,
    ORDER_BATCH = 32,                  /* most numbers that the functions on many take */
    ORDER_PAGE = PAGE_4K / LINE_BYTES, /* lines of a page */
};

#define ORDER_MOST_LINES (1ull << 40)
#define ORDER_MOST_STEP  (1ull << 20)

/* A permutation of the numbers below `size`, by a key. */
struct mixer {
    uint64_t size, mask; /* mask: of the power of two that is worked in */
    uint64_t multiplier[ORDER_ROUNDS], inverse[ORDER_ROUNDS], addend[ORDER_ROUNDS];
    unsigned shift;
};

struct order {
    enum order_kind kind;
    uint64_t lines, step;
    uint64_t key;        /* page-local: each page's own order comes from it */
    uint64_t short_page; /* page-local: place of the last page, which may have fewer lines */
    struct mixer mixer;  /* random: of the lines; page-local: of the pages */
};

/* "random", "sequential", "page-local". */
extern const char *const order_name[ORDERS];
/* The order of that name, ORDERS if there is none. */
enum order_kind order_named(const char *name);

/* `lines` from 1 to ORDER_MOST_LINES, `step` from 1 to ORDER_MOST_STEP and at most `lines`.
 * Same seed, same order. */
void order_init(struct order *order, enum order_kind kind, uint64_t lines, uint64_t step,
                uint64_t seed);

/* The line at a position, and the position of a line; both are below `lines`. */
uint64_t order_at(const struct order *order, uint64_t position);
uint64_t order_position(const struct order *order, uint64_t line);
/* The same in place for up to ORDER_BATCH numbers, several times as fast for each. */
void order_at_many(const struct order *order, uint64_t *number, size_t count);
void order_position_many(const struct order *order, uint64_t *number, size_t count);

/* Takes positions one step on, in place. */
void order_step_many(const struct order *order, uint64_t *position, size_t count);
/* The position that a walk from position 0 reaches in so many hops. */
uint64_t order_later(const struct order *order, uint64_t hops);
/* Lines of the cycle that a walk goes through: all of them with step 1. */
uint64_t order_cycle(const struct order *order);

#endif
