/* Tables whose rows are printed as they come: the widths of the columns are fixed beforehand.
 * Window: no. */
#ifndef CONSOLE_TABLE_H
#define CONSOLE_TABLE_H

#include "console/lines.h"

enum { TABLE_COLUMNS = 24 };

struct table_column {
    const char *title;
    unsigned width;
    bool right; /* numbers: aligned to the right, and so is their title */
};

/* The caller owns it and the columns; members are private to table.c. */
struct table {
    struct console *console;
    const struct table_column *column;
    unsigned columns;
    unsigned gap;  /* spaces between two columns */
    unsigned next; /* the column that the next cell stands in */
    unsigned end;  /* where the column before it ended */
    struct line line;
};

/* Characters of a line with that gap. The last column's width counts, though its text may be
 * longer. Pure. */
unsigned table_width(const struct table_column *column, unsigned columns, unsigned gap);

/* Prints titles and a rule below them. Columns stand two spaces apart, or one if the line would not
 * fit otherwise. */
void table_begin(struct table *table, struct console *console, const struct table_column *column,
                 unsigned columns);
/* The next cell of the row. Text that is too long is cut, with '~' in its last place, unless the
 * last column has it. */
void table_cell(struct table *table, const char *text);
/* Prints the row; cells that were not given are empty. */
void table_end_row(struct table *table);
/* Characters that the last column has on this screen: at least its width. */
unsigned table_room(const struct table *table);

#endif
