/* The steps between the user's wishes and the first measurement: which machine is this, does it
 * qualify, what memory is there, how fast does its clock tick. */
#include <string.h>

#include "boot/uefi/session.h"
#include "hw/caches.h"
#include "hw/clock.h"
#include "hw/cpu.h"
#include "hw/cpuid.h"
#include "hw/dimms.h"
#include "hw/guard.h"
#include "hw/survey.h"

/* One clear line, and the way out. */
enum status session_refuse(struct session *session, const char *reason)
{
    console_line(&session->console, "Ironchase cannot measure here: %s.", reason);
    return ABSENT;
}

static bool in_memory_map(void *self, uint64_t address, uint64_t bytes)
{
    const struct session *session = self;
    for (size_t i = 0; i < session->descriptors; i++) {
        const struct memory_descriptor *range = &session->descriptor[i];
        if (address >= range->base && address - range->base < range->bytes) {
            return bytes <= range->bytes - (address - range->base);
        }
    }
    return false;
}

enum status session_copy_memory_map(struct session *session, const char **reason)
{
    struct raw_memory_map map;
    if (!session->descriptor) {
        session->descriptor = (struct memory_descriptor *)(uintptr_t)firmware_pages(
            &session->link, MEMORY_ROOM * sizeof *session->descriptor, 0);
    }
    if (!session->descriptor || tables_memory_map(&session->link, &map) != OK) {
        *reason = "the firmware gives no memory map";
        return IO_ERROR;
    }
    enum status status = memory_read(map.descriptors, map.bytes, map.stride, session->descriptor,
                                     MEMORY_ROOM, &session->descriptors, reason);
    tables_free_map(&session->link, &map);
    return status;
}

enum status session_tables(struct session *session)
{
    firmware_facts(&session->link, &session->machine.firmware);
    tables_find(&session->link, &session->tables);
    session->memory_status = session_copy_memory_map(session, &session->memory_reason);
    session->machine.memory_bytes = memory_total(session->descriptor, session->descriptors);
    session->acpi = (struct acpi){ .rsdp = (uintptr_t)session->tables.rsdp,
                                   .readable = in_memory_map,
                                   .self = session };
    return OK;
}

enum status session_accept(struct session *session)
{
    const struct settings *settings = &session->settings;
    for (size_t i = 0; i < settings->errors; i++) {
        console_paragraph(&session->console, "wrong setting: ", settings->error[i]);
    }
    if (settings->errors_lost > 0) {
        console_line(&session->console, "and %zu more.", settings->errors_lost);
    }
    if (!settings_ok(settings)) {
        console_line(&session->console, "Nothing is measured under settings that were not meant.");
        return BAD_SETTING;
    }
    if (session->memory_status != OK) {
        return session_refuse(session, session->memory_reason);
    }
    return OK;
}

enum status session_survey(struct session *session)
{
    survey_processor(&session->machine.processor);
    smbios_board(&session->smbios, &session->machine.board);
    survey_dimms(&session->smbios, session->machine.memory_bytes, &session->machine.memory);
    if (session->machine.processor.confidential) {
        return session_refuse(session,
                              "this is a confidential guest (SEV or TDX), whose page tables and "
                              "traps belong to its host");
    }
    return OK;
}

static void say_last_words(void *self, const char *line)
{
    struct session *session = self;
    (void)uart_write(&session->uart, line, strlen(line));
    (void)uart_write(&session->uart, "\n", 1);
}

static void survey_in_guard(void *argument)
{
    struct session *session = argument;
    survey_msrs(&session->machine.processor);
    clock_read_msrs(&session->machine.processor, &session->clock_msrs);
}

enum status session_window(struct session *session)
{
    const char *reason = NULL;
    size_t bytes = window_bytes();
    uint64_t low = firmware_pages(&session->link, bytes, UINT64_C(4) * GIB);
    if (!low) {
        return session_refuse(session, "the firmware has no memory left below 4 GiB");
    }
    if (window_prepare(&session->window, (void *)(uintptr_t)low, bytes, &reason) != OK) {
        return session_refuse(session, reason);
    }
    window_on_halt(session->window, say_last_words, session);
    session->link.window = session->window;
    session->results.strikes = window_strikes(session->window);
    enum status status = guard_run(session->window, survey_in_guard, session, NULL);
    return status == OK ? OK : session_refuse(session, "the processor's registers cannot be read");
}

static bool stall(void *self, unsigned microseconds)
{
    firmware_stall(self, microseconds);
    return true;
}

enum status session_clock(struct session *session)
{
    struct clock_needs needs = {
        .processor = &session->machine.processor,
        .msrs = session->clock_msrs,
        .tsc = cpu_tsc_ordered,
        .stall = stall,
        .self = &session->link,
    };
    (void)acpi_pm_timer(&session->acpi, &needs.pm_timer);
    (void)acpi_hpet(&session->acpi, &needs.hpet);
    if (clock_find(&session->machine.clock, &needs) != OK) {
        return session_refuse(session, session->machine.clock.reason);
    }
    return OK;
}
