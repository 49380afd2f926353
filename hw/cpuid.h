/* CPUID, leaf by leaf: only what is there is answered. */
#ifndef HW_CPUID_H
#define HW_CPUID_H

#include "hw/insn.h"
#include "hw/machine.h"

/* A hypervisor's leaves: ranges of so many from here on. */
enum { LEAF_HYPERVISOR = 0x40000000, HYPERVISOR_RANGE = 0x100 };

/* CPUID of a leaf. False, and zeros, where its range (basic, 80000000h, or a hypervisor's) ends
 * before it; under no hypervisor the leaves from 40000000h on do not exist. Window: yes. */
bool cpuid_read(uint32_t leaf, uint32_t subleaf, struct cpuid_regs *regs);

/* The descriptor bytes of leaf 2, zeros left out. Returns how many. Source: SDM vol. 2A, CPUID.
 * Window: yes. */
enum { CPUID_DESCRIPTORS = 15 };
size_t cpuid_descriptors(uint8_t descriptors[CPUID_DESCRIPTORS]);

/* Does a hypervisor say that it is there? Window: yes. */
bool cpuid_hypervisor(void);

/* Of a surveyed processor; asks nothing anew. Window: yes. */
bool has_feature(const struct processor *processor, enum feature feature);

/* By the vendor string; for what the two vendors number differently. Window: yes. */
bool is_intel(const struct processor *processor);
bool is_amd(const struct processor *processor);

#endif
