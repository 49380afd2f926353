/* The memory type that the processor's range registers give to physical addresses. A large page
 * over two types is undefined, and what is measured in memory that is not write-back is not the
 * caches. Nothing is ever changed here.
 * SDM vol. 3A, 12.11 (11.11 in editions before 2022); AMD APM vol. 2, 7.7 to 7.9. */
#ifndef HW_MTRR_H
#define HW_MTRR_H

#include "hw/machine.h"

/* As the registers encode them. */
enum memory_type {
    MEMORY_UNCACHED = 0,
    MEMORY_WRITE_COMBINING = 1,
    MEMORY_WRITE_THROUGH = 4,
    MEMORY_WRITE_PROTECTED = 5,
    MEMORY_WRITE_BACK = 6,
    MEMORY_UNDEFINED = 0xFF, /* overlapping ranges, or an encoding, that the manuals leave open */
};

enum {
    MTRR_VARIABLES = 40, /* as many as there are register numbers for */
    MTRR_FIXED = 88,     /* ranges below 1 MiB: 8 of 64 KiB, 16 of 16 KiB, 64 of 4 KiB */
    PAT_ENTRIES = 8,
};

/* A variable range holds the addresses that equal `base` where `mask` has ones. */
struct mtrr_variable {
    uint64_t base, mask;
    uint8_t type;
};

/* What the registers hold. SMM's own ranges (SMRR) count in SMM only, and are left out. */
struct mtrr {
    bool present; /* the processor has them; without them all memory is write-back */
    bool enabled; /* else all memory is uncached */
    bool fixed_enabled;
    uint8_t default_type;
    uint64_t limit;          /* first address beyond the processor's physical width */
    uint64_t write_back_end; /* AMD's TOP_MEM2: from 4 GiB to there, the default is write-back;
                                0: no such rule */
    unsigned variables;
    struct mtrr_variable variable[MTRR_VARIABLES];
    uint8_t fixed[MTRR_FIXED];
    uint8_t pat[PAT_ENTRIES]; /* what a page table's entry chooses from */
};

/* Reads the registers. FAULTED with a reason if the processor refuses one it ought to have.
 * Guard or window: only there. */
enum status mtrr_read(struct mtrr *mtrr, const struct processor *processor, const char **reason);

/* The type at an address, an enum memory_type; *end is the first address above that may have
 * another (all up to there have this one). Pure. */
uint8_t mtrr_type(const struct mtrr *mtrr, uint64_t address, uint64_t *end);

/* True if the whole range has one type, which is *type; `bytes` is not 0. Pure. */
bool mtrr_uniform(const struct mtrr *mtrr, uint64_t base, uint64_t bytes, uint8_t *type);

/* "write-back"… */
const char *memory_type_name(uint8_t type);

#endif
