#include "tests/fakes/ring0.h"

#include "hw/tables.h"
#include "hw/vector.h"
#include "tests/fakes/processor.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { TRAP_FLAG = 0x100 }; /* one instruction, then SIGTRAP */

static struct ring0 now;
static struct ring0_entry entry_log[RING0_LOGGED];
static size_t logged;

static struct {
    const uint8_t *first, *end; /* watched */
    unsigned vector, step;      /* to inject; step 0: none */
    unsigned every;             /* and again after so many steps; 0: once */
    unsigned immediate;         /* vector to inject before the next instruction, 0: none */
    void (*each)(const uint8_t *ip, uint64_t sp);
} plan;

static volatile bool stepping;
static greg_t return_address; /* of the call that runs at full speed */
static jmp_buf way_back;
static uint64_t way_back_sp;

static uint64_t address(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

struct ring0 *ring0(void)
{
    return &now;
}

#ifdef __SANITIZE_ADDRESS__
/* The address sanitizer is told here, before functions that do not return, that the stack's marks
 * are void. It would complain of stacks that it does not know: those of the window. */
void __asan_handle_no_return(void);
void __asan_handle_no_return(void)
{
    enum { NEAR = 1 << 20 };
    uint64_t here = address(__builtin_frame_address(0));
    void (*forward)(void) = (void (*)(void))dlsym(RTLD_NEXT, "__asan_handle_no_return");
    if (forward && (way_back_sp == 0 || here - way_back_sp + NEAR < 2 * NEAR)) {
        forward();
    }
}
#endif

/* ---- what hw/insn.S has for hw/trap.c --------------------------------------------------------- */

__asm__(".text\n"
        ".global ring0_refused_primitive, insn_refused\n"
        ".hidden insn_refused\n"
        "ring0_refused_primitive:\n"
        "1: ud2\n"
        "   mov $1, %eax\n"
        "   ret\n"
        "insn_refused:\n"
        "   xor %eax, %eax\n"
        "   ret\n"
        ".section .rodata\n"
        ".balign 4\n"
        ".global insn_may_fault, insn_may_fault_end\n"
        ".hidden insn_may_fault, insn_may_fault_end\n"
        "insn_may_fault:\n"
        "   .long 1b - .\n"
        "insn_may_fault_end:\n"
        ".text\n");

/* ---- the log ---------------------------------------------------------------------------------- */

static void note(enum ring0_operation operation, uint64_t value)
{
    if (logged < RING0_LOGGED) {
        entry_log[logged++] = (struct ring0_entry){ operation, value, processor_accesses() };
    }
}

size_t ring0_entries(void)
{
    return logged;
}

const struct ring0_entry *ring0_entry(size_t index)
{
    return index < logged ? &entry_log[index] : NULL;
}

void ring0_clear_log(void)
{
    logged = 0;
}

/* ---- the hand-over state ---------------------------------------------------------------------- */

enum { CODE_SEGMENT = 0x9B, TASK_AVAILABLE = 0x89, TASK_BUSY = 0x8B, TYPE_SHIFT = 40 };

/* A flat 64-bit code segment, or a data segment, in the form of the descriptor table. */
static void put_segment(uint16_t selector, uint64_t descriptor)
{
    now.gdt[selector >> 3] = descriptor;
}

static void put_firmware_task(void)
{
    uint64_t base = address(now.firmware_task);
    uint64_t *descriptor = &now.gdt[RING0_TASK_SELECTOR >> 3];
    descriptor[0] = (sizeof now.firmware_task - 1) | (base & 0xFFFFFF) << 16 |
                    (uint64_t)TASK_AVAILABLE << TYPE_SHIFT | (base >> 24 & 0xFF) << 56;
    descriptor[1] = base >> 32;
}

void ring0_reset(void)
{
    memset(&now, 0, sizeof now);
    memset(&plan, 0, sizeof plan);
    logged = 0;
    put_segment(cpu_read_cs(), UINT64_C(0x00AF9B000000FFFF));
    put_segment(cpu_read_ss(), UINT64_C(0x00CF93000000FFFF));
    put_firmware_task();
    for (unsigned i = 0; i < 256; i++) {
        now.idt[i][0] = (uint64_t)cpu_read_cs() << 16 | UINT64_C(0x8E00) << 32;
    }
    now.cr0 = 0x80010033;
    now.cr2 = 0x1234;
    now.cr3 = 0x1FC01000;
    now.cr4 = 0x668;
    now.dr6 = 0xFFFF0FF0;
    now.dr7 = 0x400;
    now.gdtr = (struct table_register){ sizeof now.gdt - 1, address(now.gdt) };
    now.idtr = (struct table_register){ sizeof now.idt - 1, address(now.idt) };
    now.interrupts = true;
}

void ring0_load_firmware_task(void)
{
    now.tr = RING0_TASK_SELECTOR;
    now.task = address(now.firmware_task);
    now.gdt[RING0_TASK_SELECTOR >> 3] |= UINT64_C(2) << TYPE_SHIFT;
}

/* ---- the end of a run ------------------------------------------------------------------------- */

static void land(void)
{
    longjmp(way_back, 1); // NOLINT(cert-err52-cpp)
}

/* On the stack of ring0_run, as if that had called land(). */
static void die(greg_t *registers, const char *why)
{
    now.died = why;
    stepping = false;
    registers[REG_RSP] = (greg_t)(way_back_sp - 8);
    registers[REG_RIP] = (greg_t)(uintptr_t)land;
}

/* ---- delivery --------------------------------------------------------------------------------- */

/* The 64 bits of a descriptor, or 0 where the table ends before it. */
static uint64_t *descriptor(uint16_t selector)
{
    if ((selector | 7U) > now.gdtr.limit || selector < 8) {
        return NULL;
    }
    return (uint64_t *)(uintptr_t)(now.gdtr.base + (selector & ~7U));
}

static void push(greg_t *registers, uint64_t value)
{
    registers[REG_RSP] -= 8;
    memcpy((void *)(uintptr_t)registers[REG_RSP], &value, sizeof value);
}

static uint64_t pop(greg_t *registers)
{
    uint64_t value;
    memcpy(&value, (void *)(uintptr_t)registers[REG_RSP], sizeof value);
    registers[REG_RSP] += 8;
    return value;
}

static uint64_t visible_flags(const greg_t *registers)
{
    uint64_t flags = (uint64_t)registers[REG_EFL] & ~(FLAGS_IF | (uint64_t)TRAP_FLAG);
    return now.interrupts ? flags | FLAGS_IF : flags;
}

/* The stack that a gate names; 0: none. */
static uint64_t interrupt_stack(unsigned number)
{
    uint64_t stack = 0;
    if (now.task != 0) {
        memcpy(&stack, (const void *)(uintptr_t)(now.task + 28 + 8 * (uint64_t)number),
               sizeof stack);
    }
    return stack;
}

static bool pushes_code(unsigned vector)
{
    return vector == 8 || (vector >= 10 && vector <= 14) || vector == 17;
}

/* The processor's way through a gate (SDM vol. 3A, 6.14); false: a triple fault. */
static bool enter_gate(greg_t *registers, unsigned vector, uint64_t code)
{
    uint64_t gate[2], old_sp = (uint64_t)registers[REG_RSP];
    memcpy(gate, (const void *)(uintptr_t)(now.idtr.base + 16 * (uint64_t)vector), sizeof gate);
    uint64_t *segment = descriptor((uint16_t)(gate[0] >> 16));
    unsigned stack_number = gate[0] >> 32 & 7;
    uint64_t stack = stack_number ? interrupt_stack(stack_number) : old_sp;
    if (!segment || (*segment >> TYPE_SHIFT & 0xFE) != (CODE_SEGMENT & 0xFE) || stack == 0 ||
        !(gate[0] >> 47 & 1)) {
        return false;
    }
    registers[REG_RSP] = (greg_t)(stack & ~UINT64_C(15));
    push(registers, cpu_read_ss());
    push(registers, old_sp);
    push(registers, visible_flags(registers));
    push(registers, cpu_read_cs());
    push(registers, (uint64_t)registers[REG_RIP]);
    if (pushes_code(vector)) {
        push(registers, code);
    }
    now.interrupts = false;
    registers[REG_RIP] =
        (greg_t)((gate[0] & 0xFFFF) | (gate[0] >> 48 & 0xFFFF) << 16 | gate[1] << 32);
    note(RING0_EXCEPTION, vector);
    return true;
}

static void deliver(greg_t *registers, unsigned vector, uint64_t code)
{
    bool to_firmware = now.idtr.base == address(now.idt);
    if (to_firmware && vector == 2 && descriptor((uint16_t)(now.idt[2][0] >> 16)) &&
        (!(now.idt[2][0] >> 32 & 7) || interrupt_stack(now.idt[2][0] >> 32 & 7))) {
        now.firmware_nmis++;
    } else if (to_firmware) {
        die(registers, "an exception under the firmware's interrupt table");
    } else if (!enter_gate(registers, vector, code)) {
        die(registers, "a triple fault");
    }
}

/* ---- instructions ----------------------------------------------------------------------------- */

/* A decoded ModRM operand. */
struct operand {
    unsigned reg;     /* the other operand, or the opcode's extension */
    bool in_register; /* else in memory, at `address` */
    unsigned rm;
    uint64_t address;
    unsigned length; /* ModRM byte, SIB and displacement */
};

static const int register_index[16] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

static uint64_t value_of(const greg_t *registers, unsigned number)
{
    return (uint64_t)registers[register_index[number]];
}

static int64_t displacement(const uint8_t *at, unsigned bytes)
{
    int8_t small;
    int32_t large;
    if (bytes == 1) {
        memcpy(&small, at, sizeof small);
        return small;
    }
    if (bytes == 4) {
        memcpy(&large, at, sizeof large);
        return large;
    }
    return 0;
}

/* SDM vol. 2A, 2.1.5 and 2.2.1. `prefix_length`: bytes before the ModRM byte. */
static struct operand operand_at(const greg_t *registers, const uint8_t *at, uint8_t rex,
                                 unsigned prefix_length)
{
    unsigned mode = at[0] >> 6, rm = at[0] & 7U, base = rm | (rex & 1U) << 3;
    struct operand found = { .reg = (at[0] >> 3 & 7U) | (rex & 4U) << 1, .length = 1 };
    unsigned bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
    found.in_register = mode == 3;
    found.rm = base;
    if (found.in_register) {
        return found;
    }
    if (rm == 4) {
        unsigned index = (at[1] >> 3 & 7U) | (rex & 2U) << 2;
        base = (at[1] & 7U) | (rex & 1U) << 3;
        found.length++;
        found.address = index == 4 ? 0 : value_of(registers, index) << (at[1] >> 6);
    }
    if (mode == 0 && (base & 7) == 5) {
        bytes = 4; /* no base; without a SIB byte relative to the next instruction */
        found.address += rm == 4 ? 0 : (uint64_t)registers[REG_RIP] + prefix_length + 5;
    } else {
        found.address += value_of(registers, base);
    }
    found.address += (uint64_t)displacement(at + found.length, bytes);
    found.length += bytes;
    return found;
}

static void write_control(greg_t *registers, unsigned number, uint64_t value)
{
    static const enum ring0_operation operation[9] = {
        [2] = RING0_CR2, [3] = RING0_CR3, [4] = RING0_CR4, [8] = RING0_CR8
    };
    uint64_t *const place[9] = { [2] = &now.cr2, [3] = &now.cr3, [4] = &now.cr4, [8] = &now.cr8 };
    if (number > 8 || !place[number]) {
        die(registers, "a control register that nobody should write");
        return;
    }
    note(operation[number], value);
    *place[number] = value;
}

static uint64_t read_control(unsigned number)
{
    switch (number) {
    case 0: return now.cr0;
    case 2: return now.cr2;
    case 3: return now.cr3;
    case 4: return now.cr4;
    default: return now.cr8;
    }
}

/* 0F 20..23: moves to and from control and debug registers. */
static unsigned move_special(greg_t *registers, uint8_t opcode, const struct operand *operand)
{
    greg_t *general = &registers[register_index[operand->rm]];
    uint64_t *debug = operand->reg == 6 ? &now.dr6 : &now.dr7;
    switch (opcode) {
    case 0x20: *general = (greg_t)read_control(operand->reg); break;
    case 0x21: *general = (greg_t)*debug; break;
    case 0x22: write_control(registers, operand->reg, (uint64_t)*general); break;
    default:
        note(operand->reg == 6 ? RING0_DR6 : RING0_DR7, (uint64_t)*general);
        *debug = (uint64_t)*general;
        break;
    }
    return operand->length;
}

/* Loads TR: the descriptor must be an available task and becomes busy (SDM vol. 2A, LTR). */
static void load_task(greg_t *registers, uint16_t selector)
{
    uint64_t *segment = descriptor(selector);
    note(RING0_LTR, selector);
    if (!segment || (selector & ~7U) + 15U > now.gdtr.limit ||
        (*segment >> TYPE_SHIFT & 0xFF) != TASK_AVAILABLE) {
        deliver(registers, 13, selector);
        return;
    }
    now.tr = selector;
    now.task = (segment[0] >> 16 & 0xFFFFFF) | (segment[0] >> 56 & 0xFF) << 24 | segment[1] << 32;
    *segment |= UINT64_C(2) << TYPE_SHIFT;
}

/* 0F 00: SLDT, STR, LTR. */
static unsigned task_group(greg_t *registers, const struct operand *operand)
{
    greg_t *general = &registers[register_index[operand->rm]];
    if (!operand->in_register) {
        die(registers, "STR, SLDT or LTR on memory");
        return 0;
    }
    switch (operand->reg) {
    case 0: *general &= ~(greg_t)0xFFFF; break;
    case 1: *general = (*general & ~(greg_t)0xFFFF) | now.tr; break;
    case 3: load_task(registers, (uint16_t)*general); break;
    default: die(registers, "an instruction of group 0F 00 that is not known here"); break;
    }
    return operand->length;
}

/* 0F 01 on memory: SGDT, SIDT, LGDT, LIDT. */
static unsigned table_group(greg_t *registers, const struct operand *operand)
{
    struct table_register *table = operand->reg & 1 ? &now.idtr : &now.gdtr;
    void *memory = (void *)(uintptr_t)operand->address;
    if (operand->reg <= 1) {
        memcpy(memory, table, sizeof *table);
    } else if (operand->reg <= 3) {
        memcpy(table, memory, sizeof *table);
        note(operand->reg == 2 ? RING0_LGDT : RING0_LIDT, table->base);
    } else {
        die(registers, "an instruction of group 0F 01 that is not known here");
    }
    return operand->length;
}

/* The second byte of 0F; the bytes after it, or 0: not privileged. */
static unsigned two_byte(greg_t *registers, const uint8_t *at, uint8_t rex, unsigned before)
{
    struct operand operand;
    switch (at[0]) {
    case 0x00:
        operand = operand_at(registers, at + 1, rex, before + 1);
        return 1 + task_group(registers, &operand);
    case 0x01:
        operand = operand_at(registers, at + 1, rex, before + 1);
        return operand.in_register ? 0 : 1 + table_group(registers, &operand);
    case 0x20:
    case 0x21:
    case 0x22:
    case 0x23:
        operand = operand_at(registers, at + 1, rex, before + 1);
        return 1 + move_special(registers, at[0], &operand);
    default: return 0;
    }
}

static void set_interrupts(bool on)
{
    if (on != now.interrupts) {
        note(RING0_INTERRUPTS, on);
    }
    now.interrupts = on;
}

static void return_from_interrupt(greg_t *registers)
{
    uint64_t frame[5];
    for (unsigned i = 0; i < 5; i++) {
        frame[i] = pop(registers);
    }
    registers[REG_RIP] = (greg_t)frame[0];
    registers[REG_EFL] = (greg_t)(frame[2] | FLAGS_IF);
    registers[REG_RSP] = (greg_t)frame[3];
    now.interrupts = frame[2] & FLAGS_IF;
    if (frame[1] != cpu_read_cs() || frame[4] != cpu_read_ss()) {
        die(registers, "a return to segments that were not there");
    }
}

/* One-byte instructions. True: carried out. */
static bool one_byte(greg_t *registers, uint8_t opcode)
{
    switch (opcode) {
    case 0xFA: set_interrupts(false); return true;
    case 0xFB: set_interrupts(true); return true;
    case 0x9C: push(registers, visible_flags(registers)); return true;
    case 0x9D: {
        uint64_t flags = pop(registers);
        registers[REG_EFL] = (greg_t)(flags | FLAGS_IF);
        set_interrupts(flags & FLAGS_IF);
        return true;
    }
    case 0xF4:
        note(RING0_HLT, 0);
        die(registers, "halted");
        return true;
    default: return false;
    }
}

/* Instructions that run as they are but are worth a line in the log. */
static void note_plain(const uint8_t *at)
{
    if (at[0] == 0xDB && at[1] == 0xE3) {
        note(RING0_FNINIT, 0);
    } else if (at[0] == 0xC5 && at[1] == 0xFC && at[2] == 0x77) {
        note(RING0_VZEROALL, 0);
    }
}

/* Carries out the instruction at RIP if it is one for ring 0; false: it can run as it is. */
static bool carry_out(greg_t *registers)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)registers[REG_RIP];
    unsigned prefix = at[0] == 0x66 || (at[0] & 0xF0) == 0x40;
    uint8_t rex = (at[0] & 0xF0) == 0x40 ? at[0] : 0;
    if (rex && at[1] == 0xCF) {
        return_from_interrupt(registers);
        return true;
    }
    greg_t next = registers[REG_RIP];
    unsigned length = 0;
    if (at[prefix] == 0x0F) {
        length = two_byte(registers, at + prefix + 1, rex, prefix + 1);
        length = length ? length + prefix + 1 : 0;
    } else if (one_byte(registers, at[prefix])) {
        length = prefix + 1;
    }
    if (length == 0) {
        note_plain(at);
        return false;
    }
    if (registers[REG_RIP] == next) { /* else it faulted or died */
        registers[REG_RIP] += length;
    }
    return true;
}

/* ---- calls that are of no interest ------------------------------------------------------------ */

extern const uint8_t __executable_start[], etext[], ring0_returned[];

/* Where such a call returns to: a trap, which puts the true address back. */
__asm__(".text\n"
        ".hidden ring0_returned\n"
        "ring0_returned:\n"
        "   int3\n");

static bool in_program(uint64_t target)
{
    return target >= address(__executable_start) && target < address(etext);
}

/* A stub of the procedure linkage table: jmp *…(%rip), perhaps behind endbr64. */
static bool leads_out(uint64_t target)
{
    static const uint8_t landing[] = { 0xF3, 0x0F, 0x1E, 0xFA };
    const uint8_t *at = (const uint8_t *)(uintptr_t)target;
    at += memcmp(at, landing, sizeof landing) == 0 ? sizeof landing : 0;
    at += *at == 0xF2;
    return at[0] == 0xFF && at[1] == 0x25;
}

/* What the scripted processor answers, and what reaches the machine only through that. */
static bool is_plain(uint64_t target)
{
    static const void *const plain[] = {
        (const void *)insn_cpuid,         (const void *)insn_rdmsr,
        (const void *)insn_wrmsr,         (const void *)insn_xgetbv,
        (const void *)insn_xsetbv,        (const void *)insn_read32,
        (const void *)insn_write32,       (const void *)lapic_hold,
        (const void *)lapic_release,      (const void *)lapic_requests,
        (const void *)lapic_new_requests, (const void *)lapic_read_entries,
        (const void *)vector_offered,     (const void *)tables_make,
        (const void *)cpu_state_equal,
    };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (target == address(plain[i])) {
            return true;
        }
    }
    return false;
}

/* The target of a call at RIP and the length of that instruction; 0: no such call. */
static unsigned call_at(const greg_t *registers, uint64_t *target)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)registers[REG_RIP];
    if (at[0] == 0xE8) {
        *target = (uint64_t)(registers[REG_RIP] + 5 + displacement(at + 1, 4));
        return 5;
    }
    if (at[0] == 0xFF && at[1] == 0x15) {
        memcpy(target, at + 6 + displacement(at + 2, 4), sizeof *target);
        return 6;
    }
    return 0;
}

/* The scripted processor and the libraries run at full speed: a step costs some microseconds, and a
 * string instruction takes one for each byte. */
static bool run_call(greg_t *registers)
{
    uint64_t target = 0;
    unsigned length = call_at(registers, &target);
    if (length == 0 || (in_program(target) && !leads_out(target) && !is_plain(target))) {
        return false;
    }
    return_address = registers[REG_RIP] + length;
    push(registers, address(ring0_returned));
    registers[REG_RIP] = (greg_t)target;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    return true;
}

/* ---- one step after the other ----------------------------------------------------------------- */

static bool is_watched(const greg_t *registers)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)registers[REG_RIP];
    return !plan.first || (at >= plan.first && at < plan.end);
}

static void inject(greg_t *registers)
{
    unsigned vector = 0;
    if (is_watched(registers)) {
        if (plan.each) {
            plan.each((const uint8_t *)(uintptr_t)registers[REG_RIP], (uint64_t)registers[REG_RSP]);
        }
        if (++now.steps == plan.step) {
            vector = plan.vector;
            plan.step += plan.every;
            now.injected++;
        }
    }
    if (plan.immediate) {
        vector = plan.immediate;
        plan.immediate = 0;
    }
    if (vector) {
        deliver(registers, vector, 0);
    }
}

/* Before an instruction: what is due comes, then what is privileged is done here. */
static void before_instruction(greg_t *registers)
{
    do {
        inject(registers);
    } while (stepping && carry_out(registers));
    if (!stepping) {
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    } else if (!run_call(registers)) {
        registers[REG_EFL] |= TRAP_FLAG;
    }
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned vector = (unsigned)registers[REG_TRAPNO];
    (void)info;
    if (!stepping) {
        if (number != SIGTRAP) {
            (void)signal(number, SIG_DFL); /* a plain crash of the test: let it be one */
        }
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return;
    }
    if (registers[REG_RIP] == (greg_t)(uintptr_t)ring0_returned + 1) {
        registers[REG_RIP] = return_address;
    } else if (number != SIGTRAP || vector != 1) {
        if (vector == 14) {
            now.cr2 = (uint64_t)registers[REG_CR2];
        }
        deliver(registers, vector, (uint64_t)registers[REG_ERR] & 0xFFFB); /* not user mode */
    }
    before_instruction(registers);
}

static void take_signals(void)
{
    static uint8_t stack[1 << 16];
    static const int taken[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE };
    const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_sigaction = on_signal,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    if (sigaltstack(&alternate, NULL) != 0) {
        abort();
    }
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        if (sigaction(taken[i], &action, NULL) != 0) {
            abort();
        }
    }
}

void ring0_run(void (*body)(void *), void *arg)
{
    take_signals();
    now.died = NULL;
    now.steps = 0;
    way_back_sp = address(__builtin_frame_address(0)) - 4096;
    way_back_sp &= ~UINT64_C(15);
    if (setjmp(way_back) == 0) { // NOLINT(cert-err52-cpp)
        stepping = true;
        __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
        body(arg);
        stepping = false;
    }
}

void ring0_watch(const void *first, const void *end)
{
    plan.first = first;
    plan.end = end;
}

void ring0_inject(unsigned vector, unsigned step, unsigned every)
{
    plan.vector = vector;
    plan.step = step;
    plan.every = every;
    now.injected = 0;
}

void ring0_inject_now(unsigned vector)
{
    plan.immediate = vector;
}

void ring0_each(void (*look)(const uint8_t *ip, uint64_t sp))
{
    plan.each = look;
}
