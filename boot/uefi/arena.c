/* Memory: our own books, the arena that measurements use, and the bench over it. */
#include "boot/uefi/session.h"
#include "kernels/kernel.h"

enum { ALIGNMENT = 64 };

/* The image, page by page, as linker/ironchase.lds lays it out. */
extern char image_text_start[], image_text_end[];
extern char image_rodata_start[], image_rodata_end[];
extern char image_data_start[], image_data_end[];

static uint64_t largest_set(const struct plan *plan)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < plan->measurements; i++) {
        uint64_t bytes = plan->measurement[i].layout.bytes;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* The arrays of a plan and its run, one after another. */
struct books_size {
    size_t plan, run, files; /* bytes, each a multiple of ALIGNMENT */
};

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct books_size books_for(size_t measurements, const struct plan *plan)
{
    return (struct books_size){
        .plan = aligned(measurements * sizeof(struct measurement)),
        .run = aligned(run_bytes(plan)),
        .files = (size_t)RUN_FILES * FILE_ROOM,
    };
}

/* Our own books come out of the firmware's memory before the arena does, since every view shows
 * them. How large they are depends on what the settings ask for, not on what turns out to be
 * measurable: a plan on trial tells. */
static enum status open_books(struct session *session)
{
    struct books *books = &session->books;
    size_t count = plan_count(&session->settings, &session->machine);
    size_t trial_bytes = aligned(count * sizeof(struct measurement)) + ALIGNMENT;
    uint64_t trial = firmware_pages(&session->link, trial_bytes, 0);
    if (!trial) {
        return ABSENT;
    }
    plan_make(&session->plan, &session->settings, &session->machine, (void *)(uintptr_t)trial,
              count);
    struct books_size size = books_for(count, &session->plan);
    session->largest = largest_set(&session->plan);
    firmware_free(&session->link, trial, trial_bytes);
    books->all.bytes = (size.plan + size.run + size.files + PAGE_4K - 1) / PAGE_4K * PAGE_4K;
    books->all.base = firmware_pages(&session->link, books->all.bytes, 0);
    books->measurements = count;
    books->measurement = (struct measurement *)(uintptr_t)books->all.base;
    books->run = (char *)books->measurement + size.plan;
    books->files = (char *)books->run + size.run;
    return books->all.base ? OK : ABSENT;
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
        { session->books.all.base, session->books.all.bytes, VIEW_DATA },
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

static void give_back_range(struct session *session, struct memory_range *range)
{
    if (range->base) {
        firmware_free(&session->link, range->base, range->bytes);
    }
    *range = (struct memory_range){ 0 };
}

void session_free_memory(struct session *session)
{
    for (size_t i = 0; i < session->ranges; i++) {
        give_back_range(session, &session->arena[i]);
    }
    give_back_range(session, &session->low);
    give_back_range(session, &session->books.all);
    if (session->descriptor) {
        firmware_free(&session->link, (uintptr_t)session->descriptor,
                      MEMORY_ROOM * sizeof *session->descriptor);
        session->descriptor = NULL;
    }
}
