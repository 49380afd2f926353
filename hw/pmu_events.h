/* What to program to count something, on each microarchitecture that is known.
 *
 * A logical event is what a report speaks of; what a processor calls it, and on which counters it
 * can be had, is a row of the table. Its rows come from Intel's perfmon event files and, for AMD,
 * from Linux' amdzen1 to amdzen5 and likwid; tests/data/make_events.py makes them, and a test holds
 * each to tests/data/events.csv. */
#ifndef HW_PMU_EVENTS_H
#define HW_PMU_EVENTS_H

#include "hw/machine.h"

enum pmu_event {
    PMU_CYCLES_FIXED,
    PMU_CYCLES,
    PMU_INSTRUCTIONS_FIXED,
    PMU_INSTRUCTIONS,
    PMU_REF_CYCLES_FIXED,
    PMU_REF_CYCLES_GP,
    PMU_LOADS_RETIRED,
    PMU_STORES_RETIRED,
    PMU_L1D_LOAD_HIT,
    PMU_L1D_REPLACEMENT,
    PMU_LFB_HIT_LOAD,
    PMU_L2_LOAD_HIT,
    PMU_L2_DEMAND_DATA_RD_MISS,
    PMU_L3_LOAD_HIT,
    PMU_L3_LOAD_MISS,
    PMU_LLC_MISS_ARCH,
    PMU_LLC_REF_ARCH,
    PMU_DEMAND_DRAM_READS,
    PMU_DTLB_LOAD_STLB_HIT,
    PMU_DTLB_LOAD_WALK_COMPLETED,
    PMU_STLB_MISS_LOADS_RETIRED,
    PMU_BRANCHES,
    PMU_BRANCH_MISPREDICTS,
    PMU_STALL_CYCLES_TOTAL,
    PMU_STALL_CYCLES_MEM_ANY,
    PMU_UOPS_ISSUED,
    PMU_UOPS_RETIRED_SLOTS,
    PMU_UOPS_RETIRED_MACRO_FUSED,
    PMU_ALIAS_4K,
    PMU_MEM_ORDER_CLEARS,
    PMU_PAGE_WALK_CYCLES_LOAD,
    PMU_STORE_FORWARD_BLOCK,
    PMU_STALL_CYCLES_L1D_MISS,
    PMU_STALL_CYCLES_L2_MISS,
    PMU_L1D_PEND_MISS_OCCUPANCY,
    PMU_L1D_FB_FULL_CYCLES,
    PMU_FE_UNDELIVERED_SLOTS,
    PMU_RECOVERY_CYCLES,
    PMU_RECOVERY_CYCLES_ANYTHREAD,
    PMU_EXE_BOUND_ON_STORES,
    PMU_MACHINE_CLEARS_ANY,
    PMU_FE_ZERO_UOPS_CYCLES,
    PMU_L1D_LOAD_MISS,
    PMU_L2_LOAD_MISS,
    PMU_OFFCORE_L3_MISS_DEMAND_DATA_RD,
    PMU_PAGE_WALK_PENDING_LOAD,
    PMU_STALL_CYCLES_L3_MISS,
    PMU_EXE_1_PORT,
    PMU_EXE_2_PORTS,
    PMU_INT_MISC_CLEARS_COUNT,
    PMU_TOPDOWN_SLOTS_FIXED,
    PMU_TOPDOWN_SLOTS_GP,
    PMU_TOPDOWN_BACKEND_SLOTS,
    PMU_INT_MISC_UOP_DROPPING,
    PMU_TOPDOWN_BADSPEC_SLOTS,
    PMU_UOPS_RETIRED_HEAVY,
    PMU_TOPDOWN_MEMBOUND_SLOTS,
    PMU_TOPDOWN_BRMISP_SLOTS,
    PMU_L1D0_REPLACEMENT_LIONCOVE,
    PMU_STALL_SLICE_L1_LIONCOVE,
    PMU_STALL_SLICE_L2_LIONCOVE,
    PMU_STALL_SLICE_L3_LIONCOVE,
    PMU_STALL_SLICE_MEM_LIONCOVE,
    PMU_TOPDOWN_RETIRING_FIXED,
    PMU_TOPDOWN_FE_FIXED,
    PMU_TOPDOWN_BADSPEC_FIXED,
    PMU_L1D_ACCESSES,
    PMU_L1D_DEMAND_FILLS,
    PMU_L2_REQUESTS_FROM_L1D,
    PMU_L2_MISS_IC_DC,
    PMU_DRAM_READS_ANY,
    PMU_HW_PREFETCH_FILLS_DRAM,
    PMU_DTLB_L1_MISS,
    PMU_PAGE_WALKS_DSIDE,
    PMU_STALL_CYCLES_NOT_COMPLETE,
    PMU_STALL_CYCLES_LOAD_QUEUE,
    PMU_STALL_CYCLES_STORE_QUEUE,
    PMU_STALL_CYCLES_RETIRE_QUEUE,
    PMU_TOPDOWN_SMT_SLOTS,
    PMU_STORE_FORWARD_HITS,
    PMU_SMI_COUNT,
    PMU_OP_QUEUE_EMPTY,
    PMU_EVENTS
};

/* The order of the table: neighbours share rows. */
enum pmu_microarchitecture {
    UARCH_NHM_EP,
    UARCH_NHM_EX,
    UARCH_WSM_EP_SP,
    UARCH_WSM_EP_DP,
    UARCH_WSM_EX,
    UARCH_SNB,
    UARCH_SNB_EP,
    UARCH_IVB,
    UARCH_IVB_EP,
    UARCH_HSW,
    UARCH_HSX,
    UARCH_BDW,
    UARCH_BDX,
    UARCH_BDW_DE,
    UARCH_SKL,
    UARCH_SKX,
    UARCH_CLX,
    UARCH_ICL,
    UARCH_TGL,
    UARCH_RKL,
    UARCH_ICX,
    UARCH_ADL_P,
    UARCH_SPR,
    UARCH_EMR,
    UARCH_MTL_P,
    UARCH_GNR,
    UARCH_LNL_P,
    UARCH_ARL_P,
    UARCH_PTL_P,
    UARCH_SLM,
    UARCH_GLM,
    UARCH_GLP,
    UARCH_TNT,
    UARCH_TNT_SNR,
    UARCH_ADL_E,
    UARCH_MTL_E,
    UARCH_SRF,
    UARCH_GRR,
    UARCH_LNL_E,
    UARCH_ARL_E,
    UARCH_CWF,
    UARCH_PTL_E,
    UARCH_ZEN1,
    UARCH_ZEN2,
    UARCH_ZEN3,
    UARCH_ZEN4,
    UARCH_ZEN5,
    PMU_MICROARCHITECTURES,
    PMU_UNKNOWN = PMU_MICROARCHITECTURES
};

/* OFFCORE_RSP_0 (1A6h) belongs to the code as it stands; OFFCORE_RSP_1 (1A7h) to event BBh, event
 * 2Bh, or umask 2 instead. */
enum pmu_pairing { PAIR_NONE, PAIR_BB, PAIR_2B, PAIR_UMASK };

struct pmu_code {
    uint16_t event; /* AMD: 12 bits */
    uint8_t umask, umask2, cmask;
    uint8_t counters; /* bit i: general counter i can; 0: all can */
    bool inverted, edge, any_thread;
    bool fixed;        /* fixed counter number `umask`; no other field holds */
    bool proxy;        /* counts something close to its name: reports say so */
    uint64_t response; /* for OFFCORE_RSP; 0: none is needed */
    enum pmu_pairing pairing;
};

/* Of the executing core; PMU_UNKNOWN where no row fits. `native_model`: CPUID 1Ah EAX[23:0], 0 where
 * there is none. Pure. */
enum pmu_microarchitecture pmu_microarchitecture(const struct processor *processor,
                                                 uint32_t native_model);

/* "SPR", "ADL-E"…: as the tables of Intel and Linux abbreviate it; "" for PMU_UNKNOWN. Pure. */
const char *pmu_microarchitecture_name(enum pmu_microarchitecture microarchitecture);

/* False: this processor has no such event. Pure. Window: yes. */
bool pmu_code(enum pmu_microarchitecture microarchitecture, enum pmu_event event,
              struct pmu_code *code);

#endif
