#include "kernels/latency.h"

#include "kernels/curve.h"
#include "kernels/order.h"

#include <math.h>

enum { LEVELS = MACHINE_CACHES + 1 }; /* the caches and memory */

/* The machine's levels for one view and order: how far away each is follows from the points that
 * were measured, how often a load finds its line there from the size of the set. */
struct model {
    uint64_t cache[MACHINE_CACHES];
    size_t caches;
    bool sequential;
    double ns[LEVELS]; /* NAN: not known yet */
};

/* Share of the loads that a cache answers, it or a nearer one. In sequential order a line is gone
 * when its turn comes again unless all fit. */
static double hit_share(const struct model *model, size_t level, double set)
{
    if (level == model->caches) {
        return 1;
    }
    const double share = fmin(1, (double)model->cache[level] / set);
    return model->sequential && share < 1 ? 0 : share;
}

/* Share of the loads that just this level answers. */
static double level_share(const struct model *model, size_t level, double set)
{
    return hit_share(model, level, set) - (level > 0 ? hit_share(model, level - 1, set) : 0);
}

/* Mean over the levels below `end`; NAN if one that is needed is not known. */
static double mean_below(const struct model *model, size_t end, double set)
{
    double sum = 0;
    for (size_t i = 0; i < end; i++) {
        const double share = level_share(model, i, set);
        sum += share > 0 ? share * model->ns[i] : 0;
    }
    return sum;
}

/* Does a set of this size speak for the level: well inside, and well beyond the one before? */
static bool speaks_for(const struct model *model, size_t level, double set)
{
    const double below = level > 0 ? (double)model->cache[level - 1] : 0;
    const bool inside = level == model->caches || set <= 0.75 * (double)model->cache[level];
    return inside && set >= 1.5 * below;
}

static bool same_view(const struct variant *a, const struct variant *b)
{
    struct variant other = *b;
    variant_set_number(&other, V_WORKING_SET, a->value[V_WORKING_SET].number);
    return variant_equal(a, &other);
}

static double set_of(const struct variant *variant)
{
    return (double)variant->value[V_WORKING_SET].number;
}

/* The point of the same view that speaks for the level and is nearest in size; NULL without. */
static const struct point *nearest(const struct model *model, size_t level,
                                   const struct variant *variant, const struct point *measured,
                                   size_t n)
{
    const struct point *best = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double set = set_of(&measured[i].variant);
        const double distance = fabs(log(set / set_of(variant)));
        if (same_view(&measured[i].variant, variant) && speaks_for(model, level, set) &&
            isfinite(measured[i].ns.median) && distance < least) {
            best = &measured[i];
            least = distance;
        }
    }
    return best;
}

/* A level's own latency: what is left of a point's when the nearer levels' part is taken off. */
static void learn_levels(struct model *model, const struct variant *variant,
                         const struct point *measured, size_t n)
{
    for (size_t i = 0; i <= model->caches; i++) {
        const struct point *point = nearest(model, i, variant, measured, n);
        model->ns[i] = NAN;
        if (point != NULL) {
            const double set = set_of(&point->variant);
            model->ns[i] =
                (point->ns.median - mean_below(model, i, set)) / level_share(model, i, set);
        }
    }
}

double latency_predict(const struct machine *machine, const struct variant *variant,
                       const struct point *measured, size_t n)
{
    struct model model = { .sequential =
                               order_named(variant->value[V_ORDER].text) == ORDER_SEQUENTIAL };
    model.caches = cache_sizes(machine, model.cache);
    learn_levels(&model, variant, measured, n);
    return mean_below(&model, model.caches + 1, set_of(variant));
}
