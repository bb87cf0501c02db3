/* Walks each uncontended path many times, rank 0 against rank 1, and has callgrind write down the
 * instructions of each: one dump for a path, under its name. With the argument `verbs` it prints
 * how many operations on words of locks each walk sends through the network, and how often it waits
 * for an answer, as the component counts them (MPI_T). perf/guard compares both with what is
 * recorded. Rank 1 waits in a barrier, outside valgrind. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __has_include
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif

#ifndef CALLGRIND_ZERO_STATS
/* Built without valgrind: guard finds no dumps, and says so. */
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) ((void)(name))
#endif

enum { TARGET = 1, TIMES = 1000, WARM_UP = 10 };

static MPI_Win window;
static int64_t origin[2], result;
static const int64_t one = 1;

static void lock_shared(void) {
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window);
    MPI_Win_unlock(TARGET, window);
}

static void lock_exclusive(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);
    MPI_Win_unlock(TARGET, window);
}

static void lock_all(void) {
    MPI_Win_lock_all(0, window);
    MPI_Win_unlock_all(window);
}

static void put8(void) {
    MPI_Put(origin, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, window);
}

static void get8(void) {
    MPI_Get(&result, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, window);
}

static void fetch_and_op(void) {
    MPI_Fetch_and_op(&one, &result, MPI_INT64_T, TARGET, 8, MPI_SUM, window);
}

static void compare_and_swap(void) {
    MPI_Compare_and_swap(&one, &origin[1], &result, MPI_INT64_T, TARGET, 16, window);
}

static void accumulate8(void) {
    MPI_Accumulate(&one, 1, MPI_INT64_T, TARGET, 24, 1, MPI_INT64_T, MPI_SUM, window);
}

enum { ARRAY = 128, ARRAY_AT = 1024 };
static double ones[ARRAY];

/* By a vector loop, under the target's accumulate lock. */
static void accumulate1k(void) {
    MPI_Accumulate(ones, ARRAY, MPI_DOUBLE, TARGET, ARRAY_AT, ARRAY, MPI_DOUBLE, MPI_SUM, window);
}

static void flush(void) {
    MPI_Win_flush(TARGET, window);
}

static void flush_all(void) {
    MPI_Win_flush_all(window);
}

static void put8_and_flush(void) {
    put8();
    flush();
}

static void get8_and_flush(void) {
    get8();
    flush();
}

static void fetch_and_op_and_flush(void) {
    MPI_Fetch_and_op(&one, &result, MPI_INT64_T, TARGET, 32, MPI_SUM, window);
    flush();
}

static void compare_and_swap_and_flush(void) {
    compare_and_swap();
    flush();
}

static void accumulate8_and_flush(void) {
    MPI_Accumulate(&one, 1, MPI_INT64_T, TARGET, 32, 1, MPI_INT64_T, MPI_SUM, window);
    flush();
}

/* With `verbs`: what the component counts for the window. */
static int counts_verbs;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle verbs, round_trips;

static int bind(const char* name, MPI_T_pvar_handle* handle) {
    int index, values;
    return MPI_SUCCESS == MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) &&
           MPI_SUCCESS == MPI_T_pvar_handle_alloc(session, index, &window, handle, &values);
}

static unsigned long long read_count(MPI_T_pvar_handle handle) {
    unsigned long long value = 0;
    MPI_T_pvar_read(session, handle, &value);
    return value;
}

/* Not inlined, so that the loop is the same for all. */
static __attribute__((noinline)) void walk(const char* name, void (*path)(void)) {
    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < TIMES; i++)
        path();
    CALLGRIND_DUMP_STATS_AT(name);
}

static void count(const char* name, void (*path)(void)) {
    for (int i = 0; i < WARM_UP; i++)
        path();
    if (!counts_verbs) {
        walk(name, path);
        return;
    }
    const unsigned long long before = read_count(verbs), waited = read_count(round_trips);
    walk(name, path);
    printf("%s %.2f %.2f\n", name, (double)(read_count(verbs) - before) / TIMES,
           (double)(read_count(round_trips) - waited) / TIMES);
}

static void count_all(void) {
    count("lock_shared", lock_shared);
    count("lock_exclusive", lock_exclusive);
    count("lock_all", lock_all);
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, window);
    count("put8", put8);
    count("get8", get8);
    count("fetch_and_op", fetch_and_op);
    count("compare_and_swap", compare_and_swap);
    count("accumulate8", accumulate8);
    count("flush", flush);
    count("flush_all", flush_all);
    if (!counts_verbs)
        count("accumulate1k", accumulate1k);
    if (counts_verbs) {
        count("put8_and_flush", put8_and_flush);
        count("get8_and_flush", get8_and_flush);
        count("fetch_and_op_and_flush", fetch_and_op_and_flush);
        count("compare_and_swap_and_flush", compare_and_swap_and_flush);
        count("accumulate8_and_flush", accumulate8_and_flush);
    }
    MPI_Win_unlock(TARGET, window);
    MPI_Win_lock_all(0, window);
    count("put8_in_lock_all", put8);
    count("flush_in_lock_all", flush);
    MPI_Win_unlock_all(window);
}

/* Whether the component counts verbs. */
static int open_counters(void) {
    int provided;
    return MPI_SUCCESS == MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) &&
           MPI_SUCCESS == MPI_T_pvar_session_create(&session) &&
           bind("osc_rmalock_verbs_off_node", &verbs) &&
           bind("osc_rmalock_round_trips", &round_trips);
}

int main(int argc, char** argv) {
    int rank, ranks;
    int64_t* memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    counts_verbs = 2 == argc && 0 == strcmp(argv[1], "verbs");
    if (counts_verbs && !open_counters()) {
        fprintf(stderr, "paths: this component does not count its verbs\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(memory, 0, 4096);
    for (int i = 0; i < ARRAY; i++)
        ones[i] = 1;
    origin[0] = 7;
    MPI_Barrier(MPI_COMM_WORLD);
    if (0 == rank && ranks > 1) {
        CALLGRIND_START_INSTRUMENTATION;
        count_all();
        CALLGRIND_STOP_INSTRUMENTATION;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const int calls = TIMES + WARM_UP;
    const int wrong = TARGET == rank && (7 != memory[0] || calls != memory[1] || 1 != memory[2] ||
                                         calls != memory[3]);
    if (wrong)
        fprintf(stderr, "paths: the target's words are not what the calls add up to\n");
    MPI_Win_free(&window);
    MPI_Finalize();
    return wrong;
}
