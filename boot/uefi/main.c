/* Ironchase, started by UEFI firmware. This page is the table of contents. */
#include <string.h>

#include "boot/uefi/session.h"
#include "version.h"

/* From here to where each step's work ends; a step that is not OK has said why on the console. */
static enum status (*const step[])(struct session *) = {
    session_tables,    /* what the firmware left for us: ACPI, SMBIOS, memory map */
    session_settings,  /* defaults < ironchase.cfg < SMBIOS < load options */
    session_console,   /* screen and serial line */
    session_accept,    /* wrong settings end here */
    session_countdown, /* the user may start at once, or leave */
    session_survey,    /* which processor this is, and whether it qualifies */
    session_window,    /* our own traps, and the registers that may fault */
    session_clock,     /* how fast the time-stamp counter ticks */
    session_arena,     /* memory, page tables, the bench */
    session_plan,      /* the ordered list of measurements */
    session_files,     /* a new folder on the stick */
    session_run,       /* measure, print, save */
};

/* linker/ironchase.lds: in memory only, so that the file stays small. */
extern char image_bss_start[], image_bss_end[];

/* Called by GNU-EFI's start-up code, once it has relocated the image. */
EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system);

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system)
{
    static struct session session; /* too large for the firmware's stack */
    enum status status = OK;
    memset(image_bss_start, 0, (size_t)(image_bss_end - image_bss_start)); /* whatever loaded us */
    session.results.program = (struct program){ .version = IRONCHASE_VERSION,
                                                .commit = IRONCHASE_COMMIT,
                                                .compiler = IRONCHASE_COMPILER,
                                                .platform = "uefi" };
    firmware_open(&session.link, image, system);
    volume_open(&session.volume, &session.link);
    for (size_t i = 0; i < sizeof step / sizeof *step && status == OK; i++) {
        status = step[i](&session);
    }
    return session_finish(&session, status == OK || status == STOPPED);
}
