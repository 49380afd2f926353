/* Vector state beyond SSE: switched on for one window, put back at its end.
 * Firmware sets CR4.OSFXSR but often neither CR4.OSXSAVE nor XCR0, so AVX instructions are #UD
 * although CPUID lists them. SDM vol. 1, chapter 13. */
#ifndef HW_VECTOR_H
#define HW_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

/* Components of XCR0. AVX needs SSE; AVX-512 needs AVX and all three of its own (bits 5 to 7). */
#define XCR0_X87          UINT64_C(0x01)
#define XCR0_SSE          UINT64_C(0x02)
#define XCR0_AVX          UINT64_C(0x04)
#define XCR0_AVX512       UINT64_C(0xE0)
#define VECTORS_OF_AVX    (XCR0_X87 | XCR0_SSE | XCR0_AVX)
#define VECTORS_OF_AVX512 (VECTORS_OF_AVX | XCR0_AVX512)

struct vector {
    bool changed;
    uint64_t found; /* XCR0 */
};

/* What the processor lets XCR0 hold, from CPUID 0Dh; 0 without XSAVE. It goes by CPUID.XSAVE
 * (leaf 1 ECX[26]): OSXSAVE, bit 27, merely mirrors CR4. Anywhere. */
uint64_t vector_offered(void);

/* Adds `wanted` to XCR0; false if the processor refuses, and then nothing has changed.
 * CR4.OSXSAVE must be set. Window: only there. */
bool vector_enable(struct vector *vector, uint64_t wanted);

/* Zeroes the vector registers where XCR0 has SSE and AVX (VZEROALL is #UD otherwise), so that no
 * SSE code pays for upper halves that somebody left in use. CR4.OSXSAVE must be set.
 * Window: only there. */
void vector_clear(void);

/* Puts XCR0 back as it was before vector_enable. Window: only there. */
void vector_restore(struct vector *vector);

#endif
