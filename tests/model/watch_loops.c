/* Runs one measured loop for a tool that watches it from outside.
 *
 * usage: watch_loops chase ORDER BYTES HOPS    a chase of the real kernel: built, proved, checked
 *        watch_loops read BYTES LAPS           so many reads of a set
 *        watch_loops count LOOP OFFSET N       callgrind counts nothing but the call of a loop that
 *                                              stands OFFSET bytes beyond a line, or (-) as it is
 * Succeeds if what the loop computed is right. */
#include "kernels/chase.h"
#include "kernels/loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <valgrind/callgrind.h>

/* Sets begin at such a multiple, so that it is known how they lie in the caches. */
#define SET_ALIGNMENT (1ull << 20)

static int fail(const char *reason)
{
    (void)fprintf(stderr, "watch_loops: %s\n", reason);
    return EXIT_FAILURE;
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 0);
}

static void *make_set(size_t bytes)
{
    void *set = aligned_alloc(SET_ALIGNMENT, (bytes / SET_ALIGNMENT + 1) * SET_ALIGNMENT);
    if (set == NULL) {
        exit(fail("no memory"));
    }
    memset(set, 0, bytes);
    return set;
}

static const char *make_chase(struct job *job)
{
    const struct kernel_code *code = chase_kernel.code;
    const char *reason = NULL;
    size_t step = 0;
    code->begin(job);
    do {
        step = code->build(job, step);
    } while (step != 0);
    do {
        step = code->prove(job, step, &reason);
    } while (step != 0);
    return reason;
}

static int chase(const char *order, size_t bytes, uint64_t hops)
{
    struct variant variant = { .present = 0 };
    variant_set_text(&variant, V_ORDER, order);
    struct job job = { .variant = &variant, .seed = 1, .data = make_set(bytes), .bytes = bytes };
    const char *reason = make_chase(&job);
    if (reason == NULL) {
        const void *end = chase_kernel.code->loop(chase_kernel.code->start(&job), hops);
        (void)chase_kernel.code->check(&job, end, hops, &reason);
    }
    free(job.data);
    return reason == NULL ? EXIT_SUCCESS : fail(reason);
}

static int read_set(size_t bytes, uint64_t laps)
{
    void *set = make_set(bytes);
    for (uint64_t lap = 0; lap < laps; lap++) {
        read_lines(set, bytes / LINE_BYTES);
    }
    free(set);
    return EXIT_SUCCESS;
}

/* --- Counting ------------------------------------------------------------------------------ */

/* A pointer to itself: any number of hops ends there. */
static void *ring;
static char lines[1024 * LINE_BYTES];

typedef uint64_t count_function(const void *code, uint64_t n);

/* A function's address as data, without a cast that ISO C knows nothing of. */
static const void *address_of(const void *function_pointer)
{
    const void *address;
    memcpy(&address, function_pointer, sizeof address);
    return address;
}

static uint64_t count_chase(const void *code, uint64_t n)
{
    void *(*loop)(void *, uint64_t);
    memcpy(&loop, &code, sizeof loop);
    ring = &ring;
    CALLGRIND_START_INSTRUMENTATION;
    const void *end = loop(&ring, n);
    CALLGRIND_STOP_INSTRUMENTATION;
    return end == &ring ? n : ~n;
}

static uint64_t count_spin(const void *code, uint64_t n)
{
    uint64_t (*loop)(uint64_t);
    memcpy(&loop, &code, sizeof loop);
    CALLGRIND_START_INSTRUMENTATION;
    const uint64_t sum = loop(n);
    CALLGRIND_STOP_INSTRUMENTATION;
    return sum / SPIN_ADDS;
}

static uint64_t count_read(const void *code, uint64_t n)
{
    void (*loop)(const void *, size_t);
    memcpy(&loop, &code, sizeof loop);
    CALLGRIND_START_INSTRUMENTATION;
    loop(lines, n);
    CALLGRIND_STOP_INSTRUMENTATION;
    return n;
}

/* A copy of the code so far beyond a line. It has no relocations, so it runs anywhere. */
static const void *copy_of(const void *code, size_t offset)
{
    enum { CODE_BYTES = 1024 };
    char *place =
        mmap(NULL, PAGE_4K, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {
        exit(fail("no memory for code"));
    }
    memcpy(place + offset, code, CODE_BYTES);
    return place + offset;
}

static int count(const char *name, const char *offset, uint64_t n)
{
    void *(*const chase_loop)(void *, uint64_t) = chase_hops;
    uint64_t (*const spin_loop)(uint64_t) = spin_adds;
    void (*const read_loop)(const void *, size_t) = read_lines;
    const struct {
        const char *name;
        const void *code;
        count_function *run;
    } loop[] = {
        { "chase_hops", address_of(&chase_loop), count_chase },
        { "spin_adds", address_of(&spin_loop), count_spin },
        { "read_lines", address_of(&read_loop), count_read },
    };
    for (size_t i = 0; i < sizeof loop / sizeof *loop; i++) {
        if (strcmp(name, loop[i].name) == 0) {
            const void *code =
                *offset == '-' ? loop[i].code : copy_of(loop[i].code, number(offset));
            return loop[i].run(code, n) == n ? EXIT_SUCCESS : fail("a wrong result");
        }
    }
    return fail("no such loop");
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "chase") == 0) {
        return chase(argv[2], number(argv[3]), number(argv[4]));
    }
    if (argc == 4 && strcmp(argv[1], "read") == 0) {
        return read_set(number(argv[2]), number(argv[3]));
    }
    if (argc == 5 && strcmp(argv[1], "count") == 0) {
        return count(argv[2], argv[3], number(argv[4]));
    }
    return fail("wrong arguments");
}
