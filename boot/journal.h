/* The files of a run, written while it runs: journal.jsl and results.csv; results.json at its end.
 *
 * journal.jsl is JSON Lines, one record a line, flushed after each: a power cut loses at most the
 * current measurement. Every record has "type" and "seconds" (since the run began):
 *
 *   header      schema "ironchase-journal", version, program, started, name, repeat_line, machine,
 *               clock, settings
 *   begin       an experiment begins: experiment, title
 *   visit       one of several visits of a point: experiment, variant, visit (from 0), operations
 *               so far, unit, ns and cycles {median, min, max, mad, samples} of this visit, flags
 *   point       experiment, and all that results.json has of a point
 *   noise       noise, as in results.json, once it is known
 *   experiment  what results.json has of an experiment: number of points instead of the points
 *   finding     as in results.json
 *   end         status, reason, noise, clock: a journal without it is of a run that was cut short
 *
 * With `samples = yes`, visit and point carry "samples", a list of {ns, cycles, visit, flags}.
 * All of it works on any system: the hosted program saves its runs with it. Window: no. */
#ifndef BOOT_JOURNAL_H
#define BOOT_JOURNAL_H

#include "console/output_file.h"
#include "kernels/observer.h"

/* Their names on the stick. */
#define JOURNAL_NAME      "journal.jsl"
#define RESULTS_CSV_NAME  "results.csv"
#define RESULTS_JSON_NAME "results.json"
#define CONSOLE_LOG_NAME  "console.log"

/* The caller fills the first group and owns the files; the rest starts at zero. */
struct journal {
    struct output_file *records, *csv, *json;
    struct output_file *log; /* of the console, to be flushed after each experiment; or NULL */
    bool samples;

    struct sink record_sink, csv_sink;
    const struct machine *machine;
    double seconds; /* since the run began, at the latest progress */
    bool noise_known;
};

/* An observer that writes the files. It stands after the console's, so that the log has what was
 * printed when it is flushed. At `end` all but the log are closed. */
struct observer journal_observer(struct journal *journal);

#endif
