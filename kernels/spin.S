/* uint64_t spin_adds(uint64_t laps)
 *
 *   rdi  laps to go      (in)
 *   rax  the chain's sum, and the result
 *   rdx  1, what is added
 *
 * Adding a register: renamers of some processors (Intel since Golden Cove) do the adding of small
 * constants themselves, in no time. The counter is a chain of its own beside the sum. */

    .section .text.spin_adds, "ax", @progbits
    .globl spin_adds
    .hidden spin_adds
    .type spin_adds, @function
    .p2align 6
spin_adds:
    mov $0, %eax
    mov $1, %edx
    test %rdi, %rdi
    jz .Ldone

.Llap:
    .rept 64
    add %rdx, %rax
    .endr
    dec %rdi
    jnz .Llap

.Ldone:
    ret
    .size spin_adds, . - spin_adds
