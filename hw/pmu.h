/* The performance counters of the executing core: which there are, what to program for a set of
 * events, and doing so for the length of a window.
 *
 * Events are never multiplexed. What does not fit on the counters at once goes into another pass,
 * and it is the caller who measures again. Counters that the firmware uses are told, and come back
 * as they were, but for the time that they would have counted.
 *
 * Sources: SDM vol. 3B, "Performance Monitoring", and vol. 2A, CPUID 0Ah and 23h; APM vol. 2, 13.2,
 * and vol. 3, CPUID 80000001h and 80000022h; AMD PPR for 17h to 1Ah. */
#ifndef HW_PMU_H
#define HW_PMU_H

#include "hw/msr.h"
#include "hw/pmu_events.h"

enum pmu_kind { PMU_NONE, PMU_INTEL, PMU_AMD };

struct pmu {
    enum pmu_kind kind;
    unsigned version;  /* Intel: 1 to 6; AMD: 0 legacy, 1 six core counters, 2 PerfMonV2 */
    uint32_t counters; /* bit i: general counter i is there, and nobody but us wants it */
    uint32_t fixed;    /* bit i: fixed counter i */
    unsigned width, fixed_width; /* in bits */
    uint32_t lacking;            /* Intel, bit i: architectural event i is not there */
    enum pmu_microarchitecture microarchitecture;
    const struct processor *processor;
    /* From pmu_try on. */
    bool works;
    bool full_width;             /* Intel: counters can be written in full (4C1h…) */
    uint32_t owned, owned_fixed; /* counters that the firmware had running */
    const char *reason;          /* static: why it does not work; NULL if it does */
};

/* What one counter is to do. */
struct pmu_slot {
    enum pmu_event event;
    uint32_t allowed; /* bit i: general counter i; bit 16 + i: fixed counter i */
    unsigned counter; /* the bit that was chosen */
    uint64_t select;  /* for a general counter's control register */
};

enum { PMU_FIXED_0 = 16, PMU_SLOTS = 16, PMU_RESPONSES = 2 };

/* Events that are counted at once. Zeroed: none. */
struct pmu_pass {
    unsigned count;
    struct pmu_slot slot[PMU_SLOTS];
    uint64_t response[PMU_RESPONSES]; /* for OFFCORE_RSP_0 and _1; 0: untouched */
};

/* ---- before a window -------------------------------------------------------------------------- */

/* What CPUID tells. OK; ABSENT with pmu->reason. `processor` must have been surveyed on this core,
 * and stay, where bodies can reach it. Window: no need. */
enum status pmu_find(struct pmu *pmu, const struct processor *processor);

/* Finds out whose counters run already, then counts a loop of known length. What a hypervisor only
 * pretends to have fails here. OK; FAULTED with pmu->reason: refused, dead, or wrong. What it
 * changes is on the list `saves`. Guard or window: only there, after pmu_find was OK. */
enum status pmu_try(struct pmu *pmu, struct msr_saves *saves);

/* How this core counts an event: by the table, or on models that it does not know, as one of the
 * architectural events. False: not at all. Pure. */
bool pmu_has(const struct pmu *pmu, enum pmu_event event, struct pmu_code *code);

/* Adds an event to a pass, moving others to other counters if that makes room; it is slot number
 * count - 1 then. False: this core has no such event, or no room for it beside the others, which
 * stay. Pure. */
bool pmu_add(const struct pmu *pmu, struct pmu_pass *pass, enum pmu_event event);

/* ---- in a window ------------------------------------------------------------------------------ */

/* Programs the pass and starts it, from 0. What it changes is on the list `saves`, but for overflow
 * bits, which are cleared. FAULTED, ABSENT (the list is full), DENIED: nothing counts. Guard or
 * window: only there. */
enum status pmu_start(const struct pmu *pmu, const struct pmu_pass *pass, struct msr_saves *saves);

/* Holds all counters, so that restoring the registers one by one finds them at rest. Guard or
 * window: only there. */
enum status pmu_stop(const struct pmu *pmu, struct msr_saves *saves);

/* What slot number `slot` has counted since pmu_start, masked to the counter's width: no counter
 * wraps within a window. Not fenced. False: the processor refused. Guard or window: only there. */
bool pmu_read(const struct pmu *pmu, const struct pmu_pass *pass, unsigned slot, uint64_t *value);

#endif
