#include "hw/clock.h"

#include <stdio.h>
#include <string.h>

#include "hw/cpuid.h"
#include "hw/insn.h"

/* ---- CPUID ---- */

/* Processors whose leaf 15h leaves the crystal out (read off real ones: leaf 15h times this gives
 * the TSC that timers see, while leaf 16h is a rounded figure). */
static const struct {
    uint8_t model; /* of Intel's family 6 */
    uint32_t hz;
} crystals[] = {
    { 0x4e, 24000000 }, { 0x5e, 24000000 }, { 0x8e, 24000000 }, { 0x9e, 24000000 },
    { 0xa5, 24000000 }, { 0xa6, 24000000 }, { 0xa7, 24000000 }, /* Skylake to Rocket Lake */
    { 0x55, 25000000 }, { 0x6a, 25000000 }, { 0x5f, 25000000 }, /* Xeons, Denverton */
    { 0x5c, 19200000 }, { 0x7a, 19200000 },                     /* Goldmont */
};

static uint32_t crystal_of_model(const struct processor *processor)
{
    for (size_t i = 0; i < sizeof(crystals) / sizeof(crystals[0]); i++) {
        if (is_intel(processor) && processor->family == 6 &&
            processor->model == crystals[i].model) {
            return crystals[i].hz;
        }
    }
    return 0;
}

static bool differ(double a, double b, double share)
{
    double difference = a > b ? a - b : b - a;
    return difference > share * (a < b ? a : b);
}

uint64_t clock_hz_of_leaf_15(const struct processor *processor)
{
    struct cpuid_regs ratio;
    struct cpuid_regs nominal;
    if (!cpuid_read(0x15, 0, &ratio) || ratio.eax == 0 || ratio.ebx == 0) {
        return 0;
    }
    uint64_t crystal = ratio.ecx != 0 ? ratio.ecx : crystal_of_model(processor);
    uint64_t hz = crystal * ratio.ebx / ratio.eax;
    cpuid_read(0x16, 0, &nominal);
    double claimed = (double)(nominal.eax & 0xffff) * 1e6;
    return claimed > 0 && differ((double)hz, claimed, 0.02) ? 0 : hz;
}

/* VMware's convention, which others took over: kHz in EAX. Hyper-V and Xen number their leaves
 * differently. */
static uint64_t hypervisor_leaf_hz(const struct processor *processor)
{
    static const char *const users[] = { "VMware", "KVM", "VirtualBox", "bhyve", "ACRN" };
    struct cpuid_regs regs;
    for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
        if (strcmp(processor->hypervisor, users[i]) == 0 && cpuid_read(0x40000010, 0, &regs)) {
            return (uint64_t)regs.eax * 1000;
        }
    }
    return 0;
}

/* ---- MSRs ---- */

enum {
    MSR_PLATFORM_INFO = 0xce,
    MSR_HYPERV_TSC_HZ = 0x40000022,
    MSR_AMD_P0 = 0xc0010064U,
    HYPERV_INTERFACE = 0x31237648, /* "Hv#1" */
};

static uint64_t hyperv_hz(void)
{
    struct cpuid_regs interface;
    struct cpuid_regs features;
    uint64_t hz = 0;
    bool offers = cpuid_read(0x40000001, 0, &interface) && interface.eax == HYPERV_INTERFACE &&
                  cpuid_read(0x40000003, 0, &features) && (features.eax >> 11 & 1) != 0;
    return offers && insn_rdmsr(MSR_HYPERV_TSC_HZ, &hz) ? hz : 0;
}

/* Bus clocks in thirds of a hertz: Nehalem and Westmere run at 133.33 MHz. */
enum { BUS_133 = 400000000, BUS_100 = 300000000 };

/* Family 6 before leaf 15h, all of which have the register. */
static const struct {
    uint8_t model;
    uint32_t bus;
} ratio_models[] = {
    { 0x1a, BUS_133 }, { 0x1e, BUS_133 }, { 0x1f, BUS_133 }, { 0x2e, BUS_133 }, /* Nehalem */
    { 0x25, BUS_133 }, { 0x2c, BUS_133 }, { 0x2f, BUS_133 },                    /* Westmere */
    { 0x2a, BUS_100 }, { 0x2d, BUS_100 }, { 0x3a, BUS_100 }, { 0x3e, BUS_100 }, /* Sandy, Ivy */
    { 0x3c, BUS_100 }, { 0x3f, BUS_100 }, { 0x45, BUS_100 }, { 0x46, BUS_100 }, /* Haswell */
    { 0x3d, BUS_100 }, { 0x47, BUS_100 }, { 0x4f, BUS_100 }, { 0x56, BUS_100 }, /* Broadwell */
};

static uint64_t intel_ratio_hz(const struct processor *processor)
{
    uint64_t info;
    for (size_t i = 0; i < sizeof(ratio_models) / sizeof(ratio_models[0]); i++) {
        if (processor->family == 6 && processor->model == ratio_models[i].model &&
            insn_rdmsr(MSR_PLATFORM_INFO, &info)) {
            return (info >> 8 & 0xff) * ratio_models[i].bus / 3;
        }
    }
    return 0;
}

/* The TSC counts at P-state 0. Families before 17h may hold a boost state there. */
static uint64_t amd_p0_hz(const struct processor *processor)
{
    uint64_t state;
    bool zen = processor->family == 0x17 || processor->family == 0x19 || processor->family == 0x1a;
    if (!zen || !insn_rdmsr(MSR_AMD_P0, &state) || state >> 63 == 0) {
        return 0;
    }
    if (processor->family == 0x1a) {
        return (state & 0xfff) * 5000000;
    }
    uint64_t divisor = state >> 8 & 0x3f;
    return divisor != 0 ? (state & 0xff) * 200000000 / divisor : 0;
}

void clock_read_msrs(const struct processor *processor, struct clock_msrs *msrs)
{
    *msrs = (struct clock_msrs){ 0 };
    if (processor->hypervisor[0] != '\0') {
        msrs->hyperv_hz = hyperv_hz();
    } else if (is_intel(processor)) {
        msrs->ratio_hz = intel_ratio_hz(processor);
    } else if (is_amd(processor)) {
        msrs->ratio_hz = amd_p0_hz(processor);
    }
}

/* ---- timing the TSC against another counter ---- */

enum {
    WINDOWS = 3,
    WINDOW_US = 50000,
    STAMP_READS = 8,
    MOST_POLLS = 1 << 20, /* over a microsecond each */
    STUCK_POLLS = 1000,   /* without a tick: many times the slowest counter's period */
    POLL_LAPS = 2000,
};

/* A counter with a known frequency. */
struct timer {
    const struct clock_needs *needs;
    uint32_t (*read)(const struct clock_needs *needs);
    uint32_t mask; /* it counts modulo this + 1 */
    double hz;
};

/* Both counters at one moment, known to half the width. */
struct stamp {
    uint64_t tsc;
    uint64_t width;
    uint32_t count;
};

/* The tightest of some brackets: an SMI or an interrupt makes one wide, hardly all. */
static struct stamp take_stamp(const struct timer *timer)
{
    struct stamp best = { .width = UINT64_MAX };
    for (unsigned i = 0; i < STAMP_READS; i++) {
        uint64_t before = timer->needs->tsc();
        uint32_t count = timer->read(timer->needs);
        uint64_t width = timer->needs->tsc() - before;
        if (width < best.width) {
            best = (struct stamp){ .tsc = before + width / 2, .width = width, .count = count };
        }
    }
    return best;
}

static uint32_t ticks_between(const struct timer *timer, uint32_t from, uint32_t to)
{
    return (to - from) & timer->mask;
}

/* A pause between polls, in instructions, since no clock is known yet. */
static void spin(void)
{
    for (unsigned i = 0; i < POLL_LAPS; i++) {
        __asm__ volatile("" ::: "memory");
    }
}

/* False: the counter stands still, or never gets there. */
static bool wait_for(const struct timer *timer, uint32_t from, uint32_t ticks)
{
    uint32_t last = from;
    unsigned stuck = 0;
    for (unsigned poll = 0; poll < MOST_POLLS && stuck < STUCK_POLLS; poll++) {
        spin();
        uint32_t count = timer->read(timer->needs);
        if (ticks_between(timer, from, count) >= ticks) {
            return true;
        }
        stuck = count == last ? stuck + 1 : 0;
        last = count;
    }
    return false;
}

/* One window: the TSC's frequency, 0 if there was none, and how sure it is (smaller is better). */
static double time_window(const struct timer *timer, uint64_t *spread)
{
    uint32_t ticks = (uint32_t)(timer->hz * WINDOW_US * 1e-6);
    struct stamp begin = take_stamp(timer);
    if (!wait_for(timer, begin.count, ticks)) {
        return 0;
    }
    struct stamp end = take_stamp(timer);
    uint32_t elapsed = ticks_between(timer, begin.count, end.count);
    *spread = begin.width + end.width;
    return elapsed < ticks ? 0 : (double)(end.tsc - begin.tsc) * timer->hz / elapsed;
}

static double time_against(const struct timer *timer)
{
    double best = 0;
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < WINDOWS; i++) {
        uint64_t spread = UINT64_MAX;
        double hz = time_window(timer, &spread);
        if (hz > 0 && spread < least) {
            best = hz;
            least = spread;
        }
    }
    return best;
}

static uint32_t read_pm_timer(const struct clock_needs *needs)
{
    const struct pm_timer *timer = &needs->pm_timer;
    return timer->in_memory ? insn_read32(timer->address) : insn_in32((uint16_t)timer->address);
}

static double pm_timer_hz(const struct clock_needs *needs)
{
    if (needs->pm_timer.bits == 0) {
        return 0;
    }
    return time_against(&(struct timer){
        .needs = needs,
        .read = read_pm_timer,
        .mask = needs->pm_timer.bits == 32 ? UINT32_MAX : 0xffffff,
        .hz = PM_TIMER_HZ,
    });
}

/* IA-PC HPET specification 1.0a, 2.3. The counter's low half is enough: it wraps after 43 s at the
 * earliest. */
enum {
    HPET_PERIOD = 0x04, /* femtoseconds a tick, at most 100 ns */
    HPET_CONFIGURATION = 0x10,
    HPET_COUNTER = 0xf0,
    HPET_ENABLE = 1,
    HPET_LONGEST_PERIOD = 100000000,
};

static uint32_t read_hpet(const struct clock_needs *needs)
{
    return insn_read32(needs->hpet + HPET_COUNTER);
}

static double hpet_hz(const struct clock_needs *needs)
{
    uint32_t period = needs->hpet != 0 ? insn_read32(needs->hpet + HPET_PERIOD) : 0;
    if (period == 0 || period > HPET_LONGEST_PERIOD) {
        return 0;
    }
    uint64_t configuration = needs->hpet + HPET_CONFIGURATION;
    uint32_t found = insn_read32(configuration);
    if ((found & HPET_ENABLE) == 0) {
        insn_write32(configuration, found | HPET_ENABLE);
    }
    double hz = time_against(&(struct timer){
        .needs = needs, .read = read_hpet, .mask = UINT32_MAX, .hz = 1e15 / period });
    if ((found & HPET_ENABLE) == 0) {
        insn_write32(configuration, found);
    }
    return hz;
}

/* Many short waits rather than few long ones: on a busy host a virtual machine is rarely awake just
 * when a wait ends, and one wait of which it was is enough. */
enum { STALLS = 16, SHORT_STALL_US = 1000, LONG_STALL_US = 21000 };

/* Ticks that the shortest of some waits took, which is the truest; UINT64_MAX if all failed. */
static uint64_t shortest_stall(const struct clock_needs *needs, unsigned microseconds)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < STALLS; i++) {
        uint64_t begin = needs->tsc();
        bool waited = needs->stall(needs->self, microseconds);
        uint64_t ticks = needs->tsc() - begin;
        if (waited && ticks < least) {
            least = ticks;
        }
    }
    return least;
}

/* Firmware waits at least as long as it was asked to, and a little more: the difference of a long
 * and a short wait is rid of most of that. */
static double stall_hz(const struct clock_needs *needs)
{
    if (needs->stall == NULL) {
        return 0;
    }
    uint64_t brief = shortest_stall(needs, SHORT_STALL_US);
    uint64_t lengthy = shortest_stall(needs, LONG_STALL_US);
    return lengthy == UINT64_MAX || lengthy <= brief
               ? 0
               : (double)(lengthy - brief) / ((LONG_STALL_US - SHORT_STALL_US) * 1e-6);
}

/* ---- the sources ---- */

static double leaf_15_hz(const struct clock_needs *needs)
{
    return (double)clock_hz_of_leaf_15(needs->processor);
}

static double leaf_40000010_hz(const struct clock_needs *needs)
{
    return (double)hypervisor_leaf_hz(needs->processor);
}

static double hyperv_msr_hz(const struct clock_needs *needs)
{
    return (double)needs->msrs.hyperv_hz;
}

static double ratio_msr_hz(const struct clock_needs *needs)
{
    return (double)needs->msrs.ratio_hz;
}

enum source_kind { TOLD, TIMED };

/* In order of preference. A ratio is the last of what is told: overclocking moves its bus. */
static const struct source {
    const char *name;
    enum source_kind kind;
    double (*hz)(const struct clock_needs *needs); /* 0: no answer */
} sources[] = {
    { "CPUID 15h", TOLD, leaf_15_hz },
    { "CPUID 40000010h", TOLD, leaf_40000010_hz },
    { "Hyper-V MSR", TOLD, hyperv_msr_hz },
    { "ACPI PM timer", TIMED, pm_timer_hz },
    { "HPET", TIMED, hpet_hz },
    { "ratio MSR", TOLD, ratio_msr_hz },
    { "firmware Stall", TIMED, stall_hz },
};

enum { SOURCES = sizeof(sources) / sizeof(sources[0]) };
enum { SLOWEST_HZ = 100000000, MONOTONIC_READS = 1000 };
static const double FASTEST_HZ = 20e9;
static const double AGREEMENT = 0.01;

/* Each source is asked at most once: timing takes time. */
struct answers {
    const struct clock_needs *needs;
    bool asked[SOURCES];
    double hz[SOURCES];
};

static double ask(struct answers *answers, size_t i)
{
    if (!answers->asked[i]) {
        double hz = sources[i].hz(answers->needs);
        answers->hz[i] = hz >= SLOWEST_HZ && hz <= FASTEST_HZ ? hz : 0;
        answers->asked[i] = true;
    }
    return answers->hz[i];
}

/* A source that agrees with the one given, of the other kind if there is such; SOURCES if none. */
static size_t find_agreeing(struct answers *answers, size_t first)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < SOURCES; i++) {
            bool other_kind = sources[i].kind != sources[first].kind;
            if (i != first && other_kind == (pass == 0) && ask(answers, i) > 0 &&
                !differ(answers->hz[i], answers->hz[first], AGREEMENT)) {
                return i;
            }
        }
    }
    return SOURCES;
}

static void set_clock(struct clock *clock, const struct answers *answers, size_t source,
                      size_t check)
{
    double hz = answers->hz[source];
    double other = answers->hz[check];
    clock->tsc_hz = (uint64_t)(hz + 0.5);
    (void)snprintf(clock->source, sizeof(clock->source), "%s", sources[source].name);
    (void)snprintf(clock->checked_by, sizeof(clock->checked_by), "%s", sources[check].name);
    clock->disagreement_ppm = (other > hz ? other - hz : hz - other) / hz * 1e6;
}

static const char *why_none_agree(const struct answers *answers)
{
    unsigned count = 0;
    for (size_t i = 0; i < SOURCES; i++) {
        count += answers->hz[i] > 0;
    }
    return count == 0   ? "nothing tells how fast the time-stamp counter ticks"
           : count == 1 ? "only one source tells how fast the time-stamp counter ticks"
                        : "no two sources agree within 1 % how fast the time-stamp counter ticks";
}

static bool runs_forward(const struct clock_needs *needs)
{
    uint64_t first = needs->tsc();
    uint64_t last = first;
    for (unsigned i = 0; i < MONOTONIC_READS; i++) {
        uint64_t now = needs->tsc();
        if (now < last) {
            return false;
        }
        last = now;
    }
    return last > first;
}

enum status clock_find(struct clock *clock, const struct clock_needs *needs)
{
    *clock = (struct clock){ .invariant = has_feature(needs->processor, FEATURE_INVARIANT_TSC) };
    if (!has_feature(needs->processor, FEATURE_TSC)) {
        clock->reason = "the processor has no time-stamp counter";
        return ABSENT;
    }
    if (!runs_forward(needs)) {
        clock->reason = "the time-stamp counter does not run forward";
        return ABSENT;
    }
    struct answers answers = { .needs = needs };
    for (size_t i = 0; i < SOURCES; i++) {
        size_t check = ask(&answers, i) > 0 ? find_agreeing(&answers, i) : SOURCES;
        if (check < SOURCES) {
            set_clock(clock, &answers, i, check);
            return OK;
        }
    }
    clock->reason = why_none_agree(&answers);
    return ABSENT;
}
