/* The sampler on the model machine: what it reports is the geometry, and a sampler (or a kernel)
 * that does it wrong is seen. */
#include "kernels/loops.h"
#include "kernels/sampler.h"
#include "kernels/timing.h"
#include "tests/fakes/model.h"
#include "tests/fakes/ring.h"

/* In place of the machine's own loops. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "tests/fakes/model_loops.c"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 1024, R = 11, VISITS = 3 };

/* A slow core keeps the simulation short: 4, 14 and 100 ns. Its TSC is twice as fast. */
static const struct model_geometry plain_machine = {
    .tsc_hz = 2e9,
    .core_hz = 1e9,
    .levels = 2,
    .level = { { .size = KIBS(32), .ways = 8, .cycles = 4 },
               { .size = KIBS(512), .ways = 8, .cycles = 14 } },
    .memory_ns = 100,
    .stream_ns = 5,
    .tlbs = 1,
    .tlb = { { .page_sizes = 7, .entries = 64, .cycles = 0 } },
    .walk_cycles = { 10, 10, 10 },
    .memory_bytes = MIBS(256),
    .page_available = { true, true, false },
    .counts_cycles = true,
    .counts_smis = true,
    .read_ns = 40,
    .read_jitter_ns = 2,
};

static const struct sampling quick = {
    .repetitions = R,
    .visits = VISITS,
    .seed = 1,
    .warm_up_seconds = 0.5,
    .spin_seconds = 0.02,
    .last_cache = KIBS(512),
    .second_cache = KIBS(512),
};

/* A measurement and all that comes out of it. */
struct trial {
    struct model_geometry machine;
    struct sampling how;
    struct kernel kernel;
    struct kernel_code code;
    struct measurement measurement;
    struct model *model;
    struct sample sample[ROOM];
    struct series series;
    struct point point;
};

static struct trial *prepare(size_t bytes, enum page_size leaf)
{
    struct trial *trial = calloc(1, sizeof *trial);
    assert_non_null(trial);
    trial->machine = plain_machine;
    trial->how = quick;
    trial->kernel = ring_kernel;
    trial->code = ring_code;
    trial->kernel.code = &trial->code;
    trial->measurement = (struct measurement){
        .kernel = &trial->kernel,
        .layout = { .bytes = bytes, .leaf = leaf },
        .bytes = bytes,
    };
    variant_set_number(&trial->measurement.variant, V_WORKING_SET, bytes);
    trial->series = (struct series){ .sample = trial->sample, .room = ROOM };
    return trial;
}

static enum status visit(struct trial *trial, unsigned number, bool build)
{
    if (trial->model == NULL) {
        trial->model = model_new(&trial->machine);
        assert_non_null(trial->model);
    }
    return sampler_visit(model_bench(trial->model), &trial->measurement, &trial->how, number, build,
                         &trial->series);
}

/* All visits, as the run loop makes them, and the point. */
static enum status run(struct trial *trial)
{
    enum status status = OK;
    const unsigned visits = sampler_visits(&trial->how, &trial->measurement);
    for (unsigned i = 0; i < visits && status == OK; i++) {
        status = visit(trial, i, true);
    }
    if (status == OK) {
        sampler_point(&trial->measurement, &trial->how, &trial->series, &trial->point);
    }
    return status;
}

static void finish(struct trial *trial)
{
    assert_true(model_longest_body(trial->model) < 1.0);
    model_free(trial->model);
    free(trial);
}

static void assert_about(double got, double want, double share)
{
    if (!(fabs(got - want) <= share * want)) {
        fail_msg("got %.9g, want %.9g", got, want);
    }
}

static uint32_t flag(enum flag which)
{
    return 1u << which;
}

/* --- Latencies come out --- */

static const struct {
    size_t bytes;
    enum page_size leaf;
    double ns; /* and cycles: the core runs at 1 GHz */
} latencies[] = {
    { KIBS(4), SIZE_4K, 4 },    { KIBS(32), SIZE_4K, 4 },   { KIBS(64), SIZE_4K, 14 },
    { KIBS(512), SIZE_2M, 14 }, { MIBS(16), SIZE_2M, 100 }, { MIBS(128), SIZE_2M, 100 },
};

static void test_latencies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++) {
        struct trial *trial = prepare(latencies[i].bytes, latencies[i].leaf);
        assert_int_equal(run(trial), OK);
        const struct point *point = &trial->point;
        assert_about(point->ns.median, latencies[i].ns, 1e-5);
        assert_about(point->cycles.median, latencies[i].ns, 1e-5);
        assert_about(point->ns.max, latencies[i].ns, 1e-4);
        assert_true(point->ns.low <= point->ns.median && point->ns.median <= point->ns.high);
        assert_true((point->flags & ~flag(FLAG_BETWEEN)) == 0);
        assert_int_equal(point->proof.cycle_length, latencies[i].bytes / LINE_BYTES);
        assert_true(point->operations >= R * 1e6 / latencies[i].ns);
        assert_true(isnan(point->counter[C_L1D_MISS]) && isnan(point->predicted));
        finish(trial);
    }
}

/* The same lines under 4 KiB pages cost a walk more, and are not built again for it. */
static void test_page_walk(void **state)
{
    (void)state;
    struct trial *large = prepare(MIBS(16), SIZE_2M);
    struct trial *small = prepare(MIBS(16), SIZE_4K);
    large->how.visits = small->how.visits = 1;
    assert_int_equal(visit(large, 0, true), OK);
    small->model = large->model;
    assert_int_equal(visit(small, 0, false), OK);
    sampler_point(&large->measurement, &large->how, &large->series, &large->point);
    sampler_point(&small->measurement, &small->how, &small->series, &small->point);
    assert_about(small->point.ns.median - large->point.ns.median, 10, 0.02);
    assert_int_equal(large->point.proof.leaves[SIZE_2M], 8);
    assert_int_equal(small->point.proof.leaves[SIZE_4K], 4096);
    free(small);
    finish(large);
}

/* --- Right before fast --- */

struct unbroken {
    const struct bench *bench;
    struct job job;
    double ns;
};

enum { MANY_HOPS = 4000000 };

/* Two laps, then four million hops in one go. */
static void walk_unbroken(void *arg)
{
    struct unbroken *walk = arg;
    struct reading from, to;
    void *cursor = chase_hops(walk->job.data, 2 * walk->job.bytes / LINE_BYTES);
    walk->bench->read(walk->bench->self, &from);
    (void)chase_hops(cursor, MANY_HOPS);
    walk->bench->read(walk->bench->self, &to);
    walk->ns = (double)(to.tsc - from.tsc) / plain_machine.tsc_hz * 1e9 / MANY_HOPS;
}

/* Scattered pages crowd some sets of the second level, so that the mean is one of hits and misses. */
static void test_agrees_with_unbroken_walk(void **state)
{
    (void)state;
    static const size_t sizes[] = { KIBS(512), MIBS(1) };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct trial *trial = prepare(sizes[i], SIZE_4K);
        trial->measurement.layout.placing = PLACED_SCATTERED;
        trial->how.visits = 1;
        assert_int_equal(run(trial), OK);
        struct unbroken walk = { .bench = model_bench(trial->model) };
        walk.job = (struct job){ .bytes = sizes[i] };
        const char *reason = NULL;
        assert_int_equal(
            walk.bench->map(walk.bench->self, &trial->measurement.layout, &walk.job.data, &reason),
            OK);
        const struct conditions plain = { .events = 0 };
        struct proof found;
        assert_int_equal(walk.bench->inside(walk.bench->self, &plain, walk_unbroken, &walk, &found),
                         OK);
        assert_about(trial->point.ns.median, walk.ns, 0.005);
        assert_true(walk.ns > 14 && walk.ns < 120);
        finish(trial);
    }
}

/* --- Samplers that do it wrong are seen --- */

/* With a last level of 4 MiB that a sample's lines fit into. */
static struct trial *prepare_with_last_cache(size_t bytes, enum page_size leaf)
{
    struct trial *trial = prepare(bytes, leaf);
    trial->machine.levels = 3;
    trial->machine.level[2] = (struct model_level){ .size = MIBS(4), .ways = 16, .cycles = 40 };
    trial->how.last_cache = MIBS(4);
    return trial;
}

static void *head;

static void *start_and_remember(const struct job *job)
{
    head = job->data;
    return head;
}

/* What a sampler does that begins each sample where it began the last one. */
static void *restart(void *cursor, uint64_t hops)
{
    (void)cursor;
    return chase_hops(head, hops);
}

static double ns_of_large_set(bool restarts)
{
    struct trial *trial = prepare_with_last_cache(MIBS(64), SIZE_2M);
    trial->how.visits = 1;
    if (restarts) {
        trial->code.start = start_and_remember;
        trial->code.loop = restart;
        trial->code.check = NULL;
    }
    assert_int_equal(run(trial), OK);
    const double ns = trial->point.ns.median;
    finish(trial);
    return ns;
}

static void test_restarting_at_the_head_would_show(void **state)
{
    (void)state;
    assert_about(ns_of_large_set(false), 100, 1e-5);
    assert_about(ns_of_large_set(true), 40, 0.01); /* the same lines again, from the last cache */
}

static void test_restarting_is_denied(void **state)
{
    (void)state;
    struct trial *trial = prepare_with_last_cache(MIBS(64), SIZE_2M);
    trial->code.start = start_and_remember;
    trial->code.loop = restart;
    assert_int_equal(run(trial), DENIED);
    assert_string_equal(trial->series.reason, "the walk left the ring");
    assert_int_equal(trial->series.count, 0);
    finish(trial);
}

/* What a sampler measures that does not warm up: each sample starts with empty caches. */
static void *walk_cold(void *cursor, uint64_t hops)
{
    model_flush();
    return chase_hops(cursor, hops);
}

static double ns_of_second_level(void *(*loop)(void *, uint64_t))
{
    struct trial *trial = prepare(KIBS(512), SIZE_2M);
    trial->code.loop = loop;
    assert_int_equal(run(trial), OK);
    const double ns = trial->point.ns.median;
    finish(trial);
    return ns;
}

static void test_measuring_cold_would_show(void **state)
{
    (void)state;
    assert_about(ns_of_second_level(chase_hops), 14, 1e-5);
    assert_true(ns_of_second_level(walk_cold) > 20);
}

/* --- Warm-up --- */

static uint64_t first_check; /* operations done when a sample was first checked */

static bool check_and_note(const struct job *job, const void *cursor, uint64_t operations,
                           const char **reason)
{
    first_check = first_check != 0 ? first_check : operations;
    return ring_code.check(job, cursor, operations, reason);
}

/* Operations before the end of the first sample that is kept. */
static uint64_t operations_of_first_sample(struct trial *trial)
{
    first_check = 0;
    trial->code.check = check_and_note;
    trial->how.visits = 1;
    assert_int_equal(run(trial), OK);
    return first_check;
}

static void test_page_tables_are_warmed(void **state)
{
    (void)state;
    /* 32,768 pages: their entries' 4,096 lines stay in the second level only if each was used. */
    struct trial *small = prepare(MIBS(128), SIZE_4K);
    small->machine.tables_in_caches = true;
    small->machine.memory_ns = 1000; /* 2 blocks that agree would be 3,000 hops */
    assert_true(operations_of_first_sample(small) >= MIBS(128) / PAGE_4K);
    finish(small);
    struct trial *large = prepare(MIBS(128), SIZE_2M);
    large->machine.memory_ns = 1000;
    assert_true(operations_of_first_sample(large) < MIBS(128) / PAGE_4K);
    finish(large);
}

static uint64_t first_call; /* operations of the first call of the loop */

static void *walk_and_note(void *cursor, uint64_t hops)
{
    first_call = first_call != 0 ? first_call : hops;
    return chase_hops(cursor, hops);
}

static void test_two_laps_up_to_the_second_cache(void **state)
{
    (void)state;
    struct trial *trial = prepare(KIBS(512), SIZE_2M);
    trial->code.loop = walk_and_note;
    first_call = 0;
    assert_int_equal(run(trial), OK);
    assert_int_equal(first_call, 2 * KIBS(512) / LINE_BYTES);
    finish(trial);
}

static uint64_t hops_so_far;

/* A memory that sleeps, and wakes up over 150,000 hops, 18 ms: half as slow again at first. */
static void *walk_sleepy(void *cursor, uint64_t hops)
{
    const double asleep = fmax(0, 1 - (double)hops_so_far / 150000);
    model_work(50 * asleep * (double)hops);
    hops_so_far += hops;
    return chase_hops(cursor, hops);
}

static void test_memory_wakes_up(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(128), SIZE_2M);
    trial->code.loop = walk_sleepy;
    hops_so_far = 0;
    assert_int_equal(run(trial), OK);
    assert_about(trial->point.ns.max, 100, 1e-4);
    assert_int_equal(trial->point.flags & flag(FLAG_UNSETTLED), 0);
    finish(trial);
}

/* Twice the last cache, 1 MiB, is read in 82 us, all 128 MiB would take 10 ms. */
static void test_reads_no_more_than_the_caches_hold(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(128), SIZE_2M);
    trial->how.warm_up_seconds = 5e-3;
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->point.flags & flag(FLAG_UNSETTLED), 0);
    finish(trial);
}

/* A cache that claims to be large, and memory that is slow: reading stops when its time is over,
 * though all of it would take two seconds. */
static void test_reading_takes_too_long(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(128), SIZE_2M);
    trial->machine.stream_ns = trial->machine.memory_ns = 1000;
    trial->how.last_cache = MIBS(300);
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->point.flags & flag(FLAG_UNSETTLED), flag(FLAG_UNSETTLED));
    finish(trial); /* looks at the longest body */
}

/* The pilot, which is thrown away, takes 6 ms; the spin has to bridge the rest. */
static void test_core_reaches_its_clock(void **state)
{
    (void)state;
    struct trial *trial = prepare(KIBS(4), SIZE_4K);
    trial->machine.idle_share = 0.5;
    trial->machine.ramp_ns = 14e6;
    assert_int_equal(run(trial), OK);
    assert_about(trial->point.ns.max, 4, 1e-3);
    assert_int_equal(trial->point.flags & flag(FLAG_UNSETTLED), 0);
    finish(trial);
}

/* The pilot bridges the rest of the ramp, so that no sample shows it; the spin saw it. */
static void test_core_does_not_reach_its_clock(void **state)
{
    (void)state;
    struct trial *trial = prepare(KIBS(4), SIZE_4K);
    trial->machine.idle_share = 0.5;
    trial->machine.ramp_ns = 5e6;
    trial->how.spin_seconds = 0.001;
    trial->how.visits = 1;
    assert_int_equal(run(trial), OK);
    assert_about(trial->point.ns.max, 4, 1e-3);
    assert_int_equal(trial->point.flags & flag(FLAG_UNSETTLED), flag(FLAG_UNSETTLED));
    finish(trial);
}

/* Neither the reading nor the walk may go on past its time. */
static void test_data_takes_too_long(void **state)
{
    (void)state;
    static const double seconds[] = { 0.05e-3,
                                      1.5e-3 }; /* reading 1 MiB takes 82 us, 16,384 hops 1.8 ms */
    for (size_t i = 0; i < 2; i++) {
        struct trial *trial = prepare(MIBS(64), SIZE_4K);
        trial->how.warm_up_seconds = seconds[i];
        trial->how.visits = 1;
        assert_int_equal(run(trial), OK);
        assert_int_equal(trial->point.flags & flag(FLAG_UNSETTLED), flag(FLAG_UNSETTLED));
        finish(trial);
    }
}

/* --- How long, how many --- */

struct stepping {
    const struct bench *model; /* whose clock is read, down to a multiple of 36 */
    struct bench bench;
    struct timer timer;
};

static void read_in_steps(void *self, struct reading *now)
{
    const struct stepping *stepping = self;
    stepping->model->read(stepping->model->self, now);
    now->tsc -= now->tsc % 36;
}

static void measure_timer(void *arg)
{
    struct stepping *stepping = arg;
    timer_measure(&stepping->bench, &stepping->timer);
}

/* A reading costs 72 ticks, so that all differences are alike, and yet are known to a step only.
 * How large the step is does not show; it is no larger than what divides them all. */
static void test_clock_in_steps(void **state)
{
    (void)state;
    struct model_geometry machine = plain_machine;
    machine.read_ns = 36;
    machine.read_jitter_ns = 0;
    struct model *model = model_new(&machine);
    struct stepping stepping = { .model = model_bench(model) };
    stepping.bench = *stepping.model;
    stepping.bench.self = &stepping;
    stepping.bench.read = read_in_steps;
    const struct layout layout = { .bytes = PAGE_4K };
    const struct conditions plain = { .events = 0 };
    void *data = NULL;
    const char *reason = NULL;
    struct proof found;
    assert_int_equal(stepping.model->map(model, &layout, &data, &reason), OK);
    assert_int_equal(stepping.model->inside(model, &plain, measure_timer, &stepping, &found), OK);
    assert_true(stepping.timer.ticks == 72 && stepping.timer.uncertainty == 72);
    model_free(model);
}

static void test_shortest_sample(void **state)
{
    (void)state;
    const struct bench bench = { .tsc_hz = 2000000000 };
    const struct timer fine = { .uncertainty = 36 }, coarse = { .uncertainty = 200e3 };
    bool resolved = false;
    assert_true(sample_ticks(&bench, &fine, false, &resolved) == 36e3 && resolved);
    assert_true(sample_ticks(&bench, &fine, true, &resolved) == 2e6 && resolved);
    assert_true(sample_ticks(&bench, &coarse, false, &resolved) == 100e6 && !resolved);
}

static double shortest_sample_ms(const struct trial *trial)
{
    const double operations = trial->point.operations / (double)trial->series.count;
    return trial->point.ns.min * operations / 1e6;
}

static void test_memory_samples_last_a_millisecond(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    assert_int_equal(run(trial), OK);
    assert_true(shortest_sample_ms(trial) >= 1 && shortest_sample_ms(trial) < 1.2);
    finish(trial);
}

/* A core that becomes faster: the length chosen by the pilot grows with it. */
static void test_samples_stay_long_enough(void **state)
{
    (void)state;
    struct trial *trial = prepare(KIBS(4), SIZE_4K);
    trial->machine.drift = 4;
    trial->machine.level[0].cycles = 40;
    trial->how.visits = 1;
    trial->how.repetitions = 60;
    assert_int_equal(run(trial), OK);
    const struct sample *last = &trial->series.sample[trial->series.count - 1];
    assert_true(trial->series.sample[0].ns > 1.2 * last->ns);
    const double mean = trial->point.operations / (double)trial->series.count;
    assert_true(mean * trial->point.ns.median >= 1e6);
    finish(trial);
}

static void test_other_samples_resolve_the_timer(void **state)
{
    (void)state;
    struct trial *trial = prepare(KIBS(4), SIZE_4K);
    trial->code.memory = false;
    trial->machine.read_jitter_ns = 0.5; /* one tick */
    assert_int_equal(run(trial), OK);
    assert_about(trial->point.ns.median, 4, 1e-3);
    assert_true(shortest_sample_ms(trial) < 0.1);
    finish(trial);
}

static void test_coarse_timer_gets_longer_samples(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->machine.read_jitter_ns = 10e3;
    trial->how.visits = 1;
    assert_int_equal(run(trial), OK);
    assert_true(shortest_sample_ms(trial) > 5);
    assert_about(trial->point.ns.median, 100, 1e-3);
    assert_int_equal(trial->point.flags & flag(FLAG_SHORT), 0);
    finish(trial);
}

static void test_timer_that_resolves_nothing(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->machine.read_jitter_ns = 300e3;
    trial->machine.memory_ns = 1000;
    trial->how.visits = 1;
    trial->how.repetitions = 1;
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->point.flags & flag(FLAG_SHORT), flag(FLAG_SHORT));
    finish(trial);
}

static void test_timer_cost_is_taken_off(void **state)
{
    (void)state;
    struct trial *trial = prepare(KIBS(4), SIZE_4K);
    trial->machine.read_ns = 50e3;
    trial->machine.read_jitter_ns = 1;
    trial->how.visits = 1;
    assert_int_equal(run(trial), OK);
    assert_about(trial->point.ns.median, 4, 1e-4);
    assert_about(trial->point.cycles.median, 4, 1e-4);
    finish(trial);
}

static void test_visits_share_the_samples(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(64), SIZE_2M);
    assert_int_equal(run(trial), OK);
    unsigned of_visit[VISITS] = { 0 };
    assert_int_equal(trial->series.count, R);
    for (size_t i = 0; i < trial->series.count; i++) {
        of_visit[trial->sample[i].visit]++;
    }
    assert_int_equal(of_visit[0], 4);
    assert_int_equal(of_visit[1], 4);
    assert_int_equal(of_visit[2], 3);
    assert_int_equal(trial->point.ns.visits, VISITS);
    finish(trial);
}

static void test_large_sets_have_one_visit(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(128), SIZE_2M);
    assert_int_equal(sampler_visits(&trial->how, &trial->measurement), 1);
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->point.ns.visits, 1);
    assert_int_equal(trial->series.count, R);
    finish(trial);
}

/* Every millisecond or two the memory is up to 10 % faster or slower. */
static void test_noise_gets_more_samples(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->machine.noise = 0.1;
    trial->machine.noise_ns = 1.5e6;
    trial->how.warm_up_seconds = 0.02;
    assert_int_equal(run(trial), OK);
    assert_in_range(trial->series.count, 2 * R, 4 * R);
    assert_int_equal(trial->point.ns.samples, trial->series.count);
    assert_about(trial->point.ns.median, 100, 0.05);
    finish(trial);
}

static void test_noisy_point(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->machine.noise = 0.3;
    trial->how.warm_up_seconds = 0.02; /* it cannot settle */
    trial->machine.noise_ns = 1.5e6;
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->point.flags & flag(FLAG_NOISY), flag(FLAG_NOISY));
    finish(trial);
}

/* So many samples do not fit one window; the walk goes on in the next, warmed up again. */
static void test_visit_of_several_windows(void **state)
{
    (void)state;
    struct trial *trial = prepare_with_last_cache(MIBS(2), SIZE_2M);
    trial->how.repetitions = 300;
    trial->how.visits = 1;
    trial->machine.level[2].cycles = 200;
    trial->machine.memory_ns = 1000;
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->series.count, 300);
    assert_int_equal(model_bodies(trial->model), 2 + 2); /* build, prove, 256 samples each */
    assert_about(trial->point.ns.max, 200, 1e-3);
    finish(trial);
}

/* Samples of 30 ms, as the timer wants them: a window ends before they pass its second. */
static void test_windows_end_in_time(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->machine.read_jitter_ns = 50e3;
    trial->machine.memory_ns = 1000;
    trial->how.visits = 1;
    trial->how.repetitions = 40;
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->series.count, 40);
    assert_true(model_bodies(trial->model) > 2 + 1);
    finish(trial); /* looks at the longest body */
}

static void test_no_more_samples_than_room(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->series.room = 7;
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->series.count, 7);
    finish(trial);
}

/* --- What strikes --- */

static void test_struck_samples_are_taken_again(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->machine.smi = (struct model_strike){ .every_ns = 6e6, .costs_ns = 100e3 };
    trial->machine.nmi = (struct model_strike){ .every_ns = 9e6, .costs_ns = 20e3 };
    trial->machine.interrupt = (struct model_strike){ .every_ns = 9e6, .costs_ns = 20e3 };
    assert_int_equal(run(trial), OK);
    assert_true(model_smis(trial->model) > 5);
    assert_in_range(trial->series.retaken, 1, 3 * R - 1);
    assert_int_equal(trial->series.count, R);
    assert_about(trial->point.ns.max, 100, 1e-3);
    const uint32_t strikes = flag(FLAG_SMI) | flag(FLAG_NMI) | flag(FLAG_INTERRUPT);
    assert_int_equal(trial->point.flags & strikes, 0);
    finish(trial);
}

static void test_too_many_strikes_are_kept_and_flagged(void **state)
{
    (void)state;
    static const enum flag expected[] = { FLAG_SMI, FLAG_NMI, FLAG_INTERRUPT };
    const uint32_t all = flag(FLAG_SMI) | flag(FLAG_NMI) | flag(FLAG_INTERRUPT);
    for (size_t i = 0; i < 3; i++) {
        struct trial *trial = prepare(MIBS(16), SIZE_2M);
        struct model_strike *strikes[] = { &trial->machine.smi, &trial->machine.nmi,
                                           &trial->machine.interrupt };
        *strikes[i] = (struct model_strike){ .every_ns = 200e3, .costs_ns = 1e3 };
        assert_int_equal(run(trial), OK);
        assert_int_equal(trial->series.retaken, 3 * R);
        assert_int_equal(trial->series.count, R);
        assert_int_equal(trial->point.flags & all, flag(expected[i]));
        finish(trial);
    }
}

/* --- A clock that changes --- */

static void test_drift_is_unsettled(void **state)
{
    (void)state;
    struct trial *trial = prepare(KIBS(4), SIZE_4K);
    trial->machine.drift = -1;
    trial->how.visits = 1;
    trial->how.repetitions = 31;
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->point.flags & flag(FLAG_UNSETTLED), flag(FLAG_UNSETTLED));
    assert_about(trial->point.cycles.max, 4, 1e-3); /* the counter follows */
    finish(trial);
}

static void test_cycles_without_a_counter(void **state)
{
    (void)state;
    struct trial *trial = prepare(KIBS(64), SIZE_4K);
    trial->machine.counts_cycles = false;
    assert_int_equal(run(trial), OK);
    assert_about(trial->point.cycles.median, 14, 1e-3);
    assert_int_equal(trial->point.cycles.samples, trial->point.ns.samples);
    finish(trial);
}

/* 0.7 % a millisecond: the chains before and after a sample disagree. */
static void test_cycles_are_dropped_when_the_clock_changes(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->machine.counts_cycles = false;
    trial->machine.drift = 10;
    trial->how.visits = 1;
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->point.cycles.samples, 0);
    assert_true(isnan(trial->point.cycles.median));
    assert_int_equal(trial->point.ns.samples, R);
    finish(trial);
}

/* --- Visits --- */

static uint64_t seed_of_visit[VISITS + 1];
static size_t visits_begun;

static void begin_and_note(struct job *job)
{
    seed_of_visit[visits_begun++ % (VISITS + 1)] = job->seed;
    ring_code.begin(job);
}

static void seeds_of(uint64_t seed)
{
    struct trial *trial = prepare(KIBS(64), SIZE_2M);
    trial->how.seed = seed;
    trial->code.begin = begin_and_note;
    visits_begun = 0;
    assert_int_equal(run(trial), OK);
    assert_int_equal(visits_begun, VISITS);
    finish(trial);
}

static void test_each_visit_has_its_seed(void **state)
{
    (void)state;
    seeds_of(1);
    uint64_t first[VISITS];
    memcpy(first, seed_of_visit, sizeof first);
    assert_true(first[0] != first[1] && first[1] != first[2] && first[0] != first[2]);
    seeds_of(2);
    for (size_t i = 0; i < VISITS; i++) {
        assert_true(seed_of_visit[i] != first[0] && seed_of_visit[i] != first[1]);
    }
    seeds_of(1);
    assert_memory_equal(seed_of_visit, first, sizeof first);
}

/* 2 ns more in each visit than in the one before. */
static void *walk_with_delay(void *cursor, uint64_t hops)
{
    model_work(2.0 * (double)hops * (double)visits_begun);
    return chase_hops(cursor, hops);
}

static void test_visits_that_differ(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->code.begin = begin_and_note;
    trial->code.loop = walk_with_delay;
    visits_begun = 0;
    assert_int_equal(run(trial), OK);
    assert_int_equal(trial->point.flags & flag(FLAG_BETWEEN), flag(FLAG_BETWEEN));
    assert_about(trial->point.ns.median, 104, 1e-4);
    assert_about(trial->point.ns.low, 102, 1e-4);
    assert_about(trial->point.ns.high, 106, 1e-4);
    assert_about(trial->point.ns.between, 4, 1e-3);
    finish(trial);
}

static void test_stopped_early(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    assert_int_equal(visit(trial, 0, true), OK);
    sampler_point(&trial->measurement, &trial->how, &trial->series, &trial->point);
    assert_int_equal(trial->point.flags & flag(FLAG_PARTIAL), flag(FLAG_PARTIAL));
    assert_about(trial->point.ns.median, 100, 1e-4);
    finish(trial);
}

/* --- Kernels of other kinds --- */

static void flush_before(const struct job *job, const struct bench *bench)
{
    (void)job;
    (void)bench;
    model_flush();
}

/* Each of a sample's calls is one lap over 1,024 lines that were flushed before it, untimed. */
static void test_prepared_laps(void **state)
{
    (void)state;
    struct trial *trial = prepare(KIBS(64), SIZE_4K);
    trial->code.prepare = flush_before;
    assert_int_equal(run(trial), OK);
    assert_about(trial->point.ns.median, 100, 1e-3);
    assert_true(fmod(trial->point.operations, 1024) == 0);
    assert_true(shortest_sample_ms(trial) >= 1);
    finish(trial);
}

/* A kernel of registers only: no data, no cycle, no check. */
static void begin_nothing(struct job *job)
{
    job->state[0] = 0;
}

static void *start_nowhere(const struct job *job)
{
    return job->data;
}

static void *multiply(void *cursor, uint64_t operations)
{
    model_work(3.0 * (double)operations);
    return cursor;
}

static void test_kernel_without_data(void **state)
{
    (void)state;
    struct trial *trial = prepare(0, SIZE_4K);
    trial->measurement.layout.bytes = PAGE_4K;
    trial->code =
        (struct kernel_code){ .begin = begin_nothing, .start = start_nowhere, .loop = multiply };
    for (unsigned i = 0; i < VISITS; i++) {
        assert_int_equal(visit(trial, i, false), OK);
    }
    sampler_point(&trial->measurement, &trial->how, &trial->series, &trial->point);
    assert_about(trial->point.ns.median, 3, 1e-3);
    assert_int_equal(trial->point.proof.cycle_length, 0);
    finish(trial);
}

/* --- What goes wrong --- */

static size_t build_broken(struct job *job, size_t from)
{
    const size_t next = ring_code.build(job, from);
    void **first = job->data;
    *first = first; /* a cycle of one */
    return next;
}

static void test_broken_data_is_denied(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->code.build = build_broken;
    assert_int_equal(run(trial), DENIED);
    assert_string_equal(trial->series.reason, "the ring is broken");
    finish(trial);
}

static void test_fault_is_passed_on(void **state)
{
    (void)state;
    for (unsigned bodies = 1; bodies <= 2; bodies++) { /* in the proof, in the samples */
        struct trial *trial = prepare(KIBS(64), SIZE_2M);
        trial->machine.fault_after = bodies;
        assert_int_equal(run(trial), FAULTED);
        assert_int_equal(trial->series.fault.vector, 14);
        assert_int_equal(trial->series.fault.address, 0x5678);
        assert_int_equal(trial->series.count, 0);
        finish(trial);
    }
}

static void test_what_the_machine_lacks(void **state)
{
    (void)state;
    struct trial *trial = prepare(KIBS(64), SIZE_1G);
    assert_int_equal(run(trial), ABSENT);
    assert_string_equal(trial->series.reason, "the model has no pages of this size");
    finish(trial);
    trial = prepare(KIBS(64), SIZE_4K);
    trial->measurement.conditions.prefetchers_off = 1;
    assert_int_equal(run(trial), ABSENT);
    assert_string_equal(trial->series.reason, "the model has no prefetchers");
    finish(trial);
}

static void test_wrong_pages_are_denied(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(4), SIZE_2M);
    trial->machine.wrong_leaves = true;
    assert_int_equal(run(trial), DENIED);
    assert_string_equal(trial->series.reason, "the pages found are not the pages asked for");
    finish(trial);
}

static void test_hidden_tables_prove_nothing(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(4), SIZE_2M);
    trial->machine.tables_hidden = true;
    assert_int_equal(run(trial), OK);
    assert_false(trial->point.proof.leaves_known);
    finish(trial);
}

static void test_smashed_pages_are_flagged(void **state)
{
    (void)state;
    struct trial *trial = prepare(MIBS(16), SIZE_2M);
    trial->machine.smashed = true;
    assert_int_equal(run(trial), OK);
    assert_about(trial->point.ns.median, 110, 0.01);
    assert_int_equal(trial->point.flags & flag(FLAG_SMASHED), flag(FLAG_SMASHED));
    finish(trial);
}

#define TEST(name) cmocka_unit_test(test_##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(latencies),
        TEST(page_walk),
        TEST(agrees_with_unbroken_walk),
        TEST(restarting_at_the_head_would_show),
        TEST(restarting_is_denied),
        TEST(measuring_cold_would_show),
        TEST(page_tables_are_warmed),
        TEST(two_laps_up_to_the_second_cache),
        TEST(memory_wakes_up),
        TEST(reads_no_more_than_the_caches_hold),
        TEST(reading_takes_too_long),
        TEST(core_reaches_its_clock),
        TEST(core_does_not_reach_its_clock),
        TEST(data_takes_too_long),
        TEST(clock_in_steps),
        TEST(shortest_sample),
        TEST(memory_samples_last_a_millisecond),
        TEST(samples_stay_long_enough),
        TEST(other_samples_resolve_the_timer),
        TEST(coarse_timer_gets_longer_samples),
        TEST(timer_that_resolves_nothing),
        TEST(timer_cost_is_taken_off),
        TEST(visits_share_the_samples),
        TEST(large_sets_have_one_visit),
        TEST(noise_gets_more_samples),
        TEST(noisy_point),
        TEST(visit_of_several_windows),
        TEST(windows_end_in_time),
        TEST(no_more_samples_than_room),
        TEST(struck_samples_are_taken_again),
        TEST(too_many_strikes_are_kept_and_flagged),
        TEST(drift_is_unsettled),
        TEST(cycles_without_a_counter),
        TEST(cycles_are_dropped_when_the_clock_changes),
        TEST(each_visit_has_its_seed),
        TEST(visits_that_differ),
        TEST(stopped_early),
        TEST(prepared_laps),
        TEST(kernel_without_data),
        TEST(broken_data_is_denied),
        TEST(fault_is_passed_on),
        TEST(what_the_machine_lacks),
        TEST(wrong_pages_are_denied),
        TEST(hidden_tables_prove_nothing),
        TEST(smashed_pages_are_flagged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
