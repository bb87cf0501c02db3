// MPI_THREAD_MULTIPLE: threads that lock different targets, share an epoch, flush for each other,
// use windows of their own, and make windows side by side.
#include "mpi_test.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 4, TIMES = 100 };

struct worker {
    pthread_t thread;
    const struct window* w;
    const MPI_Comm* comms;
    int id;
};

static void run_threads(const struct window* w, const MPI_Comm* comms, int count,
                        void* (*body)(void*)) {
    struct worker workers[64];
    for (int i = 0; i < count; ++i) {
        workers[i] = (struct worker){.w = w, .comms = comms, .id = i};
        CHECK_EQ(0, pthread_create(&workers[i].thread, NULL, body, &workers[i]));
    }
    for (int i = 0; i < count; ++i)
        pthread_join(workers[i].thread, NULL);
}

static bool open_words(struct window* w, int words) {
    return window_open(w, words * (MPI_Aint)sizeof(int64_t), sizeof(int64_t));
}

static void increment_pair(const struct window* w, int target) {
    static _Thread_local int64_t pair[2]; /* until the unlock */
    OK(MPI_Get(pair, 2, MPI_INT64_T, target, at(w, target, 0), 2, MPI_INT64_T, w->win));
    OK(MPI_Win_flush(target, w->win));
    CHECK_EQ(pair[0], pair[1]);
    ++pair[0], ++pair[1];
    sched_yield();
    OK(MPI_Put(pair, 2, MPI_INT64_T, target, at(w, target, 0), 2, MPI_INT64_T, w->win));
}

/// Thread i of each rank locks target i: no two threads of a rank use one target, all ranks do.
static void* lock_own_target(void* argument) {
    const struct worker* me = argument;
    for (int i = 0; i < TIMES; ++i) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me->id, 0, me->w->win));
        increment_pair(me->w, me->id);
        OK(MPI_Win_unlock(me->id, me->w->win));
    }
    return NULL;
}

static void different_targets(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    run_threads(&w, NULL, T.ranks, lock_own_target);
    MPI_Barrier(MPI_COMM_WORLD);
    local_begin(&w);
    CHECK_EQ((long long)TIMES * T.ranks, ((int64_t*)w.base)[0]);
    local_end_all(&w);
    window_close(&w);
}

/// All threads of all ranks in one lock_all epoch: puts to places of their own, gets back, fetches.
static void* work_in_shared_epoch(void* argument) {
    const struct worker* me = argument;
    const struct window* w = me->w;
    const int64_t one = 1;
    int64_t before = -1;
    for (int i = 0; i < TIMES; ++i) {
        const int t = (T.rank + i) % T.ranks;
        const MPI_Aint place = at(w, t, 1 + THREADS * T.rank + me->id);
        int64_t value = 1000 * i + 10 * T.rank + me->id, back = -1, drawn = -1;
        OK(MPI_Put(&value, 1, MPI_INT64_T, t, place, 1, MPI_INT64_T, w->win));
        OK(MPI_Win_flush(t, w->win));
        OK(MPI_Get(&back, 1, MPI_INT64_T, t, place, 1, MPI_INT64_T, w->win));
        OK(i % 2 != 0 ? MPI_Win_flush_local(t, w->win) : MPI_Win_flush_all(w->win));
        CHECK_EQ(value, back);
        OK(MPI_Fetch_and_op(&one, &drawn, MPI_INT64_T, 0, at(w, 0, 0), MPI_SUM, w->win));
        OK(MPI_Win_flush(0, w->win));
        CHECK(drawn > before); // of one thread, in the order of its draws
        before = drawn;
    }
    return NULL;
}

static void one_epoch_for_all_threads(void) {
    struct window w;
    if (!open_words(&w, 1 + THREADS * T.ranks))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    run_threads(&w, NULL, THREADS, work_in_shared_epoch);
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    local_begin(&w);
    if (T.rank == 0)
        CHECK_EQ((long long)THREADS * TIMES * T.ranks, ((int64_t*)w.base)[0]);
    local_end_all(&w);
    window_close(&w);
}

/// Requests of several threads on one target, waited for where they were made.
static void* work_with_requests(void* argument) {
    const struct worker* me = argument;
    const struct window* w = me->w;
    const int t = (T.rank + 1) % T.ranks;
    for (int i = 0; i < TIMES; ++i) {
        int64_t value[4], back = -1;
        MPI_Request r[4];
        const MPI_Aint place = at(w, t, 4 * (THREADS * T.rank + me->id));
        for (int k = 0; k < 4; ++k) {
            value[k] = 100 * i + 10 * me->id + k;
            OK(MPI_Rput(&value[k], 1, MPI_INT64_T, t, place + k * (w->address != NULL ? 8 : 1), 1,
                        MPI_INT64_T, w->win, &r[k]));
        }
        OK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE));
        OK(MPI_Win_flush(t, w->win));
        OK(MPI_Rget(&back, 1, MPI_INT64_T, t, place + 3 * (w->address != NULL ? 8 : 1), 1,
                    MPI_INT64_T, w->win, &r[0]));
        OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
        CHECK_EQ(value[3], back);
    }
    return NULL;
}

static void requests_of_threads(void) {
    struct window w;
    if (!open_words(&w, 4 * THREADS * T.ranks))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    run_threads(&w, NULL, THREADS, work_with_requests);
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

/// A flush completes the operations of all threads of the process at the target: one thread puts,
/// the other flushes and tells.
static volatile int posted, flushed;

static void* put_and_wait(void* argument) {
    const struct worker* me = argument;
    const int t = (T.rank + 1) % T.ranks;
    for (int i = 1; i <= TIMES; ++i) {
        if (me->id == 0) {
            const int64_t value = i;
            OK(MPI_Put(&value, 1, MPI_INT64_T, t, at(me->w, t, 0), 1, MPI_INT64_T, me->w->win));
            __atomic_store_n(&posted, i, __ATOMIC_RELEASE);
            while (__atomic_load_n(&flushed, __ATOMIC_ACQUIRE) < i)
                sched_yield();
        } else {
            int64_t seen = -1;
            while (__atomic_load_n(&posted, __ATOMIC_ACQUIRE) < i)
                sched_yield();
            OK(MPI_Win_flush(t, me->w->win));
            OK(MPI_Get(&seen, 1, MPI_INT64_T, t, at(me->w, t, 0), 1, MPI_INT64_T, me->w->win));
            OK(MPI_Win_flush(t, me->w->win));
            CHECK_EQ(i, seen);
            __atomic_store_n(&flushed, i, __ATOMIC_RELEASE);
        }
    }
    return NULL;
}

static void flush_for_another_thread(void) {
    struct window w;
    if (!open_words(&w, 1))
        return;
    posted = flushed = 0;
    OK(MPI_Win_lock_all(0, w.win));
    run_threads(&w, NULL, 2, put_and_wait);
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

/// Each thread has a communicator and windows of its own, made and used beside the others'.
static void* own_window(void* argument) {
    const struct worker* me = argument;
    for (int i = 0; i < 5; ++i) {
        struct window w;
        if (!window_open_with(&w, T.flavor, me->comms[me->id], 2 * sizeof(int64_t), sizeof(int64_t),
                              MPI_INFO_NULL))
            return NULL;
        for (int k = 0; k < TIMES / 5; ++k) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
            increment_pair(&w, 0);
            OK(MPI_Win_unlock(0, w.win));
        }
        MPI_Barrier(w.comm);
        local_begin(&w);
        if (w.rank == 0)
            CHECK_EQ((long long)TIMES / 5 * w.ranks, ((int64_t*)w.base)[1]);
        local_end_all(&w);
        window_close(&w);
    }
    return NULL;
}

static void windows_side_by_side(void) {
    MPI_Comm comms[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    run_threads(NULL, comms, THREADS, own_window);
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_free(&comms[i]);
}

/// One thread waits for a lock that another process gives back only after a message from our other
/// thread: a waiting thread may not keep the others out of MPI.
static void* wait_or_send(void* argument) {
    const struct worker* me = argument;
    if (me->id == 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, me->w->win));
        increment_pair(me->w, 0);
        OK(MPI_Win_unlock(0, me->w->win));
    } else {
        compute_for(0.01);
        OK(MPI_Send(&me->id, 1, MPI_INT, 0, 4, MPI_COMM_WORLD));
    }
    return NULL;
}

static void waiting_thread_blocks_nobody(void) {
    struct window w;
    if (!open_words(&w, 2))
        return;
    if (T.rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        for (int r = 1; r < T.ranks; ++r) {
            int id;
            OK(MPI_Recv(&id, 1, MPI_INT, r, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        OK(MPI_Win_unlock(0, w.win));
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        run_threads(&w, NULL, 2, wait_or_send);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    local_begin(&w);
    if (T.rank == 0)
        CHECK_EQ(T.ranks - 1, ((int64_t*)w.base)[0]);
    local_end_all(&w);
    window_close(&w);
}

static const struct test_case cases[] = {
    {.name = "different_targets", .run = different_targets, .each = IN_ANY},
    {.name = "one_epoch_for_all_threads", .run = one_epoch_for_all_threads, .each = IN_ANY},
    {.name = "requests_of_threads", .run = requests_of_threads, .each = IN_ANY},
    {.name = "flush_for_another_thread", .run = flush_for_another_thread, .each = IN_ANY},
    {.name = "windows_side_by_side", .run = windows_side_by_side, .each = IN_ANY},
    {.name = "waiting_thread_blocks_nobody",
     .run = waiting_thread_blocks_nobody,
     .each = IN_ANY,
     .min_ranks = 2},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_MULTIPLE);
}
