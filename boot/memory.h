/* The firmware's memory map, made into the ranges that measurements may use. Pure: it works on a
 * copy of the map, and whoever allocates takes the plan to the firmware.
 *
 *     raw map  ->  memory_read  ->  memory_free_ranges  ->  memory_plan  ->  AllocatePages
 *
 * UEFI specification, EFI_BOOT_SERVICES.GetMemoryMap. */
#ifndef BOOT_MEMORY_H
#define BOOT_MEMORY_H

#include "hw/machine.h"

/* EFI_MEMORY_TYPE, those that mean something here; the numbers are fixed by the specification. */
enum memory_kind {
    MEMORY_LOADER_CODE = 1,
    MEMORY_CONVENTIONAL = 7, /* free */
    MEMORY_UNUSABLE = 8,
    MEMORY_ACPI_RECLAIM = 9,
    MEMORY_ACPI_NVS = 10,
};

/* Attributes of a descriptor. */
#define MEMORY_KEEPS_ITS_DATA  (UINT64_C(1) << 15) /* EFI_MEMORY_NV: persistent */
#define MEMORY_SPECIAL_PURPOSE (UINT64_C(1) << 18) /* EFI_MEMORY_SP: kept for a driver (HBM, CXL) */

struct memory_descriptor {
    uint32_t kind;
    uint64_t base, bytes;
    uint64_t attributes;
};

struct memory_range {
    uint64_t base, bytes;
};

enum {
    MEMORY_ROOM = 4096, /* descriptors that a caller should have room for */
    MEMORY_STRIDE = 40, /* least distance of two raw descriptors: the specification's struct */
    MEMORY_ARENA_RANGES = 64,
};

/* What a run needs at least, and what stays with the firmware below 4 GiB. */
#define MEMORY_LEAST_ARENA  (UINT64_C(64) * MIB)
#define MEMORY_FOR_FIRMWARE (UINT64_C(64) * MIB)

/* Copies a raw map of `bytes` bytes, whose descriptors are `stride` bytes apart (48 where the struct
 * has 40: a firmware may append fields), into `out`, sorted by address. Entries of no length, or
 * beyond the end of the address space, are dropped. BAD_SETTING with a reason: the stride is too
 * small, or there are more than `room` entries. */
enum status memory_read(const void *raw, size_t bytes, size_t stride, struct memory_descriptor *out,
                        size_t room, size_t *count, const char **reason);

/* All RAM of a sorted map: free, used, or the firmware's for good. Bytes. */
uint64_t memory_total(const struct memory_descriptor *map, size_t count);

/* The free ranges of a sorted map in whole 4 KiB pages, neighbours merged; where entries overlap,
 * memory counts as free only if all of them say so. At most as many as there are entries: `out` has
 * room for `count`. Returns their number. */
size_t memory_free_ranges(const struct memory_descriptor *map, size_t count,
                          struct memory_range *out);

/* Chooses from `free` (sorted, disjoint) what to ask the firmware for: all of it, or about `most`
 * bytes (0: no limit) where they serve best, aligned GiB first. Leaves alone the first MiB, pieces
 * under 2 MiB, and MEMORY_FOR_FIRMWARE below 4 GiB (or all there, if there is less). `arena` has
 * room for MEMORY_ARENA_RANGES and is sorted by address. ABSENT with a reason if that makes less
 * than MEMORY_LEAST_ARENA. */
enum status memory_plan(const struct memory_range *free, size_t count, uint64_t most,
                        struct memory_range *arena, size_t *ranges, const char **reason);

/* Bytes in all ranges. */
uint64_t memory_bytes(const struct memory_range *range, size_t ranges);

/* Whole GiB, aligned to a GiB, in a range. */
uint64_t memory_aligned_gib(const struct memory_range *range);

#endif
