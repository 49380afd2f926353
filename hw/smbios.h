/* What SMBIOS says of the machine. Bytes that firmware or a user of QEMU wrote: nothing is believed
 * before it was checked. Source: DMTF DSP0134 (SMBIOS) 3.7, 5.2, 6.1, 7.1 to 7.3 and 7.12. */
#ifndef HW_SMBIOS_H
#define HW_SMBIOS_H

#include "hw/bytes.h"
#include "hw/machine.h"

/* The table of structures. */
struct smbios {
    struct bytes table;
};

enum { SMBIOS_ENTRY_BYTES = 32 }; /* at most, of either kind of entry point */

/* Takes an entry point ("_SM3_" or "_SM_", by what it says), of which SMBIOS_ENTRY_BYTES may be
 * read; NULL: there is none. The table it names must stay where it is, identity mapped.
 * ABSENT, with an empty table: no entry point, or one whose checksum is wrong. Window: no. */
enum status smbios_open(struct smbios *smbios, const void *entry);

/* Fills the board's texts from types 0, 1 and 2: printable ASCII, cut to MACHINE_TEXT, with blanks
 * trimmed, and "" where the firmware left a maker's placeholder. Window: no. */
void smbios_board(const struct smbios *smbios, struct board *board);

/* The index-th string of all type 11 structures together, NULL past the last. Any bytes but NUL,
 * as long as the user made it; lives in the table. Window: no. */
const char *smbios_oem_string(const struct smbios *smbios, size_t index);

/* ---- for those who read other types ---- */

/* A structure: its formatted part, then its strings up to an empty one. */
struct smbios_structure {
    unsigned type;
    struct bytes formatted;
    struct bytes strings;
};

/* The structure at *offset (0: the first), and the offset of the next one. False at the end of the
 * table, or where what follows cannot be one. Window: no. */
bool smbios_next(const struct smbios *smbios, size_t *offset, struct smbios_structure *out);

/* Copies the string whose number stands at `offset` of the formatted part: printable ASCII, cut to
 * `room`, trimmed; "" where there is none, or a maker's placeholder. Window: no. */
void smbios_text(const struct smbios_structure *structure, size_t offset, char *text, size_t room);

#endif
