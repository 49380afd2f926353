#include "hw/guard.h"

enum status guard_run(struct window *window, void (*body)(void *), void *arg, struct fault *fault)
{
    struct window_report report;
    enum status status = window_run(window, NULL, 0, body, arg, &report);
    if (fault) {
        *fault = report.fault;
    }
    return status;
}
