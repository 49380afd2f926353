#include "hw/paging.h"

#include <string.h>

/* Bits of an entry. */
#define PRESENT    (UINT64_C(1) << 0)
#define WRITABLE   (UINT64_C(1) << 1)
#define UNCACHED   (UINT64_C(3) << 3) /* PWT and PCD: PAT entry 3 */
#define ACCESSED   (UINT64_C(1) << 5)
#define DIRTY      (UINT64_C(1) << 6)
#define LARGE      (UINT64_C(1) << 7) /* at level 2 and 3; at level 1 it is a PAT bit, never set */
#define NO_EXECUTE (UINT64_C(1) << 63)
#define ADDRESS    UINT64_C(0x000FFFFFFFFFF000)

enum { ENTRIES = 512, INDEX_BITS = 9, OFFSET_BITS = 12 };

/* Level 1 is the table of 4 KiB leaves; an entry of level n spans 512 of level n - 1. */
static uint64_t span(unsigned level)
{
    return UINT64_C(1) << (OFFSET_BITS + INDEX_BITS * (level - 1));
}

static unsigned leaf_level(enum page_size size)
{
    return (unsigned)size + 1;
}

static size_t index_at(uint64_t virtual, unsigned level)
{
    return virtual / span(level) % ENTRIES;
}

static uint64_t *table_at(uint64_t physical)
{
    return (uint64_t *)(uintptr_t)physical;
}

uint64_t paging_bytes(enum page_size size)
{
    return span(leaf_level(size));
}

void paging_init(struct paging *space, const struct paging_rules *rules, uint64_t root,
                 struct paging_pool *pool)
{
    *space = (struct paging){ .rules = *rules, .root = root, .pool = pool };
    memset(table_at(root), 0, PAGE_4K);
}

/* ---- building --------------------------------------------------------------------------------- */

/* A zeroed table of the pool, 0 if there is none left. */
static uint64_t take_table(struct paging_pool *pool)
{
    if (pool->bytes - pool->used < PAGE_4K) {
        return 0;
    }
    uint64_t table = pool->base + pool->used;
    pool->used += PAGE_4K;
    memset(table_at(table), 0, PAGE_4K);
    return table;
}

static bool canonical(uint64_t virtual, unsigned levels)
{
    unsigned unused = 64 - (OFFSET_BITS + INDEX_BITS * levels);
    return (uint64_t)((int64_t)(virtual << unused) >> unused) == virtual;
}

/* Why a range can't be mapped so, or NULL. */
static const char *refusal(const struct paging *space, uint64_t virtual, uint64_t physical,
                           uint64_t bytes, enum page_size size)
{
    uint64_t last = virtual + (bytes - 1);
    uint64_t limit = UINT64_C(1) << space->rules.physical_bits;
    if (bytes == 0 || (virtual | physical | bytes) % paging_bytes(size) != 0) {
        return "a mapping that is no multiple of its pages";
    }
    /* Then all between is, too: no physical memory is as large as the gap between the halves. */
    if (last < virtual || !canonical(virtual, space->rules.levels) ||
        !canonical(last, space->rules.levels)) {
        return "a mapping at an address that is not canonical";
    }
    if (physical >= limit || bytes > limit - physical) {
        return "a mapping of an address beyond the processor's physical width";
    }
    return NULL;
}

/* The table of `level` for an address; tables on the way are made. NULL with a status else. */
static uint64_t *table_for(struct paging *space, uint64_t virtual, unsigned level,
                           enum status *status)
{
    uint64_t *table = table_at(space->root);
    for (unsigned at = space->rules.levels; at > level; at--) {
        uint64_t *entry = &table[index_at(virtual, at)];
        if (!(*entry & PRESENT)) {
            uint64_t made = take_table(space->pool);
            if (made == 0) {
                *status = ABSENT;
                return NULL;
            }
            *entry = made | PRESENT | WRITABLE | ACCESSED;
        } else if (*entry & LARGE) {
            *status = DENIED;
            return NULL;
        }
        table = table_at(*entry & ADDRESS);
    }
    return table;
}

static uint64_t leaf_bits(const struct paging *space, enum page_size size, unsigned flags)
{
    return PRESENT | DIRTY | (size != SIZE_4K ? LARGE : 0) | (flags & PAGING_WRITE ? WRITABLE : 0) |
           (flags & PAGING_UNCACHED ? UNCACHED : 0) |
           (flags & PAGING_EXECUTE || !space->rules.no_execute ? 0 : NO_EXECUTE);
}

/* Fills entries `first` up to `end` of a table; false if one is taken by something else. */
static bool fill(uint64_t *table, size_t first, size_t end, uint64_t leaf, uint64_t step)
{
    for (size_t i = first; i < end; i++, leaf += step) {
        if ((table[i] & PRESENT) && (table[i] & ~ACCESSED) != leaf) {
            return false;
        }
        table[i] = leaf;
    }
    return true;
}

static enum status map_tables(struct paging *space, uint64_t virtual, uint64_t leaf, uint64_t bytes,
                              enum page_size size)
{
    uint64_t step = paging_bytes(size);
    while (bytes > 0) {
        enum status status = OK;
        uint64_t *table = table_for(space, virtual, leaf_level(size), &status);
        if (table == NULL) {
            return status;
        }
        size_t first = index_at(virtual, leaf_level(size));
        size_t end = bytes / step < ENTRIES - first ? first + bytes / step : ENTRIES;
        if (!fill(table, first, end, leaf, step)) {
            return DENIED;
        }
        uint64_t done = (end - first) * step;
        virtual += done;
        leaf += done;
        bytes -= done;
    }
    return OK;
}

enum status paging_map(struct paging *space, uint64_t virtual, uint64_t physical, uint64_t bytes,
                       enum page_size size, unsigned flags, const char **reason)
{
    *reason = refusal(space, virtual, physical, bytes, size);
    if (*reason) {
        return DENIED;
    }
    uint64_t leaf = physical | leaf_bits(space, size, flags);
    enum status status = map_tables(space, virtual, leaf, bytes, size);
    if (status == DENIED) {
        *reason = "two mappings that contradict each other";
    } else if (status == ABSENT) {
        *reason = "the memory set aside for page tables is used up";
    }
    return status;
}

uint64_t paging_table_bytes(unsigned levels, uint64_t virtual, uint64_t bytes, enum page_size size)
{
    uint64_t tables = 0;
    for (unsigned level = leaf_level(size); bytes > 0 && level < levels; level++) {
        uint64_t reach = span(level + 1); /* of one table of that level */
        tables += (virtual + bytes - 1) / reach - virtual / reach + 1;
    }
    return tables * PAGE_4K;
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* What lies at an address: the entry that decides, and how much of the address space it decides on.
 * For small pages also the entries behind it in the same table. */
struct place {
    uint64_t *entry;
    unsigned level;
    bool leaf; /* else there is nothing at that level */
};

static struct place find_place(const struct paging *space, uint64_t virtual)
{
    uint64_t *table = table_at(space->root);
    for (unsigned level = space->rules.levels; level > 1; level--) {
        uint64_t *entry = &table[index_at(virtual, level)];
        bool present = *entry & PRESENT;
        if (!present || *entry & LARGE) {
            return (struct place){ entry, level, present };
        }
        table = table_at(*entry & ADDRESS);
    }
    uint64_t *entry = &table[index_at(virtual, 1)];
    return (struct place){ entry, 1, *entry & PRESENT };
}

bool paging_find(const struct paging *space, uint64_t virtual, struct paging_leaf *leaf)
{
    struct place place = find_place(space, virtual);
    if (!place.leaf || !canonical(virtual, space->rules.levels)) {
        return false;
    }
    uint64_t entry = *place.entry;
    bool execute = !(entry & NO_EXECUTE);
    *leaf = (struct paging_leaf){
        .physical = (entry & ADDRESS) + virtual % span(place.level),
        .size = (enum page_size)(place.level - 1),
        .flags = (entry & WRITABLE ? PAGING_WRITE : 0U) | (execute ? PAGING_EXECUTE : 0U) |
                 (entry & UNCACHED ? PAGING_UNCACHED : 0U),
        .accessed = entry & ACCESSED,
        .dirty = entry & DIRTY,
    };
    return true;
}

/* Entries from a place to the end of its table or of the range, whichever is first; the table has
 * only leaves and holes in it at level 1, so elsewhere it is one entry at a time. */
static size_t entries_at(const struct place *place, uint64_t virtual, uint64_t end)
{
    if (place->level > 1) {
        return 1;
    }
    size_t in_table = ENTRIES - index_at(virtual, 1);
    uint64_t in_range = (end - virtual + PAGE_4K - 1) / PAGE_4K;
    return in_range < in_table ? in_range : in_table;
}

/* Calls visit(self, size, entry) for each leaf in the range. */
static void each_leaf(const struct paging *space, uint64_t virtual, uint64_t bytes,
                      void (*visit)(void *self, enum page_size size, uint64_t *entry), void *self)
{
    uint64_t end = virtual + bytes;
    while (virtual < end) {
        struct place place = find_place(space, virtual);
        size_t entries = entries_at(&place, virtual, end);
        for (size_t i = 0; i < entries; i++) {
            if (place.entry[i] & PRESENT) {
                visit(self, (enum page_size)(place.level - 1), &place.entry[i]);
            }
        }
        uint64_t next = virtual - virtual % span(place.level) + entries * span(place.level);
        if (next < virtual) { /* the end of the address space */
            return;
        }
        virtual = next;
    }
}

static void clear_leaf(void *self, enum page_size size, uint64_t *entry)
{
    (void)self;
    (void)size;
    *entry &= ~ACCESSED;
}

void paging_clear_accessed(const struct paging *space, uint64_t virtual, uint64_t bytes)
{
    each_leaf(space, virtual, bytes, clear_leaf, NULL);
}

static void count_leaf(void *self, enum page_size size, uint64_t *entry)
{
    struct paging_count *count = self;
    count->leaves[size]++;
    if (*entry & ACCESSED) {
        count->accessed[size]++;
    }
}

void paging_count(const struct paging *space, uint64_t virtual, uint64_t bytes,
                  struct paging_count *count)
{
    *count = (struct paging_count){ 0 };
    each_leaf(space, virtual, bytes, count_leaf, count);
}

static void flush(uint64_t base, uint64_t bytes)
{
    for (uint64_t at = base; at < base + bytes; at += LINE_BYTES) {
        __asm__ volatile("clflush %0" ::"m"(*(const volatile char *)(uintptr_t)at) : "memory");
    }
}

void paging_flush(const struct paging *space)
{
    flush(space->root, PAGE_4K);
    flush(space->pool->base, space->pool->used);
    __asm__ volatile("mfence" ::: "memory");
}
