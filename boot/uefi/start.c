/* The first steps: what the user asked for, and where to talk. */
#include <stdio.h>

#include "boot/uefi/session.h"
#include "hw/cpu.h"
#include "hw/paging.h"
#include "kernels/kernel.h"

#define CONFIG_NAME "ironchase.cfg"

enum {
    LINE_OF_NONE = 0,
    COM_PORTS = 4,
    KEY_POLL_MICROSECONDS = 50000,
    KEY_POLLS_A_SECOND = 20,
    FIRST_FREE_PORT = 0x100, /* below: interrupt controllers, timers, CMOS, as since the first PC */
};

/* I/O APICs, timers and local APICs live here on every PC (SDM vol. 3A, 11.4.1; HPET specification). */
#define CHIPSET_START UINT64_C(0xFEC00000)
#define CHIPSET_END   UINT64_C(0xFEF00000)

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
    settings_remark_idle(&session->settings);
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

/* Kinds of a memory descriptor that are no RAM: reserved, and both kinds of memory-mapped I/O. */
static bool is_ram(uint32_t kind)
{
    return kind != 0 && kind != 11 && kind != 12;
}

static bool in_ram(const struct session *session, uint64_t address)
{
    for (size_t i = 0; i < session->descriptors; i++) {
        const struct memory_descriptor *range = &session->descriptor[i];
        if (address >= range->base && address - range->base < range->bytes) {
            return is_ram(range->kind);
        }
    }
    return false;
}

/* Do the firmware's page tables show that address where it is? */
static bool is_mapped(uint64_t address)
{
    struct paging firmware = {
        .rules = { .levels = cpu_read_cr4() & CR4_LA57 ? 5 : 4, .physical_bits = 52 },
        .root = cpu_read_cr3() & ~(uint64_t)(PAGE_4K - 1),
    };
    struct paging_leaf leaf;
    return paging_find(&firmware, address, &leaf) && leaf.physical == address;
}

/* Why a UART cannot be where the user says, NULL if it can. Looking there costs a write to what is
 * there: never to memory, and never to the board's own devices. */
static const char *why_no_uart_there(const struct session *session,
                                     const struct serial_choice *choice)
{
    if (choice->kind == SERIAL_PORT) {
        return choice->address < FIRST_FREE_PORT ? "the board's own devices are there" : NULL;
    }
    if (choice->address % sizeof(uint32_t) != 0) {
        return "a UART's registers are aligned to 4 bytes";
    }
    if (choice->address >= CHIPSET_START && choice->address < CHIPSET_END) {
        return "the board's own devices are there";
    }
    if (in_ram(session, choice->address)) {
        return "memory is there, and no device";
    }
    return is_mapped(choice->address) ? NULL : "the firmware shows nothing there";
}

/* A place that cannot be is a wrong setting; the complaint then goes where a UART usually is. */
static void check_serial(struct session *session)
{
    struct serial_choice *choice = &session->settings.serial;
    const struct setting_origin *origin = &session->settings.origin[SETTING_SERIAL];
    const struct setting_place place = { origin->source, origin->place, LINE_OF_NONE };
    bool placed = choice->kind == SERIAL_PORT || choice->kind == SERIAL_MEMORY;
    const char *why = placed ? why_no_uart_there(session, choice) : NULL;
    if (why) {
        char text[SETTING_LINE];
        (void)snprintf(text, sizeof text, "serial = %s: %s", origin->value, why);
        settings_complain(&session->settings, &place, text);
        *choice = (struct serial_choice){ .kind = SERIAL_AUTO };
    }
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
    check_serial(session);
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
        console_line(&session->console, "no serial line (serial = %s): %s",
                     session->settings.origin[SETTING_SERIAL].value, session->uart_reason);
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
