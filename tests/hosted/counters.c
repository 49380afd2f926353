#include "tests/hosted/counters.h"

#include "kernels/result.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE_MISSES(cache)                                           \
    ((uint64_t)(cache) | (uint64_t)PERF_COUNT_HW_CACHE_OP_READ << 8 | \
     (uint64_t)PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

bool counter_event_of(unsigned logical, struct counter_event *event)
{
    static const struct {
        unsigned logical;
        struct counter_event event;
    } general[] = {
        { C_INSTRUCTIONS, { PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS } },
        { C_CYCLES, { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES } },
        { C_BRANCH, { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS } },
        { C_BRANCH_MISS, { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES } },
        { C_L1D_MISS, { PERF_TYPE_HW_CACHE, CACHE_MISSES(PERF_COUNT_HW_CACHE_L1D) } },
        { C_L3_MISS, { PERF_TYPE_HW_CACHE, CACHE_MISSES(PERF_COUNT_HW_CACHE_LL) } },
        { C_PAGE_WALK, { PERF_TYPE_HW_CACHE, CACHE_MISSES(PERF_COUNT_HW_CACHE_DTLB) } },
    };
    for (size_t i = 0; i < sizeof general / sizeof general[0]; i++) {
        if (general[i].logical == logical) {
            *event = general[i].event;
            return true;
        }
    }
    return false;
}

/* The first leads the others: they are counted, and read, together. */
static int open_one(const struct counter_event *event, int leader)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = event->type;
    attributes.config = event->config;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.pinned = leader < 0;
    attributes.read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

enum status counters_open(struct counters *counters, const struct counter_event *event,
                          unsigned count)
{
    *counters = (struct counters){ .count = 0 };
    while (counters->count < count && counters->count < BENCH_EVENTS) {
        const int leader = counters->count > 0 ? counters->file[0] : -1;
        const int file = open_one(&event[counters->count], leader);
        if (file < 0) {
            counters_close(counters);
            return ABSENT;
        }
        counters->file[counters->count++] = file;
    }
    return counters->count == count ? OK : ABSENT;
}

bool counters_read(const struct counters *counters, uint64_t value[BENCH_EVENTS])
{
    struct {
        uint64_t count, enabled, running, value[BENCH_EVENTS];
    } group;
    memset(value, 0, BENCH_EVENTS * sizeof *value);
    if (counters->count == 0) {
        return false;
    }
    const ssize_t wanted = (ssize_t)((3 + counters->count) * sizeof group.count);
    if (read(counters->file[0], &group, sizeof group) != wanted || group.running != group.enabled) {
        return false;
    }
    memcpy(value, group.value, counters->count * sizeof *value);
    return true;
}

void counters_close(struct counters *counters)
{
    for (unsigned i = 0; i < counters->count; i++) {
        (void)close(counters->file[i]);
    }
    counters->count = 0;
}
