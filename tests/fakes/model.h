/* A model machine behind the bench: real data, simulated time.
 *
 * The kernels build their data in host memory; tests/fakes/model_loops.c follows it and charges
 * each access to the simulated clock through TLBs, page walks and caches of the geometry that a
 * test chose. What the sampler then reports must be that geometry.
 *
 * As on the metal, the data can be touched in a body only (outside it is not even readable), each
 * window starts with empty TLBs, with caches that hold nothing of the data, and with a core that has
 * been idle; and every view lies at one base. */
#ifndef TESTS_FAKES_MODEL_H
#define TESTS_FAKES_MODEL_H

#include "kernels/bench.h"

enum { MODEL_LEVELS = 4, MODEL_TLBS = 4 };

/* So many KiB and MiB in bytes, without the bounds of an int. */
#define KIBS(n) ((size_t)(n)*KIB)
#define MIBS(n) ((size_t)(n)*MIB)

/* A cache, physically indexed, least recently used line out first. */
struct model_level {
    uint64_t size;
    unsigned ways;
    double cycles; /* load to use, of a hit */
};

/* A TLB level. Fully associative where ways is 0. */
struct model_tlb {
    unsigned page_sizes; /* bit i: enum page_size i */
    unsigned entries, ways;
    double cycles; /* that a hit costs on top */
};

/* Something that strikes about every so often. */
struct model_strike {
    double every_ns; /* 0: never */
    double costs_ns;
};

struct model_geometry {
    double tsc_hz, core_hz;
    unsigned levels, tlbs; /* from the core outwards */
    struct model_level level[MODEL_LEVELS];
    double memory_ns;
    unsigned outstanding; /* loads that can be under way at once; 0: one */
    double stream_ns;     /* a line of a sequential read from beyond the first level */
    struct model_tlb tlb[MODEL_TLBS];
    double walk_cycles[PAGE_SIZES]; /* of a page walk; the lines of the tables come on top */
    bool tables_in_caches;          /* the last table's entries are loaded through the caches */
    uint64_t memory_bytes;          /* of the arena */
    bool page_available[PAGE_SIZES];

    bool counts_cycles; /* struct reading has cycles */
    bool counts_smis;
    double read_ns;        /* what reading the clock costs */
    double read_jitter_ns; /* uniformly up to so much more */
    double idle_share;     /* core clock after idling, as a share of core_hz; 0: no ramp */
    double ramp_ns;        /* busy time until it is core_hz again */
    double drift;          /* relative change of the core clock a second */
    double noise;          /* each memory access costs up to so much more or less, relative... */
    double noise_ns;       /* ...and the same for so long */
    struct model_strike smi, nmi, interrupt;
    bool tables_hidden; /* as under a host that does not show them */
    bool smashed;       /* large leaves are 4 KiB entries in the TLB */
    /* Another leaf than the one asked for shows up in the proof. */
    bool wrong_leaves;
    /* Faults instead of running the body, once that many bodies have run; 0: never. */
    unsigned fault_after;
};

struct model;

/* A machine of that geometry, or NULL without memory; its bench is valid until it is freed. One
 * machine at a time can be inside a body. */
struct model *model_new(const struct model_geometry *geometry);
void model_free(struct model *model);
const struct bench *model_bench(struct model *model);

/* Simulated seconds since the machine was made, bodies run, and the longest of them. */
double model_seconds(const struct model *model);
unsigned model_bodies(const struct model *model);
double model_longest_body(const struct model *model);

/* SMIs so far. */
unsigned model_smis(const struct model *model);

/* For the loops, in a body only: one load of the line at `at`, one line of a sequential read, and
 * so many cycles of register work, on the machine that is inside. */
void model_load(const void *at);
void model_stream(const void *at);
/* `count` loads that need nothing of one another, in the time of count / outstanding of them, or
 * of one where they are fewer. */
void model_loads(void *const *at, unsigned count);
void model_work(double cycles);
/* Empties the caches of the machine that is inside. In a body only. */
void model_flush(void);

#endif
