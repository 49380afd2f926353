#include "kernels/curve.h"

#include <math.h>
#include <string.h>

static uint64_t whole_lines(uint64_t bytes)
{
    const uint64_t unit = bytes > PAGE_4K ? PAGE_4K : LINE_BYTES;
    return bytes < unit ? unit : bytes / unit * unit;
}

/* Adds a size if it is larger than the one before: near a page, several round to the same. */
static void add_size(struct curve *curve, uint64_t bytes)
{
    const uint64_t before = curve->count > 0 ? curve->size[curve->count - 1] : 0;
    if (bytes > before && curve->count < CURVE_SIZES) {
        curve->size[curve->count++] = bytes;
    }
}

void curve_make(struct curve *curve, unsigned per_octave, uint64_t largest)
{
    const uint64_t last = whole_lines(largest);
    *curve = (struct curve){ .count = 0 };
    for (unsigned step = 0; curve->count < CURVE_SIZES - 1; step++) {
        const double pages = exp2((double)step / per_octave);
        if (pages * PAGE_4K >= (double)last) {
            break;
        }
        const uint64_t bytes = (uint64_t)(pages + 0.5) * PAGE_4K;
        add_size(curve, bytes < last ? bytes : last);
    }
    add_size(curve, last);
}

/* --- Levels -------------------------------------------------------------------------------- */

/* The smallest data cache that is larger than `than`, 0 if there is none. */
static uint64_t next_cache(const struct machine *machine, uint64_t than)
{
    const struct processor *processor = &machine->processor;
    uint64_t next = 0;
    for (unsigned i = 0; i < processor->caches; i++) {
        const struct cache *cache = &processor->cache[i];
        const bool data = cache->type == CACHE_DATA || cache->type == CACHE_UNIFIED;
        if (data && cache->size > than && (next == 0 || cache->size < next)) {
            next = cache->size;
        }
    }
    return next;
}

size_t cache_sizes(const struct machine *machine, uint64_t size[MACHINE_CACHES])
{
    size_t count = 0;
    uint64_t next = next_cache(machine, 0);
    while (next != 0 && count < MACHINE_CACHES) {
        size[count++] = next;
        next = next_cache(machine, next);
    }
    return count;
}

uint64_t last_cache_size(const struct machine *machine)
{
    uint64_t size[MACHINE_CACHES];
    const size_t count = cache_sizes(machine, size);
    return count > 0 ? size[count - 1] : 0;
}

/* How many sizes of the curve are at most `bytes`. */
static size_t sizes_up_to(const struct curve *curve, uint64_t bytes)
{
    size_t count = 0;
    while (count < curve->count && curve->size[count] <= bytes) {
        count++;
    }
    return count;
}

size_t curve_levels(const struct curve *curve, const struct machine *machine,
                    struct span level[CURVE_LEVELS])
{
    uint64_t cache[MACHINE_CACHES];
    const size_t caches = cache_sizes(machine, cache);
    size_t levels = 0, first = 0;
    for (size_t i = 0; i <= caches; i++) {
        const size_t end = i < caches ? sizes_up_to(curve, cache[i] / 4 * 3) : curve->count;
        if (end > first) {
            level[levels++] = (struct span){ first, end - 1 };
        }
        first = i < caches ? sizes_up_to(curve, cache[i]) : end;
    }
    return levels;
}

void curve_mark_levels(struct curve *curve, const struct machine *machine)
{
    struct span level[CURVE_LEVELS];
    const size_t levels = curve_levels(curve, machine, level);
    for (size_t i = 0; i < levels; i++) {
        const size_t width = level[i].last - level[i].first;
        for (size_t j = 0; j < LEVEL_ANCHORS; j++) {
            curve->anchor[level[i].last - width * j / LEVEL_ANCHORS] = true;
        }
    }
}

void curve_mark_few(struct curve *curve, const struct machine *machine)
{
    struct span level[CURVE_LEVELS];
    const size_t levels = curve_levels(curve, machine, level);
    size_t marked = 0;
    if (levels > 0) {
        curve->anchor[level[0].last] = true;
        curve->anchor[level[levels / 2].last] = true;
    }
    curve->anchor[curve->count - 1] = true;
    for (size_t i = 0; i < curve->count; i++) {
        marked += curve->anchor[i];
    }
    /* Where the levels are fewer, the smallest sizes make up for it. */
    for (size_t i = 0; i < curve->count && marked < LEVEL_ANCHORS; i++) {
        marked += !curve->anchor[i];
        curve->anchor[i] = true;
    }
}

void curve_mark_all(struct curve *curve)
{
    memset(curve->anchor, true, curve->count * sizeof *curve->anchor);
}
