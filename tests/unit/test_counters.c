/* What the counters of a report are on a core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "boot/counters.h"

static const struct {
    enum pmu_microarchitecture microarchitecture;
    enum counter counter;
    bool counted, close;
    enum pmu_event event;
} choices[] = {
    { UARCH_SPR, C_INSTRUCTIONS, true, false, PMU_INSTRUCTIONS_FIXED },
    { UARCH_ZEN4, C_INSTRUCTIONS, true, false, PMU_INSTRUCTIONS },
    { UARCH_SPR, C_CYCLES, true, false, PMU_CYCLES_FIXED },
    { UARCH_ZEN4, C_CYCLES, true, false, PMU_CYCLES },
    { UARCH_SPR, C_L1D_MISS, true, false, PMU_L1D_LOAD_MISS },
    { UARCH_SNB, C_L1D_MISS, true, true, PMU_L1D_REPLACEMENT },
    { UARCH_SLM, C_STALL_TOTAL, false, false, PMU_EVENTS },
    { UARCH_SNB, C_L2_MISS, false, false, PMU_EVENTS },
    { UARCH_ZEN4, C_L2_MISS, true, false, PMU_L2_LOAD_MISS },
    { UARCH_ZEN4, C_L3_MISS, true, true, PMU_L3_LOAD_MISS },
    { UARCH_ICX, C_DRAM_READ, true, false, PMU_DEMAND_DRAM_READS },
    { UARCH_SKL, C_PAGE_WALK, true, true, PMU_DTLB_LOAD_WALK_COMPLETED },
    { UARCH_ZEN5, C_WALK_CYCLES, false, false, PMU_EVENTS },
    { UARCH_SKL, C_WALK_CYCLES, true, false, PMU_PAGE_WALK_CYCLES_LOAD },
    { UARCH_SKL, C_BRANCH, true, false, PMU_BRANCHES },
    { UARCH_SKL, C_BRANCH_MISS, true, false, PMU_BRANCH_MISPREDICTS },
    { UARCH_SKL, C_STALL_TOTAL, true, false, PMU_STALL_CYCLES_TOTAL },
    { UARCH_SPR, C_STALL_MEMORY, true, true, PMU_STALL_CYCLES_MEM_ANY },
    { UARCH_SKL, C_STALL_L1D_MISS, true, false, PMU_STALL_CYCLES_L1D_MISS },
    { UARCH_SKL, C_STALL_L2_MISS, true, false, PMU_STALL_CYCLES_L2_MISS },
    { UARCH_SKL, C_STALL_L3_MISS, true, false, PMU_STALL_CYCLES_L3_MISS },
    { UARCH_LNL_P, C_STALL_L3_MISS, false, false, PMU_EVENTS },
};

static void test_choices(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const bool amd = choices[i].microarchitecture >= UARCH_ZEN1;
        const struct pmu pmu = {
            .kind = amd ? PMU_AMD : PMU_INTEL,
            .counters = 0xF,
            .fixed = amd ? 0 : 7,
            .microarchitecture = choices[i].microarchitecture,
        };
        struct pmu_pass pass = { .count = 0 };
        unsigned slot = 9;
        assert_int_equal(counters_add(&pmu, &pass, choices[i].counter, &slot), choices[i].counted);
        assert_int_equal(counters_are_close(&pmu, choices[i].counter), choices[i].close);
        assert_int_equal(slot, choices[i].counted ? 0 : 9);
        assert_int_equal(pass.count, choices[i].counted ? 1 : 0);
        assert_true(!choices[i].counted || pass.slot[0].event == choices[i].event);
    }
}

/* A second choice is for cores that lack the first, not for passes that are full. */
static void test_a_full_pass_changes_no_meaning(void **state)
{
    (void)state;
    const struct pmu pmu = {
        .kind = PMU_INTEL, .counters = 0xF, .fixed = 7, .microarchitecture = UARCH_SKL
    };
    struct pmu_pass pass = { .count = 0 };
    unsigned slot = 0;
    assert_true(counters_add(&pmu, &pass, C_INSTRUCTIONS, &slot));
    assert_false(counters_add(&pmu, &pass, C_INSTRUCTIONS, &slot));
    assert_int_equal(pass.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_a_full_pass_changes_no_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
