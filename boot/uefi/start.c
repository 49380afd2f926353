/* The first steps: what the user asked for, and where to talk. */
#include <stdio.h>

#include "boot/uefi/session.h"
#include "kernels/kernel.h"

#define CONFIG_NAME "ironchase.cfg"

enum { LINE_OF_NONE = 0, COM_PORTS = 4, KEY_POLL_MICROSECONDS = 50000, KEY_POLLS_A_SECOND = 20 };

static void read_config(struct session *session)
{
    struct setting_place place = { SOURCE_FILE, CONFIG_NAME, LINE_OF_NONE };
    size_t bytes = 0;
    uint64_t buffer = firmware_pages(&session->link, SETTINGS_FILE_MOST, 0);
    void *text = (void *)(uintptr_t)buffer;
    enum status status =
        buffer ? volume_read(&session->volume, "\\" CONFIG_NAME, text, SETTINGS_FILE_MOST, &bytes)
               : IO_ERROR;
    if (status == OK) {
        settings_read_file(&session->settings, text, bytes, CONFIG_NAME);
    } else if (status == BAD_SETTING) {
        settings_complain(&session->settings, &place, "the file is larger than 64 KiB");
    } else if (status != ABSENT) {
        settings_complain(&session->settings, &place, "the file is there but cannot be read");
    }
    if (buffer) {
        firmware_free(&session->link, buffer, SETTINGS_FILE_MOST);
    }
}

static void read_oem_strings(struct session *session)
{
    const void *entry = session->tables.smbios3 ? session->tables.smbios3 : session->tables.smbios;
    if (smbios_open(&session->smbios, entry) != OK) {
        return;
    }
    const char *text;
    for (size_t i = 0; (text = smbios_oem_string(&session->smbios, i)) != NULL; i++) {
        settings_read_oem_string(&session->settings, text);
    }
}

enum status session_settings(struct session *session)
{
    size_t units = 0;
    settings_defaults(&session->settings, kernel_table);
    read_config(session);
    read_oem_strings(session);
    const uint16_t *options = firmware_load_options(&session->link, &units);
    if (options) {
        settings_read_options(&session->settings, options, units);
    }
    settings_notes(&session->settings, session->note);
    return OK;
}

/* COM port at that address, NO_COM if it is none of the usual four. */
static unsigned com_at(const struct uart_place *place)
{
    for (unsigned com = 1; com <= COM_PORTS; com++) {
        struct uart_place usual;
        if (!place->in_memory && uart_com(com, &usual) == OK && usual.address == place->address) {
            return com;
        }
    }
    return NO_COM;
}

/* Where our UART is to be: as set, else as the firmware says (SPCR), else COM1. */
static bool choose_uart(const struct session *session, struct uart_place *place)
{
    const struct serial_choice *choice = &session->settings.serial;
    if (choice->kind == SERIAL_OFF) {
        return false;
    }
    if (choice->kind == SERIAL_AUTO) {
        if (acpi_uart(&session->acpi, place) != OK) {
            (void)uart_com(1, place);
        }
    } else {
        (void)uart_com(1, place); /* the usual width and clock */
        place->address = choice->address;
        place->in_memory = choice->kind == SERIAL_MEMORY;
    }
    place->baud = choice->baud ? choice->baud : place->baud;
    return true;
}

/* Opens our UART; its COM port, NO_COM without one. */
static unsigned open_uart(struct session *session)
{
    struct uart_place place = { 0 };
    if (!choose_uart(session, &place)) {
        session->uart_reason = "switched off by serial=off";
        return NO_COM;
    }
    unsigned com = com_at(&place);
    bool shared = com != NO_COM && screen_has_terminal(&session->link, com);
    session->has_uart = uart_open(&session->uart, &place, shared, &session->uart_reason) == OK;
    return session->has_uart ? com : NO_COM;
}

static char read_key(void *self)
{
    struct session *session = self;
    char key = key_pressed(&session->link);
    if (!key && session->has_uart) {
        key = uart_read(&session->uart);
    }
    return key;
}

void session_attach_log(struct session *session, const struct sink *log)
{
    struct screen screen = {
        .sink = screen_sink(&session->outputs),
        .columns = session->outputs.columns,
        .rows = session->outputs.rows,
        .slow = session->outputs.slow,
    };
    struct sink uart = uart_sink(&session->uart);
    console_open(&session->console, session->outputs.outputs ? &screen : NULL,
                 session->has_uart ? &uart : NULL, log);
}

/* True if `key` was asked to stop the start. Without a keyboard it just starts. */
bool session_wait_for_key(struct session *session, unsigned seconds, char *key)
{
    *key = 0;
    for (unsigned i = 0; i < seconds * KEY_POLLS_A_SECOND && !*key; i++) {
        firmware_stall(&session->link, KEY_POLL_MICROSECONDS);
        *key = read_key(session);
    }
    return *key != 0;
}

enum status session_console(struct session *session)
{
    unsigned com = open_uart(session);
    screen_open(&session->outputs, &session->link, com);
    session_attach_log(session, NULL);
    session->report.key = read_key;
    session->report.keyboard = session;
    console_line(&session->console, "Ironchase %s, commit %s", session->results.program.version,
                 session->results.program.commit);
    if (!session->has_uart && session->settings.serial.kind != SERIAL_OFF) {
        console_line(&session->console, "no serial line: %s", session->uart_reason);
    }
    for (size_t i = 0; i < session->settings.notices; i++) {
        console_line(&session->console, "note: %s", session->settings.notice[i]);
    }
    return OK;
}

enum status session_countdown(struct session *session)
{
    unsigned seconds = (unsigned)session->settings.countdown;
    char key = 0;
    if (seconds == 0) {
        return OK;
    }
    console_line(&session->console, "The run starts in %u s. Any key starts it now; q leaves.",
                 seconds);
    (void)session_wait_for_key(session, seconds, &key);
    if (key == 'q' || key == 'Q') {
        console_line(&session->console, "Left before the run: nothing was measured.");
        return STOPPED;
    }
    return OK;
}
