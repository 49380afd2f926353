/* The clock of all measurements: the time-stamp counter, and how fast it ticks.
 *
 * Several sources are asked in order of trust; a frequency is believed once a second source, of the
 * other kind where there is one, agrees within 1 %. What the processor or the hypervisor tells is
 * exact if it is right; what is timed against another clock is right to some parts per million. */
#ifndef HW_CLOCK_H
#define HW_CLOCK_H

#include "hw/acpi.h"
#include "hw/machine.h"

/* What only MSRs tell; 0: nothing. */
struct clock_msrs {
    uint64_t hyperv_hz; /* Hyper-V's TSC frequency */
    uint64_t ratio_hz;  /* nominal ratio times bus clock, of processors in a table */
};

/* Hyper-V TLFS, "Partition privilege"; Intel: MSR_PLATFORM_INFO (SDM vol. 4), from Nehalem to
 * Broadwell; AMD: P-state 0 (PPR of families 17h, 19h, 1Ah). In a guard or window only. */
void clock_read_msrs(const struct processor *processor, struct clock_msrs *msrs);

/* What the frequency can be found by. */
struct clock_needs {
    const struct processor *processor;
    struct clock_msrs msrs;
    uint64_t (*tsc)(void);    /* RDTSC, ordered */
    struct pm_timer pm_timer; /* bits 0: none */
    uint64_t hpet;            /* address of its registers; 0: none */
    /* Firmware's wait; false if it failed. NULL: none. */
    bool (*stall)(void *self, unsigned microseconds);
    void *self; /* of stall */
};

/* Finds the frequency; fills all of `clock` but the core's. ABSENT, with clock->reason and tsc_hz
 * 0: no usable TSC (none, one that stands still or runs backwards, or no two sources that agree).
 * Takes 0.15 s for each timer that is asked, 0.4 s for firmware's wait. The HPET is switched on meanwhile
 * if it was off, and off again. Reads ports and memory-mapped timers: with interrupts on and
 * outside a guard, since firmware's wait is a firmware call. Window: no. */
enum status clock_find(struct clock *clock, const struct clock_needs *needs);

/* Leaf 15h's answer, by the model's crystal where it does not tell; 0: none, or one that leaf 16h
 * contradicts by more than 2 % (SDM vol. 3B, 19.17.4). Window: no need. */
uint64_t clock_hz_of_leaf_15(const struct processor *processor);

#endif
