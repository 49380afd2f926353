/* What the firmware left in memory for us to read: its tables and its memory map. */
#ifndef BOOT_UEFI_TABLES_H
#define BOOT_UEFI_TABLES_H

#include "boot/uefi/firmware.h"

struct firmware_tables {
    const void *rsdp;    /* ACPI root pointer, NULL if none */
    const void *smbios;  /* 32-bit entry point "_SM_", NULL if none */
    const void *smbios3; /* 64-bit entry point "_SM3_", NULL if none */
};

void tables_find(const struct firmware_link *link, struct firmware_tables *tables);

/* The raw memory map; descriptors are `stride` bytes apart, which is not the size of the struct. */
struct raw_memory_map {
    const void *descriptors;
    size_t bytes, stride;
    uint64_t address; /* of the pages that hold it, to be freed */
    size_t page_bytes;
};

/* IO_ERROR where the firmware gives none. The copy is the caller's: tables_free_map. */
enum status tables_memory_map(const struct firmware_link *link, struct raw_memory_map *map);
void tables_free_map(const struct firmware_link *link, struct raw_memory_map *map);

#endif
