/* A journal (boot/journal.h) made into the results of its run: what results.json would hold. */
#ifndef TESTS_HOSTED_JOURNAL_READ_H
#define TESTS_HOSTED_JOURNAL_READ_H

#include "tests/hosted/json_tree.h"

/* What was read so far. Starts at zero; its members are private to journal_read.c. */
struct journal_read {
    cJSON *header, *noise, *end;   /* records, or NULL */
    cJSON *experiments, *findings; /* lists, as in results.json */
    cJSON *current;                /* the experiment that has not ended, or NULL */
    cJSON *visits;                 /* of it: records that no point has replaced */
    size_t broken;                 /* lines that are no record */
};

/* Takes the next line, without its end. What is no record, or of a kind that is not known, is
 * counted and left out: a power cut may have cut a line off. */
void journal_read_line(struct journal_read *journal, const char *line, size_t n);

/* The document: status `partial` if the journal has no end. Points of which some visits are known,
 * and no more, are made of those, and flagged `partial`. NULL: that was no journal of ours. The
 * caller gives it back with cJSON_Delete. */
cJSON *journal_read_results(struct journal_read *journal);

/* Gives back what was read. */
void journal_read_close(struct journal_read *journal);

#endif
