/* Counting SMIs where a known model counts them, and freezing the counters meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hw/smi.h"
#include "tests/fakes/processor.h"

#include <stdio.h>
#include <string.h>

static struct processor processor;
static struct msr_saves saves;

static void become(const char *vendor, unsigned family, unsigned model)
{
    processor = (struct processor){ .family = family, .model = model };
    (void)snprintf(processor.vendor, sizeof processor.vendor, "%s", vendor);
}

static int set_up(void **state)
{
    (void)state;
    processor_reset();
    *processor_cpuid(0, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 7 };
    *processor_cpuid(1, ANY_SUBLEAF) = (struct cpuid_regs){ .ecx = 1U << 15 };
    become("GenuineIntel", 6, 0x8F);
    memset(&saves, 0, sizeof saves);
    return 0;
}

static void test_who_counts(void **state)
{
    (void)state;
    static const struct {
        const char *vendor;
        unsigned family, model;
        bool counts;
    } parts[] = {
        { "GenuineIntel", 6, 0x1A, true },   { "GenuineIntel", 6, 0x37, true },
        { "GenuineIntel", 6, 0x57, true },   { "GenuineIntel", 6, 0xAD, true },
        { "GenuineIntel", 6, 0xDD, true },   { "GenuineIntel", 6, 0x17, false },
        { "GenuineIntel", 6, 0xFE, false },  { "GenuineIntel", 15, 0x06, false },
        { "GenuineIntel", 15, 0x8F, false }, { "AuthenticAMD", 0x19, 0x11, false },
        { "AuthenticAMD", 6, 0x8F, false },
    };
    processor_msr(0x34)->value = 9;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *reason = "left from before";
        become(parts[i].vendor, parts[i].family, parts[i].model);
        processor_clear_log();
        assert_int_equal(smi_is_counted(&processor, &reason), parts[i].counts);
        assert_int_equal(reason == NULL, parts[i].counts);
        assert_int_equal(processor_accesses(), parts[i].counts ? 1 : 0); /* others: hands off */
    }
}

static void test_refused(void **state)
{
    (void)state;
    const char *reason = NULL;
    uint32_t count = 5;
    assert_false(smi_is_counted(&processor, &reason));
    assert_non_null(reason);
    assert_false(smi_count(&count));
    assert_int_equal(count, 5);
}

static void test_no_count_under_a_hypervisor(void **state)
{
    (void)state;
    const char *reason = NULL;
    processor_msr(0x34)->value = 1; /* as QEMU says */
    (void)snprintf(processor.hypervisor, sizeof processor.hypervisor, "KVM");
    assert_false(smi_is_counted(&processor, &reason));
    assert_non_null(reason);
}

static void test_count_is_of_32_bits(void **state)
{
    (void)state;
    uint32_t count = 0;
    processor_msr(0x34)->value = 0xABCD0000000F;
    assert_true(smi_count(&count));
    assert_int_equal(count, 15);
}

static void test_freezing(void **state)
{
    (void)state;
    processor_msr(0x345)->value = 0x33C5;
    processor_msr(0x1D9)->value = 2;
    assert_int_equal(smi_freeze_counters(&processor, &saves), OK);
    assert_int_equal(processor_msr(0x1D9)->value, 0x4002);
    assert_int_equal(msr_restore(&saves), 0);
    assert_int_equal(processor_msr(0x1D9)->value, 2);

    processor_msr(0x1D9)->value = 0x4000; /* found so: nothing to do */
    assert_int_equal(smi_freeze_counters(&processor, &saves), OK);
    assert_int_equal(saves.count, 0);
}

static void test_freezing_that_cannot_be_had(void **state)
{
    (void)state;
    processor_msr(0x345)->value = 0x23C5; /* bit 12 is clear */
    assert_int_equal(smi_freeze_counters(&processor, &saves), ABSENT);

    processor_msr(0x345)->value = 0x1000;
    processor_cpuid(1, ANY_SUBLEAF)->ecx = 0;
    processor_clear_log();
    assert_int_equal(smi_freeze_counters(&processor, &saves), ABSENT);
    assert_int_equal(processor_count(ACCESS_RDMSR, 0x345), 0);

    processor_cpuid(1, ANY_SUBLEAF)->ecx = 1U << 15;
    assert_int_equal(smi_freeze_counters(&processor, &saves), FAULTED); /* no 1D9h */
    *processor_msr(0x1D9) = (struct scripted_msr){ .fixed = UINT64_MAX };
    assert_int_equal(smi_freeze_counters(&processor, &saves), FAULTED); /* swallowed */
    assert_int_equal(msr_restore(&saves), 0);

    become("AuthenticAMD", 0x19, 0x11);
    assert_int_equal(smi_freeze_counters(&processor, &saves), ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_who_counts, set_up),
        cmocka_unit_test_setup(test_refused, set_up),
        cmocka_unit_test_setup(test_no_count_under_a_hypervisor, set_up),
        cmocka_unit_test_setup(test_count_is_of_32_bits, set_up),
        cmocka_unit_test_setup(test_freezing, set_up),
        cmocka_unit_test_setup(test_freezing_that_cannot_be_had, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
