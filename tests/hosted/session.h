/* One run of the hosted program: all that its steps hand on to each other. main.c lists the steps. */
#ifndef TESTS_HOSTED_SESSION_H
#define TESTS_HOSTED_SESSION_H

#include "boot/journal.h"
#include "boot/run.h"
#include "console/report_text.h"
#include "tests/hosted/arguments.h"
#include "tests/hosted/bench_linux.h"
#include "tests/hosted/folder.h"

enum { RUN_FILES = 4, OBSERVERS = 2 };

/* The files of a run, by what boot/journal.h calls them. */
enum run_file { FILE_JOURNAL, FILE_CSV, FILE_LOG, FILE_JSON };

struct session {
    int count; /* of the command line */
    char *const *argument;
    struct arguments arguments;
    struct settings settings;
    struct setting_note note[SETTINGS];

    struct console console;
    struct machine machine;
    struct bench_linux metal;

    struct measurement *measurement;
    void *books; /* of the run loop and the results */
    struct plan plan;
    struct results results;
    struct report report;
    struct journal journal;
    struct folder folder;
    struct folder_file file[RUN_FILES];
    struct output_file output[RUN_FILES];
    char *buffer;
    struct observer observer[OBSERVERS];
    double began;
};

/* The steps; each OK, or it has said why the program goes no further: STOPPED if all that was wanted
 * is done. */
enum status session_arguments(struct session *session);
enum status session_recover(struct session *session);
enum status session_machine(struct session *session);
enum status session_bench(struct session *session);
enum status session_plan(struct session *session);
enum status session_files(struct session *session);
enum status session_run(struct session *session);

/* Everything is given back. */
void session_close(struct session *session);

#endif
