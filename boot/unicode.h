/* Characters of text that comes from outside: UTF-8 and UTF-16 to code points, and back to UTF-8.
 * Pure. Window: no. */
#ifndef BOOT_UNICODE_H
#define BOOT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands for bytes that are no character. */
#define NOT_A_CHARACTER UINT32_MAX

/* A text under way; read one character after the other until at == end. */
struct characters {
    const uint8_t *at, *end;
    enum { TEXT_UTF8, TEXT_UTF16_LITTLE, TEXT_UTF16_BIG } encoding;
};

/* Starts at the beginning of a text; a byte order mark tells the encoding and is skipped, without
 * one it is UTF-8. */
struct characters characters_of(const void *text, size_t bytes);

/* The next character; NOT_A_CHARACTER where the bytes are none (overlong forms, lone surrogates,
 * a cut sequence). Moves on in any case. Text must not be at its end. */
uint32_t next_character(struct characters *text);

/* Appends a character as UTF-8 to a text of *length bytes, and keeps it ended by NUL. False: not
 * enough room, nothing was changed. */
bool append_character(char *text, size_t *length, size_t room, uint32_t character);

/* Something that a line can hold: no control character, no half of something else. */
bool is_printable(uint32_t character);

/* Printable UTF-8 all through. */
bool is_printable_text(const char *text);

#endif
