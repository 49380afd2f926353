/* The caches of the executing core, as the processor describes them. */
#ifndef HW_CACHES_H
#define HW_CACHES_H

#include "hw/machine.h"

/* Fills processor->cache: from the deterministic leaves (4; 8000001Dh where AMD has it), else from
 * the descriptors of leaf 2, else from 80000005h and 80000006h. Sizes are those of one sharing
 * domain, except from 80000006h, whose third level is the whole package's. None at all, where a
 * hypervisor shows nothing, is a normal answer. Never faults. Window: no need.
 * Sources: SDM vol. 2A, CPUID leaves 2 and 4; APM vol. 3, appendix E. */
void survey_caches(struct processor *processor);

/* The cache of that level that holds data, NULL if none is known. Window: yes. */
const struct cache *data_cache(const struct processor *processor, unsigned level);

/* The outermost cache that holds data, NULL if none is known. Window: yes. */
const struct cache *last_cache(const struct processor *processor);

#endif
