/* hw/insn.h for a program of Linux: CPUID and XGETBV are there, everything else belongs to the
 * kernel. Registers refuse, as they do where they do not exist; ports and registers in memory read
 * as where no device is. */
#include "hw/insn.h"

#include <cpuid.h>

void insn_cpuid(uint32_t leaf, uint32_t subleaf, struct cpuid_regs *out)
{
    __cpuid_count(leaf, subleaf, out->eax, out->ebx, out->ecx, out->edx);
}

bool insn_rdmsr(uint32_t msr, uint64_t *value)
{
    (void)msr;
    (void)value;
    return false;
}

bool insn_wrmsr(uint32_t msr, uint64_t value)
{
    (void)msr;
    (void)value;
    return false;
}

bool insn_rdpmc(uint32_t index, uint64_t *value)
{
    (void)index;
    (void)value;
    return false;
}

/* CPUID tells whether the system has switched it on (leaf 1 ECX[27]). */
bool insn_xgetbv(uint32_t index, uint64_t *value)
{
    struct cpuid_regs features;
    uint32_t low, high;
    insn_cpuid(1, 0, &features);
    if ((features.ecx >> 27 & 1) == 0 || index != 0) {
        return false;
    }
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(index));
    *value = (uint64_t)high << 32 | low;
    return true;
}

bool insn_xsetbv(uint32_t index, uint64_t value)
{
    (void)index;
    (void)value;
    return false;
}

uint8_t insn_in8(uint16_t port)
{
    (void)port;
    return UINT8_MAX;
}

uint16_t insn_in16(uint16_t port)
{
    (void)port;
    return UINT16_MAX;
}

uint32_t insn_in32(uint16_t port)
{
    (void)port;
    return UINT32_MAX;
}

void insn_out8(uint16_t port, uint8_t value)
{
    (void)port;
    (void)value;
}

void insn_out16(uint16_t port, uint16_t value)
{
    (void)port;
    (void)value;
}

void insn_out32(uint16_t port, uint32_t value)
{
    (void)port;
    (void)value;
}

uint8_t insn_read8(uint64_t address)
{
    (void)address;
    return UINT8_MAX;
}

uint16_t insn_read16(uint64_t address)
{
    (void)address;
    return UINT16_MAX;
}

uint32_t insn_read32(uint64_t address)
{
    (void)address;
    return UINT32_MAX;
}

uint64_t insn_read64(uint64_t address)
{
    (void)address;
    return UINT64_MAX;
}

void insn_write8(uint64_t address, uint8_t value)
{
    (void)address;
    (void)value;
}

void insn_write16(uint64_t address, uint16_t value)
{
    (void)address;
    (void)value;
}

void insn_write32(uint64_t address, uint32_t value)
{
    (void)address;
    (void)value;
}

void insn_write64(uint64_t address, uint64_t value)
{
    (void)address;
    (void)value;
}
