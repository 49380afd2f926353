#include "console/report_text.h"

#include <inttypes.h>
#include <string.h>

#include "console/format.h"
#include "console/report_machine.h"

static void print_not_saved(const struct report *report)
{
    console_line(report->console, "*** NOT SAVED: %s ***", report->not_saved);
    console_paragraph(report->console, "",
                      report->sent ? "The results leave on the serial line instead, in lines that "
                                     "begin with @; console/serial_files.py makes files of them."
                                   : "Nothing is left of the results but what stands here.");
}

static void begin(void *self, const struct results *results)
{
    struct report *report = self;
    struct console *console = report->console;
    report_banner(console, results);
    if (report->cut_short && report->cut_short[0]) {
        console_blank(console);
        console_line(console,
                     "The run in %s was cut short; what it measured is in its journal.jsl.",
                     report->cut_short);
    }
    if (!report->folder) {
        console_blank(console);
        print_not_saved(report);
    }
    console_blank(console);
    report_warnings(console, results->machine);
    console_paragraph(console, "",
                      "In the tables: ns and cycles are medians for one operation. +/-% is half "
                      "the width of the median's interval, or (in brackets) half the range of "
                      "samples that are too few for one. predicted is the ns to expect from the "
                      "rows above and from the caches and TLBs that the processor claims.");
}

static void progress(void *self, const struct progress *now)
{
    struct report *report = self;
    static const char marks[] = "####################";
    char left[FORMAT_ROOM];
    struct line line = { 0 };
    double whole = now->seconds_done + now->seconds_left;
    double share = whole > 0 ? now->seconds_done / whole : 0;
    report->seconds = now->seconds_done;
    line_add(&line, "[%-20.*s] %3.0f %%, %s left  %zu/%zu",
             (int)(share * (double)(sizeof marks - 1)), marks, share * 100,
             format_duration(now->seconds_left, left), now->done, now->all);
    if (now->experiment) {
        line_add(&line, " %s", now->experiment);
    }
    if (now->variant) {
        describe_variant(now->variant, &line);
    }
    console_progress(report->console, now->seconds_done, line.text);
}

static void experiment_begin(void *self, const struct results *results,
                             const struct experiment *experiment, const struct kernel *kernel)
{
    struct report *report = self;
    (void)results;
    report->experiment_began = report->seconds;
    report->kernel = kernel;
    report->in_table = false;
    console_blank(report->console);
    console_line(report->console, "%s: %s", experiment->name, experiment->title);
}

static void print_point(void *self, const struct experiment *experiment, const struct point *point,
                        const struct series *series)
{
    struct report *report = self;
    (void)experiment;
    (void)series;
    if (!report->kernel || !report->kernel->columns) {
        return;
    }
    if (!report->in_table) { /* an experiment that is skipped needs no head */
        if (strcmp(report->kernel->unit, "operation") != 0) {
            console_line(report->console, "One operation is one %s.", report->kernel->unit);
        }
        console_blank(report->console);
        point_table_begin(&report->points, report->console, report->kernel);
        report->in_table = true;
    }
    point_table_row(&report->points, point);
}

static void print_checks(struct report *report, const struct check *check, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct line lead = { 0 };
        line_add(&lead, "  %-4s  %-28s  ", check[i].ok ? "ok" : "FAIL", check[i].name);
        console_paragraph(report->console, lead.text, check[i].text);
    }
}

static void print_fault(struct console *console, const struct fault *fault)
{
    /* SDM vol. 3A, table 6-1 */
    static const char *const name[] = {
        [0] = "#DE ",  [1] = "#DB ",  [3] = "#BP ",  [6] = "#UD ",  [7] = "#NM ",
        [8] = "#DF ",  [11] = "#NP ", [12] = "#SS ", [13] = "#GP ", [14] = "#PF ",
        [16] = "#MF ", [17] = "#AC ", [18] = "#MC ", [19] = "#XM ", [21] = "#CP ",
    };
    struct line line = { 0 };
    if (fault->vector == 0 && fault->ip == 0) {
        return;
    }
    bool named = fault->vector < sizeof name / sizeof name[0] && name[fault->vector];
    line_add(&line, "%svector %" PRIu64 ", error code 0x%" PRIx64 ", RIP 0x%" PRIx64,
             named ? name[fault->vector] : "", fault->vector, fault->code, fault->ip);
    if (fault->vector == 14) {
        line_add(&line, ", address 0x%" PRIx64, fault->address);
    }
    console_paragraph(console, "fault: ", line.text);
}

/* Adds "5 points", "1 check", "12 checks, 1 failed". */
static void count(const struct results *results, const struct experiment *experiment,
                  struct line *line)
{
    bool checks = experiment->checks > 0;
    size_t n = checks ? experiment->checks : experiment->points;
    size_t failed = 0;
    for (size_t i = 0; i < experiment->checks; i++) {
        failed += !results->check[experiment->first_check + i].ok;
    }
    line_add(line, "%zu %s%s", n, checks ? "check" : "point", n == 1 ? "" : "s");
    if (failed > 0) {
        line_add(line, ", %zu failed", failed);
    }
}

static void experiment_end(void *self, const struct results *results,
                           const struct experiment *experiment)
{
    struct report *report = self;
    char took[FORMAT_ROOM];
    struct line lead = { 0 };
    struct line line = { 0 };
    print_checks(report, results->check + experiment->first_check, experiment->checks);
    print_fault(report->console, &experiment->fault);
    line_add(&lead, "%s: ", experiment->name);
    line_add(&line, "%s", experiment_status_name[experiment->status]);
    if (experiment->status != EXPERIMENT_SKIPPED) {
        line_add(&line, ", ");
        count(results, experiment, &line);
        line_add(&line, " in %s",
                 format_duration(report->seconds - report->experiment_began, took));
    }
    if (experiment->reason) {
        line_add(&line, ": %s", experiment->reason);
    }
    console_paragraph(report->console, lead.text, line.text);
}

static void finding(void *self, const struct finding *finding)
{
    struct report *report = self;
    if (!report->findings_begun) {
        console_blank(report->console);
        console_line(report->console, "Findings");
        report->findings_begun = true;
    }
    console_paragraph(report->console,
                      finding->agreement_known && !finding->agrees ? "  ! " : "    ",
                      finding->text);
}

static bool wants_stop(void *self)
{
    struct report *report = self;
    char key = 0;
    if (report->key) {
        key = report->key(report->keyboard);
    }
    if ((key == 'q' || key == 'Q') && !report->stopping) {
        report->stopping = true;
        console_line(report->console,
                     "q: stopping after this measurement; what is measured is kept.");
    }
    return report->stopping;
}

static size_t flagged(const struct results *results, const struct experiment *experiment)
{
    size_t n = 0;
    for (size_t p = 0; p < experiment->points; p++) {
        uint32_t flags = results->point[experiment->first_point + p].flags;
        n += (flags & ~FLAGS_OF_THE_MACHINE) != 0;
    }
    return n;
}

static void print_experiments(struct console *console, const struct results *results)
{
    for (size_t i = 0; i < results->experiments; i++) {
        const struct experiment *experiment = &results->experiment[i];
        size_t flags = flagged(results, experiment);
        struct line lead = { 0 };
        struct line line = { 0 };
        line_add(&lead, "  %-10s  %-7s  ", experiment->name,
                 experiment_status_name[experiment->status]);
        count(results, experiment, &line);
        if (flags > 0) {
            line_add(&line, ", %zu flagged", flags);
        }
        if (experiment->reason) {
            line_add(&line, "; %s", experiment->reason);
        }
        console_paragraph(console, lead.text, line.text);
    }
}

/* Held-back interrupts are daily bread; these are not. */
static void print_strikes(struct console *console, const struct strikes *strikes)
{
    struct line line = { 0 };
    if (!strikes || strikes->nmis + strikes->machine_checks == 0) {
        return;
    }
    line_add(&line, "%" PRIu64 " NMI%s and %" PRIu64 " machine check%s came in windows; ",
             strikes->nmis, strikes->nmis == 1 ? "" : "s", strikes->machine_checks,
             strikes->machine_checks == 1 ? "" : "s");
    line_add(&line, "the machine's event log may say why.");
    console_paragraph(console, "", line.text);
}

static void end(void *self, const struct results *results)
{
    struct report *report = self;
    struct console *console = report->console;
    char took[FORMAT_ROOM];
    console_blank(console);
    console_line(console, "Summary");
    print_experiments(console, results);
    console_blank(console);
    report_warnings(console, results->machine);
    console_line(console, "Run %s after %s%s%s", run_status_name[results->status],
                 format_duration(report->seconds, took), results->status_reason ? ": " : "",
                 results->status_reason ? results->status_reason : "");
    print_strikes(console, results->strikes);
    console_line(console, "The same run again: %s",
                 results->repeat_line[0] ? results->repeat_line : "(all settings at default)");
}

void report_files(const struct report *report)
{
    if (!report->folder) {
        print_not_saved(report);
        return;
    }
    console_line(report->console, "The files of this run are in %s:", report->folder);
    console_line(report->console, "  results.json  results.csv  journal.jsl  console.log");
    if (report->failures > 0) {
        console_paragraph(
            report->console, "*** ",
            "NOT ALL OF THEM ARE COMPLETE: see above. What is missing is on the serial "
            "line, if there is one; console/serial_files.py makes files of it.");
    }
}

void report_failure(void *self, const char *name, enum status status)
{
    struct report *report = self;
    report->failures++;
    console_line(report->console, "*** %s CAN NO LONGER BE SAVED: %s ***", name,
                 status == DENIED ? "the disk is write-protected"
                                  : "the disk is full or does not answer");
}

struct observer report_observer(struct report *report)
{
    return (struct observer){
        .self = report,
        .begin = begin,
        .progress = progress,
        .experiment_begin = experiment_begin,
        .point = print_point,
        .experiment_end = experiment_end,
        .finding = finding,
        .end = end,
        .wants_stop = wants_stop,
    };
}
