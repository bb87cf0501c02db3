// Many ranks, far more than cores: locks, lock_all, more locks held at once than a process has queue
// nodes, and windows that take no more memory than the number of ranks explains. Any number of
// ranks; check_crowd has 600.
#include "mpi_test.h"

enum {
    ROUNDS = 3,
    HOLDERS = 4,             ///< ranks that hold locks on all targets at once
    WINDOWS = 8,             ///< side by side
    BYTES_EACH = 32 * 1024,  ///< of a window at a rank: its state is 16 KiB at most
    BYTES_BESIDE = 64 << 20, ///< of all of them at a node, whatever the number of ranks
};

static void open_counters(struct window* w) {
    window_open(w, 2 * sizeof(long long), sizeof(long long));
}

/// Adds 1 to both words of `target`, which the caller holds exclusively.
static void add_one(const struct window* w, int target) {
    long long pair[2];
    OK(MPI_Get(pair, 2, MPI_LONG_LONG, target, at(w, target, 0), 2, MPI_LONG_LONG, w->win));
    OK(MPI_Win_flush(target, w->win));
    CHECK_EQ(pair[0], pair[1]);
    ++pair[0], ++pair[1];
    OK(MPI_Put(pair, 2, MPI_LONG_LONG, target, at(w, target, 0), 2, MPI_LONG_LONG, w->win));
    OK(MPI_Win_flush(target, w->win));
}

/// What all targets have together.
static long long sum_of(struct window* w) {
    MPI_Barrier(MPI_COMM_WORLD);
    local_begin(w);
    const long long* const mine = (const long long*)w->base;
    CHECK_EQ(mine[0], mine[1]);
    long long sum = 0;
    MPI_Allreduce(mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    local_end(w);
    return sum;
}

/// All want rank 0; readers look for torn pairs.
static void exclusives_and_readers(void) {
    struct window w;
    open_counters(&w);
    for (int i = 0; i < ROUNDS; ++i) {
        if ((T.rank + i) % 3 != 0) {
            long long pair[2];
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win));
            OK(MPI_Get(pair, 2, MPI_LONG_LONG, 0, at(&w, 0, 0), 2, MPI_LONG_LONG, w.win));
            OK(MPI_Win_unlock(0, w.win));
            CHECK_EQ(pair[0], pair[1]);
        } else {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
            add_one(&w, 0);
            OK(MPI_Win_unlock(0, w.win));
        }
    }
    long long writes = 0, all = 0;
    for (int i = 0; i < ROUNDS; ++i)
        writes += (T.rank + i) % 3 == 0;
    MPI_Allreduce(&writes, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(all, sum_of(&w));
    window_close(&w);
}

/// Exclusives beside processes that are in lock_all.
static void lock_all_beside_exclusives(void) {
    struct window w;
    open_counters(&w);
    const int target = T.rank / 2;
    const long long one = 1;
    for (int i = 0; i < ROUNDS; ++i) {
        if ((T.rank + i) % 2 == 0) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
            add_one(&w, target);
            OK(MPI_Win_unlock(target, w.win));
        } else {
            OK(MPI_Win_lock_all(0, w.win));
            for (int word = 0; word < 2; ++word)
                OK(MPI_Accumulate(&one, 1, MPI_LONG_LONG, target, at(&w, target, word), 1,
                                  MPI_LONG_LONG, MPI_SUM, w.win));
            OK(MPI_Win_unlock_all(w.win));
        }
    }
    CHECK_EQ((long long)ROUNDS * T.ranks, sum_of(&w));
    window_close(&w);
}

/// A few ranks hold exclusive locks on all targets at once, and the others want one of them.
static void locks_on_all_targets_at_once(void) {
    struct window w;
    open_counters(&w);
    if (T.rank % (1 + T.ranks / HOLDERS) == 0) {
        for (int t = 0; t < T.ranks; ++t)
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, w.win));
        for (int t = 0; t < T.ranks; ++t)
            add_one(&w, t);
        for (int t = T.ranks; t-- > 0;)
            OK(MPI_Win_unlock(t, w.win));
    } else {
        const int t = (7 * T.rank) % T.ranks;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, w.win));
        add_one(&w, t);
        OK(MPI_Win_unlock(t, w.win));
    }
    const bool holder = T.rank % (1 + T.ranks / HOLDERS) == 0;
    const long long mine = holder ? T.ranks : 1;
    long long all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(all, sum_of(&w));
    window_close(&w);
}

/// Bytes of the node's memory in files of shared memory.
static long long shared_bytes(void) {
    long long kib = -1;
    char line[128];
    FILE* const info = fopen("/proc/meminfo", "r");
    while (info != NULL && fgets(line, sizeof line, info) != NULL)
        if (sscanf(line, "Shmem: %lld kB", &kib) == 1)
            break;
    if (info != NULL)
        fclose(info);
    return 1024 * kib;
}

static void windows_side_by_side(void) {
    struct window w[WINDOWS];
    MPI_Barrier(MPI_COMM_WORLD);
    const long long before = shared_bytes();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; ++i) {
        open_counters(&w[i]);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, T.rank, 0, w[i].win));
        OK(MPI_Win_unlock(T.rank, w[i].win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const long long took = shared_bytes() - before;
    CHECK_THAT(before >= 0 && took < (long long)WINDOWS * T.ranks * BYTES_EACH + BYTES_BESIDE,
               "%d windows of %d ranks took %lld bytes", WINDOWS, T.ranks, took);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; ++i)
        window_close(&w[i]);
}

static const struct test_case cases[] = {
    {.name = "exclusives_and_readers", .run = exclusives_and_readers, .each = IN_ALLOCATE},
    {.name = "lock_all_beside_exclusives", .run = lock_all_beside_exclusives, .each = IN_ALLOCATE},
    {.name = "locks_on_all_targets_at_once",
     .run = locks_on_all_targets_at_once,
     .each = IN_ALLOCATE},
    {.name = "windows_side_by_side", .run = windows_side_by_side, .each = IN_ALLOCATE},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
