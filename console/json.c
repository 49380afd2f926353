#include "console/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct json *json, const char *bytes, size_t n)
{
    if (json->status == OK && n > 0) {
        json->status = json->sink->write(json->sink->self, bytes, n);
    }
}

static void put_text(struct json *json, const char *text)
{
    put(json, text, strlen(text));
}

static bool at_depth(uint32_t bits, unsigned depth)
{
    return bits >> depth & 1;
}

static void start_line(struct json *json)
{
    put_text(json, "\n");
    for (unsigned i = 0; i < json->depth; i++) {
        put_text(json, "  ");
    }
}

/* Length of the well-formed UTF-8 character at `at`, 0 if there is none (Unicode 15, table 3-7). */
static size_t character_length(const unsigned char *at)
{
    static const struct {
        unsigned char first, last, second_low, second_high, length;
    } form[] = {
        { 0x01, 0x7F, 0x00, 0xFF, 1 }, { 0xC2, 0xDF, 0x80, 0xBF, 2 }, { 0xE0, 0xE0, 0xA0, 0xBF, 3 },
        { 0xE1, 0xEC, 0x80, 0xBF, 3 }, { 0xED, 0xED, 0x80, 0x9F, 3 }, { 0xEE, 0xEF, 0x80, 0xBF, 3 },
        { 0xF0, 0xF0, 0x90, 0xBF, 4 }, { 0xF1, 0xF3, 0x80, 0xBF, 4 }, { 0xF4, 0xF4, 0x80, 0x8F, 4 },
    };
    for (size_t i = 0; i < sizeof form / sizeof form[0]; i++) {
        if (at[0] < form[i].first || at[0] > form[i].last) {
            continue;
        }
        if (form[i].length > 1 && (at[1] < form[i].second_low || at[1] > form[i].second_high)) {
            return 0;
        }
        for (size_t k = 2; k < form[i].length; k++) {
            if ((at[k] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return form[i].length;
    }
    return 0;
}

/* Writes the character at `at` as it must stand in a string; returns how many bytes it took. */
static size_t put_character(struct json *json, const char *at)
{
    size_t length = character_length((const unsigned char *)at);
    char escape[8];
    if (length == 0) {
        put_text(json, "\\ufffd");
        return 1;
    }
    if (*at == '"' || *at == '\\') {
        put_text(json, "\\");
    } else if (length == 1 && ((unsigned char)*at < ' ' || *at == 0x7F)) {
        (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*at);
        put_text(json, escape);
        return 1;
    }
    put(json, at, length);
    return length;
}

static bool is_plain(char c)
{
    return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
}

static void put_string(struct json *json, const char *text)
{
    put_text(json, "\"");
    while (*text) {
        size_t plain = 0;
        while (is_plain(text[plain])) {
            plain++;
        }
        put(json, text, plain);
        text += plain;
        text += *text ? put_character(json, text) : 0;
    }
    put_text(json, "\"");
}

/* What stands before a value: comma, line, key. */
static void begin_member(struct json *json, const char *key)
{
    bool in_object = json->depth > 0 && !at_depth(json->lists, json->depth);
    bool second_document = json->depth == 0 && at_depth(json->filled, 0);
    if (in_object != (key != NULL) || second_document) {
        json->status = json->status == OK ? BAD_SETTING : json->status;
        return;
    }
    bool first = !at_depth(json->filled, json->depth);
    put_text(json, first ? "" : ",");
    if (json->depth > 0 && !at_depth(json->on_line, json->depth)) {
        start_line(json);
    } else if (!first) {
        put_text(json, " ");
    }
    json->filled |= UINT32_C(1) << json->depth;
    if (key) {
        put_string(json, key);
        put_text(json, ": ");
    }
}

static void begin_inside(struct json *json, const char *key, bool list, bool on_line)
{
    if (json->depth == JSON_DEPTH) {
        json->status = json->status == OK ? BAD_SETTING : json->status;
        return;
    }
    begin_member(json, key);
    put_text(json, list ? "[" : "{");
    bool same_line = on_line || (json->depth > 0 && at_depth(json->on_line, json->depth));
    json->depth++;
    uint32_t bit = UINT32_C(1) << json->depth;
    json->lists = list ? json->lists | bit : json->lists & ~bit;
    json->on_line = same_line ? json->on_line | bit : json->on_line & ~bit;
    json->filled &= ~bit;
}

void json_open(struct json *json, const struct sink *sink)
{
    *json = (struct json){ .sink = sink };
}

enum status json_close(struct json *json)
{
    if (json->depth > 0 || !at_depth(json->filled, 0)) {
        json->status = json->status == OK ? BAD_SETTING : json->status;
    }
    put_text(json, "\n");
    return json->status;
}

void json_object(struct json *json, const char *key)
{
    begin_inside(json, key, false, false);
}

void json_list(struct json *json, const char *key)
{
    begin_inside(json, key, true, false);
}

void json_object_on_line(struct json *json, const char *key)
{
    begin_inside(json, key, false, true);
}

void json_list_on_line(struct json *json, const char *key)
{
    begin_inside(json, key, true, true);
}

void json_end(struct json *json)
{
    if (json->depth == 0) {
        json->status = json->status == OK ? BAD_SETTING : json->status;
        return;
    }
    bool list = at_depth(json->lists, json->depth);
    bool own_line = at_depth(json->filled, json->depth) && !at_depth(json->on_line, json->depth);
    json->depth--;
    if (own_line) {
        start_line(json);
    }
    put_text(json, list ? "]" : "}");
}

void json_text(struct json *json, const char *key, const char *text)
{
    begin_member(json, key);
    if (text) {
        put_string(json, text);
    } else {
        put_text(json, "null");
    }
}

size_t number_text(double number, char text[NUMBER_TEXT])
{
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(text, NUMBER_TEXT, "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    return (size_t)length;
}

void json_number(struct json *json, const char *key, double number)
{
    char text[NUMBER_TEXT] = "null";
    size_t length = isfinite(number) ? number_text(number, text) : strlen(text);
    begin_member(json, key);
    put(json, text, length);
}

void json_unsigned(struct json *json, const char *key, uint64_t number)
{
    char text[NUMBER_TEXT];
    int length = snprintf(text, sizeof text, "%" PRIu64, number);
    begin_member(json, key);
    put(json, text, (size_t)length);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_member(json, key);
    put_text(json, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    json_text(json, key, NULL);
}
