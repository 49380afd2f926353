/* Timers of a chipset on the scripted processor's time. */
#ifndef TESTS_FAKES_TIMERS_H
#define TESTS_FAKES_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

/* ACPI's power management timer, 3 579 545 Hz in whole ticks. */
struct fake_pm_timer {
    uint64_t tsc_hz; /* how fast the scripted time runs */
    unsigned bits;   /* 24 or 32 */
    uint32_t start;  /* its count at time 0 */
    bool stopped;    /* a timer that answers with `start` for ever */
};

void fake_pm_timer_at_port(struct fake_pm_timer *timer, uint16_t port);
void fake_pm_timer_in_memory(struct fake_pm_timer *timer, uint64_t address);

/* A high-precision event timer: capabilities, configuration, counter. */
struct fake_hpet {
    uint64_t tsc_hz;
    uint32_t period;        /* femtoseconds */
    uint32_t configuration; /* counts while bit 0 is set */
    uint64_t count;         /* when it was last switched on or off */
    uint64_t since;         /* time of that */
};

void fake_hpet_in_memory(struct fake_hpet *hpet, uint64_t address);

#endif
