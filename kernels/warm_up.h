/* What happens in the window before the first sample: the core's clock, then the data. Untimed.
 * Everything here runs in a body. */
#ifndef KERNELS_WARM_UP_H
#define KERNELS_WARM_UP_H

#include "kernels/walk.h"

struct warm_up {
    double spin_seconds, data_seconds; /* the most that each part may take */
    uint64_t second_cache, last_cache; /* bytes; 0: unknown */
    uint64_t small_pages;              /* 4 KiB pages of the data, 0 where its leaves are larger */
};

/* Spins until three successive slices of 200 us ran at the same speed within 0.5 %: out of an idle
 * state a core takes up to milliseconds to reach its clock. False when that took too long. */
bool warm_up_core(const struct bench *bench, const struct warm_up *rules);

/* Brings the data to where the walk finds it in the long run. Up to the size of the second-level
 * cache two laps; above, one sequential read (of twice the last cache, if that is less), then
 * hops in blocks of 1, 2, 4 ms... until two successive blocks agree within 1 % and the lines of
 * the page tables are warm, which takes as many hops as there are 4 KiB pages, up to 200,000.
 * False when that took too long. A kernel with its own `prepare` gets one prepared lap. */
bool warm_up_data(struct walk *walk, const struct warm_up *rules);

#endif
