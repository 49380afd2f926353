/* The one gate to firmware services. Every call into the firmware is written
 *     FIRMWARE(link, protocol->Service(…))
 * so that no call can happen while the window or a guard is open: the firmware would run on our
 * page tables, and its interrupts would be lost. A test holds every file here to that form.
 * UEFI types and EFI_STATUS stay inside boot/uefi/. */
#ifndef BOOT_UEFI_FIRMWARE_H
#define BOOT_UEFI_FIRMWARE_H

#include <efi.h>

#include "hw/machine.h"

struct window;

struct firmware_link { /* the caller owns it; it must outlive all that holds a pointer to it */
    EFI_HANDLE image;
    EFI_SYSTEM_TABLE *system;
    EFI_LOADED_IMAGE *loaded;    /* NULL where the firmware hides it */
    const struct window *window; /* NULL until there is one */
};

/* Stops (#UD, which the window records) if a window or guard is open; else does nothing. */
void firmware_gate(const struct firmware_link *link);

#define FIRMWARE(link, call) (firmware_gate(link), (call))

/* Fills the link and switches the five-minute watchdog off (it would reset the machine in mid-run:
 * UEFI specification, EFI_BOOT_SERVICES.SetWatchdogTimer). */
void firmware_open(struct firmware_link *link, EFI_HANDLE image, EFI_SYSTEM_TABLE *system);

/* What the firmware says of itself. */
void firmware_facts(const struct firmware_link *link, struct firmware *facts);

/* Maps an EFI_STATUS to the house's. */
enum status firmware_status(EFI_STATUS status);

/* The protocol of that GUID on a handle, or NULL. */
void *firmware_protocol(const struct firmware_link *link, EFI_HANDLE handle, const EFI_GUID *guid);

/* Zeroed pages of loader data anywhere below `limit` (0: anywhere); 0 where there are none.
 * They stay ours until the program returns: see arena.h. */
uint64_t firmware_pages(const struct firmware_link *link, size_t bytes, uint64_t limit);
/* Takes exactly these free pages, contents as they are; false if the firmware has them in use. */
bool firmware_claim(const struct firmware_link *link, uint64_t address, uint64_t bytes);
void firmware_free(const struct firmware_link *link, uint64_t address, uint64_t bytes);

/* Busy-waits with interrupts on, in which the firmware's timers and USB get their turn. */
void firmware_stall(const struct firmware_link *link, unsigned microseconds);

/* "2026-12-01T16:30:00" into `text`, or "" where the clock is absent or talks nonsense. */
void firmware_time(const struct firmware_link *link, char text[24]);

enum firmware_reset { RESET_REBOOT, RESET_SHUTDOWN };
/* Returns only where the firmware refuses. Give the stick a second to settle first. */
void firmware_reset(const struct firmware_link *link, enum firmware_reset how);

/* Load options as UTF-16 units (not NUL-terminated); NULL where there are none. */
const uint16_t *firmware_load_options(const struct firmware_link *link, size_t *units);

/* An installed table (ACPI, SMBIOS…) by its GUID, or NULL. */
const void *firmware_table(const struct firmware_link *link, const EFI_GUID *guid);

#endif
