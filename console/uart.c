#include "console/uart.h"

#include "hw/insn.h"

enum uart_register {
    DATA = 0,
    DIVISOR_LOW = 0,  /* while LINE_DIVISOR is set */
    DIVISOR_HIGH = 1, /* the same */
    FIFO = 2,
    LINE = 3,
    MODEM = 4,
    STATUS = 5,
    SCRATCH = 7,
};

enum {
    LINE_8N1 = 0x03,
    LINE_WORD_8 = 0x03,
    LINE_DIVISOR = 0x80,
    FIFO_ON_AND_EMPTY = 0x07,
    MODEM_READY = 0x03, /* DTR and RTS: some BMCs send nothing on without */
    STATUS_RECEIVED = 0x01,
    STATUS_TRANSMITTER_FREE = 0x20, /* THRE; TEMT never comes on some (seL4/seL4#36) */
    NOTHING_THERE = 0xFF,

    USUAL_CLOCK_HZ = 1843200,
    USUAL_BAUD = 115200,
    WAIT_READS = 100000, /* of a status register behind LPC or PCI: about a microsecond each */
    LATE_MOST = 10,
    GOOD_FORGIVES = 1024,
};

enum status uart_com(unsigned number, struct uart_place *place)
{
    static const uint16_t port[] = { 0x3F8, 0x2F8, 0x3E8, 0x2E8 };
    *place = (struct uart_place){ .access = 1, .stride = 1 };
    if (number < 1 || number > sizeof port / sizeof port[0]) {
        return ABSENT;
    }
    place->address = port[number - 1];
    return OK;
}

static uint8_t get(const struct uart *uart, enum uart_register which)
{
    const struct uart_place *place = &uart->place;
    uint64_t at = place->address + (uint64_t)which * place->stride;
    uint16_t port = (uint16_t)at;
    switch (place->access) {
    case 4: return (uint8_t)(place->in_memory ? insn_read32(at) : insn_in32(port));
    case 2: return (uint8_t)(place->in_memory ? insn_read16(at) : insn_in16(port));
    default: return place->in_memory ? insn_read8(at) : insn_in8(port);
    }
}

static void set_memory(uint64_t at, unsigned access, uint8_t value)
{
    switch (access) {
    case 4: insn_write32(at, value); break;
    case 2: insn_write16(at, value); break;
    default: insn_write8(at, value); break;
    }
}

static void set_port(uint16_t port, unsigned access, uint8_t value)
{
    switch (access) {
    case 4: insn_out32(port, value); break;
    case 2: insn_out16(port, value); break;
    default: insn_out8(port, value); break;
    }
}

static void set(const struct uart *uart, enum uart_register which, uint8_t value)
{
    const struct uart_place *place = &uart->place;
    uint64_t at = place->address + (uint64_t)which * place->stride;
    if (place->in_memory) {
        set_memory(at, place->access, value);
    } else {
        set_port((uint16_t)at, place->access, value);
    }
}

/* The scratch register keeps what is written to it, and does nothing else. */
static bool answers(const struct uart *uart)
{
    if (get(uart, STATUS) == NOTHING_THERE) {
        return false;
    }
    uint8_t found = get(uart, SCRATCH);
    bool keeps = true;
    for (unsigned pattern = 0x55; pattern <= 0xAA; pattern += 0x55) {
        set(uart, SCRATCH, (uint8_t)pattern);
        keeps = keeps && get(uart, SCRATCH) == pattern;
    }
    set(uart, SCRATCH, found);
    return keeps;
}

static unsigned clock_of(const struct uart *uart)
{
    return uart->place.clock_hz ? uart->place.clock_hz : USUAL_CLOCK_HZ;
}

/* The rate of a divisor if it is, within 3 %, one that people use; else 0. */
static unsigned usual_rate(const struct uart *uart, unsigned divisor)
{
    static const unsigned usual[] = { 9600,   19200,  38400,  57600,   115200,
                                      230400, 460800, 921600, 1500000, 3000000 };
    unsigned rate = divisor ? clock_of(uart) / 16 / divisor : 0;
    for (unsigned i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        unsigned off = rate > usual[i] ? rate - usual[i] : usual[i] - rate;
        if (off <= usual[i] * 3 / 100) {
            return usual[i];
        }
    }
    return 0;
}

static unsigned found_divisor(const struct uart *uart)
{
    uint8_t line = get(uart, LINE);
    set(uart, LINE, line | LINE_DIVISOR);
    unsigned divisor = get(uart, DIVISOR_LOW) | (unsigned)get(uart, DIVISOR_HIGH) << 8;
    set(uart, LINE, line);
    return divisor;
}

static void set_line(const struct uart *uart, unsigned baud)
{
    uint64_t wide = baud; /* what a user may ask for overflows 32 bits */
    uint64_t divisor = (clock_of(uart) + 8 * wide) / (16 * wide);
    divisor = divisor < 1 ? 1 : divisor > 0xFFFF ? 0xFFFF : divisor;
    set(uart, LINE, LINE_8N1 | LINE_DIVISOR);
    set(uart, DIVISOR_LOW, (uint8_t)divisor);
    set(uart, DIVISOR_HIGH, (uint8_t)(divisor >> 8));
    set(uart, LINE, LINE_8N1);
    set(uart, FIFO, FIFO_ON_AND_EMPTY);
}

static void make_ready(struct uart *uart)
{
    unsigned wish = uart->place.baud;
    bool word_8 = (get(uart, LINE) & LINE_WORD_8) == LINE_WORD_8;
    unsigned found = word_8 ? usual_rate(uart, found_divisor(uart)) : 0;
    uart->baud = wish ? wish : found ? found : USUAL_BAUD;
    if (uart->baud != found) {
        set_line(uart, uart->baud);
    }
    set(uart, MODEM, get(uart, MODEM) | MODEM_READY);
}

enum status uart_open(struct uart *uart, const struct uart_place *place, bool shared,
                      const char **reason)
{
    *uart = (struct uart){ .place = *place };
    if (!answers(uart)) {
        *reason = "no UART answered";
        return ABSENT;
    }
    uart->alive = true;
    if (!shared) {
        make_ready(uart);
    }
    return OK;
}

/* A byte that is not taken in time is lost. Too many of them are the end of the port. */
static void send(struct uart *uart, char byte)
{
    uint8_t status = 0;
    for (unsigned i = 0; i < WAIT_READS && !(status & STATUS_TRANSMITTER_FREE); i++) {
        status = get(uart, STATUS);
    }
    if (status == NOTHING_THERE) {
        uart->alive = false;
    } else if (status & STATUS_TRANSMITTER_FREE) {
        set(uart, DATA, (uint8_t)byte);
        uart->good++;
        uart->late = uart->good >= GOOD_FORGIVES ? 0 : uart->late;
    } else {
        uart->good = 0;
        uart->late++;
        uart->alive = uart->late < LATE_MOST;
    }
}

enum status uart_write(struct uart *uart, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && uart->alive; i++) {
        if (bytes[i] == '\n') {
            send(uart, '\r');
        }
        if (uart->alive) {
            send(uart, bytes[i]);
        }
    }
    return uart->alive ? OK : IO_ERROR;
}

char uart_read(struct uart *uart)
{
    uint8_t status = uart->alive ? get(uart, STATUS) : 0;
    if (status == NOTHING_THERE || !(status & STATUS_RECEIVED)) {
        return 0;
    }
    return (char)(get(uart, DATA) & 0x7F);
}

static enum status write_uart(void *self, const char *bytes, size_t n)
{
    return uart_write(self, bytes, n);
}

struct sink uart_sink(struct uart *uart)
{
    return (struct sink){ .self = uart, .write = write_uart };
}
