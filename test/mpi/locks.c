// Passive target: lock, lock_all, unlock and the flush family, with data checked under the locks.
//
// None of the cases waits for time to pass: each has one possible outcome with correct locks. Cases
// with a barrier inside an epoch prove that locks which may be held together are held together: if
// one of them kept another out, the case would never end.
#include "mpi_test.h"

#include <sched.h>

enum { ROUNDS = 200 };

static void get_word(const struct window* w, int target, int index, int64_t* to) {
    OK(MPI_Get(to, 1, MPI_INT64_T, target, at(w, target, index), 1, MPI_INT64_T, w->win));
}

static void put_word(const struct window* w, int target, int index, const int64_t* from) {
    OK(MPI_Put(from, 1, MPI_INT64_T, target, at(w, target, index), 1, MPI_INT64_T, w->win));
}

static bool open_words(struct window* w, int words) {
    return window_open(w, words * (MPI_Aint)sizeof(int64_t), sizeof(int64_t));
}

static int64_t own_word(const struct window* w, int index) {
    local_begin(w);
    const int64_t value = ((volatile int64_t*)w->base)[index];
    local_end(w);
    return value;
}

/// Each rank writes its word at each target, under each kind of lock; the owner reads them back.
static void lock_unlock_each_target(void) {
    struct window w;
    if (!open_words(&w, T.ranks))
        return;
    const int kinds[] = {MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED};
    for (int k = 0; k < 2; ++k) {
        for (int t = 0; t < T.ranks; ++t) {
            const int64_t value = 1000 * k + 100 * t + T.rank + 1;
            OK(MPI_Win_lock(kinds[k], t, 0, w.win));
            put_word(&w, t, T.rank, &value);
            OK(MPI_Win_unlock(t, w.win));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int o = 0; o < T.ranks; ++o)
            CHECK_EQ(1000 * k + 100 * T.rank + o + 1, own_word(&w, o));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    window_close(&w);
}

/// One increment of two words that must always be equal, non-atomic, so that every lost or torn
/// update shows. The processor is given away in the middle: with more ranks than cores the others
/// then come right into it.
static void increment_pair(const struct window* w, int target) {
    static int64_t a, b; /* until the unlock */
    get_word(w, target, 0, &a);
    get_word(w, target, 1, &b);
    OK(MPI_Win_flush(target, w->win));
    CHECK_EQ(a, b);
    ++a;
    ++b;
    put_word(w, target, 0, &a);
    OK(MPI_Win_flush(target, w->win));
    sched_yield();
    put_word(w, target, 1, &b);
}

/// Counts up all of a block that must always be one number, in two puts that nobody flushes; and a
/// word behind it. Now and then gets that word instead, which is not to see what the next holder
/// puts.
static void increment_block(const struct window* w, int words, int behind, int64_t* block,
                            bool gets) {
    int64_t last, again = -1;
    get_word(w, 0, behind, &last);
    OK(MPI_Get(block, words, MPI_INT64_T, 0, at(w, 0, 0), words, MPI_INT64_T, w->win));
    OK(MPI_Win_flush(0, w->win));
    const int64_t seen = block[0], next = last + 1;
    int others = 0;
    for (int i = 0; i < words; ++i) {
        others += block[i] != seen;
        block[i] = seen + 1;
    }
    CHECK_EQ(0, others);
    const int half = (words + 1) / 2;
    OK(MPI_Put(block + half, words - half, MPI_INT64_T, 0, at(w, 0, half), words - half,
               MPI_INT64_T, w->win));
    OK(MPI_Put(block, half, MPI_INT64_T, 0, at(w, 0, 0), half, MPI_INT64_T, w->win));
    if (gets)
        get_word(w, 0, behind, &again);
    else
        put_word(w, 0, behind, &next);
    OK(MPI_Win_unlock(0, w->win));
    CHECK(!gets || again == last);
}

/// A release that goes out behind the holder's puts must not come before them.
static void data_come_before_the_next_holder(void) {
    enum { WORDS = 40000 };
    static const int lengths[] = {1, 600, WORDS};
    struct window w;
    if (!open_words(&w, WORDS + 1))
        return;
    int64_t* block = malloc(WORDS * sizeof *block);
    int64_t rounds = 0;
    for (int l = 0; l < 3; ++l) {
        const int times = lengths[l] == WORDS ? 10 : ROUNDS;
        for (int i = 0; i < times; ++i) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
            increment_block(&w, lengths[l], WORDS, block, i % 4 == 3);
        }
        rounds += times;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; T.rank == 0 && i < lengths[l]; i += lengths[l] - 1 + (lengths[l] == 1))
            CHECK_EQ(rounds * T.ranks, own_word(&w, i));
        // The next length begins with one number everywhere.
        if (T.rank == 0) {
            for (int i = 0; i < WORDS; ++i)
                block[i] = rounds * T.ranks;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
            OK(MPI_Put(block, WORDS, MPI_INT64_T, 0, at(&w, 0, 0), WORDS, MPI_INT64_T, w.win));
            OK(MPI_Win_unlock(0, w.win));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(block);
    window_close(&w);
}

static void check_pair(const struct window* w, int target) {
    int64_t a = -1, b = -2;
    get_word(w, target, 0, &a);
    OK(MPI_Win_flush(target, w->win));
    sched_yield();
    get_word(w, target, 1, &b);
    OK(MPI_Win_flush(target, w->win));
    CHECK_EQ(a, b);
}

static void exclusive_excludes(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    for (int i = 0; i < ROUNDS; ++i) {
        const int target = (T.rank + i) % T.ranks;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
        increment_pair(&w, target);
        OK(MPI_Win_unlock(target, w.win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t mine = own_word(&w, 0), sum;
    CHECK_EQ(mine, own_word(&w, 1));
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ((long long)ROUNDS * T.ranks, sum);
    window_close(&w);
}

/// All on one target, where the contention is.
static void exclusive_excludes_on_one_target(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    for (int i = 0; i < ROUNDS; ++i) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
        increment_pair(&w, 0);
        OK(MPI_Win_unlock(0, w.win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (T.rank == 0)
        CHECK_EQ((long long)ROUNDS * T.ranks, own_word(&w, 0));
    window_close(&w);
}

/// Everybody reads and writes by turns.
static void shared_excludes_exclusive(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    int writes = 0;
    for (int i = 0; i < ROUNDS; ++i) {
        const bool writer = (i + T.rank) % 4 == 0;
        OK(MPI_Win_lock(writer ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, w.win));
        if (writer)
            increment_pair(&w, 0), ++writes;
        else
            check_pair(&w, 0);
        OK(MPI_Win_unlock(0, w.win));
    }
    int all;
    MPI_Allreduce(&writes, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (T.rank == 0)
        CHECK_EQ(all, own_word(&w, 0));
    window_close(&w);
}

static void lock_all_excludes_exclusive(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    int writes = 0;
    for (int i = 0; i < ROUNDS; ++i) {
        const int target = i % T.ranks;
        if ((i + T.rank) % 3 == 0) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
            increment_pair(&w, target);
            OK(MPI_Win_unlock(target, w.win));
            ++writes;
        } else {
            OK(MPI_Win_lock_all(0, w.win));
            for (int t = 0; t < T.ranks; ++t)
                check_pair(&w, t);
            OK(MPI_Win_unlock_all(w.win));
        }
    }
    int all;
    MPI_Allreduce(&writes, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int64_t mine = own_word(&w, 0), sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(all, sum);
    window_close(&w);
}

/// The first lock_all of a window's life meets exclusive locks that were taken before anybody
/// thought of one, and some that come at the same moment. Many windows, because each has its first
/// only once.
static void first_lock_all_meets_exclusives(void) {
    for (int round = 0; round < 60; ++round) {
        struct window w;
        if (!open_words(&w, 2))
            return;
        const int target = round % T.ranks;
        for (int i = 0; i < 6; ++i)
            if ((T.rank + round) % T.ranks == 0 && i >= round % 4) {
                OK(MPI_Win_lock_all(0, w.win));
                check_pair(&w, target);
                OK(MPI_Win_unlock_all(w.win));
            } else {
                OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
                increment_pair(&w, target);
                OK(MPI_Win_unlock(target, w.win));
            }
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_EQ(own_word(&w, 0), own_word(&w, 1));
        window_close(&w);
    }
}

static void send_word(int to) {
    MPI_Send(NULL, 0, MPI_INT, to, 6, MPI_COMM_WORLD);
}

static void await_word(int from) {
    MPI_Recv(NULL, 0, MPI_INT, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Nothing changes under a lock_all.
static void lock_all_and_watch(const struct window* w, int target) {
    int64_t before = -1, after = -2;
    OK(MPI_Win_lock_all(0, w->win));
    get_word(w, target, 0, &before);
    OK(MPI_Win_flush(target, w->win));
    compute_for(3e-4);
    sched_yield();
    get_word(w, target, 0, &after);
    OK(MPI_Win_flush(target, w->win));
    CHECK_EQ(before, after);
    check_pair(w, target);
    OK(MPI_Win_unlock_all(w->win));
}

/// Rank 0 holds a target exclusively, rank 1 (and 3) wait for it; then rank 2 asks for the first
/// lock_all of the window's life. The locks asked for before must still exclude it, and it them.
static void first_lock_all_behind_waiting_exclusives(void) {
    for (int round = 0; round < 30; ++round) {
        struct window w;
        if (!open_words(&w, 2))
            return;
        const int target = round % T.ranks;
        if (T.rank == 0) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
            MPI_Barrier(MPI_COMM_WORLD);
            compute_for(1e-3); // lets the others come to their waits; right at any speed
            increment_pair(&w, target);
            OK(MPI_Win_unlock(target, w.win));
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
            if (T.rank == 2) {
                compute_for(3e-4);
                lock_all_and_watch(&w, target);
            } else {
                OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
                increment_pair(&w, target);
                OK(MPI_Win_unlock(target, w.win));
            }
        }
        window_close(&w);
    }
}

/// Rank 0 holds target 1 exclusively and waits for 2, which rank 1 holds shared. Rank 2's lock_all
/// waits for rank 0. Now rank 1 asks for 3, which is free: if it had to queue behind the lock_all,
/// none of the three would move again.
static void holder_does_not_queue_behind_lock_all(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    for (int round = 0; round < 20; ++round) {
        if (T.rank == 0) {
            await_word(1);
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win));
            send_word(1);
            send_word(2);
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, w.win));
            OK(MPI_Win_unlock(2, w.win));
            OK(MPI_Win_unlock(1, w.win));
        } else if (T.rank == 1) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, w.win));
            send_word(0);
            await_word(0);
            compute_for(2e-3); // lets the other two come to their waits; right at any speed
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, w.win));
            OK(MPI_Win_unlock(3, w.win));
            OK(MPI_Win_unlock(2, w.win));
        } else if (T.rank == 2) {
            await_word(0);
            OK(MPI_Win_lock_all(0, w.win));
            OK(MPI_Win_unlock_all(w.win));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    window_close(&w);
}

/// Ranks 0 and 1 hold one target each, shared, and then ask for the other's, shared, too; ranks 2
/// and 3 wait for these targets exclusively. A holder may not be kept waiting behind a writer that
/// waits for the lock it holds.
static void holders_pass_waiting_writers(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    for (int round = 0; round < 20; ++round) {
        const int first = T.rank % 2, second = 1 - first;
        if (T.rank < 2) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, first, 0, w.win));
            send_word(T.rank + 2);
            compute_for(1e-3); // lets the writer come to its wait; right at any speed
            OK(MPI_Win_lock(MPI_LOCK_SHARED, second, 0, w.win));
            OK(MPI_Win_unlock(second, w.win));
            OK(MPI_Win_unlock(first, w.win));
        } else if (T.rank < 4) {
            await_word(T.rank - 2);
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, w.win));
            OK(MPI_Win_unlock(first, w.win));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    window_close(&w);
}

/// The holder writes 1, invites the next rank to lock, writes 2: nobody may ever see the 1.
static void holder_is_waited_for(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    const int last = T.ranks - 1;
    for (int i = 0; i < 50; ++i) {
        const int64_t one = 2 * i + 1, two = 2 * i + 2;
        int64_t seen = 0;
        if (T.rank == 0) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, w.win));
            put_word(&w, last, 0, &one);
            OK(MPI_Win_flush(last, w.win));
            MPI_Barrier(MPI_COMM_WORLD);
            for (int y = 0; y < 5; ++y)
                sched_yield(); // gives the others every chance to go wrong
            put_word(&w, last, 0, &two);
            OK(MPI_Win_unlock(last, w.win));
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
            if (T.rank % 2 != 0) {
                OK(MPI_Win_lock(i % 2 != 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, last, 0, w.win));
                get_word(&w, last, 0, &seen);
                OK(MPI_Win_unlock(last, w.win));
            } else {
                OK(MPI_Win_lock_all(0, w.win));
                get_word(&w, last, 0, &seen);
                OK(MPI_Win_unlock_all(w.win));
            }
            CHECK_EQ(two, seen);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    window_close(&w);
}

static void shared_locks_are_held_together(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_unlock(0, w.win));
    OK(MPI_Win_lock_all(0, w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_unlock_all(w.win));
    if (T.rank % 2 == 0)
        OK(MPI_Win_lock_all(0, w.win));
    else
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(T.rank % 2 == 0 ? MPI_Win_unlock_all(w.win) : MPI_Win_unlock(0, w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
}

static void different_targets_are_held_together(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    for (int shift = 0; shift < T.ranks; ++shift) {
        const int target = (T.rank + shift) % T.ranks;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        increment_pair(&w, target);
        OK(MPI_Win_unlock(target, w.win));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK_EQ(T.ranks, own_word(&w, 0));
    window_close(&w);
}

/// Exclusive locks on all targets, taken in the same order by all, given back in another.
static void all_targets_by_one(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    for (int i = 0; i < ROUNDS / 4; ++i) {
        for (int t = 0; t < T.ranks; ++t)
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, w.win));
        for (int t = 0; t < T.ranks; ++t)
            increment_pair(&w, t);
        for (int t = 0; t < T.ranks; ++t)
            OK(MPI_Win_unlock((t + i) % T.ranks, w.win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ((long long)ROUNDS / 4 * T.ranks, own_word(&w, 0));
    CHECK_EQ((long long)ROUNDS / 4 * T.ranks, own_word(&w, 1));
    window_close(&w);
}

/// Exclusive on one target beside shared on the others, all held at once.
static void mixed_locks_at_once(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    for (int i = 0; i < ROUNDS / 4; ++i) {
        const int writes_to = (T.rank + i) % T.ranks;
        for (int t = 0; t < T.ranks; ++t)
            OK(MPI_Win_lock(t == writes_to ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, t, 0, w.win));
        for (int t = 0; t < T.ranks; ++t)
            if (t == writes_to)
                increment_pair(&w, t);
            else
                check_pair(&w, t);
        for (int t = T.ranks - 1; t >= 0; --t)
            OK(MPI_Win_unlock(t, w.win));
    }
    int64_t mine = own_word(&w, 0), sum;
    MPI_Barrier(MPI_COMM_WORLD);
    mine = own_word(&w, 0);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ((long long)ROUNDS / 4 * T.ranks, sum);
    window_close(&w);
}

/// Locks of one process on several windows do not know of each other.
static void several_windows_at_once(void) {
    enum { WINDOWS = 8 };
    struct window w[WINDOWS];
    for (int i = 0; i < WINDOWS; ++i)
        if (!open_words(&w[i], 2))
            return;
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < WINDOWS; ++i)
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, i % T.ranks, 0, w[i].win));
        for (int i = WINDOWS - 1; i >= 0; --i) {
            increment_pair(&w[i], i % T.ranks);
            OK(MPI_Win_unlock(i % T.ranks, w[i].win));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; ++i) {
        CHECK_EQ(i % T.ranks == T.rank ? 10 * T.ranks : 0, own_word(&w[i], 0));
        window_close(&w[i]);
    }
}

/// A lock on oneself is held when the call returns: plain loads and stores are safe under it.
static void lock_on_oneself(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    for (int i = 0; i < ROUNDS; ++i) {
        const int target = i % T.ranks;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
        if (target == T.rank) {
            volatile int64_t* words = (volatile int64_t*)w.base;
            CHECK_EQ(words[0], words[1]);
            ++words[0];
            sched_yield();
            ++words[1];
        } else {
            increment_pair(&w, target);
        }
        OK(MPI_Win_unlock(target, w.win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t mine = own_word(&w, 0), sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ((long long)ROUNDS * T.ranks, sum);
    window_close(&w);
}

/// NOCHECK epochs move data, and their unlock gives back nothing that was not taken.
static void nocheck(void) {
    struct window w;
    if (!open_words(&w, 2 + T.ranks))
        return;
    const int next = (T.rank + 1) % T.ranks;
    for (int i = 0; i < 20; ++i) {
        const int64_t value = 100 * i + T.rank;
        const int kind = i % 2 != 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
        OK(MPI_Win_lock(kind, next, MPI_MODE_NOCHECK, w.win));
        put_word(&w, next, 2, &value);
        OK(MPI_Win_unlock(next, w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_EQ(100 * i + (T.rank + T.ranks - 1) % T.ranks, own_word(&w, 2));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win));
        for (int t = 0; t < T.ranks; ++t)
            put_word(&w, t, 2 + T.rank, &value);
        OK(MPI_Win_unlock_all(w.win));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < ROUNDS; ++i) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
        increment_pair(&w, 0);
        OK(MPI_Win_unlock(0, w.win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (T.rank == 0)
        CHECK_EQ((long long)ROUNDS * T.ranks, own_word(&w, 0));
    window_close(&w);
}

/// A NOCHECK lock on one target, taken and given back while a checked lock on another is held.
static void nocheck_beside_a_lock(void) {
    struct window w;
    if (!open_words(&w, 3))
        return;
    for (int i = 0; i < ROUNDS; ++i) {
        int64_t ignored;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, w.win));
        get_word(&w, 1, 2, &ignored);
        OK(MPI_Win_unlock(1, w.win));
        increment_pair(&w, 0);
        OK(MPI_Win_unlock(0, w.win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (T.rank == 0)
        CHECK_EQ((long long)ROUNDS * T.ranks, own_word(&w, 0));
    window_close(&w);
}

/// A rank that is told of a flush sees what was put before it.
static void flush_completes_at_the_target(void) {
    struct window w;
    if (!open_words(&w, T.ranks))
        return;
    const int next = (T.rank + 1) % T.ranks, previous = (T.rank + T.ranks - 1) % T.ranks;
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = 0; i < ROUNDS; ++i) {
        const int64_t value = 1000 * i + T.rank;
        int64_t seen = -1;
        int told = -1;
        put_word(&w, next, T.rank, &value);
        OK(i % 2 != 0 ? MPI_Win_flush(next, w.win) : MPI_Win_flush_all(w.win));
        MPI_Sendrecv(&i, 1, MPI_INT, next, 1, &told, 1, MPI_INT, previous, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        OK(MPI_Win_sync(w.win));
        CHECK_EQ(1000 * told + previous, ((volatile int64_t*)w.base)[previous]);
        get_word(&w, T.rank, previous, &seen);
        OK(MPI_Win_flush(T.rank, w.win));
        CHECK_EQ(1000 * told + previous, seen);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

/// Ranks 0 and 1 put, flush and get by turns, as Dekker's algorithm does: of two that put at the
/// same time, one at least sees the other's.
static void flush_comes_before_later_gets(void) {
    enum { WORDS = 400 };
    struct window w;
    if (!open_words(&w, WORDS))
        return;
    static int64_t mine[WORDS], theirs[WORDS];
    const int other = 1 - T.rank;
    for (int64_t round = 1; round <= 100; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (T.rank > 1)
            continue;
        OK(MPI_Win_lock_all(0, w.win));
        for (int i = 0; i < WORDS; ++i) {
            put_word(&w, other, i, &round);
            OK(MPI_Win_flush(other, w.win));
            get_word(&w, T.rank, i, &mine[i]);
        }
        OK(MPI_Win_unlock_all(w.win));
        MPI_Sendrecv(mine, WORDS, MPI_INT64_T, other, 8, theirs, WORDS, MPI_INT64_T, other, 8,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < WORDS; ++i)
            CHECK(mine[i] == round || theirs[i] == round);
    }
    window_close(&w);
}

/// After a local flush the origin's buffer may be changed, and what was got has arrived.
static void flush_local_frees_the_buffer(void) {
    enum { WORDS = 5000 };
    struct window w;
    if (!open_words(&w, 2 * WORDS))
        return;
    int64_t* buffer = malloc(WORDS * sizeof *buffer);
    const int target = (T.rank + 1) % T.ranks;
    for (int all = 0; all < 2; ++all) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win));
        for (int i = 0; i < WORDS; ++i)
            buffer[i] = i + T.rank + all;
        OK(MPI_Put(buffer, WORDS, MPI_INT64_T, target, at(&w, target, 0), WORDS, MPI_INT64_T,
                   w.win));
        OK(all ? MPI_Win_flush_local_all(w.win) : MPI_Win_flush_local(target, w.win));
        memset(buffer, 0xff, WORDS * sizeof *buffer);
        OK(MPI_Win_flush(target, w.win));
        OK(MPI_Get(buffer, WORDS, MPI_INT64_T, target, at(&w, target, 0), WORDS, MPI_INT64_T,
                   w.win));
        OK(all ? MPI_Win_flush_local_all(w.win) : MPI_Win_flush_local(target, w.win));
        for (int i = 0; i < WORDS; ++i)
            CHECK_EQ(i + T.rank + all, buffer[i]);
        OK(MPI_Win_unlock(target, w.win));
    }
    free(buffer);
    window_close(&w);
}

/// flush_all concerns every lock held, also when the locks were taken one by one.
static void flush_all_under_single_locks(void) {
    struct window w;
    if (!open_words(&w, T.ranks))
        return;
    int64_t got[64];
    for (int t = 0; t < T.ranks; ++t)
        OK(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, w.win));
    for (int t = 0; t < T.ranks; ++t) {
        got[t] = 10 * t + T.rank + 1;
        put_word(&w, t, T.rank, &got[t]);
    }
    OK(MPI_Win_flush_all(w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int t = 0; t < T.ranks; ++t)
        get_word(&w, t, (T.rank + 1) % T.ranks, &got[t]);
    OK(MPI_Win_flush_local_all(w.win));
    for (int t = 0; t < T.ranks; ++t)
        CHECK_EQ(10 * t + (T.rank + 1) % T.ranks + 1, got[t]);
    for (int t = 0; t < T.ranks; ++t)
        OK(MPI_Win_unlock(t, w.win));
    window_close(&w);
}

/// A process that waits for a lock must move its own messages: the holder may be waiting for one,
/// to it or from it. (Within a node one of the two directions may need no help: the receiver
/// copies.)
static void waiting_for_a_lock_progresses_messages(void) {
    enum { BYTES = 4 << 20 }; // far above any eager limit
    struct window w;
    if (!open_words(&w, 2))
        return;
    char *out = calloc(BYTES, 1), *in = calloc(BYTES, 1);
    MPI_Request requests[2];
    if (T.rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        for (int peer = 1; peer < T.ranks; ++peer) {
            OK(MPI_Recv(in, BYTES, MPI_CHAR, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Ssend(out, BYTES, MPI_CHAR, peer, 5, MPI_COMM_WORLD));
        }
        increment_pair(&w, 0);
        OK(MPI_Win_unlock(0, w.win));
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Isend(out, BYTES, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Irecv(in, BYTES, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &requests[1]));
        if (T.rank % 3 == 0) {
            OK(MPI_Win_lock_all(0, w.win));
            OK(MPI_Win_unlock_all(w.win));
        } else {
            OK(MPI_Win_lock(T.rank % 3 == 1 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, w.win));
            OK(MPI_Win_unlock(0, w.win));
        }
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    free(out);
    free(in);
    window_close(&w);
}

/// Epochs without an operation in them.
static void empty_epochs(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    for (int i = 0; i < ROUNDS; ++i) {
        OK(MPI_Win_lock_all(0, w.win));
        OK(MPI_Win_flush_all(w.win));
        OK(MPI_Win_unlock_all(w.win));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, i % T.ranks, 0, w.win));
        OK(MPI_Win_flush(i % T.ranks, w.win));
        OK(MPI_Win_flush_local(i % T.ranks, w.win));
        OK(MPI_Win_unlock(i % T.ranks, w.win));
    }
    window_close(&w);
}

static const struct test_case cases[] = {
    {.name = "lock_unlock_each_target", .run = lock_unlock_each_target, .each = IN_ANY},
    {.name = "exclusive_excludes", .run = exclusive_excludes, .each = IN_ANY},
    {.name = "exclusive_excludes_on_one_target",
     .run = exclusive_excludes_on_one_target,
     .each = IN_ANY},
    {.name = "data_come_before_the_next_holder",
     .run = data_come_before_the_next_holder,
     .each = IN_ANY},
    {.name = "shared_excludes_exclusive", .run = shared_excludes_exclusive, .each = IN_ANY},
    {.name = "lock_all_excludes_exclusive", .run = lock_all_excludes_exclusive, .each = IN_ANY},
    {.name = "first_lock_all_meets_exclusives",
     .run = first_lock_all_meets_exclusives,
     .each = IN_ANY},
    {.name = "first_lock_all_behind_waiting_exclusives",
     .run = first_lock_all_behind_waiting_exclusives,
     .each = IN_ANY,
     .min_ranks = 3},
    {.name = "holder_does_not_queue_behind_lock_all",
     .run = holder_does_not_queue_behind_lock_all,
     .each = IN_ANY,
     .min_ranks = 4},
    {.name = "holders_pass_waiting_writers",
     .run = holders_pass_waiting_writers,
     .each = IN_ANY,
     .min_ranks = 4},
    {.name = "holder_is_waited_for", .run = holder_is_waited_for, .each = IN_ANY, .min_ranks = 2},
    {.name = "shared_locks_are_held_together",
     .run = shared_locks_are_held_together,
     .each = IN_ANY},
    {.name = "different_targets_are_held_together",
     .run = different_targets_are_held_together,
     .each = IN_ANY},
    {.name = "all_targets_by_one", .run = all_targets_by_one, .each = IN_ANY},
    {.name = "mixed_locks_at_once", .run = mixed_locks_at_once, .each = IN_ANY},
    {.name = "several_windows_at_once", .run = several_windows_at_once, .each = IN_ANY},
    {.name = "lock_on_oneself", .run = lock_on_oneself, .each = IN_ANY},
    {.name = "nocheck", .run = nocheck, .each = IN_ANY},
    {.name = "nocheck_beside_a_lock", .run = nocheck_beside_a_lock, .each = IN_ANY, .min_ranks = 2},
    {.name = "flush_completes_at_the_target", .run = flush_completes_at_the_target, .each = IN_ANY},
    {.name = "flush_comes_before_later_gets",
     .run = flush_comes_before_later_gets,
     .each = IN_ANY,
     .min_ranks = 2},
    {.name = "flush_local_frees_the_buffer", .run = flush_local_frees_the_buffer, .each = IN_ANY},
    {.name = "flush_all_under_single_locks", .run = flush_all_under_single_locks, .each = IN_ANY},
    {.name = "waiting_for_a_lock_progresses_messages",
     .run = waiting_for_a_lock_progresses_messages,
     .each = IN_ANY,
     .min_ranks = 2},
    {.name = "empty_epochs", .run = empty_epochs, .each = IN_ANY},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
