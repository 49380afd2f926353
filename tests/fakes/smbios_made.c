#include "tests/fakes/smbios_made.h"

#include <stdlib.h>
#include <string.h>

void smbios_made_append(struct smbios_made *made, const void *bytes, size_t size)
{
    uint8_t *grown = realloc(made->data, made->size + size);
    if (grown == NULL) {
        abort();
    }
    memcpy(grown + made->size, bytes, size);
    made->data = grown;
    made->size += size;
}

void smbios_made_add(struct smbios_made *made, uint8_t type, uint8_t length, const uint8_t *fields,
                     const char *strings)
{
    const uint8_t header[4] = { type, length, (uint8_t)made->size, (uint8_t)(made->size >> 8) };
    static const uint8_t zeros[2];
    smbios_made_append(made, header, sizeof(header));
    smbios_made_append(made, fields, length - 4U);
    size_t begin = made->size;
    smbios_made_append(made, strings, strlen(strings));
    for (size_t i = begin; i < made->size; i++) {
        made->data[i] = made->data[i] == '\n' ? 0 : made->data[i];
    }
    smbios_made_append(made, zeros, strings[0] == '\0' ? 2 : 1);
}

struct smbios smbios_made_over(const struct smbios_made *made)
{
    return (struct smbios){ { made->data, made->size } };
}

void smbios_made_clear(struct smbios_made *made)
{
    free(made->data);
    *made = (struct smbios_made){ NULL, 0 };
}
