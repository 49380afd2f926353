#include "hw/smi.h"

#include "hw/cpuid.h"
#include "hw/insn.h"

enum { MSR_SMI_COUNT = 0x34, DEBUGCTL = 0x1D9, PERF_CAPABILITIES = 0x345 };
#define CAN_FREEZE       (UINT64_C(1) << 12)
#define FREEZE_WHILE_SMM (UINT64_C(1) << 14)

static const struct msr_rule rules[] = {
    { DEBUGCTL, DEBUGCTL, MSR_READ | MSR_WRITE, "GenuineIntel", 6, ~0U, 0, ~0U },
    { PERF_CAPABILITIES, PERF_CAPABILITIES, MSR_READ, "GenuineIntel", 6, ~0U, 0, ~0U },
};

/* Models of family 6, by generation; Linux has the same list (arch/x86/events/msr.c). */
static const uint8_t counting[] = {
    0x1A, 0x1E, 0x1F, 0x2E,                         /* Nehalem */
    0x25, 0x2C, 0x2F,                               /* Westmere */
    0x2A, 0x2D, 0x3A, 0x3E,                         /* Sandy Bridge, Ivy Bridge */
    0x3C, 0x3F, 0x45, 0x46, 0x3D, 0x47, 0x4F, 0x56, /* Haswell, Broadwell */
    0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6, 0x55,       /* Skylake to Comet Lake */
    0x7D, 0x7E, 0x6A, 0x6C, 0x8C, 0x8D, 0xA7,       /* Ice, Tiger, Rocket Lake */
    0x97, 0x9A, 0xB7, 0xBA, 0xBF, 0xBE, 0x8F, 0xCF, /* Golden Cove, Gracemont */
    0xAA, 0xAC, 0xB5, 0xAD, 0xAE, 0xAF, 0xB6,       /* Redwood Cove, Crestmont */
    0xBD, 0xC5, 0xC6, 0xCC, 0xD5, 0xDD,             /* Lion Cove and later */
    0x37, 0x4A, 0x4C, 0x4D, 0x5A, 0x5C, 0x5F, 0x7A, /* Silvermont, Goldmont */
    0x86, 0x96, 0x9C,                               /* Tremont */
    0x57, 0x85,                                     /* Xeon Phi */
};

static bool model_counts(const struct processor *processor)
{
    for (size_t i = 0; i < sizeof counting; i++) {
        if (is_intel(processor) && processor->family == 6 && processor->model == counting[i]) {
            return true;
        }
    }
    return false;
}

bool smi_is_counted(const struct processor *processor, const char **reason)
{
    uint32_t count;
    *reason = NULL;
    if (processor->hypervisor[0] != '\0') {
        *reason = "a hypervisor shows no count of the machine's SMIs";
    } else if (!model_counts(processor)) {
        *reason = "this model is not known to count SMIs";
    } else if (!smi_count(&count)) {
        *reason = "the processor refuses its count of SMIs";
    }
    return *reason == NULL;
}

/* The upper half is reserved. */
bool smi_count(uint32_t *count)
{
    uint64_t value;
    if (!insn_rdmsr(MSR_SMI_COUNT, &value)) {
        return false;
    }
    *count = (uint32_t)value;
    return true;
}

static bool can_freeze(const struct msr_gate *gate)
{
    enum { PDCM = 15 };
    struct cpuid_regs regs;
    uint64_t capabilities;
    return is_intel(gate->processor) && cpuid_read(1, 0, &regs) && (regs.ecx >> PDCM & 1) != 0 &&
           msr_read(gate, PERF_CAPABILITIES, &capabilities) == OK &&
           (capabilities & CAN_FREEZE) != 0;
}

enum status smi_freeze_counters(const struct processor *processor, struct msr_saves *saves)
{
    const struct msr_gate gate = { processor, rules, sizeof rules / sizeof *rules };
    uint64_t control;
    if (!can_freeze(&gate)) {
        return ABSENT;
    }
    enum status status = msr_read(&gate, DEBUGCTL, &control);
    if (status != OK || (control & FREEZE_WHILE_SMM) != 0) {
        return status;
    }
    status = msr_save_and_write(&gate, saves, DEBUGCTL, control | FREEZE_WHILE_SMM);
    if (status == OK) {
        status = msr_read(&gate, DEBUGCTL, &control);
    }
    return status == OK && (control & FREEZE_WHILE_SMM) == 0 ? FAULTED : status;
}
