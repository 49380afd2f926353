/* A file as lines of text on the serial line, for runs that can write nowhere else.
 * console/serial_files.py turns a captured line back into the files.
 *
 *     @<name> <number> <crc> <mark><text>
 *
 * number   0, 1, 2… within the file
 * crc      CRC-32 (as in zip and zlib) of "<name> <number> <mark><text>", eight hex digits
 * mark     ':' text ends a line of the file; '+' it does not; '!' it is not of the file, but
 *          "begin" (the file starts here), "rest" (what comes before was saved elsewhere) or
 *          "end <bytes> <crc of all bytes>"
 *
 * The prefix tells such a line from what a person reads; a lost or altered character is noticed
 * and named. Lines are at most 210 characters: some serial consoles wrap or cut longer ones. None
 * ends with a space, which a terminal may drop.
 * Window: no. */
#ifndef CONSOLE_SERIAL_FILE_H
#define CONSOLE_SERIAL_FILE_H

#include "console/sink.h"

enum { SERIAL_TEXT = 160 }; /* bytes of a file on one line */

/* The caller gives the first two. */
struct serial_file {
    const struct sink *line; /* takes whole lines, one a call */
    const char *name;        /* at most 24 characters, no space */

    uint64_t bytes;
    size_t used;
    unsigned number;
    uint32_t crc;
    enum status status; /* the first failure of the line; what follows is still tried */
    char text[SERIAL_TEXT];
};

/* `rest`: the file's beginning was saved elsewhere. */
void serial_file_begin(struct serial_file *file, bool rest);
/* Text lines; a line leaves when it ends or is long. */
void serial_file_write(struct serial_file *file, const char *bytes, size_t n);
/* Sends what is left of an unfinished line, and the end mark; the first failure of the line. */
enum status serial_file_end(struct serial_file *file);

/* CRC-32 of `n` more bytes; start with 0. Pure. */
uint32_t crc32_of(uint32_t crc, const void *bytes, size_t n);

#endif
