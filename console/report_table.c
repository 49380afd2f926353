#include "console/report_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "console/format.h"

enum cell { CELL_PLAIN, CELL_SIZE, CELL_PAGE };

/* How a part of the variant stands in a table. Wide enough for what the experiments use. */
static const struct variant_column {
    const char *title; /* NULL: the key's own name */
    unsigned width;
    enum cell cell;
} variant_column[VARIANT_KEYS] = {
    [V_WORKING_SET] = { "set", 8, CELL_SIZE },
    [V_PAGE_SIZE] = { "page", 4, CELL_PAGE },
    [V_ORDER] = { NULL, 10, CELL_PLAIN },
    [V_CHAINS] = { NULL, 6, CELL_PLAIN },
    [V_PREFETCHERS] = { "pref", 6, CELL_PLAIN },
    [V_PLACEMENT] = { NULL, 9, CELL_PLAIN },
    [V_NODE] = { NULL, 4, CELL_PLAIN },
    [V_OPERATION] = { NULL, 12, CELL_PLAIN },
    [V_ACCUMULATORS] = { "accum", 5, CELL_PLAIN },
    [V_LINES] = { NULL, 5, CELL_PLAIN },
    [V_STRIDE] = { NULL, 8, CELL_SIZE },
    [V_DATA] = { NULL, 8, CELL_PLAIN },
    [V_BRANCH] = { NULL, 10, CELL_PLAIN },
    [V_PERIOD] = { NULL, 8, CELL_PLAIN },
    [V_TARGETS] = { NULL, 7, CELL_PLAIN },
    [V_DEPTH] = { NULL, 5, CELL_PLAIN },
    [V_PAGES] = { NULL, 7, CELL_PLAIN },
    [V_STATE] = { NULL, 10, CELL_PLAIN },
    [V_ACCESS] = { NULL, 10, CELL_PLAIN },
    [V_LAYOUT] = { NULL, 10, CELL_PLAIN },
    [V_PAD] = { NULL, 8, CELL_SIZE },
    [V_PARTITIONS] = { "parts", 5, CELL_PLAIN },
    [V_ROWS] = { NULL, 10, CELL_PLAIN },
    [V_KEYS] = { NULL, 10, CELL_PLAIN },
    [V_SKEW] = { NULL, 6, CELL_PLAIN },
    [V_VECTOR] = { NULL, 6, CELL_PLAIN },
    [V_LEVEL] = { NULL, 6, CELL_PLAIN },
    [V_STORE_SIZE] = { "store", 5, CELL_PLAIN },
    [V_LOAD_SIZE] = { "load", 4, CELL_PLAIN },
    [V_REGISTERS] = { "regs", 4, CELL_PLAIN },
    [V_OFFSET] = { NULL, 6, CELL_PLAIN },
    [V_PASS] = { NULL, 4, CELL_PLAIN },
};

static const char *variant_cell(const struct variant *variant, enum variant_key key,
                                char text[FORMAT_ROOM])
{
    static const char *(*const form[])(
        uint64_t, char *) = { [CELL_SIZE] = format_size, [CELL_PAGE] = format_page_size };
    if (!variant_has(variant, key)) {
        return "";
    }
    if (variant_is_text(key)) {
        return variant->value[key].text;
    }
    if (form[variant_column[key].cell]) {
        return form[variant_column[key].cell](variant->value[key].number, text);
    }
    (void)snprintf(text, FORMAT_ROOM, "%" PRIu64, variant->value[key].number);
    return text;
}

static const char *ns_cell(const struct point *point, char text[FORMAT_ROOM])
{
    return format_number(point->ns.median, text);
}

static const char *cycles_cell(const struct point *point, char text[FORMAT_ROOM])
{
    return format_number(point->cycles.samples ? point->cycles.median : (double)NAN, text);
}

/* Half the width of the interval; in brackets, of the range of too few samples for an interval. */
static const char *spread_cell(const struct point *point, char text[FORMAT_ROOM])
{
    const struct spread *ns = &point->ns;
    bool interval = isfinite(ns->low) && isfinite(ns->high);
    double width = interval ? ns->high - ns->low : ns->max - ns->min;
    double percent = width / ns->median * 50;
    if (!isfinite(percent)) {
        return "-";
    }
    char number[FORMAT_ROOM];
    (void)snprintf(number, sizeof number, "%.*f", percent < 9.95 ? 1 : 0, percent);
    (void)snprintf(text, FORMAT_ROOM, interval ? "%.12s " : "(%.12s)", number);
    return text;
}

static const char *predicted_cell(const struct point *point, char text[FORMAT_ROOM])
{
    return format_number(point->predicted, text);
}

static const char *least_cell(const struct point *point, char text[FORMAT_ROOM])
{
    return format_number(point->ns.min, text);
}

static const char *samples_cell(const struct point *point, char text[FORMAT_ROOM])
{
    (void)snprintf(text, FORMAT_ROOM, "%u", point->ns.samples);
    return text;
}

/* What was measured, in the order of the columns. `rank`: 0 stands always; 1 if the line holds it;
 * 2 if it does so with ease. */
static const struct metric {
    struct table_column column;
    const char *(*cell)(const struct point *point, char text[FORMAT_ROOM]);
    unsigned rank;
} metric[] = {
    { { "ns", 7, true }, ns_cell, 0 },        { { "cycles", 6, true }, cycles_cell, 0 },
    { { "+/-%", 5, true }, spread_cell, 0 },  { { "predicted", 9, true }, predicted_cell, 1 },
    { { "min ns", 7, true }, least_cell, 2 }, { { "samples", 7, true }, samples_cell, 2 },
};

enum { METRICS = sizeof metric / sizeof metric[0], RANK_MOST = 2 };

static void choose_columns(struct point_table *points, const struct kernel *kernel, unsigned rank)
{
    unsigned n = 0;
    for (const enum variant_key *key = kernel->columns;
         *key != VARIANT_KEYS && n + METRICS + 1 < TABLE_COLUMNS; key++) {
        const struct variant_column *form = &variant_column[*key];
        points->key[n] = *key;
        points->column[n++] =
            (struct table_column){ .title = form->title ? form->title : variant_name[*key],
                                   .width = form->width,
                                   .right = !variant_is_text(*key) };
    }
    points->keys = n;
    for (unsigned i = 0; i < METRICS; i++) {
        if (metric[i].rank <= rank) {
            points->column[n++] = metric[i].column;
        }
    }
    points->columns = n + 1;
    points->rank = rank;
    points->column[n] =
        (struct table_column){ .title = "flags", .width = rank == RANK_MOST ? 12 : 5 };
}

void point_table_begin(struct point_table *points, struct console *console,
                       const struct kernel *kernel)
{
    unsigned rank = RANK_MOST;
    for (choose_columns(points, kernel, rank); rank > 0; choose_columns(points, kernel, --rank)) {
        unsigned gap = rank == RANK_MOST ? 2 : 1;
        if (table_width(points->column, points->columns, gap) <= console_columns(console)) {
            break;
        }
    }
    table_begin(&points->table, console, points->column, points->columns);
}

void describe_variant(const struct variant *variant, struct line *line)
{
    for (enum variant_key key = 0; key < VARIANT_KEYS; key++) {
        char cell[FORMAT_ROOM];
        bool plain = !variant_is_text(key) && variant_column[key].cell == CELL_PLAIN;
        if (variant_has(variant, key)) {
            line_add(line, " %s%s%s", plain ? variant_name[key] : "", plain ? "=" : "",
                     variant_cell(variant, key, cell));
        }
    }
}

/* "noisy, between" */
static void list_flags(uint32_t flags, struct line *line)
{
    for (size_t i = 0; i < FLAGS; i++) {
        if (flags >> i & 1) {
            line_add(line, "%s%s", line->used ? ", " : "", flag_name[i]);
        }
    }
}

/* What does not fit into the row, or explains it, stands below. */
static void add_note(struct line *note, const struct point *point, const struct line *flags,
                     unsigned room)
{
    if (!note->used && !point->reason && flags->used <= room) {
        return;
    }
    const char *part[] = { flags->text, point->reason };
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        if (part[i] && part[i][0]) {
            line_add(note, "%s%s", note->used ? "; " : "", part[i]);
        }
    }
}

void point_table_row(struct point_table *points, const struct point *point)
{
    struct table *table = &points->table;
    char text[FORMAT_ROOM];
    struct line flags = { 0 };
    struct line note = { 0 };
    for (unsigned i = 0; i < points->keys; i++) {
        const char *cell = variant_cell(&point->variant, points->key[i], text);
        table_cell(table, cell);
        if (strlen(cell) > points->column[i].width) {
            line_add(&note, "%s%s", note.used ? "; " : "", cell);
        }
    }
    for (unsigned i = 0; i < METRICS; i++) {
        if (metric[i].rank <= points->rank) {
            table_cell(table, metric[i].cell(point, text));
        }
    }
    list_flags(point->flags & ~FLAGS_OF_THE_MACHINE, &flags);
    add_note(&note, point, &flags, table_room(table));
    table_cell(table, note.used ? "*" : flags.text);
    table_end_row(table);
    if (note.used) {
        console_paragraph(table->console, "       * ", note.text);
    }
}
