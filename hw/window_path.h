/* What hw/window.S loads on the way into a window and on the way out: all values decided in C
 * (hw/window.c), none here. Included by both; the assertions below keep the two views together. */
#ifndef HW_WINDOW_PATH_H
#define HW_WINDOW_PATH_H

#define PATH_INSIDE_GDT 0
#define PATH_INSIDE_IDT 16
#define PATH_INSIDE_TR  32
#define PATH_INSIDE_CR4 40
#define PATH_INSIDE_CR3 48
#define PATH_INSIDE_SP  56
#define PATH_FOUND_GDT  64
#define PATH_FOUND_IDT  80
#define PATH_FOUND_TR   96
#define PATH_FOUND_CR4  104
#define PATH_FOUND_CR3  112
#define PATH_FOUND_SP   120
#define PATH_WAY_OUT_SP 128

#ifndef __ASSEMBLER__

#include "hw/cpu.h"

#include <assert.h>
#include <stddef.h>

struct window_path {
    struct table_register inside_gdt __attribute__((aligned(16)));
    struct table_register inside_idt __attribute__((aligned(16)));
    uint64_t inside_tr __attribute__((aligned(16)));
    uint64_t inside_cr4;
    uint64_t inside_cr3; /* 0: stay on the firmware's page tables */
    uint64_t inside_sp;  /* 0: stay on the firmware's stack */
    struct table_register found_gdt __attribute__((aligned(16)));
    struct table_register found_idt __attribute__((aligned(16)));
    uint64_t found_tr __attribute__((aligned(16))); /* 0: leave ours */
    uint64_t found_cr4;
    uint64_t found_cr3;
    uint64_t found_sp;   /* hw/window.S keeps it here */
    uint64_t way_out_sp; /* the stack at window_way_out */
};

static_assert(offsetof(struct window_path, inside_gdt) == PATH_INSIDE_GDT, "hw/window.S");
static_assert(offsetof(struct window_path, inside_idt) == PATH_INSIDE_IDT, "hw/window.S");
static_assert(offsetof(struct window_path, inside_tr) == PATH_INSIDE_TR, "hw/window.S");
static_assert(offsetof(struct window_path, inside_cr4) == PATH_INSIDE_CR4, "hw/window.S");
static_assert(offsetof(struct window_path, inside_cr3) == PATH_INSIDE_CR3, "hw/window.S");
static_assert(offsetof(struct window_path, inside_sp) == PATH_INSIDE_SP, "hw/window.S");
static_assert(offsetof(struct window_path, found_gdt) == PATH_FOUND_GDT, "hw/window.S");
static_assert(offsetof(struct window_path, found_idt) == PATH_FOUND_IDT, "hw/window.S");
static_assert(offsetof(struct window_path, found_tr) == PATH_FOUND_TR, "hw/window.S");
static_assert(offsetof(struct window_path, found_cr4) == PATH_FOUND_CR4, "hw/window.S");
static_assert(offsetof(struct window_path, found_cr3) == PATH_FOUND_CR3, "hw/window.S");
static_assert(offsetof(struct window_path, found_sp) == PATH_FOUND_SP, "hw/window.S");
static_assert(offsetof(struct window_path, way_out_sp) == PATH_WAY_OUT_SP, "hw/window.S");

/* Goes in, calls window_inside(path), comes out through window_way_out, which calls
 * window_outside(path) first. Interrupts must be off. */
void window_cross(struct window_path *path);
/* Where a handler sends a body that faulted: rbx = path, rsp = path->way_out_sp. */
extern const uint8_t window_way_out[];
/* All of hw/window.S. */
extern const uint8_t window_code[], window_code_end[];
/* hw/window.c: all that happens on our own tables and stack. */
void window_inside(struct window_path *path);
void window_outside(struct window_path *path);

#endif
#endif
