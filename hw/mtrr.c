#include "hw/mtrr.h"

#include "hw/cpuid.h"
#include "hw/msr.h"

#include <string.h>

#define MTRR_CAP      0x0FE /* bits 7:0: number of variable ranges; bit 8: fixed ranges exist */
#define MTRR_BASE     0x200 /* and its mask at the next number; 2 numbers a range */
#define MTRR_DEF_TYPE 0x2FF /* bits 7:0: default type; bit 10: fixed on; bit 11: all on */
#define MSR_PAT       0x277
#define MSR_SYSCFG    UINT32_C(0xC0010010)
#define MSR_TOP_MEM2  UINT32_C(0xC001001D)

#define CAP_FIXED        (UINT64_C(1) << 8)
#define FIXED_ENABLED    (UINT64_C(1) << 10)
#define ENABLED          (UINT64_C(1) << 11)
#define VALID            (UINT64_C(1) << 11) /* of a variable range's mask */
#define TOP_MEM2_ENABLED (UINT64_C(1) << 21)
#define FORCE_WRITE_BACK (UINT64_C(1) << 22)
#define PAGE_NUMBER      UINT64_C(0x000FFFFFFFFFF000)
#define TOP_MEM2_ADDRESS UINT64_C(0x000FFFFFFF800000)
#define FOUR_GIB         (UINT64_C(4) * GIB)
#define NO_CHANGE        UINT64_MAX
#define PAT_AFTER_RESET  UINT64_C(0x0007040600070406)

/* ---- reading ---------------------------------------------------------------------------------- */

/* Registers of eight fixed ranges each, one a byte. */
static const uint32_t fixed_register[MTRR_FIXED / 8] = {
    0x250, 0x258, 0x259, 0x268, 0x269, 0x26A, 0x26B, 0x26C, 0x26D, 0x26E, 0x26F,
};

static void read_bytes(uint64_t value, uint8_t byte[8])
{
    for (unsigned i = 0; i < 8; i++) {
        byte[i] = (uint8_t)(value >> (8 * i));
    }
}

static bool read_fixed(struct mtrr *mtrr, const struct msr_gate *gate)
{
    for (unsigned i = 0; i < MTRR_FIXED / 8; i++) {
        uint64_t value;
        if (msr_read(gate, fixed_register[i], &value) != OK) {
            return false;
        }
        read_bytes(value, &mtrr->fixed[i * (size_t)8]);
    }
    return true;
}

/* Bits above the processor's physical width are reserved in both registers. */
static bool read_variables(struct mtrr *mtrr, const struct msr_gate *gate, unsigned count)
{
    uint64_t width = PAGE_NUMBER & (mtrr->limit - 1);
    for (unsigned i = 0; i < count && i < MTRR_VARIABLES; i++) {
        uint64_t base;
        uint64_t mask;
        if (msr_read(gate, MTRR_BASE + 2 * i, &base) != OK ||
            msr_read(gate, MTRR_BASE + 2 * i + 1, &mask) != OK) {
            return false;
        }
        if (mask & VALID) {
            struct mtrr_variable *variable = &mtrr->variable[mtrr->variables++];
            variable->mask = mask & width;
            variable->base = base & variable->mask;
            variable->type = (uint8_t)base;
        }
    }
    return true;
}

/* SYSCFG bits 21 and 22. "Default" in the sense of APM vol. 2, 7.9.2: ranges that are set win. */
static void read_write_back_end(struct mtrr *mtrr, const struct msr_gate *gate)
{
    uint64_t wanted = TOP_MEM2_ENABLED | FORCE_WRITE_BACK;
    uint64_t syscfg;
    uint64_t top;
    if (msr_read(gate, MSR_SYSCFG, &syscfg) == OK && (syscfg & wanted) == wanted &&
        msr_read(gate, MSR_TOP_MEM2, &top) == OK) {
        mtrr->write_back_end = top & TOP_MEM2_ADDRESS;
    }
}

static bool read_ranges(struct mtrr *mtrr, const struct msr_gate *gate)
{
    uint64_t cap;
    uint64_t def_type;
    if (msr_read(gate, MTRR_CAP, &cap) != OK || msr_read(gate, MTRR_DEF_TYPE, &def_type) != OK) {
        return false;
    }
    mtrr->default_type = (uint8_t)def_type;
    mtrr->enabled = def_type & ENABLED;
    mtrr->fixed_enabled = (cap & CAP_FIXED) && (def_type & FIXED_ENABLED);
    read_write_back_end(mtrr, gate);
    return (!mtrr->fixed_enabled || read_fixed(mtrr, gate)) &&
           read_variables(mtrr, gate, (uint8_t)cap);
}

enum status mtrr_read(struct mtrr *mtrr, const struct processor *processor, const char **reason)
{
    struct msr_gate gate = { .processor = processor };
    uint64_t pat = PAT_AFTER_RESET;
    *mtrr = (struct mtrr){
        .present = has_feature(processor, FEATURE_MTRR),
        .limit = UINT64_C(1) << processor->physical_bits,
    };
    if (has_feature(processor, FEATURE_PAT) && msr_read(&gate, MSR_PAT, &pat) != OK) {
        *reason = "the processor does not let the page attribute table be read";
        return FAULTED;
    }
    read_bytes(pat, mtrr->pat);
    if (mtrr->present && !read_ranges(mtrr, &gate)) {
        *reason = "the processor does not let its memory type ranges be read";
        return FAULTED;
    }
    return OK;
}

/* ---- answering -------------------------------------------------------------------------------- */

static uint8_t known_type(uint8_t type)
{
    switch (type) {
    case MEMORY_UNCACHED:
    case MEMORY_WRITE_COMBINING:
    case MEMORY_WRITE_THROUGH:
    case MEMORY_WRITE_PROTECTED:
    case MEMORY_WRITE_BACK: return type;
    default: return MEMORY_UNDEFINED;
    }
}

/* Of two variable ranges over one address (SDM vol. 3A, 12.11.4.1). */
static uint8_t combine(uint8_t a, uint8_t b)
{
    if (a == MEMORY_UNCACHED || b == MEMORY_UNCACHED) {
        return MEMORY_UNCACHED;
    }
    bool through = (a == MEMORY_WRITE_THROUGH && b == MEMORY_WRITE_BACK) ||
                   (a == MEMORY_WRITE_BACK && b == MEMORY_WRITE_THROUGH);
    if (through) {
        return MEMORY_WRITE_THROUGH;
    }
    return a == b ? a : MEMORY_UNDEFINED;
}

static uint64_t nearer(uint64_t end, uint64_t candidate)
{
    return candidate < end ? candidate : end;
}

/* Where belonging to this range may change next. A mask with holes repeats its range, and one whose
 * top bits some firmware forgot does so too (Linux, kernel/cpu/mtrr/generic.c, knows such machines):
 * that changes at most once in the size of the mask's lowest bit. */
static uint64_t next_change(const struct mtrr *mtrr, const struct mtrr_variable *variable,
                            uint64_t address)
{
    uint64_t size = variable->mask & (~variable->mask + 1);
    bool repeats = variable->mask + size != mtrr->limit;
    if (size == 0) { /* it holds every address */
        return NO_CHANGE;
    }
    if (!repeats && address < variable->base) {
        return variable->base;
    }
    if (!repeats && address - variable->base >= size) {
        return NO_CHANGE;
    }
    return address - address % size + size;
}

static uint8_t default_type(const struct mtrr *mtrr, uint64_t address, uint64_t *end)
{
    if (mtrr->write_back_end <= FOUR_GIB) {
        return known_type(mtrr->default_type);
    }
    if (address < FOUR_GIB) {
        *end = nearer(*end, FOUR_GIB);
        return known_type(mtrr->default_type);
    }
    if (address < mtrr->write_back_end) {
        *end = nearer(*end, mtrr->write_back_end);
        return MEMORY_WRITE_BACK;
    }
    return known_type(mtrr->default_type);
}

static uint8_t variable_type(const struct mtrr *mtrr, uint64_t address, uint64_t *end)
{
    bool found = false;
    uint8_t type = default_type(mtrr, address, end);
    for (unsigned i = 0; i < mtrr->variables; i++) {
        const struct mtrr_variable *variable = &mtrr->variable[i];
        *end = nearer(*end, next_change(mtrr, variable, address));
        if ((address & variable->mask) == variable->base) {
            uint8_t own = known_type(variable->type);
            type = found ? combine(type, own) : own;
            found = true;
        }
    }
    return type;
}

/* Below 1 MiB. */
static uint8_t fixed_type(const struct mtrr *mtrr, uint64_t address, uint64_t *end)
{
    static const struct {
        uint64_t base, step;
        unsigned first;
    } part[] = { { 0xC0000, 0x1000, 24 }, { 0x80000, 0x4000, 8 }, { 0, 0x10000, 0 } };
    unsigned i = 0;
    while (address < part[i].base) {
        i++;
    }
    uint64_t range = (address - part[i].base) / part[i].step;
    *end = part[i].base + (range + 1) * part[i].step;
    return known_type(mtrr->fixed[part[i].first + range]);
}

uint8_t mtrr_type(const struct mtrr *mtrr, uint64_t address, uint64_t *end)
{
    *end = NO_CHANGE;
    if (!mtrr->present) {
        return MEMORY_WRITE_BACK;
    }
    if (!mtrr->enabled) {
        return MEMORY_UNCACHED;
    }
    if (mtrr->fixed_enabled && address < MIB) {
        return fixed_type(mtrr, address, end);
    }
    return variable_type(mtrr, address, end);
}

bool mtrr_uniform(const struct mtrr *mtrr, uint64_t base, uint64_t bytes, uint8_t *type)
{
    uint64_t end;
    *type = mtrr_type(mtrr, base, &end);
    while (end < base + bytes) {
        if (mtrr_type(mtrr, end, &end) != *type) {
            return false;
        }
    }
    return true;
}

const char *memory_type_name(uint8_t type)
{
    switch (type) {
    case MEMORY_UNCACHED: return "uncached";
    case MEMORY_WRITE_COMBINING: return "write-combining";
    case MEMORY_WRITE_THROUGH: return "write-through";
    case MEMORY_WRITE_PROTECTED: return "write-protected";
    case MEMORY_WRITE_BACK: return "write-back";
    default: return "undefined";
    }
}
