/* The run loop: what is measured when, what observers hear, and what stays when a run is stopped or
 * faults. The sampler is this test's own: it notes each visit and answers as scripted. */
#include "boot/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 64, VISIT_SECONDS = 2, LOG = 4096 };

/* --- The sampler --------------------------------------------------------------------------- */

/* What a visit of a measurement answers, instead of OK. */
struct script {
    size_t measurement; /* by its number in the kernel's list */
    unsigned number;    /* of the visit */
    enum status status;
    const char *reason;
    struct fault fault;
    size_t samples; /* that it leaves behind all the same */
};

static const struct script *script;
static size_t scripts;
static char log_text[LOG]; /* what happened, a word each */
static double clock_seconds, seconds_a_visit, seconds_a_build;
static const struct bench the_bench;

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
    const size_t length = strlen(log_text);
    va_list values;
    va_start(values, format);
    (void)vsnprintf(log_text + length, sizeof log_text - length, format, values);
    va_end(values);
}

static size_t number_of(const struct measurement *measurement)
{
    return measurement->variant.value[V_WORKING_SET].number;
}

unsigned sampler_visits(const struct sampling *how, const struct measurement *measurement)
{
    return measurement->bytes > (size_t)64 * MIB ? 1 : how->visits;
}

static void add_samples(struct series *series, size_t count, unsigned number)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(series->count < series->room);
        series->sample[series->count++] =
            (struct sample){ .ns = 10.0 + number, .cycles = NAN, .visit = number };
        series->operations += 100;
    }
}

enum status sampler_visit(const struct bench *bench, const struct measurement *measurement,
                          const struct sampling *how, unsigned number, bool build,
                          struct series *series)
{
    assert_ptr_equal(bench, &the_bench);
    note("%s%zu.%u ", build ? "+" : "", number_of(measurement), number);
    clock_seconds += seconds_a_visit + (build ? seconds_a_build : 0);
    for (size_t i = 0; i < scripts; i++) {
        if (script[i].measurement == number_of(measurement) && script[i].number == number) {
            add_samples(series, script[i].samples, number);
            series->reason = script[i].reason;
            series->fault = script[i].fault;
            return script[i].status;
        }
    }
    add_samples(series, (how->repetitions * 4 + number) / how->visits, number);
    return OK;
}

void sampler_point(const struct measurement *measurement, const struct sampling *how,
                   const struct series *series, struct point *point)
{
    (void)how;
    const size_t given = measurement->layout.frames;
    assert_true(series->count > 0);
    *point = (struct point){
        .variant = measurement->variant,
        .unit = measurement->kernel->unit,
        .operations = series->operations,
        .ns = { .median = given != 0 ? (double)given : 10 + (double)number_of(measurement),
                .low = NAN,
                .high = NAN,
                .samples = (unsigned)series->count,
                .visits = series->sample[series->count - 1].visit + 1 },
        .predicted = NAN,
        .reason = series->reason,
    };
}

/* --- Kernels ------------------------------------------------------------------------------- */

static struct measurement listed[16];
static size_t listed_count;

static void list(const struct scope *scope, const struct kernel *self, struct measurement_list *out)
{
    (void)scope;
    for (size_t i = 0; i < listed_count; i++) {
        struct measurement copy = listed[i];
        copy.kernel = self;
        (void)measurement_add(out, &copy);
    }
}

static void list_one(const struct scope *scope, const struct kernel *self,
                     struct measurement_list *out)
{
    (void)scope;
    struct measurement one = { .kernel = self, .data = 1, .seconds = 3 };
    variant_set_number(&one.variant, V_WORKING_SET, 50);
    (void)measurement_add(out, &one);
}

static struct results the_results;

/* How many points there were before. */
static double predict(const struct machine *machine, const struct variant *variant,
                      const struct point *measured, size_t n)
{
    (void)machine;
    const struct experiment *experiment = &the_results.experiment[the_results.experiments - 1];
    assert_ptr_equal(measured, &the_results.point[experiment->first_point]);
    assert_true(n == 0 || variant_has(&measured[n - 1].variant, V_WORKING_SET));
    assert_true(n == 0 || !variant_equal(variant, &measured[n - 1].variant));
    return (double)n;
}

static const enum variant_key columns[] = { V_WORKING_SET, VARIANT_KEYS };

static const struct kernel chase = {
    .name = "chase",
    .title = "Chase",
    .unit = "load",
    .list = list,
    .predict = predict,
    .columns = columns,
};
static const struct kernel mlp = {
    .name = "mlp",
    .title = "Mlp",
    .unit = "load",
    .list = list_one,
    .columns = columns,
};
static const struct kernel *const kernels[] = { &chase, &mlp, NULL };

/* --- An observer --------------------------------------------------------------------------- */

static size_t stop_after; /* so many progress calls */
static size_t progresses;
static struct progress last_progress;
static double all_progress[256][3]; /* done, all, left */

static void see_begin(void *self, const struct results *results)
{
    assert_ptr_equal(self, &progresses);
    assert_int_equal(results->experiments, 0);
    note("begin ");
}

static void see_progress(void *self, const struct progress *progress)
{
    (void)self;
    last_progress = *progress;
    all_progress[progresses][0] = (double)progress->done;
    all_progress[progresses][1] = (double)progress->all;
    all_progress[progresses][2] = progress->seconds_left;
    progresses++;
}

static void see_experiment(void *self, const struct results *results,
                           const struct experiment *experiment, const struct kernel *kernel)
{
    (void)self;
    assert_ptr_equal(experiment, &results->experiment[results->experiments - 1]);
    assert_string_equal(experiment->name, kernel->name);
    note("%s( ", kernel->name);
}

static void see_visit(void *self, const struct experiment *experiment,
                      const struct measurement *measurement, const struct series *series)
{
    (void)self;
    (void)experiment;
    assert_true(series->count > 0);
    note("v%zu ", number_of(measurement));
}

static void see_point(void *self, const struct experiment *experiment, const struct point *point,
                      const struct series *series)
{
    (void)self;
    assert_true(experiment->points > 0);
    assert_int_equal(series->count, point->ns.samples);
    note("p%zu ", (size_t)point->variant.value[V_WORKING_SET].number);
}

static void see_experiment_end(void *self, const struct results *results,
                               const struct experiment *experiment)
{
    (void)self;
    (void)results;
    note(")%s ", experiment_status_name[experiment->status]);
}

static void see_end(void *self, const struct results *results)
{
    (void)self;
    note("%s", run_status_name[results->status]);
}

static bool wants_stop(void *self)
{
    (void)self;
    return progresses >= stop_after;
}

static const struct observer observers[] = {
    { .self = NULL }, /* members may be NULL */
    {
        .self = &progresses,
        .begin = see_begin,
        .progress = see_progress,
        .experiment_begin = see_experiment,
        .visit = see_visit,
        .point = see_point,
        .experiment_end = see_experiment_end,
        .end = see_end,
        .wants_stop = wants_stop,
    },
};

/* --- A run --------------------------------------------------------------------------------- */

static struct settings settings;
static struct machine machine;
static struct plan plan;
static struct measurement measurement[ROOM];
static struct run run;
static void *memory;

static double seconds(void *self)
{
    assert_ptr_equal(self, &run);
    return clock_seconds;
}

static int fresh(void **state)
{
    (void)state;
    settings_defaults(&settings, kernels);
    machine = (struct machine){ .arena_bytes = GIB };
    memset(listed, 0, sizeof listed);
    listed_count = 0;
    script = NULL;
    scripts = 0;
    log_text[0] = '\0';
    clock_seconds = 100;
    seconds_a_visit = VISIT_SECONDS;
    seconds_a_build = 0;
    stop_after = SIZE_MAX;
    progresses = 0;
    memory = NULL;
    run = (struct run){ .plan = &plan,
                        .bench = &the_bench,
                        .results = &the_results,
                        .observer = observers,
                        .observers = 2,
                        .self = &run,
                        .seconds = seconds };
    return 0;
}

static int clean(void **state)
{
    (void)state;
    free(memory);
    return 0;
}

static void set(const char *assignment)
{
    const struct setting_place place = { SOURCE_OPTIONS, "load options", 0 };
    settings_assign(&settings, &place, assignment);
    assert_true(settings_ok(&settings));
}

/* Measurement number `listed_count`, from 1. */
static struct measurement *add(unsigned data)
{
    struct measurement *at = &listed[listed_count++];
    *at = (struct measurement){ .data = data, .bytes = 4096, .seconds = 3, .build_seconds = 1 };
    variant_set_number(&at->variant, V_WORKING_SET, listed_count);
    return at;
}

/* Runs what is set and listed, in memory of exactly the size asked for. */
static void go(void)
{
    const size_t count = plan_count(&settings, &machine);
    assert_in_range(count, 0, ROOM);
    plan_make(&plan, &settings, &machine, measurement, count);
    const size_t bytes = run_bytes(&plan);
    memory = malloc(bytes);
    memset(memory, 0xa5, bytes);
    run_divide(&run, memory);
    run_plan(&run);
}

static void assert_log(const char *want)
{
    assert_string_equal(log_text, want);
}

/* --- What comes when ----------------------------------------------------------------------- */

static void test_one_visit(void **state)
{
    (void)state;
    (void)add(1);
    (void)add(1);
    (void)add(2);
    set("suite=smoke");
    go();
    assert_log("begin chase( +1.0 p1 2.0 p2 +3.0 p3 )ok mlp( +50.0 p50 )ok complete");
    assert_int_equal(the_results.status, RUN_COMPLETE);
    assert_null(the_results.status_reason);
    assert_int_equal(the_results.experiments, 2);
    assert_int_equal(the_results.points, 4);
    assert_int_equal(the_results.experiment[0].first_point, 0);
    assert_int_equal(the_results.experiment[0].points, 3);
    assert_int_equal(the_results.experiment[1].first_point, 3);
    assert_int_equal(the_results.experiment[1].points, 1);
    assert_string_equal(the_results.experiment[0].title, "Chase");
    assert_null(the_results.experiment[0].reason);
    assert_true(the_results.point[2].predicted == 2);
    assert_true(isnan(the_results.point[3].predicted)); /* mlp predicts nothing */
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(the_results.point[i].flags, 0);
    }
}

/* Two visits: shuffled groups first, then as listed; each visit builds each group once. */
static void test_visits(void **state)
{
    (void)state;
    (void)add(1);
    (void)add(1);
    (void)add(2);
    (void)add(2);
    set("experiments=chase");
    set("repetitions=2");
    go();
    const char *last = strstr(log_text, "+1.1 ");
    assert_non_null(last);
    assert_string_equal(last, "+1.1 p1 2.1 p2 +3.1 p3 4.1 p4 )ok complete");
    const size_t first_part = (size_t)(last - log_text);
    const char *one = "begin chase( +1.0 v1 2.0 v2 +3.0 v3 4.0 v4 ";
    const char *other = "begin chase( +3.0 v3 4.0 v4 +1.0 v1 2.0 v2 ";
    assert_true(strncmp(log_text, one, first_part) == 0 ||
                strncmp(log_text, other, first_part) == 0);
    assert_int_equal(the_results.point[0].ns.visits, 2);
    assert_int_equal(the_results.points, 4);
}

/* The order of the groups in one visit, as digits. */
static void order_of_visit(unsigned visit, char *order)
{
    size_t length = 0;
    for (const char *at = log_text; (at = strchr(at, '+')) != NULL; at++) {
        unsigned number = 0, of = 0;
        assert_int_equal(sscanf(at, "+%u.%u", &number, &of), 2);
        if (of == visit) {
            order[length++] = (char)('a' + (char)number);
        }
    }
    order[length] = '\0';
}

static void test_shuffle(void **state)
{
    (void)state;
    char order[2][3][16];
    static const char *const seeds[] = { "seed=1", "seed=2" };
    for (unsigned i = 0; i < 12; i++) {
        (void)add(i);
    }
    set("experiments=chase");
    for (size_t s = 0; s < 2; s++) {
        set(seeds[s]);
        log_text[0] = '\0';
        free(memory);
        go();
        for (unsigned visit = 0; visit < 3; visit++) {
            order_of_visit(visit, order[s][visit]);
            assert_int_equal(strlen(order[s][visit]), 12);
            for (int c = 'b'; c < 'b' + 12; c++) { /* each once */
                assert_non_null(strchr(order[s][visit], c));
            }
        }
        assert_string_equal(order[s][2], "bcdefghijklm");
        assert_string_not_equal(order[s][0], order[s][2]);
        assert_string_not_equal(order[s][1], order[s][2]);
        assert_string_not_equal(order[s][0], order[s][1]);
    }
    assert_string_not_equal(order[0][0], order[1][0]); /* the seed matters */
    char again[16];
    set("seed=1");
    log_text[0] = '\0';
    free(memory);
    go();
    order_of_visit(0, again);
    assert_string_equal(again, order[0][0]); /* and nothing else does */
}

/* What has one visit only is measured in the last, so that rows come in the listed order. */
static void test_large_sets_have_one_visit(void **state)
{
    (void)state;
    (void)add(1);
    add(2)->bytes = (size_t)65 * MIB;
    set("experiments=chase");
    set("repetitions=2");
    go();
    assert_log("begin chase( +1.0 v1 +1.1 p1 +2.0 p2 )ok complete");
    assert_int_equal(the_results.point[1].flags, 0);
}

/* In one group, data of another visit is not this visit's. */
static void test_mixed_visits_in_a_group(void **state)
{
    (void)state;
    (void)add(1);
    add(1)->bytes = (size_t)65 * MIB;
    (void)add(1);
    set("experiments=chase");
    set("repetitions=2");
    go();
    assert_log("begin chase( +1.0 v1 3.0 v3 +1.1 p1 +2.0 p2 +3.1 p3 )ok complete");
}

static void test_repeat(void **state)
{
    (void)state;
    (void)add(1);
    set("suite=smoke");
    set("repeat=2");
    go();
    assert_log("begin chase( +1.0 p1 )ok mlp( +50.0 p50 )ok chase( +1.0 p1 )ok mlp( +50.0 p50 )ok "
               "complete");
    assert_int_equal(the_results.experiments, 4);
    assert_int_equal(the_results.experiment[3].first_point, 3);
    assert_true(the_results.point[2].predicted == 0); /* each pass is its own */
    assert_int_equal(the_results.point[1].variant.value[V_PASS].number, 1);
    assert_int_equal(the_results.point[2].variant.value[V_PASS].number, 2);
}

/* --- What the machine does not have -------------------------------------------------------- */

static void test_skipped(void **state)
{
    (void)state;
    (void)add(1);
    add(1)->skip = "no free aligned GiB";
    add(2)->skip = "no free aligned GiB";
    add(3)->skip = "larger than the arena";
    (void)add(3);
    set("experiments=chase");
    set("suite=smoke");
    go();
    assert_false(variant_has(&the_results.point[0].variant, V_PASS));
    assert_log("begin chase( +1.0 p1 +5.0 p5 )ok complete");
    assert_int_equal(the_results.experiment[0].status, EXPERIMENT_OK);
    assert_string_equal(the_results.experiment[0].reason,
                        "2 not measured: no free aligned GiB; 1 not measured: larger than the "
                        "arena");
}

/* Absent at the first try: the rest of its visits are left out, the next member builds. */
static void test_absent(void **state)
{
    (void)state;
    static const struct script absent[] = {
        { .measurement = 1, .number = 0, .status = ABSENT, .reason = "not so many frames" },
        { .measurement = 4, .number = 1, .status = ABSENT },
    };
    script = absent;
    scripts = 2;
    (void)add(1);
    (void)add(1);
    (void)add(1);
    (void)add(2);
    set("experiments=chase");
    set("repetitions=2");
    set("seed=3");
    go();
    const char *last = strstr(log_text, "+2.1 ");
    assert_non_null(last);
    assert_string_equal(last, "+2.1 p2 3.1 p3 +4.1 p4 )ok complete");
    const char *first = strstr(log_text, "+1.0 +2.0 v2 3.0 v3 ");
    assert_non_null(first);
    assert_null(strstr(first + 2, "1.0 "));
    assert_null(strstr(last, "1.0 "));
    assert_string_equal(the_results.experiment[0].reason,
                        "1 not measured: not so many frames; 1 not measured: not available here");
    assert_int_equal(the_results.points, 3);
    assert_int_equal(the_results.point[2].flags, 1u << FLAG_PARTIAL); /* one visit it had */
    assert_int_equal(the_results.status, RUN_COMPLETE);
}

static void test_nothing_left(void **state)
{
    (void)state;
    static const struct script absent = { 50, 0, ABSENT, "no such vectors", { 0 }, 0 };
    script = &absent;
    scripts = 1;
    add(1)->skip = "no pages";
    set("suite=smoke");
    go();
    assert_log("begin chase( )skipped mlp( +50.0 )skipped complete");
    assert_string_equal(the_results.experiment[0].reason, "1 not measured: no pages");
    assert_string_equal(the_results.experiment[1].reason, "1 not measured: no such vectors");
    assert_int_equal(the_results.status, RUN_COMPLETE);
    listed_count = 0;
    log_text[0] = '\0';
    free(memory);
    set("experiments=chase");
    go();
    assert_string_equal(the_results.experiment[0].reason,
                        "nothing to measure under these settings");
    assert_int_equal(the_results.experiment[0].status, EXPERIMENT_SKIPPED);
}

/* --- Stopped ------------------------------------------------------------------------------- */

/* In the second of three visits: what has a visit becomes a point, in the listed order. */
static void test_stop_between_visits(void **state)
{
    (void)state;
    (void)add(1);
    (void)add(1);
    (void)add(1);
    add(2)->bytes = (size_t)65 * MIB;
    set("experiments=chase,mlp");
    stop_after = 4;
    go();
    assert_log("begin chase( +1.0 v1 2.0 v2 3.0 v3 +1.1 v1 p1 p2 p3 )partial mlp( )skipped "
               "partial");
    assert_int_equal(the_results.points, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(the_results.point[i].flags, 1u << FLAG_PARTIAL);
    }
    assert_int_equal(the_results.point[0].ns.visits, 2);
    assert_int_equal(the_results.point[1].ns.visits, 1);
    assert_string_equal(the_results.experiment[0].reason, "stopped on request");
    assert_string_equal(the_results.experiment[1].reason, "stopped on request");
    assert_string_equal(the_results.status_reason, "stopped on request");
}

/* In the last visit: the points that were told stay as they are. */
static void test_stop_in_the_last_visit(void **state)
{
    (void)state;
    (void)add(1);
    (void)add(1);
    set("experiments=chase");
    set("repetitions=2");
    stop_after = 3;
    go();
    assert_log("begin chase( +1.0 v1 2.0 v2 +1.1 p1 p2 )partial partial");
    assert_int_equal(the_results.point[0].flags, 0);
    assert_int_equal(the_results.point[1].flags, 1u << FLAG_PARTIAL);
}

static void test_stop_before_anything(void **state)
{
    (void)state;
    (void)add(1);
    stop_after = 0;
    set("repeat=3");
    go();
    assert_log("begin chase( )skipped mlp( )skipped partial");
    assert_int_equal(the_results.points, 0);
}

/* Stopped while the last thing is measured: nothing is missing. */
static void test_stop_at_the_very_end(void **state)
{
    (void)state;
    (void)add(1);
    set("suite=smoke");
    stop_after = 2;
    go();
    assert_log("begin chase( +1.0 p1 )ok mlp( +50.0 p50 )ok complete");
    assert_null(the_results.status_reason);
}

static void test_time_limit(void **state)
{
    (void)state;
    (void)add(1);
    (void)add(2);
    (void)add(3);
    set("suite=smoke");
    set("time_limit=103"); /* the clock begins at 100, a visit takes 2 */
    go();
    assert_log("begin chase( +1.0 p1 +2.0 p2 )partial mlp( )skipped partial");
    assert_string_equal(the_results.status_reason, "the time limit was reached");
    assert_string_equal(the_results.experiment[0].reason, "the time limit was reached");
}

/* The reason of a stop and what was left out stand together. */
static void test_stop_and_skipped(void **state)
{
    (void)state;
    (void)add(1);
    add(1)->skip = "no pages";
    (void)add(2);
    set("suite=smoke");
    stop_after = 1;
    go();
    assert_string_equal(the_results.experiment[0].reason,
                        "stopped on request; 1 not measured: no pages");
}

/* --- Failed -------------------------------------------------------------------------------- */

static void test_fault(void **state)
{
    (void)state;
    static const struct script fault = {
        .measurement = 2,
        .number = 1,
        .status = FAULTED,
        .reason = "a page fault",
        .fault = { .vector = 14, .code = 2, .ip = 0xabc, .address = 0xdef },
        .samples = 1,
    };
    script = &fault;
    scripts = 1;
    for (unsigned i = 0; i < 3; i++) {
        variant_set_text(&add(1)->variant, V_ORDER, "random");
    }
    set("repetitions=2");
    go();
    assert_log("begin chase( +1.0 v1 2.0 v2 3.0 v3 +1.1 p1 2.1 p2 p3 )failed "
               "mlp( +50.0 v50 +50.1 p50 )ok failed");
    const struct experiment *experiment = &the_results.experiment[0];
    assert_int_equal(experiment->status, EXPERIMENT_FAILED);
    assert_int_equal(experiment->fault.vector, 14);
    assert_int_equal(experiment->fault.ip, 0xabc);
    assert_string_equal(experiment->reason,
                        "exception 14, error code 0x2, at 0xabc, address 0xdef, in chase: "
                        "working_set=2 order=random");
    assert_int_equal(the_results.status, RUN_FAILED);
    assert_ptr_equal(the_results.status_reason, experiment->reason);
    assert_int_equal(experiment->points, 3);
    assert_int_equal(the_results.point[0].flags, 0);
    assert_int_equal(the_results.point[1].flags, 1u << FLAG_PARTIAL);
    assert_int_equal(the_results.point[1].ns.samples, 4); /* of its first visit only */
    assert_true(the_results.point[1].operations == 400);
    assert_int_equal(the_results.point[2].flags, 1u << FLAG_PARTIAL);
}

static void test_fault_at_once(void **state)
{
    (void)state;
    static const struct script fault = { 1, 0, FAULTED, NULL, { .vector = 6 }, 0 };
    script = &fault;
    scripts = 1;
    (void)add(1);
    (void)add(2);
    set("suite=smoke");
    go();
    assert_log("begin chase( +1.0 )failed mlp( +50.0 p50 )ok failed");
    assert_int_equal(the_results.experiment[0].points, 0);
}

static void test_failed_proof(void **state)
{
    (void)state;
    static const struct script broken = { 1, 0, DENIED, "the order is no cycle", { 0 }, 2 };
    script = &broken;
    scripts = 1;
    (void)add(1);
    set("suite=smoke");
    go();
    assert_log("begin chase( +1.0 )failed mlp( +50.0 p50 )ok failed");
    assert_string_equal(the_results.experiment[0].reason,
                        "the order is no cycle, in chase: working_set=1");
    assert_int_equal(the_results.experiment[0].fault.vector, 0);
    assert_int_equal(the_results.points, 1);
}

/* A failure stays one when the run is stopped later. */
static void test_failed_and_stopped(void **state)
{
    (void)state;
    static const struct script broken = { 1, 0, IO_ERROR, NULL, { 0 }, 0 };
    script = &broken;
    scripts = 1;
    (void)add(1);
    stop_after = 1;
    go();
    assert_log("begin chase( +1.0 )failed mlp( )skipped failed");
    assert_string_equal(the_results.experiment[0].reason,
                        "the bench gave no reason, in chase: working_set=1");
}

/* A reason that is longer than its room is cut, and nothing else is touched. */
static void test_long_reasons(void **state)
{
    (void)state;
    static char endless[2][600];
    static struct script broken = { 1, 0, DENIED, endless[0], { 0 }, 0 };
    memset(endless[0], 'x', 599);
    memset(endless[1], 'y', 599);
    script = &broken;
    scripts = 1;
    (void)add(1);
    set("suite=smoke");
    go();
    assert_int_equal(strlen(the_results.experiment[0].reason), RUN_TEXT - 1);
    broken.status = ABSENT;
    add(2)->skip = endless[1];
    free(memory);
    go();
    assert_int_equal(strlen(the_results.experiment[0].reason), RUN_TEXT - 1);
    assert_int_equal(the_results.experiment[0].status, EXPERIMENT_SKIPPED);
}

/* --- The self-test ------------------------------------------------------------------------- */

static size_t checks_made, checks_failing;

static size_t selftest(void *self, struct check *check, size_t room)
{
    assert_ptr_equal(self, &run);
    assert_int_equal(room, RUN_CHECKS);
    note("checks ");
    for (size_t i = 0; i < checks_made; i++) {
        check[i] = (struct check){ .name = "check", .ok = i >= checks_failing };
    }
    return checks_made;
}

static void test_selftest(void **state)
{
    (void)state;
    (void)add(1);
    set("experiments=selftest,chase");
    set("suite=smoke");
    set("repeat=2");
    run.selftest = selftest;
    checks_made = RUN_CHECKS;
    checks_failing = 0;
    go();
    assert_log("begin selftest( checks )ok chase( +1.0 p1 )ok selftest( checks )ok "
               "chase( +1.0 p1 )ok complete");
    assert_int_equal(the_results.checks, 2 * RUN_CHECKS);
    assert_int_equal(the_results.experiment[2].first_check, RUN_CHECKS);
    assert_int_equal(the_results.experiment[2].checks, RUN_CHECKS);
    assert_int_equal(the_results.experiment[1].checks, 0);
}

static void test_selftest_fails(void **state)
{
    (void)state;
    set("experiments=selftest");
    run.selftest = selftest;
    checks_made = 5;
    checks_failing = 2;
    go();
    assert_int_equal(the_results.experiment[0].status, EXPERIMENT_FAILED);
    assert_string_equal(the_results.experiment[0].reason, "2 of 5 checks failed");
    assert_int_equal(the_results.status, RUN_FAILED);
    checks_made = 0; /* nothing shown is nothing proved */
    free(memory);
    go();
    assert_int_equal(the_results.status, RUN_FAILED);
}

static void test_no_selftest(void **state)
{
    (void)state;
    set("experiments=selftest");
    go();
    assert_log("begin selftest( )skipped complete");
    assert_string_equal(the_results.experiment[0].reason, "this program has no self-test");
}

/* --- What points carry --------------------------------------------------------------------- */

static void test_emulated(void **state)
{
    (void)state;
    machine.processor.emulated = true;
    (void)add(1);
    set("suite=smoke");
    go();
    assert_int_equal(the_results.point[0].flags, 1u << FLAG_EMULATED);
}

/* Held against the points before it, within its experiment. */
static void test_suspect(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        variant_set_text(&add(i)->variant, V_ORDER, "random");
    }
    listed[1].layout.frames = 5; /* ns */
    set("suite=smoke");
    set("repeat=2");
    go();
    static const uint32_t want[] = { 0, 1u << FLAG_SUSPECT, 0, 0, 0, 1u << FLAG_SUSPECT, 0, 0 };
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(the_results.point[i].flags, want[i]);
        assert_int_equal(the_results.point[i].reason != NULL, want[i] != 0);
    }
}

/* --- Progress ------------------------------------------------------------------------------ */

/* The plan's time, as long as everything takes what the plan says. */
static void test_progress_as_planned(void **state)
{
    (void)state;
    (void)add(1);
    (void)add(1);
    (void)add(2);
    listed[0].build_seconds = 7;
    listed[1].build_seconds = 0;
    listed[2].build_seconds = 7;
    set("experiments=chase");
    set("repetitions=3");
    seconds_a_visit = 1;
    seconds_a_build = 7;
    go();
    assert_int_equal(progresses, 9);
    assert_true(fabs(plan.seconds - 9 - 6 * 7) < 1e-9);
    for (size_t i = 0; i < progresses; i++) {
        assert_true(all_progress[i][0] == (double)i);
        assert_true(all_progress[i][1] == 9);
    }
    assert_true(fabs(all_progress[0][2] - plan.seconds) < 1e-9);
    assert_true(fabs(all_progress[6][2] - 3 - 2 * 7) < 1e-9);
    assert_true(fabs(all_progress[8][2] - 1 - 7) < 1e-9);
    assert_string_equal(last_progress.experiment, "chase");
    assert_true(fabs(last_progress.seconds_done - 100 - 8 - 5 * 7) < 1e-9);
    assert_int_equal(last_progress.variant->value[V_WORKING_SET].number, 3);
}

/* Building counts once for each visit of a group. */
static void test_progress_counts_building(void **state)
{
    (void)state;
    (void)add(1);
    (void)add(1);
    set("experiments=chase");
    set("repetitions=3");
    go();
    assert_true(fabs(all_progress[0][2] - (6.0 + 3.0)) < 1e-9);
    assert_true(fabs(plan.seconds - 9.0) < 1e-9);
}

/* A machine that is four times slower than planned: the rest is stretched accordingly. */
static void test_progress_learns(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        (void)add(i);
        listed[i].build_seconds = 0;
    }
    set("experiments=chase");
    set("suite=smoke");
    seconds_a_visit = 12; /* planned: 3 */
    go();
    assert_true(fabs(all_progress[0][2] - 36) < 1e-9);
    const double planned_rest = 3, true_rest = 12;
    assert_true(all_progress[11][2] > 0.85 * true_rest && all_progress[11][2] < true_rest);
    assert_true(all_progress[11][2] > planned_rest);
}

/* What falls away is no longer ahead: with the last visit nothing is left. */
static void test_progress_without_what_failed(void **state)
{
    (void)state;
    static const struct script gone[] = { { 1, 0, ABSENT, "none", { 0 }, 0 },
                                          { 3, 0, FAULTED, NULL, { 0 }, 0 } };
    script = gone;
    scripts = 2;
    for (unsigned i = 0; i < 4; i++) {
        (void)add(1);
    }
    set("suite=smoke");
    set("repeat=2");
    go();
    /* 1 absent, 2, 3 faults, mlp; and all of it again */
    static const double want[][2] = { { 0, 10 }, { 0, 9 }, { 1, 9 }, { 1, 7 },
                                      { 2, 7 },  { 2, 6 }, { 3, 6 }, { 3, 4 } };
    assert_int_equal(progresses, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_true(all_progress[i][0] == want[i][0]);
        assert_true(all_progress[i][1] == want[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_visit, fresh, clean),
        cmocka_unit_test_setup_teardown(test_visits, fresh, clean),
        cmocka_unit_test_setup_teardown(test_shuffle, fresh, clean),
        cmocka_unit_test_setup_teardown(test_large_sets_have_one_visit, fresh, clean),
        cmocka_unit_test_setup_teardown(test_mixed_visits_in_a_group, fresh, clean),
        cmocka_unit_test_setup_teardown(test_repeat, fresh, clean),
        cmocka_unit_test_setup_teardown(test_skipped, fresh, clean),
        cmocka_unit_test_setup_teardown(test_absent, fresh, clean),
        cmocka_unit_test_setup_teardown(test_nothing_left, fresh, clean),
        cmocka_unit_test_setup_teardown(test_stop_between_visits, fresh, clean),
        cmocka_unit_test_setup_teardown(test_stop_in_the_last_visit, fresh, clean),
        cmocka_unit_test_setup_teardown(test_stop_before_anything, fresh, clean),
        cmocka_unit_test_setup_teardown(test_stop_at_the_very_end, fresh, clean),
        cmocka_unit_test_setup_teardown(test_time_limit, fresh, clean),
        cmocka_unit_test_setup_teardown(test_stop_and_skipped, fresh, clean),
        cmocka_unit_test_setup_teardown(test_fault, fresh, clean),
        cmocka_unit_test_setup_teardown(test_fault_at_once, fresh, clean),
        cmocka_unit_test_setup_teardown(test_failed_proof, fresh, clean),
        cmocka_unit_test_setup_teardown(test_failed_and_stopped, fresh, clean),
        cmocka_unit_test_setup_teardown(test_long_reasons, fresh, clean),
        cmocka_unit_test_setup_teardown(test_selftest, fresh, clean),
        cmocka_unit_test_setup_teardown(test_selftest_fails, fresh, clean),
        cmocka_unit_test_setup_teardown(test_no_selftest, fresh, clean),
        cmocka_unit_test_setup_teardown(test_emulated, fresh, clean),
        cmocka_unit_test_setup_teardown(test_suspect, fresh, clean),
        cmocka_unit_test_setup_teardown(test_progress_as_planned, fresh, clean),
        cmocka_unit_test_setup_teardown(test_progress_counts_building, fresh, clean),
        cmocka_unit_test_setup_teardown(test_progress_learns, fresh, clean),
        cmocka_unit_test_setup_teardown(test_progress_without_what_failed, fresh, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
