/* Numbers as a person reads them: rounded, with units. Files get them unrounded (console/json.h).
 * Each fills `text` and returns it. Pure. */
#ifndef CONSOLE_FORMAT_H
#define CONSOLE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum { FORMAT_ROOM = 24 };

/* Four significant digits, never an exponent: 0.2513, 1.234, 12.34, 123.4, 1234. "-" for NAN. */
const char *format_number(double number, char text[FORMAT_ROOM]);
/* "64 B", "48 KiB", "5.66 KiB", "1.5 MiB", "60 MiB": three significant digits, but never fewer than
 * make a whole number of the unit exact. */
const char *format_size(uint64_t bytes, char text[FORMAT_ROOM]);
/* "4K", "2M", "1G": the names that the settings use. */
const char *format_page_size(uint64_t bytes, char text[FORMAT_ROOM]);
/* "0:07", "12:41", "1:02:03"; "-" for what is negative or NAN. */
const char *format_duration(double seconds, char text[FORMAT_ROOM]);
/* "2.995 GHz", "24 MHz". */
const char *format_frequency(double hz, char text[FORMAT_ROOM]);

#endif
