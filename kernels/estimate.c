#include "kernels/estimate.h"

#include "kernels/chain.h"
#include "kernels/curve.h"
#include "kernels/sampler.h"

#include <math.h>

#define WINDOW_SECONDS   0.022  /* 20 ms of the firmware's, and the way in and out */
#define CORE_SECONDS     0.0015 /* until the core's clock is steady */
#define SAMPLE_SECONDS   0.0011
#define PILOT_SAMPLES    6
#define MORE_SAMPLES     1.3   /* than R, on average: up to 4R where they spread */
#define BLOCKS_SECONDS   0.003 /* of a walk until it is steady: 1 ms and 2 ms */
#define READ_RATE        8e9   /* bytes a second of a sequential read */
#define PAGE_SECONDS     1e-7  /* to map a page and touch it */
#define MEMORY_NS        100.0
#define EMULATION_FACTOR 12.0 /* an emulator's instructions against the processor's */

/* QEMU's TCG keeps translations of some hundred pages; beyond, it looks each one up. */
#define EMULATED_REACH    (1ull * MIB)
#define EMULATED_LOAD_NS  5.0
#define EMULATED_FAULT_NS 170.0

static const double level_ns[] = { 1.3, 4.5, 20, 40 };

double estimate_load(const struct machine *machine, uint64_t set)
{
    uint64_t cache[MACHINE_CACHES];
    const size_t caches = cache_sizes(machine, cache);
    if (machine->processor.emulated) {
        return set <= EMULATED_REACH ? EMULATED_LOAD_NS : EMULATED_FAULT_NS;
    }
    for (size_t i = 0; i < caches && i < sizeof level_ns / sizeof *level_ns; i++) {
        if (set <= cache[i]) {
            return level_ns[i];
        }
    }
    return MEMORY_NS;
}

static uint64_t second_cache(const struct machine *machine)
{
    uint64_t cache[MACHINE_CACHES];
    const size_t caches = cache_sizes(machine, cache);
    return caches > 1 ? cache[1] : 0;
}

/* The data's warm-up, by the sampler's rules. */
static double warm_up_seconds(const struct scope *scope, const struct measurement *measurement)
{
    const struct machine *machine = scope->machine;
    const double bytes = (double)measurement->bytes;
    const double load = estimate_load(machine, measurement->bytes) * 1e-9;
    if (measurement->bytes <= second_cache(machine)) {
        return 2 * bytes / LINE_BYTES * load;
    }
    const double enough = 2 * (double)last_cache_size(machine);
    const double pages = measurement->layout.leaf == SIZE_4K ? fmin(bytes / PAGE_4K, 200e3) : 0;
    const double most = scope->suite == SUITE_SMOKE ? 0.05 : 0.5;
    return fmin(fmin(bytes, enough) / READ_RATE + fmax(BLOCKS_SECONDS, pages * load), most);
}

static double map_seconds(const struct measurement *measurement)
{
    static const double leaf[PAGE_SIZES] = { PAGE_4K, PAGE_2M, PAGE_1G };
    return ceil((double)measurement->bytes / leaf[measurement->layout.leaf]) * PAGE_SECONDS;
}

double estimate_visits(const struct scope *scope, const struct measurement *measurement)
{
    const struct sampling how = { .visits = scope->visits };
    const double visit = WINDOW_SECONDS + CORE_SECONDS + map_seconds(measurement) +
                         warm_up_seconds(scope, measurement);
    const double samples = PILOT_SAMPLES + MORE_SAMPLES * scope->repetitions;
    return sampler_visits(&how, measurement) * visit + samples * SAMPLE_SECONDS;
}

double estimate_build(const struct machine *machine, enum order_kind kind, uint64_t lines)
{
    /* Building and proving, measured on a Zen 5 at 3.9 GHz: 16 (a power of two) to 45, 4, 47. */
    static const double line_ns[ORDERS] = { 30, 4, 50 };
    const double factor = machine->processor.emulated ? EMULATION_FACTOR : 1;
    const uint64_t bytes = lines * LINE_BYTES;
    const double walk = bytes <= CHAIN_WALKED_BYTES ? estimate_load(machine, bytes) : 0;
    return 2 * WINDOW_SECONDS + (double)lines * (line_ns[kind] * factor + walk) * 1e-9;
}
