/* A text screen, as far as the console needs to know it. Whoever knows the firmware makes one. */
#ifndef CONSOLE_SCREEN_H
#define CONSOLE_SCREEN_H

#include "console/sink.h"

struct screen {
    /* Gets printable ASCII, "\n" and "\r" only. "\r" goes back to the start of the line, and what
     * follows overwrites it. */
    struct sink sink;
    unsigned columns, rows; /* at least 80 x 25 */
    bool slow;              /* takes long over a line (a BMC's): progress is shown rarely */
};

#endif
