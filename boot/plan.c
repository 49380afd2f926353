#include "boot/plan.h"

#include "boot/plan_prefetchers.h"
#include "kernels/curve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Longest that the spin may take which brings a core out of its idle state. */
#define SPIN_SECONDS 0.02

/* Windows, each with its 20 ms for the firmware, and the waiting for keys between some of them. */
#define SELFTEST_SECONDS 6

static const struct suite_rules {
    const char *name;
    unsigned per_octave, repetitions, visits;
    double warm_up_seconds;
} suites[SUITES] = {
    [SUITE_QUICK] = { "quick", 2, 11, 3, 0.5 },
    [SUITE_FULL] = { "full", 4, 31, 5, 0.5 },
    [SUITE_SMOKE] = { "smoke", 1, 3, 1, 0.05 },
};

static const enum variant_key no_columns[] = { VARIANT_KEYS };

static void list_nothing(const struct scope *scope, const struct kernel *self,
                         struct measurement_list *out)
{
    (void)scope;
    (void)self;
    (void)out;
}

const struct kernel selftest_row = {
    .name = "selftest",
    .title = "Self-test: faults are caught, and the machine is restored",
    .unit = "check",
    .only_by_name = true,
    .list = list_nothing,
    .columns = no_columns,
};

/* --- What is asked for --------------------------------------------------------------------- */

static unsigned least_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static struct scope scope_of(const struct settings *settings, const struct machine *machine)
{
    const struct suite_rules *rules = &suites[settings->suite];
    const unsigned repetitions =
        settings->repetitions != 0 ? (unsigned)settings->repetitions : rules->repetitions;
    struct scope scope = {
        .machine = machine,
        .suite = (enum suite)settings->suite,
        .per_octave = rules->per_octave,
        .max_working_set = settings->max_working_set,
        .page_sizes = settings->page_sizes,
        .repetitions = repetitions,
        .visits = least_of(rules->visits, repetitions),
        .seed = settings->seed,
    };
    scope.prefetcher_choices = plan_prefetchers(settings, machine, scope.prefetchers);
    return scope;
}

static struct sampling sampling_of(const struct scope *scope)
{
    uint64_t cache[MACHINE_CACHES];
    const size_t caches = cache_sizes(scope->machine, cache);
    return (struct sampling){
        .repetitions = scope->repetitions,
        .visits = scope->visits,
        .seed = scope->seed,
        .warm_up_seconds = suites[scope->suite].warm_up_seconds,
        .spin_seconds = SPIN_SECONDS,
        .last_cache = last_cache_size(scope->machine),
        .second_cache = caches > 1 ? cache[1] : 0,
    };
}

/* Each of these gives later ones something: how quiet it is, what the core's clock does, what
 * the levels are. */
static const char *const first_names[] = { "noise", "calibrate", "bandwidth", "chase" };

enum { FIRST_NAMES = sizeof first_names / sizeof first_names[0] };

static size_t rank_of(const struct kernel *kernel)
{
    size_t rank = 0;
    while (rank < FIRST_NAMES && strcmp(kernel->name, first_names[rank]) != 0) {
        rank++;
    }
    return rank;
}

/* The experiments asked for, in the order of the plan; at most PLAN_EXPERIMENTS. */
static size_t choose(const struct settings *settings, const struct kernel **chosen)
{
    size_t count = 0;
    if (settings->selftest) {
        chosen[count++] = &selftest_row;
    }
    for (size_t rank = 0; rank <= FIRST_NAMES; rank++) {
        for (size_t i = 0; settings->kernels[i] != NULL && count < PLAN_EXPERIMENTS; i++) {
            if ((settings->experiments >> i & 1) != 0 && rank_of(settings->kernels[i]) == rank) {
                chosen[count++] = settings->kernels[i];
            }
        }
    }
    return count;
}

size_t plan_count(const struct settings *settings, const struct machine *machine)
{
    const struct kernel *chosen[PLAN_EXPERIMENTS];
    const struct scope scope = scope_of(settings, machine);
    const size_t count = choose(settings, chosen);
    struct measurement_list list = { .room = 0 };
    for (size_t i = 0; i < count; i++) {
        chosen[i]->list(&scope, chosen[i], &list);
    }
    return list.lost;
}

/* --- What is left out ---------------------------------------------------------------------- */

/* Are its prefetchers set as the settings ask? Where they do not matter there is no such key. */
static bool has_prefetchers_asked_for(const struct scope *scope, const struct variant *variant)
{
    if (scope->prefetcher_choices == 0 || !variant_has(variant, V_PREFETCHERS)) {
        return true;
    }
    for (unsigned i = 0; i < scope->prefetcher_choices; i++) {
        if (strcmp(scope->prefetchers[i].name, variant->value[V_PREFETCHERS].text) == 0) {
            return true;
        }
    }
    return false;
}

/* Why the settings exclude a measurement that a kernel lists, or NULL. */
static const char *excluded(const struct settings *settings, const struct scope *scope,
                            const struct measurement *measurement)
{
    if (!has_prefetchers_asked_for(scope, &measurement->variant)) {
        return "the settings ask for other prefetchers";
    }
    if (settings->numa == NUMA_LOCAL && measurement->layout.node != 0) {
        return "the settings ask for local memory";
    }
    return NULL;
}

static void exclude(const struct settings *settings, const struct scope *scope,
                    struct measurement *measurement, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (measurement[i].skip == NULL) {
            measurement[i].skip = excluded(settings, scope, &measurement[i]);
        }
    }
}

/* Has an earlier one the same reason? */
static bool is_repeated(const char *(*of)(const void *, size_t), const void *self, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        const char *earlier = of(self, i);
        if (earlier != NULL && strcmp(earlier, of(self, index)) == 0) {
            return true;
        }
    }
    return false;
}

static size_t times(const char *(*of)(const void *, size_t), const void *self, size_t count,
                    const char *reason)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const char *other = of(self, i);
        n += other != NULL && strcmp(other, reason) == 0;
    }
    return n;
}

size_t plan_reasons(const char *(*of)(const void *self, size_t index), const void *self,
                    size_t count, char *text, size_t room)
{
    size_t skipped = 0, length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *reason = of(self, i);
        if (reason == NULL || is_repeated(of, self, i)) {
            continue;
        }
        const size_t n = times(of, self, count, reason);
        skipped += n;
        const int written = snprintf(text + length, room - length, "%s%zu not measured: %s",
                                     length > 0 ? "; " : "", n, reason);
        length += written > 0 ? (size_t)written : 0;
        length = length < room ? length : room - 1;
    }
    return skipped;
}

/* --- How long it takes --------------------------------------------------------------------- */

size_t plan_group(const struct measurement *first, size_t count)
{
    size_t n = 0;
    while (n < count && first[n].data == first[0].data) {
        n++;
    }
    return n;
}

unsigned plan_group_visits(const struct plan *plan, const struct measurement *first, size_t count)
{
    unsigned most = 0;
    for (size_t i = 0; i < count; i++) {
        const unsigned visits =
            first[i].skip == NULL ? sampler_visits(&plan->sampling, &first[i]) : 0;
        most = visits > most ? visits : most;
    }
    return most;
}

double plan_group_build(const struct measurement *first, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, first[i].build_seconds);
    }
    return most;
}

/* The kernels' estimates have the firmware's turn of 20 ms in them, for each of their windows. */
static void estimate(struct plan *plan, struct planned *planned)
{
    const struct measurement *at = plan->measurement + planned->first;
    size_t left = planned->count;
    planned->seconds = planned->kernel == &selftest_row ? SELFTEST_SECONDS : 0;
    while (left > 0) {
        const size_t members = plan_group(at, left);
        planned->seconds += plan_group_visits(plan, at, members) * plan_group_build(at, members);
        for (size_t i = 0; i < members; i++) {
            if (at[i].skip == NULL) {
                planned->measured++;
                planned->visits += sampler_visits(&plan->sampling, &at[i]);
                planned->seconds += at[i].seconds;
            }
        }
        at += members;
        left -= members;
    }
}

void plan_make(struct plan *plan, const struct settings *settings, const struct machine *machine,
               struct measurement *memory, size_t room)
{
    const struct kernel *chosen[PLAN_EXPERIMENTS];
    struct measurement_list list = { .item = memory, .room = room };
    *plan = (struct plan){
        .machine = machine,
        .suite = suites[settings->suite].name,
        .scope = scope_of(settings, machine),
        .measurement = memory,
        .repeat = (unsigned)settings->repeat,
        .time_limit = (double)settings->time_limit,
    };
    plan->sampling = sampling_of(&plan->scope);
    plan->experiments = choose(settings, chosen);
    for (size_t i = 0; i < plan->experiments; i++) {
        struct planned *planned = &plan->experiment[i];
        *planned = (struct planned){ .kernel = chosen[i], .first = list.count };
        chosen[i]->list(&plan->scope, chosen[i], &list);
        planned->count = list.count - planned->first;
        exclude(settings, &plan->scope, memory + planned->first, planned->count);
        estimate(plan, planned);
        plan->seconds += planned->seconds * plan->repeat;
    }
    plan->measurements = list.count;
}
