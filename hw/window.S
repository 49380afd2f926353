/* The way into a window and out of it: only what must not be left to a compiler, because the
 * tables, the page tables and the stack change under the running code. All values come from
 * struct window_path (hw/window_path.h).
 *
 *   rbx   the path, from beginning to end
 *   rax   scratch
 *
 * Interrupts are off throughout; an NMI or a machine check may come between any two
 * instructions. It must find an interrupt table together with the task register and the stacks
 * that table counts on. */
#include "hw/window_path.h"

    .section .text.window, "ax"
    .global window_cross, window_way_out
    .hidden window_cross, window_way_out, window_inside, window_outside
    .global window_code, window_code_end
    .hidden window_code, window_code_end
    .balign 16
window_code:

/* CR4 goes first and comes back last. It loses PGE, so that no global entry of the firmware's can
 * cover a page of ours; and CET, since an interrupt stack of ours has no shadow stack. Nothing is
 * called or returned from between the two that was not begun there, so the shadow stack of the
 * firmware, if it has one, is found as it was left (SDM vol. 1, 17.2).
 *
 * TR comes before the IDT, since our gates name interrupt stacks, which TR's segment holds: an NMI
 * between LIDT and LTR would be a triple fault. Our GDT has the found one's entries at the same
 * selectors, so the loaded segments stay valid, as do the gates of the found IDT. */
    .type enter_tables, @function
enter_tables:
    lgdt PATH_INSIDE_GDT(%rbx)
    mov PATH_INSIDE_TR(%rbx), %eax
    ltr %ax
    lidt PATH_INSIDE_IDT(%rbx)
    ret
    .size enter_tables, . - enter_tables

/* The exact reverse. The found TR is loaded only if there was one worth the name. */
    .type leave_tables, @function
leave_tables:
    lidt PATH_FOUND_IDT(%rbx)
    lgdt PATH_FOUND_GDT(%rbx)
    mov PATH_FOUND_TR(%rbx), %eax
    test %eax, %eax
    jz 1f
    ltr %ax
1:  ret
    .size leave_tables, . - leave_tables

    .type window_cross, @function
window_cross:                   /* rdi: path */
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    sub $8, %rsp                /* aligned to 16 again */
    mov %rdi, %rbx
    mov %rsp, PATH_FOUND_SP(%rbx)

    mov PATH_INSIDE_CR4(%rbx), %rax
    cmp PATH_FOUND_CR4(%rbx), %rax
    je 1f
    mov %rax, %cr4
1:  call enter_tables
    mov PATH_INSIDE_CR3(%rbx), %rax
    test %rax, %rax
    jz 2f
    mov %rax, %cr3              /* from here to the next RSP no instruction uses the stack */
2:  mov PATH_INSIDE_SP(%rbx), %rax
    test %rax, %rax
    jz 3f
    mov %rax, %rsp
3:  mov %rsp, PATH_WAY_OUT_SP(%rbx)
    mov %rbx, %rdi
    call window_inside

window_way_out:                 /* rbx: path, rsp: as at 3. Also where a handler's IRETQ ends */
    mov %rbx, %rdi
    call window_outside
    mov PATH_FOUND_SP(%rbx), %rsp   /* no stack until CR3 has followed */
    mov PATH_INSIDE_CR3(%rbx), %rax
    test %rax, %rax
    jz 4f
    mov PATH_FOUND_CR3(%rbx), %rax
    mov %rax, %cr3
4:  call leave_tables
    mov PATH_FOUND_CR4(%rbx), %rax
    cmp PATH_INSIDE_CR4(%rbx), %rax
    je 5f
    mov %rax, %cr4
5:  add $8, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
    .size window_cross, . - window_cross
window_code_end:

    .section .note.GNU-stack, "", @progbits
