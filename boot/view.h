/* The address spaces that measurements run in, made of the arena.
 *
 * Every view shows memory of the arena at VIEW_BASE under a root table of its own, so that in one
 * placing each page size shows the same lines at the same addresses. Beside it a view holds only
 * what a body needs, at the addresses it has outside: the image, the window's own memory, a stack
 * with a guard page below it, registers of devices, and its own tables (read-only). The rest of the
 * arena is not mapped.
 *
 * Works on plain memory whose physical and virtual addresses agree; loads nothing. Outside a body
 * only, but for the reading functions. */
#ifndef BOOT_VIEW_H
#define BOOT_VIEW_H

#include "boot/scatter.h"
#include "hw/mtrr.h"
#include "hw/paging.h"
#include "kernels/bench.h"

#define VIEW_BASE (UINT64_C(64) << 40) /* 64 TiB */
#define VIEW_END  (UINT64_C(128) << 40)

enum {
    VIEW_REGIONS = 32,
    VIEW_STACK_BYTES = 64 * KIB,
    /* A root for each kind of view, and one for bodies that need no view. */
    VIEW_ROOTS = PLACINGS * PAGE_SIZES + 1,
    VIEW_LOW_BYTES = VIEW_ROOTS * PAGE_4K,
};

/* What a region may be used for, which is all that it is mapped for. */
enum view_kind { VIEW_CODE, VIEW_CONSTANTS, VIEW_DATA, VIEW_REGISTERS, VIEW_KINDS };

/* Something a body needs beside the view; mapped in whole 4 KiB pages. */
struct view_region {
    uint64_t base, bytes;
    enum view_kind kind;
};

struct view_setup {
    const struct memory_range *arena; /* allocated, ours alone; at most MEMORY_ARENA_RANGES */
    size_t ranges;
    uint64_t low_base; /* VIEW_LOW_BYTES below 4 GiB, 4 KiB aligned, for the roots */
    const struct view_region *region;
    size_t regions;
    const struct mtrr *mtrr;
    struct paging_rules rules;
    bool pages_1g;    /* the processor has them */
    unsigned colours; /* of the second-level cache: its bytes / ways / 4 KiB; 1: unknown */
    uint64_t key;     /* of the scattered placings' order */
};

/* Everything about the arena. The caller's memory; tables and stack are taken from the arena. */
struct views {
    struct memory_range piece[MEMORY_ARENA_RANGES]; /* what can be shown: write-back memory */
    size_t pieces;
    struct memory_range in_order;     /* the longest stretch that offers most page sizes */
    struct scatter scatter[PLACINGS]; /* of the placings that are scattered */
    bool available[PAGE_SIZES];
    const char *reason[PAGE_SIZES]; /* static text where a size is not available */
    uint64_t guard;                 /* the page below the stack: never mapped */
    uint64_t stack_end;
    struct paging_pool tables;
    uint64_t low_base;
    struct paging_rules rules;
    struct view_region region[VIEW_REGIONS];
    size_t regions;
};

/* One address space; the next one built takes its tables away. */
struct view {
    struct paging space;
    enum page_size leaf;
    uint64_t bytes; /* from VIEW_BASE on, whole leaves; 0: nothing is shown */
};

/* Keeps of the arena what is write-back memory, sets tables and stack aside where they cost least,
 * and finds out which page sizes there are. ABSENT with a reason: less than MEMORY_LEAST_ARENA is
 * write-back. DENIED: page tables could not express this (PAT, addresses, too many regions). */
enum status views_prepare(struct views *views, const struct view_setup *setup, const char **reason);

/* Bytes that views can show in all. */
uint64_t views_bytes(const struct views *views);

/* Builds the tables of a view; with `layout` NULL one that shows nothing of the arena. A clear from
 * all leaves. ABSENT with a reason where the machine has no such view, and `view` is then empty and
 * unusable. Larger views of a placing begin with the frames of smaller ones; memory is never
 * cleared, but placings share frames: what was written under one is lost when another is written. */
enum status views_build(struct views *views, const struct layout *layout, struct view *view,
                        const char **reason);

#endif
