#include "boot/view.h"

#include <string.h>

/* Tables for what is mapped beside view and regions: stack, roots, and tables themselves. */
static const uint64_t spare_tables = UINT64_C(32) * PAGE_4K;

static uint64_t round_down(uint64_t value, uint64_t unit)
{
    return value - value % unit;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return round_down(value + unit - 1, unit);
}

static uint64_t end_of(const struct memory_range *range)
{
    return range->base + range->bytes;
}

/* ---- what of the arena can be used ------------------------------------------------------------ */

static void add_piece(struct views *views, uint64_t base, uint64_t end)
{
    struct memory_range *last = views->pieces > 0 ? &views->piece[views->pieces - 1] : NULL;
    base = round_up(base, PAGE_4K);
    end = round_down(end, PAGE_4K);
    if (base >= end) {
        return;
    }
    if (last && end_of(last) == base) {
        last->bytes += end - base;
    } else if (views->pieces < MEMORY_ARENA_RANGES) {
        views->piece[views->pieces++] = (struct memory_range){ base, end - base };
    }
}

/* A page over two memory types is undefined, and other types are not what is measured. */
static void keep_write_back(struct views *views, const struct view_setup *setup)
{
    for (size_t i = 0; i < setup->ranges; i++) {
        const uint64_t end = end_of(&setup->arena[i]);
        uint64_t at = setup->arena[i].base;
        while (at < end) {
            uint64_t next;
            uint8_t type = mtrr_type(setup->mtrr, at, &next);
            next = next < end ? next : end;
            if (type == MEMORY_WRITE_BACK) {
                add_piece(views, at, next);
            }
            at = next;
        }
    }
}

uint64_t views_bytes(const struct views *views)
{
    return memory_bytes(views->piece, views->pieces);
}

/* What of a piece can be shown in order: from an aligned GiB on if it has one, else in 2 MiB. */
static struct memory_range aligned_part(const struct memory_range *piece)
{
    uint64_t unit = memory_aligned_gib(piece) > 0 ? PAGE_1G : PAGE_2M;
    uint64_t base = round_up(piece->base, unit);
    uint64_t end = round_down(end_of(piece), PAGE_4K);
    return (struct memory_range){ base, base < end ? end - base : 0 };
}

/* Is `a` the better one to show in order: more page sizes, then more bytes? */
static bool is_better(const struct memory_range *a, const struct memory_range *b)
{
    bool gib_a = memory_aligned_gib(a) > 0;
    bool gib_b = memory_aligned_gib(b) > 0;
    return gib_a != gib_b ? gib_a : a->bytes > b->bytes;
}

static struct memory_range best_part(const struct views *views)
{
    struct memory_range best = { 0, 0 };
    for (size_t i = 0; i < views->pieces; i++) {
        struct memory_range part = aligned_part(&views->piece[i]);
        if (is_better(&part, &best)) {
            best = part;
        }
    }
    return best;
}

/* ---- memory for tables and stack -------------------------------------------------------------- */

/* What is left of a piece without `bytes` at its head or its tail. */
static struct memory_range without(const struct memory_range *piece, uint64_t bytes, bool head)
{
    return (struct memory_range){ piece->base + (head ? bytes : 0), piece->bytes - bytes };
}

/* Cuts a contiguous part out of the piece, and at the end of it, where the loss to what can be
 * shown in order is least. 0 if no piece is that large. */
static uint64_t set_aside(struct views *views, uint64_t bytes)
{
    struct memory_range best = { 0, 0 };
    struct memory_range *from = NULL;
    bool from_head = false;
    for (size_t i = 0; i < 2 * views->pieces; i++) {
        struct memory_range *piece = &views->piece[i / 2];
        struct memory_range whole = *piece;
        if (whole.bytes < bytes) {
            continue;
        }
        *piece = without(&whole, bytes, i % 2 == 0);
        struct memory_range part = best_part(views);
        *piece = whole;
        if (!from || is_better(&part, &best)) {
            best = part;
            from = piece;
            from_head = i % 2 == 0;
        }
    }
    if (!from) {
        return 0;
    }
    uint64_t base = from_head ? from->base : end_of(from) - bytes;
    *from = without(from, bytes, from_head);
    return base;
}

/* For the largest view there can be, in 4 KiB pages, and all that stands beside it. */
static uint64_t table_bytes(const struct views *views)
{
    unsigned levels = views->rules.levels;
    uint64_t bytes = paging_table_bytes(levels, VIEW_BASE, views_bytes(views), SIZE_4K);
    bytes += paging_table_bytes(levels, 0, bytes, SIZE_4K) + spare_tables;
    for (size_t i = 0; i < views->regions; i++) {
        const struct view_region *region = &views->region[i];
        bytes += paging_table_bytes(levels, region->base, region->bytes, SIZE_4K);
    }
    return bytes;
}

static bool set_tables_and_stack_aside(struct views *views)
{
    uint64_t tables = table_bytes(views);
    uint64_t base = set_aside(views, PAGE_4K + VIEW_STACK_BYTES + tables);
    views->guard = base;
    views->stack_end = base + PAGE_4K + VIEW_STACK_BYTES;
    views->tables = (struct paging_pool){ .base = views->stack_end, .bytes = tables };
    return base != 0;
}

/* ---- page sizes ------------------------------------------------------------------------------- */

static void find_page_sizes(struct views *views, const struct view_setup *setup)
{
    views->in_order = best_part(views);
    views->reason[SIZE_2M] = "no free 2 MiB of memory are aligned";
    views->reason[SIZE_1G] =
        setup->pages_1g ? "no free GiB of memory is aligned" : "the processor has no 1 GiB pages";
    views->available[SIZE_4K] = true;
    views->available[SIZE_2M] = views->in_order.bytes >= PAGE_2M;
    views->available[SIZE_1G] = setup->pages_1g && memory_aligned_gib(&views->in_order) > 0;
    for (unsigned size = 0; size < PAGE_SIZES; size++) {
        if (views->available[size]) {
            views->reason[size] = NULL;
        }
    }
}

static unsigned usable_colours(unsigned colours)
{
    return colours >= 1 && colours <= SCATTER_MOST_COLOURS ? colours : 1;
}

static void place_scattered(struct views *views, const struct view_setup *setup)
{
    scatter_init(&views->scatter[PLACED_SCATTERED], views->piece, views->pieces, 1, setup->key);
    scatter_init(&views->scatter[PLACED_BALANCED], views->piece, views->pieces,
                 usable_colours(setup->colours), setup->key);
}

/* ---- preparation ------------------------------------------------------------------------------ */

/* Why tables of ours could not say what they must, or NULL. */
static const char *refusal(const struct view_setup *setup)
{
    if (setup->mtrr->pat[0] != MEMORY_WRITE_BACK || setup->mtrr->pat[3] != MEMORY_UNCACHED) {
        return "the firmware has set the page attribute table to unusual types";
    }
    if (setup->regions > VIEW_REGIONS || setup->ranges > MEMORY_ARENA_RANGES) {
        return "more memory regions than there is room for";
    }
    for (size_t i = 0; i < setup->regions; i++) {
        const struct view_region *region = &setup->region[i];
        if (region->bytes > VIEW_BASE || region->base > VIEW_BASE - region->bytes) {
            return "a region lies where measurements are shown";
        }
    }
    return NULL;
}

enum status views_prepare(struct views *views, const struct view_setup *setup, const char **reason)
{
    memset(views, 0, sizeof *views);
    *reason = refusal(setup);
    if (*reason) {
        return DENIED;
    }
    views->rules = setup->rules;
    views->low_base = setup->low_base;
    views->regions = setup->regions;
    memcpy(views->region, setup->region, setup->regions * sizeof *setup->region);
    keep_write_back(views, setup);
    if (views_bytes(views) < MEMORY_LEAST_ARENA) {
        *reason = "less than 64 MiB of the free memory is of the type write-back";
        return ABSENT;
    }
    if (!set_tables_and_stack_aside(views)) {
        *reason = "no piece of free memory is large enough for the page tables";
        return ABSENT;
    }
    find_page_sizes(views, setup);
    place_scattered(views, setup);
    return OK;
}

/* ---- building --------------------------------------------------------------------------------- */

static const unsigned kind_flags[VIEW_KINDS] = {
    [VIEW_CODE] = PAGING_EXECUTE,
    [VIEW_CONSTANTS] = 0,
    [VIEW_DATA] = PAGING_WRITE,
    [VIEW_REGISTERS] = PAGING_WRITE | PAGING_UNCACHED,
};

/* In whole pages, at its own address. */
static enum status map_region(struct paging *space, uint64_t base, uint64_t bytes, unsigned flags,
                              const char **reason)
{
    uint64_t first = round_down(base, PAGE_4K);
    uint64_t end = round_up(base + bytes, PAGE_4K);
    return paging_map(space, first, first, end - first, SIZE_4K, flags, reason);
}

static enum status map_regions(const struct views *views, struct paging *space, const char **reason)
{
    enum status status = map_region(space, views->stack_end - VIEW_STACK_BYTES, VIEW_STACK_BYTES,
                                    PAGING_WRITE, reason);
    for (size_t i = 0; i < views->regions && status == OK; i++) {
        const struct view_region *region = &views->region[i];
        status = map_region(space, region->base, region->bytes, kind_flags[region->kind], reason);
    }
    return status;
}

/* The tables used so far and those that mapping them will take. */
static enum status map_tables(const struct views *views, struct paging *space, const char **reason)
{
    const struct paging_pool *pool = space->pool;
    uint64_t bytes = pool->used + spare_tables;
    bytes += paging_table_bytes(views->rules.levels, pool->base, bytes, SIZE_4K);
    bytes = bytes < pool->bytes ? bytes : pool->bytes;
    enum status status = map_region(space, space->root, PAGE_4K, 0, reason);
    return status == OK ? map_region(space, pool->base, bytes, 0, reason) : status;
}

/* A page shows what the one `frames` pages before it shows. */
static enum status repeat(struct paging *space, uint64_t frames, uint64_t pages,
                          const char **reason)
{
    enum status status = OK;
    for (uint64_t page = frames; page < pages && status == OK; page++) {
        struct paging_leaf leaf;
        uint64_t at = VIEW_BASE + page * PAGE_4K;
        (void)paging_find(space, at - frames * PAGE_4K, &leaf);
        status = paging_map(space, at, leaf.physical, PAGE_4K, SIZE_4K, PAGING_WRITE, reason);
    }
    return status;
}

static enum status map_scattered(struct paging *space, const struct scatter *scatter,
                                 uint64_t frames, uint64_t pages, const char **reason)
{
    enum status status = OK;
    struct scatter_walk walk;
    scatter_begin(&walk, scatter);
    for (uint64_t page = 0; page < frames && status == OK; page++) {
        status = paging_map(space, VIEW_BASE + page * PAGE_4K, scatter_next(&walk), PAGE_4K,
                            SIZE_4K, PAGING_WRITE, reason);
    }
    return status == OK ? repeat(space, frames, pages, reason) : status;
}

static enum status map_in_order(struct paging *space, uint64_t physical, enum page_size leaf,
                                uint64_t frames, uint64_t pages, const char **reason)
{
    uint64_t unit = paging_bytes(leaf);
    enum status status = OK;
    for (uint64_t page = 0; page < pages && status == OK; page += frames) {
        uint64_t count = pages - page < frames ? pages - page : frames;
        status = paging_map(space, VIEW_BASE + page * unit, physical, count * unit, leaf,
                            PAGING_WRITE, reason);
    }
    return status;
}

/* Why there can be no such view here, or NULL. A scattered set has four times its size to be
 * scattered over. */
static const char *absence(const struct views *views, const struct layout *layout, uint64_t frames,
                           uint64_t pages)
{
    const uint64_t unit = paging_bytes(layout->leaf);
    if (layout->node != 0) {
        return "no free memory of that node";
    }
    if (!views->available[layout->leaf]) {
        return views->reason[layout->leaf];
    }
    if (pages == 0 || pages > (VIEW_END - VIEW_BASE) / unit) {
        return "no view has such a size";
    }
    if (layout->placing != PLACED_IN_ORDER && layout->leaf != SIZE_4K) {
        return "only 4 KiB pages are scattered";
    }
    if (layout->placing == PLACED_BALANCED && views->scatter[PLACED_BALANCED].colours == 1) {
        return "the sets of the second-level cache are not known";
    }
    if (layout->placing != PLACED_IN_ORDER &&
        frames > scatter_frames(&views->scatter[layout->placing]) / 4) {
        return "the free memory is less than four times the set";
    }
    if (layout->placing == PLACED_IN_ORDER && frames > views->in_order.bytes / unit) {
        return "no free memory of that size is contiguous";
    }
    return NULL;
}

static uint64_t root_of(const struct views *views, const struct layout *layout)
{
    unsigned i = layout ? 1 + (unsigned)layout->placing * PAGE_SIZES + (unsigned)layout->leaf : 0;
    return views->low_base + (uint64_t)i * PAGE_4K;
}

static enum status map_layout(struct views *views, const struct layout *layout, struct view *view,
                              const char **reason)
{
    const uint64_t unit = paging_bytes(layout->leaf);
    const uint64_t pages = layout->bytes / unit + (layout->bytes % unit != 0);
    const uint64_t frames = layout->frames != 0 && layout->frames < pages ? layout->frames : pages;
    *reason = absence(views, layout, frames, pages);
    if (*reason) {
        return ABSENT;
    }
    view->leaf = layout->leaf;
    view->bytes = pages * unit;
    if (layout->placing == PLACED_IN_ORDER) {
        return map_in_order(&view->space, views->in_order.base, layout->leaf, frames, pages,
                            reason);
    }
    return map_scattered(&view->space, &views->scatter[layout->placing], frames, pages, reason);
}

enum status views_build(struct views *views, const struct layout *layout, struct view *view,
                        const char **reason)
{
    *view = (struct view){ .bytes = 0 };
    views->tables.used = 0;
    paging_init(&view->space, &views->rules, root_of(views, layout), &views->tables);
    enum status status = map_regions(views, &view->space, reason);
    if (status == OK && layout) {
        status = map_layout(views, layout, view, reason);
    }
    if (status == OK) {
        status = map_tables(views, &view->space, reason);
    }
    return status;
}
