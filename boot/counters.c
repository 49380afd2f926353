#include "boot/counters.h"

enum { CHOICES = 2 };

/* Both the same: there is one choice. */
static const uint8_t choice[COUNTERS][CHOICES] = {
    [C_INSTRUCTIONS] = { PMU_INSTRUCTIONS_FIXED, PMU_INSTRUCTIONS },
    [C_CYCLES] = { PMU_CYCLES_FIXED, PMU_CYCLES },
    [C_L1D_MISS] = { PMU_L1D_LOAD_MISS, PMU_L1D_REPLACEMENT },
    [C_L2_MISS] = { PMU_L2_LOAD_MISS, PMU_L2_LOAD_MISS },
    [C_L3_MISS] = { PMU_L3_LOAD_MISS, PMU_L3_LOAD_MISS },
    [C_DRAM_READ] = { PMU_DEMAND_DRAM_READS, PMU_DEMAND_DRAM_READS },
    [C_PAGE_WALK] = { PMU_DTLB_LOAD_WALK_COMPLETED, PMU_DTLB_LOAD_WALK_COMPLETED },
    [C_WALK_CYCLES] = { PMU_PAGE_WALK_CYCLES_LOAD, PMU_PAGE_WALK_CYCLES_LOAD },
    [C_BRANCH] = { PMU_BRANCHES, PMU_BRANCHES },
    [C_BRANCH_MISS] = { PMU_BRANCH_MISPREDICTS, PMU_BRANCH_MISPREDICTS },
    [C_STALL_TOTAL] = { PMU_STALL_CYCLES_TOTAL, PMU_STALL_CYCLES_TOTAL },
    [C_STALL_MEMORY] = { PMU_STALL_CYCLES_MEM_ANY, PMU_STALL_CYCLES_MEM_ANY },
    [C_STALL_L1D_MISS] = { PMU_STALL_CYCLES_L1D_MISS, PMU_STALL_CYCLES_L1D_MISS },
    [C_STALL_L2_MISS] = { PMU_STALL_CYCLES_L2_MISS, PMU_STALL_CYCLES_L2_MISS },
    [C_STALL_L3_MISS] = { PMU_STALL_CYCLES_L3_MISS, PMU_STALL_CYCLES_L3_MISS },
};

/* The first that this core has; what it means must not depend on the room in a pass. */
static bool choose(const struct pmu *pmu, enum counter counter, enum pmu_event *event,
                   struct pmu_code *code)
{
    for (unsigned i = 0; i < CHOICES; i++) {
        *event = (enum pmu_event)choice[counter][i];
        if (pmu_has(pmu, *event, code)) {
            return true;
        }
    }
    return false;
}

bool counters_add(const struct pmu *pmu, struct pmu_pass *pass, enum counter counter,
                  unsigned *slot)
{
    enum pmu_event event;
    struct pmu_code code;
    if (!choose(pmu, counter, &event, &code) || !pmu_add(pmu, pass, event)) {
        return false;
    }
    *slot = pass->count - 1;
    return true;
}

bool counters_are_close(const struct pmu *pmu, enum counter counter)
{
    enum pmu_event event;
    struct pmu_code code;
    return choose(pmu, counter, &event, &code) && (code.proxy || event == PMU_L1D_REPLACEMENT);
}
