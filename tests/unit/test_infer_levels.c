/* kernels/infer_fit.c and kernels/infer_levels.c on whole curves: those that others have published,
 * and noisy ones over many geometries, made here from formulas of their own. */
#include "kernels/infer_levels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define KIBS(n)   ((uint64_t)(n)*KIB)
#define MIBS(n)   ((uint64_t)(n)*MIB)
#define CURVES    "../shared/hardware/curves.csv"
#define CLAIMS    "../shared/hardware/curves-claimed.csv"
#define MAX_CACHE 5

/* --- Judging -------------------------------------------------------------------------------- */

/* How many of the caches that should be found were, and what else was. */
struct tally {
    unsigned curves, wanted, found, false_ones;
};

/* Is `size` the claimed one, or between its neighbours on the curve? */
static bool within_one_step(const struct fit_data *data, uint64_t size, double claim)
{
    double below = 0, above = INFINITY;
    for (size_t i = 0; i < data->points; i++) {
        if (data->set[i] < claim) {
            below = data->set[i];
        } else if (data->set[i] > claim && above == INFINITY) {
            above = data->set[i];
        }
    }
    return (double)size >= below && (double)size <= above;
}

/* Each cache of less than half the largest set is wanted, each level that is none of them is false. */
static void judge(struct tally *tally, const struct fit_data *data, const struct ladder *ladder,
                  const double *cache, size_t caches)
{
    bool used[INFER_LEVELS + 1] = { false };
    const double largest = data->set[data->points - 1];
    tally->curves++;
    for (size_t i = 0; i < caches; i++) {
        tally->wanted += cache[i] < largest / 2;
        for (size_t j = 0; j < ladder->levels; j++) {
            if (!used[j] && within_one_step(data, ladder->level[j].size, cache[i])) {
                used[j] = true;
                tally->found += cache[i] < largest / 2;
                break;
            }
        }
    }
    for (size_t j = 0; j < ladder->levels; j++) {
        tally->false_ones += !used[j];
    }
}

static void examine(struct fit_data *data, bool small_pages, struct ladder *ladder)
{
    static struct staircase stairs;
    fit_staircase(data, &stairs);
    find_levels(data, &stairs, small_pages, ladder);
}

static void examine_and_judge(struct tally *tally, struct fit_data *data, const double *cache,
                              size_t caches)
{
    struct ladder ladder;
    examine(data, true, &ladder);
    judge(tally, data, &ladder, cache, caches);
}

static void add(struct fit_data *data, double set, double value)
{
    assert_true(data->points < CURVE_SIZES);
    data->set[data->points] = set;
    data->value[data->points++] = value;
}

/* --- Curves of real processors -------------------------------------------------------------- */

/* Caches that the processor of that name claims. */
static size_t claims_of(const char *processor, double cache[MAX_CACHE])
{
    FILE *file = fopen(CLAIMS, "r");
    char line[256];
    size_t count = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char name[128], level[16];
        double size = 0;
        if (sscanf(line, "%127[^,],%15[^,],%lf", name, level, &size) == 3 &&
            strcmp(name, processor) == 0) {
            assert_true(count < MAX_CACHE);
            cache[count++] = size;
        }
    }
    fclose(file);
    return count;
}

static void finish_curve(struct tally *tally, struct fit_data *data, const char *processor)
{
    double cache[MAX_CACHE];
    if (data->points > 0) {
        examine_and_judge(tally, data, cache, claims_of(processor, cache));
    }
    data->points = 0;
}

/* All curves of one order; false if the file is not there. */
static bool read_curves(const char *wanted_order, struct tally *tally)
{
    static struct fit_data data;
    FILE *file = fopen(CURVES, "r");
    char line[256], processor[128] = "";
    if (file == NULL) {
        return false;
    }
    data.points = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        char name[128], order[32];
        double set = 0, cycles = 0;
        if (sscanf(line, "%127[^,],%31[^,],%lf,%lf", name, order, &set, &cycles) != 4 ||
            strcmp(order, wanted_order) != 0) {
            continue;
        }
        if (strcmp(name, processor) != 0) {
            finish_curve(tally, &data, processor);
            (void)snprintf(processor, sizeof processor, "%s", name);
        }
        add(&data, set, cycles);
    }
    finish_curve(tally, &data, processor);
    fclose(file);
    return true;
}

static void check_order(const char *order, double share)
{
    struct tally tally = { 0 };
    if (!read_curves(order, &tally)) {
        print_message("extra data is not there\n");
        skip();
    }
    print_message("%s: %u of %u caches, %u false, in %u curves\n", order, tally.found, tally.wanted,
                  tally.false_ones, tally.curves);
    assert_int_equal(tally.curves, 12);
    assert_true(tally.found >= share * tally.wanted);
    assert_true(tally.false_ones <= 1);
}

static void test_page_local_curves_of_12_processors(void **state)
{
    (void)state;
    check_order("page-local", 0.95);
}

static void test_random_curves_of_12_processors(void **state)
{
    (void)state;
    check_order("full", 0.90);
}

/* The tables of the articles. What the processors have: (000) 48 KiB and 2 MiB, and of 320 MiB of
 * L3 what the guest gets; (003) 32 KiB and 256 KiB behind a guest's false claims; (004) 32 KiB,
 * 256 KiB, 6 MiB. Sizes in KiB; those of 000 and 003 are far apart, so that L3 is one step with L2
 * there. */
static const struct published {
    const char *where;
    struct {
        double kib, ns;
    } row[20];
    double cache[MAX_CACHE]; /* KiB */
    size_t levels;
} published[] = {
    { "000",
      { { 16, 1.43 },
        { 32, 1.39 },
        { 256, 4.56 },
        { 1024, 5.70 },
        { 4096, 36.10 },
        { 16384, 130.08 },
        { 65536, 143.02 },
        { 262144, 149.85 },
        { 1048576, 222.01 } },
      { 48, 2048 },
      2 },
    { "003",
      { { 16, 2.0 },
        { 32, 2.2 },
        { 256, 12.5 },
        { 1024, 24.3 },
        { 4096, 122.2 },
        { 16384, 138.4 },
        { 65536, 164.7 },
        { 262144, 205.1 } },
      { 32, 256 },
      2 },
    { "004",
      { { 4, 2.76 },
        { 8, 2.76 },
        { 16, 2.76 },
        { 32, 2.77 },
        { 64, 3.88 },
        { 128, 4.65 },
        { 256, 5.77 },
        { 512, 9.97 },
        { 1024, 12.43 },
        { 2048, 13.84 },
        { 4096, 17.28 },
        { 8192, 38.43 },
        { 16384, 64.90 },
        { 32768, 79.37 },
        { 65536, 87.76 },
        { 131072, 93.64 },
        { 262144, 97.32 },
        { 524288, 99.38 },
        { 1048576, 101.03 } },
      { 32, 256, 6144 },
      3 },
};

static void test_published_tables(void **state)
{
    (void)state;
    static struct fit_data data;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const struct published *table = &published[i];
        struct ladder ladder;
        data.points = 0;
        for (size_t j = 0; table->row[j].kib > 0; j++) {
            add(&data, table->row[j].kib * KIB, table->row[j].ns);
        }
        examine(&data, true, &ladder);
        assert_int_equal(ladder.levels, table->levels);
        for (size_t j = 0; j < table->levels; j++) {
            assert_true(within_one_step(&data, ladder.level[j].size, table->cache[j] * KIB));
        }
        /* Wherever between 32 KiB and the next size (003: 256 KiB) L1 ends: that one does not fit. */
        assert_true(ladder.level[0].size <= KIBS(64));
    }
}

/* --- Curves from formulas ------------------------------------------------------------------- */

static uint64_t state_of_random;

static double uniform(void)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_of_random >> 11) / 9007199254740992.0;
}

static double between(double low, double high)
{
    return low + (high - low) * uniform();
}

/* Standard normal: twelve uniform ones. */
static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += uniform();
    }
    return sum;
}

/* What a cache does once it is full. */
enum kind { AT_ONCE, AS_SIZE_TO_SET, STEEPER, PAGES_IN_COLOURS, KINDS };

struct cache_model {
    enum kind kind;
    double size, ways;
    double latency; /* of its hits */
};

struct machine_model {
    size_t caches;
    struct cache_model cache[MAX_CACHE];
    double memory;
    double tlb_reach[2], tlb_cost[2]; /* bytes, and what a miss costs; 0: none */
};

/* Share of the pages in colours that hold no more than `ways` of them, if on average a colour gets
 * ways x set / size: Poisson's distribution, term by term. */
static double fitting_pages(double ways, double ratio)
{
    const double mean = ways * ratio;
    double sum = 0;
    for (int k = 1; k <= (int)ways; k++) {
        sum += k * exp(-mean + k * log(mean) - lgamma(k + 1));
    }
    return sum / mean;
}

static double hits(const struct cache_model *cache, double set)
{
    const double ratio = set / cache->size;
    switch (cache->kind) {
    case AT_ONCE: return ratio <= 1;
    case AS_SIZE_TO_SET: return fmin(1, 1 / ratio);
    case STEEPER: return fmin(1, pow(ratio, -1.5));
    default: return fitting_pages(cache->ways, ratio);
    }
}

static double latency_at(const struct machine_model *model, double set)
{
    double value = model->cache[0].latency;
    for (size_t i = 0; i < model->caches; i++) {
        const double next = i + 1 < model->caches ? model->cache[i + 1].latency : model->memory;
        value += (1 - hits(&model->cache[i], set)) * (next - model->cache[i].latency);
    }
    for (size_t i = 0; i < 2 && model->tlb_reach[i] > 0; i++) {
        value += model->tlb_cost[i] * (1 - fmin(1, model->tlb_reach[i] / set));
    }
    return value;
}

/* Latency over sizes from 4 KiB to beyond 8 times the last cache, `per_octave` to a doubling. */
static void draw(const struct machine_model *model, unsigned per_octave, double noise,
                 struct fit_data *data)
{
    const double largest = fmax(64.0 * MIB, 8 * model->cache[model->caches - 1].size);
    data->points = 0;
    for (unsigned i = 0; exp2((double)i / per_octave) * PAGE_4K <= largest; i++) {
        const double set = floor(exp2((double)i / per_octave) + 0.5) * PAGE_4K;
        if (data->points == 0 || set > data->set[data->points - 1]) {
            add(data, set, latency_at(model, set) * (1 + noise * normal()));
        }
    }
}

/* A machine of so many caches; each is 2 to 16 times as large as the one before and 2.2 to 5 times
 * as slow. */
static struct machine_model some_machine(size_t caches)
{
    static const double first[] = { 16, 24, 32, 48, 64 };
    struct machine_model model = { .caches = caches };
    double size = first[(size_t)(uniform() * 5)] * KIB, latency = floor(between(3, 6));
    for (size_t i = 0; i < caches; i++) {
        const enum kind kind = i == 0 ? AT_ONCE : (enum kind)(uniform() * KINDS);
        model.cache[i] = (struct cache_model){ kind, size, 8 + 4 * floor(between(0, 3)), latency };
        size *= exp(between(log(2), log(16)));
        latency *= between(2.2, 5);
    }
    model.memory = latency * between(1, 2);
    return model;
}

static void tally_machines(size_t caches, unsigned per_octave, unsigned count, double noise,
                           struct tally *tally)
{
    static struct fit_data data;
    for (unsigned i = 0; i < count; i++) {
        const struct machine_model model = some_machine(caches);
        double size[MAX_CACHE];
        for (size_t j = 0; j < caches; j++) {
            size[j] = model.cache[j].size;
        }
        draw(&model, per_octave, noise, &data);
        examine_and_judge(tally, &data, size, caches);
    }
}

/* 1 to 4 caches, 12 machines each, at 2 and 4 sizes an octave. Neighbours may be as near as a factor
 * of two, and nothing tells how they replace lines: under so much noise some cannot be told apart. */
static void test_noisy_machines(void **state)
{
    (void)state;
    struct tally all = { 0 };
    state_of_random = 1;
    for (size_t caches = 1; caches <= 4; caches++) {
        for (unsigned per_octave = 2; per_octave <= 4; per_octave += 2) {
            tally_machines(caches, per_octave, 12, 0.05, &all);
        }
    }
    print_message("5 %% noise: %u of %u caches, %u false, in %u curves\n", all.found, all.wanted,
                  all.false_ones, all.curves);
    assert_int_equal(all.curves, 96);
    assert_true(all.found >= 0.88 * all.wanted);
    assert_true(all.false_ones <= 0.15 * all.curves);
}

static void test_quiet_machines(void **state)
{
    (void)state;
    struct tally all = { 0 };
    state_of_random = 2;
    for (size_t caches = 1; caches <= 4; caches++) {
        tally_machines(caches, 2, 10, 0.005, &all);
    }
    print_message("0.5 %% noise: %u of %u caches, %u false, in %u curves\n", all.found, all.wanted,
                  all.false_ones, all.curves);
    assert_true(all.found >= 0.9 * all.wanted);
    assert_true(all.false_ones <= 0.1 * all.curves);
}

/* --- Rules ---------------------------------------------------------------------------------- */

/* A client of today: 48 KiB, 2 MiB, 24 MiB. */
static struct machine_model client(void)
{
    return (struct machine_model){ .caches = 3,
                                   .cache = { { AT_ONCE, 48 * KIB, 12, 5 },
                                              { AT_ONCE, 2 * MIB, 16, 16 },
                                              { STEEPER, 24 * MIB, 12, 70 } },
                                   .memory = 300 };
}

static void assert_sizes(const struct fit_data *data, const struct ladder *ladder,
                         const double *cache, size_t caches)
{
    assert_int_equal(ladder->levels, caches);
    for (size_t i = 0; i < caches; i++) {
        assert_true(within_one_step(data, ladder->level[i].size, cache[i]));
    }
    assert_true((double)ladder->level[caches].size == data->set[data->points - 1]);
}

static const double client_sizes[] = { 48 * KIB, 2 * MIB, 24 * MIB };

static void test_tlbs_are_no_caches_on_small_pages(void **state)
{
    (void)state;
    static struct fit_data data;
    struct machine_model model = client();
    struct ladder ladder;
    model.tlb_reach[0] = 64 * PAGE_4K;
    model.tlb_cost[0] = 8;
    model.tlb_reach[1] = 1024 * PAGE_4K;
    model.tlb_cost[1] = 30;
    draw(&model, 2, 0, &data);
    examine(&data, true, &ladder);
    assert_sizes(&data, &ladder, client_sizes, 3);
    /* On large pages no TLB is as small as that: there the same rise is a cache. */
    examine(&data, false, &ladder);
    assert_true(ladder.levels > 3);
    assert_true(within_one_step(&data, ladder.level[1].size, 64 * PAGE_4K));
}

/* 32 entries at 20 cycles, twice the latency of L2's own: AMD's Bulldozer. */
static void test_dear_first_level_tlb(void **state)
{
    (void)state;
    static struct fit_data data;
    struct machine_model model = client();
    struct ladder ladder;
    model.cache[1].latency = 20;
    model.tlb_reach[0] = 32 * PAGE_4K;
    model.tlb_cost[0] = 20;
    draw(&model, 4, 0, &data);
    examine(&data, true, &ladder);
    assert_sizes(&data, &ladder, client_sizes, 3);
}

static void test_latency_is_that_of_the_points_at_rest(void **state)
{
    (void)state;
    static struct fit_data data;
    const struct machine_model model = client();
    const double latency[] = { 5, 16, 70 };
    struct ladder ladder;
    draw(&model, 4, 0, &data);
    examine(&data, false, &ladder);
    assert_sizes(&data, &ladder, client_sizes, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct level *level = &ladder.level[i];
        assert_true(level->rest_first < level->rest_end);
        assert_true(level->rest_end <= data.points);
        assert_true(fabs(level->latency / latency[i] - 1) < 0.03);
        for (size_t j = level->rest_first; j < level->rest_end; j++) {
            assert_true(fabs(data.value[j] / latency[i] - 1) < 0.03);
        }
    }
}

/* A neighbour's interference right before a step adds no step of its own: 191 cycles at 6 MiB, in the
 * published curve of a Tiger Lake in random order on 4 KiB pages. */
static void test_spike_before_a_step(void **state)
{
    (void)state;
    static const double cycles[] = { 5,   5,   5,   5,   5,   5,   5,   5,   14, 14, 14,
                                     14,  14,  17,  18,  19,  20,  50,  62,  67, 69, 191,
                                     118, 213, 257, 289, 302, 316, 323, 332, 337 };
    static const double sizes[] = { 48 * KIB, 1280 * KIB, 8 * MIB };
    static struct fit_data data;
    struct ladder ladder;
    data.points = 0;
    for (unsigned i = 0; i < sizeof cycles / sizeof *cycles; i++) {
        add(&data, (double)((i % 2 == 0 ? 4096ull : 6144ull) << (i / 2)), cycles[i]);
    }
    examine(&data, true, &ladder);
    assert_sizes(&data, &ladder, sizes, 3);
}

static void test_caches_beyond_half_the_curve_are_not_told(void **state)
{
    (void)state;
    static struct fit_data data;
    const struct machine_model model = client();
    struct ladder ladder;
    draw(&model, 2, 0, &data);
    while (data.set[data.points - 1] > 34.0 * MIB) {
        data.points--;
    }
    examine(&data, true, &ladder);
    assert_sizes(&data, &ladder, client_sizes, 2);
    while (data.set[data.points - 1] > 30.0 * KIB) {
        data.points--;
    }
    examine(&data, true, &ladder);
    assert_int_equal(ladder.levels, 0);
}

static void test_no_points_no_levels(void **state)
{
    (void)state;
    static struct fit_data data;
    struct ladder ladder;
    data.points = 0;
    examine(&data, true, &ladder);
    assert_int_equal(ladder.levels, 0);
    add(&data, 4096, 1.5);
    add(&data, 8192, 30);
    examine(&data, true, &ladder);
    assert_int_equal(ladder.levels, 0);
    assert_int_equal(ladder.level[0].size, 8192);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_local_curves_of_12_processors),
        cmocka_unit_test(test_random_curves_of_12_processors),
        cmocka_unit_test(test_published_tables),
        cmocka_unit_test(test_noisy_machines),
        cmocka_unit_test(test_quiet_machines),
        cmocka_unit_test(test_tlbs_are_no_caches_on_small_pages),
        cmocka_unit_test(test_dear_first_level_tlb),
        cmocka_unit_test(test_latency_is_that_of_the_points_at_rest),
        cmocka_unit_test(test_spike_before_a_step),
        cmocka_unit_test(test_caches_beyond_half_the_curve_are_not_told),
        cmocka_unit_test(test_no_points_no_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
