/* One line of text that is put together piece by piece. */
#ifndef CONSOLE_LINE_H
#define CONSOLE_LINE_H

#include <stddef.h>

enum { LINE_MOST = 239 }; /* characters; what is longer is cut */

/* Starts at zero. */
struct line {
    size_t used;
    char text[LINE_MOST + 1]; /* ends with a NUL */
};

/* Appends as printf does, as much as fits. */
void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends spaces up to a length. */
void line_pad(struct line *line, size_t until);

#endif
