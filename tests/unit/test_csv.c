/* results.csv: exactly the promised columns, and in each of them what belongs there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "console/csv.h"
#include "tests/fakes/example_run.h"
#include "tests/fakes/text_sink.h"

static struct example_run run;
static struct text_sink text;
static struct sink sink;

static int start(void **state)
{
    (void)state;
    example_run_make(&run);
    text_sink_reset(&text);
    sink = text_sink_of(&text);
    return 0;
}

/* Columns are the file's interface: whoever renames one must see this test fail. */
static void test_columns(void **state)
{
    (void)state;
    static const char expected[] =
        "experiment,working_set,page_size,order,chains,prefetchers,placement,node,operation,"
        "accumulators,lines,stride,data,branch,period,targets,depth,pages,state,access,layout,pad,"
        "partitions,rows,keys,skew,vector,level,store_size,load_size,registers,offset,pass,unit,"
        "ns_median,ns_min,ns_max,ns_mad,ns_ci95_low,ns_ci95_high,ns_coverage,ns_samples,ns_visits,"
        "cycles_median,cycles_min,cycles_max,cycles_mad,cycles_ci95_low,cycles_ci95_high,"
        "cycles_coverage,cycles_samples,cycles_visits,"
        "instructions,cycles,l1d_miss,l2_miss,l3_miss,dram_read,page_walk,walk_cycles,branch,"
        "branch_miss,";
    assert_int_equal(csv_write_header(&sink), OK);
    assert_memory_equal(text.text, expected, sizeof expected - 1);
    assert_string_equal(strrchr(text.text, ','), ",flags\n");
}

/* The field of that name in the only row. */
static const char *field(const char *name)
{
    static char value[64];
    static struct text_sink header;
    struct sink header_sink = text_sink_of(&header);
    text_sink_reset(&header);
    assert_int_equal(csv_write_header(&header_sink), OK);
    size_t index = 0;
    for (const char *at = header.text;
         strncmp(at, name, strlen(name)) != 0 || strcspn(at, ",\n") != strlen(name); index++) {
        at += strcspn(at, ",\n");
        assert_int_equal(*at, ',');
        at++;
    }
    const char *at = text.text;
    for (; index > 0; index--) {
        at += strcspn(at, ",") + 1;
    }
    size_t length = strcspn(at, ",\n");
    memcpy(value, at, length);
    value[length] = 0;
    return value;
}

static void test_values(void **state)
{
    (void)state;
    assert_int_equal(csv_write_point(&sink, "chase", &run.point[2]), OK);
    assert_string_equal(field("experiment"), "chase");
    assert_string_equal(field("working_set"), "5824");
    assert_string_equal(field("page_size"), "4096");
    assert_string_equal(field("order"), "random");
    assert_string_equal(field("chains"), "");
    assert_string_equal(field("placement"), "scattered");
    assert_string_equal(field("unit"), "load");
    assert_string_equal(field("ns_median"), "12.5");
    assert_string_equal(field("ns_min"), "12.375");
    assert_string_equal(field("ns_ci95_low"), "");
    assert_string_equal(field("ns_coverage"), "");
    assert_string_equal(field("ns_samples"), "3");
    assert_string_equal(field("ns_visits"), "1");
    assert_string_equal(field("cycles_median"), "46.25");
    assert_string_equal(field("l1d_miss"), "0.125");
    assert_string_equal(field("l2_miss"), "");
    assert_string_equal(field("flags"), "emulated");
}

static void test_interval_and_flags(void **state)
{
    (void)state;
    run.point[4].ns.low = 122.83872;
    assert_int_equal(csv_write_point(&sink, "chase", &run.point[4]), OK);
    assert_string_equal(field("ns_ci95_low"), "122.83872");
    assert_string_equal(field("ns_coverage"), "0.98828125");
    assert_string_equal(field("flags"), "unsettled+between+emulated");
}

static void test_unknown_cycles_are_empty(void **state)
{
    (void)state;
    assert_int_equal(csv_write_point(&sink, "chase", &run.point[1]), OK);
    assert_string_equal(field("cycles_median"), "");
    assert_string_equal(field("cycles_min"), "");
    assert_string_equal(field("cycles_samples"), "");
    assert_string_equal(field("cycles_visits"), "");
    assert_string_equal(field("ns_median"), "0.30000000000000004");
}

static void test_awkward_text_is_quoted(void **state)
{
    (void)state;
    run.point[0].unit = "row, \"wide\"";
    variant_set_text(&run.point[0].variant, V_DATA, "two\nlines");
    assert_int_equal(csv_write_point(&sink, "chase", &run.point[0]), OK);
    assert_int_equal(text_sink_count(&text, ",\"row, \"\"wide\"\"\","), 1);
    assert_int_equal(text_sink_count(&text, ",\"two\nlines\","), 1);
}

static unsigned commas(const char *line)
{
    unsigned n = 0;
    for (; *line && *line != '\n'; line++) {
        n += *line == ',';
    }
    return n;
}

static void test_whole_run(void **state)
{
    (void)state;
    assert_int_equal(csv_write_results(&sink, &run.results), OK);
    assert_int_equal(text_sink_count(&text, "\n"), 1 + EXAMPLE_POINTS);
    unsigned columns = commas(text.text);
    for (const char *line = text.text; *line; line = strchr(line, '\n') + 1) {
        assert_int_equal(commas(line), columns);
    }
    assert_int_equal(text_sink_count(&text, "\nfaulty,"), 1);
}

static void test_failing_file_is_told(void **state)
{
    (void)state;
    text.takes = 100;
    text.fails_with = DENIED;
    assert_int_equal(csv_write_results(&sink, &run.results), DENIED);
    assert_int_equal(text.used, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_columns, start),
        cmocka_unit_test_setup(test_values, start),
        cmocka_unit_test_setup(test_interval_and_flags, start),
        cmocka_unit_test_setup(test_unknown_cycles_are_empty, start),
        cmocka_unit_test_setup(test_awkward_text_is_quoted, start),
        cmocka_unit_test_setup(test_whole_run, start),
        cmocka_unit_test_setup(test_failing_file_is_told, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
