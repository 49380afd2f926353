/* Which registers may be touched, and that all that was changed comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hw/msr.h"
#include "tests/fakes/processor.h"

#include <string.h>

static const struct msr_rule rules[] = {
    { 0x1A0, 0x1A4, MSR_READ | MSR_WRITE, "GenuineIntel", 6, 6, 0x8F, 0xCF },
    { 0x1B0, 0x1B0, MSR_READ, "GenuineIntel", 6, 6, 0, ~0U },
    { 0x500, 0x5FF, MSR_READ | MSR_WRITE, NULL, 0, 0, 0, 0 },
};

static struct processor processor;
static struct msr_gate gate;
static struct msr_saves saves;

static int set_up(void **state)
{
    (void)state;
    processor_reset();
    processor = (struct processor){ .vendor = "GenuineIntel", .family = 6, .model = 0x8F };
    gate = (struct msr_gate){ &processor, rules, sizeof rules / sizeof rules[0] };
    memset(&saves, 0, sizeof saves);
    return 0;
}

static const struct allowed {
    uint32_t msr;
    unsigned access;
    const char *vendor;
    unsigned family, model;
    bool allowed;
} allowed[] = {
    { 0x10, MSR_READ, "GenuineIntel", 6, 0x8F, true },
    { 0x10, MSR_WRITE, "GenuineIntel", 6, 0x8F, false },
    { 0x8B, MSR_WRITE, "GenuineIntel", 6, 0x8F, true },
    { 0x8B, MSR_WRITE, "AuthenticAMD", 0x19, 1, false },
    { 0x8B, MSR_READ, "AuthenticAMD", 0x19, 1, true },
    { 0x480, MSR_READ, "GenuineIntel", 6, 0x8F, false },
    { 0x1A0, MSR_READ, "GenuineIntel", 6, 0x8F, true },
    { 0x1A4, MSR_READ | MSR_WRITE, "GenuineIntel", 6, 0xCF, true },
    { 0x1A5, MSR_READ, "GenuineIntel", 6, 0x8F, false },
    { 0x19F, MSR_READ, "GenuineIntel", 6, 0x8F, false },
    { 0x1A0, MSR_READ, "GenuineIntel", 6, 0x8E, false },
    { 0x1A0, MSR_READ, "GenuineIntel", 6, 0xD0, false },
    { 0x1A0, MSR_READ, "GenuineIntel", 5, 0x8F, false },
    { 0x1A0, MSR_READ, "AuthenticAMD", 6, 0x8F, false },
    { 0x1B0, MSR_READ, "GenuineIntel", 6, 1, true },
    { 0x1B0, MSR_READ | MSR_WRITE, "GenuineIntel", 6, 1, false },
    { 0x500, MSR_WRITE, "CentaurHauls", 7, 0, true },
    { 0xC001001D, MSR_READ, "AuthenticAMD", 0x19, 1, true },
    { 0xC001001D, MSR_READ, "AuthenticAMD", 0x0E, 1, false },
    { 0xC001001D, MSR_READ, "HygonGenuine", 0x18, 1, true },
    { 0xC001001D, MSR_READ, "GenuineIntel", 0x19, 1, false },
};

static void test_allowed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        const struct allowed *row = &allowed[i];
        strncpy(processor.vendor, row->vendor, sizeof processor.vendor - 1);
        processor.family = row->family;
        processor.model = row->model;
        assert_int_equal(msr_allowed(&gate, row->msr, row->access), row->allowed);
    }
    assert_int_equal(processor_accesses(), 0);
}

static void test_no_table(void **state)
{
    (void)state;
    gate = (struct msr_gate){ &processor, NULL, 0 };
    assert_true(msr_allowed(&gate, 0x10, MSR_READ));
    assert_false(msr_allowed(&gate, 0x1A0, MSR_READ));
}

static void test_read(void **state)
{
    (void)state;
    uint64_t value = 77;
    processor_msr(0x1A0)->value = 5;
    assert_int_equal(msr_read(&gate, 0x1A0, &value), OK);
    assert_int_equal(value, 5);
    assert_int_equal(msr_read(&gate, 0x1A1, &value), FAULTED); /* allowed, not there */
    assert_int_equal(value, 5);
    processor_clear_log();
    assert_int_equal(msr_read(&gate, 0x999, &value), DENIED);
    assert_int_equal(processor_accesses(), 0);
}

static void test_save_and_restore(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        processor_msr(0x500 + i)->value = i;
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(msr_save_and_write(&gate, &saves, 0x500 + i, 10 + i), OK);
    }
    assert_int_equal(msr_save_and_write(&gate, &saves, 0x501, 99), OK);
    assert_int_equal(saves.count, 4);
    assert_int_equal(processor_msr(0x501)->value, 99);
    processor_clear_log();
    assert_int_equal(msr_restore(&saves), 0);
    assert_int_equal(saves.count, 0);
    assert_int_equal(processor_accesses(), 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(processor_msr(0x500 + i)->value, i);
        assert_int_equal(processor_access(i)->address, 0x503 - i); /* the latest first */
    }
    assert_int_equal(msr_restore(&saves), 0);
    assert_int_equal(processor_accesses(), 4);
}

static void test_refused_writes_leave_no_trace(void **state)
{
    (void)state;
    processor_msr(0x500)->value = 1;
    processor_msr(0x500)->reserved = 0xF0;
    processor_msr(0x501)->absent = true;
    assert_int_equal(msr_save_and_write(&gate, &saves, 0x500, 0x10), FAULTED);
    assert_int_equal(msr_save_and_write(&gate, &saves, 0x501, 0), FAULTED);
    assert_int_equal(msr_save_and_write(&gate, &saves, 0x1B0, 0), DENIED);
    assert_int_equal(msr_save_and_write(&gate, &saves, 0x10, 0), DENIED);
    assert_int_equal(saves.count, 0);
    assert_int_equal(processor_msr(0x500)->value, 1);
    /* One that was changed before keeps its place when a second write is refused. */
    assert_int_equal(msr_save_and_write(&gate, &saves, 0x500, 2), OK);
    assert_int_equal(msr_save_and_write(&gate, &saves, 0x500, 0x10), FAULTED);
    assert_int_equal(saves.count, 1);
    assert_int_equal(msr_restore(&saves), 0);
    assert_int_equal(processor_msr(0x500)->value, 1);
}

static void test_full_list(void **state)
{
    (void)state;
    for (uint32_t i = 0; i <= MSR_SAVES; i++) {
        processor_msr(0x500 + i)->value = i;
        assert_int_equal(msr_save_and_write(&gate, &saves, 0x500 + i, 1000),
                         i < MSR_SAVES ? OK : ABSENT);
    }
    assert_int_equal(processor_msr(0x500 + MSR_SAVES)->value, MSR_SAVES);
    assert_int_equal(msr_save_and_write(&gate, &saves, 0x500, 1001), OK); /* already on it */
    assert_int_equal(msr_restore(&saves), 0);
    assert_int_equal(processor_msr(0x500)->value, 0);
}

static void test_lost_registers_are_counted(void **state)
{
    (void)state;
    processor_msr(0x500)->value = 1;
    processor_msr(0x501)->value = 2;
    assert_int_equal(msr_save_and_write(&gate, &saves, 0x500, 3), OK);
    assert_int_equal(msr_save_and_write(&gate, &saves, 0x501, 3), OK);
    processor_msr(0x501)->read_only = true;
    assert_int_equal(msr_restore(&saves), 1);
    assert_int_equal(processor_msr(0x500)->value, 1); /* the others all the same */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_allowed, set_up),
        cmocka_unit_test_setup(test_no_table, set_up),
        cmocka_unit_test_setup(test_read, set_up),
        cmocka_unit_test_setup(test_save_and_restore, set_up),
        cmocka_unit_test_setup(test_refused_writes_leave_no_trace, set_up),
        cmocka_unit_test_setup(test_full_list, set_up),
        cmocka_unit_test_setup(test_lost_registers_are_counted, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
