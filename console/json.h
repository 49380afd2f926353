/* JSON as a stream: what is written cannot be taken back, and cannot come out malformed.
 *
 * Commas and brackets follow from what is open; a value in an object has a key, one in a list has
 * none (NULL). Whoever breaks that, or nests deeper than JSON_DEPTH, gets BAD_SETTING from then on
 * and nothing more is written. No function allocates. Window: no (sinks call the firmware). */
#ifndef CONSOLE_JSON_H
#define CONSOLE_JSON_H

#include "console/sink.h"

enum { JSON_DEPTH = 31, NUMBER_TEXT = 32 };

/* The caller owns it; its members are private to json.c. */
struct json {
    const struct sink *sink;
    enum status status; /* the first failure; everything after it is dropped */
    unsigned depth;
    uint32_t lists;   /* bit d: what is open at depth d is a list, else an object */
    uint32_t filled;  /* bit d: it has a member already */
    uint32_t on_line; /* bit d: its members stand on one line */
};

/* Starts a document on a sink that outlives it. */
void json_open(struct json *json, const struct sink *sink);
/* Ends the line after the document; the first failure of it all. BAD_SETTING also if something is
 * still open. */
enum status json_close(struct json *json);

/* Opens an object or a list, each member on its own line. Inside an `_on_line` one everything
 * stands on the same line. */
void json_object(struct json *json, const char *key);
void json_list(struct json *json, const char *key);
void json_object_on_line(struct json *json, const char *key);
void json_list_on_line(struct json *json, const char *key);
/* Closes whichever was opened last. */
void json_end(struct json *json);

/* UTF-8; bytes that are none become U+FFFD. NULL is null. */
void json_text(struct json *json, const char *key, const char *text);
/* The fewest of 15 to 17 digits that read back as the same number; null if not finite. */
void json_number(struct json *json, const char *key, double number);
void json_unsigned(struct json *json, const char *key, uint64_t number);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
/* A finite double as json_number writes it; returns its length. Pure. */
size_t number_text(double number, char text[NUMBER_TEXT]);

#endif
