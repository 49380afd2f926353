/* Characters: what is one, what is none, and the way there and back. */
#include "boot/unicode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_scalar(uint32_t character)
{
    return character < 0xd800 || (character >= 0xe000 && character <= 0x10ffff);
}

static void test_utf_8_there_and_back(void **state)
{
    (void)state;
    for (uint32_t character = 0; character <= 0x10ffff; character++) {
        char text[8];
        size_t length = 0;
        assert_true(append_character(text, &length, sizeof text, character));
        assert_int_equal(text[length], 0);
        struct characters rest = { (uint8_t *)text, (uint8_t *)text + length, TEXT_UTF8 };
        const uint32_t back = next_character(&rest);
        if (is_scalar(character)) {
            assert_int_equal(back, character);
            assert_ptr_equal(rest.at, rest.end);
        } else {
            assert_int_equal(back, NOT_A_CHARACTER);
        }
    }
}

/* Sequences of n bytes that are one character: as many as there are characters that need n. */
static void test_how_many_sequences_are_characters(void **state)
{
    (void)state;
    static const uint32_t last[] = { 0xff, 0xffff, 0xffffff };
    static const uint32_t characters[] = { 0x80, 0x800 - 0x80, 0x10000 - 0x800 - 0x800 };
    for (unsigned bytes = 1; bytes <= 3; bytes++) {
        uint32_t valid = 0;
        for (uint32_t code = 0; code <= last[bytes - 1]; code++) {
            const uint8_t text[] = { (uint8_t)(code >> (8 * (bytes - 1))),
                                     (uint8_t)(bytes == 3 ? code >> 8 : code), (uint8_t)code };
            struct characters rest = { text, text + bytes, TEXT_UTF8 };
            const uint32_t character = next_character(&rest);
            valid += rest.at == rest.end && character != NOT_A_CHARACTER;
        }
        assert_int_equal(valid, characters[bytes - 1]);
    }
}

static void test_long_sequences(void **state)
{
    (void)state;
    static const struct {
        uint8_t text[4];
        uint32_t character;
    } cases[] = {
        { { 0xf0, 0x90, 0x80, 0x80 }, 0x10000 },
        { { 0xf4, 0x8f, 0xbf, 0xbf }, 0x10ffff },
        { { 0xf0, 0x8f, 0xbf, 0xbf }, NOT_A_CHARACTER }, /* needs three bytes only */
        { { 0xf4, 0x90, 0x80, 0x80 }, NOT_A_CHARACTER }, /* beyond the last */
        { { 0xf5, 0x80, 0x80, 0x80 }, NOT_A_CHARACTER },
        { { 0xf0, 0x90, 0x80, 0x40 }, NOT_A_CHARACTER },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct characters rest = { cases[i].text, cases[i].text + 4, TEXT_UTF8 };
        assert_int_equal(next_character(&rest), cases[i].character);
    }
}

/* Every step moves on, so that a reader ends. */
static void test_broken_text_is_read_on(void **state)
{
    (void)state;
    static const uint8_t text[] = { 0xe2, 0x82, 'a', 0x80, 0xc3, 'b', 0xf0 };
    static const uint32_t want[] = { NOT_A_CHARACTER, 'a', NOT_A_CHARACTER,
                                     NOT_A_CHARACTER, 'b', NOT_A_CHARACTER };
    struct characters rest = { text, text + sizeof text, TEXT_UTF8 };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_true(rest.at < rest.end);
        assert_int_equal(next_character(&rest), want[i]);
    }
    assert_ptr_equal(rest.at, rest.end);
}

static void test_utf_16(void **state)
{
    (void)state;
    static const uint8_t big[] = { 0xfe, 0xff, 0x00, 0xe4, 0xd8, 0x3d, 0xde, 0x00,
                                   0xdc, 0x00, 0xd8, 0x3d, 0x00, 'x',  0xd8, 0x00 };
    static const uint32_t want[] = { 0xe4, 0x1f600,        NOT_A_CHARACTER, NOT_A_CHARACTER,
                                     'x',  NOT_A_CHARACTER };
    uint8_t little[sizeof big];
    for (size_t i = 0; i < sizeof big; i++) {
        little[i] = big[i ^ 1];
    }
    struct characters from_big = characters_of(big, sizeof big);
    struct characters from_little = characters_of(little, sizeof little);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_int_equal(next_character(&from_big), want[i]);
        assert_int_equal(next_character(&from_little), want[i]);
    }
    assert_ptr_equal(from_big.at, from_big.end);
    struct characters odd = characters_of(big, 3);
    assert_int_equal(next_character(&odd), NOT_A_CHARACTER);
    assert_ptr_equal(odd.at, odd.end);
}

/* Halves of a pair that stand alone, or in the wrong order. */
static void test_broken_pairs(void **state)
{
    (void)state;
    static const uint8_t pairs[][4] = {
        { 0x00, 0xdc, 0x00, 0xdc }, { 0x00, 0xd8, 0x00, 0xd8 }, { 0x00, 0xd8, 0x00, 0xe0 },
        { 0xff, 0xdf, 0xff, 0xdf }, { 0xff, 0xdb, 0xff, 0xff },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct characters rest = { pairs[i], pairs[i] + 4, TEXT_UTF16_LITTLE };
        assert_int_equal(next_character(&rest), NOT_A_CHARACTER);
        assert_ptr_equal(rest.at, pairs[i] + 2);
    }
}

/* In memory of exactly its size, so that a byte too far is noticed. */
static void test_cut_sequences(void **state)
{
    (void)state;
    static const uint8_t whole[] = { 0xf0, 0x90, 0x80, 0x80 };
    for (size_t bytes = 1; bytes < sizeof whole; bytes++) {
        uint8_t *text = malloc(bytes);
        memcpy(text, whole, bytes);
        struct characters rest = { text, text + bytes, TEXT_UTF8 };
        assert_int_equal(next_character(&rest), NOT_A_CHARACTER);
        assert_ptr_equal(rest.at, rest.end);
        free(text);
    }
}

static void test_room(void **state)
{
    (void)state;
    char text[4] = "";
    size_t length = 0;
    assert_true(append_character(text, &length, sizeof text, 0x20ac));
    assert_int_equal(length, 3);
    assert_false(append_character(text, &length, sizeof text, 'a'));
    assert_int_equal(length, 3);
    assert_string_equal(text, "\xe2\x82\xac");
}

static void test_printable(void **state)
{
    (void)state;
    assert_true(is_printable(' ') && is_printable('~') && is_printable(0xa0));
    assert_true(is_printable(0x10fffd));
    static const uint32_t no[] = { 0,       '\t',     0x1f,           0x7f,   0x80,
                                   0x9f,    0xd800,   0xdfff,         0xfeff, 0xfffe,
                                   0x1ffff, 0x110000, NOT_A_CHARACTER };
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        assert_false(is_printable(no[i]));
    }
    assert_true(is_printable_text(""));
    assert_true(is_printable_text("B\xc3\xbcro"));
    assert_false(is_printable_text("B\xfcro"));
    assert_false(is_printable_text("a\x1b[0m"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf_8_there_and_back),
        cmocka_unit_test(test_how_many_sequences_are_characters),
        cmocka_unit_test(test_long_sequences),
        cmocka_unit_test(test_broken_text_is_read_on),
        cmocka_unit_test(test_utf_16),
        cmocka_unit_test(test_broken_pairs),
        cmocka_unit_test(test_cut_sequences),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
