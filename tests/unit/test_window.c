/* The window's way in and out, instruction by instruction on a scripted ring 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hw/guard.h"
#include "hw/trap.h"
#include "hw/vector.h"
#include "hw/window.h"
#include "hw/window_path.h"
#include "tests/fakes/processor.h"
#include "tests/fakes/ring0.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

/* ---- the machine of the tests ----------------------------------------------------------------- */

enum { STACK_BYTES = 64 * KIB, APIC_WORDS = 1024 };

#define APIC_BASE      UINT64_C(0xFEE00000)
#define VIEW_ROOT      UINT64_C(0x00ABC000)
#define DIRECTION_FLAG 0x400U
#define OPEN_EXTINT    0x700U
#define TIMER_LVT      0x20022U /* periodic: must never be written */

static void *low_memory;
static uint8_t *stack;
static uint32_t apic[APIC_WORDS];
static struct window *window;
static struct window_view view;

static uint64_t read_apic(void *self, uint64_t offset, unsigned bits)
{
    (void)self;
    assert_int_equal(bits, 32);
    return apic[offset / 4];
}

static void write_apic(void *self, uint64_t offset, unsigned bits, uint64_t value)
{
    (void)self;
    assert_int_equal(bits, 32);
    apic[offset / 4] = (uint32_t)value;
}

static void script_apic(bool msrs)
{
    static const struct device registers = { .first = APIC_BASE,
                                             .last = APIC_BASE + sizeof apic - 1,
                                             .read = read_apic,
                                             .write = write_apic };
    memset(apic, 0, sizeof apic);
    apic[0x030 / 4] = 0x00050014; /* six entries */
    apic[0x320 / 4] = TIMER_LVT;
    apic[0x350 / 4] = OPEN_EXTINT;
    apic[0x360 / 4] = 0x400; /* LINT1: NMI */
    processor_msr(0x1B)->value = APIC_BASE | 0x900 | (msrs ? 0x400U : 0);
    if (!msrs) {
        processor_add_memory(&registers);
        return;
    }
    for (uint32_t offset = 0; offset < 0x400; offset += 16) {
        processor_msr(0x800 + offset / 16)->value = apic[offset / 4];
    }
}

/* XSAVE with AVX and AVX-512, APIC, CET, no more. */
static void script_features(void)
{
    *processor_cpuid(0, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 0x16 };
    *processor_cpuid(1, ANY_SUBLEAF) = (struct cpuid_regs){ .ecx = 1U << 26, .edx = 1U << 9 };
    *processor_cpuid(7, 0) = (struct cpuid_regs){ .ecx = 1U << 7 };
    *processor_cpuid(0xD, 0) = (struct cpuid_regs){ .eax = 0xE7 };
    *processor_cpuid(0x80000000, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 0x80000008 };
    *processor_cpuid(0x80000007, ANY_SUBLEAF) = (struct cpuid_regs){ 0 };
    processor_set_xcr0(0xE7, 1);
    for (uint32_t msr = 0xC0000100; msr <= 0xC0000102; msr++) {
        processor_msr(msr)->value = 0;
    }
    processor_msr(0xC0000080)->value = 0xD00;
    processor_msr(0x6A2)->value = 0;
    processor_msr(0x179)->value = 2; /* banks of machine checks */
    processor_msr(0x17A)->value = 0;
    processor_msr(0x401)->value = 0;
    processor_msr(0x405)->value = 0;
}

static int set_up(void **state)
{
    (void)state;
    processor_reset();
    ring0_reset();
    script_features();
    script_apic(false);
    view = (struct window_view){ VIEW_ROOT, 4, (uint64_t)(uintptr_t)stack + STACK_BYTES };
    window = NULL;
    return 0;
}

static int take_memory(void **state)
{
    (void)state;
    low_memory = mmap(NULL, window_bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return low_memory == MAP_FAILED || stack == MAP_FAILED;
}

/* ---- running in ring 0 ------------------------------------------------------------------------ */

struct preparation {
    enum status status;
    const char *reason;
};

static void prepare_body(void *arg)
{
    struct preparation *result = arg;
    result->status = window_prepare(&window, low_memory, window_bytes(), &result->reason);
}

static struct preparation prepare(void)
{
    struct preparation result = { .status = STOPPED };
    ring0_run(prepare_body, &result);
    return result;
}

/* A window prepared on the plain hand-over state. That takes many steps, so it is done once and
 * copied from then on. */
static void take_prepared(void)
{
    static uint8_t *copy;
    static struct ring0 after;
    if (!copy) {
        struct ring0 before = *ring0();
        ring0_reset();
        assert_int_equal(prepare().status, OK);
        copy = malloc(window_bytes());
        memcpy(copy, low_memory, window_bytes());
        after = *ring0();
        *ring0() = before;
    }
    memcpy(low_memory, copy, window_bytes());
    window = low_memory;
    ring0()->tr = after.tr;
    ring0()->task = after.task;
}

struct crossing {
    const struct window_view *view; /* NULL: a guard */
    uint64_t vectors;
    void (*body)(void *);
    void *arg;
    enum status status;
    struct window_report report;
    struct cpu_state before, after;
};

static void cross_body(void *arg)
{
    struct crossing *crossing = arg;
    cpu_state_read_all(&crossing->before, window_lapic(window));
    crossing->status = window_run(window, crossing->view, crossing->vectors, crossing->body,
                                  crossing->arg, &crossing->report);
    cpu_state_read_all(&crossing->after, window_lapic(window));
}

/* A body that faulted leaves marks of the address sanitizer on the stack it abandoned, and a
 * handler that halted on its own. */
static void forget_marks(void)
{
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(stack, STACK_BYTES);
    __asan_unpoison_memory_region(low_memory, window_bytes());
#endif
}

/* Runs a crossing; whatever happened in it, the machine must be as before. */
static void cross(struct crossing *crossing)
{
    struct state_difference first = { .name = NULL };
    processor_clear_log();
    ring0_clear_log();
    ring0_run(cross_body, crossing);
    forget_marks();
    assert_null(ring0()->died);
    if (!cpu_state_equal(&crossing->before, &crossing->after, &first)) {
        fail_msg("%s was %lx and is %lx", first.name, (unsigned long)first.was,
                 (unsigned long)first.is);
    }
    assert_null(crossing->report.difference.name);
    assert_int_equal(crossing->report.registers_lost, 0);
    assert_false(window_is_open(window));
}

static void nothing(void *arg)
{
    (void)arg;
}

/* ---- the order of things ---------------------------------------------------------------------- */

struct expected {
    enum ring0_operation operation;
    uint64_t value;
};

static void assert_log(const struct expected *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct ring0_entry *entry = ring0_entry(i);
        assert_non_null(entry);
        assert_int_equal(entry->operation, expected[i].operation);
        assert_int_equal(entry->value, expected[i].value);
    }
    assert_int_equal(ring0_entries(), count);
}

static uint64_t low(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

/* Tables of ours lie in the low memory; tells them from the firmware's. */
static bool is_ours(uint64_t base)
{
    return base >= low(low_memory) && base < low(low_memory) + window_bytes();
}

static void test_order(void **state)
{
    (void)state;
    ring0()->cr4 |= CR4_PGE;
    take_prepared();
    struct crossing crossing = { .view = &view, .body = nothing };
    cross(&crossing);
    assert_int_equal(crossing.status, OK);
    uint64_t gdt = ring0_entry(3)->value, idt = ring0_entry(5)->value;
    assert_true(is_ours(gdt) && is_ours(idt));
    const struct expected expected[] = {
        { RING0_INTERRUPTS, 0 },
        { RING0_CR8, 15 },
        { RING0_CR4, 0x668 },
        { RING0_LGDT, gdt },
        { RING0_LTR, 0x48 },
        { RING0_LIDT, idt },
        { RING0_CR3, VIEW_ROOT },
        { RING0_FNINIT, 0 },
        { RING0_FNINIT, 0 },
        { RING0_DR6, 0xFFFF0FF0 },
        { RING0_CR2, 0x1234 },
        { RING0_CR3, 0x1FC01000 },
        { RING0_LIDT, low(ring0()->idt) },
        { RING0_LGDT, low(ring0()->gdt) },
        { RING0_CR4, 0x6E8 },
        { RING0_CR8, 0 },
        { RING0_INTERRUPTS, 1 },
    };
    assert_log(expected, sizeof expected / sizeof expected[0]);
}

/* LINT0 is masked after CLI and before the task priority, and opened again after that. */
static void test_order_of_lint0(void **state)
{
    (void)state;
    take_prepared();
    struct crossing crossing = { .view = &view, .body = nothing };
    cross(&crossing);
    size_t first = 0, last = 0;
    for (size_t i = 0; i < processor_accesses(); i++) {
        if (processor_access(i)->kind == ACCESS_WRITE) {
            assert_int_equal(processor_access(i)->address, APIC_BASE + 0x350);
            last = i;
            first = first ? first : i;
        }
    }
    assert_int_equal(processor_access(first)->value, OPEN_EXTINT | 1U << 16);
    assert_int_equal(processor_access(last)->value, OPEN_EXTINT);
    assert_int_equal(ring0_entry(0)->operation, RING0_INTERRUPTS);
    assert_true(ring0_entry(0)->accesses <= first);
    assert_true(ring0_entry(1)->accesses > first);
    const struct ring0_entry *on = ring0_entry(ring0_entries() - 1);
    assert_int_equal(on->operation, RING0_INTERRUPTS);
    assert_true(ring0_entry(ring0_entries() - 2)->accesses <= last);
    assert_true(on->accesses > last);
}

/* A guard keeps the firmware's page tables and stack. */
static void remember_stack(void *arg)
{
    *(uint64_t *)arg = low(__builtin_frame_address(0));
}

static void test_guard_stays_on_firmware_tables(void **state)
{
    (void)state;
    uint64_t sp = 0;
    take_prepared();
    struct crossing crossing = { .body = remember_stack, .arg = &sp };
    cross(&crossing);
    assert_int_equal(crossing.status, OK);
    assert_false(sp >= low(stack) && sp < low(stack) + STACK_BYTES);
    for (size_t i = 0; i < ring0_entries(); i++) {
        assert_int_not_equal(ring0_entry(i)->operation, RING0_CR3);
    }
    crossing.view = &view;
    cross(&crossing);
    assert_true(sp >= low(stack) && sp < low(stack) + STACK_BYTES);
}

/* ---- the task register ------------------------------------------------------------------------ */

static unsigned loads_of_tr(uint64_t selector)
{
    unsigned count = 0;
    for (size_t i = 0; i < ring0_entries(); i++) {
        const struct ring0_entry *entry = ring0_entry(i);
        count += entry->operation == RING0_LTR && entry->value == selector;
    }
    return count;
}

static unsigned type_of_firmware_task(void)
{
    return (unsigned)(ring0()->gdt[RING0_TASK_SELECTOR >> 3] >> 40 & 0xFF);
}

/* A null TR can't be loaded back: ours stays, above the firmware's table. */
static void test_null_task_register(void **state)
{
    (void)state;
    assert_int_equal(ring0()->tr, 0);
    assert_int_equal(prepare().status, OK);
    assert_int_equal(ring0()->tr, 0x48);
    assert_true(is_ours(ring0()->task));
    assert_int_equal(ring0()->gdtr.base, low(ring0()->gdt));
}

static void test_firmware_task_comes_back(void **state)
{
    (void)state;
    ring0_load_firmware_task();
    assert_int_equal(prepare().status, OK);
    assert_int_equal(ring0()->tr, RING0_TASK_SELECTOR);
    assert_int_equal(ring0()->task, low(ring0()->firmware_task));
    struct crossing crossing = { .view = &view, .body = nothing };
    cross(&crossing);
    assert_int_equal(crossing.status, OK);
    assert_int_equal(loads_of_tr(0x48), 1);
    assert_int_equal(loads_of_tr(RING0_TASK_SELECTOR), 1);
    assert_int_equal(type_of_firmware_task(), 0x8B);
}

/* A second start in one boot finds the first one's TR, with the same selector and other memory. */
static void test_task_of_an_earlier_start(void **state)
{
    (void)state;
    uint8_t earlier[104];
    ring0()->tr = 0x48;
    ring0()->task = low(earlier);
    ring0()->idt[0][0] = UINT64_C(0x8B) << 40; /* behind the GDT: as if a busy task stood there */
    assert_int_equal(prepare().status, OK);
    assert_true(is_ours(ring0()->task));
    struct crossing crossing = { .view = &view, .body = nothing };
    cross(&crossing);
    assert_int_equal(loads_of_tr(0x48), 1);
    assert_true(is_ours(ring0()->task));
}

/* The firmware may load its own TR between two windows. */
static void test_task_loaded_between_windows(void **state)
{
    (void)state;
    take_prepared();
    ring0_load_firmware_task();
    struct crossing crossing = { .view = &view, .body = nothing };
    cross(&crossing);
    assert_int_equal(ring0()->task, low(ring0()->firmware_task));
}

static void test_selector_without_a_task(void **state)
{
    (void)state;
    ring0()->tr = RING0_TASK_SELECTOR;
    ring0()->gdt[RING0_TASK_SELECTOR >> 3] = UINT64_C(0x00CF93000000FFFF);
    assert_int_equal(prepare().status, OK);
    assert_int_equal(ring0()->tr, 0x48);
    assert_int_equal(ring0()->gdt[RING0_TASK_SELECTOR >> 3], UINT64_C(0x00CF93000000FFFF));
}

/* ---- control registers ------------------------------------------------------------------------ */

static void read_cr4(void *arg)
{
    *(uint64_t *)arg = cpu_read_cr4();
}

static uint64_t cr4_inside(uint64_t vectors)
{
    uint64_t inside = 0;
    struct crossing crossing = {
        .view = &view, .vectors = vectors, .body = read_cr4, .arg = &inside
    };
    cross(&crossing);
    assert_int_equal(crossing.status, OK);
    return inside;
}

static void test_cr4(void **state)
{
    (void)state;
    take_prepared();
    assert_int_equal(cr4_inside(0), 0x668);
    assert_int_equal(cr4_inside(VECTORS_OF_AVX), 0x668 | CR4_OSXSAVE);
    ring0()->cr4 = 0x668 | CR4_PGE | CR4_CET;
    assert_int_equal(cr4_inside(0), 0x668);
    ring0()->cr4 = 0x668 | CR4_LA57;
    view.levels = 5;
    assert_int_equal(cr4_inside(0), 0x668 | CR4_LA57);
}

/* CET goes before anything of ours can be entered, and comes back when nothing can any more. */
static void test_cet_is_off_while_our_table_is_loaded(void **state)
{
    (void)state;
    ring0()->cr4 |= CR4_CET;
    take_prepared();
    struct crossing crossing = { .view = &view, .body = nothing };
    cross(&crossing);
    size_t at[RING0_HLT + 1][2] = { { 0 } };
    unsigned seen[RING0_HLT + 1] = { 0 };
    for (size_t i = 0; i < ring0_entries(); i++) {
        enum ring0_operation operation = ring0_entry(i)->operation;
        at[operation][seen[operation]++ % 2] = i;
    }
    assert_int_equal(seen[RING0_CR4], 2);
    assert_int_equal(seen[RING0_LIDT], 2);
    assert_true(at[RING0_CR4][0] < at[RING0_LIDT][0]);
    assert_true(at[RING0_CR4][1] > at[RING0_LIDT][1]);
}

static const struct refusal {
    uint64_t cr0, cr4;
    unsigned levels;
    uint16_t gdt_limit;
} refusals[] = {
    { 0, CR4_FRED, 4, 0x47 }, { CR0_EM, 0, 4, 0x47 }, { CR0_TS, 0, 4, 0x47 }, { 0, 0, 5, 0x47 },
    { 0, CR4_LA57, 4, 0x47 }, { 0, 0, 4, 0xFFF0 },    { 0, 0, 4, 0xFFFF },
};

static void test_refusals(void **state)
{
    (void)state;
    bool ran = false;
    take_prepared();
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        ring0()->cr0 = 0x80010033 | refusals[i].cr0;
        ring0()->cr4 = 0x668 | refusals[i].cr4;
        ring0()->gdtr.limit = refusals[i].gdt_limit;
        view.levels = refusals[i].levels;
        struct crossing crossing = { .view = &view, .body = remember_stack, .arg = &ran };
        cross(&crossing);
        assert_int_equal(crossing.status, DENIED);
        assert_non_null(crossing.report.reason);
        assert_false(ran);
        assert_true(ring0()->interrupts);
    }
}

static void test_memory_must_lie_low(void **state)
{
    (void)state;
    const char *reason = NULL;
    struct window *none = NULL;
    uint8_t *high = mmap((void *)(UINT64_C(1) << 40), window_bytes(), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(window_prepare(&none, high, window_bytes(), &reason), DENIED);
    assert_non_null(reason);
    assert_int_equal(window_prepare(&none, low_memory, window_bytes() - 1, &reason), DENIED);
    assert_int_equal(window_prepare(&none, (uint8_t *)low_memory + 16, window_bytes(), &reason),
                     DENIED);
    assert_int_equal(ring0_entries(), 0);
    munmap(high, window_bytes());
}

static void test_debug_registers(void **state)
{
    (void)state;
    take_prepared();
    ring0()->dr7 = 0x455;
    struct crossing crossing = { .view = &view, .body = nothing };
    cross(&crossing);
    unsigned writes = 0;
    for (size_t i = 0; i < ring0_entries(); i++) {
        if (ring0_entry(i)->operation == RING0_DR7) {
            assert_int_equal(ring0_entry(i)->value, writes++ ? 0x455 : 0x400);
        }
    }
    assert_int_equal(writes, 2);
}

/* ---- floating point and vectors --------------------------------------------------------------- */

static void disturb_fpu(void *arg)
{
    (void)arg;
    assert_int_equal(cpu_read_fcw(), 0x37F);
    assert_int_equal(cpu_read_mxcsr(), 0x1F80);
    cpu_write_fcw(0x27F);
    cpu_write_mxcsr(0x9FC0);
}

static void found_fpu(void *arg)
{
    cpu_write_fcw(0x77F);
    cpu_write_mxcsr(0x3F80);
    cross_body(arg);
    ((struct crossing *)arg)->arg = (void *)(uintptr_t)(cpu_read_fcw() | cpu_read_mxcsr() << 16);
    cpu_reset_fpu();
    cpu_write_mxcsr(0x1F80);
}

static void test_fpu(void **state)
{
    (void)state;
    take_prepared();
    struct crossing crossing = { .view = &view, .body = disturb_fpu };
    ring0_run(found_fpu, &crossing);
    assert_null(ring0()->died);
    assert_int_equal(crossing.status, OK);
    assert_int_equal((uintptr_t)crossing.arg, 0x3F80077F);
}

static uint64_t xcr0(void)
{
    uint64_t value = 0;
    return insn_xgetbv(0, &value) ? value : 0;
}

static void read_xcr0(void *arg)
{
    *(uint64_t *)arg = xcr0();
}

static void test_vectors(void **state)
{
    (void)state;
    uint64_t inside = 0;
    take_prepared();
    struct crossing crossing = {
        .view = &view, .vectors = VECTORS_OF_AVX512, .body = read_xcr0, .arg = &inside
    };
    cross(&crossing);
    assert_int_equal(crossing.status, OK);
    assert_int_equal(inside, 0xE7);
    assert_int_equal(xcr0(), 1);
    /* XCR0 is put back while CR4.OSXSAVE still holds. */
    size_t last = 0;
    for (size_t i = 0; i < processor_accesses(); i++) {
        last = processor_access(i)->kind == ACCESS_XSETBV ? i : last;
    }
    assert_int_equal(processor_access(last)->value, 1);
    for (size_t i = 0; i < ring0_entries(); i++) {
        const struct ring0_entry *entry = ring0_entry(i);
        if (entry->operation == RING0_CR4 && !(entry->value & CR4_OSXSAVE)) {
            assert_true(entry->accesses > last);
        }
    }
}

static unsigned count_of(enum ring0_operation operation)
{
    unsigned count = 0;
    for (size_t i = 0; i < ring0_entries(); i++) {
        count += ring0_entry(i)->operation == operation;
    }
    return count;
}

/* VZEROALL is #UD unless XCR0 has SSE and AVX at that moment. */
static void test_vzeroall_only_with_avx(void **state)
{
    (void)state;
    take_prepared();
    struct crossing crossing = { .view = &view, .vectors = VECTORS_OF_AVX, .body = nothing };
    cross(&crossing);
    assert_int_equal(count_of(RING0_VZEROALL), 2);
    crossing.vectors = XCR0_X87 | XCR0_SSE;
    cross(&crossing);
    assert_int_equal(count_of(RING0_VZEROALL), 0);
    crossing.vectors = 0;
    cross(&crossing);
    assert_int_equal(count_of(RING0_VZEROALL), 0);
    ring0()->cr4 |= CR4_OSXSAVE;
    processor_set_xcr0(0xE7, 7);
    cross(&crossing);
    assert_int_equal(count_of(RING0_VZEROALL), 2);
}

static void test_vectors_not_there(void **state)
{
    (void)state;
    uint64_t ran = 0;
    take_prepared();
    struct crossing crossing = {
        .view = &view, .vectors = VECTORS_OF_AVX512, .body = remember_stack, .arg = &ran
    };
    /* Listed but refused: a hypervisor's doing. */
    processor_set_xcr0(7, 1);
    cross(&crossing);
    assert_int_equal(crossing.status, ABSENT);
    assert_non_null(crossing.report.reason);
    /* Not listed. */
    processor_cpuid(0xD, 0)->eax = 7;
    cross(&crossing);
    assert_int_equal(crossing.status, ABSENT);
    /* No XSAVE at all: OSXSAVE and leaf 0Dh say nothing. */
    processor_cpuid(1, ANY_SUBLEAF)->ecx = 1U << 27 | 1U << 28;
    crossing.vectors = VECTORS_OF_AVX;
    cross(&crossing);
    assert_int_equal(crossing.status, ABSENT);
    assert_int_equal(ran, 0);
}

/* ---- faults ----------------------------------------------------------------------------------- */

#define UNMAPPED UINT64_C(0x123456789000)

__attribute__((noinline)) static void read_unmapped(void *arg)
{
    (void)arg;
    (void)*(volatile uint8_t *)UNMAPPED; // NOLINT
}

static void run_undefined(void *arg)
{
    (void)arg;
    __asm__ volatile("ud2");
}

static void divide(void *arg)
{
    (void)arg;
    __asm__ volatile("xor %%ecx, %%ecx\n\tdiv %%ecx" ::: "rax", "rcx", "rdx", "cc");
}

static void breakpoint(void *arg)
{
    (void)arg;
    __asm__ volatile("int3");
}

/* With a stack pointer that leads nowhere and the direction flag set: the handler has a stack of
 * its own, and the way out starts afresh. */
static void lose_stack(void *arg)
{
    (void)arg;
    __asm__ volatile("std\n\tmov $16, %%esp\n\tud2" ::: "memory");
}

static const struct provoked {
    void (*body)(void *);
    uint64_t vector, address;
} provoked[] = {
    { run_undefined, 6, 0 },         { divide, 0, 0 }, { breakpoint, 3, 0 }, { lose_stack, 6, 0 },
    { read_unmapped, 14, UNMAPPED },
};

static void test_faults_end_the_body(void **state)
{
    (void)state;
    take_prepared();
    for (size_t i = 0; i < 2 * sizeof provoked / sizeof provoked[0]; i++) {
        const struct provoked *row = &provoked[i / 2];
        struct crossing crossing = { .view = i % 2 ? &view : NULL, .body = row->body };
        cross(&crossing);
        assert_int_equal(crossing.status, FAULTED);
        assert_non_null(crossing.report.reason);
        assert_int_equal(crossing.report.fault.vector, row->vector);
        assert_int_equal(crossing.report.fault.address, row->address);
        assert_true(crossing.report.fault.ip >= low((const void *)(uintptr_t)row->body));
        assert_true(crossing.report.fault.ip < low((const void *)(uintptr_t)row->body) + 256);
        assert_true(ring0()->interrupts);
    }
    struct crossing after = { .view = &view, .body = nothing };
    cross(&after);
    assert_int_equal(after.status, OK);
    assert_int_equal(after.report.fault.vector, 0);
}

static void test_guard_run(void **state)
{
    (void)state;
    struct fault fault;
    take_prepared();
    struct crossing crossing = { .body = divide };
    cross(&crossing);
    fault = crossing.report.fault;
    assert_int_equal(fault.vector, 0);
    assert_int_not_equal(fault.ip, 0);
}

static void ask_refused(void *arg)
{
    *(int *)arg = ring0_refused_primitive() ? 1 : 2;
}

static void test_refused_primitive_goes_on(void **state)
{
    (void)state;
    int answer = 0;
    take_prepared();
    struct crossing crossing = { .view = &view, .body = ask_refused, .arg = &answer };
    cross(&crossing);
    assert_int_equal(crossing.status, OK);
    assert_int_equal(answer, 2);
}

static void open_another(void *arg)
{
    struct window_report report;
    assert_true(window_is_open(window));
    *(enum status *)arg = window_run(window, &view, 0, nothing, NULL, &report);
}

static void test_no_window_in_a_window(void **state)
{
    (void)state;
    enum status inner = OK;
    take_prepared();
    assert_false(window_is_open(NULL));
    struct crossing crossing = { .view = &view, .body = open_another, .arg = &inner };
    cross(&crossing);
    assert_int_equal(crossing.status, OK);
    assert_int_equal(inner, DENIED);
}

static void with_interrupts_off(void *arg)
{
    cpu_disable_interrupts();
    cross_body(arg);
}

static void test_interrupts_stay_off(void **state)
{
    (void)state;
    take_prepared();
    struct crossing crossing = { .view = &view, .body = nothing };
    ring0_run(with_interrupts_off, &crossing);
    assert_null(ring0()->died);
    assert_int_equal(crossing.status, OK);
    assert_false(ring0()->interrupts);
    assert_int_equal(ring0()->cr8, 0);
}

/* ---- MSRs on every way out -------------------------------------------------------------------- */

static const struct msr_rule test_rules[] = { { 0x1A0, 0x1AF, MSR_READ | MSR_WRITE, NULL, 0, 0, 0,
                                                0 } };
static const struct processor test_processor = { .vendor = "GenuineIntel" };

static void change_msrs(void *fault)
{
    const struct msr_gate gate = { &test_processor, test_rules, 1 };
    struct msr_saves *saves = window_saves(window);
    assert_int_equal(msr_save_and_write(&gate, saves, 0x1A0, 10), OK);
    assert_int_equal(msr_save_and_write(&gate, saves, 0x1A4, 15), OK);
    assert_int_equal(msr_save_and_write(&gate, saves, 0x1A0, 11), OK);
    if (fault) {
        run_undefined(NULL);
    }
}

static void test_msrs_are_put_back(void **state)
{
    (void)state;
    take_prepared();
    processor_msr(0x1A0)->value = 1;
    processor_msr(0x1A4)->value = 4;
    for (unsigned fault = 0; fault < 2; fault++) {
        struct crossing crossing = { .view = &view,
                                     .body = change_msrs,
                                     .arg = fault ? &fault : NULL };
        cross(&crossing);
        assert_int_equal(crossing.status, fault ? FAULTED : OK);
        assert_int_equal(processor_msr(0x1A0)->value, 1);
        assert_int_equal(processor_msr(0x1A4)->value, 4);
        uint64_t order[5] = { 0 };
        size_t writes = 0;
        for (size_t i = 0; i < processor_accesses(); i++) {
            if (processor_access(i)->kind == ACCESS_WRMSR) {
                assert_true(writes < 5);
                order[writes++] = processor_access(i)->address;
            }
        }
        assert_int_equal(writes, 5);
        assert_int_equal(order[3], 0x1A4);
        assert_int_equal(order[4], 0x1A0);
    }
}

/* ---- interrupts that wait --------------------------------------------------------------------- */

static void request(void *arg)
{
    uint32_t *pending = arg;
    assert_int_equal(window_pending(window), 0);
    apic[0x210 / 4] |= 1U << 2 | 1U << 5;
    *pending = window_pending(window);
}

static void test_pending_interrupts(void **state)
{
    (void)state;
    uint32_t pending = 0;
    take_prepared();
    apic[0x210 / 4] = 1U << 2; /* was there before */
    struct crossing crossing = { .view = &view, .body = request, .arg = &pending };
    cross(&crossing);
    assert_int_equal(pending, 1);
    assert_int_equal(crossing.report.pending, 1);
    assert_int_equal(apic[0xB0 / 4], 0); /* never acknowledged */
}

static void test_apic_in_msrs(void **state)
{
    (void)state;
    processor_reset();
    script_features();
    script_apic(true); /* no memory: an access there would end the test */
    assert_int_equal(prepare().status, OK);
    assert_int_equal(window_lapic(window)->mode, LAPIC_MSRS);
    struct crossing crossing = { .view = &view, .body = nothing };
    cross(&crossing);
    assert_int_equal(crossing.status, OK);
    unsigned writes = 0;
    for (size_t i = 0; i < processor_accesses(); i++) {
        const struct access *access = processor_access(i);
        if (access->kind == ACCESS_WRMSR) {
            assert_int_equal(access->address, 0x835);
            assert_int_equal(access->value, writes++ ? OPEN_EXTINT : OPEN_EXTINT | 1U << 16);
        }
    }
    assert_int_equal(writes, 2);
}

static void test_lint0_of_another_kind_is_left(void **state)
{
    (void)state;
    apic[0x350 / 4] = 0x400;
    take_prepared();
    struct crossing crossing = { .view = &view, .body = nothing };
    cross(&crossing);
    apic[0x350 / 4] = OPEN_EXTINT | 1U << 16; /* ExtINT, already masked */
    cross(&crossing);
    for (size_t i = 0; i < processor_accesses(); i++) {
        assert_int_not_equal(processor_access(i)->kind, ACCESS_WRITE);
    }
}

/* ---- NMIs ------------------------------------------------------------------------------------- */

static void take_nmi(void *arg)
{
    ring0_inject_now(TRAP_NMI);
    __asm__ volatile("nop");
    *(uint32_t *)arg = window_nmis(window);
}

static void test_nmi_in_a_body(void **state)
{
    (void)state;
    uint32_t nmis = 0;
    take_prepared();
    struct crossing crossing = { .view = &view, .body = take_nmi, .arg = &nmis };
    cross(&crossing);
    assert_int_equal(crossing.status, OK);
    assert_int_equal(nmis, 1);
    assert_int_equal(crossing.report.nmis, 1);
}

/* Over all windows; a window that was refused is none. */
static void test_strikes_are_summed(void **state)
{
    (void)state;
    uint32_t nmis = 0;
    take_prepared();
    const struct strikes *strikes = window_strikes(window);
    const struct strikes before = *strikes;
    struct crossing struck = { .view = &view, .body = take_nmi, .arg = &nmis };
    struct crossing quiet = { .view = &view, .body = nothing };
    cross(&struck);
    cross(&quiet);
    cross(&struck);
    ring0()->cr0 |= CR0_TS;
    cross(&struck);
    assert_int_equal(struck.status, DENIED);
    assert_int_equal(strikes->windows, before.windows + 3);
    assert_int_equal(strikes->nmis, before.nmis + 2);
    assert_int_equal(strikes->machine_checks, 0);
}

static void cross_only(void *arg)
{
    struct crossing *crossing = arg;
    crossing->status = window_run(window, crossing->view, crossing->vectors, crossing->body,
                                  crossing->arg, &crossing->report);
}

/* An NMI before each instruction of hw/window.S, some in each of a few windows: it finds tables,
 * task register and stacks that belong together, is taken by the firmware or by us, and changes
 * nothing. */
static void nmi_at_every_step(void)
{
    enum { APART = 6 };
    unsigned ours = 0, firmware = 0, injected = 0;
    ring0_watch(window_code, window_code_end);
    for (unsigned first = 1; first <= APART; first++) {
        struct crossing crossing = { .view = &view, .body = nothing };
        ring0()->firmware_nmis = 0;
        ring0_inject(TRAP_NMI, first, APART);
        ring0_run(cross_only, &crossing);
        assert_null(ring0()->died);
        assert_int_equal(crossing.status, OK);
        assert_null(crossing.report.difference.name);
        assert_int_equal(ring0()->firmware_nmis + crossing.report.nmis, ring0()->injected);
        firmware += ring0()->firmware_nmis;
        ours += crossing.report.nmis;
        injected += ring0()->injected;
    }
    assert_int_equal(injected, ring0()->steps);
    assert_true(injected > 50);
    assert_true(ours > 10 && firmware > 10);
}

static void test_nmi_at_every_step(void **state)
{
    (void)state;
    take_prepared();
    nmi_at_every_step();
}

/* The same where the firmware's gates have interrupt stacks too, and its task comes back. */
static void test_nmi_at_every_step_with_firmware_stacks(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 7; i++) {
        uint64_t end = low(&ring0()->firmware_task[sizeof ring0()->firmware_task]);
        memcpy(&ring0()->firmware_task[36 + 8 * i], &end, sizeof end);
    }
    for (unsigned i = 0; i < 256; i++) {
        ring0()->idt[i][0] |= (uint64_t)((i + 4) % 7 + 1) << 32;
    }
    ring0_load_firmware_task();
    ring0()->cr4 |= CR4_PGE;
    assert_int_equal(prepare().status, OK);
    nmi_at_every_step();
}

/* Between the change of page tables and that of the stack pointer, in either direction, nothing
 * may use the stack: the found one is not mapped by ours. */
static void look_at_stack(const uint8_t *ip, uint64_t sp)
{
    bool ours = ring0()->cr3 == VIEW_ROOT;
    bool on_ours = sp > low(stack) && sp <= low(stack) + STACK_BYTES;
    bool pushes = (*ip >= 0x50 && *ip <= 0x5F) || *ip == 0xE8 || *ip == 0xC3 || *ip == 0xFF;
    if (ours != on_ours) {
        assert_false(pushes);
    }
}

static void test_no_stack_between_tables_and_stack(void **state)
{
    (void)state;
    take_prepared();
    ring0_watch(window_code, window_code_end);
    ring0_each(look_at_stack);
    struct crossing crossing = { .view = &view, .body = nothing };
    cross(&crossing);
    assert_true(ring0()->steps > 40);
}

/* ---- machine checks --------------------------------------------------------------------------- */

static void take_machine_check(void *arg)
{
    (void)arg;
    ring0_inject_now(TRAP_MACHINE_CHECK);
    __asm__ volatile("nop");
}

static char said[8][128];
static unsigned lines;
static bool heard_backwards;

static void hear(void *self, const char *line)
{
    (void)self;
    heard_backwards = heard_backwards || (cpu_read_flags() & DIRECTION_FLAG);
    strncpy(said[lines++ % 8], line, sizeof said[0] - 1);
}

/* While a string is being copied from its end: C code counts on the other direction. */
static void take_machine_check_backwards(void *arg)
{
    (void)arg;
    __asm__ volatile("std");
    ring0_inject_now(TRAP_MACHINE_CHECK);
    __asm__ volatile("cld");
}

static void machine_check(uint64_t status, uint64_t bank)
{
    heard_backwards = false;
    processor_msr(0x17A)->value = status;
    processor_msr(0x405)->value = bank;
    lines = 0;
    window_on_halt(window, hear, NULL);
}

static void test_machine_check_that_lost_nothing(void **state)
{
    (void)state;
    take_prepared();
    machine_check(5, BANK_VALID);
    struct crossing crossing = { .view = &view, .body = take_machine_check };
    cross(&crossing);
    assert_int_equal(crossing.status, OK);
    assert_int_equal(crossing.report.machine_checks, 1);
    assert_non_null(crossing.report.machine_check);
    assert_int_equal(crossing.report.machine_check->valid, 1);
    assert_int_equal(crossing.report.machine_check->bank[0].number, 1);
    assert_int_equal(processor_msr(0x17A)->value, 1);          /* MCIP alone is cleared */
    assert_int_equal(processor_msr(0x405)->value, BANK_VALID); /* the bank is left */
    assert_int_equal(lines, 0);
}

static void test_machine_check_that_ends_the_body(void **state)
{
    (void)state;
    take_prepared();
    machine_check(5, BANK_VALID | BANK_ACTION);
    struct crossing crossing = { .view = &view, .body = take_machine_check };
    cross(&crossing);
    assert_int_equal(crossing.status, FAULTED);
    assert_int_equal(crossing.report.fault.vector, TRAP_MACHINE_CHECK);
    assert_int_equal(processor_msr(0x17A)->value, 1);
}

static void test_machine_checks_without_end(void **state)
{
    (void)state;
    take_prepared();
    machine_check(5, BANK_VALID);
    for (unsigned i = 0; i < TRAP_MACHINE_CHECKS; i++) {
        struct crossing crossing = { .view = &view, .body = take_machine_check };
        cross(&crossing);
        assert_int_equal(crossing.status, OK); /* they are counted for each window */
    }
}

static const struct fatal {
    uint64_t status, bank;
} fatal[] = { { 4, BANK_VALID }, { 5, BANK_VALID | BANK_PCC } };

static void test_machine_check_that_halts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) {
        ring0_reset();
        take_prepared();
        machine_check(fatal[i].status, fatal[i].bank);
        struct crossing crossing = { .view = &view, .body = take_machine_check_backwards };
        ring0_run(cross_body, &crossing);
        __asm__ volatile("cld");
        forget_marks();
        assert_string_equal(ring0()->died, "halted");
        assert_false(heard_backwards);
        assert_true(lines >= 3);
        assert_non_null(strstr(said[0], "MCG_STATUS"));
        assert_non_null(strstr(said[lines - 1], "halted"));
        assert_int_equal(processor_msr(0x17A)->value, fatal[i].status);
    }
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_order),
        TEST(test_order_of_lint0),
        TEST(test_guard_stays_on_firmware_tables),
        TEST(test_null_task_register),
        TEST(test_firmware_task_comes_back),
        TEST(test_task_of_an_earlier_start),
        TEST(test_task_loaded_between_windows),
        TEST(test_selector_without_a_task),
        TEST(test_cr4),
        TEST(test_cet_is_off_while_our_table_is_loaded),
        TEST(test_refusals),
        TEST(test_memory_must_lie_low),
        TEST(test_debug_registers),
        TEST(test_fpu),
        TEST(test_vectors),
        TEST(test_vzeroall_only_with_avx),
        TEST(test_vectors_not_there),
        TEST(test_faults_end_the_body),
        TEST(test_guard_run),
        TEST(test_refused_primitive_goes_on),
        TEST(test_no_window_in_a_window),
        TEST(test_interrupts_stay_off),
        TEST(test_msrs_are_put_back),
        TEST(test_pending_interrupts),
        TEST(test_apic_in_msrs),
        TEST(test_lint0_of_another_kind_is_left),
        TEST(test_nmi_in_a_body),
        TEST(test_strikes_are_summed),
        TEST(test_nmi_at_every_step),
        TEST(test_nmi_at_every_step_with_firmware_stacks),
        TEST(test_no_stack_between_tables_and_stack),
        TEST(test_machine_check_that_lost_nothing),
        TEST(test_machine_check_that_ends_the_body),
        TEST(test_machine_checks_without_end),
        TEST(test_machine_check_that_halts),
    };
    return cmocka_run_group_tests(tests, take_memory, NULL);
}
