/* The local APIC, in the mode the firmware left it in: registers in memory (xAPIC) or in MSRs
 * (x2APIC; servers ship so). The mode is never switched, nothing is ever acknowledged.
 * SDM vol. 3A, chapter 11 (10 in editions before 2022); AMD APM vol. 2, chapter 16. */
#ifndef HW_LAPIC_H
#define HW_LAPIC_H

#include "hw/machine.h"

enum lapic_mode { LAPIC_ABSENT, LAPIC_MEMORY, LAPIC_MSRS };

/* Local vector table entries, in the order in which processors gained them. */
enum lapic_entry {
    LAPIC_TIMER,
    LAPIC_LINT0,
    LAPIC_LINT1,
    LAPIC_ERROR,
    LAPIC_COUNTER, /* performance counters */
    LAPIC_THERMAL,
    LAPIC_CMCI, /* corrected machine checks */
    LAPIC_ENTRIES
};

enum { LAPIC_BITMAP_WORDS = 8 }; /* 256 vectors in words of 32 */

struct lapic {
    enum lapic_mode mode;
    uint64_t base;    /* LAPIC_MEMORY: physical address of the 4 KiB of registers */
    unsigned entries; /* of the local vector table that this processor has */
    bool lint0_held;
    uint32_t lint0_found;
};

/* Finds the mode by CPUID and IA32_APIC_BASE. No APIC or one that is off (bit 11 clear) is
 * LAPIC_ABSENT. Guard or window: only there (for LAPIC_MEMORY the registers must be mapped
 * uncached, as in all that follow). */
void lapic_find(struct lapic *lapic);

/* Reads all entries of the local vector table; those the processor lacks are 0. Window: yes. */
void lapic_read_entries(const struct lapic *lapic, uint32_t entry[LAPIC_ENTRIES]);

/* Keeps the PC's old interrupt controller quiet: masks LINT0 if it is set to ExtINT and open
 * (OVMF's is), since the task priority does not hold that kind back. All other entries stay as
 * they are: a masked timer loses its ticks, and one in one-shot mode is lost for good, and with it
 * the firmware's clock, keys and disks. lapic_release puts LINT0 back. With interrupts off. */
void lapic_hold(struct lapic *lapic);
void lapic_release(struct lapic *lapic);

/* The vectors that have been requested and not yet delivered. All zero where there is no APIC.
 * Window: yes. */
void lapic_requests(const struct lapic *lapic, uint32_t request[LAPIC_BITMAP_WORDS]);

/* Vectors in `now` that are not in `before`. Pure. */
unsigned lapic_new_requests(const uint32_t before[LAPIC_BITMAP_WORDS],
                            const uint32_t now[LAPIC_BITMAP_WORDS]);

#endif
