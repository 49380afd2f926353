/* What happens when an exception, an NMI or an interrupt comes while our interrupt table is loaded.
 *
 *   refused primitive (hw/insn.h)    goes on behind it with the answer false
 *   NMI                              counted
 *   machine check                    hw/trap_mce.h judges: go on, end the body, or halt
 *   anything else in a body          recorded; the body ends, its frame sent to the way out
 *   anything else outside a body     a bug in the window itself: printed, and the machine halts
 *
 * A measurement's vector registers may be live in all of this, so files named trap*.c are compiled
 * for general registers only. */
#ifndef HW_TRAP_H
#define HW_TRAP_H

#include "hw/machine.h"
#include "hw/trap_mce.h"

enum {
    TRAP_DIVIDE = 0,
    TRAP_NMI = 2,
    TRAP_INVALID_OPCODE = 6,
    TRAP_DOUBLE_FAULT = 8,
    TRAP_GENERAL_PROTECTION = 13,
    TRAP_PAGE_FAULT = 14,
    TRAP_MACHINE_CHECK = 18,
    TRAP_VECTORS = 256,
};

/* Machine checks in one body after which it ends, though each by itself was harmless. */
enum { TRAP_MACHINE_CHECKS = 8 };

/* What hw/trap.S leaves on the interrupt stack. */
struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax;
    uint64_t vector, code;
    uint64_t ip, cs, flags, sp, ss; /* these five from the processor */
};

/* Shared by the handlers and whoever loads the interrupt table; one at a time is in use. */
struct traps {
    /* Set by the owner. The way out is taken with interrupts off, rbx = way_out_context. */
    bool in_body;
    uint64_t way_out_ip, way_out_sp, way_out_context;
    bool scalable_mca; /* for hw/trap_mce.h */
    /* Prints a line on our own UART before a halt; NULL: nobody hears of it. Called with
     * interrupts off and perhaps in the window: no firmware. */
    void (*say)(void *self, const char *line);
    void *say_self;

    /* Set by the handlers. */
    bool faulted;
    struct fault fault;
    uint32_t nmis;
    uint32_t machine_checks;
    struct machine_check machine_check; /* the last one */
};

/* The entry of each vector; entry v starts at trap_entries + v * TRAP_ENTRY_BYTES. */
enum { TRAP_ENTRY_BYTES = 16 };
extern const uint8_t trap_entries[TRAP_VECTORS * TRAP_ENTRY_BYTES];

/* Makes `those` what the handlers work on, from now on; the memory must stay. Anywhere. */
void trap_use(struct traps *those);

/* Called by hw/trap.S for every vector; what it leaves in the frame is where IRETQ goes on. */
void trap_handle(struct trap_frame *frame);

#endif
