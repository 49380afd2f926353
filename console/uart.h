/* A 16550-compatible UART, written to by polling: the console of servers.
 *
 * It may not be there, may be switched off by the next boot, may be a BMC's that stalls, may be
 * the firmware's console as well. So nothing waits without a bound, and a port that does not take
 * its bytes is given up. Registers: PC16550D data sheet (National Semiconductor, 1995), 8.0. */
#ifndef CONSOLE_UART_H
#define CONSOLE_UART_H

#include "console/sink.h"
#include "hw/acpi.h"

/* The caller owns it; members but `baud` are private to uart.c. */
struct uart {
    struct uart_place place;
    unsigned baud; /* in use; 0: whatever the firmware has set */
    bool alive;
    unsigned late; /* bytes it did not take in time */
    unsigned good; /* bytes it took since */
};

/* Where COM1 to COM4 are by custom; ABSENT for any other number. Pure. */
enum status uart_com(unsigned number, struct uart_place *place);

/* Looks whether a UART answers there, and makes it ready. Its line is set only if it must be: to
 * place->baud, 8 data bits, if another rate was found; without a wish (0), to 115200 unless the
 * firmware has set a usual rate. `shared`: the firmware writes to it too; then no register is
 * changed, but the scratch register for a moment. What is set is left so: nobody else uses a port
 * that the firmware has not set up.
 * ABSENT: nothing answered, *reason tells (static text). `uart` is then dead, but may be used.
 * Interrupts off, if the firmware may poll the port. Window: yes, with the registers mapped. */
enum status uart_open(struct uart *uart, const struct uart_place *place, bool shared,
                      const char **reason);

/* Sends text; "\n" goes as "\r\n". Each byte waits for the transmitter within a bound (about a tenth
 * of a second). IO_ERROR: given up, now or earlier; the rest is dropped.
 * Window: yes, with the registers mapped; also in a trap that will not return. */
enum status uart_write(struct uart *uart, const char *bytes, size_t n);
/* The byte that was received, 0 if there is none. Never waits. Window: yes. */
char uart_read(struct uart *uart);
/* A dead UART's sink answers IO_ERROR. */
struct sink uart_sink(struct uart *uart);

#endif
