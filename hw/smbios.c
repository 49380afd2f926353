#include "hw/smbios.h"

#include <string.h>
#include <strings.h>

enum { TABLE_BYTES = 4 * MIB, TYPE_END = 127, HEADER_BYTES = 4 };
enum { TYPE_BIOS = 0, TYPE_SYSTEM = 1, TYPE_BASEBOARD = 2, TYPE_OEM_STRINGS = 11 };

/* ---- entry points ---- */

static enum status open_at(struct smbios *smbios, uint64_t address, uint64_t size)
{
    if (address == 0 || size == 0) {
        return ABSENT;
    }
    uint64_t kept = size < TABLE_BYTES ? size : TABLE_BYTES;
    smbios->table = (struct bytes){ (const uint8_t *)(uintptr_t)address, (size_t)kept };
    return OK;
}

/* The first `length` bytes, whose sum must be 0; the length itself is foreign too. */
static bool is_whole(const void *entry, uint64_t length, uint64_t least)
{
    struct bytes whole = { entry, (size_t)length };
    return length >= least && length <= SMBIOS_ENTRY_BYTES && bytes_sum_is_zero(&whole);
}

enum status smbios_open(struct smbios *smbios, const void *entry)
{
    *smbios = (struct smbios){ 0 };
    if (entry == NULL) {
        return ABSENT;
    }
    struct bytes point = { entry, SMBIOS_ENTRY_BYTES };
    if (memcmp(entry, "_SM3_", 5) == 0 && is_whole(entry, bytes_number(&point, 6, 1), 24)) {
        return open_at(smbios, bytes_number(&point, 16, 8), bytes_number(&point, 12, 4));
    }
    /* Version 2.1 gave its entry point a wrong length of 30, so that is the least. */
    if (memcmp(entry, "_SM_", 4) == 0 && is_whole(entry, bytes_number(&point, 5, 1), 30)) {
        return open_at(smbios, bytes_number(&point, 24, 4), bytes_number(&point, 22, 2));
    }
    return ABSENT;
}

/* ---- structures ---- */

bool smbios_next(const struct smbios *smbios, size_t *offset, struct smbios_structure *out)
{
    const struct bytes *table = &smbios->table;
    size_t length = (size_t)bytes_number(table, *offset + 1, 1);
    if (length < HEADER_BYTES || table->data[*offset] == TYPE_END) {
        return false;
    }
    size_t strings = *offset + length;
    size_t end = strings;
    while (bytes_number(table, end, 2) != 0) {
        end++;
    }
    /* Past the table everything reads as zero, which is not an end. */
    if (!bytes_inside(table, end, 2)) {
        return false;
    }
    out->type = table->data[*offset];
    out->formatted = (struct bytes){ table->data + *offset, length };
    /* With the NUL of the last string: each string ends inside. */
    out->strings = (struct bytes){ table->data + strings, end + 1 - strings };
    *offset = end + 2;
    return true;
}

/* The number-th string, counted from 1; NULL if there is none. */
static const char *string_of(const struct smbios_structure *structure, uint64_t number)
{
    const struct bytes *strings = &structure->strings;
    for (size_t at = 0; number > 0 && at < strings->size;) {
        const char *string = (const char *)strings->data + at;
        size_t length = strlen(string);
        if (length == 0) {
            return NULL;
        }
        if (--number == 0) {
            return string;
        }
        at += length + 1;
    }
    return NULL;
}

/* ---- texts ---- */

/* What makers forget to replace, compared without case: texts that begin so, and whole texts. */
static const char *const placeholder_beginnings[] = {
    "To be filled",         "Default string", "System manufacturer", "System Product Name",
    "System Serial Number", "System Version", "Not Specified",       "Not Available",
    "Not Applicable",       "0123456789",     "123456789",           "Base Board Serial",
};
static const char *const placeholders[] = { "None",      "N/A",     "OEM",   "O.E.M.", "Unknown",
                                            "Undefined", "Invalid", "empty", "NO DIMM" };

enum {
    PLACEHOLDER_BEGINNINGS = sizeof(placeholder_beginnings) / sizeof(placeholder_beginnings[0]),
    PLACEHOLDERS = sizeof(placeholders) / sizeof(placeholders[0])
};

static bool is_placeholder(const char *text)
{
    /* One character over and over ("0000", "....") says nothing either. */
    const char first[] = { text[0], '\0' };
    if (text[0] != '\0' && strchr("0xX.-_*#?", text[0]) != NULL &&
        text[strspn(text, first)] == '\0') {
        return true;
    }
    for (size_t i = 0; i < PLACEHOLDER_BEGINNINGS; i++) {
        const char *beginning = placeholder_beginnings[i];
        if (strncasecmp(text, beginning, strlen(beginning)) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < PLACEHOLDERS; i++) {
        if (strcasecmp(text, placeholders[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void clean_text(char *text, size_t room, const char *found)
{
    size_t length = 0;
    text[0] = '\0';
    if (found == NULL) {
        return;
    }
    for (; *found != '\0' && length + 1 < room; found++) {
        bool printable = *found >= ' ' && *found <= '~';
        if (printable && (length > 0 || *found != ' ')) {
            text[length++] = *found;
        }
    }
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    text[length] = '\0';
    if (is_placeholder(text)) {
        text[0] = '\0';
    }
}

void smbios_text(const struct smbios_structure *structure, size_t offset, char *text, size_t room)
{
    clean_text(text, room, string_of(structure, bytes_number(&structure->formatted, offset, 1)));
}

/* ---- the board ---- */

/* Which string of which structure is which text. */
static const struct {
    uint8_t type, offset;
    size_t text; /* offset in struct board */
} board_texts[] = {
    { TYPE_BIOS, 4, offsetof(struct board, bios_vendor) },
    { TYPE_BIOS, 5, offsetof(struct board, bios_version) },
    { TYPE_BIOS, 8, offsetof(struct board, bios_date) },
    { TYPE_SYSTEM, 4, offsetof(struct board, vendor) },
    { TYPE_SYSTEM, 5, offsetof(struct board, product) },
    { TYPE_SYSTEM, 7, offsetof(struct board, serial) },
    { TYPE_BASEBOARD, 4, offsetof(struct board, board_vendor) },
    { TYPE_BASEBOARD, 5, offsetof(struct board, board_product) },
};

/* The first structure of a type that says something sane wins: blades have several boards. */
static void take_texts(const struct smbios_structure *structure, struct board *board)
{
    for (size_t i = 0; i < sizeof(board_texts) / sizeof(board_texts[0]); i++) {
        char *text = (char *)board + board_texts[i].text;
        if (board_texts[i].type == structure->type && text[0] == '\0') {
            smbios_text(structure, board_texts[i].offset, text, MACHINE_TEXT);
        }
    }
}

void smbios_board(const struct smbios *smbios, struct board *board)
{
    struct smbios_structure structure;
    *board = (struct board){ 0 };
    for (size_t offset = 0; smbios_next(smbios, &offset, &structure);) {
        take_texts(&structure, board);
    }
}

const char *smbios_oem_string(const struct smbios *smbios, size_t index)
{
    struct smbios_structure structure;
    for (size_t offset = 0; smbios_next(smbios, &offset, &structure);) {
        const char *string = NULL;
        for (uint64_t number = 1; structure.type == TYPE_OEM_STRINGS; number++) {
            string = string_of(&structure, number);
            if (string == NULL || index-- == 0) {
                break;
            }
        }
        if (string != NULL) {
            return string;
        }
    }
    return NULL;
}
