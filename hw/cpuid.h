/* Who the processor is and what it can do, as CPUID tells it. */
#ifndef HW_CPUID_H
#define HW_CPUID_H

#include "hw/insn.h"
#include "hw/machine.h"

/* CPUID of a leaf. False, and zeros, where its range (basic, 80000000h, or a hypervisor's) ends
 * before it; under no hypervisor the leaves from 40000000h on do not exist. Window: yes. */
bool cpuid_read(uint32_t leaf, uint32_t subleaf, struct cpuid_regs *regs);

/* The descriptor bytes of leaf 2, zeros left out. Returns how many. Source: SDM vol. 2A, CPUID.
 * Window: yes. */
enum { CPUID_DESCRIPTORS = 15 };
size_t cpuid_descriptors(uint8_t descriptors[CPUID_DESCRIPTORS]);

/* Fills all of `processor` that CPUID tells, caches and TLBs of the executing core included; what
 * needs an MSR (microcode) stays 0. Never faults, so it can come before anything else; takes some
 * dozens of CPUIDs, each of which a hypervisor may answer slowly. Window: no need.
 * Sources: SDM vol. 2A, CPUID; APM vol. 3, appendix E; Hyper-V TLFS, "Feature and interface
 * discovery". */
void survey_processor(struct processor *processor);

/* Adds what only MSRs tell: the microcode revision, and the physical address bits that memory
 * encryption takes away. On Intel the revision's MSR is written with 0, as its reading demands
 * (SDM vol. 3A, 10.11.7.1). Leaves alone what the processor refuses, and everything under a
 * hypervisor, whose answers mean nothing. In a guard or window only, after survey_processor. */
void survey_msrs(struct processor *processor);

/* Of a surveyed processor; asks nothing anew. Window: yes. */
bool has_feature(const struct processor *processor, enum feature feature);

/* By the vendor string; for what the two vendors number differently. Window: yes. */
bool is_intel(const struct processor *processor);
bool is_amd(const struct processor *processor);

#endif
