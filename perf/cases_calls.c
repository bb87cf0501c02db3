/* The calls that cases_sync.c leaves out: requests, get_accumulate, derived types, and flushes of
 * nothing. Rank 0 against rank 1, inside one shared lock. */
#include "words.h"

/* --- requests --------------------------------------------------------------------------------- */

/* A request says no more than that the origin's buffer is free; one flush completes the batch. */
static void rput8(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t value = ++bench->done;
        MPI_Request request;
        MPI_Rput(&value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Win_flush(TARGET, bench->window);
}

static void rget8(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t value = -1;
        MPI_Request request;
        MPI_Rget(&value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        bench->mismatch |= value != bench->done;
    }
}

static void raccumulate8(struct bench* bench, int64_t n) {
    const int64_t one = 1;
    for (int64_t i = 0; i < n; i++) {
        MPI_Request request;
        MPI_Raccumulate(&one, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, MPI_SUM, bench->window,
                        &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        bench->done++;
    }
    MPI_Win_flush(TARGET, bench->window);
}

static void rget_accumulate8(struct bench* bench, int64_t n) {
    const int64_t one = 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t before = -1;
        MPI_Request request;
        MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &before, 1, MPI_INT64_T, TARGET, 0, 1,
                            MPI_INT64_T, MPI_SUM, bench->window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        bench->mismatch |= before != bench->done++;
    }
    MPI_Win_flush(TARGET, bench->window);
}

static void get_accumulate8(struct bench* bench, int64_t n) {
    const int64_t one = 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t before = -1;
        MPI_Get_accumulate(&one, 1, MPI_INT64_T, &before, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T,
                           MPI_SUM, bench->window);
        MPI_Win_flush(TARGET, bench->window);
        bench->mismatch |= before != bench->done++;
    }
}

void run_rput8(struct bench* bench) {
    word_case(bench, rput8);
}

void run_rget8(struct bench* bench) {
    fetch_case(bench, rget8);
}

void run_raccumulate8(struct bench* bench) {
    word_case(bench, raccumulate8);
}

void run_rget_accumulate8(struct bench* bench) {
    word_case(bench, rget_accumulate8);
}

void run_get_accumulate8_flush(struct bench* bench) {
    word_case(bench, get_accumulate8);
}

/* --- derived types: every second of 128 words ------------------------------------------------- */

enum { ELEMENTS = 64, STRIDE = 2, SPAN = ELEMENTS * STRIDE };

static MPI_Datatype vector_type(void) {
    static MPI_Datatype type = MPI_DATATYPE_NULL;
    if (MPI_DATATYPE_NULL == type) {
        MPI_Type_vector(ELEMENTS, 1, STRIDE, MPI_INT64_T, &type);
        MPI_Type_commit(&type);
    }
    return type;
}

static int64_t* words_of(unsigned char* bytes) {
    return (int64_t*)(void*)bytes;
}

/* Whether the elements hold the value and the gaps hold nothing. */
static bool vector_is(const int64_t* words, int64_t value) {
    for (int i = 0; i < SPAN; i++)
        if (words[i] != (0 == i % STRIDE ? value : 0))
            return false;
    return true;
}

static void vector_set(int64_t* words, int64_t value) {
    for (int i = 0; i < SPAN; i += STRIDE)
        words[i] = value;
}

static void put_vector(struct bench* bench, int64_t n) {
    int64_t* local = words_of(bench->local);
    for (int64_t i = 0; i < n; i++) {
        local[0] = ++bench->done;
        MPI_Put(local, 1, vector_type(), TARGET, 0, 1, vector_type(), bench->window);
        MPI_Win_flush(TARGET, bench->window);
    }
    vector_set(local, ++bench->done);
    MPI_Put(local, 1, vector_type(), TARGET, 0, 1, vector_type(), bench->window);
    MPI_Win_flush(TARGET, bench->window);
}

static void get_vector(struct bench* bench, int64_t n) {
    int64_t* local = words_of(bench->local);
    for (int64_t i = 0; i < n; i++) {
        local[SPAN - STRIDE] = -1;
        MPI_Get(local, 1, vector_type(), TARGET, 0, 1, vector_type(), bench->window);
        MPI_Win_flush(TARGET, bench->window);
        bench->mismatch |= local[SPAN - STRIDE] != bench->done;
    }
    bench->mismatch |= !vector_is(local, bench->done);
}

static void accumulate_vector(struct bench* bench, int64_t n) {
    int64_t* local = words_of(bench->local);
    vector_set(local, 1);
    for (int64_t i = 0; i < n; i++) {
        MPI_Accumulate(local, 1, vector_type(), TARGET, 0, 1, vector_type(), MPI_SUM,
                       bench->window);
        MPI_Win_flush(TARGET, bench->window);
        bench->done++;
    }
}

/* Collective: the target's elements become the value. */
static void target_vector(struct bench* bench, int64_t value) {
    bench->done = value;
    if (TARGET == bench->rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
        vector_set(words_of(bench->memory), value);
        MPI_Win_unlock(TARGET, bench->window);
    }
    MPI_Barrier(bench->comm);
}

static bool target_vector_right(struct bench* bench) {
    MPI_Bcast(&bench->done, 1, MPI_INT64_T, ORIGIN, bench->comm);
    if (TARGET != bench->rank)
        return true;
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
    const bool right = vector_is(words_of(bench->memory), bench->done);
    MPI_Win_unlock(TARGET, bench->window);
    return right;
}

static void vector_case(struct bench* bench, repeat_fn repeat, int64_t initial) {
    target_vector(bench, initial);
    struct samples samples = sample_inside_lock(bench, repeat);
    if (verified(bench, target_vector_right(bench), "the vector's elements or gaps are wrong"))
        report_result(bench, "\"elements\":64,\"stride\":2", "latency", "ns", &samples, "");
    samples_free(&samples);
}

void run_put_vector_flush(struct bench* bench) {
    vector_case(bench, put_vector, 0);
}

void run_get_vector_flush(struct bench* bench) {
    vector_case(bench, get_vector, INT64_C(0x0123456789abcdef));
}

void run_accumulate_vector_flush(struct bench* bench) {
    vector_case(bench, accumulate_vector, 0);
}

/* --- arrays: what programs that add blocks of a matrix do ------------------------------------- */

enum { NUMBERS = 1024 };

static double* numbers_of(unsigned char* bytes) {
    return (double*)(void*)bytes;
}

static void array_set(double* numbers, double value) {
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = value;
}

static void accumulate_array(struct bench* bench, int64_t n) {
    double* local = numbers_of(bench->local);
    array_set(local, 1);
    for (int64_t i = 0; i < n; i++) {
        MPI_Accumulate(local, NUMBERS, MPI_DOUBLE, TARGET, 0, NUMBERS, MPI_DOUBLE, MPI_SUM,
                       bench->window);
        MPI_Win_flush(TARGET, bench->window);
        bench->done++;
    }
}

static bool target_array_right(struct bench* bench) {
    MPI_Bcast(&bench->done, 1, MPI_INT64_T, ORIGIN, bench->comm);
    bool right = true;
    if (TARGET == bench->rank) {
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
        for (int i = 0; i < NUMBERS; i++)
            right &= (double)bench->done == numbers_of(bench->memory)[i];
        MPI_Win_unlock(TARGET, bench->window);
    }
    return right;
}

static void array_case(struct bench* bench, int lock) {
    bench->done = 0;
    if (TARGET == bench->rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
        array_set(numbers_of(bench->memory), 0);
        MPI_Win_unlock(TARGET, bench->window);
    }
    MPI_Barrier(bench->comm);
    if (ORIGIN == bench->rank)
        MPI_Win_lock(lock, TARGET, 0, bench->window);
    struct samples samples = sample_origin(bench, accumulate_array);
    if (ORIGIN == bench->rank)
        MPI_Win_unlock(TARGET, bench->window);
    MPI_Barrier(bench->comm);
    if (verified(bench, target_array_right(bench), "the array is not what was added to it"))
        report_result(bench, "\"elements\":1024", "latency", "ns", &samples, "");
    samples_free(&samples);
}

void run_accumulate_array_flush(struct bench* bench) {
    array_case(bench, MPI_LOCK_SHARED);
}

void run_accumulate_array_exclusive(struct bench* bench) {
    array_case(bench, MPI_LOCK_EXCLUSIVE);
}

/* --- flushes with nothing outstanding --------------------------------------------------------- */

static void flush(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        MPI_Win_flush(TARGET, bench->window);
}

static void flush_local(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        MPI_Win_flush_local(TARGET, bench->window);
}

static void flush_all(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        MPI_Win_flush_all(bench->window);
}

/* Put, then the flush of the case: the word must be there while the lock is still held. */
static void flushed_put(struct bench* bench, repeat_fn repeat) {
    const int64_t value = ++bench->done;
    int64_t back = -1;
    MPI_Put(&value, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window);
    repeat(bench, 1);
    if (flush_local != repeat) {
        MPI_Get(&back, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, bench->window);
        repeat(bench, 1);
        bench->mismatch |= back != value;
    }
}

static void flush_case(struct bench* bench, repeat_fn repeat) {
    struct samples samples = sample_inside_lock(bench, repeat);
    if (ORIGIN == bench->rank) {
        open_shared(bench);
        flushed_put(bench, repeat);
        close_one(bench);
    }
    MPI_Barrier(bench->comm);
    if (verified(bench, target_counted(bench), "the flushed put did not arrive"))
        report_result(bench, "", "latency", "ns", &samples, "");
    samples_free(&samples);
}

void run_flush(struct bench* bench) {
    flush_case(bench, flush);
}

void run_flush_local(struct bench* bench) {
    flush_case(bench, flush_local);
}

void run_flush_all(struct bench* bench) {
    flush_case(bench, flush_all);
}
