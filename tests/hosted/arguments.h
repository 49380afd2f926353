/* The command line: key=value settings, and the few options of a program of Linux. */
#ifndef TESTS_HOSTED_ARGUMENTS_H
#define TESTS_HOSTED_ARGUMENTS_H

#include "boot/settings.h"

#define DEFAULT_OUTPUT "RESULTS"

struct arguments {
    const char *output; /* the folder for runs; DEFAULT_OUTPUT if none is given */
    bool output_given;
    bool help;
    const char *recover; /* a journal to make results of, or NULL */
};

/* Reads the arguments after the program's name; they must live on. Settings go over the defaults of
 * `kernels`. What is wrong is an error of the settings. */
void arguments_read(struct arguments *arguments, struct settings *settings, int count,
                    char *const *argument, const struct kernel *const *kernels);

/* Prints what there is to say, settings included, on standard output. */
void arguments_help(void);

#endif
