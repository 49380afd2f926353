/* Model-specific registers without surprises: every access answers whether it worked, registers
 * that belong to a model are touched on that model only (some reset a machine where another model
 * faults), and whatever was written is put back on every way out of the window. */
#ifndef HW_MSR_H
#define HW_MSR_H

#include "hw/machine.h"

/* ---- which registers may be touched ----------------------------------------------------------- */

enum { MSR_READ = 1, MSR_WRITE = 2 };

/* Registers first..last may be accessed so, on these processors. */
struct msr_rule {
    uint32_t first, last;
    unsigned access;                    /* MSR_READ, MSR_WRITE or both */
    const char *vendor;                 /* as in struct processor; NULL: all */
    unsigned family_first, family_last; /* display family; 0, 0: all */
    unsigned model_first, model_last;   /* display model; 0, 0: all of these families */
};

/* The processor's own rules: the architectural registers, known to all; then those of tables that
 * a caller brings along (counters, prefetchers…). */
struct msr_gate {
    const struct processor *processor;
    const struct msr_rule *rule; /* may be NULL; not owned */
    size_t rules;
};

/* May this register be touched in that way on this processor? Being allowed does not mean that it
 * is there: a hypervisor may refuse it all the same. Pure. */
bool msr_allowed(const struct msr_gate *gate, uint32_t msr, unsigned access);

/* OK; DENIED: not for this processor, nothing was touched; FAULTED: the processor refused.
 * Guard or window: only there. */
enum status msr_read(const struct msr_gate *gate, uint32_t msr, uint64_t *value);

/* ---- changing them for a while ---------------------------------------------------------------- */

enum { MSR_SAVES = 96 };

/* What registers held before they were changed, in the order of the changes. Zeroed: empty. */
struct msr_saves {
    unsigned count;
    struct msr_save {
        uint32_t msr;
        uint64_t found;
    } save[MSR_SAVES];
};

/* Reads the register, remembers what it held (once a register) and writes `value`.
 * OK: not refused, which is no proof of effect: hypervisors swallow writes, so read back what
 * matters. DENIED and FAULTED as above, FAULTED with nothing changed. ABSENT: the list is full,
 * nothing was written. The window and the guard call msr_restore on every way out.
 * Guard or window: only there. */
enum status msr_save_and_write(const struct msr_gate *gate, struct msr_saves *saves, uint32_t msr,
                               uint64_t value);

/* Puts everything back, the latest change first, and empties the list. The number of registers
 * that refused. Guard or window: only there. */
unsigned msr_restore(struct msr_saves *saves);

#endif
