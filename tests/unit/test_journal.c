/* The files of a run while it runs: what a power cut leaves, at any moment of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "boot/journal.h"
#include "tests/fakes/example_run.h"
#include "tests/fakes/text_sink.h"

enum file_index { RECORDS, ROWS, LOG, WHOLE, FILES };
enum { BUFFER = 16 * KIB };

static struct example_run run;
static struct text_sink stick[FILES], line;
static struct sink line_sink;
static struct serial_file serial[FILES];
static struct output_file file[FILES];
static char buffer[FILES][BUFFER];
static struct journal journal;
static unsigned told;

static void tell(void *teller, const char *name, enum status status)
{
    (void)teller;
    assert_string_equal(name, JOURNAL_NAME);
    assert_int_equal(status, IO_ERROR);
    told++;
}

static int start(void **state)
{
    static const char *const name[FILES] = { JOURNAL_NAME, RESULTS_CSV_NAME, CONSOLE_LOG_NAME,
                                             RESULTS_JSON_NAME };
    (void)state;
    example_run_make(&run);
    text_sink_reset(&line);
    line_sink = text_sink_of(&line);
    told = 0;
    for (size_t i = 0; i < FILES; i++) {
        text_sink_reset(&stick[i]);
        serial[i] = (struct serial_file){ .line = &line_sink, .name = name[i] };
        file[i] = (struct output_file){ .name = name[i],
                                        .saved = text_sink_of(&stick[i]),
                                        .serial = &serial[i],
                                        .buffer = buffer[i],
                                        .room = BUFFER,
                                        .tell = tell };
    }
    journal = (struct journal){
        .records = &file[RECORDS], .csv = &file[ROWS], .json = &file[WHOLE], .log = &file[LOG]
    };
    return 0;
}

static void play(const struct observer *before)
{
    struct observer observers[2] = { journal_observer(&journal) };
    observers[1] = observers[0];
    if (before) {
        observers[0] = *before;
    }
    example_run_play(&run, observers, before ? 2 : 1);
}

/* The `index`-th line that holds `part`, as text that ends with a NUL. */
static const char *record(const char *part, unsigned index)
{
    static char copy[BUFFER];
    const char *at = stick[RECORDS].text;
    while (*at) {
        size_t length = strcspn(at, "\n");
        assert_true(length < sizeof copy);
        memcpy(copy, at, length);
        copy[length] = 0;
        if (strstr(copy, part) && index-- == 0) {
            return copy;
        }
        at += length + (at[length] == '\n');
    }
    fail_msg("no record %s", part);
    return NULL;
}

static void test_records(void **state)
{
    (void)state;
    play(NULL);
    static const struct {
        const char *type;
        unsigned times;
    } row[] = { { "header", 1 }, { "begin", EXAMPLE_EXPERIMENTS },
                { "visit", 1 },  { "point", EXAMPLE_POINTS },
                { "noise", 1 },  { "experiment", EXAMPLE_EXPERIMENTS },
                { "end", 1 },    { "finding", EXAMPLE_FINDINGS } };
    unsigned all = 0;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char start_of_record[40];
        (void)snprintf(start_of_record, sizeof start_of_record,
                       "{\"type\": \"%s\", \"seconds\": ", row[i].type);
        assert_int_equal(text_sink_count(&stick[RECORDS], start_of_record), row[i].times);
        all += row[i].times;
    }
    assert_int_equal(text_sink_count(&stick[RECORDS], "\n"), all);
    assert_ptr_equal(strstr(stick[RECORDS].text, "{\"type\": \"header\""), stick[RECORDS].text);
    assert_non_null(strstr(record("\"header\"", 0), "\"machine\": {\"vendor\": "));
    assert_non_null(strstr(record("\"header\"", 0), "\"settings\": {\"suite\": "));
    assert_non_null(strstr(record("\"point\"", 3), "\"seconds\": 12, \"experiment\": \"chase\", "
                                                   "\"variant\": {\"working_set\": 1048576, "));
    assert_non_null(strstr(record("\"experiment\", \"seconds\"", 2), "\"vector\": 14"));
    assert_non_null(strstr(record("\"end\"", 0), "\"status\": \"failed\""));
}

static void test_visit_is_of_its_own_samples(void **state)
{
    (void)state;
    play(NULL);
    const char *visit = record("\"visit\", \"seconds\"", 0);
    assert_non_null(strstr(visit, "\"visit\": 0, \"operations\": 200000, \"unit\": \"load\", "
                                  "\"ns\": {\"median\": 1.75, \"min\": 1.25, \"max\": 2.25, "
                                  "\"mad\": 0.5, \"samples\": 2}, \"cycles\": {\"median\": 5, "));
    assert_null(strstr(visit, "\"samples\": ["));
}

/* A later visit: only what it added. One cycle count is not known. */
static void test_later_visit(void **state)
{
    (void)state;
    struct observer observer = journal_observer(&journal);
    struct measurement measurement = { .kernel = &example_kernel };
    struct series series = { .sample = run.sample, .count = 4 };
    journal.samples = true;
    observer.begin(observer.self, &run.results);
    observer.visit(observer.self, &run.experiment[0], &measurement, &series);
    const char *visit = record("\"visit\", \"seconds\"", 0);
    assert_non_null(strstr(visit, "\"visit\": 1, "));
    assert_non_null(strstr(visit, "\"ns\": {\"median\": 3.75, \"min\": 3.25, \"max\": 4.25, "
                                  "\"mad\": 0.5, \"samples\": 2}, \"cycles\": {\"median\": 6.5, "
                                  "\"min\": 6.5, \"max\": 6.5, \"mad\": 0, \"samples\": 1}"));
    assert_non_null(strstr(visit, "\"samples\": [{\"ns\": 3.25, \"cycles\": 6.5, \"visit\": 1, "
                                  "\"flags\": []}, {\"ns\": 4.25, \"cycles\": null, "));
    series.count = 0;
    size_t used = stick[RECORDS].used;
    observer.visit(observer.self, &run.experiment[0], &measurement, &series);
    assert_int_equal(stick[RECORDS].used, used);
}

static void test_raw_samples_if_wanted(void **state)
{
    (void)state;
    play(NULL);
    assert_int_equal(text_sink_count(&stick[RECORDS], "\"samples\": ["), 0);
    start(NULL);
    journal.samples = true;
    play(NULL);
    assert_int_equal(text_sink_count(&stick[RECORDS], "\"samples\": ["), 1 + EXAMPLE_POINTS);
    assert_non_null(strstr(record("\"point\"", 0), "{\"ns\": 4.25, \"cycles\": null, "));
}

/* ---- the power cut ---- */

/* Stands before the journal: looks at what is safe on the stick when something is about to come. */
static size_t safe_lines;

static void count_safe_lines(void)
{
    size_t n = 0;
    for (size_t i = 0; i < stick[RECORDS].safe; i++) {
        n += stick[RECORDS].text[i] == '\n';
    }
    safe_lines = n;
    assert_true(n == 0 || stick[RECORDS].text[stick[RECORDS].safe - 1] == '\n');
}

static void see_point(void *self, const struct experiment *experiment, const struct point *point,
                      const struct series *series)
{
    static const size_t records[EXAMPLE_POINTS] = { 3, 4, 5, 6, 7, 13 };
    (void)self;
    (void)experiment;
    (void)series;
    count_safe_lines();
    /* header, begin, visit, then a record for each point before this one; three more with the two
     * experiments' ends, noise and the next begins */
    assert_int_equal(safe_lines, records[point - run.point]);
}

static void see_begin(void *self, const struct results *results)
{
    (void)self;
    (void)results;
}

static void see_experiment_end(void *self, const struct results *results,
                               const struct experiment *experiment)
{
    (void)self;
    (void)results;
    if (experiment == &run.experiment[EXAMPLE_SELFTEST]) { /* chase is done */
        assert_int_equal(stick[ROWS].safe, stick[ROWS].used);
        assert_int_equal(text_sink_count(&stick[ROWS], "\nchase,"), 5);
        assert_string_equal(stick[LOG].text, "printed\n");
    }
    output_file_write(&file[LOG], "printed\n", 8);
}

static void see_finding(void *self, const struct finding *finding)
{
    (void)self;
    (void)finding;
}

static void test_power_cut_loses_the_current_measurement_only(void **state)
{
    (void)state;
    const struct observer watch = { .begin = see_begin,
                                    .point = see_point,
                                    .experiment_end = see_experiment_end,
                                    .finding = see_finding,
                                    .end = see_begin };
    play(&watch);
    for (size_t i = 0; i < FILES; i++) {
        assert_int_equal(stick[i].safe, stick[i].used);
    }
    assert_int_equal(text_sink_count(&stick[LOG], "printed"), EXAMPLE_EXPERIMENTS);
}

static void test_results_stand_there_in_the_end(void **state)
{
    (void)state;
    play(NULL);
    assert_ptr_equal(strstr(stick[WHOLE].text, "{\n  \"schema\": \"ironchase-results\""),
                     stick[WHOLE].text);
    assert_int_equal(text_sink_count(&stick[ROWS], "\n"), 1 + EXAMPLE_POINTS);
    assert_int_equal(line.used, 0);
    assert_int_equal(told, 0);
}

static void test_stick_that_fails_stops_nothing(void **state)
{
    (void)state;
    stick[RECORDS].takes = 4000;
    play(NULL);
    assert_int_equal(told, 1);
    assert_int_equal(text_sink_count(&line, "@journal.jsl 0 "), 1);
    assert_int_equal(text_sink_count(&line, "!rest\n"), 1);
    assert_int_equal(text_sink_count(&line, "@results.csv"), 0);
    assert_int_equal(text_sink_count(&stick[ROWS], "\n"), 1 + EXAMPLE_POINTS);
    assert_true(stick[WHOLE].used > 1000);
}

static void test_nothing_can_be_saved(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        file[i].saved = (struct sink){ 0 };
    }
    file[LOG].serial = NULL;
    play(NULL);
    assert_int_equal(told, 0);
    assert_int_equal(text_sink_count(&line, "!begin\n"), 3);
    assert_int_equal(text_sink_count(&line, "!end "), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_records, start),
        cmocka_unit_test_setup(test_visit_is_of_its_own_samples, start),
        cmocka_unit_test_setup(test_later_visit, start),
        cmocka_unit_test_setup(test_raw_samples_if_wanted, start),
        cmocka_unit_test_setup(test_power_cut_loses_the_current_measurement_only, start),
        cmocka_unit_test_setup(test_results_stand_there_in_the_end, start),
        cmocka_unit_test_setup(test_stick_that_fails_stops_nothing, start),
        cmocka_unit_test_setup(test_nothing_can_be_saved, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
