/* Does the TLB hold a large page as one entry? A guest's 2 MiB page is cut into 4 KiB entries where
 * its host backs it with small ones, and then a difference between page sizes means nothing. */
#ifndef BOOT_PROBE_H
#define BOOT_PROBE_H

#include "hw/machine.h"

/* More than any first-level data TLB has entries (128 at most, Lion Cove), and few enough that the
 * lines stay in a first-level cache of 24 KiB and 6 ways: four in each of its sets. */
enum { PROBE_LINES = 256, PROBE_BYTES = PROBE_LINES * PAGE_4K };

struct probe {
    uint64_t packed,
        spread; /* ticks of the fastest lap over lines side by side, and a page apart */
};

/* Walks PROBE_LINES lines of [at, at + PROBE_BYTES), each load waiting for the one before; the
 * memory is only read. About 100 us. Outside a window the time means nothing. Window: yes. */
struct probe probe_page(const void *at);

/* The verdict: a line a page costs a third more than lines side by side. What a second-level TLB
 * adds is as long as a load from the first-level cache, and a page walk is longer. Pure. */
bool probe_is_smashed(const struct probe *probe);

#endif
