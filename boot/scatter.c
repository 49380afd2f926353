#include "boot/scatter.h"

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

void scatter_init(struct scatter *scatter, const struct memory_range *range, size_t ranges,
                  unsigned colours, uint64_t key)
{
    uint64_t row = (uint64_t)colours * PAGE_4K;
    *scatter = (struct scatter){ .colours = colours };
    for (size_t i = 0; i < ranges; i++) {
        uint64_t base = round_up(range[i].base, row);
        uint64_t end = (range[i].base + range[i].bytes) / row * row;
        if (base < end) {
            scatter->range[scatter->ranges++] = (struct memory_range){ base, end - base };
            scatter->rows += (end - base) / row;
        }
    }
    if (scatter->rows > 0) {
        order_init(&scatter->row_order, ORDER_RANDOM, scatter->rows, 1, key);
        order_init(&scatter->colour_order, ORDER_RANDOM, colours, 1, key + 1);
    }
}

uint64_t scatter_frames(const struct scatter *scatter)
{
    return scatter->rows * scatter->colours;
}

static uint64_t address_of(const struct scatter *scatter, uint64_t frame)
{
    uint64_t offset = frame * PAGE_4K;
    const struct memory_range *range = scatter->range;
    while (offset >= range->bytes) {
        offset -= range->bytes;
        range++;
    }
    return range->base + offset;
}

/* Frame at a place in the order: `colours` places for each step of the row order. A colour walks
 * that order from a start of its own, so each gets every row once, and those side by side have no
 * rows in common but by chance. In which order the colours come changes from step to step. */
static uint64_t frame_at(const struct scatter *scatter, uint64_t place)
{
    uint64_t colours = scatter->colours;
    uint64_t step = place / colours;
    uint64_t turn = order_at(&scatter->row_order, step);
    uint64_t colour = order_at(&scatter->colour_order, (place + turn) % colours);
    uint64_t start = scatter->rows / colours * colour;
    uint64_t row = order_at(&scatter->row_order, (step + start) % scatter->rows);
    return address_of(scatter, row * colours + colour);
}

static bool neighbours(uint64_t a, uint64_t b)
{
    return a - b == PAGE_4K || b - a == PAGE_4K;
}

void scatter_begin(struct scatter_walk *walk, const struct scatter *scatter)
{
    *walk = (struct scatter_walk){ .scatter = scatter, .last = UINT64_MAX };
}

/* Takes what is held at `i`. */
static uint64_t take_held(struct scatter_walk *walk, unsigned i)
{
    uint64_t frame = walk->held[i];
    walk->held[i] = walk->held[walk->holding - 1];
    walk->holding--;
    return frame;
}

/* A frame has two neighbours, and two held ones are neighbours of the same frame, never of another
 * as well: so there is room for all that may have to be held. */
static uint64_t next_frame(struct scatter_walk *walk)
{
    uint64_t frames = scatter_frames(walk->scatter);
    for (unsigned i = 0; i < walk->holding; i++) {
        if (!neighbours(walk->held[i], walk->last)) {
            return take_held(walk, i);
        }
    }
    while (walk->next < frames) {
        uint64_t frame = frame_at(walk->scatter, walk->next++);
        if (!neighbours(frame, walk->last)) {
            return frame;
        }
        walk->held[walk->holding++] = frame;
    }
    return take_held(walk, 0);
}

uint64_t scatter_next(struct scatter_walk *walk)
{
    walk->last = next_frame(walk);
    return walk->last;
}
