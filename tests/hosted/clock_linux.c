#include "tests/hosted/clock_linux.h"

#include "hw/clock.h"
#include "hw/cpu.h"
#include "hw/cpuid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char raw_name[] = "CLOCK_MONOTONIC_RAW";
static const char steered_name[] = "CLOCK_MONOTONIC";

static double seconds_of(clockid_t id)
{
    struct timespec now = { 0 };
    (void)clock_gettime(id, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Without sleeping: what ends a sleep comes late. */
static bool wait_by_raw_clock(void *self, unsigned microseconds)
{
    const double end = seconds_of(CLOCK_MONOTONIC_RAW) + microseconds * 1e-6;
    (void)self;
    while (seconds_of(CLOCK_MONOTONIC_RAW) < end) {
        cpu_pause();
    }
    return true;
}

/* ---- two clocks of the system ----------------------------------------------------------------- */

enum { READINGS = 64 };
#define TIMED_SECONDS 0.2
#define AGREEMENT     0.01
#define SLOWEST_HZ    1e8 /* of a counter that runs at all */

struct stamp {
    double ticks, seconds;
};

/* The tightest of some brackets: what interrupts us makes one wide, hardly all. */
static struct stamp take_stamp(clockid_t id)
{
    struct stamp best = { 0 };
    double narrowest = INFINITY;
    for (unsigned i = 0; i < READINGS; i++) {
        const uint64_t before = cpu_tsc_ordered();
        const double seconds = seconds_of(id);
        const double width = (double)(cpu_tsc_ordered() - before);
        if (width < narrowest) {
            narrowest = width;
            best = (struct stamp){ (double)before + width / 2, seconds };
        }
    }
    return best;
}

static double rate(struct stamp from, struct stamp to)
{
    return (to.ticks - from.ticks) / (to.seconds - from.seconds);
}

static enum status find_by_two_clocks(struct clock *clock)
{
    const struct stamp raw = take_stamp(CLOCK_MONOTONIC_RAW);
    const struct stamp steered = take_stamp(CLOCK_MONOTONIC);
    (void)wait_by_raw_clock(NULL, (unsigned)(TIMED_SECONDS * 1e6));
    const double hz = rate(raw, take_stamp(CLOCK_MONOTONIC_RAW));
    const double other = rate(steered, take_stamp(CLOCK_MONOTONIC));
    if (!(hz >= SLOWEST_HZ && fabs(hz - other) <= AGREEMENT * hz)) {
        clock->reason = "the system's clocks do not agree how fast the time-stamp counter ticks";
        return ABSENT;
    }
    clock->reason = NULL;
    clock->tsc_hz = (uint64_t)(hz + 0.5);
    clock->disagreement_ppm = fabs(hz - other) / hz * 1e6;
    (void)snprintf(clock->source, sizeof clock->source, "%s", raw_name);
    (void)snprintf(clock->checked_by, sizeof clock->checked_by, "%s", steered_name);
    return OK;
}

/* ---- all sources ------------------------------------------------------------------------------ */

/* hw/clock.c takes every wait for the firmware's. */
static void name_the_wait(char name[sizeof((struct clock *)0)->source])
{
    if (strcmp(name, "firmware Stall") == 0) {
        (void)snprintf(name, sizeof((struct clock *)0)->source, "%s", raw_name);
    }
}

enum status clock_linux_find(struct clock *clock, const struct processor *processor)
{
    const struct clock_needs needs = {
        .processor = processor,
        .tsc = cpu_tsc_ordered,
        .stall = wait_by_raw_clock,
    };
    if (clock_find(clock, &needs) != OK) {
        return has_feature(processor, FEATURE_TSC) ? find_by_two_clocks(clock) : ABSENT;
    }
    name_the_wait(clock->source);
    name_the_wait(clock->checked_by);
    return OK;
}
