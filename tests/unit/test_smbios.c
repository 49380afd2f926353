/* SMBIOS: a recorded table, tables made up, and bytes of any kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw/smbios.h"
#include "tests/fakes/hex_file.h"
#include "tests/fakes/smbios_made.h"

enum { MOST_TABLE = 2048 };

/* ---- tables ---- */

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

/* Types 0, 1 and 2 with these strings: version, date and maker of the firmware; maker, product and
 * serial number of the system; maker and product of the board. */
static struct smbios make_board(struct smbios_made *made, const char *bios, const char *system,
                                const char *board)
{
    static const uint8_t of_bios[] = { 1, 2, 0, 0xe8, 3 };
    static const uint8_t of_system[] = { 1, 2, 0, 3 };
    static const uint8_t of_board[] = { 1, 2 };
    smbios_made_add(made, 0, 9, of_bios, bios);
    smbios_made_add(made, 1, 8, of_system, system);
    smbios_made_add(made, 2, 6, of_board, board);
    return smbios_made_over(made);
}

/* ---- entry points ---- */

static void fix_sum(uint8_t *bytes, size_t size, size_t where)
{
    uint8_t sum = 0;
    bytes[where] = 0;
    for (size_t i = 0; i < size; i++) {
        sum = (uint8_t)(sum + bytes[i]);
    }
    bytes[where] = (uint8_t)(256 - sum);
}

static void put(uint8_t *at, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        at[i] = (uint8_t)(value >> i * 8);
    }
}

static void make_new_entry(uint8_t entry[SMBIOS_ENTRY_BYTES], uint64_t address, uint32_t size)
{
    memset(entry, 0, SMBIOS_ENTRY_BYTES);
    put(entry, 0x5f334d535f, 5); /* "_SM3_" */
    entry[6] = 24;
    entry[7] = 3;
    put(entry + 12, size, 4);
    put(entry + 16, address, 8);
    fix_sum(entry, 24, 5);
}

static void make_old_entry(uint8_t entry[SMBIOS_ENTRY_BYTES], uint8_t length, uint32_t address,
                           uint16_t size)
{
    memset(entry, 0, SMBIOS_ENTRY_BYTES);
    put(entry, 0x5f4d535f, 4); /* "_SM_" */
    entry[5] = length;
    put(entry + 16, 0x5f494d445f, 5); /* "_DMI_" */
    put(entry + 22, size, 2);
    put(entry + 24, address, 4);
    fix_sum(entry, length, 4);
}

static void both_entry_points_lead_to_the_table(void **state)
{
    (void)state;
    uint8_t entry[SMBIOS_ENTRY_BYTES];
    struct smbios smbios;
    make_new_entry(entry, 0x123456789000, 5000);
    assert_int_equal(smbios_open(&smbios, entry), OK);
    assert_int_equal((uintptr_t)smbios.table.data, 0x123456789000);
    assert_int_equal(smbios.table.size, 5000);
    make_old_entry(entry, 31, 0x7eadf000, 0xfff0);
    assert_int_equal(smbios_open(&smbios, entry), OK);
    assert_int_equal((uintptr_t)smbios.table.data, 0x7eadf000);
    assert_int_equal(smbios.table.size, 0xfff0);
    make_old_entry(entry, 30, 0x7eadf000, 100); /* version 2.1's own mistake */
    assert_int_equal(smbios_open(&smbios, entry), OK);
}

static void broken_entry_points_are_absent(void **state)
{
    (void)state;
    uint8_t entry[SMBIOS_ENTRY_BYTES];
    struct smbios smbios;
    struct board board;
    assert_int_equal(smbios_open(&smbios, NULL), ABSENT);
    make_new_entry(entry, 0x1000, 100);
    entry[20]++;
    assert_int_equal(smbios_open(&smbios, entry), ABSENT);
    static const uint8_t lengths[] = { 0, 1, 23, 33, 255 };
    for (size_t i = 0; i < sizeof(lengths); i++) {
        make_new_entry(entry, 0x1000, 100);
        entry[6] = lengths[i];
        fix_sum(entry, lengths[i] < 8 || lengths[i] > 32 ? 24 : lengths[i], 5);
        assert_int_equal(smbios_open(&smbios, entry), ABSENT);
    }
    make_new_entry(entry, 0, 100);
    assert_int_equal(smbios_open(&smbios, entry), ABSENT);
    make_new_entry(entry, 0x1000, 0);
    assert_int_equal(smbios_open(&smbios, entry), ABSENT);
    memset(entry, 0, sizeof(entry));
    assert_int_equal(smbios_open(&smbios, entry), ABSENT);
    /* Nothing was found, and asking for it is safe. */
    smbios_board(&smbios, &board);
    assert_string_equal(board.product, "");
    assert_null(smbios_oem_string(&smbios, 0));
}

/* ---- texts ---- */

static void recorded_table_is_read(void **state)
{
    struct smbios_made *made = *state;
    uint8_t bytes[MOST_TABLE];
    struct board board;
    smbios_made_append(made, bytes,
                       hex_file_load("tests/data/firmware/q35_smbios.hex", bytes, sizeof(bytes)));
    struct smbios smbios = smbios_made_over(made);
    smbios_board(&smbios, &board);
    assert_string_equal(board.bios_vendor, "SeaBIOS");
    assert_string_equal(board.bios_version, "1.16.2-debian-1.16.2-1");
    assert_string_equal(board.bios_date, "04/01/2014");
    assert_string_equal(board.vendor, "Acme");
    assert_string_equal(board.product, "Box 9000");
    assert_string_equal(board.serial, "SN-1234");
    assert_string_equal(board.board_vendor, "");
    assert_string_equal(smbios_oem_string(&smbios, 0), "ironchase:suite=smoke");
    assert_string_equal(smbios_oem_string(&smbios, 1), "hello");
    assert_null(smbios_oem_string(&smbios, 2));
}

static void texts_are_cleaned(void **state)
{
    struct board board;
    struct smbios smbios =
        make_board(*state, "  American\tMegatrends \xae Inc.  \nF.1\n", "A\n   \n\x01\x7f\n",
                   "0123456789012345678901234567890123456789012345678901234567890123456789\nX1\n");
    smbios_board(&smbios, &board);
    assert_string_equal(board.bios_vendor, "AmericanMegatrends  Inc.");
    assert_string_equal(board.bios_version, "F.1");
    assert_string_equal(board.bios_date, "");
    assert_string_equal(board.vendor, "A");
    assert_string_equal(board.product, "");
    assert_string_equal(board.serial, "");
    assert_string_equal(board.board_vendor, ""); /* a placeholder, if a long one */
    assert_string_equal(board.board_product, "X1");
}

static void long_texts_are_cut(void **state)
{
    struct board board;
    char wanted[MACHINE_TEXT];
    char given[201];
    memset(given, 'a', 199);
    given[0] = 'b';
    given[199] = '\n';
    given[200] = '\0';
    memcpy(wanted, given, MACHINE_TEXT - 1);
    wanted[MACHINE_TEXT - 1] = '\0';
    struct smbios smbios = make_board(*state, "", given, "");
    smbios_board(&smbios, &board);
    assert_string_equal(board.vendor, wanted);
}

static void placeholders_are_dropped(void **state)
{
    static const char *const texts[] = {
        "To be filled by O.E.M.",
        "To Be Filled By O.E.M. by More String",
        "Default string",
        "System manufacturer",
        "System Serial Number",
        "Not Specified",
        "None",
        "N/A",
        "UNKNOWN",
        "0000000000",
        "xxxxxxxx",
        "........",
        "-",
        "0123456789",
    };
    struct smbios_made *made = *state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct board board;
        char strings[128];
        (void)snprintf(strings, sizeof(strings), "%s\nNonesuch 0000\n77\n", texts[i]);
        made->size = 0;
        struct smbios smbios = make_board(made, "", strings, "");
        smbios_board(&smbios, &board);
        assert_string_equal(board.vendor, "");
        assert_string_equal(board.product, "Nonesuch 0000");
        assert_string_equal(board.serial, "77");
    }
}

/* Blades and some servers have several boards; the first may say nothing. */
static void first_sane_structure_wins(void **state)
{
    static const uint8_t fields[] = { 1, 2 };
    struct board board;
    smbios_made_add(*state, 2, 6, fields, "Default string\nNode\n");
    smbios_made_add(*state, 2, 6, fields, "Maker\nRiser\n");
    struct smbios smbios = smbios_made_over(*state);
    smbios_board(&smbios, &board);
    assert_string_equal(board.board_vendor, "Maker");
    assert_string_equal(board.board_product, "Node");
}

static void numbers_without_a_string_are_nothing(void **state)
{
    static const uint8_t fields[] = { 3, 255, 0, 2 };
    struct board board;
    smbios_made_add(*state, 1, 8, fields, "one\ntwo\n");
    struct smbios smbios = smbios_made_over(*state);
    smbios_board(&smbios, &board);
    assert_string_equal(board.vendor, "");
    assert_string_equal(board.product, "");
    assert_string_equal(board.serial, "two");
}

/* Version 2.0's type 1 has no more than this. */
static void short_structures_have_what_they_have(void **state)
{
    static const uint8_t fields[] = { 1 };
    struct board board;
    smbios_made_add(*state, 1, 5, fields, "Maker\nProduct\nSerial\n");
    struct smbios smbios = smbios_made_over(*state);
    smbios_board(&smbios, &board);
    assert_string_equal(board.vendor, "Maker");
    assert_string_equal(board.product, "");
    assert_string_equal(board.serial, "");
}

/* ---- settings by type 11 ---- */

static void oem_strings_are_counted_through(void **state)
{
    static const uint8_t two[] = { 2 };
    static const uint8_t one[] = { 1 };
    smbios_made_add(*state, 11, 5, two, "a=1\nb=2\n");
    smbios_made_add(*state, 1, 5, one, "not this\n");
    smbios_made_add(*state, 11, 5, one, "");
    smbios_made_add(*state, 11, 5, one, "c=3\n");
    struct smbios smbios = smbios_made_over(*state);
    assert_string_equal(smbios_oem_string(&smbios, 0), "a=1");
    assert_string_equal(smbios_oem_string(&smbios, 1), "b=2");
    assert_string_equal(smbios_oem_string(&smbios, 2), "c=3");
    assert_null(smbios_oem_string(&smbios, 3));
    assert_null(smbios_oem_string(&smbios, SIZE_MAX));
}

static void nothing_counts_after_the_end(void **state)
{
    static const uint8_t one[] = { 1 };
    smbios_made_add(*state, 127, 5, one, "");
    smbios_made_add(*state, 11, 5, one, "late=1\n");
    struct smbios smbios = smbios_made_over(*state);
    assert_null(smbios_oem_string(&smbios, 0));
}

/* ---- foreign bytes ---- */

static void use_everything(const struct smbios *smbios)
{
    struct board board;
    size_t characters = 0;
    smbios_board(smbios, &board);
    for (size_t i = 0; smbios_oem_string(smbios, i) != NULL; i++) {
        characters += strlen(smbios_oem_string(smbios, i));
        assert_true(i < smbios->table.size);
    }
    assert_true(characters <= smbios->table.size);
    assert_non_null(memchr(board.product, '\0', sizeof(board.product)));
}

static void every_truncation_is_survived(void **state)
{
    struct smbios_made *made = *state;
    uint8_t bytes[MOST_TABLE];
    size_t size = hex_file_load("tests/data/firmware/q35_smbios.hex", bytes, sizeof(bytes));
    for (size_t length = 1; length < size; length++) {
        smbios_made_clear(made);
        smbios_made_append(made, bytes, length);
        struct smbios smbios = smbios_made_over(made);
        use_everything(&smbios);
    }
}

static uint32_t random_state = 1;

static uint32_t random_number(uint32_t below)
{
    random_state = random_state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(random_state >> 8) * below >> 24);
}

static void any_bytes_are_survived(void **state)
{
    struct smbios_made *made = *state;
    uint8_t bytes[MOST_TABLE];
    size_t size = hex_file_load("tests/data/firmware/q35_smbios.hex", bytes, sizeof(bytes));
    smbios_made_append(made, bytes, size);
    struct smbios smbios = smbios_made_over(made);
    for (unsigned round = 0; round < 20000; round++) {
        memcpy(made->data, bytes, size);
        for (uint32_t changes = 1 + random_number(8); changes > 0; changes--) {
            static const uint8_t nasty[] = { 0, 1, 4, 11, 127, 255 };
            made->data[random_number((uint32_t)size)] =
                random_number(2) == 0 ? nasty[random_number(6)] : (uint8_t)random_number(256);
        }
        use_everything(&smbios);
    }
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_entry_points_lead_to_the_table),
        cmocka_unit_test(broken_entry_points_are_absent),
        TEST(recorded_table_is_read),
        TEST(texts_are_cleaned),
        TEST(long_texts_are_cut),
        TEST(placeholders_are_dropped),
        TEST(first_sane_structure_wins),
        TEST(numbers_without_a_string_are_nothing),
        TEST(short_structures_have_what_they_have),
        TEST(oem_strings_are_counted_through),
        TEST(nothing_counts_after_the_end),
        TEST(every_truncation_is_survived),
        TEST(any_bytes_are_survived),
    };
    return cmocka_run_group_tests_name("smbios", tests, NULL, NULL);
}
