#include "kernels/warm_up.h"

#include "kernels/loops.h"
#include "kernels/timing.h"

#include <math.h>

enum {
    SLICES = 3,
    LAPS = 2,
    FIRST_CHUNK = 64,       /* operations between two looks at the clock, to begin with */
    CHUNKS_IN_A_BLOCK = 16, /* at most this many looks a block */
    READ_CHUNK = MIB,
    ENOUGH_HOPS = 200000,
};

#define SLICE_SECONDS 200e-6
#define SLICES_AGREE  0.005
#define BLOCK_SECONDS 1e-3
#define BLOCKS_AGREE  0.01

static bool agree(const double *rate, size_t n, double share)
{
    double low = rate[0], high = rate[0];
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, rate[i]);
        high = fmax(high, rate[i]);
    }
    return high - low <= share * low;
}

bool warm_up_core(const struct bench *bench, const struct warm_up *rules)
{
    const uint64_t end = bench_ticks(bench) + ticks_in(bench, rules->spin_seconds);
    const uint64_t laps = spin_laps(bench, SLICE_SECONDS * (double)bench->tsc_hz);
    double rate[SLICES];
    for (size_t i = 0;; i++) {
        rate[i % SLICES] = spin_rate(bench, laps, 0);
        if (i + 1 >= SLICES && agree(rate, SLICES, SLICES_AGREE)) {
            return true;
        }
        if (bench_ticks(bench) >= end) {
            return false;
        }
    }
}

/* A sequential read fills the caches and TLBs much faster than the walk could. */
static bool read_data(const struct walk *walk, const struct warm_up *rules, uint64_t end)
{
    const uint64_t enough = 2 * rules->last_cache;
    const uint64_t bytes =
        enough != 0 && enough < walk->job.bytes ? enough : (uint64_t)walk->job.bytes;
    for (uint64_t from = 0; from < bytes; from += READ_CHUNK) {
        const uint64_t left = bytes - from;
        read_lines((const char *)walk->job.data + from,
                   (size_t)(left < READ_CHUNK ? left : READ_CHUNK) / LINE_BYTES);
        if (bench_ticks(walk->bench) >= end) {
            return false;
        }
    }
    return true;
}

/* One block of the walk: at least `ticks`, unless `end` comes first. *chunk is how many operations
 * are done between two looks at the clock; it grows until the looks cost nothing. */
static double walk_block(struct walk *walk, uint64_t ticks, uint64_t end, uint64_t *chunk)
{
    const uint64_t from = bench_ticks(walk->bench);
    const uint64_t first = walk->operations;
    uint64_t now = from;
    do {
        const uint64_t before = now;
        walk_on(walk, *chunk);
        now = bench_ticks(walk->bench);
        if (now - before < ticks / CHUNKS_IN_A_BLOCK) {
            *chunk *= 2;
        }
    } while (now - from < ticks && now < end);
    return (double)(now - from) / (double)(walk->operations - first);
}

static bool walk_until_steady(struct walk *walk, const struct warm_up *rules, uint64_t end)
{
    const uint64_t pages = rules->small_pages < ENOUGH_HOPS ? rules->small_pages : ENOUGH_HOPS;
    const uint64_t first = walk->operations;
    uint64_t chunk = FIRST_CHUNK;
    double mean[2] = { NAN, NAN };
    for (uint64_t block = ticks_in(walk->bench, BLOCK_SECONDS);; block *= 2) {
        mean[0] = mean[1];
        mean[1] = walk_block(walk, block, end, &chunk);
        if (!isnan(mean[0]) && agree(mean, 2, BLOCKS_AGREE) && walk->operations - first >= pages) {
            return true;
        }
        if (bench_ticks(walk->bench) >= end) {
            return false;
        }
    }
}

bool warm_up_data(struct walk *walk, const struct warm_up *rules)
{
    if (walk->code->prepare != NULL) {
        walk->code->prepare(&walk->job, walk->bench);
        walk_on(walk, walk_lap(walk));
        return true;
    }
    if (walk->job.bytes <= rules->second_cache) {
        walk_on(walk, LAPS * walk_lap(walk));
        return true;
    }
    const uint64_t end = bench_ticks(walk->bench) + ticks_in(walk->bench, rules->data_seconds);
    return read_data(walk, rules, end) && walk_until_steady(walk, rules, end);
}
