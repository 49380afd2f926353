#include "hw/prefetchers.h"

#include "hw/cpuid.h"
#include "hw/insn.h"

#include <string.h>
#include <strings.h>

enum { MISC_ENABLE = 0x1A0, PREFETCH_CONTROL = 0x1A4, E_CORE_LLC = 0x1320, E_CORE_L2 = 0x1321 };
#define AMD_PREFETCH_CONTROL UINT32_C(0xC0000108)

/* ---- the tables ------------------------------------------------------------------------------- */

/* From generation to generation the register only grew, so each has the first so many of these. */
enum { OF_NEHALEM = 4, OF_GOLDEN_COVE = 5, OF_REDWOOD_COVE = 9, OF_CRESTMONT = 11, OF_DARKMONT };
static const struct prefetcher intel[] = {
    { "l2_stream", PREFETCH_CONTROL, 0 },   { "l2_adjacent", PREFETCH_CONTROL, 1 },
    { "dcu", PREFETCH_CONTROL, 2 },         { "dcu_ip", PREFETCH_CONTROL, 3 },
    { "l2_amp", PREFETCH_CONTROL, 5 },      { "next_page", PREFETCH_CONTROL, 4 },
    { "llc_page", PREFETCH_CONTROL, 6 },    { "pointer_array", PREFETCH_CONTROL, 7 },
    { "code_stream", PREFETCH_CONTROL, 8 }, { "llc_stream", E_CORE_LLC, 43 },
    { "l2_next_line", E_CORE_L2, 40 },      { "dynamic", PREFETCH_CONTROL, 12 },
};

/* Bit 5 is AMP here too; likwid's bit 6 contradicts Intel's paper. */
static const struct prefetcher gracemont[] = {
    { "l2_stream", PREFETCH_CONTROL, 0 }, { "dcu", PREFETCH_CONTROL, 2 },
    { "dcu_ip", PREFETCH_CONTROL, 3 },    { "l2_amp", PREFETCH_CONTROL, 5 },
    { "llc_stream", E_CORE_LLC, 43 },     { "l2_next_line", E_CORE_L2, 40 },
};

static const struct prefetcher early_atom[] = {
    { "l2_stream", PREFETCH_CONTROL, 0 },
    { "dcu", PREFETCH_CONTROL, 2 },
};

static const struct prefetcher knights[] = {
    { "dcu", PREFETCH_CONTROL, 0 },
    { "l2_stream", PREFETCH_CONTROL, 1 },
};

static const struct prefetcher core2[] = {
    { "l2_stream", MISC_ENABLE, 9 },
    { "l2_adjacent", MISC_ENABLE, 19 },
    { "dcu", MISC_ENABLE, 37 },
    { "dcu_ip", MISC_ENABLE, 39 },
};

static const struct prefetcher amd[] = {
    { "l1_stream", AMD_PREFETCH_CONTROL, 0 },  { "l1_stride", AMD_PREFETCH_CONTROL, 1 },
    { "l1_region", AMD_PREFETCH_CONTROL, 2 },  { "l2_stream", AMD_PREFETCH_CONTROL, 3 },
    { "l2_up_down", AMD_PREFETCH_CONTROL, 5 },
};

enum { MODELS = 16 };

/* One microarchitecture of Intel's family 6. Without switches: it is known to have none. */
struct row {
    const char *microarchitecture;
    enum core_type core; /* CORE_UNKNOWN: the models have one type */
    uint8_t model[MODELS];
    unsigned switches;
    const struct prefetcher *item;
};

static const struct row rows[] = {
    { "Core 2", CORE_UNKNOWN, { 0x0F, 0x17, 0x1D }, 4, core2 },
    { "Nehalem", CORE_UNKNOWN, { 0x1A, 0x1E, 0x1F, 0x2E }, OF_NEHALEM, intel },
    { "Westmere", CORE_UNKNOWN, { 0x25, 0x2C, 0x2F }, OF_NEHALEM, intel },
    { "Sandy Bridge", CORE_UNKNOWN, { 0x2A, 0x2D }, OF_NEHALEM, intel },
    { "Ivy Bridge", CORE_UNKNOWN, { 0x3A, 0x3E }, OF_NEHALEM, intel },
    { "Haswell", CORE_UNKNOWN, { 0x3C, 0x3F, 0x45, 0x46 }, OF_NEHALEM, intel },
    { "Broadwell", CORE_UNKNOWN, { 0x3D, 0x47, 0x4F, 0x56 }, OF_NEHALEM, intel },
    { "Skylake", CORE_UNKNOWN, { 0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6, 0x55 }, OF_NEHALEM, intel },
    { "Ice Lake", CORE_UNKNOWN, { 0x7D, 0x7E, 0x6A, 0x6C, 0x8C, 0x8D, 0xA7 }, OF_NEHALEM, intel },
    { "Golden Cove", CORE_UNKNOWN, { 0x8F, 0xCF }, OF_GOLDEN_COVE, intel },
    { "Golden Cove", CORE_PERFORMANCE, { 0x97, 0x9A, 0xB7, 0xBA, 0xBF }, OF_GOLDEN_COVE, intel },
    { "Redwood Cove", CORE_UNKNOWN, { 0xAD, 0xAE }, OF_REDWOOD_COVE, intel },
    { "Redwood Cove", CORE_PERFORMANCE, { 0xAA, 0xAC, 0xB5 }, OF_REDWOOD_COVE, intel },
    /* Nobody has published the bits of these: those that two generations had before. */
    { "Lion Cove", CORE_PERFORMANCE, { 0xBD, 0xC5, 0xC6 }, OF_GOLDEN_COVE, intel },
    { "Cougar Cove", CORE_PERFORMANCE, { 0xCC, 0xD5 }, OF_GOLDEN_COVE, intel },
    { "Gracemont", CORE_EFFICIENT, { 0x97, 0x9A, 0xB7, 0xBA, 0xBF }, 6, gracemont },
    { "Gracemont", CORE_UNKNOWN, { 0xBE }, 6, gracemont },
    { "Crestmont", CORE_EFFICIENT, { 0xAA, 0xAC, 0xB5 }, OF_CRESTMONT, intel },
    { "Crestmont", CORE_UNKNOWN, { 0xAF, 0xB6 }, OF_CRESTMONT, intel },
    { "Skymont", CORE_EFFICIENT, { 0xBD, 0xC5, 0xC6 }, OF_CRESTMONT, intel },
    { "Darkmont", CORE_EFFICIENT, { 0xCC, 0xD5 }, OF_DARKMONT, intel },
    { "Darkmont", CORE_UNKNOWN, { 0xDD }, OF_DARKMONT, intel },
    /* On phones and tablets the register is not there, as dumps show. */
    { "Silvermont", CORE_UNKNOWN, { 0x37, 0x4A, 0x4C, 0x5A }, 0, NULL },
    { "Silvermont", CORE_UNKNOWN, { 0x4D }, 2, early_atom },
    { "Goldmont", CORE_UNKNOWN, { 0x5C, 0x5F, 0x7A }, 2, early_atom },
    { "Tremont", CORE_UNKNOWN, { 0x86, 0x96, 0x9C }, 2, early_atom },
    { "Xeon Phi", CORE_UNKNOWN, { 0x57, 0x85 }, 2, knights },
};

/* ---- finding ---------------------------------------------------------------------------------- */

/* A hybrid's models whose efficient cores are off tell no type. */
static bool is_of_type(const struct processor *processor, enum core_type type)
{
    bool told = processor->core_type != CORE_UNKNOWN || has_feature(processor, FEATURE_HYBRID);
    return type == CORE_UNKNOWN || type == processor->core_type ||
           (type == CORE_PERFORMANCE && !told);
}

static const struct row *find_row(const struct processor *processor)
{
    for (size_t i = 0; processor->family == 6 && i < sizeof rows / sizeof *rows; i++) {
        for (unsigned m = 0; m < MODELS && rows[i].model[m] != 0; m++) {
            if (rows[i].model[m] == processor->model && is_of_type(processor, rows[i].core)) {
                return &rows[i];
            }
        }
    }
    return NULL;
}

/* Lets the gate pass this register on this very model. */
static void allow(struct prefetchers *prefetchers, uint32_t msr)
{
    const struct processor *processor = prefetchers->processor;
    for (unsigned i = 0; i < prefetchers->rules; i++) {
        if (prefetchers->rule[i].first == msr) {
            return;
        }
    }
    prefetchers->rule[prefetchers->rules++] = (struct msr_rule){
        .first = msr,
        .last = msr,
        .access = MSR_READ | MSR_WRITE,
        .vendor = processor->vendor,
        .family_first = processor->family,
        .family_last = processor->family,
        .model_first = processor->model,
        .model_last = processor->model,
    };
}

static enum status take(struct prefetchers *prefetchers, const char *microarchitecture,
                        const struct prefetcher *item, unsigned switches)
{
    prefetchers->microarchitecture = microarchitecture;
    prefetchers->switches = switches;
    for (unsigned i = 0; i < switches; i++) {
        prefetchers->item[i] = item[i];
        allow(prefetchers, item[i].msr);
    }
    if (switches == 0) {
        prefetchers->reason = "this processor's prefetchers have no switch";
        return ABSENT;
    }
    return OK;
}

static enum status find_intel(struct prefetchers *prefetchers)
{
    const struct row *row = find_row(prefetchers->processor);
    prefetchers->without_switch = "last cache, links between sockets, memory controller";
    if (row == NULL) {
        prefetchers->reason = "the switches of this model's prefetchers are not known";
        return ABSENT;
    }
    return take(prefetchers, row->microarchitecture, row->item, row->switches);
}

static enum status find_amd(struct prefetchers *prefetchers)
{
    enum { HAS_PREFETCH_CONTROL = 13 };
    struct cpuid_regs regs;
    if (!cpuid_read(0x80000021, 0, &regs) || (regs.eax >> HAS_PREFETCH_CONTROL & 1) == 0) {
        prefetchers->without_switch = "L1, L2, fabric, memory controller";
        prefetchers->reason = "CPUID announces no switches of this processor's prefetchers";
        return ABSENT;
    }
    prefetchers->without_switch = "fabric, memory controller";
    return take(prefetchers, prefetchers->processor->family >= 0x1A ? "Zen 5" : "Zen 3 or 4", amd,
                sizeof amd / sizeof *amd);
}

enum status prefetchers_find(struct prefetchers *prefetchers, const struct processor *processor)
{
    *prefetchers = (struct prefetchers){
        .microarchitecture = "",
        .processor = processor,
    };
    if (processor->hypervisor[0] != '\0') {
        prefetchers->reason = "a hypervisor stands before the switches of the prefetchers";
        return ABSENT;
    }
    if (is_intel(processor)) {
        return find_intel(prefetchers);
    }
    if (is_amd(processor)) {
        return find_amd(prefetchers);
    }
    prefetchers->without_switch = "all";
    prefetchers->reason = "the switches of this maker's prefetchers are not known";
    return ABSENT;
}

/* ---- switching -------------------------------------------------------------------------------- */

static struct msr_gate gate_of(const struct prefetchers *prefetchers)
{
    return (struct msr_gate){ prefetchers->processor, prefetchers->rule, prefetchers->rules };
}

/* The bits of a register that these switches have there. */
static uint64_t bits_in(const struct prefetchers *prefetchers, uint32_t msr, uint32_t which)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < prefetchers->switches; i++) {
        const struct prefetcher *item = &prefetchers->item[i];
        if (item->msr == msr && (which >> i & 1) != 0) {
            bits |= UINT64_C(1) << item->bit;
        }
    }
    return bits;
}

static uint32_t switches_in(const struct prefetchers *prefetchers, uint32_t msr)
{
    uint32_t which = 0;
    for (unsigned i = 0; i < prefetchers->switches; i++) {
        which |= prefetchers->item[i].msr == msr ? 1U << i : 0;
    }
    return which;
}

enum status prefetchers_read(const struct prefetchers *prefetchers, uint32_t *off)
{
    const struct msr_gate gate = gate_of(prefetchers);
    *off = 0;
    for (unsigned r = 0; r < prefetchers->rules; r++) {
        uint64_t value;
        enum status status = msr_read(&gate, prefetchers->rule[r].first, &value);
        if (status != OK) {
            return status;
        }
        for (unsigned i = 0; i < prefetchers->switches; i++) {
            const struct prefetcher *item = &prefetchers->item[i];
            if (item->msr == prefetchers->rule[r].first && (value >> item->bit & 1) != 0) {
                *off |= 1U << i;
            }
        }
    }
    return OK;
}

/* Sets the switches' bits of one register that are not set yet. */
static enum status set_bits(const struct msr_gate *gate, struct msr_saves *saves, uint32_t msr,
                            uint64_t bits)
{
    uint64_t value;
    enum status status = msr_read(gate, msr, &value);
    if (status != OK || (value & bits) == bits) {
        return status;
    }
    return msr_save_and_write(gate, saves, msr, value | bits);
}

static enum status set_all(const struct prefetchers *prefetchers, struct msr_saves *saves,
                           uint32_t which)
{
    const struct msr_gate gate = gate_of(prefetchers);
    enum status status = OK;
    for (unsigned r = 0; status == OK && r < prefetchers->rules; r++) {
        const uint32_t msr = prefetchers->rule[r].first;
        const uint64_t bits = bits_in(prefetchers, msr, which);
        status = bits != 0 ? set_bits(&gate, saves, msr, bits) : OK;
    }
    return status;
}

enum status prefetchers_switch_off(const struct prefetchers *prefetchers, struct msr_saves *saves,
                                   uint32_t which, uint32_t *off)
{
    const uint32_t wanted = which == UINT32_MAX ? prefetchers->works : which;
    *off = 0;
    if (wanted == 0 || (wanted & ~prefetchers->works) != 0) {
        return ABSENT;
    }
    enum status status = set_all(prefetchers, saves, wanted);
    if (status == OK) {
        status = prefetchers_read(prefetchers, off);
    }
    return status == OK && (*off & wanted) != wanted ? FAULTED : status;
}

/* One switch alone; whatever was changed is put back. */
static enum status try_switch(const struct prefetchers *prefetchers, struct msr_saves *saves,
                              unsigned number)
{
    uint32_t off = 0;
    const unsigned before = saves->count;
    enum status status = set_all(prefetchers, saves, 1U << number);
    if (status == OK) {
        status = prefetchers_read(prefetchers, &off);
    }
    if (saves->count > before && !insn_wrmsr(saves->save[before].msr, saves->save[before].found)) {
        return FAULTED; /* stays on the list, to be tried once more at the end */
    }
    saves->count = before;
    return status == OK && (off >> number & 1) == 0 ? FAULTED : status;
}

/* Forgets registers that refuse to be read: on a processor that lacks one of several (1320h), the
 * switches in the others still work. */
static void keep_readable(struct prefetchers *prefetchers)
{
    const struct msr_gate gate = gate_of(prefetchers);
    unsigned kept = 0;
    prefetchers->readable = 0;
    for (unsigned r = 0; r < prefetchers->rules; r++) {
        uint64_t value;
        if (msr_read(&gate, prefetchers->rule[r].first, &value) == OK) {
            prefetchers->readable |= switches_in(prefetchers, prefetchers->rule[r].first);
            prefetchers->rule[kept++] = prefetchers->rule[r];
        }
    }
    prefetchers->rules = kept;
}

static bool every_switch_works(const struct prefetchers *prefetchers)
{
    return prefetchers->works == (1U << prefetchers->switches) - 1;
}

enum status prefetchers_try(struct prefetchers *prefetchers, struct msr_saves *saves)
{
    prefetchers->works = 0;
    keep_readable(prefetchers);
    enum status status = prefetchers_read(prefetchers, &prefetchers->found_off);
    if (status != OK || prefetchers->rules == 0) {
        prefetchers->reason = "the processor refuses the registers of its prefetchers";
        return FAULTED;
    }
    for (unsigned i = 0; i < prefetchers->switches; i++) {
        prefetchers->works |= try_switch(prefetchers, saves, i) == OK ? 1U << i : 0;
    }
    if (prefetchers->works == 0) {
        prefetchers->reason = "the processor refuses or ignores what switches prefetchers off";
        return FAULTED;
    }
    if (!every_switch_works(prefetchers)) {
        prefetchers->reason = "some switches refuse or ignore being put to off";
    }
    return OK;
}

/* ---- facts and names --------------------------------------------------------------------------- */

struct prefetcher_facts prefetchers_facts(const struct prefetchers *prefetchers)
{
    struct prefetcher_facts facts = {
        .switches = prefetchers->switches,
        .readable = prefetchers->readable,
        .found_off = prefetchers->found_off,
        .works = prefetchers->works,
        .reason = prefetchers->reason,
        .without_switch = prefetchers->without_switch,
    };
    for (unsigned i = 0; i < prefetchers->switches; i++) {
        facts.name[i] = prefetchers->item[i].name;
    }
    return facts;
}

static uint32_t switch_named(const struct prefetcher_facts *facts, const char *name, size_t length)
{
    for (unsigned i = 0; i < facts->switches; i++) {
        if (strlen(facts->name[i]) == length && strncasecmp(facts->name[i], name, length) == 0) {
            return 1U << i;
        }
    }
    return 0;
}

bool prefetchers_named(const struct prefetcher_facts *facts, const char *names, uint32_t *which)
{
    *which = 0;
    while (*names != '\0') {
        const size_t length = strcspn(names, "+");
        const uint32_t found = switch_named(facts, names, length);
        if (found == 0) {
            return false;
        }
        *which |= found;
        names += length;
        names += *names == '+' ? 1 : 0;
    }
    return *which != 0;
}
