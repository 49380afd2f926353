/* The three sources of settings: a file, SMBIOS OEM strings, load options. */
#include "boot/settings.h"
#include "boot/unicode.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { OPTIONS_MOST = 32 * KIB }; /* UTF-16 units that are looked at */

/* --- The file ------------------------------------------------------------------------------ */

/* One line as it is read, its comment left out. */
struct line {
    char text[SETTING_LINE];
    size_t length;
    bool comment, quoted; /* within one */
    bool broken, cut;     /* has what is no text; is longer than that */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void add_character(struct line *line, uint32_t character)
{
    const bool after_blank = line->length == 0 || is_blank(line->text[line->length - 1]);
    if (character == '#' && after_blank && !line->quoted) {
        line->comment = true;
    }
    if (line->comment) {
        return;
    }
    if (character == '"') {
        line->quoted = !line->quoted;
    }
    if (!is_printable(character) && character != '\t') {
        line->broken = true;
    } else if (!append_character(line->text, &line->length, sizeof line->text, character)) {
        line->cut = true;
    }
}

static void end_line(struct settings *settings, struct line *line,
                     const struct setting_place *place)
{
    if (line->broken) {
        settings_complain(settings, place, "this line holds characters that are no text");
    } else if (line->cut) {
        settings_complain(settings, place, "this line is too long");
    } else if (line->text[strspn(line->text, " \t")] != '\0') {
        settings_assign(settings, place, line->text);
    }
    *line = (struct line){ .length = 0 };
}

void settings_read_file(struct settings *settings, const void *text, size_t bytes, const char *file)
{
    struct setting_place place = { SOURCE_FILE, file, 0 };
    if (bytes > SETTINGS_FILE_MOST) {
        settings_complain(settings, &place, "is larger than 64 KiB");
        return;
    }
    struct line line = { .length = 0 };
    struct characters rest = characters_of(text, bytes);
    uint32_t last = 0;
    place.line = 1;
    while (rest.at != rest.end) {
        const uint32_t character = next_character(&rest);
        const bool second_half = character == '\n' && last == '\r';
        if (!second_half && (character == '\n' || character == '\r')) {
            end_line(settings, &line, &place);
            place.line++;
        } else if (!second_half) {
            add_character(&line, character);
        }
        last = character;
    }
    end_line(settings, &line, &place);
}

/* --- SMBIOS -------------------------------------------------------------------------------- */

void settings_read_oem_string(struct settings *settings, const char *text)
{
    static const char ours[] = "ironchase:";
    const struct setting_place place = { SOURCE_SMBIOS, "SMBIOS", 0 };
    if (strncmp(text, ours, sizeof ours - 1) == 0) {
        settings_assign(settings, &place, text + sizeof ours - 1);
    }
}

/* --- Load options -------------------------------------------------------------------------- */

static const struct setting_place options_place = { SOURCE_OPTIONS, "load options", 0 };

static size_t units_of_text(const uint16_t *units, size_t count)
{
    size_t length = 0;
    while (length < count && units[length] != 0) {
        length++;
    }
    return length;
}

/* Bytes of the options if they are a text of bytes after all, as some chain loaders pass it: then
 * both halves of the first unit are letters. Otherwise 0. */
static size_t bytes_of_text(const uint16_t *units, size_t count)
{
    const uint8_t *bytes = (const uint8_t *)units;
    size_t length = 0;
    while (length < 2 * count && bytes[length] != 0) {
        if (bytes[length] < 0x20 || bytes[length] > 0x7e) {
            return 0;
        }
        length++;
    }
    return length > 1 ? length : 0;
}

static struct characters options_text(const uint16_t *units, size_t count)
{
    const uint8_t *bytes = (const uint8_t *)units;
    const size_t as_bytes = bytes_of_text(units, count);
    if (as_bytes > 0) {
        return (struct characters){ bytes, bytes + as_bytes, TEXT_UTF8 };
    }
    const uint8_t *end = bytes + 2 * units_of_text(units, count);
    const bool marked = count > 0 && units[0] == 0xfeff;
    return (struct characters){ bytes + (marked ? 2 : 0), end, TEXT_UTF16_LITTLE };
}

static bool are_printable(struct characters text)
{
    while (text.at != text.end) {
        const uint32_t character = next_character(&text);
        if (!is_printable(character) && character != '\t' && character != '\r' &&
            character != '\n') {
            return false;
        }
    }
    return true;
}

/* The next word: up to a blank outside of double quotes, which are dropped. False: none is left.
 * A word that is too long is cut, and still too long for a value. */
static bool next_word(struct characters *text, char word[SETTING_LINE])
{
    size_t length = 0;
    bool quoted = false, any = false;
    word[0] = '\0';
    while (text->at != text->end) {
        const uint32_t character = next_character(text);
        const bool blank = character <= ' ' && !quoted;
        if (blank && any) {
            break;
        }
        any = any || !blank;
        if (character == '"') {
            quoted = !quoted;
        } else if (!blank) {
            (void)append_character(word, &length, SETTING_LINE, character);
        }
    }
    return any;
}

static bool is_assignment(const char *word)
{
    const char *at = word;
    while (isalnum((unsigned char)*at) || *at == '_' || *at == '-') {
        at++;
    }
    return at != word && *at == '=';
}

/* The UEFI shell and boot managers put the image's own path first, in any spelling. */
static bool is_image_path(const char *word)
{
    const size_t length = strlen(word);
    return !is_assignment(word) || (length >= 4 && strcasecmp(word + length - 4, ".efi") == 0);
}

static void ignore_word(struct settings *settings, const char *word)
{
    char text[SETTING_LINE];
    (void)snprintf(text, sizeof text, "ignored \"%.100s\", which is no key=value", word);
    settings_remark(settings, &options_place, text);
}

static void ignore_options(struct settings *settings, size_t bytes)
{
    char text[SETTING_LINE];
    (void)snprintf(text, sizeof text, "ignored %zu bytes that are no text", bytes);
    settings_remark(settings, &options_place, text);
}

void settings_read_options(struct settings *settings, const uint16_t *units, size_t count)
{
    if (count == 0) {
        return;
    }
    struct characters text = options_text(units, count);
    if (count > OPTIONS_MOST || !are_printable(text) || (units[0] == 0 && count > 1)) {
        ignore_options(settings, 2 * count);
        return;
    }
    char word[SETTING_LINE] = "";
    for (bool first = true; next_word(&text, word); first = false) {
        if (is_assignment(word) && !(first && is_image_path(word))) {
            settings_assign(settings, &options_place, word);
        } else if (!first) {
            ignore_word(settings, word);
        }
    }
}
