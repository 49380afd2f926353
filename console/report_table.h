/* The printed table of an experiment: a row per point. Window: no. */
#ifndef CONSOLE_REPORT_TABLE_H
#define CONSOLE_REPORT_TABLE_H

#include "console/table.h"
#include "kernels/kernel.h"

/* Flags that hold for the whole machine: told once, not in each row. */
#define FLAGS_OF_THE_MACHINE (UINT32_C(1) << FLAG_EMULATED)

/* The caller owns it; members are private to report_table.c. */
struct point_table {
    struct table table;
    struct table_column column[TABLE_COLUMNS];
    unsigned columns;
    enum variant_key key[TABLE_COLUMNS]; /* of the first `keys` columns */
    unsigned keys;
    unsigned rank; /* of the metrics that fit */
};

/* Prints the head: the kernel's columns, then what is measured, as much as fits. */
void point_table_begin(struct point_table *points, struct console *console,
                       const struct kernel *kernel);
/* Prints one row, and below it what is to be said about it. */
void point_table_row(struct point_table *points, const struct point *point);

/* Adds " 32 MiB 2M random scattered": each part after a space. Pure. */
void describe_variant(const struct variant *variant, struct line *line);

#endif
