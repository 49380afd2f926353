/* void read_lines(const void *from, size_t lines)
 *
 *   rdi  the next line   (in)
 *   rsi  lines           (in), then those beyond whole laps in bits 0..2
 *   rcx  laps to go
 *   rax  what was read, and is not used
 *
 * One load a line of 64 bytes, eight lines a lap. The loads write the same register and read none
 * of one another's results, so as many are under way as the core can have. */

    .section .text.read_lines, "ax", @progbits
    .globl read_lines
    .hidden read_lines
    .type read_lines, @function
    .p2align 6
read_lines:
    mov %rsi, %rcx
    shr $3, %rcx
    jz .Lrest

.Llap:
    .irp line, 0, 1, 2, 3, 4, 5, 6, 7
    mov 64*\line(%rdi), %rax
    .endr
    add $512, %rdi
    dec %rcx
    jnz .Llap

.Lrest:
    and $7, %esi
    jz .Ldone

.Lline:
    mov (%rdi), %rax
    add $64, %rdi
    dec %esi
    jnz .Lline

.Ldone:
    ret
    .size read_lines, . - read_lines
