#include "hw/pmu_events.h"

#include "hw/cpuid.h"

/* ---- who is who ------------------------------------------------------------------------------- */

enum { MODEL_RANGES = 6, NAME_CHARACTERS = 10 };

static const char name[][NAME_CHARACTERS] = {
    "NHM-EP", "NHM-EX",  "WSM-EP-SP", "WSM-EP-DP", "WSM-EX", "SNB",    "SNB-EP", "IVB",
    "IVB-EP", "HSW",     "HSX",       "BDW",       "BDX",    "BDW-DE", "SKL",    "SKX",
    "CLX",    "ICL",     "TGL",       "RKL",       "ICX",    "ADL-P",  "SPR",    "EMR",
    "MTL-P",  "GNR",     "LNL-P",     "ARL-P",     "PTL-P",  "SLM",    "GLM",    "GLP",
    "TNT",    "TNT-SNR", "ADL-E",     "MTL-E",     "SRF",    "GRR",    "LNL-E",  "ARL-E",
    "CWF",    "PTL-E",   "Zen1",      "Zen2",      "Zen3",   "Zen4",   "Zen5",
};

struct identity {
    uint8_t microarchitecture;
    uint8_t core;   /* CORE_UNKNOWN: the models have one type */
    uint8_t family; /* from 17h on AMD's */
    uint8_t first_stepping, last_stepping;
    uint8_t native_model; /* 0: any */
    struct {
        uint8_t first, last; /* 0, 0: no more */
    } model[MODEL_RANGES];
};

/* The first that fits. 06_55 is Skylake up to stepping 4 (Intel perfmon, mapfile.csv); 06_C5 has
 * Crestmont in its low-power island. */
static const struct identity identities[] = {
    { UARCH_MTL_E, CORE_EFFICIENT, 0x6, 0, 15, 2, { { 0xC5, 0xC5 } } },
    { UARCH_NHM_EP,
      CORE_UNKNOWN,
      0x6,
      0,
      15,
      0,
      { { 0x1A, 0x1A }, { 0x1E, 0x1E }, { 0x1F, 0x1F } } },
    { UARCH_NHM_EX, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x2E, 0x2E } } },
    { UARCH_WSM_EP_SP, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x25, 0x25 } } },
    { UARCH_WSM_EP_DP, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x2C, 0x2C } } },
    { UARCH_WSM_EX, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x2F, 0x2F } } },
    { UARCH_SNB, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x2A, 0x2A } } },
    { UARCH_SNB_EP, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x2D, 0x2D } } },
    { UARCH_IVB, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x3A, 0x3A } } },
    { UARCH_IVB_EP, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x3E, 0x3E } } },
    { UARCH_HSW, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x3C, 0x3C }, { 0x45, 0x45 }, { 0x46, 0x46 } } },
    { UARCH_HSX, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x3F, 0x3F } } },
    { UARCH_BDW, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x3D, 0x3D }, { 0x47, 0x47 } } },
    { UARCH_BDX, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x4F, 0x4F } } },
    { UARCH_BDW_DE, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x56, 0x56 } } },
    { UARCH_SKL,
      CORE_UNKNOWN,
      0x6,
      0,
      15,
      0,
      { { 0x4E, 0x4E },
        { 0x5E, 0x5E },
        { 0x8E, 0x8E },
        { 0x9E, 0x9E },
        { 0xA5, 0xA5 },
        { 0xA6, 0xA6 } } },
    { UARCH_SKX, CORE_UNKNOWN, 0x6, 0, 4, 0, { { 0x55, 0x55 } } },
    { UARCH_CLX, CORE_UNKNOWN, 0x6, 5, 15, 0, { { 0x55, 0x55 } } },
    { UARCH_ICL, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x7D, 0x7D }, { 0x7E, 0x7E } } },
    { UARCH_TGL, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x8C, 0x8C }, { 0x8D, 0x8D } } },
    { UARCH_RKL, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0xA7, 0xA7 } } },
    { UARCH_ICX, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x6A, 0x6A }, { 0x6C, 0x6C } } },
    { UARCH_ADL_P,
      CORE_PERFORMANCE,
      0x6,
      0,
      15,
      0,
      { { 0x97, 0x97 }, { 0x9A, 0x9A }, { 0xB7, 0xB7 }, { 0xBA, 0xBA }, { 0xBF, 0xBF } } },
    { UARCH_SPR, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x8F, 0x8F } } },
    { UARCH_EMR, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0xCF, 0xCF } } },
    { UARCH_MTL_P,
      CORE_PERFORMANCE,
      0x6,
      0,
      15,
      0,
      { { 0xAA, 0xAA }, { 0xAC, 0xAC }, { 0xB5, 0xB5 } } },
    { UARCH_GNR, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0xAD, 0xAD }, { 0xAE, 0xAE } } },
    { UARCH_LNL_P, CORE_PERFORMANCE, 0x6, 0, 15, 0, { { 0xBD, 0xBD } } },
    { UARCH_ARL_P, CORE_PERFORMANCE, 0x6, 0, 15, 0, { { 0xC5, 0xC5 }, { 0xC6, 0xC6 } } },
    { UARCH_PTL_P,
      CORE_PERFORMANCE,
      0x6,
      0,
      15,
      0,
      { { 0xCC, 0xCC }, { 0xD5, 0xD5 }, { 0xE5, 0xE5 } } },
    { UARCH_SLM,
      CORE_UNKNOWN,
      0x6,
      0,
      15,
      0,
      { { 0x37, 0x37 }, { 0x4A, 0x4A }, { 0x4C, 0x4C }, { 0x4D, 0x4D }, { 0x5A, 0x5A } } },
    { UARCH_GLM, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x5C, 0x5C }, { 0x5F, 0x5F } } },
    { UARCH_GLP, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x7A, 0x7A } } },
    { UARCH_TNT, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x96, 0x96 }, { 0x9C, 0x9C } } },
    { UARCH_TNT_SNR, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0x86, 0x86 } } },
    { UARCH_ADL_E,
      CORE_EFFICIENT,
      0x6,
      0,
      15,
      0,
      { { 0x97, 0x97 }, { 0x9A, 0x9A }, { 0xB7, 0xB7 }, { 0xBA, 0xBA }, { 0xBF, 0xBF } } },
    { UARCH_ADL_E, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0xBE, 0xBE } } },
    { UARCH_MTL_E,
      CORE_EFFICIENT,
      0x6,
      0,
      15,
      0,
      { { 0xAA, 0xAA }, { 0xAC, 0xAC }, { 0xB5, 0xB5 } } },
    { UARCH_SRF, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0xAF, 0xAF } } },
    { UARCH_GRR, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0xB6, 0xB6 } } },
    { UARCH_LNL_E, CORE_EFFICIENT, 0x6, 0, 15, 0, { { 0xBD, 0xBD } } },
    { UARCH_ARL_E, CORE_EFFICIENT, 0x6, 0, 15, 0, { { 0xC5, 0xC5 }, { 0xC6, 0xC6 } } },
    { UARCH_CWF, CORE_UNKNOWN, 0x6, 0, 15, 0, { { 0xDD, 0xDD } } },
    { UARCH_PTL_E,
      CORE_EFFICIENT,
      0x6,
      0,
      15,
      0,
      { { 0xCC, 0xCC }, { 0xD5, 0xD5 }, { 0xE5, 0xE5 } } },
    { UARCH_ZEN1, CORE_UNKNOWN, 0x17, 0, 15, 0, { { 0x00, 0x2F } } },
    { UARCH_ZEN2, CORE_UNKNOWN, 0x17, 0, 15, 0, { { 0x30, 0xFF } } },
    { UARCH_ZEN3,
      CORE_UNKNOWN,
      0x19,
      0,
      15,
      0,
      { { 0x00, 0x0F }, { 0x20, 0x2F }, { 0x40, 0x5F } } },
    { UARCH_ZEN4,
      CORE_UNKNOWN,
      0x19,
      0,
      15,
      0,
      { { 0x10, 0x1F }, { 0x60, 0x7F }, { 0xA0, 0xAF } } },
    { UARCH_ZEN5,
      CORE_UNKNOWN,
      0x1A,
      0,
      15,
      0,
      { { 0x00, 0x2F }, { 0x40, 0x4F }, { 0x60, 0x7F } } },
};

/* ---- the table -------------------------------------------------------------------------------- */

#define ONE(member)        (UINT64_C(1) << UARCH_##member)
#define RANGE(first, last) ((UINT64_C(2) << UARCH_##last) - (UINT64_C(1) << UARCH_##first))
enum { INV = 1, EDGE = 2, ANY = 4, FIXED = 8, PROXY = 16, UMASK2_SHIFT = 6 };
#define UMASK2(value) ((value) << UMASK2_SHIFT)

struct row {
    uint16_t event;
    uint8_t umask, cmask, flags;
    uint8_t counters;
    uint8_t response; /* index, 0: none */
    uint8_t logical;
    uint64_t members; /* bit i: enum pmu_microarchitecture i */
};

_Static_assert(sizeof name / sizeof *name == PMU_MICROARCHITECTURES, "a name for each");
_Static_assert(PMU_MICROARCHITECTURES <= 64 && PMU_EVENTS <= 256, "what a row can tell");

static const uint64_t responses[] = {
    UINT64_C(0x0),          UINT64_C(0x6001),        UINT64_C(0xF801),       UINT64_C(0x300400001),
    UINT64_C(0x3FFFC20001), UINT64_C(0x3FFFC00001),  UINT64_C(0x3FBFC00001), UINT64_C(0x3F84000001),
    UINT64_C(0x3FBFC007F7), UINT64_C(0x3FFC400001),  UINT64_C(0x3FBC000001), UINT64_C(0x184000001),
    UINT64_C(0x73C000001),  UINT64_C(0x1E780000001), UINT64_C(0x200000001),  UINT64_C(0x784000001),
    UINT64_C(0x1FBC000001), UINT64_C(0x7BC000001)
};
static const struct row rows[] = {
    { 0, 1, 0, FIXED, 0x0, 0, PMU_CYCLES_FIXED, RANGE(NHM_EP, PTL_E) },
    { 0x3C, 0x00, 0, 0, 0x0, 0, PMU_CYCLES, RANGE(NHM_EP, PTL_E) },
    { 0x76, 0x00, 0, 0, 0x0, 0, PMU_CYCLES, RANGE(ZEN1, ZEN5) },
    { 0, 0, 0, FIXED, 0x0, 0, PMU_INSTRUCTIONS_FIXED, RANGE(NHM_EP, PTL_E) },
    { 0xC0, 0x01, 0, 0, 0x0, 0, PMU_INSTRUCTIONS, RANGE(NHM_EP, WSM_EX) },
    { 0xC0, 0x00, 0, 0, 0x0, 0, PMU_INSTRUCTIONS, RANGE(SNB, ZEN5) },
    { 0, 2, 0, FIXED, 0x0, 0, PMU_REF_CYCLES_FIXED, RANGE(NHM_EP, PTL_E) },
    { 0x3C, 0x01, 0, 0, 0x0, 0, PMU_REF_CYCLES_GP, RANGE(NHM_EP, PTL_E) },
    { 0x120, 0x01, 0, 0, 0x0, 0, PMU_REF_CYCLES_GP, RANGE(ZEN4, ZEN5) },
    { 0x0B, 0x01, 0, 0, 0x0, 0, PMU_LOADS_RETIRED, RANGE(NHM_EP, WSM_EX) },
    { 0xD0, 0x81, 0, 0, 0x0, 0, PMU_LOADS_RETIRED, RANGE(SNB, CLX) | RANGE(GLM, PTL_E) },
    { 0xD0, 0x81, 0, 0, 0xF, 0, PMU_LOADS_RETIRED, RANGE(ICL, PTL_P) },
    { 0x04, 0x40, 0, 0, 0x0, 0, PMU_LOADS_RETIRED, ONE(SLM) },
    { 0x29, 0x05, 0, PROXY, 0x0, 0, PMU_LOADS_RETIRED, RANGE(ZEN1, ZEN5) },
    { 0x0B, 0x02, 0, 0, 0x0, 0, PMU_STORES_RETIRED, RANGE(NHM_EP, WSM_EX) },
    { 0xD0, 0x82, 0, 0, 0x0, 0, PMU_STORES_RETIRED, RANGE(SNB, CLX) | RANGE(GLM, PTL_E) },
    { 0xD0, 0x82, 0, 0, 0xF, 0, PMU_STORES_RETIRED, RANGE(ICL, PTL_P) },
    { 0x04, 0x80, 0, 0, 0x0, 0, PMU_STORES_RETIRED, ONE(SLM) },
    { 0x29, 0x06, 0, PROXY, 0x0, 0, PMU_STORES_RETIRED, RANGE(ZEN1, ZEN5) },
    { 0xCB, 0x01, 0, 0, 0x0, 0, PMU_L1D_LOAD_HIT, RANGE(NHM_EP, WSM_EX) },
    { 0xD1, 0x01, 0, 0, 0x0, 0, PMU_L1D_LOAD_HIT, RANGE(SNB, CLX) | RANGE(GLM, PTL_E) },
    { 0xD1, 0x01, 0, 0, 0xF, 0, PMU_L1D_LOAD_HIT, RANGE(ICL, GNR) },
    { 0xD1, 0x01, 0, UMASK2(1), 0xF, 0, PMU_L1D_LOAD_HIT, RANGE(LNL_P, PTL_P) },
    { 0x51, 0x01, 0, 0, 0x3, 0, PMU_L1D_REPLACEMENT, RANGE(NHM_EP, WSM_EX) },
    { 0x51, 0x01, 0, 0, 0x0, 0, PMU_L1D_REPLACEMENT, RANGE(SNB, CLX) },
    { 0x51, 0x01, 0, 0, 0xF, 0, PMU_L1D_REPLACEMENT, RANGE(ICL, GNR) },
    { 0x51, 0x05, 0, 0, 0xF, 0, PMU_L1D_REPLACEMENT, RANGE(LNL_P, PTL_P) },
    { 0x43, 0x5B, 0, 0, 0x0, 0, PMU_L1D_REPLACEMENT, RANGE(ZEN1, ZEN2) },
    { 0x44, 0x5F, 0, 0, 0x0, 0, PMU_L1D_REPLACEMENT, ONE(ZEN3) },
    { 0x44, 0xDF, 0, 0, 0x0, 0, PMU_L1D_REPLACEMENT, ONE(ZEN4) },
    { 0x44, 0xFF, 0, 0, 0x0, 0, PMU_L1D_REPLACEMENT, ONE(ZEN5) },
    { 0xCB, 0x40, 0, 0, 0x0, 0, PMU_LFB_HIT_LOAD, RANGE(NHM_EP, WSM_EX) },
    { 0xD1, 0x40, 0, 0, 0x0, 0, PMU_LFB_HIT_LOAD, RANGE(SNB, CLX) | RANGE(GLM, GLP) },
    { 0xD1, 0x40, 0, 0, 0xF, 0, PMU_LFB_HIT_LOAD, RANGE(ICL, PTL_P) },
    { 0xD1, 0x20, 0, 0, 0x0, 0, PMU_LFB_HIT_LOAD, RANGE(MTL_E, ARL_E) },
    { 0xCB, 0x02, 0, 0, 0x0, 0, PMU_L2_LOAD_HIT, RANGE(NHM_EP, WSM_EX) },
    { 0xD1, 0x02, 0, 0, 0x0, 0, PMU_L2_LOAD_HIT, RANGE(SNB, CLX) | RANGE(GLM, PTL_E) },
    { 0xD1, 0x02, 0, 0, 0xF, 0, PMU_L2_LOAD_HIT, RANGE(ICL, PTL_P) },
    { 0x04, 0x02, 0, 0, 0x0, 0, PMU_L2_LOAD_HIT, ONE(SLM) },
    { 0x43, 0x01, 0, 0, 0x0, 0, PMU_L2_LOAD_HIT, RANGE(ZEN1, ZEN5) },
    { 0x24, 0x02, 0, 0, 0x0, 0, PMU_L2_DEMAND_DATA_RD_MISS, RANGE(NHM_EP, WSM_EX) },
    { 0x24, 0x21, 0, 0, 0x0, 0, PMU_L2_DEMAND_DATA_RD_MISS, RANGE(HSW, CLX) },
    { 0x24, 0x21, 0, 0, 0xF, 0, PMU_L2_DEMAND_DATA_RD_MISS, RANGE(ICL, PTL_P) },
    { 0x24, 0x01, 0, PROXY, 0x0, 0, PMU_L2_DEMAND_DATA_RD_MISS, RANGE(TNT, ARL_E) },
    { 0x24, 0x41, 0, 0, 0x0, 0, PMU_L2_DEMAND_DATA_RD_MISS, RANGE(CWF, PTL_E) },
    { 0xCB, 0x04, 0, PROXY, 0x0, 0, PMU_L3_LOAD_HIT, RANGE(NHM_EP, WSM_EX) },
    { 0xD1, 0x04, 0, 0, 0x0, 0, PMU_L3_LOAD_HIT, RANGE(SNB, CLX) | RANGE(TNT, ADL_E) },
    { 0xD1, 0x04, 0, 0, 0xF, 0, PMU_L3_LOAD_HIT, RANGE(ICL, PTL_P) },
    { 0xD1, 0x1C, 0, 0, 0x0, 0, PMU_L3_LOAD_HIT, RANGE(MTL_E, GRR) | RANGE(ARL_E, PTL_E) },
    { 0x43, 0x02, 0, 0, 0x0, 0, PMU_L3_LOAD_HIT, RANGE(ZEN1, ZEN5) },
    { 0xCB, 0x10, 0, 0, 0x0, 0, PMU_L3_LOAD_MISS, RANGE(NHM_EP, WSM_EX) },
    { 0xD4, 0x02, 0, 0, 0x0, 0, PMU_L3_LOAD_MISS, ONE(SNB) },
    { 0xD1, 0x20, 0, 0, 0x0, 0, PMU_L3_LOAD_MISS, RANGE(SNB_EP, CLX) },
    { 0xD1, 0x20, 0, 0, 0xF, 0, PMU_L3_LOAD_MISS, RANGE(ICL, PTL_P) },
    { 0xD1, 0x80, 0, PROXY, 0x0, 0, PMU_L3_LOAD_MISS, RANGE(GLM, TNT_SNR) },
    { 0xD2, 0x20, 0, 0, 0x0, 0, PMU_L3_LOAD_MISS, ONE(ADL_E) },
    { 0xD4, 0x02, 0, PROXY, 0x0, 0, PMU_L3_LOAD_MISS, ONE(MTL_E) | ONE(ARL_E) },
    { 0xD3, 0xFF, 0, 0, 0x0, 0, PMU_L3_LOAD_MISS, RANGE(SRF, GRR) | RANGE(CWF, PTL_E) },
    { 0xD3, 0x01, 0, PROXY, 0x0, 0, PMU_L3_LOAD_MISS, ONE(LNL_E) },
    { 0x43, 0x48, 0, PROXY, 0x0, 0, PMU_L3_LOAD_MISS, RANGE(ZEN1, ZEN5) },
    { 0x2E, 0x41, 0, 0, 0x0, 0, PMU_LLC_MISS_ARCH, RANGE(NHM_EP, PTL_E) },
    { 0x2E, 0x4F, 0, 0, 0x0, 0, PMU_LLC_REF_ARCH, RANGE(NHM_EP, CLX) | RANGE(ICX, PTL_E) },
    { 0xB7, 0x01, 0, 0, 0x4, 1, PMU_DEMAND_DRAM_READS, RANGE(NHM_EP, NHM_EX) | ONE(WSM_EX) },
    { 0xB7, 0x01, 0, 0, 0x0, 1, PMU_DEMAND_DRAM_READS, ONE(WSM_EP_SP) },
    { 0xB7, 0x01, 0, PROXY, 0x0, 2, PMU_DEMAND_DRAM_READS, ONE(WSM_EP_DP) },
    { 0xB7, 0x01, 0, 0, 0x0, 3, PMU_DEMAND_DRAM_READS, ONE(SNB) | ONE(IVB) },
    { 0xB7, 0x01, 0, 0, 0x0, 4, PMU_DEMAND_DRAM_READS, ONE(SNB_EP) | ONE(IVB_EP) },
    { 0xB7, 0x01, 0, 0, 0x0, 5, PMU_DEMAND_DRAM_READS, ONE(HSW) },
    { 0xB7, 0x01, 0, 0, 0x0, 6, PMU_DEMAND_DRAM_READS, ONE(HSX) | RANGE(SRF, GRR) },
    { 0xB7, 0x01, 0, PROXY, 0x0, 7, PMU_DEMAND_DRAM_READS, ONE(BDW) },
    { 0xB7, 0x01, 0, PROXY, 0x0, 8, PMU_DEMAND_DRAM_READS, ONE(BDX) },
    { 0xB7, 0x01, 0, 0, 0x0, 9, PMU_DEMAND_DRAM_READS, ONE(SKL) },
    { 0xB7, 0x01, 0, 0, 0x0, 10, PMU_DEMAND_DRAM_READS, RANGE(SKX, CLX) },
    { 0xB7, 0x01, 0, 0, 0xF, 11, PMU_DEMAND_DRAM_READS, ONE(ICL) | ONE(RKL) },
    { 0xB7, 0x01, 0, 0, 0xF, 12, PMU_DEMAND_DRAM_READS, ONE(ICX) },
    { 0x2A, 0x01, 0, 0, 0xF, 11, PMU_DEMAND_DRAM_READS, ONE(ADL_P) | ONE(MTL_P) },
    { 0x2A, 0x01, 0, 0, 0xF, 12, PMU_DEMAND_DRAM_READS, RANGE(SPR, EMR) | ONE(GNR) },
    { 0x2A, 0x01, 0, 0, 0xF, 13, PMU_DEMAND_DRAM_READS, RANGE(LNL_P, PTL_P) },
    { 0xB7, 0x01, 0, 0, 0x0, 14, PMU_DEMAND_DRAM_READS, RANGE(GLM, GLP) },
    { 0xB7, 0x01, 0, 0, 0x0, 11, PMU_DEMAND_DRAM_READS, RANGE(TNT, TNT_SNR) | ONE(MTL_E) },
    { 0xB7, 0x01, 0, 0, 0x0, 15, PMU_DEMAND_DRAM_READS, ONE(ADL_E) },
    { 0xB7, 0x01, 0, 0, 0x0, 16, PMU_DEMAND_DRAM_READS, ONE(LNL_E) },
    { 0xB7, 0x01, 0, 0, 0x0, 17, PMU_DEMAND_DRAM_READS, RANGE(CWF, PTL_E) },
    { 0x43, 0x48, 0, 0, 0x0, 0, PMU_DEMAND_DRAM_READS, RANGE(ZEN1, ZEN5) },
    { 0x08, 0x10, 0, 0, 0x0, 0, PMU_DTLB_LOAD_STLB_HIT, RANGE(NHM_EP, SNB_EP) },
    { 0x5F, 0x04, 0, 0, 0x0, 0, PMU_DTLB_LOAD_STLB_HIT, RANGE(IVB, IVB_EP) },
    { 0x08, 0x60, 0, 0, 0x0, 0, PMU_DTLB_LOAD_STLB_HIT, RANGE(HSW, BDW_DE) },
    { 0x08, 0x20, 0, 0, 0x0, 0, PMU_DTLB_LOAD_STLB_HIT,
      RANGE(SKL, CLX) | RANGE(TNT, TNT_SNR) | RANGE(MTL_E, PTL_E) },
    { 0x08, 0x20, 0, 0, 0xF, 0, PMU_DTLB_LOAD_STLB_HIT, RANGE(ICL, ICX) },
    { 0x12, 0x20, 0, 0, 0xF, 0, PMU_DTLB_LOAD_STLB_HIT, RANGE(ADL_P, GNR) },
    { 0x12, 0x20, 0, UMASK2(3), 0xF, 0, PMU_DTLB_LOAD_STLB_HIT, RANGE(LNL_P, PTL_P) },
    { 0x45, 0x0F, 0, 0, 0x0, 0, PMU_DTLB_LOAD_STLB_HIT, RANGE(ZEN1, ZEN5) },
    { 0x08, 0x02, 0, PROXY, 0x0, 0, PMU_DTLB_LOAD_WALK_COMPLETED,
      RANGE(NHM_EP, SNB_EP) | ONE(GLP) },
    { 0x08, 0x82, 0, PROXY, 0x0, 0, PMU_DTLB_LOAD_WALK_COMPLETED, RANGE(IVB, IVB_EP) },
    { 0x08, 0x0E, 0, PROXY, 0x0, 0, PMU_DTLB_LOAD_WALK_COMPLETED,
      RANGE(HSW, CLX) | RANGE(TNT, PTL_E) },
    { 0x08, 0x0E, 0, PROXY, 0xF, 0, PMU_DTLB_LOAD_WALK_COMPLETED, RANGE(ICL, ICX) },
    { 0x12, 0x0E, 0, PROXY, 0xF, 0, PMU_DTLB_LOAD_WALK_COMPLETED, RANGE(ADL_P, PTL_P) },
    { 0x05, 0x01, 0, EDGE, 0x0, 0, PMU_DTLB_LOAD_WALK_COMPLETED, ONE(SLM) },
    { 0x45, 0xF0, 0, 0, 0x0, 0, PMU_DTLB_LOAD_WALK_COMPLETED, RANGE(ZEN1, ZEN5) },
    { 0xCB, 0x80, 0, 0, 0x0, 0, PMU_STLB_MISS_LOADS_RETIRED, RANGE(NHM_EP, WSM_EX) },
    { 0xD0, 0x11, 0, 0, 0x0, 0, PMU_STLB_MISS_LOADS_RETIRED, RANGE(SNB, CLX) | RANGE(GLM, PTL_E) },
    { 0xD0, 0x11, 0, 0, 0xF, 0, PMU_STLB_MISS_LOADS_RETIRED, RANGE(ICL, PTL_P) },
    { 0x04, 0x08, 0, 0, 0x0, 0, PMU_STLB_MISS_LOADS_RETIRED, ONE(SLM) },
    { 0xC4, 0x04, 0, 0, 0x0, 0, PMU_BRANCHES, RANGE(NHM_EP, WSM_EX) },
    { 0xC4, 0x00, 0, 0, 0x0, 0, PMU_BRANCHES, RANGE(SNB, PTL_E) },
    { 0xC2, 0x00, 0, 0, 0x0, 0, PMU_BRANCHES, RANGE(ZEN1, ZEN5) },
    { 0x89, 0x7F, 0, PROXY, 0x0, 0, PMU_BRANCH_MISPREDICTS, RANGE(NHM_EP, NHM_EX) },
    { 0xC5, 0x04, 0, 0, 0x0, 0, PMU_BRANCH_MISPREDICTS, RANGE(WSM_EP_SP, WSM_EX) },
    { 0xC5, 0x00, 0, 0, 0x0, 0, PMU_BRANCH_MISPREDICTS, RANGE(SNB, PTL_E) },
    { 0xC3, 0x00, 0, 0, 0x0, 0, PMU_BRANCH_MISPREDICTS, RANGE(ZEN1, ZEN5) },
    { 0xA2, 0x01, 0, PROXY, 0x0, 0, PMU_STALL_CYCLES_TOTAL, RANGE(NHM_EP, WSM_EX) },
    { 0xA3, 0x04, 4, PROXY, 0x0, 0, PMU_STALL_CYCLES_TOTAL, RANGE(SNB, SNB_EP) },
    { 0xA3, 0x04, 4, 0, 0x0, 0, PMU_STALL_CYCLES_TOTAL, RANGE(IVB, PTL_P) },
    { 0xD6, 0x1B, 0, 0, 0x0, 0, PMU_STALL_CYCLES_TOTAL, RANGE(ZEN4, ZEN5) },
    { 0xA2, 0x02, 0, PROXY, 0x0, 0, PMU_STALL_CYCLES_MEM_ANY, RANGE(NHM_EP, WSM_EX) },
    { 0xA3, 0x06, 6, 0, 0x0, 0, PMU_STALL_CYCLES_MEM_ANY, RANGE(IVB, BDW_DE) },
    { 0xA3, 0x14, 20, 0, 0x0, 0, PMU_STALL_CYCLES_MEM_ANY, RANGE(SKL, ICX) },
    { 0xA6, 0x21, 5, PROXY, 0x0, 0, PMU_STALL_CYCLES_MEM_ANY, RANGE(ADL_P, PTL_P) },
    { 0x34, 0x07, 0, PROXY, 0x0, 0, PMU_STALL_CYCLES_MEM_ANY, RANGE(TNT, ADL_E) },
    { 0x34, 0x7F, 0, PROXY, 0x0, 0, PMU_STALL_CYCLES_MEM_ANY, RANGE(MTL_E, ARL_E) | ONE(PTL_E) },
    { 0xD6, 0xA2, 0, 0, 0x0, 0, PMU_STALL_CYCLES_MEM_ANY, RANGE(ZEN4, ZEN5) },
    { 0x0E, 0x01, 0, 0, 0x0, 0, PMU_UOPS_ISSUED, RANGE(NHM_EP, ICX) },
    { 0xAE, 0x01, 0, 0, 0x0, 0, PMU_UOPS_ISSUED, RANGE(ADL_P, PTL_P) },
    { 0x0E, 0x00, 0, 0, 0x0, 0, PMU_UOPS_ISSUED, RANGE(GLM, PTL_E) },
    { 0xAA, 0x03, 0, 0, 0x0, 0, PMU_UOPS_ISSUED, RANGE(ZEN2, ZEN3) },
    { 0xAA, 0x07, 0, 0, 0x0, 0, PMU_UOPS_ISSUED, RANGE(ZEN4, ZEN5) },
    { 0xC2, 0x02, 0, 0, 0x0, 0, PMU_UOPS_RETIRED_SLOTS,
      RANGE(NHM_EP, PTL_P) | RANGE(LNL_E, PTL_E) },
    { 0xC2, 0x10, 0, PROXY, 0x0, 0, PMU_UOPS_RETIRED_SLOTS, ONE(SLM) },
    { 0xC2, 0x00, 0, PROXY, 0x0, 0, PMU_UOPS_RETIRED_SLOTS, RANGE(GLM, GLP) },
    { 0xC2, 0x00, 0, 0, 0x0, 0, PMU_UOPS_RETIRED_SLOTS, RANGE(TNT, ADL_E) },
    { 0x72, 0x00, 0, 0, 0x0, 0, PMU_UOPS_RETIRED_SLOTS, RANGE(MTL_E, GRR) },
    { 0xC1, 0x00, 0, 0, 0x0, 0, PMU_UOPS_RETIRED_SLOTS, RANGE(ZEN1, ZEN5) },
    { 0xC2, 0x04, 0, 0, 0x0, 0, PMU_UOPS_RETIRED_MACRO_FUSED,
      RANGE(NHM_EP, WSM_EX) | RANGE(SKL, CLX) },
    { 0x07, 0x01, 0, 0, 0x0, 0, PMU_ALIAS_4K, RANGE(NHM_EP, CLX) },
    { 0x07, 0x01, 0, 0, 0xF, 0, PMU_ALIAS_4K, RANGE(ICL, ICX) },
    { 0x03, 0x04, 0, 0, 0xF, 0, PMU_ALIAS_4K, RANGE(ADL_P, PTL_P) },
    { 0x03, 0x04, 0, 0, 0x0, 0, PMU_ALIAS_4K, RANGE(GLM, PTL_E) },
    { 0xC3, 0x02, 0, 0, 0x0, 0, PMU_MEM_ORDER_CLEARS, RANGE(NHM_EP, PTL_E) },
    { 0x08, 0x04, 0, 0, 0x0, 0, PMU_PAGE_WALK_CYCLES_LOAD, RANGE(WSM_EP_SP, SNB_EP) },
    { 0x08, 0x84, 0, 0, 0x0, 0, PMU_PAGE_WALK_CYCLES_LOAD, RANGE(IVB, IVB_EP) },
    { 0x08, 0x10, 0, 0, 0x0, 0, PMU_PAGE_WALK_CYCLES_LOAD, RANGE(HSW, BDW_DE) },
    { 0x08, 0x10, 1, 0, 0x0, 0, PMU_PAGE_WALK_CYCLES_LOAD, RANGE(SKL, CLX) },
    { 0x08, 0x10, 1, 0, 0xF, 0, PMU_PAGE_WALK_CYCLES_LOAD, RANGE(ICL, ICX) },
    { 0x12, 0x10, 1, 0, 0xF, 0, PMU_PAGE_WALK_CYCLES_LOAD, RANGE(ADL_P, PTL_P) },
    { 0x05, 0x01, 0, 0, 0x0, 0, PMU_PAGE_WALK_CYCLES_LOAD, RANGE(SLM, GLM) },
    { 0x08, 0x10, 0, PROXY, 0x0, 0, PMU_PAGE_WALK_CYCLES_LOAD,
      RANGE(GLP, TNT_SNR) | RANGE(MTL_E, ARL_E) },
    { 0x05, 0xA0, 0, PROXY, 0x0, 0, PMU_PAGE_WALK_CYCLES_LOAD, ONE(ADL_E) },
    { 0x03, 0x02, 0, 0, 0x0, 0, PMU_STORE_FORWARD_BLOCK,
      RANGE(WSM_EP_SP, CLX) | RANGE(GLM, TNT_SNR) | RANGE(MTL_E, PTL_E) },
    { 0x03, 0x02, 0, 0, 0xF, 0, PMU_STORE_FORWARD_BLOCK, RANGE(ICL, ICX) },
    { 0x03, 0x82, 0, 0, 0xF, 0, PMU_STORE_FORWARD_BLOCK, RANGE(ADL_P, PTL_P) },
    { 0x03, 0x01, 0, 0, 0x0, 0, PMU_STORE_FORWARD_BLOCK, ONE(SLM) },
    { 0x03, 0x01, 0, PROXY, 0x0, 0, PMU_STORE_FORWARD_BLOCK, ONE(ADL_E) },
    { 0x24, 0x02, 0, 0, 0x0, 0, PMU_STORE_FORWARD_BLOCK, RANGE(ZEN2, ZEN5) | ONE(ZEN1) },
    { 0xA3, 0x06, 6, PROXY, 0x4, 0, PMU_STALL_CYCLES_L1D_MISS, RANGE(SNB, SNB_EP) },
    { 0xA3, 0x0C, 12, 0, 0x4, 0, PMU_STALL_CYCLES_L1D_MISS,
      RANGE(IVB, IVB_EP) | RANGE(BDW, BDW_DE) },
    { 0xA3, 0x0C, 12, PROXY, 0x4, 0, PMU_STALL_CYCLES_L1D_MISS, RANGE(HSW, HSX) },
    { 0xA3, 0x0C, 12, 0, 0x0, 0, PMU_STALL_CYCLES_L1D_MISS, RANGE(SKL, CLX) },
    { 0xA3, 0x0C, 12, 0, 0xF, 0, PMU_STALL_CYCLES_L1D_MISS, RANGE(ICL, ICX) },
    { 0x47, 0x03, 3, 0, 0xF, 0, PMU_STALL_CYCLES_L1D_MISS, RANGE(ADL_P, GNR) },
    { 0x34, 0x07, 0, PROXY, 0x0, 0, PMU_STALL_CYCLES_L1D_MISS, RANGE(TNT, ADL_E) },
    { 0x34, 0x7F, 0, PROXY, 0x0, 0, PMU_STALL_CYCLES_L1D_MISS, RANGE(MTL_E, ARL_E) | ONE(PTL_E) },
    { 0xA3, 0x05, 5, 0, 0x0, 0, PMU_STALL_CYCLES_L2_MISS, RANGE(SNB, CLX) },
    { 0xA3, 0x05, 5, 0, 0xF, 0, PMU_STALL_CYCLES_L2_MISS, RANGE(ICL, ICX) },
    { 0x47, 0x05, 5, 0, 0xF, 0, PMU_STALL_CYCLES_L2_MISS, RANGE(ADL_P, GNR) },
    { 0x34, 0x06, 0, 0, 0x0, 0, PMU_STALL_CYCLES_L2_MISS, ONE(ADL_E) },
    { 0x34, 0x7E, 0, 0, 0x0, 0, PMU_STALL_CYCLES_L2_MISS, RANGE(MTL_E, ARL_E) | ONE(PTL_E) },
    { 0x48, 0x01, 0, 0, 0x4, 0, PMU_L1D_PEND_MISS_OCCUPANCY,
      RANGE(SNB, BDW_DE) | RANGE(LNL_P, PTL_P) },
    { 0x48, 0x01, 0, 0, 0x0, 0, PMU_L1D_PEND_MISS_OCCUPANCY, RANGE(SKL, CLX) },
    { 0x48, 0x01, 0, 0, 0xF, 0, PMU_L1D_PEND_MISS_OCCUPANCY, RANGE(ICL, GNR) },
    { 0x5F, 0x00, 0, 0, 0x0, 0, PMU_L1D_PEND_MISS_OCCUPANCY, RANGE(ZEN3, ZEN5) },
    { 0x48, 0x02, 1, 0, 0x0, 0, PMU_L1D_FB_FULL_CYCLES, RANGE(SNB, BDW_DE) },
    { 0x48, 0x02, 0, 0, 0x0, 0, PMU_L1D_FB_FULL_CYCLES, RANGE(SKL, CLX) },
    { 0x48, 0x02, 0, 0, 0xF, 0, PMU_L1D_FB_FULL_CYCLES, RANGE(ICL, GNR) },
    { 0x49, 0x02, 0, 0, 0xF, 0, PMU_L1D_FB_FULL_CYCLES, RANGE(LNL_P, PTL_P) },
    { 0x9C, 0x01, 0, 0, 0x0, 0, PMU_FE_UNDELIVERED_SLOTS, RANGE(SNB, PTL_P) | RANGE(LNL_E, PTL_E) },
    { 0xCA, 0x50, 0, PROXY, 0x0, 0, PMU_FE_UNDELIVERED_SLOTS, ONE(SLM) },
    { 0x9C, 0x00, 0, 0, 0x0, 0, PMU_FE_UNDELIVERED_SLOTS, RANGE(GLM, GLP) },
    { 0x71, 0x00, 0, 0, 0x0, 0, PMU_FE_UNDELIVERED_SLOTS, RANGE(TNT, GRR) },
    { 0x1A0, 0x01, 0, 0, 0x0, 0, PMU_FE_UNDELIVERED_SLOTS, RANGE(ZEN4, ZEN5) },
    { 0x0D, 0x03, 1, 0, 0x0, 0, PMU_RECOVERY_CYCLES, RANGE(SNB, BDW_DE) },
    { 0x0D, 0x01, 0, 0, 0x0, 0, PMU_RECOVERY_CYCLES, RANGE(SKL, ICX) },
    { 0xAD, 0x01, 0, 0, 0x0, 0, PMU_RECOVERY_CYCLES, RANGE(ADL_P, PTL_P) },
    { 0x0D, 0x03, 1, ANY, 0x0, 0, PMU_RECOVERY_CYCLES_ANYTHREAD, RANGE(SNB, BDW_DE) },
    { 0x0D, 0x01, 0, ANY, 0x0, 0, PMU_RECOVERY_CYCLES_ANYTHREAD, RANGE(SKL, CLX) },
    { 0xA2, 0x08, 0, 0, 0x0, 0, PMU_EXE_BOUND_ON_STORES, RANGE(SNB, BDW_DE) },
    { 0xA6, 0x40, 0, 0, 0x0, 0, PMU_EXE_BOUND_ON_STORES, RANGE(SKL, CLX) },
    { 0xA6, 0x40, 2, 0, 0x0, 0, PMU_EXE_BOUND_ON_STORES, RANGE(ICL, PTL_P) },
    { 0xC3, 0x01, 1, EDGE, 0x0, 0, PMU_MACHINE_CLEARS_ANY, RANGE(SNB, PTL_P) },
    { 0xC3, 0x00, 0, 0, 0x0, 0, PMU_MACHINE_CLEARS_ANY, RANGE(TNT, TNT_SNR) | RANGE(MTL_E, PTL_E) },
    { 0x96, 0x00, 0, 0, 0x0, 0, PMU_MACHINE_CLEARS_ANY, ONE(ZEN4) },
    { 0x9F, 0x01, 0, 0, 0x0, 0, PMU_MACHINE_CLEARS_ANY, ONE(ZEN5) },
    { 0x9C, 0x01, 4, 0, 0x0, 0, PMU_FE_ZERO_UOPS_CYCLES, RANGE(SNB, CLX) },
    { 0x9C, 0x01, 5, 0, 0x0, 0, PMU_FE_ZERO_UOPS_CYCLES, RANGE(ICL, ICX) },
    { 0x9C, 0x01, 6, 0, 0x0, 0, PMU_FE_ZERO_UOPS_CYCLES, RANGE(ADL_P, GNR) },
    { 0x9C, 0x01, 8, 0, 0x0, 0, PMU_FE_ZERO_UOPS_CYCLES, RANGE(LNL_P, PTL_P) },
    { 0x1A0, 0x01, 6, 0, 0x0, 0, PMU_FE_ZERO_UOPS_CYCLES, ONE(ZEN4) },
    { 0x1A0, 0x01, 8, 0, 0x0, 0, PMU_FE_ZERO_UOPS_CYCLES, ONE(ZEN5) },
    { 0xD1, 0x08, 0, 0, 0x0, 0, PMU_L1D_LOAD_MISS, RANGE(IVB, CLX) | RANGE(GLM, ADL_E) },
    { 0xD1, 0x08, 0, 0, 0xF, 0, PMU_L1D_LOAD_MISS, RANGE(ICL, PTL_P) },
    { 0x04, 0x01, 0, 0, 0x0, 0, PMU_L1D_LOAD_MISS, ONE(SLM) },
    { 0xD1, 0x40, 0, 0, 0x0, 0, PMU_L1D_LOAD_MISS, RANGE(MTL_E, PTL_E) },
    { 0x41, 0x01, 0, 0, 0x0, 0, PMU_L1D_LOAD_MISS, RANGE(ZEN1, ZEN2) },
    { 0x41, 0x3F, 0, 0, 0x0, 0, PMU_L1D_LOAD_MISS, RANGE(ZEN3, ZEN4) },
    { 0x41, 0x07, 0, 0, 0x0, 0, PMU_L1D_LOAD_MISS, ONE(ZEN5) },
    { 0xD1, 0x10, 0, 0, 0x0, 0, PMU_L2_LOAD_MISS, RANGE(IVB, CLX) | RANGE(GLM, ADL_E) },
    { 0xD1, 0x10, 0, 0, 0xF, 0, PMU_L2_LOAD_MISS, RANGE(ICL, PTL_P) },
    { 0x04, 0x04, 0, 0, 0x0, 0, PMU_L2_LOAD_MISS, ONE(SLM) },
    { 0xD1, 0x80, 0, 0, 0x0, 0, PMU_L2_LOAD_MISS, RANGE(MTL_E, PTL_E) },
    { 0x64, 0x08, 0, 0, 0x0, 0, PMU_L2_LOAD_MISS, RANGE(ZEN1, ZEN5) },
    { 0xB0, 0x10, 0, 0, 0x0, 0, PMU_OFFCORE_L3_MISS_DEMAND_DATA_RD, RANGE(SKL, CLX) },
    { 0xB0, 0x10, 0, 0, 0xF, 0, PMU_OFFCORE_L3_MISS_DEMAND_DATA_RD, RANGE(ICL, ICX) },
    { 0x21, 0x10, 0, 0, 0xF, 0, PMU_OFFCORE_L3_MISS_DEMAND_DATA_RD, RANGE(ADL_P, PTL_P) },
    { 0x08, 0x10, 0, PROXY, 0x0, 0, PMU_PAGE_WALK_PENDING_LOAD,
      RANGE(SKL, CLX) | RANGE(GLP, TNT_SNR) | RANGE(MTL_E, ARL_E) },
    { 0x08, 0x10, 0, PROXY, 0xF, 0, PMU_PAGE_WALK_PENDING_LOAD, RANGE(ICL, ICX) },
    { 0x12, 0x10, 0, PROXY, 0xF, 0, PMU_PAGE_WALK_PENDING_LOAD, RANGE(ADL_P, PTL_P) },
    { 0xA3, 0x06, 6, 0, 0x0, 0, PMU_STALL_CYCLES_L3_MISS, RANGE(SKL, CLX) },
    { 0xA3, 0x06, 6, 0, 0xF, 0, PMU_STALL_CYCLES_L3_MISS, RANGE(ICL, ICX) },
    { 0x47, 0x09, 9, 0, 0xF, 0, PMU_STALL_CYCLES_L3_MISS, RANGE(ADL_P, GNR) },
    { 0x34, 0x04, 0, 0, 0x0, 0, PMU_STALL_CYCLES_L3_MISS, RANGE(TNT, ADL_E) },
    { 0x34, 0x78, 0, 0, 0x0, 0, PMU_STALL_CYCLES_L3_MISS, RANGE(MTL_E, ARL_E) },
    { 0x34, 0x38, 0, 0, 0x0, 0, PMU_STALL_CYCLES_L3_MISS, ONE(PTL_E) },
    { 0xA6, 0x02, 0, 0, 0x0, 0, PMU_EXE_1_PORT, RANGE(SKL, PTL_P) },
    { 0xA6, 0x04, 0, 0, 0x0, 0, PMU_EXE_2_PORTS, RANGE(SKL, PTL_P) },
    { 0x0D, 0x01, 1, EDGE, 0x0, 0, PMU_INT_MISC_CLEARS_COUNT, RANGE(SKL, ICX) },
    { 0xAD, 0x01, 1, EDGE, 0x0, 0, PMU_INT_MISC_CLEARS_COUNT, RANGE(ADL_P, PTL_P) },
    { 0, 3, 0, FIXED, 0x0, 0, PMU_TOPDOWN_SLOTS_FIXED, RANGE(ICL, PTL_P) },
    { 0xA4, 0x01, 0, 0, 0x0, 0, PMU_TOPDOWN_SLOTS_GP, RANGE(ICL, PTL_P) },
    { 0xA4, 0x02, 0, 0, 0x0, 0, PMU_TOPDOWN_BACKEND_SLOTS,
      RANGE(ICL, PTL_P) | RANGE(LNL_E, PTL_E) },
    { 0x74, 0x00, 0, 0, 0x0, 0, PMU_TOPDOWN_BACKEND_SLOTS, RANGE(TNT, GRR) },
    { 0x1A0, 0x1E, 0, 0, 0x0, 0, PMU_TOPDOWN_BACKEND_SLOTS, RANGE(ZEN4, ZEN5) },
    { 0x0D, 0x10, 0, 0, 0x0, 0, PMU_INT_MISC_UOP_DROPPING, RANGE(ICL, ICX) },
    { 0xAD, 0x10, 0, 0, 0x0, 0, PMU_INT_MISC_UOP_DROPPING, RANGE(ADL_P, PTL_P) },
    { 0xA4, 0x04, 0, 0, 0x1, 0, PMU_TOPDOWN_BADSPEC_SLOTS, RANGE(ADL_P, PTL_P) },
    { 0x73, 0x06, 0, 0, 0x0, 0, PMU_TOPDOWN_BADSPEC_SLOTS, RANGE(TNT, TNT_SNR) },
    { 0x73, 0x00, 0, 0, 0x0, 0, PMU_TOPDOWN_BADSPEC_SLOTS, RANGE(ADL_E, PTL_E) },
    { 0xC2, 0x01, 0, 0, 0x0, 0, PMU_UOPS_RETIRED_HEAVY, RANGE(ADL_P, PTL_P) },
    { 0x1C2, 0x00, 0, 0, 0x0, 0, PMU_UOPS_RETIRED_HEAVY, RANGE(ZEN4, ZEN5) },
    { 0xA4, 0x10, 0, 0, 0x0, 0, PMU_TOPDOWN_MEMBOUND_SLOTS, RANGE(ADL_P, GNR) },
    { 0xA4, 0x10, 0, 0, 0x8, 0, PMU_TOPDOWN_MEMBOUND_SLOTS, RANGE(LNL_P, PTL_P) },
    { 0xA4, 0x08, 0, 0, 0x1, 0, PMU_TOPDOWN_BRMISP_SLOTS, RANGE(ADL_P, PTL_P) },
    { 0x73, 0x04, 0, 0, 0x0, 0, PMU_TOPDOWN_BRMISP_SLOTS, RANGE(TNT, PTL_E) },
    { 0x51, 0x01, 0, 0, 0xF, 0, PMU_L1D0_REPLACEMENT_LIONCOVE, RANGE(LNL_P, PTL_P) },
    { 0x46, 0x01, 0, 0, 0xF, 0, PMU_STALL_SLICE_L1_LIONCOVE, RANGE(LNL_P, PTL_P) },
    { 0x46, 0x02, 0, 0, 0xF, 0, PMU_STALL_SLICE_L2_LIONCOVE, RANGE(LNL_P, PTL_P) },
    { 0x46, 0x04, 0, 0, 0xF, 0, PMU_STALL_SLICE_L3_LIONCOVE, RANGE(LNL_P, PTL_P) },
    { 0x46, 0x08, 0, 0, 0xF, 0, PMU_STALL_SLICE_MEM_LIONCOVE, RANGE(LNL_P, PTL_P) },
    { 0, 6, 0, FIXED, 0x0, 0, PMU_TOPDOWN_RETIRING_FIXED, RANGE(LNL_E, PTL_E) },
    { 0, 5, 0, FIXED, 0x0, 0, PMU_TOPDOWN_FE_FIXED, RANGE(LNL_E, PTL_E) },
    { 0, 4, 0, FIXED, 0x0, 0, PMU_TOPDOWN_BADSPEC_FIXED, RANGE(LNL_E, PTL_E) },
    { 0x40, 0x00, 0, 0, 0x0, 0, PMU_L1D_ACCESSES, RANGE(ZEN1, ZEN5) },
    { 0x43, 0x5B, 0, 0, 0x0, 0, PMU_L1D_DEMAND_FILLS, RANGE(ZEN1, ZEN2) },
    { 0x43, 0x5F, 0, 0, 0x0, 0, PMU_L1D_DEMAND_FILLS, ONE(ZEN3) },
    { 0x43, 0xDF, 0, 0, 0x0, 0, PMU_L1D_DEMAND_FILLS, ONE(ZEN4) },
    { 0x43, 0xFF, 0, 0, 0x0, 0, PMU_L1D_DEMAND_FILLS, ONE(ZEN5) },
    { 0x60, 0xC8, 0, 0, 0x0, 0, PMU_L2_REQUESTS_FROM_L1D, RANGE(ZEN1, ZEN2) },
    { 0x60, 0xE8, 0, 0, 0x0, 0, PMU_L2_REQUESTS_FROM_L1D, RANGE(ZEN3, ZEN4) },
    { 0x60, 0xE0, 0, 0, 0x0, 0, PMU_L2_REQUESTS_FROM_L1D, ONE(ZEN5) },
    { 0x64, 0x09, 0, 0, 0x0, 0, PMU_L2_MISS_IC_DC, RANGE(ZEN1, ZEN5) },
    { 0x44, 0x48, 0, 0, 0x0, 0, PMU_DRAM_READS_ANY, RANGE(ZEN3, ZEN5) },
    { 0x5A, 0x48, 0, 0, 0x0, 0, PMU_HW_PREFETCH_FILLS_DRAM, RANGE(ZEN1, ZEN5) },
    { 0x45, 0xFF, 0, 0, 0x0, 0, PMU_DTLB_L1_MISS, RANGE(ZEN1, ZEN5) },
    { 0x46, 0x03, 0, 0, 0x0, 0, PMU_PAGE_WALKS_DSIDE, RANGE(ZEN1, ZEN3) },
    { 0xD6, 0x02, 0, 0, 0x0, 0, PMU_STALL_CYCLES_NOT_COMPLETE, RANGE(ZEN4, ZEN5) },
    { 0xAE, 0x02, 0, PROXY, 0x0, 0, PMU_STALL_CYCLES_LOAD_QUEUE, RANGE(ZEN3, ZEN5) },
    { 0xAE, 0x04, 0, 0, 0x0, 0, PMU_STALL_CYCLES_STORE_QUEUE, RANGE(ZEN3, ZEN5) },
    { 0xAF, 0x20, 0, 0, 0x0, 0, PMU_STALL_CYCLES_RETIRE_QUEUE, RANGE(ZEN3, ZEN5) },
    { 0x1A0, 0x60, 0, 0, 0x0, 0, PMU_TOPDOWN_SMT_SLOTS, RANGE(ZEN4, ZEN5) },
    { 0x35, 0x00, 0, 0, 0x0, 0, PMU_STORE_FORWARD_HITS, RANGE(ZEN1, ZEN5) },
    { 0x2B, 0x00, 0, 0, 0x0, 0, PMU_SMI_COUNT, RANGE(ZEN1, ZEN5) },
    { 0xA9, 0x00, 0, 0, 0x0, 0, PMU_OP_QUEUE_EMPTY, RANGE(ZEN1, ZEN5) },
};

/* ---- looking up ------------------------------------------------------------------------------- */

/* Where a hybrid's efficient cores are switched off, nothing tells the type. */
static bool is_of_type(const struct processor *processor, enum core_type type)
{
    bool told = processor->core_type != CORE_UNKNOWN || has_feature(processor, FEATURE_HYBRID);
    return type == CORE_UNKNOWN || type == processor->core_type ||
           (type == CORE_PERFORMANCE && !told);
}

static bool has_model(const struct identity *identity, unsigned model)
{
    for (unsigned i = 0; i < MODEL_RANGES; i++) {
        if (model >= identity->model[i].first && model <= identity->model[i].last &&
            (i == 0 || identity->model[i].last != 0)) {
            return true;
        }
    }
    return false;
}

static bool fits(const struct identity *identity, const struct processor *processor,
                 uint32_t native_model)
{
    const bool maker = identity->family >= 0x17 ? is_amd(processor) : is_intel(processor);
    return maker && processor->family == identity->family &&
           has_model(identity, processor->model) &&
           processor->stepping >= identity->first_stepping &&
           processor->stepping <= identity->last_stepping &&
           is_of_type(processor, (enum core_type)identity->core) &&
           (identity->native_model == 0 || identity->native_model == native_model);
}

enum pmu_microarchitecture pmu_microarchitecture(const struct processor *processor,
                                                 uint32_t native_model)
{
    for (size_t i = 0; i < sizeof identities / sizeof *identities; i++) {
        if (fits(&identities[i], processor, native_model)) {
            return (enum pmu_microarchitecture)identities[i].microarchitecture;
        }
    }
    return PMU_UNKNOWN;
}

const char *pmu_microarchitecture_name(enum pmu_microarchitecture microarchitecture)
{
    return microarchitecture < PMU_UNKNOWN ? name[microarchitecture] : "";
}

/* Nehalem and Westmere-EX have one register only. */
static enum pmu_pairing pairing(enum pmu_microarchitecture microarchitecture, const struct row *row)
{
    if (row->response == 0 || microarchitecture <= UARCH_NHM_EX ||
        microarchitecture == UARCH_WSM_EX) {
        return PAIR_NONE;
    }
    if (row->event == 0x2A) {
        return PAIR_2B;
    }
    return microarchitecture >= UARCH_SLM ? PAIR_UMASK : PAIR_BB;
}

static struct pmu_code decode(enum pmu_microarchitecture microarchitecture, const struct row *row)
{
    return (struct pmu_code){
        .event = row->event,
        .umask = row->umask,
        .umask2 = row->flags >> UMASK2_SHIFT,
        .cmask = row->cmask,
        .counters = row->counters,
        .inverted = (row->flags & INV) != 0,
        .edge = (row->flags & EDGE) != 0,
        .any_thread = (row->flags & ANY) != 0,
        .fixed = (row->flags & FIXED) != 0,
        .proxy = (row->flags & PROXY) != 0,
        .response = responses[row->response],
        .pairing = pairing(microarchitecture, row),
    };
}

bool pmu_code(enum pmu_microarchitecture microarchitecture, enum pmu_event event,
              struct pmu_code *code)
{
    for (size_t i = 0; microarchitecture < PMU_UNKNOWN && i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].logical == event && (rows[i].members >> microarchitecture & 1) != 0) {
            *code = decode(microarchitecture, &rows[i]);
            return true;
        }
    }
    return false;
}
