/* results.json: the whole run is in it, unrounded; the unknown is null. (That it keeps to its schema
 * is checked by tests/model/test_schema.py.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "console/results_json.h"
#include "tests/fakes/example_run.h"
#include "tests/fakes/text_sink.h"

static struct example_run run;
static struct text_sink text;
static struct sink sink;

static int start(void **state)
{
    (void)state;
    example_run_make(&run);
    text_sink_reset(&text);
    sink = text_sink_of(&text);
    return 0;
}

static void write(void)
{
    text_sink_reset(&text);
    assert_int_equal(results_json_write(&sink, &run.results), OK);
}

static void assert_has(const char *part)
{
    if (!strstr(text.text, part)) {
        fail_msg("no %s in %s", part, text.text);
    }
}

static void test_head(void **state)
{
    (void)state;
    write();
    assert_has("\"schema\": \"ironchase-results\",\n  \"version\": 1,\n");
    assert_has("\"program\": {\"name\": \"ironchase\", \"version\": \"0.1.0\", \"commit\": "
               "\"abcdef012345\", \"compiler\": \"gcc 12.2.0\", \"platform\": \"uefi\"}");
    assert_has("\"status\": \"failed\",\n  \"reason\": \"an experiment faulted\"");
    assert_has("\"started\": \"2026-01-31T12:34:56\"");
    assert_has("\"name\": \"B\xC3\xBCro \\ufffd 1\"");
    assert_has("\"repeat_line\": \"suite=smoke experiments=chase,selftest\"");
    assert_has("\"suite\": {\"value\": \"smoke\", \"source\": \"ironchase.cfg:12\"}");
}

static void test_machine(void **state)
{
    (void)state;
    write();
    assert_has("\"vendor\": \"GenuineIntel\"");
    assert_has("\"microcode\": 721421712");
    assert_has("\"core_type\": \"performance\"");
    assert_has("\"hypervisor\": \"TCG\"");
    assert_has("{\"level\": 3, \"type\": \"unified\", \"size\": 62914560, \"ways\": 15, \"sets\": "
               "65536, \"line\": 64, \"shared_by\": 64}");
    assert_has("{\"level\": 2, \"type\": \"unified\", \"accesses\": \"all\", \"page_sizes\": "
               "[\"4K\", \"2M\"], \"entries\": 1536, \"ways\": 12}");
    assert_has("\"vendor\": \"Example \\\"Inc\\\"\"");
    assert_has("\"serial\": null");
    assert_has("\"uefi\": \"2.70\"");
    assert_has("{\"size\": \"1G\", \"available\": false, \"reason\": \"no free aligned GiB\"}");
    assert_has("\"tsc_hz\": 2994374531, ");
    assert_has("\"disagreement_ppm\": 12.34, ");
    assert_has("\"windows\": {\"opened\": 321, \"nmis\": 2, \"machine_checks\": 1, "
               "\"interrupts\": 17}");
}

static void test_dimms(void **state)
{
    (void)state;
    write();
    assert_has("{\"socket\": \"DIMM_A1\", \"bank\": null, \"channel\": 1, \"populated\": true, "
               "\"size\": 2147483648, \"type\": \"DDR5\", \"form\": null, \"maker\": \"Maker\", "
               "\"part\": null, \"rated_mts\": 5600, \"configured_mts\": 4800, \"ranks\": null, "
               "\"data_bits\": null, \"total_bits\": null, \"error_correction\": "
               "\"multi-bit\"}");
    assert_has("{\"socket\": \"DIMM_B2\", \"bank\": null, \"channel\": 2, \"populated\": false, "
               "\"size\": null, ");
    assert_has("\"dimm_summary\": {\"sockets\": 4, \"populated\": 2, \"channels\": 2, "
               "\"channels_populated\": 2, \"reason\": null}");
    run.machine.memory = (struct memory_facts){ .reason = "the firmware has none" };
    write();
    assert_has("\"dimms\": null");
    assert_has("\"dimm_summary\": {\"sockets\": null, \"populated\": null, \"channels\": null, "
               "\"channels_populated\": null, \"reason\": \"the firmware has none\"}");
}

/* A plain machine of which little is known: null, never 0 or "". */
static void test_the_unknown_is_null(void **state)
{
    (void)state;
    struct processor *processor = &run.machine.processor;
    processor->microcode = 0;
    processor->core_type = CORE_UNKNOWN;
    processor->hypervisor[0] = 0;
    run.machine.clock = (struct clock){ .reason = "not monotonic" };
    run.results.started[0] = 0;
    run.results.noise.measured = false;
    run.results.strikes = NULL;
    write();
    assert_has("\"microcode\": null");
    assert_has("\"core_type\": null");
    assert_has("\"hypervisor\": null");
    assert_has("\"tsc_hz\": null, \"source\": null, \"checked_by\": null, \"disagreement_ppm\": "
               "null, \"invariant\": false, \"core_hz\": null, \"core_source\": null, \"reason\": "
               "\"not monotonic\"}");
    assert_has("\"started\": null");
    assert_has("\"noise\": null");
    assert_has("\"windows\": null");
}

/* Two sources that agree to the last digit differ by 0, which is not the same as unknown. */
static void test_no_disagreement_is_zero(void **state)
{
    (void)state;
    run.machine.clock.disagreement_ppm = 0;
    write();
    assert_has("\"disagreement_ppm\": 0, ");
}

static void test_point(void **state)
{
    (void)state;
    write();
    assert_has("{\"variant\": {\"working_set\": 1048576, \"page_size\": 2097152, \"order\": "
               "\"random\", \"placement\": \"scattered\"}, \"operations\": 1000000, \"unit\": "
               "\"load\", \"ns\": {\"median\": 4.25, ");
    assert_has("\"ci95\": [4.22875, 4.271249999999999], \"coverage\": 0.98828125, ");
    assert_has("\"flags\": [\"noisy\", \"suspect\", \"emulated\"], \"reason\": \"faster than a "
               "smaller set\", \"proof\": {\"cycle_length\": 16384, \"page_leaves\": {\"4K\": 0, "
               "\"2M\": 0, \"1G\": 0}, \"memory_type\": \"WB\", \"tables\": 2113929216, "
               "\"prefetchers\": null}}");
    assert_has("\"median\": 0.30000000000000004, "); /* not rounded */
    assert_has("\"samples\": 3, \"visits\": 1}, \"cycles\": null, \"counters\": null, ");
    assert_has("\"predicted\": 12.25, \"class\": \"L2\"");
    assert_has("\"counters\": {\"instructions\": null, \"cycles\": null, \"l1d_miss\": 0.125, ");
    assert_has("\"proof\": {\"cycle_length\": null, \"page_leaves\": null, \"memory_type\": null, "
               "\"tables\": null, \"prefetchers\": null}");
}

static void test_prefetchers_that_were_seen(void **state)
{
    (void)state;
    write();
    assert_has("\"prefetchers\": {\"l2_stream\": \"off\", \"dcu\": \"off\", \"llc_stream\": null}");
    run.point[0].proof.prefetchers_off = 2;
    write();
    assert_has("\"prefetchers\": {\"l2_stream\": \"on\", \"dcu\": \"off\", \"llc_stream\": null}");
}

static void test_prefetchers_of_the_machine(void **state)
{
    (void)state;
    write();
    assert_has("{\"name\": \"l2_stream\", \"found\": \"on\", \"works\": true}");
    assert_has("{\"name\": \"dcu\", \"found\": \"off\", \"works\": true}");
    assert_has("{\"name\": \"llc_stream\", \"found\": null, \"works\": false}");
    assert_has("\"without_switch\": \"memory controller\"");
    assert_has("\"reason\": \"some switches refuse or ignore being put to off\"");
    run.machine.prefetchers = (struct prefetcher_facts){ .reason = "a hypervisor" };
    write();
    assert_has("\"switches\": []");
    assert_has("\"without_switch\": null");
}

static void test_experiments(void **state)
{
    (void)state;
    write();
    assert_has("\"name\": \"faulty\",\n      \"title\": \"Faults on purpose\",\n      \"status\": "
               "\"failed\",\n      \"reason\": \"page fault in the loop\",\n      \"fault\": "
               "{\"vector\": 14, \"code\": 2, \"ip\": \"0xffff800000001234\", \"address\": "
               "\"0xffff900000000000\"}");
    assert_has("{\"name\": \"stack overflow\", \"ok\": false, \"text\": \"vector 8 instead of "
               "14\"}");
    assert_has("\"status\": \"skipped\",\n      \"reason\": \"one node only\",\n      \"fault\": "
               "null,\n      \"points\": [],\n      \"checks\": []");
    assert_int_equal(text_sink_count(&text, "{\"variant\": "), EXAMPLE_POINTS);
}

static void test_findings(void **state)
{
    (void)state;
    write();
    assert_has("{\"name\": \"l1d_size\", \"measured\": 49152, \"unit\": \"bytes\", \"claimed\": "
               "49152, \"agrees\": true, ");
    assert_has("\"claimed\": 2097152, \"agrees\": false, ");
    assert_has(
        "{\"name\": \"l3_size\", \"measured\": null, \"unit\": \"bytes\", \"claimed\": null, "
        "\"agrees\": null, ");
}

static void test_failing_file_is_told(void **state)
{
    (void)state;
    text.takes = 2000;
    text.fails_with = DENIED;
    assert_int_equal(results_json_write(&sink, &run.results), DENIED);
    assert_int_equal(text.used, 2000);
}

static void test_empty_run(void **state)
{
    (void)state;
    run.results.experiments = 0;
    run.results.findings = 0;
    run.results.settings = 0;
    write();
    assert_has("\"settings\": {},\n");
    assert_has("\"experiments\": [],\n  \"findings\": []\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_head, start),
        cmocka_unit_test_setup(test_machine, start),
        cmocka_unit_test_setup(test_dimms, start),
        cmocka_unit_test_setup(test_the_unknown_is_null, start),
        cmocka_unit_test_setup(test_no_disagreement_is_zero, start),
        cmocka_unit_test_setup(test_point, start),
        cmocka_unit_test_setup(test_prefetchers_that_were_seen, start),
        cmocka_unit_test_setup(test_prefetchers_of_the_machine, start),
        cmocka_unit_test_setup(test_experiments, start),
        cmocka_unit_test_setup(test_findings, start),
        cmocka_unit_test_setup(test_failing_file_is_told, start),
        cmocka_unit_test_setup(test_empty_run, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
