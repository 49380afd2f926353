/* Writes the example run into a folder, as it leaves a machine: the files, of each as many bytes as
 * the stick takes, and `capture`, all that the serial line sends.
 *
 * usage: write_example FOLDER BYTES     (BYTES 0: there is no stick) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/journal.h"
#include "console/report_text.h"
#include "tests/fakes/example_run.h"

enum file_index { RECORDS, ROWS, LOG, WHOLE, FILES };
enum { FILE_ROOM = 64 * KIB };

static const char *const file_name[FILES] = { JOURNAL_NAME, RESULTS_CSV_NAME, CONSOLE_LOG_NAME,
                                              RESULTS_JSON_NAME };

/* A file of the host that takes so many bytes. */
struct target {
    FILE *file;
    size_t room;
};

static enum status write_target(void *self, const char *bytes, size_t n)
{
    struct target *target = self;
    size_t part = n < target->room ? n : target->room;
    target->room -= part;
    if (fwrite(bytes, 1, part, target->file) != part || fflush(target->file) != 0) {
        perror("write_example");
        exit(1);
    }
    return part == n ? OK : IO_ERROR;
}

static struct target create(const char *folder, const char *name, size_t room)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(1);
    }
    return (struct target){ .file = file, .room = room };
}

/* Everything between the run and the host's files. */
struct machine_end {
    struct target line, target[FILES];
    struct sink uart;
    struct serial_file serial[FILES];
    struct output_file file[FILES];
    char buffer[FILES][FILE_ROOM];
    struct console console;
    struct report report;
};

static void connect(struct machine_end *end, const char *folder, size_t room)
{
    end->line = create(folder, "capture", SIZE_MAX);
    end->uart = (struct sink){ .self = &end->line, .write = write_target };
    for (size_t i = 0; i < FILES; i++) {
        end->serial[i] = (struct serial_file){ .line = &end->uart, .name = file_name[i] };
        end->file[i] = (struct output_file){ .name = file_name[i],
                                             .buffer = end->buffer[i],
                                             .room = FILE_ROOM,
                                             .serial = i == LOG ? NULL : &end->serial[i],
                                             .tell = report_failure,
                                             .teller = &end->report };
        if (room > 0) {
            end->target[i] = create(folder, file_name[i], room);
            end->file[i].saved = (struct sink){ .self = &end->target[i], .write = write_target };
        }
    }
    struct sink log = output_file_sink(&end->file[LOG]);
    console_open(&end->console, NULL, &end->uart, &log);
    end->report = (struct report){ .console = &end->console,
                                   .folder = room > 0 ? "\\RESULTS\\RUN0001" : NULL,
                                   .not_saved = "there is no disk",
                                   .sent = true };
}

int main(int count, char **argument)
{
    static struct machine_end end;
    static struct example_run run;
    if (count != 3) {
        (void)fprintf(stderr, "usage: write_example FOLDER BYTES\n");
        return 2;
    }
    connect(&end, argument[1], strtoul(argument[2], NULL, 10));
    struct journal journal = { .records = &end.file[RECORDS],
                               .csv = &end.file[ROWS],
                               .json = &end.file[WHOLE],
                               .log = &end.file[LOG],
                               .samples = true };
    const struct observer observers[] = { report_observer(&end.report),
                                          journal_observer(&journal) };
    example_run_make(&run);
    example_run_play(&run, observers, sizeof observers / sizeof observers[0]);
    report_files(&end.report);
    output_file_close(&end.file[LOG]);
    return 0;
}
