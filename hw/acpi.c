#include "hw/acpi.h"

#include <string.h>

enum {
    HEADER_BYTES = 36,      /* ACPI 5.2.6: signature, length, revision, checksum, … */
    HEADER_LENGTH = 4,      /* offset */
    TABLE_BYTES = 16 * MIB, /* more is not a table */
    TABLES = 1024,          /* more is not a root table */
    RSDP_1_BYTES = 20,
    RSDP_2_BYTES = 36,
};

/* ---- memory ---- */

static bool may_read(const struct acpi *acpi, uint64_t address, uint64_t size)
{
    return address != 0 && size <= UINT64_MAX - address &&
           (acpi->readable == NULL || acpi->readable(acpi->self, address, size));
}

static bool view(const struct acpi *acpi, uint64_t address, uint64_t size, struct bytes *bytes)
{
    if (!may_read(acpi, address, size)) {
        return false;
    }
    *bytes = (struct bytes){ (const uint8_t *)(uintptr_t)address, (size_t)size };
    return bytes->data != NULL;
}

/* A whole table with that signature: its header, then all that the header claims. */
static bool view_table(const struct acpi *acpi, uint64_t address, const char *signature,
                       struct bytes *table)
{
    struct bytes header;
    if (!view(acpi, address, HEADER_BYTES, &header) || memcmp(header.data, signature, 4) != 0) {
        return false;
    }
    uint64_t length = bytes_number(&header, HEADER_LENGTH, 4);
    return length >= HEADER_BYTES && length <= TABLE_BYTES && view(acpi, address, length, table) &&
           bytes_sum_is_zero(table);
}

/* ---- the root ---- */

struct root {
    struct bytes table; /* RSDT or XSDT */
    size_t pointer;     /* bytes of an entry */
};

static bool root_pointer_is_whole(const struct acpi *acpi, struct bytes *rsdp)
{
    if (!view(acpi, acpi->rsdp, RSDP_1_BYTES, rsdp) || memcmp(rsdp->data, "RSD PTR ", 8) != 0 ||
        !bytes_sum_is_zero(rsdp)) {
        return false;
    }
    /* Revision 2 has a second part, under a checksum of its own. */
    struct bytes extended;
    if (bytes_number(rsdp, 15, 1) >= 2 && view(acpi, acpi->rsdp, RSDP_2_BYTES, &extended) &&
        bytes_sum_is_zero(&extended)) {
        *rsdp = extended;
    }
    return true;
}

static bool find_root(const struct acpi *acpi, struct root *root)
{
    struct bytes rsdp;
    if (!root_pointer_is_whole(acpi, &rsdp)) {
        return false;
    }
    root->pointer = 8;
    if (view_table(acpi, bytes_number(&rsdp, 24, 8), "XSDT", &root->table)) {
        return true;
    }
    root->pointer = 4;
    return view_table(acpi, bytes_number(&rsdp, 16, 4), "RSDT", &root->table);
}

enum status acpi_find(const struct acpi *acpi, const char *signature, unsigned index,
                      struct bytes *table)
{
    struct root root;
    if (!find_root(acpi, &root)) {
        return ABSENT;
    }
    size_t entries = (root.table.size - HEADER_BYTES) / root.pointer;
    for (size_t i = 0; i < entries && i < TABLES; i++) {
        uint64_t address = bytes_number(&root.table, HEADER_BYTES + i * root.pointer, root.pointer);
        if (view_table(acpi, address, signature, table) && index-- == 0) {
            return OK;
        }
    }
    return ABSENT;
}

/* ---- generic addresses ---- */

/* ACPI 5.2.3.2: space, width in bits, offset in bits, access size, address. */
struct generic_address {
    unsigned space, bits, access;
    uint64_t address;
};

enum { SPACE_MEMORY = 0, SPACE_PORTS = 1 };

static struct generic_address generic_address(const struct bytes *table, size_t offset)
{
    return (struct generic_address){
        .space = (unsigned)bytes_number(table, offset, 1),
        .bits = (unsigned)bytes_number(table, offset + 1, 1),
        .access = (unsigned)bytes_number(table, offset + 3, 1),
        .address = bytes_number(table, offset + 4, 8),
    };
}

/* A port, or memory that firmware surely maps. */
static bool is_reachable(const struct generic_address *where)
{
    uint64_t last = where->space == SPACE_PORTS ? UINT16_MAX : UINT32_MAX;
    return where->space <= SPACE_PORTS && where->address != 0 && where->address <= last;
}

/* ---- timers ---- */

enum {
    FADT_PM_TIMER_BLOCK = 76,
    FADT_PM_TIMER_LENGTH = 91,
    FADT_FLAGS = 112,
    FADT_X_PM_TIMER_BLOCK = 208,
    FLAG_TIMER_IS_32_BITS = 8,
    FLAG_HARDWARE_REDUCED = 20,
    HPET_ADDRESS = 40,
};

enum status acpi_pm_timer(const struct acpi *acpi, struct pm_timer *timer)
{
    struct bytes fadt;
    *timer = (struct pm_timer){ 0 };
    if (acpi_find(acpi, "FACP", 0, &fadt) != OK) {
        return ABSENT;
    }
    uint64_t flags = bytes_number(&fadt, FADT_FLAGS, 4);
    struct generic_address where = generic_address(&fadt, FADT_X_PM_TIMER_BLOCK);
    /* The extended field wins where it is set (ACPI 5.2.9). */
    if (where.address == 0 && bytes_number(&fadt, FADT_PM_TIMER_LENGTH, 1) == 4) {
        where = (struct generic_address){
            .space = SPACE_PORTS,
            .address = bytes_number(&fadt, FADT_PM_TIMER_BLOCK, 4),
        };
    }
    if ((flags >> FLAG_HARDWARE_REDUCED & 1) != 0 || !is_reachable(&where)) {
        return ABSENT;
    }
    timer->address = where.address;
    timer->in_memory = where.space == SPACE_MEMORY;
    timer->bits = (flags >> FLAG_TIMER_IS_32_BITS & 1) != 0 ? 32 : 24;
    return OK;
}

enum status acpi_hpet(const struct acpi *acpi, uint64_t *address)
{
    struct bytes table;
    *address = 0;
    if (acpi_find(acpi, "HPET", 0, &table) != OK) {
        return ABSENT;
    }
    struct generic_address where = generic_address(&table, HPET_ADDRESS);
    if (where.space != SPACE_MEMORY || !is_reachable(&where)) {
        return ABSENT;
    }
    *address = where.address;
    return OK;
}

/* ---- the console's UART ---- */

enum {
    SPCR_KIND = 36,
    SPCR_ADDRESS = 40,
    SPCR_BAUD = 58,
    SPCR_CLOCK = 76,        /* revision 3 on */
    SPCR_PRECISE_BAUD = 80, /* revision 4 on */
    TABLE_REVISION = 8,
};

static bool is_16550(uint64_t kind)
{
    enum { FULL_16550 = 0, SUBSET_16550 = 1, GENERIC_16550 = 0x12 };
    return kind == FULL_16550 || kind == SUBSET_16550 || kind == GENERIC_16550;
}

static unsigned spcr_baud(const struct bytes *table)
{
    static const unsigned rates[] = { [3] = 9600, [4] = 19200, [6] = 57600, [7] = 115200 };
    uint64_t precise =
        bytes_number(table, TABLE_REVISION, 1) >= 4 ? bytes_number(table, SPCR_PRECISE_BAUD, 4) : 0;
    uint64_t code = bytes_number(table, SPCR_BAUD, 1);
    if (precise != 0) {
        return (unsigned)precise;
    }
    return code < sizeof(rates) / sizeof(rates[0]) ? rates[code] : 0;
}

/* In memory the registers are as far apart as the wider of their own width and the access. */
static void place_registers(const struct generic_address *where, struct uart_place *place)
{
    place->access = 1;
    place->stride = 1;
    if (where->space == SPACE_MEMORY) {
        bool is_wide = where->access == 2 || where->access == 3;
        place->access = is_wide ? 1U << (where->access - 1) : 1;
        place->stride = where->bits / 8 > place->access ? where->bits / 8 : place->access;
    }
}

enum status acpi_uart(const struct acpi *acpi, struct uart_place *place)
{
    struct bytes table;
    *place = (struct uart_place){ 0 };
    if (acpi_find(acpi, "SPCR", 0, &table) != OK) {
        return ABSENT;
    }
    struct generic_address where = generic_address(&table, SPCR_ADDRESS);
    if (!is_16550(bytes_number(&table, SPCR_KIND, 1)) || !is_reachable(&where)) {
        return ABSENT;
    }
    place->address = where.address;
    place->in_memory = where.space == SPACE_MEMORY;
    place->baud = spcr_baud(&table);
    place->clock_hz = bytes_number(&table, TABLE_REVISION, 1) >= 3
                          ? (unsigned)bytes_number(&table, SPCR_CLOCK, 4)
                          : 0;
    place_registers(&where, place);
    return OK;
}
