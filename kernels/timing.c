#include "kernels/timing.h"

#include "kernels/loops.h"
#include "kernels/statistics.h"

#include <math.h>

enum {
    TIMER_READINGS = 31,
    FIRST_LAPS = 256, /* about 5 us */
};

#define RESOLUTION     1e-3 /* of a sample, a chain of adds: share that the timer may leave open */
#define MEMORY_SECONDS 1e-3
#define LONGEST_SAMPLE 50e-3
#define LONGEST_CHAIN  200e-6
#define CHAIN_SECONDS  20e-6
#define CHAINS_AGREE   0.005
#define MARGIN         1.1 /* so that a core that gets faster still stays above the minimum */
#define GROWTH         16.0

/* Largest step that the clock can have, judging by differences that are all multiples of it. Some
 * processors advance the TSC many counts at a time. */
static double largest_step(const double *difference, size_t n)
{
    uint64_t step = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t other = (uint64_t)difference[i];
        while (other != 0) {
            const uint64_t rest = step % other;
            step = other;
            other = rest;
        }
    }
    return step != 0 ? (double)step : 1;
}

/* Width of the middle 80 % of the differences, or the clock's step if that is more. */
static double uncertainty_of(const double *difference)
{
    const struct column column = { difference, sizeof *difference, TIMER_READINGS };
    const double width = column_rank(&column, TIMER_READINGS - TIMER_READINGS / 10) -
                         column_rank(&column, 1 + TIMER_READINGS / 10);
    return fmax(width, largest_step(difference, TIMER_READINGS));
}

static bool counts_cycles(const struct reading *reading)
{
    return (reading->known >> KNOWN_CYCLES & 1) != 0;
}

void timer_measure(const struct bench *bench, struct timer *timer)
{
    double ticks[TIMER_READINGS], cycles[TIMER_READINGS];
    struct reading from, to;
    bench->read(bench->self, &from);
    for (size_t i = 0; i < TIMER_READINGS; i++) {
        bench->read(bench->self, &to);
        ticks[i] = (double)(to.tsc - from.tsc);
        cycles[i] = counts_cycles(&to) ? (double)(to.cycles - from.cycles) : NAN;
        from = to;
    }
    timer->ticks = column_median(&(struct column){ ticks, sizeof *ticks, TIMER_READINGS });
    timer->cycles = column_median(&(struct column){ cycles, sizeof *cycles, TIMER_READINGS });
    timer->uncertainty = uncertainty_of(ticks);
    const double hz = (double)bench->tsc_hz;
    const double chain = fmax(CHAIN_SECONDS * hz, timer->uncertainty / RESOLUTION);
    timer->chain_laps = spin_laps(bench, fmin(chain, LONGEST_CHAIN * hz));
}

uint64_t spin_laps(const struct bench *bench, double ticks)
{
    uint64_t laps = FIRST_LAPS;
    for (;;) {
        const uint64_t from = bench_ticks(bench);
        (void)spin_adds(laps);
        const double lasted = (double)(bench_ticks(bench) - from);
        if (lasted >= ticks / 2) {
            return (uint64_t)ceil((double)laps * ticks / lasted);
        }
        laps *= 2;
    }
}

double spin_rate(const struct bench *bench, uint64_t laps, double timer_ticks)
{
    const uint64_t from = bench_ticks(bench);
    (void)spin_adds(laps);
    const double lasted = (double)(bench_ticks(bench) - from) - timer_ticks;
    return (double)(laps * SPIN_ADDS) / lasted;
}

double sample_ticks(const struct bench *bench, const struct timer *timer, bool memory,
                    bool *resolved)
{
    const double hz = (double)bench->tsc_hz;
    const double needed = timer->uncertainty / RESOLUTION;
    const double wanted = memory ? fmax(needed, MEMORY_SECONDS * hz) : needed;
    *resolved = wanted <= LONGEST_SAMPLE * hz;
    return fmin(wanted, LONGEST_SAMPLE * hz);
}

struct sample_length longer_sample(const struct walk *walk, struct sample_length length,
                                   double ticks, double wanted)
{
    /* A first try may be so short that its time means little: approach in steps. */
    const double factor = fmin(GROWTH, fmax(MARGIN, MARGIN * wanted / fmax(ticks, 1)));
    if (walk->code->prepare != NULL) {
        length.calls = (uint64_t)ceil((double)length.calls * factor);
    } else {
        length.operations = (uint64_t)ceil((double)length.operations * factor);
    }
    return length;
}

/* What struck between two readings, as flags of a sample. */
static uint32_t struck(const struct reading *from, const struct reading *to)
{
    uint32_t flags = 0;
    if ((to->known >> KNOWN_SMIS & 1) != 0 && to->smis != from->smis) {
        flags |= 1u << FLAG_SMI;
    }
    if (to->nmis != from->nmis) {
        flags |= 1u << FLAG_NMI;
    }
    if (to->pending != from->pending) {
        flags |= 1u << FLAG_INTERRUPT;
    }
    return flags;
}

struct span {
    double ticks, cycles;
};

static struct span time_calls(struct walk *walk, const struct timer *timer,
                              struct sample_length length)
{
    const struct bench *bench = walk->bench;
    struct span sum = { 0 };
    for (uint64_t i = 0; i < length.calls; i++) {
        struct reading from, to;
        if (walk->code->prepare != NULL) {
            walk->code->prepare(&walk->job, bench);
        }
        bench->read(bench->self, &from);
        walk_on(walk, length.operations);
        bench->read(bench->self, &to);
        sum.ticks += (double)(to.tsc - from.tsc) - timer->ticks;
        sum.cycles += (double)(to.cycles - from.cycles) - timer->cycles; /* NAN: not counted */
    }
    return sum;
}

/* Cycles of a span by the core clock before and after it; NAN if that changed meanwhile. */
static double cycles_by_chains(double ticks, double before, double after)
{
    const bool steady = fabs(after - before) <= CHAINS_AGREE * fmin(before, after);
    return steady ? ticks * (before + after) / 2 : NAN;
}

double take_sample(struct walk *walk, const struct timer *timer, struct sample_length length,
                   struct sample *sample)
{
    const struct bench *bench = walk->bench;
    struct reading from, to;
    bench->read(bench->self, &from);
    struct span span;
    if (counts_cycles(&from)) {
        span = time_calls(walk, timer, length);
    } else {
        const double before = spin_rate(bench, timer->chain_laps, timer->ticks);
        span = time_calls(walk, timer, length);
        const double after = spin_rate(bench, timer->chain_laps, timer->ticks);
        span.cycles = cycles_by_chains(span.ticks, before, after);
    }
    bench->read(bench->self, &to);
    const double operations = (double)length.operations * (double)length.calls;
    sample->ns = span.ticks * 1e9 / (double)bench->tsc_hz / operations;
    sample->cycles = span.cycles / operations;
    sample->flags = struck(&from, &to);
    return span.ticks;
}
