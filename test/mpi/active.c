// Active target: fence with all its assertions, post/start/complete/wait/test with groups of all
// kinds, and both beside passive epochs on the same window.
#include "mpi_test.h"

enum { ROUNDS = 50 };

static int next_rank(void) {
    return (T.rank + 1) % T.ranks;
}
static int previous_rank(void) {
    return (T.rank + T.ranks - 1) % T.ranks;
}

static bool open_words(struct window* w, int words) {
    return window_open(w, words * (MPI_Aint)sizeof(int), sizeof(int));
}

static void put_int(const struct window* w, int target, int index, const int* value) {
    OK(MPI_Put(value, 1, MPI_INT, target, at(w, target, index), 1, MPI_INT, w->win));
}

static void get_int(const struct window* w, int target, int index, int* value) {
    OK(MPI_Get(value, 1, MPI_INT, target, at(w, target, index), 1, MPI_INT, w->win));
}

static int word(const struct window* w, int index) {
    return ((volatile int*)w->base)[index];
}

static MPI_Group group_of(const int* ranks, int n) {
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, ranks, &group);
    MPI_Group_free(&world);
    return group;
}

static MPI_Group group_of_one(int rank) {
    return group_of(&rank, 1);
}

// --- Fence ---------------------------------------------------------------------------------------

/// Everybody puts to everybody, fence by fence; values are read between the fences without a lock.
static void fence_puts(void) {
    struct window w;
    if (!open_words(&w, T.ranks))
        return;
    OK(MPI_Win_fence(0, w.win));
    for (int i = 0; i < ROUNDS; ++i) {
        const int value = 100 * i + T.rank;
        for (int t = 0; t < T.ranks; ++t)
            put_int(&w, t, T.rank, &value);
        OK(MPI_Win_fence(0, w.win));
        for (int o = 0; o < T.ranks; ++o)
            CHECK_EQ(100 * i + o, word(&w, o));
        OK(MPI_Win_fence(0, w.win));
    }
    window_close(&w);
}

/// Gets, accumulates and fetches in fence epochs, too.
static void fence_other_calls(void) {
    struct window w;
    if (!open_words(&w, 3))
        return;
    ((int*)w.base)[0] = 10 + T.rank;
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win));
    for (int i = 0; i < ROUNDS; ++i) {
        int got = -1, fetched = -1, one = 1;
        get_int(&w, next_rank(), 0, &got);
        for (int t = 0; t < T.ranks; ++t)
            OK(MPI_Accumulate(&one, 1, MPI_INT, t, at(&w, t, 1), 1, MPI_INT, MPI_SUM, w.win));
        OK(MPI_Fetch_and_op(&one, &fetched, MPI_INT, next_rank(), at(&w, next_rank(), 2), MPI_SUM,
                            w.win));
        OK(MPI_Win_fence(0, w.win));
        CHECK_EQ(10 + next_rank(), got);
        CHECK_EQ(i, fetched);
        CHECK_EQ((i + 1) * T.ranks, word(&w, 1));
        CHECK_EQ(i + 1, word(&w, 2));
        OK(MPI_Win_fence(0, w.win));
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
    window_close(&w);
}

/// The assertions in every combination in which they are true.
static void fence_assertions(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    for (int i = 0; i < 32; ++i) {
        const int nostore = (i & 1) != 0 ? MPI_MODE_NOSTORE : 0;
        const int noput = (i & 2) != 0 ? MPI_MODE_NOPUT : 0;
        const int first = (i & 4) != 0 ? MPI_MODE_NOPRECEDE : 0;
        const int last = (i & 8) != 0 ? MPI_MODE_NOSUCCEED : 0;
        int value = 1000 + i, got = -1;
        OK(MPI_Win_fence(first | nostore,
                         w.win)); // no stores since the last fence, whatever follows
        put_int(&w, next_rank(), 0, &value);
        OK(MPI_Win_fence(noput, w.win)); // the next epoch only gets
        CHECK_EQ(value, word(&w, 0));
        get_int(&w, next_rank(), 0, &got);
        OK(MPI_Win_fence(nostore | last, w.win));
        CHECK_EQ(value, got);
        if ((i & 16) != 0)
            OK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE |
                                 MPI_MODE_NOSUCCEED,
                             w.win));
    }
    window_close(&w);
}

/// A fence with operations before it is a barrier: what was stored before it is got after it.
static void fence_orders_stores(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win));
    for (int i = 0; i < ROUNDS; ++i) {
        int got = -1;
        *(volatile int*)w.base = 7 * i + T.rank;
        OK(MPI_Win_fence(0, w.win));
        get_int(&w, next_rank(), 0, &got);
        OK(MPI_Win_fence(0, w.win));
        CHECK_EQ(7 * i + next_rank(), got);
    }
    window_close(&w);
}

/// MPI_Win_fence(0) opens an epoch only if an RMA call follows: a lock may, instead.
static void fence_then_lock(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    for (int i = 0; i < ROUNDS; ++i) {
        int value = i, got = -1;
        OK(MPI_Win_fence(0, w.win));
        put_int(&w, next_rank(), 0, &value);
        OK(MPI_Win_fence(0, w.win));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w.win));
        get_int(&w, next_rank(), 0, &got);
        put_int(&w, next_rank(), 1, &value);
        OK(MPI_Win_unlock(next_rank(), w.win));
        CHECK_EQ(i, got);
        OK(MPI_Win_fence(0, w.win));
        CHECK_EQ(i, word(&w, 1));
        OK(MPI_Win_lock_all(0, w.win));
        OK(MPI_Win_unlock_all(w.win));
    }
    window_close(&w);
}

// --- Post, start, complete, wait -----------------------------------------------------------------

/// A ring: exposed to the one before, accessing the one behind; no barrier between the rounds.
static void pscw_ring(int how) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    MPI_Group to = group_of_one(next_rank()), from = group_of_one(previous_rank());
    for (int i = 0; i < ROUNDS; ++i) {
        const int value = 10 * i + T.rank;
        int done = 0;
        OK(MPI_Win_post(from, 0, w.win));
        OK(MPI_Win_start(to, 0, w.win));
        put_int(&w, next_rank(), 0, &value);
        OK(MPI_Win_complete(w.win));
        if (how == 0)
            OK(MPI_Win_wait(w.win));
        while (how == 1 && !done)
            OK(MPI_Win_test(w.win, &done));
        CHECK_EQ(10 * i + previous_rank(), word(&w, 0));
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    window_close(&w);
}

static void pscw_ring_wait(void) {
    pscw_ring(0);
}
static void pscw_ring_test(void) {
    pscw_ring(1);
}

/// All access rank 0, which reads what came; the others are exposed to nobody.
static void pscw_all_to_one(void) {
    struct window w;
    if (!open_words(&w, T.ranks))
        return;
    int others[64];
    for (int r = 1; r < T.ranks; ++r)
        others[r - 1] = T.ranks - r; // not in the order of the ranks
    MPI_Group origins = group_of(others, T.ranks - 1), target = group_of_one(0);
    for (int i = 0; i < ROUNDS; ++i) {
        int value = 100 * i + T.rank, got = -1;
        if (T.rank == 0) {
            ((volatile int*)w.base)[0] = i;
            OK(MPI_Win_post(origins, 0, w.win));
            OK(MPI_Win_wait(w.win));
            for (int o = 1; o < T.ranks; ++o)
                CHECK_EQ(100 * i + o, word(&w, o));
        } else {
            OK(MPI_Win_start(target, 0, w.win));
            put_int(&w, 0, T.rank, &value);
            get_int(&w, 0, 0, &got);
            OK(MPI_Win_complete(w.win));
            CHECK_EQ(i, got);
        }
    }
    MPI_Group_free(&origins);
    MPI_Group_free(&target);
    window_close(&w);
}

/// One accesses all the others at once.
static void pscw_one_to_all(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    int all[64];
    for (int r = 0; r < T.ranks; ++r)
        all[r] = r;
    for (int i = 0; i < ROUNDS; ++i) {
        const int origin = i % T.ranks, value = 5 * i + 1; // everybody, oneself included
        MPI_Group targets = group_of(all, T.ranks), from = group_of_one(origin);
        OK(MPI_Win_post(from, 0, w.win));
        if (T.rank == origin) {
            OK(MPI_Win_start(targets, 0, w.win));
            for (int t = 0; t < T.ranks; ++t)
                put_int(&w, t, 0, &value);
            OK(MPI_Win_complete(w.win));
        }
        OK(MPI_Win_wait(w.win));
        CHECK_EQ(value, word(&w, 0));
        MPI_Group_free(&targets);
        MPI_Group_free(&from);
    }
    window_close(&w);
}

/// Epochs with nobody in them begin and end at once.
static void pscw_empty_groups(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    int done = 0;
    OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, w.win));
    OK(MPI_Win_complete(w.win));
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, w.win));
    OK(MPI_Win_wait(w.win));
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, w.win));
    while (!done)
        OK(MPI_Win_test(w.win, &done));
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, w.win));
    OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, w.win));
    OK(MPI_Win_complete(w.win));
    OK(MPI_Win_wait(w.win));
    window_close(&w);
}

/// Only some of the ranks take part; a target is started that is not accessed.
static void pscw_partial_groups(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    const int pair[2] = {0, T.ranks - 1}, middle = 1;
    MPI_Group ends = group_of(pair, 2), one = group_of_one(middle);
    for (int i = 0; i < ROUNDS; ++i) {
        const int value = 3 * i + 1;
        if (T.rank == middle) {
            OK(MPI_Win_start(ends, 0, w.win));
            put_int(&w, T.ranks - 1, 1, &value);
            OK(MPI_Win_complete(w.win));
        } else if (T.rank == 0 || T.rank == T.ranks - 1) {
            OK(MPI_Win_post(one, 0, w.win));
            OK(MPI_Win_wait(w.win));
            CHECK_EQ(T.rank == 0 ? 0 : value, word(&w, 1));
        }
    }
    MPI_Group_free(&ends);
    MPI_Group_free(&one);
    window_close(&w);
}

/// Rank 0 lets the others in one after the other, last rank first. Each has called start long
/// before: none may come in by somebody else's post.
static void pscw_posts_match_their_starts(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    MPI_Group zero = group_of_one(0);
    for (int i = 0; i < ROUNDS; ++i) {
        if (T.rank != 0) {
            int seen = -1, mine = T.rank;
            OK(MPI_Win_start(zero, 0, w.win));
            get_int(&w, 0, 0, &seen);
            OK(MPI_Win_complete(w.win));
            CHECK_EQ(T.rank, seen);
            OK(MPI_Win_start(zero, 0, w.win));
            mine = -T.rank;
            put_int(&w, 0, 0, &mine);
            OK(MPI_Win_complete(w.win));
            continue;
        }
        for (int o = T.ranks - 1; o > 0; --o) {
            MPI_Group one = group_of_one(o);
            *(volatile int*)w.base = o;
            OK(MPI_Win_post(one, 0, w.win));
            OK(MPI_Win_wait(w.win));
            CHECK_EQ(o, word(&w, 0));
            OK(MPI_Win_post(one, 0, w.win));
            OK(MPI_Win_wait(w.win));
            CHECK_EQ(-o, word(&w, 0));
            MPI_Group_free(&one);
        }
    }
    MPI_Group_free(&zero);
    window_close(&w);
}

/// NOCHECK on both sides: the posts are known to have been called before the starts.
static void pscw_nocheck(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    MPI_Group to = group_of_one(next_rank()), from = group_of_one(previous_rank());
    for (int i = 0; i < ROUNDS; ++i) {
        const int value = 10 * i + T.rank + 1;
        OK(MPI_Win_post(from, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE, w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_start(to, MPI_MODE_NOCHECK, w.win));
        put_int(&w, next_rank(), 0, &value);
        OK(MPI_Win_complete(w.win));
        OK(MPI_Win_wait(w.win));
        CHECK_EQ(10 * i + previous_rank() + 1, word(&w, 0));
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    window_close(&w);
}

/// test says no while the origin has not completed, and then yes exactly once.
static void pscw_test_is_false_first(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    MPI_Group zero = group_of_one(0), one = group_of_one(1);
    for (int i = 1; i <= ROUNDS; ++i) {
        int done = 1;
        if (T.rank == 0) {
            OK(MPI_Win_post(one, 0, w.win));
            OK(MPI_Win_test(w.win, &done));
            CHECK_EQ(0, done); // rank 1 completes only after the message below
            MPI_Send(&i, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
            while (!done)
                OK(MPI_Win_test(w.win, &done));
            CHECK_EQ(i, word(&w, 0));
        } else if (T.rank == 1) {
            int value = 0;
            OK(MPI_Win_start(zero, 0, w.win));
            MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            put_int(&w, 0, 0, &value);
            OK(MPI_Win_complete(w.win));
        }
    }
    MPI_Group_free(&zero);
    MPI_Group_free(&one);
    window_close(&w);
}

/// Rank 0 holds up rank 1's start (how 0) or wait (1), or its loop of tests (2), until a large
/// message between them has gone both ways: rank 1 must move its messages while it waits for the
/// epoch.
static void messages_in_pscw(int how) {
    enum { BYTES = 4 << 20 }; // far above any eager limit
    struct window w;
    if (!open_words(&w, 1))
        return;
    char *out = calloc(BYTES, 1), *in = calloc(BYTES, 1);
    MPI_Group peer = group_of_one(1 - T.rank % 2);
    MPI_Request requests[2];
    int done = 0;
    if (T.rank == 0) {
        OK(MPI_Recv(in, BYTES, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Ssend(out, BYTES, MPI_CHAR, 1, 5, MPI_COMM_WORLD));
        OK(how == 0 ? MPI_Win_post(peer, 0, w.win) : MPI_Win_start(peer, 0, w.win));
        OK(how == 0 ? MPI_Win_wait(w.win) : MPI_Win_complete(w.win));
    } else if (T.rank == 1) {
        OK(MPI_Isend(out, BYTES, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Irecv(in, BYTES, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &requests[1]));
        OK(how == 0 ? MPI_Win_start(peer, 0, w.win) : MPI_Win_post(peer, 0, w.win));
        if (how < 2)
            OK(how == 0 ? MPI_Win_complete(w.win) : MPI_Win_wait(w.win));
        while (how == 2 && !done)
            OK(MPI_Win_test(w.win, &done));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    MPI_Group_free(&peer);
    free(out);
    free(in);
    window_close(&w);
}

// A component may let start return at once and wait in complete.
static void start_progresses_messages(void) {
    messages_in_pscw(0);
}
static void wait_progresses_messages(void) {
    messages_in_pscw(1);
}
static void test_progresses_messages(void) {
    messages_in_pscw(2);
}

/// Fence, PSCW and locks take turns on one window.
static void kinds_take_turns(void) {
    struct window w;
    if (!open_words(&w, 3))
        return;
    MPI_Group to = group_of_one(next_rank()), from = group_of_one(previous_rank());
    for (int i = 0; i < ROUNDS; ++i) {
        const int value = 10 * i + T.rank + 1, expected = 10 * i + previous_rank() + 1;
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win));
        put_int(&w, next_rank(), 0, &value);
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
        OK(MPI_Win_post(from, 0, w.win));
        OK(MPI_Win_start(to, 0, w.win));
        put_int(&w, next_rank(), 1, &value);
        OK(MPI_Win_complete(w.win));
        OK(MPI_Win_wait(w.win));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank(), 0, w.win));
        put_int(&w, next_rank(), 2, &value);
        OK(MPI_Win_unlock(next_rank(), w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        local_begin(&w);
        for (int k = 0; k < 3; ++k)
            CHECK_EQ(expected, word(&w, k));
        local_end_all(&w);
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    window_close(&w);
}

static const struct test_case cases[] = {
    {.name = "fence_puts", .run = fence_puts, .each = IN_ANY},
    {.name = "fence_other_calls", .run = fence_other_calls, .each = IN_ANY},
    {.name = "fence_assertions", .run = fence_assertions, .each = IN_ANY},
    {.name = "fence_orders_stores", .run = fence_orders_stores, .each = IN_ANY},
    {.name = "fence_then_lock", .run = fence_then_lock, .each = IN_ANY},
    {.name = "pscw_ring_wait", .run = pscw_ring_wait, .each = IN_ANY},
    {.name = "pscw_ring_test", .run = pscw_ring_test, .each = IN_ANY},
    {.name = "pscw_all_to_one", .run = pscw_all_to_one, .each = IN_ANY, .min_ranks = 2},
    {.name = "pscw_one_to_all", .run = pscw_one_to_all, .each = IN_ANY},
    {.name = "pscw_empty_groups", .run = pscw_empty_groups, .each = IN_ANY},
    {.name = "pscw_partial_groups", .run = pscw_partial_groups, .each = IN_ANY, .min_ranks = 3},
    {.name = "pscw_posts_match_their_starts",
     .run = pscw_posts_match_their_starts,
     .each = IN_ANY,
     .min_ranks = 2},
    {.name = "pscw_nocheck", .run = pscw_nocheck, .each = IN_ANY},
    {.name = "pscw_test_is_false_first",
     .run = pscw_test_is_false_first,
     .each = IN_ANY,
     .min_ranks = 2},
    {.name = "start_progresses_messages",
     .run = start_progresses_messages,
     .each = IN_ANY,
     .min_ranks = 2},
    {.name = "wait_progresses_messages",
     .run = wait_progresses_messages,
     .each = IN_ANY,
     .min_ranks = 2},
    {.name = "test_progresses_messages",
     .run = test_progresses_messages,
     .each = IN_ANY,
     .min_ranks = 2},
    {.name = "kinds_take_turns", .run = kinds_take_turns, .each = IN_ANY},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
