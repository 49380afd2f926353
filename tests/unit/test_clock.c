/* The TSC's frequency, on scripted machines whose time, timers and registers are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "hw/clock.h"
#include "hw/cpuid.h"
#include "hw/survey.h"
#include "tests/fakes/processor.h"
#include "tests/fakes/recording.h"
#include "tests/fakes/timers.h"

static const uint64_t HPET_BASE = 0xfed00000;
static const uint64_t TSC_HZ = 2000000000;
static const uint64_t STEP = 400000; /* 200 us an access */
enum { PM_PORT = 0x608, HPET_PERIOD_FS = 69841279 /* 14.318 MHz */ };

/* A machine with nothing but a TSC of TSC_HZ, and what the tests add to it. */
struct scene {
    struct processor processor;
    struct clock_needs needs;
    struct fake_pm_timer pm_timer;
    struct fake_hpet hpet;
    struct clock clock;
};

static void set_up(struct scene *scene, const char *recording)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "tests/data/cpuid/%s", recording);
    *scene = (struct scene){ 0 };
    processor_reset();
    processor_set_time(1000, STEP);
    assert_true(recording_load(path, NULL));
    survey_processor(&scene->processor);
    scene->needs.processor = &scene->processor;
    scene->needs.tsc = processor_tsc;
}

static void add_pm_timer(struct scene *scene, unsigned bits, uint32_t start)
{
    scene->pm_timer = (struct fake_pm_timer){ .tsc_hz = TSC_HZ, .bits = bits, .start = start };
    fake_pm_timer_at_port(&scene->pm_timer, PM_PORT);
    scene->needs.pm_timer = (struct pm_timer){ .address = PM_PORT, .bits = bits };
}

static void add_hpet(struct scene *scene, uint32_t configuration, uint64_t count)
{
    scene->hpet = (struct fake_hpet){
        .tsc_hz = TSC_HZ, .period = HPET_PERIOD_FS, .configuration = configuration, .count = count
    };
    fake_hpet_in_memory(&scene->hpet, HPET_BASE);
    scene->needs.hpet = HPET_BASE;
}

/* Firmware that always takes 200 us longer, and now and then even more. */
static unsigned stalls;

static bool stall(void *self, unsigned microseconds)
{
    static const unsigned late_us[] = { 500, 200, 240 };
    (void)self;
    processor_advance(TSC_HZ / 1000000 * (microseconds + late_us[stalls++ % 3]));
    return true;
}

static bool failing_stall(void *self, unsigned microseconds)
{
    (void)self;
    processor_advance(microseconds);
    return false;
}

/* Leaf 15h so that it tells `hz`, by a crystal of 20 MHz; leaf 16h says nothing. */
static void tell_hz(uint64_t hz)
{
    processor_cpuid(0, ANY_SUBLEAF)->eax = 0x16;
    *processor_cpuid(0x15, ANY_SUBLEAF) =
        (struct cpuid_regs){ 1, (uint32_t)(hz / 20000000), 20000000, 0 };
    *processor_cpuid(0x16, ANY_SUBLEAF) = (struct cpuid_regs){ 0 };
}

static void expect_clock(const struct scene *scene, const char *source, const char *check,
                         double ppm)
{
    const struct clock *clock = &scene->clock;
    double error = ((double)clock->tsc_hz / (double)TSC_HZ - 1) * 1e6;
    assert_string_equal(clock->source, source);
    assert_string_equal(clock->checked_by, check);
    assert_null(clock->reason);
    if (error > ppm || error < -ppm) {
        fail_msg("off by %g ppm", error);
    }
    assert_true(clock->disagreement_ppm <= ppm);
}

static void expect_none(const struct scene *scene, const char *reason)
{
    assert_int_equal(scene->clock.tsc_hz, 0);
    assert_non_null(scene->clock.reason);
    assert_non_null(strstr(scene->clock.reason, reason));
}

/* ---- which source, and which check ---- */

static void told_frequency_is_checked_by_the_pm_timer(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "sapphire_rapids.txt");
    tell_hz(TSC_HZ);
    add_pm_timer(&scene, 24, 0);
    add_hpet(&scene, 1, 0);
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "CPUID 15h", "ACPI PM timer", 20);
    assert_int_equal(scene.clock.tsc_hz, TSC_HZ);
    assert_true(scene.clock.disagreement_ppm > 0);
    assert_true(scene.clock.invariant);
    assert_int_equal(processor_count(ACCESS_READ, HPET_BASE + 0xf0), 0);
}

static void without_leaf_15_timers_check_each_other(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "genoa.txt");
    add_pm_timer(&scene, 32, 0);
    add_hpet(&scene, 1, 0);
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "ACPI PM timer", "HPET", 20);
}

static void ratio_checks_a_timer_before_another_timer_does(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "genoa.txt");
    add_pm_timer(&scene, 32, 0);
    add_hpet(&scene, 1, 0);
    scene.needs.msrs.ratio_hz = TSC_HZ;
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "ACPI PM timer", "ratio MSR", 20);
    scene.needs.msrs.ratio_hz = TSC_HZ / 100 * 105; /* overclocked */
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "ACPI PM timer", "HPET", 20);
}

static void firmware_wait_is_the_last_resort(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "genoa.txt");
    stalls = 0;
    scene.needs.stall = stall;
    scene.needs.msrs.ratio_hz = TSC_HZ;
    processor_set_time(0, 10);
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "ratio MSR", "firmware Stall", 5);
    assert_int_equal(stalls, 32);

    scene.needs.stall = failing_stall;
    assert_int_equal(clock_find(&scene.clock, &scene.needs), ABSENT);
    expect_none(&scene, "only one source");
}

static void wrong_claim_loses_against_two_timers(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "sapphire_rapids.txt");
    tell_hz(2100000000);
    add_pm_timer(&scene, 24, 0);
    add_hpet(&scene, 1, 0);
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "ACPI PM timer", "HPET", 20);
}

static void one_percent_is_the_bound(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "sapphire_rapids.txt");
    scene.needs.msrs.ratio_hz = TSC_HZ;
    add_pm_timer(&scene, 24, 0);
    scene.pm_timer.tsc_hz = TSC_HZ / 1000 * 1009; /* the timer runs slow */
    tell_hz(TSC_HZ);
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    assert_true(scene.clock.disagreement_ppm > 8900 && scene.clock.disagreement_ppm < 9100);
    assert_int_equal(scene.clock.tsc_hz, TSC_HZ);

    scene.pm_timer.tsc_hz = TSC_HZ / 1000 * 1011;
    scene.needs.msrs.ratio_hz = 0;
    assert_int_equal(clock_find(&scene.clock, &scene.needs), ABSENT);
    expect_none(&scene, "no two sources agree");
}

static void hyperv_tells_by_its_register(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "genoa.txt");
    add_pm_timer(&scene, 24, 0);
    scene.needs.msrs.hyperv_hz = TSC_HZ;
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "Hyper-V MSR", "ACPI PM timer", 20);
}

static void make_guest(const char *name, uint32_t highest, uint32_t khz)
{
    struct cpuid_regs *leaf = processor_cpuid(0x40000000, ANY_SUBLEAF);
    processor_cpuid(1, ANY_SUBLEAF)->ecx |= 0x80000000;
    leaf->eax = highest;
    memcpy(&leaf->ebx, name, 4);
    memcpy(&leaf->ecx, name + 4, 4);
    memcpy(&leaf->edx, name + 8, 4);
    processor_cpuid(0x40000010, ANY_SUBLEAF)->eax = khz;
}

static void hypervisor_leaf_counts_kilohertz(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "genoa.txt");
    make_guest("VMwareVMware", 0x40000010, (uint32_t)(TSC_HZ / 1000));
    survey_processor(&scene.processor);
    add_pm_timer(&scene, 24, 0);
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "CPUID 40000010h", "ACPI PM timer", 20);

    make_guest("Microsoft Hv", 0x40000010,
               (uint32_t)(TSC_HZ / 1000)); /* means something else there */
    survey_processor(&scene.processor);
    assert_int_equal(clock_find(&scene.clock, &scene.needs), ABSENT);
    expect_none(&scene, "only one source");
}

static void implausible_frequencies_are_no_answer(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "genoa.txt");
    scene.needs.msrs.ratio_hz = 99000000;
    scene.needs.msrs.hyperv_hz = 43000000000;
    assert_int_equal(clock_find(&scene.clock, &scene.needs), ABSENT);
    expect_none(&scene, "nothing tells");
}

/* ---- leaf 15h ---- */

static void rounded_leaf_16_only_contradicts(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "sapphire_rapids.txt"); /* 2592 MHz by leaf 15h, 2600 by leaf 16h */
    assert_int_equal(clock_hz_of_leaf_15(&scene.processor), 2592000000);
    processor_cpuid(0x16, ANY_SUBLEAF)->eax = 2700;
    assert_int_equal(clock_hz_of_leaf_15(&scene.processor), 0);
    processor_cpuid(0x16, ANY_SUBLEAF)->eax = 0;
    assert_int_equal(clock_hz_of_leaf_15(&scene.processor), 2592000000);
}

static void untold_crystal_of_an_unknown_model_is_no_answer(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "kaby_lake.txt");
    assert_int_equal(clock_hz_of_leaf_15(&scene.processor), 1800000000);
    scene.processor.model = 0x8f;
    assert_int_equal(clock_hz_of_leaf_15(&scene.processor), 0);
    processor_cpuid(0x15, ANY_SUBLEAF)->ebx = 0;
    scene.processor.model = 0x8e;
    assert_int_equal(clock_hz_of_leaf_15(&scene.processor), 0);
}

/* ---- timers ---- */

struct width {
    unsigned bits;
    uint32_t last;
};

/* At 1 ms an access the measurement takes 1.1 million ticks and begins 3.6 million ticks after the
 * start (the counter is looked at first): all starts from which something of it crosses the wrap. */
static void pm_timer_survives_every_wrap(void **state)
{
    const struct width *width = *state;
    struct scene scene;
    set_up(&scene, "sapphire_rapids.txt");
    tell_hz(TSC_HZ);
    add_pm_timer(&scene, width->bits, 0);
    for (uint32_t before = 3400000; before < 4900000; before += 499) {
        scene.pm_timer.start = width->last - before;
        processor_set_time(1000, TSC_HZ / 1000);
        assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
        expect_clock(&scene, "CPUID 15h", "ACPI PM timer", 20);
    }
}

static void pm_timer_in_memory_is_read_there(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "sapphire_rapids.txt");
    tell_hz(TSC_HZ);
    add_pm_timer(&scene, 32, 0);
    fake_pm_timer_in_memory(&scene.pm_timer, 0xfed80808);
    scene.needs.pm_timer.in_memory = true;
    scene.needs.pm_timer.address = 0xfed80808;
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "CPUID 15h", "ACPI PM timer", 20);
    assert_int_equal(processor_count(ACCESS_IN, PM_PORT), 0);
}

/* Gracemont's fused timer reads the same for ever; an absent port reads all ones. */
static void dead_pm_timer_is_given_up(void **state)
{
    const bool *at_port = *state;
    struct scene scene;
    set_up(&scene, "sapphire_rapids.txt");
    tell_hz(TSC_HZ);
    add_pm_timer(&scene, 24, 0x123456);
    scene.pm_timer.stopped = true;
    scene.needs.pm_timer.address = *at_port ? PM_PORT : PM_PORT + 4;
    add_hpet(&scene, 1, 0);
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "CPUID 15h", "HPET", 20);
    size_t reads = processor_count(ACCESS_IN, scene.needs.pm_timer.address);
    assert_true(reads > 100 && reads < 10000);
}

static void hpet_is_left_as_it_was_found(void **state)
{
    const uint32_t *found = *state;
    struct scene scene;
    set_up(&scene, "sapphire_rapids.txt");
    tell_hz(TSC_HZ);
    add_hpet(&scene, *found, 0xfffff000); /* the low half wraps at once */
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    expect_clock(&scene, "CPUID 15h", "HPET", 20);
    assert_int_equal(scene.hpet.configuration, *found);
    assert_int_equal(processor_count(ACCESS_WRITE, HPET_BASE + 0x10), (*found & 1) != 0 ? 0 : 2);
    for (size_t i = 0; processor_access(i) != NULL; i++) {
        if (processor_access(i)->kind == ACCESS_WRITE) {
            assert_int_equal(processor_access(i)->value, *found | 1);
            break;
        }
    }
}

static void hpet_with_an_impossible_period_is_none(void **state)
{
    (void)state;
    static const uint32_t periods[] = { 0, 100000001, UINT32_MAX };
    for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
        struct scene scene;
        set_up(&scene, "sapphire_rapids.txt");
        tell_hz(TSC_HZ);
        add_hpet(&scene, 0, 0);
        scene.hpet.period = periods[i];
        assert_int_equal(clock_find(&scene.clock, &scene.needs), ABSENT);
        assert_int_equal(processor_count(ACCESS_WRITE, HPET_BASE + 0x10), 0);
    }
}

/* Something takes the core away for 5 ms at three accesses of five. */
static void interrupt_often(void *self)
{
    uint32_t *random = self;
    *random = *random * 1664525 + 1013904223;
    if ((*random >> 16) % 5 < 3) {
        processor_advance(TSC_HZ / 200);
    }
}

static void wide_brackets_are_rejected(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "sapphire_rapids.txt");
    tell_hz(TSC_HZ);
    add_pm_timer(&scene, 24, 0);
    for (uint32_t seed = 1; seed <= 50; seed++) {
        uint32_t random = seed;
        processor_set_hooks(&(struct hooks){ .self = &random, .before = interrupt_often });
        assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
        expect_clock(&scene, "CPUID 15h", "ACPI PM timer", 20);
    }
}

/* ---- the counter itself ---- */

static uint64_t standing_tsc(void)
{
    return 12345;
}

static uint64_t jumping_tsc(void)
{
    static unsigned reads = 0;
    uint64_t tsc = processor_tsc();
    reads++;
    return reads % 100 == 0 ? tsc - 3 * STEP : tsc;
}

static void unusable_counters_are_refused(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "sapphire_rapids.txt");
    tell_hz(TSC_HZ);
    add_pm_timer(&scene, 24, 0);
    scene.needs.tsc = standing_tsc;
    assert_int_equal(clock_find(&scene.clock, &scene.needs), ABSENT);
    expect_none(&scene, "does not run forward");
    scene.needs.tsc = jumping_tsc;
    assert_int_equal(clock_find(&scene.clock, &scene.needs), ABSENT);
    expect_none(&scene, "does not run forward");
    scene.needs.tsc = processor_tsc;
    scene.processor.features &= ~(1ULL << FEATURE_TSC);
    assert_int_equal(clock_find(&scene.clock, &scene.needs), ABSENT);
    expect_none(&scene, "has no time-stamp counter");
}

static void counter_that_stops_in_idle_is_flagged(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, "qemu_max.txt");
    add_pm_timer(&scene, 24, 0);
    stalls = 0;
    scene.needs.stall = stall;
    assert_int_equal(clock_find(&scene.clock, &scene.needs), OK);
    assert_false(scene.clock.invariant);
}

/* ---- MSRs ---- */

static uint64_t ratio_of(const char *recording, uint32_t msr, uint64_t value)
{
    struct scene scene;
    struct clock_msrs msrs;
    set_up(&scene, recording);
    processor_msr(msr)->value = value;
    processor_clear_log();
    clock_read_msrs(&scene.processor, &msrs);
    assert_int_equal(msrs.hyperv_hz, 0);
    return msrs.ratio_hz;
}

static void ratios_are_decoded_by_model(void **state)
{
    (void)state;
    assert_int_equal(ratio_of("lynnfield.txt", 0xce, 21 << 8), 2800000000);
    assert_int_equal(ratio_of("naples.txt", 0xc0010064, 1ULL << 63 | 0x8a64), 2000000000);
    assert_int_equal(ratio_of("genoa.txt", 0xc0010064, 1ULL << 63 | 0x878), 3000000000);
    assert_int_equal(ratio_of("genoa.txt", 0xc0010064, 0x878), 0);
    assert_int_equal(ratio_of("genoa.txt", 0xc0010064, 1ULL << 63 | 0x78), 0);
    assert_int_equal(ratio_of("turin.txt", 0xc0010064, 1ULL << 63 | 520), 2600000000);
}

/* Registers of a model are touched on models of the table only. */
static void unknown_models_are_left_alone(void **state)
{
    (void)state;
    assert_int_equal(ratio_of("sapphire_rapids.txt", 0xce, 26 << 8), 0);
    assert_int_equal(processor_accesses(), 0);
    assert_int_equal(ratio_of("qemu_max.txt", 0xc0010064, 1ULL << 63 | 0x878), 0);
    assert_int_equal(processor_count(ACCESS_RDMSR, 0xc0010064), 0);
}

static void refused_ratio_is_no_answer(void **state)
{
    (void)state;
    struct scene scene;
    struct clock_msrs msrs;
    set_up(&scene, "lynnfield.txt");
    clock_read_msrs(&scene.processor, &msrs);
    assert_int_equal(msrs.ratio_hz, 0);
}

static void hyperv_register_needs_the_privilege(void **state)
{
    (void)state;
    struct scene scene;
    struct clock_msrs msrs;
    set_up(&scene, "genoa.txt");
    make_guest("Microsoft Hv", 0x4000000b, 0);
    processor_cpuid(0x40000001, ANY_SUBLEAF)->eax = 0x31237648;
    processor_msr(0x40000022)->value = TSC_HZ;
    survey_processor(&scene.processor);
    clock_read_msrs(&scene.processor, &msrs);
    assert_int_equal(msrs.hyperv_hz, 0);
    processor_cpuid(0x40000003, ANY_SUBLEAF)->eax = 1U << 11;
    clock_read_msrs(&scene.processor, &msrs);
    assert_int_equal(msrs.hyperv_hz, TSC_HZ);
    assert_int_equal(msrs.ratio_hz, 0);
}

int main(void)
{
    static struct width widths[] = { { 24, 0xffffff }, { 32, 0xffffffff } };
    static bool at_port[] = { true, false };
    static uint32_t configurations[] = { 0, 1, 2, 3 };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_frequency_is_checked_by_the_pm_timer),
        cmocka_unit_test(without_leaf_15_timers_check_each_other),
        cmocka_unit_test(ratio_checks_a_timer_before_another_timer_does),
        cmocka_unit_test(firmware_wait_is_the_last_resort),
        cmocka_unit_test(wrong_claim_loses_against_two_timers),
        cmocka_unit_test(one_percent_is_the_bound),
        cmocka_unit_test(hyperv_tells_by_its_register),
        cmocka_unit_test(hypervisor_leaf_counts_kilohertz),
        cmocka_unit_test(implausible_frequencies_are_no_answer),
        cmocka_unit_test(rounded_leaf_16_only_contradicts),
        cmocka_unit_test(untold_crystal_of_an_unknown_model_is_no_answer),
        { "pm_timer_survives_every_wrap_24", pm_timer_survives_every_wrap, NULL, NULL, &widths[0] },
        { "pm_timer_survives_every_wrap_32", pm_timer_survives_every_wrap, NULL, NULL, &widths[1] },
        cmocka_unit_test(pm_timer_in_memory_is_read_there),
        { "stopped_pm_timer_is_given_up", dead_pm_timer_is_given_up, NULL, NULL, &at_port[0] },
        { "absent_pm_timer_is_given_up", dead_pm_timer_is_given_up, NULL, NULL, &at_port[1] },
        { "hpet_left_off", hpet_is_left_as_it_was_found, NULL, NULL, &configurations[0] },
        { "hpet_left_on", hpet_is_left_as_it_was_found, NULL, NULL, &configurations[1] },
        { "hpet_left_off_legacy", hpet_is_left_as_it_was_found, NULL, NULL, &configurations[2] },
        { "hpet_left_on_legacy", hpet_is_left_as_it_was_found, NULL, NULL, &configurations[3] },
        cmocka_unit_test(hpet_with_an_impossible_period_is_none),
        cmocka_unit_test(wide_brackets_are_rejected),
        cmocka_unit_test(unusable_counters_are_refused),
        cmocka_unit_test(counter_that_stops_in_idle_is_flagged),
        cmocka_unit_test(ratios_are_decoded_by_model),
        cmocka_unit_test(unknown_models_are_left_alone),
        cmocka_unit_test(refused_ratio_is_no_answer),
        cmocka_unit_test(hyperv_register_needs_the_privilege),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
