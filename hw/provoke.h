/* Instructions that fault on purpose, each at a known place, for the self-test of the handlers. */
#ifndef HW_PROVOKE_H
#define HW_PROVOKE_H

#include <stdint.h>

/* Where each faults. A jump is reported where it leads to. */
extern const uint8_t provoke_read_at[], provoke_write_at[], provoke_divide_at[],
    provoke_opcode_at[], provoke_wrmsr_at[], provoke_overflow_at[];

/* In a window only, all of them. Those given an address return if nothing objects. */
void provoke_read(uint64_t address);
void provoke_write(uint64_t address); /* writes back what it read */
void provoke_execute(uint64_t address);
void provoke_divide(void); /* by zero */
void provoke_opcode(void); /* the one that is promised never to be defined */
void provoke_wrmsr(uint32_t msr, uint64_t value);
void provoke_overflow(void); /* pushes until the stack is full */
void provoke_avx(void);      /* an instruction on 256 bits: #UD unless they are switched on */

#endif
