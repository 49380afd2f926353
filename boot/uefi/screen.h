/* The firmware's text consoles and its keyboard.
 *
 * Firmware often sends its console to a UART as well. We write to that UART ourselves, so the
 * text goes only to the consoles that are not terminals on it: nothing appears twice. */
#ifndef BOOT_UEFI_SCREEN_H
#define BOOT_UEFI_SCREEN_H

#include "boot/uefi/firmware.h"
#include "console/sink.h"

enum { SCREEN_OUTPUTS = 4, NO_COM = 0 };

struct screen_outputs {
    const struct firmware_link *link;
    SIMPLE_TEXT_OUTPUT_INTERFACE *output[SCREEN_OUTPUTS];
    unsigned outputs; /* 0: no screen, which is normal on a server */
    unsigned columns, rows;
    bool slow; /* takes more than a tenth of a second over a line: a BMC's, or a huge one */
};

/* Finds the text consoles but for terminals on COM port `our_com` (1..4, NO_COM: none is ours),
 * clears them, and reads the smallest size of their modes (clamped to 80x25..240x80). */
void screen_open(struct screen_outputs *screen, const struct firmware_link *link, unsigned our_com);

/* Does the firmware's console also go to COM port `com`? */
bool screen_has_terminal(const struct firmware_link *link, unsigned com);

/* Writes ASCII to every output; other bytes become '?'. "\n" starts a new line. */
struct sink screen_sink(struct screen_outputs *screen);

/* The next key as a character, 0 if none is waiting. Never blocks: the key is read only after its
 * event says it is there (ReadKeyStroke freezes some machines: systemd#3632). */
char key_pressed(const struct firmware_link *link);

#endif
