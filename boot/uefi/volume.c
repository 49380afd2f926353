#include "boot/uefi/volume.h"

#include <stdio.h>
#include <string.h>

enum { PATH_UNITS = 64, READ_CHUNK = 32 * KIB, LAST_RUN = 9999 };

static const EFI_GUID file_system_guid = EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID;

static void widen(CHAR16 wide[PATH_UNITS], const char *path)
{
    size_t n = 0;
    for (; path[n] && n + 1 < PATH_UNITS; n++) {
        wide[n] = (CHAR16)(unsigned char)path[n];
    }
    wide[n] = 0;
}

static EFI_STATUS open_at(const struct firmware_link *link, EFI_FILE_HANDLE folder,
                          const char *path, UINT64 mode, UINT64 attributes, EFI_FILE_HANDLE *file)
{
    CHAR16 wide[PATH_UNITS];
    widen(wide, path);
    return FIRMWARE(link, folder->Open(folder, file, wide, mode, attributes));
}

static void close_handle(const struct firmware_link *link, EFI_FILE_HANDLE *file)
{
    if (*file) {
        (void)FIRMWARE(link, (*file)->Close(*file));
        *file = NULL;
    }
}

static bool exists(const struct volume *volume, const char *path)
{
    EFI_FILE_HANDLE file = NULL;
    bool there =
        open_at(volume->link, volume->root, path, EFI_FILE_MODE_READ, 0, &file) == EFI_SUCCESS;
    close_handle(volume->link, &file);
    return there;
}

void volume_open(struct volume *volume, const struct firmware_link *link)
{
    *volume = (struct volume){ .link = link };
    EFI_FILE_IO_INTERFACE *system =
        link->loaded ? firmware_protocol(link, link->loaded->DeviceHandle, &file_system_guid)
                     : NULL;
    if (!system) {
        volume->reason = "the program was not started from a disk";
        return;
    }
    if (FIRMWARE(link, system->OpenVolume(system, &volume->root)) != EFI_SUCCESS) {
        volume->root = NULL;
        volume->reason = "the firmware cannot open the disk it started us from";
    }
}

enum status volume_read(const struct volume *volume, const char *path, void *buffer, size_t room,
                        size_t *bytes)
{
    EFI_FILE_HANDLE file = NULL;
    *bytes = 0;
    if (!volume->root) {
        return ABSENT;
    }
    EFI_STATUS status = open_at(volume->link, volume->root, path, EFI_FILE_MODE_READ, 0, &file);
    if (status != EFI_SUCCESS) {
        return firmware_status(status);
    }
    UINTN got = 0;
    do { /* small chunks: large reads poison the handle on some firmware (shim#558) */
        got = room - *bytes < READ_CHUNK ? room - *bytes : READ_CHUNK;
        status = FIRMWARE(volume->link, file->Read(file, &got, (char *)buffer + *bytes));
        *bytes += status == EFI_SUCCESS ? got : 0;
    } while (status == EFI_SUCCESS && got > 0 && *bytes < room);
    char beyond;
    UINTN more = status == EFI_SUCCESS && *bytes == room ? 1 : 0;
    if (more) {
        status = FIRMWARE(volume->link, file->Read(file, &more, &beyond));
    }
    close_handle(volume->link, &file);
    return more ? BAD_SETTING : firmware_status(status);
}

static enum status make_folder(struct volume *volume, const char *path, EFI_FILE_HANDLE *folder)
{
    return firmware_status(open_at(volume->link, volume->root, path,
                                   EFI_FILE_MODE_CREATE | EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE,
                                   EFI_FILE_DIRECTORY, folder));
}

/* Does the latest earlier run hold such a file? */
static bool run_has(const struct volume *volume, const char *name)
{
    char path[48];
    (void)snprintf(path, sizeof path, "%s\\%s", volume->cut_short, name);
    return exists(volume, path);
}

/* The next free number, 0 if all are taken. Names are tried one by one: some firmware cannot list.
 * Remembers the latest earlier run if it was cut short: it has a journal and no results.json. */
static unsigned next_number(struct volume *volume)
{
    unsigned number = 1;
    for (; number <= LAST_RUN; number++) {
        (void)snprintf(volume->run_name, sizeof volume->run_name, "\\RESULTS\\RUN%04u", number);
        if (!exists(volume, volume->run_name)) {
            break;
        }
    }
    if (number > 1) {
        (void)snprintf(volume->cut_short, sizeof volume->cut_short, "\\RESULTS\\RUN%04u",
                       number - 1);
        if (!run_has(volume, "journal.jsl") || run_has(volume, "results.json")) {
            volume->cut_short[0] = '\0';
        }
    }
    return number <= LAST_RUN ? number : 0;
}

static enum status cannot_save(struct volume *volume, enum status status)
{
    volume->reason = status == DENIED
                         ? "the disk is read-only or write-protected"
                         : "\\RESULTS cannot be made there: the disk is full or failing, "
                           "or a file of that name is in the way";
    return status;
}

enum status volume_begin_run(struct volume *volume)
{
    EFI_FILE_HANDLE results = NULL;
    if (!volume->root) {
        return ABSENT;
    }
    enum status status = make_folder(volume, "\\RESULTS", &results);
    close_handle(volume->link, &results);
    if (status != OK) {
        return cannot_save(volume, status);
    }
    if (next_number(volume) == 0) {
        volume->reason = "\\RESULTS holds 9999 runs: move them away";
        return DENIED;
    }
    status = make_folder(volume, volume->run_name, &volume->run);
    return status == OK ? OK : cannot_save(volume, status);
}

enum status volume_create(struct volume *volume, const char *name, struct volume_file *file)
{
    *file = (struct volume_file){ .volume = volume };
    if (!volume->run) {
        return file->failed = ABSENT;
    }
    file->failed = firmware_status(
        open_at(volume->link, volume->run, name,
                EFI_FILE_MODE_CREATE | EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE, 0, &file->file));
    return file->failed;
}

void volume_create_later(struct volume *volume, const char *name, struct volume_file *file)
{
    *file = (struct volume_file){ .volume = volume, .name = name };
}

static enum status append(struct volume_file *file, const char *bytes, size_t n)
{
    if (file->failed != OK) {
        return file->failed;
    }
    UINTN written = n;
    EFI_STATUS status =
        FIRMWARE(file->volume->link, file->file->Write(file->file, &written, (void *)bytes));
    file->failed = status == EFI_SUCCESS && written != n ? IO_ERROR : firmware_status(status);
    return file->failed;
}

static enum status write_file(void *self, const char *bytes, size_t n)
{
    struct volume_file *file = self;
    if (file->name) {
        (void)volume_create(file->volume, file->name, file);
    }
    return append(file, bytes, n);
}

/* Data reaches the stick on Flush or Close only: after a reset in between, the file is there with
 * no bytes in it (seen with OVMF 2022.11). */
static enum status flush_file(void *self)
{
    struct volume_file *file = self;
    if (file->failed == OK && file->file) {
        file->failed = firmware_status(FIRMWARE(file->volume->link, file->file->Flush(file->file)));
    }
    return file->failed;
}

struct sink volume_sink(struct volume_file *file)
{
    return (struct sink){ .self = file, .write = write_file, .flush = flush_file };
}

enum status volume_close_file(struct volume_file *file)
{
    enum status status = flush_file(file);
    close_handle(file->volume->link, &file->file);
    return status;
}

enum status volume_probe(struct volume *volume)
{
    static const char text[] = "alive";
    char back[sizeof text] = { 0 };
    UINTN got = sizeof back;
    struct volume_file file;
    enum status status = volume_create(volume, "PROBE.TMP", &file);
    if (!file.file) {
        return status;
    }
    if (append(&file, text, sizeof text) == OK && flush_file(&file) == OK) {
        (void)FIRMWARE(volume->link, file.file->SetPosition(file.file, 0));
        (void)FIRMWARE(volume->link, file.file->Read(file.file, &got, back));
    }
    EFI_STATUS deleted = FIRMWARE(volume->link, file.file->Delete(file.file)); /* closes it, too */
    if (file.failed != OK) {
        return file.failed;
    }
    return deleted == EFI_SUCCESS && memcmp(back, text, sizeof text) == 0 ? OK : IO_ERROR;
}

void volume_close(struct volume *volume)
{
    close_handle(volume->link, &volume->run);
    close_handle(volume->link, &volume->root);
}
