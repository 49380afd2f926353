/* The folder of a run: DIR/RUN0001, the next free number, and new files in it. Nothing that is there
 * is ever written to. */
#ifndef TESTS_HOSTED_FOLDER_H
#define TESTS_HOSTED_FOLDER_H

#include "console/sink.h"

enum { FOLDER_PATH = 1024 };

/* The caller owns it and its copies of the texts. */
struct folder {
    char path[FOLDER_PATH];      /* of this run, "" until it is there */
    char cut_short[FOLDER_PATH]; /* the latest earlier run that never came to its end, or "" */
    char reason[160];            /* why there is none */
};

/* Makes `parent`, if need be with all above it, and in it the next run's folder. IO_ERROR with a
 * reason. */
enum status folder_make(struct folder *folder, const char *parent);

/* A file that is created when something is first written to it. */
struct folder_file {
    const struct folder *folder;
    const char *name;
    int file; /* -1: not there yet */
    enum status failed;
};

/* Starts it; the name and the folder must live on. */
void folder_file_begin(struct folder_file *file, const struct folder *folder, const char *name);
/* Creates it now. IO_ERROR: it cannot be, or is there already. */
enum status folder_file_create(struct folder_file *file);
/* Writes to it. What was written is the system's as soon as a call is back: it outlives this
 * program. */
struct sink folder_file_sink(struct folder_file *file);
/* Also of what was never created. */
void folder_file_close(struct folder_file *file);

#endif
