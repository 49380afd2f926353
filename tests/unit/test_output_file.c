/* Files of a run: saved where it is possible, sent where it is not, lost nowhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "console/output_file.h"
#include "tests/fakes/text_sink.h"

static struct text_sink stick, line;
static struct sink line_sink;
static struct serial_file serial;
static struct output_file file;
static char buffer[16];
static unsigned told;
static enum status told_status;

static void tell(void *teller, const char *name, enum status status)
{
    assert_ptr_equal(teller, &told);
    assert_string_equal(name, "journal.jsl");
    told++;
    told_status = status;
}

static int start(void **state)
{
    (void)state;
    text_sink_reset(&stick);
    text_sink_reset(&line);
    told = 0;
    line_sink = text_sink_of(&line);
    serial = (struct serial_file){ .line = &line_sink, .name = "journal.jsl" };
    file = (struct output_file){ .name = "journal.jsl",
                                 .saved = text_sink_of(&stick),
                                 .serial = &serial,
                                 .buffer = buffer,
                                 .room = sizeof buffer,
                                 .tell = tell,
                                 .teller = &told };
    return 0;
}

static void put(const char *text)
{
    output_file_write(&file, text, strlen(text));
}

static void record(const char *text)
{
    put(text);
    output_file_end_record(&file);
}

static void test_each_record_is_safe(void **state)
{
    (void)state;
    put("one ");
    assert_int_equal(stick.calls, 0);
    record("two\n");
    assert_string_equal(stick.text, "one two\n");
    assert_int_equal(stick.safe, stick.used);
    assert_int_equal(stick.calls, 1);
    record("three\n");
    assert_int_equal(stick.safe, stick.used);
    output_file_close(&file);
    assert_string_equal(stick.text, "one two\nthree\n");
    assert_int_equal(line.used, 0);
    assert_int_equal(file.failed, OK);
}

static void test_more_than_the_buffer_holds(void **state)
{
    (void)state;
    record("0123456789abcdefghijklmnopqrstuvwxyz\n");
    assert_string_equal(stick.text, "0123456789abcdefghijklmnopqrstuvwxyz\n");
    assert_int_equal(stick.safe, stick.used);
}

static void test_nothing_waits_after_a_flush(void **state)
{
    (void)state;
    put("abc");
    output_file_flush(&file);
    output_file_flush(&file);
    assert_string_equal(stick.text, "abc");
    assert_int_equal(stick.calls, 1);
}

static void test_without_a_stick_it_is_sent(void **state)
{
    (void)state;
    file.saved = (struct sink){ 0 };
    record("one\n");
    assert_int_equal(line.used, 0); /* not between two rows of a table */
    output_file_flush(&file);
    assert_int_equal(text_sink_count(&line, "!begin\n"), 1);
    assert_int_equal(text_sink_count(&line, ":one\n"), 1);
    record("two\n");
    output_file_close(&file);
    assert_int_equal(text_sink_count(&line, "!begin\n"), 1);
    assert_int_equal(text_sink_count(&line, ":two\n"), 1);
    assert_int_equal(text_sink_count(&line, "!end 8 "), 1);
    assert_int_equal(told, 0); /* the run says itself that it saves nothing */
    assert_int_equal(file.failed, ABSENT);
}

/* The stick fills up: what it did not take whole is sent whole. */
static void test_failure_is_told_once_and_the_rest_sent(void **state)
{
    (void)state;
    stick.takes = 6;
    stick.fails_with = DENIED;
    record("one\n");
    record("two\n");
    assert_int_equal(told, 1);
    assert_int_equal(told_status, DENIED);
    record("three\n");
    output_file_close(&file);
    assert_int_equal(told, 1);
    assert_int_equal(stick.calls, 2);
    assert_int_equal(text_sink_count(&line, "!rest\n"), 1);
    assert_int_equal(text_sink_count(&line, ":two\n"), 1);
    assert_int_equal(text_sink_count(&line, ":three\n"), 1);
    assert_int_equal(text_sink_count(&line, "one"), 0);
    assert_int_equal(file.failed, DENIED);
}

static void test_failing_flush_is_a_failure(void **state)
{
    (void)state;
    stick.flush_answer = IO_ERROR;
    record("one\n");
    output_file_close(&file);
    assert_int_equal(told, 1);
    assert_int_equal(text_sink_count(&line, "!begin\n"), 1); /* nothing of it is safe */
    assert_int_equal(text_sink_count(&line, ":one\n"), 1);
}

static void test_nowhere_to_go(void **state)
{
    (void)state;
    file.saved = (struct sink){ 0 };
    file.serial = NULL;
    record("a longer record than the buffer\n");
    output_file_close(&file);
    assert_int_equal(file.failed, ABSENT);
    assert_int_equal(file.used, 0);
}

static void test_empty_file_sends_nothing(void **state)
{
    (void)state;
    file.saved = (struct sink){ 0 };
    output_file_close(&file);
    assert_int_equal(line.used, 0);
}

/* The teller may write to the very file that failed: the log. */
static void tell_in_the_file(void *teller, const char *name, enum status status)
{
    (void)teller;
    (void)name;
    (void)status;
    told++;
    put("0123456789abcdef: this file cannot be saved\n");
}

static void test_teller_may_write_to_the_file(void **state)
{
    (void)state;
    stick.takes = 1;
    file.tell = tell_in_the_file;
    put("0123456789abcdef");
    output_file_close(&file);
    assert_int_equal(told, 1);
    assert_int_equal(text_sink_count(&line, "this file cannot be saved"), 1);
}

static enum status write_whole(const struct sink *to, const void *what)
{
    enum status status = OK;
    for (const char *at = what; *at && status == OK; at++) {
        status = to->write(to->self, at, 1);
    }
    return status;
}

static const char whole[] = "a document of several lines\nthat is longer than the buffer\n";

static void test_whole_file_is_saved(void **state)
{
    (void)state;
    assert_int_equal(output_file_write_whole(&file, write_whole, whole), OK);
    assert_string_equal(stick.text, whole);
    assert_int_equal(stick.safe, stick.used);
    assert_int_equal(line.used, 0);
}

static void test_whole_file_is_sent_whole(void **state)
{
    (void)state;
    stick.takes = 20;
    assert_int_equal(output_file_write_whole(&file, write_whole, whole), OK);
    assert_int_equal(told, 1);
    assert_int_equal(text_sink_count(&line, "!begin\n"), 1);
    assert_int_equal(text_sink_count(&line, "!rest\n"), 0);
    assert_int_equal(text_sink_count(&line, ":a document of several lines\n"), 1);
    assert_int_equal(text_sink_count(&line, ":that is longer than the buffer\n"), 1);
    assert_int_equal(text_sink_count(&line, "!end "), 1);
}

static void test_whole_file_that_fails_at_its_end(void **state)
{
    (void)state;
    stick.takes = sizeof whole - 2; /* all but the last byte */
    assert_int_equal(output_file_write_whole(&file, write_whole, whole), OK);
    assert_int_equal(text_sink_count(&line, ":a document of several lines\n"), 1);
}

static void test_whole_file_is_lost(void **state)
{
    (void)state;
    stick.takes = 20;
    file.serial = NULL;
    assert_int_equal(output_file_write_whole(&file, write_whole, whole), IO_ERROR);
    start(NULL);
    file.saved = (struct sink){ 0 };
    line.takes = 20; /* the serial line dies too */
    assert_int_equal(output_file_write_whole(&file, write_whole, whole), IO_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_record_is_safe, start),
        cmocka_unit_test_setup(test_more_than_the_buffer_holds, start),
        cmocka_unit_test_setup(test_nothing_waits_after_a_flush, start),
        cmocka_unit_test_setup(test_without_a_stick_it_is_sent, start),
        cmocka_unit_test_setup(test_failure_is_told_once_and_the_rest_sent, start),
        cmocka_unit_test_setup(test_failing_flush_is_a_failure, start),
        cmocka_unit_test_setup(test_nowhere_to_go, start),
        cmocka_unit_test_setup(test_empty_file_sends_nothing, start),
        cmocka_unit_test_setup(test_teller_may_write_to_the_file, start),
        cmocka_unit_test_setup(test_whole_file_is_saved, start),
        cmocka_unit_test_setup(test_whole_file_is_sent_whole, start),
        cmocka_unit_test_setup(test_whole_file_that_fails_at_its_end, start),
        cmocka_unit_test_setup(test_whole_file_is_lost, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
