#include "console/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "console/json.h"

struct csv {
    const struct sink *sink;
    enum status status;
    bool filled; /* the row has a field already */
};

static void put(struct csv *csv, const char *bytes, size_t n)
{
    if (csv->status == OK && n > 0) {
        csv->status = csv->sink->write(csv->sink->self, bytes, n);
    }
}

static void begin_field(struct csv *csv)
{
    put(csv, ",", csv->filled ? 1 : 0);
    csv->filled = true;
}

static void put_quoted(struct csv *csv, const char *text)
{
    put(csv, "\"", 1);
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        put(csv, text, (size_t)(quote - text) + 1);
        put(csv, "\"", 1);
    }
    put(csv, text, strlen(text));
    put(csv, "\"", 1);
}

static void put_text(struct csv *csv, const char *text)
{
    begin_field(csv);
    if (strpbrk(text, ",\"\r\n")) {
        put_quoted(csv, text);
    } else {
        put(csv, text, strlen(text));
    }
}

static void put_unsigned(struct csv *csv, uint64_t number)
{
    char text[NUMBER_TEXT];
    int length = snprintf(text, sizeof text, "%" PRIu64, number);
    begin_field(csv);
    put(csv, text, (size_t)length);
}

static void put_number(struct csv *csv, double number)
{
    char text[NUMBER_TEXT];
    size_t length = isfinite(number) ? number_text(number, text) : 0;
    begin_field(csv);
    put(csv, text, length);
}

static enum status end_row(struct csv *csv)
{
    put(csv, "\n", 1);
    csv->filled = false;
    return csv->status;
}

static void put_spread_names(struct csv *csv, const char *what)
{
    static const char *const field[] = { "median",    "min",      "max",     "mad",   "ci95_low",
                                         "ci95_high", "coverage", "samples", "visits" };
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%s_%s", what, field[i]);
        put_text(csv, name);
    }
}

enum status csv_write_header(const struct sink *sink)
{
    struct csv csv = { .sink = sink };
    put_text(&csv, "experiment");
    for (size_t key = 0; key < VARIANT_KEYS; key++) {
        put_text(&csv, variant_name[key]);
    }
    put_text(&csv, "unit");
    put_spread_names(&csv, "ns");
    put_spread_names(&csv, "cycles");
    for (size_t i = 0; i < COUNTERS; i++) {
        put_text(&csv, counter_name[i]);
    }
    put_text(&csv, "flags");
    return end_row(&csv);
}

static void put_variant(struct csv *csv, const struct variant *variant)
{
    for (enum variant_key key = 0; key < VARIANT_KEYS; key++) {
        if (!variant_has(variant, key)) {
            put_text(csv, "");
        } else if (variant_is_text(key)) {
            put_text(csv, variant->value[key].text);
        } else {
            put_unsigned(csv, variant->value[key].number);
        }
    }
}

static void put_spread(struct csv *csv, const struct spread *spread)
{
    const double field[] = { spread->median, spread->min,  spread->max,     spread->mad,
                             spread->low,    spread->high, spread->coverage };
    bool measured = spread->samples > 0;
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++) {
        put_number(csv, measured ? field[i] : (double)NAN);
    }
    if (measured) {
        put_unsigned(csv, spread->samples);
        put_unsigned(csv, spread->visits);
    } else {
        put_text(csv, "");
        put_text(csv, "");
    }
}

static void put_flags(struct csv *csv, uint32_t flags)
{
    begin_field(csv);
    const char *between = "";
    for (size_t i = 0; i < FLAGS; i++) {
        if (flags >> i & 1) {
            put(csv, between, strlen(between));
            put(csv, flag_name[i], strlen(flag_name[i]));
            between = "+";
        }
    }
}

enum status csv_write_point(const struct sink *sink, const char *experiment,
                            const struct point *point)
{
    struct csv csv = { .sink = sink };
    put_text(&csv, experiment);
    put_variant(&csv, &point->variant);
    put_text(&csv, point->unit);
    put_spread(&csv, &point->ns);
    put_spread(&csv, &point->cycles);
    for (size_t i = 0; i < COUNTERS; i++) {
        put_number(&csv, point->counter[i]);
    }
    put_flags(&csv, point->flags);
    return end_row(&csv);
}

enum status csv_write_results(const struct sink *sink, const struct results *results)
{
    enum status status = csv_write_header(sink);
    for (size_t e = 0; e < results->experiments; e++) {
        const struct experiment *experiment = &results->experiment[e];
        for (size_t p = 0; p < experiment->points && status == OK; p++) {
            status = csv_write_point(sink, experiment->name,
                                     &results->point[experiment->first_point + p]);
        }
    }
    return status;
}
