#include "tests/hosted/bench_linux.h"

#include "boot/probe.h"
#include "hw/cpu.h"
#include "hw/cpuid.h"
#include "hw/insn.h"
#include "hw/vector.h"
#include "kernels/result.h"
#include "tests/hosted/catch.h"
#include "tests/hosted/pages.h"

#include <math.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Between two bodies, as on the bare machine: others get the processor now and not in the middle of
 * a body, and the core goes into each body out of the same idleness. */
#define REST_SECONDS 0.02

enum { WRITE_BACK = 6, NANOSECONDS = 1000000000 };

static double seconds_now(void)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A signal may end a sleep before its time. */
static void rest(const struct bench_linux *bench)
{
    for (;;) {
        const double missing = bench->left + REST_SECONDS - seconds_now();
        if (missing <= 0) {
            return;
        }
        const struct timespec wait = {
            .tv_nsec = (long)(fmin(missing, REST_SECONDS) * NANOSECONDS) + 1,
        };
        (void)nanosleep(&wait, NULL);
    }
}

/* ---- the view --------------------------------------------------------------------------------- */

static enum status map(void *self, const struct layout *want, void **base, const char **reason)
{
    struct bench_linux *bench = self;
    bench->probed = false;
    bench->smashed = false;
    *base = (void *)(uintptr_t)ARENA_BASE;
    return arena_show(&bench->arena, want, reason);
}

static bool physical(void *self, const void *at, uint64_t *address)
{
    const struct bench_linux *bench = self;
    return pages_physical(bench->page_map, at, address);
}

/* First, middle and last leaf: a host may back some and not others with large pages. */
static void probe_leaves(struct bench_linux *bench)
{
    const struct shape *shape = &bench->arena.shape;
    const size_t leaf[] = { 0, (shape->pages - 1) / 2, shape->pages - 1 };
    bench->probed = true;
    if (shape->unit < PROBE_BYTES || bench->emulated) {
        return;
    }
    for (unsigned i = 0; i < sizeof leaf / sizeof leaf[0]; i++) {
        struct probe probe =
            probe_page((const void *)(uintptr_t)(ARENA_BASE + leaf[i] * shape->unit));
        bench->smashed = bench->smashed || probe_is_smashed(&probe);
    }
}

/* ---- inside ----------------------------------------------------------------------------------- */

static const struct {
    enum feature needs;
    const char *reason;
} vectors[] = {
    [VECTORS_NONE] = { FEATURES, NULL },
    [VECTORS_SSE2] = { FEATURES, NULL },
    [VECTORS_AVX2] = { FEATURE_AVX2, "the processor or the system has no AVX2" },
    [VECTORS_AVX512] = { FEATURE_AVX512F, "the processor or the system has no AVX-512" },
};

static const char no_switches[] = "a program of Linux cannot switch prefetchers";

/* Why a body cannot run under such conditions, or NULL. */
static const char *impossible(const struct bench_linux *bench, const struct conditions *set)
{
    if (set->prefetchers_off != 0) {
        return no_switches;
    }
    const enum feature needs = vectors[set->vectors].needs;
    const bool has = needs == FEATURES || (bench->features >> needs & 1) != 0;
    return has ? NULL : vectors[set->vectors].reason;
}

static enum status open_events(struct bench_linux *bench, const struct conditions *set,
                               const char **reason)
{
    struct counter_event event[BENCH_EVENTS];
    *reason = "the kernel has no name for one of these events";
    for (unsigned i = 0; i < set->events; i++) {
        if (i >= BENCH_EVENTS || !counter_event_of(set->event[i], &event[i])) {
            return ABSENT;
        }
    }
    *reason = "the kernel does not let us count these events";
    const enum status status = counters_open(&bench->events, event, set->events);
    *reason = status == OK ? NULL : *reason;
    return status;
}

static void run_body(void *arg)
{
    struct bench_linux *bench = arg;
    if (!bench->probed && arena_shown(&bench->arena) > 0) {
        probe_leaves(bench);
    }
    bench->body(bench->arg);
}

/* Linux maps a program's memory write-back, always; no program can see the tables that say so. */
static void fill_proof(const struct bench_linux *bench, struct proof *found)
{
    found->leaves_known =
        arena_shown(&bench->arena) > 0 && arena_leaves(&bench->arena, found->leaves);
    found->memory_type = WRITE_BACK;
    found->smashed = bench->smashed;
}

/* The system may take a large page apart at any time. */
static bool leaves_have_changed(const struct bench_linux *bench, const struct proof *found)
{
    return found->leaves_known && found->leaves[bench->arena.leaf] != bench->arena.shape.pages;
}

static enum status inside(void *self, const struct conditions *set, void (*body)(void *), void *arg,
                          struct proof *found)
{
    struct bench_linux *bench = self;
    *found = (struct proof){ .reason = impossible(bench, set) };
    if (found->reason != NULL || open_events(bench, set, &found->reason) != OK) {
        return ABSENT;
    }
    bench->body = body;
    bench->arg = arg;
    rest(bench);
    enum status status = catch_run(run_body, bench, &found->fault);
    bench->left = seconds_now();
    counters_close(&bench->events);
    fill_proof(bench, found);
    if (status == FAULTED) {
        found->reason = "an exception in the measurement";
    } else if (leaves_have_changed(bench, found)) {
        found->reason = "the system took pages apart, or put them together, meanwhile";
        status = ABSENT;
    }
    return status;
}

static void read_events(const struct bench_linux *bench, struct reading *now)
{
    if (bench->events.count > 0 && counters_read(&bench->events, now->event)) {
        now->known |= (1U << bench->events.count) - 1;
    }
}

/* The clock last, next to what is timed. */
static void read_now(void *self, struct reading *now)
{
    const struct bench_linux *bench = self;
    struct rusage usage;
    uint64_t cycles[BENCH_EVENTS];
    *now = (struct reading){ .known = 0 };
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        now->pending = (uint32_t)usage.ru_nivcsw;
    }
    read_events(bench, now);
    if (bench->cycles.count > 0 && counters_read(&bench->cycles, cycles)) {
        now->cycles = cycles[0];
        now->known |= 1U << KNOWN_CYCLES;
    }
    now->tsc = cpu_tsc_ordered();
}

static enum status forget(void *self, enum forget what)
{
    (void)self;
    (void)what;
    return ABSENT; /* translations are the kernel's to forget */
}

/* ---- preparation ------------------------------------------------------------------------------ */

/* Vector registers exist for a program only if the system saves them. */
static uint64_t usable_features(const struct processor *processor)
{
    uint64_t saved = 0;
    uint64_t features = processor->features;
    (void)insn_xgetbv(0, &saved);
    if ((saved & VECTORS_OF_AVX) != VECTORS_OF_AVX) {
        features &= ~(UINT64_C(1) << FEATURE_AVX2);
    }
    if ((saved & VECTORS_OF_AVX512) != VECTORS_OF_AVX512) {
        features &= ~(UINT64_C(1) << FEATURE_AVX512F);
    }
    return features;
}

static void open_cycles(struct bench_linux *bench)
{
    struct counter_event event;
    if (counter_event_of(C_CYCLES, &event)) {
        (void)counters_open(&bench->cycles, &event, 1); /* without them a chain of adds tells */
    }
}

enum status bench_linux_prepare(struct bench_linux *bench, const struct bench_linux_setup *setup,
                                const char **reason)
{
    struct machine *machine = setup->machine;
    *bench = (struct bench_linux){
        .page_map = pages_open_map(),
        .features = usable_features(&machine->processor),
        .emulated = machine->processor.emulated,
    };
    bench->bench = (struct bench){
        .self = bench,
        .tsc_hz = machine->clock.tsc_hz,
        .map = map,
        .physical = physical,
        .inside = inside,
        .read = read_now,
        .forget = forget,
    };
    if (setup->counters) {
        open_cycles(bench);
    }
    *reason = "the system does not let a program see its exceptions";
    enum status status = catch_prepare();
    if (status == OK) {
        status = arena_open(&bench->arena, setup->bytes, setup->seed, machine->page_available,
                            machine->page_reason, reason);
    }
    machine->arena_bytes = status == OK ? bench->arena.room : 0;
    machine->prefetchers.reason = no_switches;
    return status;
}

void bench_linux_close(struct bench_linux *bench)
{
    arena_close(&bench->arena);
    counters_close(&bench->cycles);
    if (bench->page_map >= 0) {
        (void)close(bench->page_map);
        bench->page_map = -1;
    }
}
