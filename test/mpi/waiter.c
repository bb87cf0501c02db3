// How a process waits for a lock. Rank 0 computes with an exclusive lock in hand while rank 1 waits
// for it; rank 1 says whether it polled or slept. As the system counts context switches, those of a
// sleeping waiter are voluntary, and those of one that polls and yields are not. The time that the
// waiter has on a core says less, since that depends on what else runs. check_parameters sets the
// parameters and looks at what is printed.
#define _GNU_SOURCE // RUSAGE_THREAD: the progress thread sleeps as well
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

/* Half a millisecond at a time, for half a second, on a machine that has other work. */
enum { FEW = 20 };

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long sleeps(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static void compute(double wanted) {
    volatile uint64_t work = 0;
    for (const double end = seconds(CLOCK_MONOTONIC) + wanted; seconds(CLOCK_MONOTONIC) < end;)
        for (int i = 0; i < 1000; ++i)
            work = work * 3 + 1;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char* base = NULL;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        compute(0.5);
        MPI_Win_unlock(0, win);
    } else if (rank == 1) {
        const double begin = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
        const long before = sleeps();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        const long slept = sleeps() - before;
        const double waited = seconds(CLOCK_MONOTONIC) - begin;
        const double share = (seconds(CLOCK_PROCESS_CPUTIME_ID) - used) / waited;
        MPI_Win_unlock(0, win);
        printf("the waiter %s (%ld times, %.0f %% of a core for %.2f s)\n",
               slept >= FEW ? "slept" : "polled", slept, 100 * share, waited);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
