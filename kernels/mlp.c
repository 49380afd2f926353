/* What it shows: how many loads that miss a core has under way at once. One chain takes the latency
 * for each load; N chains that need nothing of one another take an N-th of it, until what holds the
 * misses (the fill buffers of the first cache, the queues of the second) is full. So the latency of
 * one chain over the time of a load of N is how many were under way, and where that stops rising is
 * how many can be. What still rises at the last N can be more.
 *
 * Why the loop is as it is: up to twelve chains have their cursors in registers, so that nothing but
 * loads runs. Levels near the core are measured with these alone; the last cache and memory, which
 * hide what it costs to keep a cursor in the first cache, with up to 64. The chains are the N cycles
 * of one order of step N: each goes through lines that are spread over the whole set, none trails
 * another (it would find its lines in a cache), and together they visit every line once a lap. Pages
 * without walks tell of the caches; small pages, in rows of their own, of the page walkers as well.
 *
 * Where the idea comes from: the article "Lab 1: CPU Internals" (one dependent chain against
 * many). */
#include "kernels/mlp.h"

#include "kernels/chase_set.h"
#include "kernels/curve.h"
#include "kernels/estimate.h"
#include "kernels/leaf.h"
#include "kernels/loops.h"
#include "kernels/mlp_loops.h"

#include <math.h>

/* --- In the window ------------------------------------------------------------------------- */

static const struct {
    unsigned chains;
    mlp_loop *hops;
} loops[] = {
    { 1, mlp_hops_1 },   { 2, mlp_hops_2 },   { 3, mlp_hops_3 },   { 4, mlp_hops_4 },
    { 6, mlp_hops_6 },   { 8, mlp_hops_8 },   { 10, mlp_hops_10 }, { 12, mlp_hops_12 },
    { 16, mlp_hops_16 }, { 24, mlp_hops_24 }, { 32, mlp_hops_32 }, { 48, mlp_hops_48 },
    { 64, mlp_hops_64 },
};

enum { LOOPS = sizeof loops / sizeof *loops };

/* Where the walk stands: the cursor of the chases together. Static, because a window maps the
 * image and the data, and the data's lines are all nodes. */
static struct cursors {
    void *at[MLP_MOST_CHAINS];
    mlp_loop *hops;
    uint64_t chains;
    uint64_t turn; /* the chain that is next; those before it are one hop ahead */
} the_cursors;

static uint64_t chains_of(const struct variant *variant)
{
    return variant->value[V_CHAINS].number;
}

/* All chains are of one length: up to N - 1 lines at the set's end are left out. */
static void begin(struct job *job)
{
    const uint64_t chains = chains_of(job->variant);
    const uint64_t lines = job->bytes / LINE_BYTES;
    chase_set_begin(job, ORDER_RANDOM, lines - lines % chains, chains);
}

static mlp_loop *loop_of(uint64_t chains)
{
    size_t i = 0;
    while (i < LOOPS - 1 && loops[i].chains != chains) {
        i++;
    }
    return loops[i].hops;
}

static void *start(const struct job *job)
{
    struct cursors *cursors = &the_cursors;
    cursors->chains = chains_of(job->variant);
    cursors->hops = loop_of(cursors->chains);
    cursors->turn = 0;
    for (uint64_t i = 0; i < cursors->chains; i++) {
        cursors->at[i] = chase_set_node(job, i, 0);
    }
    return cursors;
}

/* A hop of the chain that is next: what is no whole round, at both ends of a sample. */
static void hop(struct cursors *cursors)
{
    void **at = &cursors->at[cursors->turn];
    *at = chase_hops(*at, 1);
    cursors->turn = cursors->turn + 1 < cursors->chains ? cursors->turn + 1 : 0;
}

static void *loop(void *cursor, uint64_t operations)
{
    struct cursors *cursors = cursor;
    for (; cursors->turn != 0 && operations > 0; operations--) {
        hop(cursors);
    }
    cursors->hops(cursors->at, operations / cursors->chains);
    for (uint64_t rest = operations % cursors->chains; rest > 0; rest--) {
        hop(cursors);
    }
    return cursor;
}

static bool check(const struct job *job, const void *cursor, uint64_t operations,
                  const char **reason)
{
    const struct cursors *cursors = cursor;
    const uint64_t rounds = operations / cursors->chains;
    const uint64_t ahead = operations % cursors->chains;
    for (uint64_t i = 0; i < cursors->chains; i++) {
        if (cursors->at[i] != chase_set_node(job, i, rounds + (i < ahead ? 1 : 0))) {
            *reason = "one of the chases did not end where its order leads";
            return false;
        }
    }
    return true;
}

static const struct kernel_code code = {
    .begin = begin,
    .build = chase_set_build,
    .prove = chase_set_prove,
    .start = start,
    .loop = loop,
    .check = check,
    .cycle_length = chase_set_cycle,
    .memory = true,
};

/* --- The plan ------------------------------------------------------------------------------ */

/* A way to show the sets. Those of one placement stand side by side: they show the same data. */
static const struct view {
    enum placing placing;
    enum page_size leaf;
    bool thinned;   /* in `quick` */
    bool full_only; /* unless the settings name the page size */
} views[] = {
    { PLACED_IN_ORDER, SIZE_2M, false, false },
    { PLACED_IN_ORDER, SIZE_1G, false, true },
    { PLACED_SCATTERED, SIZE_4K, true, false },
};

enum { VIEWS = sizeof views / sizeof *views };

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t largest_set(const struct scope *scope)
{
    const uint64_t cache = last_cache_size(scope->machine);
    const uint64_t largest[SUITES] = {
        [SUITE_QUICK] = larger(256ull * MIB, 2 * cache),
        [SUITE_FULL] = larger(GIB, 8 * cache),
        [SUITE_SMOKE] = 8ull * MIB,
    };
    return scope->max_working_set != 0 ? scope->max_working_set : largest[scope->suite];
}

static bool is_wanted(const struct scope *scope, const struct view *view)
{
    if (scope->page_sizes != 0) {
        return (scope->page_sizes >> view->leaf & 1) != 0;
    }
    return !view->full_only || scope->suite == SUITE_FULL;
}

static bool is_thin(unsigned chains)
{
    return chains <= 16 && (chains & (chains - 1)) == 0;
}

/* `smoke` has the powers of two up to 16, and so have the small pages of `quick`. More chains than
 * there are registers are for levels that are far enough away. */
static bool has_chains(const struct scope *scope, const struct view *view, bool far,
                       unsigned chains)
{
    const bool thin = scope->suite == SUITE_SMOKE || (scope->suite == SUITE_QUICK && view->thinned);
    return (!thin || is_thin(chains)) && (far || chains <= MLP_REGISTER_CHAINS);
}

static const char *why_not(const struct scope *scope, const struct view *view, uint64_t bytes,
                           unsigned chains)
{
    const char *reason = leaf_absent(scope->machine, view->leaf, bytes);
    const bool fits = bytes / LINE_BYTES >= chains;
    return reason != NULL || fits ? reason : "the set has fewer lines than there are chains";
}

static void set_variant(struct variant *variant, const struct view *view, uint64_t bytes,
                        unsigned chains)
{
    variant_set_number(variant, V_WORKING_SET, bytes);
    variant_set_number(variant, V_PAGE_SIZE, leaf_bytes(view->leaf));
    variant_set_text(variant, V_ORDER, order_name[ORDER_RANDOM]);
    variant_set_number(variant, V_CHAINS, chains);
    variant_set_text(variant, V_PREFETCHERS, "found");
    variant_set_text(variant, V_PLACEMENT, placement_name[view->placing]);
}

static struct measurement measurement_of(const struct scope *scope, const struct view *view,
                                         uint64_t bytes, unsigned chains)
{
    struct measurement measurement = {
        .kernel = &mlp_kernel,
        .layout = { .bytes = bytes, .leaf = view->leaf, .placing = view->placing },
        .bytes = bytes,
        .skip = why_not(scope, view, bytes, chains),
    };
    set_variant(&measurement.variant, view, bytes, chains);
    measurement.seconds = measurement.skip == NULL ? estimate_visits(scope, &measurement) : 0;
    return measurement;
}

/* Is no cache but the last large enough? */
static bool is_far(const struct machine *machine, uint64_t bytes)
{
    uint64_t cache[MACHINE_CACHES];
    const size_t caches = cache_sizes(machine, cache);
    return caches < 2 || bytes > cache[caches - 2];
}

/* One set of data, in all views of a placement. */
static void list_views(const struct scope *scope, enum placing placing, uint64_t bytes, bool far,
                       unsigned chains, unsigned data, struct measurement_list *out)
{
    bool built = false;
    for (size_t i = 0; i < VIEWS; i++) {
        const struct view *view = &views[i];
        if (view->placing != placing || !is_wanted(scope, view) ||
            !has_chains(scope, view, far, chains)) {
            continue;
        }
        struct measurement measurement = measurement_of(scope, view, bytes, chains);
        measurement.data = data;
        if (measurement.skip == NULL && !built) {
            built = true;
            measurement.build_seconds =
                estimate_build(scope->machine, ORDER_RANDOM, bytes / LINE_BYTES);
        }
        (void)measurement_add(out, &measurement); /* what does not fit is counted there */
    }
}

static void list_level(const struct scope *scope, uint64_t bytes, unsigned *data,
                       struct measurement_list *out)
{
    static const enum placing placing[] = { PLACED_IN_ORDER, PLACED_SCATTERED };
    const bool far = is_far(scope->machine, bytes);
    for (size_t i = 0; i < sizeof placing / sizeof *placing; i++) {
        for (size_t j = 0; j < LOOPS; j++) {
            list_views(scope, placing[i], bytes, far, loops[j].chains, ++*data, out);
        }
    }
}

/* One set a level: its largest, which finds the least in the level before. The first cache, which
 * answers without a miss, is left to `ilp`, unless there is nothing else to measure. */
static void list(const struct scope *scope, const struct kernel *self, struct measurement_list *out)
{
    static struct curve curve; /* too large for a firmware's stack */
    static struct span level[CURVE_LEVELS];
    unsigned data = 0;
    (void)self;
    curve_make(&curve, scope->per_octave, largest_set(scope));
    const size_t levels = curve_levels(&curve, scope->machine, level);
    for (size_t i = levels > 1 ? 1 : 0; i < levels; i++) {
        list_level(scope, curve.size[level[i].last], &data, out);
    }
}

/* --- Prediction ---------------------------------------------------------------------------- */

/* Slower than so many times its share of one chain's latency: something else is the limit. */
#define LIMITED 1.1

static bool same_set(const struct variant *a, const struct variant *b)
{
    struct variant other = *b;
    variant_set_number(&other, V_CHAINS, chains_of(a));
    return variant_equal(a, &other);
}

/* What the points of a set tell so far. */
struct seen {
    double latency, least; /* ns of one chain's load, and of the fastest; NAN without */
    const struct point *most_chains;
};

static struct seen look_through(const struct variant *variant, const struct point *measured,
                                size_t n)
{
    struct seen seen = { NAN, NAN, NULL };
    for (size_t i = 0; i < n; i++) {
        const struct point *point = &measured[i];
        if (!same_set(variant, &point->variant)) {
            continue;
        }
        const uint64_t chains = chains_of(&point->variant);
        seen.latency = chains == 1 ? point->ns.median : seen.latency;
        seen.least = fmin(seen.least, point->ns.median);
        if (seen.most_chains == NULL || chains > chains_of(&seen.most_chains->variant)) {
            seen.most_chains = point;
        }
    }
    return seen;
}

/* An N-th of the latency; but no less than the fastest load, once more chains did not help. */
static double predict(const struct machine *machine, const struct variant *variant,
                      const struct point *measured, size_t n)
{
    const struct seen seen = look_through(variant, measured, n);
    const double share = seen.latency / (double)chains_of(variant);
    (void)machine;
    if (seen.most_chains == NULL) {
        return NAN;
    }
    const double ideal = seen.latency / (double)chains_of(&seen.most_chains->variant);
    const bool limited = seen.most_chains->ns.median > LIMITED * ideal;
    return limited ? fmax(share, seen.least) : share;
}

/* --- The table's row ----------------------------------------------------------------------- */

static const enum variant_key columns[] = { V_WORKING_SET, V_PAGE_SIZE, V_CHAINS, VARIANT_KEYS };

const struct kernel mlp_kernel = {
    .name = "mlp",
    .title = "Memory-level parallelism: what a load costs when others are under way",
    .unit = "load",
    .list = list,
    .predict = predict,
    .code = &code,
    .columns = columns,
};
