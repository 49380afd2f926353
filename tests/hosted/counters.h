/* Counters of the processor, as far as the kernel lets a program have them (perf_event_open(2)).
 * They count this thread only, and only what it does outside of the kernel. */
#ifndef TESTS_HOSTED_COUNTERS_H
#define TESTS_HOSTED_COUNTERS_H

#include "kernels/bench.h"

/* What to count, in perf's terms. */
struct counter_event {
    uint32_t type;
    uint64_t config;
};

/* The logical event (enum counter) in these terms; false where perf has no general name for it. */
bool counter_event_of(unsigned logical, struct counter_event *event);

/* Counters that are read together. */
struct counters {
    int file[BENCH_EVENTS];
    unsigned count;
};

/* Opens them, counting from now on, all at once or not at all: a share of the time is refused.
 * ABSENT: there are none of those here, or not for everybody; nothing is open then. */
enum status counters_open(struct counters *counters, const struct counter_event *event,
                          unsigned count);
/* Reads them all into `value`, in the order of their opening. False: they did not count all the
 * time; the values are then 0. Takes a call of the kernel. Window: yes. */
bool counters_read(const struct counters *counters, uint64_t value[BENCH_EVENTS]);
/* Also of what is not open. */
void counters_close(struct counters *counters);

#endif
