/* The results of a run that was cut short, from its journal. */
#ifndef TESTS_HOSTED_RECOVER_H
#define TESTS_HOSTED_RECOVER_H

#include "hw/machine.h"

/* Reads the journal at `path` and writes results.json and results.csv as its run would have: beside
 * the journal, or in a new folder of `output` if that is not NULL. Says on standard output what
 * it made, or on standard error why not. IO_ERROR or BAD_SETTING: nothing was written, or not all. */
enum status recover_run(const char *path, const char *output);

#endif
