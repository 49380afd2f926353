/* System management interrupts: the firmware's own, which nothing can hold back and no interrupt
 * table sees. Intel's processors count them; others do not, but for a performance counter. */
#ifndef HW_SMI_H
#define HW_SMI_H

#include "hw/msr.h"

/* Does this processor count them where smi_count can read it? Known models only, and never under a
 * hypervisor, whose count is of something else. *reason (static text) says why not. Reads the
 * register once. Guard or window: only there.
 * Source: SDM vol. 4, MSR_SMI_COUNT (34h): Nehalem and later, Silvermont and later, Xeon Phi. */
bool smi_is_counted(const struct processor *processor, const char **reason);

/* How many there were since reset, modulo 2^32. Only where smi_is_counted; false: the processor
 * refused. Guard or window: only there. */
bool smi_count(uint32_t *count);

/* Lets the performance counters rest while the processor is in system management mode, until
 * `saves` are restored; the time stamp goes on. OK; ABSENT: the processor cannot (CPUID, or
 * IA32_PERF_CAPABILITIES bit 12); FAULTED: it refused, or did not keep what was written. Guard or
 * window: only there. Source: SDM vol. 3B, 18.4.1, IA32_DEBUGCTL.FREEZE_WHILE_SMM. */
enum status smi_freeze_counters(const struct processor *processor, struct msr_saves *saves);

#endif
