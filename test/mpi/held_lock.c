// Accumulates of other nodes while the target's accumulate lock is held for long: they keep back no
// other window of the target, and their origin does not send without bound.
//
// Ranks are nodes of their own. Rank 0 accumulates on itself from memory that it may not read yet.
// It does so under its accumulate lock, and the fault lasts until rank 2 says so; its progress
// thread serves the others. Rank 1 sends it accumulates that wait for the lock. Meanwhile both use
// another window of rank 0; if that one is held up as well, this hangs.
//
// check_network starts this.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    ELEMENTS = 1000,
    MESSAGES = 6000,  ///< of 8 bytes for each element: far more than an origin may have waiting
    STANDSTILL = 200, ///< round trips beside which rank 1 has sent nothing
};

/// What each rank has in the window that is not held up.
struct board {
    int64_t inside;   ///< rank 0 has its accumulate lock
    int64_t go;       ///< it is to go on
    int64_t all_sent; ///< rank 1 has sent all
    int64_t sent;     ///< rank 1: how many
    int64_t added;
};

static int rank;
static struct board* volatile board;
static MPI_Win boards, held;
static double* forbidden; ///< the memory whose first use lasts
static const size_t kPage = 4096;
static int64_t all_sent_meanwhile = -1;

static void fail(const char* what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int64_t own(const int64_t* word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void wait_under_the_lock(int number, siginfo_t* info, void* context) {
    (void)context;
    if (info->si_addr != forbidden) {
        signal(number, SIG_DFL);
        return;
    }
    __atomic_store_n(&board->inside, 1, __ATOMIC_RELEASE);
    while (own(&board->go) == 0)
        sched_yield();
    all_sent_meanwhile = own(&board->all_sent);
    mprotect(forbidden, kPage, PROT_READ | PROT_WRITE);
}

static int64_t read_board(int target, MPI_Aint at) {
    int64_t value = 0;
    MPI_Get(&value, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, boards);
    MPI_Win_flush(target, boards);
    return value;
}
static void write_board(int target, MPI_Aint at, int64_t value) {
    MPI_Put(&value, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, boards);
    MPI_Win_flush(target, boards);
}
/// By a message that rank 0 has to apply.
static void add_to_the_other_window(void) {
    const int64_t one = 1;
    MPI_Accumulate(&one, 1, MPI_INT64_T, 0, offsetof(struct board, added), 1, MPI_INT64_T, MPI_SUM,
                   boards);
    MPI_Win_flush(0, boards);
}

static void hold(void) {
    struct sigaction action = {.sa_sigaction = wait_under_the_lock, .sa_flags = SA_SIGINFO}, before;
    forbidden = mmap(NULL, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (forbidden == MAP_FAILED || sigaction(SIGSEGV, &action, &before) != 0)
        fail("no memory that may not be read");
    MPI_Accumulate(forbidden, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, held);
    sigaction(SIGSEGV, &before, NULL);
    if (all_sent_meanwhile < 0)
        fail("the accumulate did not read what it was to add");
    if (all_sent_meanwhile != 0)
        fail("all accumulates were sent while none of them could be applied");
}

static void send_what_waits(void) {
    double* const ones = malloc(ELEMENTS * sizeof *ones);
    for (int i = 0; i < ELEMENTS; ++i)
        ones[i] = 1;
    for (int64_t n = 1; n <= MESSAGES; ++n) {
        MPI_Accumulate(ones, ELEMENTS, MPI_DOUBLE, 0, 0, ELEMENTS, MPI_DOUBLE, MPI_SUM, held);
        __atomic_store_n(&board->sent, n, __ATOMIC_RELEASE);
        if (n == 1) // behind the first, on the same way
            add_to_the_other_window();
    }
    write_board(0, offsetof(struct board, all_sent), 1);
    MPI_Win_flush(0, held);
    free(ones);
}

/// Uses the other window until rank 1 sends no more.
static int64_t use_the_other_window(void) {
    int64_t sent = 0, added = 0;
    for (int still = 0; still < STANDSTILL; ++added) {
        add_to_the_other_window();
        const int64_t now = read_board(1, offsetof(struct board, sent));
        still = now == sent && now != 0 ? still + 1 : 0;
        sent = now;
    }
    write_board(0, offsetof(struct board, go), 1);
    return added;
}

static void check(const double* sums, int64_t added) {
    MPI_Bcast(&added, 1, MPI_INT64_T, 2, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    for (int i = 0; i < ELEMENTS; ++i)
        if (sums[i] != MESSAGES)
            fail("accumulates were lost");
    if (board->added != added + 1)
        fail("accumulates of the other window were lost");
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct board* const mine = calloc(1, sizeof *mine);
    double* const sums = calloc(ELEMENTS, sizeof *sums);
    board = mine;
    MPI_Win_create(mine, sizeof *mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &boards);
    MPI_Win_create(sums, ELEMENTS * sizeof *sums, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &held);
    MPI_Win_lock_all(0, boards);
    MPI_Win_lock_all(0, held);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t added = 0;
    if (rank == 0) {
        hold();
    } else {
        while (read_board(0, offsetof(struct board, inside)) == 0)
            ;
        if (rank == 1)
            send_what_waits();
        else
            added = use_the_other_window();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check(sums, added);
    MPI_Win_unlock_all(held);
    MPI_Win_unlock_all(boards);
    MPI_Win_free(&held);
    MPI_Win_free(&boards);
    MPI_Finalize();
    free(sums);
    free(mine);
    return 0;
}
