/* The bench on the bare machine: what kernels/bench.h promises, over the window, page tables of our
 * own and the arena. */
#ifndef BOOT_BENCH_H
#define BOOT_BENCH_H

#include "boot/selftest.h"
#include "boot/view.h"
#include "hw/pmu.h"
#include "hw/prefetchers.h"
#include "hw/window.h"

enum { BENCH_LOW_BYTES = VIEW_LOW_BYTES };

struct bench_setup {
    struct window *window;
    /* Processor and clock are known. Filled here: the page sizes with their reasons, arena_bytes,
     * the prefetchers, the counters. It stays, where bodies can reach it. */
    struct machine *machine;
    const struct memory_range *arena; /* allocated for us, 4 KiB aligned (boot/memory.h) */
    size_t ranges;
    void *low_memory; /* BENCH_LOW_BYTES below 4 GiB, 4 KiB aligned */
    /* What bodies touch beside the view: the image's sections, their own memory, the registers of
     * a UART in memory. The window's memory and the LAPIC's registers need not be named. */
    const struct view_region *region;
    size_t regions;
    uint64_t seed; /* same seed, same scattered frames */
    /* The firmware's turn between two windows, interrupts on: keys, progress, and so many
     * microseconds of the firmware's own (0: none are owed). May call firmware. */
    void (*idle)(void *self, unsigned microseconds);
    void *idle_self;
};

/* The bench's own state. It must lie in a region named above, since bodies work with it: static
 * memory of the image does. */
struct bench_metal {
    struct bench bench; /* for the kernels, from bench_prepare on */
    struct window *window;
    struct mtrr mtrr;
    struct views views;
    struct prefetchers prefetchers;
    struct pmu pmu;
    bool counts_cycles; /* by APERF */
    bool counts_smis;
    bool flushes;  /* CLFLUSH exists */
    bool emulated; /* times mean nothing */
    uint64_t tsc_hz;
    void (*idle)(void *self, unsigned microseconds);
    void *idle_self;

    struct view view;     /* what is shown */
    uint64_t touched;     /* leaves of it that have been, from the first on */
    bool probed, smashed; /* of its large leaves */
    uint64_t left;        /* time stamp of the last window's end, 0: none yet */
    void (*body)(void *); /* what runs inside */
    void *arg;
    uint32_t switch_off;        /* of the prefetchers, while it runs: as struct conditions has it */
    uint32_t switched_off;      /* as read back after it */
    bool switches_known;        /* that could be read */
    struct pmu_pass pass;       /* counters that run meanwhile */
    uint8_t slot[BENCH_EVENTS]; /* of the pass, of each event; NO_SLOT: it has none */
    const char *refused;        /* why the body did not run; NULL: it did */
    struct window_report report; /* of the last window: nobody outside may find it different */
};

/* Makes the bench. Registers are read in a guard. ABSENT or DENIED with a reason where nothing can
 * be measured on this machine. Window: no. */
enum status bench_prepare(struct bench_metal *metal, const struct bench_setup *setup,
                          const char **reason);

/* Builds a view that shows nothing of the arena, and says where the self-test may poke. It holds
 * until the next map. `idle` is called between its windows by the caller. Window: no. */
enum status bench_selftest_view(struct bench_metal *metal, struct selftest_view *place,
                                const char **reason);

#endif
