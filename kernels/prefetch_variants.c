#include "kernels/prefetch_variants.h"

#include <stddef.h>

static const struct prefetcher_choice found = { "found", 0, NULL };

/* All that have a switch. */
static struct prefetcher_choice all_off(const struct machine *machine)
{
    const struct prefetcher_facts *facts = &machine->prefetchers;
    const char *reason =
        facts->reason != NULL ? facts->reason : "there is no switch of a prefetcher";
    return (struct prefetcher_choice){ "off", UINT32_MAX, facts->works != 0 ? NULL : reason };
}

/* The data is built for the first that is measured. */
static bool add_one(struct measurement *measurement, const struct prefetcher_choice *choice,
                    struct measurement_list *out)
{
    struct measurement copy = *measurement;
    variant_set_text(&copy.variant, V_PREFETCHERS, choice->name);
    copy.conditions.prefetchers_off = choice->off;
    copy.skip = copy.skip != NULL ? copy.skip : choice->skip;
    measurement->build_seconds = copy.skip != NULL ? measurement->build_seconds : 0;
    return measurement_add(out, &copy);
}

bool prefetch_add(const struct scope *scope, const struct measurement *measurement,
                  enum prefetching suits, struct measurement_list *out)
{
    const struct prefetcher_choice off = all_off(scope->machine);
    struct measurement each = *measurement;
    bool added = true;
    for (unsigned i = 0; i < scope->prefetcher_choices; i++) {
        added = add_one(&each, &scope->prefetchers[i], out) && added;
    }
    if (scope->prefetcher_choices > 0) {
        return added;
    }
    if (suits != PREFETCH_OFF || off.skip != NULL) {
        added = add_one(&each, &found, out);
    }
    if (suits == PREFETCH_BOTH || (suits == PREFETCH_OFF && off.skip == NULL)) {
        added = add_one(&each, &off, out) && added;
    }
    return added;
}
