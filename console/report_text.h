/* The run as a person reads it: banner, a table per experiment, findings, summary. Window: no. */
#ifndef CONSOLE_REPORT_TEXT_H
#define CONSOLE_REPORT_TEXT_H

#include "console/report_table.h"
#include "kernels/observer.h"

/* The caller fills the first group and owns what it points to; the rest starts at zero. */
struct report {
    struct console *console;
    const char *folder;          /* "\\RESULTS\\RUN0001", or NULL: nothing is saved */
    const char *not_saved;       /* why, if folder is NULL */
    bool sent;                   /* what is not saved leaves on the serial line */
    const char *cut_short;       /* an earlier run that never ended, or NULL */
    char (*key)(void *keyboard); /* the next key that was pressed, 0 for none; or NULL */
    void *keyboard;

    struct point_table points;
    const struct kernel *kernel; /* of the experiment, or NULL */
    bool in_table;               /* its table has begun */
    unsigned failures;           /* files that could not be saved */
    double seconds;              /* since the run began, at the latest progress */
    double experiment_began;
    bool stopping;
    bool findings_begun;
};

/* An observer that prints the run on report->console. */
struct observer report_observer(struct report *report);

/* Says where the files are: the last words of a run, once all of them were written. */
void report_files(const struct report *report);

/* Tells, loudly, that a file can no longer be saved: for `tell` of struct output_file, with the
 * report as its teller. */
void report_failure(void *self, const char *name, enum status status);

#endif
