#include "kernels/statistics.h"

#include <math.h>
#include <string.h>

#define WANTED_COVERAGE  0.95
#define WITHIN_DISTANCES 3
#define NOISY_WIDTH      0.02
#define TREND_SHARE      0.005 /* of the median, between the halves of a visit */
#define TREND_DEVIATES   2.576 /* standard deviations: 1 % two-sided */

static const void *column_at(const void *first, size_t stride, size_t i)
{
    return (const char *)first + i * stride;
}

static double value_at(const struct column *column, size_t i)
{
    return *(const double *)column_at(column->first, column->stride, i);
}

/* Doubles sort like these integers: IEEE 754 orders positive ones by their bit pattern already. */
static uint64_t sortable(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double from_sortable(uint64_t key)
{
    const uint64_t bits = key >> 63 ? key & ~(1ull << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* What is ranked: the value itself, or its distance from a centre. */
struct ranking {
    const struct column *column;
    bool distances;
    double centre;
};

static double ranked_at(const struct ranking *ranking, size_t i)
{
    const double value = value_at(ranking->column, i);
    return ranking->distances ? fabs(value - ranking->centre) : value;
}

static size_t count_up_to(const struct ranking *ranking, uint64_t key)
{
    size_t count = 0;
    for (size_t i = 0; i < ranking->column->count; i++) {
        const double value = ranked_at(ranking, i);
        count += !isnan(value) && sortable(value) <= key ? 1 : 0;
    }
    return count;
}

/* The smallest key that `rank` values do not exceed is the key of one of them: bisection finds it
 * in 64 passes without sorting, so the samples keep their order and need no second array. */
static double ranked(const struct ranking *ranking, size_t rank)
{
    if (rank == 0 || rank > column_known(ranking->column)) {
        return NAN;
    }
    uint64_t low = 0, high = UINT64_MAX;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (count_up_to(ranking, middle) >= rank) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return from_sortable(low);
}

static double ranked_median(const struct ranking *ranking)
{
    const size_t n = column_known(ranking->column);
    const double upper = ranked(ranking, n / 2 + 1);
    return n % 2 != 0 || n == 0 ? upper : (ranked(ranking, n / 2) + upper) / 2;
}

size_t column_known(const struct column *column)
{
    size_t known = 0;
    for (size_t i = 0; i < column->count; i++) {
        known += isnan(value_at(column, i)) ? 0 : 1;
    }
    return known;
}

double column_rank(const struct column *column, size_t rank)
{
    return ranked(&(struct ranking){ .column = column }, rank);
}

double column_median(const struct column *column)
{
    return ranked_median(&(struct ranking){ .column = column });
}

double column_mad(const struct column *column, double centre)
{
    return ranked_median(
        &(struct ranking){ .column = column, .distances = true, .centre = centre });
}

bool median_interval(size_t samples, struct median_interval *out)
{
    if (samples == 0) {
        return false;
    }
    /* P(exactly k of n samples lie below the median) = C(n, k) / 2^n, from the middle outwards:
     * no factorial, and nothing underflows before it has stopped to matter. */
    const size_t half = samples / 2;
    double chance = 1; /* of k = half */
    for (size_t i = 1; i <= half; i++) {
        chance *= (double)(2 * i - 1) / (double)(2 * i);
    }
    double coverage = chance; /* of k = low .. samples - low */
    if (samples % 2 != 0) {
        chance *= (double)samples / (double)(2 * (half + 1));
        coverage = 2 * chance;
    }
    size_t low = half;
    while (low > 1 && coverage < WANTED_COVERAGE) {
        chance *= (double)low / (double)(samples - low + 1);
        coverage += 2 * chance;
        low--;
    }
    *out = (struct median_interval){ low, samples + 1 - low, coverage };
    return low >= 1 && coverage >= WANTED_COVERAGE;
}

static unsigned visit_at(const struct observations *all, size_t i)
{
    return *(const unsigned *)column_at(all->visit, all->values.stride, i);
}

/* The run of samples from index `from` that were taken in one visit. */
static struct column visit_from(const struct observations *all, size_t from)
{
    size_t end = from;
    while (end < all->values.count && visit_at(all, end) == visit_at(all, from)) {
        end++;
    }
    return (struct column){ column_at(all->values.first, all->values.stride, from),
                            all->values.stride, end - from };
}

/* What the visits look like one by one. */
struct visit_summary {
    double low, high;       /* smallest and largest median of a visit */
    double distance;        /* median distance from it, summed over the visits with two samples */
    unsigned visits, pairs; /* with a known sample, and with two */
};

static void summarise_visit(struct visit_summary *summary, const struct column *visit)
{
    const double median = column_median(visit);
    const size_t known = column_known(visit);
    if (known == 0) {
        return;
    }
    summary->low = fmin(summary->low, median);
    summary->high = fmax(summary->high, median);
    summary->visits++;
    if (known > 1) {
        summary->distance += column_mad(visit, median);
        summary->pairs++;
    }
}

static struct visit_summary summarise_visits(const struct observations *all)
{
    struct visit_summary summary = { .low = INFINITY, .high = -INFINITY };
    struct column visit;
    for (size_t from = 0; from < all->values.count; from += visit.count) {
        visit = visit_from(all, from);
        summarise_visit(&summary, &visit);
    }
    return summary;
}

bool spread_of(const struct observations *observations, struct spread *out)
{
    const struct column *values = &observations->values;
    const size_t n = column_known(values);
    const struct visit_summary visits = summarise_visits(observations);
    const double median = column_median(values);
    *out = (struct spread){
        .median = median,
        .min = column_rank(values, 1),
        .max = column_rank(values, n),
        .mad = column_mad(values, median),
        .low = NAN,
        .high = NAN,
        .coverage = NAN,
        .within = visits.pairs > 0 ? WITHIN_DISTANCES * visits.distance / visits.pairs : NAN,
        .between = visits.visits > 1 ? visits.high - visits.low : NAN,
        .samples = (unsigned)n,
        .visits = visits.visits,
    };
    const bool between = out->between > out->within; /* false if either is unknown */
    struct median_interval ranks;
    if (median_interval(n, &ranks)) {
        out->low = column_rank(values, ranks.low);
        out->high = column_rank(values, ranks.high);
        out->coverage = ranks.coverage;
        if (between) {
            out->low = fmin(out->low, visits.low);
            out->high = fmax(out->high, visits.high);
        }
    }
    return between;
}

bool spread_is_noisy(const struct spread *spread)
{
    const bool interval = !isnan(spread->coverage);
    const double width = interval ? spread->high - spread->low : spread->max - spread->min;
    return width > NOISY_WIDTH * spread->median;
}

/* Mann-Kendall: rising minus falling pairs, and the variance of that if time played no part. */
struct trend {
    double score, variance;
    double step; /* largest relative change between the halves of a visit */
};

static void add_pairs(struct trend *trend, const struct column *visit)
{
    for (size_t late = 1; late < visit->count; late++) {
        for (size_t early = 0; early < late; early++) {
            const double change = value_at(visit, late) - value_at(visit, early);
            trend->score += (change > 0) - (change < 0); /* NAN: neither */
        }
    }
    const double n = (double)column_known(visit);
    trend->variance += n * (n - 1) * (2 * n + 5) / 18;
}

static void add_halves(struct trend *trend, const struct column *visit)
{
    const size_t half = visit->count / 2;
    const struct column early = { visit->first, visit->stride, half };
    const struct column late = { column_at(visit->first, visit->stride, visit->count - half),
                                 visit->stride, half };
    const double change = column_median(&late) - column_median(&early);
    trend->step = fmax(trend->step, fabs(change) / column_median(visit));
}

bool observations_have_trend(const struct observations *observations)
{
    struct trend trend = { .step = 0 };
    struct column visit;
    for (size_t from = 0; from < observations->values.count; from += visit.count) {
        visit = visit_from(observations, from);
        add_pairs(&trend, &visit);
        add_halves(&trend, &visit);
    }
    /* One pair less: the score is a whole number, the normal distribution is not. */
    const double deviates = (fabs(trend.score) - 1) / sqrt(trend.variance);
    return deviates > TREND_DEVIATES && trend.step > TREND_SHARE;
}
