// Programs in which a process that holds one lock, or waits for a message, is itself waited for,
// while others only wait. No locks that are held conflict in a circle, so each of them ends. One
// that takes a lock sends word before others come to their waits; the times in between let them get
// there, and any order is right.
#include "mpi_test.h"

enum { ROUNDS = 5, TAG = 6 };
static const double SHORT = 2e-3; // seconds

static void send_word(int to) {
    MPI_Send(NULL, 0, MPI_INT, to, TAG, MPI_COMM_WORLD);
}

static void await_word(int from) {
    MPI_Recv(NULL, 0, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void lock(const struct window* w, int kind, int target) {
    OK(MPI_Win_lock(kind, target, 0, w->win));
}

static void unlock(const struct window* w, int target) {
    OK(MPI_Win_unlock(target, w->win));
}

static void lock_and_unlock(const struct window* w, int kind, int target) {
    lock(w, kind, target);
    unlock(w, target);
}

static void lock_all_and_unlock(const struct window* w) {
    OK(MPI_Win_lock_all(0, w->win));
    OK(MPI_Win_unlock_all(w->win));
}

/// Runs the story of each rank on two windows, a few times.
static void tell(void (*story)(const struct window* a, const struct window* b)) {
    struct window a, b;
    if (!window_open(&a, sizeof(int64_t), sizeof(int64_t)))
        return;
    if (window_open(&b, sizeof(int64_t), sizeof(int64_t))) {
        for (int round = 0; round < ROUNDS; ++round) {
            story(&a, &b);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        window_close(&b);
    }
    window_close(&a);
}

/// Rank 1 waits for rank 0, which reads; rank 2, which holds nothing, comes to lock_all behind rank
/// 1; rank 3 comes to lock_all, too, with a shared lock in hand that rank 0 waits for.
static void all_behind_all(const struct window* a, const struct window* b) {
    switch (T.rank) {
    case 0:
        lock(a, MPI_LOCK_SHARED, 0);
        send_word(1), send_word(2);
        await_word(3);
        compute_for(3 * SHORT);
        lock_and_unlock(b, MPI_LOCK_EXCLUSIVE, 0);
        unlock(a, 0);
        break;
    case 1:
        await_word(0);
        lock_and_unlock(a, MPI_LOCK_EXCLUSIVE, 0);
        break;
    case 2:
        await_word(0);
        compute_for(SHORT);
        lock_all_and_unlock(a);
        break;
    case 3:
        lock(b, MPI_LOCK_SHARED, 0);
        send_word(0);
        compute_for(2 * SHORT);
        lock_all_and_unlock(a);
        unlock(b, 0);
        break;
    default:
        break;
    }
}
static void lock_all_behind_lock_all(void) {
    tell(all_behind_all);
}

/// The same with rank 2 in lock_all when rank 1 comes, and gone when the others do.
static void all_behind_exclusive(const struct window* a, const struct window* b) {
    switch (T.rank) {
    case 0:
        await_word(2);
        compute_for(SHORT);
        lock(a, MPI_LOCK_SHARED, 0);
        send_word(2);
        await_word(3);
        compute_for(4 * SHORT);
        lock_and_unlock(b, MPI_LOCK_EXCLUSIVE, 0);
        unlock(a, 0);
        break;
    case 1:
        await_word(2);
        lock_and_unlock(a, MPI_LOCK_EXCLUSIVE, 0);
        break;
    case 2:
        OK(MPI_Win_lock_all(0, a->win));
        send_word(1), send_word(0);
        await_word(0);
        OK(MPI_Win_unlock_all(a->win));
        break;
    case 3:
        lock(b, MPI_LOCK_SHARED, 0);
        send_word(0);
        compute_for(3 * SHORT);
        lock_all_and_unlock(a);
        unlock(b, 0);
        break;
    default:
        break;
    }
}
static void lock_all_behind_a_waiting_exclusive(void) {
    tell(all_behind_exclusive);
}

/// Rank 0 reads and waits for what rank 2 sends when it has read; rank 1 waits to write.
static void shared_behind_writer(const struct window* a, const struct window* b) {
    (void)b;
    if (T.rank == 0) {
        lock(a, MPI_LOCK_SHARED, 0);
        send_word(1), send_word(2);
        await_word(2);
        unlock(a, 0);
    } else if (T.rank == 1) {
        await_word(0);
        lock_and_unlock(a, MPI_LOCK_EXCLUSIVE, 0);
    } else if (T.rank == 2) {
        await_word(0);
        compute_for(SHORT);
        lock_and_unlock(a, MPI_LOCK_SHARED, 0);
        send_word(0);
    }
}
static void shared_behind_a_waiting_writer(void) {
    tell(shared_behind_writer);
}

/// Rank 0 writes target 0 and waits for what rank 2 sends when it has written target 1; rank 1
/// waits in lock_all.
static void exclusive_behind_all(const struct window* a, const struct window* b) {
    (void)b;
    if (T.rank == 0) {
        lock(a, MPI_LOCK_EXCLUSIVE, 0);
        send_word(1), send_word(2);
        await_word(2);
        unlock(a, 0);
    } else if (T.rank == 1) {
        await_word(0);
        lock_all_and_unlock(a);
    } else if (T.rank == 2) {
        await_word(0);
        compute_for(SHORT);
        lock_and_unlock(a, MPI_LOCK_EXCLUSIVE, 1);
        send_word(0);
    }
}
static void exclusive_behind_a_waiting_lock_all(void) {
    tell(exclusive_behind_all);
}

/// Ranks 0 and 1 meet while both read; rank 2 comes in between to write.
static void meet(const struct window* a, const struct window* b) {
    (void)b;
    if (T.rank == 0) {
        lock(a, MPI_LOCK_SHARED, 0);
        send_word(2), send_word(1);
        await_word(1);
        unlock(a, 0);
    } else if (T.rank == 1) {
        await_word(0);
        compute_for(SHORT);
        lock(a, MPI_LOCK_SHARED, 0);
        send_word(0);
        unlock(a, 0);
    } else if (T.rank == 2) {
        await_word(0);
        lock_and_unlock(a, MPI_LOCK_EXCLUSIVE, 0);
    }
}
static void readers_meet_inside(void) {
    tell(meet);
}

/// Rank 0 is in lock_all on one window and waits for rank 1's exclusive on the other; rank 1 wants
/// that lock_all as well, where rank 2 waits to write.
static void all_by_holders(const struct window* a, const struct window* b) {
    if (T.rank == 0) {
        OK(MPI_Win_lock_all(0, b->win));
        send_word(2);
        await_word(1);
        compute_for(SHORT);
        lock_and_unlock(a, MPI_LOCK_EXCLUSIVE, 0);
        OK(MPI_Win_unlock_all(b->win));
    } else if (T.rank == 1) {
        lock(a, MPI_LOCK_EXCLUSIVE, 0);
        send_word(0);
        compute_for(2 * SHORT);
        lock_all_and_unlock(b);
        unlock(a, 0);
    } else if (T.rank == 2) {
        await_word(0);
        lock_and_unlock(b, MPI_LOCK_EXCLUSIVE, 1);
    }
}
static void lock_all_by_holders(void) {
    tell(all_by_holders);
}

static int by_size(const void* left, const void* right) {
    const double l = *(const double*)left, r = *(const double*)right;
    return (l > r) - (l < r);
}

/// Rank 0 holds target 1 exclusively and waits for 2, which `passer` holds shared. Rank 2's lock_all
/// waits for rank 0. `passer` takes target 3, past that lock_all.
static void pass_a_lock_all(const struct window* w, int passer) {
    if (T.rank == 0) {
        await_word(passer);
        lock(w, MPI_LOCK_EXCLUSIVE, 1);
        send_word(passer), send_word(2);
        lock_and_unlock(w, MPI_LOCK_EXCLUSIVE, 2);
        unlock(w, 1);
    } else if (T.rank == passer) {
        lock(w, MPI_LOCK_SHARED, 2);
        send_word(0);
        await_word(0);
        compute_for(SHORT);
        lock_and_unlock(w, MPI_LOCK_EXCLUSIVE, 3);
        unlock(w, 2);
    } else if (T.rank == 2) {
        await_word(0);
        lock_all_and_unlock(w);
    }
}

/// Each time another lock_all waits, so none of them is passed twice: no patience grows. When it
/// did, the last of these took half a second each. Ranks 1 and `other` pass by turns.
static void pass_lock_alls(int other) {
    enum { TIMES = 20, SOME = 5 };
    struct window w;
    if (!window_open(&w, sizeof(int64_t), sizeof(int64_t)))
        return;
    double took[TIMES];
    for (int i = 0; i < TIMES; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        pass_a_lock_all(&w, i % 2 == 0 ? 1 : other);
        MPI_Barrier(MPI_COMM_WORLD);
        took[i] = MPI_Wtime() - begin;
    }
    qsort(took, SOME, sizeof *took, by_size);
    qsort(took + TIMES - SOME, SOME, sizeof *took, by_size);
    const double first = took[SOME / 2], last = took[TIMES - 1 - SOME / 2];
    if (T.rank == 0)
        CHECK_THAT(last <= 10 * first, "it took %.6f s at first, and %.6f s at last", first, last);
    window_close(&w);
}

static void passing_takes_no_longer_each_time(void) {
    pass_lock_alls(1);
}

static void passing_by_turns_takes_no_longer_each_time(void) {
    pass_lock_alls(3);
}

// --- A writer among readers ---------------------------------------------------------------------

enum { RUNS = 20, LOCKS = 5, PLAIN = 0, HOLD_ALL = 1, HOLD_ALL_UNCHECKED = 2, KINDS = 3 };
static const char* const kinds[] = {"", ", in lock_all elsewhere",
                                    ", in unchecked lock_all elsewhere"};

/// Seconds for which the writer, rank 0, waited at most for target 0.
static double write_now_and_then(const struct window* a) {
    double longest = 0;
    for (int r = 1; r < T.ranks; ++r)
        await_word(r); // it reads
    for (int i = 0; i < LOCKS; ++i) {
        const double begin = MPI_Wtime();
        lock(a, MPI_LOCK_EXCLUSIVE, 0);
        const double waited = MPI_Wtime() - begin;
        longest = waited > longest ? waited : longest;
        unlock(a, 0);
        compute_for(1e-4);
    }
    for (int r = 1; r < T.ranks; ++r)
        send_word(r);
    return longest;
}

/// The others read until the writer has done; or for so long that it did not get in.
static void read_all_the_time(const struct window* a) {
    const double until = MPI_Wtime() + 0.1;
    int over = 0;
    for (int i = 0; !over && MPI_Wtime() < until; ++i) {
        lock(a, MPI_LOCK_SHARED, 0);
        if (i == 0)
            send_word(0);
        compute_for(2e-4);
        // Inside: it may give the processor away.
        MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
        unlock(a, 0);
    }
    await_word(0);
}

static double longest_wait(const struct window* a, const struct window* b, int kind) {
    double longest = 0;
    if (kind != PLAIN && T.rank != 0)
        OK(MPI_Win_lock_all(kind == HOLD_ALL ? 0 : MPI_MODE_NOCHECK, b->win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (T.rank == 0)
        longest = write_now_and_then(a);
    else
        read_all_the_time(a);
    if (kind != PLAIN && T.rank != 0)
        OK(MPI_Win_unlock_all(b->win));
    MPI_Barrier(MPI_COMM_WORLD);
    return longest;
}

/// Readers that hold something elsewhere have no privilege over a writer. The median of the runs,
/// side by side; below a time slice of the system nothing can be told.
static void writer_among_readers_that_hold(void) {
    struct window a, b;
    if (!window_open(&a, sizeof(int64_t), sizeof(int64_t)))
        return;
    if (window_open(&b, sizeof(int64_t), sizeof(int64_t))) {
        double waits[KINDS][RUNS];
        for (int run = 0; run < RUNS; ++run)
            for (int kind = 0; kind < KINDS; ++kind)
                waits[kind][run] = longest_wait(&a, &b, kind);
        for (int kind = 0; kind < KINDS; ++kind)
            qsort(waits[kind], RUNS, sizeof(double), by_size);
        const double slice = 4e-3, plain = waits[PLAIN][RUNS / 2];
        const double most = 10 * plain > slice ? 10 * plain : slice;
        for (int kind = 1; T.rank == 0 && kind < KINDS; ++kind)
            CHECK_THAT(waits[kind][RUNS / 2] <= most,
                       "the writer waited %.6f s among readers%s, %.6f s among others",
                       waits[kind][RUNS / 2], kinds[kind], plain);
        window_close(&b);
    }
    window_close(&a);
}

// --- lock_all beside exclusive locks -------------------------------------------------------------

enum { ASKS = 20, MOST_PASSED = 8 };
static const double LONGEST = 5; // seconds, of all rounds of a side

static void enter(const struct window* w, bool all) {
    if (all)
        OK(MPI_Win_lock_all(0, w->win));
    else
        lock(w, MPI_LOCK_EXCLUSIVE, 0);
}

static void leave(const struct window* w, bool all) {
    if (all)
        OK(MPI_Win_unlock_all(w->win));
    else
        unlock(w, 0);
}

/// How many sections have begun by now; and `more` with this one.
static int64_t sections(const struct window* count, int64_t more) {
    int64_t before = 0;
    OK(MPI_Fetch_and_op(&more, &before, MPI_INT64_T, 0, 0, MPI_SUM, count->win));
    OK(MPI_Win_flush(0, count->win));
    return before;
}

/// One after another, until rank 0 has been in often enough; or for so long that it does not get in.
static void come_again(const struct window* w, const struct window* count, bool all) {
    const double until = MPI_Wtime() + LONGEST;
    int over = 0;
    for (int i = 0; !over && MPI_Wtime() < until; ++i) {
        enter(w, all);
        sections(count, 1);
        if (i == 0)
            send_word(0);
        compute_for(2e-4);
        MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
        leave(w, all);
    }
    await_word(0);
}

/// Rank 0 asks for the other kind of lock now and then. Returns how many sections have begun while it
/// waited, the median; those that it waited for at the end, when no others come, count as too many.
static double ask_now_and_then(const struct window* w, const struct window* count, bool all) {
    double passed[ASKS];
    const double until = MPI_Wtime() + LONGEST;
    for (int r = 1; r < T.ranks; ++r)
        await_word(r); // it comes again and again
    for (int i = 0; i < ASKS; ++i) {
        const int64_t before = sections(count, 0);
        enter(w, all);
        passed[i] = MPI_Wtime() < until ? (double)(sections(count, 0) - before) : 1e9;
        leave(w, all);
        compute_for(1e-4);
    }
    for (int r = 1; r < T.ranks; ++r)
        send_word(r);
    qsort(passed, ASKS, sizeof *passed, by_size);
    return passed[ASKS / 2];
}

/// However often locks of one kind come, one of the other kind waits for few of them: those inside,
/// and one more of each process. A process that has just lost the processor waits longer.
static void pass_one_another(bool all) {
    struct window w, count;
    if (!window_open(&w, sizeof(int64_t), sizeof(int64_t)))
        return;
    if (window_open(&count, sizeof(int64_t), sizeof(int64_t))) {
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, count.win));
        if (T.rank == 0) {
            const double passed = ask_now_and_then(&w, &count, all);
            CHECK_THAT(passed <= MOST_PASSED * (T.ranks - 1),
                       "%g sections of %d processes began while rank 0 waited", passed,
                       T.ranks - 1);
        } else {
            come_again(&w, &count, !all);
        }
        OK(MPI_Win_unlock_all(count.win));
        window_close(&count);
    }
    window_close(&w);
}

static void exclusive_among_lock_alls(void) {
    pass_one_another(false);
}

static void lock_all_among_exclusives(void) {
    pass_one_another(true);
}

static const struct test_case cases[] = {
    {.name = "lock_all_behind_lock_all",
     .run = lock_all_behind_lock_all,
     .each = IN_ALLOCATE | IN_DYNAMIC,
     .min_ranks = 4},
    {.name = "lock_all_behind_a_waiting_exclusive",
     .run = lock_all_behind_a_waiting_exclusive,
     .each = IN_ALLOCATE | IN_DYNAMIC,
     .min_ranks = 4},
    {.name = "shared_behind_a_waiting_writer",
     .run = shared_behind_a_waiting_writer,
     .each = IN_ALLOCATE | IN_DYNAMIC,
     .min_ranks = 3},
    {.name = "exclusive_behind_a_waiting_lock_all",
     .run = exclusive_behind_a_waiting_lock_all,
     .each = IN_ALLOCATE | IN_DYNAMIC,
     .min_ranks = 3},
    {.name = "readers_meet_inside",
     .run = readers_meet_inside,
     .each = IN_ALLOCATE | IN_DYNAMIC,
     .min_ranks = 3},
    {.name = "lock_all_by_holders",
     .run = lock_all_by_holders,
     .each = IN_ALLOCATE | IN_DYNAMIC,
     .min_ranks = 3},
    {.name = "passing_takes_no_longer_each_time",
     .run = passing_takes_no_longer_each_time,
     .each = IN_ALLOCATE,
     .min_ranks = 4},
    {.name = "passing_by_turns_takes_no_longer_each_time",
     .run = passing_by_turns_takes_no_longer_each_time,
     .each = IN_ALLOCATE,
     .min_ranks = 4},
    {.name = "writer_among_readers_that_hold",
     .run = writer_among_readers_that_hold,
     .each = IN_ALLOCATE,
     .min_ranks = 4},
    {.name = "exclusive_among_lock_alls",
     .run = exclusive_among_lock_alls,
     .each = IN_ALLOCATE,
     .min_ranks = 3},
    {.name = "lock_all_among_exclusives",
     .run = lock_all_among_exclusives,
     .each = IN_ALLOCATE,
     .min_ranks = 3},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
