#include "hw/caches.h"

#include "hw/cpuid.h"

enum { DETERMINISTIC_SUBLEAVES = 16, FULLY_ASSOCIATIVE = 0xffff };

static void add_cache(struct processor *processor, const struct cache *cache)
{
    if (processor->caches < MACHINE_CACHES) {
        processor->cache[processor->caches++] = *cache;
    }
}

/* ---- leaves 4 and 8000001Dh ---- */

static struct cache decode_deterministic(const struct cpuid_regs *regs)
{
    static const enum cache_type types[] = { CACHE_NONE, CACHE_DATA, CACHE_INSTRUCTION,
                                             CACHE_UNIFIED };
    unsigned type = regs->eax & 0x1f;
    unsigned partitions = (regs->ebx >> 12 & 0x3ff) + 1;
    struct cache cache = {
        .level = regs->eax >> 5 & 7,
        .type = type < 4 ? types[type] : CACHE_NONE,
        .ways = (regs->ebx >> 22) + 1,
        .sets = regs->ecx + 1,
        .line = (regs->ebx & 0xfff) + 1,
        .shared_by = (regs->eax >> 14 & 0xfff) + 1,
    };
    cache.size = (uint64_t)cache.ways * partitions * cache.line * cache.sets;
    return cache;
}

static void read_deterministic(struct processor *processor, uint32_t leaf)
{
    for (uint32_t i = 0; i < DETERMINISTIC_SUBLEAVES; i++) {
        struct cpuid_regs regs;
        if (!cpuid_read(leaf, i, &regs) || (regs.eax & 0x1f) == 0) {
            return;
        }
        struct cache cache = decode_deterministic(&regs);
        if (cache.type != CACHE_NONE) {
            add_cache(processor, &cache);
        }
    }
}

static void read_leaf_4(struct processor *processor)
{
    read_deterministic(processor, 4);
}

static void read_topology_extensions(struct processor *processor)
{
    struct cpuid_regs regs;
    if (cpuid_read(0x80000001, 0, &regs) && (regs.ecx >> 22 & 1) != 0) {
        read_deterministic(processor, 0x8000001d);
    }
}

/* ---- leaf 2 ---- */

/* Of the descriptors those that processors with 64-bit mode have; lines are 64 bytes. Left out is
 * what descriptions of them do not agree on. */
static const struct {
    uint8_t descriptor;
    uint8_t level;
    uint8_t ways;
    enum cache_type type;
    unsigned kib;
} cache_descriptors[] = {
    { 0x0d, 1, 4, CACHE_DATA, 16 },        { 0x0e, 1, 6, CACHE_DATA, 24 },
    { 0x1d, 2, 2, CACHE_UNIFIED, 128 },    { 0x21, 2, 8, CACHE_UNIFIED, 256 },
    { 0x24, 2, 16, CACHE_UNIFIED, 1024 },  { 0x2c, 1, 8, CACHE_DATA, 32 },
    { 0x30, 1, 8, CACHE_INSTRUCTION, 32 }, { 0x48, 2, 12, CACHE_UNIFIED, 3072 },
    { 0x4e, 2, 24, CACHE_UNIFIED, 6144 },  { 0x60, 1, 8, CACHE_DATA, 16 },
    { 0x78, 2, 4, CACHE_UNIFIED, 1024 },   { 0x7d, 2, 8, CACHE_UNIFIED, 2048 },
    { 0x7f, 2, 2, CACHE_UNIFIED, 512 },    { 0x80, 2, 8, CACHE_UNIFIED, 512 },
    { 0x86, 2, 4, CACHE_UNIFIED, 512 },    { 0x87, 2, 8, CACHE_UNIFIED, 1024 },
    { 0xd0, 3, 4, CACHE_UNIFIED, 512 },    { 0xd1, 3, 4, CACHE_UNIFIED, 1024 },
    { 0xd2, 3, 4, CACHE_UNIFIED, 2048 },   { 0xd6, 3, 8, CACHE_UNIFIED, 1024 },
    { 0xd7, 3, 8, CACHE_UNIFIED, 2048 },   { 0xe2, 3, 16, CACHE_UNIFIED, 2048 },
    { 0xe3, 3, 16, CACHE_UNIFIED, 4096 },  { 0xe4, 3, 16, CACHE_UNIFIED, 8192 },
    { 0xea, 3, 24, CACHE_UNIFIED, 12288 }, { 0xeb, 3, 24, CACHE_UNIFIED, 18432 },
    { 0xec, 3, 24, CACHE_UNIFIED, 24576 },
};

static void add_descriptor(struct processor *processor, uint8_t descriptor)
{
    for (size_t i = 0; i < sizeof(cache_descriptors) / sizeof(cache_descriptors[0]); i++) {
        if (cache_descriptors[i].descriptor == descriptor) {
            uint64_t size = (uint64_t)cache_descriptors[i].kib * KIB;
            unsigned ways = cache_descriptors[i].ways;
            add_cache(processor, &(struct cache){
                                     .level = cache_descriptors[i].level,
                                     .type = cache_descriptors[i].type,
                                     .size = size,
                                     .ways = ways,
                                     .sets = (unsigned)(size / ways / LINE_BYTES),
                                     .line = LINE_BYTES,
                                     .shared_by = 1,
                                 });
        }
    }
}

static void read_descriptors(struct processor *processor)
{
    uint8_t descriptors[CPUID_DESCRIPTORS];
    size_t count = cpuid_descriptors(descriptors);
    for (size_t i = 0; i < count; i++) {
        add_descriptor(processor, descriptors[i]);
    }
}

/* ---- leaves 80000005h and 80000006h ---- */

/* Four-bit associativity of the second and third level. 9 points to a leaf that is not there. */
static const unsigned ways_of_code[16] = { 0,  1, 2,  3,  4,  6,  8,   0,
                                           16, 0, 32, 48, 64, 96, 128, FULLY_ASSOCIATIVE };

/* Completes a cache by its sets and adds it, if there is one. */
static void add_legacy(struct processor *processor, struct cache cache)
{
    if (cache.size == 0 || cache.line == 0) {
        return;
    }
    if (cache.ways == FULLY_ASSOCIATIVE) {
        cache.ways = (unsigned)(cache.size / cache.line);
    }
    cache.sets = cache.ways != 0 ? (unsigned)(cache.size / cache.line / cache.ways) : 0;
    add_cache(processor, &cache);
}

static struct cache first_level(uint32_t reg, enum cache_type type)
{
    unsigned ways = reg >> 16 & 0xff;
    return (struct cache){
        .level = 1,
        .type = type,
        .size = (uint64_t)(reg >> 24) * KIB,
        .ways = ways == 0xff ? FULLY_ASSOCIATIVE : ways,
        .line = reg & 0xff,
        .shared_by = 1,
    };
}

static struct cache outer_level(uint32_t reg, unsigned level, uint64_t size, unsigned shared_by)
{
    return (struct cache){
        .level = level,
        .type = CACHE_UNIFIED,
        .size = size,
        .ways = ways_of_code[reg >> 12 & 0xf],
        .line = reg & 0xff,
        .shared_by = shared_by,
    };
}

static void read_legacy(struct processor *processor)
{
    struct cpuid_regs inner;
    struct cpuid_regs outer;
    struct cpuid_regs package;
    cpuid_read(0x80000005, 0, &inner);
    cpuid_read(0x80000006, 0, &outer);
    cpuid_read(0x80000008, 0, &package);
    unsigned processors = (package.ecx & 0xff) + 1;
    add_legacy(processor, first_level(inner.ecx, CACHE_DATA));
    add_legacy(processor, first_level(inner.edx, CACHE_INSTRUCTION));
    add_legacy(processor, outer_level(outer.ecx, 2, (uint64_t)(outer.ecx >> 16) * KIB, 1));
    add_legacy(processor,
               outer_level(outer.edx, 3, (uint64_t)(outer.edx >> 18) * 512 * KIB, processors));
}

void survey_caches(struct processor *processor)
{
    static void (*const sources[])(struct processor *) = { read_leaf_4, read_topology_extensions,
                                                           read_descriptors, read_legacy };
    processor->caches = 0;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]) && processor->caches == 0; i++) {
        sources[i](processor);
    }
}

const struct cache *data_cache(const struct processor *processor, unsigned level)
{
    for (unsigned i = 0; i < processor->caches; i++) {
        const struct cache *cache = &processor->cache[i];
        if (cache->level == level && cache->type != CACHE_INSTRUCTION) {
            return cache;
        }
    }
    return NULL;
}

const struct cache *last_cache(const struct processor *processor)
{
    const struct cache *last = NULL;
    for (unsigned i = 0; i < processor->caches; i++) {
        const struct cache *cache = &processor->cache[i];
        if (cache->type != CACHE_INSTRUCTION && (last == NULL || cache->level > last->level)) {
            last = cache;
        }
    }
    return last;
}
