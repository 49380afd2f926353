#include "kernels/infer_tell.h"

#include <stdarg.h>
#include <stdio.h>

void tell(struct finding_list *list, const struct finding *finding, const char *format, ...)
{
    if (list->count == list->room) {
        return;
    }
    struct finding *added = &list->out[list->count++];
    va_list arguments;
    *added = *finding;
    va_start(arguments, format);
    (void)vsnprintf(added->text, sizeof added->text, format, arguments);
    va_end(arguments);
}

const char *size_text(uint64_t bytes, char text[SIZE_TEXT])
{
    static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB" };
    double number = (double)bytes / KIB;
    size_t i = 0;
    for (; number >= KIB && i + 1 < sizeof unit / sizeof *unit; i++) {
        number /= KIB;
    }
    (void)snprintf(text, SIZE_TEXT, "%.4g %s", number, unit[i]);
    return text;
}
