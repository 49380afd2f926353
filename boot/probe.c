#include "boot/probe.h"

#include "hw/cpu.h"

enum { LAPS = 8, STEP = 77 };

/* Line `i` of the packed or the spread walk. Both use each set of a first-level cache as often: a
 * page apart they lie at another line of each page. The odd step is there because processors fetch
 * translations ahead of walks from page to page (measured on Zen 5: 6.7 ticks a load from page to
 * page, 8.7 in steps, 4.5 packed). */
static size_t offset(size_t i, bool spread)
{
    const size_t lines_of_page = PAGE_4K / LINE_BYTES;
    const size_t line = i * STEP % PROBE_LINES;
    return spread ? line * PAGE_4K + line % lines_of_page * LINE_BYTES : line * LINE_BYTES;
}

/* Loads a line's first bytes; the result is 0, but not before the load is done. */
static size_t load_and_wait(const char *at, size_t zero)
{
    size_t result;
    __asm__ volatile("mov %1, %0\n\tand %2, %0"
                     : "=&r"(result)
                     : "m"(*(const volatile size_t *)at), "r"(zero)
                     : "cc");
    return result;
}

static uint64_t lap(const char *first, bool spread)
{
    size_t zero = 0;
    uint64_t begin = cpu_tsc_ordered();
    for (size_t i = 0; i < PROBE_LINES; i++) {
        zero = load_and_wait(first + offset(i, spread) + zero, zero);
    }
    return cpu_tsc_ordered() - begin;
}

static uint64_t fastest_lap(const char *first, bool spread)
{
    uint64_t fastest = UINT64_MAX;
    for (unsigned i = 0; i < LAPS; i++) {
        uint64_t ticks = lap(first, spread);
        fastest = ticks < fastest ? ticks : fastest;
    }
    return fastest;
}

struct probe probe_page(const void *at)
{
    return (struct probe){ fastest_lap(at, false), fastest_lap(at, true) };
}

bool probe_is_smashed(const struct probe *probe)
{
    return probe->spread > probe->packed + probe->packed / 3;
}
