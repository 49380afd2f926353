#include "kernels/infer.h"

#include "kernels/infer_cost.h"
#include "kernels/infer_levels.h"
#include "kernels/infer_tell.h"
#include "kernels/infer_view.h"
#include "kernels/statistics.h"

#include <math.h>
#include <string.h>

/* No first-level data cache of an x86-64 processor is larger: a first step beyond is a later level. */
#define L1_LARGEST    (256ull * KIB)
/* Memory is slower than that on anything that runs 64-bit code: what is faster is a cache still. */
#define MEMORY_NS     30.0
#define MEMORY_CYCLES 80.0
#define SETTLED       0.03 /* most that the last doubling may add to the latency of memory */
#define MISSES_ENOUGH 0.5  /* misses of the last cache a load from which on they may divide */

enum { MEMORY = INFER_LEVELS, NAMES };

static const struct {
    const char *title, *size, *ns, *cycles;
} names[NAMES] = {
    { "L1D", "l1d_size", "l1d_latency", "l1d_latency_cycles" },
    { "L2", "l2_size", "l2_latency", "l2_latency_cycles" },
    { "L3", "l3_size", "l3_latency", "l3_latency_cycles" },
    { "L4", "l4_size", "l4_latency", "l4_latency_cycles" },
    [MEMORY] = { "Memory", NULL, "memory_latency", "memory_latency_cycles" },
};

/* The work space (too large for a firmware's stack). */
static struct {
    struct view_curve curve;
    struct fit_data data;
    struct staircase stairs;
    struct ladder ladder;
} work;

/* What the findings are drawn from, and where they go. */
struct inference {
    struct finding_list list;
    const struct machine *machine; /* NULL: it claims nothing */
    uint64_t claim[MACHINE_CACHES];
    size_t claims;
    size_t skipped;     /* levels of the names that lie below the curve: 0 or 1 */
    bool in_cycles;     /* the curve was given in cycles, and there are no ns */
    const char *reason; /* why nothing can be told, or NULL */
};

/* --- Latencies ------------------------------------------------------------------------------ */

/* Median of the points at which the level answers alone; NAN without one. */
static double at_rest(const struct level *level, const double *values)
{
    const struct column column = { values + level->rest_first, sizeof *values,
                                   level->rest_end - level->rest_first };
    return column_median(&column);
}

/* Core cycles of a ns, over the whole curve; NAN if they were not counted. */
static double cycles_of_ns(void)
{
    double ratio[CURVE_LEVELS * LEVEL_ANCHORS];
    const size_t room = sizeof ratio / sizeof *ratio;
    const size_t step = work.curve.points / room + 1;
    size_t count = 0;
    for (size_t i = 0; i < work.curve.points; i += step) {
        ratio[count++] = work.curve.cycles[i] / work.curve.ns[i];
    }
    const struct column column = { ratio, sizeof *ratio, count };
    return column_median(&column);
}

struct latency {
    double ns, cycles; /* NAN: not known */
    bool modelled;     /* nowhere measured alone */
};

static struct latency latency_of(const struct level *level)
{
    struct latency latency = { at_rest(level, work.curve.ns), at_rest(level, work.curve.cycles),
                               level->rest_first == level->rest_end };
    if (latency.modelled) {
        latency.ns = level->latency;
        latency.cycles = level->latency * cycles_of_ns();
    }
    return latency;
}

/* The last point that is at most half as large as the largest; the curve's first without one. */
static size_t halfway(void)
{
    const size_t last = work.curve.points - 1;
    size_t half = last;
    while (half > 0 && work.curve.set[half] > work.curve.set[last] / 2 * (1 + 1e-9)) {
        half--;
    }
    return half;
}

/* What is left of the latency of the largest set when the hits in the last cache are taken off: a
 * cache that resists thrashing answers a fifth of the loads at four times its size. NAN without the
 * counter, or where too few loads miss. */
static double by_misses(double ns)
{
    const double misses = work.curve.l3_miss[work.curve.points - 1];
    const size_t levels = work.ladder.levels;
    if (!(misses >= MISSES_ENOUGH) || levels == 0) {
        return NAN;
    }
    const double hit = latency_of(&work.ladder.level[levels - 1]).ns;
    return misses < 1 ? (ns - (1 - misses) * hit) / misses : ns;
}

/* --- Sentences ------------------------------------------------------------------------------ */

static void tell_latency(struct inference *inference, size_t name, const char *unit, double value,
                         const char *about)
{
    const struct finding finding = {
        .name = strcmp(unit, "ns") == 0 ? names[name].ns : names[name].cycles,
        .unit = unit,
        .measured = value,
        .claimed = NAN,
    };
    if (isnan(value)) {
        tell(&inference->list, &finding, "%s: cannot tell: core cycles were not measured.",
             names[name].title);
    } else {
        tell(&inference->list, &finding, "%s: %s%.4g %s from load to use%s.", names[name].title,
             about, value, unit,
             work.curve.small_pages && name == MEMORY ? ", with what 4 KiB pages cost" : "");
    }
}

/* The latency in the units that the curve has. */
static void tell_latencies(struct inference *inference, size_t name, struct latency latency)
{
    const char *about = latency.modelled ? "about " : "";
    if (inference->in_cycles) {
        tell_latency(inference, name, "cycles", latency.ns, about);
    } else {
        tell_latency(inference, name, "ns", latency.ns, about);
        tell_latency(inference, name, "cycles", latency.cycles, about);
    }
}

/* Both latencies of memory, which cannot be told; the sentence ends with the value. */
static void tell_no_memory(struct inference *inference, const char *why, double value)
{
    const char *unit = inference->in_cycles ? "cycles" : "ns";
    struct finding finding = { .unit = unit, .measured = NAN, .claimed = NAN };
    for (int cycles = inference->in_cycles; cycles < 2; cycles++) {
        finding.name = cycles ? names[MEMORY].cycles : names[MEMORY].ns;
        finding.unit = cycles ? "cycles" : "ns";
        if (inference->reason != NULL) {
            tell(&inference->list, &finding, "Memory: cannot tell: %s.", inference->reason);
        } else {
            tell(&inference->list, &finding, why, value, unit);
        }
    }
}

static void tell_memory(struct inference *inference)
{
    const size_t last = work.curve.points - 1;
    const double value = work.curve.ns[last];
    const double slow = inference->in_cycles ? MEMORY_CYCLES : MEMORY_NS;
    const double divided = by_misses(value);
    struct latency latency = { value, work.curve.cycles[last], false };
    if (value < slow) {
        tell_no_memory(inference,
                       "Memory: cannot tell: the largest set costs only %.4g %s a load; "
                       "it may lie in a cache.",
                       value);
    } else if (!isnan(divided)) {
        latency.ns = divided;
        latency.cycles *= divided / value;
        tell_latencies(inference, MEMORY, latency);
    } else if (value > work.curve.ns[halfway()] * (1 + SETTLED)) {
        tell_no_memory(inference,
                       "Memory: cannot tell: at least %.4g %s; the last doubling of the "
                       "set still added 3 %% or more.",
                       value);
    } else {
        tell_latencies(inference, MEMORY, latency);
    }
}

/* Is the size that was found one of the curve's sizes next to the claimed one? */
static bool within_one_step(double found, double claimed)
{
    double below = 0, above = INFINITY;
    for (size_t i = 0; i < work.curve.points; i++) {
        const double set = work.curve.set[i];
        below = set < claimed ? set : below;
        above = set > claimed ? fmin(above, set) : above;
    }
    return found >= below && found <= above;
}

/* " 15 cycles" or " 4.7 ns" for the sentence about a size. */
static const char *unit_of(const struct inference *inference, const struct latency *latency,
                           double *value)
{
    const bool cycles = !inference->in_cycles && !isnan(latency->cycles);
    *value = cycles ? latency->cycles : latency->ns;
    return cycles || inference->in_cycles ? "cycles" : "ns";
}

static void tell_size(struct inference *inference, size_t name, const struct level *level)
{
    const bool claimed = name < inference->claims;
    const double claim = claimed ? (double)inference->claim[name] : NAN;
    const struct finding finding = {
        .name = names[name].size,
        .unit = "bytes",
        .measured = (double)level->size,
        .claimed = claim,
        .agrees = claimed && within_one_step((double)level->size, claim),
        .agreement_known = claimed,
    };
    const struct latency latency = latency_of(level);
    char found[SIZE_TEXT], said[SIZE_TEXT];
    double value;
    const char *unit = unit_of(inference, &latency, &value);
    size_text(level->size, found);
    if (!claimed) {
        tell(&inference->list, &finding, "%s: measured about %s, %.3g %s.", names[name].title,
             found, value, unit);
        return;
    }
    size_text(inference->claim[name], said);
    if (level->size < inference->claim[name] && !finding.agrees &&
        inference->machine->processor.hypervisor[0] != '\0') {
        tell(&inference->list, &finding,
             "This guest claims an %s of %s; latency says that it gets "
             "about %s of it, at %.3g %s.",
             names[name].title, said, found, value, unit);
        return;
    }
    tell(&inference->list, &finding, "%s: measured about %s, %.3g %s; CPUID says %s: %s.",
         names[name].title, found, value, unit, said, finding.agrees ? "agrees" : "differs");
}

/* A level that is claimed or expected, and that the curve does not show. */
static void tell_no_size(struct inference *inference, size_t name)
{
    const struct finding finding = {
        .name = names[name].size,
        .unit = "bytes",
        .measured = NAN,
        .claimed = name < inference->claims ? (double)inference->claim[name] : NAN,
    };
    char largest[SIZE_TEXT];
    if (inference->reason != NULL) {
        tell(&inference->list, &finding, "%s: cannot tell: %s.", names[name].title,
             inference->reason);
    } else if (name < inference->skipped) {
        tell(&inference->list, &finding, "%s: cannot tell: no set was small enough for it.",
             names[name].title);
    } else {
        size_text((uint64_t)work.curve.set[work.curve.points - 1] / 2, largest);
        tell(&inference->list, &finding,
             "%s: cannot tell: latency shows no further cache up to %s, half the largest set.",
             names[name].title, largest);
    }
}

/* --- The whole ------------------------------------------------------------------------------ */

static void tell_levels(struct inference *inference)
{
    const struct ladder *ladder = &work.ladder;
    const size_t found = inference->skipped + ladder->levels;
    const size_t least = found > 0 ? found : 1;
    for (size_t name = 0; name < INFER_LEVELS; name++) {
        if (name >= inference->skipped && name < found) {
            const struct level *level = &ladder->level[name - inference->skipped];
            tell_size(inference, name, level);
            tell_latencies(inference, name, latency_of(level));
        } else if (name < least || name < inference->claims) {
            tell_no_size(inference, name);
        }
    }
    if (inference->reason == NULL) {
        tell_memory(inference);
    } else {
        tell_no_memory(inference, "", NAN);
    }
}

/* Looks for levels in the curve, and in what there is to say if it has none. */
static void examine(struct inference *inference)
{
    work.ladder = (struct ladder){ .levels = 0 };
    inference->skipped = 0;
    if (work.curve.points == 0) {
        inference->reason = "no chase in random order was measured";
    } else if (work.curve.emulated) {
        inference->reason = "under an emulator time means nothing";
    }
    if (inference->reason != NULL) {
        return;
    }
    work.data.points = work.curve.points;
    memcpy(work.data.set, work.curve.set, sizeof work.data.set);
    memcpy(work.data.value, work.curve.ns, sizeof work.data.value);
    fit_staircase(&work.data, &work.stairs);
    find_levels(&work.data, &work.stairs, work.curve.small_pages, &work.ladder);
    if (work.ladder.levels > 0 && work.ladder.level[0].size > L1_LARGEST) {
        inference->skipped = 1;
        work.ladder.levels -= work.ladder.levels == INFER_LEVELS; /* there is no name left for it */
    }
}

size_t infer_curve(const struct latency_curve *curve, struct finding *out, size_t room)
{
    struct inference inference = { .list = { out, room, 0 }, .in_cycles = curve->cycles };
    work.curve = (struct view_curve){ .small_pages = !curve->large_pages };
    for (size_t i = 0; i < curve->points; i++) {
        view_add(&work.curve, curve->set[i], curve->latency[i], NAN, NAN);
    }
    examine(&inference);
    tell_levels(&inference);
    return inference.list.count;
}

static const struct experiment *find_chase(const struct results *results)
{
    for (size_t i = 0; i < results->experiments; i++) {
        if (strcmp(results->experiment[i].name, "chase") == 0) {
            return &results->experiment[i];
        }
    }
    return NULL;
}

size_t infer_run(const struct results *results, struct finding *out, size_t room)
{
    struct inference inference = { .list = { out, room, 0 }, .machine = results->machine };
    const struct experiment *chase = find_chase(results);
    if (chase == NULL) {
        return 0;
    }
    const struct point *points = results->point + chase->first_point;
    choose_view(points, chase->points, &work.curve);
    if (results->machine != NULL) {
        inference.claims = cache_sizes(results->machine, inference.claim);
    }
    examine(&inference);
    tell_levels(&inference);
    tell_costs(&inference.list, points, chase->points, inference.reason);
    return inference.list.count;
}
