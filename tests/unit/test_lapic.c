/* The local APIC in both of its forms: what is read, and that nothing but LINT0 is ever written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hw/lapic.h"
#include "tests/fakes/processor.h"

#include <string.h>

#define BASE UINT64_C(0xFEC12000) /* not the usual place, so that nobody assumes it */

static uint32_t registers[1024];
static struct lapic lapic;

static uint64_t read_register(void *self, uint64_t offset, unsigned bits)
{
    (void)self;
    assert_int_equal(bits, 32);
    assert_int_equal(offset % 16, 0);
    return registers[offset / 4];
}

static void write_register(void *self, uint64_t offset, unsigned bits, uint64_t value)
{
    (void)self;
    assert_int_equal(bits, 32);
    assert_int_equal(offset, 0x350);
    registers[offset / 4] = (uint32_t)value;
}

static void script(uint64_t apic_base, unsigned entries)
{
    static const struct device device = {
        .first = BASE, .last = BASE + 0xFFF, .read = read_register, .write = write_register
    };
    processor_reset();
    memset(registers, 0, sizeof registers);
    *processor_cpuid(0, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 1 };
    *processor_cpuid(1, ANY_SUBLEAF) = (struct cpuid_regs){ .edx = 1U << 9 };
    processor_msr(0x1B)->value = apic_base;
    registers[0x030 / 4] = (entries - 1) << 16 | 0x15;
    for (unsigned i = 0; i < 8; i++) {
        registers[0x200 / 4 + 4 * i] = 1U << i;
    }
    registers[0x2F0 / 4] = 0xC;
    registers[0x320 / 4] = 0x20020;
    registers[0x330 / 4] = 0x10200;
    registers[0x340 / 4] = 0x400;
    registers[0x350 / 4] = 0x700;
    registers[0x360 / 4] = 0x401;
    registers[0x370 / 4] = 0xFE;
    if ((apic_base & 0xC00) == 0xC00) {
        for (uint32_t offset = 0; offset < 0x400; offset += 16) {
            processor_msr(0x800 + offset / 16)->value = registers[offset / 4];
        }
    } else {
        processor_add_memory(&device);
    }
    memset(&lapic, 0xFF, sizeof lapic);
    lapic_find(&lapic);
}

static void test_modes(void **state)
{
    (void)state;
    script(BASE | 0x900, 7);
    assert_int_equal(lapic.mode, LAPIC_MEMORY);
    assert_int_equal(lapic.base, BASE);
    assert_int_equal(lapic.entries, 7);
    script(BASE | 0xD00, 7);
    assert_int_equal(lapic.mode, LAPIC_MSRS);
    assert_int_equal(lapic.entries, 7);
    script(BASE | 0x100, 7);
    assert_int_equal(lapic.mode, LAPIC_ABSENT);
    script(BASE | 0x500, 7); /* a combination the manual calls invalid */
    assert_int_equal(lapic.mode, LAPIC_ABSENT);
    script(BASE | 0x900, 60); /* more than are known here */
    assert_int_equal(lapic.entries, LAPIC_ENTRIES);
}

static void test_no_apic(void **state)
{
    (void)state;
    uint32_t words[LAPIC_BITMAP_WORDS], entries[LAPIC_ENTRIES];
    processor_reset();
    *processor_cpuid(0, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 1 };
    *processor_cpuid(1, ANY_SUBLEAF) = (struct cpuid_regs){ 0 };
    lapic_find(&lapic);
    assert_int_equal(lapic.mode, LAPIC_ABSENT);
    processor_clear_log();
    lapic_hold(&lapic);
    lapic_requests(&lapic, words);
    lapic_read_entries(&lapic, entries);
    lapic_release(&lapic);
    assert_int_equal(processor_accesses(), 0);
    for (unsigned i = 0; i < LAPIC_BITMAP_WORDS; i++) {
        assert_int_equal(words[i], 0);
    }
}

static const uint64_t both[] = { BASE | 0x900, BASE | 0xD00 };

static void test_entries(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t entry[LAPIC_ENTRIES];
        script(both[i], 7);
        lapic_read_entries(&lapic, entry);
        assert_int_equal(entry[LAPIC_TIMER], 0x20020);
        assert_int_equal(entry[LAPIC_LINT0], 0x700);
        assert_int_equal(entry[LAPIC_LINT1], 0x401);
        assert_int_equal(entry[LAPIC_ERROR], 0xFE);
        assert_int_equal(entry[LAPIC_COUNTER], 0x400);
        assert_int_equal(entry[LAPIC_THERMAL], 0x10200);
        assert_int_equal(entry[LAPIC_CMCI], 0xC);
    }
}

/* Reading an entry that is not there is an error that the APIC remembers. */
static void test_entries_that_are_not_there(void **state)
{
    (void)state;
    uint32_t entry[LAPIC_ENTRIES];
    script(both[0], 4);
    processor_clear_log();
    lapic_read_entries(&lapic, entry);
    assert_int_equal(entry[LAPIC_COUNTER], 0);
    assert_int_equal(entry[LAPIC_CMCI], 0);
    assert_int_equal(processor_accesses(), 4);
}

static uint32_t lint0(unsigned form)
{
    return form == 0 ? registers[0x350 / 4] : (uint32_t)processor_msr(0x835)->value;
}

static unsigned writes(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < processor_accesses(); i++) {
        enum access_kind kind = processor_access(i)->kind;
        count += kind == ACCESS_WRITE || kind == ACCESS_WRMSR;
    }
    return count;
}

static void test_hold(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        script(both[i], 7);
        lapic_hold(&lapic);
        assert_int_equal(lint0(i), 0x10700);
        lapic_release(&lapic);
        assert_int_equal(lint0(i), 0x700);
        assert_int_equal(writes(), 2);
        lapic_release(&lapic); /* once is enough */
        assert_int_equal(writes(), 2);
    }
}

static void test_hold_leaves_others(void **state)
{
    (void)state;
    static const uint32_t kinds[] = { 0x000, 0x400, 0x10700, 0x8030, 0x500 };
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        script(both[0], 7);
        registers[0x350 / 4] = kinds[i];
        lapic_hold(&lapic);
        lapic_release(&lapic);
        assert_int_equal(writes(), 0);
        assert_int_equal(registers[0x350 / 4], kinds[i]);
    }
}

static void test_requests(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t words[LAPIC_BITMAP_WORDS];
        script(both[i], 7);
        lapic_requests(&lapic, words);
        for (unsigned j = 0; j < LAPIC_BITMAP_WORDS; j++) {
            assert_int_equal(words[j], 1U << j);
        }
        assert_int_equal(writes(), 0);
    }
}

static void test_new_requests(void **state)
{
    (void)state;
    const uint32_t before[LAPIC_BITMAP_WORDS] = { 1, 0, 0, 0, 0, 0, 0, 0x80000000 };
    uint32_t now[LAPIC_BITMAP_WORDS] = { 1, 0, 0, 0, 0, 0, 0, 0x80000000 };
    assert_int_equal(lapic_new_requests(before, now), 0);
    now[0] = 6; /* two came, one was delivered */
    now[7] = 0xC0000000;
    assert_int_equal(lapic_new_requests(before, now), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),    cmocka_unit_test(test_no_apic),
        cmocka_unit_test(test_entries),  cmocka_unit_test(test_entries_that_are_not_there),
        cmocka_unit_test(test_hold),     cmocka_unit_test(test_hold_leaves_others),
        cmocka_unit_test(test_requests), cmocka_unit_test(test_new_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
