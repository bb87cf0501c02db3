// Request-based operations: rput, rget, raccumulate, rget_accumulate, completed by every wait and
// test call, alone and beside the requests of messages.
#include "mpi_test.h"

enum { MANY = 600, LARGE = 100000 };

static bool open_words(struct window* w, MPI_Aint words) {
    return window_open(w, words * (MPI_Aint)sizeof(int), sizeof(int));
}

static int next_rank(void) {
    return (T.rank + 1) % T.ranks;
}
static int previous_rank(void) {
    return (T.rank + T.ranks - 1) % T.ranks;
}

/// When the wait for an rput returns the buffer is free again; the flush makes it visible.
static void rput_frees_its_buffer(void) {
    struct window w;
    if (!open_words(&w, LARGE))
        return;
    int* buffer = malloc(LARGE * sizeof *buffer);
    MPI_Request request;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank(), 0, w.win));
    for (int size = 1; size <= LARGE; size *= 10) {
        for (int i = 0; i < size; ++i)
            buffer[i] = i + size + T.rank;
        OK(MPI_Rput(buffer, size, MPI_INT, next_rank(), at(&w, next_rank(), 0), size, MPI_INT,
                    w.win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL);
        memset(buffer, 0xff, (size_t)size * sizeof *buffer);
        OK(MPI_Win_flush(next_rank(), w.win));
        OK(MPI_Get(buffer, size, MPI_INT, next_rank(), at(&w, next_rank(), 0), size, MPI_INT,
                   w.win));
        OK(MPI_Win_flush(next_rank(), w.win));
        for (int i = 0; i < size; ++i)
            CHECK_EQ(i + size + T.rank, buffer[i]);
    }
    OK(MPI_Win_unlock(next_rank(), w.win));
    free(buffer);
    window_close(&w);
}

/// When the wait for an rget returns the data is there: no flush follows.
static void rget_brings_the_data(void) {
    struct window w;
    if (!open_words(&w, LARGE))
        return;
    local_begin(&w);
    for (int i = 0; i < LARGE; ++i)
        ((int*)w.base)[i] = 3 * i + T.rank;
    local_end_all(&w);
    int* buffer = malloc(LARGE * sizeof *buffer);
    OK(MPI_Win_lock_all(0, w.win));
    for (int size = 1; size <= LARGE; size *= 10)
        for (int t = 0; t < T.ranks; ++t) {
            MPI_Request request;
            int done = 0;
            memset(buffer, 0xff, (size_t)size * sizeof *buffer);
            OK(MPI_Rget(buffer, size, MPI_INT, t, at(&w, t, LARGE - size), size, MPI_INT, w.win,
                        &request));
            while (!done)
                OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
            for (int i = 0; i < size; ++i)
                CHECK_EQ(3 * (LARGE - size + i) + t, buffer[i]);
        }
    OK(MPI_Win_unlock_all(w.win));
    free(buffer);
    window_close(&w);
}

/// rget_accumulate delivers what was there, raccumulate frees its buffer.
static void raccumulate_and_rget_accumulate(void) {
    struct window w;
    if (!open_words(&w, T.ranks))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = 0; i < 50; ++i)
        for (int t = 0; t < T.ranks; ++t) {
            MPI_Request requests[2];
            int one = 1, two = 2, seen = -1;
            OK(MPI_Raccumulate(&one, 1, MPI_INT, t, at(&w, t, T.rank), 1, MPI_INT, MPI_SUM, w.win,
                               &requests[0]));
            OK(MPI_Rget_accumulate(&two, 1, MPI_INT, &seen, 1, MPI_INT, t, at(&w, t, T.rank), 1,
                                   MPI_INT, MPI_SUM, w.win, &requests[1]));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            one = two = 1000;
            CHECK_EQ(3 * i + 1, seen);
        }
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(w.comm);
    local_begin(&w);
    for (int o = 0; o < T.ranks; ++o)
        CHECK_EQ(150, ((int*)w.base)[o]);
    local_end_all(&w);
    window_close(&w);
}

/// All four kinds and sends and receives, eager and rendezvous, in one MPI_Waitall.
static void waitall_with_messages(void) {
    enum { KINDS = 8, ROUNDS = 20 };
    struct window w;
    if (!open_words(&w, 4 * T.ranks))
        return;
    int* out = calloc(LARGE, sizeof *out);
    int* in = calloc(LARGE, sizeof *in);
    const int n = next_rank(), p = previous_rank();
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = 0; i < ROUNDS; ++i) {
        int put = i, got = -1, add = 1, fetched = -1, small_in = -1,
            small_out = i * T.ranks + T.rank;
        MPI_Request r[KINDS];
        out[LARGE - 1] = i + T.rank;
        OK(MPI_Irecv(in, LARGE, MPI_INT, p, 1, MPI_COMM_WORLD, &r[0]));
        OK(MPI_Rput(&put, 1, MPI_INT, n, at(&w, n, 4 * T.rank), 1, MPI_INT, w.win, &r[1]));
        OK(MPI_Irecv(&small_in, 1, MPI_INT, p, 2, MPI_COMM_WORLD, &r[2]));
        OK(MPI_Rget(&got, 1, MPI_INT, n, at(&w, n, 4 * T.rank + 1), 1, MPI_INT, w.win, &r[3]));
        OK(MPI_Raccumulate(&add, 1, MPI_INT, n, at(&w, n, 4 * T.rank + 2), 1, MPI_INT, MPI_SUM,
                           w.win, &r[4]));
        OK(MPI_Isend(out, LARGE, MPI_INT, n, 1, MPI_COMM_WORLD, &r[5]));
        OK(MPI_Rget_accumulate(&add, 1, MPI_INT, &fetched, 1, MPI_INT, n, at(&w, n, 4 * T.rank + 3),
                               1, MPI_INT, MPI_SUM, w.win, &r[6]));
        OK(MPI_Isend(&small_out, 1, MPI_INT, n, 2, MPI_COMM_WORLD, &r[7]));
        OK(MPI_Waitall(KINDS, r, MPI_STATUSES_IGNORE));
        CHECK_EQ(0, got);
        CHECK_EQ(i, fetched);
        CHECK_EQ(i * T.ranks + p, small_in);
        CHECK_EQ(i + p, in[LARGE - 1]);
    }
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(w.comm);
    local_begin(&w);
    const int expected[] = {ROUNDS - 1, 0, ROUNDS, ROUNDS};
    for (int k = 0; k < 4; ++k)
        CHECK_EQ(expected[k], ((int*)w.base)[4 * p + k]);
    local_end_all(&w);
    free(out);
    free(in);
    window_close(&w);
}

/// More requests than any component keeps slots for, to all targets, completed in three ways.
static void many_outstanding(void) {
    struct window w;
    if (!open_words(&w, MANY * (MPI_Aint)T.ranks))
        return;
    MPI_Request* r = malloc(MANY * sizeof *r);
    int *values = malloc(MANY * sizeof *values), *index = malloc(MANY * sizeof *index);
    OK(MPI_Win_lock_all(0, w.win));
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < MANY; ++i) {
            const int t = i % T.ranks;
            values[i] = round * MANY + i;
            OK(MPI_Rput(&values[i], 1, MPI_INT, t, at(&w, t, MANY * T.rank + i), 1, MPI_INT, w.win,
                        &r[i]));
        }
        int left = MANY, done;
        if (round == 0)
            OK(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE));
        for (; round == 1 && left > 0; --left)
            OK(MPI_Waitany(MANY, r, &done, MPI_STATUS_IGNORE));
        for (; round == 2 && left > 0; left -= done)
            OK(MPI_Testsome(MANY, r, &done, index, MPI_STATUSES_IGNORE));
        OK(MPI_Win_flush_all(w.win));
        for (int i = 0; i < MANY; ++i) {
            int got = -1;
            const int t = i % T.ranks;
            OK(MPI_Get(&got, 1, MPI_INT, t, at(&w, t, MANY * T.rank + i), 1, MPI_INT, w.win));
            OK(MPI_Win_flush(t, w.win));
            CHECK_EQ(round * MANY + i, got);
        }
    }
    OK(MPI_Win_unlock_all(w.win));
    free(r);
    free(values);
    free(index);
    window_close(&w);
}

/// Requests without work: zero counts and MPI_PROC_NULL complete like others.
static void nothing_to_do(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    int value = 5;
    MPI_Request r[6];
    const int n = next_rank();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, n, 0, w.win));
    OK(MPI_Rput(&value, 0, MPI_INT, n, at(&w, n, 0), 0, MPI_INT, w.win, &r[0]));
    OK(MPI_Rget(&value, 0, MPI_INT, n, at(&w, n, 0), 0, MPI_INT, w.win, &r[1]));
    OK(MPI_Raccumulate(&value, 0, MPI_INT, n, at(&w, n, 0), 0, MPI_INT, MPI_SUM, w.win, &r[2]));
    OK(MPI_Rput(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w.win, &r[3]));
    OK(MPI_Rget(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w.win, &r[4]));
    OK(MPI_Rget_accumulate(&value, 0, MPI_INT, &value, 0, MPI_INT, n, at(&w, n, 0), 0, MPI_INT,
                           MPI_SUM, w.win, &r[5]));
    OK(MPI_Waitall(6, r, MPI_STATUSES_IGNORE));
    OK(MPI_Win_unlock(n, w.win));
    CHECK_EQ(5, value);
    window_close(&w);
}

/// Derived types on both sides, completed by requests in the reverse order.
static void derived_types(void) {
    enum { ROWS = 50 };
    struct window w;
    if (!open_words(&w, 4 * ROWS))
        return;
    MPI_Datatype column;
    MPI_Type_vector(ROWS, 1, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    int from[ROWS], to[4 * ROWS] = {0};
    const int n = next_rank();
    MPI_Request put, get;
    for (int i = 0; i < ROWS; ++i)
        from[i] = i + 1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, n, 0, w.win));
    OK(MPI_Rput(from, ROWS, MPI_INT, n, at(&w, n, 2), 1, column, w.win, &put));
    OK(MPI_Rget(to + 1, 1, column, n, at(&w, n, 3), 1, column, w.win, &get));
    OK(MPI_Wait(&get, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&put, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(n, w.win));
    OK(MPI_Rget(to + 3, 1, column, n, at(&w, n, 2), 1, column, w.win, &get));
    OK(MPI_Wait(&get, MPI_STATUS_IGNORE));
    OK(MPI_Win_unlock(n, w.win));
    for (int i = 0; i < 4 * ROWS; ++i)
        CHECK_EQ(i % 4 == 3 ? i / 4 + 1 : 0, to[i]);
    MPI_Type_free(&column);
    window_close(&w);
}

static const struct test_case cases[] = {
    {.name = "rput_frees_its_buffer", .run = rput_frees_its_buffer, .each = IN_ANY},
    {.name = "rget_brings_the_data", .run = rget_brings_the_data, .each = IN_ANY},
    {.name = "raccumulate_and_rget_accumulate",
     .run = raccumulate_and_rget_accumulate,
     .each = IN_ANY},
    {.name = "waitall_with_messages", .run = waitall_with_messages, .each = IN_ANY},
    {.name = "many_outstanding", .run = many_outstanding, .each = IN_ANY},
    {.name = "nothing_to_do", .run = nothing_to_do, .each = IN_ANY},
    {.name = "derived_types", .run = derived_types, .each = IN_ANY},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
