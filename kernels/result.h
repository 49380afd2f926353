/* The results of a run: what the kernels fill and everything that shows or saves reads.
 * Plain data; whoever runs the plan owns it. Numbers that could not be measured are NAN in memory,
 * null in JSON and empty in CSV, with a reason beside them; never 0. */
#ifndef KERNELS_RESULT_H
#define KERNELS_RESULT_H

#include "kernels/bench.h"

/* Keys of a variant, in the order of the CSV's columns: append only. */
enum variant_key {
    V_WORKING_SET,
    V_PAGE_SIZE,
    V_ORDER,
    V_CHAINS,
    V_PREFETCHERS,
    V_PLACEMENT,
    V_NODE,
    V_OPERATION,
    V_ACCUMULATORS,
    V_LINES,
    V_STRIDE,
    V_DATA,
    V_BRANCH,
    V_PERIOD,
    V_TARGETS,
    V_DEPTH,
    V_PAGES,
    V_STATE,
    V_ACCESS,
    V_LAYOUT,
    V_PAD,
    V_PARTITIONS,
    V_ROWS,
    V_KEYS,
    V_SKEW,
    V_VECTOR,
    V_LEVEL,
    V_STORE_SIZE,
    V_LOAD_SIZE,
    V_REGISTERS,
    V_OFFSET,
    V_PASS, /* of `repeat` passes, from 1; absent where there is one */
    VARIANT_KEYS
};

union variant_value {
    uint64_t number;
    const char *text; /* static */
};

/* One way of measuring; keys that do not apply are absent. */
struct variant {
    uint64_t present; /* bit i: key i */
    union variant_value value[VARIANT_KEYS];
};

/* Values of V_PLACEMENT: "in-order", "scattered", "balanced". */
extern const char *const placement_name[PLACINGS];
/* "working_set"…: the key's name in every file. */
extern const char *const variant_name[VARIANT_KEYS];
/* True for keys whose value is text ("random"); the others are numbers. */
bool variant_is_text(enum variant_key key);
void variant_set_number(struct variant *variant, enum variant_key key, uint64_t number);
void variant_set_text(struct variant *variant, enum variant_key key, const char *text);
bool variant_has(const struct variant *variant, enum variant_key key);
/* Same keys with the same values. */
bool variant_equal(const struct variant *a, const struct variant *b);

/* Median and spread of n samples; all NAN when n is 0. */
struct spread {
    double median, min, max, mad; /* mad: median absolute deviation, not scaled */
    double low, high;             /* interval by order statistics, NAN below 6 samples */
    double coverage;              /* its true coverage, NAN without one */
    double within, between;       /* spread within a visit and between visits' medians */
    unsigned samples, visits;
};

/* Logical counters, in the order of the CSV's columns. */
enum counter {
    C_INSTRUCTIONS,
    C_CYCLES,
    C_L1D_MISS,
    C_L2_MISS,
    C_L3_MISS,
    C_DRAM_READ,
    C_PAGE_WALK,
    C_WALK_CYCLES,
    C_BRANCH,
    C_BRANCH_MISS,
    C_STALL_TOTAL,
    C_STALL_MEMORY,
    C_STALL_L1D_MISS,
    C_STALL_L2_MISS,
    C_STALL_L3_MISS,
    COUNTERS
};
extern const char *const counter_name[COUNTERS];

/* What is not plain about a point. */
enum flag {
    FLAG_UNSETTLED, /* a warm-up bound was passed, or the samples show a trend */
    FLAG_NOISY,     /* interval wider than 2 %, or without one (max - min) / median > 2 % */
    FLAG_BETWEEN,   /* visits differ by more than the samples within one */
    FLAG_SUSPECT,   /* contradicts another row or itself; the reason tells */
    FLAG_SMI,       /* kept after too many retries with an SMI, NMI or new interrupt in them */
    FLAG_NMI,
    FLAG_INTERRUPT,
    FLAG_SMASHED,  /* large leaves are not large in the TLB */
    FLAG_SIBLING,  /* another thread shares the core */
    FLAG_EMULATED, /* under an emulator: the time means nothing */
    FLAG_PARTIAL,  /* stopped before all its visits were done */
    FLAG_SHORT,    /* the clock could not resolve the sample to 0.1 % */
    FLAGS
};
extern const char *const flag_name[FLAGS];

struct point_proof {
    uint64_t cycle_length;       /* lines of the one cycle that was proved, 0: no chase */
    uint64_t leaves[PAGE_SIZES]; /* accessed leaves */
    bool leaves_known;
    uint8_t memory_type;
    uint64_t tables;
    uint32_t prefetchers_off; /* as read back; bit i: switch i of the machine's */
    bool prefetchers_known;   /* those of the machine's that are readable were */
};

struct point {
    struct variant variant;
    double operations; /* of all kept samples */
    const char *unit;  /* "load", "element"… */
    struct spread ns;
    struct spread cycles;     /* samples 0: null */
    double counter[COUNTERS]; /* per operation, NAN: not counted */
    double predicted;         /* ns, NAN: no prediction */
    const char *class;        /* NULL: null */
    uint32_t flags;           /* bit i: enum flag i */
    const char *reason;       /* static text or text in the results' own memory, or NULL */
    struct point_proof proof;
};

struct check { /* one statement of the self-test */
    const char *name;
    bool ok;
    char text[120];
};

enum experiment_status { EXPERIMENT_OK, EXPERIMENT_PARTIAL, EXPERIMENT_SKIPPED, EXPERIMENT_FAILED };
extern const char *const experiment_status_name[]; /* "ok", "partial", "skipped", "failed" */

struct experiment {
    const char *name, *title;
    enum experiment_status status;
    const char *reason;         /* of its status; if ok, what was left out and why, or NULL */
    struct fault fault;         /* of a failed one; vector 0 with no ip: none */
    size_t first_point, points; /* into results.point */
    size_t first_check, checks; /* into results.check */
};

struct setting_note {
    const char *key, *value;
    const char *source; /* "default", "ironchase.cfg:12", "SMBIOS", "load options" */
};

struct finding {
    const char *name, *unit;
    double measured, claimed; /* NAN: cannot tell, or no claim */
    bool agrees, agreement_known;
    char text[200];
};

struct noise {
    bool measured;
    double seconds;
    double smi_count; /* NAN: not counted on this machine */
    double largest_gap_ns;
};

enum run_status { RUN_COMPLETE, RUN_PARTIAL, RUN_FAILED };
extern const char *const run_status_name[]; /* "complete", "partial", "failed" */

struct program {
    const char *version, *commit, *compiler;
    const char *platform; /* "uefi" or "linux" */
};

struct results {
    struct program program;
    enum run_status status;
    const char *status_reason;
    char started[24]; /* ISO time, "" where the firmware has none */
    char name[MACHINE_TEXT];
    char repeat_line[1024]; /* the settings that run it again */
    const struct machine *machine;
    const struct setting_note *setting;
    size_t settings;
    struct noise noise;
    const struct strikes *strikes; /* NULL: no windows here */
    struct experiment *experiment;
    size_t experiments;
    struct point *point;
    size_t points, points_room;
    struct check *check;
    size_t checks, checks_room;
    struct finding *finding;
    size_t findings, findings_room;
};

#endif
