/* Medians, spreads and their intervals: no distribution is assumed, nothing is rounded.
 *
 * Values are read where they lie (often one member of an array of structs), never moved or copied,
 * so no routine needs memory of its own. NAN stands for "unknown" and is left out everywhere.
 * All pure. Window: yes. */
#ifndef KERNELS_STATISTICS_H
#define KERNELS_STATISTICS_H

#include "kernels/result.h"

/* `count` values, one every `stride` bytes. */
struct column {
    const double *first;
    size_t stride;
    size_t count;
};

/* Values of the column that are known. */
size_t column_known(const struct column *column);
/* The rank-th smallest known value, from 1; NAN if there are fewer. */
double column_rank(const struct column *column, size_t rank);
/* Middle value, or the mean of the two middle ones; NAN for none. */
double column_median(const struct column *column);
/* Median distance from `centre`, not scaled; NAN for none. */
double column_mad(const struct column *column, double centre);

/* Ranks (from 1) of two sorted samples that enclose the median of what was sampled. */
struct median_interval {
    size_t low, high;
    double coverage; /* probability that they do, exact for any continuous distribution */
};

/* The narrowest symmetric pair of ranks with a coverage of at least 95 %: for 11 samples 2 and 10,
 * 98.8 %. False for fewer than 6 samples, where not even the extremes reach it. The number of
 * samples below the median is binomial (n, 1/2): David and Nagaraja, Order Statistics, 7.1. */
bool median_interval(size_t samples, struct median_interval *out);

/* Samples with the visit that each was taken in; those of one visit stand side by side, in the
 * order they were taken. `visit` has the same stride as the values. */
struct observations {
    struct column values;
    const unsigned *visit;
};

/* Median and spread; all NAN for no known sample. `between` reaches from the smallest to the
 * largest median of a visit; `within` is three times the median distance of a sample from the
 * median of its visit (two standard deviations, if the samples were normal), averaged over the
 * visits. Of five visits that differ as much as their samples do, the plain interval misses the
 * median in a quarter of all cases instead of a twentieth; so where `between` is larger than
 * `within`, it is widened to hold the median of every visit, and the result is true. Either is
 * NAN where it cannot be told: `within` needs a visit with two samples, `between` two visits. */
bool spread_of(const struct observations *observations, struct spread *out);

/* Interval wider than 2 % of the median, or without one (max - min) / median over 2 %. */
bool spread_is_noisy(const struct spread *spread);

/* Do the samples of the visits still climb or fall while they are taken? True if both hold: order
 * in time and order in size agree more often than chance allows (Mann-Kendall over the visits
 * together, two-sided 1 %), and the medians of the halves of a visit differ by more than 0.5 %. */
bool observations_have_trend(const struct observations *observations);

#endif
