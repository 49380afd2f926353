#include "kernels/order.h"

#include <string.h>

const char *const order_name[ORDERS] = { "random", "sequential", "page-local" };

enum order_kind order_named(const char *name)
{
    unsigned kind = 0;
    while (kind < ORDERS && strcmp(order_name[kind], name) != 0) {
        kind++;
    }
    return kind;
}

/* --- The keyed permutation ----------------------------------------------------------------- */

/* Next number of a SplitMix64 generator (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, 2014). */
static uint64_t random_number(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Inverse of an odd number modulo 2^64. An odd number is its own inverse in the lowest three bits;
 * each of Newton's steps doubles the bits that are right. */
static uint64_t inverse_of(uint64_t odd)
{
    uint64_t inverse = odd;
    for (unsigned right = 3; right < 64; right *= 2) {
        inverse *= 2 - odd * inverse;
    }
    return inverse;
}

static void mixer_init(struct mixer *mixer, uint64_t size, uint64_t *random)
{
    unsigned bits = 1;
    while (1ull << bits < size) {
        bits++;
    }
    mixer->size = size;
    mixer->mask = (1ull << bits) - 1;
    /* Half of the bits, rounded up: the fold is its own inverse then, and brings the upper half,
     * to which the product carries everything, down into the lower. */
    mixer->shift = (bits + 1) / 2;
    for (unsigned i = 0; i < ORDER_ROUNDS; i++) {
        mixer->multiplier[i] = random_number(random) | 1;
        mixer->inverse[i] = inverse_of(mixer->multiplier[i]);
        mixer->addend[i] = random_number(random);
    }
}

/* Five rounds. With three, hops within a page are up to three times as frequent as by chance. With
 * four they are not, but two keys in a hundred prefer some distances: chi-square of the distances
 * over degrees of freedom, for 10,000 keys and sizes, is above 2 for 200, and 18 for the worst;
 * with five it is above 2 for four keys, and 3.7 for the worst. */
static void mix(const struct mixer *mixer, uint64_t *x, size_t count)
{
    const uint64_t mask = mixer->mask;
    const unsigned shift = mixer->shift;
    for (unsigned round = 0; round < ORDER_ROUNDS; round++) {
        const uint64_t multiplier = mixer->multiplier[round];
        const uint64_t addend = mixer->addend[round];
#pragma GCC unroll 8
        for (size_t i = 0; i < count; i++) {
            const uint64_t y = (x[i] * multiplier + addend) & mask;
            x[i] = y ^ y >> shift;
        }
    }
}

static void unmix(const struct mixer *mixer, uint64_t *x, size_t count)
{
    const uint64_t mask = mixer->mask;
    const unsigned shift = mixer->shift;
    for (unsigned round = ORDER_ROUNDS; round-- > 0;) {
        const uint64_t inverse = mixer->inverse[round];
        const uint64_t addend = mixer->addend[round];
#pragma GCC unroll 8
        for (size_t i = 0; i < count; i++) {
            const uint64_t y = x[i] ^ x[i] >> shift;
            x[i] = (y - addend) * inverse & mask;
        }
    }
}

/* Repeats the pass for those numbers that are not below `size`: what permutes a power of two then
 * permutes the size. They are gathered, since a branch for each number would be mispredicted for
 * as many as half of them. */
static void permute(const struct mixer *mixer, uint64_t *x, size_t count,
                    void (*pass)(const struct mixer *, uint64_t *, size_t))
{
    uint64_t beyond[ORDER_BATCH];
    uint8_t place[ORDER_BATCH];
    size_t left = 0;
    pass(mixer, x, count);
    if (mixer->size > mixer->mask) {
        return; /* a power of two: none is */
    }
    for (size_t i = 0; i < count; i++) {
        place[left] = (uint8_t)i;
        left += x[i] >= mixer->size;
    }
    while (left > 0) {
        size_t still = 0;
        for (size_t i = 0; i < left; i++) {
            beyond[i] = x[place[i]];
        }
        pass(mixer, beyond, left);
        for (size_t i = 0; i < left; i++) {
            x[place[i]] = beyond[i];
            place[still] = place[i];
            still += beyond[i] >= mixer->size;
        }
        left = still;
    }
}

static uint64_t permuted(const struct mixer *mixer, uint64_t x,
                         void (*pass)(const struct mixer *, uint64_t *, size_t))
{
    permute(mixer, &x, 1, pass);
    return x;
}

/* --- Page by page -------------------------------------------------------------------------- */

/* A page, where it stands among the pages, and the order of its lines. */
struct page {
    uint64_t number, place;
    struct mixer lines;
};

static uint64_t page_count(const struct order *order)
{
    return (order->lines + ORDER_PAGE - 1) / ORDER_PAGE;
}

/* Lines that the last page is short of a whole one. */
static uint64_t missing_lines(const struct order *order)
{
    return page_count(order) * ORDER_PAGE - order->lines;
}

/* Position of the first line of the page that stands at `place`. */
static uint64_t page_start(const struct order *order, uint64_t place)
{
    return place * ORDER_PAGE - (place > order->short_page ? missing_lines(order) : 0);
}

static uint64_t place_of_position(const struct order *order, uint64_t position)
{
    const bool later = position >= page_start(order, order->short_page + 1);
    return (position + (later ? missing_lines(order) : 0)) / ORDER_PAGE;
}

/* No page, so that the first question finds another. */
static struct page no_page(void)
{
    return (struct page){ .number = UINT64_MAX, .place = UINT64_MAX };
}

static void open_page(const struct order *order, struct page *page, uint64_t number, uint64_t place)
{
    const bool last = number == page_count(order) - 1;
    uint64_t random = order->key ^ (number + 1) * 0xd1342543de82ef95ull;
    page->number = number;
    page->place = place;
    mixer_init(&page->lines, last ? ORDER_PAGE - missing_lines(order) : ORDER_PAGE, &random);
}

/* `page` is the one of the last question: mostly it is that of the next, too. */
static uint64_t local_at(const struct order *order, struct page *page, uint64_t position)
{
    const uint64_t place = place_of_position(order, position);
    if (place != page->place) {
        open_page(order, page, permuted(&order->mixer, place, mix), place);
    }
    const uint64_t index = position - page_start(order, place);
    return page->number * ORDER_PAGE + permuted(&page->lines, index, mix);
}

static uint64_t local_position(const struct order *order, struct page *page, uint64_t line)
{
    const uint64_t number = line / ORDER_PAGE;
    if (number != page->number) {
        open_page(order, page, number, permuted(&order->mixer, number, unmix));
    }
    return page_start(order, page->place) + permuted(&page->lines, line % ORDER_PAGE, unmix);
}

/* --- Orders -------------------------------------------------------------------------------- */

void order_init(struct order *order, enum order_kind kind, uint64_t lines, uint64_t step,
                uint64_t seed)
{
    uint64_t random = seed;
    *order = (struct order){ .kind = kind, .lines = lines, .step = step };
    order->key = random_number(&random);
    const uint64_t size = kind == ORDER_PAGE_LOCAL ? page_count(order) : lines;
    mixer_init(&order->mixer, size, &random);
    if (kind == ORDER_PAGE_LOCAL) {
        order->short_page = permuted(&order->mixer, size - 1, unmix);
    }
}

void order_at_many(const struct order *order, uint64_t *number, size_t count)
{
    if (order->kind == ORDER_RANDOM) {
        permute(&order->mixer, number, count, mix);
    }
    if (order->kind == ORDER_PAGE_LOCAL) {
        struct page page = no_page();
        for (size_t i = 0; i < count; i++) {
            number[i] = local_at(order, &page, number[i]);
        }
    }
}

void order_position_many(const struct order *order, uint64_t *number, size_t count)
{
    if (order->kind == ORDER_RANDOM) {
        permute(&order->mixer, number, count, unmix);
    }
    if (order->kind == ORDER_PAGE_LOCAL) {
        struct page page = no_page();
        for (size_t i = 0; i < count; i++) {
            number[i] = local_position(order, &page, number[i]);
        }
    }
}

uint64_t order_at(const struct order *order, uint64_t position)
{
    order_at_many(order, &position, 1);
    return position;
}

uint64_t order_position(const struct order *order, uint64_t line)
{
    order_position_many(order, &line, 1);
    return line;
}

void order_step_many(const struct order *order, uint64_t *position, size_t count)
{
    const uint64_t lines = order->lines, step = order->step;
    for (size_t i = 0; i < count; i++) {
        const uint64_t next = position[i] + step; /* at most twice around: no division */
        position[i] = next < lines ? next : next - lines;
    }
}

uint64_t order_later(const struct order *order, uint64_t hops)
{
    return hops % order_cycle(order) * order->step % order->lines;
}

uint64_t order_cycle(const struct order *order)
{
    uint64_t divisor = order->lines, other = order->step;
    while (other != 0) {
        const uint64_t rest = divisor % other;
        divisor = other;
        other = rest;
    }
    return order->lines / divisor;
}
