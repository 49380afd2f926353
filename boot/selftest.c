#include "boot/selftest.h"

#include "hw/cpu.h"
#include "hw/insn.h"
#include "hw/provoke.h"
#include "hw/trap.h"
#include "hw/vector.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Error codes of a page fault (SDM vol. 3A, 4.7). */
enum { PAGE_PRESENT = 1, PAGE_WRITE = 2, PAGE_FETCH = 16 };

/* ---- what is provoked ------------------------------------------------------------------------- */

/* On AMD and under emulators (which let most MSRs pass) an unaligned VM_HSAVE_PA; elsewhere a bit
 * of EFER that no processor has defined. */
#define MSR_VM_HSAVE_PA UINT32_C(0xC0010117)
#define MSR_EFER        UINT32_C(0xC0000080)
#define EFER_RESERVED   (UINT64_C(1) << 9)
#define NOT_CANONICAL   UINT64_C(0x0123456789ABCDEF)

static bool has_hsave(const struct processor *processor)
{
    return processor->emulated || strcmp(processor->vendor, "AuthenticAMD") == 0;
}

/* A write that the processor must refuse; false if the register is not even there. */
struct refused_write {
    uint32_t msr;
    uint64_t value, found;
};

static bool refused_write(struct selftest *test, struct refused_write *write)
{
    write->msr = has_hsave(test->processor) ? MSR_VM_HSAVE_PA : MSR_EFER;
    if (!insn_rdmsr(write->msr, &write->found)) {
        return false;
    }
    write->value = write->msr == MSR_EFER ? write->found | EFER_RESERVED : 1;
    return true;
}

static void read_unmapped(void *arg)
{
    struct selftest *test = arg;
    provoke_read(test->place.unmapped);
}

static void write_read_only(void *arg)
{
    struct selftest *test = arg;
    provoke_write(test->place.read_only);
}

static void execute_data(void *arg)
{
    struct selftest *test = arg;
    provoke_execute(test->place.no_execute);
}

static void read_not_canonical(void *arg)
{
    (void)arg;
    provoke_read(NOT_CANONICAL);
}

static void write_refused(void *arg)
{
    struct refused_write write;
    if (refused_write(arg, &write)) {
        provoke_wrmsr(write.msr, write.value);
        (void)insn_wrmsr(write.msr, write.found); /* it was not refused */
    }
}

static void run_undefined(void *arg)
{
    (void)arg;
    provoke_opcode();
}

static void divide(void *arg)
{
    (void)arg;
    provoke_divide();
}

static void overflow_stack(void *arg)
{
    (void)arg;
    provoke_overflow();
}

static void use_vectors(void *arg)
{
    (void)arg;
    provoke_avx();
}

/* ---- what must be reported -------------------------------------------------------------------- */

static uint64_t at(const uint8_t *instruction)
{
    return (uint64_t)(uintptr_t)instruction;
}

static struct fault page_fault(uint64_t code, uint64_t ip, uint64_t address)
{
    return (struct fault){ TRAP_PAGE_FAULT, code, ip, address };
}

static struct fault on_read(const struct selftest_view *place)
{
    return page_fault(0, at(provoke_read_at), place->unmapped);
}

static struct fault on_write(const struct selftest_view *place)
{
    return page_fault(PAGE_PRESENT | PAGE_WRITE, at(provoke_write_at), place->read_only);
}

static struct fault on_execute(const struct selftest_view *place)
{
    return page_fault(PAGE_PRESENT | PAGE_FETCH, place->no_execute, place->no_execute);
}

static struct fault on_not_canonical(const struct selftest_view *place)
{
    (void)place;
    return (struct fault){ TRAP_GENERAL_PROTECTION, 0, at(provoke_read_at), 0 };
}

static struct fault on_wrmsr(const struct selftest_view *place)
{
    (void)place;
    return (struct fault){ TRAP_GENERAL_PROTECTION, 0, at(provoke_wrmsr_at), 0 };
}

static struct fault on_undefined(const struct selftest_view *place)
{
    (void)place;
    return (struct fault){ TRAP_INVALID_OPCODE, 0, at(provoke_opcode_at), 0 };
}

static struct fault on_divide(const struct selftest_view *place)
{
    (void)place;
    return (struct fault){ TRAP_DIVIDE, 0, at(provoke_divide_at), 0 };
}

/* The first push that does not fit. */
static struct fault on_overflow(const struct selftest_view *place)
{
    uint64_t address = place->view.stack - place->stack_bytes - sizeof(uint64_t);
    return page_fault(PAGE_WRITE, at(provoke_overflow_at), address);
}

static const struct provocation {
    const char *name;
    void (*body)(void *test);
    struct fault (*expected)(const struct selftest_view *place);
} provocation[] = {
    { "page fault: read", read_unmapped, on_read },
    { "page fault: write", write_read_only, on_write },
    { "page fault: execute", execute_data, on_execute },
    { "general protection: address", read_not_canonical, on_not_canonical },
    { "general protection: WRMSR", write_refused, on_wrmsr },
    { "invalid opcode", run_undefined, on_undefined },
    { "divide error", divide, on_divide },
    { "stack overflow", overflow_stack, on_overflow },
};

/* ---- the checks ------------------------------------------------------------------------------- */

static enum status in_window(struct selftest *test, uint64_t vectors, void (*body)(void *),
                             void *arg, struct window_report *report)
{
    enum status status = window_run(test->window, &test->place.view, vectors, body, arg, report);
    if (test->idle) {
        test->idle(test->idle_self);
    }
    return status;
}

/* Completes a check with what a whole comparison of the state says; for the text of one that has
 * already failed, nothing is added. */
static void require_restored(struct check *check, struct selftest *test,
                             const struct cpu_state *before)
{
    struct cpu_state after;
    struct state_difference difference;
    cpu_state_read_all(&after, window_lapic(test->window));
    if (check->ok && !cpu_state_equal(before, &after, &difference)) {
        check->ok = false;
        (void)snprintf(check->text, sizeof check->text,
                       "%s was %" PRIx64 "h and is %" PRIx64 "h afterwards", difference.name,
                       difference.was, difference.is);
    }
}

static bool same_fault(const struct fault *a, const struct fault *b)
{
    return a->vector == b->vector && a->code == b->code && a->ip == b->ip &&
           a->address == b->address;
}

static void check_provocation(struct selftest *test, const struct provocation *row,
                              struct check *check)
{
    struct cpu_state before;
    struct window_report report;
    struct fault expected = row->expected(&test->place);
    check->name = row->name;
    cpu_state_read_all(&before, window_lapic(test->window));
    enum status status = in_window(test, 0, row->body, test, &report);
    const struct fault *fault = &report.fault;
    check->ok = status == FAULTED && same_fault(fault, &expected);
    if (status != FAULTED) {
        (void)snprintf(check->text, sizeof check->text, "no fault was reported: %s",
                       report.reason ? report.reason : "the body went through");
        return;
    }
    (void)snprintf(check->text, sizeof check->text,
                   "vector %" PRIu64 ", code %" PRIx64 "h, RIP %" PRIx64 "h, CR2 %" PRIx64 "h%s",
                   fault->vector, fault->code, fault->ip, fault->address,
                   check->ok ? "; restored" : ": not what was provoked");
    require_restored(check, test, &before);
}

/* The primitives of hw/insn.h answer where a bare instruction would fault. */
static void write_by_primitive(void *arg)
{
    struct selftest *test = arg;
    struct refused_write write;
    if (refused_write(test, &write)) {
        test->refused = !insn_wrmsr(write.msr, write.value);
        (void)insn_wrmsr(write.msr, write.found);
    }
    test->came_back = true;
}

static void check_primitive(struct selftest *test, struct check *check)
{
    struct cpu_state before;
    struct window_report report;
    test->came_back = test->refused = false;
    check->name = "refused register";
    cpu_state_read_all(&before, window_lapic(test->window));
    enum status status = in_window(test, 0, write_by_primitive, test, &report);
    check->ok = status == OK && test->came_back && test->refused;
    (void)snprintf(check->text, sizeof check->text, "%s",
                   check->ok ? "a refused WRMSR is an answer, and the body goes on"
                             : "a refused WRMSR was not noticed");
    require_restored(check, test, &before);
}

static void check_vectors(struct selftest *test, struct check *check)
{
    struct cpu_state before;
    struct window_report report;
    check->name = "vector registers";
    cpu_state_read_all(&before, window_lapic(test->window));
    enum status status = in_window(test, VECTORS_OF_AVX, use_vectors, NULL, &report);
    check->ok = status == OK;
    (void)snprintf(check->text, sizeof check->text, "%s",
                   check->ok ? "AVX was switched on, used and switched off"
                             : "AVX is listed and could not be used");
    require_restored(check, test, &before);
}

static void count_up(void *arg)
{
    struct selftest *test = arg;
    test->opened++;
}

/* What was wrong with a window that should have gone well, or NULL. */
static const char *complaint(enum status status, const struct window_report *report)
{
    if (status != OK) {
        return report->reason;
    }
    if (report->registers_lost > 0) {
        return "a register could not be put back";
    }
    return report->difference.name;
}

static void check_many(struct selftest *test, struct check *check)
{
    struct cpu_state before;
    struct window_report report;
    const char *wrong = NULL;
    test->opened = 0;
    check->name = "many windows";
    cpu_state_read_all(&before, window_lapic(test->window));
    for (unsigned i = 0; i < test->windows && !wrong; i++) {
        wrong = complaint(in_window(test, 0, count_up, test, &report), &report);
    }
    check->ok = !wrong && test->opened == test->windows;
    (void)snprintf(check->text, sizeof check->text, "%u windows: %s", test->opened,
                   wrong ? wrong : "the whole state is as it was handed over");
    require_restored(check, test, &before);
}

size_t selftest_run(struct selftest *test, struct check *check, size_t room)
{
    size_t checks = 0;
    for (size_t i = 0; i < sizeof provocation / sizeof provocation[0] && checks < room; i++) {
        if (provocation[i].body != execute_data || test->place.no_execute != 0) {
            check_provocation(test, &provocation[i], &check[checks++]);
        }
    }
    if (checks < room) {
        check_primitive(test, &check[checks++]);
    }
    if (checks < room && (vector_offered() & VECTORS_OF_AVX) == VECTORS_OF_AVX) {
        check_vectors(test, &check[checks++]);
    }
    if (checks < room) {
        check_many(test, &check[checks++]);
    }
    return checks;
}
