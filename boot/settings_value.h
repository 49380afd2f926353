/* The kinds of values that settings have: from text to a field of struct settings.
 *
 * Each takes one trimmed value, puts it into its field and writes it to `kept` as the results
 * shall show it. False: not a value of this kind; field and `kept` are then as they were. */
#ifndef BOOT_SETTINGS_VALUE_H
#define BOOT_SETTINGS_VALUE_H

#include "boot/settings.h"

/* One of setting->words, in any case; the field (unsigned) becomes its index. */
bool parse_word(struct settings *settings, const struct setting *setting, const char *text,
                char *kept);
/* A whole number from setting->least to setting->most, decimal or 0x, or the word for zero; the
 * field is a uint64_t. */
bool parse_number(struct settings *settings, const struct setting *setting, const char *text,
                  char *kept);
/* The same in bytes: decimal with K, M, G or T, which B or iB may follow. */
bool parse_size(struct settings *settings, const struct setting *setting, const char *text,
                char *kept);

bool parse_experiments(struct settings *settings, const struct setting *setting, const char *text,
                       char *kept);
bool parse_page_sizes(struct settings *settings, const struct setting *setting, const char *text,
                      char *kept);
bool parse_prefetchers(struct settings *settings, const struct setting *setting, const char *text,
                       char *kept);
bool parse_serial(struct settings *settings, const struct setting *setting, const char *text,
                  char *kept);
bool parse_name(struct settings *settings, const struct setting *setting, const char *text,
                char *kept);

/* "4K", "2M", "1G". */
extern const char *const page_size_name[PAGE_SIZES];

#endif
