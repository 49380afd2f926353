#include "boot/uefi/screen.h"

#include "hw/cpu.h"

enum {
    CHUNK_UNITS = 128,
    MOST_HANDLES = 32,
    PNP0501 = 0x050141D0, /* EISA id of a 16550 UART, as in an ACPI device path */
    COLUMNS_LEAST = 80,
    COLUMNS_MOST = 240,
    ROWS_LEAST = 25,
    ROWS_MOST = 80,
    LINE_MICROSECONDS = 100000,
};

static const EFI_GUID text_output_guid = EFI_SIMPLE_TEXT_OUTPUT_PROTOCOL_GUID;
static const EFI_GUID device_path_guid = EFI_DEVICE_PATH_PROTOCOL_GUID;
/* edk2's mark on the handles that make up ConOut (MdeModulePkg, Guid/ConsoleOutDevice.h) */
static const EFI_GUID console_device_guid = {
    0xD3B36F2C, 0xD551, 0x11D4, { 0x9A, 0x46, 0x00, 0x90, 0x27, 0x3F, 0xC1, 0x4D }
};

/* COM port (1..4) of a terminal's device path; NO_COM if it is no terminal on a COM port. */
static unsigned com_of(const EFI_DEVICE_PATH *path)
{
    unsigned com = NO_COM;
    bool uart = false;
    for (const EFI_DEVICE_PATH *node = path; node && !IsDevicePathEnd(node);
         node = NextDevicePathNode(node)) {
        if ((size_t)DevicePathNodeLength(node) < sizeof *node) {
            break;
        }
        const ACPI_HID_DEVICE_PATH *acpi = (const ACPI_HID_DEVICE_PATH *)node;
        if (DevicePathType(node) == ACPI_DEVICE_PATH && DevicePathSubType(node) == ACPI_DP &&
            acpi->HID == PNP0501) {
            com = acpi->UID + 1;
        }
        uart = uart || (DevicePathType(node) == MESSAGING_DEVICE_PATH &&
                        DevicePathSubType(node) == MSG_UART_DP);
    }
    return uart ? com : NO_COM;
}

static void add_output(struct screen_outputs *screen, SIMPLE_TEXT_OUTPUT_INTERFACE *output)
{
    if (output && output->Mode && screen->outputs < SCREEN_OUTPUTS) {
        screen->output[screen->outputs++] = output;
    }
}

/* The firmware's physical consoles, by edk2's mark; at most `room` of them. */
static size_t find_consoles(const struct firmware_link *link, EFI_HANDLE *console, size_t room)
{
    EFI_HANDLE handle[MOST_HANDLES];
    UINTN bytes = sizeof handle;
    EFI_GUID guid = console_device_guid;
    size_t found = 0;
    EFI_STATUS status =
        FIRMWARE(link, link->system->BootServices->LocateHandle(
                           ByProtocol, (EFI_GUID *)&text_output_guid, NULL, &bytes, handle));
    size_t handles = status == EFI_SUCCESS ? bytes / sizeof handle[0] : 0;
    for (size_t i = 0; i < handles && found < room; i++) {
        void *mark =
            NULL; /* the mark is a protocol without an interface: its pointer may be NULL */
        status =
            FIRMWARE(link, link->system->BootServices->HandleProtocol(handle[i], &guid, &mark));
        if (status == EFI_SUCCESS && firmware_protocol(link, handle[i], &device_path_guid)) {
            console[found++] = handle[i];
        }
    }
    return found;
}

bool screen_has_terminal(const struct firmware_link *link, unsigned com)
{
    EFI_HANDLE console[SCREEN_OUTPUTS];
    size_t consoles = find_consoles(link, console, SCREEN_OUTPUTS);
    for (size_t i = 0; i < consoles; i++) {
        if (com_of(firmware_protocol(link, console[i], &device_path_guid)) == com) {
            return true;
        }
    }
    return false;
}

/* Adds the physical consoles behind ConOut but for our own UART; returns how many there are. */
static size_t add_physical(struct screen_outputs *screen, unsigned our_com)
{
    const struct firmware_link *link = screen->link;
    EFI_HANDLE console[SCREEN_OUTPUTS];
    size_t consoles = find_consoles(link, console, SCREEN_OUTPUTS);
    for (size_t i = 0; i < consoles; i++) {
        unsigned com = com_of(firmware_protocol(link, console[i], &device_path_guid));
        if (our_com == NO_COM || com != our_com) {
            add_output(screen, firmware_protocol(link, console[i], &text_output_guid));
        }
    }
    return consoles;
}

static unsigned clamp(UINTN value, unsigned least, unsigned most)
{
    return value < least ? least : value > most ? most : (unsigned)value;
}

static void read_size(struct screen_outputs *screen)
{
    screen->columns = COLUMNS_MOST;
    screen->rows = ROWS_MOST;
    for (unsigned i = 0; i < screen->outputs; i++) {
        SIMPLE_TEXT_OUTPUT_INTERFACE *output = screen->output[i];
        UINTN columns = 0;
        UINTN rows = 0;
        UINTN mode = output->Mode->Mode < 0 ? 0 : (UINTN)output->Mode->Mode;
        (void)FIRMWARE(screen->link, output->QueryMode(output, mode, &columns, &rows));
        columns = clamp(columns, COLUMNS_LEAST, COLUMNS_MOST);
        rows = clamp(rows, ROWS_LEAST, ROWS_MOST);
        screen->columns = columns < screen->columns ? (unsigned)columns : screen->columns;
        screen->rows = rows < screen->rows ? (unsigned)rows : screen->rows;
    }
}

static void put_units(const struct screen_outputs *screen, CHAR16 *units, size_t n)
{
    units[n] = 0;
    for (unsigned i = 0; i < screen->outputs; i++) {
        (void)FIRMWARE(screen->link, screen->output[i]->OutputString(screen->output[i], units));
    }
}

/* How long does a screen take over a line? Its clock is not known yet, so the firmware's wait is the
 * measure: a line is slow if it takes as long as LINE_MICROSECONDS of waiting. */
static void time_a_line(struct screen_outputs *screen)
{
    CHAR16 blank[COLUMNS_LEAST + 2];
    for (size_t i = 0; i < COLUMNS_LEAST - 1; i++) {
        blank[i] = ' ';
    }
    blank[COLUMNS_LEAST - 1] = '\r';
    uint64_t start = cpu_tsc_ordered();
    put_units(screen, blank, COLUMNS_LEAST);
    uint64_t line = cpu_tsc_ordered() - start;
    start = cpu_tsc_ordered();
    firmware_stall(screen->link, LINE_MICROSECONDS);
    screen->slow = line > cpu_tsc_ordered() - start;
}

void screen_open(struct screen_outputs *screen, const struct firmware_link *link, unsigned our_com)
{
    *screen = (struct screen_outputs){ .link = link };
    if (link->system->ConOut && add_physical(screen, our_com) == 0) {
        add_output(screen, link->system->ConOut); /* not edk2: take it whole */
    }
    read_size(screen);
    for (unsigned i = 0; i < screen->outputs; i++) {
        (void)FIRMWARE(link, screen->output[i]->ClearScreen(screen->output[i]));
    }
    time_a_line(screen);
}

static enum status write_screen(void *self, const char *bytes, size_t n)
{
    const struct screen_outputs *screen = self;
    CHAR16 units[CHUNK_UNITS + 2];
    size_t filled = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        bool plain = (byte >= ' ' && byte < 0x7F) || byte == '\n' || byte == '\r';
        if (byte == '\n') {
            units[filled++] = '\r';
        }
        units[filled++] = plain ? byte : '?';
        if (filled >= CHUNK_UNITS) {
            put_units(screen, units, filled);
            filled = 0;
        }
    }
    if (filled > 0) {
        put_units(screen, units, filled);
    }
    return OK;
}

struct sink screen_sink(struct screen_outputs *screen)
{
    return (struct sink){ .self = screen, .write = write_screen };
}

char key_pressed(const struct firmware_link *link)
{
    SIMPLE_INPUT_INTERFACE *input = link->system->ConIn;
    EFI_INPUT_KEY key = { 0 };
    if (!input || !input->WaitForKey ||
        FIRMWARE(link, link->system->BootServices->CheckEvent(input->WaitForKey)) != EFI_SUCCESS ||
        FIRMWARE(link, input->ReadKeyStroke(input, &key)) != EFI_SUCCESS) {
        return 0;
    }
    return key.UnicodeChar >= ' ' && key.UnicodeChar < 0x7F ? (char)key.UnicodeChar : '\r';
}
