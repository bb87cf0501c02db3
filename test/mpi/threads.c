// MPI_THREAD_MULTIPLE: threads that lock different targets, share an epoch, flush for each other,
// accumulate, attach memory, use windows of their own, and make windows side by side. Under
// ThreadSanitizer, too (check_tsan).
#include "mpi_test.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 4, TIMES = 100, ROUNDS = 12 };

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

static void comms_make(MPI_Comm comms[THREADS]) {
    for (int i = 0; i < THREADS; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
}

static void comms_free(MPI_Comm comms[THREADS]) {
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_free(&comms[i]);
}

static void windows_side_by_side(void) {
    MPI_Comm comms[THREADS];
    comms_make(comms);
    run_threads(NULL, comms, THREADS, own_window);
    comms_free(comms);
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

/// Where the accumulates of all threads go, in words: elements that an atomic of the CPU changes,
/// one that is too wide for it, two with a gap between them, and an array that is worth its lock.
enum {
    SUM,
    MOST,
    NARROW,
    SWAPPED,
    WIDE,
    GAP = WIDE + 2,
    ARRAY = GAP + 3,
    LENGTH = 700,
    PLACES = ARRAY + LENGTH
};

static MPI_Datatype with_gap;

static void increment_by_swap(const struct window* w, int t) {
    int64_t expected, next, before = 0;
    do {
        expected = before;
        next = expected + 1;
        OK(MPI_Compare_and_swap(&next, &expected, &before, MPI_INT64_T, t, at(w, t, SWAPPED),
                                w->win));
        OK(MPI_Win_flush(t, w->win));
    } while (before != expected);
}

static void* accumulate_everything(void* argument) {
    const struct worker* me = argument;
    const struct window* w = me->w;
    int64_t ones[LENGTH];
    for (int e = 0; e < LENGTH; ++e)
        ones[e] = 1;
    const int32_t narrow = 1;
    const long double wide = 1;
    for (int i = 0; i < T.ranks * ROUNDS; ++i) {
        const int t = (T.rank + i) % T.ranks;
        const int64_t mine = 1000 * i + 10 * T.rank + me->id;
        int64_t most = -1;
        int32_t drawn = -1;
        OK(MPI_Accumulate(ones, 1, MPI_INT64_T, t, at(w, t, SUM), 1, MPI_INT64_T, MPI_SUM, w->win));
        OK(MPI_Get_accumulate(&mine, 1, MPI_INT64_T, &most, 1, MPI_INT64_T, t, at(w, t, MOST), 1,
                              MPI_INT64_T, MPI_MAX, w->win));
        OK(MPI_Fetch_and_op(&narrow, &drawn, MPI_INT32_T, t, at(w, t, NARROW), MPI_SUM, w->win));
        OK(MPI_Accumulate(&wide, 1, MPI_LONG_DOUBLE, t, at(w, t, WIDE), 1, MPI_LONG_DOUBLE, MPI_SUM,
                          w->win));
        OK(MPI_Accumulate(ones, 2, MPI_INT64_T, t, at(w, t, GAP), 1, with_gap, MPI_SUM, w->win));
        OK(MPI_Accumulate(ones, LENGTH, MPI_INT64_T, t, at(w, t, ARRAY), LENGTH, MPI_INT64_T,
                          MPI_SUM, w->win));
        OK(MPI_Accumulate(ones, 1, MPI_INT64_T, t, at(w, t, ARRAY + i), 1, MPI_INT64_T, MPI_SUM,
                          w->win));
        OK(MPI_Win_flush(t, w->win));
        CHECK(most >= 0 && drawn >= 0);
        increment_by_swap(w, t);
    }
    return NULL;
}

static void check_accumulates(const struct window* w) {
    const int64_t* const word = (const int64_t*)w->base;
    const int64_t times = (int64_t)THREADS * ROUNDS * T.ranks;
    int32_t narrow;
    long double wide;
    local_begin(w);
    memcpy(&narrow, &word[NARROW], sizeof narrow);
    memcpy(&wide, &word[WIDE], sizeof wide);
    CHECK_EQ(times, word[SUM]);
    CHECK_EQ(times, narrow);
    CHECK_EQ(times, word[SWAPPED]);
    CHECK_REAL((double)times, (double)wide);
    CHECK_EQ(times, word[GAP]);
    CHECK_EQ(0, word[GAP + 1]);
    CHECK_EQ(times, word[GAP + 2]);
    int64_t all = 0;
    for (int e = 0; e < LENGTH; ++e)
        all += word[ARRAY + e];
    CHECK_EQ(times * (LENGTH + 1), all);
    local_end_all(w);
}

static void accumulates_of_threads(void) {
    struct window w;
    if (!open_words(&w, PLACES))
        return;
    MPI_Type_vector(2, 1, 2, MPI_INT64_T, &with_gap);
    MPI_Type_commit(&with_gap);
    OK(MPI_Win_lock_all(0, w.win));
    run_threads(&w, NULL, THREADS, accumulate_everything);
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    check_accumulates(&w);
    MPI_Type_free(&with_gap);
    window_close(&w);
}

/// The rank before this one, that it is exposed to, and the one behind it, its target.
static MPI_Group from_left, to_right;

static void groups_make(void) {
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, (int[]){(T.rank + T.ranks - 1) % T.ranks}, &from_left);
    MPI_Group_incl(all, 1, (int[]){(T.rank + 1) % T.ranks}, &to_right);
    MPI_Group_free(&all);
}

static void groups_free(void) {
    MPI_Group_free(&from_left);
    MPI_Group_free(&to_right);
}

static void active_begin(const struct window* w, bool fence) {
    if (fence) {
        OK(MPI_Win_fence(0, w->win));
    } else {
        OK(MPI_Win_post(from_left, 0, w->win));
        OK(MPI_Win_start(to_right, 0, w->win));
    }
}

static void active_end(const struct window* w, bool fence, bool test) {
    int done = !test;
    if (fence) {
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
        return;
    }
    OK(MPI_Win_complete(w->win));
    if (!test)
        OK(MPI_Win_wait(w->win));
    while (!done)
        OK(MPI_Win_test(w->win, &done));
}

/// An epoch of active target that one thread opens and closes is that of all its threads.
static pthread_barrier_t together;

static void* put_in_active_epoch(void* argument) {
    const struct worker* me = argument;
    const struct window* w = me->w;
    const int t = (T.rank + 1) % T.ranks;
    const int64_t one = 1;
    for (int i = 0; i < ROUNDS; ++i) {
        const int64_t value = 10 * i + me->id;
        if (me->id == 0)
            active_begin(w, i % 2 == 0);
        pthread_barrier_wait(&together);
        OK(MPI_Put(&value, 1, MPI_INT64_T, t, at(w, t, 1 + me->id), 1, MPI_INT64_T, w->win));
        OK(MPI_Accumulate(&one, 1, MPI_INT64_T, t, at(w, t, 0), 1, MPI_INT64_T, MPI_SUM, w->win));
        pthread_barrier_wait(&together);
        if (me->id == 0)
            active_end(w, i % 2 == 0, i % 4 == 1);
        pthread_barrier_wait(&together);
        CHECK_EQ((long long)THREADS * (i + 1), ((int64_t*)w->base)[0]);
        CHECK_EQ(value, ((int64_t*)w->base)[1 + me->id]);
        pthread_barrier_wait(&together);
        if (me->id == 0)
            MPI_Barrier(MPI_COMM_WORLD); // all have looked before any puts again
    }
    return NULL;
}

static void active_epoch_of_threads(void) {
    struct window w;
    if (!open_words(&w, 1 + THREADS))
        return;
    groups_make();
    pthread_barrier_init(&together, NULL, THREADS);
    run_threads(&w, NULL, THREADS, put_in_active_epoch);
    pthread_barrier_destroy(&together);
    groups_free();
    window_close(&w);
}

static void lock_many_times(const struct window* w) {
    for (int i = 0; i < 2 * ROUNDS; ++i) {
        const int t = i % w->ranks;
        const bool exclusive = i % 3 != 2;
        OK(MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, t, 0, w->win));
        if (exclusive)
            increment_pair(w, t);
        OK(MPI_Win_unlock(t, w->win));
    }
}

static void lock_all_many_times(const struct window* w) {
    const int64_t one = 1;
    for (int i = 0; i < 2 * ROUNDS; ++i) {
        const int t = i % w->ranks;
        OK(MPI_Win_lock_all(0, w->win));
        OK(MPI_Accumulate(&one, 1, MPI_INT64_T, t, at(w, t, 0), 1, MPI_INT64_T, MPI_SUM, w->win));
        OK(MPI_Win_flush(t, w->win));
        OK(MPI_Win_unlock_all(w->win));
    }
}

static void fence_or_post_many_times(const struct window* w, bool fence) {
    const int t = (w->rank + 1) % w->ranks;
    for (int64_t i = 1; i <= ROUNDS; ++i) {
        active_begin(w, fence);
        OK(MPI_Put(&i, 1, MPI_INT64_T, t, at(w, t, 0), 1, MPI_INT64_T, w->win));
        active_end(w, fence, i % 2 == 0);
        CHECK_EQ(i, ((int64_t*)w->base)[0]);
        MPI_Barrier(w->comm);
    }
}

/// Each thread has a window of its own, and synchronizes in another way than the others.
static void* synchronize_own_way(void* argument) {
    const struct worker* me = argument;
    struct window w;
    if (!window_open_with(&w, T.flavor, me->comms[me->id], 2 * sizeof(int64_t), sizeof(int64_t),
                          MPI_INFO_NULL))
        return NULL;
    if (me->id == 0)
        lock_many_times(&w);
    else if (me->id == 1)
        lock_all_many_times(&w);
    else
        fence_or_post_many_times(&w, me->id == 2);
    MPI_Barrier(w.comm);
    window_close(&w);
    return NULL;
}

static void mixed_synchronization(void) {
    MPI_Comm comms[THREADS];
    comms_make(comms);
    groups_make();
    run_threads(NULL, comms, THREADS, synchronize_own_way);
    groups_free();
    comms_free(comms);
}

enum { UNDER_WAY = 8, LONG_GET = 64 << 10 };

static _Atomic bool others_are_done;

/// Keeps several gets under way, until the other thread is done.
static void* keep_getting(void* argument) {
    const struct worker* me = argument;
    const struct window* w = me->w;
    const int t = (T.rank + 1) % T.ranks;
    static char into[UNDER_WAY][LONG_GET];
    MPI_Request requests[UNDER_WAY];
    for (int i = 0; i < UNDER_WAY; ++i)
        OK(MPI_Rget(into[i], LONG_GET, MPI_BYTE, t, at(w, t, 0), LONG_GET, MPI_BYTE, w->win,
                    &requests[i]));
    for (int i = 0; !others_are_done; i = (i + 1) % UNDER_WAY) {
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        OK(MPI_Rget(into[i], LONG_GET, MPI_BYTE, t, at(w, t, 0), LONG_GET, MPI_BYTE, w->win,
                    &requests[i]));
    }
    OK(MPI_Waitall(UNDER_WAY, requests, MPI_STATUSES_IGNORE));
    return NULL;
}

/// The flushes of a thread end, though another one always has gets from the same process under way.
static void flushes_beside_gets(void) {
    struct window mine, others;
    const int t = (T.rank + 1) % T.ranks;
    if (!window_open(&others, LONG_GET, 1))
        return;
    if (!open_words(&mine, 2)) {
        window_close(&others);
        return;
    }
    struct worker getter = {.w = &others};
    others_are_done = false;
    OK(MPI_Win_lock_all(0, others.win));
    CHECK_EQ(0, pthread_create(&getter.thread, NULL, keep_getting, &getter));
    for (int i = 0; i < ROUNDS; ++i) {
        int64_t seen[2] = {-1, -1};
        const int64_t rank = T.rank;
        OK(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, mine.win));
        OK(MPI_Get(seen, 1, MPI_INT64_T, t, at(&mine, t, 0), 1, MPI_INT64_T, mine.win));
        OK(MPI_Put(&rank, 1, MPI_INT64_T, t, at(&mine, t, 1), 1, MPI_INT64_T, mine.win));
        OK(MPI_Win_flush_local(t, mine.win));
        OK(MPI_Win_flush(t, mine.win));
        OK(MPI_Get(seen + 1, 1, MPI_INT64_T, t, at(&mine, t, 1), 1, MPI_INT64_T, mine.win));
        OK(MPI_Win_unlock(t, mine.win));
        CHECK_EQ(rank, seen[1]);
    }
    others_are_done = true;
    pthread_join(getter.thread, NULL);
    OK(MPI_Win_unlock_all(others.win));
    window_close(&mine);
    window_close(&others);
}

/// Threads attach and detach memory, and put to what the same thread of another rank attached.
static int attachings;

static void* attach_own_memory(void* argument) {
    const struct worker* me = argument;
    const int left = (T.rank + T.ranks - 1) % T.ranks, right = (T.rank + 1) % T.ranks;
    const MPI_Comm comm = me->comms[me->id];
    for (int i = 0; i < attachings; ++i) {
        int64_t* const mine = aligned_alloc(64, 64);
        MPI_Aint here, there;
        *mine = -1;
        OK(MPI_Win_attach(me->w->win, mine, 64));
        MPI_Get_address(mine, &here);
        OK(MPI_Sendrecv(&here, 1, MPI_AINT, left, 0, &there, 1, MPI_AINT, right, 0, comm,
                        MPI_STATUS_IGNORE));
        const int64_t value = 10 * i + me->id;
        OK(MPI_Put(&value, 1, MPI_INT64_T, right, there, 1, MPI_INT64_T, me->w->win));
        OK(MPI_Win_flush(right, me->w->win));
        MPI_Barrier(comm);
        OK(MPI_Win_sync(me->w->win));
        CHECK_EQ(value, *mine);
        OK(MPI_Win_detach(me->w->win, mine));
        free(mine);
    }
    return NULL;
}

static void attach_by_threads(int times) {
    struct window w;
    MPI_Comm comms[THREADS];
    if (!open_words(&w, 1))
        return;
    attachings = times;
    comms_make(comms);
    OK(MPI_Win_lock_all(0, w.win));
    run_threads(&w, comms, THREADS, attach_own_memory);
    OK(MPI_Win_unlock_all(w.win));
    comms_free(comms);
    window_close(&w);
}

static void regions_of_threads(void) {
    attach_by_threads(ROUNDS);
}

/// The threads read the table of a rank of another node side by side. It takes thousands of times
/// until one that was slow comes with an old table between another one's look and its put.
static void regions_of_threads_often(void) {
    attach_by_threads(250 * ROUNDS);
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
    {.name = "accumulates_of_threads", .run = accumulates_of_threads, .each = IN_ANY},
    {.name = "active_epoch_of_threads", .run = active_epoch_of_threads, .each = IN_ANY},
    {.name = "mixed_synchronization", .run = mixed_synchronization, .each = IN_ANY},
    {.name = "flushes_beside_gets", .run = flushes_beside_gets, .each = IN_ALLOCATE},
    {.name = "regions_of_threads", .run = regions_of_threads, .each = IN_DYNAMIC},
    {.name = "regions_of_threads_often",
     .run = regions_of_threads_often,
     .each = IN_DYNAMIC,
     .deep = true},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_MULTIPLE);
}
