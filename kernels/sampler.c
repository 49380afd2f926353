#include "kernels/sampler.h"

#include "kernels/statistics.h"
#include "kernels/timing.h"
#include "kernels/warm_up.h"

#include <math.h>
#include <string.h>

enum {
    PILOT_SAMPLES = 5,
    WINDOW_SAMPLES = 256, /* most that one window keeps */
    MOST_TIMES_R = 4,
    RETAKES_TIMES_R = 3,
    WRITE_BACK = 6, /* memory type */
};

#define ONE_WALK_ABOVE (64ull * MIB)
#define BODY_SECONDS   0.7 /* after this a body begins nothing new */

/* The interval of a median is about 2 x 1.96 x 1.2533 sigma / sqrt(n) wide, and five samples range
 * over 2.326 sigma on average. (Their MAD would be blind: it is small whenever three are alike.)
 * Half the width that would be called noisy is aimed at. */
#define WIDTH_IN_RANGES 2.112
#define AIMED_WIDTH     0.01

/* One visit under way: all that its bodies read and write. Static, because a window maps the
 * image, its stack and the data, but not wherever a caller may keep its series and its plan. */
static struct visit {
    const struct bench *bench;
    struct variant variant;
    struct walk walk;
    size_t step; /* of building or proving */
    struct warm_up warm_up;
    struct timer timer;
    double shortest; /* ticks that a sample must last */
    struct sample_length length;
    unsigned number, visits, repetitions;
    size_t room;    /* samples that the series can hold */
    size_t wanted;  /* samples of all visits; 0: the pilot comes first */
    size_t missing; /* samples that this visit has still to take */
    size_t retakes; /* left for all visits */
    uint32_t flags; /* of the measurement */
    const char *reason;
    struct sample sample[WINDOW_SAMPLES]; /* of one window */
    size_t count;
    double operations;
} the_visit;

unsigned sampler_visits(const struct sampling *how, const struct measurement *measurement)
{
    const bool one_walk = measurement->bytes > ONE_WALK_ABOVE;
    return one_walk || how->visits == 0 ? 1 : how->visits;
}

/* Neighbouring seeds and visits get unrelated seeds: the output mix of SplitMix64 (Steele, Lea,
 * Flood: Fast Splittable Pseudorandom Number Generators, 2014). */
static uint64_t visit_seed(uint64_t seed, unsigned visit)
{
    uint64_t x = seed + (visit + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* --- In the window ------------------------------------------------------------------------- */

/* One slice of building the data, and one of proving it. */

static uint64_t end_of_body(const struct visit *visit)
{
    return bench_ticks(visit->bench) + ticks_in(visit->bench, BODY_SECONDS);
}

static void build_slice(void *arg)
{
    struct visit *visit = arg;
    const uint64_t end = end_of_body(visit);
    do {
        visit->step = visit->walk.code->build(&visit->walk.job, visit->step);
    } while (visit->step != 0 && bench_ticks(visit->bench) < end);
}

static void prove_slice(void *arg)
{
    struct visit *visit = arg;
    const uint64_t end = end_of_body(visit);
    do {
        visit->step = visit->walk.code->prove(&visit->walk.job, visit->step, &visit->reason);
    } while (visit->step != 0 && bench_ticks(visit->bench) < end);
}

/* Takes a sample that is long enough. One that is not is thrown away, and the next is longer. */
static void take_full_sample(struct visit *visit, struct sample *sample)
{
    double ticks = take_sample(&visit->walk, &visit->timer, visit->length, sample);
    while (ticks < visit->shortest) {
        visit->length = longer_sample(&visit->walk, visit->length, ticks, visit->shortest);
        ticks = take_sample(&visit->walk, &visit->timer, visit->length, sample);
    }
}

static size_t share_of_visit(const struct visit *visit)
{
    return visit->wanted / visit->visits + (visit->number < visit->wanted % visit->visits ? 1 : 0);
}

/* Samples that give the aimed width: at least R and one a visit, at most 4R. */
static size_t samples_for(const struct visit *visit, double range_share)
{
    const double width = WIDTH_IN_RANGES * range_share / AIMED_WIDTH;
    const double least = fmax(visit->repetitions, visit->visits);
    const double most = fmax(least, (double)MOST_TIMES_R * visit->repetitions);
    const double samples = fmin(fmax(ceil(width * width), least), most);
    return (size_t)fmin(samples, (double)visit->room);
}

/* The pilot, which is thrown away: finds the length of a sample and how many there shall be. */
static void fly_pilot(struct visit *visit)
{
    struct sample pilot[PILOT_SAMPLES];
    for (size_t i = 0; i < PILOT_SAMPLES; i++) {
        take_full_sample(visit, &pilot[i]);
        pilot[i].ns = pilot[i].flags == 0 ? pilot[i].ns : NAN; /* struck: says nothing */
    }
    const struct column ns = { &pilot[0].ns, sizeof *pilot, PILOT_SAMPLES };
    const double range = column_rank(&ns, column_known(&ns)) - column_rank(&ns, 1);
    visit->wanted = samples_for(visit, range / column_median(&ns)); /* NAN: R */
    visit->missing = share_of_visit(visit);
}

/* Is the cursor where so many operations must lead, and what was computed right? */
static bool walk_is_right(struct visit *visit)
{
    const struct walk *walk = &visit->walk;
    if (walk->code->check == NULL) {
        return true;
    }
    return walk->code->check(&walk->job, walk->cursor, walk->operations, &visit->reason);
}

/* Takes one sample and keeps it, unless something struck and it may be taken again. */
static void add_sample(struct visit *visit)
{
    struct sample *sample = &visit->sample[visit->count];
    take_full_sample(visit, sample);
    sample->visit = visit->number;
    if (!walk_is_right(visit) && visit->reason == NULL) {
        visit->reason = "a sample did not end where it must";
    }
    if (sample->flags != 0 && visit->retakes > 0) {
        visit->retakes--;
        return;
    }
    visit->count++;
    visit->missing--;
    visit->operations += (double)visit->length.operations * (double)visit->length.calls;
}

static void warm_up(struct visit *visit)
{
    const bool core_settled = warm_up_core(visit->bench, &visit->warm_up);
    timer_measure(visit->bench, &visit->timer);
    bool resolved;
    visit->shortest =
        sample_ticks(visit->bench, &visit->timer, visit->walk.code->memory, &resolved);
    const bool data_settled = warm_up_data(&visit->walk, &visit->warm_up);
    if (!core_settled || !data_settled) {
        visit->flags |= 1u << FLAG_UNSETTLED;
    }
    if (!resolved) {
        visit->flags |= 1u << FLAG_SHORT;
    }
}

/* One window of the visit: warm up, then as many samples as there is time for. */
static void measure(void *arg)
{
    struct visit *visit = arg;
    const uint64_t end = end_of_body(visit);
    warm_up(visit);
    if (visit->wanted == 0) {
        fly_pilot(visit);
    }
    while (visit->missing > 0 && visit->count < WINDOW_SAMPLES && visit->reason == NULL) {
        add_sample(visit);
        if (bench_ticks(visit->bench) >= end) {
            break;
        }
    }
}

/* --- Outside ------------------------------------------------------------------------------- */

static struct warm_up warm_up_rules(const struct measurement *measurement,
                                    const struct sampling *how)
{
    const bool small = measurement->layout.leaf == SIZE_4K;
    return (struct warm_up){
        .spin_seconds = how->spin_seconds,
        .data_seconds = how->warm_up_seconds,
        .second_cache = how->second_cache,
        .last_cache = how->last_cache,
        .small_pages = small ? (measurement->bytes + PAGE_4K - 1) / PAGE_4K : 0,
    };
}

static struct sample_length shortest_length(const struct walk *walk)
{
    return (struct sample_length){ walk->code->prepare != NULL ? walk_lap(walk) : 1, 1 };
}

/* The walk stands at the start of data whose order follows from the visit's seed. */
static void begin_walk(struct visit *visit, const struct measurement *measurement, uint64_t seed,
                       void *data)
{
    struct walk *walk = &visit->walk;
    visit->variant = measurement->variant;
    walk->bench = visit->bench;
    walk->code = measurement->kernel->code;
    walk->job = (struct job){
        .variant = &visit->variant,
        .seed = visit_seed(seed, visit->number),
        .data = data,
        .bytes = measurement->bytes,
    };
    walk->code->begin(&walk->job);
    walk_begin(walk);
}

static void begin_visit(struct visit *visit, const struct measurement *measurement,
                        const struct sampling *how, const struct series *series)
{
    const size_t retakes = RETAKES_TIMES_R * (size_t)how->repetitions;
    visit->warm_up = warm_up_rules(measurement, how);
    visit->visits = sampler_visits(how, measurement);
    visit->repetitions = how->repetitions;
    visit->room = series->room;
    visit->wanted = series->wanted;
    visit->missing = series->wanted != 0 ? share_of_visit(visit) : 1;
    visit->retakes = retakes > series->retaken ? retakes - series->retaken : 0;
    visit->length = shortest_length(&visit->walk);
}

/* Runs a body; what went wrong in it is told in the series. */
static enum status in_window(struct visit *visit, const struct conditions *set,
                             void (*body)(void *), struct proof *found, struct series *series)
{
    *found = (struct proof){ .reason = NULL };
    const enum status status = visit->bench->inside(visit->bench->self, set, body, visit, found);
    if (status == FAULTED) {
        series->fault = found->fault;
    }
    if (status != OK) {
        series->reason = found->reason;
        return status;
    }
    series->reason = visit->reason;
    return visit->reason == NULL ? OK : DENIED;
}

/* Runs a body until it has no step left. */
static enum status in_slices(struct visit *visit, void (*body)(void *), struct series *series)
{
    const struct conditions plain = { .events = 0 };
    struct proof found;
    enum status status = OK;
    visit->step = 0;
    do {
        status = in_window(visit, &plain, body, &found, series);
    } while (status == OK && visit->step != 0);
    return status;
}

/* Every leaf of the promised size was used, and none of another exists. */
static bool pages_are_right(const struct measurement *measurement, const struct proof *found)
{
    static const uint64_t leaf_bytes[PAGE_SIZES] = { PAGE_4K, PAGE_2M, PAGE_1G };
    const struct layout *layout = &measurement->layout;
    const uint64_t leaf = leaf_bytes[layout->leaf];
    for (unsigned i = 0; i < PAGE_SIZES; i++) {
        const uint64_t promised = i == layout->leaf ? (layout->bytes + leaf - 1) / leaf : 0;
        if (found->leaves[i] != promised) {
            return false;
        }
    }
    return true;
}

static const char *disproved(const struct measurement *measurement, const struct proof *found)
{
    if (!found->leaves_known) {
        return NULL; /* a host that hides its tables cannot be held to them */
    }
    if (!pages_are_right(measurement, found)) {
        return "the pages found are not the pages asked for";
    }
    return found->memory_type == WRITE_BACK ? NULL : "the memory is not write-back";
}

static void keep_proof(const struct visit *visit, const struct proof *found, struct series *series)
{
    const struct kernel_code *code = visit->walk.code;
    struct point_proof *proof = &series->proof;
    proof->cycle_length = code->cycle_length != NULL ? code->cycle_length(&visit->walk.job) : 0;
    memcpy(proof->leaves, found->leaves, sizeof proof->leaves);
    proof->leaves_known = found->leaves_known;
    proof->memory_type = found->memory_type;
    proof->tables = found->tables;
    proof->prefetchers_off = found->prefetchers_off;
    proof->prefetchers_known = found->prefetchers_known;
    series->flags |= visit->flags | (found->smashed ? 1u << FLAG_SMASHED : 0);
}

/* Moves a window's samples into the series. */
static void keep_samples(struct visit *visit, const struct sampling *how, struct series *series)
{
    memcpy(series->sample + series->count, visit->sample, visit->count * sizeof *visit->sample);
    series->count += visit->count;
    series->operations += visit->operations;
    series->wanted = visit->wanted;
    series->retaken = RETAKES_TIMES_R * (size_t)how->repetitions - visit->retakes;
    visit->count = 0;
    visit->operations = 0;
}

static enum status take_samples(struct visit *visit, const struct measurement *measurement,
                                const struct sampling *how, struct series *series)
{
    enum status status = OK;
    while (status == OK && visit->missing > 0) {
        struct proof found;
        status = in_window(visit, &measurement->conditions, measure, &found, series);
        if (status == OK) {
            series->reason = disproved(measurement, &found);
            status = series->reason == NULL ? OK : DENIED;
        }
        if (status == OK) {
            keep_proof(visit, &found, series);
            keep_samples(visit, how, series);
        }
    }
    return status;
}

enum status sampler_visit(const struct bench *bench, const struct measurement *measurement,
                          const struct sampling *how, unsigned number, bool build,
                          struct series *series)
{
    void *data = NULL;
    enum status status = bench->map(bench->self, &measurement->layout, &data, &series->reason);
    if (status != OK) {
        return status;
    }
    struct visit *visit = &the_visit;
    *visit = (struct visit){ .bench = bench, .number = number };
    begin_walk(visit, measurement, how->seed, data);
    begin_visit(visit, measurement, how, series);
    if (build) {
        status = in_slices(visit, build_slice, series);
        if (status == OK) {
            status = in_slices(visit, prove_slice, series);
        }
    }
    return status == OK ? take_samples(visit, measurement, how, series) : status;
}

/* --- From samples to a point --------------------------------------------------------------- */

static uint32_t flags_of_samples(const struct series *series)
{
    uint32_t flags = 0;
    for (size_t i = 0; i < series->count; i++) {
        flags |= series->sample[i].flags;
    }
    return flags;
}

static uint32_t flags_of_statistics(const struct observations *ns, const struct point *point,
                                    bool between)
{
    return (observations_have_trend(ns) ? 1u << FLAG_UNSETTLED : 0) |
           (spread_is_noisy(&point->ns) ? 1u << FLAG_NOISY : 0) |
           (between ? 1u << FLAG_BETWEEN : 0);
}

void sampler_point(const struct measurement *measurement, const struct sampling *how,
                   const struct series *series, struct point *point)
{
    const struct sample *sample = series->sample;
    const struct observations ns = { { &sample->ns, sizeof *sample, series->count },
                                     &sample->visit };
    struct observations cycles = ns;
    cycles.values.first = &sample->cycles;
    *point = (struct point){
        .variant = measurement->variant,
        .operations = series->operations,
        .unit = measurement->kernel->unit,
        .predicted = NAN,
        .reason = series->reason,
        .proof = series->proof,
    };
    const bool between = spread_of(&ns, &point->ns);
    (void)spread_of(&cycles, &point->cycles);
    for (unsigned i = 0; i < COUNTERS; i++) {
        point->counter[i] = NAN;
    }
    point->flags =
        series->flags | flags_of_samples(series) | flags_of_statistics(&ns, point, between);
    if (point->ns.visits < sampler_visits(how, measurement)) {
        point->flags |= 1u << FLAG_PARTIAL;
    }
}
