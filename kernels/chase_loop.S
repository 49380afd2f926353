/* void *chase_hops(void *cursor, uint64_t hops)
 *
 *   rdi  cursor          (in)
 *   rsi  hops            (in), then those beyond whole laps in bits 0..5
 *   rax  cursor          of the chain, and the result
 *   rcx  laps to go
 *
 * The chain is mov (%rax),%rax alone. The counter is a chain of its own beside it, one cycle a lap,
 * so it costs no time. What is left over is done in falling powers of two without a jump through a
 * register, which nobody could have predicted, and which CET would want a landing pad for. */

    .section .text.chase_hops, "ax", @progbits
    .globl chase_hops
    .hidden chase_hops
    .type chase_hops, @function
    .p2align 6
chase_hops:
    mov %rdi, %rax
    mov %rsi, %rcx
    shr $6, %rcx
    jz .Lrest

.Llap:
    .rept 64
    mov (%rax), %rax
    .endr
    dec %rcx
    jnz .Llap

.Lrest:
    .irp hops, 32, 16, 8, 4, 2, 1
    test $\hops, %sil
    jz .Lno\hops
    .rept \hops
    mov (%rax), %rax
    .endr
.Lno\hops:
    .endr
    ret
    .size chase_hops, . - chase_hops
