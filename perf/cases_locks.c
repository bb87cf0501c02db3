/* The lock benchmarks of RMA-RW (section 5) over MPI_Win_lock: every process, the target
 * included, asks for the same lock again and again. Each acquisition is that of a writer
 * (exclusive) with probability F_W, else that of a reader (shared). */
#include "words.h"

#include <stdio.h>
#include <stdlib.h>

enum section { EMPTY, SINGLE_OPERATION, WORKLOAD };

struct workload {
    enum section section;    /* what is done inside */
    bool wait_after_release; /* 1 to 4 us */
    bool each_timed;         /* the clock is read around each acquisition and release */
    bool one_writer;         /* the origin always, the others never */
    double writers;          /* F_W, %; not of one_writer */
};

/* What one process did in one phase. */
struct share {
    int64_t locks[2]; /* by readers, by writers */
    double spent[2];  /* ns from asking to having released, if each_timed */
    double longest;
    double elapsed;
};

/* Reading the clock costs as much as a lock; so many pass between two looks at the deadline. */
enum { LOCKS_PER_LOOK = 16 };

static void spin_1_to_4_us(void) {
    const double end = now_ns() + 1000 + (double)(random_bits() % 3001);
    while (now_ns() < end)
        continue;
}

/* --- critical sections ------------------------------------------------------------------------ */

static void get_word(struct bench* bench, int64_t* value) {
    *value = -1;
    MPI_Get(value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window);
}

static void put_word(struct bench* bench, const int64_t* value) {
    MPI_Put(value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window);
}

/* The word is never negative, so a get that brought nothing is seen. `value` lives until the
 * unlock. */
static void inside(struct bench* bench, const struct workload* work, bool writer, int64_t* value) {
    if (EMPTY == work->section)
        return;
    if (SINGLE_OPERATION == work->section) {
        if (writer) {
            *value = ++bench->done * bench->ranks + bench->rank;
            put_word(bench, value);
        } else {
            get_word(bench, value);
        }
        return;
    }
    get_word(bench, value);
    if (writer) {
        MPI_Win_flush(TARGET, bench->window);
        ++*value;
        put_word(bench, value);
        bench->done++;
    }
    spin_1_to_4_us();
}

static void acquire_and_release(struct bench* bench, const struct workload* work, bool writer) {
    int64_t value = 0;
    MPI_Win_lock(writer ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, TARGET, 0, bench->window);
    inside(bench, work, writer, &value);
    MPI_Win_unlock(TARGET, bench->window);
    bench->mismatch |= value < 0;
}

/* --- phases ----------------------------------------------------------------------------------- */

static void one_lock(struct bench* bench, const struct workload* work, struct share* share) {
    const bool writer = work->one_writer ? ORIGIN == bench->rank : random_percent(work->writers);
    const double start = work->each_timed ? now_ns() : 0;
    acquire_and_release(bench, work, writer);
    if (work->each_timed) {
        const double spent = now_ns() - start;
        share->spent[writer] += spent;
        share->longest = spent > share->longest ? spent : share->longest;
    }
    share->locks[writer]++;
    if (work->wait_after_release)
        spin_1_to_4_us();
}

static struct share phase(struct bench* bench, const struct workload* work) {
    struct share share = {.elapsed = 0};
    const double phase_ns = bench->settings->phase_seconds * 1e9;
    MPI_Barrier(bench->comm);
    const double start = now_ns();
    do {
        for (int i = 0; i < LOCKS_PER_LOOK; i++)
            one_lock(bench, work, &share);
        share.elapsed = now_ns() - start;
    } while (share.elapsed < phase_ns);
    return share;
}

enum { THROUGHPUT, FAIRNESS, LATENCY, SHARED_LATENCY, EXCLUSIVE_LATENCY, LONGEST, METRICS };

/* Collective: the values of one phase. */
static void evaluate(struct bench* bench, const struct share* mine, double values[METRICS]) {
    const double own[] = {(double)mine->locks[0], (double)mine->locks[1], mine->spent[0],
                          mine->spent[1]};
    const double count = own[0] + own[1];
    const double highest_of[] = {count, -count, mine->elapsed, mine->longest};
    double sum[4], highest[4];
    MPI_Allreduce(own, sum, 4, MPI_DOUBLE, MPI_SUM, bench->comm);
    MPI_Allreduce(highest_of, highest, 4, MPI_DOUBLE, MPI_MAX, bench->comm);
    values[THROUGHPUT] = (sum[0] + sum[1]) / (highest[2] / 1e6);
    values[FAIRNESS] = -highest[1] / highest[0];
    values[LATENCY] = (sum[2] + sum[3]) / (sum[0] + sum[1]);
    values[SHARED_LATENCY] = sum[0] > 0 ? sum[2] / sum[0] : 0;
    values[EXCLUSIVE_LATENCY] = sum[1] > 0 ? sum[3] / sum[1] : 0;
    values[LONGEST] = highest[3];
}

/* --- verification ----------------------------------------------------------------------------- */

static void clear_target_word(struct bench* bench) {
    if (TARGET == bench->rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
        *(int64_t*)(void*)bench->memory = 0;
        MPI_Win_unlock(TARGET, bench->window);
    }
    bench->done = 0;
    MPI_Barrier(bench->comm);
}

/* Every process reads the word; it must be what the writers left there: the sum of their
 * increments, or the last value of one of them. */
static bool word_right(struct bench* bench, enum section section) {
    int64_t word = -1, sum = 0, last[bench->ranks];
    MPI_Barrier(bench->comm);
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
    get_word(bench, &word);
    MPI_Win_unlock(TARGET, bench->window);
    MPI_Allgather(&bench->done, 1, MPI_INT64_T, last, 1, MPI_INT64_T, bench->comm);
    bool someone = false;
    for (int rank = 0; rank < bench->ranks; rank++) {
        sum += last[rank];
        someone |= last[rank] > 0 && word == last[rank] * bench->ranks + rank;
    }
    return WORKLOAD == section ? word == sum : 0 == sum ? 0 == word : someone;
}

static bool contention_right(struct bench* bench, enum section section) {
    const bool word = EMPTY == section || word_right(bench, section);
    return locks_exclude(bench, open_shared, close_one) && word;
}

/* --- the cases -------------------------------------------------------------------------------- */

static void report_point(struct bench* bench, const struct workload* work,
                         struct samples samples[METRICS]) {
    static const struct {
        const char *metric, *unit;
    } names[METRICS] = {{"throughput", "locks/ms"}, {"fairness", "min/max"},     {"latency", "ns"},
                        {"latency_shared", "ns"},   {"latency_exclusive", "ns"}, {"longest", "ns"}};
    const int first = work->each_timed ? LATENCY : THROUGHPUT;
    const int end = work->each_timed ? METRICS : LATENCY;
    char params[64];
    snprintf(params, sizeof params, "\"writers\":%g", work->writers);
    for (int metric = first; metric < end; metric++) {
        const bool nobody = (SHARED_LATENCY == metric && work->writers >= 100) ||
                            (EXCLUSIVE_LATENCY == metric && work->writers <= 0);
        if (!nobody)
            report_result(bench, params, names[metric].metric, names[metric].unit, &samples[metric],
                          "");
    }
    if (work->each_timed)
        report_result(bench, params, names[FAIRNESS].metric, names[FAIRNESS].unit,
                      &samples[FAIRNESS], "");
}

static void contention_point(struct bench* bench, struct workload work) {
    struct samples samples[METRICS];
    double values[METRICS];
    for (int metric = 0; metric < METRICS; metric++)
        samples[metric] = samples_new(bench->iterations);
    clear_target_word(bench);
    for (int i = 0; i < bench->iterations; i++) {
        const struct share share = phase(bench, &work);
        evaluate(bench, &share, values);
        for (int metric = 0; metric < METRICS; metric++)
            samples[metric].values[i] = values[metric];
    }
    const bool right = contention_right(bench, work.section);
    if (verified(bench, right, "two conflicting locks were held at once, or an update was lost"))
        report_point(bench, &work, samples);
    for (int metric = 0; metric < METRICS; metric++)
        samples_free(&samples[metric]);
}

static void contention_case(struct bench* bench, struct workload work) {
    const struct list* writers = &bench->settings->writers;
    for (int i = 0; i < writers->count; i++) {
        work.writers = writers->values[i];
        contention_point(bench, work);
    }
}

void run_lb(struct bench* bench) {
    contention_case(bench, (struct workload){.section = EMPTY, .each_timed = true});
}

void run_lb_one_writer(struct bench* bench) {
    contention_point(bench, (struct workload){.section = EMPTY,
                                              .each_timed = true,
                                              .one_writer = true,
                                              .writers = 100.0 / bench->ranks});
}

void run_ecsb(struct bench* bench) {
    contention_case(bench, (struct workload){.section = EMPTY});
}

void run_sob(struct bench* bench) {
    contention_case(bench, (struct workload){.section = SINGLE_OPERATION});
}

void run_wcsb(struct bench* bench) {
    contention_case(bench, (struct workload){.section = WORKLOAD});
}

void run_warb(struct bench* bench) {
    contention_case(bench, (struct workload){.section = EMPTY, .wait_after_release = true});
}
