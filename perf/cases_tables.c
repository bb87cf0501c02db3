/* The benchmarks of ALock and N-CoSED over MPI_Win_lock: a table of many locks, of which each process
 * takes those of its node more often than others; how long a lock takes to come to all that wait for
 * it; and how long one takes that nobody else wants. */
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- a table of locks ------------------------------------------------------------------------- */

/* Lock l is that of rank l mod P, in window l / P. */
struct lock_table {
    MPI_Win* windows; /* the first is the case's own */
    int count;
    int *here, *elsewhere; /* locks of ranks that share this one's memory, and the others */
    int here_count, elsewhere_count;
    double local; /* % of the draws that are from `here` */
};

/* Times by eighths of powers of two, in ns. */
enum { EIGHTHS = 8, BUCKETS = 64 * EIGHTHS };

/* What one process did in one phase. */
struct measured {
    int64_t locks, by_time[BUCKETS];
    double elapsed;
};

static void* array_new(size_t count, size_t bytes) {
    void* array = calloc(count > 0 ? count : 1, bytes);
    if (NULL == array)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return array;
}

static int windows_of(const struct bench* bench, int count) {
    return (count + bench->ranks - 1) / bench->ranks;
}

/* Collective. */
static void sort_by_place(const struct bench* bench, struct lock_table* table) {
    MPI_Comm node;
    int node_ranks, *near = array_new((size_t)bench->ranks, sizeof *near);
    MPI_Comm_split_type(bench->comm, MPI_COMM_TYPE_SHARED, bench->rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &node_ranks);
    int* ranks = array_new((size_t)node_ranks, sizeof *ranks);
    MPI_Allgather(&bench->rank, 1, MPI_INT, ranks, 1, MPI_INT, node);
    for (int i = 0; i < node_ranks; i++)
        near[ranks[i]] = 1;
    for (int lock = 0; lock < table->count; lock++) {
        if (0 != near[lock % bench->ranks])
            table->here[table->here_count++] = lock;
        else
            table->elsewhere[table->elsewhere_count++] = lock;
    }
    MPI_Comm_free(&node);
    free(ranks);
    free(near);
}

/* Collective. */
static struct lock_table table_new(struct bench* bench, int count) {
    struct lock_table table = {.count = count,
                               .windows =
                                   array_new((size_t)windows_of(bench, count), sizeof(MPI_Win)),
                               .here = array_new((size_t)count, sizeof(int)),
                               .elsewhere = array_new((size_t)count, sizeof(int))};
    table.windows[0] = bench->window;
    for (int i = 1; i < windows_of(bench, count); i++) {
        int64_t* word;
        MPI_Win_allocate(sizeof *word, 1, MPI_INFO_NULL, bench->comm, &word, &table.windows[i]);
        *word = 0;
    }
    sort_by_place(bench, &table);
    MPI_Barrier(bench->comm);
    return table;
}

/* Collective. */
static void table_free(const struct bench* bench, struct lock_table* table) {
    for (int i = 1; i < windows_of(bench, table->count); i++)
        MPI_Win_free(&table->windows[i]);
    free(table->windows);
    free(table->here);
    free(table->elsewhere);
}

static int draw_lock(const struct lock_table* table) {
    const bool local = random_percent(table->local);
    if ((local && table->here_count > 0) || 0 == table->elsewhere_count)
        return table->here[random_bits() % (uint64_t)table->here_count];
    return table->elsewhere[random_bits() % (uint64_t)table->elsewhere_count];
}

static int bucket_of(double ns) {
    const uint64_t time = ns < 1 ? 1 : (uint64_t)ns;
    const int power = 63 - __builtin_clzll(time);
    const uint64_t above = time - (UINT64_C(1) << power);
    return power * EIGHTHS + (int)(power < 3 ? above << (3 - power) : above >> (power - 3));
}

/* The upper end of a bucket. */
static double time_of(int bucket) {
    const double power = (double)(UINT64_C(1) << (bucket / EIGHTHS));
    return power * (1 + (double)(bucket % EIGHTHS + 1) / EIGHTHS);
}

static struct measured table_phase(struct bench* bench, const struct lock_table* table) {
    struct measured mine = {.locks = 0};
    const double phase_ns = bench->settings->phase_seconds * 1e9;
    MPI_Barrier(bench->comm);
    const double start = now_ns();
    for (double before = start; mine.elapsed < phase_ns;) {
        const int lock = draw_lock(table);
        const MPI_Win window = table->windows[lock / bench->ranks];
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, lock % bench->ranks, 0, window);
        MPI_Win_unlock(lock % bench->ranks, window);
        const double after = now_ns();
        mine.by_time[bucket_of(after - before)]++;
        mine.locks++;
        mine.elapsed = after - start;
        before = after;
    }
    return mine;
}

enum { TABLE_THROUGHPUT, TABLE_FAIRNESS, TABLE_LATENCIES, PERCENTILES = 7 };
enum { TABLE_METRICS = TABLE_LATENCIES + PERCENTILES };

/* Of lock + unlock. */
static const double percentiles[PERCENTILES] = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999};

static double percentile_of(const int64_t by_time[BUCKETS], int64_t all, double part) {
    int64_t seen = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        seen += by_time[bucket];
        if ((double)seen >= part * (double)all)
            return time_of(bucket);
    }
    return 0;
}

/* Collective: the values of one phase. */
static void evaluate_table(struct bench* bench, const struct measured* mine,
                           double values[TABLE_METRICS]) {
    static int64_t by_time[BUCKETS];
    int64_t all, most[2];
    const int64_t own[] = {mine->locks, -mine->locks};
    double longest;
    MPI_Allreduce(&mine->locks, &all, 1, MPI_INT64_T, MPI_SUM, bench->comm);
    MPI_Allreduce(own, most, 2, MPI_INT64_T, MPI_MAX, bench->comm);
    MPI_Allreduce(&mine->elapsed, &longest, 1, MPI_DOUBLE, MPI_MAX, bench->comm);
    MPI_Allreduce(mine->by_time, by_time, BUCKETS, MPI_INT64_T, MPI_SUM, bench->comm);
    values[TABLE_THROUGHPUT] = (double)all / (longest / 1e6);
    values[TABLE_FAIRNESS] = (double)-most[1] / (double)most[0];
    for (int i = 0; i < PERCENTILES; i++)
        values[TABLE_LATENCIES + i] = percentile_of(by_time, all, percentiles[i]);
}

/* Reads, adds one, and writes, under the lock. */
static void count_under_lock(struct bench* bench, const struct lock_table* table) {
    const int lock = draw_lock(table), target = lock % bench->ranks;
    const MPI_Win window = table->windows[lock / bench->ranks];
    int64_t word = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
    MPI_Get(&word, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, window);
    MPI_Win_flush(target, window);
    word++;
    MPI_Put(&word, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, window);
    MPI_Win_unlock(target, window);
}

/* Collective: this process's words, before or after all have counted. */
static int64_t sum_of_words(struct bench* bench, const struct lock_table* table) {
    int64_t sum = 0, all;
    for (int lock = bench->rank; lock < table->count; lock += bench->ranks) {
        const MPI_Win window = table->windows[lock / bench->ranks];
        int64_t word = -1;
        MPI_Win_lock(MPI_LOCK_SHARED, bench->rank, 0, window);
        MPI_Get(&word, 1, MPI_INT64_T, bench->rank, 0, 1, MPI_INT64_T, window);
        MPI_Win_unlock(bench->rank, window);
        sum += word;
    }
    MPI_Allreduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, bench->comm);
    return all;
}

/* Collective: nothing that was counted under the locks is lost. */
static bool table_right(struct bench* bench, const struct lock_table* table) {
    enum { TIMES = 200 };
    const int64_t before = sum_of_words(bench, table);
    for (int i = 0; i < TIMES; i++)
        count_under_lock(bench, table);
    MPI_Barrier(bench->comm);
    const bool counted = sum_of_words(bench, table) - before == (int64_t)TIMES * bench->ranks;
    return locks_exclude(bench, open_shared, close_one) && counted;
}

static void report_table(struct bench* bench, const struct lock_table* table,
                         struct samples samples[TABLE_METRICS]) {
    static const struct {
        const char *metric, *unit;
    } names[TABLE_METRICS] = {
        {"throughput", "locks/ms"}, {"fairness", "min/max"}, {"latency_p10", "ns"},
        {"latency_p25", "ns"},      {"latency_p50", "ns"},   {"latency_p75", "ns"},
        {"latency_p90", "ns"},      {"latency_p99", "ns"},   {"latency_p99_9", "ns"}};
    char params[64];
    snprintf(params, sizeof params, "\"locks\":%d,\"local\":%g", table->count, table->local);
    for (int metric = 0; metric < TABLE_METRICS; metric++)
        report_result(bench, params, names[metric].metric, names[metric].unit, &samples[metric],
                      "");
}

static void table_point(struct bench* bench, const struct lock_table* table) {
    struct samples samples[TABLE_METRICS];
    double values[TABLE_METRICS];
    for (int metric = 0; metric < TABLE_METRICS; metric++)
        samples[metric] = samples_new(bench->iterations);
    for (int i = 0; i < bench->iterations; i++) {
        const struct measured mine = table_phase(bench, table);
        evaluate_table(bench, &mine, values);
        for (int metric = 0; metric < TABLE_METRICS; metric++)
            samples[metric].values[i] = values[metric];
    }
    if (verified(bench, table_right(bench, table), "an update under a lock was lost"))
        report_table(bench, table, samples);
    for (int metric = 0; metric < TABLE_METRICS; metric++)
        samples_free(&samples[metric]);
}

void run_lock_table(struct bench* bench) {
    const struct list *locks = &bench->settings->locks, *local = &bench->settings->local;
    for (int i = 0; i < locks->count; i++) {
        struct lock_table table = table_new(bench, (int)locks->values[i]);
        for (int j = 0; j < local->count; j++) {
            table.local = local->values[j];
            table_point(bench, &table);
        }
        table_free(bench, &table);
    }
}

/* --- cascades --------------------------------------------------------------------------------- */

/* Rank 0 is the lock's home, rank 1 holds it, and all others wait for it. */
enum { HOME = 0, HOLDER = 1, FIRST_WAITER = 2, COMES, WAS_IN };

static void await_waiters(const struct bench* bench, int tag) {
    for (int i = FIRST_WAITER; i < bench->ranks; i++)
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, tag, bench->comm, MPI_STATUS_IGNORE);
}

/* Far longer than it takes to come to a queue, and in MPI, so that what needs this process goes on. */
static void hold_on(const struct bench* bench) {
    const double end = now_ns() + 5e6;
    int flag;
    while (now_ns() < end)
        MPI_Iprobe(MPI_ANY_SOURCE, WAS_IN, bench->comm, &flag, MPI_STATUS_IGNORE);
}

/* From the holder's unlock until it has heard of all that were in. */
static double release_to_all(struct bench* bench) {
    await_waiters(bench, COMES);
    hold_on(bench);
    const double start = now_ns();
    MPI_Win_unlock(HOME, bench->window);
    await_waiters(bench, WAS_IN);
    return now_ns() - start;
}

static void wait_in_cascade(struct bench* bench, int mode) {
    int64_t value = -1;
    MPI_Send(NULL, 0, MPI_BYTE, HOLDER, COMES, bench->comm);
    MPI_Win_lock(mode, HOME, 0, bench->window);
    MPI_Get(&value, 1, MPI_INT64_T, HOME, 0, 1, MPI_INT64_T, bench->window);
    MPI_Win_unlock(HOME, bench->window);
    MPI_Send(NULL, 0, MPI_BYTE, HOLDER, WAS_IN, bench->comm);
    bench->mismatch |= value != bench->done;
}

/* Collective. All that wait find what the holder has put. */
static double one_cascade(struct bench* bench, int mode) {
    double took = 0, longest;
    bench->done++;
    if (HOLDER == bench->rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, HOME, 0, bench->window);
        MPI_Put(&bench->done, 1, MPI_INT64_T, HOME, 0, 1, MPI_INT64_T, bench->window);
        MPI_Win_flush(HOME, bench->window);
    }
    MPI_Barrier(bench->comm);
    if (HOLDER == bench->rank)
        took = release_to_all(bench);
    else if (bench->rank >= FIRST_WAITER)
        wait_in_cascade(bench, mode);
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, bench->comm);
    return longest;
}

static void cascade_point(struct bench* bench, int mode) {
    struct samples samples = samples_new(bench->iterations);
    char params[64];
    for (int i = 0; i < bench->iterations; i++)
        samples.values[i] = one_cascade(bench, mode);
    snprintf(params, sizeof params, "\"mode\":\"%s\",\"waiters\":%d",
             MPI_LOCK_SHARED == mode ? "shared" : "exclusive", bench->ranks - FIRST_WAITER);
    const bool right = locks_exclude(bench, open_shared, close_one) && !bench->mismatch;
    if (verified(bench, right, "a process that waited did not find what the holder put"))
        report_result(bench, params, "latency", "ns", &samples, "");
    samples_free(&samples);
}

void run_cascade(struct bench* bench) {
    cascade_point(bench, MPI_LOCK_SHARED);
    cascade_point(bench, MPI_LOCK_EXCLUSIVE);
}

/* --- one lock at a time ----------------------------------------------------------------------- */

enum { SERIAL_LOCK, SERIAL_UNLOCK, SERIAL_METRICS, TAG_ASLEEP };

/* What the target does meanwhile. In MPI it polls. Asleep it runs nothing: its component has to be notified. */
struct serial {
    int mode;
    bool asleep;
};

static void sleep_for(double seconds) {
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

/* The means, ns. */
static void lock_again_and_again(struct bench* bench, int mode, double took[SERIAL_METRICS]) {
    const double end = now_ns() + bench->settings->phase_seconds * 1e9;
    double sum[SERIAL_METRICS] = {0};
    int64_t count = 0;
    for (double start = now_ns(), locked, done; count == 0 || start < end; start = done, count++) {
        MPI_Win_lock(mode, TARGET, 0, bench->window);
        locked = now_ns();
        MPI_Win_unlock(TARGET, bench->window);
        done = now_ns();
        sum[SERIAL_LOCK] += locked - start;
        sum[SERIAL_UNLOCK] += done - locked;
    }
    for (int metric = 0; metric < SERIAL_METRICS; metric++)
        took[metric] = sum[metric] / (double)count;
}

/* Collective. The message leaves the target before it sleeps, which it does for longer than the origin needs. */
static void serial_phase(struct bench* bench, const struct serial* serial,
                         double took[SERIAL_METRICS]) {
    MPI_Barrier(bench->comm);
    if (TARGET == bench->rank && serial->asleep) {
        MPI_Send(NULL, 0, MPI_BYTE, ORIGIN, TAG_ASLEEP, bench->comm);
        sleep_for(2 * bench->settings->phase_seconds);
    } else if (ORIGIN == bench->rank) {
        if (serial->asleep)
            MPI_Recv(NULL, 0, MPI_BYTE, TARGET, TAG_ASLEEP, bench->comm, MPI_STATUS_IGNORE);
        lock_again_and_again(bench, serial->mode, took);
    }
    MPI_Barrier(bench->comm);
}

static void serial_point(struct bench* bench, const struct serial* serial) {
    static const char* const names[SERIAL_METRICS] = {"lock", "unlock"};
    struct samples samples[SERIAL_METRICS];
    double took[SERIAL_METRICS] = {0};
    char params[64];
    for (int metric = 0; metric < SERIAL_METRICS; metric++)
        samples[metric] = samples_new(bench->iterations);
    for (int i = 0; i < bench->iterations; i++) {
        serial_phase(bench, serial, took);
        for (int metric = 0; metric < SERIAL_METRICS; metric++)
            samples[metric].values[i] = took[metric];
    }
    snprintf(params, sizeof params, "\"mode\":\"%s\",\"target\":\"%s\"",
             MPI_LOCK_SHARED == serial->mode ? "shared" : "exclusive",
             serial->asleep ? "asleep" : "in MPI");
    const bool right = locks_exclude(bench, open_shared, close_one);
    if (verified(bench, right, "two conflicting locks were held at once, or an update was lost"))
        for (int metric = 0; metric < SERIAL_METRICS; metric++)
            report_result(bench, params, names[metric], "ns", &samples[metric], "");
    for (int metric = 0; metric < SERIAL_METRICS; metric++)
        samples_free(&samples[metric]);
}

void run_lock_serial(struct bench* bench) {
    static const struct serial points[] = {{MPI_LOCK_SHARED, false},
                                           {MPI_LOCK_EXCLUSIVE, false},
                                           {MPI_LOCK_SHARED, true},
                                           {MPI_LOCK_EXCLUSIVE, true}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        serial_point(bench, &points[i]);
}
