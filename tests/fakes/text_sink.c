#include "tests/fakes/text_sink.h"

#include <assert.h>
#include <string.h>

void text_sink_reset(struct text_sink *text)
{
    memset(text, 0, sizeof *text);
}

static enum status write_text(void *self, const char *bytes, size_t n)
{
    struct text_sink *text = self;
    size_t part = n;
    text->calls++;
    if (text->takes > 0 && text->used + n > text->takes) {
        part = text->takes - text->used;
    }
    assert(text->used + part < TEXT_ROOM);
    memcpy(text->text + text->used, bytes, part);
    text->used += part;
    text->text[text->used] = 0;
    return part == n ? OK : text->fails_with == OK ? IO_ERROR : text->fails_with;
}

static enum status flush_text(void *self)
{
    struct text_sink *text = self;
    text->flushes++;
    if (text->flush_answer == OK) {
        text->safe = text->used;
    }
    return text->flush_answer;
}

struct sink text_sink_of(struct text_sink *text)
{
    return (struct sink){ .self = text, .write = write_text, .flush = flush_text };
}

unsigned text_sink_count(const struct text_sink *text, const char *part)
{
    unsigned n = 0;
    for (const char *at = text->text; (at = strstr(at, part)) != NULL; at++) {
        n++;
    }
    return n;
}
