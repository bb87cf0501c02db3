/* Timed repetition and order statistics. */
#include "bench.h"

#include <stdlib.h>
#include <time.h>

/* Reading the clock costs some 25 ns; a batch this long keeps that below a fifth of a percent. */
static const double batch_ns = 20e3;
static const int64_t batch_max = INT64_C(1) << 20;

double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct samples samples_new(int count) {
    struct samples samples = {.values = calloc((size_t)count, sizeof(double)), .count = count};
    if (NULL == samples.values)
        MPI_Abort(MPI_COMM_WORLD, 1);
    samples.batch = 1;
    return samples;
}

void samples_free(struct samples* samples) {
    free(samples->values);
    samples->values = NULL;
    samples->count = 0;
}

static int ascending(const void* a, const void* b) {
    const double x = *(const double*)a;
    const double y = *(const double*)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between the two closest ranks. */
static double quantile(const double* sorted, int count, double q) {
    const double at = q * (count - 1);
    const int below = (int)at;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

struct summary samples_summary(struct samples* samples) {
    const int discarded = samples->count / 10;
    const int kept = samples->count - discarded;
    double* rest = samples->values + discarded;
    qsort(rest, (size_t)kept, sizeof *rest, ascending);
    return (struct summary){.median = quantile(rest, kept, 0.5),
                            .p10 = quantile(rest, kept, 0.1),
                            .p90 = quantile(rest, kept, 0.9),
                            .kept = kept};
}

/* One batch. When all ranks take part they must agree on what comes next, so all of them go by
 * the origin's clock. */
static double time_batch(struct bench* bench, repeat_fn repeat, int64_t n, bool together) {
    const double start = now_ns();
    repeat(bench, n);
    double elapsed = now_ns() - start;
    if (together)
        MPI_Bcast(&elapsed, 1, MPI_DOUBLE, ORIGIN, bench->comm);
    return elapsed;
}

/* Whether a batch of n is long enough. It has to be so more than once: the first batch touches new
 * memory, any of them can be interrupted, and a batch of one would then stand for the rest. */
static bool long_enough(struct bench* bench, repeat_fn repeat, int64_t n, bool together) {
    for (int i = 0; i < 3; i++)
        if (time_batch(bench, repeat, n, together) < batch_ns)
            return false;
    return true;
}

static struct samples sample(struct bench* bench, repeat_fn repeat, bool together) {
    struct samples samples = samples_new(bench->iterations);
    while (samples.batch < batch_max && !long_enough(bench, repeat, samples.batch, together))
        samples.batch *= 2;
    for (int i = 0; i < samples.count; i++) {
        const double elapsed = time_batch(bench, repeat, samples.batch, together);
        samples.values[i] = elapsed / (double)samples.batch;
    }
    return samples;
}

struct samples sample_origin(struct bench* bench, repeat_fn repeat) {
    if (ORIGIN != bench->rank)
        return (struct samples){.values = NULL};
    return sample(bench, repeat, false);
}

struct samples sample_together(struct bench* bench, repeat_fn repeat) {
    return sample(bench, repeat, true);
}

void compute(int64_t steps) {
    /* Each step needs the one before, so neither the compiler nor the core can shorten it. */
    static volatile uint64_t sink;
    uint64_t x = sink;
    for (int64_t i = 0; i < steps; i++)
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    sink = x;
}

int64_t compute_steps_for(double nanoseconds) {
    /* The fastest of several runs is the one that nothing disturbed. */
    static double step_ns = 0;
    const int64_t probe = 100000;
    for (int i = 0; i < 20; i++) {
        const double start = now_ns();
        compute(probe);
        const double each = (now_ns() - start) / (double)probe;
        if (0 == step_ns || each < step_ns)
            step_ns = each;
    }
    return (int64_t)(nanoseconds / step_ns) + 1;
}

/* --- what is drawn ---------------------------------------------------------------------------- */

uint64_t random_bits(void) {
    static uint64_t state = 0;
    if (0 == state) {
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        state = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(rank + 1);
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

bool random_percent(double percent) {
    return (double)(random_bits() >> 11) * 0x1p-53 * 100 < percent;
}
