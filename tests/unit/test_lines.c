/* The console: the same lines everywhere, a progress line that leaves no traces, and nothing that
 * could steer a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "console/lines.h"
#include "tests/fakes/text_sink.h"

enum { ROWS = 400, COLUMNS = 80 };

static struct text_sink screen_text, uart_text, log_text;
static struct console console;

static int start(void **state)
{
    (void)state;
    text_sink_reset(&screen_text);
    text_sink_reset(&uart_text);
    text_sink_reset(&log_text);
    struct screen screen = { .sink = text_sink_of(&screen_text), .columns = COLUMNS, .rows = 25 };
    struct sink uart = text_sink_of(&uart_text);
    struct sink log = text_sink_of(&log_text);
    console_open(&console, &screen, &uart, &log);
    return 0;
}

/* What stands on a screen row in the end. */
static const char *shown(unsigned row)
{
    static char grid[ROWS][COLUMNS + 1];
    unsigned r = 0;
    unsigned c = 0;
    memset(grid, 0, sizeof grid);
    for (const char *at = screen_text.text; *at; at++) {
        if (*at == '\r') {
            c = 0;
        } else if (*at == '\n') {
            assert_true(++r < ROWS);
            c = 0;
        } else {
            assert_true(c < COLUMNS - 1); /* the last column is never used */
            grid[r][c++] = *at;
        }
    }
    for (size_t end = strlen(grid[row]); end > 0 && grid[row][end - 1] == ' '; end--) {
        grid[row][end - 1] = 0;
    }
    return grid[row];
}

static void test_same_lines_everywhere(void **state)
{
    (void)state;
    console_line(&console, "a %d", 7);
    console_blank(&console);
    console_line(&console, "b");
    assert_string_equal(screen_text.text, "a 7\n\nb\n");
    assert_string_equal(uart_text.text, "a 7\n\nb\n");
    assert_string_equal(log_text.text, "a 7\n\nb\n");
}

static void test_a_line_is_one_write(void **state)
{
    (void)state;
    console_progress(&console, 1, "working");
    unsigned calls = screen_text.calls;
    console_line(&console, "a");
    assert_int_equal(screen_text.calls, calls + 1); /* each costs a firmware call */
    assert_int_equal(uart_text.calls, 1);
    assert_int_equal(log_text.calls, 1);
}

static void test_nothing_connected(void **state)
{
    (void)state;
    console_open(&console, NULL, NULL, NULL);
    console_line(&console, "a");
    console_progress(&console, 100, "b");
    assert_int_equal(console_columns(&console), COLUMNS_UNSEEN - 1);
}

static void test_failing_sink_stops_nobody(void **state)
{
    (void)state;
    uart_text.takes = 1;
    console_line(&console, "abc");
    console_line(&console, "def");
    assert_string_equal(log_text.text, "abc\ndef\n");
    assert_string_equal(screen_text.text, "abc\ndef\n");
}

static void test_progress_leaves_no_trace(void **state)
{
    (void)state;
    console_progress(&console, 1, "a long progress line");
    assert_string_equal(shown(0), "a long progress line");
    console_progress(&console, 2, "short");
    assert_string_equal(shown(0), "short");
    console_progress(&console, 3, "another long progress line");
    console_line(&console, "row");
    assert_string_equal(shown(0), "row");
    console_line(&console, "row 2");
    assert_string_equal(shown(1), "row 2");
    assert_string_equal(uart_text.text, "row\nrow 2\n");
    assert_string_equal(log_text.text, "row\nrow 2\n");
}

static void test_progress_is_cut_to_the_screen(void **state)
{
    (void)state;
    char text[200];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    console_progress(&console, 1, text);
    assert_int_equal(strlen(shown(0)), COLUMNS - 1);
    console_line(&console, "row");
    assert_string_equal(shown(0), "row");
}

/* The firmware's console is slow; a BMC's is slower. */
static void test_progress_is_rare_on_the_screen(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) { /* ten seconds */
        console_progress(&console, i * 0.01, "x");
    }
    assert_in_range(screen_text.calls, 35, 40);
    start(NULL);
    console.screen.slow = true;
    for (int i = 0; i < 1000; i++) {
        console_progress(&console, i * 0.01, "x");
    }
    assert_in_range(screen_text.calls, 9, 10);
}

static void test_beacons_where_nothing_is_redrawn(void **state)
{
    (void)state;
    for (int i = 0; i < 350; i++) { /* 35 seconds */
        console_progress(&console, i * 0.1, "alive");
    }
    assert_int_equal(text_sink_count(&uart_text, "alive\n"), 3);
    assert_int_equal(text_sink_count(&log_text, "alive\n"), 3);
    assert_int_equal(text_sink_count(&screen_text, "\n"), 0);
}

static void test_rows_are_beacons_themselves(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        console_progress(&console, i, "alive");
        if (i % 9 == 8) {
            console_line(&console, "row");
        }
    }
    assert_int_equal(text_sink_count(&uart_text, "alive"), 0);
    assert_int_equal(text_sink_count(&uart_text, "row"), 6);
}

static void test_only_ascii_gets_through(void **state)
{
    (void)state;
    console_line(&console, "%s", "B\xC3\xBCro \x1b[2J\x9b\xE2\x82\xAC\t\r\nx\x7f");
    assert_string_equal(uart_text.text, "B?ro ?[2J??"
                                        "??x?\n");
    console_progress(&console, 20, "\xC3\xBC\n\x1b");
    assert_non_null(strstr(uart_text.text, "\n???\n"));
}

static void test_long_lines_are_cut(void **state)
{
    (void)state;
    char text[400];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = 0;
    console_line(&console, "%s", text);
    assert_int_equal(uart_text.used, LINE_MOST + 1);
}

static void test_width_is_kept_sane(void **state)
{
    (void)state;
    static const struct {
        unsigned screen, columns;
    } row[] = { { 80, 79 }, { 0, 79 }, { 40, 79 }, { 100, 99 }, { 240, 239 }, { 5000, 239 } };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct screen screen = { .sink = text_sink_of(&screen_text), .columns = row[i].screen };
        console_open(&console, &screen, NULL, NULL);
        assert_int_equal(console_columns(&console), row[i].columns);
    }
}

static void test_paragraph_is_broken_at_spaces(void **state)
{
    (void)state;
    console_paragraph(&console, "Lead: ",
                      "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456 "
                      "next  line");
    assert_string_equal(uart_text.text, "Lead: 0123456789 0123456789 0123456789 0123456789 "
                                        "0123456789 0123456789 0123456\n      next  line\n");
}

static void test_paragraph_with_a_monster_word(void **state)
{
    (void)state;
    char word[301];
    memset(word, 'z', sizeof word - 1);
    word[sizeof word - 1] = 0;
    console_paragraph(&console, "  ", word);
    assert_int_equal(text_sink_count(&uart_text, "z"), 300);
    assert_int_equal(text_sink_count(&uart_text, "\n"), 4); /* 77 to a line */
    text_sink_reset(&uart_text);
    console_paragraph(&console, word, "text");
    assert_non_null(strstr(uart_text.text, "text\n"));
    assert_int_equal(text_sink_count(&uart_text, "\n"), 1);
}

static void test_empty_paragraph_is_a_line(void **state)
{
    (void)state;
    console_paragraph(&console, "a: ", "");
    assert_string_equal(uart_text.text, "a: \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_same_lines_everywhere, start),
        cmocka_unit_test_setup(test_a_line_is_one_write, start),
        cmocka_unit_test_setup(test_nothing_connected, start),
        cmocka_unit_test_setup(test_failing_sink_stops_nobody, start),
        cmocka_unit_test_setup(test_progress_leaves_no_trace, start),
        cmocka_unit_test_setup(test_progress_is_cut_to_the_screen, start),
        cmocka_unit_test_setup(test_progress_is_rare_on_the_screen, start),
        cmocka_unit_test_setup(test_beacons_where_nothing_is_redrawn, start),
        cmocka_unit_test_setup(test_rows_are_beacons_themselves, start),
        cmocka_unit_test_setup(test_only_ascii_gets_through, start),
        cmocka_unit_test_setup(test_long_lines_are_cut, start),
        cmocka_unit_test_setup(test_width_is_kept_sane, start),
        cmocka_unit_test_setup(test_paragraph_is_broken_at_spaces, start),
        cmocka_unit_test_setup(test_paragraph_with_a_monster_word, start),
        cmocka_unit_test_setup(test_empty_paragraph_is_a_line, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
