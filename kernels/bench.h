/* The bench a kernel is measured on: all that kernels/ may know of the machine.
 *
 * boot/bench.c makes one of hw/, tests/fakes/ one of a model machine, tests/hosted/ one of Linux.
 * Conditions are data, applied and undone by the bench: a kernel never switches anything. */
#ifndef KERNELS_BENCH_H
#define KERNELS_BENCH_H

#include "hw/machine.h"

enum { BENCH_EVENTS = 8 }; /* of one pass; a longer list is measured in several passes */

/* Physical order of a view's pages. SCATTERED: no two neighbours physically adjacent.
 * BALANCED: scattered, with the colours of the second-level cache even. */
enum placing { PLACED_IN_ORDER, PLACED_SCATTERED, PLACED_BALANCED, PLACINGS };
enum vectors { VECTORS_NONE, VECTORS_SSE2, VECTORS_AVX2, VECTORS_AVX512 };
enum forget { FORGET_TLB, FORGET_TABLES }; /* CR3 reload; and the page-table lines flushed */

/* How the memory lies. In one placing, any leaf shows the same lines at the same address. */
struct layout {
    size_t bytes; /* of the view, rounded up to whole leaves by the bench */
    enum page_size leaf;
    size_t frames; /* 0, or F: page k shows frame k % F (aliases, for `tlb`) */
    unsigned node; /* 0: the measuring core's */
    enum placing placing;
};

/* How the core is set while a body runs. */
struct conditions {
    uint32_t prefetchers_off; /* bit i: switch i of the machine's list; all ones: all there are */
    enum vectors vectors;
    unsigned events, event[BENCH_EVENTS]; /* enum counter; what has no room or is not there stays
                                             unknown in the readings */
};

enum { KNOWN_CYCLES = 31, KNOWN_SMIS = 30 }; /* bits of struct reading's `known` */

/* Clock and counters at one moment; the difference of two is what happened in between. */
struct reading {
    uint64_t tsc;
    uint64_t cycles; /* of the core, from a counter; not of the TSC */
    uint64_t event[BENCH_EVENTS];
    uint32_t known; /* bit i: event i was counted; and the KNOWN_ bits */
    uint32_t smis;
    uint32_t nmis;
    uint32_t pending; /* interrupts that became pending since the body began */
};

/* What was found afterwards, never what was asked for. */
struct proof {
    uint64_t leaves[PAGE_SIZES]; /* accessed leaves of the view */
    bool leaves_known;           /* false where the host hides its tables */
    uint32_t prefetchers_off;    /* as read back */
    bool prefetchers_known;      /* that they could be */
    uint8_t memory_type;         /* MTRR and PAT combined: 6 is write-back */
    bool smashed;                /* the TLB does not hold the leaf's size */
    uint64_t tables;             /* physical address of the root table */
    struct fault fault;          /* if FAULTED */
    const char *reason;          /* NULL if OK; static text */
};

struct bench {
    void *self;
    uint64_t tsc_hz; /* ticks of reading.tsc a second */

    /* Shows arena memory as `want` at *base until the next call; the same base for every view.
     * A later map of the same node and placing shows the same frames from the first on, contents
     * kept. Clears the leaves' accessed bits and touches each leaf once, so that `inside` can
     * prove the leaf size. ABSENT with a reason where the arena or the machine has none.
     * Outside a body only. */
    enum status (*map)(void *self, const struct layout *want, void **base, const char **reason);

    /* Physical address of a mapped byte; false where the host hides it. Anywhere. */
    bool (*physical)(void *self, const void *at, uint64_t *address);

    /* Runs body(arg) in one window. A body returns within a second as a rule, never later than
     * three; only a body touches mapped memory. Firmware gets its turn (at least 20 ms) between
     * two bodies: the bench sees to it. FAULTED: `found->fault` tells. */
    enum status (*inside)(void *self, const struct conditions *set, void (*body)(void *), void *arg,
                          struct proof *found);

    /* Clock and counters, serialised on both sides. In a body only. */
    void (*read)(void *self, struct reading *now);

    /* Makes the core forget translations; ABSENT where the host does not let us. In a body. */
    enum status (*forget)(void *self, enum forget what);
};

#endif
