/* The switches of the prefetchers: on which processor which registers are written, in which order,
 * that all of them come back, and what is made of registers that refuse or swallow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hw/cpuid.h"
#include "hw/prefetchers.h"
#include "hw/survey.h"
#include "tests/fakes/processor.h"
#include "tests/fakes/recording.h"

#include <stdio.h>
#include <string.h>

#define AMD_CONTROL UINT32_C(0xC0000108)

static struct processor processor;
static struct prefetchers prefetchers;
static struct msr_saves saves;

static void become(const char *vendor, unsigned family, unsigned model, enum core_type core)
{
    processor = (struct processor){ .family = family, .model = model, .core_type = core };
    (void)snprintf(processor.vendor, sizeof processor.vendor, "%s", vendor);
}

static int set_up(void **state)
{
    (void)state;
    processor_reset();
    *processor_cpuid(0, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 7 };
    *processor_cpuid(0x80000000, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 0x80000021 };
    become("GenuineIntel", 6, 0x8F, CORE_UNKNOWN);
    memset(&saves, 0, sizeof saves);
    return 0;
}

/* ---- every microarchitecture -------------------------------------------------------------------- */

struct written {
    uint32_t msr;
    uint64_t found, off; /* what the register holds; and with everything switched off */
    uint64_t valid;      /* bits that can be written */
};

static const struct part {
    const char *vendor;
    unsigned family, model;
    enum core_type core;
    unsigned switches;
    const char *microarchitecture;
    const char *names;         /* all of them, in order */
    struct written written[4]; /* ended by register 0 */
} parts[] = {
    { "GenuineIntel",
      6,
      0x17,
      CORE_UNKNOWN,
      4,
      "Core 2",
      "l2_stream+l2_adjacent+dcu+dcu_ip",
      { { 0x1A0, 0x62972089, 0xA0629F2289, ~UINT64_C(0) } } },
    { "GenuineIntel",
      6,
      0x1E,
      CORE_UNKNOWN,
      4,
      "Nehalem",
      "l2_stream+l2_adjacent+dcu+dcu_ip",
      { { 0x1A4, 0x7C0, 0x7CF, ~UINT64_C(0) } } },
    { "GenuineIntel",
      6,
      0x2D,
      CORE_UNKNOWN,
      4,
      "Sandy Bridge",
      "l2_stream+l2_adjacent+dcu+dcu_ip",
      { { 0x1A4, 0, 0xF, 0xF } } },
    { "GenuineIntel",
      6,
      0x4F,
      CORE_UNKNOWN,
      4,
      "Broadwell",
      "l2_stream+l2_adjacent+dcu+dcu_ip",
      { { 0x1A4, 0, 0xF, 0xF } } },
    { "GenuineIntel",
      6,
      0x55,
      CORE_UNKNOWN,
      4,
      "Skylake",
      "l2_stream+l2_adjacent+dcu+dcu_ip",
      { { 0x1A4, 0, 0xF, 0xF } } },
    { "GenuineIntel",
      6,
      0x6A,
      CORE_UNKNOWN,
      4,
      "Ice Lake",
      "l2_stream+l2_adjacent+dcu+dcu_ip",
      { { 0x1A4, 0x20, 0x2F, 0x3F } } },
    { "GenuineIntel",
      6,
      0x8F,
      CORE_UNKNOWN,
      5,
      "Golden Cove",
      "l2_stream+l2_adjacent+dcu+dcu_ip+l2_amp",
      { { 0x1A4, 0x20, 0x2F, 0x2F } } },
    { "GenuineIntel",
      6,
      0xB7,
      CORE_PERFORMANCE,
      5,
      "Golden Cove",
      "l2_stream+l2_adjacent+dcu+dcu_ip+l2_amp",
      { { 0x1A4, 0x4, 0x2F, 0x2F } } },
    { "GenuineIntel",
      6,
      0xAD,
      CORE_UNKNOWN,
      9,
      "Redwood Cove",
      "l2_stream+l2_adjacent+dcu+dcu_ip+l2_amp+next_page+llc_page+pointer_array+code_stream",
      { { 0x1A4, 0, 0x1FF, 0x1FF } } },
    { "GenuineIntel",
      6,
      0xBD,
      CORE_PERFORMANCE,
      5,
      "Lion Cove",
      "l2_stream+l2_adjacent+dcu+dcu_ip+l2_amp",
      { { 0x1A4, 0, 0x2F, 0x1FF } } },
    { "GenuineIntel",
      6,
      0x97,
      CORE_EFFICIENT,
      6,
      "Gracemont",
      "l2_stream+dcu+dcu_ip+l2_amp+llc_stream+l2_next_line",
      { { 0x1A4, 0x4, 0x2D, 0x2D },
        { 0x1320, 0x1234, 0x080000001234, ~UINT64_C(0) },
        { 0x1321, 0x250122000001, 0x250122000001 | 1ull << 40, ~UINT64_C(0) } } },
    { "GenuineIntel",
      6,
      0xAF,
      CORE_UNKNOWN,
      11,
      "Crestmont",
      "l2_stream+l2_adjacent+dcu+dcu_ip+l2_amp+next_page+llc_page+pointer_array+code_stream+"
      "llc_stream+l2_next_line",
      { { 0x1A4, 0, 0x1FF, 0x1FF },
        { 0x1320, 0, 1ull << 43, ~UINT64_C(0) },
        { 0x1321, 0, 1ull << 40, ~UINT64_C(0) } } },
    { "GenuineIntel",
      6,
      0xC6,
      CORE_EFFICIENT,
      11,
      "Skymont",
      "l2_stream+l2_adjacent+dcu+dcu_ip+l2_amp+next_page+llc_page+pointer_array+code_stream+"
      "llc_stream+l2_next_line",
      { { 0x1A4, 0x80, 0x1FF, 0x1FF },
        { 0x1320, 0, 1ull << 43, ~UINT64_C(0) },
        { 0x1321, 1ull << 40, 1ull << 40, ~UINT64_C(0) } } },
    { "GenuineIntel",
      6,
      0xDD,
      CORE_UNKNOWN,
      12,
      "Darkmont",
      "l2_stream+l2_adjacent+dcu+dcu_ip+l2_amp+next_page+llc_page+pointer_array+code_stream+"
      "llc_stream+l2_next_line+dynamic",
      { { 0x1A4, 0, 0x11FF, 0x11FF },
        { 0x1320, 0, 1ull << 43, ~UINT64_C(0) },
        { 0x1321, 0, 1ull << 40, ~UINT64_C(0) } } },
    { "GenuineIntel",
      6,
      0x4D,
      CORE_UNKNOWN,
      2,
      "Silvermont",
      "l2_stream+dcu",
      { { 0x1A4, 0, 5, 5 } } },
    { "GenuineIntel",
      6,
      0x86,
      CORE_UNKNOWN,
      2,
      "Tremont",
      "l2_stream+dcu",
      { { 0x1A4, 0, 5, 5 } } },
    { "GenuineIntel",
      6,
      0x85,
      CORE_UNKNOWN,
      2,
      "Xeon Phi",
      "dcu+l2_stream",
      { { 0x1A4, 0, 3, 3 } } },
    { "AuthenticAMD",
      0x19,
      0x01,
      CORE_UNKNOWN,
      5,
      "Zen 3 or 4",
      "l1_stream+l1_stride+l1_region+l2_stream+l2_up_down",
      { { AMD_CONTROL, 0, 0x2F, 0x2F } } },
    { "AuthenticAMD",
      0x1A,
      0x02,
      CORE_UNKNOWN,
      5,
      "Zen 5",
      "l1_stream+l1_stride+l1_region+l2_stream+l2_up_down",
      { { AMD_CONTROL, 0x3C0, 0x3EF, 0x3EF } } },
};

static void play(const struct part *part)
{
    (void)set_up(NULL);
    become(part->vendor, part->family, part->model, part->core);
    processor_cpuid(0x80000021, ANY_SUBLEAF)->eax = 1U << 13;
    for (const struct written *written = part->written; written->msr != 0; written++) {
        *processor_msr(written->msr) =
            (struct scripted_msr){ .value = written->found, .reserved = ~written->valid };
    }
}

/* The log's writes are those that `part` needs, in its order, and no others. */
static void check_writes(const struct part *part)
{
    size_t next = 0;
    for (size_t i = 0; processor_access(i) != NULL; i++) {
        const struct access *access = processor_access(i);
        if (access->kind != ACCESS_WRMSR) {
            continue;
        }
        while (part->written[next].msr != 0 &&
               part->written[next].off == part->written[next].found) {
            next++;
        }
        assert_int_equal(access->address, part->written[next].msr);
        assert_int_equal(access->value, part->written[next].off);
        assert_false(access->refused);
        next++;
    }
}

static size_t registers(const struct part *part)
{
    size_t count = 0;
    while (part->written[count].msr != 0) {
        count++;
    }
    return count;
}

static void assert_restored(const struct part *part)
{
    for (size_t i = 0; i < registers(part); i++) {
        assert_int_equal(processor_msr(part->written[i].msr)->value, part->written[i].found);
    }
}

static void test_every_microarchitecture(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const struct part *part = &parts[p];
        uint32_t off = 0;
        uint32_t named = 0;
        play(part);
        assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
        assert_string_equal(prefetchers.microarchitecture, part->microarchitecture);
        assert_int_equal(prefetchers.switches, part->switches);
        const struct prefetcher_facts facts = prefetchers_facts(&prefetchers);
        assert_true(prefetchers_named(&facts, part->names, &named));
        assert_int_equal(named, (1U << part->switches) - 1);
        assert_non_null(prefetchers.without_switch);

        assert_int_equal(prefetchers_try(&prefetchers, &saves), OK);
        assert_null(prefetchers.reason);
        assert_int_equal(prefetchers.works, named);
        assert_int_equal(prefetchers.readable, named);
        assert_int_equal(saves.count, 0);
        assert_restored(part);

        processor_clear_log();
        assert_int_equal(prefetchers_switch_off(&prefetchers, &saves, UINT32_MAX, &off), OK);
        assert_int_equal(off, named);
        check_writes(part);
        for (size_t i = 0; i < registers(part); i++) {
            assert_int_equal(processor_msr(part->written[i].msr)->value, part->written[i].off);
        }
        processor_clear_log();
        assert_int_equal(msr_restore(&saves), 0);
        assert_restored(part);
    }
}

/* The latest register first, as everything that was changed. */
static void test_order_of_restoring(void **state)
{
    (void)state;
    uint32_t off;
    static const uint32_t order[] = { 0x1321, 0x1320, 0x1A4 };
    play(&parts[11]);
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    assert_int_equal(prefetchers_try(&prefetchers, &saves), OK);
    assert_int_equal(prefetchers_switch_off(&prefetchers, &saves, UINT32_MAX, &off), OK);
    processor_clear_log();
    assert_int_equal(msr_restore(&saves), 0);
    assert_int_equal(processor_accesses(), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(processor_access(i)->address, order[i]);
    }
}

/* ---- found, and one by one ---------------------------------------------------------------------- */

static void test_found_is_told_bit_by_bit(void **state)
{
    (void)state;
    uint32_t off = 0;
    processor_msr(0x1A4)->value = 0x24; /* dcu and l2_amp; a firmware does that */
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    assert_int_equal(prefetchers_try(&prefetchers, &saves), OK);
    assert_int_equal(prefetchers.found_off, 1U << 2 | 1U << 4);
    assert_int_equal(prefetchers_switch_off(&prefetchers, &saves, 1, &off), OK);
    assert_int_equal(off, 1U | 1U << 2 | 1U << 4);
    assert_int_equal(processor_msr(0x1A4)->value, 0x25);
    assert_int_equal(msr_restore(&saves), 0);
    assert_int_equal(prefetchers_read(&prefetchers, &off), OK);
    assert_int_equal(off, 1U << 2 | 1U << 4);
}

/* What is off already needs no write. */
static void test_no_write_without_need(void **state)
{
    (void)state;
    uint32_t off = 0;
    processor_msr(0x1A4)->value = 0x2F;
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    assert_int_equal(prefetchers_try(&prefetchers, &saves), OK);
    assert_int_equal(prefetchers_switch_off(&prefetchers, &saves, UINT32_MAX, &off), OK);
    assert_int_equal(off, 0x1F);
    assert_int_equal(processor_count(ACCESS_WRMSR, 0x1A4), 0);
}

static void test_names(void **state)
{
    (void)state;
    uint32_t which = 0;
    processor_msr(0x1A4)->value = 0;
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    const struct prefetcher_facts facts = prefetchers_facts(&prefetchers);
    assert_true(prefetchers_named(&facts, "l2_stream+DCU_ip", &which));
    assert_int_equal(which, 1U | 1U << 3);
    assert_true(prefetchers_named(&facts, "dcu", &which));
    assert_int_equal(which, 1U << 2);
    assert_false(prefetchers_named(&facts, "dcu+l1_region", &which));
    assert_false(prefetchers_named(&facts, "dc", &which));
    assert_false(prefetchers_named(&facts, "", &which));
}

/* ---- what refuses ------------------------------------------------------------------------------- */

static void test_register_that_is_not_there(void **state)
{
    (void)state;
    uint32_t off = 0;
    processor_msr(0x1A4)->absent = true;
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    assert_int_equal(prefetchers_try(&prefetchers, &saves), FAULTED);
    assert_non_null(prefetchers.reason);
    assert_int_equal(prefetchers.works, 0);
    processor_clear_log();
    assert_int_equal(prefetchers_switch_off(&prefetchers, &saves, UINT32_MAX, &off), ABSENT);
    assert_int_equal(prefetchers_switch_off(&prefetchers, &saves, 1, &off), ABSENT);
    assert_int_equal(processor_accesses(), 0);
}

static void test_writes_that_are_refused(void **state)
{
    (void)state;
    *processor_msr(0x1A4) = (struct scripted_msr){ .read_only = true };
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    assert_int_equal(prefetchers_try(&prefetchers, &saves), FAULTED);
    assert_non_null(prefetchers.reason);
    assert_int_equal(saves.count, 0);
}

static void test_writes_that_are_swallowed(void **state)
{
    (void)state;
    *processor_msr(0x1A4) = (struct scripted_msr){ .fixed = UINT64_MAX };
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    assert_int_equal(prefetchers_try(&prefetchers, &saves), FAULTED);
    assert_non_null(prefetchers.reason);
    assert_int_equal(prefetchers.works, 0);
}

/* One bit refuses, one swallows, one register is missing: the others work. */
static void test_what_works_in_part(void **state)
{
    (void)state;
    uint32_t off = 0;
    become("GenuineIntel", 6, 0xAF, CORE_UNKNOWN);
    *processor_msr(0x1A4) = (struct scripted_msr){ .reserved = 0x100, .fixed = 0x2 };
    processor_msr(0x1320)->value = 0;
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    assert_int_equal(prefetchers_try(&prefetchers, &saves), OK);
    assert_non_null(prefetchers.reason);
    assert_int_equal(prefetchers.works, 0x7FF & ~(1U << 1 | 1U << 8 | 1U << 10));
    assert_int_equal(prefetchers.readable, 0x7FF & ~(1U << 10));
    assert_int_equal(prefetchers_switch_off(&prefetchers, &saves, UINT32_MAX, &off), OK);
    assert_int_equal(off, prefetchers.works);
    assert_int_equal(processor_msr(0x1A4)->value, 0xFD);
    assert_int_equal(processor_msr(0x1320)->value, 1ull << 43);
    assert_int_equal(prefetchers_switch_off(&prefetchers, &saves, 1U << 1, &off), ABSENT);
    assert_int_equal(msr_restore(&saves), 0);
    assert_int_equal(processor_msr(0x1A4)->value, 0);
    assert_int_equal(processor_msr(0x1320)->value, 0);
}

/* What worked at first may not later: the read-back decides. */
static void test_the_read_back_decides(void **state)
{
    (void)state;
    uint32_t off = 0;
    processor_msr(0x1A4)->value = 0;
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    assert_int_equal(prefetchers_try(&prefetchers, &saves), OK);
    processor_msr(0x1A4)->fixed = 1;
    assert_int_equal(prefetchers_switch_off(&prefetchers, &saves, UINT32_MAX, &off), FAULTED);
    assert_int_equal(off, 0x1E);
    processor_msr(0x1A4)->absent = true;
    assert_int_equal(prefetchers_read(&prefetchers, &off), FAULTED);
    assert_int_equal(prefetchers_switch_off(&prefetchers, &saves, 1, &off), FAULTED);
}

/* A trial that cannot be put back at once is on the list for the end. */
static uint64_t lock_when_set(void *self, uint32_t number, uint64_t stored, uint64_t written)
{
    (void)self;
    processor_msr(number)->read_only = written != stored;
    return written;
}

static void test_a_trial_that_sticks(void **state)
{
    (void)state;
    const struct hooks hooks = { .write_msr = lock_when_set };
    processor_set_hooks(&hooks);
    processor_msr(0x1A4)->value = 0;
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    assert_int_equal(prefetchers_try(&prefetchers, &saves), FAULTED);
    assert_int_equal(saves.count, 1);
    assert_int_equal(saves.save[0].msr, 0x1A4);
    assert_int_equal(saves.save[0].found, 0);
}

/* ---- who has none ------------------------------------------------------------------------------- */

static void test_processors_without_switches(void **state)
{
    (void)state;
    static const struct {
        const char *vendor;
        unsigned family, model;
        enum core_type core;
    } none[] = {
        { "GenuineIntel", 6, 0x37, CORE_UNKNOWN },    /* phones' Silvermont: it faults */
        { "GenuineIntel", 6, 0xFE, CORE_UNKNOWN },    /* not known */
        { "GenuineIntel", 15, 0x55, CORE_UNKNOWN },   /* another family's model */
        { "GenuineIntel", 6, 0x8F, CORE_EFFICIENT },  /* known below as it is */
        { "AuthenticAMD", 0x17, 0x31, CORE_UNKNOWN }, /* Zen 2: the leaf is not there */
        { "AuthenticAMD", 0x19, 0x21, CORE_UNKNOWN }, /* Vermeer: the bit is not set */
        { "CentaurHauls", 6, 0x8F, CORE_UNKNOWN },
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        (void)set_up(NULL);
        processor_cpuid(0x80000021, ANY_SUBLEAF)->eax = 0x0D;
        become(none[i].vendor, none[i].family, none[i].model, none[i].core);
        const bool has = none[i].core == CORE_EFFICIENT;
        assert_int_equal(prefetchers_find(&prefetchers, &processor), has ? OK : ABSENT);
        assert_int_equal(prefetchers.reason == NULL, has);
        assert_int_equal(prefetchers.switches, has ? 5 : 0);
        assert_non_null(prefetchers.without_switch);
        assert_int_equal(processor_count(ACCESS_RDMSR, 0x1A4), 0);
    }
}

static void test_hybrids_by_core_type(void **state)
{
    (void)state;
    become("GenuineIntel", 6, 0x97, CORE_UNKNOWN); /* efficient cores switched off: no hybrid */
    assert_int_equal(prefetchers_find(&prefetchers, &processor), OK);
    assert_string_equal(prefetchers.microarchitecture, "Golden Cove");
    processor.features = 1ull << FEATURE_HYBRID; /* which core is it? */
    assert_int_equal(prefetchers_find(&prefetchers, &processor), ABSENT);
}

static void test_hands_off_under_a_hypervisor(void **state)
{
    (void)state;
    processor_msr(0x1A4)->value = 0;
    (void)snprintf(processor.hypervisor, sizeof processor.hypervisor, "KVM");
    assert_int_equal(prefetchers_find(&prefetchers, &processor), ABSENT);
    assert_non_null(prefetchers.reason);
    assert_null(prefetchers.without_switch); /* nobody has looked */
    assert_int_equal(prefetchers_try(&prefetchers, &saves), FAULTED);
    assert_int_equal(processor_accesses(), 0);
}

static void test_recorded_processors(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *microarchitecture;
    } recorded[] = { { "genoa", "Zen 3 or 4" },
                     { "turin", "Zen 5" },
                     { "naples", "" },
                     { "sapphire_rapids", "Golden Cove" },
                     { "alder_lake_p", "Golden Cove" },
                     { "alder_lake_e", "Gracemont" },
                     { "kaby_lake", "Skylake" },
                     { "lynnfield", "Nehalem" } };
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "tests/data/cpuid/%s.txt", recorded[i].name);
        processor_reset();
        assert_true(recording_load(path, NULL));
        survey_processor(&processor);
        const bool known = recorded[i].microarchitecture[0] != '\0';
        assert_int_equal(prefetchers_find(&prefetchers, &processor), known ? OK : ABSENT);
        assert_string_equal(prefetchers.microarchitecture, recorded[i].microarchitecture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_every_microarchitecture, set_up),
        cmocka_unit_test_setup(test_order_of_restoring, set_up),
        cmocka_unit_test_setup(test_found_is_told_bit_by_bit, set_up),
        cmocka_unit_test_setup(test_no_write_without_need, set_up),
        cmocka_unit_test_setup(test_names, set_up),
        cmocka_unit_test_setup(test_register_that_is_not_there, set_up),
        cmocka_unit_test_setup(test_writes_that_are_refused, set_up),
        cmocka_unit_test_setup(test_writes_that_are_swallowed, set_up),
        cmocka_unit_test_setup(test_what_works_in_part, set_up),
        cmocka_unit_test_setup(test_the_read_back_decides, set_up),
        cmocka_unit_test_setup(test_a_trial_that_sticks, set_up),
        cmocka_unit_test_setup(test_processors_without_switches, set_up),
        cmocka_unit_test_setup(test_hybrids_by_core_type, set_up),
        cmocka_unit_test_setup(test_hands_off_under_a_hypervisor, set_up),
        cmocka_unit_test_setup(test_recorded_processors, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
