/* Memory types: scripted registers, and random ones against a plain reading of the manual. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hw/mtrr.h"
#include "tests/fakes/processor.h"

#define K(n) ((uint64_t)(n) << 10)
#define M(n) ((uint64_t)(n) << 20)
#define G(n) ((uint64_t)(n) << 30)

#define CAP      0xfe
#define DEF_TYPE 0x2ff
#define PAT      0x277
#define SYSCFG   0xc0010010
#define TOP_MEM2 0xc001001d

static struct processor processor;
static struct mtrr mtrr;

static void set(uint32_t number, uint64_t value)
{
    processor_msr(number)->value = value;
}

static void set_variable(unsigned i, uint64_t base, uint64_t mask, uint8_t type)
{
    set(0x200 + 2 * i, base | type);
    set(0x201 + 2 * i, mask | 0x800);
}

/* Of a power of two bytes. */
static void set_range(unsigned i, uint64_t base, uint64_t bytes, uint8_t type)
{
    uint64_t width = (1ull << processor.physical_bits) - 1;
    set_variable(i, base, (width & ~(bytes - 1)) & ~0xfffull, type);
}

/* A processor with so many variable ranges, all off; default type given, everything enabled. */
static void script(const char *vendor, unsigned variables, uint8_t default_type)
{
    static const uint32_t fixed[] = { 0x250, 0x258, 0x259, 0x268, 0x269, 0x26a,
                                      0x26b, 0x26c, 0x26d, 0x26e, 0x26f };
    processor_reset();
    processor = (struct processor){ .family = 0x19, .model = 0x11, .physical_bits = 40 };
    (void)snprintf(processor.vendor, sizeof processor.vendor, "%s", vendor);
    processor.features = 1ull << FEATURE_MTRR | 1ull << FEATURE_PAT;
    set(CAP, 0x500 | variables);
    set(DEF_TYPE, 0xc00 | default_type);
    set(PAT, 0x0007040600070406);
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        set(fixed[i], 0x0606060606060606);
    }
    for (unsigned i = 0; i < variables; i++) {
        set(0x200 + 2 * i, 0);
        set(0x201 + 2 * i, 0);
    }
}

static void read_registers(void)
{
    const char *reason = NULL;
    assert_int_equal(mtrr_read(&mtrr, &processor, &reason), OK);
    assert_null(reason);
}

static uint8_t type_at(uint64_t address)
{
    uint64_t end = 0;
    uint8_t type = mtrr_type(&mtrr, address, &end);
    assert_true(end > address);
    return type;
}

/* ---- machines ---------------------------------------------------------------------------------- */

/* What OVMF sets on q35 with 4 GiB: default write-back, 2..4 GiB uncached, as two ranges. */
static void test_hole_below_four_gib(void **state)
{
    (void)state;
    uint8_t type = 0xee;
    script("GenuineIntel", 8, MEMORY_WRITE_BACK);
    set_range(0, G(2), G(2), MEMORY_UNCACHED);
    read_registers();
    assert_int_equal(type_at(0), MEMORY_WRITE_BACK);
    assert_int_equal(type_at(G(2) - 1), MEMORY_WRITE_BACK);
    assert_int_equal(type_at(G(2)), MEMORY_UNCACHED);
    assert_int_equal(type_at(G(4) - 1), MEMORY_UNCACHED);
    assert_int_equal(type_at(G(4)), MEMORY_WRITE_BACK);
    assert_true(mtrr_uniform(&mtrr, G(4), G(60), &type));
    assert_int_equal(type, MEMORY_WRITE_BACK);
    assert_true(mtrr_uniform(&mtrr, M(1), G(2) - M(1), &type));
    assert_false(mtrr_uniform(&mtrr, G(2) - K(4), K(8), &type));
    assert_false(mtrr_uniform(&mtrr, G(1), G(4), &type));
    assert_true(mtrr_uniform(&mtrr, G(2), G(2), &type));
    assert_int_equal(type, MEMORY_UNCACHED);
}

/* The style of servers: default uncached, write-back ranges with uncached pieces cut out of them. */
static void test_overlaps(void **state)
{
    (void)state;
    script("GenuineIntel", 10, MEMORY_UNCACHED);
    set_range(0, 0, G(4), MEMORY_WRITE_BACK);
    set_range(1, G(2), G(2), MEMORY_UNCACHED);
    set_range(2, G(4), G(4), MEMORY_WRITE_BACK);
    set_range(3, G(1), M(64), MEMORY_WRITE_THROUGH);
    set_range(4, G(4), M(2), MEMORY_WRITE_COMBINING);
    set_range(5, G(5), M(2), MEMORY_WRITE_PROTECTED);
    set_range(6, G(5), M(4), MEMORY_UNCACHED);
    set_range(7, G(16), M(1), MEMORY_WRITE_COMBINING);
    set_range(8, G(16), M(1), MEMORY_WRITE_COMBINING);
    set_variable(9, G(32), 0xff80000000, 2); /* a type that does not exist */
    read_registers();
    assert_int_equal(type_at(M(512)), MEMORY_WRITE_BACK);
    assert_int_equal(type_at(G(1)), MEMORY_WRITE_THROUGH);
    assert_int_equal(type_at(G(1) + M(64)), MEMORY_WRITE_BACK);
    assert_int_equal(type_at(G(3)), MEMORY_UNCACHED);
    assert_int_equal(type_at(G(4)), MEMORY_UNDEFINED);
    assert_int_equal(type_at(G(5)), MEMORY_UNCACHED);
    assert_int_equal(type_at(G(5) + M(4)), MEMORY_WRITE_BACK);
    assert_int_equal(type_at(G(8)), MEMORY_UNCACHED);
    assert_int_equal(type_at(G(16)), MEMORY_WRITE_COMBINING);
    assert_int_equal(type_at(G(32)), MEMORY_UNDEFINED);
}

static void test_a_large_page_over_a_boundary_is_noticed(void **state)
{
    (void)state;
    uint8_t type;
    script("GenuineIntel", 2, MEMORY_WRITE_BACK);
    set_range(0, M(1023), M(1), MEMORY_UNCACHED);
    read_registers();
    assert_false(mtrr_uniform(&mtrr, 0, G(1), &type));
    assert_false(mtrr_uniform(&mtrr, M(1022), M(2), &type));
    assert_true(mtrr_uniform(&mtrr, M(1020), M(2), &type));
    assert_true(mtrr_uniform(&mtrr, G(1), G(1), &type));
}

static void test_first_megabyte(void **state)
{
    (void)state;
    uint64_t end = 0;
    script("GenuineIntel", 1, MEMORY_UNCACHED);
    set_range(0, 0, G(1), MEMORY_WRITE_BACK);
    set(0x259, 0);                  /* A0000..BFFFF: the frame buffer */
    set(0x26a, 0x0505050505050500); /* D0000: uncached; D1000..: write-protected */
    set(0x250, 0x0406060606060606); /* 70000: write-through */
    read_registers();
    assert_int_equal(type_at(0), MEMORY_WRITE_BACK);
    assert_int_equal(mtrr_type(&mtrr, 0x70123, &end), MEMORY_WRITE_THROUGH);
    assert_int_equal(end, 0x80000);
    assert_int_equal(mtrr_type(&mtrr, 0x80123, &end), MEMORY_WRITE_BACK);
    assert_int_equal(end, 0x84000);
    assert_int_equal(mtrr_type(&mtrr, 0xa0000, &end), MEMORY_UNCACHED);
    assert_int_equal(end, 0xa4000);
    assert_int_equal(type_at(0xbffff), MEMORY_UNCACHED);
    assert_int_equal(mtrr_type(&mtrr, 0xc0000, &end), MEMORY_WRITE_BACK);
    assert_int_equal(end, 0xc1000);
    assert_int_equal(type_at(0xd0fff), MEMORY_UNCACHED);
    assert_int_equal(mtrr_type(&mtrr, 0xd1000, &end), MEMORY_WRITE_PROTECTED);
    assert_int_equal(end, 0xd2000);
    assert_int_equal(mtrr_type(&mtrr, M(1), &end), MEMORY_WRITE_BACK);
    assert_int_equal(end, G(1));

    /* Fixed ranges off: the variable ones hold there too. */
    set(DEF_TYPE, 0x800);
    read_registers();
    assert_int_equal(type_at(0xa0000), MEMORY_WRITE_BACK);

    /* The processor has none, whatever the enable bit says. */
    set(CAP, 0x001);
    set(DEF_TYPE, 0xc00);
    read_registers();
    assert_int_equal(type_at(0xa0000), MEMORY_WRITE_BACK);
}

/* With default uncached, memory above 4 GiB is write-back up to TOP_MEM2, if SYSCFG says so. */
static void test_top_mem2(void **state)
{
    (void)state;
    static const struct {
        const char *vendor;
        uint64_t syscfg;
        unsigned family;
        uint8_t above;
    } machine[] = {
        { "AuthenticAMD", 0x600000, 0x19, MEMORY_WRITE_BACK },
        { "AuthenticAMD", 0x200000, 0x19, MEMORY_UNCACHED },
        { "AuthenticAMD", 0x400000, 0x19, MEMORY_UNCACHED },
        { "HygonGenuine", 0x600000, 0x18, MEMORY_WRITE_BACK },
        { "GenuineIntel", 0x600000, 0x06, MEMORY_UNCACHED },
    };
    for (size_t i = 0; i < sizeof machine / sizeof machine[0]; i++) {
        uint64_t end = 0;
        script(machine[i].vendor, 8, MEMORY_UNCACHED);
        processor.family = machine[i].family;
        set_range(0, 0, G(2), MEMORY_WRITE_BACK);
        set_range(1, G(8), G(1), MEMORY_UNCACHED);
        set(SYSCFG, machine[i].syscfg);
        set(TOP_MEM2, G(64) | 0x7fffff);
        processor_clear_log();
        read_registers();
        assert_int_equal(type_at(G(4) - 1), MEMORY_UNCACHED);
        assert_int_equal(type_at(G(4)), machine[i].above);
        assert_int_equal(type_at(G(64) - 1), machine[i].above);
        assert_int_equal(type_at(G(64)), MEMORY_UNCACHED);
        assert_int_equal(type_at(G(8)), MEMORY_UNCACHED); /* a range that is set wins */
        (void)mtrr_type(&mtrr, G(3), &end);
        assert_true(end <= G(4) || machine[i].above == MEMORY_UNCACHED);
        (void)mtrr_type(&mtrr, G(9), &end);
        assert_true(end <= G(64) || machine[i].above == MEMORY_UNCACHED);
        /* The register belongs to AMD and its kin. */
        bool theirs = strcmp(machine[i].vendor, "GenuineIntel") != 0;
        assert_int_equal(processor_count(ACCESS_RDMSR, SYSCFG) > 0, theirs);
    }
}

/* Firmware that knew only 36 address bits: on a wider processor the range comes again and again. */
static void test_mask_narrower_than_the_processor(void **state)
{
    (void)state;
    uint64_t end = 0;
    script("GenuineIntel", 1, MEMORY_WRITE_BACK);
    set_variable(0, G(2), 0xf80000000, MEMORY_UNCACHED);
    read_registers();
    assert_int_equal(type_at(G(2)), MEMORY_UNCACHED);
    assert_int_equal(mtrr_type(&mtrr, G(2), &end), MEMORY_UNCACHED);
    assert_int_equal(end, G(4));
    assert_int_equal(type_at(G(64) + G(2)), MEMORY_UNCACHED);
    assert_int_equal(type_at(G(64) + G(4)), MEMORY_WRITE_BACK);
}

/* Runs are as long as can be: the arena of a large machine is looked through run by run. */
static void test_runs_are_long(void **state)
{
    (void)state;
    uint64_t end = 0;
    script("GenuineIntel", 1, MEMORY_WRITE_BACK);
    set_variable(0, G(2), 0xfffff80000000, MEMORY_UNCACHED); /* bits no processor here has */
    read_registers();
    assert_int_equal(mtrr_type(&mtrr, M(1), &end), MEMORY_WRITE_BACK);
    assert_int_equal(end, G(2));
    assert_int_equal(mtrr_type(&mtrr, G(3), &end), MEMORY_UNCACHED);
    assert_int_equal(end, G(4));
    assert_int_equal(mtrr_type(&mtrr, G(4), &end), MEMORY_WRITE_BACK);
    assert_int_equal(end, UINT64_MAX);
}

static void test_mask_of_nothing_holds_all(void **state)
{
    (void)state;
    uint64_t end = 0;
    script("GenuineIntel", 1, MEMORY_UNCACHED);
    set_variable(0, 0, 0, MEMORY_WRITE_BACK);
    read_registers();
    assert_int_equal(mtrr_type(&mtrr, G(77), &end), MEMORY_WRITE_BACK);
    assert_int_equal(end, UINT64_MAX);
}

/* A processor that claims more ranges than there are register numbers for. */
static void test_more_ranges_than_numbers(void **state)
{
    (void)state;
    script("GenuineIntel", MTRR_VARIABLES, MEMORY_WRITE_BACK);
    for (unsigned i = 0; i < MTRR_VARIABLES; i++) {
        set_range(i, G(i), M(2), MEMORY_UNCACHED);
    }
    set(CAP, 0x4ff);
    set(DEF_TYPE, 0x806);
    read_registers();
    assert_int_equal(mtrr.variables, MTRR_VARIABLES);
    assert_int_equal(type_at(G(39)), MEMORY_UNCACHED);
}

static void test_switched_off(void **state)
{
    (void)state;
    uint8_t type;
    script("GenuineIntel", 1, MEMORY_WRITE_BACK);
    set_range(0, 0, G(2), MEMORY_WRITE_BACK);
    set(DEF_TYPE, 0x406);
    read_registers();
    assert_true(mtrr_uniform(&mtrr, 0, G(512), &type));
    assert_int_equal(type, MEMORY_UNCACHED);

    processor.features = 0;
    processor_clear_log();
    read_registers();
    assert_true(mtrr_uniform(&mtrr, 0, G(512), &type));
    assert_int_equal(type, MEMORY_WRITE_BACK);
    assert_int_equal(processor_accesses(), 0);
    assert_int_equal(mtrr.pat[0], MEMORY_WRITE_BACK); /* what holds without the register */
    assert_int_equal(mtrr.pat[3], MEMORY_UNCACHED);
}

static void test_page_attribute_table(void **state)
{
    (void)state;
    script("GenuineIntel", 1, MEMORY_WRITE_BACK);
    set(PAT, 0x0706050401000604);
    read_registers();
    static const uint8_t expected[PAT_ENTRIES] = { 4, 6, 0, 1, 4, 5, 6, 7 };
    assert_memory_equal(mtrr.pat, expected, sizeof expected);
}

static void test_refused_registers(void **state)
{
    (void)state;
    static const uint32_t needed[] = { CAP, DEF_TYPE, PAT, 0x200, 0x203, 0x250, 0x26f };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        const char *reason = NULL;
        script("GenuineIntel", 2, MEMORY_WRITE_BACK);
        processor_msr(needed[i])->absent = true;
        assert_int_equal(mtrr_read(&mtrr, &processor, &reason), FAULTED);
        assert_non_null(reason);
    }
}

/* ---- random registers --------------------------------------------------------------------------- */

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (*state >> 24) % limit;
}

/* SDM vol. 3A, 12.11.4.1, as it is written, for one address above 1 MiB. */
static uint8_t expected_type(uint64_t address, unsigned variables, uint8_t default_type)
{
    bool seen[256] = { false };
    unsigned kinds = 0;
    uint8_t any = default_type;
    for (unsigned i = 0; i < variables; i++) {
        uint64_t base = processor_msr(0x200 + 2 * i)->value;
        uint64_t mask = processor_msr(0x201 + 2 * i)->value;
        uint64_t bits = mask & ((1ull << processor.physical_bits) - 1) & ~0xfffull;
        if ((mask & 0x800) != 0 && (address & bits) == (base & bits)) {
            any = (uint8_t)base;
            kinds += seen[any] ? 0 : 1;
            seen[any] = true;
        }
    }
    if (kinds <= 1) {
        return any;
    }
    if (seen[MEMORY_UNCACHED]) {
        return MEMORY_UNCACHED;
    }
    bool through = kinds == 2 && seen[MEMORY_WRITE_THROUGH] && seen[MEMORY_WRITE_BACK];
    return through ? MEMORY_WRITE_THROUGH : MEMORY_UNDEFINED;
}

static void test_random_registers(void **state)
{
    (void)state;
    static const uint8_t types[] = { 0, 1, 4, 5, 6, 6, 6, 0 };
    uint64_t random = 11;
    for (unsigned round = 0; round < 300; round++) {
        const unsigned variables = (unsigned)random_below(&random, 11);
        const uint8_t default_type = random_below(&random, 2) != 0 ? 6 : 0;
        script("GenuineIntel", variables, default_type);
        for (unsigned i = 0; i < variables; i++) {
            const uint64_t bytes = K(4) << random_below(&random, 22);
            const uint64_t base = random_below(&random, G(32)) / bytes * bytes;
            set_range(i, base, bytes, types[random_below(&random, sizeof types)]);
            /* Off, or with holes in the mask, now and then. */
            if (random_below(&random, 8) == 0) {
                processor_msr(0x201 + 2 * i)->value &= ~0x800ull;
            } else if (random_below(&random, 8) == 0) {
                processor_msr(0x201 + 2 * i)->value &= ~(K(64) << random_below(&random, 18));
            }
        }
        read_registers();
        for (unsigned i = 0; i < 200; i++) {
            const uint64_t at = M(1) + random_below(&random, G(40)) / K(4) * K(4);
            uint64_t end = 0;
            const uint8_t type = mtrr_type(&mtrr, at, &end);
            assert_int_equal(type, expected_type(at, variables, default_type));
            assert_true(end > at);
            const uint64_t reach = (end < G(64) ? end : G(64)) - at;
            for (unsigned k = 0; k < 20; k++) {
                const uint64_t inside = at + random_below(&random, reach) / K(4) * K(4);
                assert_int_equal(expected_type(inside, variables, default_type), type);
            }
            assert_int_equal(expected_type(at + (reach - 1) / K(4) * K(4), variables, default_type),
                             type);
        }
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(memory_type_name(MEMORY_WRITE_BACK), "write-back");
    assert_string_equal(memory_type_name(MEMORY_UNCACHED), "uncached");
    assert_string_equal(memory_type_name(3), "undefined");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hole_below_four_gib),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_a_large_page_over_a_boundary_is_noticed),
        cmocka_unit_test(test_first_megabyte),
        cmocka_unit_test(test_top_mem2),
        cmocka_unit_test(test_mask_narrower_than_the_processor),
        cmocka_unit_test(test_runs_are_long),
        cmocka_unit_test(test_mask_of_nothing_holds_all),
        cmocka_unit_test(test_more_ranges_than_numbers),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_page_attribute_table),
        cmocka_unit_test(test_refused_registers),
        cmocka_unit_test(test_random_registers),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
