/* What it shows: how far away memory is. Every node of a chain fills a line and holds the address
 * of the next, so that a load cannot begin before the one before it has brought its data: the time
 * of a hop is the latency of wherever the set lives, and over the size of the set it draws the
 * staircase of the caches.
 *
 * Why the loop is as it is: one instruction a hop, so that nothing but the load is measured; one
 * cycle over all lines, so that no line is nearer than another; the same lines at the same
 * addresses under each page size, so that two rows differ by one thing. In random order neither
 * prefetchers nor the TLB can help; in sequential order both do; page by page (what many tools call
 * latency) the TLB does.
 *
 * Where the idea comes from: the articles "A field note on reading CPU usage correctly" (random
 * against sequential), "The 3 Cs of memory bound" (the sweep over the capacity), "Latenza di memoria
 * su un server cloud" (labels against silicon) and "Lab 1: CPU Internals" (the staircase). */
#include "kernels/chase.h"

#include "kernels/chase_set.h"
#include "kernels/curve.h"
#include "kernels/estimate.h"
#include "kernels/latency.h"
#include "kernels/leaf.h"
#include "kernels/loops.h"
#include "kernels/prefetch_variants.h"

/* --- In the window ------------------------------------------------------------------------- */

static void begin(struct job *job)
{
    const enum order_kind kind = order_named(job->variant->value[V_ORDER].text);
    chase_set_begin(job, kind, job->bytes / LINE_BYTES, 1);
}

static void *start(const struct job *job)
{
    return chase_set_node(job, 0, 0);
}

static bool check(const struct job *job, const void *cursor, uint64_t operations,
                  const char **reason)
{
    if (cursor == chase_set_node(job, 0, operations)) {
        return true;
    }
    *reason = "the chase did not end where its order leads";
    return false;
}

static const struct kernel_code code = {
    .begin = begin,
    .build = chase_set_build,
    .prove = chase_set_prove,
    .start = start,
    .loop = chase_hops,
    .check = check,
    .cycle_length = chase_set_cycle,
    .memory = true,
};

/* --- The plan ------------------------------------------------------------------------------ */

/* A way to show the set. Those of one placement stand side by side: they show the same data. */
static const struct view {
    enum placing placing;
    enum page_size leaf;
    bool everywhere; /* at all sizes, whatever the suite */
} views[] = {
    { PLACED_SCATTERED, SIZE_4K, true },
    { PLACED_IN_ORDER, SIZE_4K, false },
    { PLACED_IN_ORDER, SIZE_2M, true },
    { PLACED_IN_ORDER, SIZE_1G, false },
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t largest_set(const struct scope *scope, enum order_kind kind)
{
    const uint64_t cache = last_cache_size(scope->machine);
    const uint64_t largest[SUITES] = {
        [SUITE_QUICK] = larger(256ull * MIB, 2 * cache),
        [SUITE_FULL] = larger(GIB, 8 * cache),
        [SUITE_SMOKE] = kind == ORDER_RANDOM ? 64 * MIB : 8 * MIB,
    };
    return scope->max_working_set != 0 ? scope->max_working_set : largest[scope->suite];
}

/* `quick` thins the orders that are there to compare with: it has 90 seconds for everything. */
static unsigned sizes_per_octave(const struct scope *scope, enum order_kind kind)
{
    return kind == ORDER_RANDOM || scope->suite == SUITE_FULL ? scope->per_octave : 1;
}

/* The sizes at which views are measured that are not everywhere: what pages and placement cost is
 * a question to the random order. */
static void mark_anchors(const struct scope *scope, enum order_kind kind, struct curve *curve)
{
    if (scope->suite == SUITE_FULL) {
        curve_mark_all(curve);
    } else if (kind == ORDER_RANDOM && scope->suite == SUITE_QUICK) {
        curve_mark_levels(curve, scope->machine);
    } else if (kind == ORDER_RANDOM) {
        curve_mark_few(curve, scope->machine);
    }
}

/* A page size that the user names is measured at all sizes. */
static bool is_wanted(const struct scope *scope, const struct view *view, bool anchor)
{
    if (scope->page_sizes == 0) {
        return view->everywhere || anchor;
    }
    const bool named = (scope->page_sizes >> view->leaf & 1) != 0;
    return named && (view->everywhere || anchor || view->leaf == SIZE_1G);
}

static struct variant variant_of(const struct view *view, enum order_kind kind, uint64_t bytes)
{
    struct variant variant = { .present = 0 };
    variant_set_number(&variant, V_WORKING_SET, bytes);
    variant_set_number(&variant, V_PAGE_SIZE, leaf_bytes(view->leaf));
    variant_set_text(&variant, V_ORDER, order_name[kind]);
    variant_set_text(&variant, V_PLACEMENT, placement_name[view->placing]);
    return variant;
}

static struct measurement measurement_of(const struct scope *scope, const struct view *view,
                                         enum order_kind kind, uint64_t bytes)
{
    struct measurement measurement = {
        .kernel = &chase_kernel,
        .variant = variant_of(view, kind, bytes),
        .layout = { .bytes = bytes, .leaf = view->leaf, .placing = view->placing },
        .bytes = bytes,
        .skip = leaf_absent(scope->machine, view->leaf, bytes),
    };
    measurement.seconds = measurement.skip == NULL ? estimate_visits(scope, &measurement) : 0;
    return measurement;
}

/* All views of one size. `data` is the number of the last group before. */
static void list_views(const struct scope *scope, enum order_kind kind, uint64_t bytes, bool anchor,
                       unsigned *data, struct measurement_list *out)
{
    enum placing placing = PLACINGS;
    bool built = false;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (!is_wanted(scope, &views[i], anchor)) {
            continue;
        }
        struct measurement measurement = measurement_of(scope, &views[i], kind, bytes);
        if (views[i].placing != placing) {
            placing = views[i].placing;
            built = false;
            ++*data;
        }
        measurement.data = *data;
        if (measurement.skip == NULL && !built) {
            built = true;
            measurement.build_seconds = estimate_build(scope->machine, kind, bytes / LINE_BYTES);
        }
        (void)prefetch_add(scope, &measurement, PREFETCH_FOUND, out); /* counts what has no room */
    }
}

static void list(const struct scope *scope, const struct kernel *self, struct measurement_list *out)
{
    static struct curve curve; /* too large for a firmware's stack */
    unsigned data = 0;
    (void)self;
    for (unsigned kind = 0; kind < ORDERS; kind++) {
        curve_make(&curve, sizes_per_octave(scope, kind), largest_set(scope, kind));
        mark_anchors(scope, kind, &curve);
        for (size_t i = 0; i < curve.count; i++) {
            list_views(scope, kind, curve.size[i], curve.anchor[i], &data, out);
        }
    }
}

/* --- The table's row ----------------------------------------------------------------------- */

static const enum variant_key columns[] = {
    V_ORDER, V_WORKING_SET, V_PAGE_SIZE, V_PLACEMENT, V_PREFETCHERS, VARIANT_KEYS,
};

const struct kernel chase_kernel = {
    .name = "chase",
    .title = "Pointer chase: what a load costs that needs the one before it",
    .unit = "load",
    .list = list,
    .predict = latency_predict,
    .code = &code,
    .columns = columns,
};
