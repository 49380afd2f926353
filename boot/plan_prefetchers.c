#include "boot/plan_prefetchers.h"

#include "hw/prefetchers.h"

#include <stdio.h>
#include <string.h>

#define OFF_NAMED "off:"

/* The names behind "off:", or NULL. */
static const char *names_of(const char *way)
{
    const size_t length = strlen(OFF_NAMED);
    return strncmp(way, OFF_NAMED, length) == 0 ? way + length : NULL;
}

static const char *why_none(const struct prefetcher_facts *facts)
{
    return facts->reason != NULL ? facts->reason : "this machine has no such switch";
}

static struct prefetcher_choice choice_of(const char *way, const struct prefetcher_facts *facts)
{
    struct prefetcher_choice choice = { .name = way };
    const char *names = names_of(way);
    if (strcmp(way, "found") == 0) {
        return choice;
    }
    choice.off = UINT32_MAX;
    const bool known = names == NULL || prefetchers_named(facts, names, &choice.off);
    const uint32_t needed = names == NULL ? facts->works : choice.off;
    if (!known || needed == 0 || (needed & ~facts->works) != 0) {
        choice.skip = why_none(facts);
    }
    return choice;
}

unsigned plan_prefetchers(const struct settings *settings, const struct machine *machine,
                          struct prefetcher_choice choice[PREFETCHER_CHOICES])
{
    for (unsigned i = 0; i < settings->prefetcher_choices; i++) {
        choice[i] = choice_of(settings->prefetchers[i], &machine->prefetchers);
    }
    return settings->prefetcher_choices;
}

/* Cut where the line ends. */
static void append_names(char line[SETTING_LINE], const struct prefetcher_facts *facts)
{
    for (unsigned i = 0; i < facts->switches; i++) {
        const size_t length = strlen(line);
        (void)snprintf(line + length, SETTING_LINE - length, "%s%s", i > 0 ? ", " : "",
                       facts->name[i]);
    }
}

static void complain(struct settings *settings, const char *way,
                     const struct prefetcher_facts *facts)
{
    const struct setting_origin *origin = &settings->origin[SETTING_PREFETCHERS];
    const struct setting_place place = { origin->source, origin->place, 0 };
    char line[SETTING_LINE];
    (void)snprintf(line, sizeof line,
                   "prefetchers = \"%.60s\": the prefetchers of this machine are ", way);
    append_names(line, facts);
    settings_complain(settings, &place, line);
}

void plan_check_prefetchers(struct settings *settings, const struct machine *machine)
{
    const struct prefetcher_facts *facts = &machine->prefetchers;
    for (unsigned i = 0; facts->switches > 0 && i < settings->prefetcher_choices; i++) {
        const char *names = names_of(settings->prefetchers[i]);
        uint32_t which;
        if (names != NULL && !prefetchers_named(facts, names, &which)) {
            complain(settings, settings->prefetchers[i], facts);
        }
    }
}
