/* What it shows: that a core does several operations at once if they let it. With one accumulator
 * each operation waits for the one before it, and takes its latency; with more of them there are as
 * many chains side by side, until the units are full. One accumulator gives the latency, the
 * plateau the operations per cycle. Loads and stores that need nothing show how many of those a
 * cycle has room for.
 *
 * Why the loops are as they are: registers only, a source that no renamer could know, the same
 * instruction throughout (kernels/ilp_loops.S). A sample lasts as long as one of memory: the way in
 * and out of a loop, some hundred cycles, must be nothing in it.
 *
 * What is computed: numbers that stay normal and move by one step each time, so that what comes out
 * tells exactly how many operations each accumulator has had. Nothing is added that is zero and
 * nothing multiplied by one, which a processor might know to be idle: products are by the next
 * number after 1, and each is the next number after the one before. Every part of at most PART_LAPS
 * begins anew, since sums would stop to grow and products overflow in the end.
 *
 * Where the idea comes from: the article "Lab 1: CPU Internals" (one accumulator against eight). */
#include "kernels/ilp.h"

#include "kernels/estimate.h"
#include "kernels/ilp_loops.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* At most 1.05 million operations on an accumulator: far below the 2^22 after which products of
 * single precision would no longer move by one step, and so long that looking at the result
 * afterwards is nothing. */
#define PART_LAPS (1ull << 17)

/* The data: all that a loop is given and leaves. */
struct ilp_set {
    struct ilp_registers registers;
    uint64_t done;  /* operations since the first cursor, in whole laps */
    uint64_t owed;  /* beyond those, done by the next call: no loop does a part of a lap */
    uint64_t wrong; /* parts whose result was not right */
};

#define SET_BYTES PAGE_4K

/* The cursor is the set's address plus the number of the loop, which no job could tell it: the data
 * is built once for all of them. ILP_LOOPS are added when the first call is over. */
_Static_assert(sizeof(struct ilp_set) <= SET_BYTES && 2 * ILP_LOOPS <= SET_BYTES, "it fits a page");

#define OFFSET(member) offsetof(struct ilp_registers, member)
_Static_assert(OFFSET(vector_source) == 120 && OFFSET(general) == 128 &&
                   OFFSET(general_source) == 224 && OFFSET(read) == 232 && OFFSET(written) == 424,
               "the loops know the offsets");

/* --- Operations ---------------------------------------------------------------------------- */

struct operation {
    const char *name;
    unsigned most;   /* accumulators; 1: there is one loop, and accumulators mean nothing */
    unsigned chains; /* of the one loop of such an operation */
    bool vector;     /* the accumulators are XMM registers */
    bool fma;
    /* What an accumulator holds after so many operations on it. */
    uint64_t (*value)(const struct operation *operation, uint64_t chain, uint64_t times);
    uint64_t (*pattern)(double value); /* of a vector register */
    double source, step;               /* one operation by the source moves a value by a step */
};

static uint64_t single_pattern(double value)
{
    const float single = (float)value;
    uint32_t pattern;
    memcpy(&pattern, &single, sizeof pattern);
    return pattern;
}

static uint64_t double_pattern(double value)
{
    uint64_t pattern;
    memcpy(&pattern, &value, sizeof pattern);
    return pattern;
}

/* All exact: a product (1 + m e)(1 + e) lies m e^2 beyond 1 + (m + 1) e, which is less than half a
 * step while m e is below one half. */
static uint64_t vector_value(const struct operation *operation, uint64_t chain, uint64_t times)
{
    return operation->pattern(1 + (double)(chain + times) * operation->step);
}

#define GENERAL_SOURCE 0x9e3779b97f4a7c15ull /* odd, so that no product loses bits */

static uint64_t sum_value(const struct operation *operation, uint64_t chain, uint64_t times)
{
    (void)operation;
    return chain + 1 + times * GENERAL_SOURCE;
}

static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t product = 1;
    for (; exponent != 0; exponent >>= 1) {
        product *= (exponent & 1) != 0 ? base : 1;
        base *= base;
    }
    return product;
}

static uint64_t product_value(const struct operation *operation, uint64_t chain, uint64_t times)
{
    (void)operation;
    return (2 * chain + 1) * power(GENERAL_SOURCE, times);
}

/* The words that are read, all different, and unlike what registers begin with. */
static uint64_t word_value(uint64_t word)
{
    return (word + 1) * GENERAL_SOURCE;
}

/* A lap ends with the last words. */
static uint64_t loaded_value(const struct operation *operation, uint64_t chain, uint64_t times)
{
    (void)operation;
    return times != 0 ? word_value(ILP_WORDS - ILP_GENERAL + chain) : chain + 1;
}

static uint64_t stored_value(const struct operation *operation, uint64_t chain, uint64_t times)
{
    (void)operation;
    (void)times;
    return chain + 1;
}

/* In the order of the loops. */
static const struct operation operations[] = {
    { "add-single", ILP_VECTOR, 1, true, false, vector_value, single_pattern, 1, 1 },
    { "add-double", ILP_VECTOR, 1, true, false, vector_value, double_pattern, 1, 1 },
    { "mul-single", ILP_VECTOR, 1, true, false, vector_value, single_pattern, 1 + FLT_EPSILON,
      FLT_EPSILON },
    { "mul-double", ILP_VECTOR, 1, true, false, vector_value, double_pattern, 1 + DBL_EPSILON,
      DBL_EPSILON },
    { "fma-double", ILP_VECTOR, 1, true, true, vector_value, double_pattern, 1.5, 2.25 },
    { "add-integer", ILP_GENERAL, 1, false, false, sum_value, NULL, 0, 0 },
    { "mul-integer", ILP_GENERAL, 1, false, false, product_value, NULL, 0, 0 },
    { "load", 1, ILP_GENERAL, false, false, loaded_value, NULL, 0, 0 },
    { "store", 1, ILP_GENERAL, false, false, stored_value, NULL, 0, 0 },
};

enum { OPERATIONS = sizeof operations / sizeof *operations };

/* One loop: an operation, and how many chains of it. */
struct chains {
    const struct operation *operation;
    unsigned count;
};

static struct chains chains_of(unsigned number)
{
    const struct operation *operation = operations;
    while (number >= operation->most) {
        number -= operation->most;
        operation++;
    }
    return (struct chains){ operation, operation->most == 1 ? operation->chains : number + 1 };
}

static unsigned number_of(const struct variant *variant)
{
    unsigned number = 0;
    const struct operation *operation = operations;
    while (strcmp(operation->name, variant->value[V_OPERATION].text) != 0) {
        number += operation->most;
        operation++;
    }
    const bool many = variant_has(variant, V_ACCUMULATORS);
    return number + (many ? (unsigned)variant->value[V_ACCUMULATORS].number - 1 : 0);
}

/* --- In the window ------------------------------------------------------------------------- */

static void begin(struct job *job)
{
    job->state[0] = number_of(job->variant);
}

static size_t build(struct job *job, size_t from)
{
    struct ilp_set *set = job->data;
    (void)from;
    memset(set, 0, sizeof *set);
    for (size_t i = 0; i < ILP_WORDS; i++) {
        set->registers.read[i] = word_value(i);
    }
    return 0;
}

static size_t prove(const struct job *job, size_t from, const char **reason)
{
    const struct ilp_set *set = job->data;
    (void)from;
    for (size_t i = 0; i < ILP_WORDS; i++) {
        if (set->registers.read[i] != word_value(i)) {
            *reason = "the words to load are not those that were stored";
        }
    }
    return 0;
}

static void *start(const struct job *job)
{
    return (char *)job->data + job->state[0];
}

static uint64_t *accumulators(struct ilp_registers *registers, const struct operation *operation)
{
    return operation->vector ? registers->vector : registers->general;
}

static unsigned registers_of(const struct operation *operation)
{
    return operation->vector ? ILP_VECTOR : ILP_GENERAL;
}

static void set_registers(struct ilp_registers *registers, const struct operation *operation)
{
    uint64_t *accumulator = accumulators(registers, operation);
    for (unsigned i = 0; i < registers_of(operation); i++) {
        accumulator[i] = operation->value(operation, i, 0);
    }
    registers->general_source = GENERAL_SOURCE;
    registers->vector_source = operation->vector ? operation->pattern(operation->source) : 0;
    memset(registers->written, 0, sizeof registers->written);
}

/* Each accumulator had its share, and registers that are none had nothing. */
static bool registers_are_right(struct ilp_registers *registers, struct chains chains,
                                uint64_t times)
{
    const struct operation *operation = chains.operation;
    const uint64_t *accumulator = accumulators(registers, operation);
    bool right = true;
    for (unsigned i = 0; i < registers_of(operation); i++) {
        const uint64_t had = i < chains.count ? times : 0;
        right = right && accumulator[i] == operation->value(operation, i, had);
    }
    for (unsigned i = 0; i < ILP_WORDS; i++) {
        const bool stores = operation->value == stored_value;
        const uint64_t expected = stores ? operation->value(operation, i % ILP_GENERAL, times) : 0;
        right = right && registers->written[i] == expected;
    }
    return right;
}

static void do_part(struct ilp_set *set, unsigned number, uint64_t laps)
{
    const struct chains chains = chains_of(number);
    set_registers(&set->registers, chains.operation);
    ilp_laps(&set->registers, laps, number);
    const uint64_t times = laps * (ilp_loop[number].operations / chains.count);
    set->wrong += !registers_are_right(&set->registers, chains, times);
    set->done += laps * ilp_loop[number].operations;
}

/* What of a call is no whole lap is left to the next: less than a lap, of the ten thousands that a
 * sample has. Done one by one it would take longer than a lap. */
static void *go_on(void *cursor, uint64_t count)
{
    const size_t offset = (uintptr_t)cursor % SET_BYTES;
    struct ilp_set *set = (void *)((char *)cursor - offset);
    const unsigned number = (unsigned)(offset % ILP_LOOPS);
    if (offset < ILP_LOOPS) {
        set->done = set->owed = set->wrong = 0;
    }
    uint64_t laps = (set->owed + count) / ilp_loop[number].operations;
    set->owed = (set->owed + count) % ilp_loop[number].operations;
    while (laps > 0) {
        const uint64_t part = laps < PART_LAPS ? laps : PART_LAPS;
        do_part(set, number, part);
        laps -= part;
    }
    return (char *)set + ILP_LOOPS + number;
}

static bool check(const struct job *job, const void *cursor, uint64_t count, const char **reason)
{
    const struct ilp_set *set = job->data;
    if (cursor != (const char *)start(job) + ILP_LOOPS || set->done + set->owed != count) {
        *reason = "not as many operations were done as asked for";
    } else if (set->wrong != 0) {
        *reason = "the accumulators do not hold the result";
    } else {
        return true;
    }
    return false;
}

static const struct kernel_code code = {
    .begin = begin,
    .build = build,
    .prove = prove,
    .start = start,
    .loop = go_on,
    .check = check,
    .memory = true,
};

/* --- The plan ------------------------------------------------------------------------------ */

/* Accumulators that a suite has, as bits. One gives the latency; a plateau is reached by 8 (latency
 * 4, two units), by 10 where the latency is 5, and by 12 in any case; `smoke` keeps these ends and
 * the slope between, `quick` the even numbers, too. */
#define BIT(n) (1u << (n))
static const unsigned thinned[SUITES] = {
    [SUITE_SMOKE] = BIT(1) | BIT(4) | BIT(12),
    [SUITE_QUICK] = BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(6) | BIT(8) | BIT(10) | BIT(12),
    [SUITE_FULL] = ~0u,
};

static const char *why_not(const struct machine *machine, const struct operation *operation)
{
    const uint64_t needed = 1ull << FEATURE_FMA | 1ull << FEATURE_AVX2;
    if (operation->fma && (machine->processor.features & needed) != needed) {
        return "the processor has no FMA";
    }
    const char *reason = machine->page_reason[SIZE_4K];
    if (!machine->page_available[SIZE_4K]) {
        return reason != NULL ? reason : "4 KiB pages are not available";
    }
    return NULL;
}

static struct measurement measurement_of(const struct scope *scope, const struct kernel *self,
                                         const struct operation *operation, unsigned count)
{
    struct measurement measurement = {
        .kernel = self,
        .layout = { .bytes = SET_BYTES, .leaf = SIZE_4K, .placing = PLACED_IN_ORDER },
        .bytes = SET_BYTES,
        .conditions = { .vectors = operation->fma ? VECTORS_AVX2 : VECTORS_NONE },
        .data = 1,
        .skip = why_not(scope->machine, operation),
    };
    variant_set_text(&measurement.variant, V_OPERATION, operation->name);
    if (operation->most > 1) {
        variant_set_number(&measurement.variant, V_ACCUMULATORS, count);
    }
    measurement.seconds = measurement.skip == NULL ? estimate_visits(scope, &measurement) : 0;
    return measurement;
}

static void list(const struct scope *scope, const struct kernel *self, struct measurement_list *out)
{
    bool built = false;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        for (unsigned count = 1; count <= operations[i].most; count++) {
            if ((thinned[scope->suite] & BIT(count)) == 0) {
                continue;
            }
            struct measurement measurement = measurement_of(scope, self, &operations[i], count);
            if (measurement.skip == NULL && !built) {
                built = true;
                measurement.build_seconds =
                    estimate_build(scope->machine, ORDER_SEQUENTIAL, SET_BYTES / LINE_BYTES);
            }
            (void)measurement_add(out, &measurement); /* what does not fit is counted there */
        }
    }
}

/* --- Prediction ---------------------------------------------------------------------------- */

static double accumulators_in(const struct variant *variant)
{
    return (double)variant->value[V_ACCUMULATORS].number;
}

static bool same_operation(const struct variant *a, const struct variant *b)
{
    return variant_has(b, V_ACCUMULATORS) &&
           strcmp(a->value[V_OPERATION].text, b->value[V_OPERATION].text) == 0;
}

static double latency_in(const struct variant *variant, const struct point *measured, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (same_operation(variant, &measured[i].variant) &&
            accumulators_in(&measured[i].variant) == 1) {
            return measured[i].ns.median;
        }
    }
    return NAN;
}

#define BOUND 1.1 /* so much slower than its share of the latency, and the units are full */

/* The latency shared by the accumulators, but no less than where that has been seen to end. */
static double predict(const struct machine *machine, const struct variant *variant,
                      const struct point *measured, size_t n)
{
    (void)machine;
    if (!variant_has(variant, V_ACCUMULATORS)) {
        return NAN;
    }
    const double latency = latency_in(variant, measured, n);
    double least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        const struct variant *other = &measured[i].variant;
        const double ns = measured[i].ns.median;
        if (same_operation(variant, other) && ns > BOUND * latency / accumulators_in(other)) {
            least = fmin(least, ns);
        }
    }
    const double share = latency / accumulators_in(variant);
    return isinf(least) ? share : fmax(share, least);
}

/* --- The table's row ----------------------------------------------------------------------- */

static const enum variant_key columns[] = { V_OPERATION, V_ACCUMULATORS, VARIANT_KEYS };

const struct kernel ilp_kernel = {
    .name = "ilp",
    .title = "Instruction-level parallelism: what an operation costs beside others",
    .unit = "operation",
    .list = list,
    .predict = predict,
    .code = &code,
    .columns = columns,
};
