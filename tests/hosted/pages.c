#include "tests/hosted/pages.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One mapping's sizes in KiB, as smaps has them. */
enum quantity { LEAF_KIB, RESIDENT, HUGE_ANONYMOUS, HUGE_SHARED, HUGE_FILE, RESERVED, QUANTITIES };

static const struct {
    const char *name;
    enum quantity adds_to;
} fields[] = {
    { "KernelPageSize:", LEAF_KIB },      { "Rss:", RESIDENT },
    { "AnonHugePages:", HUGE_ANONYMOUS }, { "ShmemPmdMapped:", HUGE_SHARED },
    { "FilePmdMapped:", HUGE_FILE },      { "Shared_Hugetlb:", RESERVED },
    { "Private_Hugetlb:", RESERVED },
};

static void read_field(const char *line, uint64_t kib[QUANTITIES])
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const size_t length = strlen(fields[i].name);
        uint64_t value;
        if (strncmp(line, fields[i].name, length) == 0 &&
            sscanf(line + length, "%" SCNu64, &value) == 1) {
            kib[fields[i].adds_to] += value;
        }
    }
}

/* Pages of hugetlb are in no other figure. What is resident and not said to be mapped by a large
 * leaf is mapped by small ones, also where the memory behind them is one large page. */
static void add_mapping(const uint64_t kib[QUANTITIES], uint64_t leaves[PAGE_SIZES])
{
    const uint64_t huge = kib[HUGE_ANONYMOUS] + kib[HUGE_SHARED] + kib[HUGE_FILE];
    const uint64_t small = kib[RESIDENT] > huge ? kib[RESIDENT] - huge : 0;
    leaves[SIZE_4K] += small / (PAGE_4K / KIB);
    leaves[SIZE_2M] += huge / (PAGE_2M / KIB);
    if (kib[LEAF_KIB] == PAGE_2M / KIB) {
        leaves[SIZE_2M] += kib[RESERVED] / (PAGE_2M / KIB);
    } else if (kib[LEAF_KIB] == PAGE_1G / KIB) {
        leaves[SIZE_1G] += kib[RESERVED] / (PAGE_1G / KIB);
    }
}

/* Mappings come in the order of their addresses, each a line "from-to ..." and lines of fields. */
static void count(FILE *smaps, uintptr_t from, uintptr_t to, uint64_t leaves[PAGE_SIZES])
{
    char line[256];
    uint64_t kib[QUANTITIES] = { 0 };
    bool wanted = false;
    while (fgets(line, sizeof line, smaps) != NULL) {
        uintptr_t first, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) == 2) {
            if (wanted) {
                add_mapping(kib, leaves);
            }
            memset(kib, 0, sizeof kib);
            wanted = first < to && end > from;
            if (first >= to) {
                return;
            }
        } else if (wanted) {
            read_field(line, kib);
        }
    }
    if (wanted) {
        add_mapping(kib, leaves);
    }
}

bool pages_count(const void *from, size_t bytes, uint64_t leaves[PAGE_SIZES])
{
    memset(leaves, 0, PAGE_SIZES * sizeof *leaves);
    FILE *smaps = fopen("/proc/self/smaps", "re");
    if (smaps == NULL) {
        return false;
    }
    count(smaps, (uintptr_t)from, (uintptr_t)from + bytes, leaves);
    (void)fclose(smaps);
    return true;
}

int pages_open_map(void)
{
    return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

bool pages_physical(int map, const void *at, uint64_t *address)
{
    const uint64_t frame_bits = (UINT64_C(1) << 55) - 1;
    const uintptr_t place = (uintptr_t)at;
    uint64_t entry = 0;
    const off_t where = (off_t)(place / PAGE_4K * sizeof entry);
    if (pread(map, &entry, sizeof entry, where) != sizeof entry || (entry & frame_bits) == 0 ||
        entry >> 63 == 0) {
        return false;
    }
    *address = (entry & frame_bits) * PAGE_4K + place % PAGE_4K;
    return true;
}
