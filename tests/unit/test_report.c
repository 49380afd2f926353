/* The printed run: what a person must not overlook stands where it cannot be overlooked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "console/report_machine.h"
#include "console/report_memory.h"
#include "console/report_text.h"
#include "tests/fakes/example_run.h"
#include "tests/fakes/text_sink.h"

enum { COLUMNS = 80 };

static struct example_run run;
static struct text_sink text, screen_text;
static struct console console;
static struct report report;

static int start(void **state)
{
    (void)state;
    struct sink sink = text_sink_of(&text);
    struct screen narrow = { .sink = text_sink_of(&screen_text), .columns = COLUMNS };
    text_sink_reset(&text);
    text_sink_reset(&screen_text);
    example_run_make(&run);
    console_open(&console, &narrow, &sink, NULL);
    report = (struct report){ .console = &console, .folder = "\\RESULTS\\RUN0001" };
    return 0;
}

static void play(void)
{
    struct observer observer = report_observer(&report);
    example_run_play(&run, &observer, 1);
    report_files(&report);
}

static const char *find(const char *part)
{
    const char *at = strstr(text.text, part);
    if (!at) {
        fail_msg("no %s in %s", part, text.text);
    }
    return at;
}

static void test_emulator_is_told_before_and_after_the_numbers(void **state)
{
    (void)state;
    play();
    assert_int_equal(text_sink_count(&text, "*** EMULATOR (TCG)"), 2);
    const char *first = find("*** EMULATOR (TCG)");
    assert_true(first < find("chase: Pointer chase"));
    const char *summary = find("\nSummary\n");
    assert_true(summary > find("123.5"));
    assert_non_null(strstr(summary, "*** EMULATOR (TCG)"));
}

static void test_hypervisor_is_told(void **state)
{
    (void)state;
    strcpy(run.machine.processor.hypervisor, "KVM");
    run.machine.processor.emulated = false;
    play();
    assert_int_equal(text_sink_count(&text, "*** HYPERVISOR (KVM)"), 2);
    assert_int_equal(text_sink_count(&text, "EMULATOR"), 0);
}

static void test_plain_metal_warns_of_nothing(void **state)
{
    (void)state;
    run.machine.processor.hypervisor[0] = 0;
    run.machine.processor.emulated = false;
    play();
    assert_int_equal(text_sink_count(&text, "***"), 0);
}

static void test_pace_of_the_clock_is_told(void **state)
{
    (void)state;
    run.machine.processor.hypervisor[0] = 0;
    run.machine.processor.emulated = false;
    run.machine.clock.invariant = false;
    report_warnings(&console, &run.machine);
    assert_int_equal(text_sink_count(&text, "*** CLOCK: "), 1);
}

/* Modules of two kinds, one of a size that nobody tells, and no list at all. */
static void test_what_is_known_of_the_modules(void **state)
{
    (void)state;
    struct sink sink = text_sink_of(&text);
    struct memory_facts *memory = &run.machine.memory;
    console_open(&console, NULL, &sink, NULL);
    memory->dimm[2].bytes = 0;
    memory->dimm[2].size_told = false;
    memory->dimm[2].configured = 0;
    memory->dimm[2].correction = ECC_NONE;
    memory->channels = 0;
    memory->reason = "odd";
    report_dimms(&console, memory);
    find("DIMMs     2 of 4 sockets: 1 x 2 GiB DDR5-5600 at 4800 MT/s, ECC; 1 x ? GiB DDR5-5600, no "
         "ECC; odd\n");
    *memory = (struct memory_facts){ .reason = "no tables" };
    report_dimms(&console, memory);
    find("DIMMs     not known: no tables\n");
}

static void test_banner(void **state)
{
    struct sink sink = text_sink_of(&text);
    (void)state;
    console_open(&console, NULL, &sink, NULL);
    play();
    assert_ptr_equal(find("Ironchase 0.1.0 (commit abcdef012345, gcc 12.2.0, uefi)"), text.text);
    find("Example Processor 9000 @ 3.00GHz (GenuineIntel family 6h model 8Fh stepping 8");
    find("L1d 48 KiB 12-way for 2 threads, L2 2 MiB");
    find("pages of 4K 2M; no 1G: no free aligned GiB");
    find("DIMMs     2 of 4 sockets, 2 of 2 channels: 2 x 2 GiB DDR5-5600 at 4800 MT/s, ECC\n");
    find("System    Example \"Inc\" Server\\1\n");
    find("Firmware  Firmware & Co 1.2, UEFI 2.70 by EDK II, Secure Boot off");
    find("TSC at 2.994 GHz by CPUID 15h; ACPI PM timer differs by 12.34 ppm");
    find("core at 3.700 GHz");
    find("Prefetch  l2_stream on, dcu off, llc_stream ? (stuck)\n");
    find("          some switches refuse or ignore being put to off; no switch: memory "
         "controller\n");
    find("Settings  suite = smoke (ironchase.cfg:12), experiments = chase,selftest (SMBIOS)\n");
    assert_null(strstr(text.text, "seed"));
}

static void test_many_settings_are_all_shown(void **state)
{
    (void)state;
    static struct setting_note note[30];
    char text_of[30][24];
    for (unsigned i = 0; i < 30; i++) {
        (void)snprintf(text_of[i], sizeof text_of[i], "value-number-%02u", i % 100);
        note[i] = (struct setting_note){ "some_setting", text_of[i], "ironchase.cfg:1" };
    }
    run.results.setting = note;
    run.results.settings = 30;
    report_banner(&console, &run.results);
    for (unsigned i = 0; i < 30; i++) {
        find(text_of[i]);
    }
    assert_int_equal(text_sink_count(&text, "Settings"), 1);
}

static void test_banner_of_a_silent_machine(void **state)
{
    (void)state;
    memset(&run.machine.board, 0, sizeof run.machine.board);
    memset(&run.machine.firmware, 0, sizeof run.machine.firmware);
    run.machine.processor.caches = 0;
    run.machine.clock = (struct clock){ .reason = "not monotonic" };
    run.machine.prefetchers = (struct prefetcher_facts){ .reason = "a hypervisor" };
    run.results.settings = 0;
    report_banner(&console, &run.results);
    find("Prefetch  as found: a hypervisor\n");
    find("the processor does not say");
    find("none: not monotonic");
    find("all at their defaults");
    assert_null(strstr(text.text, "System "));
    assert_null(strstr(text.text, "Firmware "));
}

static void test_earlier_run_that_was_cut_short(void **state)
{
    (void)state;
    report.cut_short = "\\RESULTS\\RUN0003";
    play();
    find("The run in \\RESULTS\\RUN0003 was cut short");
    start(NULL);
    report.cut_short = "";
    play();
    assert_null(strstr(text.text, "cut short"));
}

static void test_not_saved_is_told_loudly(void **state)
{
    (void)state;
    report.folder = NULL;
    report.not_saved = "the disk is read-only";
    report.sent = true;
    play();
    assert_true(find("*** NOT SAVED: the disk is read-only ***") < find("chase: "));
    find("serial line instead");
    assert_null(strstr(text.text, "\\RESULTS"));
    start(NULL);
    report.folder = NULL;
    report.not_saved = "save = no";
    play();
    find("Nothing is left of the results but what stands here.");
}

static void test_summary(void **state)
{
    (void)state;
    play();
    find("  chase       ok       5 points, 3 flagged\n");
    find("  selftest    ok       2 checks, 1 failed\n");
    find("  faulty      failed   1 point; page fault in the loop\n");
    find("  numa        skipped  0 points; one node only\n");
    find("Run failed after 0:20: an experiment faulted\n");
    find("The files of this run are in \\RESULTS\\RUN0001:\n");
    find("The same run again: suite=smoke experiments=chase,selftest\n");
    assert_null(strstr(text.text, "NOT ALL"));
}

static void test_strikes_are_told(void **state)
{
    (void)state;
    play();
    find("2 NMIs and 1 machine check came in windows; the machine's event log");
    start(NULL);
    run.strikes.nmis = run.strikes.machine_checks = 0;
    play();
    start(NULL);
    run.results.strikes = NULL;
    play();
    assert_int_equal(text_sink_count(&text, "NMI"), 0);
}

static void test_experiments(void **state)
{
    (void)state;
    play();
    find("fault: #PF vector 14, error code 0x2, RIP 0xffff800000001234, address\n"
         "       0xffff900000000000\n"
         "faulty: failed, 1 point in 0:04: page fault in the loop\n");
    find("  ok    page fault on a read          vector 14, error code 0\n");
    find("  FAIL  stack overflow                vector 8 instead of 14\n");
    /* no head of a table without rows */
    find("numa: Other nodes\nnuma: skipped: one node only\n");
    assert_int_equal(text_sink_count(&text, "One operation is one load."), 2);
}

static void test_findings(void **state)
{
    (void)state;
    play();
    assert_int_equal(text_sink_count(&text, "\nFindings\n"), 1);
    find("    L1d: measured 48 KiB; CPUID says 48 KiB: agrees.\n");
    find("  ! L2: measured 1 MiB; CPUID says 2 MiB.\n");
}

static void test_failing_file_is_told(void **state)
{
    (void)state;
    report_failure(&report, "journal.jsl", IO_ERROR);
    find("*** journal.jsl CAN NO LONGER BE SAVED: the disk is full or does not answer ***\n");
    play();
    find("*** NOT ALL OF THEM ARE COMPLETE: see above.");
}

static void test_no_line_is_too_long(void **state)
{
    (void)state;
    play();
    for (const char *line = text.text; *line;) {
        size_t length = strcspn(line, "\n");
        if (length >= COLUMNS) {
            fail_msg("%zu characters: %.*s", length, (int)length, line);
        }
        line += length + 1;
    }
}

static const char *keys;

static char next_key(void *keyboard)
{
    (void)keyboard;
    char key = *keys;
    keys += key != 0;
    return key;
}

static void test_q_stops(void **state)
{
    (void)state;
    struct observer observer = report_observer(&report);
    assert_false(observer.wants_stop(observer.self)); /* no keyboard */
    report.key = next_key;
    keys = "xq";
    assert_false(observer.wants_stop(observer.self));
    assert_true(observer.wants_stop(observer.self));
    assert_true(observer.wants_stop(observer.self)); /* and stays so */
    assert_int_equal(text_sink_count(&text, "stopping"), 1);
}

static void test_progress(void **state)
{
    (void)state;
    struct sink sink = text_sink_of(&text);
    struct screen screen = { .sink = sink, .columns = COLUMNS, .rows = 25 };
    struct observer observer = report_observer(&report);
    struct progress now = { .done = 7,
                            .all = 42,
                            .seconds_done = 30,
                            .seconds_left = 90,
                            .experiment = "chase",
                            .variant = &run.point[0].variant };
    console_open(&console, &screen, NULL, NULL);
    observer.progress(observer.self, &now);
    assert_string_equal(text.text, "[#####               ]  25 %, 1:30 left  7/42 chase 4 KiB 4K "
                                   "random scattered");
    now = (struct progress){ .all = 1 };
    console_open(&console, &screen, NULL, NULL);
    text_sink_reset(&text);
    observer.progress(observer.self, &now);
    assert_string_equal(text.text, "[                    ]   0 %, 0:00 left  0/1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_emulator_is_told_before_and_after_the_numbers, start),
        cmocka_unit_test_setup(test_hypervisor_is_told, start),
        cmocka_unit_test_setup(test_plain_metal_warns_of_nothing, start),
        cmocka_unit_test_setup(test_pace_of_the_clock_is_told, start),
        cmocka_unit_test_setup(test_what_is_known_of_the_modules, start),
        cmocka_unit_test_setup(test_banner, start),
        cmocka_unit_test_setup(test_many_settings_are_all_shown, start),
        cmocka_unit_test_setup(test_banner_of_a_silent_machine, start),
        cmocka_unit_test_setup(test_earlier_run_that_was_cut_short, start),
        cmocka_unit_test_setup(test_not_saved_is_told_loudly, start),
        cmocka_unit_test_setup(test_summary, start),
        cmocka_unit_test_setup(test_strikes_are_told, start),
        cmocka_unit_test_setup(test_experiments, start),
        cmocka_unit_test_setup(test_findings, start),
        cmocka_unit_test_setup(test_failing_file_is_told, start),
        cmocka_unit_test_setup(test_no_line_is_too_long, start),
        cmocka_unit_test_setup(test_q_stops, start),
        cmocka_unit_test_setup(test_progress, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
