#include "boot/unicode.h"

#include <string.h>

struct characters characters_of(const void *text, size_t bytes)
{
    static const struct {
        uint8_t mark[3];
        size_t bytes;
        int encoding;
    } marks[] = {
        { { 0xef, 0xbb, 0xbf }, 3, TEXT_UTF8 },
        { { 0xff, 0xfe }, 2, TEXT_UTF16_LITTLE },
        { { 0xfe, 0xff }, 2, TEXT_UTF16_BIG },
    };
    struct characters result = { text, (const uint8_t *)text + bytes, TEXT_UTF8 };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (bytes >= marks[i].bytes && memcmp(text, marks[i].mark, marks[i].bytes) == 0) {
            result.at += marks[i].bytes;
            result.encoding = marks[i].encoding;
            break;
        }
    }
    return result;
}

static bool is_surrogate(uint32_t character)
{
    return character >= 0xd800 && character < 0xe000;
}

/* Bytes that follow the first one of a sequence; 4 where no sequence begins with it. */
static unsigned following(uint8_t first)
{
    return first < 0x80   ? 0
           : first < 0xc0 ? 4
           : first < 0xe0 ? 1
           : first < 0xf0 ? 2
           : first < 0xf5 ? 3
                          : 4;
}

static uint32_t next_utf8(struct characters *text)
{
    static const uint32_t smallest[] = { 0, 0x80, 0x800, 0x10000 };
    const uint8_t first = *text->at++;
    const unsigned more = following(first);
    if (more == 4) {
        return NOT_A_CHARACTER;
    }
    uint32_t character = more == 0 ? first : first & (0x3fu >> more);
    for (unsigned i = 0; i < more; i++) {
        if (text->at == text->end || (*text->at & 0xc0) != 0x80) {
            return NOT_A_CHARACTER;
        }
        character = character << 6 | (*text->at++ & 0x3fu);
    }
    const bool valid =
        character >= smallest[more] && character <= 0x10ffff && !is_surrogate(character);
    return valid ? character : NOT_A_CHARACTER;
}

static uint32_t next_unit(struct characters *text)
{
    if (text->end - text->at < 2) {
        text->at = text->end;
        return NOT_A_CHARACTER;
    }
    const uint32_t first = text->at[0], second = text->at[1];
    text->at += 2;
    return text->encoding == TEXT_UTF16_LITTLE ? first | second << 8 : first << 8 | second;
}

static uint32_t next_utf16(struct characters *text)
{
    const uint32_t high = next_unit(text);
    if (!is_surrogate(high)) {
        return high;
    }
    struct characters after = *text;
    const uint32_t low = high < 0xdc00 && text->at < text->end ? next_unit(&after) : 0;
    if (low < 0xdc00 || low >= 0xe000) {
        return NOT_A_CHARACTER;
    }
    *text = after;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

uint32_t next_character(struct characters *text)
{
    return text->encoding == TEXT_UTF8 ? next_utf8(text) : next_utf16(text);
}

bool append_character(char *text, size_t *length, size_t room, uint32_t character)
{
    const unsigned more = character < 0x80      ? 0
                          : character < 0x800   ? 1
                          : character < 0x10000 ? 2
                                                : 3;
    static const uint8_t first[] = { 0, 0xc0, 0xe0, 0xf0 };
    if (*length + more + 2 > room) {
        return false;
    }
    char *at = text + *length;
    *at++ = (char)(uint8_t)(first[more] | character >> (6 * more));
    for (unsigned i = more; i-- > 0;) {
        *at++ = (char)(uint8_t)(0x80 | (character >> (6 * i) & 0x3f));
    }
    *at = '\0';
    *length += more + 1;
    return true;
}

bool is_printable(uint32_t character)
{
    const bool control = character < 0x20 || (character >= 0x7f && character < 0xa0);
    const bool no_character = character > 0x10ffff || (character & 0xfffe) == 0xfffe ||
                              is_surrogate(character) || character == 0xfeff;
    return !control && !no_character;
}

bool is_printable_text(const char *text)
{
    const uint8_t *bytes = (const uint8_t *)text;
    struct characters rest = { bytes, bytes + strlen(text), TEXT_UTF8 };
    while (rest.at != rest.end) {
        if (!is_printable(next_character(&rest))) {
            return false;
        }
    }
    return true;
}
