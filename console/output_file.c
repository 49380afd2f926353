#include "console/output_file.h"

#include <string.h>

static bool can_save(const struct output_file *file)
{
    return file->saved.write && file->failed == OK;
}

/* Writes and flushes what waits; the first failure is told. */
static void save(struct output_file *file)
{
    enum status status = file->saved.write(file->saved.self, file->buffer, file->used);
    if (status == OK && file->saved.flush) {
        status = file->saved.flush(file->saved.self);
    }
    if (status == OK) {
        file->used = 0;
        file->passed = true;
        return;
    }
    file->failed = status;
    if (file->tell) {
        file->tell(file->teller, file->name, status);
    }
}

static void send(struct output_file *file)
{
    if (file->serial && !file->serial_begun) {
        serial_file_begin(file->serial, file->passed);
        file->serial_begun = true;
    }
    if (file->serial) {
        serial_file_write(file->serial, file->buffer, file->used);
    }
    file->used = 0;
}

void output_file_flush(struct output_file *file)
{
    if (file->used > 0 && can_save(file)) {
        save(file);
    }
    if (file->used > 0) {
        file->failed = file->failed == OK ? ABSENT : file->failed;
        send(file);
    }
}

void output_file_end_record(struct output_file *file)
{
    if (can_save(file)) {
        output_file_flush(file);
    }
}

void output_file_write(struct output_file *file, const char *bytes, size_t n)
{
    while (n > 0) {
        size_t part = file->room - file->used;
        part = part < n ? part : n;
        memcpy(file->buffer + file->used, bytes, part);
        file->used += part;
        bytes += part;
        n -= part;
        if (file->used == file->room) {
            output_file_flush(file);
        }
    }
}

void output_file_close(struct output_file *file)
{
    output_file_flush(file);
    if (file->serial_begun) {
        (void)serial_file_end(file->serial); /* nowhere is left to tell it */
        file->serial_begun = false;
    }
}

static enum status write_bytes(void *self, const char *bytes, size_t n)
{
    output_file_write(self, bytes, n);
    return OK;
}

static enum status flush_file(void *self)
{
    output_file_flush(self);
    return OK;
}

struct sink output_file_sink(struct output_file *file)
{
    return (struct sink){ .self = file, .write = write_bytes, .flush = flush_file };
}

enum status output_file_write_whole(struct output_file *file,
                                    enum status (*write)(const struct sink *to, const void *what),
                                    const void *what)
{
    struct sink sink = output_file_sink(file);
    struct serial_file *serial = file->serial;
    enum status status = OK;
    if (can_save(file)) {
        file->serial = NULL; /* half a file is of no use there */
        status = write(&sink, what);
        output_file_flush(file);
        file->serial = serial;
    }
    if (!can_save(file)) {
        file->used = 0;
        file->passed = false;
        status = write(&sink, what);
    }
    output_file_close(file);
    if (status != OK || file->failed == OK) {
        return status;
    }
    return serial ? serial->status : file->failed;
}
