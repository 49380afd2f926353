/* The translation caches of the executing core, as the processor describes them. */
#ifndef HW_TLB_H
#define HW_TLB_H

#include "hw/machine.h"

/* Fills processor->tlb: from leaf 18h, else from 80000005h, 80000006h and 80000019h, else from the
 * descriptors of leaf 2. A structure that serves several page sizes may be listed once for all of
 * them or once each: that is the processor's choice. 4 MiB pages do not exist in 64-bit mode and
 * are left out. None at all is a normal answer. Never faults. Window: no need.
 * Sources: SDM vol. 2A, CPUID leaves 2 and 18h; APM vol. 3, appendix E. */
void survey_tlbs(struct processor *processor);

#endif
