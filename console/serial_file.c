#include "console/serial_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 24, LINE_ROOM = 256 };

uint32_t crc32_of(uint32_t crc, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
        }
    }
    return ~crc;
}

/* Sends one line: in a single piece, so that nothing gets between. */
static void send(struct serial_file *file, char mark, const char *text, size_t n)
{
    char checked[LINE_ROOM];
    char line[LINE_ROOM];
    int length = snprintf(checked, sizeof checked, "%.*s %u %c%.*s", NAME_MOST, file->name,
                          file->number, mark, (int)n, text);
    uint32_t crc = crc32_of(0, checked, (size_t)length);
    length = snprintf(line, sizeof line, "@%.*s %u %08" PRIx32 " %c%.*s\n", NAME_MOST, file->name,
                      file->number, crc, mark, (int)n, text);
    enum status status = file->line->write(file->line->self, line, (size_t)length);
    file->status = file->status == OK ? status : file->status;
    file->number++;
}

/* Sends the first n bytes of what has gathered, and keeps the others. */
static void send_text(struct serial_file *file, char mark, size_t n)
{
    send(file, mark, file->text, n);
    file->used -= n;
    memmove(file->text, file->text + n, file->used);
}

void serial_file_begin(struct serial_file *file, bool rest)
{
    file->number = 0;
    file->bytes = 0;
    file->crc = 0;
    file->used = 0;
    const char *text = rest ? "rest" : "begin";
    send(file, '!', text, strlen(text));
}

/* Where a long line is cut: before the spaces it would end with. */
static size_t cut(const struct serial_file *file)
{
    size_t n = file->used;
    while (n > 0 && file->text[n - 1] == ' ') {
        n--;
    }
    return n > 0 ? n : file->used;
}

void serial_file_write(struct serial_file *file, const char *bytes, size_t n)
{
    file->crc = crc32_of(file->crc, bytes, n);
    file->bytes += n;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            send_text(file, ':', file->used);
            continue;
        }
        if (file->used == SERIAL_TEXT) {
            send_text(file, '+', cut(file));
        }
        file->text[file->used++] = bytes[i];
    }
}

enum status serial_file_end(struct serial_file *file)
{
    char text[48];
    if (file->used > 0) {
        send_text(file, '+', file->used);
    }
    int length = snprintf(text, sizeof text, "end %" PRIu64 " %08" PRIx32, file->bytes, file->crc);
    send(file, '!', text, (size_t)length);
    return file->status;
}
