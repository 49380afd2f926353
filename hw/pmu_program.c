#include "hw/pmu.h"

#include "hw/insn.h"

/* Intel, SDM vol. 4, table 2-2. */
enum {
    PMC_0 = 0xC1,
    OFFCORE_RSP_0 = 0x1A6,
    PERFEVTSEL_0 = 0x186,
    FIXED_CTR_0 = 0x309,
    PERF_CAPABILITIES = 0x345,
    FIXED_CTR_CTRL = 0x38D,
    GLOBAL_STATUS = 0x38E,
    GLOBAL_CTRL = 0x38F,
    GLOBAL_STATUS_RESET = 0x390, /* GLOBAL_OVF_CTRL before version 4 */
    A_PMC_0 = 0x4C1,
};

/* AMD, APM vol. 2, appendix A. */
#define PERF_LEGACY_CTL_0 UINT32_C(0xC0010000)
#define PERF_LEGACY_CTR_0 UINT32_C(0xC0010004)
#define PERF_CTL_0        UINT32_C(0xC0010200)
#define PERF_CTR_0        UINT32_C(0xC0010201)
#define AMD_STATUS        UINT32_C(0xC0000300)
#define AMD_GLOBAL_CTL    UINT32_C(0xC0000301)
#define AMD_STATUS_CLR    UINT32_C(0xC0000302)

#define ENABLE       (UINT64_C(1) << 22)
#define RDPMC_FIXED  0x40000000U
#define GLOBAL_FIXED 32 /* bit of fixed counter 0 */

enum { READ_WRITE = MSR_READ | MSR_WRITE };

/* Architectural where CPUID announces them; OFFCORE_RSP only where the event table has a value. */
static const struct msr_rule rules[] = {
    { PMC_0, PMC_0 + 7, READ_WRITE, "GenuineIntel", 6, ~0U, 0, ~0U },
    { PERFEVTSEL_0, PERFEVTSEL_0 + 7, READ_WRITE, "GenuineIntel", 6, ~0U, 0, ~0U },
    { OFFCORE_RSP_0, OFFCORE_RSP_0 + 1, READ_WRITE, "GenuineIntel", 6, 6, 0, ~0U },
    { FIXED_CTR_0, FIXED_CTR_0 + 6, READ_WRITE, "GenuineIntel", 6, ~0U, 0, ~0U },
    { PERF_CAPABILITIES, PERF_CAPABILITIES, MSR_READ, "GenuineIntel", 6, ~0U, 0, ~0U },
    { FIXED_CTR_CTRL, GLOBAL_STATUS_RESET, READ_WRITE, "GenuineIntel", 6, ~0U, 0, ~0U },
    { A_PMC_0, A_PMC_0 + 7, READ_WRITE, "GenuineIntel", 6, ~0U, 0, ~0U },
    { PERF_LEGACY_CTL_0, PERF_LEGACY_CTR_0 + 3, READ_WRITE, "AuthenticAMD", 0x17, ~0U, 0, ~0U },
    { PERF_CTL_0, PERF_CTL_0 + 15, READ_WRITE, "AuthenticAMD", 0x17, ~0U, 0, ~0U },
    { AMD_STATUS, AMD_STATUS_CLR, READ_WRITE, "AuthenticAMD", 0x19, ~0U, 0, ~0U },
};

/* ---- registers -------------------------------------------------------------------------------- */

/* Writing goes on as long as nothing has failed. */
struct writer {
    struct msr_gate gate;
    struct msr_saves *saves;
    enum status status;
};

static struct writer writer_of(const struct pmu *pmu, struct msr_saves *saves)
{
    return (struct writer){ { pmu->processor, rules, sizeof rules / sizeof *rules }, saves, OK };
}

static void put(struct writer *writer, uint32_t msr, uint64_t value)
{
    if (writer->status == OK) {
        writer->status = msr_save_and_write(&writer->gate, writer->saves, msr, value);
    }
}

/* 0 if it cannot be read. */
static uint64_t get(struct writer *writer, uint32_t msr)
{
    uint64_t value = 0;
    if (writer->status == OK) {
        writer->status = msr_read(&writer->gate, msr, &value);
    }
    return writer->status == OK ? value : 0;
}

static uint32_t select_register(const struct pmu *pmu, unsigned counter)
{
    if (pmu->kind == PMU_INTEL) {
        return PERFEVTSEL_0 + counter;
    }
    return pmu->version == 0 ? PERF_LEGACY_CTL_0 + counter : PERF_CTL_0 + 2 * counter;
}

/* The old names of Intel's counters take 32 bits and extend the sign. */
static uint32_t counter_register(const struct pmu *pmu, unsigned counter)
{
    if (counter >= PMU_FIXED_0) {
        return FIXED_CTR_0 + counter - PMU_FIXED_0;
    }
    if (pmu->kind == PMU_INTEL) {
        return (pmu->full_width ? (uint32_t)A_PMC_0 : (uint32_t)PMC_0) + counter;
    }
    return pmu->version == 0 ? PERF_LEGACY_CTR_0 + counter : PERF_CTR_0 + 2 * counter;
}

static bool has_global(const struct pmu *pmu)
{
    return pmu->version >= 2;
}

static uint32_t global_register(const struct pmu *pmu)
{
    return pmu->kind == PMU_INTEL ? GLOBAL_CTRL : AMD_GLOBAL_CTL;
}

/* ---- starting --------------------------------------------------------------------------------- */

static void hold_all(const struct pmu *pmu, struct writer *writer)
{
    if (has_global(pmu)) {
        put(writer, global_register(pmu), 0);
    }
    if (pmu->fixed != 0) {
        put(writer, FIXED_CTR_CTRL, 0);
    }
    for (unsigned i = 0; i < PMU_FIXED_0; i++) {
        if ((pmu->counters >> i & 1) != 0) {
            put(writer, select_register(pmu, i), 0);
        }
    }
}

static void clear_counters(const struct pmu *pmu, const struct pmu_pass *pass,
                           struct writer *writer)
{
    for (unsigned i = 0; i < pass->count; i++) {
        put(writer, counter_register(pmu, pass->slot[i].counter), 0);
    }
}

/* Overflows of the past; the register that clears them is none that could be saved. */
static void clear_status(const struct pmu *pmu, struct writer *writer)
{
    const bool intel = pmu->kind == PMU_INTEL;
    if (!has_global(pmu)) {
        return;
    }
    const uint64_t status = get(writer, intel ? (uint32_t)GLOBAL_STATUS : AMD_STATUS);
    if (writer->status == OK && status != 0 &&
        !insn_wrmsr(intel ? (uint32_t)GLOBAL_STATUS_RESET : AMD_STATUS_CLR, status)) {
        writer->status = FAULTED;
    }
}

static void set_responses(const struct pmu_pass *pass, struct writer *writer)
{
    for (unsigned i = 0; i < PMU_RESPONSES; i++) {
        if (pass->response[i] != 0) {
            put(writer, OFFCORE_RSP_0 + i, pass->response[i]);
        }
    }
}

/* Bits of the global register; and ring 0 for each fixed counter, four bits apiece. */
static void start_slots(const struct pmu *pmu, const struct pmu_pass *pass, struct writer *writer)
{
    uint64_t global = 0;
    uint64_t fixed = 0;
    for (unsigned i = 0; i < pass->count; i++) {
        const unsigned counter = pass->slot[i].counter;
        if (counter >= PMU_FIXED_0) {
            fixed |= UINT64_C(1) << 4 * (counter - PMU_FIXED_0);
            global |= UINT64_C(1) << (GLOBAL_FIXED + counter - PMU_FIXED_0);
        } else {
            global |= UINT64_C(1) << counter;
            put(writer, select_register(pmu, counter), pass->slot[i].select);
        }
    }
    if (fixed != 0) {
        put(writer, FIXED_CTR_CTRL, fixed);
    }
    if (has_global(pmu)) {
        put(writer, global_register(pmu), global);
    }
}

enum status pmu_start(const struct pmu *pmu, const struct pmu_pass *pass, struct msr_saves *saves)
{
    struct writer writer = writer_of(pmu, saves);
    hold_all(pmu, &writer);
    clear_counters(pmu, pass, &writer);
    clear_status(pmu, &writer);
    set_responses(pass, &writer);
    start_slots(pmu, pass, &writer);
    if (writer.status != OK) {
        (void)pmu_stop(pmu, saves);
    }
    return writer.status;
}

enum status pmu_stop(const struct pmu *pmu, struct msr_saves *saves)
{
    struct writer writer = writer_of(pmu, saves);
    if (has_global(pmu)) {
        put(&writer, global_register(pmu), 0);
    } else {
        hold_all(pmu, &writer);
    }
    return writer.status;
}

bool pmu_read(const struct pmu *pmu, const struct pmu_pass *pass, unsigned slot, uint64_t *value)
{
    const unsigned counter = pass->slot[slot].counter;
    const bool fixed = counter >= PMU_FIXED_0;
    const unsigned width = fixed ? pmu->fixed_width : pmu->width;
    if (!insn_rdpmc(fixed ? RDPMC_FIXED + counter - PMU_FIXED_0 : counter, value)) {
        return false;
    }
    *value &= width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    return true;
}

/* ---- trying ----------------------------------------------------------------------------------- */

static void find_owned(struct pmu *pmu, struct writer *reader)
{
    const uint64_t fixed = pmu->fixed != 0 ? get(reader, FIXED_CTR_CTRL) : 0;
    for (unsigned i = 0; i < PMU_FIXED_0; i++) {
        if ((pmu->counters >> i & 1) != 0 && (get(reader, select_register(pmu, i)) & ENABLE) != 0) {
            pmu->owned |= 1U << i;
        }
        if ((pmu->fixed >> i & 1) != 0 && (fixed >> 4 * i & 3) != 0) {
            pmu->owned_fixed |= 1U << i;
        }
    }
}

/* IA32_PERF_CAPABILITIES exists if CPUID.1:ECX[15]. */
static bool writes_full_width(const struct pmu *pmu, struct writer *reader)
{
    enum { PDCM = 15, FW_WRITE = 13 };
    struct cpuid_regs regs;
    insn_cpuid(1, 0, &regs);
    return pmu->kind == PMU_INTEL && (regs.ecx >> PDCM & 1) != 0 &&
           (get(reader, PERF_CAPABILITIES) >> FW_WRITE & 1) != 0;
}

enum { LAPS = 5000, INSTRUCTIONS_A_LAP = 2, TRIES = 3, INSTRUCTIONS_OF_READING = 1000 };

static void spin_laps(void)
{
    uint64_t laps = LAPS;
    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(laps) : : "cc");
}

/* What both slots count over the loop. */
static bool count_loop(const struct pmu *pmu, const struct pmu_pass *pass, uint64_t counted[2])
{
    uint64_t before[2];
    for (unsigned i = 0; i < 2; i++) {
        if (!pmu_read(pmu, pass, i, &before[i])) {
            return false;
        }
    }
    spin_laps();
    for (unsigned i = 0; i < 2; i++) {
        if (!pmu_read(pmu, pass, i, &counted[i])) {
            return false;
        }
        counted[i] -= before[i];
    }
    return true;
}

/* Between eight laps a cycle and a hundred cycles an instruction. */
static bool is_plausible(uint64_t instructions, uint64_t cycles)
{
    const uint64_t exact = (uint64_t)LAPS * INSTRUCTIONS_A_LAP;
    return instructions >= exact && instructions <= exact + INSTRUCTIONS_OF_READING &&
           cycles >= LAPS / 8 && cycles <= 100 * exact;
}

static const char *verdict(const struct pmu *pmu, const struct pmu_pass *pass)
{
    uint64_t counted[2];
    for (unsigned i = 0; i < TRIES; i++) {
        if (!count_loop(pmu, pass, counted)) {
            return "the processor refuses to read its counters";
        }
        if (is_plausible(counted[0], counted[1])) {
            return NULL;
        }
    }
    return counted[0] == 0 && counted[1] == 0 ? "the counters stand still"
                                              : "the counters do not count a known loop right";
}

/* Fixed counters where there are some. */
static bool make_trial(const struct pmu *pmu, struct pmu_pass *pass)
{
    return (pmu_add(pmu, pass, PMU_INSTRUCTIONS_FIXED) || pmu_add(pmu, pass, PMU_INSTRUCTIONS)) &&
           (pmu_add(pmu, pass, PMU_CYCLES) || pmu_add(pmu, pass, PMU_CYCLES_FIXED));
}

enum status pmu_try(struct pmu *pmu, struct msr_saves *saves)
{
    struct writer reader = writer_of(pmu, saves);
    struct pmu_pass pass = { .count = 0 };
    find_owned(pmu, &reader);
    pmu->full_width = writes_full_width(pmu, &reader);
    if (!make_trial(pmu, &pass)) {
        pmu->reason = "the counters offer neither cycles nor instructions";
    } else if (reader.status != OK || pmu_start(pmu, &pass, saves) != OK) {
        pmu->reason = "the processor refuses the registers of its counters";
    } else {
        pmu->reason = verdict(pmu, &pass);
        (void)pmu_stop(pmu, saves);
    }
    pmu->works = pmu->reason == NULL;
    return pmu->works ? OK : FAULTED;
}
