/* Runs every loop of the experiment `ilp` for a tool that watches it from outside.
 *
 * usage: watch_ilp LAPS
 *
 * FMA only where the processor has it. */
#include "kernels/ilp_loops.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_fma(unsigned number)
{
    return number >= 4 * ILP_VECTOR && number < 5 * ILP_VECTOR;
}

int main(int argc, char **argv)
{
    static struct ilp_registers registers;
    if (argc != 2) {
        (void)fprintf(stderr, "watch_ilp: wrong arguments\n");
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; i < ILP_LOOPS; i++) {
        if (!is_fma(i) || __builtin_cpu_supports("fma")) {
            ilp_laps(&registers, strtoull(argv[1], NULL, 0), i);
        }
    }
    return EXIT_SUCCESS;
}
