/* How fast the time-stamp counter ticks, on Linux. */
#ifndef TESTS_HOSTED_CLOCK_LINUX_H
#define TESTS_HOSTED_CLOCK_LINUX_H

#include "hw/machine.h"

/* Fills all of `clock` but the core's: by the sources of hw/clock.h, with the system's clock in
 * the place of the firmware's wait. Where neither processor nor hypervisor tells, as on most of
 * AMD's, two of the system's clocks have to agree: the one that nobody adjusts, and the one that
 * is held to the time of the world. ABSENT, with clock->reason: no usable counter. */
enum status clock_linux_find(struct clock *clock, const struct processor *processor);

#endif
