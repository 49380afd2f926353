/* What la57.c and la57.S hand on to each other. It lies below 4 GiB, with a copy of the code: the
 * way from four levels of page tables to five leads through a mode that has no other addresses. */
#ifndef TESTS_QEMU_LOADERS_LA57_H
#define TESTS_QEMU_LOADERS_LA57_H

#define SWITCH_SP        0
#define SWITCH_FOUND_GDT 16
#define SWITCH_GDT       32
#define SWITCH_CODE32    48
#define SWITCH_ROOT      52
#define SWITCH_BACK      56

#ifndef __ASSEMBLER__

#include "hw/cpu.h"

#include <assert.h>
#include <stddef.h>

struct la57_switch {
    uint64_t sp;                                                  /* kept by the code */
    struct table_register found_gdt __attribute__((aligned(16))); /* kept by the code */
    struct table_register gdt __attribute__((aligned(16)));       /* found_gdt's, and one more */
    uint32_t code32 __attribute__((aligned(16)));                 /* its selector */
    uint32_t root;                                                /* of five levels */
    struct {
        uint32_t offset;
        uint16_t selector;
    } back; /* where 64-bit mode begins again */
};

static_assert(offsetof(struct la57_switch, found_gdt) == SWITCH_FOUND_GDT, "la57.S");
static_assert(offsetof(struct la57_switch, gdt) == SWITCH_GDT, "la57.S");
static_assert(offsetof(struct la57_switch, code32) == SWITCH_CODE32, "la57.S");
static_assert(offsetof(struct la57_switch, root) == SWITCH_ROOT, "la57.S");
static_assert(offsetof(struct la57_switch, back) == SWITCH_BACK, "la57.S");

/* void (struct la57_switch *), to be copied below 4 GiB and called there; la57_back is the place
 * where 64-bit mode begins again. */
extern const uint8_t la57_code[], la57_back[], la57_code_end[];

#endif
#endif
