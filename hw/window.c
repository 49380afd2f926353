#include "hw/window.h"

#include "hw/cpu.h"
#include "hw/insn.h"
#include "hw/tables.h"
#include "hw/trap.h"
#include "hw/vector.h"
#include "hw/window_path.h"

#include <string.h>

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
    struct strikes strikes;

    struct tables tables;
};

/* ---- what is loaded, decided from what is found ----------------------------------------------- */

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
    struct tables *tables = &window->tables;
    struct task_descriptor *task = tables_found_task(&window->found);

    path->inside_tr = tables_own_task(&window->found);
    path->inside_gdt = table_register((uint64_t)(uintptr_t)tables->gdt,
                                      path->inside_tr + sizeof(struct task_descriptor));
    path->inside_idt = table_register((uint64_t)(uintptr_t)tables->idt, sizeof tables->idt);
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
        tables_mark_available(task);
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
    if (!tables_fit(found)) {
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
    tables_make(&window->tables, &window->found);
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

static void add_strikes(struct strikes *sum, const struct window_report *report)
{
    sum->windows++;
    sum->nmis += report->nmis;
    sum->machine_checks += report->machine_checks;
    sum->interrupts += report->pending;
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
    if (vectors && (vector_offered() & vectors) != vectors) {
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
    if (report->reason) {
        return DENIED;
    }
    add_strikes(&window->strikes, report);
    return outcome(window, report);
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

const struct strikes *window_strikes(const struct window *window)
{
    return &window->strikes;
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
    tables_begin(&made->tables);
    enum status status = window_run(made, NULL, 0, find_lapic, &made->lapic, &report);
    *reason = report.reason;
    *window = status == OK ? made : NULL;
    return status;
}
