/* Memory modules from a recorded SMBIOS table, from tables made up after those of real boards, and
 * from bytes of any kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "hw/dimms.h"
#include "tests/fakes/hex_file.h"
#include "tests/fakes/smbios_made.h"

enum { MOST_TABLE = 2048, DEVICE_BYTES = 0x5c, ARRAY_BYTES = 0x0f, SYSTEM_MEMORY = 3, FLASH = 5 };

static struct memory_facts memory;

static int tear_down(void **state)
{
    struct smbios_made *made = *state;
    smbios_made_clear(made);
    free(made);
    return 0;
}

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct smbios_made));
    return *state == NULL ? -1 : 0;
}

static void put(uint8_t *at, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        at[i] = (uint8_t)(value >> i * 8);
    }
}

/* The handle of the structure that is added next (tests/fakes/smbios_made.c gives it). */
static unsigned add_array(struct smbios_made *made, unsigned use, unsigned correction)
{
    unsigned handle = (unsigned)made->size;
    const uint8_t fields[ARRAY_BYTES - 4] = { 3, (uint8_t)use, (uint8_t)correction };
    smbios_made_add(made, 16, ARRAY_BYTES, fields, "");
    return handle;
}

struct device {
    unsigned array;
    const char *strings; /* socket, bank, maker, part */
    unsigned total, data, size;
    uint32_t extended_size;
    unsigned kind, form, speed, configured, ranks;
    uint32_t extended_speed, extended_configured;
};

/* Numbers the four strings at their places; one that is empty has no number and is no string. */
static void number_strings(const struct device *device, uint8_t *whole, char *strings)
{
    static const size_t places[] = { 0x10, 0x11, 0x17, 0x1a };
    const char *at = device->strings;
    uint8_t number = 0;
    strings[0] = '\0';
    for (size_t i = 0; i < 4 && *at != '\0'; i++) {
        size_t length = strcspn(at, "\n") + 1;
        if (length > 1) {
            whole[places[i]] = ++number;
            strncat(strings, at, length);
        }
        at += length;
    }
}

static void add_device(struct smbios_made *made, const struct device *device)
{
    uint8_t whole[DEVICE_BYTES] = { 0 };
    char strings[256];
    number_strings(device, whole, strings);
    put(whole + 0x04, device->array, 2);
    put(whole + 0x08, device->total, 2);
    put(whole + 0x0a, device->data, 2);
    put(whole + 0x0c, device->size, 2);
    put(whole + 0x0e, device->form, 1);
    put(whole + 0x12, device->kind, 1);
    put(whole + 0x15, device->speed, 2);
    put(whole + 0x1b, device->ranks, 1);
    put(whole + 0x1c, device->extended_size, 4);
    put(whole + 0x20, device->configured, 2);
    put(whole + 0x54, device->extended_speed, 4);
    put(whole + 0x58, device->extended_configured, 4);
    smbios_made_add(made, 17, DEVICE_BYTES, whole + 4, strings);
}

/* 64 GiB of DDR5 with ten chips for error correction. */
static struct device server_module(unsigned array, const char *strings)
{
    return (struct device){ .array = array,
                            .strings = strings,
                            .total = 80,
                            .data = 64,
                            .size = 0x7fff,
                            .extended_size = 65536,
                            .kind = 0x22,
                            .form = 9,
                            .speed = 5600,
                            .configured = 4800,
                            .ranks = 2 };
}

static void survey(const struct smbios_made *made, uint64_t memory_bytes)
{
    struct smbios smbios = smbios_made_over(made);
    survey_dimms(&smbios, memory_bytes, &memory);
}

/* ---- what is listed ---- */

static void recorded_table_is_read(void **state)
{
    struct smbios_made *made = *state;
    uint8_t bytes[MOST_TABLE];
    size_t size = hex_file_load("tests/data/firmware/q35_smbios.hex", bytes, sizeof(bytes));
    smbios_made_append(made, bytes, size);
    survey(made, 32ULL * MIB);
    assert_null(memory.reason);
    assert_int_equal(memory.dimms, 1);
    assert_int_equal(memory.populated, 1);
    assert_int_equal(memory.dimm[0].bytes, 32ULL * MIB);
    assert_string_equal(memory.dimm[0].socket, "DIMM 0");
    assert_string_equal(memory.dimm[0].maker, "QEMU");
    assert_string_equal(memory.dimm[0].kind, "RAM");
    assert_string_equal(memory.dimm[0].form, "DIMM");
    assert_int_equal(memory.dimm[0].correction, ECC_MULTI_BIT);
    assert_int_equal(memory.dimm[0].rated, 0);
    assert_int_equal(memory.dimm[0].total_bits, 0);
    assert_int_equal(memory.channels, 0); /* "DIMM 0" tells none */
}

static void server_module_is_read(void **state)
{
    struct device device =
        server_module(add_array(*state, SYSTEM_MEMORY, 6), "DIMM 0\nP0 CHANNEL A\nMaker\nM321\n");
    add_device(*state, &device);
    survey(*state, 64ULL * GIB);
    const struct dimm *dimm = &memory.dimm[0];
    assert_null(memory.reason);
    assert_int_equal(dimm->bytes, 64ULL * GIB);
    assert_string_equal(dimm->kind, "DDR5");
    assert_string_equal(dimm->bank, "P0 CHANNEL A");
    assert_string_equal(dimm->maker, "Maker");
    assert_string_equal(dimm->part, "M321");
    assert_int_equal(dimm->rated, 5600);
    assert_int_equal(dimm->configured, 4800);
    assert_int_equal(dimm->data_bits, 64);
    assert_int_equal(dimm->total_bits, 80);
    assert_int_equal(dimm->ranks, 2);
    assert_int_equal(dimm->channel, 1);
    assert_int_equal(memory.channels, 1);
}

static void sizes_in_all_units(void **state)
{
    struct device device = server_module(add_array(*state, SYSTEM_MEMORY, 3), "A\n\n\n\n");
    const struct {
        unsigned size;
        uint32_t extended;
        uint64_t bytes;
        bool told;
    } sizes[] = { { 16384, 0, 16ULL * GIB, true },
                  { 0x8000 | 512, 0, 512ULL * KIB, true },
                  { 0x7fff, 262144, 256ULL * GIB, true },
                  { 0x7fff, 0x80000000, 0, true }, /* the highest bit is not the size's */
                  { 0xffff, 0, 0, false },
                  { 0, 5, 0, true } };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        device.size = sizes[i].size;
        device.extended_size = sizes[i].extended;
        add_device(*state, &device);
    }
    survey(*state, 0);
    assert_int_equal(memory.dimms, 6);
    assert_int_equal(memory.populated, 4);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(memory.dimm[i].bytes, sizes[i].bytes);
        assert_int_equal(memory.dimm[i].size_told, sizes[i].told);
    }
}

/* Firmware leaves the last module's facts, or a text, in sockets that are empty. */
static void empty_socket_holds_nothing(void **state)
{
    struct device device =
        server_module(add_array(*state, SYSTEM_MEMORY, 6), "DIMM_A2\nBANK 1\nNO DIMM\nNO DIMM\n");
    device.size = 0;
    add_device(*state, &device);
    survey(*state, 0);
    assert_int_equal(memory.dimms, 1);
    assert_int_equal(memory.populated, 0);
    assert_string_equal(memory.dimm[0].socket, "DIMM_A2");
    assert_null(memory.dimm[0].kind);
    assert_int_equal(memory.dimm[0].rated, 0);
    assert_string_equal(memory.dimm[0].maker, "");
}

static void fields_that_make_no_sense_are_dropped(void **state)
{
    struct device device =
        server_module(add_array(*state, SYSTEM_MEMORY, 2), "X\n\nUnknown\n0000\n");
    device.data = 0xffff;
    device.total = 0xffff;
    device.kind = 2;
    device.form = 0xee;
    device.speed = 0xffff;
    device.extended_speed = 200000;
    device.configured = 0xffff;
    device.extended_configured = 70000;
    add_device(*state, &device);
    device.data = 72; /* wider than all of it */
    device.total = 64;
    add_device(*state, &device);
    survey(*state, 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct dimm *dimm = &memory.dimm[i];
        assert_int_equal(dimm->data_bits | dimm->total_bits, 0);
        assert_null(dimm->kind);
        assert_null(dimm->form);
        assert_int_equal(dimm->rated, 0);
        assert_int_equal(dimm->configured, 70000);
        assert_string_equal(dimm->maker, "");
        assert_string_equal(dimm->part, "");
        assert_int_equal(dimm->correction, ECC_NOT_TOLD);
    }
}

/* The flash of the firmware is a memory device, too. */
static void only_system_memory_counts(void **state)
{
    struct device device = server_module(add_array(*state, FLASH, 3), "SYSTEM ROM\n\n\n\n");
    add_device(*state, &device);
    device = server_module(add_array(*state, SYSTEM_MEMORY, 5), "A\n\n\n\n");
    add_device(*state, &device);
    device = server_module(0xfffe, "B\n\n\n\n"); /* of no array that there is */
    add_device(*state, &device);
    survey(*state, 0);
    assert_int_equal(memory.dimms, 2);
    assert_string_equal(memory.dimm[0].socket, "A");
    assert_int_equal(memory.dimm[0].correction, ECC_SINGLE_BIT);
    assert_int_equal(memory.dimm[1].correction, ECC_NOT_TOLD);
}

/* Version 2.1's type 17 ends before speeds, makers and extended sizes. */
static void short_structure_has_what_it_has(void **state)
{
    uint8_t fields[0x15 - 4] = { 0 };
    put(&fields[0x0c - 4], 512, 2);
    put(&fields[0x10 - 4], 1, 1);
    put(&fields[0x12 - 4], 0x0f, 1);
    smbios_made_add(*state, 17, 0x15, fields, "DIMM1\n");
    survey(*state, 512ULL * MIB);
    assert_null(memory.reason);
    assert_int_equal(memory.dimm[0].bytes, 512ULL * MIB);
    assert_string_equal(memory.dimm[0].kind, "SDRAM");
    assert_int_equal(memory.dimm[0].rated, 0);
    assert_int_equal(memory.dimm[0].ranks, 0);
}

/* ---- channels ---- */

/* Sockets of an array, each "socket\nbank\n"; those with a star before are empty. */
static void add_sockets(struct smbios_made *made, unsigned array, const char *const *name,
                        size_t names)
{
    for (size_t i = 0; i < names; i++) {
        bool empty = name[i][0] == '*';
        struct device device = server_module(array, name[i] + empty);
        device.size = empty ? 0 : device.size;
        add_device(made, &device);
    }
}

static void channels_are_told_by_names(void **state)
{
    static const struct {
        const char *name[4];
        unsigned channels, populated;
    } boards[] = {
        { { "DIMM 0\nP0 CHANNEL A\n", "*DIMM 1\nP0 CHANNEL A\n", "*DIMM 0\nP0 CHANNEL B\n",
            "DIMM 0\nP1 CHANNEL A\n" },
          3,
          2 },
        { { "ChannelA-DIMM0\nBANK 0\n", "ChannelA-DIMM1\nBANK 1\n", "ChannelB-DIMM0\nBANK 2\n",
            "*ChannelB-DIMM1\nBANK 3\n" },
          2,
          2 },
        { { "P1-DIMMA1\nP0_Node0_Channel0_Dimm0\n", "P1-DIMMB1\nP0_Node0_Channel1_Dimm0\n",
            "P2-DIMMA1\nP1_Node0_Channel0_Dimm0\n", "*P2-DIMMB1\nP1_Node0_Channel1_Dimm0\n" },
          4,
          3 },
        { { "CPU1_DIMM_A1\nNODE 1\n", "CPU1_DIMM_A2\nNODE 1\n", "*CPU1_DIMM_B1\nNODE 1\n",
            "CPU2_DIMM_A1\nNODE 2\n" },
          3,
          2 },
        { { "DIMM_P0_A0\nBANK 0\n", "DIMM_P0_B0\nBANK 1\n", "DIMM_P1_A0\nBANK 2\n",
            "DIMM_P1_B1\nBANK 3\n" },
          4,
          4 },
        { { "DIMM_A1\nBANK 0\n", "*DIMM_A2\nBANK 1\n", "DIMM_B1\nBANK 2\n", "*DIMM_B2\nBANK 3\n" },
          2,
          2 },
        /* "A1" is a processor's letter on some boards and a channel's on others; numbers tell none. */
        { { "A1\nNot Specified\n", "A2\nNot Specified\n", "B1\nNot Specified\n", "B2\n\n" }, 0, 0 },
        { { "PROC 1 DIMM 1\n\n", "PROC 1 DIMM 2\n\n", "PROC 1 DIMM 3\n\n", "PROC 1 DIMM 4\n\n" },
          0,
          0 },
        { { "DIMM Slot1\n\n", "DIMM\n\n", "DIMM12\n\n", "Channel\n\n" }, 0, 0 },
        /* One that does not tell spoils the count. */
        { { "DIMM_A1\n\n", "DIMM_B1\n\n", "Onboard\n\n", "DIMM_C1\n\n" }, 0, 0 },
    };
    struct smbios_made *made = *state;
    for (size_t i = 0; i < sizeof(boards) / sizeof(boards[0]); i++) {
        smbios_made_clear(made);
        add_sockets(made, add_array(made, SYSTEM_MEMORY, 6), boards[i].name, 4);
        survey(made, 0);
        assert_int_equal(memory.channels, boards[i].channels);
        assert_int_equal(memory.channels_populated, boards[i].populated);
        assert_int_equal(memory.dimm[0].channel, boards[i].channels != 0 ? 1 : 0);
    }
}

/* Two processors whose sockets have the same names have an array each. */
static void same_name_in_another_array_is_another_channel(void **state)
{
    static const char *const name[] = { "DIMM_A1\n\n", "DIMM_B1\n\n" };
    add_sockets(*state, add_array(*state, SYSTEM_MEMORY, 6), name, 2);
    add_sockets(*state, add_array(*state, SYSTEM_MEMORY, 6), name, 2);
    survey(*state, 0);
    assert_int_equal(memory.channels, 4);
    assert_int_equal(memory.dimm[2].channel, 3);
}

/* ---- what is odd ---- */

static void no_tables_and_no_memory_have_their_reasons(void **state)
{
    static const uint8_t one[] = { 1 };
    survey(*state, GIB);
    assert_int_equal(memory.dimms, 0);
    assert_string_equal(memory.reason, "the firmware has no SMBIOS tables");
    smbios_made_add(*state, 1, 5, one, "Maker\n");
    survey(*state, GIB);
    assert_string_equal(memory.reason, "the firmware's SMBIOS tables list no memory");
}

static void list_that_is_too_short_says_so(void **state)
{
    struct device device = server_module(add_array(*state, SYSTEM_MEMORY, 6), "A\n\n\n\n");
    add_device(*state, &device);
    survey(*state, 64ULL * GIB);
    assert_null(memory.reason);
    survey(*state, 64ULL * GIB + 1);
    assert_string_equal(memory.reason, "the sizes listed add up to less than the memory there is");
    assert_int_equal(memory.dimms, 1);
    device.size = 0xffff; /* may be anything */
    add_device(*state, &device);
    survey(*state, 640ULL * GIB);
    assert_null(memory.reason);
}

static void sockets_without_room_are_counted(void **state)
{
    struct device device = server_module(add_array(*state, SYSTEM_MEMORY, 6), "DIMM_A1\n\n\n\n");
    for (unsigned i = 0; i < MACHINE_DIMMS + 3; i++) {
        add_device(*state, &device);
    }
    survey(*state, 0);
    assert_int_equal(memory.dimms, MACHINE_DIMMS);
    assert_int_equal(memory.lost, 3);
    assert_string_equal(memory.reason, "the firmware lists more sockets than there is room for");
}

/* ---- foreign bytes ---- */

static uint32_t random_state = 1;

static uint32_t random_number(uint32_t below)
{
    random_state = random_state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(random_state >> 8) * below >> 24);
}

static void assert_sane(void)
{
    assert_true(memory.dimms <= MACHINE_DIMMS && memory.populated <= memory.dimms);
    assert_true(memory.channels <= memory.dimms && memory.channels_populated <= memory.channels);
    for (unsigned i = 0; i < memory.dimms; i++) {
        const struct dimm *dimm = &memory.dimm[i];
        assert_non_null(memchr(dimm->socket, '\0', sizeof(dimm->socket)));
        assert_non_null(memchr(dimm->part, '\0', sizeof(dimm->part)));
        assert_true(dimm->rated <= 100000 && dimm->configured <= 100000);
        assert_true(dimm->data_bits <= dimm->total_bits && dimm->channel <= memory.channels);
        assert_true(dimm->correction < ERROR_CORRECTIONS);
    }
}

static void any_bytes_are_survived(void **state)
{
    static const char *const name[] = { "P0_DIMM_A1\nP0 CHANNEL A\nM\nP\n",
                                        "*P0_DIMM_B1\nP0 CHANNEL B\nM\nP\n", "ChannelC\n\nM\nP\n" };
    struct smbios_made *made = *state;
    add_sockets(made, add_array(made, SYSTEM_MEMORY, 6), name, 3);
    const size_t size = made->size;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    memcpy(bytes, made->data, size);
    unsigned found = 0;
    for (unsigned round = 0; round < 20000; round++) {
        memcpy(made->data, bytes, size);
        for (uint32_t changes = 1 + random_number(8); changes > 0; changes--) {
            static const uint8_t nasty[] = { 0, 1, 16, 17, 127, 255 };
            made->data[random_number((uint32_t)size)] =
                random_number(2) == 0 ? nasty[random_number(6)] : (uint8_t)random_number(256);
        }
        survey(made, GIB);
        assert_sane();
        found += memory.dimms;
    }
    assert_true(found > 20000 && found < 60000);
    for (size_t length = 1; length < size; length++) {
        smbios_made_clear(made);
        smbios_made_append(made, bytes, length);
        survey(made, GIB);
        assert_sane();
    }
    free(bytes);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(recorded_table_is_read),
        TEST(server_module_is_read),
        TEST(sizes_in_all_units),
        TEST(empty_socket_holds_nothing),
        TEST(fields_that_make_no_sense_are_dropped),
        TEST(only_system_memory_counts),
        TEST(short_structure_has_what_it_has),
        TEST(channels_are_told_by_names),
        TEST(same_name_in_another_array_is_another_channel),
        TEST(no_tables_and_no_memory_have_their_reasons),
        TEST(list_that_is_too_short_says_so),
        TEST(sockets_without_room_are_counted),
        TEST(any_bytes_are_survived),
    };
    return cmocka_run_group_tests_name("dimms", tests, NULL, NULL);
}
