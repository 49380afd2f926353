/* Single instructions of ring 0 that cannot fault there, inline: control and debug registers,
 * descriptor-table registers, the flags, the x87 and SSE control words, the time stamp.
 * What may fault is in hw/insn.h. Host tests run these under tests/fakes/ring0.c only, but for the
 * time stamp and the fences. Window: yes, all of them. */
#ifndef HW_CPU_H
#define HW_CPU_H

#include <stdint.h>

/* Bits of the control registers that somebody here decides on (SDM vol. 3A, 2.5). */
#define CR0_EM      (UINT64_C(1) << 2)
#define CR0_TS      (UINT64_C(1) << 3)
#define CR0_PG      (UINT64_C(1) << 31)
#define CR4_PAE     (UINT64_C(1) << 5)
#define CR4_PGE     (UINT64_C(1) << 7)
#define CR4_LA57    (UINT64_C(1) << 12)
#define CR4_OSXSAVE (UINT64_C(1) << 18)
#define CR4_CET     (UINT64_C(1) << 23)
#define CR4_FRED    (UINT64_C(1) << 32) /* replaces the interrupt table: FRED specification, 3 */

#define DR7_NOTHING (UINT64_C(1) << 10) /* no breakpoint; bit 10 is always one */

#define FLAGS_IF (UINT64_C(1) << 9)

/* What LGDT, SGDT, LIDT and SIDT move in 64-bit mode. */
struct table_register {
    uint16_t limit; /* bytes, less one */
    uint64_t base;
} __attribute__((packed));

static inline uint64_t cpu_read_cr0(void)
{
    uint64_t value;
    __asm__ volatile("mov %%cr0, %0" : "=r"(value)::"memory");
    return value;
}

static inline uint64_t cpu_read_cr2(void)
{
    uint64_t value;
    __asm__ volatile("mov %%cr2, %0" : "=r"(value)::"memory");
    return value;
}

static inline void cpu_write_cr2(uint64_t value)
{
    __asm__ volatile("mov %0, %%cr2" ::"r"(value) : "memory");
}

static inline uint64_t cpu_read_cr3(void)
{
    uint64_t value;
    __asm__ volatile("mov %%cr3, %0" : "=r"(value)::"memory");
    return value;
}

/* Makes the core forget every translation that is not global. */
static inline void cpu_write_cr3(uint64_t value)
{
    __asm__ volatile("mov %0, %%cr3" ::"r"(value) : "memory");
}

static inline uint64_t cpu_read_cr4(void)
{
    uint64_t value;
    __asm__ volatile("mov %%cr4, %0" : "=r"(value)::"memory");
    return value;
}

/* The priority below which the local APIC keeps interrupts to itself, 0 to 15. */
static inline uint64_t cpu_read_cr8(void)
{
    uint64_t value;
    __asm__ volatile("mov %%cr8, %0" : "=r"(value)::"memory");
    return value;
}

static inline void cpu_write_cr8(uint64_t value)
{
    __asm__ volatile("mov %0, %%cr8" ::"r"(value) : "memory");
}

static inline uint64_t cpu_read_dr6(void)
{
    uint64_t value;
    __asm__ volatile("mov %%dr6, %0" : "=r"(value)::"memory");
    return value;
}

static inline void cpu_write_dr6(uint64_t value)
{
    __asm__ volatile("mov %0, %%dr6" ::"r"(value) : "memory");
}

static inline uint64_t cpu_read_dr7(void)
{
    uint64_t value;
    __asm__ volatile("mov %%dr7, %0" : "=r"(value)::"memory");
    return value;
}

static inline void cpu_write_dr7(uint64_t value)
{
    __asm__ volatile("mov %0, %%dr7" ::"r"(value) : "memory");
}

static inline struct table_register cpu_read_gdtr(void)
{
    struct table_register table;
    __asm__ volatile("sgdt %0" : "=m"(table)::"memory");
    return table;
}

static inline struct table_register cpu_read_idtr(void)
{
    struct table_register table;
    __asm__ volatile("sidt %0" : "=m"(table)::"memory");
    return table;
}

static inline uint16_t cpu_read_tr(void)
{
    uint16_t selector;
    __asm__ volatile("str %0" : "=r"(selector)::"memory");
    return selector;
}

static inline uint16_t cpu_read_ldtr(void)
{
    uint16_t selector;
    __asm__ volatile("sldt %0" : "=r"(selector)::"memory");
    return selector;
}

static inline uint16_t cpu_read_cs(void)
{
    uint16_t selector;
    __asm__ volatile("mov %%cs, %0" : "=r"(selector)::"memory");
    return selector;
}

static inline uint16_t cpu_read_ss(void)
{
    uint16_t selector;
    __asm__ volatile("mov %%ss, %0" : "=r"(selector)::"memory");
    return selector;
}

static inline uint16_t cpu_read_ds(void)
{
    uint16_t selector;
    __asm__ volatile("mov %%ds, %0" : "=r"(selector)::"memory");
    return selector;
}

static inline uint16_t cpu_read_es(void)
{
    uint16_t selector;
    __asm__ volatile("mov %%es, %0" : "=r"(selector)::"memory");
    return selector;
}

static inline uint16_t cpu_read_fs(void)
{
    uint16_t selector;
    __asm__ volatile("mov %%fs, %0" : "=r"(selector)::"memory");
    return selector;
}

static inline uint16_t cpu_read_gs(void)
{
    uint16_t selector;
    __asm__ volatile("mov %%gs, %0" : "=r"(selector)::"memory");
    return selector;
}

/* Not the compiler's intrinsics: with -Os, gcc 12 pops to an address relative to RSP that is off by
 * the size of the push (seen in window_run's code). Steps over the red zone, which host tests have. */
static inline uint64_t cpu_read_flags(void)
{
    uint64_t flags;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tpop %0\n\tlea 128(%%rsp), %%rsp"
                     : "=r"(flags)::"memory");
    return flags;
}

static inline void cpu_write_flags(uint64_t flags)
{
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n\tpush %0\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::"r"(flags)
        : "memory", "cc");
}

static inline void cpu_disable_interrupts(void)
{
    __asm__ volatile("cli" ::: "memory");
}

/* With interrupts off, only an NMI, SMI or machine check ends it. */
static inline void cpu_halt(void)
{
    __asm__ volatile("hlt" ::: "memory");
}

static inline uint16_t cpu_read_fcw(void)
{
    uint16_t value;
    __asm__ volatile("fnstcw %0" : "=m"(value));
    return value;
}

/* The x87 unit as after a reset: control word 037Fh, stack empty, no exception pending. */
static inline void cpu_reset_fpu(void)
{
    __asm__ volatile("fninit" ::: "memory");
}

static inline void cpu_write_fcw(uint16_t value)
{
    __asm__ volatile("fldcw %0" ::"m"(value) : "memory");
}

static inline uint32_t cpu_read_mxcsr(void)
{
    uint32_t value;
    __asm__ volatile("stmxcsr %0" : "=m"(value));
    return value;
}

static inline void cpu_write_mxcsr(uint32_t value)
{
    __asm__ volatile("ldmxcsr %0" ::"m"(value) : "memory");
}

/* The time stamp as it stands, in no order with what is around it. Host tests: yes. */
static inline uint64_t cpu_tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* The time stamp after all earlier loads are done and before anything later starts: LFENCE on both
 * sides (SDM vol. 2B, RDTSC). AMD processors order by LFENCE where the firmware has set DE_CFG[1],
 * and RDTSCP waits for what came before on all. Host tests: yes. */
static inline uint64_t cpu_tsc_ordered(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

static inline void cpu_fence_loads(void)
{
    __asm__ volatile("lfence" ::: "memory");
}

static inline void cpu_fence(void)
{
    __asm__ volatile("mfence" ::: "memory");
}

/* Tells an SMT sibling and a hypervisor that this is a wait. */
static inline void cpu_pause(void)
{
    __asm__ volatile("pause" ::: "memory");
}

#endif
