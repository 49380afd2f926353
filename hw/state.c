#include "hw/state.h"

#include "hw/cpu.h"
#include "hw/insn.h"

/* TF, IF, DF, IOPL, NT and AC outlive a function (SDM vol. 1, 3.4.3). */
#define LASTING_FLAGS UINT64_C(0x47700)
/* MXCSR bits 5:0 are sticky marks of what arithmetic met: any code sets them. */
#define MXCSR_CONTROL UINT64_C(0xFFC0)
/* A delivery in progress (bit 12) and a level input's state (bit 14) come and go. */
#define ENTRY_CONTROL (~UINT64_C(0x5000))
#define ALL           (~UINT64_C(0))

static const struct field {
    const char *name;
    uint64_t compared; /* bits */
} field[STATE_FIELDS] = {
    [STATE_FLAGS] = { "RFLAGS", LASTING_FLAGS },
    [STATE_CR0] = { "CR0", ALL },
    [STATE_CR2] = { "CR2", ALL },
    [STATE_CR3] = { "CR3", ALL },
    [STATE_CR4] = { "CR4", ALL },
    [STATE_CR8] = { "CR8", ALL },
    [STATE_DR6] = { "DR6", ALL },
    [STATE_DR7] = { "DR7", ALL },
    [STATE_GDT_BASE] = { "GDTR base", ALL },
    [STATE_GDT_LIMIT] = { "GDTR limit", ALL },
    [STATE_IDT_BASE] = { "IDTR base", ALL },
    [STATE_IDT_LIMIT] = { "IDTR limit", ALL },
    [STATE_TR] = { "TR", ALL },
    [STATE_LDTR] = { "LDTR", ALL },
    [STATE_CS] = { "CS", ALL },
    [STATE_SS] = { "SS", ALL },
    [STATE_DS] = { "DS", ALL },
    [STATE_ES] = { "ES", ALL },
    [STATE_FS] = { "FS", ALL },
    [STATE_GS] = { "GS", ALL },
    [STATE_FCW] = { "FCW", ALL },
    [STATE_MXCSR] = { "MXCSR", MXCSR_CONTROL },
    [STATE_XCR0] = { "XCR0", ALL },
    [STATE_EFER] = { "EFER", ALL },
    [STATE_FS_BASE] = { "FS base", ALL },
    [STATE_GS_BASE] = { "GS base", ALL },
    [STATE_KERNEL_GS_BASE] = { "kernel GS base", ALL },
    [STATE_S_CET] = { "S_CET", ALL },
    [STATE_APIC_BASE] = { "APIC base", ALL },
    [STATE_LAPIC + LAPIC_TIMER] = { "LVT timer", ENTRY_CONTROL },
    [STATE_LAPIC + LAPIC_LINT0] = { "LVT LINT0", ENTRY_CONTROL },
    [STATE_LAPIC + LAPIC_LINT1] = { "LVT LINT1", ENTRY_CONTROL },
    [STATE_LAPIC + LAPIC_ERROR] = { "LVT error", ENTRY_CONTROL },
    [STATE_LAPIC + LAPIC_COUNTER] = { "LVT performance counter", ENTRY_CONTROL },
    [STATE_LAPIC + LAPIC_THERMAL] = { "LVT thermal", ENTRY_CONTROL },
    [STATE_LAPIC + LAPIC_CMCI] = { "LVT CMCI", ENTRY_CONTROL },
};

#define MSR_APIC_BASE      0x1B
#define MSR_S_CET          0x6A2
#define MSR_EFER           UINT32_C(0xC0000080)
#define MSR_FS_BASE        UINT32_C(0xC0000100)
#define MSR_GS_BASE        UINT32_C(0xC0000101)
#define MSR_KERNEL_GS_BASE UINT32_C(0xC0000102)

static void read_tables(uint64_t *value)
{
    struct table_register gdt = cpu_read_gdtr(), idt = cpu_read_idtr();
    value[STATE_GDT_BASE] = gdt.base;
    value[STATE_GDT_LIMIT] = gdt.limit;
    value[STATE_IDT_BASE] = idt.base;
    value[STATE_IDT_LIMIT] = idt.limit;
    value[STATE_TR] = cpu_read_tr();
    value[STATE_LDTR] = cpu_read_ldtr();
    value[STATE_CS] = cpu_read_cs();
    value[STATE_SS] = cpu_read_ss();
    value[STATE_DS] = cpu_read_ds();
    value[STATE_ES] = cpu_read_es();
    value[STATE_FS] = cpu_read_fs();
    value[STATE_GS] = cpu_read_gs();
}

void cpu_state_read(struct cpu_state *state)
{
    *state = (struct cpu_state){ { 0 } };
    uint64_t *value = state->value;
    value[STATE_FLAGS] = cpu_read_flags();
    value[STATE_CR0] = cpu_read_cr0();
    value[STATE_CR2] = cpu_read_cr2();
    value[STATE_CR3] = cpu_read_cr3();
    value[STATE_CR4] = cpu_read_cr4();
    value[STATE_CR8] = cpu_read_cr8();
    value[STATE_DR6] = cpu_read_dr6();
    value[STATE_DR7] = cpu_read_dr7();
    read_tables(value);
    value[STATE_FCW] = cpu_read_fcw();
    value[STATE_MXCSR] = cpu_read_mxcsr();
}

/* CET is there if leaf 7 lists shadow stacks (ECX[7]) or branch tracking (EDX[20]). */
static bool has_cet(void)
{
    struct cpuid_regs leaf;
    insn_cpuid(0, 0, &leaf);
    if (leaf.eax < 7) {
        return false;
    }
    insn_cpuid(7, 0, &leaf);
    return (leaf.ecx & UINT32_C(1) << 7) || (leaf.edx & UINT32_C(1) << 20);
}

void cpu_state_read_all(struct cpu_state *state, const struct lapic *lapic)
{
    uint32_t entry[LAPIC_ENTRIES];
    cpu_state_read(state);
    uint64_t *value = state->value;
    if (value[STATE_CR4] & CR4_OSXSAVE) {
        (void)insn_xgetbv(0, &value[STATE_XCR0]);
    }
    (void)insn_rdmsr(MSR_EFER, &value[STATE_EFER]);
    (void)insn_rdmsr(MSR_FS_BASE, &value[STATE_FS_BASE]);
    (void)insn_rdmsr(MSR_GS_BASE, &value[STATE_GS_BASE]);
    (void)insn_rdmsr(MSR_KERNEL_GS_BASE, &value[STATE_KERNEL_GS_BASE]);
    if (has_cet()) {
        (void)insn_rdmsr(MSR_S_CET, &value[STATE_S_CET]);
    }
    if (lapic->mode != LAPIC_ABSENT) {
        (void)insn_rdmsr(MSR_APIC_BASE, &value[STATE_APIC_BASE]);
    }
    lapic_read_entries(lapic, entry);
    for (unsigned i = 0; i < LAPIC_ENTRIES; i++) {
        value[STATE_LAPIC + i] = entry[i];
    }
}

bool cpu_state_equal(const struct cpu_state *before, const struct cpu_state *after,
                     struct state_difference *first)
{
    for (unsigned i = 0; i < STATE_FIELDS; i++) {
        uint64_t was = before->value[i], is = after->value[i];
        if ((was ^ is) & field[i].compared) {
            *first = (struct state_difference){ field[i].name, was, is };
            return false;
        }
    }
    return true;
}
