#include "console/line.h"

#include <stdarg.h>
#include <stdio.h>

void line_add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof line->text - line->used;
    int n = vsnprintf(line->text + line->used, room, format, arguments);
    va_end(arguments);
    line->used += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

void line_pad(struct line *line, size_t until)
{
    if (until > line->used) {
        line_add(line, "%*s", (int)(until - line->used), "");
    }
}
