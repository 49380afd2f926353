/* The measurement window: for a moment the processor is ours alone, and afterwards everything is as
 * it was found.
 *
 *   interrupts off, task priority 15    what comes waits in the local APIC and is delivered later
 *   own GDT, IDT, TSS                   every exception is ours; each vector has a stack
 *   own page tables and stack           what the caller built (hw/paging.h), guard page included
 *   canonical x87, MXCSR and DR7        vector state beyond SSE if wanted
 *
 * The firmware stays alive, but nothing of it may be called inside: whoever calls firmware asks
 * window_is_open first. A window lasts a second as a rule, never three; between two, interrupts
 * are on for at least 20 ms (the caller sees to both).
 *
 * A fault inside ends the body, is recorded, and the caller goes on. hw/guard.h is the same on the
 * firmware's page tables and stack. */
#ifndef HW_WINDOW_H
#define HW_WINDOW_H

#include "hw/msr.h"
#include "hw/state.h"
#include "hw/trap_mce.h"

struct window;

/* What the body sees. The tables must map, at the addresses they have outside: the image (code
 * executable; data writable), the memory given to window_prepare (writable), the stack, the
 * registers of a LAPIC in memory (uncached), and whatever the body touches. */
struct window_view {
    uint64_t root;   /* physical address of the root table, low 12 bits 0 */
    unsigned levels; /* of the tables: 5 where CR4.LA57 is set, else 4 */
    uint64_t stack;  /* the end of the stack: the first byte above it, a multiple of 16 */
};

struct window_report {
    struct fault fault; /* if FAULTED */
    const char *reason; /* if not OK: static text */
    uint32_t nmis;      /* that came inside */
    uint32_t pending;   /* vectors that were requested inside and had not been before */
    uint32_t machine_checks;
    const struct machine_check *machine_check; /* the last one, until the next window; or NULL */
    unsigned registers_lost;                   /* MSRs that could not be put back */
    struct state_difference difference;        /* between found and left; name NULL: none. The task
                                           register is excepted where ours stays (below) */
    uint64_t tsc_entered, tsc_left;
    uint64_t tsc_body, tsc_body_end; /* the body's, 0 if it did not run */
};

/* Bytes that window_prepare needs, a multiple of 4 KiB. Pure. */
size_t window_bytes(void);

/* Makes a window in `low_memory`: window_bytes() bytes, 4 KiB aligned, below 4 GiB, identity
 * mapped and writable. The memory is never given back, not even at the end of the program: TR goes
 * on pointing there where the firmware had none. DENIED with a reason where the processor is in a
 * state that a window can't take over. Window: no. */
enum status window_prepare(struct window **window, void *low_memory, size_t bytes,
                           const char **reason);

/* Who prints the last lines if a machine check or a bug of ours leaves only a halt. `say` is called
 * with interrupts off, perhaps on the window's tables, and may not call firmware. Window: no. */
void window_on_halt(struct window *window, void (*say)(void *self, const char *line), void *self);

/* Runs body(arg) in a window. `vectors`: XCR0 components the body needs beyond what is on
 * (hw/vector.h), 0 for none. `view` NULL is a guard (hw/guard.h).
 * OK; FAULTED: report->fault tells; ABSENT: the processor does not offer the vectors, nothing ran;
 * DENIED: nested, or the state found is none to take over, nothing ran. Window: no. */
enum status window_run(struct window *window, const struct window_view *view, uint64_t vectors,
                       void (*body)(void *), void *arg, struct window_report *report);

/* True from before the first change to after the last. Anywhere; NULL is no window. */
bool window_is_open(const struct window *window);

/* ---- for the body ----------------------------------------------------------------------------- */

/* So far in this window. */
uint32_t window_nmis(const struct window *window);
uint32_t window_pending(const struct window *window);
uint32_t window_machine_checks(const struct window *window);

/* The list for msr_save_and_write: what is on it when the body ends, or faults, is put back. */
struct msr_saves *window_saves(struct window *window);

/* ---- facts ------------------------------------------------------------------------------------ */

/* All windows and guards since window_prepare, that of its own included; goes on counting. Window:
 * yes, where it lacks the one that is open. */
const struct strikes *window_strikes(const struct window *window);

/* The local APIC as window_prepare found it, for whoever maps its registers or compares states. */
const struct lapic *window_lapic(const struct window *window);

#endif
