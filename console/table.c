#include "console/table.h"

#include <string.h>

unsigned table_width(const struct table_column *column, unsigned columns, unsigned gap)
{
    unsigned width = 0;
    for (unsigned i = 0; i < columns; i++) {
        width += column[i].width + (i > 0 ? gap : 0);
    }
    return width;
}

void table_cell(struct table *table, const char *text)
{
    if (table->next == table->columns) {
        return;
    }
    const struct table_column *column = &table->column[table->next];
    bool last = table->next + 1 == table->columns;
    size_t start = table->end + (table->next > 0 ? table->gap : 0);
    size_t length = strlen(text);
    bool cut = length > column->width && !last;
    size_t before = column->right && length < column->width ? column->width - length : 0;
    if (length > 0) {
        line_pad(&table->line, start + before);
        line_add(&table->line, "%.*s%s", (int)(cut ? column->width - 1 : length), text,
                 cut ? "~" : "");
    }
    table->end = (unsigned)start + column->width;
    table->next++;
}

void table_end_row(struct table *table)
{
    console_line(table->console, "%s", table->line.text);
    table->line = (struct line){ 0 };
    table->next = 0;
    table->end = 0;
}

void table_begin(struct table *table, struct console *console, const struct table_column *column,
                 unsigned columns)
{
    bool wide = table_width(column, columns, 2) <= console_columns(console);
    *table = (struct table){
        .console = console, .column = column, .columns = columns, .gap = wide ? 2 : 1
    };
    for (unsigned i = 0; i < columns; i++) {
        table_cell(table, column[i].title);
    }
    table_end_row(table);
    static const char dashes[] = "----------------------------------------";
    for (unsigned i = 0; i < columns; i++) {
        size_t width = column[i].width < sizeof dashes - 1 ? column[i].width : sizeof dashes - 1;
        table_cell(table, dashes + sizeof dashes - 1 - width);
    }
    table_end_row(table);
}

unsigned table_room(const struct table *table)
{
    unsigned width = table_width(table->column, table->columns, table->gap);
    unsigned screen = console_columns(table->console);
    unsigned last = table->column[table->columns - 1].width;
    return screen > width ? last + screen - width : last;
}
