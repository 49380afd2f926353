/* Rows that contradict each other or themselves: a measured number is not believed only because it is precise.
 *
 * Each new point is held against those measured before it, so that a row that was printed never
 * changes: of two rows that cannot both be true, the later is marked. Pure. Window: yes. */
#ifndef KERNELS_PLAUSIBLE_H
#define KERNELS_PLAUSIBLE_H

#include "kernels/result.h"

/* Marks `point` suspect, with the reason (static text), if it contradicts one of the `n` points of
 * the same experiment that were measured before; true if it does. The rules, for points that have
 * all other keys in common:
 *   - in random order a larger set is not faster than 0.97 of the smaller one;
 *   - random order is not faster than 0.97 of sequential order, outside both intervals (without
 *     an interval: outside all samples);
 *   - n chains are at most 1.05 n times faster than one, outside both intervals likewise.
 * A reason that the point already has is kept. */
bool plausible_judge(struct point *point, const struct point *before, size_t n);

/* Marks `point` suspect if its prefetchers, as read back, are not as its conditions say: those to be
 * switched off are off, all others as they were found. */
bool plausible_prefetchers(struct point *point, const struct conditions *set,
                           const struct prefetcher_facts *facts);

#endif
