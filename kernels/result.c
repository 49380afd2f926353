#include "kernels/result.h"

#include <string.h>

const char *const placement_name[PLACINGS] = {
    [PLACED_IN_ORDER] = "in-order",
    [PLACED_SCATTERED] = "scattered",
    [PLACED_BALANCED] = "balanced",
};

const char *const variant_name[VARIANT_KEYS] = {
    [V_WORKING_SET] = "working_set",
    [V_PAGE_SIZE] = "page_size",
    [V_ORDER] = "order",
    [V_CHAINS] = "chains",
    [V_PREFETCHERS] = "prefetchers",
    [V_PLACEMENT] = "placement",
    [V_NODE] = "node",
    [V_OPERATION] = "operation",
    [V_ACCUMULATORS] = "accumulators",
    [V_LINES] = "lines",
    [V_STRIDE] = "stride",
    [V_DATA] = "data",
    [V_BRANCH] = "branch",
    [V_PERIOD] = "period",
    [V_TARGETS] = "targets",
    [V_DEPTH] = "depth",
    [V_PAGES] = "pages",
    [V_STATE] = "state",
    [V_ACCESS] = "access",
    [V_LAYOUT] = "layout",
    [V_PAD] = "pad",
    [V_PARTITIONS] = "partitions",
    [V_ROWS] = "rows",
    [V_KEYS] = "keys",
    [V_SKEW] = "skew",
    [V_VECTOR] = "vector",
    [V_LEVEL] = "level",
    [V_STORE_SIZE] = "store_size",
    [V_LOAD_SIZE] = "load_size",
    [V_REGISTERS] = "registers",
    [V_OFFSET] = "offset",
    [V_PASS] = "pass",
};

static const bool is_text[VARIANT_KEYS] = {
    [V_ORDER] = true,     [V_PREFETCHERS] = true, [V_PLACEMENT] = true, [V_OPERATION] = true,
    [V_DATA] = true,      [V_BRANCH] = true,      [V_STATE] = true,     [V_ACCESS] = true,
    [V_LAYOUT] = true,    [V_SKEW] = true,        [V_VECTOR] = true,    [V_LEVEL] = true,
    [V_REGISTERS] = true,
};

const char *const counter_name[COUNTERS] = {
    [C_INSTRUCTIONS] = "instructions",
    [C_CYCLES] = "cycles",
    [C_L1D_MISS] = "l1d_miss",
    [C_L2_MISS] = "l2_miss",
    [C_L3_MISS] = "l3_miss",
    [C_DRAM_READ] = "dram_read",
    [C_PAGE_WALK] = "page_walk",
    [C_WALK_CYCLES] = "walk_cycles",
    [C_BRANCH] = "branch",
    [C_BRANCH_MISS] = "branch_miss",
    [C_STALL_TOTAL] = "stall_cycles_total",
    [C_STALL_MEMORY] = "stall_cycles_mem_any",
    [C_STALL_L1D_MISS] = "stall_cycles_l1d_miss",
    [C_STALL_L2_MISS] = "stall_cycles_l2_miss",
    [C_STALL_L3_MISS] = "stall_cycles_l3_miss",
};

const char *const flag_name[FLAGS] = {
    [FLAG_UNSETTLED] = "unsettled", [FLAG_NOISY] = "noisy",     [FLAG_BETWEEN] = "between",
    [FLAG_SUSPECT] = "suspect",     [FLAG_SMI] = "smi",         [FLAG_NMI] = "nmi",
    [FLAG_INTERRUPT] = "interrupt", [FLAG_SMASHED] = "smashed", [FLAG_SIBLING] = "sibling",
    [FLAG_EMULATED] = "emulated",   [FLAG_PARTIAL] = "partial", [FLAG_SHORT] = "short",
};

const char *const experiment_status_name[] = {
    [EXPERIMENT_OK] = "ok",
    [EXPERIMENT_PARTIAL] = "partial",
    [EXPERIMENT_SKIPPED] = "skipped",
    [EXPERIMENT_FAILED] = "failed",
};

const char *const run_status_name[] = {
    [RUN_COMPLETE] = "complete",
    [RUN_PARTIAL] = "partial",
    [RUN_FAILED] = "failed",
};

bool variant_is_text(enum variant_key key)
{
    return is_text[key];
}

void variant_set_number(struct variant *variant, enum variant_key key, uint64_t number)
{
    variant->present |= 1ull << key;
    variant->value[key].number = number;
}

void variant_set_text(struct variant *variant, enum variant_key key, const char *text)
{
    variant->present |= 1ull << key;
    variant->value[key].text = text;
}

bool variant_has(const struct variant *variant, enum variant_key key)
{
    return (variant->present >> key & 1) != 0;
}

static bool value_equal(const struct variant *a, const struct variant *b, enum variant_key key)
{
    return is_text[key] ? strcmp(a->value[key].text, b->value[key].text) == 0
                        : a->value[key].number == b->value[key].number;
}

bool variant_equal(const struct variant *a, const struct variant *b)
{
    if (a->present != b->present) {
        return false;
    }
    for (unsigned key = 0; key < VARIANT_KEYS; key++) {
        if (variant_has(a, key) && !value_equal(a, b, key)) {
            return false;
        }
    }
    return true;
}
