#include "boot/run.h"

#include "kernels/infer.h"
#include "kernels/plausible.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Most samples of a measurement, as a multiple of the repetitions (kernels/sampler.h). */
enum { SAMPLES_TIMES_R = 4 };

/* So many seconds of the plan are believed before the clock has its say. */
#define BELIEVED_SECONDS 5.0

/* What the loop knows while it runs. */
struct running {
    struct run *run;
    const struct plan *plan;
    struct results *results;
    const char *stop; /* why it ends early, or NULL */
    bool interrupted; /* by that, in the middle of an experiment */

    /* Of this experiment. */
    size_t pass, index;
    struct experiment *experiment;
    const struct measurement *measurement;
    size_t items, groups;

    /* Of the whole run. */
    size_t visits_done;
    double estimated; /* seconds that the plan gave for what is done */
    double began;     /* on the run's clock */
};

/* --- Memory -------------------------------------------------------------------------------- */

/* Everything that run_divide cuts from one piece of memory. */
struct pieces {
    struct run_memory own;
    struct experiment *experiment;
    struct point *point;
    struct check *check;
    struct sample *sample;
    struct finding *finding;
    size_t points, checks, items, samples; /* samples of one measurement */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool has_selftest(const struct plan *plan)
{
    return plan->experiments > 0 && plan->experiment[0].kernel == &selftest_row;
}

static void count_pieces(const struct plan *plan, struct pieces *pieces)
{
    *pieces =
        (struct pieces){ .samples = larger((size_t)SAMPLES_TIMES_R * plan->sampling.repetitions,
                                           plan->sampling.visits) };
    for (size_t i = 0; i < plan->experiments; i++) {
        pieces->items = larger(pieces->items, plan->experiment[i].count);
        pieces->points += plan->experiment[i].count * plan->repeat;
    }
    pieces->checks = has_selftest(plan) ? (size_t)RUN_CHECKS * plan->repeat : 0;
}

/* The next piece of the memory, in whole 16 bytes. */
static void *cut(uintptr_t memory, size_t *used, size_t count, size_t bytes)
{
    const uintptr_t piece = memory + *used;
    *used += (count * bytes + 15) & ~(size_t)15;
    return (void *)piece;
}

/* Cuts all pieces; returns how much that takes. To count, memory may be 0. */
static size_t cut_pieces(const struct plan *plan, uintptr_t memory, struct pieces *pieces)
{
    count_pieces(plan, pieces);
    const size_t items = pieces->items;
    const size_t experiments = plan->experiments * plan->repeat;
    size_t used = 0;
    pieces->own.item = cut(memory, &used, items, sizeof *pieces->own.item);
    pieces->own.group = cut(memory, &used, items, sizeof *pieces->own.group);
    pieces->own.order = cut(memory, &used, items, sizeof *pieces->own.order);
    pieces->own.text = cut(memory, &used, experiments, sizeof *pieces->own.text);
    pieces->experiment = cut(memory, &used, experiments, sizeof *pieces->experiment);
    pieces->point = cut(memory, &used, pieces->points, sizeof *pieces->point);
    pieces->check = cut(memory, &used, pieces->checks, sizeof *pieces->check);
    pieces->sample = cut(memory, &used, items * pieces->samples, sizeof *pieces->sample);
    pieces->finding = cut(memory, &used, INFER_MOST, sizeof *pieces->finding);
    return used;
}

size_t run_bytes(const struct plan *plan)
{
    struct pieces pieces;
    return cut_pieces(plan, 0, &pieces);
}

void run_divide(struct run *run, void *memory)
{
    struct pieces pieces;
    struct results *results = run->results;
    (void)cut_pieces(run->plan, (uintptr_t)memory, &pieces);
    run->memory = pieces.own;
    results->experiment = pieces.experiment;
    results->point = pieces.point;
    results->points_room = pieces.points;
    results->check = pieces.check;
    results->checks_room = pieces.checks;
    results->finding = pieces.finding;
    results->findings_room = INFER_MOST;
    for (size_t i = 0; i < pieces.items; i++) {
        run->memory.item[i].series = (struct series){
            .sample = pieces.sample + i * pieces.samples,
            .room = pieces.samples,
        };
    }
}

/* --- Telling ------------------------------------------------------------------------------- */

static double now(const struct running *running)
{
    return running->run->seconds(running->run->self);
}

static void tell_begin(const struct running *running)
{
    for (size_t i = 0; i < running->run->observers; i++) {
        const struct observer *observer = &running->run->observer[i];
        if (observer->begin != NULL) {
            observer->begin(observer->self, running->results);
        }
    }
}

static void tell_finding(const struct running *running, const struct finding *finding)
{
    for (size_t i = 0; i < running->run->observers; i++) {
        const struct observer *observer = &running->run->observer[i];
        if (observer->finding != NULL) {
            observer->finding(observer->self, finding);
        }
    }
}

static void tell_end(const struct running *running)
{
    for (size_t i = 0; i < running->run->observers; i++) {
        const struct observer *observer = &running->run->observer[i];
        if (observer->end != NULL) {
            observer->end(observer->self, running->results);
        }
    }
}

static void tell_experiment_begin(const struct running *running, const struct kernel *kernel)
{
    for (size_t i = 0; i < running->run->observers; i++) {
        const struct observer *observer = &running->run->observer[i];
        if (observer->experiment_begin != NULL) {
            observer->experiment_begin(observer->self, running->results, running->experiment,
                                       kernel);
        }
    }
}

static void tell_experiment_end(const struct running *running)
{
    for (size_t i = 0; i < running->run->observers; i++) {
        const struct observer *observer = &running->run->observer[i];
        if (observer->experiment_end != NULL) {
            observer->experiment_end(observer->self, running->results, running->experiment);
        }
    }
}

static void tell_visit(const struct running *running, size_t index)
{
    const struct series *series = &running->run->memory.item[index].series;
    for (size_t i = 0; i < running->run->observers; i++) {
        const struct observer *observer = &running->run->observer[i];
        if (observer->visit != NULL) {
            observer->visit(observer->self, running->experiment, &running->measurement[index],
                            series);
        }
    }
}

static void tell_point(const struct running *running, const struct point *point,
                       const struct series *series)
{
    for (size_t i = 0; i < running->run->observers; i++) {
        const struct observer *observer = &running->run->observer[i];
        if (observer->point != NULL) {
            observer->point(observer->self, running->experiment, point, series);
        }
    }
}

static void tell_progress(const struct running *running, const struct progress *progress)
{
    for (size_t i = 0; i < running->run->observers; i++) {
        const struct observer *observer = &running->run->observer[i];
        if (observer->progress != NULL) {
            observer->progress(observer->self, progress);
        }
    }
}

/* --- How far it is ------------------------------------------------------------------------- */

/* What is still to be done. */
struct remains {
    size_t visits;
    double seconds; /* as the plan estimates them */
};

static bool is_measured(const struct running *running, size_t index)
{
    return running->measurement[index].skip == NULL &&
           running->run->memory.item[index].absent == NULL;
}

/* The plan's seconds for one visit of a measurement, without building. */
static double visit_seconds(const struct running *running, size_t index)
{
    return running->measurement[index].seconds / running->run->memory.item[index].visits;
}

static void add_group(const struct running *running, const struct run_group *group,
                      struct remains *remains)
{
    unsigned most = 0;
    for (size_t i = group->first; i < group->first + group->count; i++) {
        const struct run_item *item = &running->run->memory.item[i];
        if (is_measured(running, i)) {
            const unsigned left = item->visits - item->done;
            remains->visits += left;
            remains->seconds += left * visit_seconds(running, i);
            most = left > most ? left : most;
        }
    }
    remains->seconds += most * group->build_seconds;
}

static struct remains remaining(const struct running *running)
{
    struct remains remains = { .visits = 0 };
    const struct plan *plan = running->plan;
    for (size_t i = 0; i < running->groups; i++) {
        add_group(running, &running->run->memory.group[i], &remains);
    }
    const size_t passes = plan->repeat - running->pass - 1;
    for (size_t i = 0; i < plan->experiments; i++) {
        const size_t times = passes + (i > running->index ? 1 : 0);
        remains.visits += times * plan->experiment[i].visits;
        remains.seconds += (double)times * plan->experiment[i].seconds;
    }
    return remains;
}

/* Tells the time, and what comes next (NULL: nothing of this experiment). The time left is the plan's, stretched as the clock has stretched what is
 * done. */
static void report_progress(const struct running *running, const struct variant *next)
{
    const struct remains remains = remaining(running);
    const double seconds = now(running);
    const double stretch =
        (seconds - running->began + BELIEVED_SECONDS) / (running->estimated + BELIEVED_SECONDS);
    const struct progress progress = {
        .done = running->visits_done,
        .all = running->visits_done + remains.visits,
        .seconds_done = seconds,
        .seconds_left = remains.seconds * stretch,
        .experiment = running->experiment->name,
        .variant = next,
    };
    tell_progress(running, &progress);
}

/* Asked when there is more to do: does somebody want the run to end? */
static bool should_stop(struct running *running)
{
    const struct run *run = running->run;
    const double limit = running->plan->time_limit;
    for (size_t i = 0; i < run->observers && running->stop == NULL; i++) {
        const struct observer *observer = &run->observer[i];
        if (observer->wants_stop != NULL && observer->wants_stop(observer->self)) {
            running->stop = "stopped on request";
        }
    }
    if (running->stop == NULL && limit > 0 && now(running) >= limit) {
        running->stop = "the time limit was reached";
    }
    return running->stop != NULL;
}

/* --- One experiment ------------------------------------------------------------------------ */

static char *reason_text(const struct running *running)
{
    return running->run->memory.text[running->experiment - running->results->experiment];
}

static const char *left_out(const void *self, size_t index)
{
    const struct running *running = self;
    const char *skip = running->measurement[index].skip;
    return skip != NULL ? skip : running->run->memory.item[index].absent;
}

static __attribute__((format(printf, 2, 3))) void append(char text[RUN_TEXT], const char *format,
                                                         ...)
{
    const size_t length = strlen(text);
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text + length, RUN_TEXT - length, format, values);
    va_end(values);
}

/* The experiment's reason: what is said first (or ""), and what was left out. */
static void give_reason(const struct running *running, const char *first)
{
    char rest[RUN_TEXT];
    char *text = reason_text(running);
    const size_t skipped = plan_reasons(left_out, running, running->items, rest, sizeof rest);
    text[0] = '\0';
    append(text, "%s%s%s", first, first[0] != '\0' && skipped > 0 ? "; " : "", rest);
    running->experiment->reason = text[0] != '\0' ? text : NULL;
}

static void append_variant(char text[RUN_TEXT], const struct variant *variant)
{
    for (enum variant_key key = 0; key < VARIANT_KEYS; key++) {
        if (variant_has(variant, key) && variant_is_text(key)) {
            append(text, " %s=%s", variant_name[key], variant->value[key].text);
        } else if (variant_has(variant, key)) {
            append(text, " %s=%" PRIu64, variant_name[key], variant->value[key].number);
        }
    }
}

static void append_fault(char text[RUN_TEXT], const struct fault *fault)
{
    append(text,
           "exception %" PRIu64 ", error code 0x%" PRIx64 ", at 0x%" PRIx64 ", address 0x%" PRIx64,
           fault->vector, fault->code, fault->ip, fault->address);
}

/* The experiment ends with this measurement. */
static void fail(const struct running *running, size_t index, enum status status)
{
    const struct series *series = &running->run->memory.item[index].series;
    const struct measurement *measurement = &running->measurement[index];
    char *text = reason_text(running);
    text[0] = '\0';
    if (status == FAULTED) {
        running->experiment->fault = series->fault;
        append_fault(text, &series->fault);
    } else {
        append(text, "%s", series->reason != NULL ? series->reason : "the bench gave no reason");
    }
    append(text, ", in %s:", measurement->kernel->name);
    append_variant(text, &measurement->variant);
    running->experiment->status = EXPERIMENT_FAILED;
    running->experiment->reason = text;
}

/* Makes the point of a measurement's samples and tells it. */
static void finish_point(struct running *running, size_t index)
{
    struct results *results = running->results;
    struct experiment *experiment = running->experiment;
    const struct measurement *measurement = &running->measurement[index];
    const struct machine *machine = running->plan->machine;
    struct run_item *item = &running->run->memory.item[index];
    struct point *point = &results->point[results->points];
    const struct point *before = &results->point[experiment->first_point];
    sampler_point(measurement, &running->plan->sampling, &item->series, point);
    if (running->plan->repeat > 1) {
        variant_set_number(&point->variant, V_PASS, running->pass + 1);
    }
    point->flags |= machine->processor.emulated ? 1u << FLAG_EMULATED : 0;
    point->flags |= item->done < item->visits ? 1u << FLAG_PARTIAL : 0;
    if (measurement->kernel->predict != NULL) {
        point->predicted = measurement->kernel->predict(machine, &measurement->variant, before,
                                                        experiment->points);
    }
    (void)plausible_prefetchers(point, &measurement->conditions, &machine->prefetchers);
    (void)plausible_judge(point, before, experiment->points);
    results->points++;
    experiment->points++;
    item->finished = true;
    tell_point(running, point, &item->series);
}

/* One visit of one measurement. False: the experiment has failed. */
static bool take_visit(struct running *running, size_t index, bool build)
{
    struct run_item *item = &running->run->memory.item[index];
    const struct series before = item->series;
    report_progress(running, &running->measurement[index].variant);
    const enum status status =
        sampler_visit(running->run->bench, &running->measurement[index], &running->plan->sampling,
                      item->done, build, &item->series);
    if (status == OK) {
        running->visits_done++;
        running->estimated += visit_seconds(running, index);
        item->done++;
        if (item->done == item->visits) {
            finish_point(running, index);
        } else {
            tell_visit(running, index);
        }
        return true;
    }
    item->series.count = before.count; /* a broken visit's samples prove nothing */
    item->series.operations = before.operations;
    if (status == ABSENT) {
        item->absent = item->series.reason != NULL ? item->series.reason : "not available here";
        return true;
    }
    fail(running, index, status);
    return false;
}

/* One visit of a group. False: the experiment ends here. */
static bool visit_group(struct running *running, const struct run_group *group, unsigned turns_left)
{
    bool built = false;
    unsigned built_for = 0;
    for (size_t i = group->first; i < group->first + group->count; i++) {
        const struct run_item *item = &running->run->memory.item[i];
        if (!is_measured(running, i) || turns_left > item->visits - item->done) {
            continue;
        }
        if (should_stop(running)) {
            running->interrupted = true;
            return false;
        }
        const bool build = !built || built_for != item->done;
        const unsigned number = item->done;
        if (!take_visit(running, i, build)) {
            return false;
        }
        if (item->absent == NULL) {
            running->estimated += build ? group->build_seconds : 0;
            built = true;
            built_for = number;
        }
    }
    return true;
}

/* The next number of a sequence that goes through all 64-bit numbers, well mixed: SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ull;
    uint64_t x = *state;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Fisher and Yates's shuffle, from the run's seed and the visit. */
static void shuffle(size_t *order, size_t count, uint64_t seed, unsigned turn)
{
    uint64_t state = seed ^ (uint64_t)turn << 56;
    for (size_t i = count; i > 1; i--) {
        const size_t other = next_random(&state) % i;
        const size_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static void order_groups(const struct running *running, unsigned turn, unsigned turns)
{
    size_t *order = running->run->memory.order;
    for (size_t i = 0; i < running->groups; i++) {
        order[i] = i;
    }
    if (turn + 1 < turns) {
        shuffle(order, running->groups, running->plan->sampling.seed, turn);
    }
}

/* Fills the items and groups of an experiment. */
static void begin_items(struct running *running, const struct planned *planned)
{
    const struct plan *plan = running->plan;
    struct run_memory *memory = &running->run->memory;
    running->measurement = plan->measurement + planned->first;
    running->items = planned->count;
    running->groups = 0;
    for (size_t i = 0; i < planned->count; i++) {
        const struct series *old = &memory->item[i].series;
        memory->item[i] = (struct run_item){
            .series = { .sample = old->sample, .room = old->room },
            .visits = sampler_visits(&plan->sampling, &running->measurement[i]),
        };
    }
    for (size_t first = 0; first < planned->count;) {
        const struct measurement *at = &running->measurement[first];
        const size_t count = plan_group(at, planned->count - first);
        memory->group[running->groups++] = (struct run_group){
            .first = first,
            .count = count,
            .build_seconds = plan_group_build(at, count),
        };
        first += count;
    }
}

static void measure(struct running *running)
{
    const unsigned turns = running->plan->sampling.visits;
    for (unsigned turn = 0; turn < turns; turn++) {
        order_groups(running, turn, turns);
        for (size_t i = 0; i < running->groups; i++) {
            const size_t next = running->run->memory.order[i];
            if (!visit_group(running, &running->run->memory.group[next], turns - turn)) {
                return;
            }
        }
    }
}

/* What was visited and has no point yet gets one. */
static void finish_visited(struct running *running)
{
    for (size_t i = 0; i < running->items; i++) {
        const struct run_item *item = &running->run->memory.item[i];
        if (item->done > 0 && !item->finished) {
            finish_point(running, i);
        }
    }
}

/* How a measured experiment ended, if it has not failed. */
static void settle(const struct running *running)
{
    struct experiment *experiment = running->experiment;
    if (experiment->status == EXPERIMENT_FAILED) {
        return;
    }
    if (running->interrupted) {
        experiment->status = experiment->points > 0 ? EXPERIMENT_PARTIAL : EXPERIMENT_SKIPPED;
        give_reason(running, running->stop);
        return;
    }
    experiment->status = experiment->points > 0 ? EXPERIMENT_OK : EXPERIMENT_SKIPPED;
    give_reason(running, running->items == 0 ? "nothing to measure under these settings" : "");
}

static void run_selftest(const struct running *running)
{
    struct results *results = running->results;
    struct experiment *experiment = running->experiment;
    size_t failed = 0;
    const struct check *check = results->check + results->checks;
    experiment->checks =
        running->run->selftest(running->run->self, results->check + results->checks, RUN_CHECKS);
    results->checks += experiment->checks;
    for (size_t i = 0; i < experiment->checks; i++) {
        failed += !check[i].ok;
    }
    if (failed > 0 || experiment->checks == 0) {
        experiment->status = EXPERIMENT_FAILED;
        (void)snprintf(reason_text(running), RUN_TEXT, "%zu of %zu checks failed", failed,
                       experiment->checks);
        experiment->reason = reason_text(running);
    }
}

/* An experiment that does not even begin. */
static void skip(const struct running *running, const char *reason)
{
    running->experiment->status = EXPERIMENT_SKIPPED;
    running->experiment->reason = reason;
}

static void begin_experiment(struct running *running, const struct planned *planned)
{
    struct results *results = running->results;
    running->experiment = &results->experiment[results->experiments++];
    *running->experiment = (struct experiment){
        .name = planned->kernel->name,
        .title = planned->kernel->title,
        .status = EXPERIMENT_OK,
        .first_point = results->points,
        .first_check = results->checks,
    };
    begin_items(running, planned);
    tell_experiment_begin(running, planned->kernel);
}

static void run_experiment(struct running *running, const struct planned *planned)
{
    begin_experiment(running, planned);
    if (should_stop(running)) {
        skip(running, running->stop);
    } else if (planned->kernel != &selftest_row) {
        measure(running);
        finish_visited(running);
        settle(running);
    } else if (running->run->selftest == NULL) {
        skip(running, "this program has no self-test");
    } else {
        run_selftest(running);
        running->estimated += planned->seconds;
        report_progress(running, NULL); /* else its time would be told by the next experiment */
    }
    tell_experiment_end(running);
}

/* --- The whole run ------------------------------------------------------------------------- */

static void settle_run(const struct running *running)
{
    struct results *results = running->results;
    if (running->stop != NULL) {
        results->status = RUN_PARTIAL;
        results->status_reason = running->stop;
    }
    for (size_t i = 0; i < results->experiments; i++) {
        const struct experiment *experiment = &results->experiment[i];
        if (experiment->status == EXPERIMENT_FAILED) {
            results->status = RUN_FAILED;
            results->status_reason = experiment->reason;
            return;
        }
    }
}

/* What all of it says about the machine. */
static void infer(const struct running *running)
{
    struct results *results = running->results;
    results->findings = infer_run(results, results->finding, results->findings_room);
    for (size_t i = 0; i < results->findings; i++) {
        tell_finding(running, &results->finding[i]);
    }
}

void run_plan(struct run *run)
{
    struct results *results = run->results;
    struct running running = { .run = run, .plan = run->plan, .results = results };
    results->status = RUN_COMPLETE;
    results->status_reason = NULL;
    results->experiments = results->points = results->checks = results->findings = 0;
    running.began = now(&running);
    tell_begin(&running);
    for (; running.pass < run->plan->repeat && running.stop == NULL; running.pass++) {
        for (running.index = 0; running.index < run->plan->experiments; running.index++) {
            run_experiment(&running, &run->plan->experiment[running.index]);
        }
    }
    settle_run(&running);
    infer(&running);
    tell_end(&running);
}
