/* The counters of a report, in terms of the events of processors. */
#ifndef BOOT_COUNTERS_H
#define BOOT_COUNTERS_H

#include "hw/pmu.h"
#include "kernels/result.h"

/* Adds what this core has for a counter of the report to a pass: the fixed counter or the exact
 * event first, else the closest that the report allows under that name. *slot is where it went.
 * False: this core has none, or no room for it in this pass. Pure. */
bool counters_add(const struct pmu *pmu, struct pmu_pass *pass, enum counter counter,
                  unsigned *slot);

/* Is it counted by something close to its name on this core (prefetches, loads that are not yet
 * sure to be needed, another CPU's cache)? False also where it is not counted. Pure. */
bool counters_are_close(const struct pmu *pmu, enum counter counter);

#endif
