/* The core's hardware prefetchers that have a switch: which, by what name, how they were found, and
 * how to switch some of them off for a while.
 *
 * Every bit that is used here stops its prefetcher when it is set. Bits beside them keep what was
 * found. Nothing is touched under a hypervisor: some refuse these registers, others take a write
 * and do nothing, and even one that obeys would switch other guests' prefetchers.
 *
 * Names, the same on all processors that have such a prefetcher:
 *   l2_stream      runs ahead of the misses of L1 (Intel: L2 hardware prefetcher, MLC streamer)
 *   l2_adjacent    the other line of a pair of 128 bytes
 *   l2_amp         adaptive multipath probability
 *   l2_next_line, l2_up_down   neighbours of the line that was asked for
 *   dcu, dcu_ip    L1: the next line; a stride of one instruction
 *   l1_stream, l1_stride, l1_region   the three of AMD's L1
 *   next_page      translations and lines beyond the page
 *   llc_page, llc_stream   from memory into the last cache
 *   pointer_array  what the elements of an array point to
 *   code_stream    instructions
 *   dynamic        no prefetcher: lets the processor change the others' settings */
#ifndef HW_PREFETCHERS_H
#define HW_PREFETCHERS_H

#include "hw/msr.h"

enum { PREFETCHERS_ALL = MACHINE_PREFETCHERS, PREFETCHER_REGISTERS = 3 };

struct prefetcher {
    const char *name;
    uint32_t msr;
    uint32_t bit;
};

/* What one processor has. The caller's memory, which bodies of the window must reach. */
struct prefetchers {
    const char *microarchitecture; /* of the table's row; "" if there is none */
    unsigned switches;
    struct prefetcher item[PREFETCHERS_ALL];
    uint32_t readable;  /* bit i: switch i's register can be read */
    uint32_t found_off; /* bit i: switch i was found off */
    uint32_t works;     /* bit i: switch i can be put to off, as tried */
    const char *reason; /* static: why there are none, or why those left of `works` do not work */
    const char *without_switch; /* static: prefetchers that nothing can be done about; NULL: nobody
                                   has looked */
    const struct processor *processor;
    struct msr_rule rule[PREFETCHER_REGISTERS];
    unsigned rules;
};

/* Looks the processor up. OK; ABSENT with `reason` where the table or CPUID gives none, or where a
 * hypervisor is below us. `processor` must have been surveyed, and stay. Window: no need.
 * Sources: Intel, "Disclosure of Hardware Prefetcher Control on Some Intel Processors"; SDM vol. 4,
 * MSR 1A4h; Intel optimization zone, "Hardware Prefetch Tuning" (E-cores: 1A4h, 1320h, 1321h);
 * likwid, sysFeatures_intel_prefetcher.c (Core 2, Xeon Phi); AMD PPR for family 19h and 1Ah,
 * PrefetchControl, enumerated by CPUID 80000021h EAX[13]. */
enum status prefetchers_find(struct prefetchers *prefetchers, const struct processor *processor);

/* Reads how each switch stands, and tries each that is on alone: sets it, reads it back, puts it
 * back through `saves`. A switch that refuses or swallows the write is left out of
 * `works`, one whose register refuses to be read of `readable` too, which sets `reason`. OK; FAULTED with `reason`: none
 * works. Guard or window: only there. */
enum status prefetchers_try(struct prefetchers *prefetchers, struct msr_saves *saves);

/* Which of the switches are off now. FAULTED: the processor refused. Guard or window: only there. */
enum status prefetchers_read(const struct prefetchers *prefetchers, uint32_t *off);

/* Switches these off (bit i: switch i; all ones: all that work) and reads back; what was changed is
 * on the list `saves`. OK: *off has what is off now, all those asked for among it. ABSENT: one of
 * them does not work, or there is none, nothing was written. FAULTED: refused, or not what was
 * written. Prefetches under way still arrive. Guard or window: only there. */
enum status prefetchers_switch_off(const struct prefetchers *prefetchers, struct msr_saves *saves,
                                   uint32_t which, uint32_t *off);

/* What the layers above are told. Anywhere. */
struct prefetcher_facts prefetchers_facts(const struct prefetchers *prefetchers);

/* The switches of a list "l2_stream+dcu_ip", case aside. False: there is none of one of these
 * names. Anywhere. */
bool prefetchers_named(const struct prefetcher_facts *facts, const char *names, uint32_t *which);

#endif
