#include "tests/hosted/folder.h"

#include "boot/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAST_RUN = 9999, FOLDER_MODE = 0777, FILE_MODE = 0666 };

static enum status refuse(struct folder *folder, const char *path)
{
    (void)snprintf(folder->reason, sizeof folder->reason, "%.100s: %s", path, strerror(errno));
    folder->path[0] = '\0';
    return IO_ERROR;
}

static bool make_one(const char *path)
{
    return mkdir(path, FOLDER_MODE) == 0 || errno == EEXIST;
}

/* Every folder on the way, from the first. */
static bool make_all(const char *path)
{
    char part[FOLDER_PATH];
    for (size_t i = 1; path[i] != '\0'; i++) {
        if (path[i] == '/') {
            (void)snprintf(part, sizeof part, "%.*s", (int)i, path);
            if (!make_one(part)) {
                return false;
            }
        }
    }
    return make_one(path);
}

/* The run before this one, if it left a journal and no results. */
static void find_cut_short(struct folder *folder, const char *parent, unsigned number)
{
    char name[FOLDER_PATH];
    if (number <= 1) {
        return;
    }
    (void)snprintf(folder->cut_short, sizeof folder->cut_short, "%.900s/RUN%04u", parent,
                   number - 1);
    (void)snprintf(name, sizeof name, "%.900s/RUN%04u/" RESULTS_JSON_NAME, parent, number - 1);
    const bool ended = access(name, F_OK) == 0;
    (void)snprintf(name, sizeof name, "%.900s/RUN%04u/" JOURNAL_NAME, parent, number - 1);
    if (ended || access(name, F_OK) != 0) {
        folder->cut_short[0] = '\0';
    }
}

enum status folder_make(struct folder *folder, const char *parent)
{
    *folder = (struct folder){ .path = "" };
    if (strlen(parent) > FOLDER_PATH - 64 || !make_all(parent)) {
        return refuse(folder, parent);
    }
    for (unsigned number = 1; number <= LAST_RUN; number++) {
        (void)snprintf(folder->path, sizeof folder->path, "%.900s/RUN%04u", parent, number);
        if (mkdir(folder->path, FOLDER_MODE) == 0) {
            find_cut_short(folder, parent, number);
            return OK;
        }
        if (errno != EEXIST) {
            return refuse(folder, folder->path);
        }
    }
    return refuse(folder, folder->path);
}

/* ---- files ------------------------------------------------------------------------------------ */

void folder_file_begin(struct folder_file *file, const struct folder *folder, const char *name)
{
    *file = (struct folder_file){ .folder = folder, .name = name, .file = -1 };
}

enum status folder_file_create(struct folder_file *file)
{
    char path[FOLDER_PATH + 32];
    (void)snprintf(path, sizeof path, "%s/%s", file->folder->path, file->name);
    file->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, FILE_MODE);
    file->failed = file->file >= 0 ? OK : IO_ERROR;
    return file->failed;
}

static enum status write_file(void *self, const char *bytes, size_t n)
{
    struct folder_file *file = self;
    if (file->file < 0 && file->failed == OK) {
        (void)folder_file_create(file);
    }
    while (n > 0 && file->failed == OK) {
        const ssize_t written = write(file->file, bytes, n);
        if (written > 0) {
            bytes += written;
            n -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            file->failed = IO_ERROR;
        }
    }
    return file->failed;
}

struct sink folder_file_sink(struct folder_file *file)
{
    return (struct sink){ .self = file, .write = write_file };
}

void folder_file_close(struct folder_file *file)
{
    if (file->file >= 0) {
        (void)close(file->file);
        file->file = -1;
    }
}
