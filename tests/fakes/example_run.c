#include "tests/fakes/example_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const enum variant_key columns[] = { V_WORKING_SET, V_PAGE_SIZE, V_ORDER, V_PLACEMENT,
                                            VARIANT_KEYS };

const struct kernel example_kernel = {
    .name = "chase",
    .title = "Pointer chase: load-to-use latency",
    .unit = "load",
    .columns = columns,
};

static void make_processor(struct processor *processor)
{
    *processor = (struct processor){
        .vendor = "GenuineIntel",
        .brand = "Example Processor 9000 @ 3.00GHz",
        .hypervisor = "TCG",
        .emulated = true,
        .family = 6,
        .model = 0x8F,
        .stepping = 8,
        .microcode = 0x2B000590,
        .core_type = CORE_PERFORMANCE,
        .physical_bits = 46,
        .linear_bits = 48,
        .features = UINT64_C(1) << FEATURE_NX | UINT64_C(1) << FEATURE_TSC,
        .caches = 3,
        .tlbs = 2,
        .cache = { { .level = 1,
                     .type = CACHE_DATA,
                     .size = UINT64_C(48) * KIB,
                     .ways = 12,
                     .sets = 64,
                     .line = 64,
                     .shared_by = 2 },
                   { .level = 2,
                     .type = CACHE_UNIFIED,
                     .size = UINT64_C(2) * MIB,
                     .ways = 16,
                     .sets = 2048,
                     .line = 64,
                     .shared_by = 2 },
                   { .level = 3,
                     .type = CACHE_UNIFIED,
                     .size = UINT64_C(60) * MIB,
                     .ways = 15,
                     .sets = 65536,
                     .line = 64,
                     .shared_by = 64 } },
        .tlb = { { .level = 1,
                   .type = CACHE_DATA,
                   .page_sizes = 1 << SIZE_4K,
                   .entries = 64,
                   .ways = 4 },
                 { .level = 2,
                   .type = CACHE_UNIFIED,
                   .page_sizes = 1 << SIZE_4K | 1 << SIZE_2M,
                   .entries = 1536,
                   .ways = 12 } },
    };
}

static void make_dimms(struct memory_facts *memory)
{
    *memory =
        (struct memory_facts){ .dimms = 4, .populated = 2, .channels = 2, .channels_populated = 2 };
    for (unsigned i = 0; i < memory->dimms; i++) {
        struct dimm *dimm = &memory->dimm[i];
        *dimm = (struct dimm){ .size_told = true, .channel = 1 + i / 2 };
        (void)snprintf(dimm->socket, sizeof dimm->socket, "DIMM_%c%u", 'A' + (int)i / 2, 1 + i % 2);
        if (i % 2 == 0) {
            dimm->bytes = UINT64_C(2) * GIB;
            dimm->kind = "DDR5";
            dimm->rated = 5600;
            dimm->configured = 4800;
            dimm->correction = ECC_MULTI_BIT;
            strcpy(dimm->maker, "Maker");
        }
    }
}

static void make_machine(struct machine *machine)
{
    make_processor(&machine->processor);
    machine->clock = (struct clock){
        .tsc_hz = UINT64_C(2994374531),
        .source = "CPUID 15h",
        .checked_by = "ACPI PM timer",
        .disagreement_ppm = 12.34,
        .invariant = true,
        .core_hz = 3.7e9,
        .core_source = "add chain",
    };
    machine->board = (struct board){ .vendor = "Example \"Inc\"",
                                     .product = "Server\\1",
                                     .bios_vendor = "Firmware & Co",
                                     .bios_version = "1.2" };
    machine->firmware =
        (struct firmware){ .vendor = "EDK II", .revision = 0x10000, .uefi_revision = 0x00020046 };
    machine->memory_bytes = UINT64_C(4) * GIB;
    make_dimms(&machine->memory);
    machine->arena_bytes = UINT64_C(3) * GIB;
    machine->prefetchers = (struct prefetcher_facts){
        .switches = 3,
        .name = { "l2_stream", "dcu", "llc_stream" },
        .readable = 3,
        .found_off = 2,
        .works = 3,
        .reason = "some switches refuse or ignore being put to off",
        .without_switch = "memory controller",
    };
    machine->page_available[SIZE_4K] = true;
    machine->page_available[SIZE_2M] = true;
    machine->page_reason[SIZE_1G] = "no free aligned GiB";
}

static struct spread spread(double median, bool interval)
{
    return (struct spread){
        .median = median,
        .min = median * 0.99,
        .max = median * 1.02,
        .mad = median / 300,
        .low = interval ? median * 0.995 : (double)NAN,
        .high = interval ? median * 1.005 : (double)NAN,
        .coverage = interval ? 0.98828125 : (double)NAN,
        .within = interval ? median / 100 : (double)NAN,
        .between = interval ? median / 200 : (double)NAN,
        .samples = interval ? 11 : 3,
        .visits = interval ? 3 : 1,
    };
}

static void make_point(struct point *point, uint64_t set, uint64_t page, double ns, uint32_t flags)
{
    bool interval = set > UINT64_C(32) * KIB;
    *point = (struct point){
        .operations = 1e6,
        .unit = "load",
        .ns = spread(ns, interval),
        .cycles = spread(ns * 3.7, interval),
        .predicted = (double)NAN,
        .flags = flags | 1 << FLAG_EMULATED,
        .proof = { .cycle_length = set / LINE_BYTES,
                   .leaves = { set / page },
                   .leaves_known = true,
                   .memory_type = 6,
                   .tables = 0x7E000000 },
    };
    variant_set_number(&point->variant, V_WORKING_SET, set);
    variant_set_number(&point->variant, V_PAGE_SIZE, page);
    variant_set_text(&point->variant, V_ORDER, "random");
    variant_set_text(&point->variant, V_PLACEMENT, "scattered");
    for (size_t i = 0; i < COUNTERS; i++) {
        point->counter[i] = (double)NAN;
    }
}

static void make_points(struct point *point)
{
    make_point(&point[0], UINT64_C(4) * KIB, PAGE_4K, 1.3513513513513513, 0);
    point[0].proof.prefetchers_known = true;
    point[0].proof.prefetchers_off = 3;
    make_point(&point[1], UINT64_C(32) * KIB, PAGE_4K, 0.1 + 0.2, 1 << FLAG_NOISY);
    make_point(&point[2], 5824, PAGE_4K, 12.5, 0);
    make_point(&point[3], MIB, PAGE_2M, 4.25, 1 << FLAG_SUSPECT | 1 << FLAG_NOISY);
    make_point(&point[4], UINT64_C(64) * MIB, PAGE_2M, 123.456,
               1 << FLAG_BETWEEN | 1 << FLAG_UNSETTLED);
    make_point(&point[5], UINT64_C(64) * MIB, PAGE_2M, 98, 0);
    point[1].cycles = (struct spread){ .median = (double)NAN };
    point[2].predicted = 12.25;
    point[2].counter[C_L1D_MISS] = 0.125;
    point[2].class = "L2";
    point[3].reason = "faster than a smaller set";
    point[5].proof = (struct point_proof){ 0 };
}

static void make_results(struct example_run *run)
{
    run->results = (struct results){
        .program = { "0.1.0", "abcdef012345", "gcc 12.2.0", "uefi" },
        .status = RUN_FAILED,
        .status_reason = "an experiment faulted",
        .started = "2026-01-31T12:34:56",
        .name = "B\xC3\xBCro \xFF 1",
        .repeat_line = "suite=smoke experiments=chase,selftest",
        .machine = &run->machine,
        .setting = run->setting,
        .settings = sizeof run->setting / sizeof run->setting[0],
        .noise = { true, 1.0, (double)NAN, 15400.5 },
        .strikes = &run->strikes,
        .experiment = run->experiment,
        .experiments = EXAMPLE_EXPERIMENTS,
        .point = run->point,
        .points = EXAMPLE_POINTS,
        .points_room = EXAMPLE_POINTS,
        .check = run->check,
        .checks = EXAMPLE_CHECKS,
        .checks_room = EXAMPLE_CHECKS,
        .finding = run->finding,
        .findings = EXAMPLE_FINDINGS,
        .findings_room = EXAMPLE_FINDINGS,
    };
}

static void make_experiments(struct experiment *experiment)
{
    experiment[EXAMPLE_CHASE] =
        (struct experiment){ .name = "chase", .title = example_kernel.title, .points = 5 };
    experiment[EXAMPLE_SELFTEST] = (struct experiment){ .name = "selftest",
                                                        .title = "The window proves itself",
                                                        .first_point = 5,
                                                        .checks = EXAMPLE_CHECKS };
    experiment[EXAMPLE_FAULTY] = (struct experiment){
        .name = "faulty",
        .title = "Faults on purpose",
        .status = EXPERIMENT_FAILED,
        .reason = "page fault in the loop",
        .fault = { 14, 2, UINT64_C(0xFFFF800000001234), UINT64_C(0xFFFF900000000000) },
        .first_point = 5,
        .points = 1,
        .first_check = EXAMPLE_CHECKS,
    };
    experiment[EXAMPLE_SKIPPED] = (struct experiment){ .name = "numa",
                                                       .title = "Other nodes",
                                                       .status = EXPERIMENT_SKIPPED,
                                                       .reason = "one node only",
                                                       .first_point = 6,
                                                       .first_check = EXAMPLE_CHECKS };
}

static void make_findings(struct finding *finding)
{
    finding[0] = (struct finding){ .name = "l1d_size",
                                   .unit = "bytes",
                                   .measured = 48 * KIB,
                                   .claimed = 48 * KIB,
                                   .agrees = true,
                                   .agreement_known = true,
                                   .text = "L1d: measured 48 KiB; CPUID says 48 KiB: agrees." };
    finding[1] = (struct finding){ .name = "l2_size",
                                   .unit = "bytes",
                                   .measured = MIB,
                                   .claimed = 2 * MIB,
                                   .agreement_known = true,
                                   .text = "L2: measured 1 MiB; CPUID says 2 MiB." };
    finding[2] = (struct finding){ .name = "l3_size",
                                   .unit = "bytes",
                                   .measured = (double)NAN,
                                   .claimed = (double)NAN,
                                   .text = "L3: cannot tell, no set was large enough." };
}

void example_run_make(struct example_run *run)
{
    *run = (struct example_run){ 0 };
    make_machine(&run->machine);
    run->setting[0] = (struct setting_note){ "suite", "smoke", "ironchase.cfg:12" };
    run->setting[1] = (struct setting_note){ "experiments", "chase,selftest", "SMBIOS" };
    run->setting[2] = (struct setting_note){ "seed", "1", "default" };
    make_experiments(run->experiment);
    make_points(run->point);
    run->check[0] = (struct check){ "page fault on a read", true, "vector 14, error code 0" };
    run->check[1] = (struct check){ "stack overflow", false, "vector 8 instead of 14" };
    make_findings(run->finding);
    for (unsigned i = 0; i < 4; i++) {
        run->sample[i] = (struct sample){ .ns = 1.25 + i, .cycles = 4.5 + i, .visit = i / 2 };
    }
    run->sample[3].cycles = (double)NAN;
    run->strikes = (struct strikes){ 321, 2, 1, 17 };
    make_results(run);
}

static void show_progress(const struct example_run *run, const struct experiment *experiment,
                          size_t index, const struct observer *observer, size_t n)
{
    struct progress now = { .done = index,
                            .all = run->results.points,
                            .seconds_done = 4.0 * (double)index,
                            .seconds_left = 4.0 * (double)(run->results.points - index),
                            .experiment = experiment->name,
                            .variant = &run->point[index].variant };
    for (size_t i = 0; i < n; i++) {
        if (observer[i].progress) {
            observer[i].progress(observer[i].self, &now);
        }
    }
}

static void play_point(const struct example_run *run, const struct experiment *experiment,
                       size_t index, const struct observer *observer, size_t n)
{
    const struct point *point = &run->point[index];
    struct measurement measurement = { .kernel = &example_kernel, .variant = point->variant };
    struct sample sample[sizeof run->sample / sizeof run->sample[0]];
    memcpy(sample, run->sample, sizeof sample);
    struct series series = { .sample = sample, .count = 2, .room = 4, .operations = 2e5 };
    show_progress(run, experiment, index, observer, n);
    for (size_t i = 0; i < n && index == 0; i++) {
        if (observer[i].visit) {
            observer[i].visit(observer[i].self, experiment, &measurement, &series);
        }
    }
    series.count = 4;
    for (size_t i = 0; i < n; i++) {
        if (observer[i].point) {
            observer[i].point(observer[i].self, experiment, point, &series);
        }
    }
}

static void begin_experiment(const struct example_run *run, size_t index,
                             const struct observer *observer)
{
    const struct kernel *kernel = index == EXAMPLE_SELFTEST ? NULL : &example_kernel;
    if (observer->experiment_begin) {
        observer->experiment_begin(observer->self, &run->results, &run->experiment[index], kernel);
    }
}

static void play_experiment(const struct example_run *run, size_t index,
                            const struct observer *observer, size_t n)
{
    const struct experiment *experiment = &run->experiment[index];
    for (size_t i = 0; i < n; i++) {
        begin_experiment(run, index, &observer[i]);
    }
    for (size_t p = 0; p < experiment->points; p++) {
        play_point(run, experiment, experiment->first_point + p, observer, n);
    }
    for (size_t i = 0; i < n; i++) {
        observer[i].experiment_end(observer[i].self, &run->results, experiment);
    }
}

void example_run_play(const struct example_run *run, const struct observer *observer, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        observer[i].begin(observer[i].self, &run->results);
    }
    for (size_t e = 0; e < run->results.experiments; e++) {
        play_experiment(run, e, observer, n);
    }
    for (size_t f = 0; f < run->results.findings; f++) {
        for (size_t i = 0; i < n; i++) {
            observer[i].finding(observer[i].self, &run->finding[f]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        observer[i].end(observer[i].self, &run->results);
    }
}
