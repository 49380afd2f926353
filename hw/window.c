#include "hw/window.h"

#include "hw/cpu.h"
#include "hw/insn.h"
#include "hw/trap.h"
#include "hw/vector.h"
#include "hw/window_path.h"

#include <string.h>

/* ---- the tables the processor reads ----------------------------------------------------------- */

enum { GDT_BYTES = 64 * KIB, STACK_BYTES = 8 * KIB };

/* A gate of the interrupt table (SDM vol. 3A, 6.14.1). */
struct gate {
    uint16_t offset_low, selector;
    uint8_t stack, type;
    uint16_t offset_middle;
    uint32_t offset_high, zero;
};

/* The descriptor of a task segment in 64-bit mode (SDM vol. 3A, 7.2.3). */
struct segment {
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

static_assert(sizeof(struct gate) == 16 && sizeof(struct segment) == 16, "fixed by the processor");
static_assert(sizeof(struct task) == 104, "fixed by the processor");

enum {
    INTERRUPT_GATE = 0x8E, /* present, interrupts off */
    TASK_AVAILABLE = 0x89, /* present */
    TASK_BUSY_BIT = 0x02,
    TYPE_AND_PRESENT = 0x9F,
};

/* Interrupt stacks, by the number the gates know them by. What may come while another handler
 * runs has its own. */
enum { STACK_OTHERS = 1, STACK_NMI, STACK_MACHINE_CHECK, STACK_DOUBLE_FAULT, STACKS_END };

struct window {
    struct window_path path; /* first: hw/window.S hands it back to us */
    struct traps traps;
    struct lapic lapic;
    bool open;
    bool refused_vectors;
    void (*body)(void *);
    void *arg;
    uint64_t vectors;
    struct vector vector;
    struct msr_saves saves;
    unsigned registers_lost;
    struct cpu_state found, left;
    uint32_t requests_before[LAPIC_BITMAP_WORDS];
    uint64_t tsc_body, tsc_body_end;

    struct task task __attribute__((aligned(128)));
    struct gate idt[TRAP_VECTORS] __attribute__((aligned(PAGE_4K)));
    uint8_t stack[STACKS_END - 1][STACK_BYTES] __attribute__((aligned(PAGE_4K)));
    uint8_t gdt[GDT_BYTES] __attribute__((aligned(PAGE_4K)));
};

static uint64_t stack_end(const struct window *window, unsigned number)
{
    return (uint64_t)(uintptr_t)window->stack[number - 1] + STACK_BYTES;
}

/* All seven are filled: between LTR and LIDT an NMI still takes the firmware's gate, which may
 * name any of them. */
static void make_task(struct window *window)
{
    struct task *task = &window->task;
    task->port_map = sizeof *task;
    for (unsigned i = 1; i <= 7; i++) {
        task->interrupt_stack[i - 1] = stack_end(window, i < STACKS_END ? i : STACK_OTHERS);
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

static void make_gates(struct window *window, uint16_t code_segment)
{
    for (unsigned i = 0; i < TRAP_VECTORS; i++) {
        uint64_t entry = (uint64_t)(uintptr_t)&trap_entries[i * TRAP_ENTRY_BYTES];
        window->idt[i] = (struct gate){
            .offset_low = (uint16_t)entry,
            .offset_middle = (uint16_t)(entry >> 16),
            .offset_high = (uint32_t)(entry >> 32),
            .selector = code_segment,
            .stack = stack_of_vector(i),
            .type = INTERRUPT_GATE,
        };
    }
}

/* ---- what is loaded, decided from what is found ----------------------------------------------- */

/* The first selector above the found table. edk2's multiprocessor code takes a TR below its GDT's
 * limit for an entry of that table and rewrites it on other processors. */
static uint64_t own_task_selector(const struct cpu_state *found)
{
    return (found->value[STATE_GDT_LIMIT] + sizeof(uint64_t)) & ~(sizeof(uint64_t) - 1);
}

/* A copy of the firmware's entries, so that its segments stay valid, and our task above. */
static void make_gdt(struct window *window, const struct cpu_state *found)
{
    uint64_t base = (uint64_t)(uintptr_t)&window->task;
    struct segment task = {
        .limit_low = sizeof window->task - 1,
        .base_low = (uint16_t)base,
        .base_middle = (uint8_t)(base >> 16),
        .base_high = (uint8_t)(base >> 24),
        .base_upper = (uint32_t)(base >> 32),
        .type = TASK_AVAILABLE,
    };
    memcpy(window->gdt, (const void *)(uintptr_t)found->value[STATE_GDT_BASE],
           found->value[STATE_GDT_LIMIT] + 1);
    memcpy(&window->gdt[own_task_selector(found)], &task, sizeof task);
}

/* The descriptor of the task that the firmware had loaded, or NULL. A null TR can't be put back
 * (LTR faults on it, though QEMU lets it pass). A TR above the GDT's limit is ours, from an earlier
 * window or an earlier start in this boot. Both stay; as does one whose descriptor is no task any
 * more. */
static struct segment *found_task(const struct cpu_state *found)
{
    uint64_t selector = found->value[STATE_TR];
    if (selector == 0 || selector + sizeof(struct segment) - 1 > found->value[STATE_GDT_LIMIT]) {
        return NULL;
    }
    struct segment *task = (void *)(uintptr_t)(found->value[STATE_GDT_BASE] + selector);
    return (task->type & TYPE_AND_PRESENT & ~TASK_BUSY_BIT) == TASK_AVAILABLE ? task : NULL;
}

/* PGE off: global entries of the firmware could cover pages of ours. CET off: a stack of ours has
 * no shadow. OSXSAVE on if XCR0 is to be set (CPUID.XSAVE has been asked). */
static uint64_t inside_cr4(uint64_t found, uint64_t vectors)
{
    return (found & ~(CR4_PGE | CR4_CET)) | (vectors ? CR4_OSXSAVE : 0);
}

static struct table_register table_register(uint64_t base, uint64_t bytes)
{
    return (struct table_register){ .base = base, .limit = (uint16_t)(bytes - 1) };
}

static void plan_path(struct window *window, const struct window_view *view, uint64_t vectors)
{
    struct window_path *path = &window->path;
    const uint64_t *found = window->found.value;
    struct segment *task = found_task(&window->found);

    path->inside_tr = own_task_selector(&window->found);
    path->inside_gdt =
        table_register((uint64_t)(uintptr_t)window->gdt, path->inside_tr + sizeof(struct segment));
    path->inside_idt = table_register((uint64_t)(uintptr_t)window->idt, sizeof window->idt);
    path->inside_cr4 = inside_cr4(found[STATE_CR4], vectors);
    path->inside_cr3 = view ? view->root : 0;
    path->inside_sp = view ? view->stack : 0;
    path->found_gdt = table_register(found[STATE_GDT_BASE], found[STATE_GDT_LIMIT] + 1);
    path->found_idt = table_register(found[STATE_IDT_BASE], found[STATE_IDT_LIMIT] + 1);
    path->found_cr4 = found[STATE_CR4];
    path->found_cr3 = found[STATE_CR3];
    path->found_tr = task ? found[STATE_TR] : 0;
    if (task) {
        /* LTR on the way out wants it available; on that way the table may not be mapped. */
        task->type &= (uint8_t)~TASK_BUSY_BIT;
    }
}

/* States of the firmware's that a window can't take over. */
static const char *refusal(const struct cpu_state *found, const struct window_view *view)
{
    const uint64_t *value = found->value;
    unsigned levels = value[STATE_CR4] & CR4_LA57 ? 5 : 4;
    if (value[STATE_CR4] & CR4_FRED) {
        return "the firmware delivers exceptions by FRED, not by an interrupt table";
    }
    if (value[STATE_CR0] & (CR0_EM | CR0_TS)) {
        return "the firmware has the floating-point unit switched off (CR0.EM or CR0.TS)";
    }
    if (own_task_selector(found) + sizeof(struct segment) > GDT_BYTES) {
        return "the firmware's descriptor table leaves no room for an entry of ours";
    }
    if (view && view->levels != levels) {
        return "the page tables have another depth than the processor's mode";
    }
    return NULL;
}

/* ---- inside ----------------------------------------------------------------------------------- */

static bool osxsave(const struct window *window)
{
    return window->path.inside_cr4 & CR4_OSXSAVE;
}

void window_inside(struct window_path *path)
{
    struct window *window = (struct window *)path;
    if (window->found.value[STATE_DR7] != DR7_NOTHING) {
        cpu_write_dr7(DR7_NOTHING);
    }
    cpu_reset_fpu();
    cpu_write_mxcsr(0x1F80); /* all exceptions masked: the ABI's state */
    window->traps.way_out_sp = path->way_out_sp;
    window->traps.in_body = true;
    if (window->vectors && !vector_enable(&window->vector, window->vectors)) {
        window->refused_vectors = true;
        return;
    }
    if (osxsave(window)) {
        vector_clear();
    }
    window->tsc_body = cpu_tsc();
    window->body(window->arg);
}

/* After a fault too, so nothing here relies on how far the body came. */
void window_outside(struct window_path *path)
{
    struct window *window = (struct window *)path;
    const uint64_t *found = window->found.value;
    window->traps.in_body = false;
    window->tsc_body_end = cpu_tsc();
    window->registers_lost = msr_restore(&window->saves);
    if (osxsave(window)) {
        vector_clear();
        vector_restore(&window->vector);
    }
    cpu_reset_fpu();
    cpu_write_fcw((uint16_t)found[STATE_FCW]);
    cpu_write_mxcsr((uint32_t)found[STATE_MXCSR]);
    if (found[STATE_DR7] != DR7_NOTHING) {
        cpu_write_dr7(found[STATE_DR7]);
    }
    cpu_write_dr6(found[STATE_DR6]); /* #DB leaves its marks there… */
    cpu_write_cr2(found[STATE_CR2]); /* …and #PF here */
}

/* ---- from outside ----------------------------------------------------------------------------- */

static void clear_records(struct window *window)
{
    window->traps.in_body = false;
    window->traps.faulted = false;
    window->traps.fault = (struct fault){ 0 };
    window->traps.nmis = 0;
    window->traps.machine_checks = 0;
    window->traps.way_out_ip = (uint64_t)(uintptr_t)window_way_out;
    window->traps.way_out_context = (uint64_t)(uintptr_t)&window->path;
    window->refused_vectors = false;
    window->vector.changed = false;
    window->saves.count = 0;
    window->registers_lost = 0;
    window->tsc_body = 0;
    trap_use(&window->traps);
}

/* Interrupts are off and the state found is in window->found. The vectors newly requested. */
static uint32_t cross(struct window *window, const struct window_view *view)
{
    uint32_t requests[LAPIC_BITMAP_WORDS];
    lapic_hold(&window->lapic);
    cpu_write_cr8(15);
    make_gdt(window, &window->found);
    make_gates(window, (uint16_t)window->found.value[STATE_CS]);
    plan_path(window, view, window->vectors);
    lapic_requests(&window->lapic, window->requests_before);
    window_cross(&window->path);
    lapic_requests(&window->lapic, requests);
    cpu_write_cr8(window->found.value[STATE_CR8]);
    lapic_release(&window->lapic);
    return lapic_new_requests(window->requests_before, requests);
}

/* Our task register where it stays is no difference. */
static void compare(struct window *window, struct window_report *report)
{
    cpu_state_read(&window->left);
    if (window->path.found_tr == 0) {
        window->left.value[STATE_TR] = window->found.value[STATE_TR];
    }
    (void)cpu_state_equal(&window->found, &window->left, &report->difference);
}

static void fill_report(const struct window *window, struct window_report *report)
{
    report->fault = window->traps.fault;
    report->nmis = window->traps.nmis;
    report->machine_checks = window->traps.machine_checks;
    report->machine_check = report->machine_checks ? &window->traps.machine_check : NULL;
    report->registers_lost = window->registers_lost;
    report->tsc_body = window->tsc_body;
    report->tsc_body_end = window->tsc_body_end;
}

static enum status outcome(const struct window *window, struct window_report *report)
{
    if (window->traps.faulted) {
        report->reason = "a fault ended the measurement";
        return FAULTED;
    }
    if (window->refused_vectors) {
        report->reason = "the processor refused to switch the vector registers on";
        return ABSENT;
    }
    return OK;
}

enum status window_run(struct window *window, const struct window_view *view, uint64_t vectors,
                       void (*body)(void *), void *arg, struct window_report *report)
{
    *report = (struct window_report){ .tsc_entered = cpu_tsc() };
    if (window->open) {
        report->reason = "a window within a window";
        return DENIED;
    }
    if ((vector_offered() & vectors) != vectors) {
        report->reason = "the processor does not have these vector registers";
        return ABSENT;
    }
    window->open = true;
    window->body = body;
    window->arg = arg;
    window->vectors = vectors;
    clear_records(window);
    uint64_t flags = cpu_read_flags();
    cpu_disable_interrupts();
    cpu_state_read(&window->found);
    report->reason = refusal(&window->found, view);
    if (!report->reason) {
        report->pending = cross(window, view);
        compare(window, report);
    }
    cpu_write_flags(flags);
    window->open = false;
    report->tsc_left = cpu_tsc();
    fill_report(window, report);
    return report->reason ? DENIED : outcome(window, report);
}

bool window_is_open(const struct window *window)
{
    return window && window->open;
}

uint32_t window_nmis(const struct window *window)
{
    return window->traps.nmis;
}

uint32_t window_machine_checks(const struct window *window)
{
    return window->traps.machine_checks;
}

uint32_t window_pending(const struct window *window)
{
    uint32_t requests[LAPIC_BITMAP_WORDS];
    lapic_requests(&window->lapic, requests);
    return lapic_new_requests(window->requests_before, requests);
}

struct msr_saves *window_saves(struct window *window)
{
    return &window->saves;
}

const struct lapic *window_lapic(const struct window *window)
{
    return &window->lapic;
}

/* ---- preparation ------------------------------------------------------------------------------ */

size_t window_bytes(void)
{
    return sizeof(struct window);
}

void window_on_halt(struct window *window, void (*say)(void *self, const char *line), void *self)
{
    window->traps.say = say;
    window->traps.say_self = self;
}

/* CPUID 80000007h EBX[3] (AMD APM vol. 3, E.4.6); Intel has zeros there. */
static bool has_scalable_mca(void)
{
    struct cpuid_regs leaf;
    insn_cpuid(UINT32_C(0x80000000), 0, &leaf);
    if (leaf.eax < UINT32_C(0x80000007)) {
        return false;
    }
    insn_cpuid(UINT32_C(0x80000007), 0, &leaf);
    return leaf.ebx & UINT32_C(1) << 3;
}

static void find_lapic(void *lapic)
{
    lapic_find(lapic);
}

enum status window_prepare(struct window **window, void *low_memory, size_t bytes,
                           const char **reason)
{
    uint64_t base = (uint64_t)(uintptr_t)low_memory;
    struct window_report report;
    if (base % PAGE_4K || bytes < sizeof(struct window) || base + bytes > UINT64_C(4) * GIB) {
        *reason = "the window needs memory below 4 GiB, aligned to 4 KiB";
        return DENIED;
    }
    memset(low_memory, 0, sizeof(struct window));
    struct window *made = low_memory;
    made->traps.scalable_mca = has_scalable_mca();
    make_task(made);
    enum status status = window_run(made, NULL, 0, find_lapic, &made->lapic, &report);
    *reason = report.reason;
    *window = status == OK ? made : NULL;
    return status;
}
