/* SMBIOS tables made up structure by structure. */
#ifndef TESTS_FAKES_SMBIOS_MADE_H
#define TESTS_FAKES_SMBIOS_MADE_H

#include <stddef.h>
#include <stdint.h>

#include "hw/smbios.h"

/* A table in an allocation of exactly its size, so that reading past it is seen. */
struct smbios_made {
    uint8_t *data;
    size_t size;
};

void smbios_made_append(struct smbios_made *made, const void *bytes, size_t size);

/* A structure of `length` formatted bytes, of which those from 4 on are given, and its strings:
 * each ended by a newline. */
void smbios_made_add(struct smbios_made *made, uint8_t type, uint8_t length, const uint8_t *fields,
                     const char *strings);

/* What a parser is given; holds until the next structure is added. */
struct smbios smbios_made_over(const struct smbios_made *made);

void smbios_made_clear(struct smbios_made *made);

#endif
