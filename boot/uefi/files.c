/* The files of a run: on the stick, or on the serial line where that cannot be written. */
#include "boot/uefi/session.h"

static const char *const file_name[RUN_FILES] = {
    [FILE_JOURNAL] = JOURNAL_NAME,
    [FILE_CSV] = RESULTS_CSV_NAME,
    [FILE_LOG] = CONSOLE_LOG_NAME,
    [FILE_JSON] = RESULTS_JSON_NAME,
};

static void open_file(struct session *session, enum run_file file, char *buffer)
{
    struct output_file *output = &session->output[file];
    session->serial[file] = (struct serial_file){ .line = &session->line, .name = file_name[file] };
    *output = (struct output_file){
        .serial = session->has_uart ? &session->serial[file] : NULL,
        .buffer = buffer,
        .room = FILE_ROOM,
        .tell = report_failure,
        .teller = &session->report,
        .name = file_name[file],
    };
    if (!session->volume.run) {
        return;
    }
    if (file == FILE_JSON) {
        volume_create_later(&session->volume, file_name[file], &session->file[file]);
    } else if (volume_create(&session->volume, file_name[file], &session->file[file]) != OK) {
        report_failure(&session->report, file_name[file], session->file[file].failed);
        return;
    }
    output->saved = volume_sink(&session->file[file]);
}

enum status session_files(struct session *session)
{
    session->line = uart_sink(&session->uart);
    if (session->settings.save) {
        (void)volume_begin_run(&session->volume); /* the reason is shown by the report */
    } else {
        session->volume.reason = "save=no";
    }
    for (unsigned i = 0; i < RUN_FILES; i++) {
        if (session->settings.save) {
            open_file(session, i, session->books.files + (size_t)i * FILE_ROOM);
        }
    }
    bool saves = session->volume.run != NULL;
    session->report.console = &session->console;
    session->report.folder = saves ? session->volume.run_name : NULL;
    session->report.not_saved = session->volume.reason;
    session->report.sent = !saves && session->settings.save && session->has_uart;
    session->report.cut_short = session->volume.cut_short[0] ? session->volume.cut_short : NULL;
    if (session->settings.save) {
        struct sink log = output_file_sink(&session->output[FILE_LOG]);
        session_attach_log(session, saves ? &log : NULL);
    }
    return OK;
}

void session_close_files(struct session *session)
{
    session_attach_log(session, NULL); /* what is said from here on has no file to go to */
    for (unsigned i = 0; i < RUN_FILES; i++) {
        if (session->file[i].file) {
            output_file_close(&session->output[i]);
            (void)volume_close_file(&session->file[i]);
        }
    }
    volume_close(&session->volume);
}
