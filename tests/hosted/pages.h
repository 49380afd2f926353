/* What Linux tells a program of its own pages: which sizes back a stretch of its memory, and where
 * they lie. See proc(5), /proc/pid/smaps and /proc/pid/pagemap. */
#ifndef TESTS_HOSTED_PAGES_H
#define TESTS_HOSTED_PAGES_H

#include "hw/machine.h"

/* Counts the page-table leaves of each size in the mappings that overlap [from, from + bytes): what
 * is present, not what is reserved. Takes some 10 ns a page of these mappings and of all those below
 * them. False, and zeros: the system does not tell. */
bool pages_count(const void *from, size_t bytes, uint64_t leaves[PAGE_SIZES]);

/* An open file of /proc/self/pagemap, -1 if there is none; the caller closes it. */
int pages_open_map(void);

/* Physical address of a byte of this program. False where it is not mapped, or where the system
 * hides it, as it does from whoever lacks CAP_SYS_ADMIN. */
bool pages_physical(int map, const void *at, uint64_t *address);

#endif
