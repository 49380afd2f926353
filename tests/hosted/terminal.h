/* Standard output as the console's screen or line, and what the user wants meanwhile. */
#ifndef TESTS_HOSTED_TERMINAL_H
#define TESTS_HOSTED_TERMINAL_H

#include "console/lines.h"

/* Opens the console on standard output: a terminal is a screen whose progress line is redrawn,
 * anything else a line on which nothing is taken back. `log` gets the same; NULL: none. */
void terminal_open(struct console *console, const struct sink *log);

/* From now on until terminal_release, keys are taken one by one if there is a terminal in front of
 * us, and Ctrl-C is the key q, as is being asked to end (SIGTERM, SIGHUP). The second time ends the
 * program at once. */
void terminal_take_keys(void);
/* The terminal is as it was. Also at the program's end. */
void terminal_release(void);
/* The next key, 0 for none; 'q' after a Ctrl-C. For `key` of struct report. */
char terminal_key(void *unused);

#endif
