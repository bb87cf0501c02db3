// The MPI_T performance variables: exact numbers of what a program does with its windows, under
// rmalock only. With the MCA parameter osc_rmalock_ranks_per_node, which is to be 1, every rank is
// a node.
#include "mpi_test.h"

static bool far;
static MPI_T_pvar_session session;

enum { BINS = 24 };

/// A variable, bound to a window.
struct variable {
    MPI_T_pvar_handle handle;
    int count;
};

static int find(const char* name, int class) {
    char full[128];
    int index = -1;
    snprintf(full, sizeof full, "osc_rmalock_%s", name);
    OK(MPI_T_pvar_get_index(full, class, &index));
    return index;
}

static struct variable bind(const char* name, int class, MPI_Win* win) {
    struct variable v;
    OK(MPI_T_pvar_handle_alloc(session, find(name, class), win, &v.handle, &v.count));
    return v;
}

/// What has been counted since the window was created, or the handle bound: a counter of its own is
/// bound before anything is done.
static long long read_and_free(struct variable* v) {
    unsigned long long values[BINS] = {0}, sum = 0;
    CHECK(v->count <= BINS);
    OK(MPI_T_pvar_read(session, v->handle, values));
    for (int i = 0; i < v->count; ++i)
        sum += values[i];
    OK(MPI_T_pvar_handle_free(session, &v->handle));
    return (long long)sum;
}

static const char* const kNames[] = {
    "exclusive_locks", "shared_locks",   "lock_alls",         "exclusive_waits",    "shared_waits",
    "lock_all_waits",  "wait_histogram", "handovers_on_node", "handovers_off_node", "mode_changes",
    "verbs_on_node",   "verbs_off_node", "round_trips",
};
enum { COUNTERS = sizeof kNames / sizeof *kNames };

struct counters {
    struct variable of[COUNTERS];
};

static struct counters counters_bind(MPI_Win* win) {
    struct counters c;
    for (int i = 0; i < COUNTERS; ++i)
        c.of[i] = bind(kNames[i], MPI_T_PVAR_CLASS_COUNTER, win);
    return c;
}

static void counters_check(struct counters* c, const long long* expected) {
    for (int i = 0; i < COUNTERS; ++i) {
        const long long got = read_and_free(&c->of[i]);
        CHECK_THAT(expected[i] < 0 || got == expected[i], "%s: expected %lld, got %lld", kNames[i],
                   expected[i], got);
    }
}

/// On every rank: a window of this lock, and nothing done with it.
static void make(MPI_Win* win, const char* key, const char* value) {
    char* base;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    OK(MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &base, win));
    MPI_Info_free(&info);
}

static void lock_and_unlock(MPI_Win win, int type, int target, int times) {
    for (int i = 0; i < times; ++i) {
        OK(MPI_Win_lock(type, target, 0, win));
        OK(MPI_Win_unlock(target, win));
    }
}

/// Rank 0 alone, at rank 1.
static void uncontended(void) {
    MPI_Win win;
    make(&win, "rmalock_lock", "direct_passive");
    struct counters c = counters_bind(&win);
    if (T.rank == 0) {
        lock_and_unlock(win, MPI_LOCK_EXCLUSIVE, 1, 5);
        lock_and_unlock(win, MPI_LOCK_SHARED, 1, 3);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, MPI_MODE_NOCHECK, win));
        OK(MPI_Win_unlock(1, win));
        long long expected[COUNTERS] = {5, 3};
        // An exclusive looks at the gate once; where there are several nodes it counts itself in
        // the holder record of its own, and out of it.
        expected[10] = far ? 5 * 3 : 5 * 3 + 3 * 2;
        expected[11] = far ? 8 * 2 : 0;
        expected[12] = far ? 8 : 0; // an unlock waits for nothing
        counters_check(&c, expected);
    } else {
        counters_check(&c, (const long long[COUNTERS]){0});
    }
    OK(MPI_Win_free(&win));
}

static void lock_alls(void) {
    MPI_Win win;
    make(&win, "rmalock_lock", "direct_passive");
    struct counters c = counters_bind(&win);
    for (int i = 0; T.rank == 0 && i < 7; ++i) {
        OK(MPI_Win_lock_all(0, win));
        OK(MPI_Win_unlock_all(win));
    }
    // The first one changed the window's mode.
    const long long mine[COUNTERS] = {0, 0, 7, 0, 0, 0, 0, 0, 0, 1, -1, far ? -1 : 0, far ? -1 : 0};
    counters_check(&c, T.rank == 0 ? mine : (const long long[COUNTERS]){0});
    OK(MPI_Win_free(&win));
}

/// Rank 1 gives up the lock only after rank 0 has run progress `patience` times since it began to
/// ask for it: synchronous messages arrive then, and rank 0 calls nothing else in between.
static void contended_lock(MPI_Win win, volatile int* asking, int patience) {
    int word = 0;
    if (T.rank == 0) {
        MPI_Request* arrives = malloc((size_t)patience * sizeof(MPI_Request));
        for (int i = 0; i < patience; ++i)
            OK(MPI_Irecv(&word, 1, MPI_INT, 1, i, MPI_COMM_WORLD, &arrives[i]));
        *asking = 0;
        MPI_Barrier(MPI_COMM_WORLD); // rank 1 has the lock
        *asking = 1;
        lock_and_unlock(win, MPI_LOCK_EXCLUSIVE, 1, 1);
        OK(MPI_Waitall(patience, arrives, MPI_STATUSES_IGNORE));
        free(arrives);
    } else {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        MPI_Barrier(MPI_COMM_WORLD);
        while (!*asking)
            usleep(100);
        for (int i = 0; i < patience; ++i)
            OK(MPI_Ssend(&word, 1, MPI_INT, 0, i, MPI_COMM_WORLD));
        OK(MPI_Win_unlock(1, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/// Repeats that until rank 0 had to wait. On the node this is so at once; on its way to another
/// node the request may take longer than the messages, of which there are more each time. Returns
/// how often.
static int until_contended(MPI_Win win, struct counters* c) {
    MPI_Win flag_win;
    int unit, *flag, times = 0;
    MPI_Aint size;
    OK(MPI_Win_allocate_shared(T.rank == 0 ? (MPI_Aint)sizeof(int) : 0, sizeof(int), MPI_INFO_NULL,
                               MPI_COMM_WORLD, &flag, &flag_win));
    OK(MPI_Win_shared_query(flag_win, 0, &size, &unit, &flag));
    for (unsigned long long waits = 0; waits == 0; ++times) {
        if (T.rank < 2)
            contended_lock(win, flag, 1 << times);
        else
            for (int i = 0; i < 2; ++i)
                MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_T_pvar_read(session, c->of[3].handle, &waits));
        MPI_Bcast(&waits, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
        CHECK(far || waits == 1);
    }
    OK(MPI_Win_free(&flag_win));
    return times;
}

static void contended(void) {
    MPI_Win win;
    double share = -1;
    make(&win, "rmalock_lock", "auto");
    struct variable contended_share = bind("contended_share", MPI_T_PVAR_CLASS_PERCENTAGE, &win);
    struct counters c = counters_bind(&win);
    const int times = until_contended(win, &c);
    OK(MPI_T_pvar_read(session, contended_share.handle, &share));
    OK(MPI_T_pvar_handle_free(session, &contended_share.handle));
    CHECK_REAL(T.rank == 0 ? 1.0 / times : 0.0, share);
    // Which of the two sides counts the hand-over depends on the lock.
    long long mine[COUNTERS], all[COUNTERS];
    for (int i = 0; i < COUNTERS; ++i)
        mine[i] = read_and_free(&c.of[i]);
    MPI_Allreduce(mine, all, COUNTERS, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(T.rank < 2 ? times : 0, mine[0]);
    CHECK_EQ(T.rank == 0, mine[3]);
    CHECK_EQ(T.rank == 0, mine[6]); // one wait in the histogram
    CHECK(all[far ? 8 : 7] >= 1 && all[far ? 8 : 7] <= times);
    CHECK_EQ(0, all[far ? 7 : 8]);
    OK(MPI_Win_free(&win));
}

/// A tool may bind every variable to every window.
static void other_components(void) {
    MPI_Win win;
    make(&win, "rmalock_enable", "false");
    struct counters c = counters_bind(&win);
    lock_and_unlock(win, MPI_LOCK_EXCLUSIVE, 0, 3);
    counters_check(&c, (const long long[COUNTERS]){0});
    OK(MPI_Win_free(&win));
}

/// A handle counts from when it is bound, or reset.
static void handles_begin_at_zero(void) {
    MPI_Win win;
    unsigned long long value = 99;
    make(&win, "rmalock_lock", "auto");
    lock_and_unlock(win, MPI_LOCK_SHARED, T.rank, 2);
    struct variable v = bind("shared_locks", MPI_T_PVAR_CLASS_COUNTER, &win);
    lock_and_unlock(win, MPI_LOCK_SHARED, T.rank, 3);
    OK(MPI_T_pvar_read(session, v.handle, &value));
    CHECK_EQ(3, (long long)value);
    OK(MPI_T_pvar_reset(session, v.handle));
    lock_and_unlock(win, MPI_LOCK_SHARED, T.rank, 1);
    CHECK_EQ(1, read_and_free(&v));
    OK(MPI_Win_free(&win));
}

static const struct test_case cases[] = {
    {.name = "uncontended", .run = uncontended, .needs = IN_ALLOCATE, .min_ranks = 2},
    {.name = "lock_alls", .run = lock_alls, .needs = IN_ALLOCATE, .min_ranks = 2},
    {.name = "contended", .run = contended, .needs = IN_ALLOCATE | IN_SHARED, .min_ranks = 2},
    {.name = "other_components", .run = other_components, .needs = IN_ALLOCATE},
    {.name = "handles_begin_at_zero", .run = handles_begin_at_zero, .needs = IN_ALLOCATE},
};

int main(int argc, char** argv) {
    int provided;
    far = getenv("OMPI_MCA_osc_rmalock_ranks_per_node") != NULL;
    // Without MPI_T_finalize, in which Open MPI 4.1.4 crashes when it comes after MPI_Finalize.
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
