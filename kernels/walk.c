#include "kernels/walk.h"

void walk_begin(struct walk *walk)
{
    walk->cursor = walk->code->start(&walk->job);
    walk->operations = 0;
}

void walk_on(struct walk *walk, uint64_t operations)
{
    walk->cursor = walk->code->loop(walk->cursor, operations);
    walk->operations += operations;
}

uint64_t walk_lap(const struct walk *walk)
{
    const struct kernel_code *code = walk->code;
    const struct variant *variant = walk->job.variant;
    const uint64_t cycle = code->cycle_length != NULL ? code->cycle_length(&walk->job) : 0;
    const uint64_t cycles = variant_has(variant, V_CHAINS) ? variant->value[V_CHAINS].number : 1;
    const uint64_t lines = cycle != 0 ? cycle * cycles : walk->job.bytes / LINE_BYTES;
    return lines != 0 ? lines : 1;
}

uint64_t bench_ticks(const struct bench *bench)
{
    struct reading now;
    bench->read(bench->self, &now);
    return now.tsc;
}

uint64_t ticks_in(const struct bench *bench, double seconds)
{
    return (uint64_t)(seconds * (double)bench->tsc_hz);
}
