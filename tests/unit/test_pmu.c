/* The counters: how many a core has, on which of them events go, what is written to start them, in
 * which order, and that all of it comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hw/cpuid.h"
#include "hw/pmu.h"
#include "hw/survey.h"
#include "tests/fakes/processor.h"
#include "tests/fakes/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct processor processor;
static struct pmu pmu;
static struct msr_saves saves;

/* ---- the machine -------------------------------------------------------------------------------- */

/* What one reading of a counter adds to it. */
static uint64_t growth;
static uint64_t counted[64];
static bool deaf;

static bool read_counter(void *self, uint32_t index, uint64_t *value)
{
    (void)self;
    const unsigned slot = index >= 0x40000000 ? 32 + (index & 0xF) : index & 0xF;
    counted[slot] += growth;
    *value = counted[slot];
    return !deaf;
}

static const uint32_t intel_registers[] = { 0xC1,  0xC2,  0xC3,  0xC4,  0xC5,  0xC6,  0xC7,
                                            0xC8,  0x186, 0x187, 0x188, 0x189, 0x18A, 0x18B,
                                            0x18C, 0x18D, 0x1A6, 0x1A7, 0x309, 0x30A, 0x30B,
                                            0x30C, 0x30D, 0x30E, 0x30F, 0x38D, 0x38F, 0x4C1,
                                            0x4C2, 0x4C3, 0x4C4, 0x4C5, 0x4C6, 0x4C7, 0x4C8 };

enum { INTEL_REGISTERS = sizeof intel_registers / sizeof *intel_registers };

static uint32_t register_number(size_t i)
{
    if (i < INTEL_REGISTERS) {
        return intel_registers[i];
    }
    i -= INTEL_REGISTERS;
    if (i < 16) {
        return 0xC0010200 + (uint32_t)i;
    }
    return i < 24 ? 0xC0010000 + (uint32_t)i - 16 : 0xC0000301;
}

enum { REGISTERS = INTEL_REGISTERS + 25 };

/* Every register holds something of its own: what comes back must be just that. */
static uint64_t found_in(size_t i)
{
    return 0x1000 + i;
}

static int set_up(void **state)
{
    (void)state;
    static const struct hooks hooks = { .read_counter = read_counter };
    processor_reset();
    processor_set_hooks(&hooks);
    for (size_t i = 0; i < REGISTERS; i++) {
        processor_msr(register_number(i))->value = found_in(i);
    }
    *processor_msr(0x38E) = (struct scripted_msr){ .value = 0, .read_only = true };
    processor_msr(0x390)->value = 0;
    *processor_msr(0x345) = (struct scripted_msr){ .value = 1U << 13, .read_only = true };
    *processor_msr(0xC0000300) = (struct scripted_msr){ .value = 0, .read_only = true };
    processor_msr(0xC0000302)->value = 0;
    *processor_cpuid(0, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 0x23 };
    *processor_cpuid(1, ANY_SUBLEAF) = (struct cpuid_regs){ .ecx = 1U << 15 };
    *processor_cpuid(0x80000000, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 0x80000022 };
    memset(&saves, 0, sizeof saves);
    memset(counted, 0, sizeof counted);
    growth = 10050;
    deaf = false;
    return 0;
}

struct part {
    const char *vendor;
    unsigned family, model, stepping;
    enum core_type core;
    unsigned version, counters, fixed;
};

static void become(const struct part *part)
{
    (void)set_up(NULL);
    processor = (struct processor){
        .family = part->family,
        .model = part->model,
        .stepping = part->stepping,
        .core_type = part->core,
    };
    (void)snprintf(processor.vendor, sizeof processor.vendor, "%s", part->vendor);
    if (strcmp(part->vendor, "GenuineIntel") == 0) {
        *processor_cpuid(0x0A, ANY_SUBLEAF) = (struct cpuid_regs){
            .eax = part->version | part->counters << 8 | 48U << 16 | 7U << 24,
            .edx = part->fixed | 48U << 5,
        };
        return;
    }
    processor_cpuid(0x80000001, ANY_SUBLEAF)->ecx = part->version >= 1 ? 1U << 23 : 0;
    *processor_cpuid(0x80000022, ANY_SUBLEAF) = (struct cpuid_regs){
        .eax = part->version >= 2 ? 1 : 0,
        .ebx = part->counters,
    };
}

static void assert_all_restored(void)
{
    assert_int_equal(msr_restore(&saves), 0);
    for (size_t i = 0; i < REGISTERS; i++) {
        assert_int_equal(processor_msr(register_number(i))->value, found_in(i));
    }
}

/* "38F=0 186=43412E …": the log's writes, in order. */
static void write_down(char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; processor_access(i); i++) {
        const struct access *access = processor_access(i);
        if (access->kind == ACCESS_WRMSR) {
            assert_true(used < room);
            used += (size_t)snprintf(text + used, room - used, "%s%" PRIX64 "=%" PRIX64,
                                     used == 0 ? "" : " ", access->address, access->value);
        }
    }
}

/* ---- what is written ---------------------------------------------------------------------------- */

enum { SET = 6 };

static const struct started {
    struct part part;
    enum pmu_event event[SET];
    const char *writes;
} started[] = {
    /* NHM-EP */
    { { "GenuineIntel", 6, 0x1E, 5, CORE_UNKNOWN, 3, 4, 3 },
      { PMU_INSTRUCTIONS_FIXED, PMU_CYCLES_FIXED, PMU_L1D_REPLACEMENT, PMU_L3_LOAD_MISS,
        PMU_DEMAND_DRAM_READS, PMU_BRANCHES },
      "38F=0 38D=0 186=0 187=0 188=0 189=0 309=0 30A=0 4C1=0 4C2=0 4C3=0 4C4=0 1A6=6001 "
      "186=420151 187=4210CB 188=4201B7 189=4204C4 38D=11 38F=30000000F" },
    /* SNB-EP */
    { { "GenuineIntel", 6, 0x2D, 7, CORE_UNKNOWN, 3, 4, 3 },
      { PMU_INSTRUCTIONS_FIXED, PMU_CYCLES_FIXED, PMU_L1D_REPLACEMENT, PMU_STALL_CYCLES_L1D_MISS,
        PMU_DEMAND_DRAM_READS, PMU_DTLB_LOAD_WALK_COMPLETED },
      "38F=0 38D=0 186=0 187=0 188=0 189=0 309=0 30A=0 4C1=0 4C3=0 4C2=0 4C4=0 "
      "1A6=3FFFC20001 186=420151 188=64206A3 187=4201B7 189=420208 38D=11 38F=30000000F" },
    /* HSX */
    { { "GenuineIntel", 6, 0x3F, 2, CORE_UNKNOWN, 3, 4, 3 },
      { PMU_INSTRUCTIONS_FIXED, PMU_CYCLES_FIXED, PMU_L1D_LOAD_MISS, PMU_L2_LOAD_MISS,
        PMU_STALL_CYCLES_L1D_MISS, PMU_DEMAND_DRAM_READS },
      "38F=0 38D=0 186=0 187=0 188=0 189=0 309=0 30A=0 4C1=0 4C2=0 4C3=0 4C4=0 "
      "1A6=3FBFC00001 186=4208D1 187=4210D1 188=C420CA3 189=4201B7 38D=11 38F=30000000F" },
    /* SKL */
    { { "GenuineIntel", 6, 0x9E, 10, CORE_UNKNOWN, 4, 4, 3 },
      { PMU_INSTRUCTIONS_FIXED, PMU_CYCLES_FIXED, PMU_L1D_LOAD_MISS, PMU_PAGE_WALK_CYCLES_LOAD,
        PMU_MACHINE_CLEARS_ANY, PMU_DEMAND_DRAM_READS },
      "38F=0 38D=0 186=0 187=0 188=0 189=0 309=0 30A=0 4C1=0 4C2=0 4C3=0 4C4=0 "
      "1A6=3FFC400001 186=4208D1 187=1421008 188=14601C3 189=4201B7 38D=11 38F=30000000F" },
    /* CLX */
    { { "GenuineIntel", 6, 0x55, 7, CORE_UNKNOWN, 4, 4, 3 },
      { PMU_INSTRUCTIONS_FIXED, PMU_CYCLES_FIXED, PMU_L3_LOAD_MISS, PMU_DEMAND_DRAM_READS,
        PMU_STALL_CYCLES_TOTAL, PMU_STALL_CYCLES_MEM_ANY },
      "38F=0 38D=0 186=0 187=0 188=0 189=0 309=0 30A=0 4C1=0 4C2=0 4C3=0 4C4=0 "
      "1A6=3FBC000001 186=4220D1 187=4201B7 188=44204A3 189=144214A3 38D=11 38F=30000000F" },
    /* ICX */
    { { "GenuineIntel", 6, 0x6A, 6, CORE_UNKNOWN, 5, 8, 4 },
      { PMU_INSTRUCTIONS_FIXED, PMU_CYCLES_FIXED, PMU_L1D_LOAD_MISS, PMU_STALL_CYCLES_TOTAL,
        PMU_DEMAND_DRAM_READS, PMU_TOPDOWN_SLOTS_FIXED },
      "38F=0 38D=0 186=0 187=0 188=0 189=0 18A=0 18B=0 18C=0 18D=0 309=0 30A=0 4C1=0 4C2=0 "
      "4C3=0 30C=0 1A6=73C000001 186=4208D1 187=44204A3 188=4201B7 38D=1011 38F=B00000007" },
    /* SPR */
    { { "GenuineIntel", 6, 0x8F, 8, CORE_UNKNOWN, 5, 8, 4 },
      { PMU_INSTRUCTIONS_FIXED, PMU_CYCLES_FIXED, PMU_L1D_LOAD_MISS, PMU_STALL_CYCLES_L3_MISS,
        PMU_DEMAND_DRAM_READS, PMU_OFFCORE_L3_MISS_DEMAND_DATA_RD },
      "38F=0 38D=0 186=0 187=0 188=0 189=0 18A=0 18B=0 18C=0 18D=0 309=0 30A=0 4C1=0 4C2=0 "
      "4C3=0 4C4=0 1A6=73C000001 186=4208D1 187=9420947 188=42012A 189=421021 38D=11 "
      "38F=30000000F" },
    /* ADL-E */
    { { "GenuineIntel", 6, 0x97, 2, CORE_EFFICIENT, 5, 6, 3 },
      { PMU_INSTRUCTIONS_FIXED, PMU_CYCLES_FIXED, PMU_L1D_LOAD_MISS, PMU_L2_LOAD_MISS,
        PMU_STALL_CYCLES_L3_MISS, PMU_DEMAND_DRAM_READS },
      "38F=0 38D=0 186=0 187=0 188=0 189=0 18A=0 18B=0 309=0 30A=0 4C1=0 4C2=0 4C3=0 4C4=0 "
      "1A6=784000001 186=4208D1 187=4210D1 188=420434 189=4201B7 38D=11 38F=30000000F" },
    /* LNL-P */
    { { "GenuineIntel", 6, 0xBD, 1, CORE_PERFORMANCE, 6, 8, 3 },
      { PMU_INSTRUCTIONS_FIXED, PMU_CYCLES_FIXED, PMU_L1D_LOAD_HIT, PMU_DTLB_LOAD_STLB_HIT,
        PMU_DEMAND_DRAM_READS, PMU_BRANCH_MISPREDICTS },
      "38F=0 38D=0 186=0 187=0 188=0 189=0 18A=0 18B=0 18C=0 18D=0 309=0 30A=0 4C1=0 4C2=0 "
      "4C3=0 4C4=0 1A6=1E780000001 186=100004201D1 187=30000422012 188=42012A 189=4200C5 "
      "38D=11 38F=30000000F" },
    /* GLM */
    { { "GenuineIntel", 6, 0x5C, 9, CORE_UNKNOWN, 4, 4, 3 },
      { PMU_INSTRUCTIONS_FIXED, PMU_CYCLES_FIXED, PMU_L1D_LOAD_MISS, PMU_L2_LOAD_MISS,
        PMU_PAGE_WALK_CYCLES_LOAD, PMU_DEMAND_DRAM_READS },
      "38F=0 38D=0 186=0 187=0 188=0 189=0 309=0 30A=0 4C1=0 4C2=0 4C3=0 4C4=0 "
      "1A6=200000001 186=4208D1 187=4210D1 188=420105 189=4201B7 38D=11 38F=30000000F" },
    /* Zen1 */
    { { "AuthenticAMD", 0x17, 0x01, 2, CORE_UNKNOWN, 1, 6, 0 },
      { PMU_INSTRUCTIONS, PMU_CYCLES, PMU_L1D_LOAD_MISS, PMU_L2_LOAD_MISS, PMU_DEMAND_DRAM_READS,
        PMU_DTLB_LOAD_WALK_COMPLETED },
      "C0010200=0 C0010202=0 C0010204=0 C0010206=0 C0010208=0 C001020A=0 C0010201=0 "
      "C0010203=0 C0010205=0 C0010207=0 C0010209=0 C001020B=0 C0010200=4200C0 "
      "C0010202=420076 C0010204=420141 C0010206=420864 C0010208=424843 C001020A=42F045" },
    /* Zen4 */
    { { "AuthenticAMD", 0x19, 0x11, 1, CORE_UNKNOWN, 2, 6, 0 },
      { PMU_INSTRUCTIONS, PMU_CYCLES, PMU_REF_CYCLES_GP, PMU_FE_UNDELIVERED_SLOTS,
        PMU_STALL_CYCLES_MEM_ANY, PMU_BRANCH_MISPREDICTS },
      "C0000301=0 C0010200=0 C0010202=0 C0010204=0 C0010206=0 C0010208=0 C001020A=0 "
      "C0010201=0 C0010203=0 C0010205=0 C0010207=0 C0010209=0 C001020B=0 C0010200=4200C0 "
      "C0010202=420076 C0010204=100420120 C0010206=1004201A0 C0010208=42A2D6 "
      "C001020A=4200C3 C0000301=3F" },
    /* Zen5 */
    { { "AuthenticAMD", 0x1A, 0x02, 1, CORE_UNKNOWN, 2, 6, 0 },
      { PMU_INSTRUCTIONS, PMU_CYCLES, PMU_L1D_REPLACEMENT, PMU_TOPDOWN_BACKEND_SLOTS,
        PMU_L1D_LOAD_MISS, PMU_UOPS_RETIRED_SLOTS },
      "C0000301=0 C0010200=0 C0010202=0 C0010204=0 C0010206=0 C0010208=0 C001020A=0 "
      "C0010201=0 C0010203=0 C0010205=0 C0010207=0 C0010209=0 C001020B=0 C0010200=4200C0 "
      "C0010202=420076 C0010204=42FF44 C0010206=100421EA0 C0010208=420741 C001020A=4200C1 "
      "C0000301=3F" },
};

enum { PARTS = sizeof started / sizeof *started };

static void find(const struct part *part)
{
    become(part);
    assert_int_equal(pmu_find(&pmu, &processor), OK);
}

static void make_pass(const struct started *row, struct pmu_pass *pass)
{
    *pass = (struct pmu_pass){ .count = 0 };
    find(&row->part);
    assert_int_equal(pmu_try(&pmu, &saves), OK);
    assert_null(pmu.reason);
    assert_all_restored();
    for (unsigned i = 0; i < SET; i++) {
        assert_true(pmu_add(&pmu, pass, row->event[i]));
        assert_int_equal(pass->slot[i].event, row->event[i]);
    }
    processor_clear_log();
}

/* Each register comes back once, in the reverse of the order in which they first were written. */
static void assert_reversed(const struct msr_saves *was)
{
    assert_int_equal(processor_accesses(), was->count);
    for (unsigned i = 0; i < was->count; i++) {
        assert_int_equal(processor_access(i)->address, was->save[was->count - 1 - i].msr);
    }
}

static void test_writes_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < PARTS; i++) {
        char text[2048];
        struct pmu_pass pass;
        make_pass(&started[i], &pass);
        assert_int_equal(pmu_start(&pmu, &pass, &saves), OK);
        write_down(text, sizeof text);
        assert_string_equal(text, started[i].writes);
        assert_int_equal(pmu_stop(&pmu, &saves), OK);
        const struct msr_saves was = saves;
        processor_clear_log();
        assert_all_restored();
        assert_reversed(&was);
    }
}

/* ---- what strikes in the middle ----------------------------------------------------------------- */

static jmp_buf struck;
static unsigned steps_left;

static void strike(void *self)
{
    (void)self;
    if (steps_left > 0 && --steps_left == 0) {
        longjmp(struck, 1);
    }
}

static bool start_and_be_struck(const struct pmu_pass *pass, unsigned steps)
{
    const struct hooks hooks = { .read_counter = read_counter, .before = strike };
    processor_set_hooks(&hooks);
    if (setjmp(struck) != 0) {
        return true;
    }
    steps_left = steps;
    (void)pmu_start(&pmu, pass, &saves);
    steps_left = 0;
    return false;
}

static void test_a_fault_at_every_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < PARTS; i++) {
        struct pmu_pass pass;
        make_pass(&started[i], &pass);
        unsigned steps = 1;
        while (start_and_be_struck(&pass, steps)) {
            assert_all_restored();
            steps++;
        }
        assert_true(steps > 30);
        assert_all_restored();
    }
}

static void test_a_register_that_refuses(void **state)
{
    (void)state;
    struct pmu_pass pass;
    static const uint32_t refusing[] = { 0x38F, 0x38D, 0x18D, 0x309, 0x4C1, 0x1A6, 0x186 };
    for (size_t i = 0; i < sizeof refusing / sizeof *refusing; i++) {
        make_pass(&started[6], &pass);
        processor_msr(refusing[i])->read_only = true;
        assert_int_equal(pmu_start(&pmu, &pass, &saves), FAULTED);
        assert_all_restored();
    }
}

/* Overflows of the past are cleared, just those. */
static void test_status(void **state)
{
    (void)state;
    struct pmu_pass pass;
    make_pass(&started[6], &pass);
    processor_msr(0x38E)->value = 0x100000002;
    assert_int_equal(pmu_start(&pmu, &pass, &saves), OK);
    assert_int_equal(processor_count(ACCESS_WRMSR, 0x390), 1);
    assert_int_equal(processor_msr(0x390)->value, 0x100000002);
    make_pass(&started[PARTS - 1], &pass);
    processor_msr(0xC0000300)->value = 4;
    processor_msr(0xC0000302)->read_only = true;
    assert_int_equal(pmu_start(&pmu, &pass, &saves), FAULTED);
    assert_all_restored();
}

/* ---- registers of other generations ------------------------------------------------------------- */

static void test_version_1_has_no_global_register(void **state)
{
    (void)state;
    struct pmu_pass pass = { .count = 0 };
    char text[256];
    find(&(struct part){ "GenuineIntel", 6, 0x0F, 0, CORE_UNKNOWN, 1, 2, 0 });
    processor_msr(0x345)->value = 0;
    assert_int_equal(pmu_try(&pmu, &saves), OK);
    assert_all_restored();
    assert_true(pmu_add(&pmu, &pass, PMU_BRANCHES));
    processor_clear_log();
    assert_int_equal(pmu_start(&pmu, &pass, &saves), OK);
    assert_int_equal(pmu_stop(&pmu, &saves), OK);
    write_down(text, sizeof text);
    assert_string_equal(text, "186=0 187=0 C1=0 186=4200C4 186=0 187=0");
    assert_all_restored();
}

static void test_legacy_counters_of_amd(void **state)
{
    (void)state;
    struct pmu_pass pass = { .count = 0 };
    char text[512];
    find(&(struct part){ "AuthenticAMD", 0x17, 0x31, 0, CORE_UNKNOWN, 0, 0, 0 });
    assert_int_equal(pmu.counters, 0xF);
    assert_int_equal(pmu_try(&pmu, &saves), OK);
    assert_all_restored();
    assert_true(pmu_add(&pmu, &pass, PMU_BRANCHES));
    processor_clear_log();
    assert_int_equal(pmu_start(&pmu, &pass, &saves), OK);
    write_down(text, sizeof text);
    assert_string_equal(text, "C0010000=0 C0010001=0 C0010002=0 C0010003=0 C0010004=0 "
                              "C0010000=4200C2");
    assert_all_restored();
}

/* ---- which counters there are ------------------------------------------------------------------- */

static void test_counters_of_recorded_processors(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        unsigned version, counters, fixed;
    } recorded[] = { { "lynnfield", 3, 0xF, 7 },
                     { "kaby_lake", 4, 0xF, 7 },
                     { "sapphire_rapids", 5, 0xFF, 0xF },
                     { "alder_lake_p", 5, 0xFF, 0xF },
                     { "alder_lake_e", 5, 0x3F, 7 },
                     { "naples", 1, 0x3F, 0 },
                     { "genoa", 2, 0x3F, 0 },
                     { "turin", 2, 0x3F, 0 } };
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "tests/data/cpuid/%s.txt", recorded[i].file);
        processor_reset();
        assert_true(recording_load(path, NULL));
        survey_processor(&processor);
        assert_int_equal(pmu_find(&pmu, &processor), OK);
        assert_int_equal(pmu.version, recorded[i].version);
        assert_int_equal(pmu.counters, recorded[i].counters);
        assert_int_equal(pmu.fixed, recorded[i].fixed);
        assert_int_equal(pmu.width, 48);
    }
}

/* Leaf 23h tells of this core, leaf 0Ah what all cores have. */
static void test_leaf_23(void **state)
{
    (void)state;
    become(&(struct part){ "GenuineIntel", 6, 0xBD, 1, CORE_PERFORMANCE, 6, 8, 3 });
    processor_cpuid(7, 1)->eax = 1U << 8;
    processor_cpuid(7, 0)->eax = 1;
    processor_cpuid(0x23, 0)->eax = 3;
    *processor_cpuid(0x23, 1) = (struct cpuid_regs){ .eax = 0x3FF, .ebx = 0xF };
    assert_int_equal(pmu_find(&pmu, &processor), OK);
    assert_int_equal(pmu.counters, 0xFF); /* those with registers at the old place */
    assert_int_equal(pmu.fixed, 0xF);
    processor.core_type = CORE_EFFICIENT;
    *processor_cpuid(0x23, 1) = (struct cpuid_regs){ .eax = 0xFF, .ebx = 0x77 };
    assert_int_equal(pmu_find(&pmu, &processor), OK);
    assert_int_equal(pmu.fixed, 0x77); /* no counter 3 */
    assert_int_equal(pmu.microarchitecture, UARCH_LNL_E);
}

/* Whole dumps, where they are at hand. */
static void test_counters_of_dumped_processors(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        unsigned logical, version, counters, fixed;
        const char *microarchitecture;
    } dumped[] = {
        { "GenuineIntel00A06D1_GraniteRapids_03", 0, 5, 0xFF, 0xF, "GNR" },
        { "GenuineIntel00B06D1_LunarLake_04", 0, 6, 0xFF, 0xF, "LNL-P" },
        { "GenuineIntel00B06D1_LunarLake_04", 4, 6, 0xFF, 0x77, "LNL-E" },
        { "GenuineIntel00B06E0_AlderLakeN_02", 0, 5, 0x3F, 0x7, "ADL-E" },
        { "GenuineIntel00206D7_SandyBridgeE_00", 0, 3, 0xF, 0x7, "SNB-EP" },
        { "AuthenticAMD0A00F11_K19_Milan_02", 0, 1, 0x3F, 0, "Zen3" },
    };
    for (size_t i = 0; i < sizeof dumped / sizeof *dumped; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "../shared/hardware/cpuid/%s_CPUID.txt", dumped[i].file);
        processor_reset();
        if (!recording_load_dump(path, dumped[i].logical)) {
            print_message("the dumps of real processors are not there\n");
            skip();
        }
        survey_processor(&processor);
        assert_int_equal(pmu_find(&pmu, &processor), OK);
        assert_int_equal(pmu.version, dumped[i].version);
        assert_int_equal(pmu.counters, dumped[i].counters);
        assert_int_equal(pmu.fixed, dumped[i].fixed);
        assert_string_equal(pmu_microarchitecture_name(pmu.microarchitecture),
                            dumped[i].microarchitecture);
    }
}

static void test_counter_of_the_microcode(void **state)
{
    (void)state;
    become(&started[3].part);
    processor_cpuid(7, 0)->edx = 1U << 13;
    assert_int_equal(pmu_find(&pmu, &processor), OK);
    assert_int_equal(pmu.counters, 7);
}

static void test_who_has_none(void **state)
{
    (void)state;
    static const struct part none[] = {
        { "GenuineIntel", 6, 0x8F, 0, CORE_UNKNOWN, 0, 0, 0 },
        { "AuthenticAMD", 0x15, 2, 0, CORE_UNKNOWN, 1, 6, 0 },
        { "CentaurHauls", 7, 0x5B, 0, CORE_UNKNOWN, 2, 4, 3 },
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        become(&none[i]);
        assert_int_equal(pmu_find(&pmu, &processor), ABSENT);
        assert_non_null(pmu.reason);
        assert_false(pmu.works);
    }
}

/* ---- which events go where ---------------------------------------------------------------------- */

static void test_unknown_models_have_the_architectural_events(void **state)
{
    (void)state;
    struct pmu_code code;
    find(&(struct part){ "GenuineIntel", 6, 0xFE, 0, CORE_UNKNOWN, 5, 8, 3 });
    processor_cpuid(0x0A, ANY_SUBLEAF)->ebx = 1U << 4; /* no last-level misses */
    assert_int_equal(pmu_find(&pmu, &processor), OK);
    assert_true(pmu_has(&pmu, PMU_BRANCH_MISPREDICTS, &code));
    assert_int_equal(code.event, 0xC5);
    assert_true(pmu_has(&pmu, PMU_LLC_REF_ARCH, &code));
    assert_false(pmu_has(&pmu, PMU_LLC_MISS_ARCH, &code));
    assert_true(pmu_has(&pmu, PMU_CYCLES_FIXED, &code));
    assert_false(pmu_has(&pmu, PMU_L1D_LOAD_MISS, &code));
}

static void test_lacking_events_of_known_models(void **state)
{
    (void)state;
    struct pmu_code code;
    processor_reset();
    assert_true(recording_load("tests/data/cpuid/lynnfield.txt", NULL));
    survey_processor(&processor);
    assert_int_equal(pmu_find(&pmu, &processor), OK);
    assert_false(pmu_has(&pmu, PMU_REF_CYCLES_GP, &code)); /* CPUID 0Ah EBX is 44h */
    assert_true(pmu_has(&pmu, PMU_BRANCHES, &code));
    assert_true(pmu_has(&pmu, PMU_CYCLES, &code));
    assert_true(pmu_has(&pmu, PMU_REF_CYCLES_FIXED, &code));
}

/* Events that can go anywhere make room for those that cannot. */
static void test_room_is_made(void **state)
{
    (void)state;
    struct pmu_pass pass = { .count = 0 };
    static const enum pmu_event anywhere[] = { PMU_CYCLES, PMU_INSTRUCTIONS, PMU_BRANCHES,
                                               PMU_BRANCH_MISPREDICTS };
    static const enum pmu_event first_four[] = { PMU_L1D_LOAD_MISS, PMU_L2_LOAD_MISS,
                                                 PMU_L3_LOAD_MISS, PMU_DEMAND_DRAM_READS };
    find(&started[6].part);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(pmu_add(&pmu, &pass, anywhere[i]));
    }
    for (unsigned i = 0; i < 4; i++) {
        assert_true(pmu_add(&pmu, &pass, first_four[i]));
    }
    uint32_t used = 0;
    for (unsigned i = 0; i < 8; i++) {
        assert_true((pass.slot[i].allowed >> pass.slot[i].counter & 1) != 0);
        assert_true(i < 4 || pass.slot[i].counter < 4);
        used |= 1U << pass.slot[i].counter;
    }
    assert_int_equal(used, 0xFF);
    const struct pmu_pass full = pass;
    assert_false(pmu_add(&pmu, &pass, PMU_LOADS_RETIRED)); /* for another pass */
    assert_memory_equal(&pass, &full, sizeof pass);
    assert_true(pmu_add(&pmu, &pass, PMU_CYCLES_FIXED));
    assert_false(pmu_add(&pmu, &pass, PMU_CYCLES_FIXED));
}

static void test_more_than_there_is_room_for(void **state)
{
    (void)state;
    struct pmu_pass pass = { .count = 0 };
    find(&started[2].part); /* Haswell: two events want counter 2 */
    assert_true(pmu_add(&pmu, &pass, PMU_STALL_CYCLES_L1D_MISS));
    assert_false(pmu_add(&pmu, &pass, PMU_L1D_PEND_MISS_OCCUPANCY));
    assert_int_equal(pass.count, 1);
    assert_true(pmu_add(&pmu, &pass, PMU_L1D_LOAD_MISS));
}

/* The same value serves two events; another one takes the second register, a third has none. */
static void test_offcore_registers(void **state)
{
    (void)state;
    static const struct {
        unsigned part;
        uint64_t select;
    } pairs[] = { { 2, 0x4201BB }, { 6, 0x42012B }, { 7, 0x4202B7 } };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct pmu_pass pass = { .response = { 0x1234 } };
        struct pmu_code code;
        find(&started[pairs[i].part].part);
        assert_true(pmu_add(&pmu, &pass, PMU_DEMAND_DRAM_READS));
        assert_int_equal(pass.slot[0].select, pairs[i].select);
        assert_true(pmu_has(&pmu, PMU_DEMAND_DRAM_READS, &code));
        assert_int_equal(pass.response[1], code.response);
        assert_int_equal(pmu_start(&pmu, &pass, &saves), OK);
        assert_int_equal(processor_msr(0x1A7)->value, code.response);
        assert_all_restored();
        pass = (struct pmu_pass){ .response = { 0x1234, 0x5678 } };
        assert_false(pmu_add(&pmu, &pass, PMU_DEMAND_DRAM_READS));
    }
    find(&started[0].part); /* Nehalem has one register */
    struct pmu_pass pass = { .response = { 0x1234 } };
    assert_false(pmu_add(&pmu, &pass, PMU_DEMAND_DRAM_READS));
}

/* ---- whether they count ------------------------------------------------------------------------- */

static enum status try_again(void)
{
    assert_int_equal(pmu_find(&pmu, &processor), OK);
    enum status status = pmu_try(&pmu, &saves);
    assert_int_equal(status == OK, pmu.works);
    assert_int_equal(pmu.reason == NULL, pmu.works);
    assert_all_restored();
    return status;
}

static void test_counters_that_do_not_count(void **state)
{
    (void)state;
    for (unsigned part = 0; part < PARTS; part++) {
        become(&started[part].part);
        assert_int_equal(try_again(), OK);
        growth = 0; /* dead, as where a hypervisor swallows the writes */
        assert_int_equal(try_again(), FAULTED);
        growth = 9999; /* one too few */
        assert_int_equal(try_again(), FAULTED);
        growth = 11001;
        assert_int_equal(try_again(), FAULTED);
        growth = 10000;
        assert_int_equal(try_again(), OK);
        deaf = true;
        assert_int_equal(try_again(), FAULTED);
        assert_string_equal(pmu.reason, "the processor refuses to read its counters");
        deaf = false;
    }
}

static void test_registers_that_are_not_there(void **state)
{
    (void)state;
    static const uint32_t absent[] = { 0x186, 0x38D, 0x38F, 0x38E, 0x345, 0x309 };
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        become(&started[6].part);
        processor_msr(absent[i])->absent = true;
        assert_int_equal(pmu_find(&pmu, &processor), OK);
        assert_int_equal(pmu_try(&pmu, &saves), FAULTED);
        assert_string_equal(pmu.reason, "the processor refuses the registers of its counters");
        assert_int_equal(msr_restore(&saves), 0);
    }
}

static void test_counters_of_the_firmware(void **state)
{
    (void)state;
    become(&started[6].part);
    processor_msr(0x38D)->value = 0xB8; /* counter 0 would interrupt, but counts nothing */
    processor_msr(0x188)->value = 0x43003C;
    assert_int_equal(pmu_find(&pmu, &processor), OK);
    assert_int_equal(pmu_try(&pmu, &saves), OK);
    assert_int_equal(pmu.owned, 4);
    assert_int_equal(pmu.owned_fixed, 2);
    assert_int_equal(msr_restore(&saves), 0);
    assert_int_equal(processor_msr(0x38D)->value, 0xB8);
    assert_int_equal(processor_msr(0x188)->value, 0x43003C);
}

/* A counter of the firmware's comes back whole only where its full width can be written. */
static void test_width_of_writes(void **state)
{
    (void)state;
    struct pmu_pass pass = { .count = 0 };
    become(&started[6].part);
    processor_msr(0x345)->value = 0;
    assert_int_equal(pmu_find(&pmu, &processor), OK);
    assert_int_equal(pmu_try(&pmu, &saves), OK);
    assert_all_restored();
    assert_true(pmu_add(&pmu, &pass, PMU_CYCLES));
    processor_clear_log();
    assert_int_equal(pmu_start(&pmu, &pass, &saves), OK);
    assert_int_equal(processor_count(ACCESS_WRMSR, 0xC1), 1);
    assert_int_equal(processor_count(ACCESS_WRMSR, 0x4C1), 0);
    assert_all_restored();
}

static void test_reading_is_masked(void **state)
{
    (void)state;
    uint64_t value = 0;
    struct pmu_pass pass = { .count = 0 };
    find(&started[6].part);
    pmu.width = 40;
    assert_true(pmu_add(&pmu, &pass, PMU_CYCLES));
    assert_true(pmu_add(&pmu, &pass, PMU_CYCLES_FIXED));
    growth = 0;
    counted[0] = 0xABCDEF0123456789;
    counted[33] = 0xABCDEF0123456789;
    assert_true(pmu_read(&pmu, &pass, 0, &value));
    assert_int_equal(value, 0x0123456789);
    assert_true(pmu_read(&pmu, &pass, 1, &value));
    assert_int_equal(value, 0xEF0123456789);
    assert_int_equal(processor_count(ACCESS_RDPMC, 0), 1);
    assert_int_equal(processor_count(ACCESS_RDPMC, 0x40000001), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_writes_in_order, set_up),
        cmocka_unit_test_setup(test_a_fault_at_every_step, set_up),
        cmocka_unit_test_setup(test_a_register_that_refuses, set_up),
        cmocka_unit_test_setup(test_status, set_up),
        cmocka_unit_test_setup(test_version_1_has_no_global_register, set_up),
        cmocka_unit_test_setup(test_legacy_counters_of_amd, set_up),
        cmocka_unit_test_setup(test_counters_of_recorded_processors, set_up),
        cmocka_unit_test_setup(test_leaf_23, set_up),
        cmocka_unit_test_setup(test_counters_of_dumped_processors, set_up),
        cmocka_unit_test_setup(test_counter_of_the_microcode, set_up),
        cmocka_unit_test_setup(test_who_has_none, set_up),
        cmocka_unit_test_setup(test_unknown_models_have_the_architectural_events, set_up),
        cmocka_unit_test_setup(test_lacking_events_of_known_models, set_up),
        cmocka_unit_test_setup(test_room_is_made, set_up),
        cmocka_unit_test_setup(test_more_than_there_is_room_for, set_up),
        cmocka_unit_test_setup(test_offcore_registers, set_up),
        cmocka_unit_test_setup(test_counters_that_do_not_count, set_up),
        cmocka_unit_test_setup(test_registers_that_are_not_there, set_up),
        cmocka_unit_test_setup(test_counters_of_the_firmware, set_up),
        cmocka_unit_test_setup(test_width_of_writes, set_up),
        cmocka_unit_test_setup(test_reading_is_masked, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
