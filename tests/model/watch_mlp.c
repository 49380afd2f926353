/* Runs `mlp` for callgrind, which counts nothing but the call of a loop.
 *
 * usage: watch_mlp loop CHAINS OFFSET ROUNDS   the assembly loop, OFFSET bytes beyond a line or (-)
 *                                              as it is, on chains of one node each
 *        watch_mlp kernel CHAINS OPERATIONS    what a sample calls, on the kernel's own data
 * Succeeds if what the loop computed is right. */
#include "kernels/mlp.h"
#include "kernels/mlp_loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <valgrind/callgrind.h>

enum { SET_BYTES = 64 * KIB, CODE_BYTES = 2048, CODE_ROOM = 2 * CODE_BYTES };

static const struct {
    unsigned chains;
    mlp_loop *hops;
} loops[] = {
    { 1, mlp_hops_1 },   { 2, mlp_hops_2 },   { 3, mlp_hops_3 },   { 4, mlp_hops_4 },
    { 6, mlp_hops_6 },   { 8, mlp_hops_8 },   { 10, mlp_hops_10 }, { 12, mlp_hops_12 },
    { 16, mlp_hops_16 }, { 24, mlp_hops_24 }, { 32, mlp_hops_32 }, { 48, mlp_hops_48 },
    { 64, mlp_hops_64 },
};

static int fail(const char *reason)
{
    (void)fprintf(stderr, "watch_mlp: %s\n", reason);
    return EXIT_FAILURE;
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 0);
}

/* A copy of a loop so far beyond a line. It has no relocations, so it runs anywhere. */
static mlp_loop *copy_of(mlp_loop *hops, size_t offset)
{
    const void *code;
    memcpy(&code, &hops, sizeof code);
    char *place = mmap(NULL, CODE_ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {
        exit(fail("no memory for code"));
    }
    memcpy(place + offset, code, CODE_BYTES);
    place += offset;
    memcpy(&hops, &place, sizeof hops);
    return hops;
}

/* A pointer to itself: any number of hops ends there. */
static int count_loop(mlp_loop *hops, unsigned chains, uint64_t rounds)
{
    static void *ring[MLP_MOST_CHAINS];
    void *cursor[MLP_MOST_CHAINS];
    for (unsigned i = 0; i < MLP_MOST_CHAINS; i++) {
        ring[i] = cursor[i] = &ring[i];
    }
    CALLGRIND_START_INSTRUMENTATION;
    hops(cursor, rounds);
    CALLGRIND_STOP_INSTRUMENTATION;
    return memcmp(cursor, ring, chains * sizeof *cursor) == 0 ? EXIT_SUCCESS
                                                              : fail("a wrong result");
}

static int find_loop(unsigned chains, const char *offset, uint64_t rounds)
{
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        if (loops[i].chains == chains) {
            mlp_loop *hops =
                *offset == '-' ? loops[i].hops : copy_of(loops[i].hops, number(offset));
            return count_loop(hops, chains, rounds);
        }
    }
    return fail("no such loop");
}

static const char *make_data(struct job *job)
{
    const struct kernel_code *code = mlp_kernel.code;
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

static int count_kernel(unsigned chains, uint64_t operations)
{
    const struct kernel_code *code = mlp_kernel.code;
    struct variant variant = { .present = 0 };
    variant_set_number(&variant, V_CHAINS, chains);
    struct job job = { .variant = &variant, .seed = 1, .bytes = SET_BYTES };
    job.data = aligned_alloc(PAGE_4K, SET_BYTES);
    if (job.data == NULL) {
        return fail("no memory");
    }
    const char *reason = make_data(&job);
    void *cursor = code->start(&job);
    if (reason == NULL) {
        CALLGRIND_START_INSTRUMENTATION;
        cursor = code->loop(cursor, operations);
        CALLGRIND_STOP_INSTRUMENTATION;
        (void)code->check(&job, cursor, operations, &reason);
    }
    free(job.data);
    return reason == NULL ? EXIT_SUCCESS : fail(reason);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "loop") == 0) {
        return find_loop((unsigned)number(argv[2]), argv[3], number(argv[4]));
    }
    if (argc == 4 && strcmp(argv[1], "kernel") == 0) {
        return count_kernel((unsigned)number(argv[2]), number(argv[3]));
    }
    return fail("wrong arguments");
}
