/* The run loop: from a plan to results, told to observers as they come.
 *
 * Each experiment is measured in visits: all its measurements once, then all again with other
 * orders. In the visits before the last, groups of measurements over the same data come shuffled,
 * so that what drifts does not look like a curve; in the last they come as listed, and each point
 * is told as soon as it is complete. What one visit is enough for is measured in the last.
 *
 * Pure C over the bench; no allocation: whoever calls gives memory. Window: no. */
#ifndef BOOT_RUN_H
#define BOOT_RUN_H

#include "boot/plan.h"
#include "kernels/observer.h"

enum {
    RUN_TEXT = 320,  /* most bytes of an experiment's reason */
    RUN_CHECKS = 64, /* of one self-test */
};

/* A measurement under way. */
struct run_item {
    struct series series;
    unsigned visits, done; /* that it has, and that were made */
    bool finished;         /* its point is in the results */
    const char *absent;    /* why it cannot be measured here, or NULL */
};

/* Measurements over the same data. */
struct run_group {
    size_t first, count;  /* of the experiment's measurements */
    double build_seconds; /* estimate of building once */
};

/* What the loop works on; made by run_divide. */
struct run_memory {
    struct run_item *item;   /* of one experiment */
    struct run_group *group; /* the same, and an order of them */
    size_t *order;
    char (*text)[RUN_TEXT]; /* reasons, one an experiment */
};

struct run {
    const struct plan *plan;
    const struct bench *bench;
    /* Begun by the caller: program, machine, name, started, settings. The arrays of experiments,
     * points and checks are run_divide's. */
    struct results *results;
    const struct observer *observer; /* called in this order */
    size_t observers;
    struct run_memory memory;

    void *self;
    /* Since the run began; what `time_limit` and progress count. */
    double (*seconds)(void *self);
    /* Runs the self-test: at most `room` checks, their number is returned. NULL: this program has
     * none. */
    size_t (*selftest)(void *self, struct check *check, size_t room);
};

/* Bytes that a run of this plan needs, for its loop and its results. They follow from what is listed,
 * also where it turns out to be skipped. */
size_t run_bytes(const struct plan *plan);

/* Divides that much memory, aligned to 16 bytes, between run->memory and run->results. */
void run_divide(struct run *run, void *memory);

/* Runs the plan. results->status tells how it went:
 * RUN_FAILED if an experiment failed: a fault (experiment->fault), or data or a sample that is not
 * what it must be; the others still ran. RUN_PARTIAL if an observer or the time limit stopped it:
 * points that had at least one visit are finished, flagged `partial`. Nothing measured is lost in
 * either case. What the machine does not have is no failure; experiment->reason tells what was left
 * out. */
void run_plan(struct run *run);

#endif
