/* Exceptions of a body, as the bare machine's traps report them. */
#ifndef TESTS_HOSTED_CATCH_H
#define TESTS_HOSTED_CATCH_H

#include "hw/machine.h"

/* From now on SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGTRAP in a body end that body only; outside of
 * one they end the program as ever. IO_ERROR: the system refuses. */
enum status catch_prepare(void);

/* Runs body(arg). FAULTED: *fault has what the processor said: vector, error code, instruction and,
 * of a page fault, address. Signals other than those stay as they are. Not nested. */
enum status catch_run(void (*body)(void *), void *arg, struct fault *fault);

#endif
