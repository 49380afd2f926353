#include "tests/hosted/recover.h"

#include "boot/journal.h"
#include "console/output_file.h"
#include "tests/hosted/folder.h"
#include "tests/hosted/journal_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_ROOM = 64 * KIB };

static enum status complain(const char *path, const char *why, enum status status)
{
    (void)fprintf(stderr, "ironchase: %s: %s\n", path, why);
    return status;
}

static enum status read_journal(struct journal_read *journal, const char *path)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return complain(path, strerror(errno), IO_ERROR);
    }
    while ((length = getline(&line, &room, file)) >= 0) {
        size_t n = (size_t)length;
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) {
            n--;
        }
        if (n > 0) {
            journal_read_line(journal, line, n);
        }
    }
    const bool failed = ferror(file) != 0;
    free(line);
    (void)fclose(file);
    return failed ? complain(path, "it cannot be read to its end", IO_ERROR) : OK;
}

/* Where the journal lies. */
static void folder_of(struct folder *folder, const char *path)
{
    const char *slash = strrchr(path, '/');
    *folder = (struct folder){ .path = "." };
    if (slash != NULL) {
        const int length = slash == path ? 1 : (int)(slash - path);
        (void)snprintf(folder->path, sizeof folder->path, "%.*s", length, path);
    }
}

static enum status choose_folder(struct folder *folder, const char *path, const char *output)
{
    if (output == NULL) {
        folder_of(folder, path);
        return OK;
    }
    return folder_make(folder, output) == OK ? OK : complain(output, folder->reason, IO_ERROR);
}

static enum status write_tree(const struct sink *to, const void *tree)
{
    return json_tree_write(to, tree);
}

static enum status write_results(const struct folder *folder, const cJSON *results)
{
    static char buffer[FILE_ROOM];
    struct folder_file file;
    folder_file_begin(&file, folder, RESULTS_JSON_NAME);
    struct output_file output = {
        .saved = folder_file_sink(&file),
        .buffer = buffer,
        .room = sizeof buffer,
        .name = RESULTS_JSON_NAME,
    };
    if (folder_file_create(&file) != OK) {
        return complain(folder->path, "results.json is there already, or cannot be made", IO_ERROR);
    }
    const enum status status = output_file_write_whole(&output, write_tree, results);
    folder_file_close(&file);
    return status == OK ? OK : complain(folder->path, "results.json is not complete", IO_ERROR);
}

static int points(const cJSON *results)
{
    int n = 0;
    const cJSON *experiment = json_tree_member(results, "experiments")->child;
    for (; experiment != NULL; experiment = experiment->next) {
        n += cJSON_GetArraySize(json_tree_member(experiment, "points"));
    }
    return n;
}

static enum status save(const struct journal_read *journal, const char *path, const char *output,
                        const cJSON *results)
{
    struct folder folder;
    enum status status = choose_folder(&folder, path, output);
    if (status == OK) {
        status = write_results(&folder, results);
    }
    if (status == OK) {
        (void)printf("%s/%s: status %s, %d points", folder.path, RESULTS_JSON_NAME,
                     json_tree_text(results, "status"), points(results));
        if (journal->broken > 0) {
            (void)printf(" (%zu lines are no records)", journal->broken);
        }
        (void)printf("\n");
    }
    return status;
}

enum status recover_run(const char *path, const char *output)
{
    struct journal_read journal = { .header = NULL };
    enum status status = read_journal(&journal, path);
    if (status == OK) {
        cJSON *results = journal_read_results(&journal);
        status = results != NULL ? save(&journal, path, output, results)
                                 : complain(path, "it is no journal of Ironchase", BAD_SETTING);
        cJSON_Delete(results);
    }
    journal_read_close(&journal);
    return status;
}
