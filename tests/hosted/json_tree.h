/* JSON that somebody else may have written, as a tree. Read by cJSON, which is small, kept up by
 * every distribution, bounds the depth, and shares no name with console/json.h, by which it is
 * written again. (The image only writes JSON.) No function minds a NULL. */
#ifndef TESTS_HOSTED_JSON_TREE_H
#define TESTS_HOSTED_JSON_TREE_H

#include <cjson/cJSON.h>

#include "console/sink.h"

/* One value, whole, from `n` bytes; NULL if they are none (a line that was cut off, for instance).
 * The caller gives it back with cJSON_Delete. */
cJSON *json_tree_read(const char *bytes, size_t n);

/* Member of an object, NULL if there is none of that name. */
cJSON *json_tree_member(const cJSON *object, const char *key);
/* Text of a member, "" if it is no text. */
const char *json_tree_text(const cJSON *object, const char *key);
/* Number of a member, NAN if it is no number. */
double json_tree_number(const cJSON *object, const char *key);

/* Adds a copy of a value (null, if it is NULL) as the member `key`, in the place of an earlier one.
 */
void json_tree_set(cJSON *to, const char *key, const cJSON *value);
/* The same with every member of `from`, but for those named in `without` (ended by NULL). */
void json_tree_set_all(cJSON *to, const cJSON *from, const char *const *without);

/* Writes a document, laid out as the program's own. BAD_SETTING: it is nested too deeply. */
enum status json_tree_write(const struct sink *to, const cJSON *value);

#endif
