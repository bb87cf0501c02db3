// How much each rank gets of a lock that all want, during a second in which all are at it. No
// times are asserted, only shares, and these with a wide margin, since other programs take cores
// from some ranks and not from others. A scheduler may do so for a whole second, and makes up for it
// later; a lock that is unfair is so in the next second, too. So a share that is too small is
// measured for longer, and all that was measured counts.
#include "mpi_test.h"

static const double kSeconds = 1;
enum { ROUNDS = 5 }; // at most, each of kSeconds

/// What the ranks tell each other while they loop, in memory that all see.
struct board {
    MPI_Win win;
    volatile long* counts; ///< one per rank, and behind them whether to stop
};

static struct board board_open(void) {
    struct board b;
    int unit;
    MPI_Aint size;
    long* mine;
    OK(MPI_Win_allocate_shared(T.rank == 0 ? (T.ranks + 1) * (MPI_Aint)sizeof(long) : 0,
                               sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &b.win));
    OK(MPI_Win_shared_query(b.win, 0, &size, &unit, &mine));
    b.counts = mine;
    for (int i = 0; T.rank == 0 && i <= T.ranks; ++i)
        b.counts[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return b;
}

/// Notes what everybody has, once everybody has something. Returns whether that was so.
static bool all_are_at_it(const struct board* b, long* counts) {
    for (int i = 0; i < T.ranks; ++i) {
        counts[i] = b->counts[i];
        if (counts[i] == 0)
            return false;
    }
    return true;
}

enum { ALL = -1, ACCUMULATE = -2 }; // beside MPI's kinds of locks

enum { ELEMENTS = 1000 }; // that no atomic of a CPU can do

static void take_and_release(const struct window* w, int kind) {
    static long double ones[ELEMENTS];
    if (kind == ACCUMULATE) {
        OK(MPI_Accumulate(ones, ELEMENTS, MPI_LONG_DOUBLE, 0, 0, ELEMENTS, MPI_LONG_DOUBLE, MPI_SUM,
                          w->win));
    } else if (kind == ALL) {
        OK(MPI_Win_lock_all(0, w->win));
        OK(MPI_Win_unlock_all(w->win));
    } else {
        OK(MPI_Win_lock(kind, 0, 0, w->win));
        OK(MPI_Win_unlock(0, w->win));
    }
}

/// Takes and releases the lock of rank 0, or of all, for as long as all do and rank 0 says; returns
/// how often.
static long loop(const struct window* w, int kind) {
    struct board b = board_open();
    long before[64] = {0}, taken = 0, mine;
    bool all = false;
    for (double begin = 0; !b.counts[T.ranks];) {
        take_and_release(w, kind);
        b.counts[T.rank] = ++taken;
        if (T.rank != 0)
            continue;
        if (!all && (all = all_are_at_it(&b, before)))
            begin = MPI_Wtime();
        if (all && MPI_Wtime() - begin > kSeconds) {
            for (int i = 0; i < T.ranks; ++i)
                before[i] = b.counts[i] - before[i];
            b.counts[T.ranks] = 1;
        }
    }
    OK(MPI_Scatter(before, 1, MPI_LONG, &mine, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    OK(MPI_Win_free(&b.win));
    return mine;
}

static void least_and_most(long mine, long* least, long* most) {
    MPI_Allreduce(&mine, least, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
}

/// The fewest locks of any rank are at least a tenth of the most.
static void share_alike(const struct window* w, int kind) {
    long mine = 0, least = 0, most = 0;
    for (int round = 0; round < ROUNDS && (round == 0 || 10 * least < most); ++round) {
        mine += loop(w, kind);
        least_and_most(mine, &least, &most);
    }
    CHECK_THAT(10 * least >= most, "some rank had %ld locks, another one %ld", least, most);
}

static void writers_share_alike(void) {
    struct window w;
    if (!window_open(&w, sizeof(int64_t), sizeof(int64_t)))
        return;
    share_alike(&w, MPI_LOCK_EXCLUSIVE);
    window_close(&w);
}

/// The same of accumulates, which exclude each other.
static void accumulates_share_alike(void) {
    struct window w;
    if (!window_open(&w, ELEMENTS * sizeof(long double), sizeof(long double)))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    share_alike(&w, ACCUMULATE);
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

struct writer_and_readers {
    long writer, slowest_reader;
};

/// The last rank writes, the others read. Adds to what each has had so far.
static void write_among(const struct window* w, int readers, long* mine,
                        struct writer_and_readers* got) {
    const bool writes = T.rank == T.ranks - 1;
    long most;
    *mine += loop(w, writes ? MPI_LOCK_EXCLUSIVE : readers);
    got->writer = *mine;
    MPI_Bcast(&got->writer, 1, MPI_LONG, T.ranks - 1, MPI_COMM_WORLD);
    least_and_most(writes ? __LONG_MAX__ : *mine, &got->slowest_reader, &most);
}

static bool in_proportion(const struct writer_and_readers* got, int parts) {
    return 10 * got->writer >= got->slowest_reader && parts * got->slowest_reader >= got->writer;
}

/// A writer among readers has at least a tenth of the slowest reader's share, and the slowest
/// reader at least one part in `parts` of the writer's.
static void share_with_readers(int readers, int parts) {
    struct window w;
    if (!window_open(&w, sizeof(int64_t), sizeof(int64_t)))
        return;
    struct writer_and_readers got = {0, 0};
    long mine = 0;
    for (int round = 0; round < ROUNDS && (round == 0 || !in_proportion(&got, parts)); ++round)
        write_among(&w, readers, &mine, &got);
    CHECK_THAT(in_proportion(&got, parts),
               "the writer had the lock %ld times, the slowest reader %ld times", got.writer,
               got.slowest_reader);
    window_close(&w);
}

static void a_writer_among_readers(void) {
    share_with_readers(MPI_LOCK_SHARED, 10);
}

/// Where ranks outnumber cores the writer goes on for as long as those that have let it go first do
/// not run.
static void a_writer_among_lock_alls(void) {
    share_with_readers(ALL, 200);
}

/// Where lock_all stays on its node it is a thousand times as cheap as an exclusive lock beside it,
/// but that one gets in, again and again.
static void a_writer_gets_in_beside_lock_alls(void) {
    struct window w;
    if (!window_open(&w, sizeof(int64_t), sizeof(int64_t)))
        return;
    struct writer_and_readers got;
    long mine = 0;
    write_among(&w, ALL, &mine, &got);
    CHECK_THAT(got.writer >= 3, "the writer had the lock %ld times, the slowest reader %ld times",
               got.writer, got.slowest_reader);
    window_close(&w);
}

static const struct test_case cases[] = {
    {.name = "writers_share_alike",
     .run = writers_share_alike,
     .each = IN_ALLOCATE,
     .min_ranks = 2},
    {.name = "accumulates_share_alike",
     .run = accumulates_share_alike,
     .each = IN_CREATE | IN_ALLOCATE,
     .min_ranks = 2},
    {.name = "a_writer_among_readers",
     .run = a_writer_among_readers,
     .each = IN_ALLOCATE,
     .min_ranks = 2},
    {.name = "a_writer_among_lock_alls",
     .run = a_writer_among_lock_alls,
     .each = IN_ALLOCATE,
     .min_ranks = 2},
    {.name = "a_writer_gets_in_beside_lock_alls",
     .run = a_writer_gets_in_beside_lock_alls,
     .each = IN_ALLOCATE,
     .min_ranks = 2},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
