/* A guard: the window's tables and handlers on the firmware's page tables and stack, for anything
 * short that may fault, such as reading MSRs. There is no guard page, so leaf code only. */
#ifndef HW_GUARD_H
#define HW_GUARD_H

#include "hw/window.h"

/* Runs body(arg) under our own exception handlers, interrupts off; MSRs changed through
 * window_saves() are put back. OK; FAULTED: *fault tells (NULL: nobody asks); DENIED: nested, or
 * the state found is none to take over, nothing ran. Window: no. */
enum status guard_run(struct window *window, void (*body)(void *), void *arg, struct fault *fault);

#endif
