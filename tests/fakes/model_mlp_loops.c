/* The loops of kernels/mlp_loops.h on the model machine: the loads of a round are under way
 * together, as many as the model can have. A program that includes this file has them in place of
 * the machine's own. */
#include "kernels/mlp_loops.h"
#include "tests/fakes/model.h"

static void hop_together(void **cursor, unsigned chains, uint64_t rounds)
{
    for (; rounds != 0; rounds--) {
        model_loads(cursor, chains);
        for (unsigned i = 0; i < chains; i++) {
            cursor[i] = *(void **)cursor[i];
        }
    }
}

#define MODEL_LOOP(chains)                                 \
    void mlp_hops_##chains(void **cursor, uint64_t rounds) \
    {                                                      \
        hop_together(cursor, chains, rounds);              \
    }

MODEL_LOOP(1)
MODEL_LOOP(2)
MODEL_LOOP(3)
MODEL_LOOP(4)
MODEL_LOOP(6)
MODEL_LOOP(8)
MODEL_LOOP(10)
MODEL_LOOP(12)
MODEL_LOOP(16)
MODEL_LOOP(24)
MODEL_LOOP(32)
MODEL_LOOP(48)
MODEL_LOOP(64)
