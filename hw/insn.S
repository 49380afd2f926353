/* The primitives of hw/insn.h. System V calling convention:
 *   rdi, rsi, rdx   arguments         rax   answer
 * and nothing but rax, rcx and rdx is changed.
 *
 * An instruction that the processor may refuse is marked by may_fault. The list holds distances,
 * not addresses, so it needs no relocation. At each marked place the stack holds the return
 * address and nothing else: the trap code goes on at insn_refused, whichever it was. */
    .section .rodata.insn_may_fault, "a"
    .balign 4
    .global insn_may_fault, insn_may_fault_end
    .hidden insn_may_fault, insn_may_fault_end
insn_may_fault:

.macro may_fault instruction
1:  \instruction
    .pushsection .rodata.insn_may_fault, "a"
    .long 1b - .
    .popsection
.endm

.macro routine name
    .section .text.\name, "ax"
    .balign 16
    .global \name
    .hidden \name
    .type \name, @function
\name:
.endm

.macro end_routine name
    .size \name, . - \name
.endm

/* Where a refused instruction goes on: answers false. */
routine insn_refused
    xor %eax, %eax
    ret
end_routine insn_refused

/* edx:eax to *rsi; answers true. */
.macro store_and_succeed
    mov %eax, (%rsi)
    mov %edx, 4(%rsi)
    mov $1, %eax
    ret
.endm

/* rsi to edx:eax. */
.macro load_value
    mov %esi, %eax
    mov %rsi, %rdx
    shr $32, %rdx
.endm

routine insn_rdmsr              /* edi: register, rsi: where to */
    mov %edi, %ecx
    may_fault rdmsr
    store_and_succeed
end_routine insn_rdmsr

routine insn_wrmsr              /* edi: register, rsi: value */
    mov %edi, %ecx
    load_value
    may_fault wrmsr
    mov $1, %eax
    ret
end_routine insn_wrmsr

routine insn_rdpmc              /* edi: counter, rsi: where to */
    mov %edi, %ecx
    may_fault rdpmc
    store_and_succeed
end_routine insn_rdpmc

routine insn_xgetbv             /* edi: register, rsi: where to */
    mov %edi, %ecx
    may_fault xgetbv
    store_and_succeed
end_routine insn_xgetbv

routine insn_xsetbv             /* edi: register, rsi: value */
    mov %edi, %ecx
    load_value
    may_fault xsetbv
    mov $1, %eax
    ret
end_routine insn_xsetbv

routine insn_cpuid              /* edi: leaf, esi: subleaf, rdx: where to */
    push %rbx
    mov %rdx, %r8
    mov %edi, %eax
    mov %esi, %ecx
    cpuid
    mov %eax, (%r8)
    mov %ebx, 4(%r8)
    mov %ecx, 8(%r8)
    mov %edx, 12(%r8)
    pop %rbx
    ret
end_routine insn_cpuid

routine insn_in8                /* di: port */
    mov %edi, %edx
    xor %eax, %eax
    in %dx, %al
    ret
end_routine insn_in8

routine insn_in16
    mov %edi, %edx
    xor %eax, %eax
    in %dx, %ax
    ret
end_routine insn_in16

routine insn_in32
    mov %edi, %edx
    in %dx, %eax
    ret
end_routine insn_in32

routine insn_out8               /* di: port, sil: value */
    mov %edi, %edx
    mov %esi, %eax
    out %al, %dx
    ret
end_routine insn_out8

routine insn_out16
    mov %edi, %edx
    mov %esi, %eax
    out %ax, %dx
    ret
end_routine insn_out16

routine insn_out32
    mov %edi, %edx
    mov %esi, %eax
    out %eax, %dx
    ret
end_routine insn_out32

routine insn_read8              /* rdi: address */
    movzbl (%rdi), %eax
    ret
end_routine insn_read8

routine insn_read16
    movzwl (%rdi), %eax
    ret
end_routine insn_read16

routine insn_read32
    mov (%rdi), %eax
    ret
end_routine insn_read32

routine insn_read64
    mov (%rdi), %rax
    ret
end_routine insn_read64

routine insn_write8             /* rdi: address, rsi: value */
    mov %sil, (%rdi)
    ret
end_routine insn_write8

routine insn_write16
    mov %si, (%rdi)
    ret
end_routine insn_write16

routine insn_write32
    mov %esi, (%rdi)
    ret
end_routine insn_write32

routine insn_write64
    mov %rsi, (%rdi)
    ret
end_routine insn_write64

    .section .rodata.insn_may_fault, "a"
insn_may_fault_end:
    .section .note.GNU-stack, "", @progbits
