#include "tests/fakes/hex_file.h"

#include <stdio.h>
#include <stdlib.h>

size_t hex_file_load(const char *path, uint8_t *bytes, size_t capacity)
{
    FILE *file = fopen(path, "r");
    size_t count = 0;
    char line[256];
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *at = line;
        for (char *end = line; *at != '#'; at = end) {
            unsigned long number = strtoul(at, &end, 16);
            if (end == at) {
                break;
            }
            if (count == capacity || number > UINT8_MAX) {
                fprintf(stderr, "%s: too long, or not bytes\n", path);
                abort();
            }
            bytes[count++] = (uint8_t)number;
        }
    }
    if (file == NULL || count == 0) {
        fprintf(stderr, "%s: no bytes\n", path);
        abort();
    }
    fclose(file);
    return count;
}
