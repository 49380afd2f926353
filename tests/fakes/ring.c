#include "tests/fakes/ring.h"

#include "kernels/loops.h"

enum { RING_LINES, RING_FACTOR, RING_INCREMENT }; /* of job->state */
enum { RING_SLICE = 1 << 14 };

/* Full period modulo a power of two: the factor is 1 modulo 4, the increment odd (Hull and Dobell
 * 1962). */
static void ring_begin(struct job *job)
{
    job->state[RING_LINES] = job->bytes / LINE_BYTES;
    job->state[RING_FACTOR] = (job->seed & 0xfffff0) | 5;
    job->state[RING_INCREMENT] = (job->seed >> 24) | 1;
}

static uint64_t ring_next(const struct job *job, uint64_t line)
{
    const uint64_t next = line * job->state[RING_FACTOR] + job->state[RING_INCREMENT];
    return next & (job->state[RING_LINES] - 1);
}

uint64_t ring_line_after(const struct job *job, uint64_t hops)
{
    /* The step x -> f x + i, squared over and over. */
    uint64_t factor = job->state[RING_FACTOR], increment = job->state[RING_INCREMENT], line = 0;
    for (; hops != 0; hops >>= 1) {
        line = (hops & 1) != 0 ? line * factor + increment : line;
        increment += increment * factor;
        factor *= factor;
    }
    return line & (job->state[RING_LINES] - 1);
}

static void *ring_node(const struct job *job, uint64_t line)
{
    return (char *)job->data + line * LINE_BYTES;
}

static size_t ring_end(const struct job *job, size_t from)
{
    const size_t lines = job->state[RING_LINES];
    return lines - from < RING_SLICE ? lines : from + RING_SLICE;
}

static size_t ring_build(struct job *job, size_t from)
{
    const size_t end = ring_end(job, from);
    for (size_t line = from; line < end; line++) {
        *(void **)ring_node(job, line) = ring_node(job, ring_next(job, line));
    }
    return end < job->state[RING_LINES] ? end : 0;
}

static size_t ring_prove(const struct job *job, size_t from, const char **reason)
{
    const size_t end = ring_end(job, from);
    for (size_t line = from; line < end; line++) {
        if (*(void **)ring_node(job, line) != ring_node(job, ring_next(job, line))) {
            *reason = "the ring is broken";
            return 0;
        }
    }
    return end < job->state[RING_LINES] ? end : 0;
}

static void *ring_start(const struct job *job)
{
    return job->data;
}

static bool ring_check(const struct job *job, const void *cursor, uint64_t operations,
                       const char **reason)
{
    const bool right = cursor == ring_node(job, ring_line_after(job, operations));
    *reason = right ? *reason : "the walk left the ring";
    return right;
}

static uint64_t ring_length(const struct job *job)
{
    return job->state[RING_LINES];
}

const struct kernel_code ring_code = {
    .begin = ring_begin,
    .build = ring_build,
    .prove = ring_prove,
    .start = ring_start,
    .loop = chase_hops,
    .check = ring_check,
    .cycle_length = ring_length,
    .memory = true,
};

const struct kernel ring_kernel = {
    .name = "ring",
    .title = "Ring of lines",
    .unit = "load",
    .code = &ring_code,
};
