/* The steps that measure: the plan, the self-test, the run. */
#include <stdio.h>

#include "boot/plan_prefetchers.h"
#include "boot/uefi/selftest_firmware.h"
#include "boot/uefi/session.h"
#include "hw/cpu.h"

static void print_line(void *self, const char *text)
{
    struct session *session = self;
    console_line(&session->console, "%s", text);
}

enum status session_plan(struct session *session)
{
    plan_check_prefetchers(&session->settings, &session->machine);
    if (session_accept(session) != OK) {
        return BAD_SETTING;
    }
    plan_make(&session->plan, &session->settings, &session->machine, session->books.measurement,
              session->books.measurements);
    if (session->settings.dry_run) {
        plan_print(&session->plan, print_line, session);
        return STOPPED;
    }
    return OK;
}

static double seconds(void *self)
{
    const struct session *session = self;
    return (double)(cpu_tsc() - session->began) / (double)session->machine.clock.tsc_hz;
}

static void idle_between_checks(void *self)
{
    const struct session *session = self;
    firmware_stall(&session->link, 20000);
}

static size_t selftest(void *self, struct check *check, size_t room)
{
    struct session *session = self;
    const char *reason = NULL;
    static struct selftest test; /* where bodies can reach it: the image is in every view */
    test = (struct selftest){
        .window = session->window,
        .processor = &session->machine.processor,
        .windows = SELFTEST_WINDOWS,
        .idle = idle_between_checks,
        .idle_self = session,
    };
    if (room < SELFTEST_CHECKS + SELFTEST_FIRMWARE_CHECKS ||
        bench_selftest_view(&session->metal, &test.place, &reason) != OK) {
        check[0] = (struct check){ .name = "view", .ok = false };
        (void)snprintf(check[0].text, sizeof check[0].text, "%s", reason ? reason : "no room");
        return 1;
    }
    size_t n = selftest_run(&test, check, SELFTEST_CHECKS);
    return n + selftest_firmware(&session->link, &session->volume, check + n);
}

static void name_machine(struct session *session)
{
    const struct board *board = &session->machine.board;
    char *name = session->results.name;
    size_t room = sizeof session->results.name;
    if (session->settings.name[0]) {
        (void)snprintf(name, room, "%s", session->settings.name);
    } else {
        (void)snprintf(name, room, "%.40s%s%.20s", board->product, board->serial[0] ? " " : "",
                       board->serial);
    }
}

static void begin_results(struct session *session)
{
    struct results *results = &session->results;
    results->machine = &session->machine;
    results->setting = session->note;
    results->settings = SETTINGS;
    firmware_time(&session->link, results->started);
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
        .selftest = selftest,
    };
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
    run_divide(&run, session->books.run);
    session->began = cpu_tsc();
    run_plan(&run);
    report_files(&session->report);
    return session->results.status == RUN_FAILED ? FAULTED : OK;
}
