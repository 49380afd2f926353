/* The bench on Linux, on the Linux of this machine: what kernels/bench.h promises of memory and bodies
 * must hold whatever the system gives, and what it does not give must be said. */
#include "boot/probe.h"
#include "tests/hosted/bench_linux.h"
#include "tests/hosted/catch.h"
#include "tests/hosted/pages.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define VIEW_BYTES     ((size_t)6 * MIB)
#define TSC_HZ         UINT64_C(1000000000)
#define PAGES_OF_4K(n) ((size_t)(n)*PAGE_4K)

enum { ODD_PAGES = 3, ALIASES = 10, SLICE_MICROSECONDS = 50000 };

static struct bench_linux metal;
static struct machine machine;
static const struct bench *const bench = &metal.bench;

static int open_bench(void **state)
{
    const char *reason = NULL;
    const struct bench_linux_setup setup = {
        .machine = &machine,
        .bytes = ARENA_LEAST,
        .seed = 1,
        .counters = true,
    };
    (void)state;
    machine = (struct machine){ .clock = { .tsc_hz = TSC_HZ }, .processor = { .emulated = true } };
    return bench_linux_prepare(&metal, &setup, &reason) == OK ? 0 : -1;
}

static int close_bench(void **state)
{
    (void)state;
    bench_linux_close(&metal);
    return 0;
}

/* ---- views and bodies --------------------------------------------------------------------------- */

static const struct layout small_scattered = { VIEW_BYTES, SIZE_4K, 0, 0, PLACED_SCATTERED };
static const struct layout small_in_order = { VIEW_BYTES, SIZE_4K, 0, 0, PLACED_IN_ORDER };
static const struct layout large = { VIEW_BYTES, SIZE_2M, 0, 0, PLACED_IN_ORDER };

static const struct conditions plain;

static uint64_t *show(const struct layout *layout)
{
    void *base = NULL;
    const char *reason = NULL;
    if (bench->map(bench->self, layout, &base, &reason) != OK) {
        fail_msg("%s", reason);
    }
    assert_int_equal((uintptr_t)base, ARENA_BASE);
    return base;
}

static void must_be_absent(const struct layout *layout, const char *why)
{
    void *base = NULL;
    const char *reason = NULL;
    assert_int_equal(bench->map(bench->self, layout, &base, &reason), ABSENT);
    assert_non_null(reason);
    if (strstr(reason, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", reason, why);
    }
}

/* Writes to, or looks for, a number of its own in each word that a page has `apart`. */
struct job {
    uint64_t *words;
    size_t bytes, apart;
    uint64_t salt;
    bool right;
};

static void write_words(void *arg)
{
    const struct job *job = arg;
    for (size_t i = 0; i < job->bytes / sizeof *job->words; i += job->apart) {
        job->words[i] = i ^ job->salt;
    }
}

static void check_words(void *arg)
{
    struct job *job = arg;
    job->right = true;
    for (size_t i = 0; i < job->bytes / sizeof *job->words; i += job->apart) {
        job->right = job->right && job->words[i] == (i ^ job->salt);
    }
}

static void run(void (*body)(void *), void *arg, struct proof *found)
{
    assert_int_equal(bench->inside(bench->self, &plain, body, arg, found), OK);
    assert_null(found->reason);
}

static void write_view(const struct layout *layout, uint64_t salt)
{
    struct proof found;
    struct job job = { show(layout), layout->bytes, 8, salt, false };
    run(write_words, &job, &found);
}

static void must_show(const struct layout *layout, size_t bytes, uint64_t salt)
{
    struct proof found;
    struct job job = { show(layout), bytes, 8, salt, false };
    run(check_words, &job, &found);
    assert_true(job.right);
}

static bool has_large(void)
{
    if (!machine.page_available[SIZE_2M]) {
        assert_non_null(machine.page_reason[SIZE_2M]);
    }
    return machine.page_available[SIZE_2M];
}

/* ---- contents ----------------------------------------------------------------------------------- */

static void test_contents_go_with_the_placing(void **state)
{
    (void)state;
    write_view(&small_scattered, 1);
    if (has_large()) {
        write_view(&small_in_order, 2);
        must_show(&large, VIEW_BYTES, 2);
        write_view(&large, 3);
        must_show(&small_in_order, VIEW_BYTES, 3);
    }
    must_show(&small_scattered, VIEW_BYTES, 1);
}

/* What a smaller view under another page size leaves alone is what a larger one had written. */
static void test_smaller_views_leave_the_rest_alone(void **state)
{
    struct layout less = large;
    struct layout more = small_in_order;
    (void)state;
    if (!has_large()) {
        return;
    }
    less.bytes = PAGE_2M;
    more.bytes = 2 * VIEW_BYTES;
    write_view(&small_in_order, 4);
    write_view(&less, 5);
    must_show(&more, PAGE_2M, 5);

    struct proof found;
    struct job rest = { show(&more) + PAGE_2M / sizeof(uint64_t), VIEW_BYTES - PAGE_2M, 8, 0,
                        false };
    uint64_t first = *rest.words;
    assert_int_equal(first, (PAGE_2M / sizeof(uint64_t)) ^ 4);
    rest.salt = 4 ^ (PAGE_2M / sizeof(uint64_t)); /* word i of the rest is word i + this */
    rest.bytes = PAGE_2M;
    run(check_words, &rest, &found);
    assert_true(rest.right);
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* Frames of a view, or false where the system hides them. */
static bool frames_of(const struct layout *layout, uint64_t *frame, size_t pages)
{
    const char *base = (const char *)show(layout);
    for (size_t i = 0; i < pages; i++) {
        if (!bench->physical(bench->self, base + i * PAGE_4K, &frame[i])) {
            return false;
        }
    }
    return true;
}

static size_t neighbours(const uint64_t *frame, size_t pages)
{
    size_t n = 0;
    for (size_t i = 1; i < pages; i++) {
        n += frame[i] == frame[i - 1] + PAGE_4K || frame[i - 1] == frame[i] + PAGE_4K;
    }
    return n;
}

enum { PAGES = 6 * MIB / PAGE_4K };

static void test_frames_lie_as_promised(void **state)
{
    static uint64_t frame[PAGES], again[PAGES];
    (void)state;
    if (!frames_of(&small_scattered, frame, PAGES)) {
        return; /* hidden from this user */
    }
    assert_true(neighbours(frame, PAGES) <= PAGES / 100);
    if (has_large()) {
        assert_true(frames_of(&small_in_order, again, PAGES));
        /* three large pages, which need not be neighbours of each other */
        assert_true(neighbours(again, PAGES) >= PAGES - 3);
    }
    assert_true(frames_of(&small_scattered, again, PAGES));
    assert_memory_equal(frame, again, sizeof frame);
}

static void test_neighbours_are_not_touched_in_succession(void **state)
{
    static uint16_t order[SCATTER_PAGES], other[SCATTER_PAGES];
    static bool seen[SCATTER_PAGES];
    size_t close = 0, same = 0;
    (void)state;
    store_touch_order(order, 1);
    store_touch_order(other, 2);
    for (size_t i = 0; i < SCATTER_PAGES; i++) {
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
        close += i > 0 && abs(order[i] - order[i - 1]) == 1;
        same += order[i] == other[i];
    }
    assert_true(close <= 1); /* at the very end nothing else may be left */
    assert_true(same < SCATTER_PAGES / 100);
    store_touch_order(other, 1);
    assert_memory_equal(order, other, sizeof order);
}

static void test_larger_views_begin_with_the_same_frames(void **state)
{
    static uint64_t frame[PAGES], again[PAGES];
    struct layout more = small_scattered;
    more.bytes = 4 * VIEW_BYTES;
    (void)state;
    if (frames_of(&small_scattered, frame, PAGES)) {
        assert_true(frames_of(&more, again, PAGES));
        assert_memory_equal(frame, again, sizeof frame);
    }
}

static void test_hidden_addresses_are_not_made_up(void **state)
{
    uint64_t address = 1;
    const char *base = (const char *)show(&small_scattered);
    (void)state;
    assert_false(bench->physical(bench->self, base + VIEW_BYTES + PAGE_2M, &address));
    assert_int_equal(address, 1);
    if (bench->physical(bench->self, base + 100, &address)) {
        assert_int_equal(address % PAGE_4K, 100);
    }
}

/* ---- leaves ------------------------------------------------------------------------------------- */

static void nothing(void *arg)
{
    (void)arg;
}

static void must_have_leaves(const struct layout *layout, uint64_t small, uint64_t two_mib)
{
    struct proof found;
    (void)show(layout);
    run(nothing, NULL, &found);
    assert_true(found.leaves_known);
    assert_int_equal(found.leaves[SIZE_4K], small);
    assert_int_equal(found.leaves[SIZE_2M], two_mib);
    assert_int_equal(found.leaves[SIZE_1G], 0);
    assert_int_equal(found.tables, 0);
}

static void test_leaves_are_of_the_promised_size(void **state)
{
    struct layout odd = small_scattered;
    odd.bytes = PAGES_OF_4K(ODD_PAGES) - 1;
    (void)state;
    must_have_leaves(&small_scattered, VIEW_BYTES / PAGE_4K, 0);
    must_have_leaves(&odd, ODD_PAGES, 0);
    if (has_large()) {
        must_have_leaves(&large, 0, VIEW_BYTES / PAGE_2M);
        must_have_leaves(&small_in_order, VIEW_BYTES / PAGE_4K, 0);
        odd = large;
        odd.bytes = PAGE_4K; /* rounded up */
        must_have_leaves(&odd, 0, 1);
    }
}

static void take_a_leaf_apart(void *arg)
{
    (void)mprotect(arg, PAGE_4K, PROT_READ);
    (void)mprotect(arg, PAGE_4K, PROT_READ | PROT_WRITE);
}

/* What the system did to the pages while a body ran is noticed. */
static void test_a_leaf_that_was_lost_is_noticed(void **state)
{
    struct proof found;
    (void)state;
    void *base = has_large() ? show(&large) : NULL;
    if (base != NULL && metal.arena.shown->backing == LARGE) { /* reserved ones stay whole */
        assert_int_equal(bench->inside(bench->self, &plain, take_a_leaf_apart, base, &found),
                         ABSENT);
        assert_non_null(found.reason);
        assert_int_equal(found.leaves[SIZE_2M], VIEW_BYTES / PAGE_2M - 1);
        assert_int_equal(found.leaves[SIZE_4K], PAGE_2M / PAGE_4K);
        must_be_absent(&large, "took pages apart"); /* it stays lost */
    }
}

/* Of two mappings between others that hold nothing. */
static void test_pages_of_a_mapping_are_counted(void **state)
{
    uint64_t leaves[PAGE_SIZES];
    const size_t bytes = PAGES_OF_4K(16);
    char *all = mmap(NULL, 3 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *at = all + bytes;
    (void)state;
    assert_true(all != MAP_FAILED && madvise(all, 3 * bytes, MADV_NOHUGEPAGE) == 0);
    assert_int_equal(mprotect(at, bytes / 2, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(mprotect(at + bytes / 2, bytes / 2, PROT_READ), 0);
    at[0] = at[PAGE_4K] = at[PAGES_OF_4K(5)] = 1;
    assert_true(pages_count(at, PAGE_4K, leaves));
    assert_int_equal(leaves[SIZE_4K], 3);
    assert_int_equal(leaves[SIZE_2M] + leaves[SIZE_1G], 0);
    (void)*(volatile char *)(at + bytes - 1);
    assert_true(pages_count(at + bytes / 2, bytes / 2, leaves));
    assert_int_equal(leaves[SIZE_4K], 0); /* the page of zeros is nobody's */
    assert_true(pages_count(all, 3 * bytes, leaves));
    assert_int_equal(leaves[SIZE_4K], 3);
    assert_int_equal(munmap(all, 3 * bytes), 0);
}

/* ---- aliases ------------------------------------------------------------------------------------ */

static void test_pages_show_few_frames(void **state)
{
    struct layout aliased = small_scattered;
    struct proof found;
    (void)state;
    aliased.frames = ODD_PAGES;
    aliased.bytes = PAGES_OF_4K(ALIASES);
    const size_t words = PAGE_4K / sizeof(uint64_t);
    uint64_t *base = show(&aliased);
    struct job job = { base, PAGES_OF_4K(ODD_PAGES), 8, 6, false };
    run(write_words, &job, &found);
    assert_int_equal(found.leaves[SIZE_4K], ALIASES);
    for (size_t page = 0; page < ALIASES; page++) {
        assert_int_equal(base[page * words], (page % ODD_PAGES * words) ^ 6);
    }
    /* The first frames of the placing, whoever shows them. */
    must_show(&small_scattered, PAGES_OF_4K(ODD_PAGES), 6);
    aliased.frames = ALIASES + 1; /* more than there are pages: no aliases */
    must_show(&aliased, PAGES_OF_4K(ODD_PAGES), 6);
}

static void test_aliases_that_there_cannot_be(void **state)
{
    struct layout aliased = small_in_order;
    (void)state;
    aliased.frames = 1;
    must_be_absent(&aliased, "in order");
    if (!store_is_open(&metal.arena.store[RESERVED_2M])) {
        aliased.leaf = SIZE_2M;
        must_be_absent(&aliased, "vm.nr_hugepages");
    }
}

/* Where the administrator has set pages aside. */
static void test_reserved_pages_are_views_like_others(void **state)
{
    struct layout aliased = large;
    struct layout huge = small_in_order;
    struct proof found;
    (void)state;
    huge.leaf = SIZE_1G;
    if (store_is_open(&metal.arena.store[RESERVED_2M])) {
        aliased.frames = 1;
        struct job job = { show(&aliased), PAGE_2M, 8, 7, false };
        run(write_words, &job, &found);
        assert_int_equal(found.leaves[SIZE_2M], VIEW_BYTES / PAGE_2M);
        job.words += PAGE_2M / sizeof(uint64_t);
        run(check_words, &job, &found);
        assert_true(job.right);
        must_show(&small_in_order, PAGE_2M, 7);
    }
    if (machine.page_available[SIZE_1G]) {
        write_view(&small_in_order, 8);
        must_show(&huge, VIEW_BYTES, 8);
        write_view(&huge, 9);
        must_show(&large, VIEW_BYTES, 9);
        (void)show(&huge);
        run(nothing, NULL, &found);
        assert_int_equal(found.leaves[SIZE_1G], 1);
        assert_int_equal(found.leaves[SIZE_2M] + found.leaves[SIZE_4K], 0);
    }
}

/* ---- what there is not -------------------------------------------------------------------------- */

static void test_absent_views_say_why(void **state)
{
    struct layout layout = small_scattered;
    (void)state;
    layout.placing = PLACED_BALANCED;
    must_be_absent(&layout, "frames");
    layout = small_scattered;
    layout.node = 1;
    must_be_absent(&layout, "node");
    layout = small_scattered;
    layout.leaf = SIZE_2M;
    must_be_absent(&layout, "scattered");
    layout = small_scattered;
    layout.bytes = ARENA_LEAST + 1;
    must_be_absent(&layout, "larger");
    layout.bytes = SIZE_MAX;
    must_be_absent(&layout, "larger");
    layout.bytes = 0;
    must_be_absent(&layout, "larger");
    layout = large;
    layout.leaf = SIZE_1G;
    if (!machine.page_available[SIZE_1G]) {
        must_be_absent(&layout, "reserved");
    }
    must_have_leaves(&small_scattered, VIEW_BYTES / PAGE_4K, 0); /* nothing is broken */
}

static void test_nothing_is_mapped_but_the_view(void **state)
{
    uint64_t leaves[PAGE_SIZES];
    struct layout less = small_scattered;
    const char *base = (const char *)show(&small_scattered);
    (void)state;
    less.bytes = PAGE_4K;
    (void)show(&less);
    assert_true(pages_count(base, VIEW_BYTES, leaves));
    assert_int_equal(leaves[SIZE_4K], 1);
    less.node = 1;
    must_be_absent(&less, "node");
    assert_true(pages_count(base, VIEW_BYTES, leaves));
    assert_int_equal(leaves[SIZE_4K], 0);
}

static void test_conditions_that_there_cannot_be(void **state)
{
    struct proof found;
    struct job job = { .right = false };
    const struct conditions off = { .prefetchers_off = 1 };
    const struct conditions wide = { .vectors = VECTORS_AVX512 };
    const struct conditions strange = { .events = 1, .event = { 1000 } };
    (void)state;
    (void)show(&small_scattered);
    assert_int_equal(bench->inside(bench->self, &off, check_words, &job, &found), ABSENT);
    assert_non_null(strstr(found.reason, "prefetchers"));
    assert_int_equal(bench->inside(bench->self, &wide, check_words, &job, &found), ABSENT);
    assert_non_null(strstr(found.reason, "AVX-512"));
    assert_int_equal(bench->inside(bench->self, &strange, check_words, &job, &found), ABSENT);
    assert_non_null(strstr(found.reason, "event"));
    assert_false(job.right); /* it never ran */
    assert_int_equal(bench->forget(bench->self, FORGET_TLB), ABSENT);
}

/* ---- exceptions --------------------------------------------------------------------------------- */

static void touch_address(void *arg)
{
    *(volatile char *)arg = 1;
}

static void run_nonsense(void *arg)
{
    (void)arg;
    __asm__ volatile("ud2");
}

static void divide_by_zero(void *arg)
{
    (void)arg;
    __asm__ volatile("xor %%ecx, %%ecx\n\tdiv %%ecx" ::: "eax", "ecx", "edx");
}

static void must_fault(void (*body)(void *), void *arg, uint64_t vector, uint64_t address)
{
    struct proof found;
    assert_int_equal(bench->inside(bench->self, &plain, body, arg, &found), FAULTED);
    assert_int_equal(found.fault.vector, vector);
    assert_int_equal(found.fault.address, address);
    assert_true(found.fault.ip >= (uintptr_t)body && found.fault.ip < (uintptr_t)body + 256);
    assert_non_null(found.reason);
}

static void test_exceptions_end_their_body_only(void **state)
{
    char *base = (char *)show(&small_scattered);
    (void)state;
    assert_int_equal(catch_prepare(), OK); /* cmocka catches them, too, for each test anew */
    for (unsigned i = 0; i < 2; i++) {
        must_fault(touch_address, base + VIEW_BYTES, 14, ARENA_BASE + VIEW_BYTES);
        must_fault(run_nonsense, NULL, 6, 0);
        must_fault(divide_by_zero, NULL, 0, 0);
    }
    must_have_leaves(&small_scattered, VIEW_BYTES / PAGE_4K, 0);
}

/* Outside of a body an exception is the end of the program, as ever. */
static void test_exceptions_elsewhere_end_the_program(void **state)
{
    int ended = 0;
    (void)state;
    (void)show(&small_scattered);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct proof found;
        (void)catch_prepare();
        (void)bench->inside(bench->self, &plain, run_nonsense, NULL, &found);
        run_nonsense(NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended));
    assert_int_equal(WTERMSIG(ended), SIGILL);
}

/* ---- time --------------------------------------------------------------------------------------- */

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void note_time(void *arg)
{
    *(double *)arg = seconds_now();
}

static void test_others_get_their_turn(void **state)
{
    double first = 0, second = 0;
    struct proof found;
    (void)state;
    (void)show(&small_scattered);
    run(note_time, &first, &found);
    run(note_time, &second, &found);
    assert_true(second - first >= 0.02);
}

struct reading_pair {
    struct reading from, to;
};

/* Long enough that a scheduler lets the other one have a turn. */
static void read_around_a_slice(void *arg)
{
    struct reading_pair *pair = arg;
    bench->read(bench->self, &pair->from);
    const double end = seconds_now() + SLICE_MICROSECONDS * 1e-6;
    while (seconds_now() < end) {
    }
    bench->read(bench->self, &pair->to);
}

/* A process that wants the same processor all the time. */
static pid_t start_rival(void)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET((size_t)sched_getcpu(), &only);
    assert_int_equal(sched_setaffinity(0, sizeof only, &only), 0);
    const pid_t rival = fork();
    assert_true(rival >= 0);
    if (rival == 0) {
        const double end = seconds_now() + 10;
        while (seconds_now() < end) {
        }
        _exit(0);
    }
    return rival;
}

static void test_being_put_aside_is_counted(void **state)
{
    struct reading_pair pair = { 0 };
    struct proof found;
    (void)state;
    (void)show(&small_scattered);
    const pid_t rival = start_rival();
    for (unsigned i = 0; i < 20 && pair.to.pending == pair.from.pending; i++) {
        run(read_around_a_slice, &pair, &found);
    }
    assert_int_equal(kill(rival, SIGKILL), 0);
    assert_int_equal(waitpid(rival, NULL, 0), rival);
    assert_true(pair.to.pending > pair.from.pending);
    assert_true(pair.to.tsc > pair.from.tsc);
    assert_int_equal(pair.to.known & 1U << KNOWN_SMIS, 0);
}

/* ---- counters ----------------------------------------------------------------------------------- */

/* The kernel's own events are counted, read and refused as the processor's are. */
static void test_counters_count_together(void **state)
{
    const struct counter_event two[] = {
        { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
        { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
    };
    const size_t bytes = PAGES_OF_4K(32);
    struct counters counters;
    uint64_t before[BENCH_EVENTS], after[BENCH_EVENTS];
    (void)state;
    if (counters_open(&counters, two, 2) != OK) { /* not for this user */
        assert_false(counters_read(&counters, before));
        return;
    }
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED && madvise(at, bytes, MADV_NOHUGEPAGE) == 0);
    assert_true(counters_read(&counters, before));
    for (size_t i = 0; i < bytes; i += PAGE_4K) {
        at[i] = 1;
    }
    assert_true(counters_read(&counters, after));
    assert_true(after[0] - before[0] >= 32 && after[0] - before[0] < 64);
    assert_int_equal(after[1], 0);
    counters_close(&counters);
    assert_false(counters_read(&counters, after));
    assert_int_equal(munmap(at, bytes), 0);
}

static void test_counters_open_all_or_none(void **state)
{
    const struct counter_event event[] = {
        { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
        { PERF_TYPE_SOFTWARE, UINT64_MAX },
    };
    struct counters counters;
    (void)state;
    assert_int_equal(counters_open(&counters, event, 2), ABSENT);
    assert_int_equal(counters.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents_go_with_the_placing),
        cmocka_unit_test(test_smaller_views_leave_the_rest_alone),
        cmocka_unit_test(test_frames_lie_as_promised),
        cmocka_unit_test(test_neighbours_are_not_touched_in_succession),
        cmocka_unit_test(test_larger_views_begin_with_the_same_frames),
        cmocka_unit_test(test_hidden_addresses_are_not_made_up),
        cmocka_unit_test(test_leaves_are_of_the_promised_size),
        cmocka_unit_test(test_pages_of_a_mapping_are_counted),
        cmocka_unit_test(test_pages_show_few_frames),
        cmocka_unit_test(test_aliases_that_there_cannot_be),
        cmocka_unit_test(test_reserved_pages_are_views_like_others),
        cmocka_unit_test(test_absent_views_say_why),
        cmocka_unit_test(test_nothing_is_mapped_but_the_view),
        cmocka_unit_test(test_conditions_that_there_cannot_be),
        cmocka_unit_test(test_exceptions_end_their_body_only),
        cmocka_unit_test(test_exceptions_elsewhere_end_the_program),
        cmocka_unit_test(test_others_get_their_turn),
        cmocka_unit_test(test_being_put_aside_is_counted),
        cmocka_unit_test(test_counters_count_together),
        cmocka_unit_test(test_counters_open_all_or_none),
        cmocka_unit_test(test_a_leaf_that_was_lost_is_noticed), /* the last: it spoils a page */
    };
    return cmocka_run_group_tests(tests, open_bench, close_bench);
}
