// A bit of everything on a window over a given communicator.
#pragma once

#include "mpi_test.h"

enum { ROUNDS = 30 };

/// All ranks of the communicator add to a pair of words on each of them, under exclusive locks;
/// then all put to all. Rank numbers are the communicator's.
static inline void use(MPI_Comm comm, enum flavor flavor) {
    struct window w;
    if (!window_open_with(&w, flavor, comm, (MPI_Aint)sizeof(int) * (2 + 64), sizeof(int),
                          MPI_INFO_NULL))
        return;
    for (int i = 0; i < ROUNDS; ++i) {
        const int t = (w.rank + i) % w.ranks;
        int pair[2];
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, w.win));
        OK(MPI_Get(pair, 2, MPI_INT, t, at(&w, t, 0), 2, MPI_INT, w.win));
        OK(MPI_Win_flush(t, w.win));
        CHECK_EQ(pair[0], pair[1]);
        ++pair[0], ++pair[1];
        OK(MPI_Put(pair, 2, MPI_INT, t, at(&w, t, 0), 2, MPI_INT, w.win));
        OK(MPI_Win_unlock(t, w.win));
    }
    OK(MPI_Win_lock_all(0, w.win));
    for (int t = 0; t < w.ranks; ++t) {
        const int value = 100 * t + w.rank;
        OK(MPI_Put(&value, 1, MPI_INT, t, at(&w, t, 2 + w.rank), 1, MPI_INT, w.win));
        OK(MPI_Win_flush_local(t, w.win));
    }
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(comm);
    local_begin(&w);
    int mine = ((int*)w.base)[0], sum;
    for (int o = 0; o < w.ranks; ++o)
        CHECK_EQ(100 * w.rank + o, ((int*)w.base)[2 + o]);
    local_end(&w);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_EQ((long long)ROUNDS * w.ranks, sum);
    OK(MPI_Win_fence(0, w.win));
    const int last = -w.rank;
    OK(MPI_Put(&last, 1, MPI_INT, w.ranks - 1 - w.rank, at(&w, w.ranks - 1 - w.rank, 0), 1, MPI_INT,
               w.win));
    OK(MPI_Win_fence(0, w.win));
    CHECK_EQ(-(w.ranks - 1 - w.rank), ((volatile int*)w.base)[0]);
    window_close(&w);
}
