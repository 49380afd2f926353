#include "hw/pmu.h"

#include "hw/cpuid.h"

enum { GENERAL_COUNTERS = 8, FIXED_COUNTERS = 7, SLOTS_COUNTER = 3 };

static uint32_t first_bits(unsigned count)
{
    return count >= 32 ? UINT32_MAX : (1U << count) - 1;
}

/* ---- Intel's counters ------------------------------------------------------------------------- */

static void count_by_leaf_0a(struct pmu *pmu, const struct cpuid_regs *leaf)
{
    pmu->version = leaf->eax & 0xFF;
    pmu->counters = first_bits(leaf->eax >> 8 & 0xFF);
    pmu->width = leaf->eax >> 16 & 0xFF;
    /* Events beyond the vector's length are as absent as those whose bit is set. */
    pmu->lacking = leaf->ebx | ~first_bits(leaf->eax >> 24);
    if (pmu->version >= 2) {
        pmu->fixed = first_bits(leaf->edx & 0x1F);
        pmu->fixed_width = leaf->edx >> 5 & 0xFF;
    }
    if (pmu->version >= 5) {
        pmu->fixed |= leaf->ecx;
    }
}

/* Leaf 23h tells of this very core; leaf 0Ah what all cores of a hybrid have. */
static bool count_by_leaf_23(struct pmu *pmu)
{
    struct cpuid_regs regs;
    if (!cpuid_read(7, 1, &regs) || (regs.eax >> 8 & 1) == 0 || !cpuid_read(0x23, 0, &regs) ||
        (regs.eax >> 1 & 1) == 0) {
        return false;
    }
    cpuid_read(0x23, 1, &regs);
    pmu->counters = regs.eax;
    pmu->fixed = regs.ebx;
    return true;
}

/* Alder and Raptor Lake have no leaf 23h: their performance cores have two general counters and the
 * one of slots beyond what leaf 0Ah says, unless the efficient cores are switched off (Linux,
 * arch/x86/events/intel/core.c). */
static void add_counters_of_hybrids(struct pmu *pmu)
{
    if (has_feature(pmu->processor, FEATURE_HYBRID) &&
        pmu->processor->core_type == CORE_PERFORMANCE) {
        pmu->counters |= 0xC0;
        pmu->fixed |= 1U << SLOTS_COUNTER;
    }
}

/* Microcode that can abort every transaction (CPUID 7 EDX[13]) takes counter 3 for that. */
static uint32_t taken_by_microcode(void)
{
    struct cpuid_regs regs;
    return cpuid_read(7, 0, &regs) && (regs.edx >> 13 & 1) != 0 ? 1U << 3 : 0;
}

static enum status find_intel(struct pmu *pmu)
{
    struct cpuid_regs leaf;
    struct cpuid_regs core = { 0 };
    if (!cpuid_read(0x0A, 0, &leaf) || (leaf.eax & 0xFF) == 0) {
        pmu->reason = "CPUID tells of no performance counters";
        return ABSENT;
    }
    pmu->kind = PMU_INTEL;
    count_by_leaf_0a(pmu, &leaf);
    if (!count_by_leaf_23(pmu)) {
        add_counters_of_hybrids(pmu);
    }
    /* Those beyond have other registers, which so few events never need. */
    pmu->counters &= first_bits(GENERAL_COUNTERS) & ~taken_by_microcode();
    pmu->fixed &= first_bits(FIXED_COUNTERS);
    cpuid_read(0x1A, 0, &core);
    pmu->microarchitecture = pmu_microarchitecture(pmu->processor, core.eax & 0xFFFFFF);
    return OK;
}

/* ---- AMD's counters --------------------------------------------------------------------------- */

static enum status find_amd(struct pmu *pmu)
{
    struct cpuid_regs regs;
    pmu->microarchitecture = pmu_microarchitecture(pmu->processor, 0);
    if (pmu->microarchitecture == PMU_UNKNOWN) {
        pmu->reason = "the events of this processor's counters are not known";
        return ABSENT;
    }
    pmu->kind = PMU_AMD;
    pmu->width = 48;
    pmu->counters = first_bits(4);
    if (cpuid_read(0x80000001, 0, &regs) && (regs.ecx >> 23 & 1) != 0) {
        pmu->version = 1;
        pmu->counters = first_bits(6);
    }
    if (pmu->version == 1 && cpuid_read(0x80000022, 0, &regs) && (regs.eax & 1) != 0) {
        pmu->version = 2;
        pmu->counters = first_bits(regs.ebx & 0xF) & first_bits(GENERAL_COUNTERS);
    }
    return OK;
}

enum status pmu_find(struct pmu *pmu, const struct processor *processor)
{
    *pmu = (struct pmu){ .processor = processor, .microarchitecture = PMU_UNKNOWN };
    if (is_intel(processor)) {
        return find_intel(pmu);
    }
    if (is_amd(processor)) {
        return find_amd(pmu);
    }
    pmu->reason = "the counters of this maker's processors are not known";
    return ABSENT;
}

/* ---- events ----------------------------------------------------------------------------------- */

/* SDM vol. 3B, table "Architectural Performance Events"; the number is the bit of CPUID 0Ah EBX. */
static const struct architectural {
    uint8_t logical, event, umask;
} architectural[] = {
    { PMU_CYCLES, 0x3C, 0x00 },
    { PMU_INSTRUCTIONS, 0xC0, 0x00 },
    { PMU_REF_CYCLES_GP, 0x3C, 0x01 },
    { PMU_LLC_REF_ARCH, 0x2E, 0x4F },
    { PMU_LLC_MISS_ARCH, 0x2E, 0x41 },
    { PMU_BRANCHES, 0xC4, 0x00 },
    { PMU_BRANCH_MISPREDICTS, 0xC5, 0x00 },
};

static const struct {
    uint8_t logical, counter;
} architectural_fixed[] = {
    { PMU_INSTRUCTIONS_FIXED, 0 },
    { PMU_CYCLES_FIXED, 1 },
    { PMU_REF_CYCLES_FIXED, 2 },
};

static bool has_architectural(const struct pmu *pmu, enum pmu_event event, struct pmu_code *code)
{
    for (unsigned i = 0; i < sizeof architectural / sizeof *architectural; i++) {
        const struct architectural *row = &architectural[i];
        if (row->logical == event) {
            *code = (struct pmu_code){ .event = row->event, .umask = row->umask };
            return true;
        }
    }
    for (unsigned i = 0; i < sizeof architectural_fixed / sizeof *architectural_fixed; i++) {
        if (pmu->fixed != 0 && architectural_fixed[i].logical == event) {
            *code = (struct pmu_code){ .fixed = true, .umask = architectural_fixed[i].counter };
            return true;
        }
    }
    return false;
}

/* CPUID says that this very encoding does not count here. */
static bool is_lacking(const struct pmu *pmu, const struct pmu_code *code)
{
    for (unsigned i = 0; i < sizeof architectural / sizeof *architectural; i++) {
        if (architectural[i].event == code->event && architectural[i].umask == code->umask &&
            (pmu->lacking >> i & 1) != 0) {
            return pmu->kind == PMU_INTEL && !code->fixed;
        }
    }
    return false;
}

static uint32_t allowed_counters(const struct pmu *pmu, const struct pmu_code *code)
{
    if (code->fixed) {
        return (pmu->fixed & 1U << code->umask) << PMU_FIXED_0;
    }
    return code->counters != 0 ? pmu->counters & code->counters : pmu->counters;
}

bool pmu_has(const struct pmu *pmu, enum pmu_event event, struct pmu_code *code)
{
    bool found = pmu->microarchitecture != PMU_UNKNOWN
                     ? pmu_code(pmu->microarchitecture, event, code)
                     : pmu->kind == PMU_INTEL && has_architectural(pmu, event, code);
    return found && !is_lacking(pmu, code) && allowed_counters(pmu, code) != 0;
}

/* ---- passes ----------------------------------------------------------------------------------- */

/* PERFEVTSEL and PERF_CTL agree but for the upper bits of the event. Ring 0 only: that is where we
 * run. No interrupt. */
static uint64_t select_of(const struct pmu *pmu, const struct pmu_code *code)
{
    enum {
        OS = 17,
        EDGE = 18,
        ANY = 21,
        ENABLE = 22,
        INVERT = 23,
        CMASK = 24,
        HIGH = 32,
        MASK2 = 40
    };
    uint64_t select = (code->event & 0xFFU) | (uint64_t)code->umask << 8 | UINT64_C(1) << OS |
                      (uint64_t)code->edge << EDGE | (uint64_t)code->any_thread << ANY |
                      UINT64_C(1) << ENABLE | (uint64_t)code->inverted << INVERT |
                      (uint64_t)code->cmask << CMASK;
    return pmu->kind == PMU_AMD ? select | (uint64_t)(code->event >> 8) << HIGH
                                : select | (uint64_t)code->umask2 << MASK2;
}

/* The code that goes with OFFCORE_RSP_1. */
static struct pmu_code second_of_pair(struct pmu_code code)
{
    switch (code.pairing) {
    case PAIR_BB: code.event = 0xBB; break;
    case PAIR_2B: code.event = 0x2B; break;
    case PAIR_UMASK: code.umask = 2; break;
    case PAIR_NONE: break;
    }
    return code;
}

/* Chooses the register of an event that needs one. False: others need other values. */
static bool choose_response(struct pmu_pass *pass, struct pmu_code *code)
{
    const unsigned registers = code->pairing == PAIR_NONE ? 1 : PMU_RESPONSES;
    for (unsigned i = 0; code->response != 0 && i < registers; i++) {
        if (pass->response[i] == 0 || pass->response[i] == code->response) {
            pass->response[i] = code->response;
            *code = i == 0 ? *code : second_of_pair(*code);
            return true;
        }
    }
    return code->response == 0;
}

static unsigned slot_on(const struct pmu_pass *pass, unsigned counter)
{
    unsigned slot = 0;
    while (slot < pass->count && pass->slot[slot].counter != counter) {
        slot++;
    }
    return slot;
}

/* The first of these counters that nobody holds, or 32. */
static unsigned free_counter(const struct pmu_pass *pass, uint32_t allowed)
{
    unsigned counter = 0;
    while (counter < 32 &&
           ((allowed >> counter & 1) == 0 || slot_on(pass, counter) < pass->count)) {
        counter++;
    }
    return counter;
}

/* Finds `wanted` a counter that is free or can be freed; `tried` are those that cannot. This is the
 * usual search for an augmenting path; it is at most as deep as there are slots. */
static bool place(struct pmu_pass *pass, struct pmu_slot *wanted, uint32_t *tried)
{
    const unsigned free = free_counter(pass, wanted->allowed);
    if (free < 32) {
        wanted->counter = free;
        return true;
    }
    for (unsigned counter = 0; counter < 32; counter++) {
        if (((wanted->allowed & ~*tried) >> counter & 1) == 0) {
            continue;
        }
        *tried |= 1U << counter;
        if (place(pass, &pass->slot[slot_on(pass, counter)], tried)) {
            wanted->counter = counter;
            return true;
        }
    }
    return false;
}

bool pmu_add(const struct pmu *pmu, struct pmu_pass *pass, enum pmu_event event)
{
    struct pmu_code code;
    struct pmu_pass next = *pass;
    uint32_t tried = 0;
    if (pass->count == PMU_SLOTS || !pmu_has(pmu, event, &code) || !choose_response(&next, &code)) {
        return false;
    }
    struct pmu_slot slot = { .event = event, .allowed = allowed_counters(pmu, &code) };
    slot.select = code.fixed ? 0 : select_of(pmu, &code);
    if (!place(&next, &slot, &tried)) {
        return false;
    }
    next.slot[next.count++] = slot;
    *pass = next;
    return true;
}
