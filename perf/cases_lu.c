/* LU (lu.c) as cases: the total, and where it goes, call by call as in the paper's figure 8. */
#include "bench.h"
#include "lu.h"

#include <stdio.h>

/* A residual of HPL's kind; its own bound. */
static const double residual_bound = 16;

static const char* const call_names[LU_CALLS] = {"lock",  "get",  "unlock",
                                                 "flush", "sync", "barrier"};

enum { TOTAL = LU_CALLS, COMPUTATION, TIMES };

static struct lu_layout layout_of(const struct bench* bench, double order) {
    return lu_layout_of((long)order, bench->settings->block, bench->ranks);
}

size_t lu_bytes(const struct bench* bench) {
    size_t most = 0;
    for (int i = 0; i < bench->settings->orders.count; i++) {
        const struct lu_layout layout = layout_of(bench, bench->settings->orders.values[i]);
        const size_t bytes = lu_window_bytes(&layout);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Collective: the slowest process's total, and the processes' average in each call. */
static void times_of(struct bench* bench, const struct lu* lu, double total, double times[TIMES]) {
    double mine[TIMES] = {0};
    mine[COMPUTATION] = total;
    for (int call = 0; call < LU_CALLS; call++) {
        mine[call] = lu->call_ns[call];
        mine[COMPUTATION] -= lu->call_ns[call];
    }
    MPI_Allreduce(mine, times, TIMES, MPI_DOUBLE, MPI_SUM, bench->comm);
    for (int i = 0; i < TIMES; i++)
        times[i] /= bench->ranks;
    MPI_Allreduce(&total, &times[TOTAL], 1, MPI_DOUBLE, MPI_MAX, bench->comm);
}

/* Collective. The first factorization connects processes and touches memory; it is not measured.
 * Every run has a matrix of its own, so that nothing left over can be right. */
static bool measure(struct bench* bench, struct lu* lu, struct samples samples[TIMES],
                    double* residual) {
    bool right = true;
    double times[TIMES];
    *residual = 0;
    for (int run = -1; run < bench->iterations; run++) {
        lu->seed = (uint64_t)(run + 2);
        lu_fill(lu);
        const double total = lu_factor(lu);
        const double found = lu_residual(lu);
        times_of(bench, lu, total, times);
        right = right && found < residual_bound; /* not so if it is no number */
        *residual = found > *residual ? found : *residual;
        for (int i = 0; i < TIMES && run >= 0; i++)
            samples[i].values[run] = times[i];
    }
    return right;
}

static void report_times(struct bench* bench, const struct lu* lu, struct samples samples[TIMES],
                         double residual) {
    char params[64], extra[64];
    snprintf(params, sizeof params, "\"order\":%ld,\"block\":%ld", lu->layout.order,
             lu->layout.block);
    snprintf(extra, sizeof extra, "\"residual\":%.3g", residual);
    report_result(bench, params, "total", "ns", &samples[TOTAL], extra);
    report_result(bench, params, "computation", "ns", &samples[COMPUTATION], "");
    for (int call = 0; call < LU_CALLS; call++) {
        if (0 == lu->call_count[call])
            continue;
        snprintf(extra, sizeof extra, "\"calls\":%lld", (long long)lu->call_count[call]);
        report_result(bench, params, call_names[call], "ns", &samples[call], extra);
    }
}

static void lu_point(struct bench* bench, enum lu_mode mode, double order) {
    struct samples samples[TIMES];
    struct lu lu = lu_new(layout_of(bench, order), bench->comm, bench->window, bench->memory);
    lu.mode = mode;
    for (int i = 0; i < TIMES; i++)
        samples[i] = samples_new(bench->iterations);
    double residual;
    const bool right = measure(bench, &lu, samples, &residual);
    if (verified(bench, right, "L U is not the matrix: its residual is large"))
        report_times(bench, &lu, samples, residual);
    for (int i = 0; i < TIMES; i++)
        samples_free(&samples[i]);
    lu_free(&lu);
}

static void lu_case(struct bench* bench, enum lu_mode mode) {
    for (int i = 0; i < bench->settings->orders.count; i++)
        lu_point(bench, mode, bench->settings->orders.values[i]);
}

void run_lu_exclusive(struct bench* bench) {
    lu_case(bench, LU_EXCLUSIVE);
}

void run_lu_shared(struct bench* bench) {
    lu_case(bench, LU_SHARED);
}

void run_lu_lock_all(struct bench* bench) {
    lu_case(bench, LU_LOCK_ALL);
}
