/* The steps that measure: memory, plan, files, run. */
#include <stdio.h>
#include <string.h>

#include "boot/uefi/selftest_firmware.h"
#include "boot/uefi/session.h"
#include "hw/cpu.h"
#include "kernels/kernel.h"

enum { FILE_ROOM = 64 * KIB, ALIGNMENT = 64 };

static const char *const file_name[RUN_FILES] = {
    [FILE_JOURNAL] = JOURNAL_NAME,
    [FILE_CSV] = RESULTS_CSV_NAME,
    [FILE_LOG] = CONSOLE_LOG_NAME,
    [FILE_JSON] = RESULTS_JSON_NAME,
};

/* The image, page by page, as linker/ironchase.lds lays it out. */
extern char image_text_start[], image_text_end[];
extern char image_rodata_start[], image_rodata_end[];
extern char image_data_start[], image_data_end[];

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- memory ----------------------------------------------------------------------------------- */

static uint64_t largest_set(const struct plan *plan)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < plan->measurements; i++) {
        uint64_t bytes = plan->measurement[i].layout.bytes;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* Our own books come out of the firmware's memory before the arena does. How large they are depends
 * on what the settings ask for, not on what turns out to be measurable. */
static enum status open_books(struct session *session)
{
    size_t count = plan_count(&session->settings, &session->machine);
    uint64_t plan_bytes = aligned(count * sizeof(struct measurement));
    uint64_t trial = firmware_pages(&session->link, plan_bytes + ALIGNMENT, 0);
    if (!trial) {
        return ABSENT;
    }
    plan_make(&session->plan, &session->settings, &session->machine, (void *)(uintptr_t)trial,
              count);
    session->books.bytes =
        plan_bytes + aligned(run_bytes(&session->plan)) + (uint64_t)RUN_FILES * FILE_ROOM;
    session->books.bytes = (session->books.bytes + PAGE_4K - 1) / PAGE_4K * PAGE_4K;
    session->largest = largest_set(&session->plan);
    firmware_free(&session->link, trial, plan_bytes + ALIGNMENT);
    session->books.base = firmware_pages(&session->link, session->books.bytes, 0);
    return session->books.base ? OK : ABSENT;
}

/* What the firmware does not give (it may have moved in since the map) is left out. */
static void claim_arena(struct session *session)
{
    size_t claimed = 0;
    for (size_t i = 0; i < session->ranges; i++) {
        if (firmware_claim(&session->link, session->arena[i].base, session->arena[i].bytes)) {
            session->arena[claimed++] = session->arena[i];
        }
    }
    session->ranges = claimed;
}

static enum status open_arena(struct session *session, const char **reason)
{
    enum status status = session_copy_memory_map(session, reason);
    if (status != OK) {
        return status;
    }
    uint64_t room = session->descriptors * sizeof(struct memory_range);
    uint64_t free = firmware_pages(&session->link, room, 0);
    if (!free) {
        *reason = "the firmware has no memory left";
        return ABSENT;
    }
    struct memory_range *range = (struct memory_range *)(uintptr_t)free;
    size_t ranges = memory_free_ranges(session->descriptor, session->descriptors, range);
    /* A scattered set takes its frames from four times as much; an aligned GiB may hide in two. More
     * is left alone: firmware that scrubs what it gets back takes minutes over a server's memory. */
    uint64_t most = 4 * session->largest + UINT64_C(2) * GIB;
    status = memory_plan(range, ranges, most, session->arena, &session->ranges, reason);
    firmware_free(&session->link, free, room);
    if (status == OK) {
        claim_arena(session);
    }
    return status;
}

static void idle(void *self, unsigned microseconds)
{
    const struct session *session = self;
    firmware_stall(&session->link, microseconds);
}

static struct view_region region(const char *start, const char *end, enum view_kind kind)
{
    return (struct view_region){ (uintptr_t)start, (uint64_t)(end - start), kind };
}

static enum status open_bench(struct session *session, const char **reason)
{
    uint64_t low = firmware_pages(&session->link, BENCH_LOW_BYTES, UINT64_C(4) * GIB);
    const struct view_region regions[] = {
        region(image_text_start, image_text_end, VIEW_CODE),
        region(image_rodata_start, image_rodata_end, VIEW_CONSTANTS),
        region(image_data_start, image_data_end, VIEW_DATA),
        { session->books.base, session->books.bytes, VIEW_DATA },
        { session->uart.place.address, PAGE_4K, VIEW_REGISTERS },
    };
    bool uart_in_memory = session->has_uart && session->uart.place.in_memory;
    struct bench_setup setup = {
        .window = session->window,
        .machine = &session->machine,
        .arena = session->arena,
        .ranges = session->ranges,
        .low_memory = (void *)(uintptr_t)low,
        .region = regions,
        .regions = sizeof regions / sizeof *regions - (uart_in_memory ? 0 : 1),
        .seed = session->settings.seed,
        .idle = idle,
        .idle_self = session,
    };
    session->low = (struct memory_range){ low, BENCH_LOW_BYTES };
    if (!low) {
        *reason = "the firmware has no memory left below 4 GiB";
        return ABSENT;
    }
    return bench_prepare(&session->metal, &setup, reason);
}

enum status session_arena(struct session *session)
{
    const char *reason = "the firmware has no memory for the books of this plan";
    enum status status = open_books(session);
    if (status == OK) {
        status = open_arena(session, &reason);
    }
    if (status == OK) {
        status = open_bench(session, &reason);
    }
    return status == OK ? OK : session_refuse(session, reason);
}

/* ---- plan ------------------------------------------------------------------------------------- */

static void print_line(void *self, const char *text)
{
    struct session *session = self;
    console_line(&session->console, "%s", text);
}

enum status session_plan(struct session *session)
{
    size_t count = plan_count(&session->settings, &session->machine);
    plan_make(&session->plan, &session->settings, &session->machine,
              (void *)(uintptr_t)session->books.base, count);
    uint64_t needed = aligned(count * sizeof(struct measurement)) +
                      aligned(run_bytes(&session->plan)) + (uint64_t)RUN_FILES * FILE_ROOM;
    if (needed > session->books.bytes) {
        return session_refuse(session, "the plan outgrew its books");
    }
    if (session->settings.dry_run) {
        plan_print(&session->plan, print_line, session);
        return STOPPED;
    }
    return OK;
}

/* ---- files ------------------------------------------------------------------------------------ */

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
    uint64_t buffers = session->books.base + session->books.bytes - (uint64_t)RUN_FILES * FILE_ROOM;
    session->line = uart_sink(&session->uart);
    if (session->settings.save) {
        (void)volume_begin_run(&session->volume); /* the reason is shown by the report */
    } else {
        session->volume.reason = "save=no";
    }
    for (unsigned i = 0; i < RUN_FILES; i++) {
        if (session->settings.save) {
            open_file(session, i, (char *)(uintptr_t)(buffers + (uint64_t)i * FILE_ROOM));
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

/* ---- run -------------------------------------------------------------------------------------- */

static double seconds(void *self)
{
    const struct session *session = self;
    return (double)(cpu_tsc() - session->began) / (double)session->machine.clock.tsc_hz;
}

static void idle_between_checks(void *self)
{
    const struct session *session = self;
    firmware_stall(&session->link, 20000);
}

static size_t selftest(void *self, struct check *check, size_t room)
{
    struct session *session = self;
    const char *reason = NULL;
    static struct selftest test; /* where bodies can reach it: the image is in every view */
    test = (struct selftest){
        .window = session->window,
        .processor = &session->machine.processor,
        .windows = SELFTEST_WINDOWS,
        .idle = idle_between_checks,
        .idle_self = session,
    };
    if (room < SELFTEST_CHECKS + SELFTEST_FIRMWARE_CHECKS ||
        bench_selftest_view(&session->metal, &test.place, &reason) != OK) {
        check[0] = (struct check){ .name = "view", .ok = false };
        (void)snprintf(check[0].text, sizeof check[0].text, "%s", reason ? reason : "no room");
        return 1;
    }
    size_t n = selftest_run(&test, check, SELFTEST_CHECKS);
    return n + selftest_firmware(&session->link, &session->volume, check + n);
}

static void name_machine(struct session *session)
{
    const struct board *board = &session->machine.board;
    char *name = session->results.name;
    size_t room = sizeof session->results.name;
    if (session->settings.name[0]) {
        (void)snprintf(name, room, "%s", session->settings.name);
    } else {
        (void)snprintf(name, room, "%.40s%s%.20s", board->product, board->serial[0] ? " " : "",
                       board->serial);
    }
}

static void begin_results(struct session *session)
{
    struct results *results = &session->results;
    results->machine = &session->machine;
    results->setting = session->note;
    results->settings = SETTINGS;
    firmware_time(&session->link, results->started);
    name_machine(session);
    (void)settings_repeat_line(&session->settings, results->repeat_line,
                               sizeof results->repeat_line);
}

enum status session_run(struct session *session)
{
    struct run run = {
        .plan = &session->plan,
        .bench = &session->metal.bench,
        .results = &session->results,
        .observer = session->observer,
        .self = session,
        .seconds = seconds,
        .selftest = selftest,
    };
    begin_results(session);
    session->observer[run.observers++] = report_observer(&session->report);
    if (session->settings.save) {
        session->journal = (struct journal){
            .records = &session->output[FILE_JOURNAL],
            .csv = &session->output[FILE_CSV],
            .json = &session->output[FILE_JSON],
            .log = &session->output[FILE_LOG],
            .samples = session->settings.samples,
        };
        session->observer[run.observers++] = journal_observer(&session->journal);
    }
    run_divide(&run,
               (void *)(uintptr_t)(session->books.base + aligned(session->plan.measurements *
                                                                 sizeof(struct measurement))));
    session->began = cpu_tsc();
    run_plan(&run);
    return session->results.status == RUN_FAILED ? FAULTED : OK;
}

/* ---- the end ---------------------------------------------------------------------------------- */

static void give_back_range(struct session *session, struct memory_range *range)
{
    if (range->base) {
        firmware_free(&session->link, range->base, range->bytes);
    }
    *range = (struct memory_range){ 0 };
}

void session_close_files(struct session *session)
{
    for (unsigned i = 0; i < RUN_FILES; i++) {
        if (session->file[i].file) {
            output_file_close(&session->output[i]);
            (void)volume_close_file(&session->file[i]);
        }
    }
    volume_close(&session->volume);
}

void session_free_memory(struct session *session)
{
    for (size_t i = 0; i < session->ranges; i++) {
        give_back_range(session, &session->arena[i]);
    }
    give_back_range(session, &session->low);
    give_back_range(session, &session->books);
    if (session->descriptor) {
        firmware_free(&session->link, (uintptr_t)session->descriptor,
                      MEMORY_ROOM * sizeof *session->descriptor);
        session->descriptor = NULL;
    }
}
