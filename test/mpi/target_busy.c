// A target that computes without calling MPI holds up nobody: lock, put, get, atomics, flush and unlock come back
// in a small part of that time.
//
// The others run their calls twice: with rank 0, the target, in MPI, and while it computes. It computes for many
// times as long as the calls took before: a machine that has other work to do delays both. The time is reported as
// a ratio to that time. It must be below LIMIT of it in all, and below PROMPT for the fastest quarter of what is
// repeated: other work only adds.
#include "mpi_test.h"

static const double TIMES_AS_LONG = 20, LEAST_BUSY = 2, MOST_BUSY = 20, LIMIT = 0.25,
                    PROMPT = 0.005;
static double busy; // so long does the target compute; 0: it is in MPI

enum { LARGE = 1 << 19, QUIET = LARGE }; // nobody writes at QUIET and behind, large_put ends there

/// Times the calls while rank 0 is busy. They run once before, with rank 0 in MPI, so that what is
/// set up on first use is not what is measured.
static void while_busy(const struct window* w, void (*calls)(const struct window*)) {
    double before = MPI_Wtime();
    busy = 0;
    if (T.rank != 0)
        calls(w);
    MPI_Barrier(w->comm);
    before = MPI_Wtime() - before;
    MPI_Allreduce(&before, &busy, 1, MPI_DOUBLE, MPI_MAX, w->comm);
    busy *= TIMES_AS_LONG;
    busy = busy < LEAST_BUSY ? LEAST_BUSY : busy > MOST_BUSY ? MOST_BUSY : busy;
    const double begin = MPI_Wtime();
    if (T.rank == 0) {
        compute_for(busy);
    } else {
        calls(w);
        const double ratio = (MPI_Wtime() - begin) / busy;
        if (T.rank == 1)
            printf("     %s: %.4f of %.1f s\n", T.name, ratio, busy);
        CHECK_THAT(ratio < LIMIT, "the calls took %.2f of the time the target was busy", ratio);
    }
    MPI_Barrier(w->comm);
}

static void lock_put(const struct window* w) {
    const int64_t value = T.rank;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
    OK(MPI_Put(&value, 1, MPI_INT64_T, 0, at(w, 0, QUIET + 64 + 8 * T.rank), 1, MPI_INT64_T,
               w->win));
    OK(MPI_Win_unlock(0, w->win));
}

static void lock_get(const struct window* w) {
    int64_t value = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
    OK(MPI_Get(&value, 1, MPI_INT64_T, 0, at(w, 0, QUIET), 1, MPI_INT64_T, w->win));
    OK(MPI_Win_unlock(0, w->win));
    CHECK_EQ(0, value);
}

static void lock_all_flush(const struct window* w) {
    int64_t value = T.rank, back = -1;
    OK(MPI_Win_lock_all(0, w->win));
    OK(MPI_Put(&value, 1, MPI_INT64_T, 0, at(w, 0, QUIET + 64 + 8 * T.rank), 1, MPI_INT64_T,
               w->win));
    OK(MPI_Win_flush(0, w->win));
    OK(MPI_Get(&back, 1, MPI_INT64_T, 0, at(w, 0, QUIET + 64 + 8 * T.rank), 1, MPI_INT64_T,
               w->win));
    OK(MPI_Win_flush_all(w->win));
    CHECK_EQ(value, back);
    OK(MPI_Win_unlock_all(w->win));
}

static void fetch(const struct window* w) {
    const int64_t one = 1;
    int64_t got = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
    OK(MPI_Fetch_and_op(&one, &got, MPI_INT64_T, 0, at(w, 0, QUIET + 64 + 8 * T.rank), MPI_SUM,
                        w->win));
    OK(MPI_Win_flush(0, w->win));
    CHECK(got >= 0);
    OK(MPI_Win_unlock(0, w->win));
}

static void fetch_double(const struct window* w) {
    const double one = 1;
    double got = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
    OK(MPI_Fetch_and_op(&one, &got, MPI_DOUBLE, 0, at(w, 0, QUIET + 64 + 8 * T.rank), MPI_SUM,
                        w->win));
    OK(MPI_Win_flush(0, w->win));
    CHECK(got >= 0);
    OK(MPI_Win_unlock(0, w->win));
}

static void swap(const struct window* w) {
    const int64_t old = 0, new = 0;
    int64_t got = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
    OK(MPI_Compare_and_swap(&new, &old, &got, MPI_INT64_T, 0, at(w, 0, QUIET), w->win));
    OK(MPI_Win_flush(0, w->win));
    CHECK_EQ(0, got);
    OK(MPI_Win_unlock(0, w->win));
}

static void sum_up(const struct window* w) {
    const double values[4] = {1, 2, 3, 4};
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
    OK(MPI_Accumulate(values, 4, MPI_DOUBLE, 0, at(w, 0, 0), 4, MPI_DOUBLE, MPI_SUM, w->win));
    OK(MPI_Win_unlock(0, w->win));
}

static void large_put(const struct window* w) {
    char* data = malloc(LARGE);
    memset(data, T.rank, LARGE);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
    OK(MPI_Put(data, LARGE, MPI_CHAR, 0, at(w, 0, 0), LARGE, MPI_CHAR, w->win));
    OK(MPI_Win_unlock(0, w->win));
    free(data);
}

static void strided_put(const struct window* w) {
    MPI_Datatype comb;
    int values[100] = {0};
    MPI_Type_vector(100, 1, 3, MPI_INT, &comb);
    MPI_Type_commit(&comb);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
    OK(MPI_Put(values, 100, MPI_INT, 0, at(w, 0, 0), 1, comb, w->win));
    OK(MPI_Win_unlock(0, w->win));
    MPI_Type_free(&comb);
}

/// A lock handed on between the others while its home computes.
static void contended_lock(const struct window* w) {
    for (int i = 0; i < 100; ++i) {
        int64_t value = 0;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
        OK(MPI_Get(&value, 1, MPI_INT64_T, 0, at(w, 0, 0), 1, MPI_INT64_T, w->win));
        OK(MPI_Win_flush(0, w->win));
        ++value;
        OK(MPI_Put(&value, 1, MPI_INT64_T, 0, at(w, 0, 0), 1, MPI_INT64_T, w->win));
        OK(MPI_Win_unlock(0, w->win));
    }
}

// --- One busy target for all of them, or (--deep) one for each -----------------------------------

static int by_size(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void repeat(const char* what, const struct window* w, void (*calls)(const struct window*)) {
    enum { TIMES = 15 };
    double seconds[TIMES];
    for (int i = 0; i < TIMES; ++i) {
        const double begin = MPI_Wtime();
        calls(w);
        seconds[i] = MPI_Wtime() - begin;
    }
    if (busy == 0)
        return;
    qsort(seconds, TIMES, sizeof seconds[0], by_size);
    if (T.rank == 1)
        printf("     %s: quartile %.6f, median %.6f, longest %.6f\n", what,
               seconds[TIMES / 4] / busy, seconds[TIMES / 2] / busy, seconds[TIMES - 1] / busy);
    CHECK_THAT(seconds[TIMES / 4] < PROMPT * busy, "%s took %.4f of the time the target was busy",
               what, seconds[TIMES / 4] / busy);
}

static void all_calls(const struct window* w) {
    repeat("lock_put", w, lock_put);
    repeat("lock_get", w, lock_get);
    repeat("lock_all_flush", w, lock_all_flush);
    repeat("fetch", w, fetch);
    repeat("fetch_double", w, fetch_double);
    repeat("swap", w, swap);
    repeat("sum_up", w, sum_up);
    strided_put(w);
    contended_lock(w);
    large_put(w);
}

static const struct {
    const char* name;
    void (*calls)(const struct window*);
} rows[] = {
    {"all_calls", all_calls},
    {"lock_put", lock_put},
    {"lock_get", lock_get},
    {"lock_all_flush", lock_all_flush},
    {"fetch", fetch},
    {"fetch_double", fetch_double},
    {"swap", swap},
    {"sum_up", sum_up},
    {"strided_put", strided_put},
    {"large_put", large_put},
    {"contended_lock", contended_lock},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void run_row(void) {
    const size_t length = strcspn(T.name, "/");
    int row = 0;
    while (strncmp(rows[row].name, T.name, length) != 0 || rows[row].name[length] != '\0')
        ++row;
    struct window w;
    if (!window_open(&w, 2 * LARGE, 1))
        return;
    while_busy(&w, rows[row].calls);
    window_close(&w);
}

int main(int argc, char** argv) {
    struct test_case cases[ROWS];
    for (int i = 0; i < ROWS; ++i)
        cases[i] = (struct test_case){.name = rows[i].name,
                                      .run = run_row,
                                      .each = IN_ANY,
                                      .min_ranks = 2,
                                      .deep = rows[i].calls != all_calls};
    return test_main(argc, argv, cases, ROWS, MPI_THREAD_SINGLE);
}
