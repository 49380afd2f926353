/* The loops of kernels/loops.h on the model machine: they follow the data that the kernels really
 * built, and charge every access to the simulated clock. A program that includes this file has
 * them in place of the machine's own. */
#include "kernels/loops.h"
#include "tests/fakes/model.h"

void *chase_hops(void *cursor, uint64_t hops)
{
    for (; hops != 0; hops--) {
        model_load(cursor);
        cursor = *(void **)cursor;
    }
    return cursor;
}

uint64_t spin_adds(uint64_t laps)
{
    model_work((double)(laps * SPIN_ADDS));
    return laps * SPIN_ADDS;
}

void read_lines(const void *from, size_t lines)
{
    for (size_t i = 0; i < lines; i++) {
        model_stream((const char *)from + i * LINE_BYTES);
    }
}
