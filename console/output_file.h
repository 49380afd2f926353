/* A file of the run: saved on the stick, or sent over the serial line where that is impossible.
 *
 * Bytes wait in the caller's memory until they are passed on together and flushed; so whatever a
 * failed write leaves unsaved is still here, and leaves on the serial line instead. The first
 * failure is told once; the run goes on. Window: no. */
#ifndef CONSOLE_OUTPUT_FILE_H
#define CONSOLE_OUTPUT_FILE_H

#include "console/serial_file.h"
#include "console/sink.h"

/* The caller fills the first group; the rest starts at zero. */
struct output_file {
    struct sink saved;          /* write NULL: cannot be saved */
    struct serial_file *serial; /* where it goes instead, or NULL */
    char *buffer;               /* at least one record; all between two flushes, better */
    size_t room;
    /* Called once, with the file's name, when saving fails; or NULL. */
    void (*tell)(void *teller, const char *name, enum status status);
    void *teller;
    const char *name; /* "journal.jsl" */

    size_t used;
    enum status failed; /* of saving: OK while all is well */
    bool passed;        /* something was saved already */
    bool serial_begun;
};

/* Appends. Never fails: what cannot be saved is sent, what can be neither is dropped, and
 * `failed` says so. */
void output_file_write(struct output_file *file, const char *bytes, size_t n);
/* A record is complete: it is saved now. What leaves on the serial line waits for a flush (or a
 * full buffer), so that it does not stand between the rows that a person reads there. */
void output_file_end_record(struct output_file *file);
/* Everything so far is saved or sent. */
void output_file_flush(struct output_file *file);
/* The file is complete: flushed, and its end marked on the serial line. */
void output_file_close(struct output_file *file);
/* The same as a sink; its write always answers OK. */
struct sink output_file_sink(struct output_file *file);

/* Writes a whole file in one go by `write`, which is called again for the serial line if saving
 * failed half-way; then closes it. OK if it was saved or sent. */
enum status output_file_write_whole(struct output_file *file,
                                    enum status (*write)(const struct sink *to, const void *what),
                                    const void *what);

#endif
