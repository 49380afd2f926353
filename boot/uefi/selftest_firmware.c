#include "boot/uefi/selftest_firmware.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    TICK_100NS = 200000, /* 20 ms, in the unit of SetTimer */
    POLL_MICROSECONDS = 5000,
    POLLS = 200, /* one second: fifty times what the timer needs */
};

static struct check make_check(const char *name, bool ok, const char *format, ...)
{
    struct check check = { .name = name, .ok = ok };
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(check.text, sizeof check.text, format, arguments);
    va_end(arguments);
    return check;
}

/* Milliseconds after which a 20 ms timer event fired, 0 if it never did. */
static unsigned wait_for_timer(const struct firmware_link *link)
{
    EFI_BOOT_SERVICES *services = link->system->BootServices;
    EFI_EVENT timer = NULL;
    unsigned fired = 0;
    if (FIRMWARE(link, services->CreateEvent(EVT_TIMER, TPL_CALLBACK, NULL, NULL, &timer)) !=
        EFI_SUCCESS) {
        return 0;
    }
    (void)FIRMWARE(link, services->SetTimer(timer, TimerRelative, TICK_100NS));
    for (unsigned poll = 1; poll <= POLLS && !fired; poll++) {
        firmware_stall(link, POLL_MICROSECONDS);
        if (FIRMWARE(link, services->CheckEvent(timer)) == EFI_SUCCESS) {
            fired = poll * POLL_MICROSECONDS / 1000;
        }
    }
    (void)FIRMWARE(link, services->CloseEvent(timer));
    return fired;
}

static struct check check_timer(const struct firmware_link *link)
{
    unsigned fired = wait_for_timer(link);
    return fired ? make_check("firmware timer", true, "a 20 ms timer fired within %u ms", fired)
                 : make_check("firmware timer", false, "a 20 ms timer did not fire in 1 s");
}

static struct check check_clock(const struct firmware_link *link)
{
    char text[24];
    firmware_time(link, text);
    return make_check("firmware clock", true, "wall clock: %s", text[0] ? text : "none");
}

static struct check check_keys(const struct firmware_link *link)
{
    SIMPLE_INPUT_INTERFACE *input = link->system->ConIn;
    if (!input || !input->WaitForKey) {
        return make_check("firmware keys", true, "no keyboard here");
    }
    EFI_STATUS status = FIRMWARE(link, link->system->BootServices->CheckEvent(input->WaitForKey));
    bool ok = status == EFI_SUCCESS || status == EFI_NOT_READY;
    return make_check("firmware keys", ok, "the keyboard %s",
                      ok ? "answers" : "gives an error when asked");
}

static struct check check_stick(struct volume *volume)
{
    if (!volume->run) {
        return make_check("stick", true, "not tried: nothing is saved in this run");
    }
    enum status status = volume_probe(volume);
    return make_check("stick", status == OK, "%s",
                      status == OK ? "a file was written, read back and deleted"
                                   : "a file could not be written and read back");
}

size_t selftest_firmware(const struct firmware_link *link, struct volume *volume,
                         struct check *check)
{
    check[0] = check_timer(link);
    check[1] = check_clock(link);
    check[2] = check_keys(link);
    check[3] = check_stick(volume);
    return SELFTEST_FIRMWARE_CHECKS;
}
