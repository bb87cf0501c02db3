// What a lock and unlock of another host's target costs beside a bare fetch-and-add: the same two
// ranks, in one run, by turns. The atomic goes over a worker of this program, which is the
// component's (ucx_glue), and the target waits in the same loop of MPI_Test in both.
//
// It takes two ranks, which are origin and target and change places every tenth of a second: on
// virtual hosts the origin's core does most of the system's work of both, and where something else
// slows one core for a while, one direction alone would show that. Run it with the lock to measure,
// `--mca osc_rmalock_lock direct_passive`, and with `--mca osc_rmalock_yield never`: the atomic
// waits like that. Under another component it shows what that takes.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ucx_glue/memory.hh"
#include "ucx_glue/worker.hh"

namespace {

using namespace rmalock;

constexpr int kPlaces = 20; ///< how often each rank is the origin
constexpr int kPairs = 100, kRounds = 30;

/// A worker and a word here, and what reaches those of the other rank.
struct Bare {
    explicit Bare(int rank)
        : worker({.self = static_cast<ucx::PeerId>(rank + 1)}),
          registration(worker, &word, sizeof word) {
        const int other = 1 - rank;
        const ucx::Bytes key = registration.key();
        const ucx::Bytes where = swapped(worker.address(), other), opener = swapped(key, other);
        const auto mine = reinterpret_cast<std::uint64_t>(&word);
        MPI_Sendrecv(&mine, 1, MPI_UINT64_T, other, 0, &address, 1, MPI_UINT64_T, other, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        target = &worker.introduce(static_cast<ucx::PeerId>(other + 1), where);
        remote = ucx::RemoteKey(worker, *target, opener);
    }

    /// What the other rank gives for `mine`; it may be longer or shorter.
    static ucx::Bytes swapped(const ucx::Bytes& mine, int other) {
        int sent = static_cast<int>(mine.size()), received = 0;
        MPI_Sendrecv(&sent, 1, MPI_INT, other, 0, &received, 1, MPI_INT, other, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        ucx::Bytes theirs(static_cast<std::size_t>(received));
        MPI_Sendrecv(mine.data(), sent, MPI_BYTE, other, 0, theirs.data(), received, MPI_BYTE,
                     other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return theirs;
    }

    void add() { worker.fetch(fabric::Waiter(), *target, ucx::Fetch::add, address, remote, 1); }

    alignas(64) std::uint64_t word = 0;
    ucx::Worker worker;
    ucx::Registration registration;
    ucx::Peer* target = nullptr;
    ucx::RemoteKey remote;
    ucx::RemoteAddress address = 0;
};

/// Virtual hosts share the cores of one machine, and two ranks that wait on one core would wait for
/// time slices of the scheduler. Only this thread: a progress thread runs where it finds room.
void take_a_core(int rank) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(static_cast<std::size_t>(rank) %
                static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN)),
            &mine);
    sched_setaffinity(0, sizeof mine, &mine); // where it is refused, it is only slower
}

/// Until all have come. Serves the bare worker, and the component by MPI_Test.
void wait_in_mpi(Bare& bare) {
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0; bare.worker.progress())
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

template <class Body>
double microseconds(Body body) {
    const double begin = MPI_Wtime();
    for (int n = 0; n < kRounds; ++n)
        body();
    return (MPI_Wtime() - begin) / kRounds * 1e6;
}

/// A value for each pair of which this rank was the origin.
struct Results {
    std::vector<double> atomics, locks, ratios;
};

/// By turns, so that what else the machine does falls on both.
void measure(Bare& bare, MPI_Win win, int target, Results& results) {
    for (int pair = 0; pair < kPairs; ++pair) {
        results.atomics.push_back(microseconds([&] { bare.add(); }));
        results.locks.push_back(microseconds([&] {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
            MPI_Win_unlock(target, win);
        }));
        results.ratios.push_back(results.locks.back() / results.atomics.back());
    }
}

/// Rank 0 has its own values afterwards, then those of rank 1.
void bring_together(std::vector<double>& values, int rank) {
    const int count = kPlaces * kPairs;
    if (rank == 0)
        values.resize(2 * count);
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : values.data(), count, MPI_DOUBLE, values.data(), count,
               MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// One line: medians, and the ratio's for either origin.
void print(const Results& results) {
    const auto half = results.ratios.begin() + kPlaces * kPairs;
    std::printf("bare atomic %.1f us, lock and unlock %.1f us, median of the ratios %.2f "
                "(from rank 0 %.2f, from rank 1 %.2f)\n",
                median(results.atomics), median(results.locks), median(results.ratios),
                median({results.ratios.begin(), half}), median({half, results.ratios.end()}));
}

void run(int rank) {
    void* memory = nullptr;
    MPI_Win win;
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    Bare bare(rank);
    take_a_core(rank);
    Results results;
    for (int place = 0; place < 2 * kPlaces; ++place) {
        wait_in_mpi(bare);
        if (rank == place % 2)
            measure(bare, win, 1 - rank, results);
        wait_in_mpi(bare);
    }
    for (std::vector<double>* values : {&results.atomics, &results.locks, &results.ratios})
        bring_together(*values, rank);
    if (rank == 0)
        print(results);
    bare.remote = {};
    bare.worker.disconnect();
    wait_in_mpi(bare);
    MPI_Win_free(&win);
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 2)
        run(rank);
    else if (rank == 0)
        std::fprintf(stderr, "lock_and_atomic: takes two ranks, on two hosts; here are %d\n", size);
    MPI_Finalize();
    return size == 2 ? 0 : 1;
}
