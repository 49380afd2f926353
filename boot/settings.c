#include "boot/settings.h"

#include "boot/settings_value.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const suites[] = { "quick", "full", "smoke", NULL };
static const char *const nodes[] = { "all", "local", NULL };
static const char *const auto_or_off[] = { "auto", "off", NULL };
static const char *const frequencies[] = { "found", "base", "max", NULL };
static const char *const no_or_yes[] = { "no", "yes", NULL };
static const char *const finishes[] = { "menu", "exit", "reboot", "shutdown", "qemu-exit", NULL };

#define FIELD(name) .field = offsetof(struct settings, name)

const struct setting setting_table[SETTINGS] = {
    [SETTING_SUITE] = {
        .name = "suite",
        .preset = "quick",
        .expected = "quick, full or smoke",
        .help = "How thorough the run is: quick takes a minute or two, full measures\n"
                "everything and takes long (dry_run tells), smoke only shows that\n"
                "everything works.\n",
        .parse = parse_word,
        FIELD(suite),
        .words = suites,
    },
    [SETTING_EXPERIMENTS] = {
        .name = "experiments",
        .preset = "all",
        .expected = "all, or a list of these names between commas: ",
        .help = "What is measured: all, or a list of experiments, such as\n"
                "chase,selftest. The self-test runs only by name: it provokes faults and\n"
                "shows that each is caught and the machine restored.\n",
        .parse = parse_experiments,
    },
    [SETTING_MAX_WORKING_SET] = {
        .name = "max_working_set",
        .preset = "auto",
        .expected = "auto, or a size of at least 4K such as 64M",
        .help = "The largest set of data that a curve goes to: auto takes the suite's\n"
                "(full: eight times the last cache), otherwise a size such as 64M or 4G.\n",
        .parse = parse_size,
        FIELD(max_working_set),
        .zero = "auto",
        .least = PAGE_4K,
        .most = UINT64_C(1) << 46,
    },
    [SETTING_PAGE_SIZES] = {
        .name = "page_sizes",
        .preset = "auto",
        .expected = "auto, or a list of 4K, 2M, 1G",
        .help = "The page sizes measured on: auto takes the suite's, otherwise a list of\n"
                "4K, 2M, 1G, which then hold wherever an experiment has them.\n",
        .parse = parse_page_sizes,
    },
    [SETTING_PREFETCHERS] = {
        .name = "prefetchers",
        .preset = "auto",
        .expected = "auto, or a list of at most 8 of found, off, off:name+name",
        .help = "How the core's prefetchers are set meanwhile: auto takes the suite's,\n"
                "otherwise a list of found (left alone), off (all that have a switch),\n"
                "off:l2_stream+dcu_ip (those named), which then hold wherever\n"
                "prefetchers matter. The names are in the report.\n",
        .parse = parse_prefetchers,
    },
    [SETTING_REPETITIONS] = {
        .name = "repetitions",
        .preset = "auto",
        .expected = "auto, or a number from 1 to 1000",
        .help = "Samples of a point at least: auto takes the suite's (smoke 3, quick 11,\n"
                "full 31). Where samples spread, up to four times as many are taken.\n",
        .parse = parse_number,
        FIELD(repetitions),
        .zero = "auto",
        .least = 1,
        .most = 1000,
    },
    [SETTING_SEED] = {
        .name = "seed",
        .preset = "1",
        .expected = "a number of at most 64 bits",
        .help = "Seed of every random order: the same seed gives the same orders.\n",
        .parse = parse_number,
        FIELD(seed),
        .most = UINT64_MAX,
    },
    [SETTING_NUMA] = {
        .name = "numa",
        .preset = "all",
        .expected = "all or local",
        .help = "Memory of which NUMA nodes is measured: all, or only local.\n",
        .parse = parse_word,
        FIELD(numa),
        .words = nodes,
    },
    [SETTING_COUNTERS] = {
        .name = "counters",
        .preset = "auto",
        .expected = "auto or off",
        .help = "Performance counters: auto uses them where they work, off leaves them\n"
                "alone.\n"
                "It has no effect in this version.\n",
        .parse = parse_word,
        FIELD(counters),
        .words = auto_or_off,
        .idle = true,
    },
    [SETTING_TOPDOWN] = {
        .name = "topdown",
        .preset = "auto",
        .expected = "auto or off",
        .help = "Where the pipeline's slots go (top-down analysis): auto, or off.\n"
                "It has no effect in this version.\n",
        .parse = parse_word,
        FIELD(topdown),
        .words = auto_or_off,
        .idle = true,
    },
    [SETTING_FREQUENCY] = {
        .name = "frequency",
        .preset = "found",
        .expected = "found, base or max",
        .help = "The core clock asked for during the run: found leaves it alone; base\n"
                "and max ask for it and put it back at the end.\n"
                "It has no effect in this version.\n",
        .parse = parse_word,
        FIELD(frequency),
        .words = frequencies,
        .idle = true,
    },
    [SETTING_TIME_LIMIT] = {
        .name = "time_limit",
        .preset = "0",
        .expected = "a whole number of seconds up to 31536000, 0 for no limit",
        .help = "Seconds after which the run stops, once the current measurement is\n"
                "done; what was measured is kept. 0 sets no limit.\n",
        .parse = parse_number,
        FIELD(time_limit),
        .most = 31536000,
    },
    [SETTING_NOISE_SECONDS] = {
        .name = "noise_seconds",
        .preset = "auto",
        .expected = "auto, or a whole number of seconds from 1 to 3600",
        .help = "Seconds that the machine is watched for interruptions: auto takes the\n"
                "suite's (smoke 1, quick 5, full 30).\n"
                "It has no effect in this version.\n",
        .parse = parse_number,
        FIELD(noise_seconds),
        .zero = "auto",
        .least = 1,
        .most = 3600,
        .idle = true,
    },
    [SETTING_SAMPLES] = {
        .name = "samples",
        .preset = "no",
        .expected = "no or yes",
        .help = "Every single sample in journal.jsl: no or yes.\n",
        .parse = parse_word,
        FIELD(samples),
        .words = no_or_yes,
    },
    [SETTING_REPEAT] = {
        .name = "repeat",
        .preset = "1",
        .expected = "a number from 1 to 1000",
        .help = "How many times the whole plan runs.\n",
        .parse = parse_number,
        FIELD(repeat),
        .least = 1,
        .most = 1000,
    },
    [SETTING_SERIAL] = {
        .name = "serial",
        .preset = "auto",
        .expected = "auto, off, com1 to com4, io:0x3f8 or mmio:0xADDRESS; a comma and a baud rate "
                    "that divides 115200 may follow",
        .help = "Where the run is also shown: auto finds the serial port, off uses none,\n"
                "com1 to com4, io:0x3f8 (a port), mmio:0xfe034000 (an address). A baud\n"
                "rate may follow, as in com1,57600; otherwise 115200, or what the\n"
                "firmware has set.\n",
        .parse = parse_serial,
    },
    [SETTING_COUNTDOWN] = {
        .name = "countdown",
        .preset = "5",
        .expected = "a whole number of seconds up to 3600",
        .help = "Seconds before the run starts by itself; 0 starts at once.\n",
        .parse = parse_number,
        FIELD(countdown),
        .most = 3600,
    },
    [SETTING_SAVE] = {
        .name = "save",
        .preset = "yes",
        .expected = "no or yes",
        .help = "Writes the results to the stick, into \\RESULTS: yes or no.\n",
        .parse = parse_word,
        FIELD(save),
        .words = no_or_yes,
    },
    [SETTING_NAME] = {
        .name = "name",
        .preset = "",
        .expected = "at most 63 bytes of text without double quotes",
        .help = "What this machine is called in the results; left empty, its product\n"
                "name and serial number.\n",
        .parse = parse_name,
    },
    [SETTING_ON_FINISH] = {
        .name = "on_finish",
        .preset = "menu",
        .expected = "menu, exit, reboot, shutdown or qemu-exit",
        .help = "What comes after the run: menu says where the results are and waits for\n"
                "a key or 30 seconds; exit goes back to the firmware at once; reboot;\n"
                "shutdown; qemu-exit ends QEMU (isa-debug-exit at port 0xf4) with status\n"
                "33 for success and 35 for failure.\n",
        .parse = parse_word,
        FIELD(on_finish),
        .words = finishes,
    },
    [SETTING_DRY_RUN] = {
        .name = "dry_run",
        .preset = "no",
        .expected = "no or yes",
        .help = "Only shows what would be measured and how long it would take: no or yes.\n",
        .parse = parse_word,
        FIELD(dry_run),
        .words = no_or_yes,
    },
};

/* --- Complaints ---------------------------------------------------------------------------- */

/* Appends to a line that ends with NUL; what does not fit is cut. What is not ASCII becomes question
 * marks: a screen of firmware cannot show more. */
static void append(char line[SETTING_LINE], const char *text)
{
    size_t length = strlen(line);
    for (; *text != '\0' && length < SETTING_LINE - 1; text++) {
        const bool shown = *text >= ' ' && *text <= '~';
        line[length] = '?';
        if (shown) {
            line[length] = *text;
        }
        length++;
    }
    line[length] = '\0';
}

static void append_place(char line[SETTING_LINE], const struct setting_place *place)
{
    char number[16] = "";
    if (place->line != 0) {
        (void)snprintf(number, sizeof number, ":%u", place->line);
    }
    append(line, place->name);
    append(line, number);
    append(line, ": ");
}

void settings_complain(struct settings *settings, const struct setting_place *place,
                       const char *text)
{
    if (settings->errors == SETTING_ERRORS) {
        settings->errors_lost++;
        return;
    }
    char *line = settings->error[settings->errors++];
    line[0] = '\0';
    append_place(line, place);
    append(line, text);
}

void settings_remark(struct settings *settings, const struct setting_place *place, const char *text)
{
    if (settings->notices == SETTING_NOTICES) {
        return;
    }
    char *line = settings->notice[settings->notices++];
    line[0] = '\0';
    append_place(line, place);
    append(line, text);
}

/* The foreign text that a complaint is about, in quotes, cut after a screenful of it. */
static void append_quoted(char line[SETTING_LINE], const char *text)
{
    char start[64];
    const size_t length = strlen(text);
    const size_t shown = length < sizeof start ? length : sizeof start - 1;
    memcpy(start, text, shown);
    start[shown] = '\0';
    append(line, "\"");
    append(line, start);
    append(line, shown < length ? "...\"" : "\"");
}

static unsigned least_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Letters to insert, delete or change to make one word of the other (Levenshtein's distance), for
 * words of up to 23 letters; other pairs are far apart. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[24];
    const size_t length = strlen(b);
    if (strlen(a) >= 24 || length >= 24) {
        return UINT32_MAX;
    }
    for (unsigned j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= length; j++) {
            const unsigned same = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = least_of(same, least_of(row[j - 1], row[j]) + 1);
        }
    }
    return row[length];
}

/* The key that was probably meant, or NULL. */
static const char *near_miss(const char *key)
{
    unsigned nearest = 3;
    const char *name = NULL;
    for (size_t i = 0; i < SETTINGS; i++) {
        const unsigned away = distance(key, setting_table[i].name);
        if (away < nearest && away < strlen(key)) {
            nearest = away;
            name = setting_table[i].name;
        }
    }
    return name;
}

static void complain_of_key(struct settings *settings, const struct setting_place *place,
                            const char *key)
{
    char line[SETTING_LINE] = "unknown setting ";
    const char *meant = near_miss(key);
    append_quoted(line, key);
    if (meant != NULL) {
        append(line, "; did you mean ");
        append(line, meant);
        append(line, "?");
    }
    settings_complain(settings, place, line);
}

static void append_experiments(char line[SETTING_LINE], const struct kernel *const *kernels)
{
    for (; *kernels != NULL; kernels++) {
        append(line, (*kernels)->name);
        append(line, ", ");
    }
    append(line, "selftest");
}

static void complain_of_value(struct settings *settings, const struct setting_place *place,
                              const struct setting *setting, const char *value)
{
    char line[SETTING_LINE] = "";
    append(line, setting->name);
    append(line, " = ");
    append_quoted(line, value);
    append(line, ": expected ");
    append(line, setting->expected);
    if (setting->parse == parse_experiments) {
        append_experiments(line, settings->kernels);
    }
    settings_complain(settings, place, line);
}

static void complain_of_second(struct settings *settings, const struct setting_place *place,
                               const struct setting *setting, unsigned first)
{
    char line[SETTING_LINE];
    (void)snprintf(line, sizeof line, "%s stands here a second time; the first is in line %u",
                   setting->name, first);
    settings_complain(settings, place, line);
}

/* --- Assignments --------------------------------------------------------------------------- */

static const struct setting *setting_named(const char *key)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        if (strcasecmp(key, setting_table[i].name) == 0) {
            return &setting_table[i];
        }
    }
    return NULL;
}

/* Copies a part of a text without the blanks around it and one pair of double quotes. False: it
 * does not fit. */
static bool copy_trimmed(char *to, size_t room, const char *from, const char *end)
{
    from += strspn(from, " \t");
    while (end > from && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    if (end > from + 1 && *from == '"' && end[-1] == '"') {
        from++;
        end--;
    }
    const size_t length = end > from ? (size_t)(end - from) : 0;
    if (length >= room) {
        return false;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

static void note_origin(struct setting_origin *origin, const struct setting_place *place)
{
    char number[16] = "";
    if (place->line != 0) {
        (void)snprintf(number, sizeof number, ":%u", place->line);
    }
    origin->source = place->source;
    const size_t room = sizeof origin->place - sizeof number;
    (void)snprintf(origin->place, sizeof origin->place, "%.*s%s", (int)room, place->name, number);
}

static void set_value(struct settings *settings, const struct setting_place *place,
                      const struct setting *setting, const char *value)
{
    struct setting_origin *origin = &settings->origin[setting - setting_table];
    if (place->source == SOURCE_FILE && origin->line != 0) {
        complain_of_second(settings, place, setting, origin->line);
        return;
    }
    if (place->source == SOURCE_FILE) {
        origin->line = place->line;
    }
    if (!setting->parse(settings, setting, value, origin->value)) {
        complain_of_value(settings, place, setting, value);
        return;
    }
    note_origin(origin, place);
}

void settings_assign(struct settings *settings, const struct setting_place *place,
                     const char *assignment)
{
    char key[32], value[SETTING_TEXT];
    const char *equals = strchr(assignment, '=');
    if (equals == NULL) {
        char line[SETTING_LINE] = "";
        append_quoted(line, assignment);
        append(line, ": expected key = value");
        settings_complain(settings, place, line);
        return;
    }
    if (!copy_trimmed(key, sizeof key, assignment, equals)) {
        settings_complain(settings, place, "unknown setting with an endless name");
        return;
    }
    const struct setting *setting = setting_named(key);
    if (setting == NULL) {
        complain_of_key(settings, place, key);
    } else if (!copy_trimmed(value, sizeof value, equals + 1, equals + 1 + strlen(equals + 1))) {
        complain_of_value(settings, place, setting, equals + 1);
    } else {
        set_value(settings, place, setting, value);
    }
}

void settings_defaults(struct settings *settings, const struct kernel *const *kernels)
{
    static const struct setting_place place = { SOURCE_DEFAULT, "default", 0 };
    memset(settings, 0, sizeof *settings);
    settings->kernels = kernels;
    for (size_t i = 0; i < SETTINGS; i++) {
        set_value(settings, &place, &setting_table[i], setting_table[i].preset);
    }
}

/* --- What came out ------------------------------------------------------------------------- */

void settings_remark_idle(struct settings *settings)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        const struct setting_origin *origin = &settings->origin[i];
        char text[SETTING_LINE];
        if (!setting_table[i].idle || origin->source == SOURCE_DEFAULT) {
            continue;
        }
        struct setting_place place = { origin->source, origin->place, 0 };
        (void)snprintf(text, sizeof text, "%s has no effect in this version",
                       setting_table[i].name);
        settings_remark(settings, &place, text);
    }
}

bool settings_ok(const struct settings *settings)
{
    return settings->errors == 0;
}

void settings_notes(const struct settings *settings, struct setting_note note[SETTINGS])
{
    for (size_t i = 0; i < SETTINGS; i++) {
        note[i] = (struct setting_note){
            .key = setting_table[i].name,
            .value = settings->origin[i].value,
            .source = settings->origin[i].place,
        };
    }
}

/* Characters that neither load options nor a shell take for something else. */
static bool is_plain(const char *value)
{
    for (; *value != '\0'; value++) {
        if (!isalnum((unsigned char)*value) && strchr("._:,+-", *value) == NULL) {
            return false;
        }
    }
    return true;
}

bool settings_repeat_line(const struct settings *settings, char *line, size_t room)
{
    size_t length = 0;
    line[0] = '\0';
    for (size_t i = 0; i < SETTINGS; i++) {
        const char *value = settings->origin[i].value;
        if (strcmp(value, setting_table[i].preset) == 0) {
            continue;
        }
        const char *quote = is_plain(value) ? "" : "\"";
        const int n = snprintf(line + length, room - length, "%s%s=%s%s%s", length > 0 ? " " : "",
                               setting_table[i].name, quote, value, quote);
        if (n < 0 || (size_t)n >= room - length) {
            line[length] = '\0';
            return false;
        }
        length += (size_t)n;
    }
    return true;
}
