/* Where text goes: a screen, a UART, a file. */
#ifndef CONSOLE_SINK_H
#define CONSOLE_SINK_H

#include "hw/machine.h"

/* Bytes are UTF-8; lines end with "\n" (a sink that needs "\r\n" makes it so itself). */
struct sink {
    void *self;
    /* Takes all n bytes or says why not. A sink that failed once may drop what follows. */
    enum status (*write)(void *self, const char *bytes, size_t n);
    /* What was written is safe after this (files); NULL where there is nothing to do. */
    enum status (*flush)(void *self);
};

#endif
