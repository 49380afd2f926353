#include "hw/msr.h"

#include "hw/insn.h"

#include <string.h>

static const char intel[] = "GenuineIntel", amd[] = "AuthenticAMD", hygon[] = "HygonGenuine";

/* Registers that keep their meaning across models: SDM vol. 4, table 2-2; AMD APM vol. 2,
 * appendix A. Whether one is there is a matter of CPUID and of asking it. */
static const struct msr_rule architectural[] = {
    { 0x00000010, 0x00000010, MSR_READ, NULL, 0, 0, 0, 0 },         /* TSC */
    { 0x0000001B, 0x0000001B, MSR_READ, NULL, 0, 0, 0, 0 },         /* APIC_BASE */
    { 0x0000008B, 0x0000008B, MSR_READ, NULL, 0, 0, 0, 0 },         /* microcode revision… */
    { 0x0000008B, 0x0000008B, MSR_WRITE, intel, 0, 0, 0, 0 },       /* …asked for by writing 0 */
    { 0x000000E7, 0x000000E8, MSR_READ, NULL, 0, 0, 0, 0 },         /* MPERF, APERF */
    { 0x000000FE, 0x000000FE, MSR_READ, NULL, 0, 0, 0, 0 },         /* MTRRCAP */
    { 0x00000179, 0x0000017A, MSR_READ, NULL, 0, 0, 0, 0 },         /* MCG_CAP, MCG_STATUS */
    { 0x00000200, 0x0000026F, MSR_READ, NULL, 0, 0, 0, 0 },         /* MTRRs */
    { 0x00000277, 0x00000277, MSR_READ, NULL, 0, 0, 0, 0 },         /* PAT */
    { 0x000002FF, 0x000002FF, MSR_READ, NULL, 0, 0, 0, 0 },         /* MTRR_DEF_TYPE */
    { 0x00000400, 0x0000047F, MSR_READ, NULL, 0, 0, 0, 0 },         /* machine-check banks */
    { 0x000006A2, 0x000006A2, MSR_READ, NULL, 0, 0, 0, 0 },         /* S_CET */
    { 0x00000800, 0x0000083F, MSR_READ, NULL, 0, 0, 0, 0 },         /* x2APIC */
    { 0xC0000080, 0xC0000080, MSR_READ, NULL, 0, 0, 0, 0 },         /* EFER */
    { 0xC0000100, 0xC0000102, MSR_READ, NULL, 0, 0, 0, 0 },         /* FS, GS and kernel GS base */
    { 0xC0010010, 0xC0010010, MSR_READ, amd, 0x0F, ~0U, 0, ~0U },   /* SYSCFG */
    { 0xC001001A, 0xC001001A, MSR_READ, amd, 0x0F, ~0U, 0, ~0U },   /* TOP_MEM */
    { 0xC001001D, 0xC001001D, MSR_READ, amd, 0x0F, ~0U, 0, ~0U },   /* TOP_MEM2 */
    { 0xC0010010, 0xC0010010, MSR_READ, hygon, 0x18, ~0U, 0, ~0U }, /* the same of Hygon's */
    { 0xC001001A, 0xC001001A, MSR_READ, hygon, 0x18, ~0U, 0, ~0U },
    { 0xC001001D, 0xC001001D, MSR_READ, hygon, 0x18, ~0U, 0, ~0U },
};

static bool in_range(unsigned value, unsigned first, unsigned last)
{
    return (first == 0 && last == 0) || (value >= first && value <= last);
}

static bool rule_allows(const struct msr_rule *rule, const struct processor *processor,
                        uint32_t msr, unsigned access)
{
    return msr >= rule->first && msr <= rule->last && (access & ~rule->access) == 0 &&
           (!rule->vendor || strcmp(rule->vendor, processor->vendor) == 0) &&
           in_range(processor->family, rule->family_first, rule->family_last) &&
           in_range(processor->model, rule->model_first, rule->model_last);
}

static bool any_allows(const struct msr_rule *rule, size_t rules, const struct msr_gate *gate,
                       uint32_t msr, unsigned access)
{
    for (size_t i = 0; i < rules; i++) {
        if (rule_allows(&rule[i], gate->processor, msr, access)) {
            return true;
        }
    }
    return false;
}

bool msr_allowed(const struct msr_gate *gate, uint32_t msr, unsigned access)
{
    return any_allows(architectural, sizeof architectural / sizeof architectural[0], gate, msr,
                      access) ||
           any_allows(gate->rule, gate->rules, gate, msr, access);
}

enum status msr_read(const struct msr_gate *gate, uint32_t msr, uint64_t *value)
{
    if (!msr_allowed(gate, msr, MSR_READ)) {
        return DENIED;
    }
    return insn_rdmsr(msr, value) ? OK : FAULTED;
}

static bool is_saved(const struct msr_saves *saves, uint32_t msr)
{
    for (unsigned i = 0; i < saves->count; i++) {
        if (saves->save[i].msr == msr) {
            return true;
        }
    }
    return false;
}

enum status msr_save_and_write(const struct msr_gate *gate, struct msr_saves *saves, uint32_t msr,
                               uint64_t value)
{
    uint64_t found;
    if (!msr_allowed(gate, msr, MSR_READ | MSR_WRITE)) {
        return DENIED;
    }
    bool saved = is_saved(saves, msr);
    if (!saved) {
        if (saves->count == MSR_SAVES) {
            return ABSENT;
        }
        if (!insn_rdmsr(msr, &found)) {
            return FAULTED;
        }
        /* On the list before the write: a fault or machine check in between must not lose it. */
        saves->save[saves->count++] = (struct msr_save){ msr, found };
    }
    if (insn_wrmsr(msr, value)) {
        return OK;
    }
    if (!saved) {
        saves->count--;
    }
    return FAULTED;
}

unsigned msr_restore(struct msr_saves *saves)
{
    unsigned refused = 0;
    while (saves->count > 0) {
        const struct msr_save *save = &saves->save[--saves->count];
        if (!insn_wrmsr(save->msr, save->found)) {
            refused++;
        }
    }
    return refused;
}
