#include "boot/uefi/tables.h"

enum { MAP_TRIES = 8, SLACK_DESCRIPTORS = 16 };

static const EFI_GUID acpi_guid = ACPI_20_TABLE_GUID;
static const EFI_GUID acpi1_guid = ACPI_TABLE_GUID;
static const EFI_GUID smbios_guid = SMBIOS_TABLE_GUID;
static const EFI_GUID smbios3_guid = SMBIOS3_TABLE_GUID;

void tables_find(const struct firmware_link *link, struct firmware_tables *tables)
{
    tables->rsdp = firmware_table(link, &acpi_guid);
    if (!tables->rsdp) {
        tables->rsdp = firmware_table(link, &acpi1_guid);
    }
    tables->smbios = firmware_table(link, &smbios_guid);
    tables->smbios3 = firmware_table(link, &smbios3_guid);
}

/* The map grows while room for it is allocated: ask, add slack, try again, but not for ever. */
enum status tables_memory_map(const struct firmware_link *link, struct raw_memory_map *map)
{
    EFI_BOOT_SERVICES *services = link->system->BootServices;
    UINTN bytes = 0;
    UINTN key = 0;
    UINTN stride = sizeof(EFI_MEMORY_DESCRIPTOR);
    UINT32 version = 0;
    *map = (struct raw_memory_map){ 0 };
    for (unsigned try = 0; try < MAP_TRIES; try++) {
        EFI_STATUS status =
            FIRMWARE(link, services->GetMemoryMap(&bytes, (void *)(uintptr_t)map->address, &key,
                                                  &stride, &version));
        if (status == EFI_SUCCESS) {
            map->descriptors = (const void *)(uintptr_t)map->address;
            map->bytes = bytes;
            map->stride = stride;
            return OK;
        }
        tables_free_map(link, map);
        if (status != EFI_BUFFER_TOO_SMALL) {
            break;
        }
        bytes += SLACK_DESCRIPTORS * stride;
        bytes = (bytes + PAGE_4K - 1) / PAGE_4K * PAGE_4K;
        map->address = firmware_pages(link, bytes, 0);
        map->page_bytes = bytes;
        if (!map->address) {
            break;
        }
    }
    tables_free_map(link, map);
    return IO_ERROR;
}

void tables_free_map(const struct firmware_link *link, struct raw_memory_map *map)
{
    if (map->address) {
        firmware_free(link, map->address, map->page_bytes);
    }
    *map = (struct raw_memory_map){ 0 };
}
