// Short critical sections: lock, an operation or two, unlock. Between nodes they go in one message, if
// nothing asks for more (osc_rmalock_defer), so each case is one about what the program may notice.
#include "mpi_test.h"

enum { ROUNDS = 60, WORDS = 8, LARGE = 1 << 16 };

static void lock(const struct window* w, int kind, int target) {
    OK(MPI_Win_lock(kind, target, 0, w->win));
}
static void unlock(const struct window* w, int target) {
    OK(MPI_Win_unlock(target, w->win));
}
static void put(const struct window* w, int target, MPI_Aint index, const int64_t* from, int n) {
    OK(MPI_Put(from, n, MPI_INT64_T, target, at(w, target, index), n, MPI_INT64_T, w->win));
}
static void get(const struct window* w, int target, MPI_Aint index, int64_t* to, int n) {
    OK(MPI_Get(to, n, MPI_INT64_T, target, at(w, target, index), n, MPI_INT64_T, w->win));
}
static void add(const struct window* w, int target, MPI_Aint index, int64_t value) {
    OK(MPI_Accumulate(&value, 1, MPI_INT64_T, target, at(w, target, index), 1, MPI_INT64_T, MPI_SUM,
                      w->win));
}
static bool open_words(struct window* w, int words) {
    return window_open(w, (MPI_Aint)sizeof(int64_t) * words, sizeof(int64_t));
}

/// What is fetched is there when the unlock returns; so is what was put.
static void each_operation_alone(void) {
    struct window w;
    if (!open_words(&w, WORDS * T.ranks))
        return;
    const int t = (T.rank + 1) % T.ranks;
    const MPI_Aint mine = (MPI_Aint)WORDS * T.rank;
    for (int64_t round = 1; round <= ROUNDS; ++round) {
        int64_t before = -1, there = -1, zero = 0;
        const int64_t put_there = 10 * round, one = 1;
        lock(&w, MPI_LOCK_EXCLUSIVE, t);
        put(&w, t, mine, &put_there, 1);
        unlock(&w, t);
        lock(&w, MPI_LOCK_SHARED, t);
        get(&w, t, mine, &there, 1);
        unlock(&w, t);
        CHECK_EQ(put_there, there);
        lock(&w, MPI_LOCK_EXCLUSIVE, t);
        OK(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, t, at(&w, t, mine + 1), MPI_SUM, w.win));
        unlock(&w, t);
        CHECK_EQ(round - 1, before);
        lock(&w, MPI_LOCK_SHARED, t);
        OK(MPI_Get_accumulate(&zero, 1, MPI_INT64_T, &there, 1, MPI_INT64_T, t, at(&w, t, mine + 1),
                              1, MPI_INT64_T, MPI_NO_OP, w.win));
        unlock(&w, t);
        CHECK_EQ(round, there);
        const int64_t next = round;
        lock(&w, MPI_LOCK_SHARED, t);
        OK(MPI_Compare_and_swap(&next, &before, &before, MPI_INT64_T, t, at(&w, t, mine + 2),
                                w.win));
        unlock(&w, t);
        CHECK_EQ(round == 1 ? 0 : round - 1, before);
        lock(&w, MPI_LOCK_EXCLUSIVE, t);
        put(&w, t, mine + 2, &next, 1);
        unlock(&w, t);
        lock(&w, MPI_LOCK_EXCLUSIVE, t);
        unlock(&w, t);
    }
    window_close(&w);
}

/// Several in one section, with results, and what is fetched shows what came before it.
static void several_operations(void) {
    struct window w;
    if (!open_words(&w, WORDS * T.ranks))
        return;
    const int t = (T.rank + 1) % T.ranks;
    const MPI_Aint mine = (MPI_Aint)WORDS * T.rank;
    for (int64_t round = 1; round <= ROUNDS; ++round) {
        int64_t sums[2] = {-1, -1};
        const int64_t values[3] = {round, 2 * round, 3 * round}, one = 1;
        lock(&w, MPI_LOCK_EXCLUSIVE, t);
        put(&w, t, mine, values, 3);
        add(&w, t, mine + 3, round);
        for (int i = 0; i < 2; ++i)
            OK(MPI_Fetch_and_op(&one, &sums[i], MPI_INT64_T, t, at(&w, t, mine + 4), MPI_SUM,
                                w.win));
        unlock(&w, t);
        CHECK_EQ(2 * (round - 1), sums[0]);
        CHECK_EQ(2 * (round - 1) + 1, sums[1]);
        int64_t there[5] = {-1, -1, -1, -1, -1};
        lock(&w, MPI_LOCK_SHARED, t);
        for (int i = 0; i < 5; ++i)
            get(&w, t, mine + i, &there[i], 1);
        unlock(&w, t);
        CHECK_MEM(values, there, sizeof values);
        CHECK_EQ(round * (round + 1) / 2, there[3]);
        CHECK_EQ(2 * round, there[4]);
    }
    window_close(&w);
}

/// A pair of words that is equal outside of exclusive locks; some sections go in a message, some hold
/// the lock over a flush, and some are the target's own.
static void change_pair(const struct window* w, int target, int64_t round) {
    int64_t pair[2] = {-1, -2};
    switch ((round + w->rank) % 3) {
    case 0: // reads, computes, writes
        lock(w, MPI_LOCK_EXCLUSIVE, target);
        get(w, target, 0, pair, 2);
        OK(MPI_Win_flush(target, w->win));
        CHECK_EQ(pair[0], pair[1]);
        ++pair[0], ++pair[1];
        put(w, target, 0, pair, 2);
        break;
    case 1: // one message
        lock(w, MPI_LOCK_EXCLUSIVE, target);
        add(w, target, 0, 1);
        add(w, target, 1, 1);
        break;
    default:
        lock(w, MPI_LOCK_SHARED, target);
        get(w, target, 0, pair, 2);
        unlock(w, target);
        CHECK_EQ(pair[0], pair[1]);
        return;
    }
    unlock(w, target);
}

static void held_and_sent_exclude(void) {
    struct window w;
    if (!open_words(&w, WORDS))
        return;
    int64_t changes = 0, all = 0;
    for (int64_t round = 0; round < 10 * ROUNDS; ++round) {
        change_pair(&w, 0, round);
        changes += (round + w.rank) % 3 != 2;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&changes, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    int64_t pair[2] = {-1, -2};
    lock(&w, MPI_LOCK_SHARED, 0);
    get(&w, 0, 0, pair, 2);
    unlock(&w, 0);
    CHECK_EQ(all, pair[0]);
    CHECK_EQ(all, pair[1]);
    window_close(&w);
}

/// The same beside a process in lock_all, which has to find the pair equal.
static void beside_lock_all(void) {
    struct window w;
    if (!open_words(&w, WORDS))
        return;
    const int last = T.ranks - 1;
    for (int64_t round = 0; round < ROUNDS; ++round) {
        if (w.rank != last) {
            const int64_t pair[2] = {round * T.ranks + w.rank, round * T.ranks + w.rank};
            lock(&w, MPI_LOCK_EXCLUSIVE, 0);
            put(&w, 0, 0, pair, 2);
            unlock(&w, 0);
            continue;
        }
        int64_t first[2] = {-1, -2}, again[2] = {-1, -2};
        OK(MPI_Win_lock_all(0, w.win));
        get(&w, 0, 0, first, 2);
        OK(MPI_Win_flush(0, w.win));
        get(&w, 0, 0, again, 2);
        OK(MPI_Win_unlock_all(w.win));
        CHECK_EQ(first[0], first[1]);
        CHECK_MEM(first, again, sizeof first);
    }
    window_close(&w);
}

/// What does not go along: the lock is acquired then, and what was called before is done first.
static void what_asks_for_more(void) {
    struct window w;
    if (!open_words(&w, LARGE))
        return;
    const int t = (T.rank + 1) % T.ranks;
    int64_t *large = calloc(LARGE, sizeof *large), *back = calloc(LARGE, sizeof *back);
    for (int64_t round = 1; round <= 5; ++round) {
        const int64_t one = round;
        int64_t word = -1;
        for (int i = 0; i < LARGE; ++i)
            large[i] = round + i;
        // A large one behind a small one that it overwrites.
        lock(&w, MPI_LOCK_EXCLUSIVE, t);
        put(&w, t, 5, &one, 1);
        put(&w, t, 0, large, LARGE);
        unlock(&w, t);
        // Many small ones: more than a message of them.
        lock(&w, MPI_LOCK_SHARED, t);
        for (int i = 0; i < 2000; ++i)
            get(&w, t, i, &back[i], 1);
        unlock(&w, t);
        CHECK_MEM(large, back, 2000 * sizeof *back);
        // Requests, flushes.
        MPI_Request request;
        lock(&w, MPI_LOCK_SHARED, t);
        get(&w, t, 7, &back[0], 1);
        OK(MPI_Rget(&word, 1, MPI_INT64_T, t, at(&w, t, 8), 1, MPI_INT64_T, w.win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EQ(large[8], word);
        OK(MPI_Win_flush_local(t, w.win));
        CHECK_EQ(large[7], back[0]);
        unlock(&w, t);
        lock(&w, MPI_LOCK_EXCLUSIVE, t);
        put(&w, t, 9, &one, 1);
        OK(MPI_Win_flush_all(w.win));
        get(&w, t, 9, &word, 1);
        unlock(&w, t);
        CHECK_EQ(one, word);
    }
    free(large);
    free(back);
    window_close(&w);
}

/// The lock is held over flushes of every kind, and what is fetched or put is complete behind each.
static void held_over_flushes(void) {
    struct window w;
    if (!open_words(&w, LARGE))
        return;
    const int t = (T.rank + 1) % T.ranks, other = (T.rank + 2) % T.ranks;
    int64_t* large = calloc(LARGE, sizeof *large);
    for (int64_t round = 1; round <= ROUNDS; ++round) {
        const int kind = round % 2 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
        const int64_t put_there = 3 * round;
        int64_t before = -1, there = -1, sum = -1;
        lock(&w, kind, t);
        get(&w, t, 0, &before, 1);
        OK(round % 4 < 2 ? MPI_Win_flush_local(t, w.win) : MPI_Win_flush(t, w.win));
        CHECK_EQ(3 * (round - 1), before);
        put(&w, t, 0, &put_there, 1);
        OK(MPI_Win_flush_local_all(w.win));
        get(&w, t, 0, &there, 1);
        add(&w, t, 1, 1);
        OK(MPI_Win_flush_all(w.win));
        CHECK_EQ(put_there, there);
        get(&w, t, 1, &sum, 1);
        switch (round % 5) {
        case 0: // what is large goes as always, and in order
            put(&w, t, 2, &put_there, 1);
            put(&w, t, 2, large, 4096);
            break;
        case 1: // so does what comes behind another lock
            if (kind == MPI_LOCK_SHARED && other != t && other != T.rank) {
                lock(&w, MPI_LOCK_SHARED, other);
                unlock(&w, other);
            }
            break;
        case 2: // a flush that has nothing to do
            OK(MPI_Win_flush(t, w.win));
            OK(MPI_Win_flush(t, w.win));
            break;
        case 3: { // a request
            MPI_Request request;
            OK(MPI_Rget(&there, 1, MPI_INT64_T, t, at(&w, t, 0), 1, MPI_INT64_T, w.win, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_EQ(put_there, there);
            break;
        }
        default: // nothing
            OK(MPI_Win_flush(t, w.win));
            CHECK_EQ(round, sum);
        }
        unlock(&w, t);
        CHECK_EQ(round, sum);
    }
    free(large);
    window_close(&w);
}

/// Writers that hold the lock between two puts, beside a process in lock_all.
static void held_beside_lock_all(void) {
    struct window w;
    if (!open_words(&w, WORDS))
        return;
    const int last = T.ranks - 1;
    for (int64_t round = 0; round < ROUNDS; ++round) {
        int64_t first = -1, second = -2;
        if (w.rank != last) {
            const int64_t value = round * T.ranks + w.rank;
            lock(&w, MPI_LOCK_EXCLUSIVE, 0);
            put(&w, 0, 0, &value, 1);
            get(&w, 0, 1, &second, 1);
            OK(MPI_Win_flush(0, w.win));
            put(&w, 0, 1, &value, 1);
            unlock(&w, 0);
            continue;
        }
        OK(MPI_Win_lock_all(0, w.win));
        get(&w, 0, 0, &first, 1);
        OK(MPI_Win_flush(0, w.win));
        get(&w, 0, 1, &second, 1);
        OK(MPI_Win_unlock_all(w.win));
        CHECK_EQ(first, second);
    }
    window_close(&w);
}

/// All take locks of two windows in the same order, and some of a third one in between.
static void locks_in_order(void) {
    struct window a, b;
    if (!open_words(&a, WORDS))
        return;
    if (open_words(&b, WORDS)) {
        for (int round = 0; round < ROUNDS; ++round) {
            lock(&a, MPI_LOCK_EXCLUSIVE, 0);
            lock(&b, round % 2 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0);
            add(&a, 0, 0, 1);
            add(&b, 0, 0, 1);
            if (round % 3 == 0)
                lock(&b, MPI_LOCK_SHARED, T.ranks - 1);
            unlock(&a, 0);
            if (round % 3 == 0)
                unlock(&b, T.ranks - 1);
            unlock(&b, 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        int64_t sums[2] = {-1, -1};
        lock(&a, MPI_LOCK_SHARED, 0);
        get(&a, 0, 0, &sums[0], 1);
        unlock(&a, 0);
        lock(&b, MPI_LOCK_SHARED, 0);
        get(&b, 0, 0, &sums[1], 1);
        unlock(&b, 0);
        CHECK_EQ((int64_t)ROUNDS * T.ranks, sums[0]);
        CHECK_EQ((int64_t)ROUNDS * T.ranks, sums[1]);
        window_close(&b);
    }
    window_close(&a);
}

/// A section waits for one that holds the lock for longer than it waits at the target.
static void behind_a_long_holder(void) {
    struct window w;
    if (!open_words(&w, WORDS))
        return;
    for (int round = 0; round < 3; ++round) {
        if (w.rank == 0) {
            int64_t word = -1;
            lock(&w, MPI_LOCK_EXCLUSIVE, T.ranks - 1);
            get(&w, T.ranks - 1, 0, &word, 1);
            OK(MPI_Win_flush(T.ranks - 1, w.win));
            MPI_Barrier(MPI_COMM_WORLD);
            compute_for(20e-3);
            int64_t again = -1;
            get(&w, T.ranks - 1, 0, &again, 1);
            OK(MPI_Win_flush(T.ranks - 1, w.win));
            CHECK_EQ(word, again);
            unlock(&w, T.ranks - 1);
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
            lock(&w, round == 1 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, T.ranks - 1);
            add(&w, T.ranks - 1, 0, 1);
            unlock(&w, T.ranks - 1);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    window_close(&w);
}

/// The target computes meanwhile, and holds nothing.
static void the_target_computes(void) {
    struct window w;
    if (!open_words(&w, WORDS))
        return;
    if (w.rank == 0)
        compute_for(0.05);
    else
        for (int i = 0; i < ROUNDS; ++i) {
            lock(&w, MPI_LOCK_EXCLUSIVE, 0);
            add(&w, 0, 1, 1);
            unlock(&w, 0);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    local_begin(&w);
    if (w.rank == 0)
        CHECK_EQ((int64_t)ROUNDS * (T.ranks - 1), ((int64_t*)w.base)[1]);
    local_end_all(&w);
    window_close(&w);
}

/// Errors come from the call that makes them, and the section goes on without it.
static void mistakes(void) {
    struct window w;
    if (!open_words(&w, WORDS))
        return;
    const int t = (T.rank + 1) % T.ranks;
    const int64_t value = 17 + T.rank;
    for (int round = 0; round < 3; ++round) {
        lock(&w, MPI_LOCK_EXCLUSIVE, t);
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, t, 0, w.win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, w.win));
        if (w.flavor != DYNAMIC)
            FAILS(MPI_ERR_RMA_RANGE,
                  MPI_Put(&value, 1, MPI_INT64_T, t, at(&w, t, WORDS), 1, MPI_INT64_T, w.win));
        put(&w, t, 3, &value, 1);
        unlock(&w, t);
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(t, w.win));
        int64_t there = -1;
        lock(&w, MPI_LOCK_SHARED, t);
        get(&w, t, 3, &there, 1);
        unlock(&w, t);
        CHECK_EQ(value, there);
    }
    window_close(&w);
}

static const struct test_case cases[] = {
    {.name = "each_operation_alone", .run = each_operation_alone, .each = IN_ANY},
    {.name = "several_operations", .run = several_operations, .each = IN_ANY},
    {.name = "held_and_sent_exclude", .run = held_and_sent_exclude, .each = IN_ANY},
    {.name = "beside_lock_all", .run = beside_lock_all, .each = IN_ANY, .min_ranks = 2},
    {.name = "what_asks_for_more", .run = what_asks_for_more, .each = IN_ANY},
    {.name = "held_over_flushes", .run = held_over_flushes, .each = IN_ANY},
    {.name = "held_beside_lock_all", .run = held_beside_lock_all, .each = IN_ANY, .min_ranks = 2},
    {.name = "locks_in_order", .run = locks_in_order, .each = IN_ANY, .min_ranks = 2},
    {.name = "behind_a_long_holder", .run = behind_a_long_holder, .each = IN_ANY, .min_ranks = 2},
    {.name = "the_target_computes", .run = the_target_computes, .each = IN_ANY},
    {.name = "mistakes", .run = mistakes, .each = IN_ANY},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
