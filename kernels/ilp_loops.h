/* The loops of the experiment `ilp`, written in assembly: about a hundred that differ in what they
 * do and in how many chains of it they keep going. */
#ifndef KERNELS_ILP_LOOPS_H
#define KERNELS_ILP_LOOPS_H

#include <stdint.h>

enum {
    ILP_VECTOR = 15,  /* accumulators in XMM registers, beside one source */
    ILP_GENERAL = 12, /* in general registers, beside one source */
    ILP_WORDS = 24,   /* that the loop of loads reads, and the loop of stores writes */
    ILP_LOOPS = 5 * ILP_VECTOR + 2 * ILP_GENERAL + 2,
};

/* What a loop computes with. The offsets are known to kernels/ilp_loops.S. */
struct ilp_registers {
    uint64_t vector[ILP_VECTOR];
    uint64_t vector_source;
    uint64_t general[ILP_GENERAL];
    uint64_t general_source;
    uint64_t read[ILP_WORDS];
    uint64_t written[ILP_WORDS];
};

/* In this order: single add with 1 .. ILP_VECTOR accumulators, double add, single multiply, double
 * multiply, double FMA; 64-bit add with 1 .. ILP_GENERAL, 64-bit multiply; loads; stores. */
struct ilp_loop {
    int32_t code; /* bytes from this field to the loop */
    uint32_t operations;
};

/* Every loop, and how many operations a lap of it has: a multiple of its accumulators. */
extern const struct ilp_loop ilp_loop[ILP_LOOPS];

/* Loads all registers, does `laps` of loop `number`, and stores all accumulators. Window: yes. The
 * loops of FMA need the processor's and the AVX state switched on. */
void ilp_laps(struct ilp_registers *registers, uint64_t laps, uint64_t number);

#endif
