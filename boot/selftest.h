/* The self-test of the window, the part that needs no firmware: every kind of exception is provoked
 * on purpose, must be reported with its vector, error code, instruction and address, and must
 * leave the machine as it was; and a hundred windows must leave nothing behind. */
#ifndef BOOT_SELFTEST_H
#define BOOT_SELFTEST_H

#include "hw/window.h"
#include "kernels/result.h"

/* What the caller's page tables hold ready. All addresses are of the view. */
struct selftest_view {
    struct window_view view;
    size_t stack_bytes;  /* below view.stack; the page below that must not be mapped */
    uint64_t unmapped;   /* no page is mapped here */
    uint64_t read_only;  /* a byte that may be read and not written */
    uint64_t no_execute; /* a byte that may not be executed; 0: the processor has no such bit */
};

struct selftest {
    struct window *window;
    const struct processor *processor;
    struct selftest_view place;
    unsigned windows; /* that the last check opens and closes: SELFTEST_WINDOWS */
    /* Called between two windows, interrupts on: the firmware's turn. NULL: none. */
    void (*idle)(void *self);
    void *idle_self;

    /* What bodies answer with; private to selftest.c. */
    unsigned opened;
    bool came_back, refused;
};

enum {
    SELFTEST_WINDOWS = 100,
    SELFTEST_CHECKS = 16, /* at most so many are written */
};

/* `test` must lie in memory that the view maps, writable: the bodies work with it.
 * Runs all checks and writes one struct check each; the number written (no more than `room`).
 * Window: no. */
size_t selftest_run(struct selftest *test, struct check *check, size_t room);

#endif
