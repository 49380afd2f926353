#include "tests/hosted/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { COLUMNS_LEAST = 80, ROWS_LEAST = 25 };

/* ---- what is shown ---------------------------------------------------------------------------- */

static enum status write_out(void *self, const char *bytes, size_t n)
{
    (void)self;
    while (n > 0) {
        const ssize_t written = write(STDOUT_FILENO, bytes, n);
        if (written > 0) {
            bytes += written;
            n -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            return IO_ERROR;
        }
    }
    return OK;
}

static unsigned at_least(unsigned least, unsigned value)
{
    return value > least ? value : least;
}

void terminal_open(struct console *console, const struct sink *log)
{
    const struct sink out = { .write = write_out };
    struct winsize size = { 0 };
    if (isatty(STDOUT_FILENO) == 0) {
        console_open(console, NULL, &out, log);
        return;
    }
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    const struct screen screen = {
        .sink = out,
        .columns = at_least(COLUMNS_LEAST, size.ws_col),
        .rows = at_least(ROWS_LEAST, size.ws_row),
    };
    console_open(console, &screen, NULL, log);
}

/* ---- what is typed ---------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;
static struct termios found;
static bool taken;

static void interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static bool is_in_front(void)
{
    return isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void terminal_take_keys(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    /* The second one finds the handler gone. Calls that it interrupts go on. */
    struct sigaction action = { .sa_handler = interrupt,
                                .sa_flags = (int)(SA_RESETHAND | SA_RESTART) };
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        (void)sigaction(signals[i], &action, NULL);
    }
    if (taken || !is_in_front() || tcgetattr(STDIN_FILENO, &found) != 0) {
        return;
    }
    struct termios keys = found;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    taken = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
    (void)atexit(terminal_release);
}

void terminal_release(void)
{
    if (taken) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &found);
        taken = false;
    }
}

char terminal_key(void *unused)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    char key = 0;
    (void)unused;
    if (interrupted) {
        return 'q';
    }
    if (taken && poll(&input, 1, 0) == 1 && read(STDIN_FILENO, &key, 1) == 1) {
        return key;
    }
    return 0;
}
