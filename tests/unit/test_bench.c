/* The bench of the bare machine on a scripted ring 0. The memory of its views is this program's, and
 * the processor's page walks are played by the bodies: what the kernel of the host says has been
 * touched gets its accessed bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "boot/bench.h"
#include "boot/probe.h"
#include "hw/cpu.h"
#include "hw/trap.h"
#include "kernels/result.h"
#include "tests/fakes/processor.h"
#include "tests/fakes/ring0.h"

#define K(n) ((uint64_t)(n) << 10)
#define M(n) ((uint64_t)(n) << 20)
#define G(n) ((uint64_t)(n) << 30)

/* Above what the sanitizer uses, below the views. */
#define ARENA     (UINT64_C(32) << 40)
#define APIC_BASE UINT64_C(0xFEE00000)
#define TSC_HZ    UINT64_C(500000000) /* slow, so that no time is spent on waiting */

enum { ARENA_BYTES = 96 * MIB, SHOWN_BYTES = 4 * MIB };

static void *low_memory;
static void *window_memory;
static uint32_t apic[1024];
static struct machine machine;
static struct memory_range arena = { ARENA, ARENA_BYTES };
static struct view_region no_region;
static struct bench_metal metal;
static unsigned idles;
static uint64_t idle_microseconds;

/* ---- the machine -------------------------------------------------------------------------------- */

static uint64_t read_apic(void *self, uint64_t offset, unsigned bits)
{
    (void)self;
    (void)bits;
    return apic[offset / 4];
}

static void write_apic(void *self, uint64_t offset, unsigned bits, uint64_t value)
{
    (void)self;
    (void)bits;
    apic[offset / 4] = (uint32_t)value;
}

/* Grows by what the trial loop counts, at each reading. */
static bool live_counter(void *self, uint32_t index, uint64_t *value)
{
    static uint64_t counted;
    (void)self;
    (void)index;
    counted += 5040;
    *value = counted;
    return true;
}

static uint64_t live_msr(void *self, uint32_t number, uint64_t stored)
{
    (void)self;
    return number == 0xE8 ? processor_time() : stored;
}

static void script_registers(void)
{
    static const struct device registers = { .first = APIC_BASE,
                                             .last = APIC_BASE + sizeof apic - 1,
                                             .read = read_apic,
                                             .write = write_apic };
    static const struct hooks hooks = { .read_msr = live_msr, .read_counter = live_counter };
    memset(apic, 0, sizeof apic);
    apic[0x030 / 4] = 0x00050014; /* six entries */
    *processor_cpuid(0, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 0x16 };
    *processor_cpuid(1, ANY_SUBLEAF) = (struct cpuid_regs){ .edx = 1U << 9 };
    *processor_cpuid(0x80000000, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 0x80000008 };
    processor_msr(0x1B)->value = APIC_BASE | 0x900;
    processor_msr(0xC0000080)->value = 0xD00;
    processor_msr(0x277)->value = 0x0007040600070406;
    processor_msr(0xFE)->value = 0x501;
    processor_msr(0x2FF)->value = 0x806;
    processor_msr(0x200)->value = 0;
    processor_msr(0x201)->value = 0;
    processor_msr(0xE8)->value = 0;
    processor_msr(0x179)->value = 0; /* machine checks: no bank */
    processor_msr(0x17A)->value = 5; /* the program can go on; one is in progress */
    processor_add_memory(&registers);
    processor_set_hooks(&hooks);
    processor_set_time(1000, 1);
}

static void script_machine(void)
{
    machine = (struct machine){ .clock.tsc_hz = TSC_HZ };
    (void)snprintf(machine.processor.vendor, sizeof machine.processor.vendor, "GenuineIntel");
    machine.processor.emulated = true;
    machine.processor.physical_bits = 48;
    machine.processor.features = 1ull << FEATURE_NX | 1ull << FEATURE_MTRR | 1ull << FEATURE_PAT |
                                 1ull << FEATURE_CLFLUSH | 1ull << FEATURE_APERF_MPERF;
    machine.processor.caches = 2;
    machine.processor.cache[0] = (struct cache){ 1, CACHE_DATA, K(32), 8, 64, 64, 1 };
    machine.processor.cache[1] = (struct cache){ 2, CACHE_UNIFIED, K(512), 8, 1024, 64, 1 };
}

static void *memory(uint64_t at, uint64_t bytes, int flags)
{
    return mmap((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

static int take_memory(void **state)
{
    (void)state;
    low_memory = memory(0, BENCH_LOW_BYTES, MAP_32BIT);
    window_memory = memory(0, window_bytes(), MAP_32BIT);
    return low_memory == MAP_FAILED || window_memory == MAP_FAILED ||
           memory(ARENA, ARENA_BYTES, MAP_FIXED_NOREPLACE) == MAP_FAILED;
}

/* The view's addresses are mapped, and nothing there has been touched. */
static int set_up(void **state)
{
    (void)state;
    processor_reset();
    ring0_reset();
    script_registers();
    script_machine();
    idles = 0;
    idle_microseconds = 0;
    return memory(VIEW_BASE, SHOWN_BYTES, MAP_FIXED) == MAP_FAILED;
}

static void idle(void *self, unsigned microseconds)
{
    assert_ptr_equal(self, &idles);
    assert_false(window_is_open(metal.window));
    assert_true(ring0()->interrupts);
    idles++;
    idle_microseconds = idle_microseconds > microseconds ? idle_microseconds : microseconds;
}

/* ---- in ring 0 ---------------------------------------------------------------------------------- */

struct call {
    enum status status;
    const char *reason;
    struct layout layout;
    void *base;
    struct conditions conditions;
    void (*body)(void *);
    void *arg;
    struct proof proof;
    struct selftest_view place;
};

static void call_prepare(void *arg)
{
    struct call *call = arg;
    const struct bench_setup setup = {
        .machine = &machine,
        .arena = &arena,
        .ranges = 1,
        .low_memory = low_memory,
        .region = &no_region,
        .regions = 0,
        .seed = 1,
        .idle = idle,
        .idle_self = &idles,
    };
    struct bench_setup complete = setup;
    call->status = window_prepare(&complete.window, window_memory, window_bytes(), &call->reason);
    if (call->status == OK) {
        call->status = bench_prepare(&metal, &complete, &call->reason);
    }
}

static void call_inside(void *arg)
{
    struct call *call = arg;
    call->status = metal.bench.inside(metal.bench.self, &call->conditions, call->body, call->arg,
                                      &call->proof);
}

static void call_selftest_view(void *arg)
{
    struct call *call = arg;
    call->status = bench_selftest_view(&metal, &call->place, &call->reason);
}

static struct call run(void (*what)(void *), struct call call)
{
    ring0_run(what, &call);
    assert_null(ring0()->died);
    return call;
}

static void prepare_anew(void)
{
    assert_int_equal(run(call_prepare, (struct call){ .status = STOPPED }).status, OK);
}

/* A bench on the plain machine. That takes many steps, so it is done once and copied. */
static void prepare(void)
{
    static struct machine machine_copy;
    static struct bench_metal metal_copy;
    static struct ring0 after;
    static uint8_t *copy;
    if (!copy) {
        prepare_anew();
        copy = memory(0, window_bytes(), 0);
        assert_true(copy != MAP_FAILED);
        memcpy(copy, window_memory, window_bytes());
        metal_copy = metal;
        machine_copy = machine;
        after = *ring0();
    }
    memcpy(window_memory, copy, window_bytes());
    metal = metal_copy;
    machine = machine_copy;
    ring0()->tr = after.tr;
    ring0()->task = after.task;
}

/* Small views are touched in their first body, so this needs no ring 0. */
static struct call map(uint64_t bytes, enum page_size leaf, enum placing placing)
{
    struct call call = { .layout = { .bytes = bytes, .leaf = leaf, .placing = placing } };
    call.status = metal.bench.map(metal.bench.self, &call.layout, &call.base, &call.reason);
    return call;
}

static struct call inside(void (*body)(void *), void *arg)
{
    return run(call_inside, (struct call){ .body = body, .arg = arg });
}

/* ---- bodies ------------------------------------------------------------------------------------- */

static void nothing(void *arg)
{
    (void)arg;
}

/* Sets the accessed bit of the leaf at an address. */
static void set_accessed(uint64_t at)
{
    uint64_t table = metal.view.space.root;
    for (unsigned level = metal.view.space.rules.levels; level > 0; level--) {
        uint64_t *entry = &((uint64_t *)(uintptr_t)table)[at >> (12 + 9 * (level - 1)) & 511];
        table = *entry & 0x000ffffffffff000;
        if (level == 1 || (*entry & 0x80) != 0) {
            *entry |= 0x20;
            return;
        }
    }
}

/* What the processor does at each access: here, afterwards, for all that has been touched. */
static void walk_pages(void *arg)
{
    (void)arg;
    for (uint64_t at = 0; at < metal.view.bytes; at += paging_bytes(metal.view.leaf)) {
        unsigned char resident = 0;
        if (mincore((void *)(uintptr_t)(VIEW_BASE + at), PAGE_4K, &resident) == 0 && resident) {
            set_accessed(VIEW_BASE + at);
        }
    }
}

static void fault(void *arg)
{
    (void)arg;
    __asm__ volatile("ud2");
}

/* ---- preparation -------------------------------------------------------------------------------- */

static void test_prepare_tells_the_machine(void **state)
{
    (void)state;
    prepare();
    assert_true(machine.page_available[SIZE_4K] && machine.page_available[SIZE_2M]);
    assert_false(machine.page_available[SIZE_1G]);
    assert_non_null(machine.page_reason[SIZE_1G]);
    assert_in_range(machine.arena_bytes, ARENA_BYTES - M(1), ARENA_BYTES - K(64));
    assert_int_equal(metal.bench.tsc_hz, TSC_HZ);
    assert_int_equal(metal.views.scatter[PLACED_BALANCED].colours, 16);
    assert_true(metal.views.rules.no_execute);
    assert_int_equal(metal.views.rules.levels, 4);
}

/* The window's memory and the APIC's registers are in every view, without being named. */
static void test_window_and_apic_are_mapped(void **state)
{
    (void)state;
    struct paging_leaf leaf;
    const uint64_t window = (uint64_t)(uintptr_t)window_memory;
    prepare();
    assert_int_equal(map(K(64), SIZE_4K, PLACED_SCATTERED).status, OK);
    for (uint64_t at = 0; at < window_bytes(); at += PAGE_4K) {
        assert_true(paging_find(&metal.view.space, window + at, &leaf));
        assert_int_equal(leaf.flags, PAGING_WRITE);
    }
    assert_true(paging_find(&metal.view.space, APIC_BASE, &leaf));
    assert_int_equal(leaf.flags, PAGING_WRITE | PAGING_UNCACHED);
}

static void test_what_the_processor_lacks(void **state)
{
    (void)state;
    struct paging_leaf leaf;
    processor_msr(0xC0000080)->value = 0x500; /* EFER.NXE off */
    processor_msr(0xE8)->absent = true;
    machine.processor.caches = 1;
    prepare_anew();
    assert_false(metal.views.rules.no_execute);
    assert_false(metal.counts_cycles);
    assert_int_equal(map(K(64), SIZE_4K, PLACED_BALANCED).status, ABSENT);
    assert_int_equal(map(K(64), SIZE_4K, PLACED_IN_ORDER).status, OK);
    assert_true(paging_find(&metal.view.space, VIEW_BASE, &leaf));
    assert_int_equal(leaf.flags, PAGING_WRITE | PAGING_EXECUTE);
}

static void test_five_levels(void **state)
{
    (void)state;
    ring0()->cr4 |= CR4_LA57;
    prepare_anew();
    assert_int_equal(metal.views.rules.levels, 5);
    assert_int_equal(map(K(64), SIZE_4K, PLACED_IN_ORDER).status, OK);
    struct call call = inside(walk_pages, NULL);
    assert_int_equal(call.status, OK);
    assert_int_equal(call.proof.leaves[SIZE_4K], 16);
}

static void test_refusals_have_a_reason(void **state)
{
    (void)state;
    processor_msr(0x277)->value = 0;
    struct call call = run(call_prepare, (struct call){ .status = OK });
    assert_int_equal(call.status, DENIED);
    assert_non_null(call.reason);

    processor_msr(0x277)->absent = true;
    call = run(call_prepare, (struct call){ .status = OK });
    assert_int_equal(call.status, FAULTED);
    assert_non_null(call.reason);

    processor_msr(0x277)->absent = false;
    processor_msr(0x277)->value = 0x0007040600070406;
    processor_msr(0x2FF)->value = 0x800; /* all memory uncached */
    call = run(call_prepare, (struct call){ .status = OK });
    assert_int_equal(call.status, ABSENT);
    assert_non_null(call.reason);
}

/* ---- views and proof ---------------------------------------------------------------------------- */

static void test_every_leaf_is_touched_before_the_body(void **state)
{
    (void)state;
    static const struct {
        enum page_size leaf;
        enum placing placing;
        uint64_t bytes, leaves;
    } kind[] = { { SIZE_4K, PLACED_SCATTERED, K(256), 64 },
                 { SIZE_4K, PLACED_IN_ORDER, K(4), 1 },
                 { SIZE_2M, PLACED_IN_ORDER, M(4), 2 } };
    for (size_t i = 0; i < sizeof kind / sizeof kind[0]; i++) {
        (void)set_up(NULL);
        prepare();
        struct call mapped = map(kind[i].bytes, kind[i].leaf, kind[i].placing);
        assert_int_equal(mapped.status, OK);
        assert_int_equal((uintptr_t)mapped.base, VIEW_BASE);
        struct call call = inside(walk_pages, NULL);
        assert_int_equal(call.status, OK);
        assert_null(call.proof.reason);
        assert_true(call.proof.leaves_known);
        for (unsigned size = 0; size < PAGE_SIZES; size++) {
            assert_int_equal(call.proof.leaves[size], size == kind[i].leaf ? kind[i].leaves : 0);
        }
        assert_int_equal(call.proof.memory_type, MEMORY_WRITE_BACK);
        assert_int_equal(call.proof.tables, metal.view.space.root);
        assert_int_equal(call.proof.prefetchers_off, 0);
        assert_false(call.proof.smashed);
    }
}

/* The proof is of what was used: without a walk there is no accessed bit, and a new map has none. */
static void test_proof_is_not_a_promise(void **state)
{
    (void)state;
    prepare();
    assert_int_equal(map(K(64), SIZE_4K, PLACED_SCATTERED).status, OK);
    assert_int_equal(inside(nothing, NULL).proof.leaves[SIZE_4K], 0);
    assert_int_equal(inside(walk_pages, NULL).proof.leaves[SIZE_4K], 16);
    assert_int_equal(inside(nothing, NULL).proof.leaves[SIZE_4K], 16);
    assert_int_equal(map(K(64), SIZE_4K, PLACED_SCATTERED).status, OK);
    assert_int_equal(inside(nothing, NULL).proof.leaves[SIZE_4K], 0);
    /* A leaf of another size is told, used or not. */
    const char *reason = NULL;
    assert_int_equal(map(M(2), SIZE_2M, PLACED_IN_ORDER).status, OK);
    metal.view.bytes += PAGE_4K;
    assert_int_equal(paging_map(&metal.view.space, VIEW_BASE + PAGE_2M, ARENA, PAGE_4K, SIZE_4K,
                                PAGING_WRITE, &reason),
                     OK);
    assert_int_equal(inside(nothing, NULL).proof.leaves[SIZE_4K], 1);
}

static void test_bodies_without_a_view(void **state)
{
    (void)state;
    prepare();
    struct call call = inside(nothing, NULL);
    assert_int_equal(call.status, OK);
    assert_false(call.proof.leaves_known);
    assert_int_equal(call.proof.tables, (uintptr_t)low_memory);
    /* A view that cannot be had leaves one behind that bodies run on. */
    call = map(G(1), SIZE_1G, PLACED_IN_ORDER);
    assert_int_equal(call.status, ABSENT);
    assert_non_null(call.reason);
    call = inside(nothing, NULL);
    assert_int_equal(call.status, OK);
    assert_int_equal(call.proof.tables, (uintptr_t)low_memory);
}

static void test_physical(void **state)
{
    (void)state;
    uint64_t address = 0;
    prepare();
    assert_int_equal(map(K(64), SIZE_4K, PLACED_IN_ORDER).status, OK);
    const char *base = (const char *)(uintptr_t)VIEW_BASE;
    assert_true(metal.bench.physical(&metal, base + 12345, &address));
    assert_int_equal(address, metal.views.in_order.base + 12345);
    assert_false(metal.bench.physical(&metal, base + K(64), &address));
}

/* Each map is touched anew. */
static void test_each_map_is_touched(void **state)
{
    (void)state;
    prepare();
    for (uint64_t pages = 16; pages >= 2; pages /= 2) {
        assert_true(memory(VIEW_BASE, SHOWN_BYTES, MAP_FIXED) != MAP_FAILED);
        assert_int_equal(map(pages * PAGE_4K, SIZE_4K, PLACED_SCATTERED).status, OK);
        assert_int_equal(inside(walk_pages, NULL).proof.leaves[SIZE_4K], pages);
    }
}

static void test_verdict_on_large_pages(void **state)
{
    (void)state;
    assert_false(probe_is_smashed(&(struct probe){ 900, 900 }));
    assert_false(probe_is_smashed(&(struct probe){ 900, 1200 }));
    assert_true(probe_is_smashed(&(struct probe){ 900, 1201 }));
    assert_false(probe_is_smashed(&(struct probe){ 900, 500 }));
    assert_false(probe_is_smashed(&(struct probe){ 0, 0 }));
}

/* ---- windows ------------------------------------------------------------------------------------ */

static void test_conditions_that_cannot_be_had(void **state)
{
    (void)state;
    prepare();
    struct call call =
        run(call_inside, (struct call){ .body = fault, .conditions.prefetchers_off = 1 });
    assert_int_equal(call.status, ABSENT);
    assert_non_null(call.proof.reason);
    call = run(call_inside, (struct call){ .body = fault, .conditions.events = 1 });
    assert_int_equal(call.status, ABSENT);
    assert_non_null(call.proof.reason);
    call = run(call_inside, (struct call){ .body = fault, .conditions.vectors = VECTORS_AVX2 });
    assert_int_equal(call.status, ABSENT);
    assert_non_null(call.proof.reason);
}

/* ---- prefetchers -------------------------------------------------------------------------------- */

/* A Sapphire Rapids whose firmware has left AMP off. */
static void prepare_switches(void)
{
    machine.processor.family = 6;
    machine.processor.model = 0x8F;
    *processor_msr(0x1A4) = (struct scripted_msr){ .value = 0x20, .reserved = ~UINT64_C(0x2F) };
    prepare_anew();
}

static void note_register(void *arg)
{
    *(uint64_t *)arg = processor_msr(0x1A4)->value;
}

static struct call inside_with(uint32_t off, uint64_t *seen)
{
    return run(
        call_inside,
        (struct call){ .body = note_register, .arg = seen, .conditions.prefetchers_off = off });
}

static void test_prefetchers_are_off_inside(void **state)
{
    (void)state;
    uint64_t seen = 0;
    prepare_switches();
    assert_int_equal(machine.prefetchers.switches, 5);
    assert_string_equal(machine.prefetchers.name[0], "l2_stream");
    assert_int_equal(machine.prefetchers.found_off, 0x10);
    assert_int_equal(machine.prefetchers.works, 0x1F);
    assert_null(machine.prefetchers.reason);
    assert_non_null(machine.prefetchers.without_switch);
    assert_int_equal(processor_msr(0x1A4)->value, 0x20);

    struct call call = inside_with(UINT32_MAX, &seen);
    assert_int_equal(call.status, OK);
    assert_int_equal(seen, 0x2F);
    assert_true(call.proof.prefetchers_known);
    assert_int_equal(call.proof.prefetchers_off, 0x1F);
    assert_int_equal(processor_msr(0x1A4)->value, 0x20);

    call = inside_with(1U << 2, &seen);
    assert_int_equal(call.status, OK);
    assert_int_equal(seen, 0x24);
    assert_int_equal(call.proof.prefetchers_off, 0x14);

    call = inside_with(0, &seen);
    assert_int_equal(call.status, OK);
    assert_int_equal(seen, 0x20);
    assert_true(call.proof.prefetchers_known);
    assert_int_equal(call.proof.prefetchers_off, 0x10);

    call = run(call_inside, (struct call){ .body = fault, .conditions.prefetchers_off = 1 });
    assert_int_equal(call.status, FAULTED);
    assert_int_equal(processor_msr(0x1A4)->value, 0x20);
}

static void test_prefetchers_that_cannot_be_had(void **state)
{
    (void)state;
    uint64_t seen = 7;
    prepare_switches();
    struct call call = inside_with(1U << 5, &seen);
    assert_int_equal(call.status, ABSENT);
    assert_non_null(call.proof.reason);
    processor_msr(0x1A4)->fixed = 1; /* it worked at first */
    call = inside_with(UINT32_MAX, &seen);
    assert_int_equal(call.status, ABSENT);
    assert_non_null(call.proof.reason);
    assert_int_equal(seen, 7);
    assert_int_equal(processor_msr(0x1A4)->value, 0x20);

    processor_msr(0x1A4)->absent = true;
    prepare_anew();
    assert_non_null(machine.prefetchers.reason);
    call = inside_with(UINT32_MAX, &seen);
    assert_int_equal(call.status, ABSENT);
    assert_string_equal(call.proof.reason, machine.prefetchers.reason);
    call = inside_with(0, &seen);
    assert_int_equal(call.status, OK);
    assert_false(call.proof.prefetchers_known);
}

/* ---- counters ----------------------------------------------------------------------------------- */

static const uint32_t pmu_register[] = { 0xC1,  0xC2,  0xC3,  0xC4,  0x186, 0x187, 0x188, 0x189,
                                         0x309, 0x30A, 0x30B, 0x38D, 0x38F, 0x1A6, 0x1A7, 0x1D9 };

enum { PMU_REGISTERS = sizeof pmu_register / sizeof *pmu_register };

/* A Cascade Lake with four general counters, one of them the firmware's. */
static void script_counters(void)
{
    machine.processor.family = 6;
    machine.processor.model = 0x55;
    machine.processor.stepping = 7;
    *processor_cpuid(1, ANY_SUBLEAF) = (struct cpuid_regs){ .ecx = 1U << 15, .edx = 1U << 9 };
    *processor_cpuid(0x0A, ANY_SUBLEAF) =
        (struct cpuid_regs){ .eax = 0x07300404, .edx = 3 | 48U << 5 };
    for (unsigned i = 0; i < PMU_REGISTERS; i++) {
        processor_msr(pmu_register[i])->value = i;
    }
    processor_msr(0x187)->value = 0x43003C;
    processor_msr(0x345)->value = 1U << 12;
    processor_msr(0x38E)->value = 0;
}

static void assert_counters_restored(void)
{
    for (unsigned i = 0; i < PMU_REGISTERS; i++) {
        assert_int_equal(processor_msr(pmu_register[i])->value,
                         pmu_register[i] == 0x187 ? 0x43003C : i);
    }
}

static struct call inside_counting(void (*body)(void *), void *arg)
{
    return run(call_inside,
               (struct call){ .body = body,
                              .arg = arg,
                              .conditions.events = 3,
                              .conditions.event = { C_INSTRUCTIONS, C_STALL_TOTAL, C_L1D_MISS } });
}

struct counting {
    struct reading reading;
    uint64_t global, select[2], debug;
    size_t reads[3]; /* of fixed counter 0 and general counters 0 and 1 */
};

/* What was written to a register first, since the log was cleared. */
static uint64_t first_write(uint64_t msr)
{
    size_t i = 0;
    while (processor_access(i) &&
           (processor_access(i)->kind != ACCESS_WRMSR || processor_access(i)->address != msr)) {
        i++;
    }
    assert_non_null(processor_access(i));
    return processor_access(i)->value;
}

static void read_and_look(void *arg)
{
    static const uint32_t index[] = { 0x40000000, 0, 1 };
    struct counting *counting = arg;
    processor_clear_log();
    metal.bench.read(&metal, &counting->reading);
    for (unsigned i = 0; i < 3; i++) {
        counting->reads[i] = processor_count(ACCESS_RDPMC, index[i]);
    }
    counting->global = processor_msr(0x38F)->value;
    counting->select[0] = processor_msr(0x186)->value;
    counting->select[1] = processor_msr(0x187)->value;
    counting->debug = processor_msr(0x1D9)->value;
}

static void test_counters_run_inside(void **state)
{
    (void)state;
    struct counting counting = { .global = 0 };
    script_counters();
    prepare_anew();
    assert_true(machine.counters.work);
    assert_null(machine.counters.reason);
    assert_string_equal(machine.counters.microarchitecture, "CLX");
    assert_int_equal(machine.counters.general, 0xF);
    assert_int_equal(machine.counters.fixed, 7);
    assert_int_equal(machine.counters.owned_general, 2);
    assert_counters_restored();

    struct call call = inside_counting(read_and_look, &counting);
    assert_int_equal(call.status, OK);
    assert_int_equal(counting.reading.known, 7U | 1U << KNOWN_CYCLES);
    assert_true(counting.reading.event[1] > counting.reading.event[0]);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(counting.reads[i], 1);
    }
    assert_int_equal(first_write(0x38F), 0); /* they are held before anything is put back */
    assert_int_equal(counting.global, 0x100000003);
    assert_int_equal(counting.select[0], 0x44204A3);
    assert_int_equal(counting.select[1], 0x4208D1);
    assert_int_equal(counting.debug, 0x400F); /* they rest in SMIs */
    assert_counters_restored();

    call = inside_counting(fault, NULL);
    assert_int_equal(call.status, FAULTED);
    assert_counters_restored();

    counting.reading.known = 1;
    assert_int_equal(inside(read_and_look, &counting).status, OK);
    assert_int_equal(counting.reading.known, 1U << KNOWN_CYCLES);
}

static void test_counters_that_cannot_be_had(void **state)
{
    (void)state;
    struct counting counting = { .global = 7 };
    script_counters();
    prepare_anew();
    processor_msr(0x188)->read_only = true; /* it worked at first */
    struct call call = inside_counting(read_and_look, &counting);
    assert_int_equal(call.status, ABSENT);
    assert_non_null(call.proof.reason);
    assert_int_equal(counting.global, 7);
    processor_msr(0x188)->read_only = false;
    assert_counters_restored();

    /* What the core lacks stays unknown beside what it has; alone it cannot be had. */
    machine.processor.model = 0x2A;
    prepare_anew();
    const struct conditions lacking = { .events = 2, .event = { C_STALL_L3_MISS, C_BRANCH } };
    call = run(call_inside,
               (struct call){ .body = read_and_look, .arg = &counting, .conditions = lacking });
    assert_int_equal(call.status, OK);
    assert_int_equal(counting.reading.known, 2U | 1U << KNOWN_CYCLES);
    call = run(call_inside,
               (struct call){ .body = fault,
                              .conditions = { .events = 1, .event = { C_STALL_L3_MISS } } });
    assert_int_equal(call.status, ABSENT);
    assert_non_null(call.proof.reason);

    processor_msr(0x38F)->absent = true;
    prepare_anew();
    assert_false(machine.counters.work);
    call = inside_counting(fault, NULL);
    assert_int_equal(call.status, ABSENT);
    assert_string_equal(call.proof.reason, machine.counters.reason);
}

static void test_a_fault_is_told(void **state)
{
    (void)state;
    prepare();
    assert_int_equal(map(K(64), SIZE_4K, PLACED_IN_ORDER).status, OK);
    struct call call = inside(fault, NULL);
    assert_int_equal(call.status, FAULTED);
    assert_int_equal(call.proof.fault.vector, TRAP_INVALID_OPCODE);
    assert_non_null(call.proof.reason);
    call = inside(walk_pages, NULL);
    assert_int_equal(call.status, OK);
    assert_int_equal(call.proof.leaves[SIZE_4K], 16);
    assert_int_equal(call.proof.fault.ip, 0);
}

static void note_time(void *arg)
{
    *(uint64_t *)arg = cpu_tsc();
}

static void test_the_firmware_gets_its_turn(void **state)
{
    (void)state;
    uint64_t first = 0;
    uint64_t second = 0;
    const uint64_t fast = 250 * TSC_HZ; /* a rest is long beside what this test takes by itself */
    const uint64_t rest = fast / 50;
    prepare();
    metal.tsc_hz = fast;
    assert_int_equal(inside(note_time, &first).status, OK);
    assert_int_equal(idles, 0); /* nothing is owed before the first window */
    assert_int_equal(inside(note_time, &second).status, OK);
    assert_true(idles > 0);
    assert_true(second - first >= rest);
    assert_in_range(idle_microseconds, 1, 20000);
    /* A long time later nothing is owed, but keys and progress want their turn. */
    metal.left = cpu_tsc() - 2 * rest;
    idles = 0;
    idle_microseconds = 0;
    assert_int_equal(inside(nothing, NULL).status, OK);
    assert_int_equal(idles, 1);
    assert_int_equal(idle_microseconds, 0);
}

struct readings {
    struct reading first, second, third;
};

static void read_twice(void *arg)
{
    struct readings *readings = arg;
    metal.bench.read(&metal, &readings->first);
    ring0_inject_now(TRAP_NMI);
    apic[(0x200 + 0x10 * (0x31 / 32)) / 4] |= 1U << 0x31 % 32; /* IRR: vector 31h is requested */
    metal.bench.read(&metal, &readings->second);
    ring0_inject_now(TRAP_MACHINE_CHECK);
    metal.bench.read(&metal, &readings->third);
}

static void test_readings(void **state)
{
    (void)state;
    struct readings readings;
    prepare();
    assert_int_equal(inside(read_twice, &readings).status, OK);
    assert_true(readings.second.tsc > readings.first.tsc);
    assert_int_equal(readings.first.known, 1U << KNOWN_CYCLES);
    assert_true(readings.second.cycles > readings.first.cycles);
    assert_int_equal(readings.first.nmis, 0);
    assert_int_equal(readings.second.nmis, 1);
    assert_int_equal(readings.first.pending, 0);
    assert_int_equal(readings.second.pending, 1);
    assert_int_equal(readings.third.nmis, 2); /* it strikes a sample in the same way */

    (void)set_up(NULL);
    machine.processor.features &= ~(1ull << FEATURE_APERF_MPERF);
    prepare_anew();
    assert_int_equal(inside(read_twice, &readings).status, OK);
    assert_int_equal(readings.first.known, 0);
}

static void test_smis_are_counted(void **state)
{
    (void)state;
    struct readings readings;
    machine.processor.family = 6;
    machine.processor.model = 0x8F;
    prepare_anew();
    assert_non_null(machine.no_smis);
    processor_msr(0x34)->value = 12;
    prepare_anew();
    assert_null(machine.no_smis);
    assert_int_equal(inside(read_twice, &readings).status, OK);
    assert_int_equal(readings.first.known, 1U << KNOWN_CYCLES | 1U << KNOWN_SMIS);
    assert_int_equal(readings.first.smis, 12);
    processor_msr(0x34)->absent = true;
    assert_int_equal(inside(read_twice, &readings).status, OK);
    assert_int_equal(readings.first.known, 1U << KNOWN_CYCLES);
}

static unsigned loads_of_cr3(void)
{
    unsigned loads = 0;
    for (size_t i = 0; i < ring0_entries(); i++) {
        loads += ring0_entry(i)->operation == RING0_CR3 ? 1 : 0;
    }
    return loads;
}

struct forgetting {
    enum forget what;
    enum status status;
};

static void forget(void *arg)
{
    struct forgetting *forgetting = arg;
    forgetting->status = metal.bench.forget(&metal, forgetting->what);
}

static void test_forgetting(void **state)
{
    (void)state;
    struct forgetting tlb = { FORGET_TLB, STOPPED };
    struct forgetting tables = { FORGET_TABLES, STOPPED };
    prepare();
    assert_int_equal(map(K(64), SIZE_4K, PLACED_IN_ORDER).status, OK);
    ring0_clear_log();
    assert_int_equal(inside(nothing, NULL).status, OK);
    const unsigned plain = loads_of_cr3();
    ring0_clear_log();
    assert_int_equal(inside(forget, &tlb).status, OK);
    assert_int_equal(tlb.status, OK);
    assert_int_equal(loads_of_cr3(), plain + 1);
    ring0_clear_log();
    assert_int_equal(inside(forget, &tables).status, OK);
    assert_int_equal(tables.status, OK);
    assert_int_equal(loads_of_cr3(), plain + 1);
    metal.flushes = false;
    assert_int_equal(inside(forget, &tables).status, OK);
    assert_int_equal(tables.status, ABSENT);
}

/* ---- the self-test's places --------------------------------------------------------------------- */

static void test_places_for_the_selftest(void **state)
{
    (void)state;
    struct paging_leaf leaf;
    prepare();
    struct call call = run(call_selftest_view, (struct call){ .status = STOPPED });
    assert_int_equal(call.status, OK);
    assert_int_equal(call.place.view.root, metal.view.space.root);
    assert_int_equal(call.place.view.levels, 4);
    assert_false(paging_find(&metal.view.space, call.place.unmapped, &leaf));
    const uint64_t bottom = call.place.view.stack - call.place.stack_bytes;
    assert_true(paging_find(&metal.view.space, call.place.view.stack - 1, &leaf));
    assert_true(paging_find(&metal.view.space, bottom, &leaf));
    assert_false(paging_find(&metal.view.space, bottom - 1, &leaf));
    assert_true(paging_find(&metal.view.space, call.place.no_execute, &leaf));
    assert_int_equal(leaf.flags & PAGING_EXECUTE, 0);
    assert_int_equal(*(const uint64_t *)(uintptr_t)call.place.read_only, 1);

    processor_msr(0xC0000080)->value = 0x500;
    prepare_anew();
    call = run(call_selftest_view, (struct call){ .status = STOPPED });
    assert_int_equal(call.place.no_execute, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_prepare_tells_the_machine, set_up),
        cmocka_unit_test_setup(test_window_and_apic_are_mapped, set_up),
        cmocka_unit_test_setup(test_what_the_processor_lacks, set_up),
        cmocka_unit_test_setup(test_five_levels, set_up),
        cmocka_unit_test_setup(test_refusals_have_a_reason, set_up),
        cmocka_unit_test_setup(test_every_leaf_is_touched_before_the_body, set_up),
        cmocka_unit_test_setup(test_proof_is_not_a_promise, set_up),
        cmocka_unit_test_setup(test_each_map_is_touched, set_up),
        cmocka_unit_test_setup(test_verdict_on_large_pages, set_up),
        cmocka_unit_test_setup(test_bodies_without_a_view, set_up),
        cmocka_unit_test_setup(test_physical, set_up),
        cmocka_unit_test_setup(test_conditions_that_cannot_be_had, set_up),
        cmocka_unit_test_setup(test_prefetchers_are_off_inside, set_up),
        cmocka_unit_test_setup(test_prefetchers_that_cannot_be_had, set_up),
        cmocka_unit_test_setup(test_counters_run_inside, set_up),
        cmocka_unit_test_setup(test_counters_that_cannot_be_had, set_up),
        cmocka_unit_test_setup(test_a_fault_is_told, set_up),
        cmocka_unit_test_setup(test_the_firmware_gets_its_turn, set_up),
        cmocka_unit_test_setup(test_readings, set_up),
        cmocka_unit_test_setup(test_smis_are_counted, set_up),
        cmocka_unit_test_setup(test_forgetting, set_up),
        cmocka_unit_test_setup(test_places_for_the_selftest, set_up),
    };
    return cmocka_run_group_tests(tests, take_memory, NULL);
}
