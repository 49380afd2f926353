/* Caches and TLBs, from recorded CPUID and, where such data lies beside the project, from dumps of
 * many more processors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw/caches.h"
#include "hw/clock.h"
#include "hw/cpuid.h"
#include "hw/survey.h"
#include "tests/fakes/processor.h"
#include "tests/fakes/recording.h"

#define RECORDINGS "tests/data/cpuid/"
#define DUMPS      "../shared/hardware/cpuid/"

/* ---- recorded processors ---- */

static const struct cache *find_cache(const struct processor *processor, unsigned level,
                                      enum cache_type type)
{
    for (unsigned i = 0; i < processor->caches; i++) {
        if (processor->cache[i].level == level && processor->cache[i].type == type) {
            return &processor->cache[i];
        }
    }
    return NULL;
}

static void expect_cache(const struct recording *recording, const char *name,
                         const struct cache *cache)
{
    const char *text = recording_expects(recording, name);
    uint64_t size = 0;
    unsigned ways = 0;
    assert_non_null(text);
    assert_int_equal(sscanf(text, "%" SCNu64 " %u", &size, &ways), 2);
    assert_non_null(cache);
    assert_int_equal(cache->size, size);
    assert_int_equal(cache->ways, ways);
    assert_int_equal((uint64_t)cache->sets * cache->ways * cache->line, size);
}

/* Checked only where the recording says something. */
static void expect_if_told(const struct recording *recording, const char *name, unsigned found)
{
    const char *text = recording_expects(recording, name);
    if (text != NULL) {
        assert_int_equal(found, strtoul(text, NULL, 10));
    }
}

static void recorded_caches_are_found(void **state)
{
    struct recording recording;
    struct processor processor;
    processor_reset();
    assert_true(recording_load(*state, &recording));
    survey_processor(&processor);
    assert_int_equal(processor.caches, 4);
    const struct cache *l2 = find_cache(&processor, 2, CACHE_UNIFIED);
    const struct cache *l3 = find_cache(&processor, 3, CACHE_UNIFIED);
    expect_cache(&recording, "l1d", find_cache(&processor, 1, CACHE_DATA));
    expect_cache(&recording, "l1i", find_cache(&processor, 1, CACHE_INSTRUCTION));
    expect_cache(&recording, "l2", l2);
    expect_cache(&recording, "l3", l3);
    expect_if_told(&recording, "l3_sets", l3->sets);
    expect_if_told(&recording, "l2_shared_by", l2->shared_by);
    expect_if_told(&recording, "l3_shared_by", l3->shared_by);
    for (unsigned i = 0; i < processor.caches; i++) {
        expect_if_told(&recording, "line", processor.cache[i].line);
    }
    assert_ptr_equal(data_cache(&processor, 1), find_cache(&processor, 1, CACHE_DATA));
    assert_ptr_equal(last_cache(&processor), l3);
    assert_null(data_cache(&processor, 4));
}

static bool serves_data(const struct tlb *tlb)
{
    return tlb->type == CACHE_DATA || tlb->type == CACHE_UNIFIED;
}

static bool tlb_is(const struct tlb *tlb, unsigned level, enum page_size size, unsigned entries,
                   unsigned ways, enum tlb_accesses accesses)
{
    return serves_data(tlb) && tlb->level == level && (tlb->page_sizes >> size & 1) != 0 &&
           tlb->entries == entries && tlb->ways == ways && tlb->accesses == accesses;
}

/* "dtlb1_4k 64 4 loads": level, page size, entries, ways, and what it serves if not everything. */
static void expect_tlb(const struct processor *processor, const struct expectation *expect)
{
    static const char *const sizes[PAGE_SIZES] = { "4k", "2m", "1g" };
    const char *name = expect->name + (expect->name[0] == 'd' ? 4 : 3);
    unsigned entries = 0;
    unsigned ways = 0;
    char accesses[8] = "";
    assert_true(sscanf(expect->value, "%u %u %7s", &entries, &ways, accesses) >= 2);
    unsigned size = 0;
    while (size < PAGE_SIZES && strcmp(sizes[size], name + 2) != 0) {
        size++;
    }
    assert_true(size < PAGE_SIZES);
    bool found = false;
    for (unsigned i = 0; i < processor->tlbs; i++) {
        found = found || tlb_is(&processor->tlb[i], (unsigned)(name[0] - '0'), size, entries, ways,
                                strcmp(accesses, "loads") == 0 ? TLB_LOADS : TLB_ALL_ACCESSES);
    }
    if (!found) {
        fail_msg("no TLB as expected: %s %s", expect->name, expect->value);
    }
}

static void recorded_tlbs_are_found(void **state)
{
    struct recording recording;
    struct processor processor;
    processor_reset();
    assert_true(recording_load(*state, &recording));
    survey_processor(&processor);
    expect_if_told(&recording, "tlbs", processor.tlbs);
    for (size_t i = 0; i < recording.expectations; i++) {
        const struct expectation *expect = &recording.expect[i];
        if (strncmp(expect->name, "dtlb", 4) == 0 ||
            (strncmp(expect->name, "tlb", 3) == 0 && strcmp(expect->name, "tlbs") != 0)) {
            expect_tlb(&processor, expect);
        }
    }
}

static void recorded_clock_is_told(void **state)
{
    struct recording recording;
    struct processor processor;
    processor_reset();
    assert_true(recording_load(*state, &recording));
    survey_processor(&processor);
    const char *hz = recording_expects(&recording, "tsc_hz");
    assert_non_null(hz);
    assert_int_equal(clock_hz_of_leaf_15(&processor), strtoull(hz, NULL, 10));
}

/* ---- what no recording has ---- */

static void load(const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof(path), RECORDINGS "%s", name);
    processor_reset();
    assert_true(recording_load(path, NULL));
}

/* A setting of many firmwares ("limit CPUID maximum") hides leaf 4. */
static void hidden_leaf_4_falls_back_to_descriptors(void **state)
{
    (void)state;
    struct processor processor;
    load("lynnfield.txt");
    processor_cpuid(0, ANY_SUBLEAF)->eax = 3;
    survey_processor(&processor);
    assert_int_equal(processor.caches, 3);
    const struct cache *l1d = find_cache(&processor, 1, CACHE_DATA);
    const struct cache *l2 = find_cache(&processor, 2, CACHE_UNIFIED);
    const struct cache *l3 = find_cache(&processor, 3, CACHE_UNIFIED);
    assert_true(l1d->size == 0x8000 && l1d->ways == 8 && l1d->sets == 64);
    assert_true(l2->size == 0x40000 && l2->ways == 8);
    assert_true(l3->size == 0x800000 && l3->ways == 16);
}

static void no_cache_at_all_is_survived(void **state)
{
    (void)state;
    struct processor processor;
    load("sapphire_rapids.txt");
    processor_cpuid(4, 0)->eax = 0;
    survey_processor(&processor);
    /* Leaf 2 says only "see leaf 4"; 80000006h still has a second level. */
    assert_int_equal(processor.caches, 1);
    assert_int_equal(last_cache(&processor)->level, 2);
    *processor_cpuid(0x80000006, ANY_SUBLEAF) = (struct cpuid_regs){ 0 };
    survey_processor(&processor);
    assert_int_equal(processor.caches, 0);
    assert_null(last_cache(&processor));
    assert_null(data_cache(&processor, 1));
}

static void fully_associative_and_untold_ways(void **state)
{
    (void)state;
    struct processor processor;
    load("qemu_qemu64.txt");
    processor_cpuid(0x80000006, ANY_SUBLEAF)->ecx = 0x0200f140;
    processor_cpuid(0x80000006, ANY_SUBLEAF)->edx = 0x00809140;
    survey_processor(&processor);
    assert_int_equal(data_cache(&processor, 2)->ways, 512 * KIB / 64);
    assert_int_equal(data_cache(&processor, 2)->sets, 1);
    assert_int_equal(data_cache(&processor, 3)->ways, 0);
    assert_int_equal(data_cache(&processor, 3)->sets, 0);
    assert_int_equal(data_cache(&processor, 3)->size, 16 * MIB);
}

static void partitions_count(void **state)
{
    (void)state;
    struct processor processor;
    load("sapphire_rapids.txt");
    processor_cpuid(4, 3)->ebx |= 1U << 12; /* two */
    survey_processor(&processor);
    assert_int_equal(last_cache(&processor)->size, 2 * 39321600);
}

static void endless_leaves_end(void **state)
{
    (void)state;
    struct processor processor;
    load("sapphire_rapids.txt");
    struct cpuid_regs same = *processor_cpuid(4, 0);
    *processor_cpuid(4, ANY_SUBLEAF) = same;
    for (int64_t i = 0; i < 4; i++) {
        *processor_cpuid(4, i) = same;
    }
    processor_cpuid(0x18, 0)->eax = UINT32_MAX;
    *processor_cpuid(0x18, ANY_SUBLEAF) = *processor_cpuid(0x18, 1);
    survey_processor(&processor);
    assert_int_equal(processor.caches, MACHINE_CACHES);
    assert_int_equal(processor.tlbs, MACHINE_TLBS);
}

static void unified_second_level_tlb_of_old_amd(void **state)
{
    (void)state;
    struct processor processor;
    load("qemu_qemu64.txt");
    processor_cpuid(0x80000006, ANY_SUBLEAF)->ebx = 0x00004200;
    survey_processor(&processor);
    const struct tlb *last = &processor.tlb[processor.tlbs - 1];
    assert_true(last->level == 2 && last->type == CACHE_UNIFIED && last->entries == 512);
}

/* ---- dumps beside the project ---- */

enum { COLUMNS = 48, COLUMN_BYTES = 96 };

struct row {
    char column[COLUMNS][COLUMN_BYTES];
};

/* Commas separate, unless quoted. */
static void split(const char *line, struct row *row)
{
    unsigned column = 0;
    size_t length = 0;
    bool quoted = false;
    memset(row, 0, sizeof(*row));
    for (; *line != '\0' && *line != '\n' && *line != '\r'; line++) {
        if (*line == '"') {
            quoted = !quoted;
        } else if (*line == ',' && !quoted) {
            column++;
            length = 0;
            assert_true(column < COLUMNS);
        } else if (length + 1 < COLUMN_BYTES) {
            row->column[column][length++] = *line;
        }
    }
}

static const char *value(const struct row *heading, const struct row *row, const char *name)
{
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (strcmp(heading->column[i], name) == 0) {
            return row->column[i];
        }
    }
    fail_msg("expected.csv has no column %s", name);
    return NULL;
}

static void compare_number(const struct row *heading, const struct row *row, const char *name,
                           uint64_t found)
{
    const char *wanted = value(heading, row, name);
    if (strtoull(wanted, NULL, 10) != found) {
        fail_msg("%s, logical processor %s: %s is %s, found %" PRIu64, row->column[0],
                 value(heading, row, "logical_cpu"), name, wanted, found);
    }
}

static void compare_flag(const struct row *heading, const struct row *row, const char *name,
                         bool found)
{
    if ((strcmp(value(heading, row, name), "yes") == 0) != found) {
        fail_msg("%s: %s is %s", row->column[0], name, value(heading, row, name));
    }
}

static void compare_cache(const struct row *heading, const struct row *row,
                          const struct processor *processor, unsigned level)
{
    static const char *const names[][2] = { { "l1d_kib", "l1d_ways" },
                                            { "l2_kib", "l2_ways" },
                                            { "l3_kib", "l3_ways" } };
    const struct cache *cache = data_cache(processor, level);
    compare_number(heading, row, names[level - 1][0], cache != NULL ? cache->size / KIB : 0);
    compare_number(heading, row, names[level - 1][1], cache != NULL ? cache->ways : 0);
}

static char core_letter(const struct processor *processor)
{
    static const char letters[] = { '\0', 'P', 'E' };
    return letters[processor->core_type];
}

static void compare_dump(const struct row *heading, const struct row *row)
{
    char path[128];
    struct processor processor;
    (void)snprintf(path, sizeof(path), DUMPS "%s", row->column[0]);
    processor_reset();
    assert_true(
        recording_load_dump(path, (unsigned)strtoul(value(heading, row, "logical_cpu"), NULL, 10)));
    survey_processor(&processor);

    assert_string_equal(processor.vendor, value(heading, row, "vendor"));
    assert_string_equal(processor.brand, value(heading, row, "brand"));
    assert_string_equal(processor.hypervisor, "");
    assert_int_equal(core_letter(&processor), value(heading, row, "core_type")[0]);
    compare_number(heading, row, "family", processor.family);
    compare_number(heading, row, "model", processor.model);
    compare_number(heading, row, "stepping", processor.stepping);
    for (unsigned level = 1; level <= 3; level++) {
        compare_cache(heading, row, &processor, level);
    }
    compare_number(heading, row, "line", data_cache(&processor, 1)->line);
    compare_flag(heading, row, "invariant_tsc", has_feature(&processor, FEATURE_INVARIANT_TSC));
    compare_flag(heading, row, "pages_1g", has_feature(&processor, FEATURE_PAGES_1G));
    compare_flag(heading, row, "la57", has_feature(&processor, FEATURE_LA57));
    const char *hz = value(heading, row, "tsc_hz_leaf15");
    compare_number(heading, row, hz[0] != '\0' ? "tsc_hz_leaf15" : "tsc_hz_fallback",
                   clock_hz_of_leaf_15(&processor));
}

static void every_dump_decodes_as_expected(void **state)
{
    (void)state;
    FILE *file = fopen(DUMPS "expected.csv", "r");
    if (file == NULL) {
        print_message("extra data is not there\n");
        skip();
    }
    static struct row heading;
    static struct row row;
    char line[1024];
    unsigned rows = 0;
    assert_non_null(fgets(line, sizeof(line), file));
    split(line, &heading);
    while (fgets(line, sizeof(line), file) != NULL) {
        split(line, &row);
        compare_dump(&heading, &row);
        rows++;
    }
    fclose(file);
    assert_true(rows >= 17);
}

static const struct CMUnitTest scripted[] = {
    cmocka_unit_test(hidden_leaf_4_falls_back_to_descriptors),
    cmocka_unit_test(no_cache_at_all_is_survived),
    cmocka_unit_test(fully_associative_and_untold_ways),
    cmocka_unit_test(partitions_count),
    cmocka_unit_test(endless_leaves_end),
    cmocka_unit_test(unified_second_level_tlb_of_old_amd),
    cmocka_unit_test(every_dump_decodes_as_expected),
};

static const struct {
    const char *name;
    CMUnitTestFunction function;
} of_recordings[] = {
    { "caches", recorded_caches_are_found },
    { "tlbs", recorded_tlbs_are_found },
    { "clock", recorded_clock_is_told },
};

enum {
    SCRIPTED = sizeof(scripted) / sizeof(scripted[0]),
    OF_RECORDINGS = sizeof(of_recordings) / sizeof(of_recordings[0]),
    MOST_RECORDINGS = 64,
};

/* For each recording a test of each kind, named after both. */
int main(void)
{
    static struct CMUnitTest tests[SCRIPTED + OF_RECORDINGS * MOST_RECORDINGS];
    static char names[OF_RECORDINGS * MOST_RECORDINGS][96];
    glob_t files;
    if (glob(RECORDINGS "*.txt", 0, NULL, &files) != 0 || files.gl_pathc > MOST_RECORDINGS) {
        fprintf(stderr, "no recorded processors in " RECORDINGS "\n");
        return EXIT_FAILURE;
    }
    memcpy(tests, scripted, sizeof(scripted));
    size_t count = files.gl_pathc * OF_RECORDINGS;
    for (size_t i = 0; i < count; i++) {
        char *path = files.gl_pathv[i / OF_RECORDINGS];
        const char *file = strrchr(path, '/') + 1;
        (void)snprintf(names[i], sizeof(names[i]), "%s_of_%.*s",
                       of_recordings[i % OF_RECORDINGS].name, (int)strcspn(file, "."), file);
        tests[SCRIPTED + i] =
            (struct CMUnitTest){ .name = names[i],
                                 .test_func = of_recordings[i % OF_RECORDINGS].function,
                                 .initial_state = path };
    }
    int failed = _cmocka_run_group_tests("caches", tests, SCRIPTED + count, NULL, NULL);
    globfree(&files);
    return failed;
}
