/* The tables in memory that tell the processor where to go when an exception comes: GDT, IDT, the
 * task segment and its interrupt stacks. Made for what the firmware has, so that its segments stay
 * valid under ours. SDM vol. 3A, chapters 3, 6 and 7. */
#ifndef HW_TABLES_H
#define HW_TABLES_H

#include "hw/state.h"
#include "hw/trap.h"

enum { TABLES_GDT_BYTES = 64 * KIB, TABLES_STACK_BYTES = 8 * KIB };

/* A gate of the interrupt table (SDM vol. 3A, 6.14.1). */
struct gate {
    uint16_t offset_low, selector;
    uint8_t stack, type;
    uint16_t offset_middle;
    uint32_t offset_high, zero;
};

/* The descriptor of a task segment in 64-bit mode (SDM vol. 3A, 7.2.3). */
struct task_descriptor {
    uint16_t limit_low, base_low;
    uint8_t base_middle, type, limit_high, base_high;
    uint32_t base_upper, zero;
};

/* The task segment (SDM vol. 3A, 7.7). */
struct task {
    uint32_t zero0;
    uint64_t privileged_stack[3], zero1;
    uint64_t interrupt_stack[7], zero2;
    uint16_t zero3, port_map;
} __attribute__((packed));

/* Interrupt stacks, by the number the gates know them by. What may come while another handler
 * runs has its own; all other vectors share one. */
enum { STACK_OTHERS = 1, STACK_NMI, STACK_MACHINE_CHECK, STACK_DOUBLE_FAULT, STACKS_END };

struct tables {
    struct task task __attribute__((aligned(128)));
    uint16_t code_segment; /* that the gates name; 0: not made yet */
    struct gate idt[TRAP_VECTORS] __attribute__((aligned(PAGE_4K)));
    uint8_t stack[STACKS_END - 1][TABLES_STACK_BYTES] __attribute__((aligned(PAGE_4K)));
    uint8_t gdt[TABLES_GDT_BYTES] __attribute__((aligned(PAGE_4K)));
};

/* Makes the task segment of tables that are all zero. Pure. */
void tables_begin(struct tables *tables);

/* The selector of our task: the first above the firmware's GDT. Pure. */
uint64_t tables_own_task(const struct cpu_state *found);

/* Whether there is room for it. Pure. */
bool tables_fit(const struct cpu_state *found);

/* Makes GDT and IDT for the state found. Reads the firmware's GDT. Window: no. */
void tables_make(struct tables *tables, const struct cpu_state *found);

/* The descriptor of the task that the firmware has loaded and that can be loaded again, in the
 * firmware's own table; NULL if there is none. Window: no. */
struct task_descriptor *tables_found_task(const struct cpu_state *found);

/* Makes a loaded task loadable again: LTR refuses one that is marked busy. */
void tables_mark_available(struct task_descriptor *task);

#endif
