#include "boot/bench.h"

#include "boot/counters.h"
#include "boot/probe.h"
#include "hw/cpu.h"
#include "hw/cpuid.h"
#include "hw/guard.h"
#include "hw/insn.h"
#include "hw/smi.h"
#include "hw/vector.h"

#include <string.h>

#define MSR_APERF     0xE8 /* core cycles while not halted: SDM vol. 3B, 15.2 */
#define MSR_EFER      UINT32_C(0xC0000080)
#define NXE           (UINT64_C(1) << 11)
#define REST_SECONDS  0.02 /* between two windows, at least */
#define TOUCH_SECONDS 0.5  /* of a window that only touches */

/* A view of up to so many leaves is touched at the beginning of its first body: a fraction of a
 * second even where each is a page walk, and it saves a window. */
enum { LEAVES_TOUCHED_IN_BODY = 64 * KIB, LEAVES_BETWEEN_LOOKS = 1024 };

enum { NO_SLOT = 0xFF };

static uint64_t ticks(const struct bench_metal *metal, double seconds)
{
    return (uint64_t)(seconds * (double)metal->tsc_hz);
}

/* ---- windows ---------------------------------------------------------------------------------- */

/* The firmware's clock, keys and disks live on the interrupts between two windows. */
static void let_firmware_run(const struct bench_metal *metal)
{
    const uint64_t rest = ticks(metal, REST_SECONDS);
    if (metal->left == 0) {
        return;
    }
    do {
        uint64_t passed = cpu_tsc() - metal->left;
        double missing = passed < rest ? (double)(rest - passed) / (double)metal->tsc_hz : 0;
        metal->idle(metal->idle_self, (unsigned)(missing * 1e6));
    } while (cpu_tsc() - metal->left < rest);
}

/* Runs body(arg) in a window on the view; `arg` must be mapped there. */
static enum status run(struct bench_metal *metal, uint64_t vectors, void (*body)(void *), void *arg)
{
    const struct window_view view = {
        .root = metal->view.space.root,
        .levels = metal->views.rules.levels,
        .stack = metal->views.stack_end,
    };
    let_firmware_run(metal);
    enum status status = window_run(metal->window, &view, vectors, body, arg, &metal->report);
    metal->left = metal->report.tsc_left;
    return status;
}

/* ---- the view --------------------------------------------------------------------------------- */

static uint64_t leaves(const struct bench_metal *metal)
{
    return metal->view.bytes / paging_bytes(metal->view.leaf);
}

/* One load from each leaf that has had none, until a moment. In the window. */
static void touch_until(struct bench_metal *metal, uint64_t end)
{
    const uint64_t all = leaves(metal);
    const uint64_t unit = paging_bytes(metal->view.leaf);
    while (metal->touched < all) {
        (void)*(const volatile char *)(uintptr_t)(VIEW_BASE + metal->touched * unit);
        metal->touched++;
        if (metal->touched % LEAVES_BETWEEN_LOOKS == 0 && cpu_tsc() > end) {
            return;
        }
    }
}

static void touch_slice(void *arg)
{
    struct bench_metal *metal = arg;
    touch_until(metal, cpu_tsc() + ticks(metal, TOUCH_SECONDS));
}

/* First, middle and last leaf: a host may back some and not others with large pages. In the
 * window. An emulator's times say nothing of a TLB. */
static void probe_leaves(struct bench_metal *metal)
{
    const uint64_t last = leaves(metal) - 1;
    const uint64_t leaf[] = { 0, last / 2, last };
    metal->probed = true;
    if (metal->view.leaf == SIZE_4K || metal->emulated) {
        return;
    }
    for (unsigned i = 0; i < sizeof leaf / sizeof leaf[0]; i++) {
        uint64_t at = VIEW_BASE + leaf[i] * paging_bytes(metal->view.leaf);
        struct probe probe = probe_page((const void *)(uintptr_t)at);
        metal->smashed = metal->smashed || probe_is_smashed(&probe);
    }
}

static enum status show(struct bench_metal *metal, const struct layout *want, const char **reason)
{
    metal->touched = 0;
    metal->probed = false;
    metal->smashed = false;
    return views_build(&metal->views, want, &metal->view, reason);
}

/* A view that could not be made leaves one behind that shows nothing. */
static enum status show_or_nothing(struct bench_metal *metal, const struct layout *want,
                                   const char **reason)
{
    const char *ignored;
    enum status status = show(metal, want, reason);
    if (status != OK) {
        (void)show(metal, NULL, &ignored);
    }
    return status;
}

static enum status map(void *self, const struct layout *want, void **base, const char **reason)
{
    struct bench_metal *metal = self;
    enum status status = show_or_nothing(metal, want, reason);
    *base = (void *)(uintptr_t)VIEW_BASE;
    if (status != OK || leaves(metal) <= LEAVES_TOUCHED_IN_BODY) {
        return status;
    }
    while (status == OK && metal->touched < leaves(metal)) {
        status = run(metal, 0, touch_slice, metal);
    }
    *reason = metal->report.reason;
    return status;
}

static bool physical(void *self, const void *at, uint64_t *address)
{
    const struct bench_metal *metal = self;
    struct paging_leaf leaf;
    if (!paging_find(&metal->view.space, (uint64_t)(uintptr_t)at, &leaf)) {
        return false;
    }
    *address = leaf.physical;
    return true;
}

/* ---- inside ----------------------------------------------------------------------------------- */

static const uint64_t components[] = {
    [VECTORS_NONE] = 0,
    [VECTORS_SSE2] = 0,
    [VECTORS_AVX2] = VECTORS_OF_AVX,
    [VECTORS_AVX512] = VECTORS_OF_AVX512,
};

/* The window puts back what is on its list, so nothing here has to. */
static bool set_prefetchers(struct bench_metal *metal)
{
    uint32_t off;
    if (metal->switch_off == 0) {
        return true;
    }
    return prefetchers_switch_off(&metal->prefetchers, window_saves(metal->window),
                                  metal->switch_off, &off) == OK;
}

/* After the body, so that the proof holds for all of it. */
static void prove_prefetchers(struct bench_metal *metal)
{
    metal->switches_known = metal->prefetchers.readable != 0 &&
                            prefetchers_read(&metal->prefetchers, &metal->switched_off) == OK;
}

/* Last before the body, so that it starts from almost nothing. Where counters cannot rest in
 * SMIs, the samples that one strikes still say so. */
static bool start_counters(struct bench_metal *metal)
{
    struct msr_saves *saves = window_saves(metal->window);
    if (metal->pass.count == 0) {
        return true;
    }
    (void)smi_freeze_counters(metal->pmu.processor, saves);
    return pmu_start(&metal->pmu, &metal->pass, saves) == OK;
}

/* The registers are restored one by one, which counters that run would notice. */
static void stop_counters(struct bench_metal *metal)
{
    if (metal->pass.count > 0) {
        (void)pmu_stop(&metal->pmu, window_saves(metal->window));
    }
}

static void run_body(void *arg)
{
    struct bench_metal *metal = arg;
    metal->refused = NULL;
    if (!set_prefetchers(metal)) {
        metal->refused = "the prefetchers could not be switched off";
        return;
    }
    touch_until(metal, UINT64_MAX);
    if (!metal->probed && metal->view.bytes > 0) {
        probe_leaves(metal);
    }
    if (!start_counters(metal)) {
        metal->refused = "the counters could not be started";
        return;
    }
    metal->body(metal->arg);
    stop_counters(metal);
    prove_prefetchers(metal);
}

/* What fits on the counters at once; the readings tell which events those are. */
static void make_pass(struct bench_metal *metal, const struct conditions *set)
{
    metal->pass = (struct pmu_pass){ .count = 0 };
    memset(metal->slot, NO_SLOT, sizeof metal->slot);
    for (unsigned i = 0; i < set->events && i < BENCH_EVENTS; i++) {
        unsigned slot;
        if (set->event[i] < COUNTERS &&
            counters_add(&metal->pmu, &metal->pass, (enum counter)set->event[i], &slot)) {
            metal->slot[i] = (uint8_t)slot;
        }
    }
}

/* Leaves of another size than the view's must not exist, touched or not. */
static void prove_leaves(const struct bench_metal *metal, struct proof *found)
{
    struct paging_count count;
    paging_count(&metal->view.space, VIEW_BASE, metal->view.bytes, &count);
    for (unsigned size = 0; size < PAGE_SIZES; size++) {
        bool own = size == (unsigned)metal->view.leaf;
        found->leaves[size] = own ? count.accessed[size] : count.leaves[size];
    }
    found->leaves_known = metal->view.bytes > 0;
}

/* One frame's type is that of all: what is not write-back was left out of the arena. */
static void prove_type(struct bench_metal *metal, struct proof *found)
{
    uint64_t address;
    uint64_t end;
    if (physical(metal, (const void *)(uintptr_t)VIEW_BASE, &address)) {
        found->memory_type = mtrr_type(&metal->mtrr, address, &end);
    }
}

static void fill_proof(struct bench_metal *metal, struct proof *found)
{
    prove_leaves(metal, found);
    prove_type(metal, found);
    found->smashed = metal->smashed;
    found->tables = metal->view.space.root;
    found->prefetchers_off = metal->switched_off;
    found->prefetchers_known = metal->switches_known;
    found->fault = metal->report.fault;
    found->reason = metal->report.reason;
}

/* What cannot be had on this machine, or NULL. */
static const char *unmet(const struct bench_metal *metal, const struct conditions *set)
{
    const struct prefetchers *prefetchers = &metal->prefetchers;
    const uint32_t off = set->prefetchers_off;
    if (off != 0 &&
        (prefetchers->works == 0 || (off != UINT32_MAX && (off & ~prefetchers->works) != 0))) {
        return prefetchers->reason != NULL ? prefetchers->reason : "there is no such prefetcher";
    }
    if (set->events != 0 && !metal->pmu.works) {
        return metal->pmu.reason;
    }
    return set->events != 0 && metal->pass.count == 0 ? "this core counts none of these" : NULL;
}

static enum status inside(void *self, const struct conditions *set, void (*body)(void *), void *arg,
                          struct proof *found)
{
    struct bench_metal *metal = self;
    make_pass(metal, set);
    *found = (struct proof){ .tables = metal->view.space.root, .reason = unmet(metal, set) };
    if (found->reason != NULL) {
        return ABSENT;
    }
    metal->body = body;
    metal->arg = arg;
    metal->switch_off = set->prefetchers_off;
    metal->switched_off = 0;
    metal->switches_known = false;
    enum status status = run(metal, components[set->vectors], run_body, metal);
    fill_proof(metal, found);
    if (status == OK && metal->refused != NULL) {
        found->reason = metal->refused;
        return ABSENT;
    }
    return status;
}

static void read_counters(const struct bench_metal *metal, struct reading *now)
{
    for (unsigned i = 0; i < BENCH_EVENTS && metal->pass.count > 0; i++) {
        if (metal->slot[i] != NO_SLOT &&
            pmu_read(&metal->pmu, &metal->pass, metal->slot[i], &now->event[i])) {
            now->known |= 1U << i;
        }
    }
}

/* The clock last, next to what is timed. A machine check strikes as an NMI does. */
static void read_now(void *self, struct reading *now)
{
    const struct bench_metal *metal = self;
    *now = (struct reading){
        .pending = window_pending(metal->window),
        .nmis = window_nmis(metal->window) + window_machine_checks(metal->window),
    };
    if (metal->counts_smis && smi_count(&now->smis)) {
        now->known |= 1U << KNOWN_SMIS;
    }
    cpu_fence_loads();
    read_counters(metal, now);
    if (metal->counts_cycles && insn_rdmsr(MSR_APERF, &now->cycles)) {
        now->known |= 1U << KNOWN_CYCLES;
    }
    now->tsc = cpu_tsc_ordered();
}

/* Global entries are off in a window, so a reload leaves none. */
static enum status forget(void *self, enum forget what)
{
    const struct bench_metal *metal = self;
    if (what == FORGET_TABLES && !metal->flushes) {
        return ABSENT;
    }
    if (what == FORGET_TABLES) {
        paging_flush(&metal->view.space);
    }
    cpu_write_cr3(cpu_read_cr3());
    return OK;
}

/* ---- preparation ------------------------------------------------------------------------------ */

/* What a guard has to find out. */
struct survey {
    struct bench_metal *metal;
    const struct processor *processor;
    struct paging_rules *rules;
    const char *no_smis; /* why SMIs are not counted, or NULL */
    enum status status;
    const char *reason;
};

static bool aperf_counts(const struct processor *processor)
{
    uint64_t before;
    uint64_t after;
    return has_feature(processor, FEATURE_APERF_MPERF) && insn_rdmsr(MSR_APERF, &before) &&
           insn_rdmsr(MSR_APERF, &after) && after > before;
}

static void survey_registers(void *arg)
{
    struct survey *survey = arg;
    const struct processor *processor = survey->processor;
    uint64_t efer = 0;
    survey->rules->no_execute =
        has_feature(processor, FEATURE_NX) && insn_rdmsr(MSR_EFER, &efer) && (efer & NXE);
    survey->metal->counts_cycles = aperf_counts(processor);
    survey->metal->counts_smis = smi_is_counted(processor, &survey->no_smis);
    if (prefetchers_find(&survey->metal->prefetchers, processor) == OK) {
        (void)prefetchers_try(&survey->metal->prefetchers, window_saves(survey->metal->window));
    }
    if (pmu_find(&survey->metal->pmu, processor) == OK) {
        (void)pmu_try(&survey->metal->pmu, window_saves(survey->metal->window));
    }
    survey->status = mtrr_read(&survey->metal->mtrr, processor, &survey->reason);
}

static enum status find_rules(struct bench_metal *metal, struct machine *machine,
                              struct paging_rules *rules, const char **reason)
{
    const struct processor *processor = &machine->processor;
    struct survey survey = { .metal = metal, .processor = processor, .rules = rules };
    *rules = (struct paging_rules){
        .levels = cpu_read_cr4() & CR4_LA57 ? 5 : 4,
        .physical_bits = processor->physical_bits,
    };
    enum status status = guard_run(metal->window, survey_registers, &survey, NULL);
    machine->no_smis = survey.no_smis;
    *reason = status == OK ? survey.reason : "the processor's registers could not be read";
    return status == OK ? survey.status : status;
}

/* Frames that fall into different sets of the second-level cache; 1 if it is not known. */
static unsigned colours(const struct processor *processor)
{
    for (unsigned i = 0; i < processor->caches; i++) {
        const struct cache *cache = &processor->cache[i];
        uint64_t bytes = (uint64_t)cache->sets * cache->line;
        if (cache->level == 2 && cache->type != CACHE_INSTRUCTION && bytes >= PAGE_4K) {
            return (unsigned)(bytes / PAGE_4K);
        }
    }
    return 1;
}

/* Adds the window's memory and the APIC's registers to the caller's regions. False: no room. */
static bool gather_regions(const struct bench_setup *setup, struct view_region *region,
                           size_t *regions)
{
    const struct lapic *lapic = window_lapic(setup->window);
    if (setup->regions + 2 > VIEW_REGIONS) {
        return false;
    }
    memcpy(region, setup->region, setup->regions * sizeof *region);
    *regions = setup->regions;
    region[(*regions)++] = (struct view_region){
        .base = (uint64_t)(uintptr_t)setup->window,
        .bytes = window_bytes(),
        .kind = VIEW_DATA,
    };
    if (lapic->mode == LAPIC_MEMORY) {
        region[(*regions)++] = (struct view_region){ lapic->base, PAGE_4K, VIEW_REGISTERS };
    }
    return true;
}

static enum status prepare_views(struct bench_metal *metal, const struct bench_setup *setup,
                                 const struct paging_rules *rules, const char **reason)
{
    const struct processor *processor = &setup->machine->processor;
    struct view_region region[VIEW_REGIONS];
    struct view_setup view = {
        .arena = setup->arena,
        .ranges = setup->ranges,
        .low_base = (uint64_t)(uintptr_t)setup->low_memory,
        .region = region,
        .mtrr = &metal->mtrr,
        .rules = *rules,
        .pages_1g = has_feature(processor, FEATURE_PAGES_1G),
        .colours = colours(processor),
        .key = setup->seed,
    };
    if (!gather_regions(setup, region, &view.regions)) {
        *reason = "more memory regions than there is room for";
        return DENIED;
    }
    return views_prepare(&metal->views, &view, reason);
}

static void tell_counters(const struct pmu *pmu, struct counter_facts *facts)
{
    *facts = (struct counter_facts){
        .work = pmu->works,
        .version = pmu->version,
        .width = pmu->width,
        .general = pmu->counters,
        .fixed = pmu->fixed,
        .owned_general = pmu->owned,
        .owned_fixed = pmu->owned_fixed,
        .microarchitecture = pmu_microarchitecture_name(pmu->microarchitecture),
        .reason = pmu->reason,
    };
}

static void tell(const struct bench_metal *metal, struct machine *machine)
{
    machine->arena_bytes = views_bytes(&metal->views);
    memcpy(machine->page_available, metal->views.available, sizeof machine->page_available);
    memcpy(machine->page_reason, metal->views.reason, sizeof machine->page_reason);
    machine->prefetchers = prefetchers_facts(&metal->prefetchers);
    tell_counters(&metal->pmu, &machine->counters);
}

enum status bench_prepare(struct bench_metal *metal, const struct bench_setup *setup,
                          const char **reason)
{
    const struct processor *processor = &setup->machine->processor;
    struct paging_rules rules;
    *metal = (struct bench_metal){
        .window = setup->window,
        .flushes = has_feature(processor, FEATURE_CLFLUSH),
        .emulated = processor->emulated,
        .tsc_hz = setup->machine->clock.tsc_hz,
        .idle = setup->idle,
        .idle_self = setup->idle_self,
    };
    metal->bench = (struct bench){
        .self = metal,
        .tsc_hz = metal->tsc_hz,
        .map = map,
        .physical = physical,
        .inside = inside,
        .read = read_now,
        .forget = forget,
    };
    enum status status = find_rules(metal, setup->machine, &rules, reason);
    if (status == OK) {
        status = prepare_views(metal, setup, &rules, reason);
    }
    if (status == OK) {
        tell(metal, setup->machine);
        status = show(metal, NULL, reason);
    }
    return status;
}

/* ---- the self-test ---------------------------------------------------------------------------- */

static const uint64_t never_written = 1;

enum status bench_selftest_view(struct bench_metal *metal, struct selftest_view *place,
                                const char **reason)
{
    const struct views *views = &metal->views;
    *place = (struct selftest_view){
        .stack_bytes = VIEW_STACK_BYTES,
        .unmapped = VIEW_END - PAGE_4K,
        .read_only = (uint64_t)(uintptr_t)&never_written,
        .no_execute = views->rules.no_execute ? views->stack_end - VIEW_STACK_BYTES : 0,
    };
    enum status status = show(metal, NULL, reason);
    place->view = (struct window_view){
        .root = metal->view.space.root,
        .levels = views->rules.levels,
        .stack = views->stack_end,
    };
    return status;
}
