/* What the target has to do with it: computation at the target while others access its window
 * (direct-passive, section 5.2), and access to a target that computes and never calls MPI. */
#include "bench.h"

#include <stdio.h>

enum { TAG_COMPUTING = 1, TAG_STOP = 2 };

/* --- receiver overlap ------------------------------------------------------------------------ */

static const double work_ns = 20e6;
static const unsigned seed = 17;

static bool told_to_stop(const struct bench* bench) {
    int told = 0;
    MPI_Iprobe(TARGET, TAG_STOP, bench->comm, &told, MPI_STATUS_IGNORE);
    if (told)
        MPI_Recv(NULL, 0, MPI_BYTE, TARGET, TAG_STOP, bench->comm, MPI_STATUS_IGNORE);
    return told;
}

/* An origin's part of one phase. In the quiet phase it computes instead, so that the two phases
 * differ in the accesses only and not in how many cores are busy. Returns the accesses served
 * while the target computed; the last is left out, as it may have ended only after the target
 * was back in MPI. */
static int64_t origin_phase(struct bench* bench, bool access) {
    int64_t count = 0;
    do {
        if (access)
            transfer_epoch(bench);
        else
            compute(10000);
        count++;
    } while (!told_to_stop(bench));
    return access ? count - 1 : 0;
}

static double target_phase(const struct bench* bench, int64_t steps, int origins) {
    const double start = now_ns();
    compute(steps);
    const double elapsed = now_ns() - start;
    for (int rank = 0, told = 0; told < origins; rank++) {
        if (TARGET == rank)
            continue;
        MPI_Send(NULL, 0, MPI_BYTE, rank, TAG_STOP, bench->comm);
        told++;
    }
    return elapsed;
}

/* One phase on every rank; returns the target's time, and the accesses served in *served. */
static double phase(struct bench* bench, int64_t steps, int origins, bool access, int64_t* served) {
    const int place = bench->rank < TARGET ? bench->rank : bench->rank - 1;
    double elapsed = 0;
    int64_t mine = 0;
    MPI_Barrier(bench->comm);
    if (TARGET == bench->rank)
        elapsed = target_phase(bench, steps, origins);
    else if (place < origins)
        mine = origin_phase(bench, access);
    MPI_Bcast(&elapsed, 1, MPI_DOUBLE, TARGET, bench->comm);
    MPI_Allreduce(&mine, served, 1, MPI_INT64_T, MPI_SUM, bench->comm);
    return elapsed;
}

static void receiver_point(struct bench* bench, size_t size, int origins) {
    struct samples slowdown = samples_new(bench->iterations);
    struct samples rate = samples_new(bench->iterations);
    const int64_t steps = compute_steps_for(work_ns);
    char params[64];
    int64_t served;
    bench->transfer = (struct transfer){.put = false, .size = size, .operations = 1};
    transfer_prepare(bench, seed);
    if (TARGET != bench->rank)
        transfer_epoch(bench); /* the first use of a connection is not what is measured */
    for (int i = 0; i < bench->iterations; i++) {
        const double quiet = phase(bench, steps, origins, false, &served);
        const double accessed = phase(bench, steps, origins, true, &served);
        slowdown.values[i] = accessed / quiet;
        rate.values[i] = (double)served / (accessed / 1e6);
    }
    const bool right = TARGET == bench->rank || transfer_fetched(bench, seed);
    snprintf(params, sizeof params, "\"size\":%zu,\"origins\":%d", size, origins);
    if (verified(bench, right, "a get returned something else than the target's bytes")) {
        report_result(bench, params, "slowdown", "ratio", &slowdown, "");
        report_result(bench, params, "served", "epochs/ms", &rate, "");
    }
    samples_free(&slowdown);
    samples_free(&rate);
}

void run_receiver_overlap(struct bench* bench) {
    static const size_t defaults[] = {4096, 32768, 262144};
    size_t sizes[3];
    const int count = transfer_sizes(bench, defaults, 3, sizes);
    for (int i = 0; i < count; i++)
        receiver_point(bench, sizes[i], 1);
}

void run_receiver_overlap_many(struct bench* bench) {
    static const size_t paper_size = 32768;
    size_t size;
    transfer_sizes(bench, &paper_size, 1, &size);
    for (int origins = 2; origins < bench->ranks; origins *= 2)
        receiver_point(bench, size, origins);
}

/* --- a target that computes and never calls MPI ---------------------------------------------- */

enum { CALL_LOCK, CALL_PUT, CALL_FETCH_AND_OP, CALL_UNLOCK, CALLS };

/* Put and fetch_and_op are completed by a flush each: otherwise all waiting would show up in the
 * unlock, and which operation needs the target's help could not be told. */
static void measured_epoch(struct bench* bench, int64_t value, double elapsed[CALLS]) {
    const int64_t one = 1;
    int64_t before = -1;
    double mark[CALLS + 1];
    mark[CALL_LOCK] = now_ns();
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
    mark[CALL_PUT] = now_ns();
    MPI_Put(&value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window);
    MPI_Win_flush(TARGET, bench->window);
    mark[CALL_FETCH_AND_OP] = now_ns();
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, TARGET, sizeof(int64_t), MPI_SUM, bench->window);
    MPI_Win_flush(TARGET, bench->window);
    mark[CALL_UNLOCK] = now_ns();
    MPI_Win_unlock(TARGET, bench->window);
    mark[CALLS] = now_ns();
    for (int call = 0; call < CALLS; call++)
        elapsed[call] = mark[call + 1] - mark[call];
    bench->mismatch |= before != bench->done++;
}

static void compute_for(double seconds) {
    const double end = now_ns() + seconds * 1e9;
    while (now_ns() < end)
        compute(10000);
}

/* The message leaves the target before its computation begins, so an origin that has it knows
 * that the target is not in MPI, without having to guess at a delay. */
static void busy_round(struct bench* bench, double elapsed[CALLS]) {
    MPI_Barrier(bench->comm);
    if (TARGET == bench->rank) {
        MPI_Send(NULL, 0, MPI_BYTE, ORIGIN, TAG_COMPUTING, bench->comm);
        compute_for(bench->settings->busy_seconds);
    } else if (ORIGIN == bench->rank) {
        MPI_Recv(NULL, 0, MPI_BYTE, TARGET, TAG_COMPUTING, bench->comm, MPI_STATUS_IGNORE);
        measured_epoch(bench, 1000 + bench->done, elapsed);
    }
    MPI_Barrier(bench->comm);
}

static bool target_words_right(struct bench* bench) {
    MPI_Bcast(&bench->done, 1, MPI_INT64_T, ORIGIN, bench->comm);
    if (TARGET != bench->rank)
        return true;
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
    const int64_t* words = (const int64_t*)(void*)bench->memory;
    const bool right = words[0] == 1000 + bench->done - 1 && words[1] == bench->done;
    MPI_Win_unlock(TARGET, bench->window);
    return right;
}

void run_target_busy(struct bench* bench) {
    static const char* const names[CALLS] = {"lock", "put+flush", "fetch_and_op+flush", "unlock"};
    struct samples samples[CALLS];
    double elapsed[CALLS] = {0};
    char params[64];
    for (int call = 0; call < CALLS; call++)
        samples[call] = samples_new(bench->iterations);
    if (ORIGIN == bench->rank)
        measured_epoch(bench, 1000 + bench->done, elapsed); /* connects */
    for (int i = 0; i < bench->iterations; i++) {
        busy_round(bench, elapsed);
        for (int call = 0; call < CALLS; call++)
            samples[call].values[i] = elapsed[call];
    }
    snprintf(params, sizeof params, "\"busy_s\":%g", bench->settings->busy_seconds);
    if (verified(bench, target_words_right(bench), "the target's words are not what was written"))
        for (int call = 0; call < CALLS; call++)
            report_result(bench, params, names[call], "ns", &samples[call], "");
    for (int call = 0; call < CALLS; call++)
        samples_free(&samples[call]);
}
