/* The 256 entries of the interrupt table, and the way from each of them into C and back.
 * Every vector has an interrupt stack, which the processor aligns to 16 bytes before it pushes. */
    .section .text.trap, "ax"
    .global trap_entries
    .hidden trap_entries, trap_handle
    .type trap_entries, @function

/* The exceptions with which the processor pushes an error code, a bit each (SDM vol. 3A, table 6-1;
 * for 29 and 30 AMD APM vol. 2, table 8-1). */
    .set with_code, 1<<8 | 1<<10 | 1<<11 | 1<<12 | 1<<13 | 1<<14 | 1<<17 | 1<<21 | 1<<29 | 1<<30

    .balign 16
trap_entries:
    .set vector, 0
    .rept 32
    .balign 16
    .if !((with_code >> vector) & 1)
    push $0                     /* in its place, so that all frames are alike */
    .endif
    push $vector
    jmp trap_common
    .set vector, vector + 1
    .endr
    .rept 224
    .balign 16
    push $0
    push $vector
    jmp trap_common
    .set vector, vector + 1
    .endr
    .size trap_entries, . - trap_entries

/* The stack, from the top: ss, rsp, rflags, cs, rip, error code, vector (56 bytes on a stack
 * aligned to 16) and fifteen registers (120 more): struct trap_frame, and aligned for the call. */
    .type trap_common, @function
trap_common:
    push %rax
    push %rbx
    push %rcx
    push %rdx
    push %rsi
    push %rdi
    push %rbp
    push %r8
    push %r9
    push %r10
    push %r11
    push %r12
    push %r13
    push %r14
    push %r15
    cld
    mov %rsp, %rdi
    call trap_handle
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %r11
    pop %r10
    pop %r9
    pop %r8
    pop %rbp
    pop %rdi
    pop %rsi
    pop %rdx
    pop %rcx
    pop %rbx
    pop %rax
    add $16, %rsp               /* vector and error code */
    iretq
    .size trap_common, . - trap_common

    .section .note.GNU-stack, "", @progbits
