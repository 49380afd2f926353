/* Settings read whatever they are given: random bytes, and files and options that were right until
 * something happened to them. The generator's seed is fixed, so that a failure comes again. */
#include "boot/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 20000, LARGEST = 600 };

static const struct kernel chase = { .name = "chase" };
static const struct kernel mlp = { .name = "mlp" };
static const struct kernel *const kernels[] = { &chase, &mlp, NULL };

static struct settings settings;
static uint64_t random_state;

/* Marsaglia's xorshift. */
static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) * limit >> 32);
}

static void assert_readable(const char *line)
{
    assert_true(strlen(line) < SETTING_LINE);
    for (; *line != '\0'; line++) {
        assert_in_range(*line, ' ', '~');
    }
}

/* What holds after any input: complaints that a screen can show, and values that are valid. */
static void assert_sound(void)
{
    static struct settings again;
    const struct setting_place place = { SOURCE_OPTIONS, "load options", 0 };
    assert_true(settings.errors <= SETTING_ERRORS);
    assert_true(settings.notices <= SETTING_NOTICES);
    for (size_t i = 0; i < settings.errors; i++) {
        assert_readable(settings.error[i]);
    }
    for (size_t i = 0; i < settings.notices; i++) {
        assert_readable(settings.notice[i]);
    }
    settings_defaults(&again, kernels);
    for (size_t i = 0; i < SETTINGS; i++) {
        char assignment[32 + SETTING_TEXT];
        const char *value = settings.origin[i].value;
        (void)snprintf(assignment, sizeof assignment, "%s=\"%s\"", setting_table[i].name, value);
        settings_assign(&again, &place, assignment);
        assert_string_equal(again.origin[i].value, value);
    }
    assert_true(settings_ok(&again));
    assert_memory_equal(&again.suite, &settings.suite, sizeof settings.suite);
    assert_true(again.experiments == settings.experiments);
    assert_true(again.max_working_set == settings.max_working_set);
    assert_true(again.serial.address == settings.serial.address);
}

/* The settings' own words in any order: comes close to right. */
static size_t make_words(uint8_t *text)
{
    static const char *const more[] = { "\n",    "\r\n",     "=",     " = ",
                                        ",",     "#",        "\"",    "64M",
                                        "0x",    "4K",       "1G",    "18446744073709551615",
                                        "chase", "io:0x3f8", "mmio:", "auto",
                                        "off:",  "+",        "yes",   " " };
    const uint32_t choices = SETTINGS + sizeof more / sizeof more[0];
    size_t length = 0;
    for (uint32_t i = random_below(40); i > 0; i--) {
        const uint32_t pick = random_below(choices);
        const char *word = pick < SETTINGS ? setting_table[pick].name : more[pick - SETTINGS];
        for (; *word != '\0'; word++) {
            text[length++] = (uint8_t)*word;
        }
    }
    return length;
}

static size_t make_bytes(uint8_t *text)
{
    const size_t length = random_below(LARGEST);
    for (size_t i = 0; i < length; i++) {
        text[i] = (uint8_t)random_below(256);
    }
    return length;
}

static size_t make_file(uint8_t *text)
{
    static const char file[] = "# mine\r\nsuite = full\r\nexperiments = chase, mlp\r\n"
                               "max_working_set = 64M\nserial = mmio:0xfe034000,9600\n"
                               "name = \"B\xc3\xbcro #5\" # window\npage_sizes=4K,2M\rseed=7";
    memcpy(text, file, sizeof file - 1);
    return sizeof file - 1;
}

static size_t make_options(uint8_t *text)
{
    static const char options[] = "FS0:\\x.efi suite=full name=\"my server\" -v experiments=mlp";
    memcpy(text, options, sizeof options - 1);
    return sizeof options - 1;
}

/* As UTF-16 with a mark. */
static size_t widen(uint8_t *text, size_t length)
{
    for (size_t i = length; i-- > 0;) {
        text[2 + 2 * i] = text[i];
        text[3 + 2 * i] = 0;
    }
    text[0] = 0xff;
    text[1] = 0xfe;
    return 2 + 2 * length;
}

static size_t mutate(uint8_t *text, size_t length)
{
    for (uint32_t i = random_below(4); i > 0 && length > 0; i--) {
        const size_t at = random_below((uint32_t)length);
        switch (random_below(3)) {
        case 0: text[at] = (uint8_t)random_below(256); break;
        case 1: text[at] ^= (uint8_t)(1u << random_below(8)); break;
        default: length = at; break;
        }
    }
    return length;
}

static size_t make_input(uint8_t *text)
{
    static size_t (*const makers[])(uint8_t *) = { make_words, make_bytes, make_file,
                                                   make_options };
    size_t length = makers[random_below(4)](text);
    if (random_below(3) == 0) {
        length = widen(text, length);
    }
    return mutate(text, length);
}

/* Each input in memory of exactly its size, so that a byte too far is noticed. */
static void *exactly(const uint8_t *text, size_t length)
{
    void *copy = malloc(length > 0 ? length : 1);
    memcpy(copy, text, length);
    return copy;
}

static void test_files(void **state)
{
    (void)state;
    static uint8_t text[4 * LARGEST];
    unsigned right = 0;
    random_state = 0x9e3779b97f4a7c15;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const size_t length = make_input(text);
        void *copy = exactly(text, length);
        settings_defaults(&settings, kernels);
        settings_read_file(&settings, copy, length, "ironchase.cfg");
        assert_sound();
        right += settings_ok(&settings) && settings.origin[SETTING_SUITE].source == SOURCE_FILE;
        free(copy);
    }
    assert_in_range(right, ROUNDS / 50, ROUNDS / 2); /* some came through, and not all */
}

static void test_options(void **state)
{
    (void)state;
    static uint8_t text[4 * LARGEST];
    unsigned right = 0;
    random_state = 0xd1b54a32d192ed03;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const size_t length = make_input(text) & ~(size_t)1;
        uint16_t *copy = exactly(text, length);
        settings_defaults(&settings, kernels);
        settings_read_options(&settings, copy, length / 2);
        assert_sound();
        right += settings.origin[SETTING_SUITE].source == SOURCE_OPTIONS;
        free(copy);
    }
    assert_in_range(right, ROUNDS / 50, ROUNDS / 2);
}

static void test_oem_strings(void **state)
{
    (void)state;
    static uint8_t text[4 * LARGEST];
    random_state = 0x2545f4914f6cdd1d;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const size_t length = make_input(text);
        char *copy = calloc(1, length + 16);
        const int prefix = snprintf(copy, 16, "ironchase:");
        memcpy(copy + prefix, text, length);
        settings_defaults(&settings, kernels);
        settings_read_oem_string(&settings, copy);
        assert_sound();
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_oem_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
