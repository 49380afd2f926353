#include "kernels/leaf.h"

uint64_t leaf_bytes(enum page_size leaf)
{
    static const uint64_t bytes[PAGE_SIZES] = { PAGE_4K, PAGE_2M, PAGE_1G };
    return bytes[leaf];
}

const char *leaf_absent(const struct machine *machine, enum page_size leaf, uint64_t bytes)
{
    const char *reason = machine->page_reason[leaf];
    if (!machine->page_available[leaf]) {
        return reason != NULL ? reason : "this page size is not available";
    }
    return bytes > machine->arena_bytes ? "larger than the memory there is to measure in" : NULL;
}
