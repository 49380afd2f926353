/* results.csv: one row a point, RFC 4180 but for lines that end with "\n".
 * Columns: experiment, every variant key, unit, the fields of ns and of cycles, every counter,
 * flags (joined by '+'). What is unknown or does not apply is empty. Window: no. */
#ifndef CONSOLE_CSV_H
#define CONSOLE_CSV_H

#include "console/sink.h"
#include "kernels/result.h"

enum status csv_write_header(const struct sink *sink);
enum status csv_write_point(const struct sink *sink, const char *experiment,
                            const struct point *point);
/* Header and every point of the run. */
enum status csv_write_results(const struct sink *sink, const struct results *results);

#endif
