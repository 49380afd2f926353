#include "kernels/infer_levels.h"

#include <math.h>
#include <string.h>

/* Ratios of sizes below which two rises are one step: any two, and where one is a small one. */
#define ONE_STEP       1.6
#define ONE_STEP_SMALL 2.2
/* Ratios of latency, after to before. The caches of 12 processors rise by 2.0 at least; their TLBs
 * by 1.67, but one of 2.0 with the plain shape of a TLB and the cost of one (32 entries of
 * Bulldozer, 20 cycles). */
#define SMALL_RISE     1.5
#define CACHE_RISE     1.8
#define TLB_RISE       2.15
#define TLB_COST       6.0          /* of first-level hits */
#define ANY_RISE       1.3          /* where nothing but a cache can be the cause */
#define TLB_SMALLEST   (64.0 * KIB) /* no TLB is smaller: 16 pages */
#define TLB_FIRST_FROM (90.0 * KIB) /* first-level TLBs: 24 to 200 pages */
#define TLB_FIRST_TO   (800.0 * KIB)
/* Shares of a step. */
#define MOST           0.6
#define RESTS          0.03 /* still to come, or begun */

/* Rises that are one step. */
struct step {
    double place; /* logarithm of its size */
    double amount;
    double gentle;     /* the amount of it that has a TLB's shape */
    size_t first, end; /* rises */
};

struct steps {
    size_t count;
    struct step step[FIT_RISES];
};

static bool is_gentle(enum miss_shape shape)
{
    return shape == MISS_SHARE || shape == MISS_SHARE_SMEARED || shape == MISS_WIDE;
}

static void each_alone(const struct staircase *stairs, struct steps *steps)
{
    steps->count = stairs->rises;
    for (size_t i = 0; i < stairs->rises; i++) {
        const struct rise *rise = &stairs->rise[i];
        steps->step[i] = (struct step){
            .place = log(rise->size),
            .amount = rise->amount,
            .gentle = is_gentle(rise->shape) ? rise->amount : 0,
            .first = i,
            .end = i + 1,
        };
    }
}

/* Latency below step i. */
static double before(const struct staircase *stairs, const struct steps *steps, size_t i)
{
    double value = stairs->base;
    for (size_t j = 0; j < i; j++) {
        value += steps->step[j].amount;
    }
    return value;
}

static double growth(const struct staircase *stairs, const struct steps *steps, size_t i)
{
    return 1 + steps->step[i].amount / before(stairs, steps, i);
}

/* The first of two neighbours that are one step, and of all such the nearest; `count` without. */
static size_t find_pair(const struct staircase *stairs, const struct steps *steps)
{
    double nearest = INFINITY;
    size_t pair = steps->count;
    for (size_t i = 0; i + 1 < steps->count; i++) {
        const double ratio = exp(steps->step[i + 1].place - steps->step[i].place);
        const bool small =
            growth(stairs, steps, i) < SMALL_RISE || growth(stairs, steps, i + 1) < SMALL_RISE;
        if (ratio < (small ? ONE_STEP_SMALL : ONE_STEP) && ratio < nearest) {
            nearest = ratio;
            pair = i;
        }
    }
    return pair;
}

static void join(struct steps *steps, size_t i)
{
    struct step *a = &steps->step[i];
    const struct step *b = a + 1;
    const double amount = a->amount + b->amount;
    a->place = (a->place * a->amount + b->place * b->amount) / amount;
    a->amount = amount;
    a->gentle += b->gentle;
    a->end = b->end;
    steps->count--;
    memmove(a + 1, b + 1, (steps->count - i - 1) * sizeof *a);
}

static bool is_cache(const struct staircase *stairs, const struct steps *steps, size_t i,
                     bool small_pages)
{
    const struct step *step = &steps->step[i];
    const double size = exp(step->place);
    const double grows = growth(stairs, steps, i);
    if (!small_pages || size < TLB_SMALLEST) {
        return grows >= ANY_RISE;
    }
    if (step->gentle > step->amount / 2 && step->amount < TLB_COST * stairs->base &&
        size >= TLB_FIRST_FROM && size <= TLB_FIRST_TO) {
        return grows >= TLB_RISE;
    }
    return grows >= CACHE_RISE;
}

/* How much of a step has come at a set of that size, 0 to 1. */
static double share_of(const struct staircase *stairs, const struct step *step, double set)
{
    double come = 0;
    for (size_t i = step->first; i < step->end; i++) {
        const struct rise *rise = &stairs->rise[i];
        come += rise->amount * miss_share(rise->shape, set / rise->size);
    }
    return come / step->amount;
}

/* The set of the curve that is nearest to a step's size, or the one before where the nearest has
 * most of the step behind it: a coarse curve shows between which two the cache lies, and of them it
 * holds the smaller. */
static uint64_t nearest_set(const struct fit_data *data, const struct staircase *stairs,
                            const struct step *step)
{
    const double size = exp(step->place);
    size_t nearest = 0;
    for (size_t i = 1; i < data->points; i++) {
        if (fabs(log(data->set[i] / size)) < fabs(log(data->set[nearest] / size))) {
            nearest = i;
        }
    }
    while (nearest > 0 && share_of(stairs, step, data->set[nearest]) > MOST) {
        nearest--;
    }
    return (uint64_t)data->set[nearest];
}

/* At that set, all steps up to `end` have come and none beyond has begun. */
static bool rests(const struct staircase *stairs, const struct steps *steps, size_t end, double set)
{
    for (size_t i = 0; i < steps->count; i++) {
        const double share = share_of(stairs, &steps->step[i], set);
        if (i < end ? share < 1 - RESTS : share > RESTS) {
            return false;
        }
    }
    return true;
}

/* The level that answers when the steps up to `end` have come. */
static struct level level_after(const struct fit_data *data, const struct staircase *stairs,
                                const struct steps *steps, size_t end)
{
    struct level level = { .latency = before(stairs, steps, end) };
    while (level.rest_first < data->points &&
           !rests(stairs, steps, end, data->set[level.rest_first])) {
        level.rest_first++;
    }
    level.rest_end = level.rest_first;
    while (level.rest_end < data->points && rests(stairs, steps, end, data->set[level.rest_end])) {
        level.rest_end++;
    }
    return level;
}

void find_levels(const struct fit_data *data, const struct staircase *stairs, bool small_pages,
                 struct ladder *ladder)
{
    const double largest = data->points > 0 ? data->set[data->points - 1] : 0;
    struct steps steps;
    size_t end = 0;
    *ladder = (struct ladder){ .levels = 0 };
    each_alone(stairs, &steps);
    for (size_t i = find_pair(stairs, &steps); i < steps.count; i = find_pair(stairs, &steps)) {
        join(&steps, i);
    }
    for (size_t i = 0; i < steps.count && ladder->levels < INFER_LEVELS; i++) {
        const double size = exp(steps.step[i].place);
        if (size <= largest / 2 && is_cache(stairs, &steps, i, small_pages)) {
            struct level *level = &ladder->level[ladder->levels++];
            *level = level_after(data, stairs, &steps, end);
            level->size = nearest_set(data, stairs, &steps.step[i]);
            end = i + 1;
        }
    }
    ladder->level[ladder->levels] = level_after(data, stairs, &steps, end);
    ladder->level[ladder->levels].size = (uint64_t)largest;
}
