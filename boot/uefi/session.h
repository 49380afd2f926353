/* One start of the program: all that its steps hand on to each other. main.c lists the steps. */
#ifndef BOOT_UEFI_SESSION_H
#define BOOT_UEFI_SESSION_H

#include "boot/bench.h"
#include "boot/journal.h"
#include "boot/memory.h"
#include "boot/plan.h"
#include "boot/run.h"
#include "boot/settings.h"
#include "boot/uefi/firmware.h"
#include "boot/uefi/screen.h"
#include "boot/uefi/tables.h"
#include "boot/uefi/volume.h"
#include "console/report_text.h"
#include "console/uart.h"
#include "hw/acpi.h"
#include "hw/clock.h"
#include "hw/smbios.h"

enum { RUN_FILES = 4, FILE_ROOM = 64 * KIB, OBSERVERS = 2 };

/* The files of a run, by what boot/journal.h calls them. */
enum run_file { FILE_JOURNAL, FILE_CSV, FILE_LOG, FILE_JSON };

/* Our own tables of a run, outside the arena. */
struct books {
    struct memory_range all;
    struct measurement *measurement; /* of the plan */
    size_t measurements;
    void *run;   /* for run_divide */
    char *files; /* buffers, FILE_ROOM each */
};

struct session {
    struct firmware_link link;
    struct volume volume;
    struct firmware_tables tables;
    struct acpi acpi;
    struct smbios smbios;
    struct settings settings;
    struct setting_note note[SETTINGS];

    struct screen_outputs outputs;
    struct uart uart;
    bool has_uart;
    const char *uart_reason;
    struct console console;

    struct machine machine;
    struct window *window;
    struct clock_msrs clock_msrs;
    struct memory_descriptor *descriptor; /* the firmware's memory map, sorted */
    size_t descriptors;
    enum status memory_status;
    const char *memory_reason;
    struct memory_range arena[MEMORY_ARENA_RANGES];
    size_t ranges;
    uint64_t largest; /* bytes of the plan's largest set */
    struct books books;
    struct memory_range low; /* below 4 GiB, for the bench's root tables */
    struct bench_metal metal;

    struct plan plan;
    struct results results;
    struct report report;
    struct journal journal;
    struct volume_file file[RUN_FILES];
    struct output_file output[RUN_FILES];
    struct serial_file serial[RUN_FILES];
    struct sink line; /* whole lines to the serial port, for files that cannot be saved */
    struct observer observer[OBSERVERS];
    uint64_t began; /* TSC at the start of the run */
};

/* The steps; each OK, or it has said on the console why the program goes no further. */
enum status session_tables(struct session *session);
enum status session_settings(struct session *session);
enum status session_console(struct session *session);
enum status session_countdown(struct session *session);
enum status session_accept(struct session *session);
enum status session_survey(struct session *session);
enum status session_window(struct session *session);
enum status session_clock(struct session *session);
enum status session_arena(struct session *session);
enum status session_plan(struct session *session);
enum status session_files(struct session *session);
enum status session_run(struct session *session);

/* One clear line why nothing can be measured here; ABSENT. */
enum status session_refuse(struct session *session, const char *reason);
/* Reads the firmware's memory map anew. */
enum status session_copy_memory_map(struct session *session, const char **reason);
/* From now on the console goes to `log`, too (NULL: not). */
void session_attach_log(struct session *session, const struct sink *log);
/* Waits for a key, at most so long; false if none came. */
bool session_wait_for_key(struct session *session, unsigned seconds, char *key);

void session_close_files(struct session *session);
/* Gives back what the program took, but for the window's memory (hw/window.h). */
void session_free_memory(struct session *session);
/* Leaves the machine as the user wants it (`on_finish`); the program's answer to the firmware. */
EFI_STATUS session_finish(struct session *session, bool success);

#endif
