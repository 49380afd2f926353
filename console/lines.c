#include "console/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SCREEN_COLUMNS_LEAST = 80 };

static const double redraw_seconds = 0.25;
static const double redraw_seconds_slow = 1.0;

static struct sink sink_or_none(const struct sink *sink)
{
    return sink ? *sink : (struct sink){ 0 };
}

void console_open(struct console *console, const struct screen *screen, const struct sink *uart,
                  const struct sink *log)
{
    *console = (struct console){ .uart = sink_or_none(uart), .log = sink_or_none(log) };
    if (screen) {
        console->screen = *screen;
    }
    console->redrawn = -redraw_seconds_slow;
}

unsigned console_columns(const struct console *console)
{
    unsigned columns = COLUMNS_UNSEEN;
    if (console->screen.sink.write) {
        columns = console->screen.columns;
    }
    columns = columns < SCREEN_COLUMNS_LEAST ? SCREEN_COLUMNS_LEAST : columns;
    return columns > LINE_MOST ? LINE_MOST : columns - 1;
}

static void put(const struct sink *sink, const char *bytes, size_t n)
{
    if (sink->write) {
        (void)sink->write(sink->self, bytes, n); /* each sink tells its own failures */
    }
}

/* Draws over the progress line: spaces up to its length, then `end`. */
static void draw(const struct console *console, const char *text, const char *end)
{
    char line[LINE_MOST + 4];
    if (console->screen.sink.write) {
        int length = snprintf(line, sizeof line, "%s%-*s%s", console->drawn > 0 ? "\r" : "",
                              (int)console->drawn, text, end);
        put(&console->screen.sink, line, (size_t)length);
    }
}

static void say(struct console *console, const char *line)
{
    char text[LINE_MOST + 2];
    int length = snprintf(text, sizeof text, "%s\n", line);
    put(&console->uart, text, (size_t)length);
    put(&console->log, text, (size_t)length);
    console->spoken = console->now;
}

/* Leaves ASCII that every screen has: one '?' for each other character; at most LINE_MOST. */
static void make_printable(char *line)
{
    size_t n = 0;
    for (const char *at = line; *at && n < LINE_MOST; at++) {
        unsigned byte = (unsigned char)*at;
        bool plain = byte >= ' ' && byte < 0x7F;
        if (plain) {
            line[n++] = *at;
        } else if ((byte & 0xC0) != 0x80) { /* of a UTF-8 character, the first byte only */
            line[n++] = '?';
        }
    }
    line[n] = 0;
}

void console_line(struct console *console, const char *format, ...)
{
    char line[LINE_MOST + 1];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    make_printable(line);
    draw(console, line, "\n");
    console->drawn = 0;
    say(console, line);
}

void console_blank(struct console *console)
{
    console_line(console, "%s", "");
}

/* Length of the part of `text` that goes on a line of `room` characters. */
static size_t line_length(const char *text, size_t room)
{
    size_t length = strlen(text);
    if (length <= room) {
        return length;
    }
    length = room;
    while (length > 0 && text[length] != ' ') {
        length--;
    }
    return length > 0 ? length : room;
}

void console_paragraph(struct console *console, const char *lead, const char *text)
{
    size_t columns = console_columns(console);
    size_t length_of_lead = strlen(lead);
    int indent = (int)(length_of_lead < columns / 2 ? length_of_lead : columns / 2);
    size_t room = columns - (size_t)indent;
    do {
        size_t length = line_length(text, room);
        console_line(console, "%-*.*s%.*s", indent, indent, lead, (int)length, text);
        text += length + strspn(text + length, " ");
        lead = "";
    } while (*text);
}

void console_progress(struct console *console, double now, const char *text)
{
    char line[LINE_MOST + 1];
    console->now = now;
    (void)snprintf(line, sizeof line, "%s", text);
    make_printable(line);
    if (now - console->spoken >= BEACON_SECONDS) {
        say(console, line);
    }
    double least = console->screen.slow ? redraw_seconds_slow : redraw_seconds;
    if (now - console->redrawn >= least) {
        line[console_columns(console)] = 0;
        draw(console, line, "");
        console->drawn = strlen(line);
        console->redrawn = now;
    }
}
