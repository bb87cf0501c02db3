// Windows on communicators of every kind, and many windows at once.
#include "use_window.h"

static void world(void) {
    use(MPI_COMM_WORLD, T.flavor);
}
static void self(void) {
    use(MPI_COMM_SELF, T.flavor);
}

static void split(int color, int key) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    use(comm, T.flavor);
    MPI_Comm_free(&comm);
}

static void duplicate(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm, T.flavor);
    MPI_Comm_free(&comm);
}

static void one_each(void) {
    split(T.rank, 0);
}
static void odd_and_even(void) {
    split(T.rank % 2, T.rank);
}
static void reversed(void) {
    split(0, -T.rank);
}
static void shuffled(void) {
    split(0, T.rank * 7 % (T.ranks + 3));
}

/// All but one have a window; the one does something else meanwhile.
static void without_one(void) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, T.rank == 1 ? MPI_UNDEFINED : 0, T.ranks - T.rank, &comm);
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    use(comm, T.flavor);
    MPI_Comm_free(&comm);
}

/// Two groups that never shared a communicator of their own, merged, the second one first.
static void merged(void) {
    MPI_Comm half, between, both;
    const int color = T.rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, 9, &between);
    MPI_Intercomm_merge(between, color == 0, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    use(both, T.flavor);
    MPI_Comm_free(&both);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

static void cartesian(void) {
    MPI_Comm comm;
    const int dims[] = {T.ranks}, periods[] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    use(comm, T.flavor);
    MPI_Comm_free(&comm);
}

static int copied;

static int on_copy(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
    (void)comm, (void)key, (void)extra;
    ++copied;
    *(void**)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

/// What a program keeps with its communicator belongs to that alone: windows copy nothing of it, and
/// delete nothing.
static void attributes_stay(void) {
    MPI_Comm comm;
    int key, value = 7;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    OK(MPI_Comm_create_keyval(on_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(comm, key, &value));
    copied = 0;
    use(comm, T.flavor);
    struct window w;
    if (window_open(&w, 64, 1)) {
        if (is_served_by_rmalock(w.win)) // others of Open MPI duplicate the communicator
            CHECK_EQ(0, copied);
        window_close(&w);
    }
    MPI_Comm_free(&comm);
    OK(MPI_Comm_free_keyval(&key));
}

/// Many windows live at once; each keeps its own data and its own locks. They are freed in an order
/// that is not that of their making.
static void many_windows(int count) {
    struct window* w = malloc((size_t)count * sizeof *w);
    for (int i = 0; i < count; ++i)
        if (!window_open(&w[i], sizeof(int) * 2, sizeof(int)))
            return;
    const int next = (T.rank + 1) % T.ranks, previous = (T.rank + T.ranks - 1) % T.ranks;
    for (int i = 0; i < count; ++i) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w[i].win));
        OK(MPI_Put(&i, 1, MPI_INT, next, at(&w[i], next, 0), 1, MPI_INT, w[i].win));
        OK(MPI_Put(&T.rank, 1, MPI_INT, next, at(&w[i], next, 1), 1, MPI_INT, w[i].win));
        OK(MPI_Win_unlock(next, w[i].win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
        const int k = (i * 7 + 3) % count; // a permutation: count is no multiple of 7
        local_begin(&w[k]);
        CHECK_EQ(k, ((int*)w[k].base)[0]);
        CHECK_EQ(previous, ((int*)w[k].base)[1]);
        local_end(&w[k]);
        window_close(&w[k]);
    }
    free(w);
}

static void three_hundred_windows(void) {
    many_windows(300);
}
static void two_thousand_windows(void) {
    many_windows(2000);
}

/// Made and freed over and over: nothing may be left behind that runs out.
static void made_and_freed(void) {
    for (int i = 0; i < 200; ++i) {
        struct window w;
        if (!window_open(&w, 1024 * (MPI_Aint)(i % 50), 1))
            return;
        OK(MPI_Win_lock_all(0, w.win));
        OK(MPI_Win_unlock_all(w.win));
        window_close(&w);
    }
}

/// Freeing waits for the others' operations: a rank that is done early may not take the memory.
static void free_is_a_barrier(void) {
    for (int i = 0; i < 20; ++i) {
        struct window w;
        if (!window_open(&w, sizeof(int) * 64, sizeof(int)))
            return;
        if (T.rank != 0) { // rank 0 goes to free at once
            const int value = T.rank;
            compute_for(2e-4 * T.rank);
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
            OK(MPI_Put(&value, 1, MPI_INT, 0, at(&w, 0, T.rank), 1, MPI_INT, w.win));
            OK(MPI_Win_unlock(0, w.win));
            int got = -1;
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win));
            OK(MPI_Get(&got, 1, MPI_INT, 0, at(&w, 0, T.rank), 1, MPI_INT, w.win));
            OK(MPI_Win_unlock(0, w.win));
            CHECK_EQ(T.rank, got);
        }
        window_close(&w);
    }
}

/// While some are in the free of one window the others still hold locks on another, and finish.
static void free_progresses_other_windows(void) {
    struct window a, b;
    if (!window_open(&a, 64, 1) || !window_open(&b, 64, 1))
        return;
    if (T.rank != 0) {
        const int value = 1;
        for (int i = 0; i < 100; ++i) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, b.win));
            OK(MPI_Accumulate(&value, 1, MPI_INT, 0, at(&b, 0, 0), 1, MPI_INT, MPI_SUM, b.win));
            OK(MPI_Win_unlock(0, b.win));
        }
    }
    window_close(&a);
    local_begin(&b);
    if (T.rank == 0)
        CHECK_EQ(100 * (T.ranks - 1), *(int*)b.base);
    local_end_all(&b);
    window_close(&b);
}

static const struct test_case cases[] = {
    {.name = "world", .run = world, .each = IN_ANY},
    {.name = "self", .run = self, .each = IN_ANY},
    {.name = "duplicate", .run = duplicate, .each = IN_ANY},
    {.name = "one_each", .run = one_each, .each = IN_ANY},
    {.name = "odd_and_even", .run = odd_and_even, .each = IN_ANY},
    {.name = "reversed", .run = reversed, .each = IN_ANY},
    {.name = "shuffled", .run = shuffled, .each = IN_ANY},
    {.name = "without_one", .run = without_one, .each = IN_ANY, .min_ranks = 2},
    {.name = "merged", .run = merged, .each = IN_ANY, .min_ranks = 2},
    {.name = "cartesian", .run = cartesian, .each = IN_ANY},
    {.name = "attributes_stay", .run = attributes_stay, .each = IN_ANY},
    {.name = "three_hundred_windows", .run = three_hundred_windows, .each = IN_ANY},
    {.name = "two_thousand_windows", .run = two_thousand_windows, .each = IN_ANY, .deep = true},
    {.name = "made_and_freed", .run = made_and_freed, .each = IN_ANY},
    {.name = "free_is_a_barrier",
     .run = free_is_a_barrier,
     .each = IN_CREATE | IN_ALLOCATE | IN_SHARED},
    {.name = "free_progresses_other_windows", .run = free_progresses_other_windows, .each = IN_ANY},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
