/* Which machine a program of Linux runs on. */
#ifndef TESTS_HOSTED_SURVEY_H
#define TESTS_HOSTED_SURVEY_H

#include "hw/machine.h"

/* Stays on the processor it is on, so that clock, counters and caches are always the same one's, and
 * prefers that processor's memory. Returns its number; -1: the system does not let us. */
int survey_pin(void);

/* Fills in processor, clock, board, firmware and memory; page sizes and arena are the bench's.
 * After survey_pin. ABSENT, with the reason in the clock: no usable time-stamp counter. Takes about
 * half a second. */
enum status survey_machine(struct machine *machine);

/* Bytes that one view may have, so that four stores of that size do not take all the memory that is
 * free; what a control group allows counts. */
size_t survey_view_bytes(void);

#endif
