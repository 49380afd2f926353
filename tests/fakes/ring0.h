/* Ring 0 for host tests: the very code of hw/window.S, hw/trap.S and hw/cpu.h runs as a user
 * program, one instruction at a time, and each privileged instruction is carried out on a scripted
 * state instead of the machine. Exceptions that the code raises, and NMIs and machine checks that
 * the test injects, are delivered as a processor would: through the interrupt table then loaded,
 * by the descriptor table, task register and interrupt stacks then loaded. What would be a triple
 * fault on the machine ends the run, as does HLT.
 *
 *     ring0_reset();                       a firmware's hand-over state; interrupt table included
 *     ring0()->cr4 |= CR4_PGE;             scripted further
 *     ring0_run(body, arg);                body(arg) runs in ring 0
 *     assert_null(ring0()->died);
 *
 * The machine's other side, what hw/insn.h reaches, is tests/fakes/processor.h. */
#ifndef TESTS_FAKES_RING0_H
#define TESTS_FAKES_RING0_H

#include "hw/cpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RING0_GDT_ENTRIES = 9, RING0_TASK_SELECTOR = 0x38 };

struct ring0 {
    /* What the code finds and changes. */
    uint64_t cr0, cr2, cr3, cr4, cr8, dr6, dr7;
    struct table_register gdtr, idtr;
    uint16_t tr;
    uint64_t task; /* base of the task segment, hidden in TR; 0: none */
    bool interrupts;

    /* The firmware's own. Descriptors of this program's segments stand at their selectors, and one
     * of a task at RING0_TASK_SELECTOR (not loaded unless a test does so). */
    uint64_t gdt[RING0_GDT_ENTRIES];
    uint64_t idt[256][2]; /* gates that lead nowhere: whatever comes is only counted */
    uint8_t firmware_task[104];
    unsigned firmware_nmis; /* that found the firmware's table loaded */

    /* How a run went. */
    const char *died;  /* NULL: the body returned */
    unsigned steps;    /* instructions, of those watched (below) */
    unsigned injected; /* so far of ring0_inject's */
};

/* The one processor. */
struct ring0 *ring0(void);

/* The state in which OVMF hands over, with TR 0. Forgets everything injected. */
void ring0_reset(void);

/* Loads the firmware's task into TR, as an LTR long ago would have. */
void ring0_load_firmware_task(void);

/* Runs body(arg) to its end, or to its death (ring0()->died). */
void ring0_run(void (*body)(void *), void *arg);

/* An instruction that is refused (#UD), and is on the list of those for which that is an answer:
 * false. Under ring0_run only. */
bool ring0_refused_primitive(void);

/* ---- injecting -------------------------------------------------------------------------------- */

/* Counts only instructions in these bytes as steps; NULL: all. */
void ring0_watch(const void *first, const void *end);

/* Shows each step, before it is done, to `look`; NULL: to nobody. */
void ring0_each(void (*look)(const uint8_t *ip, uint64_t sp));

/* Delivers the vector (2 or 18) before step number `step`, counted from 1 in each run, and again
 * after every `every` steps (0: once). */
void ring0_inject(unsigned vector, unsigned step, unsigned every);

/* Delivers the vector before the next instruction: for a body to call. */
void ring0_inject_now(unsigned vector);

/* ---- the log ---------------------------------------------------------------------------------- */

enum ring0_operation {
    RING0_INTERRUPTS, /* value: 0 off, 1 on (CLI, STI, POPF where it changes) */
    RING0_LGDT,       /* value: base */
    RING0_LIDT,
    RING0_LTR, /* value: selector */
    RING0_CR2,
    RING0_CR3,
    RING0_CR4,
    RING0_CR8,
    RING0_DR6,
    RING0_DR7,
    RING0_VZEROALL,
    RING0_FNINIT,
    RING0_EXCEPTION, /* value: vector; delivered to a table other than the firmware's */
    RING0_HLT,
};

struct ring0_entry {
    enum ring0_operation operation;
    uint64_t value;
    size_t accesses; /* processor_accesses() at that time: where it stands among those */
};

enum { RING0_LOGGED = 512 };

size_t ring0_entries(void);
const struct ring0_entry *ring0_entry(size_t index);
void ring0_clear_log(void);

#endif
