/* A run that never happened, with one of everything that a report must be able to show: points
 * with and without interval, cycles, counters, flags and reasons; a fault; a skipped experiment;
 * checks; findings that agree, disagree and cannot be told. */
#ifndef TESTS_FAKES_EXAMPLE_RUN_H
#define TESTS_FAKES_EXAMPLE_RUN_H

#include "kernels/kernel.h"
#include "kernels/result.h"
#include "kernels/sampler.h"

enum { EXAMPLE_EXPERIMENTS = 4, EXAMPLE_POINTS = 6, EXAMPLE_CHECKS = 2, EXAMPLE_FINDINGS = 3 };

/* The experiments, in order. */
enum example_experiment { EXAMPLE_CHASE, EXAMPLE_SELFTEST, EXAMPLE_FAULTY, EXAMPLE_SKIPPED };

struct example_run {
    struct machine machine;
    struct setting_note setting[3];
    struct experiment experiment[EXAMPLE_EXPERIMENTS];
    struct point point[EXAMPLE_POINTS];
    struct check check[EXAMPLE_CHECKS];
    struct finding finding[EXAMPLE_FINDINGS];
    struct sample sample[4];
    struct strikes strikes;
    struct results results;
};

/* Fills all of it. It must not be moved afterwards. */
void example_run_make(struct example_run *run);

/* The kernel whose table the example's points are. */
extern const struct kernel example_kernel;

/* Shows the run to observers from begin to end, as the run loop does: progress before each point,
 * one earlier visit of the first point, two more samples with each point. */
void example_run_play(const struct example_run *run, const struct observer *observer, size_t n);

#endif
