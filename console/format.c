#include "console/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const char *format_number(double number, char text[FORMAT_ROOM])
{
    /* Each limit is where the next larger form would round to the same four digits. */
    static const struct {
        double below;
        int decimals;
    } form[] = { { 0.99995, 4 }, { 9.9995, 3 }, { 99.995, 2 }, { 999.95, 1 } };
    int decimals = 0;
    if (isnan(number)) {
        return "-";
    }
    for (size_t i = sizeof form / sizeof form[0]; i-- > 0;) {
        decimals = fabs(number) < form[i].below ? form[i].decimals : decimals;
    }
    /* Beyond what any machine does in a run, but the room must hold it. */
    if (fabs(number) < 1e15) {
        (void)snprintf(text, FORMAT_ROOM, "%.*f", decimals, number);
    } else {
        (void)snprintf(text, FORMAT_ROOM, "%.3g", number);
    }
    return text;
}

/* Three significant digits without trailing zeros, then the unit; whole numbers exactly. */
static const char *with_unit(double number, const char *unit, char text[FORMAT_ROOM])
{
    int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    char digits[FORMAT_ROOM];
    int length = snprintf(digits, sizeof digits, "%.*f", decimals, number);
    while (decimals > 0 && digits[length - 1] == '0') {
        digits[--length] = 0;
        decimals--;
    }
    length -= digits[length - 1] == '.';
    (void)snprintf(text, FORMAT_ROOM, "%.*s %s", length, digits, unit);
    return text;
}

const char *format_size(uint64_t bytes, char text[FORMAT_ROOM])
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double number = (double)bytes;
    size_t i = 0;
    while (number >= 1024 && i + 1 < sizeof unit / sizeof unit[0]) {
        number /= 1024;
        i++;
    }
    return with_unit(number, unit[i], text);
}

const char *format_page_size(uint64_t bytes, char text[FORMAT_ROOM])
{
    static const char unit[] = "KMG";
    unsigned i = 0;
    uint64_t number = bytes >> 10;
    while (number >= 1024 && i + 1 < sizeof unit - 1) {
        number >>= 10;
        i++;
    }
    (void)snprintf(text, FORMAT_ROOM, "%" PRIu64 "%c", number, unit[i]);
    return text;
}

const char *format_duration(double seconds, char text[FORMAT_ROOM])
{
    if (!(seconds >= 0) || seconds > 1e9) {
        return "-";
    }
    unsigned whole = (unsigned)(seconds + 0.5);
    if (whole < 3600) {
        (void)snprintf(text, FORMAT_ROOM, "%u:%02u", whole / 60, whole % 60);
    } else {
        (void)snprintf(text, FORMAT_ROOM, "%u:%02u:%02u", whole / 3600, whole / 60 % 60,
                       whole % 60);
    }
    return text;
}

const char *format_frequency(double hz, char text[FORMAT_ROOM])
{
    double mhz = hz / 1e6;
    (void)snprintf(text, FORMAT_ROOM, mhz < 999.95 ? "%.0f MHz" : "%.3f GHz",
                   mhz < 999.95 ? mhz : mhz / 1000);
    return text;
}
