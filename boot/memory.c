#include "boot/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FOUR_GIB    (UINT64_C(4) * GIB)
#define LEAST_PIECE ((uint64_t)PAGE_2M)

static uint64_t round_down(uint64_t value, uint64_t unit)
{
    return value - value % unit;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return round_down(value + unit - 1, unit);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t end_of(const struct memory_range *range)
{
    return range->base + range->bytes;
}

uint64_t memory_bytes(const struct memory_range *range, size_t ranges)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < ranges; i++) {
        bytes += range[i].bytes;
    }
    return bytes;
}

uint64_t memory_aligned_gib(const struct memory_range *range)
{
    uint64_t first = round_up(range->base, GIB);
    uint64_t end = round_down(end_of(range), GIB);
    return first < end ? (end - first) / GIB : 0;
}

/* ---- the map ---------------------------------------------------------------------------------- */

/* The fields of EFI_MEMORY_DESCRIPTOR at their places in the specification's struct. */
struct raw_descriptor {
    uint32_t type;
    uint64_t physical_start, virtual_start, pages, attribute;
};

static_assert(sizeof(struct raw_descriptor) == MEMORY_STRIDE, "fixed by the specification");

/* False for an entry that holds nothing. Bits 52 and up of an address do not exist. */
static bool convert(const uint8_t *raw, struct memory_descriptor *out)
{
    struct raw_descriptor found;
    const uint64_t space = UINT64_C(1) << 52;
    memcpy(&found, raw, sizeof found);
    if (found.pages == 0 || found.physical_start >= space ||
        found.pages > (space - found.physical_start) / PAGE_4K) {
        return false;
    }
    *out = (struct memory_descriptor){
        .kind = found.type,
        .base = found.physical_start,
        .bytes = found.pages * PAGE_4K,
        .attributes = found.attribute,
    };
    return true;
}

static int by_base(const void *a, const void *b)
{
    const struct memory_descriptor *left = a;
    const struct memory_descriptor *right = b;
    return (left->base > right->base) - (left->base < right->base);
}

enum status memory_read(const void *raw, size_t bytes, size_t stride, struct memory_descriptor *out,
                        size_t room, size_t *count, const char **reason)
{
    *count = 0;
    if (stride < MEMORY_STRIDE) {
        *reason = "the firmware's memory map has entries that are too short";
        return BAD_SETTING;
    }
    for (size_t at = 0; bytes - at >= stride; at += stride) {
        struct memory_descriptor descriptor;
        if (!convert((const uint8_t *)raw + at, &descriptor)) {
            continue;
        }
        if (*count == room) {
            *reason = "the firmware's memory map has more entries than there is room for";
            return BAD_SETTING;
        }
        out[(*count)++] = descriptor;
    }
    qsort(out, *count, sizeof *out, by_base);
    return OK;
}

static bool is_ram(const struct memory_descriptor *descriptor)
{
    uint32_t kind = descriptor->kind;
    return (kind >= MEMORY_LOADER_CODE && kind < MEMORY_UNUSABLE) || kind == MEMORY_ACPI_RECLAIM ||
           kind == MEMORY_ACPI_NVS;
}

uint64_t memory_total(const struct memory_descriptor *map, size_t count)
{
    uint64_t bytes = 0;
    uint64_t seen = 0; /* nothing below is counted twice */
    for (size_t i = 0; i < count; i++) {
        uint64_t end = map[i].base + map[i].bytes;
        if (is_ram(&map[i]) && end > seen) {
            bytes += end - (map[i].base > seen ? map[i].base : seen);
            seen = end;
        }
    }
    return bytes;
}

static bool is_free(const struct memory_descriptor *descriptor)
{
    uint64_t unwanted = MEMORY_KEEPS_ITS_DATA | MEMORY_SPECIAL_PURPOSE;
    return descriptor->kind == MEMORY_CONVENTIONAL && !(descriptor->attributes & unwanted);
}

/* ---- free ranges ------------------------------------------------------------------------------ */

/* Appends what of [base, end) lies above the last range, or lengthens that one if it ends there. */
static void append(struct memory_range *out, size_t *count, uint64_t base, uint64_t end)
{
    struct memory_range *last = *count > 0 ? &out[*count - 1] : NULL;
    base = round_up(base, PAGE_4K);
    end = round_down(end, PAGE_4K);
    if (last && base < end_of(last)) {
        base = end_of(last);
    }
    if (base >= end) {
        return;
    }
    if (last && base == end_of(last)) {
        last->bytes += end - base;
        return;
    }
    out[(*count)++] = (struct memory_range){ base, end - base };
}

/* Appends what no other entry claims of a free one. */
static void append_free(const struct memory_descriptor *map, size_t count,
                        const struct memory_descriptor *free, struct memory_range *out,
                        size_t *ranges)
{
    uint64_t base = free->base;
    uint64_t end = free->base + free->bytes;
    for (size_t i = 0; i < count && map[i].base < end; i++) {
        uint64_t taken_end = map[i].base + map[i].bytes;
        if (is_free(&map[i]) || taken_end <= base) {
            continue;
        }
        append(out, ranges, base, map[i].base);
        base = taken_end;
    }
    append(out, ranges, base, end);
}

size_t memory_free_ranges(const struct memory_descriptor *map, size_t count,
                          struct memory_range *out)
{
    size_t ranges = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_free(&map[i])) {
            append_free(map, count, &map[i], out, &ranges);
        }
    }
    return ranges;
}

/* ---- the plan --------------------------------------------------------------------------------- */

/* The range with the fewest bytes of those below `limit`, or of all. */
static struct memory_range *smallest(struct memory_range *range, size_t ranges, uint64_t limit)
{
    struct memory_range *found = NULL;
    for (size_t i = 0; i < ranges; i++) {
        if (range[i].base < limit && (!found || range[i].bytes < found->bytes)) {
            found = &range[i];
        }
    }
    return found;
}

static void remove_range(struct memory_range *range, size_t *ranges, const struct memory_range *one)
{
    size_t i = (size_t)(one - range);
    (*ranges)--;
    memmove(&range[i], &range[i + 1], (*ranges - i) * sizeof *range);
}

/* Of more ranges than there is room for, the largest. */
static void keep(struct memory_range *arena, size_t *ranges, uint64_t base, uint64_t end)
{
    if (base >= end || end - base < LEAST_PIECE) {
        return;
    }
    if (*ranges == MEMORY_ARENA_RANGES) {
        struct memory_range *least_useful = smallest(arena, *ranges, UINT64_MAX);
        if (least_useful->bytes >= end - base) {
            return;
        }
        remove_range(arena, ranges, least_useful);
    }
    arena[(*ranges)++] = (struct memory_range){ base, end - base };
}

/* Everything from 1 MiB up; what crosses 4 GiB becomes two, since the firmware's share lies below.
 * Returns the free bytes below 4 GiB. */
static uint64_t gather(const struct memory_range *free, size_t count, struct memory_range *arena,
                       size_t *ranges)
{
    uint64_t low = 0;
    *ranges = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t base = free[i].base > MIB ? free[i].base : MIB;
        uint64_t end = end_of(&free[i]);
        low += least(end, FOUR_GIB) - least(free[i].base, FOUR_GIB);
        keep(arena, ranges, base, least(end, FOUR_GIB));
        keep(arena, ranges, base > FOUR_GIB ? base : FOUR_GIB, end);
    }
    return low;
}

/* Cuts `bytes` off the end that costs no aligned GiB, if one does not. */
static void cut(struct memory_range *range, uint64_t bytes)
{
    struct memory_range without_head = { range->base + bytes, range->bytes - bytes };
    struct memory_range without_tail = { range->base, range->bytes - bytes };
    bool head = memory_aligned_gib(&without_head) >= memory_aligned_gib(&without_tail);
    *range = head ? without_head : without_tail;
}

/* Gives small ranges back, and a part of a large one. `low`: free bytes below 4 GiB. */
static void leave_firmware_its_share(struct memory_range *arena, size_t *ranges, uint64_t low)
{
    for (;;) {
        struct memory_range *small = smallest(arena, *ranges, FOUR_GIB);
        uint64_t ours = 0;
        for (size_t i = 0; i < *ranges; i++) {
            ours += arena[i].base < FOUR_GIB ? arena[i].bytes : 0;
        }
        if (!small || low - ours >= MEMORY_FOR_FIRMWARE) {
            return;
        }
        uint64_t missing = round_up(MEMORY_FOR_FIRMWARE - (low - ours), PAGE_2M);
        if (small->bytes < missing + LEAST_PIECE) {
            remove_range(arena, ranges, small);
        } else {
            cut(small, missing);
        }
    }
}

/* The most useful first: those with an aligned GiB, then by size. */
static int by_use(const void *a, const void *b)
{
    const struct memory_range *left = a;
    const struct memory_range *right = b;
    bool left_gib = memory_aligned_gib(left) > 0;
    bool right_gib = memory_aligned_gib(right) > 0;
    if (left_gib != right_gib) {
        return right_gib - left_gib;
    }
    return (left->bytes < right->bytes) - (left->bytes > right->bytes);
}

static int by_address(const void *a, const void *b)
{
    const struct memory_range *left = a;
    const struct memory_range *right = b;
    return (left->base > right->base) - (left->base < right->base);
}

/* `bytes` of a range, from an aligned GiB on if there is room behind one. */
static struct memory_range part_of(const struct memory_range *range, uint64_t bytes)
{
    uint64_t aligned = round_up(range->base, GIB);
    bool fits = aligned < end_of(range) && end_of(range) - aligned >= bytes;
    return (struct memory_range){ fits ? aligned : range->base, bytes };
}

static void limit(struct memory_range *arena, size_t *ranges, uint64_t most)
{
    uint64_t bytes = 0;
    size_t kept = 0;
    qsort(arena, *ranges, sizeof *arena, by_use);
    while (kept < *ranges && bytes < most) {
        if (arena[kept].bytes > most - bytes) {
            uint64_t wanted = round_up(most - bytes, PAGE_2M);
            arena[kept] = part_of(&arena[kept], least(wanted, arena[kept].bytes));
        }
        bytes += arena[kept++].bytes;
    }
    *ranges = kept;
}

enum status memory_plan(const struct memory_range *free, size_t count, uint64_t most,
                        struct memory_range *arena, size_t *ranges, const char **reason)
{
    uint64_t low = gather(free, count, arena, ranges);
    leave_firmware_its_share(arena, ranges, low);
    if (most != 0) {
        limit(arena, ranges, most > MEMORY_LEAST_ARENA ? most : MEMORY_LEAST_ARENA);
    }
    qsort(arena, *ranges, sizeof *arena, by_address);
    if (memory_bytes(arena, *ranges) < MEMORY_LEAST_ARENA) {
        *reason = "less than 64 MiB of memory is free for measurements";
        return ABSENT;
    }
    return OK;
}
