/* The state in which the firmware handed the processor over, read field by field, so that what a
 * window leaves can be compared with what it found. */
#ifndef HW_STATE_H
#define HW_STATE_H

#include "hw/lapic.h"

enum state_field {
    STATE_FLAGS, /* compared: those that outlive a function (IF, DF, TF, IOPL, NT, AC) */
    STATE_CR0,
    STATE_CR2,
    STATE_CR3,
    STATE_CR4,
    STATE_CR8,
    STATE_DR6,
    STATE_DR7,
    STATE_GDT_BASE,
    STATE_GDT_LIMIT,
    STATE_IDT_BASE,
    STATE_IDT_LIMIT,
    STATE_TR,
    STATE_LDTR,
    STATE_CS,
    STATE_SS,
    STATE_DS,
    STATE_ES,
    STATE_FS,
    STATE_GS,
    STATE_FCW,
    STATE_MXCSR, /* compared: without the marks of past exceptions, which any code sets */
    /* From here on: cpu_state_read_all only. */
    STATE_XCR0,
    STATE_EFER,
    STATE_FS_BASE,
    STATE_GS_BASE,
    STATE_KERNEL_GS_BASE,
    STATE_S_CET,
    STATE_APIC_BASE,
    STATE_LAPIC, /* one for each enum lapic_entry */
    STATE_FIELDS = STATE_LAPIC + LAPIC_ENTRIES
};

/* Fields that the processor lacks are 0. */
struct cpu_state {
    uint64_t value[STATE_FIELDS];
};

struct state_difference {
    const char *name; /* "CR4"…; static */
    uint64_t was, is;
};

/* Reads registers only, nothing slow: the fields before STATE_XCR0; the others become 0.
 * Anywhere. */
void cpu_state_read(struct cpu_state *state);

/* Reads all fields. The registers read are those that CPUID promises, so that none can fault:
 * it may be called outside a guard, which is its use (within, the tables are ours). Takes some
 * CPUIDs, slow under a hypervisor. */
void cpu_state_read_all(struct cpu_state *state, const struct lapic *lapic);

/* True if no field differs; otherwise *first is the first that does. Pure. */
bool cpu_state_equal(const struct cpu_state *before, const struct cpu_state *after,
                     struct state_difference *first);

#endif
