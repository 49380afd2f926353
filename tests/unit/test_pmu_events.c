/* The event table against the list of events, in both directions, and which processor has which
 * part of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hw/cpuid.h"
#include "hw/pmu_events.h"
#include "hw/survey.h"
#include "tests/fakes/processor.h"
#include "tests/fakes/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const list = "tests/data/events.csv";

/* In the order of the enumeration, which is that of the list. */
static char logical[PMU_EVENTS][40];
static size_t logicals;

static enum pmu_event event_named(const char *text)
{
    for (size_t i = 0; i < logicals; i++) {
        if (strcmp(logical[i], text) == 0) {
            return (enum pmu_event)i;
        }
    }
    assert_true(logicals < PMU_EVENTS);
    (void)snprintf(logical[logicals], sizeof logical[0], "%s", text);
    return (enum pmu_event)logicals++;
}

static enum pmu_microarchitecture microarchitecture_named(const char *text)
{
    for (unsigned i = 0; i < PMU_MICROARCHITECTURES; i++) {
        if (strcmp(pmu_microarchitecture_name((enum pmu_microarchitecture)i), text) == 0) {
            return (enum pmu_microarchitecture)i;
        }
    }
    fail_msg("no microarchitecture %s", text);
    return PMU_UNKNOWN;
}

struct line {
    char uarch[16], event_name[40], event[8];
    unsigned umask, cmask, inv, edge, any, counters, umask2, proxy;
    unsigned long long response;
};

static bool read_line(FILE *file, struct line *line)
{
    char text[160];
    if (!fgets(text, sizeof text, file)) {
        return false;
    }
    assert_int_equal(sscanf(text, "%15[^,],%39[^,],%7[^,],%x,%u,%u,%u,%u,%x,%llx,%u,%u",
                            line->uarch, line->event_name, line->event, &line->umask, &line->cmask,
                            &line->inv, &line->edge, &line->any, &line->counters, &line->response,
                            &line->umask2, &line->proxy),
                     12);
    return true;
}

static void compare(const struct line *line)
{
    struct pmu_code code;
    const bool fixed = strcmp(line->event, "fixed") == 0;
    if (!pmu_code(microarchitecture_named(line->uarch), event_named(line->event_name), &code)) {
        fail_msg("%s has no %s", line->uarch, line->event_name);
    }
    assert_int_equal(code.fixed, fixed);
    assert_int_equal(code.event, fixed ? 0 : strtoul(line->event, NULL, 16));
    assert_int_equal(code.umask, line->umask);
    assert_int_equal(code.umask2, line->umask2);
    assert_int_equal(code.cmask, line->cmask);
    assert_int_equal(code.inverted, line->inv);
    assert_int_equal(code.edge, line->edge);
    assert_int_equal(code.any_thread, line->any);
    assert_int_equal(code.counters, line->counters);
    assert_int_equal(code.response, line->response);
    assert_int_equal(code.proxy, line->proxy);
    assert_true(code.pairing == PAIR_NONE || code.response != 0);
}

static void test_every_row(void **state)
{
    (void)state;
    struct line line;
    char heading[160];
    size_t lines = 0;
    size_t known = 0;
    FILE *file = fopen(list, "r");
    assert_non_null(file);
    assert_non_null(fgets(heading, sizeof heading, file));
    for (; read_line(file, &line); lines++) {
        compare(&line);
    }
    (void)fclose(file);
    assert_int_equal(logicals, PMU_EVENTS);
    for (unsigned u = 0; u < PMU_MICROARCHITECTURES; u++) {
        for (unsigned e = 0; e < PMU_EVENTS; e++) {
            struct pmu_code code;
            known += pmu_code((enum pmu_microarchitecture)u, (enum pmu_event)e, &code) ? 1 : 0;
        }
    }
    assert_int_equal(known, lines);
}

/* The project's list is what the script makes of the full one. */
static void test_the_list_is_made_by_the_script(void **state)
{
    (void)state;
    static const char *const full = "../shared/hardware/events.csv";
    char command[160];
    if (access(full, R_OK) != 0) {
        print_message("the full list of events is not there\n");
        skip();
    }
    (void)snprintf(command, sizeof command, "python3 tests/data/make_events.py %s data | cmp - %s",
                   full, list);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a fixed command of a test */
}

static void test_pairs_of_offcore_registers(void **state)
{
    (void)state;
    static const struct {
        enum pmu_microarchitecture microarchitecture;
        enum pmu_pairing pairing;
    } pairs[] = {
        { UARCH_NHM_EP, PAIR_NONE }, { UARCH_WSM_EX, PAIR_NONE }, { UARCH_WSM_EP_DP, PAIR_BB },
        { UARCH_SNB, PAIR_BB },      { UARCH_ICX, PAIR_BB },      { UARCH_SPR, PAIR_2B },
        { UARCH_LNL_P, PAIR_2B },    { UARCH_GLM, PAIR_UMASK },   { UARCH_ADL_E, PAIR_UMASK },
        { UARCH_CWF, PAIR_UMASK },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct pmu_code code;
        assert_true(pmu_code(pairs[i].microarchitecture, PMU_DEMAND_DRAM_READS, &code));
        assert_int_equal(code.pairing, pairs[i].pairing);
        assert_int_not_equal(code.response, 0);
    }
}

static void test_who_is_who(void **state)
{
    (void)state;
    static const struct {
        const char *vendor;
        unsigned family, model, stepping;
        enum core_type core;
        unsigned native;
        const char *name;
    } parts[] = {
        { "GenuineIntel", 6, 0x55, 4, CORE_UNKNOWN, 0, "SKX" },
        { "GenuineIntel", 6, 0x55, 7, CORE_UNKNOWN, 0, "CLX" },
        { "GenuineIntel", 6, 0xB7, 1, CORE_PERFORMANCE, 1, "ADL-P" },
        { "GenuineIntel", 6, 0xB7, 1, CORE_EFFICIENT, 1, "ADL-E" },
        { "GenuineIntel", 6, 0xB7, 1, CORE_UNKNOWN, 0, "ADL-P" },
        { "GenuineIntel", 6, 0xBE, 0, CORE_EFFICIENT, 1, "ADL-E" },
        { "GenuineIntel", 6, 0xC5, 2, CORE_EFFICIENT, 2, "MTL-E" },
        { "GenuineIntel", 6, 0xC5, 2, CORE_EFFICIENT, 3, "ARL-E" },
        { "GenuineIntel", 6, 0xE5, 0, CORE_PERFORMANCE, 0, "PTL-P" },
        { "GenuineIntel", 6, 0x00, 0, CORE_UNKNOWN, 0, "" },
        { "GenuineIntel", 6, 0x17, 0, CORE_UNKNOWN, 0, "" },
        { "GenuineIntel", 15, 0x55, 4, CORE_UNKNOWN, 0, "" },
        { "GenuineIntel", 0x19, 0x11, 1, CORE_UNKNOWN, 0, "" },
        { "AuthenticAMD", 0x17, 0x00, 0, CORE_UNKNOWN, 0, "Zen1" },
        { "AuthenticAMD", 0x17, 0x31, 0, CORE_UNKNOWN, 0, "Zen2" },
        { "AuthenticAMD", 0x19, 0x21, 2, CORE_UNKNOWN, 0, "Zen3" },
        { "AuthenticAMD", 0x19, 0xA0, 2, CORE_UNKNOWN, 0, "Zen4" },
        { "AuthenticAMD", 0x1A, 0x44, 0, CORE_UNKNOWN, 0, "Zen5" },
        { "AuthenticAMD", 0x19, 0x30, 0, CORE_UNKNOWN, 0, "" },
        { "AuthenticAMD", 0x15, 0x02, 0, CORE_UNKNOWN, 0, "" },
        { "AuthenticAMD", 6, 0x8F, 0, CORE_UNKNOWN, 0, "" },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct processor processor = {
            .family = parts[i].family,
            .model = parts[i].model,
            .stepping = parts[i].stepping,
            .core_type = parts[i].core,
        };
        (void)snprintf(processor.vendor, sizeof processor.vendor, "%s", parts[i].vendor);
        assert_string_equal(
            pmu_microarchitecture_name(pmu_microarchitecture(&processor, parts[i].native)),
            parts[i].name);
    }
}

static void test_recorded_processors(void **state)
{
    (void)state;
    static const struct {
        const char *file, *name;
    } recorded[] = { { "genoa", "Zen4" },         { "turin", "Zen5" },
                     { "naples", "Zen1" },        { "sapphire_rapids", "SPR" },
                     { "alder_lake_p", "ADL-P" }, { "alder_lake_e", "ADL-E" },
                     { "kaby_lake", "SKL" },      { "lynnfield", "NHM-EP" },
                     { "qemu_max", "" } };
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        struct processor processor;
        char path[64];
        (void)snprintf(path, sizeof path, "tests/data/cpuid/%s.txt", recorded[i].file);
        processor_reset();
        assert_true(recording_load(path, NULL));
        survey_processor(&processor);
        assert_string_equal(pmu_microarchitecture_name(pmu_microarchitecture(&processor, 0)),
                            recorded[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_the_list_is_made_by_the_script),
        cmocka_unit_test(test_pairs_of_offcore_registers),
        cmocka_unit_test(test_who_is_who),
        cmocka_unit_test(test_recorded_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
