#include "tests/hosted/session.h"

#include "boot/plan_prefetchers.h"
#include "kernels/kernel.h"
#include "tests/hosted/recover.h"
#include "tests/hosted/survey.h"
#include "tests/hosted/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FILE_ROOM = 64 * KIB };

static const char *const file_name[RUN_FILES] = {
    [FILE_JOURNAL] = JOURNAL_NAME,
    [FILE_CSV] = RESULTS_CSV_NAME,
    [FILE_LOG] = CONSOLE_LOG_NAME,
    [FILE_JSON] = RESULTS_JSON_NAME,
};

static enum status refuse(const char *reason)
{
    (void)fprintf(stderr, "ironchase: cannot measure here: %s\n", reason);
    return ABSENT;
}

/* ---- what is asked for ------------------------------------------------------------------------ */

/* Wrong settings end here. */
static enum status accept(const struct settings *settings)
{
    for (size_t i = 0; i < settings->errors; i++) {
        (void)fprintf(stderr, "ironchase: %s\n", settings->error[i]);
    }
    return settings_ok(settings) ? OK : BAD_SETTING;
}

enum status session_arguments(struct session *session)
{
    struct settings *settings = &session->settings;
    arguments_read(&session->arguments, settings, session->count, session->argument, kernel_table);
    if (accept(settings) != OK) {
        return BAD_SETTING;
    }
    if (session->arguments.help) {
        arguments_help();
        return STOPPED;
    }
    settings_notes(settings, session->note);
    return OK;
}

enum status session_recover(struct session *session)
{
    const struct arguments *arguments = &session->arguments;
    if (arguments->recover == NULL) {
        return OK;
    }
    const enum status status =
        recover_run(arguments->recover, arguments->output_given ? arguments->output : NULL);
    return status == OK ? STOPPED : status;
}

/* ---- the machine ------------------------------------------------------------------------------ */

enum status session_machine(struct session *session)
{
    if (survey_pin() < 0) {
        return refuse("the system does not let a program stay on one processor");
    }
    if (survey_machine(&session->machine) != OK) {
        return refuse(session->machine.clock.reason);
    }
    return OK;
}

enum status session_bench(struct session *session)
{
    const char *reason = NULL;
    const struct bench_linux_setup setup = {
        .machine = &session->machine,
        .bytes = survey_view_bytes(),
        .seed = session->settings.seed,
        .counters = session->settings.counters == CHOICE_AUTO,
    };
    if (setup.bytes < ARENA_LEAST) {
        return refuse("less than 64 MiB for each of four views of memory are free");
    }
    const enum status status = bench_linux_prepare(&session->metal, &setup, &reason);
    return status == OK ? OK : refuse(reason);
}

/* ---- plan ------------------------------------------------------------------------------------- */

static void print_line(void *self, const char *text)
{
    struct session *session = self;
    console_line(&session->console, "%s", text);
}

enum status session_plan(struct session *session)
{
    plan_check_prefetchers(&session->settings, &session->machine);
    if (accept(&session->settings) != OK) {
        return BAD_SETTING;
    }
    const size_t count = plan_count(&session->settings, &session->machine);
    session->measurement = calloc(count + 1, sizeof *session->measurement);
    if (session->measurement == NULL) {
        return refuse("the system has no memory left");
    }
    plan_make(&session->plan, &session->settings, &session->machine, session->measurement, count);
    if (session->settings.dry_run) {
        terminal_open(&session->console, NULL);
        plan_print(&session->plan, print_line, session);
        return STOPPED;
    }
    return OK;
}

/* ---- files ------------------------------------------------------------------------------------ */

/* What tells that a run came to its end is created then, the others now. */
static void open_file(struct session *session, enum run_file file)
{
    folder_file_begin(&session->file[file], &session->folder, file_name[file]);
    session->output[file] = (struct output_file){
        .saved = folder_file_sink(&session->file[file]),
        .buffer = session->buffer + (size_t)file * FILE_ROOM,
        .room = FILE_ROOM,
        .tell = report_failure,
        .teller = &session->report,
        .name = file_name[file],
    };
    if (file != FILE_JSON) {
        (void)folder_file_create(&session->file[file]);
    }
}

enum status session_files(struct session *session)
{
    const bool save = session->settings.save;
    if (save && folder_make(&session->folder, session->arguments.output) != OK) {
        (void)fprintf(stderr, "ironchase: no folder for the run: %s\n", session->folder.reason);
        return IO_ERROR;
    }
    session->buffer = malloc((size_t)RUN_FILES * FILE_ROOM);
    if (session->buffer == NULL) {
        return refuse("the system has no memory left");
    }
    for (unsigned i = 0; save && i < RUN_FILES; i++) {
        open_file(session, i);
    }
    session->report.console = &session->console;
    session->report.folder = save ? session->folder.path : NULL;
    session->report.not_saved = "save=no";
    session->report.cut_short = session->folder.cut_short;
    session->report.key = terminal_key;
    const struct sink log = output_file_sink(&session->output[FILE_LOG]);
    terminal_open(&session->console, save ? &log : NULL);
    return OK;
}

/* ---- run -------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double seconds(void *self)
{
    const struct session *session = self;
    return now() - session->began;
}

static void name_machine(struct session *session)
{
    const struct board *board = &session->machine.board;
    char *name = session->results.name;
    const size_t room = sizeof session->results.name;
    if (session->settings.name[0] != '\0') {
        (void)snprintf(name, room, "%s", session->settings.name);
    } else {
        (void)snprintf(name, room, "%.40s%s%.20s", board->product,
                       board->serial[0] != '\0' ? " " : "", board->serial);
    }
}

static void begin_results(struct session *session)
{
    struct results *results = &session->results;
    const time_t start = time(NULL);
    struct tm utc;
    results->machine = &session->machine;
    results->setting = session->note;
    results->settings = SETTINGS;
    if (gmtime_r(&start, &utc) != NULL) {
        (void)strftime(results->started, sizeof results->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    name_machine(session);
    (void)settings_repeat_line(&session->settings, results->repeat_line,
                               sizeof results->repeat_line);
}

enum status session_run(struct session *session)
{
    struct run run = {
        .plan = &session->plan,
        .bench = &session->metal.bench,
        .results = &session->results,
        .observer = session->observer,
        .self = session,
        .seconds = seconds,
    };
    session->books = calloc(1, run_bytes(&session->plan));
    if (session->books == NULL) {
        return refuse("the system has no memory left");
    }
    begin_results(session);
    session->observer[run.observers++] = report_observer(&session->report);
    if (session->settings.save) {
        session->journal = (struct journal){
            .records = &session->output[FILE_JOURNAL],
            .csv = &session->output[FILE_CSV],
            .json = &session->output[FILE_JSON],
            .log = &session->output[FILE_LOG],
            .samples = session->settings.samples,
        };
        session->observer[run.observers++] = journal_observer(&session->journal);
    }
    run_divide(&run, session->books);
    terminal_take_keys();
    session->began = now();
    run_plan(&run);
    terminal_release();
    report_files(&session->report);
    return session->results.status == RUN_FAILED ? FAULTED : OK;
}

/* ---- the end ---------------------------------------------------------------------------------- */

void session_close(struct session *session)
{
    for (unsigned i = 0; i < RUN_FILES; i++) {
        if (session->output[i].buffer != NULL) {
            output_file_close(&session->output[i]);
            folder_file_close(&session->file[i]);
        }
    }
    if (session->metal.bench.self != NULL) {
        bench_linux_close(&session->metal);
    }
    free(session->buffer);
    free(session->books);
    free(session->measurement);
}
