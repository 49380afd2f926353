/* results.json, and the parts of it that the journal records one by one.
 * Described by console/results.schema.json. Window: no. */
#ifndef CONSOLE_RESULTS_JSON_H
#define CONSOLE_RESULTS_JSON_H

#include "console/json.h"
#include "kernels/result.h"

/* The whole document. `results` may still lack its end: the status tells. */
enum status results_json_write(const struct sink *to, const struct results *results);

/* Each writes one member of the open object. */
void results_json_program(struct json *json, const struct program *program);
void results_json_machine(struct json *json, const struct machine *machine);
void results_json_clock(struct json *json, const struct clock *clock);
void results_json_settings(struct json *json, const struct results *results);
void results_json_noise(struct json *json, const struct noise *noise);
/* null for a spread without samples. */
void results_json_spread(struct json *json, const char *key, const struct spread *spread);
void results_json_variant(struct json *json, const struct variant *variant);
void results_json_flags(struct json *json, uint32_t flags);
void results_json_checks(struct json *json, const struct check *check, size_t n);

/* Each writes all members of its thing into the open object. */
void results_json_experiment(struct json *json, const struct experiment *experiment);
/* `machine` is the one that the point was measured on. */
void results_json_point(struct json *json, const struct point *point,
                        const struct machine *machine);
void results_json_finding(struct json *json, const struct finding *finding);

#endif
