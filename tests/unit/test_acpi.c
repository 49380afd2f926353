/* ACPI tables in a small world of memory blocks: the parser may read these and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hw/acpi.h"
#include "tests/fakes/hex_file.h"

#define RECORDED "tests/data/firmware/"

enum { BLOCKS = 16, LOW_BYTES = 1 << 16, SPCR_BYTES = 88, MOST_TABLE = 512 };

/* Each block is an allocation of its own, so that reading past it is seen; those that a 32-bit
 * pointer must reach lie in one mapping below 2 GiB. */
static struct {
    struct {
        uint8_t *data;
        size_t size; /* that may be read */
        bool allocated;
    } block[BLOCKS];
    size_t blocks;
    uint8_t *low;
    size_t low_used;
    size_t questions; /* asked of `readable` */
} world;

static bool readable(void *self, uint64_t address, uint64_t bytes)
{
    (void)self;
    world.questions++;
    for (size_t i = 0; i < world.blocks; i++) {
        uint64_t start = (uintptr_t)world.block[i].data;
        if (address >= start && address - start <= world.block[i].size &&
            bytes <= world.block[i].size - (address - start)) {
            return true;
        }
    }
    return false;
}

static uint8_t *add_block(size_t size, bool low)
{
    uint8_t *data = low ? world.low + world.low_used : calloc(1, size);
    assert_true(world.blocks < BLOCKS);
    assert_non_null(data);
    if (low) {
        world.low_used += size + 64; /* a gap that may not be read */
        assert_true(world.low_used < LOW_BYTES);
    }
    world.block[world.blocks].data = data;
    world.block[world.blocks].size = size;
    world.block[world.blocks].allocated = !low;
    world.blocks++;
    return data;
}

static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    world.low = mmap(NULL, LOW_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    return world.low == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < world.blocks; i++) {
        if (world.block[i].allocated) {
            free(world.block[i].data);
        }
    }
    return munmap(world.low, LOW_BYTES);
}

static void put(uint8_t *at, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        at[i] = (uint8_t)(value >> i * 8);
    }
}

/* Makes size bytes add up to zero by the one at `where`. */
static void fix_sum(uint8_t *bytes, size_t size, size_t where)
{
    uint8_t sum = 0;
    bytes[where] = 0;
    for (size_t i = 0; i < size; i++) {
        sum = (uint8_t)(sum + bytes[i]);
    }
    bytes[where] = (uint8_t)(256 - sum);
}

static uint8_t *add_table(const char *signature, size_t size, bool low)
{
    uint8_t *table = add_block(size, low);
    for (size_t i = 0; i < 4; i++) {
        table[i] = (uint8_t)signature[i];
    }
    put(table + 4, size, 4);
    fix_sum(table, size, 9);
    return table;
}

static void finish(uint8_t *table)
{
    size_t size = table[4] | (size_t)table[5] << 8;
    fix_sum(table, size, 9);
}

/* Root pointer and root tables over the given tables; version 1 has no XSDT. */
static struct acpi make_root(unsigned version, uint8_t *const *tables, size_t count)
{
    bool is_new = version >= 2;
    size_t pointer = is_new ? 8 : 4;
    uint8_t *root = add_table(is_new ? "XSDT" : "RSDT", 36 + count * pointer, !is_new);
    uint8_t *rsdp = add_block(is_new ? 36 : 20, false);
    for (size_t i = 0; i < count; i++) {
        put(root + 36 + i * pointer, (uintptr_t)tables[i], pointer);
    }
    finish(root);
    put(rsdp, 0x2052545020445352, 8); /* "RSD PTR " */
    rsdp[15] = is_new ? 2 : 0;
    put(rsdp + (is_new ? 24 : 16), (uintptr_t)root, pointer);
    fix_sum(rsdp, 20, 8);
    if (is_new) {
        put(rsdp + 20, 36, 4);
        fix_sum(rsdp, 36, 32);
    }
    return (struct acpi){ .rsdp = (uintptr_t)rsdp, .readable = readable };
}

static struct acpi make_world(unsigned version, uint8_t *table)
{
    return make_root(version, &table, 1);
}

static uint8_t *add_recorded(const char *path, bool low)
{
    uint8_t bytes[MOST_TABLE];
    size_t size = hex_file_load(path, bytes, sizeof(bytes));
    uint8_t *table = add_block(size, low);
    memcpy(table, bytes, size);
    return table;
}

/* ---- finding tables ---- */

static void tables_are_found_by_either_root(void **state)
{
    const unsigned *version = *state;
    bool low = *version < 2;
    uint8_t *tables[] = { add_table("AAAA", 40, low), add_table("BBBB", 50, low),
                          add_table("AAAA", 60, low) };
    struct acpi acpi = make_root(*version, tables, 3);
    struct bytes found;
    assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), OK);
    assert_ptr_equal(found.data, tables[0]);
    assert_int_equal(found.size, 40);
    assert_int_equal(acpi_find(&acpi, "AAAA", 1, &found), OK);
    assert_int_equal(found.size, 60);
    assert_int_equal(acpi_find(&acpi, "AAAA", 2, &found), ABSENT);
    assert_int_equal(acpi_find(&acpi, "BBBB", 0, &found), OK);
    assert_int_equal(acpi_find(&acpi, "CCCC", 0, &found), ABSENT);
}

static void no_root_pointer_is_absent(void **state)
{
    (void)state;
    struct bytes found;
    struct acpi acpi = { .readable = readable };
    assert_int_equal(acpi_find(&acpi, "FACP", 0, &found), ABSENT);
    assert_int_equal(world.questions, 0);
    acpi.rsdp = 0x1000; /* not mapped here */
    assert_int_equal(acpi_find(&acpi, "FACP", 0, &found), ABSENT);
    acpi.rsdp = UINT64_MAX - 8;
    acpi.readable = NULL;
    assert_int_equal(acpi_find(&acpi, "FACP", 0, &found), ABSENT);
}

static void everything_is_readable_unless_somebody_objects(void **state)
{
    (void)state;
    struct bytes found;
    struct acpi acpi = make_world(2, add_table("AAAA", 40, false));
    acpi.readable = NULL;
    assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), OK);
}

static void wrong_sums_are_not_believed(void **state)
{
    (void)state;
    struct bytes found;
    uint8_t *table = add_table("AAAA", 40, false);
    struct acpi acpi = make_world(2, table);
    uint8_t *rsdp = (uint8_t *)(uintptr_t)acpi.rsdp;
    uint8_t *root = world.block[1].data;
    assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), OK);
    uint8_t *const bytes[] = { &table[39], &root[30], &rsdp[10], &rsdp[33] };
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        ++*bytes[i];
        assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), ABSENT);
        --*bytes[i];
        assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), OK);
    }
}

static void wrong_sum_of_an_old_root_pointer(void **state)
{
    (void)state;
    struct bytes found;
    struct acpi acpi = make_world(1, add_table("AAAA", 40, true));
    uint8_t *rsdp = (uint8_t *)(uintptr_t)acpi.rsdp;
    assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), OK);
    rsdp[10]++;
    assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), ABSENT);
}

static void broken_new_root_falls_back_to_the_old_one(void **state)
{
    (void)state;
    struct bytes found;
    uint8_t *table = add_table("AAAA", 40, true);
    struct acpi old = make_world(1, table);
    uint32_t rsdt =
        (uint32_t)bytes_number(&(struct bytes){ (uint8_t *)(uintptr_t)old.rsdp, 20 }, 16, 4);
    struct acpi acpi = make_world(2, table);
    uint8_t *rsdp = (uint8_t *)(uintptr_t)acpi.rsdp;
    put(rsdp + 16, rsdt, 4);
    put(rsdp + 24, 0x1000, 8);
    fix_sum(rsdp, 20, 8);
    fix_sum(rsdp, 36, 32);
    assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), OK);
}

/* Lengths from nothing to the largest: none may be read past what there is. */
static void foreign_lengths_are_bounded(void **state)
{
    (void)state;
    static const uint32_t lengths[] = { 0,  1,  4,    8,          35,         37,
                                        41, 64, 4096, 0x01000001, 0x7fffffff, UINT32_MAX };
    struct bytes found;
    uint8_t *table = add_table("AAAA", 40, false);
    struct acpi acpi = make_world(2, table);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        put(table + 4, lengths[i], 4);
        assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), ABSENT);
    }
    put(table + 4, 40, 4);
    assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), OK);
}

/* Entries that point at the root itself, at each other, at nothing, and half an entry at the end. */
static void loops_and_wild_pointers_end(void **state)
{
    (void)state;
    struct bytes found;
    uint8_t *tables[5] = { 0 };
    struct acpi acpi = make_root(2, tables, 5);
    uint8_t *root = world.block[0].data;
    put(root + 36, (uintptr_t)root, 8);
    put(root + 44, (uintptr_t)acpi.rsdp, 8);
    put(root + 52, UINT64_MAX, 8);
    put(root + 60, (uintptr_t)root + 20, 8);
    put(root + 4, 36 + 4 * 8 + 5, 4);
    world.block[0].size = 36 + 4 * 8 + 5;
    finish(root);
    assert_int_equal(acpi_find(&acpi, "AAAA", 0, &found), ABSENT);
    assert_int_equal(acpi_find(&acpi, "XSDT", 0, &found), OK);
    assert_int_equal(acpi_find(&acpi, "XSDT", 1, &found), ABSENT);
}

/* ---- timers ---- */

static void recorded_timers_are_found(void **state)
{
    (void)state;
    uint8_t *tables[] = { add_recorded(RECORDED "q35_facp.hex", true),
                          add_recorded(RECORDED "q35_hpet.hex", true) };
    struct acpi acpi = make_root(1, tables, 2);
    struct pm_timer timer;
    uint64_t hpet;
    assert_int_equal(acpi_pm_timer(&acpi, &timer), OK);
    assert_int_equal(timer.address, 0x608);
    assert_int_equal(timer.bits, 24);
    assert_false(timer.in_memory);
    assert_int_equal(acpi_hpet(&acpi, &hpet), OK);
    assert_int_equal(hpet, 0xfed00000);
}

/* A FADT whose extended block is as given. */
static struct acpi make_fadt(uint8_t **fadt, unsigned space, uint64_t address)
{
    *fadt = add_table("FACP", 276, false);
    put(*fadt + 76, 0x1808, 4);
    put(*fadt + 91, 4, 1);
    put(*fadt + 112, 1U << 8, 4);
    put(*fadt + 208, space, 1);
    put(*fadt + 209, 32, 1);
    put(*fadt + 212, address, 8);
    finish(*fadt);
    return make_world(2, *fadt);
}

static void extended_block_wins(void **state)
{
    (void)state;
    uint8_t *fadt;
    struct pm_timer timer;
    struct acpi acpi = make_fadt(&fadt, 0, 0xfed80808);
    assert_int_equal(acpi_pm_timer(&acpi, &timer), OK);
    assert_true(timer.in_memory);
    assert_int_equal(timer.address, 0xfed80808);
    assert_int_equal(timer.bits, 32);
    put(fadt + 212, 0, 8);
    finish(fadt);
    assert_int_equal(acpi_pm_timer(&acpi, &timer), OK);
    assert_false(timer.in_memory);
    assert_int_equal(timer.address, 0x1808);
}

static void timers_out_of_reach_are_absent(void **state)
{
    (void)state;
    static const struct {
        uint8_t space;
        uint64_t address;
    } cases[] = { { 1, 0x10000 }, { 0, 1ULL << 32 }, { 2, 0x608 }, { 0x7f, 0x608 } };
    uint8_t *fadt;
    struct pm_timer timer;
    struct acpi acpi = make_fadt(&fadt, 1, 0x608);
    assert_int_equal(acpi_pm_timer(&acpi, &timer), OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put(fadt + 208, cases[i].space, 1);
        put(fadt + 212, cases[i].address, 8);
        finish(fadt);
        assert_int_equal(acpi_pm_timer(&acpi, &timer), ABSENT);
        assert_int_equal(timer.bits, 0);
    }
}

static void reduced_hardware_has_no_timer(void **state)
{
    (void)state;
    uint8_t *fadt;
    struct pm_timer timer;
    struct acpi acpi = make_fadt(&fadt, 1, 0x608);
    put(fadt + 112, 1U << 20 | 1U << 8, 4);
    finish(fadt);
    assert_int_equal(acpi_pm_timer(&acpi, &timer), ABSENT);
    put(fadt + 112, 0, 4);
    put(fadt + 91, 0, 1);
    put(fadt + 212, 0, 8);
    finish(fadt);
    assert_int_equal(acpi_pm_timer(&acpi, &timer), ABSENT);
}

/* ACPI 1.0's FADT ends before the extended block. */
static void short_fadt_still_has_its_timer(void **state)
{
    (void)state;
    struct pm_timer timer;
    uint8_t *fadt = add_table("FACP", 116, false);
    put(fadt + 76, 0x408, 4);
    put(fadt + 91, 4, 1);
    finish(fadt);
    struct acpi acpi = make_world(2, fadt);
    assert_int_equal(acpi_pm_timer(&acpi, &timer), OK);
    assert_int_equal(timer.address, 0x408);
    assert_int_equal(timer.bits, 24);
}

static void hpet_in_ports_or_high_memory_is_absent(void **state)
{
    (void)state;
    uint64_t address;
    uint8_t *table = add_recorded(RECORDED "q35_hpet.hex", false);
    struct acpi acpi = make_world(2, table);
    assert_int_equal(acpi_hpet(&acpi, &address), OK);
    table[40] = 1;
    finish(table);
    assert_int_equal(acpi_hpet(&acpi, &address), ABSENT);
    table[40] = 0;
    put(table + 44, 1ULL << 33, 8);
    finish(table);
    assert_int_equal(acpi_hpet(&acpi, &address), ABSENT);
    assert_int_equal(address, 0);
}

/* ---- the console's UART ---- */

/* Space, width of a register, access size, address; then kind, baud code and revision. */
static struct acpi make_spcr(uint8_t **spcr, unsigned space, unsigned bits, unsigned access,
                             uint64_t address)
{
    *spcr = add_table("SPCR", SPCR_BYTES, false);
    (*spcr)[8] = 2;
    (*spcr)[40] = (uint8_t)space;
    (*spcr)[41] = (uint8_t)bits;
    (*spcr)[43] = (uint8_t)access;
    put(*spcr + 44, address, 8);
    (*spcr)[58] = 7;
    put(*spcr + 76, 48000000, 4);
    put(*spcr + 80, 1500000, 4);
    finish(*spcr);
    return make_world(2, *spcr);
}

static void uart_at_a_port(void **state)
{
    (void)state;
    uint8_t *spcr;
    struct uart_place place;
    struct acpi acpi = make_spcr(&spcr, 1, 8, 0, 0x3f8);
    assert_int_equal(acpi_uart(&acpi, &place), OK);
    assert_int_equal(place.address, 0x3f8);
    assert_false(place.in_memory);
    assert_int_equal(place.access, 1);
    assert_int_equal(place.stride, 1);
    assert_int_equal(place.baud, 115200);
    assert_int_equal(place.clock_hz, 0); /* revision 2 has no such field */
}

static void uart_in_memory_by_words(void **state)
{
    (void)state;
    uint8_t *spcr;
    struct uart_place place;
    struct acpi acpi = make_spcr(&spcr, 0, 32, 3, 0xfedc9000);
    assert_int_equal(acpi_uart(&acpi, &place), OK);
    assert_true(place.in_memory);
    assert_int_equal(place.address, 0xfedc9000);
    assert_int_equal(place.access, 4);
    assert_int_equal(place.stride, 4);
    spcr[41] = 8;
    spcr[43] = 1;
    finish(spcr);
    assert_int_equal(acpi_uart(&acpi, &place), OK);
    assert_int_equal(place.access, 1);
    assert_int_equal(place.stride, 1);
    spcr[41] = 32; /* bytes in registers four apart */
    finish(spcr);
    assert_int_equal(acpi_uart(&acpi, &place), OK);
    assert_int_equal(place.access, 1);
    assert_int_equal(place.stride, 4);
}

static void precise_baud_needs_revision_4(void **state)
{
    (void)state;
    static const struct {
        uint8_t revision, code;
        unsigned baud, clock_hz;
    } cases[] = {
        { 1, 3, 9600, 0 },
        { 2, 4, 19200, 0 },
        { 2, 6, 57600, 0 },
        { 2, 0, 0, 0 },
        { 2, 5, 0, 0 },
        { 2, 255, 0, 0 },
        { 3, 7, 115200, 48000000 },
        { 4, 7, 1500000, 48000000 },
    };
    uint8_t *spcr;
    struct uart_place place;
    struct acpi acpi = make_spcr(&spcr, 1, 8, 0, 0x2f8);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        spcr[8] = cases[i].revision;
        spcr[58] = cases[i].code;
        finish(spcr);
        assert_int_equal(acpi_uart(&acpi, &place), OK);
        assert_int_equal(place.baud, cases[i].baud);
        assert_int_equal(place.clock_hz, cases[i].clock_hz);
    }
}

static void other_kinds_of_uart_are_absent(void **state)
{
    (void)state;
    static const struct {
        uint8_t kind;
        enum status status;
    } cases[] = {
        { 0, OK }, { 1, OK }, { 0x12, OK }, { 2, ABSENT }, { 3, ABSENT }, { 255, ABSENT }
    };
    uint8_t *spcr;
    struct uart_place place;
    struct acpi acpi = make_spcr(&spcr, 1, 8, 0, 0x2f8);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        spcr[36] = cases[i].kind;
        finish(spcr);
        assert_int_equal(acpi_uart(&acpi, &place), cases[i].status);
    }
    spcr[36] = 0;
    put(spcr + 44, 0, 8); /* "console redirection disabled" */
    finish(spcr);
    assert_int_equal(acpi_uart(&acpi, &place), ABSENT);
    assert_int_equal(place.address, 0);
}

/* ---- foreign bytes ---- */

static uint32_t random_state = 1;

static uint32_t random_number(uint32_t below)
{
    random_state = random_state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(random_state >> 8) * below >> 24);
}

static void change_something(void)
{
    size_t block = random_number((uint32_t)world.blocks);
    uint8_t *data = world.block[block].data;
    size_t size = world.block[block].size;
    data[random_number((uint32_t)size)] = (uint8_t)random_number(256);
    if (random_number(4) != 0) { /* usually with sums that are right, to get further */
        fix_sum(data,
                size < 20                     ? size
                : memcmp(data, "RSD", 3) == 0 ? 20
                                              : size,
                memcmp(data, "RSD", 3) == 0 ? 8 : 9);
    }
}

/* Whatever the bytes are: nothing outside is read (the sanitizer and `readable` see to it), and
 * what is found lies inside. */
static void any_bytes_are_survived(void **state)
{
    (void)state;
    uint8_t *spcr;
    uint8_t *fadt;
    (void)make_spcr(&spcr, 1, 8, 0, 0x3f8);
    (void)make_fadt(&fadt, 1, 0x608);
    uint8_t *tables[] = { spcr, fadt, add_recorded(RECORDED "q35_hpet.hex", false) };
    struct acpi acpi = make_root(2, tables, 3);
    static uint8_t saved[BLOCKS][MOST_TABLE];
    for (size_t i = 0; i < world.blocks; i++) {
        memcpy(saved[i], world.block[i].data, world.block[i].size);
    }
    unsigned found = 0;
    for (unsigned round = 0; round < 20000; round++) {
        for (size_t i = 0; i < world.blocks; i++) {
            memcpy(world.block[i].data, saved[i], world.block[i].size);
        }
        for (uint32_t changes = random_number(4); changes > 0; changes--) {
            change_something();
        }
        struct pm_timer timer;
        struct uart_place place;
        uint64_t hpet;
        struct bytes table;
        found += acpi_pm_timer(&acpi, &timer) == OK;
        found += acpi_uart(&acpi, &place) == OK;
        found += acpi_hpet(&acpi, &hpet) == OK;
        found += acpi_find(&acpi, "SPCR", 0, &table) == OK;
        assert_true(place.stride <= 32 && place.access <= 4);
    }
    assert_true(found > 20000 && found < 80000);
}

int main(void)
{
    static unsigned versions[] = { 1, 2 };
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        { "tables_are_found_by_rsdt", tables_are_found_by_either_root, set_up, tear_down,
          &versions[0] },
        { "tables_are_found_by_xsdt", tables_are_found_by_either_root, set_up, tear_down,
          &versions[1] },
        TEST(no_root_pointer_is_absent),
        TEST(everything_is_readable_unless_somebody_objects),
        TEST(wrong_sums_are_not_believed),
        TEST(wrong_sum_of_an_old_root_pointer),
        TEST(broken_new_root_falls_back_to_the_old_one),
        TEST(foreign_lengths_are_bounded),
        TEST(loops_and_wild_pointers_end),
        TEST(recorded_timers_are_found),
        TEST(extended_block_wins),
        TEST(timers_out_of_reach_are_absent),
        TEST(reduced_hardware_has_no_timer),
        TEST(short_fadt_still_has_its_timer),
        TEST(hpet_in_ports_or_high_memory_is_absent),
        TEST(uart_at_a_port),
        TEST(uart_in_memory_by_words),
        TEST(precise_baud_needs_revision_4),
        TEST(other_kinds_of_uart_are_absent),
        TEST(any_bytes_are_survived),
    };
    return cmocka_run_group_tests_name("acpi", tests, NULL, NULL);
}
