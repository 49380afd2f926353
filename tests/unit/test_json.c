/* JSON: what is written is well formed, whatever is put into it, and numbers come back unaltered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console/json.h"
#include "tests/fakes/text_sink.h"

static struct text_sink text;
static struct sink sink;
static struct json json;

static int start(void **state)
{
    (void)state;
    text_sink_reset(&text);
    sink = text_sink_of(&text);
    json_open(&json, &sink);
    return 0;
}

static void test_members_stand_on_lines(void **state)
{
    (void)state;
    json_object(&json, NULL);
    json_text(&json, "a", "b");
    json_list(&json, "c");
    json_unsigned(&json, NULL, 1);
    json_object_on_line(&json, NULL);
    json_bool(&json, "d", true);
    json_list(&json, "e");
    json_null(&json, NULL);
    json_bool(&json, NULL, false);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    json_object(&json, "f");
    json_end(&json);
    json_end(&json);
    assert_int_equal(json_close(&json), OK);
    assert_string_equal(text.text,
                        "{\n  \"a\": \"b\",\n  \"c\": [\n    1,\n"
                        "    {\"d\": true, \"e\": [null, false]}\n  ],\n  \"f\": {}\n}\n");
}

static void test_record_is_one_line(void **state)
{
    (void)state;
    json_object_on_line(&json, NULL);
    json_object(&json, "a");
    json_list(&json, "b");
    json_end(&json);
    json_end(&json);
    json_text(&json, "c", "d\ne");
    json_end(&json);
    assert_int_equal(json_close(&json), OK);
    assert_string_equal(text.text, "{\"a\": {\"b\": []}, \"c\": \"d\\u000ae\"}\n");
}

static void test_text_is_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } row[] = {
        { "", "\"\"" },
        { "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
        { "\x01\t\r\n\x1f\x7f", "\"\\u0001\\u0009\\u000d\\u000a\\u001f\\u007f\"" },
        { "\xC3\xBC", "\"\xC3\xBC\"" },                             /* two bytes */
        { "\xE2\x82\xAC", "\"\xE2\x82\xAC\"" },                     /* three */
        { "\xF0\x9F\x98\x80", "\"\xF0\x9F\x98\x80\"" },             /* four */
        { "\xC0\xAF", "\"\\ufffd\\ufffd\"" },                       /* overlong */
        { "\xE0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\"" },            /* overlong */
        { "\xED\xA0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },            /* a surrogate */
        { "\xF4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" }, /* above U+10FFFF */
        { "\x80x", "\"\\ufffdx\"" },                                /* no first byte */
        { "\xE2\x82", "\"\\ufffd\\ufffd\"" },                       /* cut off by the end */
        { "\xF0\x9F\x98q", "\"\\ufffd\\ufffd\\ufffdq\"" },          /* cut off by another */
        { "\xFF\xFE", "\"\\ufffd\\ufffd\"" },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        text_sink_reset(&text);
        json_open(&json, &sink);
        json_text(&json, NULL, row[i].in);
        assert_int_equal(json_close(&json), OK);
        text.text[text.used - 1] = 0;
        assert_string_equal(text.text, row[i].out);
    }
}

static void test_keys_are_escaped(void **state)
{
    (void)state;
    json_object_on_line(&json, NULL);
    json_null(&json, "a\"b");
    json_end(&json);
    assert_int_equal(json_close(&json), OK);
    assert_string_equal(text.text, "{\"a\\\"b\": null}\n");
}

static void write_number(double number)
{
    text_sink_reset(&text);
    json_open(&json, &sink);
    json_number(&json, NULL, number);
    assert_int_equal(json_close(&json), OK);
    text.text[text.used - 1] = 0;
}

static void test_numbers_are_short(void **state)
{
    (void)state;
    static const struct {
        double in;
        const char *out;
    } row[] = {
        { 0, "0" },
        { -0.0, "-0" },
        { 1, "1" },
        { 0.1, "0.1" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 1.0 / 3, "0.3333333333333333" },
        { 2994374531, "2994374531" },
        { 1e22, "1e+22" },
        { -1.5e-7, "-1.5e-07" },
        { 9007199254740992, "9007199254740992" },
        { (double)NAN, "null" },
        { (double)INFINITY, "null" },
        { -(double)INFINITY, "null" },
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        write_number(row[i].in);
        assert_string_equal(text.text, row[i].out);
    }
}

static void test_numbers_come_back(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252;
    for (unsigned i = 0; i < 20000; i++) {
        double number;
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&number, &bits, sizeof number);
        if (isfinite(number)) {
            write_number(number);
            assert_true(strtod(text.text, NULL) == number);
            assert_true(strlen(text.text) < NUMBER_TEXT);
        }
    }
}

static void test_largest_integer_is_whole(void **state)
{
    (void)state;
    json_unsigned(&json, NULL, UINT64_MAX);
    assert_int_equal(json_close(&json), OK);
    assert_string_equal(text.text, "18446744073709551615\n");
}

/* Each leaves the writer in a state that cannot be told from a well-formed one by its text. */
static void misuse_key_in_list(void)
{
    json_list(&json, NULL);
    json_null(&json, "a");
    json_end(&json);
}

static void misuse_no_key_in_object(void)
{
    json_object(&json, NULL);
    json_null(&json, NULL);
    json_end(&json);
}

static void misuse_two_documents(void)
{
    json_null(&json, NULL);
    json_null(&json, NULL);
}

static void misuse_left_open(void)
{
    json_object(&json, NULL);
}

static void misuse_end_without_begin(void)
{
    json_null(&json, NULL);
    json_end(&json);
}

static void misuse_nothing_at_all(void)
{
}

static void misuse_too_deep(void)
{
    for (unsigned i = 0; i <= JSON_DEPTH; i++) {
        json_list(&json, NULL);
    }
    for (unsigned i = 0; i <= JSON_DEPTH; i++) {
        json_end(&json);
    }
}

static void test_misuse_is_told(void **state)
{
    (void)state;
    void (*const misuse[])(void) = {
        misuse_key_in_list,       misuse_no_key_in_object, misuse_two_documents, misuse_left_open,
        misuse_end_without_begin, misuse_nothing_at_all,   misuse_too_deep,
    };
    for (size_t i = 0; i < sizeof misuse / sizeof misuse[0]; i++) {
        json_open(&json, &sink);
        misuse[i]();
        assert_int_equal(json_close(&json), BAD_SETTING);
    }
}

static void test_greatest_depth_works(void **state)
{
    (void)state;
    for (unsigned i = 0; i < JSON_DEPTH; i++) {
        json_list_on_line(&json, NULL);
    }
    for (unsigned i = 0; i < JSON_DEPTH; i++) {
        json_end(&json);
    }
    assert_int_equal(json_close(&json), OK);
    assert_int_equal(text.used, 2 * JSON_DEPTH + 1);
}

static void test_first_failure_stays(void **state)
{
    (void)state;
    text.takes = 5;
    text.fails_with = DENIED;
    json_list_on_line(&json, NULL);
    json_unsigned(&json, NULL, 123456);
    unsigned calls = text.calls;
    json_unsigned(&json, NULL, 7);
    json_end(&json);
    assert_int_equal(json_close(&json), DENIED);
    assert_int_equal(text.calls, calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_members_stand_on_lines, start),
        cmocka_unit_test_setup(test_record_is_one_line, start),
        cmocka_unit_test_setup(test_text_is_escaped, start),
        cmocka_unit_test_setup(test_keys_are_escaped, start),
        cmocka_unit_test_setup(test_numbers_are_short, start),
        cmocka_unit_test_setup(test_numbers_come_back, start),
        cmocka_unit_test_setup(test_largest_integer_is_whole, start),
        cmocka_unit_test_setup(test_misuse_is_told, start),
        cmocka_unit_test_setup(test_greatest_depth_works, start),
        cmocka_unit_test_setup(test_first_failure_stays, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
