#include "kernels/plausible.h"

#include <math.h>
#include <string.h>

/* Hits that a larger set keeps by luck of its seed, and the noise of a quiet machine. */
#define SLACK 0.97

/* The same for chains that share nothing. */
#define CHAIN_SLACK 1.05

static bool has_order(const struct point *point, const char *order)
{
    return variant_has(&point->variant, V_ORDER) &&
           strcmp(point->variant.value[V_ORDER].text, order) == 0;
}

/* The two points differ in this key and in no other. */
static bool differ_only_in(const struct point *a, const struct point *b, enum variant_key key)
{
    struct variant other = b->variant;
    if (!variant_has(&a->variant, key) || !variant_has(&other, key)) {
        return false;
    }
    other.value[key] = a->variant.value[key];
    return variant_equal(&a->variant, &other) && !variant_equal(&a->variant, &b->variant);
}

/* The smallest and largest ns that a point may stand for: its interval, else its samples. */
static double lowest(const struct point *point)
{
    return isnan(point->ns.low) ? point->ns.min : point->ns.low;
}

static double highest(const struct point *point)
{
    return isnan(point->ns.high) ? point->ns.max : point->ns.high;
}

static bool larger_is_faster(const struct point *a, const struct point *b)
{
    if (!differ_only_in(a, b, V_WORKING_SET) || !has_order(a, "random")) {
        return false;
    }
    const bool in_order =
        a->variant.value[V_WORKING_SET].number < b->variant.value[V_WORKING_SET].number;
    const struct point *smaller = in_order ? a : b;
    const struct point *larger = in_order ? b : a;
    return larger->ns.median < SLACK * smaller->ns.median;
}

static bool random_is_faster(const struct point *a, const struct point *b)
{
    if (!differ_only_in(a, b, V_ORDER)) {
        return false;
    }
    const struct point *random = has_order(a, "random") ? a : b;
    const struct point *sequential = has_order(a, "sequential") ? a : b;
    return has_order(random, "random") && has_order(sequential, "sequential") &&
           highest(random) < SLACK * lowest(sequential);
}

static bool chains_are_faster(const struct point *a, const struct point *b)
{
    if (!differ_only_in(a, b, V_CHAINS)) {
        return false;
    }
    const bool one_first = a->variant.value[V_CHAINS].number == 1;
    const struct point *one = one_first ? a : b;
    const struct point *many = one_first ? b : a;
    const double chains = (double)many->variant.value[V_CHAINS].number;
    return one->variant.value[V_CHAINS].number == 1 &&
           lowest(one) > CHAIN_SLACK * chains * highest(many);
}

/* Which two points contradict each other, in whatever order they come. */
static const struct rule {
    bool (*contradict)(const struct point *a, const struct point *b);
    const char *reason;
} rules[] = {
    { larger_is_faster, "a larger set was measured faster than a smaller one" },
    { random_is_faster, "random order was measured faster than sequential order" },
    { chains_are_faster, "n chains were measured more than n times faster than one" },
};

static const char *contradiction(const struct point *a, const struct point *b)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].contradict(a, b)) {
            return rules[i].reason;
        }
    }
    return NULL;
}

/* The first reason stays: a row has one. */
static void suspect(struct point *point, const char *reason)
{
    point->flags |= 1u << FLAG_SUSPECT;
    point->reason = point->reason != NULL ? point->reason : reason;
}

bool plausible_prefetchers(struct point *point, const struct conditions *set,
                           const struct prefetcher_facts *facts)
{
    const uint32_t off = set->prefetchers_off == UINT32_MAX ? facts->works : set->prefetchers_off;
    const uint32_t promised = (facts->found_off | off) & facts->readable;
    if (!point->proof.prefetchers_known || point->proof.prefetchers_off == promised) {
        return false;
    }
    suspect(point, "the prefetchers were not found as they had been set");
    return true;
}

bool plausible_judge(struct point *point, const struct point *before, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *reason = contradiction(point, &before[i]);
        if (reason != NULL) {
            suspect(point, reason);
            return true;
        }
    }
    return false;
}
