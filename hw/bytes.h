/* Foreign bytes, read without ever leaving them: tables that firmware wrote. */
#ifndef HW_BYTES_H
#define HW_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Somebody else's memory; `size` bytes of it may be read. */
struct bytes {
    const uint8_t *data;
    size_t size;
};

/* Is offset..offset+length inside? Safe for any values. */
static inline bool bytes_inside(const struct bytes *bytes, size_t offset, size_t length)
{
    return offset <= bytes->size && length <= bytes->size - offset;
}

/* A little-endian number of 1 to 8 bytes; 0 where it does not lie wholly inside: a field that a
 * short table does not have is a field that is not set. */
static inline uint64_t bytes_number(const struct bytes *bytes, size_t offset, size_t width)
{
    uint64_t number = 0;
    if (!bytes_inside(bytes, offset, width)) {
        return 0;
    }
    for (size_t i = width; i > 0; i--) {
        number = number << 8 | bytes->data[offset + i - 1];
    }
    return number;
}

/* Does everything add up to zero, as ACPI and SMBIOS want it? */
static inline bool bytes_sum_is_zero(const struct bytes *bytes)
{
    uint8_t sum = 0;
    for (size_t i = 0; i < bytes->size; i++) {
        sum = (uint8_t)(sum + bytes->data[i]);
    }
    return sum == 0;
}

#endif
