/*
 * A bank on MPI one-sided communication, as an ordinary program would have it: every rank keeps some
 * accounts in its window; every rank moves money between random accounts under exclusive locks and
 * audits random ranks under shared locks. Money is neither made nor lost, or the program fails.
 * It also measures an uncontended lock, and a lock while the target computes without calling MPI.
 *
 * MPI only; nothing here knows rmalock.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 64, START = 1000, TRANSFERS = 4000, AUDIT_EVERY = 4 };

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "quickstart job: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static long locked_change(MPI_Win win, int rank, int account, long change)
{
    long balance;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    MPI_Get(&balance, 1, MPI_LONG, rank, account, 1, MPI_LONG, win);
    MPI_Win_flush(rank, win);
    balance += change;
    MPI_Put(&balance, 1, MPI_LONG, rank, account, 1, MPI_LONG, win);
    MPI_Win_unlock(rank, win);
    return balance;
}

static void audit(MPI_Win win, int rank)
{
    long balances[ACCOUNTS];
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    MPI_Get(balances, ACCOUNTS, MPI_LONG, rank, 0, ACCOUNTS, MPI_LONG, win);
    MPI_Win_unlock(rank, win);
    long sum = 0;
    for (int i = 0; i < ACCOUNTS; ++i) {
        sum += balances[i];
    }
    check(sum == (long) ACCOUNTS * START, "an audit saw a transfer half done");
}

/* Money moves between two accounts of one rank, so its sum is constant whenever nobody is inside. */
static void transfer(MPI_Win win, int rank)
{
    const int from = rand() % ACCOUNTS, to = rand() % ACCOUNTS;
    long balances[ACCOUNTS];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    MPI_Get(balances, ACCOUNTS, MPI_LONG, rank, 0, ACCOUNTS, MPI_LONG, win);
    MPI_Win_flush(rank, win);
    balances[from] -= 1;
    balances[to] += 1;
    MPI_Put(&balances[from], 1, MPI_LONG, rank, from, 1, MPI_LONG, win);
    MPI_Win_flush(rank, win);
    MPI_Put(&balances[to], 1, MPI_LONG, rank, to, 1, MPI_LONG, win);
    MPI_Win_unlock(rank, win);
}

static void run_bank(MPI_Win win, int rank, int size)
{
    srand(17u + (unsigned) rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < TRANSFERS; ++i) {
        transfer(win, rand() % size);
        if (i % AUDIT_EVERY == 0) {
            audit(win, rand() % size);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks, %d transfers each, audited: money conserved, %.2f us a transfer\n", size,
               TRANSFERS, (MPI_Wtime() - begin) / TRANSFERS * 1e6);
    }
}

static void measure_uncontended(MPI_Win win, int rank, int size)
{
    const int rounds = 20000;
    if (rank == 0) {
        const double begin = MPI_Wtime();
        for (int i = 0; i < rounds; ++i) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win);
            MPI_Win_unlock(size - 1, win);
        }
        printf("uncontended exclusive lock and unlock: %.0f ns\n",
               (MPI_Wtime() - begin) / rounds * 1e9);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void measure_busy_target(MPI_Win win, int rank, int size)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (rank == size - 1) {
        while (MPI_Wtime() - begin < 2.0) {
            ; /* computes, and does not call MPI but for the clock */
        }
    } else if (rank == 0) {
        locked_change(win, size - 1, 0, 0);
        printf("lock, get, put, unlock while the target computes for 2 s: %.1f us\n",
               (MPI_Wtime() - begin) * 1e6);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    long *accounts;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(ACCOUNTS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &accounts,
                     &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int i = 0; i < ACCOUNTS; ++i) {
        accounts[i] = START;
    }
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);

    run_bank(win, rank, size);
    measure_uncontended(win, rank, size);
    measure_busy_target(win, rank, size);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
