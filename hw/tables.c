#include "hw/tables.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(struct gate) == 16, "fixed by the processor");
static_assert(sizeof(struct task_descriptor) == 16, "fixed by the processor");
static_assert(sizeof(struct task) == 104, "fixed by the processor");

enum {
    INTERRUPT_GATE = 0x8E, /* present, interrupts off */
    TASK_AVAILABLE = 0x89, /* present */
    TASK_BUSY_BIT = 0x02,
    TYPE_AND_PRESENT = 0x9F,
};

static uint64_t stack_end(const struct tables *tables, unsigned number)
{
    return (uint64_t)(uintptr_t)tables->stack[number - 1] + TABLES_STACK_BYTES;
}

/* All seven are filled: between LTR and LIDT an NMI still takes the firmware's gate, which may
 * name any of them. */
void tables_begin(struct tables *tables)
{
    tables->task.port_map = sizeof tables->task;
    for (unsigned i = 1; i <= 7; i++) {
        tables->task.interrupt_stack[i - 1] = stack_end(tables, i < STACKS_END ? i : STACK_OTHERS);
    }
}

static uint8_t stack_of_vector(unsigned vector)
{
    switch (vector) {
    case TRAP_NMI: return STACK_NMI;
    case TRAP_MACHINE_CHECK: return STACK_MACHINE_CHECK;
    case TRAP_DOUBLE_FAULT: return STACK_DOUBLE_FAULT;
    default: return STACK_OTHERS;
    }
}

/* Once, unless the firmware changes its code segment. */
static void make_gates(struct tables *tables, uint16_t code_segment)
{
    if (tables->code_segment == code_segment) {
        return;
    }
    tables->code_segment = code_segment;
    for (unsigned i = 0; i < TRAP_VECTORS; i++) {
        uint64_t entry = (uint64_t)(uintptr_t)&trap_entries[(size_t)i * TRAP_ENTRY_BYTES];
        tables->idt[i] = (struct gate){
            .offset_low = (uint16_t)entry,
            .offset_middle = (uint16_t)(entry >> 16),
            .offset_high = (uint32_t)(entry >> 32),
            .selector = code_segment,
            .stack = stack_of_vector(i),
            .type = INTERRUPT_GATE,
        };
    }
}

/* edk2's multiprocessor code takes a TR below its GDT's limit for an entry of that table and
 * rewrites it on other processors: so above. */
uint64_t tables_own_task(const struct cpu_state *found)
{
    return (found->value[STATE_GDT_LIMIT] + sizeof(uint64_t)) & ~(sizeof(uint64_t) - 1);
}

bool tables_fit(const struct cpu_state *found)
{
    return tables_own_task(found) + sizeof(struct task_descriptor) <= TABLES_GDT_BYTES;
}

static void make_gdt(struct tables *tables, const struct cpu_state *found)
{
    uint64_t base = (uint64_t)(uintptr_t)&tables->task;
    struct task_descriptor task = {
        .limit_low = sizeof tables->task - 1,
        .base_low = (uint16_t)base,
        .base_middle = (uint8_t)(base >> 16),
        .base_high = (uint8_t)(base >> 24),
        .base_upper = (uint32_t)(base >> 32),
        .type = TASK_AVAILABLE,
    };
    memcpy(tables->gdt, (const void *)(uintptr_t)found->value[STATE_GDT_BASE],
           found->value[STATE_GDT_LIMIT] + 1);
    memcpy(&tables->gdt[tables_own_task(found)], &task, sizeof task);
}

void tables_make(struct tables *tables, const struct cpu_state *found)
{
    make_gdt(tables, found);
    make_gates(tables, (uint16_t)found->value[STATE_CS]);
}

/* A null TR can't be loaded again (LTR faults on it, though QEMU lets it pass). A TR above the
 * GDT's limit is ours, from an earlier window or an earlier start in this boot. One whose
 * descriptor is no task any more is a leftover of the firmware's own start. */
struct task_descriptor *tables_found_task(const struct cpu_state *found)
{
    uint64_t selector = found->value[STATE_TR], limit = found->value[STATE_GDT_LIMIT];
    if (selector == 0 || selector + sizeof(struct task_descriptor) - 1 > limit) {
        return NULL;
    }
    struct task_descriptor *task = (void *)(uintptr_t)(found->value[STATE_GDT_BASE] + selector);
    return (task->type & TYPE_AND_PRESENT & ~TASK_BUSY_BIT) == TASK_AVAILABLE ? task : NULL;
}

void tables_mark_available(struct task_descriptor *task)
{
    task->type &= (uint8_t)~TASK_BUSY_BIT;
}
