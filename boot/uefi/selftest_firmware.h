/* The self-test's last part: after all those windows and faults, does the firmware still live? */
#ifndef BOOT_UEFI_SELFTEST_FIRMWARE_H
#define BOOT_UEFI_SELFTEST_FIRMWARE_H

#include "boot/uefi/volume.h"
#include "kernels/result.h"

enum { SELFTEST_FIRMWARE_CHECKS = 4 };

/* Fires a firmware timer, reads the wall clock, asks the keyboard, writes to the stick; fills
 * SELFTEST_FIRMWARE_CHECKS checks and returns their number. A volume without a run folder (saving
 * off or impossible) is reported as such and does not fail. Outside the window. */
size_t selftest_firmware(const struct firmware_link *link, struct volume *volume,
                         struct check *check);

#endif
