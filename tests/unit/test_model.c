/* The model machine itself: a walk over real data takes as long as its geometry says. */
#include "kernels/loops.h"
#include "tests/fakes/model.h"
#include "tests/fakes/ring.h"

/* In place of the machine's own loops. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "tests/fakes/model_loops.c"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* One cache, one TLB. 3 GHz core, 2 GHz TSC. */
static const struct model_geometry one_of_each = {
    .tsc_hz = 2e9,
    .core_hz = 3e9,
    .levels = 1,
    .level = { { .size = KIBS(32), .ways = 8, .cycles = 4 } },
    .memory_ns = 100,
    .stream_ns = 5,
    .tlbs = 1,
    .tlb = { { .page_sizes = 7, .entries = 64, .cycles = 0 } },
    .walk_cycles = { 30, 20, 10 },
    .memory_bytes = MIBS(64),
    .page_available = { true, true, false },
    .counts_cycles = true,
    .counts_smis = true,
    .read_ns = 20,
};

/* What one body does and finds. */
struct trip {
    const struct bench *bench;
    struct job job;
    uint64_t warm_hops, hops;
    size_t step;
    struct reading from, to;
    struct proof found;
};

static void build(void *arg)
{
    struct trip *trip = arg;
    do {
        trip->step = ring_code.build(&trip->job, trip->step);
    } while (trip->step != 0);
}

static void walk(void *arg)
{
    struct trip *trip = arg;
    void *cursor = chase_hops(trip->job.data, trip->warm_hops);
    trip->bench->read(trip->bench->self, &trip->from);
    (void)chase_hops(cursor, trip->hops);
    trip->bench->read(trip->bench->self, &trip->to);
}

static void run(struct trip *trip, void (*body)(void *))
{
    const struct conditions plain = { .events = 0 };
    const enum status status =
        trip->bench->inside(trip->bench->self, &plain, body, trip, &trip->found);
    assert_int_equal(status, OK);
}

static void show(struct trip *trip, struct model *model, struct layout layout)
{
    const char *reason = NULL;
    *trip = (struct trip){ .bench = model_bench(model) };
    void *data = NULL;
    assert_int_equal(trip->bench->map(trip->bench->self, &layout, &data, &reason), OK);
    trip->job = (struct job){ .seed = 99, .data = data, .bytes = layout.bytes };
    ring_code.begin(&trip->job);
}

/* ns a hop between the two readings, their own cost taken off. */
static double ns_of(const struct trip *trip, const struct model_geometry *geometry)
{
    const double ticks = (double)(trip->to.tsc - trip->from.tsc);
    return (ticks / geometry->tsc_hz * 1e9 - geometry->read_ns) / (double)trip->hops;
}

/* ns a hop of a walk of `laps` laps over such data after one lap to warm up. */
static double hop_ns(const struct model_geometry *geometry, struct layout layout)
{
    struct model *model = model_new(geometry);
    assert_non_null(model);
    struct trip trip;
    show(&trip, model, layout);
    run(&trip, build);
    trip.warm_hops = layout.bytes / LINE_BYTES;
    trip.hops = 4 * trip.warm_hops;
    run(&trip, walk);
    model_free(model);
    return ns_of(&trip, geometry);
}

static struct layout small_pages(size_t bytes)
{
    return (struct layout){ .bytes = bytes, .leaf = SIZE_4K };
}

static struct layout large_pages(size_t bytes)
{
    return (struct layout){ .bytes = bytes, .leaf = SIZE_2M };
}

static void assert_about(double got, double want, double share)
{
    if (!(fabs(got - want) <= share * want)) {
        fail_msg("got %.9g, want %.9g", got, want);
    }
}

static void test_hits(void **state)
{
    (void)state;
    assert_about(hop_ns(&one_of_each, small_pages(KIBS(32))), 4 / 3.0, 1e-4);
}

/* A ring is the worst that a least-recently-used cache can meet: it misses always. */
static void test_misses(void **state)
{
    (void)state;
    assert_about(hop_ns(&one_of_each, large_pages(KIBS(64))), 100, 1e-4);
}

static void test_levels(void **state)
{
    (void)state;
    struct model_geometry two = one_of_each;
    two.levels = 2;
    two.level[1] = (struct model_level){ .size = KIBS(512), .ways = 8, .cycles = 14 };
    assert_about(hop_ns(&two, small_pages(KIBS(16))), 4 / 3.0, 1e-3);
    assert_about(hop_ns(&two, large_pages(KIBS(256))), 14 / 3.0, 1e-3);
    assert_about(hop_ns(&two, large_pages(MIBS(4))), 100, 1e-3);
}

/* 64 pages fit the TLB; of 4,096 hardly one hop finds its page there. */
static void test_page_walks(void **state)
{
    (void)state;
    assert_about(hop_ns(&one_of_each, small_pages(KIBS(256))), 100, 1e-3);
    assert_about(hop_ns(&one_of_each, small_pages(MIBS(16))), 110, 0.002);
    assert_about(hop_ns(&one_of_each, large_pages(MIBS(16))), 100, 1e-3);
}

/* With the last table's entries in the caches, a walk to a warm line costs a hit more; the lines
 * of 2,048 pages' entries (16 KiB) fit beside nothing else. */
static void test_tables_in_caches(void **state)
{
    (void)state;
    struct model_geometry tables = one_of_each;
    tables.tables_in_caches = true;
    tables.level[0].size = MIBS(4);
    const double ns = hop_ns(&tables, small_pages(MIBS(2)));
    assert_about(ns, (4 + (30 + 4) * (1 - 64 / 512.0)) / 3, 0.05);
}

static void test_smashed_pages_walk(void **state)
{
    (void)state;
    struct model_geometry smashed = one_of_each;
    smashed.smashed = true;
    assert_about(hop_ns(&smashed, large_pages(MIBS(16))), 110, 0.002);
}

static void test_second_tlb(void **state)
{
    (void)state;
    struct model_geometry two = one_of_each;
    two.tlbs = 2;
    two.tlb[1] = (struct model_tlb){ .page_sizes = 1, .entries = 2048, .ways = 8, .cycles = 7 };
    const double share = 1 - 64 / 2048.0; /* of hops that miss the first */
    assert_about(hop_ns(&two, small_pages(MIBS(8))), 100 + share * 7 / 3, 0.002);
}

/* Each window starts cold, and what it costs to warm up is the data's every line once. */
static void test_windows_start_cold(void **state)
{
    (void)state;
    struct model *model = model_new(&one_of_each);
    struct trip trip;
    show(&trip, model, small_pages(KIBS(16)));
    run(&trip, build);
    for (unsigned window = 0; window < 2; window++) {
        trip.hops = KIBS(16) / LINE_BYTES;
        run(&trip, walk);
        const double first_touch = 100 + 10 * 4 / 256.0; /* a walk a page */
        assert_about(ns_of(&trip, &one_of_each), first_touch, 1e-3);
    }
    assert_int_equal(model_bodies(model), 3);
    assert_true(model_seconds(model) > 3 * 0.02); /* the firmware's turns */
    model_free(model);
}

static void read_twice(void *arg)
{
    struct trip *trip = arg;
    read_lines(trip->job.data, trip->hops);
    trip->bench->read(trip->bench->self, &trip->from);
    read_lines(trip->job.data, trip->hops);
    trip->bench->read(trip->bench->self, &trip->to);
}

static void test_sequential_read(void **state)
{
    (void)state;
    const struct {
        size_t bytes;
        double ns;
    } cases[] = { { KIBS(16), 4 / 3.0 }, { MIBS(8), 5 } };
    for (size_t i = 0; i < 2; i++) {
        struct model *model = model_new(&one_of_each);
        struct trip trip;
        show(&trip, model, large_pages(cases[i].bytes));
        trip.hops = cases[i].bytes / LINE_BYTES;
        run(&trip, read_twice);
        assert_about(ns_of(&trip, &one_of_each), cases[i].ns, 1e-3);
        model_free(model);
    }
}

/* True if the operating system could read the byte: it answers EFAULT, where a load would trap. */
static bool readable(const void *at)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const bool read = write(ends[1], at, 1) == 1;
    assert_true(read || errno == EFAULT);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return read;
}

static void see_data(void *arg)
{
    const struct trip *trip = arg;
    assert_true(readable(trip->job.data));
}

static void test_data_is_out_of_reach_outside(void **state)
{
    (void)state;
    struct model *model = model_new(&one_of_each);
    struct trip trip;
    show(&trip, model, small_pages(MIBS(1)));
    assert_false(readable(trip.job.data));
    run(&trip, see_data);
    assert_false(readable(trip.job.data));
    model_free(model);
}

static void write_mark(void *arg)
{
    struct trip *trip = arg;
    *(uint64_t *)trip->job.data = trip->job.seed;
}

static void read_mark(void *arg)
{
    struct trip *trip = arg;
    trip->job.seed = *(uint64_t *)trip->job.data;
}

static uint64_t mark_in(struct model *model, struct layout layout)
{
    struct trip trip;
    show(&trip, model, layout);
    run(&trip, read_mark);
    return trip.job.seed;
}

static void leave_mark(struct model *model, struct layout layout, uint64_t mark)
{
    struct trip trip;
    show(&trip, model, layout);
    trip.job.seed = mark;
    run(&trip, write_mark);
}

/* A placing shows its contents under each leaf and at each size, another placing others. */
static void test_contents_are_kept(void **state)
{
    (void)state;
    struct model *model = model_new(&one_of_each);
    struct layout scattered = small_pages(MIBS(1));
    scattered.placing = PLACED_SCATTERED;
    leave_mark(model, small_pages(MIBS(1)), 17);
    leave_mark(model, scattered, 23);
    assert_int_equal(mark_in(model, large_pages(MIBS(8))), 17);
    assert_int_equal(mark_in(model, scattered), 23);
    model_free(model);
}

static void test_views_share_a_base(void **state)
{
    (void)state;
    struct model *model = model_new(&one_of_each);
    struct trip small, large;
    show(&small, model, small_pages(MIBS(1)));
    show(&large, model, large_pages(MIBS(16)));
    assert_ptr_equal(small.job.data, large.job.data);
    assert_int_equal((uintptr_t)large.job.data % PAGE_1G, 0);
    model_free(model);
}

static uint64_t physical_page(const struct trip *trip, size_t page)
{
    uint64_t address = 0;
    const char *at = (const char *)trip->job.data + page * PAGE_4K + 8;
    assert_true(trip->bench->physical(trip->bench->self, at, &address));
    assert_int_equal(address % PAGE_4K, 8);
    return address / PAGE_4K;
}

enum { PAGES = 4096 };

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Fills the frames of a view of PAGES pages; no frame may show twice. */
static void frames_of(struct model *model, enum placing placing, uint64_t *frame)
{
    struct trip trip;
    struct layout layout = small_pages(PAGES * (size_t)PAGE_4K);
    layout.placing = placing;
    show(&trip, model, layout);
    uint64_t sorted[PAGES];
    for (size_t page = 0; page < PAGES; page++) {
        sorted[page] = frame[page] = physical_page(&trip, page);
    }
    qsort(sorted, PAGES, sizeof *sorted, by_number);
    for (size_t page = 1; page < PAGES; page++) {
        assert_true(sorted[page] != sorted[page - 1]);
    }
}

static size_t adjacent(const uint64_t *frame)
{
    size_t count = 0;
    for (size_t page = 1; page < PAGES; page++) {
        count += frame[page] == frame[page - 1] + 1 ? 1 : 0;
    }
    return count;
}

static void test_placing(void **state)
{
    (void)state;
    struct model_geometry geometry = one_of_each;
    geometry.levels = 2;
    geometry.level[1] = (struct model_level){ .size = MIBS(1), .ways = 16, .cycles = 14 };
    struct model *model = model_new(&geometry);
    uint64_t frame[PAGES];
    frames_of(model, PLACED_IN_ORDER, frame);
    assert_int_equal(adjacent(frame), PAGES - 1);
    frames_of(model, PLACED_SCATTERED, frame);
    assert_int_equal(adjacent(frame), 0);
    frames_of(model, PLACED_BALANCED, frame);
    unsigned of_colour[16] = { 0 }; /* 1 MiB / 16 ways / 4 KiB */
    for (size_t page = 0; page < PAGES; page++) {
        of_colour[frame[page] % 16]++;
    }
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(of_colour[i], PAGES / 16);
    }
    model_free(model);
}

/* Eight pages that show two frames: what is written through one is read through its aliases, at
 * the same physical address. */
static void test_aliases(void **state)
{
    (void)state;
    struct model *model = model_new(&one_of_each);
    struct layout layout = small_pages(8 * (size_t)PAGE_4K);
    layout.frames = 2;
    struct trip trip;
    show(&trip, model, layout);
    run(&trip, write_mark);
    assert_int_equal(physical_page(&trip, 6), physical_page(&trip, 0));
    assert_int_equal(physical_page(&trip, 7), physical_page(&trip, 0) + 1);
    trip.job.data = (char *)trip.job.data + 6 * (size_t)PAGE_4K;
    trip.job.seed = 0;
    run(&trip, read_mark);
    assert_int_equal(trip.job.seed, 99);
    model_free(model);
}

static void test_what_it_does_not_have(void **state)
{
    (void)state;
    struct model *model = model_new(&one_of_each);
    const struct bench *bench = model_bench(model);
    const struct layout absent[] = {
        { .bytes = PAGE_1G, .leaf = SIZE_1G },
        { .bytes = MIBS(65), .leaf = SIZE_4K },
        { .bytes = PAGE_2M, .leaf = SIZE_2M, .placing = PLACED_SCATTERED },
        { .bytes = PAGE_4K, .leaf = SIZE_4K, .node = 1 },
    };
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        void *data = NULL;
        const char *reason = NULL;
        assert_int_equal(bench->map(bench->self, &absent[i], &data, &reason), ABSENT);
        assert_non_null(reason);
    }
    model_free(model);
}

static void spin(void *arg)
{
    struct trip *trip = arg;
    trip->bench->read(trip->bench->self, &trip->from);
    (void)spin_adds(trip->hops);
    trip->bench->read(trip->bench->self, &trip->to);
}

/* Spins for 30 million cycles: 10 ms at 3 GHz. */
static struct trip spin_on(const struct model_geometry *geometry)
{
    struct model *model = model_new(geometry);
    struct trip trip;
    show(&trip, model, small_pages(PAGE_4K));
    trip.hops = 30000000 / 64;
    run(&trip, spin);
    model_free(model);
    return trip;
}

static void test_clock_and_cycles(void **state)
{
    (void)state;
    const struct trip trip = spin_on(&one_of_each);
    assert_about((double)(trip.to.tsc - trip.from.tsc), 20e6 + 40, 1e-6);
    assert_about((double)(trip.to.cycles - trip.from.cycles), 30e6 + 60, 1e-6);
    assert_int_equal(trip.from.known, 1u << KNOWN_CYCLES | 1u << KNOWN_SMIS);
    struct model_geometry blind = one_of_each;
    blind.counts_cycles = blind.counts_smis = false;
    assert_int_equal(spin_on(&blind).to.known, 0);
}

static void test_strikes(void **state)
{
    (void)state;
    struct model_geometry struck = one_of_each;
    struck.smi = (struct model_strike){ .every_ns = 1e6, .costs_ns = 100e3 };
    struck.nmi = (struct model_strike){ .every_ns = 5e6, .costs_ns = 0 };
    struck.interrupt = (struct model_strike){ .every_ns = 2.5e6, .costs_ns = 0 };
    const struct trip trip = spin_on(&struck);
    /* The spin is one long step of 10 ms; what struck meanwhile prolongs it. */
    const unsigned smis = trip.to.smis - trip.from.smis;
    assert_in_range(smis, 5, 20);
    assert_about((double)(trip.to.tsc - trip.from.tsc), 20e6 + smis * 200e3, 1e-4);
    assert_in_range(trip.to.nmis - trip.from.nmis, 1, 4);
    assert_in_range(trip.to.pending - trip.from.pending, 2, 8);
}

/* Single accesses vary by 10 %, the mean of 65,536 hardly. */
static void test_noise(void **state)
{
    (void)state;
    struct model_geometry noisy = one_of_each;
    noisy.noise = 0.1;
    noisy.noise_ns = 1; /* a draw for each access */
    const double ns = hop_ns(&noisy, large_pages(MIBS(1)));
    assert_about(ns, 100, 0.005);
    assert_true(fabs(ns - 100) > 1e-6);
}

/* A core that comes out of idling at half its clock, and one whose clock falls 10 % a second. */
static void test_core_clock_changes(void **state)
{
    (void)state;
    struct model_geometry idle = one_of_each;
    idle.idle_share = 0.5;
    idle.ramp_ns = 1e6;
    assert_true(hop_ns(&idle, small_pages(KIBS(16))) > 1.9 * 4 / 3);
    struct model_geometry drifting = one_of_each;
    drifting.drift = -0.1;
    const double at_start = 4 / 3.0;
    const double about_40_ms_later = hop_ns(&drifting, small_pages(KIBS(16)));
    assert_about(about_40_ms_later, at_start * (1 + 0.1 * 0.04), 1e-3);
}

static void test_proof(void **state)
{
    (void)state;
    struct model_geometry geometry = one_of_each;
    struct model *model = model_new(&geometry);
    struct trip trip;
    show(&trip, model, large_pages(MIBS(3))); /* rounded up to two leaves */
    run(&trip, see_data);
    assert_true(trip.found.leaves_known && !trip.found.smashed);
    assert_int_equal(trip.found.leaves[SIZE_2M], 2);
    assert_int_equal(trip.found.leaves[SIZE_4K], 0);
    assert_int_equal(trip.found.memory_type, 6);
    model_free(model);
    geometry.smashed = geometry.tables_hidden = true;
    model = model_new(&geometry);
    show(&trip, model, large_pages(MIBS(3)));
    run(&trip, see_data);
    uint64_t address;
    assert_true(!trip.found.leaves_known && trip.found.smashed);
    assert_false(trip.bench->physical(trip.bench->self, trip.job.data, &address));
    model_free(model);
}

static void test_refuses_conditions(void **state)
{
    (void)state;
    struct model *model = model_new(&one_of_each);
    struct trip trip;
    show(&trip, model, small_pages(PAGE_4K));
    const struct conditions refused[] = { { .prefetchers_off = 1 }, { .events = 1 } };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            trip.bench->inside(trip.bench->self, &refused[i], spin, &trip, &trip.found), ABSENT);
        assert_non_null(trip.found.reason);
    }
    assert_int_equal(model_bodies(model), 0);
    model_free(model);
}

static void test_fault(void **state)
{
    (void)state;
    struct model_geometry geometry = one_of_each;
    geometry.fault_after = 1;
    struct model *model = model_new(&geometry);
    struct trip trip;
    const struct conditions plain = { .events = 0 };
    show(&trip, model, small_pages(PAGE_4K));
    run(&trip, spin);
    assert_int_equal(trip.bench->inside(trip.bench->self, &plain, spin, &trip, &trip.found),
                     FAULTED);
    assert_int_equal(trip.found.fault.vector, 14);
    model_free(model);
}

/* Walks twice, and makes the core forget in between. */
static void walk_and_forget(void *arg)
{
    struct trip *trip = arg;
    (void)chase_hops(trip->job.data, trip->warm_hops);
    assert_int_equal(trip->bench->forget(trip->bench->self, (enum forget)trip->step), OK);
    trip->bench->read(trip->bench->self, &trip->from);
    (void)chase_hops(trip->job.data, trip->hops);
    trip->bench->read(trip->bench->self, &trip->to);
}

static double forgetful_ns(enum forget what)
{
    struct model_geometry geometry = one_of_each;
    geometry.tables_in_caches = true;
    struct model *model = model_new(&geometry);
    struct trip trip;
    show(&trip, model, small_pages(KIBS(16)));
    run(&trip, build);
    trip.warm_hops = trip.hops = KIBS(16) / LINE_BYTES;
    trip.step = what;
    run(&trip, walk_and_forget);
    model_free(model);
    return ns_of(&trip, &geometry) * (double)trip.hops - (double)trip.hops * 4 / 3.0;
}

/* Four pages are walked to again; with their entries' one line flushed, one comes from memory. */
static void test_forget(void **state)
{
    (void)state;
    assert_about(forgetful_ns(FORGET_TLB), 4 * (30 + 4) / 3.0, 0.02);
    assert_about(forgetful_ns(FORGET_TABLES), 4 * 10 + 100 + 3 * 4 / 3.0, 0.02);
}

static void walk_and_flush(void *arg)
{
    struct trip *trip = arg;
    (void)chase_hops(trip->job.data, trip->warm_hops);
    model_flush();
    trip->bench->read(trip->bench->self, &trip->from);
    (void)chase_hops(trip->job.data, trip->hops);
    trip->bench->read(trip->bench->self, &trip->to);
}

static void test_flush(void **state)
{
    (void)state;
    struct model *model = model_new(&one_of_each);
    struct trip trip;
    show(&trip, model, small_pages(KIBS(16)));
    run(&trip, build);
    trip.warm_hops = trip.hops = KIBS(16) / LINE_BYTES;
    run(&trip, walk_and_flush);
    assert_about(ns_of(&trip, &one_of_each), 100, 1e-3);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hits),
        cmocka_unit_test(test_misses),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_page_walks),
        cmocka_unit_test(test_tables_in_caches),
        cmocka_unit_test(test_smashed_pages_walk),
        cmocka_unit_test(test_second_tlb),
        cmocka_unit_test(test_windows_start_cold),
        cmocka_unit_test(test_sequential_read),
        cmocka_unit_test(test_data_is_out_of_reach_outside),
        cmocka_unit_test(test_contents_are_kept),
        cmocka_unit_test(test_views_share_a_base),
        cmocka_unit_test(test_placing),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_what_it_does_not_have),
        cmocka_unit_test(test_clock_and_cycles),
        cmocka_unit_test(test_strikes),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_core_clock_changes),
        cmocka_unit_test(test_proof),
        cmocka_unit_test(test_refuses_conditions),
        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_flush),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
