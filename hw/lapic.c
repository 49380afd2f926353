#include "hw/lapic.h"

#include "hw/insn.h"

/* IA32_APIC_BASE (SDM vol. 3A, 11.4.4 and 11.12.1). */
#define MSR_APIC_BASE     0x1B
#define APIC_BASE_X2APIC  (UINT64_C(1) << 10)
#define APIC_BASE_ENABLED (UINT64_C(1) << 11)
#define APIC_BASE_ADDRESS UINT64_C(0x000FFFFFFFFFF000)

/* Offsets of the memory form; the MSR of a register is 800h plus a sixteenth of its offset. */
#define LAPIC_VERSION 0x030
#define LAPIC_IRR     0x200
#define MSR_X2APIC    0x800

#define ENTRY_MODE   (UINT32_C(7) << 8)
#define ENTRY_EXTINT (UINT32_C(7) << 8)
#define ENTRY_MASKED (UINT32_C(1) << 16)

static const uint16_t entry_offset[LAPIC_ENTRIES] = {
    [LAPIC_TIMER] = 0x320,   [LAPIC_LINT0] = 0x350,   [LAPIC_LINT1] = 0x360, [LAPIC_ERROR] = 0x370,
    [LAPIC_COUNTER] = 0x340, [LAPIC_THERMAL] = 0x330, [LAPIC_CMCI] = 0x2F0,
};

static uint32_t read_register(const struct lapic *lapic, uint32_t offset)
{
    uint64_t value = 0;
    if (lapic->mode == LAPIC_MEMORY) {
        value = insn_read32(lapic->base + offset);
    } else if (lapic->mode == LAPIC_MSRS) {
        (void)insn_rdmsr(MSR_X2APIC + (offset >> 4), &value);
    }
    return (uint32_t)value;
}

static void write_register(const struct lapic *lapic, uint32_t offset, uint32_t value)
{
    if (lapic->mode == LAPIC_MEMORY) {
        insn_write32(lapic->base + offset, value);
    } else if (lapic->mode == LAPIC_MSRS) {
        (void)insn_wrmsr(MSR_X2APIC + (offset >> 4), value);
    }
}

static bool processor_has_apic(void)
{
    struct cpuid_regs leaf;
    insn_cpuid(1, 0, &leaf);
    return leaf.edx & UINT32_C(1) << 9;
}

void lapic_find(struct lapic *lapic)
{
    uint64_t found;
    *lapic = (struct lapic){ .mode = LAPIC_ABSENT };
    if (!processor_has_apic() || !insn_rdmsr(MSR_APIC_BASE, &found) ||
        !(found & APIC_BASE_ENABLED)) {
        return;
    }
    lapic->mode = found & APIC_BASE_X2APIC ? LAPIC_MSRS : LAPIC_MEMORY;
    lapic->base = found & APIC_BASE_ADDRESS;
    /* Bits 23:16 hold the number of entries, less one. */
    lapic->entries = (read_register(lapic, LAPIC_VERSION) >> 16 & 0xFF) + 1;
    if (lapic->entries > LAPIC_ENTRIES) {
        lapic->entries = LAPIC_ENTRIES;
    }
}

void lapic_read_entries(const struct lapic *lapic, uint32_t entry[LAPIC_ENTRIES])
{
    for (unsigned i = 0; i < LAPIC_ENTRIES; i++) {
        entry[i] = i < lapic->entries ? read_register(lapic, entry_offset[i]) : 0;
    }
}

void lapic_hold(struct lapic *lapic)
{
    uint32_t lint0 = read_register(lapic, entry_offset[LAPIC_LINT0]);
    lapic->lint0_found = lint0;
    lapic->lint0_held = lapic->mode != LAPIC_ABSENT && (lint0 & ENTRY_MODE) == ENTRY_EXTINT &&
                        !(lint0 & ENTRY_MASKED);
    if (lapic->lint0_held) {
        write_register(lapic, entry_offset[LAPIC_LINT0], lint0 | ENTRY_MASKED);
    }
}

void lapic_release(struct lapic *lapic)
{
    if (lapic->lint0_held) {
        write_register(lapic, entry_offset[LAPIC_LINT0], lapic->lint0_found);
        lapic->lint0_held = false;
    }
}

void lapic_requests(const struct lapic *lapic, uint32_t request[LAPIC_BITMAP_WORDS])
{
    for (unsigned i = 0; i < LAPIC_BITMAP_WORDS; i++) {
        request[i] = read_register(lapic, LAPIC_IRR + 16 * i);
    }
}

unsigned lapic_new_requests(const uint32_t before[LAPIC_BITMAP_WORDS],
                            const uint32_t now[LAPIC_BITMAP_WORDS])
{
    unsigned count = 0;
    for (unsigned i = 0; i < LAPIC_BITMAP_WORDS; i++) {
        count += (unsigned)__builtin_popcount(now[i] & ~before[i]);
    }
    return count;
}
