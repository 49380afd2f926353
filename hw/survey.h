/* Who the processor is and what it can do, as it tells itself. */
#ifndef HW_SURVEY_H
#define HW_SURVEY_H

#include "hw/machine.h"

/* Fills all of `processor` that CPUID tells, caches and TLBs of the executing core included; what
 * needs an MSR (microcode) stays 0. Never faults, so it can come before anything else; takes some
 * dozens of CPUIDs, each of which a hypervisor may answer slowly. Window: no need.
 * Sources: SDM vol. 2A, CPUID; APM vol. 3, appendix E; Hyper-V TLFS, "Feature and interface
 * discovery". */
void survey_processor(struct processor *processor);

/* Adds what only MSRs tell: the microcode revision, and the physical address bits that memory
 * encryption takes away. On Intel the revision's MSR is written with 0, as its reading demands
 * (SDM vol. 3A, 10.11.7.1). Leaves alone what the processor refuses, and everything under a
 * hypervisor, whose answers mean nothing. In a guard or window only, after survey_processor. */
void survey_msrs(struct processor *processor);

#endif
