#include "boot/journal.h"

#include <math.h>

#include "console/csv.h"
#include "console/results_json.h"
#include "kernels/sampler.h"
#include "kernels/statistics.h"

enum { JOURNAL_FORMAT_VERSION = 1 };

static void begin_record(struct journal *journal, struct json *json, const char *type)
{
    json_open(json, &journal->record_sink);
    json_object_on_line(json, NULL);
    json_text(json, "type", type);
    json_number(json, "seconds", journal->seconds);
}

static void end_record(struct journal *journal, struct json *json)
{
    json_end(json);
    (void)json_close(json); /* an output file keeps its own failure */
    output_file_end_record(journal->records);
}

static void begin(void *self, const struct results *results)
{
    struct journal *journal = self;
    struct json json;
    journal->record_sink = output_file_sink(journal->records);
    journal->csv_sink = output_file_sink(journal->csv);
    journal->machine = results->machine;
    begin_record(journal, &json, "header");
    json_text(&json, "schema", "ironchase-journal");
    json_unsigned(&json, "version", JOURNAL_FORMAT_VERSION);
    results_json_program(&json, &results->program);
    json_text(&json, "started", results->started[0] ? results->started : NULL);
    json_text(&json, "name", results->name);
    json_text(&json, "repeat_line", results->repeat_line);
    results_json_machine(&json, results->machine);
    results_json_clock(&json, &results->machine->clock);
    results_json_settings(&json, results);
    end_record(journal, &json);
    (void)csv_write_header(&journal->csv_sink);
}

static void progress(void *self, const struct progress *now)
{
    struct journal *journal = self;
    journal->seconds = now->seconds_done;
}

static void experiment_begin(void *self, const struct results *results,
                             const struct experiment *experiment, const struct kernel *kernel)
{
    struct journal *journal = self;
    struct json json;
    (void)results;
    (void)kernel;
    begin_record(journal, &json, "begin");
    json_text(&json, "experiment", experiment->name);
    json_text(&json, "title", experiment->title);
    end_record(journal, &json);
}

static void write_samples(struct json *json, const struct sample *sample, size_t n)
{
    json_list(json, "samples");
    for (size_t i = 0; i < n; i++) {
        json_object(json, NULL);
        json_number(json, "ns", sample[i].ns);
        json_number(json, "cycles", sample[i].cycles);
        json_unsigned(json, "visit", sample[i].visit);
        results_json_flags(json, sample[i].flags);
        json_end(json);
    }
    json_end(json);
}

static void write_summary(struct json *json, const char *key, const double *first, size_t n)
{
    const struct column column = { .first = first, .stride = sizeof(struct sample), .count = n };
    size_t known = column_known(&column);
    if (known == 0) {
        json_null(json, key);
        return;
    }
    json_object(json, key);
    json_number(json, "median", column_median(&column));
    json_number(json, "min", column_rank(&column, 1));
    json_number(json, "max", column_rank(&column, known));
    json_number(json, "mad", column_mad(&column, column_median(&column)));
    json_unsigned(json, "samples", known);
    json_end(json);
}

/* Samples of the latest visit: they are the last ones of the series. */
static size_t latest_visit(const struct series *series)
{
    size_t n = 0;
    while (n < series->count &&
           series->sample[series->count - 1 - n].visit == series->sample[series->count - 1].visit) {
        n++;
    }
    return n;
}

static void visit(void *self, const struct experiment *experiment,
                  const struct measurement *measurement, const struct series *series)
{
    struct journal *journal = self;
    struct json json;
    size_t n = latest_visit(series);
    if (n == 0) {
        return;
    }
    const struct sample *sample = &series->sample[series->count - n];
    begin_record(journal, &json, "visit");
    json_text(&json, "experiment", experiment->name);
    results_json_variant(&json, &measurement->variant);
    json_unsigned(&json, "visit", sample->visit);
    json_number(&json, "operations", series->operations);
    json_text(&json, "unit", measurement->kernel->unit);
    write_summary(&json, "ns", &sample->ns, n);
    write_summary(&json, "cycles", &sample->cycles, n);
    results_json_flags(&json, series->flags);
    if (journal->samples) {
        write_samples(&json, sample, n);
    }
    end_record(journal, &json);
}

static void point(void *self, const struct experiment *experiment, const struct point *made,
                  const struct series *series)
{
    struct journal *journal = self;
    struct json json;
    begin_record(journal, &json, "point");
    json_text(&json, "experiment", experiment->name);
    results_json_point(&json, made, journal->machine);
    if (journal->samples && series) {
        write_samples(&json, series->sample, series->count);
    }
    end_record(journal, &json);
    (void)csv_write_point(&journal->csv_sink, experiment->name, made);
}

static void write_noise(struct journal *journal, const struct noise *noise)
{
    struct json json;
    journal->noise_known = true;
    begin_record(journal, &json, "noise");
    results_json_noise(&json, noise);
    end_record(journal, &json);
}

static void experiment_end(void *self, const struct results *results,
                           const struct experiment *experiment)
{
    struct journal *journal = self;
    struct json json;
    if (results->noise.measured && !journal->noise_known) {
        write_noise(journal, &results->noise);
    }
    begin_record(journal, &json, "experiment");
    results_json_experiment(&json, experiment);
    json_unsigned(&json, "points", experiment->points);
    results_json_checks(&json, results->check + experiment->first_check, experiment->checks);
    end_record(journal, &json);
    output_file_flush(journal->records);
    output_file_flush(journal->csv);
    if (journal->log) {
        output_file_flush(journal->log);
    }
}

static void finding(void *self, const struct finding *found)
{
    struct journal *journal = self;
    struct json json;
    begin_record(journal, &json, "finding");
    results_json_finding(&json, found);
    end_record(journal, &json);
}

static enum status write_results(const struct sink *to, const void *results)
{
    return results_json_write(to, results);
}

static void end(void *self, const struct results *results)
{
    struct journal *journal = self;
    struct json json;
    begin_record(journal, &json, "end");
    json_text(&json, "status", run_status_name[results->status]);
    json_text(&json, "reason", results->status_reason);
    results_json_noise(&json, &results->noise);
    results_json_clock(&json, &results->machine->clock);
    end_record(journal, &json);
    output_file_close(journal->records);
    output_file_close(journal->csv);
    (void)output_file_write_whole(journal->json, write_results, results);
    if (journal->log) {
        output_file_flush(journal->log);
    }
}

struct observer journal_observer(struct journal *journal)
{
    return (struct observer){
        .self = journal,
        .begin = begin,
        .progress = progress,
        .experiment_begin = experiment_begin,
        .visit = visit,
        .point = point,
        .experiment_end = experiment_end,
        .finding = finding,
        .end = end,
    };
}
