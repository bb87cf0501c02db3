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
void use_all(Site& site) {
    for (int target = 0; target < site.size; ++target) {
        site.worker.post_add(site.peer(target), site.address(target, 0), site.key(target), 1);
        site.worker.fetch(site.waiter, site.peer(target), Fetch::add, site.address(target, 1),
                          site.key(target), 1);
    }
    site.worker.flush_all(site.waiter);
}

TEST_P(Close, AllAtOnce) {
    run(4, GetParam(), [](Site& site) {
        use_all(site);
        site.fence();
        EXPECT_EQ(site.memory[0], 4u);
        EXPECT_EQ(site.memory[1], 4u);
    });
}

TEST_P(Close, OneAfterTheOtherWithoutHelp) {
    run_world(3, GetParam(), [](Processes& world) {
        Site site(world, default_options(world), 64);
        use_all(site);
        site.fence();
        for (int rank = 0; rank < site.size; ++rank) {
            if (rank == site.rank) {
                site.keys.clear();
                site.registration = {};
                site.owned.reset();
            }
            world.gather({});
        }
    });
}

TEST_P(Close, AfterTheOthersHaveGone) {
    run_world(3, GetParam(), [](Processes& world) {
        Site site(world, default_options(world), 64);
        use_all(site);
        site.fence();
        if (site.rank != 0)
            _exit(0); // nothing is closed, as where a process is killed
        EXPECT_THROW(world.gather({}, [] {}), std::runtime_error) << "the others have gone";
        const auto start = Clock::now();
        site.keys.clear();
        site.registration = {};
        site.owned.reset();
        EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
    });
}

TEST_P(Close, WithEndpointsThatWereNeverUsed) {
    run(3, GetParam(), [](Site& site) {
        if (site.rank == 0)
            use_all(site);
        site.fence();
    });
}

TEST_P(Close, AWorkerAfterAnother) {
    run_world(2, GetParam(), [](Processes& world) {
        for (int round = 0; round < 5; ++round) {
            Site site(world, default_options(world), 64);
            {
                ProgressThread thread(site.worker);
                use_all(site);
                site.fence_asleep();
            }
            EXPECT_EQ(site.memory[0], 2u);
            site.fence();
        }
    });
}

} // namespace
} // namespace rmalock::ucx::test
