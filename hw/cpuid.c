#include "hw/cpuid.h"

#include <string.h>

/* ---- leaves ---- */

bool cpuid_hypervisor(void)
{
    struct cpuid_regs regs;
    insn_cpuid(1, 0, &regs);
    return (regs.ecx >> 31 & 1) != 0;
}

/* The leaf that tells how far the range of `leaf` goes. */
static uint32_t range_of(uint32_t leaf)
{
    return leaf >= LEAF_HYPERVISOR && leaf < 0x80000000 ? leaf & ~(HYPERVISOR_RANGE - 1U)
                                                        : leaf & 0xffff0000;
}

bool cpuid_read(uint32_t leaf, uint32_t subleaf, struct cpuid_regs *regs)
{
    uint32_t range = range_of(leaf);
    bool of_hypervisor = range >= LEAF_HYPERVISOR && range < 0x80000000;
    *regs = (struct cpuid_regs){ 0 };
    if (of_hypervisor && !cpuid_hypervisor()) {
        return false;
    }
    struct cpuid_regs first;
    insn_cpuid(range, 0, &first);
    /* Without such a range the answer is another leaf's, which need not look like one. */
    if ((first.eax & 0xffff0000) != (range & 0xffff0000) || leaf > first.eax) {
        return false;
    }
    insn_cpuid(leaf, subleaf, regs);
    return true;
}

size_t cpuid_descriptors(uint8_t descriptors[CPUID_DESCRIPTORS])
{
    struct cpuid_regs leaf;
    cpuid_read(2, 0, &leaf);
    const uint32_t registers[] = { leaf.eax & ~0xffU, leaf.ebx, leaf.ecx, leaf.edx };
    size_t count = 0;
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned shift = 0; shift < 32 && (registers[i] >> 31 & 1) == 0; shift += 8) {
            uint8_t descriptor = (uint8_t)(registers[i] >> shift);
            if (descriptor != 0) {
                descriptors[count++] = descriptor;
            }
        }
    }
    return count;
}

/* ---- of a surveyed processor ---- */

bool is_intel(const struct processor *processor)
{
    return strcmp(processor->vendor, "GenuineIntel") == 0;
}

bool is_amd(const struct processor *processor)
{
    return strcmp(processor->vendor, "AuthenticAMD") == 0;
}

bool has_feature(const struct processor *processor, enum feature feature)
{
    return (processor->features >> feature & 1) != 0;
}
