/* From four levels of page tables to five. CR4.LA57 can be set only while paging is off (SDM
 * vol. 3A, 4.1.1), and 64-bit mode cannot be without it, so the way is: compatibility mode, 32-bit
 * protected mode without paging, the same with paging, 64-bit mode. On the way the upper halves of
 * the registers are lost, and no stack is used.
 *
 *   rdi   struct la57_switch, below 4 GiB
 *   rax   scratch */
#include "tests/qemu/loaders/la57.h"

#define CR0_PG   (1 << 31)
#define CR4_LA57 (1 << 12)

    .section .text.la57, "ax"
    .global la57_code, la57_back, la57_code_end
    .hidden la57_code, la57_back, la57_code_end
    .balign 16
la57_code:
    pushfq
    cli
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, SWITCH_SP(%rdi)
    sgdt SWITCH_FOUND_GDT(%rdi)
    lgdt SWITCH_GDT(%rdi)
    mov SWITCH_CODE32(%rdi), %eax
    push %rax
    lea in_32_bits(%rip), %rax
    push %rax
    lretq

    .code32
in_32_bits:
    mov %cr0, %eax
    and $~CR0_PG, %eax
    mov %eax, %cr0
    mov %cr4, %eax
    or $CR4_LA57, %eax
    mov %eax, %cr4
    mov SWITCH_ROOT(%edi), %eax
    mov %eax, %cr3
    mov %cr0, %eax
    or $CR0_PG, %eax
    mov %eax, %cr0              /* EFER.LME is still set: long mode is on again */
    ljmp *SWITCH_BACK(%edi)

    .code64
la57_back:
    mov %edi, %edi              /* clears the upper half */
    mov SWITCH_SP(%rdi), %rsp
    lgdt SWITCH_FOUND_GDT(%rdi)
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    popfq
    ret
la57_code_end:

    .section .note.GNU-stack, "", @progbits
