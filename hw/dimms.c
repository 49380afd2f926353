#include "hw/dimms.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { TYPE_ARRAY = 16, TYPE_DEVICE = 17, MOST_ARRAYS = 64 };

/* ---- arrays ---- */

/* Offsets in type 16, and what matters of its values. */
enum { ARRAY_USE = 0x05, ARRAY_CORRECTION = 0x06, USE_SYSTEM_MEMORY = 3, HANDLE = 2 };

struct array {
    unsigned handle;
    bool system_memory; /* not video, flash or cache */
    enum error_correction correction;
};

struct arrays {
    unsigned count;
    struct array array[MOST_ARRAYS];
};

static enum error_correction correction_of(uint64_t code)
{
    static const enum error_correction corrections[] = {
        [3] = ECC_NONE, [4] = ECC_PARITY, [5] = ECC_SINGLE_BIT, [6] = ECC_MULTI_BIT, [7] = ECC_CRC,
    };
    return code < sizeof corrections / sizeof corrections[0] ? corrections[code] : ECC_NOT_TOLD;
}

static void find_arrays(const struct smbios *smbios, struct arrays *arrays)
{
    struct smbios_structure structure;
    arrays->count = 0;
    for (size_t offset = 0; smbios_next(smbios, &offset, &structure);) {
        const struct bytes *fields = &structure.formatted;
        if (structure.type != TYPE_ARRAY || arrays->count == MOST_ARRAYS) {
            continue;
        }
        arrays->array[arrays->count++] = (struct array){
            .handle = (unsigned)bytes_number(fields, HANDLE, 2),
            .system_memory = bytes_number(fields, ARRAY_USE, 1) == USE_SYSTEM_MEMORY,
            .correction = correction_of(bytes_number(fields, ARRAY_CORRECTION, 1)),
        };
    }
}

static const struct array *array_of(const struct arrays *arrays, uint64_t handle)
{
    for (unsigned i = 0; i < arrays->count; i++) {
        if (arrays->array[i].handle == handle) {
            return &arrays->array[i];
        }
    }
    return NULL;
}

/* ---- devices ---- */

/* Offsets in type 17. */
enum {
    DEVICE_ARRAY = 0x04,
    DEVICE_TOTAL_WIDTH = 0x08,
    DEVICE_DATA_WIDTH = 0x0a,
    DEVICE_SIZE = 0x0c,
    DEVICE_FORM = 0x0e,
    DEVICE_LOCATOR = 0x10,
    DEVICE_BANK = 0x11,
    DEVICE_KIND = 0x12,
    DEVICE_SPEED = 0x15,
    DEVICE_MAKER = 0x17,
    DEVICE_PART = 0x1a,
    DEVICE_ATTRIBUTES = 0x1b,
    DEVICE_EXTENDED_SIZE = 0x1c,
    DEVICE_CONFIGURED_SPEED = 0x20,
    DEVICE_EXTENDED_SPEED = 0x54,
    DEVICE_EXTENDED_CONFIGURED = 0x58,
};

enum { MOST_TRANSFERS = 100000, MOST_WIDTH = 1024 };

static const char *kind_of(uint64_t code)
{
    static const char *const kinds[] = {
        [0x03] = "DRAM",   [0x07] = "RAM",    [0x0f] = "SDRAM", [0x12] = "DDR",   [0x13] = "DDR2",
        [0x14] = "DDR2",   [0x18] = "DDR3",   [0x1a] = "DDR4",  [0x1b] = "LPDDR", [0x1c] = "LPDDR2",
        [0x1d] = "LPDDR3", [0x1e] = "LPDDR4", [0x20] = "HBM",   [0x21] = "HBM2",  [0x22] = "DDR5",
        [0x23] = "LPDDR5", [0x24] = "HBM3",
    };
    return code < sizeof kinds / sizeof kinds[0] ? kinds[code] : NULL;
}

static const char *form_of(uint64_t code)
{
    static const char *const forms[] = {
        [0x05] = "chip",    [0x09] = "DIMM", [0x0b] = "row of chips", [0x0d] = "SO-DIMM",
        [0x0f] = "FB-DIMM", [0x10] = "die",  [0x11] = "CAMM",
    };
    return code < sizeof forms / sizeof forms[0] ? forms[code] : NULL;
}

/* 0 for an empty socket; *told false where the firmware does not know. */
static uint64_t size_of(const struct bytes *fields, bool *told)
{
    enum { UNKNOWN = 0xffff, EXTENDED = 0x7fff, IN_KIB = 0x8000 };
    const uint64_t size = bytes_number(fields, DEVICE_SIZE, 2);
    *told = size != UNKNOWN;
    if (size == UNKNOWN) {
        return 0;
    }
    if (size == EXTENDED) {
        return (bytes_number(fields, DEVICE_EXTENDED_SIZE, 4) & 0x7fffffff) * MIB;
    }
    return (size & IN_KIB) != 0 ? (size & EXTENDED) * KIB : size * MIB;
}

/* Million transfers a second, from the field or, where that is too narrow, its extension. */
static unsigned speed_of(const struct bytes *fields, size_t offset, size_t extension)
{
    uint64_t speed = bytes_number(fields, offset, 2);
    if (speed == 0xffff) {
        speed = bytes_number(fields, extension, 4) & 0x7fffffff;
    }
    return speed <= MOST_TRANSFERS ? (unsigned)speed : 0;
}

/* Both widths make sense together, or neither is kept: FFFFh is "unknown", and the bits for error
 * correction come on top of the data. */
static void take_widths(const struct bytes *fields, struct dimm *dimm)
{
    const uint64_t total = bytes_number(fields, DEVICE_TOTAL_WIDTH, 2);
    const uint64_t data = bytes_number(fields, DEVICE_DATA_WIDTH, 2);
    if (data != 0 && data <= total && total <= MOST_WIDTH) {
        dimm->data_bits = (unsigned)data;
        dimm->total_bits = (unsigned)total;
    }
}

/* What an empty socket says of its contents is left over from nowhere. */
static void take_contents(const struct smbios_structure *structure, struct dimm *dimm)
{
    const struct bytes *fields = &structure->formatted;
    dimm->kind = kind_of(bytes_number(fields, DEVICE_KIND, 1));
    dimm->form = form_of(bytes_number(fields, DEVICE_FORM, 1));
    dimm->rated = speed_of(fields, DEVICE_SPEED, DEVICE_EXTENDED_SPEED);
    dimm->configured = speed_of(fields, DEVICE_CONFIGURED_SPEED, DEVICE_EXTENDED_CONFIGURED);
    dimm->ranks = (unsigned)bytes_number(fields, DEVICE_ATTRIBUTES, 1) & 0xf;
    take_widths(fields, dimm);
    smbios_text(structure, DEVICE_MAKER, dimm->maker, sizeof dimm->maker);
    smbios_text(structure, DEVICE_PART, dimm->part, sizeof dimm->part);
}

static void take_dimm(const struct smbios_structure *structure, const struct array *array,
                      struct dimm *dimm)
{
    *dimm = (struct dimm){ .correction = array != NULL ? array->correction : ECC_NOT_TOLD };
    smbios_text(structure, DEVICE_LOCATOR, dimm->socket, sizeof dimm->socket);
    smbios_text(structure, DEVICE_BANK, dimm->bank, sizeof dimm->bank);
    dimm->bytes = size_of(&structure->formatted, &dimm->size_told);
    if (dimm->bytes != 0 || !dimm->size_told) {
        take_contents(structure, dimm);
    }
}

/* ---- channels ---- */

/* Characters of a name up to and with its channel, 0 if it tells none: "P0 CHANNEL A" all of it,
 * "Node0_Channel1_Dimm0" up to the 1. */
static size_t named_channel(const char *name)
{
    static const char word[] = "channel";
    for (const char *at = name; *at != '\0'; at++) {
        if (strncasecmp(at, word, strlen(word)) == 0) {
            const char *token = at + strlen(word);
            token += strspn(token, " _-:");
            const char *end = token;
            while (isalnum((unsigned char)*end)) {
                end++;
            }
            return end > token ? (size_t)(end - name) : 0;
        }
    }
    return 0;
}

/* The same for a socket's name that ends with the letter of a channel and a number in it:
 * "CPU1_DIMM_A1", "P1-DIMMA1", "DIMM A". */
static size_t lettered_channel(const char *name)
{
    const char *dimm = name;
    while (*dimm != '\0' && strncasecmp(dimm, "DIMM", 4) != 0) {
        dimm++;
    }
    if (*dimm == '\0') {
        return 0;
    }
    const char *end = name + strlen(name);
    while (isdigit((unsigned char)end[-1])) {
        end--;
    }
    const char *letter = end - 1;
    const bool alone =
        letter == dimm + 4 || (letter > dimm + 4 && !isalnum((unsigned char)letter[-1]));
    return alone && isalpha((unsigned char)*letter) ? (size_t)(end - name) : 0;
}

/* What tells two channels apart: the array, which may be one a processor, and the name's beginning. */
struct channel {
    uint64_t array;
    const char *name;
    size_t length; /* 0: not told */
};

static struct channel channel_of(const struct dimm *dimm, uint64_t array)
{
    const struct channel ways[] = {
        { array, dimm->bank, named_channel(dimm->bank) },
        { array, dimm->socket, named_channel(dimm->socket) },
        { array, dimm->socket, lettered_channel(dimm->socket) },
    };
    size_t i = 0;
    while (i < 2 && ways[i].length == 0) {
        i++;
    }
    return ways[i];
}

static bool same_channel(const struct channel *a, const struct channel *b)
{
    return a->array == b->array && a->length == b->length &&
           strncasecmp(a->name, b->name, a->length) == 0;
}

/* ---- the list ---- */

/* Channels as they are met; the array of each socket is not kept with the facts. */
struct list {
    struct memory_facts *memory;
    uint64_t bytes;
    bool all_tell; /* their channels */
    uint16_t array[MACHINE_DIMMS];
};

/* The number of the socket's channel: an earlier socket's, or the next one. */
static unsigned number_channel(const struct list *list, unsigned index)
{
    const struct memory_facts *memory = list->memory;
    const struct channel own = channel_of(&memory->dimm[index], list->array[index]);
    for (unsigned i = 0; i < index; i++) {
        const struct channel other = channel_of(&memory->dimm[i], list->array[i]);
        if (same_channel(&own, &other)) {
            return memory->dimm[i].channel;
        }
    }
    return memory->channels + 1;
}

static bool is_populated(const struct dimm *dimm)
{
    return dimm->bytes != 0 || !dimm->size_told;
}

static void count_channels(struct list *list)
{
    struct memory_facts *memory = list->memory;
    bool populated[MACHINE_DIMMS + 1] = { false };
    for (unsigned i = 0; i < memory->dimms && list->all_tell; i++) {
        struct dimm *dimm = &memory->dimm[i];
        dimm->channel = number_channel(list, i);
        memory->channels = dimm->channel > memory->channels ? dimm->channel : memory->channels;
        if (is_populated(dimm) && !populated[dimm->channel]) {
            populated[dimm->channel] = true;
            memory->channels_populated++;
        }
    }
}

static void add_dimm(struct list *list, const struct arrays *arrays,
                     const struct smbios_structure *structure)
{
    struct memory_facts *memory = list->memory;
    const uint64_t handle = bytes_number(&structure->formatted, DEVICE_ARRAY, 2);
    const struct array *array = array_of(arrays, handle);
    if (array != NULL && !array->system_memory) {
        return;
    }
    if (memory->dimms == MACHINE_DIMMS) {
        memory->lost++;
        return;
    }
    struct dimm *dimm = &memory->dimm[memory->dimms];
    take_dimm(structure, array, dimm);
    list->array[memory->dimms++] = (uint16_t)handle;
    list->bytes += dimm->bytes;
    list->all_tell = list->all_tell && channel_of(dimm, handle).length != 0;
    memory->populated += is_populated(dimm);
}

static const char *what_is_odd(const struct list *list, const struct smbios *smbios,
                               uint64_t memory_bytes)
{
    const struct memory_facts *memory = list->memory;
    if (smbios->table.size == 0) {
        return "the firmware has no SMBIOS tables";
    }
    if (memory->dimms == 0) {
        return "the firmware's SMBIOS tables list no memory";
    }
    if (memory->lost > 0) {
        return "the firmware lists more sockets than there is room for";
    }
    for (unsigned i = 0; i < memory->dimms; i++) {
        if (!memory->dimm[i].size_told) {
            return NULL; /* any sum is right */
        }
    }
    return list->bytes < memory_bytes ? "the sizes listed add up to less than the memory there is"
                                      : NULL;
}

void survey_dimms(const struct smbios *smbios, uint64_t memory_bytes, struct memory_facts *memory)
{
    static struct arrays arrays; /* too large for a firmware's stack */
    struct smbios_structure structure;
    struct list list = { .memory = memory, .all_tell = true };
    memset(memory, 0, sizeof *memory);
    find_arrays(smbios, &arrays);
    for (size_t offset = 0; smbios_next(smbios, &offset, &structure);) {
        if (structure.type == TYPE_DEVICE) {
            add_dimm(&list, &arrays, &structure);
        }
    }
    count_channels(&list);
    memory->reason = what_is_odd(&list, smbios, memory_bytes);
}
