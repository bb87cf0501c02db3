/* Windows as such: what it takes to create and free one, and the first lock_all of a new one. */
#include "bench.h"

#include <stdlib.h>

/* One window more beside the case's own, by this rank's clock. */
struct life {
    double create_ns, lock_all_ns, free_ns;
};

static void create(struct bench* bench, MPI_Win* window, void** memory) {
    if ('c' == bench->flavor[0])
        MPI_Win_create(bench->memory, (MPI_Aint)bench->bytes, 1, MPI_INFO_NULL, bench->comm,
                       window);
    else
        MPI_Win_allocate((MPI_Aint)bench->bytes, 1, MPI_INFO_NULL, bench->comm, memory, window);
}

/* The first pair of one rank alone: with all ranks at it, each would wait for the others' cores. */
static double first_lock_all(struct bench* bench, MPI_Win window) {
    const double start = now_ns();
    if (ORIGIN == bench->rank) {
        MPI_Win_lock_all(0, window);
        MPI_Win_unlock_all(window);
    }
    return now_ns() - start;
}

static struct life live(struct bench* bench) {
    struct life life;
    MPI_Win window;
    void* memory;
    MPI_Barrier(bench->comm);
    double start = now_ns();
    create(bench, &window, &memory);
    life.create_ns = now_ns() - start;
    MPI_Barrier(bench->comm);
    life.lock_all_ns = first_lock_all(bench, window);
    MPI_Barrier(bench->comm);
    start = now_ns();
    MPI_Win_free(&window);
    life.free_ns = now_ns() - start;
    return life;
}

/* A word that each rank counts up at its neighbour tells that the window works at all. */
static bool works(struct bench* bench) {
    const int64_t one = 1;
    const int next = (bench->rank + 1) % bench->ranks;
    MPI_Win window;
    void* memory = bench->memory;
    create(bench, &window, &memory);
    *(int64_t*)memory = 0;
    MPI_Barrier(bench->comm);
    MPI_Win_lock_all(0, window);
    MPI_Accumulate(&one, 1, MPI_INT64_T, next, 0, 1, MPI_INT64_T, MPI_SUM, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(bench->comm);
    MPI_Win_lock(MPI_LOCK_SHARED, bench->rank, 0, window);
    const bool right = 1 == *(int64_t*)memory;
    MPI_Win_unlock(bench->rank, window);
    MPI_Win_free(&window);
    return right;
}

void run_window(struct bench* bench) {
    struct samples created = samples_new(bench->iterations);
    struct samples locked = samples_new(bench->iterations);
    struct samples freed = samples_new(bench->iterations);
    for (int i = 0; i < bench->iterations; i++) {
        const struct life life = live(bench);
        created.values[i] = life.create_ns;
        locked.values[i] = life.lock_all_ns;
        freed.values[i] = life.free_ns;
    }
    if (verified(bench, works(bench), "an accumulate through a new window was lost")) {
        report_result(bench, "", "create", "ns", &created, "");
        report_result(bench, "", "first_lock_all", "ns", &locked, "");
        report_result(bench, "", "free", "ns", &freed, "");
    }
    samples_free(&created);
    samples_free(&locked);
    samples_free(&freed);
}
