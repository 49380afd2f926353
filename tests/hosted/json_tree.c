#include "tests/hosted/json_tree.h"

#include "console/json.h"

#include <math.h>
#include <string.h>

cJSON *json_tree_read(const char *bytes, size_t n)
{
    const char *end = NULL;
    cJSON *value = cJSON_ParseWithLengthOpts(bytes, n, &end, 0);
    if (value != NULL && end != bytes + n) {
        cJSON_Delete(value);
        return NULL;
    }
    return value;
}

cJSON *json_tree_member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *json_tree_text(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(json_tree_member(object, key));
    return text != NULL ? text : "";
}

double json_tree_number(const cJSON *object, const char *key)
{
    return cJSON_GetNumberValue(json_tree_member(object, key));
}

void json_tree_set(cJSON *to, const char *key, const cJSON *value)
{
    cJSON *copy = value != NULL ? cJSON_Duplicate(value, 1) : cJSON_CreateNull();
    if (json_tree_member(to, key) != NULL) {
        (void)cJSON_ReplaceItemInObjectCaseSensitive(to, key, copy);
    } else {
        (void)cJSON_AddItemToObject(to, key, copy);
    }
}

static bool is_listed(const char *key, const char *const *list)
{
    while (*list != NULL && strcmp(*list, key) != 0) {
        list++;
    }
    return *list != NULL;
}

void json_tree_set_all(cJSON *to, const cJSON *from, const char *const *without)
{
    for (const cJSON *member = from != NULL ? from->child : NULL; member != NULL;
         member = member->next) {
        if (!is_listed(member->string, without)) {
            json_tree_set(to, member->string, member);
        }
    }
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* Depths from which a whole object, or a list, stands on one line: as the points of an experiment
 * and the caches of the machine do. */
enum { OBJECT_ON_LINE = 3, LIST_ON_LINE = 4 };

#define LARGEST_EXACT 9007199254740992.0 /* 2^53 */

static void write_value(struct json *json, const char *key, const cJSON *value, unsigned depth);

static bool has_containers(const cJSON *value)
{
    bool any = false;
    for (const cJSON *member = value->child; member != NULL; member = member->next) {
        any = any || cJSON_IsObject(member) || cJSON_IsArray(member);
    }
    return any;
}

static void write_members(struct json *json, const char *key, const cJSON *value, unsigned depth)
{
    const bool is_list = cJSON_IsArray(value);
    const bool deep = depth >= (is_list ? LIST_ON_LINE : OBJECT_ON_LINE);
    const bool one_line = deep || !has_containers(value);
    if (is_list) {
        (one_line ? json_list_on_line : json_list)(json, key);
    } else {
        (one_line ? json_object_on_line : json_object)(json, key);
    }
    for (const cJSON *member = value->child; member != NULL; member = member->next) {
        write_value(json, is_list ? NULL : member->string, member, depth + 1);
    }
    json_end(json);
}

static void write_number(struct json *json, const char *key, double number)
{
    if (number >= 0 && number <= LARGEST_EXACT && number == floor(number)) {
        json_unsigned(json, key, (uint64_t)number);
    } else {
        json_number(json, key, number);
    }
}

static void write_value(struct json *json, const char *key, const cJSON *value, unsigned depth)
{
    if (json->status != OK) { /* nothing more is written, so nothing more need be looked at */
        return;
    }
    if (cJSON_IsObject(value) || cJSON_IsArray(value)) {
        write_members(json, key, value, depth);
    } else if (cJSON_IsString(value)) {
        json_text(json, key, value->valuestring);
    } else if (cJSON_IsBool(value)) {
        json_bool(json, key, cJSON_IsTrue(value));
    } else if (cJSON_IsNumber(value)) {
        write_number(json, key, value->valuedouble);
    } else {
        json_null(json, key);
    }
}

enum status json_tree_write(const struct sink *to, const cJSON *value)
{
    struct json json;
    json_open(&json, to);
    write_value(&json, NULL, value, 0);
    return json_close(&json);
}
