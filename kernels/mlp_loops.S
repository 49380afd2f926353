/* void mlp_hops_N(void **cursor, uint64_t rounds), for N = 1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48
 * and 64
 *
 *   rdi  cursor[N]       (in; read before the first round, written after the last)
 *   rsi  rounds          (in)
 *   rcx  laps, then rounds, to go
 *   rax rdx rsi r8-r11 rbx rbp r12-r14   cursors of the first twelve chains
 *   r15  cursor under way of a chain beyond these, which lives in its place of cursor[]
 *
 * A round is one hop of each chain, so up to twelve chains it is loads alone. No chain's load needs
 * another's: as many are under way as the core can have. A chain beyond the twelfth has two
 * instructions more, and its cursor goes through a store and a load of the first cache: some cycles
 * a hop, little where a hop takes many. Of the two ways to keep it, an XMM register would spare
 * these, but takes as many instructions, and holds no more than sixteen more chains.
 *
 * The counter is a chain of its own beside the loads. Registers that belong to the caller are kept
 * on the stack meanwhile; nothing touches it during the laps. */

/* Does something with the register of each chain from `first` to below `end`; the caller's own
 * registers come last, so few chains need none of them. */
.macro each_register do, first, end
    .Lnumber = 0
    .irp register, rax, rdx, rsi, r8, r9, r10, r11, rbx, rbp, r12, r13, r14
    .if .Lnumber >= \first && .Lnumber < \end
    \do \register, .Lnumber
    .endif
    .Lnumber = .Lnumber + 1
    .endr
.endm

/* The same, the last first. */
.macro each_register_back do, first, end
    .Lnumber = 11
    .irp register, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rsi, rdx, rax
    .if .Lnumber >= \first && .Lnumber < \end
    \do \register, .Lnumber
    .endif
    .Lnumber = .Lnumber - 1
    .endr
.endm

.macro keep register, number
    push %\register
.endm

.macro give_back register, number
    pop %\register
.endm

.macro take register, number
    mov 8*\number(%rdi), %\register
.endm

.macro put register, number
    mov %\register, 8*\number(%rdi)
.endm

.macro hop register, number
    mov (%\register), %\register
.endm

.macro hop_in_memory number
    mov 8*(\number)(%rdi), %r15
    mov (%r15), %r15
    mov %r15, 8*(\number)(%rdi)
.endm

.macro one_round chains
    each_register hop, 0, \chains
    .if \chains > 12
    .Lchain = 12
    .rept \chains - 12
    hop_in_memory .Lchain
    .Lchain = .Lchain + 1
    .endr
    .endif
.endm

/* A lap has so many rounds that its counting adds at most a twentieth to its loads. */
.macro mlp_loop chains, rounds
    .section .text.mlp_hops_\chains, "ax", @progbits
    .globl mlp_hops_\chains
    .hidden mlp_hops_\chains
    .type mlp_hops_\chains, @function
    .p2align 6
mlp_hops_\chains:
    each_register keep, 7, \chains
    .if \chains > 12
    push %r15
    .endif
    mov %rsi, %rcx
    each_register take, 0, \chains

    sub $\rounds, %rcx
    jb .Lrest\chains
.Llap\chains:
    .rept \rounds
    one_round \chains
    .endr
    sub $\rounds, %rcx
    jae .Llap\chains

.Lrest\chains:
    .if \rounds > 1
    add $\rounds, %rcx
    jz .Ldone\chains
.Lround\chains:
    one_round \chains
    dec %rcx
    jnz .Lround\chains
    .endif

.Ldone\chains:
    each_register put, 0, \chains
    .if \chains > 12
    pop %r15
    .endif
    each_register_back give_back, 7, \chains
    ret
    .size mlp_hops_\chains, . - mlp_hops_\chains
.endm

    mlp_loop 1, 48
    mlp_loop 2, 24
    mlp_loop 3, 16
    mlp_loop 4, 12
    mlp_loop 6, 8
    mlp_loop 8, 6
    mlp_loop 10, 5
    mlp_loop 12, 4
    mlp_loop 16, 1
    mlp_loop 24, 1
    mlp_loop 32, 1
    mlp_loop 48, 1
    mlp_loop 64, 1
