/* The stick: the volume we were started from. New files only, named so that every FAT driver
 * writes them right; appended to and flushed; never truncated, never rewritten. */
#ifndef BOOT_UEFI_VOLUME_H
#define BOOT_UEFI_VOLUME_H

#include "boot/uefi/firmware.h"
#include "console/sink.h"

struct volume {
    const struct firmware_link *link;
    EFI_FILE_HANDLE root; /* NULL: no such volume (network boot, loaded from memory) */
    EFI_FILE_HANDLE run;  /* the folder of this run, NULL until volume_begin_run */
    char run_name[24];    /* "\\RESULTS\\RUN0001" */
    char cut_short[24];   /* the latest earlier run that never ended, or "" */
    const char *reason;   /* why nothing can be read or written, NULL if it can */
};

struct volume_file {
    struct volume *volume;
    const char *name; /* to be created when something is written; NULL once it is there */
    EFI_FILE_HANDLE file;
    enum status failed; /* the first error; what follows it is dropped */
};

/* Opens the volume the image came from; `volume->reason` tells why there is none. */
void volume_open(struct volume *volume, const struct firmware_link *link);

/* Reads a whole small file into `buffer`. ABSENT: no such file or no volume. BAD_SETTING: it is
 * larger than `room`. The file is closed before anything is written (a failed open for writing
 * breaks later reads on some firmware: systemd#42307). */
enum status volume_read(const struct volume *volume, const char *path, void *buffer, size_t room,
                        size_t *bytes);

/* Makes \RESULTS\RUNnnnn with the next free number; never an existing one. On failure nothing is
 * saved in this run and `volume->reason` tells why. */
enum status volume_begin_run(struct volume *volume);

/* Creates a file in this run's folder. */
enum status volume_create(struct volume *volume, const char *name, struct volume_file *file);
/* The same, but the file is created when something is first written to it: results.json on the stick
 * means that its run came to an end. */
void volume_create_later(struct volume *volume, const char *name, struct volume_file *file);
struct sink volume_sink(struct volume_file *file);
/* Flushes and closes. */
enum status volume_close_file(struct volume_file *file);

/* Writes, flushes, reads back and deletes a small file: is the stick still alive? */
enum status volume_probe(struct volume *volume);

void volume_close(struct volume *volume);

#endif
