#include "console/memory_json.h"

/* Firmware that has nothing to say says "", or 0. */
static void text_or_null(struct json *json, const char *key, const char *text)
{
    json_text(json, key, text != NULL && text[0] != '\0' ? text : NULL);
}

static void unsigned_or_null(struct json *json, const char *key, uint64_t number)
{
    if (number != 0) {
        json_unsigned(json, key, number);
    } else {
        json_null(json, key);
    }
}

/* ---- modules ---- */

static const char *const correction_name[ERROR_CORRECTIONS] = {
    [ECC_NONE] = "none",           [ECC_PARITY] = "parity", [ECC_SINGLE_BIT] = "single-bit",
    [ECC_MULTI_BIT] = "multi-bit", [ECC_CRC] = "crc",
};

static void dimm_size(struct json *json, const struct dimm *dimm)
{
    const bool populated = dimm->bytes != 0 || !dimm->size_told;
    json_bool(json, "populated", populated);
    unsigned_or_null(json, "size", dimm->bytes);
}

static void dimm_members(struct json *json, const struct dimm *dimm)
{
    json_object_on_line(json, NULL);
    text_or_null(json, "socket", dimm->socket);
    text_or_null(json, "bank", dimm->bank);
    unsigned_or_null(json, "channel", dimm->channel);
    dimm_size(json, dimm);
    json_text(json, "type", dimm->kind);
    json_text(json, "form", dimm->form);
    text_or_null(json, "maker", dimm->maker);
    text_or_null(json, "part", dimm->part);
    unsigned_or_null(json, "rated_mts", dimm->rated);
    unsigned_or_null(json, "configured_mts", dimm->configured);
    unsigned_or_null(json, "ranks", dimm->ranks);
    unsigned_or_null(json, "data_bits", dimm->data_bits);
    unsigned_or_null(json, "total_bits", dimm->total_bits);
    json_text(json, "error_correction", correction_name[dimm->correction]);
    json_end(json);
}

/* A number that is known where something else is. */
static void number_if(struct json *json, const char *key, uint64_t number, bool known)
{
    if (known) {
        json_unsigned(json, key, number);
    } else {
        json_null(json, key);
    }
}

static void dimm_summary(struct json *json, const struct memory_facts *memory)
{
    const unsigned sockets = memory->dimms + memory->lost;
    json_object_on_line(json, "dimm_summary");
    number_if(json, "sockets", sockets, sockets != 0);
    number_if(json, "populated", memory->populated, sockets != 0);
    number_if(json, "channels", memory->channels, memory->channels != 0);
    number_if(json, "channels_populated", memory->channels_populated, memory->channels != 0);
    json_text(json, "reason", memory->reason);
    json_end(json);
}

void memory_json_dimms(struct json *json, const struct memory_facts *memory)
{
    if (memory->dimms == 0) {
        json_null(json, "dimms");
    } else {
        json_list(json, "dimms");
        for (unsigned i = 0; i < memory->dimms; i++) {
            dimm_members(json, &memory->dimm[i]);
        }
        json_end(json);
    }
    dimm_summary(json, memory);
}
