/* What stands at the head of a run: program, machine, clock, settings. Window: no. */
#ifndef CONSOLE_REPORT_MACHINE_H
#define CONSOLE_REPORT_MACHINE_H

#include "console/lines.h"
#include "kernels/result.h"

void report_banner(struct console *console, const struct results *results);

/* The lines that stand before and after everything where times are not the machine's own: an
 * emulator, a hypervisor, a clock that may change its pace. Prints nothing on plain metal. */
void report_warnings(struct console *console, const struct machine *machine);

#endif
