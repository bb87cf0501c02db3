// How a worker closes: quietly and soon, whatever the others do.
#include <unistd.h>

#include <chrono>

#include "processes.hh"
#include "ucx_glue/progress_thread.hh"

namespace rmalock::ucx::test {
namespace {

using Clock = std::chrono::steady_clock;

class Close : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Over, Close, testing::Values(kTcp, kShared, kAny),
                         [](const auto& given) { return std::string(given.param.name); });

/// Everybody does something to everybody.
void use_all(Participant& here) {
    for (int target = 0; target < here.size; ++target) {
        here.worker.post_add(here.peer(target), here.address(target, 0), here.key(target), 1);
        here.worker.fetch(here.waiter, here.peer(target), Fetch::add, here.address(target, 1),
                          here.key(target), 1);
    }
    here.worker.flush_all(here.waiter);
}

TEST_P(Close, AllAtOnce) {
    run(4, GetParam(), [](Participant& here) {
        use_all(here);
        here.fence();
        EXPECT_EQ(here.memory[0], 4u);
        EXPECT_EQ(here.memory[1], 4u);
    });
}

TEST_P(Close, OneAfterTheOtherWithoutHelp) {
    run_world(3, GetParam(), [](Processes& world) {
        Participant here(world, default_options(world), 64);
        use_all(here);
        here.fence();
        for (int rank = 0; rank < here.size; ++rank) {
            if (rank == here.rank) {
                here.keys.clear();
                here.registration = {};
                here.owned.reset();
            }
            world.gather({});
        }
    });
}

TEST_P(Close, AfterTheOthersHaveGone) {
    run_world(3, GetParam(), [](Processes& world) {
        Participant here(world, default_options(world), 64);
        use_all(here);
        here.fence();
        if (here.rank != 0)
            _exit(0); // nothing is closed, as where a process is killed
        EXPECT_THROW(world.gather({}, [] {}), std::runtime_error) << "the others have gone";
        const auto start = Clock::now();
        here.keys.clear();
        here.registration = {};
        here.owned.reset();
        EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
    });
}

TEST_P(Close, WithEndpointsThatWereNeverUsed) {
    run(3, GetParam(), [](Participant& here) {
        if (here.rank == 0)
            use_all(here);
        here.fence();
    });
}

TEST_P(Close, AWorkerAfterAnother) {
    run_world(2, GetParam(), [](Processes& world) {
        for (int round = 0; round < 5; ++round) {
            Participant here(world, default_options(world), 64);
            {
                ProgressThread thread(here.worker);
                use_all(here);
                here.fence_asleep();
            }
            EXPECT_EQ(here.memory[0], 2u);
            here.fence();
        }
    });
}

} // namespace
} // namespace rmalock::ucx::test
