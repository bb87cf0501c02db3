/* Uncontended synchronization and 8-byte operations: rank 0 against rank 1. */
#include "words.h"

#include <stdlib.h>

/* --- verification -------------------------------------------------------------------------- */

static int64_t* own_words(struct bench* bench) {
    return (int64_t*)(void*)bench->memory;
}

static int64_t read_own_word(struct bench* bench) {
    MPI_Win_lock(MPI_LOCK_SHARED, bench->rank, 0, bench->window);
    const int64_t value = own_words(bench)[0];
    MPI_Win_unlock(bench->rank, bench->window);
    return value;
}

static void write_own_word(struct bench* bench, int64_t value) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, bench->rank, 0, bench->window);
    own_words(bench)[0] = value;
    MPI_Win_unlock(bench->rank, bench->window);
}

/* Collective: the target's word counts the operations the origin has done. */
bool target_counted(struct bench* bench) {
    MPI_Bcast(&bench->done, 1, MPI_INT64_T, ORIGIN, bench->comm);
    return TARGET != bench->rank || read_own_word(bench) == bench->done;
}

static void get_pair(struct bench* bench, int64_t pair[2]) {
    MPI_Get(pair, 2, MPI_INT64_T, TARGET, 0, 2, MPI_INT64_T, bench->window);
    MPI_Win_flush(TARGET, bench->window);
}

/* Writers keep two words equal under the exclusive lock. A reader that ever sees them differ, or
 * a sum that falls short, has found two holders that should have excluded each other. Writers stay
 * inside for a while, so that the ranks do meet. */
bool locks_exclude(struct bench* bench, open_fn open, open_fn close) {
    const int rounds = 100;
    bool right = true;
    int64_t pair[2] = {0, 0};
    if (TARGET == bench->rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
        own_words(bench)[0] = own_words(bench)[1] = 0;
        MPI_Win_unlock(TARGET, bench->window);
    }
    MPI_Barrier(bench->comm);
    for (int i = 0; i < rounds; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
        get_pair(bench, pair);
        right = right && pair[0] == pair[1];
        compute(2000);
        for (int word = 0; word < 2; word++) {
            pair[word]++;
            MPI_Put(&pair[word], 1, MPI_INT64_T, TARGET, word * (MPI_Aint)sizeof(int64_t), 1,
                    MPI_INT64_T, bench->window);
            MPI_Win_flush(TARGET, bench->window);
        }
        MPI_Win_unlock(TARGET, bench->window);
        open(bench);
        get_pair(bench, pair);
        close(bench);
        right = right && pair[0] == pair[1];
    }
    MPI_Barrier(bench->comm);
    return right &&
           (TARGET != bench->rank || read_own_word(bench) == (int64_t)rounds * bench->ranks);
}

/* --- locks --------------------------------------------------------------------------------- */

void open_excl(struct bench* bench) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
}

void open_shared(struct bench* bench) {
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
}

static void open_all(struct bench* bench) {
    MPI_Win_lock_all(0, bench->window);
}

void close_one(struct bench* bench) {
    MPI_Win_unlock(TARGET, bench->window);
}

static void close_all(struct bench* bench) {
    MPI_Win_unlock_all(bench->window);
}

static void lock_excl(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        open_excl(bench);
        close_one(bench);
    }
}

static void lock_shared(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        open_shared(bench);
        close_one(bench);
    }
}

static void lock_all(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        open_all(bench);
        close_all(bench);
    }
}

static void lock_case(struct bench* bench, repeat_fn repeat, open_fn open, open_fn close) {
    struct samples samples = sample_origin(bench, repeat);
    const bool right = locks_exclude(bench, open, close);
    if (verified(bench, right, "two conflicting locks were held at once, or an update was lost"))
        report_result(bench, "", "latency", "ns", &samples, "");
    samples_free(&samples);
}

void run_lock_excl(struct bench* bench) {
    lock_case(bench, lock_excl, open_excl, close_one);
}

void run_lock_shared(struct bench* bench) {
    lock_case(bench, lock_shared, open_shared, close_one);
}

void run_lock_all(struct bench* bench) {
    lock_case(bench, lock_all, open_all, close_all);
}

/* --- 8-byte operations, each completed by a flush, inside one shared lock -------------------- */

static void put8(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t value = ++bench->done;
        MPI_Put(&value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window);
        MPI_Win_flush(TARGET, bench->window);
    }
}

/* The target's word is constant while this runs; bench->done holds its value. */
static void get8(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t value = -1;
        MPI_Get(&value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window);
        MPI_Win_flush(TARGET, bench->window);
        bench->mismatch |= value != bench->done;
    }
}

static void fetch_and_op(struct bench* bench, int64_t n) {
    const int64_t one = 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t before = -1;
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, TARGET, 0, MPI_SUM, bench->window);
        MPI_Win_flush(TARGET, bench->window);
        bench->mismatch |= before != bench->done++;
    }
}

static void compare_and_swap(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t expected = bench->done++;
        const int64_t desired = bench->done;
        int64_t before = -1;
        MPI_Compare_and_swap(&desired, &expected, &before, MPI_INT64_T, TARGET, 0, bench->window);
        MPI_Win_flush(TARGET, bench->window);
        bench->mismatch |= before != expected;
    }
}

static void accumulate8(struct bench* bench, int64_t n) {
    const int64_t one = 1;
    for (int64_t i = 0; i < n; i++) {
        MPI_Accumulate(&one, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, MPI_SUM, bench->window);
        MPI_Win_flush(TARGET, bench->window);
        bench->done++;
    }
}

struct samples sample_inside_lock(struct bench* bench, repeat_fn repeat) {
    if (ORIGIN == bench->rank)
        open_shared(bench);
    struct samples samples = sample_origin(bench, repeat);
    if (ORIGIN == bench->rank)
        close_one(bench);
    MPI_Barrier(bench->comm);
    return samples;
}

void word_case(struct bench* bench, repeat_fn repeat) {
    struct samples samples = sample_inside_lock(bench, repeat);
    if (verified(bench, target_counted(bench), "the word is not what the operations add up to"))
        report_result(bench, "\"size\":8", "latency", "ns", &samples, "");
    samples_free(&samples);
}

void run_put8_flush(struct bench* bench) {
    word_case(bench, put8);
}

void run_fetch_and_op_flush(struct bench* bench) {
    word_case(bench, fetch_and_op);
}

void run_compare_and_swap_flush(struct bench* bench) {
    word_case(bench, compare_and_swap);
}

void run_accumulate8_flush(struct bench* bench) {
    word_case(bench, accumulate8);
}

void target_holds(struct bench* bench, int64_t value) {
    bench->done = value;
    if (TARGET == bench->rank)
        write_own_word(bench, value);
    MPI_Barrier(bench->comm);
}

void fetch_case(struct bench* bench, repeat_fn repeat) {
    target_holds(bench, INT64_C(0x0123456789abcdef));
    struct samples samples = sample_inside_lock(bench, repeat);
    /* A value cached at the origin would have looked right so far. */
    target_holds(bench, INT64_C(0x1032547698badcfe));
    if (ORIGIN == bench->rank) {
        open_shared(bench);
        repeat(bench, 1);
        close_one(bench);
    }
    if (verified(bench, true, "a get returned something else than the target's word"))
        report_result(bench, "\"size\":8", "latency", "ns", &samples, "");
    samples_free(&samples);
}

void run_get8_flush(struct bench* bench) {
    fetch_case(bench, get8);
}

/* --- active target --------------------------------------------------------------------------- */

/* Each fence closes the epoch of one put and opens the next. */
static void fence(struct bench* bench, int64_t n) {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, bench->window);
    for (int64_t i = 0; i < n; i++) {
        const int64_t value = ++bench->done;
        if (ORIGIN == bench->rank)
            MPI_Put(&value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window);
        MPI_Win_fence(0, bench->window);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, bench->window);
}

static void pscw(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t value = ++bench->done;
        if (ORIGIN == bench->rank) {
            MPI_Win_start(bench->peer, 0, bench->window);
            MPI_Put(&value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window);
            MPI_Win_complete(bench->window);
        } else if (TARGET == bench->rank) {
            MPI_Win_post(bench->peer, 0, bench->window);
            MPI_Win_wait(bench->window);
        }
    }
}

static void active_case(struct bench* bench, repeat_fn repeat) {
    struct samples samples = sample_together(bench, repeat);
    MPI_Barrier(bench->comm);
    if (verified(bench, target_counted(bench), "the last put of the epochs is not in the window"))
        report_result(bench, "\"size\":8", "epoch", "ns", &samples, "");
    samples_free(&samples);
}

void run_fence(struct bench* bench) {
    active_case(bench, fence);
}

void run_pscw(struct bench* bench) {
    const int other = ORIGIN == bench->rank ? TARGET : ORIGIN;
    MPI_Group all;
    MPI_Comm_group(bench->comm, &all);
    MPI_Group_incl(all, 1, &other, &bench->peer);
    active_case(bench, pscw);
    MPI_Group_free(&bench->peer);
    MPI_Group_free(&all);
}
