/* The console: the same lines on the screen, the serial line and in the log.
 *
 * A progress line is redrawn in place on the screen; where nothing can be redrawn, it becomes a
 * line of its own now and then, so that somebody who watches a serial line or reads a log sees
 * that the run lives. No escape codes: a captured line stays readable. Window: no. */
#ifndef CONSOLE_LINES_H
#define CONSOLE_LINES_H

#include "console/line.h"
#include "console/screen.h"

enum {
    COLUMNS_UNSEEN = 100, /* taken for the width where there is no screen */
    BEACON_SECONDS = 10,
};

/* The caller owns it; members are private to lines.c. */
struct console {
    struct screen screen; /* no write function: absent; so for the other two */
    struct sink uart;
    struct sink log;
    size_t drawn;   /* characters of the progress line on the screen */
    double redrawn; /* when: seconds since the run began */
    double now;     /* of the latest progress */
    double spoken;  /* `now` when a line last went to the serial line and the log */
};

/* Each of the three may be NULL. What they point to is copied; what `self` points to must live on.
 * A failing log tells about itself (console/output_file.h); a failing serial line gives up for
 * itself (console/uart.h). */
void console_open(struct console *console, const struct screen *screen, const struct sink *uart,
                  const struct sink *log);

/* Characters that fit on a line everywhere. One less than the screen has: most firmware starts a
 * new line after the last one, and an empty line would follow. */
unsigned console_columns(const struct console *console);

/* One line, without its "\n". What is not printable ASCII becomes '?': no screen lacks that, and
 * text which came from firmware or a settings file cannot steer a terminal. */
void console_line(struct console *console, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void console_blank(struct console *console);

/* Text in lines of console_columns characters, broken at spaces; the first begins with `lead`, the
 * others with as many spaces. */
void console_paragraph(struct console *console, const char *lead, const char *text);

/* Shows how far the run is, at `now` seconds since it began: on the screen at once but at most four
 * times a second (once, on a slow one), elsewhere if nothing was said for BEACON_SECONDS. */
void console_progress(struct console *console, double now, const char *text);

#endif
