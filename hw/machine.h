/* The plain facts that all layers speak in: structs, enums and status, no functions.
 * hw/ fills them, kernels/ plan and infer with them, console/ shows them. */
#ifndef HW_MACHINE_H
#define HW_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every fallible call answers with one of these; all but OK come with a reason where the caller
 * can use one. ABSENT ("the machine has none") is a normal state, not an error. */
enum status { OK, ABSENT, DENIED, FAULTED, STOPPED, IO_ERROR, BAD_SETTING };

enum {
    KIB = 1 << 10,
    MIB = 1 << 20,
    GIB = 1 << 30,
    PAGE_4K = 4 * KIB,
    PAGE_2M = 2 * MIB,
    PAGE_1G = GIB,
    LINE_BYTES = 64, /* of every x86-64 processor in use; the survey reports the real one */
};

/* The three leaf sizes, as array index and as bit of a set. */
enum page_size { SIZE_4K, SIZE_2M, SIZE_1G, PAGE_SIZES };

/* What a trap leaves behind. */
struct fault {
    uint64_t vector;
    uint64_t code;    /* error code, 0 for vectors that push none */
    uint64_t ip;      /* of the instruction that faulted */
    uint64_t address; /* CR2, for vector 14 only */
};

/* What came while the processor was ours, summed over all windows and guards of the program. */
struct strikes {
    uint64_t windows; /* guards among them */
    uint64_t nmis, machine_checks;
    uint64_t interrupts; /* that became pending */
};

enum cache_type { CACHE_NONE, CACHE_DATA, CACHE_INSTRUCTION, CACHE_UNIFIED };

struct cache {
    unsigned level;
    enum cache_type type;
    uint64_t size; /* bytes that one core can use (of one complex, not of the package) */
    unsigned ways, sets, line; /* ways and sets 0: not told */
    unsigned shared_by;        /* logical processors, as id space: a power of two on Intel */
};

/* Golden Cove and its successors have a first-level TLB for loads and another one for stores. */
enum tlb_accesses { TLB_ALL_ACCESSES, TLB_LOADS, TLB_STORES };

struct tlb {
    unsigned level;
    enum cache_type type;
    enum tlb_accesses accesses;
    unsigned page_sizes;    /* bit i: enum page_size i */
    unsigned entries, ways; /* as many ways as entries: fully associative; 0: not told */
};

enum core_type { CORE_UNKNOWN, CORE_PERFORMANCE, CORE_EFFICIENT };

/* Bit numbers of struct processor's `features`. */
enum feature {
    FEATURE_PAGES_1G,
    FEATURE_NX,
    FEATURE_LA57,
    FEATURE_X2APIC,
    FEATURE_XSAVE,
    FEATURE_AVX,
    FEATURE_AVX2,
    FEATURE_AVX512F,
    FEATURE_FMA,
    FEATURE_TSC,
    FEATURE_INVARIANT_TSC,
    FEATURE_APERF_MPERF,
    FEATURE_RDTSCP,
    FEATURE_CLFLUSH,
    FEATURE_CLFLUSHOPT,
    FEATURE_ERMS,
    FEATURE_MTRR,
    FEATURE_PAT,
    FEATURE_MCE,
    FEATURE_PCID,
    FEATURE_CET_SS,
    FEATURE_HYBRID,
    FEATURES
};

enum { MACHINE_CACHES = 12, MACHINE_TLBS = 24, MACHINE_TEXT = 64 };

struct processor {
    char vendor[13];     /* "GenuineIntel" */
    char brand[49];      /* trimmed brand string */
    char hypervisor[16]; /* "" on the metal, else a name people know: "TCG", "KVM", "VMware"… */
    bool emulated;       /* the hypervisor interprets instructions: times mean nothing */
    bool confidential;   /* an SEV or TDX guest: refused */
    unsigned family, model, stepping; /* display values: extended fields added in */
    uint64_t microcode;               /* 0: not readable */
    enum core_type core_type;         /* of the executing core */
    unsigned physical_bits, linear_bits;
    uint64_t features; /* bit i: enum feature i */
    unsigned caches, tlbs;
    struct cache cache[MACHINE_CACHES];
    struct tlb tlb[MACHINE_TLBS];
};

struct clock {
    uint64_t tsc_hz;         /* 0: no usable TSC */
    char source[24];         /* "CPUID 15h", "ACPI PM timer", … */
    char checked_by[24];     /* the second source, "" if none */
    double disagreement_ppm; /* between the two; 0 with one */
    bool invariant;          /* CPUID 80000007h EDX[8] */
    double core_hz;          /* measured core clock, 0: unknown */
    char core_source[24];    /* "APERF/MPERF", "add chain", "" */
    const char *reason;      /* why tsc_hz is 0, else NULL */
};

struct board { /* SMBIOS types 0, 1, 2; "" where the firmware says nothing sane */
    char vendor[MACHINE_TEXT], product[MACHINE_TEXT], serial[MACHINE_TEXT];
    char board_vendor[MACHINE_TEXT], board_product[MACHINE_TEXT];
    char bios_vendor[MACHINE_TEXT], bios_version[MACHINE_TEXT], bios_date[MACHINE_TEXT];
};

enum { MACHINE_DIMMS = 128, MACHINE_WORD = 32 };

enum error_correction {
    ECC_NOT_TOLD,
    ECC_NONE,
    ECC_PARITY,
    ECC_SINGLE_BIT,
    ECC_MULTI_BIT,
    ECC_CRC,
    ERROR_CORRECTIONS
};

struct dimm { /* a socket for memory and what is in it; "" and 0 where nothing sane is said */
    char socket[MACHINE_WORD], bank[MACHINE_WORD];
    char maker[MACHINE_WORD], part[MACHINE_WORD];
    const char *kind;               /* "DDR5"; static, NULL: not told */
    const char *form;               /* "DIMM"; static, NULL: not told */
    uint64_t bytes;                 /* 0: the socket is empty */
    bool size_told;                 /* false: something is in it, but not how large */
    unsigned rated, configured;     /* million transfers a second */
    unsigned data_bits, total_bits; /* with those for error correction */
    unsigned ranks;
    unsigned channel;                 /* from 1, through all processors; 0: not told */
    enum error_correction correction; /* of the array it belongs to */
};

struct memory_facts { /* SMBIOS types 16 and 17 */
    unsigned dimms, populated;
    unsigned lost; /* sockets that there was no room for */
    struct dimm dimm[MACHINE_DIMMS];
    unsigned channels, channels_populated; /* of all processors; 0: not told */
    const char *reason; /* static: why there is none, or what is odd about it; NULL: nothing */
};

struct firmware { /* what UEFI says of itself, "" under an operating system */
    char vendor[MACHINE_TEXT];
    unsigned revision;      /* of the firmware vendor */
    unsigned uefi_revision; /* 2.70 is 0x00020046 */
    bool secure_boot;
};

enum { MACHINE_PREFETCHERS = 12 };

/* The measuring core's prefetchers; bit i of a set is switch i. */
struct prefetcher_facts {
    unsigned switches;
    const char *name[MACHINE_PREFETCHERS]; /* static text */
    uint32_t readable;                     /* those that tell whether they are off */
    uint32_t found_off;                    /* among them */
    uint32_t works;                        /* those that can be put to off, as tried */
    const char *reason;         /* static: why none or some do not work; NULL if all do */
    const char *without_switch; /* static: what nobody can switch; NULL: nobody has looked */
};

/* The measuring core's performance counters. */
struct counter_facts {
    bool work;        /* they counted a loop of known length right */
    unsigned version; /* Intel: of the architecture; AMD: 0 legacy, 1 extended, 2 PerfMonV2 */
    unsigned width;   /* bits of a general counter */
    uint32_t general, fixed;             /* bit i: counter i can be used */
    uint32_t owned_general, owned_fixed; /* that the firmware had running */
    const char *microarchitecture;       /* of the event table; "": only architectural events */
    const char *reason;                  /* static: why they do not work, else NULL */
};

struct machine {
    struct processor processor;
    struct clock clock;
    struct board board;
    struct firmware firmware;
    struct memory_facts memory;
    uint64_t memory_bytes; /* all RAM that the memory map or the OS lists */
    uint64_t arena_bytes;  /* what measurements may use */
    bool page_available[PAGE_SIZES];
    const char *page_reason[PAGE_SIZES]; /* static text, where it is not available */
    struct prefetcher_facts prefetchers;
    struct counter_facts counters;
    const char *no_smis; /* static: why SMIs are not counted; NULL: they are, or nobody looked */
};

#endif
