/* void ilp_laps(struct ilp_registers *registers, uint64_t laps, uint64_t number)
 *
 *   rdi            registers                  (in)
 *   rsi            laps                       (in), then those to go
 *   rdx            number of the loop         (in)
 *   xmm1 .. xmm15  accumulators, vector[0] .. vector[14];     xmm0 is the source
 *   rax .. r14     accumulators, general[0] .. general[11];   r15 is the source
 *
 * All loops have this one way in and out, and so none of its own: a sample is so long that the way
 * is nothing in it, and a hundred of them would not be.
 *
 * A lap is whole rounds, and a round one operation on each accumulator in turn, with nothing between
 * two rounds: each accumulator is a chain of its own. The counter is one more, one cycle a lap. It
 * shares no unit with floating point, multiplication, loads or stores, so 8 operations a lap are
 * enough there; the additions compete with it and have 64. */

#define GENERAL rax, rbx, rcx, rdx, rbp, r8, r9, r10, r11, r12, r13, r14
#define VECTOR  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15

#define OF_VECTOR_SOURCE  8 * 15
#define OF_GENERAL        8 * 16
#define OF_GENERAL_SOURCE 8 * 28
#define OF_READ           8 * 29
#define OF_WRITTEN        8 * 53

/* ---- the way in and out ------------------------------------------------------------------------ */

    .section .text.ilp_laps, "ax", @progbits
    .globl ilp_laps
    .hidden ilp_laps
    .type ilp_laps, @function
    .p2align 6
ilp_laps:
    test %rsi, %rsi
    jz .Lnothing
    .irp register, rbx, rbp, r12, r13, r14, r15
    push %\register
    .endr
    lea ilp_loop(%rip), %rax
    lea (%rax, %rdx, 8), %rax
    movslq (%rax), %rdx
    add %rax, %rdx
    push %rdx

    movq OF_VECTOR_SOURCE(%rdi), %xmm0
    .irp number, VECTOR
    movq 8 * (\number - 1)(%rdi), %xmm\number
    .endr
    mov OF_GENERAL_SOURCE(%rdi), %r15
    .set .Lplace, OF_GENERAL
    .irp register, GENERAL
    mov .Lplace(%rdi), %\register
    .set .Lplace, .Lplace + 8
    .endr

    call *(%rsp)

    .irp number, VECTOR
    movq %xmm\number, 8 * (\number - 1)(%rdi)
    .endr
    .set .Lplace, OF_GENERAL
    .irp register, GENERAL
    mov %\register, .Lplace(%rdi)
    .set .Lplace, .Lplace + 8
    .endr

    pop %rdx
    .irp register, r15, r14, r13, r12, rbp, rbx
    pop %\register
    .endr
.Lnothing:
    ret
    .size ilp_laps, . - ilp_laps

/* ---- a round of each class --------------------------------------------------------------------- */

    .macro vector_round operation, accumulators
    .irp number, VECTOR
    .if \number <= \accumulators
    \operation %xmm0, %xmm\number
    .endif
    .endr
    .endm

    .macro general_round operation, accumulators
    .set .Ldone, 0
    .irp register, GENERAL
    .if .Ldone < \accumulators
    \operation %r15, %\register
    .endif
    .set .Ldone, .Ldone + 1
    .endr
    .endm

/* The addend is the accumulator, as in every sum of products. */
    .macro multiply_add_double source, accumulator
    vfmadd231sd \source, \source, \accumulator
    .endm

/* Loads and stores: neighbouring words, a lap through all of them. Neighbours lie in different banks
 * of a first-level cache; words a line apart would all lie in one. No base changes, and the counter
 * is all there is to compute. */
    .macro load_round operation, accumulators
    .irp register, GENERAL
    \operation .Lplace(%rdi), %\register
    .set .Lplace, .Lplace + 8
    .endr
    .endm

    .macro store_round operation, accumulators
    .irp register, GENERAL
    \operation %\register, .Lplace(%rdi)
    .set .Lplace, .Lplace + 8
    .endr
    .endm

/* ---- the loops --------------------------------------------------------------------------------- */

    .section .rodata.ilp_loop, "a", @progbits
    .globl ilp_loop
    .hidden ilp_loop
    .type ilp_loop, @object
    .p2align 3
ilp_loop:

    .macro ilp_loop_of name, round, operation, accumulators, least
    .set .Lrounds, (\least + \accumulators - 1) / \accumulators
    .section .text.ilp_laps, "ax", @progbits
    .type \name, @function
    .p2align 4
\name:
    .rept .Lrounds
    \round \operation, \accumulators
    .endr
    dec %rsi
    jnz \name
    ret
    .size \name, . - \name
    .section .rodata.ilp_loop, "a", @progbits
    .long \name - .
    .long .Lrounds * \accumulators
    .endm

    .macro vector_loops name, operation
    .irp number, VECTOR
    ilp_loop_of ilp_\name\()_\number, vector_round, \operation, \number, 8
    .endr
    .endm

    .macro general_loops name, operation, least
    .irp number, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
    ilp_loop_of ilp_\name\()_\number, general_round, \operation, \number, \least
    .endr
    .endm

    vector_loops add_single, addss
    vector_loops add_double, addsd
    vector_loops mul_single, mulss
    vector_loops mul_double, mulsd
    vector_loops fma_double, multiply_add_double
    general_loops add_integer, add, 64
    general_loops mul_integer, imul, 8
    .set .Lplace, OF_READ
    ilp_loop_of ilp_load, load_round, mov, 12, 24
    .set .Lplace, OF_WRITTEN
    ilp_loop_of ilp_store, store_round, mov, 12, 24

    .size ilp_loop, . - ilp_loop
