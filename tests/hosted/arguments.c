#include "tests/hosted/arguments.h"

#include <stdio.h>
#include <string.h>

static const struct setting_place place = { SOURCE_OPTIONS, "command line", 0 };

/* The value of "--name VALUE" or "--name=VALUE"; moves *i on. NULL: another argument, or nothing
 * follows, which is an error. */
static const char *option(const char *name, struct settings *settings, int count,
                          char *const *argument, int *i)
{
    const size_t length = strlen(name);
    const char *text = argument[*i];
    if (strncmp(text, name, length) != 0 || (text[length] != '\0' && text[length] != '=')) {
        return NULL;
    }
    if (text[length] == '=') {
        return text + length + 1;
    }
    if (*i + 1 >= count) {
        settings_complain(settings, &place, "--output needs the name of a folder");
        return NULL;
    }
    return argument[++*i];
}

static void read_dashed(struct arguments *arguments, struct settings *settings, int count,
                        char *const *argument, int *i)
{
    char line[SETTING_LINE];
    const char *text = argument[*i];
    if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
        arguments->help = true;
        return;
    }
    const size_t errors = settings->errors;
    const char *value = option("--output", settings, count, argument, i);
    if (value != NULL && value[0] != '\0') {
        arguments->output = value;
        arguments->output_given = true;
    } else if (settings->errors == errors) {
        (void)snprintf(line, sizeof line, "\"%.100s\" is no option: there are --output and --help",
                       text);
        settings_complain(settings, &place, line);
    }
}

void arguments_read(struct arguments *arguments, struct settings *settings, int count,
                    char *const *argument, const struct kernel *const *kernels)
{
    static const char recover[] = "recover=";
    *arguments = (struct arguments){ .output = DEFAULT_OUTPUT };
    settings_defaults(settings, kernels);
    for (int i = 1; i < count; i++) {
        if (argument[i][0] == '-') {
            read_dashed(arguments, settings, count, argument, &i);
        } else if (strncmp(argument[i], recover, strlen(recover)) == 0) {
            arguments->recover = argument[i] + strlen(recover);
        } else {
            settings_assign(settings, &place, argument[i]);
        }
    }
}

/* Means nothing here, or something else than on the bare machine. */
static bool is_told_apart(const struct setting *setting)
{
    const size_t id = (size_t)(setting - setting_table);
    return id == SETTING_SERIAL || id == SETTING_COUNTDOWN || id == SETTING_ON_FINISH ||
           id == SETTING_SAVE;
}

static void print_setting(const struct setting *setting)
{
    const char *line = setting->help;
    (void)printf("  %s=%s\n", setting->name, setting->preset);
    while (*line != '\0') {
        const int length = (int)strcspn(line, "\n");
        (void)printf("      %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

void arguments_help(void)
{
    (void)printf(
        "usage: ironchase [--output DIR] [key=value]...\n"
        "       ironchase recover=DIR/RUN0001/journal.jsl [--output DIR]\n"
        "\n"
        "Measures the memory hierarchy of this machine under Linux, with the kernels that the "
        "bare\n"
        "machine is measured with, and leaves a run's files in a new folder of DIR (%s):\n"
        "results.json, results.csv, console.log, journal.jsl. q or Ctrl-C stops after the current\n"
        "measurement and keeps everything. recover makes results.json of the journal of a run "
        "that\n"
        "was cut short, beside it or in a new folder of DIR.\n"
        "\n"
        "Ends with 0 for success, 1 if something failed, 2 for wrong arguments.\n"
        "\n"
        "Settings, with their defaults:\n",
        DEFAULT_OUTPUT);
    for (size_t i = 0; i < SETTINGS; i++) {
        if (!is_told_apart(&setting_table[i])) {
            print_setting(&setting_table[i]);
        }
    }
    (void)printf("  save=yes\n      Leaves the run's files: yes or no.\n"
                 "serial, countdown and on_finish are for the bare machine and have no effect.\n");
}
