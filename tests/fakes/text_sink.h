/* A sink that keeps what it is given, and can be made to fail like a stick. */
#ifndef TESTS_FAKES_TEXT_SINK_H
#define TESTS_FAKES_TEXT_SINK_H

#include "console/sink.h"

enum { TEXT_ROOM = 1 << 18 };

struct text_sink {
    char text[TEXT_ROOM]; /* ends with a NUL */
    size_t used;
    size_t safe;    /* bytes that a flush has made safe */
    size_t takes;   /* bytes it takes before it fails; 0: all */
    unsigned calls; /* of write */
    unsigned flushes;
    enum status fails_with;   /* of a write beyond `takes`; OK stands for IO_ERROR */
    enum status flush_answer; /* of every flush */
};

/* Empties it. */
void text_sink_reset(struct text_sink *text);
/* The sink that writes to it. */
struct sink text_sink_of(struct text_sink *text);
/* How often `part` stands in it. */
unsigned text_sink_count(const struct text_sink *text, const char *part);

#endif
