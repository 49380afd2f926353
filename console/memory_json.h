/* The memory of a machine in results.json: its modules and its nodes. Window: no (sinks call the
 * firmware). */
#ifndef CONSOLE_MEMORY_JSON_H
#define CONSOLE_MEMORY_JSON_H

#include "console/json.h"
#include "hw/machine.h"

/* Members "dimms" (null where the firmware lists none) and "dimm_summary", of an open object. */
void memory_json_dimms(struct json *json, const struct memory_facts *memory);

#endif
