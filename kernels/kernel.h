/* What an experiment is to the plan and the sampler: a table row.
 * A new kernel is one file and one row in kernels/table.c. */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include "kernels/observer.h"
#include "kernels/result.h"

enum suite { SUITE_QUICK, SUITE_FULL, SUITE_SMOKE, SUITES };

enum { PREFETCHER_CHOICES = 8 };

/* One way to set the core's prefetchers. */
struct prefetcher_choice {
    const char *name; /* "found", "off", "off:l2_stream+dcu_ip": value of V_PREFETCHERS */
    uint32_t off;     /* as struct conditions has it */
    const char *skip; /* static reason why this machine cannot, or NULL */
};

/* What the suite and the settings ask for: a kernel's `list` turns it into measurements. */
struct scope {
    const struct machine *machine;
    enum suite suite;
    unsigned per_octave;      /* sizes of a curve in each doubling */
    uint64_t max_working_set; /* 0: the suite's own rule */
    unsigned page_sizes;      /* bit i: enum page_size i; 0: the suite's own choice */
    /* Those that the settings name, wherever prefetchers matter; none: the suite's own choice. Use
     * kernels/prefetch_variants.h. The names outlive the results. */
    struct prefetcher_choice prefetchers[PREFETCHER_CHOICES];
    unsigned prefetcher_choices;
    unsigned repetitions; /* R */
    unsigned visits;
    uint64_t seed;
};

/* Everything a kernel's functions are given while one measurement is built, run and checked. */
struct job {
    const struct variant *variant;
    uint64_t seed;      /* of this visit */
    void *data;         /* mapped base; touch it in a body only */
    size_t bytes;       /* of the working set */
    uint64_t state[32]; /* the kernel's own, set by `begin` */
};

/* What a kernel runs in the window, on `data` at the mapped base. */
struct kernel_code {
    /* Sets job->state from the variant and the seed. Pure; anywhere. */
    void (*begin)(struct job *job);
    /* Builds a slice of some milliseconds from step `from`; returns the next step, 0 when all is
     * built. In a body. */
    size_t (*build)(struct job *job, size_t from);
    /* The same for the proof; a failure sets *reason (static text) and ends with 0. */
    size_t (*prove)(const struct job *job, size_t from, const char **reason);
    void *(*start)(const struct job *job); /* the first cursor */
    /* Untimed, before each sample (flush, forget), or NULL. */
    void (*prepare)(const struct job *job, const struct bench *bench);
    /* Timed. Goes on where the last sample stopped: takes the cursor and returns it. */
    void *(*loop)(void *cursor, uint64_t operations);
    /* In a body, after each sample: is the cursor where `operations` since start must lead, and
     * what the loop computed right? Or NULL. */
    bool (*check)(const struct job *job, const void *cursor, uint64_t operations,
                  const char **reason);
    /* Cycle that was proved, in lines, for the record; 0: none. */
    uint64_t (*cycle_length)(const struct job *job);
    bool memory; /* a sample lasts at least 1 ms: many DRAM refresh intervals */
};

/* One thing to measure. Measurements that stand side by side with the same `data` number show the
 * same built data (under other page sizes, prefetchers…): it is built and proved once. */
struct measurement {
    const struct kernel *kernel;
    struct variant variant;
    struct layout layout;
    size_t bytes; /* working set */
    struct conditions conditions;
    unsigned data;        /* group number, increasing within an experiment */
    double seconds;       /* estimate for all its visits, without building */
    double build_seconds; /* estimate of building and proving once, for the group's first member */
    const char *skip;     /* static reason why it is not measured, or NULL */
};

/* Where `list` puts its measurements: `room` is never passed, `lost` counts what did not fit. */
struct measurement_list {
    struct measurement *item;
    size_t count, room, lost;
};

/* Appends a copy; false (and `lost` counted) when there is no room. */
bool measurement_add(struct measurement_list *list, const struct measurement *measurement);

struct kernel {
    const char *name, *title; /* "chase", "Pointer chase: load-to-use latency" */
    const char *unit;         /* of one operation: "load" */
    bool only_by_name;        /* never part of `all` */
    /* Lists its measurements for a scope, in the order of the printed table. Pure. */
    void (*list)(const struct scope *scope, const struct kernel *self,
                 struct measurement_list *out);
    /* Predicted ns for a variant from the machine's geometry and the points measured so far in
     * this experiment (n of them), NAN where nothing can be said. Pure. Or NULL. */
    double (*predict)(const struct machine *machine, const struct variant *variant,
                      const struct point *measured, size_t n);
    const struct kernel_code *code;
    /* Columns of the printed table: variant keys, ended by VARIANT_KEYS. */
    const enum variant_key *columns;
};

/* Every kernel, in the order of the plan; ended by NULL. */
extern const struct kernel *const kernel_table[];
/* The kernel of that name, or NULL. */
const struct kernel *kernel_named(const char *name);

#endif
