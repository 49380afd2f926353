/* The bench on Linux: what kernels/bench.h promises, as far as a program may have it.
 *
 * A "window" is this thread on its processor with everything present that it touches. Nothing holds
 * the system back meanwhile: what it took the processor for is counted as `pending`, so that the
 * samples it struck are taken again. Prefetchers, the TLB and page tables are out of reach. */
#ifndef TESTS_HOSTED_BENCH_LINUX_H
#define TESTS_HOSTED_BENCH_LINUX_H

#include "kernels/bench.h"
#include "tests/hosted/arena.h"
#include "tests/hosted/counters.h"

/* The caller owns it; it must not be moved once it is prepared. */
struct bench_linux {
    struct bench bench; /* for the kernels, from bench_linux_prepare on */
    struct arena arena;
    struct counters cycles; /* of the core; open if the kernel lets us */
    struct counters events; /* of the body that runs */
    int page_map;           /* /proc/self/pagemap */
    uint64_t features;      /* of the processor, those that the system has switched on */
    bool emulated;

    bool probed, smashed; /* of the large leaves shown */
    double left;          /* when the last body ended, in seconds of the system's clock */
    void (*body)(void *); /* what runs inside */
    void *arg;
};

struct bench_linux_setup {
    struct machine *machine; /* processor and clock are known. Filled here: the page sizes with
                                their reasons, arena_bytes */
    size_t bytes;            /* of the largest view (tests/hosted/arena.h) */
    uint64_t seed;           /* of the scattered frames */
    bool counters;           /* may be used, where there are any */
};

/* Makes the bench. ABSENT or IO_ERROR with a reason. */
enum status bench_linux_prepare(struct bench_linux *bench, const struct bench_linux_setup *setup,
                                const char **reason);
/* Gives back what it took. */
void bench_linux_close(struct bench_linux *bench);

#endif
