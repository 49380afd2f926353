/* Recorded processors: what a file says goes into the scripted processor.
 *
 * The project's own form (tests/data/cpuid/), one fact a line, numbers in hexadecimal:
 *
 *     # a comment
 *     cpuid  leaf subleaf eax ebx ecx edx      (subleaf "-": the leaf does not look at ECX)
 *     msr    number value
 *     expect name value                        (what a decoder must make of it; text) */
#ifndef TESTS_FAKES_RECORDING_H
#define TESTS_FAKES_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

struct expectation {
    char name[24];
    char value[256];
};

enum { EXPECTATIONS = 48 };

struct recording {
    size_t expectations;
    struct expectation expect[EXPECTATIONS];
};

/* Adds the file's leaves and registers to the script; `recording` may be NULL. False: there is no
 * such file. A line that cannot be read ends the test. */
bool recording_load(const char *path, struct recording *recording);

/* NULL if the file says nothing about it. */
const char *recording_expects(const struct recording *recording, const char *name);

/* Adds the leaves of one logical processor (as numbered in it) of an InstLatx64 dump. False: the
 * file, or that processor in it, does not exist. */
bool recording_load_dump(const char *path, unsigned logical);

#endif
