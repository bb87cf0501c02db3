/* Latency of one-sided transfers under a lock, and how much computation the origin can hide
 * behind them: direct-passive, sections 5.1 and 5.2. Locks are exclusive, as in the paper. */
#include "bench.h"

#include <stdio.h>

enum { SIZES_MAX = 16, STEPS = 10 };

static const unsigned first_seed = 17, second_seed = 42;

/* --- latency --------------------------------------------------------------------------------- */

static void epochs(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        transfer_epoch(bench);
}

static void latency_sweep(struct bench* bench, bool put) {
    static const size_t defaults[] = {1, 8, 64, 512, 4096, 32768, 262144, 1048576};
    size_t sizes[SIZES_MAX];
    const int count =
        transfer_sizes(bench, defaults, (int)(sizeof defaults / sizeof *defaults), sizes);
    for (int i = 0; i < count; i++) {
        char params[64];
        snprintf(params, sizeof params, "\"size\":%zu", sizes[i]);
        bench->transfer = (struct transfer){.put = put, .size = sizes[i], .operations = 1};
        transfer_prepare(bench, first_seed);
        struct samples samples = sample_origin(bench, epochs);
        const bool right = transfer_verify(bench, second_seed);
        if (verified(bench, right, "the bytes that arrived are not those that were sent"))
            report_result(bench, params, "latency", "ns", &samples, "");
        samples_free(&samples);
    }
}

void run_lock_put_unlock(struct bench* bench) {
    latency_sweep(bench, true);
}

void run_lock_get_unlock(struct bench* bench) {
    latency_sweep(bench, false);
}

/* --- sender overlap -------------------------------------------------------------------------- */

/* Totals of an epoch with computation of 0, 10, ... 100 % of its bare latency inside. */
struct overlap {
    struct samples total[STEPS + 1];
    struct samples hidden; /* % of what can be: of the shorter one, the latency or all of it */
    /* For --phases: that computation without an epoch, and the epoch with it inside. */
    struct samples alone, calls, computation, wait;
};

/* Where the time of an epoch went, in ns. */
struct phases {
    double calls; /* lock, put, get */
    double computation;
    double wait; /* unlock or flush */
};

static struct phases timed_epoch(struct bench* bench, int64_t steps) {
    const double start = now_ns();
    transfer_begin(bench);
    const double called = now_ns();
    if (steps > 0)
        compute(steps);
    const double computed = now_ns();
    transfer_end(bench);
    return (struct phases){
        .calls = called - start, .computation = computed - called, .wait = now_ns() - computed};
}

static double total(struct phases phases) {
    return phases.calls + phases.computation + phases.wait;
}

/* The first epochs open connections and their windows: later ones take less. */
static double bare_latency(struct bench* bench) {
    enum { WARM_UP = 30, MEASURED = 30 };
    for (int i = 0; i < WARM_UP; i++)
        transfer_epoch(bench);
    struct samples samples = samples_new(MEASURED);
    for (int i = 0; i < samples.count; i++)
        samples.values[i] = total(timed_epoch(bench, 0));
    const struct summary s = samples_summary(&samples);
    samples_free(&samples);
    return s.median;
}

/* Every round measures all points of the curve and the computation alone, so that a slow spell
 * of the machine moves them together and cancels in the round's own result. */
static struct overlap overlap_measure(struct bench* bench) {
    struct overlap o = {.hidden = samples_new(bench->iterations),
                        .alone = samples_new(bench->iterations),
                        .calls = samples_new(bench->iterations),
                        .computation = samples_new(bench->iterations),
                        .wait = samples_new(bench->iterations)};
    const int64_t steps = compute_steps_for(bare_latency(bench));
    for (int step = 0; step <= STEPS; step++)
        o.total[step] = samples_new(bench->iterations);
    for (int round = 0; round < bench->iterations; round++) {
        struct phases last;
        for (int step = 0; step <= STEPS; step++) {
            last = timed_epoch(bench, steps * step / STEPS);
            o.total[step].values[round] = total(last);
        }
        o.calls.values[round] = last.calls;
        o.computation.values[round] = last.computation;
        o.wait.values[round] = last.wait;
        const double start = now_ns();
        compute(steps);
        const double alone = now_ns() - start;
        o.alone.values[round] = alone;
        const double bare = o.total[0].values[round], shorter = bare < alone ? bare : alone;
        o.hidden.values[round] = 100 * (bare + alone - o.total[STEPS].values[round]) / shorter;
    }
    return o;
}

static struct overlap overlap_in_a_lock(struct bench* bench) {
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
    bench->transfer.flushed = true;
    const struct overlap o = overlap_measure(bench);
    bench->transfer.flushed = false;
    MPI_Win_unlock(TARGET, bench->window);
    return o;
}

/* The paper's reading of the curve: how far computation can grow before the total moves. */
static int absorbed_percent(const double* medians) {
    int step = 0;
    while (step < STEPS && medians[step + 1] <= 1.05 * medians[0])
        step++;
    return 100 * step / STEPS;
}

static void overlap_report(const struct bench* bench, struct overlap* o) {
    double medians[STEPS + 1];
    char params[64], extra[512];
    for (int step = 0; step <= STEPS; step++)
        medians[step] = samples_summary(&o->total[step]).median;
    snprintf(params, sizeof params, "\"size\":%zu,\"operations\":%d", bench->transfer.size,
             bench->transfer.operations);
    int used =
        snprintf(extra, sizeof extra, "\"absorbed_percent\":%d,\"latency_ns\":%.6g,\"curve\":[",
                 absorbed_percent(medians), medians[0]);
    for (int step = 0; step <= STEPS; step++)
        used += snprintf(extra + used, sizeof extra - (size_t)used, "%s%.4f", step ? "," : "",
                         medians[step] / medians[0]);
    snprintf(extra + used, sizeof extra - (size_t)used, "]");
    report_result(bench, params, "hidden", "%", &o->hidden, extra);
    if (!bench->settings->phases)
        return;
    report_result(bench, params, "bare", "ns", &o->total[0], "");
    report_result(bench, params, "alone", "ns", &o->alone, "");
    report_result(bench, params, "calls", "ns", &o->calls, "");
    report_result(bench, params, "computation", "ns", &o->computation, "");
    report_result(bench, params, "wait", "ns", &o->wait, "");
}

static void overlap_free(struct overlap* o) {
    for (int step = 0; step <= STEPS; step++)
        samples_free(&o->total[step]);
    samples_free(&o->hidden);
    samples_free(&o->alone);
    samples_free(&o->calls);
    samples_free(&o->computation);
    samples_free(&o->wait);
}

static void overlap_point(struct bench* bench, struct transfer transfer) {
    struct overlap o = {.hidden = {.values = NULL}};
    bench->transfer = transfer;
    bench->transfer.flushed = false; /* to prepare, and to verify */
    transfer_prepare(bench, first_seed);
    if (ORIGIN == bench->rank)
        o = transfer.flushed ? overlap_in_a_lock(bench) : overlap_measure(bench);
    const bool right = transfer_verify(bench, second_seed);
    if (verified(bench, right, "the bytes that arrived are not those that were sent") &&
        ORIGIN == bench->rank)
        overlap_report(bench, &o);
    overlap_free(&o);
}

static void overlap_against_size(struct bench* bench, bool put, bool flushed) {
    static const size_t defaults[] = {4096, 32768, 262144, 1048576};
    size_t sizes[SIZES_MAX];
    const int count =
        transfer_sizes(bench, defaults, (int)(sizeof defaults / sizeof *defaults), sizes);
    for (int i = 0; i < count; i++)
        overlap_point(
            bench,
            (struct transfer){.put = put, .flushed = flushed, .size = sizes[i], .operations = 1});
}

static void overlap_against_operations(struct bench* bench, bool put) {
    static const size_t paper_size = 32768;
    size_t size;
    transfer_sizes(bench, &paper_size, 1, &size);
    for (int operations = 1; operations <= OPERATIONS_MAX; operations *= 2)
        overlap_point(bench, (struct transfer){.put = put, .size = size, .operations = operations});
}

void run_overlap_put(struct bench* bench) {
    overlap_against_size(bench, true, false);
}

void run_overlap_get(struct bench* bench) {
    overlap_against_size(bench, false, false);
}

void run_overlap_flush_put(struct bench* bench) {
    overlap_against_size(bench, true, true);
}

void run_overlap_flush_get(struct bench* bench) {
    overlap_against_size(bench, false, true);
}

void run_overlap_ops_put(struct bench* bench) {
    overlap_against_operations(bench, true);
}

void run_overlap_ops_get(struct bench* bench) {
    overlap_against_operations(bench, false);
}
