#include "boot/uefi/firmware.h"

#include <stdio.h>
#include <string.h>

#include "hw/window.h"

enum {
    WATCHDOG_CODE = 0x10000, /* codes up to FFFFh are the firmware's own */
    ASCII_LAST = 0x7E
};

static const EFI_GUID loaded_image_guid = LOADED_IMAGE_PROTOCOL;
static const EFI_GUID global_variable_guid = EFI_GLOBAL_VARIABLE;

void firmware_gate(const struct firmware_link *link)
{
    if (link->window && window_is_open(link->window)) {
        __builtin_trap();
    }
}

void firmware_open(struct firmware_link *link, EFI_HANDLE image, EFI_SYSTEM_TABLE *system)
{
    *link = (struct firmware_link){ .image = image, .system = system };
    (void)FIRMWARE(link, system->BootServices->SetWatchdogTimer(0, WATCHDOG_CODE, 0, NULL));
    link->loaded = firmware_protocol(link, image, &loaded_image_guid);
}

static void copy_ascii(char *to, size_t room, const CHAR16 *from)
{
    size_t n = 0;
    for (; from && from[n] && n + 1 < room; n++) {
        to[n] = (char)(from[n] >= ' ' && from[n] <= ASCII_LAST ? from[n] : '?');
    }
    to[n] = '\0';
}

static bool secure_boot_on(const struct firmware_link *link)
{
    UINT8 on = 0;
    UINTN bytes = sizeof on;
    EFI_STATUS status = FIRMWARE(
        link, link->system->RuntimeServices->GetVariable(
                  (CHAR16 *)u"SecureBoot", (EFI_GUID *)&global_variable_guid, NULL, &bytes, &on));
    return status == EFI_SUCCESS && on == 1;
}

void firmware_facts(const struct firmware_link *link, struct firmware *facts)
{
    copy_ascii(facts->vendor, sizeof facts->vendor, link->system->FirmwareVendor);
    facts->revision = link->system->FirmwareRevision;
    facts->uefi_revision = link->system->Hdr.Revision;
    facts->secure_boot = secure_boot_on(link);
}

enum status firmware_status(EFI_STATUS status)
{
    switch (status) {
    case EFI_SUCCESS: return OK;
    case EFI_NOT_FOUND:
    case EFI_UNSUPPORTED: return ABSENT;
    case EFI_WRITE_PROTECTED:
    case EFI_ACCESS_DENIED:
    case EFI_SECURITY_VIOLATION: return DENIED;
    default: return IO_ERROR;
    }
}

void *firmware_protocol(const struct firmware_link *link, EFI_HANDLE handle, const EFI_GUID *guid)
{
    void *protocol = NULL;
    if (!handle) {
        return NULL;
    }
    EFI_STATUS status = FIRMWARE(
        link, link->system->BootServices->HandleProtocol(handle, (EFI_GUID *)guid, &protocol));
    return status == EFI_SUCCESS ? protocol : NULL;
}

uint64_t firmware_pages(const struct firmware_link *link, size_t bytes, uint64_t limit)
{
    EFI_PHYSICAL_ADDRESS address = limit ? limit - 1 : 0;
    EFI_STATUS status = FIRMWARE(link, link->system->BootServices->AllocatePages(
                                           limit ? AllocateMaxAddress : AllocateAnyPages,
                                           EfiLoaderData, EFI_SIZE_TO_PAGES(bytes), &address));
    if (status != EFI_SUCCESS) {
        return 0;
    }
    memset((void *)(uintptr_t)address, 0, bytes);
    return address;
}

bool firmware_claim(const struct firmware_link *link, uint64_t address, uint64_t bytes)
{
    EFI_PHYSICAL_ADDRESS at = address;
    return FIRMWARE(link, link->system->BootServices->AllocatePages(AllocateAddress, EfiLoaderData,
                                                                    EFI_SIZE_TO_PAGES(bytes),
                                                                    &at)) == EFI_SUCCESS;
}

void firmware_free(const struct firmware_link *link, uint64_t address, uint64_t bytes)
{
    (void)FIRMWARE(link, link->system->BootServices->FreePages(address, EFI_SIZE_TO_PAGES(bytes)));
}

void firmware_stall(const struct firmware_link *link, unsigned microseconds)
{
    (void)FIRMWARE(link, link->system->BootServices->Stall(microseconds));
}

void firmware_time(const struct firmware_link *link, char text[24])
{
    EFI_TIME now = { 0 };
    EFI_STATUS status = FIRMWARE(link, link->system->RuntimeServices->GetTime(&now, NULL));
    bool sane = status == EFI_SUCCESS && now.Year >= 2020 && now.Year <= 2199 && now.Month >= 1 &&
                now.Month <= 12 && now.Day >= 1 && now.Day <= 31 && now.Hour <= 23 &&
                now.Minute <= 59 && now.Second <= 59;
    text[0] = '\0';
    if (sane) {
        (void)snprintf(text, 24, "%04u-%02u-%02uT%02u:%02u:%02u", now.Year % 10000U,
                       now.Month % 100U, now.Day % 100U, now.Hour % 100U, now.Minute % 100U,
                       now.Second % 100U);
    }
}

void firmware_reset(const struct firmware_link *link, enum firmware_reset how)
{
    FIRMWARE(link,
             link->system->RuntimeServices->ResetSystem(
                 how == RESET_SHUTDOWN ? EfiResetShutdown : EfiResetCold, EFI_SUCCESS, 0, NULL));
}

const uint16_t *firmware_load_options(const struct firmware_link *link, size_t *units)
{
    *units = 0;
    if (!link->loaded || !link->loaded->LoadOptions) {
        return NULL;
    }
    *units = link->loaded->LoadOptionsSize / sizeof(uint16_t);
    return link->loaded->LoadOptions;
}

const void *firmware_table(const struct firmware_link *link, const EFI_GUID *guid)
{
    for (UINTN i = 0; i < link->system->NumberOfTableEntries; i++) {
        const EFI_CONFIGURATION_TABLE *table = &link->system->ConfigurationTable[i];
        if (memcmp(&table->VendorGuid, guid, sizeof *guid) == 0) {
            return table->VendorTable;
        }
    }
    return NULL;
}
