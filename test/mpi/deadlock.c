// Programs that wait for ever, each in its own way: what the watchdog says of them is looked at
// from outside (check_observe), which then ends them. The argument says which.
//
//   pair       0 holds the lock of 0 and wants that of 1, 1 the other way round
//   ring       each holds its own and wants its neighbour's
//   windows    as pair, but the two locks are of two windows
//   groups     as ring, but each lock is of a window of the two neighbours only
//   lock_all   0 is in lock_all of one window and wants a lock of the other, 1 the other way round
//   fence      1 holds a lock that 0 wants, and is in a fence of the other window
//   computing  1 holds a lock that 0 wants, and computes
//   shared     1 and 2 hold a shared lock that 0 wants for itself
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static MPI_Win window(MPI_Comm comm, const char* name) {
    char* base;
    MPI_Win win;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, comm, &base, &win);
    MPI_Win_set_name(win, name);
    return win;
}

static void hold(MPI_Win win, int type, int target) {
    MPI_Win_lock(type, target, 0, win);
}

/// Everybody has what it holds.
static void meet(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

/// No call of MPI, until somebody ends the job.
static void compute(void) {
    for (;;)
        usleep(10000);
}

static void ring(void) {
    MPI_Win win = window(MPI_COMM_WORLD, "circle");
    hold(win, MPI_LOCK_EXCLUSIVE, rank);
    meet();
    hold(win, MPI_LOCK_EXCLUSIVE, (rank + 1) % size);
}

static void windows(void) {
    MPI_Win win[] = {window(MPI_COMM_WORLD, "first"), window(MPI_COMM_WORLD, "second")};
    hold(win[rank], MPI_LOCK_EXCLUSIVE, 0);
    meet();
    hold(win[1 - rank], MPI_LOCK_EXCLUSIVE, 0);
}

/// Window r is of ranks r and r + 1; the second of them holds its lock, the first wants it.
static void groups(void) {
    static const char* const names[] = {"w0", "w1", "w2"};
    MPI_Win mine = MPI_WIN_NULL, next = MPI_WIN_NULL;
    for (int r = 0; r < size; ++r) {
        const int second = (r + 1) % size;
        MPI_Comm pair;
        // The member with the higher key is rank 1.
        MPI_Comm_split(MPI_COMM_WORLD, rank == r || rank == second ? 0 : MPI_UNDEFINED,
                       rank == second, &pair);
        if (rank == r)
            next = window(pair, names[r]);
        else if (rank == second)
            mine = window(pair, names[r]);
    }
    hold(mine, MPI_LOCK_EXCLUSIVE, 1);
    meet();
    hold(next, MPI_LOCK_EXCLUSIVE, 1);
}

static void lock_all(void) {
    MPI_Win win[] = {window(MPI_COMM_WORLD, "first"), window(MPI_COMM_WORLD, "second")};
    MPI_Win_lock_all(0, win[rank]);
    meet();
    hold(win[1 - rank], MPI_LOCK_EXCLUSIVE, 1);
}

static void fence(void) {
    MPI_Win win[] = {window(MPI_COMM_WORLD, "first"), window(MPI_COMM_WORLD, "second")};
    if (rank == 1)
        hold(win[0], MPI_LOCK_EXCLUSIVE, 0);
    meet();
    if (rank == 0)
        hold(win[0], MPI_LOCK_EXCLUSIVE, 0);
    MPI_Win_fence(0, win[1]);
}

static void computing(void) {
    MPI_Win win = window(MPI_COMM_WORLD, "circle");
    if (rank == 1)
        hold(win, MPI_LOCK_EXCLUSIVE, 0);
    meet();
    if (rank == 0)
        hold(win, MPI_LOCK_SHARED, 0);
    compute();
}

static void shared(void) {
    MPI_Win win = window(MPI_COMM_WORLD, "circle");
    if (rank != 0)
        hold(win, MPI_LOCK_SHARED, 1);
    meet();
    if (rank == 0)
        hold(win, MPI_LOCK_EXCLUSIVE, 1);
    compute();
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
    } kinds[] = {{"pair", ring},           {"ring", ring},         {"windows", windows},
                 {"groups", groups},       {"lock_all", lock_all}, {"fence", fence},
                 {"computing", computing}, {"shared", shared}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].run();
    fprintf(stderr, "rank %d did not wait for ever\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
