/* The plan of a run: from settings, machine and table of kernels to the ordered list of
 * measurements, with the time it will take. Pure. Window: no. */
#ifndef BOOT_PLAN_H
#define BOOT_PLAN_H

#include "boot/settings.h"
#include "kernels/kernel.h"
#include "kernels/sampler.h"

enum { PLAN_EXPERIMENTS = 64 };

/* One experiment: a stretch of the plan's measurements. */
struct planned {
    const struct kernel *kernel;
    size_t first, count; /* of plan->measurement; those with a `skip` included */
    size_t measured;     /* without those */
    size_t visits;       /* of all its measurements */
    double seconds;      /* estimate of one pass */
};

struct plan {
    const struct machine *machine;
    const char *suite; /* its name */
    struct scope scope;
    struct sampling sampling;
    const struct measurement *measurement;
    size_t measurements;
    struct planned experiment[PLAN_EXPERIMENTS];
    size_t experiments;
    unsigned repeat;   /* passes through all of it */
    double seconds;    /* estimate of all passes */
    double time_limit; /* seconds; 0: none */
};

/* The self-test as a row like any other. It is no kernel: it measures nothing, needs more than the
 * bench, and is run by what `struct run` says (boot/run.h). */
extern const struct kernel selftest_row;

/* Measurements that these settings ask for, to find the memory for plan_make. */
size_t plan_count(const struct settings *settings, const struct machine *machine);

/* Makes the plan. `memory` has room for plan_count measurements; it, the machine and the settings'
 * kernels must outlive the plan. Experiments stand in the order that each can use what those
 * before it found: the self-test, noise, calibrate, bandwidth, chase, then as in the table. */
void plan_make(struct plan *plan, const struct settings *settings, const struct machine *machine,
               struct measurement *memory, size_t room);

/* Measurements from `first` on that show the same data, at most `count`: they are built once a
 * visit. At least 1 if count is. */
size_t plan_group(const struct measurement *first, size_t count);
/* Most visits that a member of a group has, 0 if all are skipped. */
unsigned plan_group_visits(const struct plan *plan, const struct measurement *first, size_t count);
/* Seconds of building and proving a group's data once. */
double plan_group_build(const struct measurement *first, size_t count);

/* Shows the plan: each experiment with what it varies, what is left out and why, and how long it
 * takes. Calls line(self, text) for each line; a text is shorter than PLAN_LINE. */
enum { PLAN_LINE = 240 };
void plan_print(const struct plan *plan, void (*line)(void *self, const char *text), void *self);

/* Writes why measurements are skipped, each reason once with how many it holds for: "3 not
 * measured: no free aligned GiB; 2 not measured: ..."; what does not fit is cut. `of` is called with index 0 to count - 1 and
 * answers NULL for what is not skipped. Returns how many are skipped. */
size_t plan_reasons(const char *(*of)(const void *self, size_t index), const void *self,
                    size_t count, char *text, size_t room);

#endif
