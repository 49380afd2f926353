/* Tables: columns line up whatever is put into them, and fit the screen they are printed on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "console/report_table.h"
#include "tests/fakes/example_run.h"
#include "tests/fakes/text_sink.h"

static const struct table_column column[] = {
    { .title = "name", .width = 6 },
    { .title = "size", .width = 8, .right = true },
    { .title = "flags", .width = 5 },
};
enum { THREE = sizeof column / sizeof column[0] };

static struct text_sink text;
static struct console console;
static struct table table;

static void open_console(unsigned columns)
{
    struct screen screen = { .sink = text_sink_of(&text), .columns = columns, .rows = 25 };
    text_sink_reset(&text);
    console_open(&console, &screen, NULL, NULL);
}

static int start(void **state)
{
    (void)state;
    open_console(80);
    return 0;
}

static void row(const char *a, const char *b, const char *c)
{
    table_cell(&table, a);
    table_cell(&table, b);
    table_cell(&table, c);
    table_end_row(&table);
}

static void test_layout(void **state)
{
    (void)state;
    table_begin(&table, &console, column, THREE);
    row("a", "12", "x");
    row("abcdef", "12345678", "");
    row("", "", "last one may be long");
    assert_string_equal(text.text, "name        size  flags\n"
                                   "------  --------  -----\n"
                                   "a             12  x\n"
                                   "abcdef  12345678\n"
                                   "                  last one may be long\n");
}

static void test_long_text_is_cut_and_marked(void **state)
{
    (void)state;
    table_begin(&table, &console, column, THREE);
    text_sink_reset(&text);
    row("abcdefg", "123456789", "x");
    assert_string_equal(text.text, "abcde~  1234567~  x\n");
}

static void test_short_and_overfull_rows(void **state)
{
    (void)state;
    table_begin(&table, &console, column, THREE);
    text_sink_reset(&text);
    table_cell(&table, "a");
    table_end_row(&table);
    for (unsigned i = 0; i < 5; i++) {
        table_cell(&table, "b");
    }
    table_end_row(&table);
    table_end_row(&table);
    assert_string_equal(text.text, "a\nb              b  b\n\n");
}

static void test_gap_narrows_before_the_line_is_too_long(void **state)
{
    (void)state;
    struct table_column wide[] = { { .title = "a", .width = 38 },
                                   { .title = "b", .width = 34 },
                                   { .title = "c", .width = 3 } };
    assert_int_equal(table_width(wide, 3, 2), 79);
    table_begin(&table, &console, wide, 3);
    assert_int_equal(table.gap, 2);
    wide[0].width++;
    table_begin(&table, &console, wide, 3);
    assert_int_equal(table.gap, 1);
}

static void test_room_of_the_last_column(void **state)
{
    (void)state;
    table_begin(&table, &console, column, THREE);
    assert_int_equal(table_room(&table), 79 - 18);
}

/* ---- the table of an experiment ---- */

/* The longest line that was printed. */
static size_t widest(void)
{
    size_t most = 0;
    for (const char *line = text.text; *line;) {
        size_t length = strcspn(line, "\n");
        most = length > most ? length : most;
        line += length + (line[length] == '\n');
    }
    return most;
}

static struct example_run run;
static struct point_table points;

static void print_example(unsigned columns)
{
    open_console(columns);
    example_run_make(&run);
    point_table_begin(&points, &console, &example_kernel);
    for (size_t i = 0; i < EXAMPLE_POINTS; i++) {
        point_table_row(&points, &run.point[i]);
    }
}

static void test_experiment_fits_80_columns(void **state)
{
    (void)state;
    print_example(80);
    assert_in_range(widest(), 60, 79);
    assert_non_null(strstr(text.text, "predicted"));
    assert_null(strstr(text.text, "min ns"));
    assert_non_null(
        strstr(text.text, "4 KiB    4K  random      scattered    1.351   5.000  (1.5) "));
    assert_non_null(strstr(text.text, " 0.3000       -  (1.5)          -  noisy\n"));
    assert_non_null(strstr(text.text, "   46.25  (1.5)      12.25\n"));
    assert_non_null(
        strstr(text.text, "64 MiB    2M  random      scattered    98.00   362.6   0.5 "));
}

static void test_wide_screen_shows_more(void **state)
{
    (void)state;
    print_example(128);
    assert_in_range(widest(), 80, 127);
    assert_non_null(strstr(text.text, "min ns"));
    assert_non_null(strstr(text.text, "samples"));
    assert_non_null(strstr(text.text, "unsettled, between\n"));
}

static void test_what_does_not_fit_stands_below(void **state)
{
    (void)state;
    print_example(80);
    assert_non_null(strstr(text.text, " *\n       * unsettled, between\n"));
    assert_non_null(strstr(text.text, " *\n       * noisy, suspect; faster than a smaller set\n"));
    assert_null(strstr(text.text, "emulated")); /* true of every row: told at the head */
}

/* Every key that a variant may have has a column of its own. */
static void test_every_key_has_a_column(void **state)
{
    (void)state;
    for (enum variant_key key = 0; key < VARIANT_KEYS; key++) {
        const enum variant_key columns[] = { key, VARIANT_KEYS };
        const struct kernel kernel = { .columns = columns };
        struct point point = { .ns = { .median = 1 }, .predicted = (double)NAN };
        struct line line = { 0 };
        open_console(80);
        if (variant_is_text(key)) {
            variant_set_text(&point.variant, key, "word");
        } else {
            variant_set_number(&point.variant, key, 4096);
        }
        describe_variant(&point.variant, &line);
        assert_true(line.used > 1);
        point_table_begin(&points, &console, &kernel);
        assert_true(points.column[0].width >= 4);
        assert_true(points.column[0].width >= strlen(points.column[0].title));
        point_table_row(&points, &point);
        assert_non_null(strstr(text.text, variant_is_text(key) ? "word" : "4"));
    }
}

/* The chase: as many columns as any. The prediction must stand beside the measurement. */
static void test_the_chase_fits_80_columns(void **state)
{
    (void)state;
    assert_non_null(kernel_named("chase"));
    point_table_begin(&points, &console, kernel_named("chase"));
    example_run_make(&run);
    variant_set_text(&run.point[1].variant, V_PREFETCHERS, "found");
    point_table_row(&points, &run.point[1]);
    assert_true(widest() <= 79);
    assert_non_null(strstr(text.text, "predicted"));
    assert_non_null(strstr(text.text, "found"));
    assert_non_null(strstr(text.text, " noisy\n"));
}

static void test_cut_cell_stands_below_in_full(void **state)
{
    (void)state;
    static const enum variant_key columns[] = { V_PREFETCHERS, VARIANT_KEYS };
    const struct kernel kernel = { .columns = columns };
    example_run_make(&run);
    variant_set_text(&run.point[1].variant, V_PREFETCHERS, "off:l2_stream+dcu_ip");
    point_table_begin(&points, &console, &kernel);
    point_table_row(&points, &run.point[1]);
    assert_non_null(strstr(text.text, "off:l~"));
    assert_non_null(strstr(text.text, " *\n       * off:l2_stream+dcu_ip; noisy\n"));
}

static void test_crowded_table_drops_what_it_can(void **state)
{
    (void)state;
    static const enum variant_key columns[] = { V_WORKING_SET, V_PAGE_SIZE,   V_ORDER,     V_CHAINS,
                                                V_PLACEMENT,   V_PREFETCHERS, VARIANT_KEYS };
    const struct kernel kernel = { .columns = columns };
    example_run_make(&run);
    point_table_begin(&points, &console, &kernel);
    point_table_row(&points, &run.point[0]);
    assert_true(widest() <= 79);
    assert_null(strstr(text.text, "predicted"));
    assert_non_null(strstr(text.text, "flags"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_layout, start),
        cmocka_unit_test_setup(test_long_text_is_cut_and_marked, start),
        cmocka_unit_test_setup(test_short_and_overfull_rows, start),
        cmocka_unit_test_setup(test_gap_narrows_before_the_line_is_too_long, start),
        cmocka_unit_test_setup(test_room_of_the_last_column, start),
        cmocka_unit_test_setup(test_experiment_fits_80_columns, start),
        cmocka_unit_test_setup(test_wide_screen_shows_more, start),
        cmocka_unit_test_setup(test_what_does_not_fit_stands_below, start),
        cmocka_unit_test_setup(test_every_key_has_a_column, start),
        cmocka_unit_test_setup(test_the_chase_fits_80_columns, start),
        cmocka_unit_test_setup(test_cut_cell_stands_below_in_full, start),
        cmocka_unit_test_setup(test_crowded_table_drops_what_it_can, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
