/* The few ACPI tables that a program without an operating system can use: where the timers and the
 * console's UART are. Only what the tables say; nothing here touches a device.
 * Window: no, none of it.
 *
 * The tables are read where firmware left them, identity mapped. Nothing of them is believed
 * before it was checked: signatures, lengths, checksums, and that the memory may be read.
 * Source: ACPI specification 6.5, 5.2; SPCR: Microsoft's Serial Port Console Redirection Table. */
#ifndef HW_ACPI_H
#define HW_ACPI_H

#include "hw/bytes.h"
#include "hw/machine.h"

/* Where the tables start, and what may be read. */
struct acpi {
    uint64_t rsdp; /* physical address of the root pointer, 0: the machine has none */
    /* May these bytes be read? NULL: all may. boot/ answers from the memory map. */
    bool (*readable)(void *self, uint64_t address, uint64_t bytes);
    void *self;
};

/* The table with that signature, header included, the index-th if there are several.
 * ABSENT: no such table, or none that is whole. */
enum status acpi_find(const struct acpi *acpi, const char *signature, unsigned index,
                      struct bytes *table);

/* The power management timer: 3 579 545 Hz. */
struct pm_timer {
    uint64_t address; /* port, or memory address */
    bool in_memory;
    unsigned bits; /* 24 or 32; 0: there is none */
};

enum { PM_TIMER_HZ = 3579545 };

/* From the FADT. ABSENT: no FADT, or a machine without the timer; `timer` is then zeroed. */
enum status acpi_pm_timer(const struct acpi *acpi, struct pm_timer *timer);

/* Memory address of the first HPET's registers. ABSENT: none, or none below 4 GiB, where firmware
 * is sure to map it. */
enum status acpi_hpet(const struct acpi *acpi, uint64_t *address);

/* A 16550-compatible UART. */
struct uart_place {
    uint64_t address; /* port, or memory address, of register 0 */
    bool in_memory;
    unsigned access;   /* bytes of one access: 1, 2 or 4 */
    unsigned stride;   /* bytes from one register to the next */
    unsigned baud;     /* 0: as firmware left it */
    unsigned clock_hz; /* of the divisor, 0: the usual 1 843 200 Hz */
};

/* The console's UART, from the SPCR. ABSENT: no such table (usual on clients and on QEMU), or a
 * UART of another kind. */
enum status acpi_uart(const struct acpi *acpi, struct uart_place *place);

#endif
