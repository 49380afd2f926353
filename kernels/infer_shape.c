#include "kernels/infer_shape.h"

#include <math.h>

/* A cliff is as wide as the step of a fine curve: where in between it lies cannot be told. */
#define CLIFF_WIDTH 0.3

struct outline {
    double power; /* of size / set, which is what the cache goes on answering */
    int smear;    /* standard deviation of the logarithm of its size, in units of 0.3; 0: none */
    int ways;     /* of a cache under LRU that pages fill at random; 0: another kind */
    /* The claimed size over the one that the formula is made of: the mean over caches of known
     * size, on 4 KiB pages as an operating system places them. */
    double claimed;
};

static const struct outline outlines[MISS_SHAPES] = {
    [MISS_CLIFF] = { .claimed = 1 },
    [MISS_SHARE] = { .power = 1, .claimed = 1 },
    [MISS_SHARE_SMEARED] = { .power = 1, .smear = 1, .claimed = 1.15 },
    [MISS_STEEP] = { .power = 1.5, .smear = 1, .claimed = 1.12 },
    [MISS_STEEPER] = { .power = 2, .smear = 1, .claimed = 1.12 },
    [MISS_WIDE] = { .power = 1.5, .smear = 2, .claimed = 1.22 },
    [MISS_PAGES_8] = { .ways = 8, .claimed = 0.95 },
    [MISS_PAGES_16] = { .ways = 16, .claimed = 0.95 },
};

/* 1 - (size / set)^power, for the powers of the table: without pow(), which is large. */
static double power_law(double power, double ratio)
{
    if (ratio <= 1) {
        return 0;
    }
    const double half = power == 1.5 ? sqrt(ratio) : power == 2 ? ratio : 1;
    return 1 - 1 / (ratio * half);
}

/* Mean over a normal distribution of the logarithm of the size, at five places 0.8 deviations
 * apart. */
static double smeared(const struct outline *outline, double ratio)
{
    static const double share[5] = { 0.11, 0.24, 0.30, 0.24, 0.11 };
    static const double place[5] = { 0.6188, 0.7866, 1, 1.2712, 1.6161 }; /* e^0.24i, i = -2..2 */
    double sum = 0;
    for (int i = 0; i < 5; i++) {
        const double stretched = outline->smear > 1 ? place[i] * place[i] : place[i];
        sum += share[i] * power_law(outline->power, ratio * stretched);
    }
    return sum;
}

/* The pages that fall into one of the cache's colours are as many as Poisson says. Those of a
 * colour miss once it has more than `ways`: of the pages, the share that has at least that many
 * companions. (The sum is the chance of fewer.) */
static double pages_at_random(int ways, double ratio)
{
    const double mean = ways * ratio;
    double term = exp(-mean), fewer = 0;
    for (int i = 0; i < ways; i++) {
        fewer += term;
        term *= mean / (i + 1);
    }
    return 1 - fewer;
}

double miss_share(enum miss_shape shape, double ratio)
{
    const struct outline *outline = &outlines[shape];
    const double own = ratio * outline->claimed;
    if (shape == MISS_CLIFF) {
        return fmin(1, fmax(0, (own - 1) / CLIFF_WIDTH));
    }
    if (outline->ways > 0) {
        return pages_at_random(outline->ways, own);
    }
    return outline->smear > 0 ? smeared(outline, own) : power_law(outline->power, own);
}
