#include "hw/vector.h"

#include "hw/insn.h"

#define LEAF_FEATURES 1
#define LEAF_XSAVE    0x0D
#define HAS_XSAVE     (UINT32_C(1) << 26)

uint64_t vector_offered(void)
{
    struct cpuid_regs leaf;
    insn_cpuid(0, 0, &leaf);
    if (leaf.eax < LEAF_XSAVE) {
        return 0;
    }
    insn_cpuid(LEAF_FEATURES, 0, &leaf);
    if (!(leaf.ecx & HAS_XSAVE)) {
        return 0;
    }
    insn_cpuid(LEAF_XSAVE, 0, &leaf);
    return (uint64_t)leaf.edx << 32 | leaf.eax;
}

bool vector_enable(struct vector *vector, uint64_t wanted)
{
    uint64_t found;
    vector->changed = false;
    if (!insn_xgetbv(0, &found)) {
        return false;
    }
    vector->found = found;
    if ((found & wanted) == wanted) {
        return true;
    }
    vector->changed = insn_xsetbv(0, found | wanted);
    return vector->changed;
}

void vector_clear(void)
{
    uint64_t enabled;
    if (insn_xgetbv(0, &enabled) && (enabled & XCR0_SSE) && (enabled & XCR0_AVX)) {
        __asm__ volatile("vzeroall" ::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                               "xmm15");
    }
}

void vector_restore(struct vector *vector)
{
    if (vector->changed) {
        (void)insn_xsetbv(0, vector->found);
        vector->changed = false;
    }
}
