/* Recorded bytes: a text file of hexadecimal numbers, "#" begins a comment. */
#ifndef TESTS_FAKES_HEX_FILE_H
#define TESTS_FAKES_HEX_FILE_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes it has; ends the test if there is no such file or it does not fit. */
size_t hex_file_load(const char *path, uint8_t *bytes, size_t capacity);

#endif
