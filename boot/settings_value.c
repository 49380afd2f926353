#include "boot/settings_value.h"

#include "boot/unicode.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { BASE_BAUD = 115200 }; /* of a 16550 with its usual 1.8432 MHz crystal */

#define PORTS_MOST     UINT64_C(0xfff8) /* a 16550 has eight ports */
#define PHYSICAL_MOST  ((UINT64_C(1) << 52) - 8)
#define MOST_AT_A_TIME 63 /* kernels that the bits of a word tell apart */

const char *const page_size_name[PAGE_SIZES] = { "4K", "2M", "1G" };

static void keep(char *kept, const char *text)
{
    (void)snprintf(kept, SETTING_TEXT, "%s", text);
}

/* Keeps a list: without its blanks, which mean nothing there. */
static void keep_without_blanks(char *kept, const char *text)
{
    size_t length = 0;
    for (; *text != '\0' && length < SETTING_TEXT - 1; text++) {
        if (*text != ' ' && *text != '\t') {
            kept[length++] = *text;
        }
    }
    kept[length] = '\0';
}

static void *field_of(struct settings *settings, const struct setting *setting)
{
    return (char *)settings + setting->field;
}

bool parse_word(struct settings *settings, const struct setting *setting, const char *text,
                char *kept)
{
    for (unsigned i = 0; setting->words[i] != NULL; i++) {
        if (strcasecmp(text, setting->words[i]) == 0) {
            memcpy(field_of(settings, setting), &i, sizeof i);
            keep(kept, setting->words[i]);
            return true;
        }
    }
    return false;
}

/* Reads digits of that base up to the first other character; false for none, or more than 64
 * bits. */
static bool read_digits(const char **text, unsigned base, uint64_t *number)
{
    const char *at = *text;
    *number = 0;
    for (; isxdigit((unsigned char)*at); at++) {
        const char c = (char)tolower((unsigned char)*at);
        const unsigned digit = (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        if (digit >= base) {
            break;
        }
        if (*number > (UINT64_MAX - digit) / base) {
            return false;
        }
        *number = *number * base + digit;
    }
    const bool any = at != *text;
    *text = at;
    return any;
}

/* Decimal, or hexadecimal after 0x. */
static bool read_number(const char **text, uint64_t *number)
{
    if (strncasecmp(*text, "0x", 2) == 0) {
        *text += 2;
        return read_digits(text, 16, number);
    }
    return read_digits(text, 10, number);
}

static bool is_zero_word(const struct setting *setting, const char *text)
{
    return setting->zero != NULL && strcasecmp(text, setting->zero) == 0;
}

/* Puts a number, or the zero that a word stands for, into its field. */
static bool store_number(struct settings *settings, const struct setting *setting, const char *text,
                         uint64_t number)
{
    if (!is_zero_word(setting, text) && (number < setting->least || number > setting->most)) {
        return false;
    }
    memcpy(field_of(settings, setting), &number, sizeof number);
    return true;
}

/* Keeps a number with the largest of `units` (each 1024 of the one before) that divides it. */
static void keep_number(char *kept, const struct setting *setting, uint64_t number,
                        const char *units)
{
    if (number == 0 && setting->zero != NULL) {
        keep(kept, setting->zero);
        return;
    }
    while (number != 0 && number % 1024 == 0 && units[1] != '\0') {
        number /= 1024;
        units++;
    }
    (void)snprintf(kept, SETTING_TEXT, "%" PRIu64 "%.*s", number, *units != ' ' ? 1 : 0, units);
}

bool parse_number(struct settings *settings, const struct setting *setting, const char *text,
                  char *kept)
{
    const char *at = text;
    uint64_t number = 0;
    if (!is_zero_word(setting, text) && (!read_number(&at, &number) || *at != '\0')) {
        return false;
    }
    if (!store_number(settings, setting, text, number)) {
        return false;
    }
    keep_number(kept, setting, number, " ");
    return true;
}

/* The binary unit that a size ends with, as a shift: "" 0, "K", "KB" and "KiB" 10… */
static bool read_unit(const char *text, unsigned *shift)
{
    static const char prefixes[] = "kmgt";
    *shift = 0;
    if (*text == '\0') {
        return true;
    }
    const char *prefix = strchr(prefixes, tolower((unsigned char)*text));
    if (prefix == NULL) {
        return false;
    }
    *shift = 10 * (unsigned)(prefix - prefixes + 1);
    return text[1] == '\0' || strcasecmp(text + 1, "b") == 0 || strcasecmp(text + 1, "ib") == 0;
}

static bool read_size(const char *text, uint64_t *bytes)
{
    unsigned shift;
    if (!read_digits(&text, 10, bytes)) {
        return false;
    }
    text += strspn(text, " \t");
    if (!read_unit(text, &shift) || *bytes > UINT64_MAX >> shift) {
        return false;
    }
    *bytes <<= shift;
    return true;
}

bool parse_size(struct settings *settings, const struct setting *setting, const char *text,
                char *kept)
{
    uint64_t bytes = 0;
    if (!is_zero_word(setting, text) && !read_size(text, &bytes)) {
        return false;
    }
    if (!store_number(settings, setting, text, bytes)) {
        return false;
    }
    keep_number(kept, setting, bytes, " KMGT");
    return true;
}

/* Copies the next item of a comma list, without blanks around it; "" where there is none between
 * two commas. False after the last. */
static bool next_item(const char **rest, char item[SETTING_TEXT])
{
    const char *from = *rest;
    if (from == NULL) {
        return false;
    }
    const char *end = from + strcspn(from, ",");
    *rest = *end == ',' ? end + 1 : NULL;
    from += strspn(from, " \t");
    while (end > from && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    const size_t length = end > from ? (size_t)(end - from) : 0;
    memcpy(item, from, length);
    item[length] = '\0';
    return true;
}

static uint64_t bits_of_all(const struct kernel *const *kernels)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < MOST_AT_A_TIME && kernels[i] != NULL; i++) {
        bits |= kernels[i]->only_by_name ? 0 : UINT64_C(1) << i;
    }
    return bits;
}

static uint64_t bit_named(const struct kernel *const *kernels, const char *name)
{
    for (unsigned i = 0; i < MOST_AT_A_TIME && kernels[i] != NULL; i++) {
        if (strcasecmp(kernels[i]->name, name) == 0) {
            return UINT64_C(1) << i;
        }
    }
    return 0;
}

bool parse_experiments(struct settings *settings, const struct setting *setting, const char *text,
                       char *kept)
{
    (void)setting;
    bool all = false, selftest = false;
    uint64_t named = 0;
    char item[SETTING_TEXT];
    for (const char *rest = text; next_item(&rest, item);) {
        const uint64_t bit = bit_named(settings->kernels, item);
        const bool is_all = strcasecmp(item, "all") == 0;
        const bool is_selftest = strcasecmp(item, "selftest") == 0;
        if (bit == 0 && !is_all && !is_selftest) {
            return false;
        }
        named |= bit;
        all = all || is_all;
        selftest = selftest || is_selftest;
    }
    settings->all_experiments = all;
    settings->selftest = selftest;
    settings->experiments = named | (all ? bits_of_all(settings->kernels) : 0);
    keep_without_blanks(kept, text);
    return true;
}

static bool page_size_named(const char *name, unsigned *size)
{
    for (*size = 0; *size < PAGE_SIZES; (*size)++) {
        if (strcasecmp(name, page_size_name[*size]) == 0) {
            return true;
        }
    }
    return false;
}

static void keep_page_sizes(char *kept, unsigned sizes)
{
    size_t length = 0;
    keep(kept, "auto");
    for (unsigned i = 0; i < PAGE_SIZES; i++) {
        if (sizes & 1u << i) {
            length += (size_t)snprintf(kept + length, SETTING_TEXT - length, "%s%s",
                                       length > 0 ? "," : "", page_size_name[i]);
        }
    }
}

bool parse_page_sizes(struct settings *settings, const struct setting *setting, const char *text,
                      char *kept)
{
    (void)setting;
    unsigned sizes = 0;
    char item[SETTING_TEXT];
    const bool is_auto = strcasecmp(text, "auto") == 0;
    for (const char *rest = is_auto ? NULL : text; next_item(&rest, item);) {
        unsigned size;
        if (!page_size_named(item, &size)) {
            return false;
        }
        sizes |= 1u << size;
    }
    settings->page_sizes = sizes;
    keep_page_sizes(kept, sizes);
    return true;
}

/* "l2_stream+dcu_ip": names between plus signs. Which of them a machine has is known later. */
static bool are_switch_names(const char *text)
{
    bool in_name = false;
    for (; *text != '\0'; text++) {
        const bool letter = isalnum((unsigned char)*text) || *text == '_';
        if (!letter && (*text != '+' || !in_name)) {
            return false;
        }
        in_name = letter;
    }
    return in_name;
}

static bool is_prefetcher_choice(const char *item)
{
    return strcmp(item, "found") == 0 || strcmp(item, "off") == 0 ||
           (strncmp(item, "off:", 4) == 0 && are_switch_names(item + 4));
}

static void make_small(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (char)tolower((unsigned char)*text);
    }
}

/* The next of a list, if it is one that can be asked for. */
static bool next_prefetcher_choice(const char **rest, char item[SETTING_TEXT], bool *right)
{
    if (!next_item(rest, item)) {
        return false;
    }
    make_small(item);
    *right = is_prefetcher_choice(item);
    return *right;
}

static void add_prefetcher_choice(struct settings *settings, const char *item)
{
    unsigned i = 0;
    while (i < settings->prefetcher_choices && strcmp(settings->prefetchers[i], item) != 0) {
        i++;
    }
    keep(settings->prefetchers[i], item);
    settings->prefetcher_choices += i == settings->prefetcher_choices ? 1 : 0;
}

bool parse_prefetchers(struct settings *settings, const struct setting *setting, const char *text,
                       char *kept)
{
    (void)setting;
    char item[SETTING_TEXT];
    const char *list = strcasecmp(text, "auto") == 0 ? NULL : text;
    unsigned count = 0;
    bool right = true;
    for (const char *rest = list; next_prefetcher_choice(&rest, item, &right);) {
        count++;
    }
    if (!right || count > PREFETCHER_CHOICES) {
        return false;
    }
    settings->prefetcher_choices = 0;
    for (const char *rest = list; next_prefetcher_choice(&rest, item, &right);) {
        add_prefetcher_choice(settings, item);
    }
    keep_without_blanks(kept, text);
    return true;
}

/* The UARTs that have stood at these ports since the IBM PC. */
static bool serial_by_name(const char *text, struct serial_choice *serial)
{
    static const struct {
        const char *name;
        struct serial_choice choice;
    } names[] = {
        { "auto", { .kind = SERIAL_AUTO } },
        { "off", { .kind = SERIAL_OFF } },
        { "com1", { .kind = SERIAL_PORT, .address = 0x3f8 } },
        { "com2", { .kind = SERIAL_PORT, .address = 0x2f8 } },
        { "com3", { .kind = SERIAL_PORT, .address = 0x3e8 } },
        { "com4", { .kind = SERIAL_PORT, .address = 0x2e8 } },
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(text, names[i].name) == 0) {
            *serial = names[i].choice;
            return true;
        }
    }
    return false;
}

/* "io:0x3f8", "mmio:0xfe034000". */
static bool serial_by_address(const char *text, struct serial_choice *serial)
{
    const bool port = strncasecmp(text, "io:", 3) == 0;
    if (!port && strncasecmp(text, "mmio:", 5) != 0) {
        return false;
    }
    *serial = (struct serial_choice){ .kind = port ? SERIAL_PORT : SERIAL_MEMORY };
    text += port ? 3 : 5;
    return read_number(&text, &serial->address) && *text == '\0' && serial->address != 0 &&
           serial->address <= (port ? PORTS_MOST : PHYSICAL_MOST);
}

/* What a divisor of the UART can make exactly. */
static bool read_baud(const char *text, unsigned *baud)
{
    uint64_t number;
    if (!read_digits(&text, 10, &number) || *text != '\0' || number == 0 || number > BASE_BAUD ||
        BASE_BAUD % number != 0) {
        return false;
    }
    *baud = (unsigned)number;
    return true;
}

bool parse_serial(struct settings *settings, const struct setting *setting, const char *text,
                  char *kept)
{
    (void)setting;
    struct serial_choice serial;
    char item[SETTING_TEXT] = "";
    const char *rest = text;
    (void)next_item(&rest, item);
    if (!serial_by_name(item, &serial) && !serial_by_address(item, &serial)) {
        return false;
    }
    if (next_item(&rest, item) &&
        (serial.kind == SERIAL_OFF || !read_baud(item, &serial.baud) || rest != NULL)) {
        return false;
    }
    settings->serial = serial;
    keep_without_blanks(kept, text);
    return true;
}

bool parse_name(struct settings *settings, const struct setting *setting, const char *text,
                char *kept)
{
    (void)setting;
    const size_t length = strlen(text);
    if (length >= sizeof settings->name || strchr(text, '"') != NULL || !is_printable_text(text)) {
        return false;
    }
    memcpy(settings->name, text, length + 1);
    keep(kept, text);
    return true;
}
