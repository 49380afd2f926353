/* The last step: everything given back, and the machine left as the user wants it. */
#include "boot/uefi/session.h"
#include "hw/insn.h"

enum {
    DEBUG_EXIT_PORT = 0xF4, /* QEMU's isa-debug-exit: its exit status is 2 * value + 1 */
    DEBUG_EXIT_SUCCESS = 16,
    DEBUG_EXIT_FAILURE = 17,
    MENU_SECONDS = 30,
    SETTLE_MICROSECONDS = 1000000, /* a stick writes on after its last answer */
};

static void wait_in_place_of_menu(struct session *session)
{
    char key;
    console_line(&session->console, "Back to the firmware in %u s, or with any key.", MENU_SECONDS);
    (void)session_wait_for_key(session, MENU_SECONDS, &key);
}

static void leave(struct session *session, bool success)
{
    switch (session->settings.on_finish) {
    case FINISH_MENU: wait_in_place_of_menu(session); break;
    case FINISH_REBOOT:
        firmware_stall(&session->link, SETTLE_MICROSECONDS);
        firmware_reset(&session->link, RESET_REBOOT);
        break;
    case FINISH_SHUTDOWN:
        firmware_stall(&session->link, SETTLE_MICROSECONDS);
        firmware_reset(&session->link, RESET_SHUTDOWN);
        break;
    case FINISH_QEMU_EXIT:
        insn_out8(DEBUG_EXIT_PORT, success ? DEBUG_EXIT_SUCCESS : DEBUG_EXIT_FAILURE);
        break; /* still here: no such device */
    default: break;
    }
}

EFI_STATUS session_finish(struct session *session, bool success)
{
    session_close_files(session);
    leave(session, success);
    session_free_memory(session); /* only here: some firmware scrubs every page it gets back */
    return success ? EFI_SUCCESS : EFI_ABORTED;
}
