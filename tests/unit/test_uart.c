/* The UART on a scripted port: found where there is one, set up only where it must be, and never
 * waited for without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "console/uart.h"
#include "tests/fakes/processor.h"

enum { COM1 = 0x3F8, IN_MEMORY = 0x7EDC9000, WIRE = 64 * KIB };

/* A 16550 with the parts that can go wrong. */
struct fake {
    unsigned stride;
    uint8_t line, modem, fifo, scratch, interrupts;
    unsigned divisor;
    bool scratch_sticks; /* keeps what it has: no scratch register */
    unsigned busy;       /* reads of the status register before a byte is gone */
    bool stuck;          /* no byte ever goes */
    bool gone;           /* reads as nothing from now on */
    unsigned waiting;
    const char *typed;
    size_t sent;
    char wire[WIRE];
};

static struct fake fake;
static struct uart uart;
static const char *reason;

static uint64_t status_of(struct fake *chip)
{
    if (chip->waiting > 0 && !chip->stuck) {
        chip->waiting--;
    }
    return (chip->waiting ? 0 : 0x20) | (chip->typed && *chip->typed ? 1 : 0);
}

static uint64_t read_fake(void *self, uint64_t offset, unsigned bits)
{
    struct fake *chip = self;
    bool divisor = chip->line & 0x80;
    (void)bits;
    if (chip->gone) {
        return 0xFF;
    }
    switch (offset / chip->stride) {
    case 0: return divisor ? chip->divisor & 0xFF : (uint64_t)(*chip->typed++);
    case 1: return divisor ? chip->divisor >> 8 : chip->interrupts;
    case 3: return chip->line;
    case 4: return chip->modem;
    case 5: return status_of(chip);
    case 7: return chip->scratch;
    default: return 0;
    }
}

static void write_fake(void *self, uint64_t offset, unsigned bits, uint64_t value)
{
    struct fake *chip = self;
    uint8_t byte = (uint8_t)value;
    (void)bits;
    switch (offset / chip->stride) {
    case 0:
        if (chip->line & 0x80) {
            chip->divisor = (chip->divisor & 0xFF00) | byte;
        } else {
            assert_int_equal(chip->waiting, 0); /* else the byte is lost */
            assert_true(chip->sent < WIRE - 1);
            chip->wire[chip->sent++] = (char)byte;
            chip->waiting = chip->busy + (chip->stuck ? 1 : 0);
        }
        break;
    case 1:
        if (chip->line & 0x80) {
            chip->divisor = (chip->divisor & 0xFF) | (unsigned)byte << 8;
        } else {
            chip->interrupts = byte;
        }
        break;
    case 2: chip->fifo = byte; break;
    case 3: chip->line = byte; break;
    case 4: chip->modem = byte; break;
    case 7: chip->scratch = chip->scratch_sticks ? chip->scratch : byte; break;
    default: break;
    }
}

static int start(void **state)
{
    (void)state;
    processor_reset();
    fake = (struct fake){ .stride = 1, .line = 3, .divisor = 1, .scratch = 0x5A };
    reason = NULL;
    return 0;
}

static void plug_in(void)
{
    struct device device = {
        .self = &fake, .first = COM1, .last = COM1 + 7, .read = read_fake, .write = write_fake
    };
    processor_add_ports(&device);
}

static enum status open_com1(unsigned baud, bool shared)
{
    struct uart_place place;
    assert_int_equal(uart_com(1, &place), OK);
    place.baud = baud;
    return uart_open(&uart, &place, shared, &reason);
}

static enum status say(const char *text)
{
    return uart_write(&uart, text, strlen(text));
}

/* ---- finding it ---- */

static void test_com_ports(void **state)
{
    (void)state;
    static const uint64_t expected[] = { 0x3F8, 0x2F8, 0x3E8, 0x2E8 };
    struct uart_place place;
    for (unsigned i = 1; i <= 4; i++) {
        assert_int_equal(uart_com(i, &place), OK);
        assert_int_equal(place.address, expected[i - 1]);
        assert_false(place.in_memory);
    }
    assert_int_equal(uart_com(0, &place), ABSENT);
    assert_int_equal(uart_com(5, &place), ABSENT);
}

static void test_nothing_there(void **state)
{
    (void)state;
    assert_int_equal(open_com1(0, false), ABSENT); /* reads all ones */
    assert_non_null(reason);
    assert_int_equal(processor_count(ACCESS_OUT, COM1 + 3), 0); /* what it is, nobody knows */
    processor_clear_log();
    assert_int_equal(say("text\n"), IO_ERROR);
    assert_int_equal(uart_read(&uart), 0);
    assert_int_equal(processor_accesses(), 0);
}

static void test_something_else_there(void **state)
{
    (void)state;
    fake.scratch_sticks = true;
    plug_in();
    assert_int_equal(open_com1(0, false), ABSENT);
    assert_int_equal(fake.line, 3);
    assert_int_equal(fake.modem, 0);
}

static void test_scratch_register_is_put_back(void **state)
{
    (void)state;
    plug_in();
    assert_int_equal(open_com1(0, false), OK);
    assert_int_equal(fake.scratch, 0x5A);
}

/* ---- setting it up ---- */

static void test_line_of_the_firmware_is_kept(void **state)
{
    (void)state;
    fake.divisor = 2;
    fake.line = 0x1B; /* 8 data bits, even parity: its own affair */
    fake.modem = 8;
    plug_in();
    assert_int_equal(open_com1(0, false), OK);
    assert_int_equal(fake.divisor, 2);
    assert_int_equal(fake.line, 0x1B);
    assert_int_equal(fake.fifo, 0);
    assert_int_equal(fake.modem, 0x0B); /* DTR and RTS on, the rest as found */
    assert_int_equal(uart.baud, 57600);
}

static void test_line_that_nobody_set_is_set(void **state)
{
    (void)state;
    static const struct {
        uint8_t line;
        unsigned divisor;
    } reset[] = { { 0, 12 }, { 3, 0 }, { 3, 0xFFFF }, { 2, 1 }, { 3, 7 } };
    for (size_t i = 0; i < sizeof reset / sizeof reset[0]; i++) {
        start(NULL);
        fake.line = reset[i].line;
        fake.divisor = reset[i].divisor;
        plug_in();
        assert_int_equal(open_com1(0, false), OK);
        assert_int_equal(fake.divisor, 1);
        assert_int_equal(fake.line, 3);
        assert_int_equal(fake.fifo, 7);
        assert_int_equal(uart.baud, 115200);
    }
}

static void test_rate_that_the_user_wants(void **state)
{
    (void)state;
    plug_in();
    assert_int_equal(open_com1(9600, false), OK);
    assert_int_equal(fake.divisor, 12);
    assert_int_equal(fake.line, 3);
    assert_int_equal(uart.baud, 9600);
    fake.fifo = 0;
    assert_int_equal(open_com1(9600, false), OK);
    assert_int_equal(fake.fifo, 0); /* found as wanted: left alone */
    assert_int_equal(open_com1(300, false), OK);
    assert_int_equal(fake.divisor, 384);
    assert_int_equal(open_com1(1U << 28, false), OK); /* more than it can */
    assert_int_equal(fake.divisor, 1);
    assert_int_equal(open_com1(1, false), OK); /* less than it can */
    assert_int_equal(fake.divisor, 0xFFFF);
}

static void test_shared_with_the_firmware(void **state)
{
    (void)state;
    fake.divisor = 12;
    plug_in();
    processor_clear_log();
    assert_int_equal(open_com1(115200, true), OK);
    for (size_t i = 0; i < processor_accesses(); i++) {
        const struct access *access = processor_access(i);
        assert_true(access->kind == ACCESS_IN || access->address == COM1 + 7);
    }
    assert_int_equal(fake.divisor, 12);
    assert_int_equal(say("x"), OK);
    assert_string_equal(fake.wire, "x");
}

static void test_in_memory_with_a_stride_and_another_clock(void **state)
{
    (void)state;
    const struct uart_place place = {
        .address = IN_MEMORY, .in_memory = true, .access = 4, .stride = 4, .clock_hz = 48000000
    };
    struct device device = { .self = &fake,
                             .first = IN_MEMORY,
                             .last = IN_MEMORY + 31,
                             .read = read_fake,
                             .write = write_fake };
    fake.stride = 4;
    fake.divisor = 26; /* 115384 baud */
    processor_add_memory(&device);
    assert_int_equal(uart_open(&uart, &place, false, &reason), OK);
    assert_int_equal(fake.divisor, 26);
    assert_int_equal(uart.baud, 115200);
    assert_int_equal(say("a\n"), OK);
    assert_string_equal(fake.wire, "a\r\n");
    for (size_t i = 0; i < processor_accesses(); i++) {
        assert_int_equal(processor_access(i)->bits, 32);
    }
}

static void test_access_width(void **state)
{
    (void)state;
    for (unsigned access = 1; access <= 4; access *= 2) {
        for (int in_memory = 0; in_memory <= 1; in_memory++) {
            start(NULL);
            struct uart_place place = {
                .address = COM1, .access = access, .stride = access, .in_memory = in_memory
            };
            struct device device = { .self = &fake,
                                     .first = COM1,
                                     .last = COM1 + 31,
                                     .read = read_fake,
                                     .write = write_fake };
            fake.stride = access;
            (in_memory ? processor_add_memory : processor_add_ports)(&device);
            assert_int_equal(uart_open(&uart, &place, false, &reason), OK);
            assert_int_equal(say("ab"), OK);
            assert_string_equal(fake.wire, "ab");
            assert_int_equal(processor_access(0)->bits, 8 * access);
        }
    }
}

/* ---- writing ---- */

static void test_lines_end_for_a_terminal(void **state)
{
    (void)state;
    plug_in();
    assert_int_equal(open_com1(0, false), OK);
    struct sink sink = uart_sink(&uart);
    assert_int_equal(sink.write(sink.self, "a\n\nb", 4), OK);
    assert_string_equal(fake.wire, "a\r\n\r\nb");
}

static void test_waits_for_the_transmitter(void **state)
{
    (void)state;
    plug_in();
    assert_int_equal(open_com1(0, false), OK);
    fake.busy = 1000; /* a slow one */
    assert_int_equal(say("slow but sure\n"), OK);
    assert_string_equal(fake.wire, "slow but sure\r\n");
}

static void test_stuck_port_is_given_up(void **state)
{
    (void)state;
    plug_in();
    assert_int_equal(open_com1(0, false), OK);
    fake.stuck = true;
    size_t before = processor_accesses();
    assert_int_equal(say("0123456789abcdef"), IO_ERROR);
    assert_string_equal(fake.wire, "0"); /* that one was free */
    assert_true(processor_accesses() - before <= 10 * 100000 + 20);
    before = processor_accesses();
    assert_int_equal(say("more"), IO_ERROR);
    assert_int_equal(processor_accesses(), before);
}

static void test_port_that_stalls_is_forgiven(void **state)
{
    (void)state;
    plug_in();
    assert_int_equal(open_com1(0, false), OK);
    for (unsigned round = 0; round < 4; round++) {
        fake.stuck = true;
        fake.waiting = 1;
        assert_int_equal(say("12345"), OK); /* five bytes late, and lost */
        fake.stuck = false;
        for (unsigned i = 0; i < 1024; i++) {
            assert_int_equal(say("."), OK);
        }
    }
    assert_int_equal(fake.sent, 4 * 1024);
    fake.stuck = true;
    fake.waiting = 1;
    assert_int_equal(say("123456789"), OK);
    assert_int_equal(say("0"), IO_ERROR);
}

static void test_port_that_vanishes(void **state)
{
    (void)state;
    plug_in();
    assert_int_equal(open_com1(0, false), OK);
    fake.gone = true;
    processor_clear_log();
    assert_int_equal(say("text"), IO_ERROR);
    assert_true(processor_accesses() <= 2);
    assert_int_equal(fake.sent, 0);
}

/* ---- reading ---- */

static void test_reads_what_is_typed(void **state)
{
    (void)state;
    plug_in();
    assert_int_equal(open_com1(0, false), OK);
    assert_int_equal(uart_read(&uart), 0);
    fake.typed = "q\xF1";
    assert_int_equal(uart_read(&uart), 'q');
    assert_int_equal(uart_read(&uart), 'q'); /* with a parity bit */
    assert_int_equal(uart_read(&uart), 0);
    fake.gone = true;
    assert_int_equal(uart_read(&uart), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_com_ports, start),
        cmocka_unit_test_setup(test_nothing_there, start),
        cmocka_unit_test_setup(test_something_else_there, start),
        cmocka_unit_test_setup(test_scratch_register_is_put_back, start),
        cmocka_unit_test_setup(test_line_of_the_firmware_is_kept, start),
        cmocka_unit_test_setup(test_line_that_nobody_set_is_set, start),
        cmocka_unit_test_setup(test_rate_that_the_user_wants, start),
        cmocka_unit_test_setup(test_shared_with_the_firmware, start),
        cmocka_unit_test_setup(test_in_memory_with_a_stride_and_another_clock, start),
        cmocka_unit_test_setup(test_access_width, start),
        cmocka_unit_test_setup(test_lines_end_for_a_terminal, start),
        cmocka_unit_test_setup(test_waits_for_the_transmitter, start),
        cmocka_unit_test_setup(test_stuck_port_is_given_up, start),
        cmocka_unit_test_setup(test_port_that_stalls_is_forgiven, start),
        cmocka_unit_test_setup(test_port_that_vanishes, start),
        cmocka_unit_test_setup(test_reads_what_is_typed, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
