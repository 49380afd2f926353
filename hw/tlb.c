#include "hw/tlb.h"

#include "hw/cpuid.h"

enum { PAGES_4K = 1 << SIZE_4K, PAGES_2M = 1 << SIZE_2M, PAGES_1G = 1 << SIZE_1G };
enum { MOST_SUBLEAVES = 32, FULL = 0xffff };

static void add_tlb(struct processor *processor, struct tlb tlb)
{
    if (tlb.entries == 0 || tlb.page_sizes == 0 || processor->tlbs == MACHINE_TLBS) {
        return;
    }
    if (tlb.ways == FULL) {
        tlb.ways = tlb.entries;
    }
    processor->tlb[processor->tlbs++] = tlb;
}

/* ---- leaf 18h ---- */

static const struct {
    enum cache_type type;
    enum tlb_accesses accesses;
} structure_types[] = {
    { CACHE_NONE, TLB_ALL_ACCESSES },
    { CACHE_DATA, TLB_ALL_ACCESSES },
    { CACHE_INSTRUCTION, TLB_ALL_ACCESSES },
    { CACHE_UNIFIED, TLB_ALL_ACCESSES },
    { CACHE_DATA, TLB_LOADS },
    { CACHE_DATA, TLB_STORES },
};

enum { STRUCTURE_TYPES = sizeof(structure_types) / sizeof(structure_types[0]) };

static void add_structure(struct processor *processor, const struct cpuid_regs *regs)
{
    unsigned type = regs->edx & 0x1f;
    /* Type 0 is a hole, with valid subleaves after it (Ice Lake has some). */
    if (type == 0 || type >= STRUCTURE_TYPES) {
        return;
    }
    unsigned ways = regs->ebx >> 16;
    add_tlb(processor, (struct tlb){
                           .level = regs->edx >> 5 & 7,
                           .type = structure_types[type].type,
                           .accesses = structure_types[type].accesses,
                           .page_sizes = ((regs->ebx & 1) != 0 ? PAGES_4K : 0U) |
                                         ((regs->ebx & 2) != 0 ? PAGES_2M : 0U) |
                                         ((regs->ebx & 8) != 0 ? PAGES_1G : 0U),
                           .entries = ways * regs->ecx,
                           .ways = ways,
                       });
}

static void read_leaf_18(struct processor *processor)
{
    struct cpuid_regs regs;
    if (!cpuid_read(0x18, 0, &regs)) {
        return;
    }
    uint32_t last = regs.eax < MOST_SUBLEAVES ? regs.eax : MOST_SUBLEAVES;
    for (uint32_t i = 0; i <= last; i++) {
        cpuid_read(0x18, i, &regs);
        add_structure(processor, &regs);
    }
}

/* ---- leaves 80000005h, 80000006h and 80000019h ---- */

/* First level: 8 bits of ways (FFh: fully associative) and 8 of entries, data above code. */
static void add_first_level(struct processor *processor, uint32_t reg, unsigned pages)
{
    static const enum cache_type types[] = { CACHE_INSTRUCTION, CACHE_DATA };
    for (unsigned half = 0; half < 2; half++) {
        unsigned value = reg >> half * 16 & 0xffff;
        unsigned ways = value >> 8;
        add_tlb(processor, (struct tlb){ .level = 1,
                                         .type = types[half],
                                         .page_sizes = pages,
                                         .entries = value & 0xff,
                                         .ways = ways == 0xff ? FULL : ways });
    }
}

/* The rest: a 4-bit code for the ways and 12 bits of entries. Where the data half is empty, the
 * other one serves data too. */
static void add_coded(struct processor *processor, unsigned level, uint32_t reg, unsigned pages,
                      unsigned scale)
{
    static const unsigned ways_of_code[16] = { 0,  1, 2,  3,  4,  6,  8,   0,
                                               16, 0, 32, 48, 64, 96, 128, FULL };
    for (unsigned half = 0; half < 2; half++) {
        unsigned value = reg >> half * 16 & 0xffff;
        bool unified = half == 0 && level > 1 && reg >> 16 == 0;
        add_tlb(processor, (struct tlb){ .level = level,
                                         .type = half == 1 ? CACHE_DATA
                                                 : unified ? CACHE_UNIFIED
                                                           : CACHE_INSTRUCTION,
                                         .page_sizes = pages,
                                         .entries = (value & 0xfff) * scale,
                                         .ways = ways_of_code[value >> 12] });
    }
}

/* From Zen 5 on 12 bits do not suffice: 80000021h EAX[14] says that the second level is counted in
 * units of 32. */
static void read_extended(struct processor *processor)
{
    struct cpuid_regs first;
    struct cpuid_regs second;
    struct cpuid_regs huge;
    struct cpuid_regs more;
    cpuid_read(0x80000005, 0, &first);
    cpuid_read(0x80000006, 0, &second);
    cpuid_read(0x80000019, 0, &huge);
    cpuid_read(0x80000021, 0, &more);
    unsigned scale = (more.eax >> 14 & 1) != 0 ? 32 : 1;
    add_first_level(processor, first.ebx, PAGES_4K);
    add_first_level(processor, first.eax, PAGES_2M);
    add_coded(processor, 1, huge.eax, PAGES_1G, 1);
    add_coded(processor, 2, second.ebx, PAGES_4K, scale);
    add_coded(processor, 2, second.eax, PAGES_2M, scale);
    add_coded(processor, 2, huge.ebx, PAGES_1G, scale);
}

/* ---- leaf 2 ---- */

/* A descriptor that names two structures has two rows. */
static const struct {
    uint8_t descriptor;
    uint8_t level;
    uint8_t pages;
    enum cache_type type;
    uint16_t entries, ways;
} descriptors[] = {
    { 0x01, 1, PAGES_4K, CACHE_INSTRUCTION, 32, 4 },
    { 0x03, 1, PAGES_4K, CACHE_DATA, 64, 4 },
    { 0x4f, 1, PAGES_4K, CACHE_INSTRUCTION, 32, 0 },
    { 0x50, 1, PAGES_4K | PAGES_2M, CACHE_INSTRUCTION, 64, 0 },
    { 0x51, 1, PAGES_4K | PAGES_2M, CACHE_INSTRUCTION, 128, 0 },
    { 0x52, 1, PAGES_4K | PAGES_2M, CACHE_INSTRUCTION, 256, 0 },
    { 0x55, 1, PAGES_2M, CACHE_INSTRUCTION, 7, FULL },
    { 0x57, 1, PAGES_4K, CACHE_DATA, 16, 4 },
    { 0x59, 1, PAGES_4K, CACHE_DATA, 16, FULL },
    { 0x5a, 1, PAGES_2M, CACHE_DATA, 32, 4 },
    { 0x61, 1, PAGES_4K, CACHE_INSTRUCTION, 48, FULL },
    { 0x63, 1, PAGES_2M, CACHE_DATA, 32, 4 },
    { 0x63, 1, PAGES_1G, CACHE_DATA, 4, 4 },
    { 0x64, 1, PAGES_4K, CACHE_DATA, 512, 4 },
    { 0x6a, 1, PAGES_4K, CACHE_DATA, 64, 8 },
    { 0x6b, 1, PAGES_4K, CACHE_DATA, 256, 8 },
    { 0x6c, 1, PAGES_2M, CACHE_DATA, 128, 8 },
    { 0x6d, 1, PAGES_1G, CACHE_DATA, 16, FULL },
    { 0x76, 1, PAGES_2M, CACHE_INSTRUCTION, 8, FULL },
    { 0xa0, 1, PAGES_4K, CACHE_DATA, 32, FULL },
    { 0xb0, 1, PAGES_4K, CACHE_INSTRUCTION, 128, 4 },
    { 0xb1, 1, PAGES_2M, CACHE_INSTRUCTION, 8, 4 },
    { 0xb2, 1, PAGES_4K, CACHE_INSTRUCTION, 64, 4 },
    { 0xb3, 1, PAGES_4K, CACHE_DATA, 128, 4 },
    { 0xb4, 2, PAGES_4K, CACHE_DATA, 256, 4 },
    { 0xb5, 1, PAGES_4K, CACHE_INSTRUCTION, 64, 8 },
    { 0xb6, 1, PAGES_4K, CACHE_INSTRUCTION, 128, 8 },
    { 0xba, 2, PAGES_4K, CACHE_DATA, 64, 4 },
    { 0xc1, 2, PAGES_4K | PAGES_2M, CACHE_UNIFIED, 1024, 8 },
    { 0xc2, 1, PAGES_4K | PAGES_2M, CACHE_DATA, 16, 4 },
    { 0xc3, 2, PAGES_4K | PAGES_2M, CACHE_UNIFIED, 1536, 6 },
    { 0xc3, 2, PAGES_1G, CACHE_UNIFIED, 16, 4 },
    { 0xc4, 1, PAGES_2M, CACHE_DATA, 32, 4 },
    { 0xca, 2, PAGES_4K, CACHE_UNIFIED, 512, 4 },
};

static void add_descriptor(struct processor *processor, uint8_t descriptor)
{
    for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++) {
        if (descriptors[i].descriptor == descriptor) {
            add_tlb(processor, (struct tlb){ .level = descriptors[i].level,
                                             .type = descriptors[i].type,
                                             .page_sizes = descriptors[i].pages,
                                             .entries = descriptors[i].entries,
                                             .ways = descriptors[i].ways });
        }
    }
}

static void read_descriptors(struct processor *processor)
{
    uint8_t found[CPUID_DESCRIPTORS];
    size_t count = cpuid_descriptors(found);
    for (size_t i = 0; i < count; i++) {
        add_descriptor(processor, found[i]);
    }
}

void survey_tlbs(struct processor *processor)
{
    static void (*const sources[])(struct processor *) = { read_leaf_18, read_extended,
                                                           read_descriptors };
    processor->tlbs = 0;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]) && processor->tlbs == 0; i++) {
        sources[i](processor);
    }
}
