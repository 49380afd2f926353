/* The memory of a machine as the start of a run prints it. Window: no. */
#ifndef CONSOLE_REPORT_MEMORY_H
#define CONSOLE_REPORT_MEMORY_H

#include "console/lines.h"
#include "hw/machine.h"

/* "DIMMs  8 of 16 sockets, 8 of 8 channels: 8 x 64 GiB DDR5-5600 at 4800 MT/s, ECC", or why
 * nothing is known. */
void report_dimms(struct console *console, const struct memory_facts *memory);

#endif
