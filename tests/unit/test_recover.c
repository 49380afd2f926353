/* Journals that a power cut, a bad stick or a stranger wrote: nothing of them may break the reader, and
 * what it makes of them is JSON. */
#include "boot/journal.h"
#include "tests/fakes/example_run.h"
#include "tests/fakes/text_sink.h"
#include "tests/hosted/journal_read.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BUFFER = 16 * KIB, ROUNDS = 2000, DEPTH = 5000 };

static struct text_sink made, out;

/* The journal of the example run. */
static int write_example(void **state)
{
    static struct example_run run;
    static struct text_sink ignored;
    static char buffer[3][BUFFER];
    struct output_file file[3];
    struct text_sink *const sink[3] = { &made, &ignored, &ignored };
    (void)state;
    text_sink_reset(&made);
    text_sink_reset(&ignored);
    for (size_t i = 0; i < 3; i++) {
        file[i] = (struct output_file){ .saved = text_sink_of(sink[i]),
                                        .buffer = buffer[i],
                                        .room = BUFFER };
    }
    struct journal journal = {
        .records = &file[0], .csv = &file[1], .json = &file[2], .samples = true
    };
    const struct observer observer = journal_observer(&journal);
    example_run_make(&run);
    example_run_play(&run, &observer, 1);
    return 0;
}

/* Reads a text line by line; returns the document, as text in `out`, or false if it is none. */
static bool recover(const char *text, size_t n, enum status *status)
{
    struct journal_read journal = { .header = NULL };
    const char *end = text + n;
    text_sink_reset(&out);
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        line_end = line_end != NULL ? line_end : end;
        /* a copy without a NUL, so that reading beyond its end is noticed */
        const size_t length = (size_t)(line_end - text);
        char *line = malloc(length > 0 ? length : 1);
        assert_non_null(line);
        memcpy(line, text, length);
        journal_read_line(&journal, line, length);
        free(line);
        text = line_end + 1;
    }
    cJSON *results = journal_read_results(&journal);
    if (results != NULL) {
        const struct sink sink = text_sink_of(&out);
        *status = json_tree_write(&sink, results);
    }
    const bool any = results != NULL;
    cJSON_Delete(results);
    journal_read_close(&journal);
    return any;
}

/* What came out is JSON again, or was too deep to be written. */
static void must_be_sound(bool any, enum status status)
{
    if (any && status == OK) {
        assert_int_equal(out.text[out.used - 1], '\n');
        cJSON *back = json_tree_read(out.text, out.used - 1);
        assert_non_null(back);
        assert_string_equal(json_tree_text(back, "schema"), "ironchase-results");
        cJSON_Delete(back);
    } else if (any) {
        assert_int_equal(status, BAD_SETTING);
    }
}

static void test_whole_journal(void **state)
{
    enum status status = IO_ERROR;
    (void)state;
    assert_true(recover(made.text, made.used, &status));
    assert_int_equal(status, OK);
    must_be_sound(true, status);
    assert_int_equal(text_sink_count(&out, "\"operations\""), EXAMPLE_POINTS);
    assert_int_equal(text_sink_count(&out, "\"samples\": ["), 0);
    assert_int_equal(text_sink_count(&out, "\"agrees\""), EXAMPLE_FINDINGS);
    assert_non_null(strstr(out.text, "0.30000000000000004")); /* nothing is rounded */
}

static void test_cut_at_every_byte(void **state)
{
    enum status status = IO_ERROR;
    (void)state;
    const size_t header = strcspn(made.text, "\n");
    for (size_t n = 0; n < made.used; n += n < header ? 97 : 31) {
        const bool any = recover(made.text, n, &status);
        assert_int_equal(any, n >= header);
        must_be_sound(any, status);
        if (any) {
            assert_int_equal(status, OK);
            assert_non_null(
                strstr(out.text, "\"status\": \"partial\",\n  \"reason\": \"the run was"));
        }
    }
}

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* One edit: a byte changed, a stretch cut out, doubled, or put somewhere else. */
static size_t damage(char *text, size_t n, uint64_t *random)
{
    static char part[256];
    const size_t from = next_random(random) % (n - sizeof part);
    const size_t length = next_random(random) % sizeof part;
    switch (next_random(random) % 4) {
    case 0: text[from] = (char)next_random(random); return n;
    case 1: memmove(text + from, text + from + length, n - from - length); return n - length;
    case 2:
        memcpy(part, text + from, length);
        memmove(text + from + length, text + from, n - from);
        memcpy(text + from, part, length);
        return n + length;
    default:
        memmove(text + next_random(random) % (n - sizeof part),
                text + next_random(random) % (n - sizeof part), length % 32);
        return n;
    }
}

static void test_damaged_journals(void **state)
{
    enum { EDITS = 8 };
    uint64_t random = 0x9e3779b97f4a7c15;
    unsigned read = 0;
    char *text = malloc(made.used + (size_t)EDITS * 256);
    (void)state;
    assert_non_null(text);
    for (unsigned round = 0; round < ROUNDS; round++) {
        enum status status = IO_ERROR;
        size_t n = made.used;
        memcpy(text, made.text, n);
        const uint64_t edits = 1 + next_random(&random) % EDITS;
        for (uint64_t i = 0; i < edits; i++) {
            n = damage(text, n, &random);
        }
        const bool any = recover(text, n, &status);
        must_be_sound(any, status);
        read += any;
    }
    free(text);
    assert_true(read > ROUNDS / 4 && read < ROUNDS); /* headers were hit, too */
}

/* Members of the wrong kind, where the reader looks for others. */
static void test_strange_records(void **state)
{
    static const char header[] =
        "{\"type\": \"header\", \"schema\": \"ironchase-journal\", \"version\": 1, \"noise\": 7}\n";
    static const char *const strange[] = {
        "",
        "null",
        "7",
        "[]",
        "{}",
        "\"type\"",
        "{\"type\": null}",
        "{\"type\": [\"begin\"]}",
        "{\"type\": \"begin\"}",
        "{\"type\": \"point\"}",
        "{\"type\": \"visit\"}",
        "{\"type\": \"begin\", \"experiment\": 5, \"title\": {}}",
        "{\"type\": \"visit\", \"experiment\": \"\", \"variant\": 1}",
        "{\"type\": \"visit\", \"experiment\": \"\", \"variant\": {}, \"flags\": {\"a\": \"b\"}}",
        "{\"type\": \"visit\", \"experiment\": \"\", \"variant\": {}, \"flags\": \"c\"}",
        "{\"type\": \"visit\", \"experiment\": \"\", \"variant\": {}, \"ns\": {\"median\": 1e999}}",
        "{\"type\": \"visit\", \"experiment\": \"\", \"variant\": {}, \"ns\": {\"median\": 1}}",
        "{\"type\": \"point\", \"experiment\": \"\", \"variant\": {\"a\": 1, \"a\": 2}}",
        "{\"type\": \"experiment\", \"name\": \"\", \"points\": \"none\", \"checks\": 5}",
        "{\"type\": \"finding\", \"text\": \"\\ud800\"}",
        "{\"type\": \"end\", \"status\": {}}",
    };
    enum { KINDS = sizeof strange / sizeof strange[0] };
    char text[4096];
    uint64_t random = 1;
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        enum status status = IO_ERROR;
        size_t n = 0;
        for (unsigned i = 0; i < 12; i++) {
            const char *line = i == 3 ? header : strange[next_random(&random) % KINDS];
            n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", line);
        }
        const bool any = recover(text, n, &status);
        assert_true(any);
        assert_int_equal(status, OK);
        must_be_sound(any, status);
    }
}

static void test_deep_nesting(void **state)
{
    enum status status = IO_ERROR;
    char *text = malloc(2 * DEPTH + 256);
    (void)state;
    assert_non_null(text);
    for (unsigned depth = 1; depth <= DEPTH; depth = depth * 3 / 2 + 1) {
        size_t n = (size_t)sprintf(
            text, "{\"type\": \"header\", \"schema\": \"ironchase-journal\", \"version\": 1, "
                  "\"machine\": ");
        memset(text + n, '[', depth);
        memset(text + n + depth, ']', depth);
        n += 2 * (size_t)depth;
        n += (size_t)sprintf(text + n, "}\n");
        const bool any = recover(text, n, &status);
        must_be_sound(any, status);
        assert_true(depth > 20 || status == OK);
        assert_true(depth < 100 || !any || status == BAD_SETTING);
    }
    free(text);
}

static void test_members(void **state)
{
    static const char text[] = "{\"a\": 1.5, \"b\": \"c\", \"d\": null, \"e\": 9007199254740992}";
    cJSON *object = json_tree_read(text, sizeof text - 1);
    (void)state;
    assert_true(json_tree_number(object, "a") == 1.5);
    assert_true(json_tree_number(object, "e") == 9007199254740992.0);
    assert_true(isnan(json_tree_number(object, "b")));
    assert_true(isnan(json_tree_number(object, "A")));
    assert_true(isnan(json_tree_number(NULL, "a")));
    assert_string_equal(json_tree_text(object, "b"), "c");
    assert_string_equal(json_tree_text(object, "a"), "");
    assert_null(json_tree_read(text, sizeof text - 2));
    assert_null(json_tree_read("{} {}", 5));
    cJSON_Delete(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_journal),    cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_damaged_journals), cmocka_unit_test(test_strange_records),
        cmocka_unit_test(test_deep_nesting),     cmocka_unit_test(test_members),
    };
    return cmocka_run_group_tests(tests, write_example, NULL);
}
