/* Instructions that fault on purpose (hw/provoke.h). rdi and rsi: arguments. */
    .section .text.provoke, "ax"

.macro routine name
    .balign 16
    .global \name
    .hidden \name
    .type \name, @function
\name:
.endm

.macro place name
    .global \name
    .hidden \name
\name:
.endm

routine provoke_read
place provoke_read_at
    mov (%rdi), %rax
    ret

routine provoke_write
    mov (%rdi), %rax
place provoke_write_at
    mov %rax, (%rdi)
    ret

routine provoke_execute
    jmp *%rdi

routine provoke_divide
    xor %ecx, %ecx
    xor %edx, %edx
    mov $1, %eax
place provoke_divide_at
    div %ecx
    ret

routine provoke_opcode
place provoke_opcode_at
    ud2

routine provoke_wrmsr
    mov %edi, %ecx
    mov %esi, %eax
    mov %rsi, %rdx
    shr $32, %rdx
place provoke_wrmsr_at
    wrmsr
    ret

routine provoke_overflow
place provoke_overflow_at
    push %rax
    jmp provoke_overflow

routine provoke_avx
    vxorps %ymm0, %ymm0, %ymm0
    ret

    .section .note.GNU-stack, "", @progbits
