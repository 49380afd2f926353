/* Files on the serial line: every line can be checked, none can be damaged by a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "console/serial_file.h"
#include "tests/fakes/text_sink.h"

static struct text_sink text;
static struct sink line;
static struct serial_file file;

static int start(void **state)
{
    (void)state;
    text_sink_reset(&text);
    line = text_sink_of(&text);
    file = (struct serial_file){ .line = &line, .name = "results.csv" };
    return 0;
}

static void put(const char *bytes)
{
    serial_file_write(&file, bytes, strlen(bytes));
}

/* The check value of CRC-32 that its catalogues give, and the empty text's. */
static void test_checksum_is_the_usual_one(void **state)
{
    (void)state;
    assert_int_equal(crc32_of(0, "123456789", 9), 0xCBF43926);
    assert_int_equal(crc32_of(0, "", 0), 0);
    assert_int_equal(crc32_of(crc32_of(0, "1234", 4), "56789", 5), 0xCBF43926);
}

static void test_lines(void **state)
{
    (void)state;
    serial_file_begin(&file, false);
    put("a,b\n1,");
    put("2\n");
    assert_int_equal(serial_file_end(&file), OK);
    /* Checksums worked out with zlib. */
    assert_string_equal(text.text, "@results.csv 0 5a73d93d !begin\n"
                                   "@results.csv 1 a057dfe7 :a,b\n"
                                   "@results.csv 2 2114d20d :1,2\n"
                                   "@results.csv 3 1782fdc1 !end 8 0a97077b\n");
    assert_int_equal(text.calls, 4); /* whole lines only: nothing gets between */
}

static void test_rest_is_named_so(void **state)
{
    (void)state;
    serial_file_begin(&file, true);
    assert_non_null(strstr(text.text, " !rest\n"));
}

static void test_long_line_is_cut(void **state)
{
    (void)state;
    char long_line[SERIAL_TEXT + 10];
    memset(long_line, 'x', sizeof long_line);
    serial_file_begin(&file, false);
    serial_file_write(&file, long_line, sizeof long_line);
    put("\n");
    assert_int_equal(text_sink_count(&text, " +x"), 1);
    assert_int_equal(text_sink_count(&text, " :xxxxxxxxxx\n"), 1);
    for (const char *at = text.text; *at; at += strcspn(at, "\n") + 1) {
        assert_true(strcspn(at, "\n") <= 210);
    }
}

static void test_exactly_full_line_is_one_piece(void **state)
{
    (void)state;
    char full[SERIAL_TEXT];
    memset(full, 'x', sizeof full);
    serial_file_begin(&file, false);
    serial_file_write(&file, full, sizeof full);
    put("\n");
    assert_int_equal(text_sink_count(&text, "+"), 0);
    assert_int_equal(text_sink_count(&text, "\n"), 2);
}

/* Terminals drop spaces at the end of a line. */
static void test_no_line_ends_with_a_space(void **state)
{
    (void)state;
    char spaces[3 * SERIAL_TEXT];
    for (size_t i = 0; i < sizeof spaces; i++) {
        spaces[i] = i % 5 == 0 ? 'x' : ' ';
    }
    serial_file_begin(&file, false);
    serial_file_write(&file, spaces, sizeof spaces - 4);
    put("\n");
    assert_int_equal(text_sink_count(&text, " \n"), 0);
    assert_int_equal(text_sink_count(&text, "x"), 3 * SERIAL_TEXT / 5);
}

static void test_last_line_without_newline(void **state)
{
    (void)state;
    serial_file_begin(&file, false);
    put("tail");
    assert_int_equal(serial_file_end(&file), OK);
    assert_non_null(strstr(text.text, " +tail\n"));
    assert_non_null(strstr(text.text, " !end 4 "));
}

static void test_numbers_start_again(void **state)
{
    (void)state;
    serial_file_begin(&file, false);
    put("a\n");
    assert_int_equal(serial_file_end(&file), OK);
    serial_file_begin(&file, false);
    put("a\n");
    assert_int_equal(serial_file_end(&file), OK);
    size_t half = text.used / 2;
    assert_memory_equal(text.text, text.text + half, half);
}

static void test_dead_line_is_told_at_the_end(void **state)
{
    (void)state;
    text.takes = 40;
    serial_file_begin(&file, false);
    put("abc\ndef\n");
    assert_int_equal(serial_file_end(&file), IO_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_checksum_is_the_usual_one, start),
        cmocka_unit_test_setup(test_lines, start),
        cmocka_unit_test_setup(test_rest_is_named_so, start),
        cmocka_unit_test_setup(test_long_line_is_cut, start),
        cmocka_unit_test_setup(test_exactly_full_line_is_one_piece, start),
        cmocka_unit_test_setup(test_no_line_ends_with_a_space, start),
        cmocka_unit_test_setup(test_last_line_without_newline, start),
        cmocka_unit_test_setup(test_numbers_start_again, start),
        cmocka_unit_test_setup(test_dead_line_is_told_at_the_end, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
