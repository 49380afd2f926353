/* The only seam between C and the machine: one routine an instruction, out of line in hw/insn.S.
 * On the host the scripted processor (tests/fakes/processor.c) stands in for that file.
 *
 * The routines that answer with bool may fault (#GP, #UD): the trap code knows them by a fix-up
 * table and goes on with false. Without our interrupt table such a fault would be the firmware's,
 * so call them in a guard or window only (hw/guard.h, hw/window.h).
 * Which register exists, and what its bits mean, is the caller's business. */
#ifndef HW_INSN_H
#define HW_INSN_H

#include <stdbool.h>
#include <stdint.h>

struct cpuid_regs {
    uint32_t eax, ebx, ecx, edx;
};

/* CPUID of a leaf and subleaf. A leaf above the largest one answers with the data of another on
 * Intel (SDM vol. 2A, CPUID): ask leaf 0 or 80000000h first. Never faults. Window: yes, but a
 * hypervisor takes its time over it. */
void insn_cpuid(uint32_t leaf, uint32_t subleaf, struct cpuid_regs *out);

/* Model-specific registers and performance counters. False: the processor refused; *value is then
 * left as it was. Window or guard: only there. */
bool insn_rdmsr(uint32_t msr, uint64_t *value);
bool insn_wrmsr(uint32_t msr, uint64_t value);
bool insn_rdpmc(uint32_t index, uint64_t *value);

/* Extended control registers (XCR0 is index 0). False also where CR4.OSXSAVE is clear (#UD).
 * Window or guard: only there. */
bool insn_xgetbv(uint32_t index, uint64_t *value);
bool insn_xsetbv(uint32_t index, uint64_t value);

/* I/O ports. Never fault at ring 0; an absent port reads as all ones. Window: yes. */
uint8_t insn_in8(uint16_t port);
uint16_t insn_in16(uint16_t port);
uint32_t insn_in32(uint16_t port);
void insn_out8(uint16_t port, uint8_t value);
void insn_out16(uint16_t port, uint16_t value);
void insn_out32(uint16_t port, uint32_t value);

/* Memory-mapped registers: exactly one access of that width, in program order. The address must
 * be mapped (in the window: by the window's own tables, uncached) and aligned to the width.
 * Window: yes. */
uint8_t insn_read8(uint64_t address);
uint16_t insn_read16(uint64_t address);
uint32_t insn_read32(uint64_t address);
uint64_t insn_read64(uint64_t address);
void insn_write8(uint64_t address, uint8_t value);
void insn_write16(uint64_t address, uint16_t value);
void insn_write32(uint64_t address, uint32_t value);
void insn_write64(uint64_t address, uint64_t value);

#endif
