/* Page tables, built from scratch in memory of ours, and read back as proof of what was mapped.
 *
 * Tables are written at their physical addresses: physical and virtual address are the same for the
 * memory of root and pool, as under UEFI firmware. Nothing here loads CR3. Whoever changes tables
 * that are in use reloads it.
 *
 * Every leaf is supervisor's, not global, with D preset (no store has to set it) and A clear, so
 * that A afterwards proves a use. Entries above the leaves have A preset.
 * SDM vol. 3A, 4.5 (4 and 5 levels); AMD APM vol. 2, 5.3. */
#ifndef HW_PAGING_H
#define HW_PAGING_H

#include "hw/machine.h"

/* Memory for tables, used from its beginning on; to use it anew set `used` to 0. */
struct paging_pool {
    uint64_t base;  /* 4 KiB aligned */
    uint64_t bytes; /* a multiple of 4 KiB */
    uint64_t used;
};

struct paging_rules {
    unsigned levels;        /* 5 where CR4.LA57 is set, else 4 */
    bool no_execute;        /* EFER.NXE is set; without it bit 63 would be a reserved one */
    unsigned physical_bits; /* width of a physical address, at most 52 */
};

/* One address space. The memory of root and pool is the caller's. */
struct paging {
    struct paging_rules rules;
    uint64_t root; /* for CR3 */
    struct paging_pool *pool;
};

/* What a leaf allows beyond reading. Uncached takes PAT entry 3, any other entry 0. */
enum { PAGING_WRITE = 1, PAGING_EXECUTE = 2, PAGING_UNCACHED = 4 };

struct paging_leaf {
    uint64_t physical; /* of the byte that was asked for */
    enum page_size size;
    unsigned flags;
    bool accessed, dirty;
};

struct paging_count {
    uint64_t leaves[PAGE_SIZES];   /* that exist */
    uint64_t accessed[PAGE_SIZES]; /* of them, with A set */
};

/* Bytes of a leaf. */
uint64_t paging_bytes(enum page_size size);

/* Starts an empty space with its root table at `root`: a 4 KiB page, for CR3 below 4 GiB.
 * Window: no. */
void paging_init(struct paging *space, const struct paging_rules *rules, uint64_t root,
                 struct paging_pool *pool);

/* Shows `bytes` of physical memory at `virtual` in leaves of `size`; a space may mix sizes. Mapping
 * again what is already mapped just so is no error.
 * DENIED: not a multiple of the leaf, not canonical, beyond the physical width, or mapped otherwise;
 * ABSENT: the pool is used up. Then *reason tells (static text), and a part may have been mapped.
 * Whether a large leaf lies inside one memory type is the caller's care (hw/mtrr.h). Window: no. */
enum status paging_map(struct paging *space, uint64_t virtual, uint64_t physical, uint64_t bytes,
                       enum page_size size, unsigned flags, const char **reason);

/* Table bytes, but for the root, that mapping such a range into an empty space takes. Pure. */
uint64_t paging_table_bytes(unsigned levels, uint64_t virtual, uint64_t bytes, enum page_size size);

/* What is mapped at an address; false if nothing is. Window: yes, if the tables are mapped. */
bool paging_find(const struct paging *space, uint64_t virtual, struct paging_leaf *leaf);

/* Clears A of all leaves that begin in the range. The processor may keep translations of them: a
 * reload of CR3 makes it set A again. Window: no (the bench maps tables read-only). */
void paging_clear_accessed(const struct paging *space, uint64_t virtual, uint64_t bytes);

/* Counts the leaves in a range by size. Window: yes, if the tables are mapped. */
void paging_count(const struct paging *space, uint64_t virtual, uint64_t bytes,
                  struct paging_count *count);

/* Flushes the cache lines of root and tables (CLFLUSH; the caller has asked CPUID for it).
 * Window: yes, if the tables are mapped. */
void paging_flush(const struct paging *space);

#endif
