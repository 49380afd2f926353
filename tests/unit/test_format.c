/* Numbers for people: significant digits, units, and no digit that was not measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "console/format.h"

static char text[FORMAT_ROOM];

static void test_four_significant_digits(void **state)
{
    (void)state;
    static const struct {
        double in;
        const char *out;
    } row[] = {
        { 0, "0.0000" },       { 0.25134, "0.2513" },      { 0.99994, "0.9999" },
        { 0.99996, "1.000" },  { 1.2345, "1.234" },        { 9.9994, "9.999" },
        { 9.9996, "10.00" },   { 12.345, "12.35" },        { 99.996, "100.0" },
        { 123.449, "123.4" },  { 999.94, "999.9" },        { 999.96, "1000" },
        { 1234.5678, "1235" }, { 123456789, "123456789" }, { -12.345, "-12.35" },
        { (double)NAN, "-" },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_string_equal(format_number(row[i].in, text), row[i].out);
    }
}

static void test_any_number_fits(void **state)
{
    (void)state;
    static const double extreme[] = { DBL_MAX, -DBL_MAX, DBL_MIN, 1e15, -1e14, (double)INFINITY };
    for (size_t i = 0; i < sizeof extreme / sizeof extreme[0]; i++) {
        assert_true(strlen(format_number(extreme[i], text)) < FORMAT_ROOM - 1);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t in;
        const char *out;
    } row[] = {
        { 0, "0 B" },
        { 64, "64 B" },
        { 1023, "1023 B" },
        { 1024, "1 KiB" },
        { 1536, "1.5 KiB" },
        { 5824, "5.69 KiB" },
        { 48 << 10, "48 KiB" },
        { 23168, "22.6 KiB" },
        { 1000 << 10, "1000 KiB" },
        { 741376, "724 KiB" },
        { 1 << 20, "1 MiB" },
        { UINT64_C(60) << 20, "60 MiB" },
        { UINT64_C(3) << 30, "3 GiB" },
        { UINT64_C(1) << 46, "64 TiB" },
        { UINT64_MAX, "16 EiB" },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_string_equal(format_size(row[i].in, text), row[i].out);
    }
}

static void test_page_sizes(void **state)
{
    (void)state;
    assert_string_equal(format_page_size(4096, text), "4K");
    assert_string_equal(format_page_size(1 << 21, text), "2M");
    assert_string_equal(format_page_size(1 << 30, text), "1G");
}

static void test_durations(void **state)
{
    (void)state;
    static const struct {
        double in;
        const char *out;
    } row[] = {
        { 0, "0:00" },           { 6.4, "0:06" },           { 59.4, "0:59" },
        { 59.5, "1:00" },        { 761, "12:41" },          { 3599.4, "59:59" },
        { 3599.5, "1:00:00" },   { 3723, "1:02:03" },       { -1, "-" },
        { (double)NAN, "-" },    { (double)INFINITY, "-" }, { 1e300, "-" },
        { 360000, "100:00:00" },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_string_equal(format_duration(row[i].in, text), row[i].out);
    }
}

static void test_frequencies(void **state)
{
    (void)state;
    assert_string_equal(format_frequency(2994374531.0, text), "2.994 GHz");
    assert_string_equal(format_frequency(24e6, text), "24 MHz");
    assert_string_equal(format_frequency(999.9e6, text), "1000 MHz");
    assert_string_equal(format_frequency(1e9, text), "1.000 GHz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_significant_digits),
        cmocka_unit_test(test_any_number_fits),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_page_sizes),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_frequencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
