// A peer that goes, where the worker goes on without it: what is under way to it ends, nothing else does.
#include <utility>

#include "processes.hh"

namespace rmalock::ucx::test {
namespace {

constexpr int kLost = 2;

/// Three processes, the last of which does not serve until the others have done `body`. Over TCP, where a
/// get and an atomic need the peer.
void beside_a_silent_one(const std::function<void(Site&)>& body) {
    run_world(3, kTcp, [&](Processes& world) {
        Worker::Options options = default_options(world);
        options.goes_on_without_peers = true;
        Site site(world, options, 64);
        for (int target = 0; target < site.size; ++target)
            site.worker.fetch(site.waiter, site.peer(target), Fetch::add, site.address(target, 0),
                              site.key(target), 1);
        site.fence();
        if (site.rank == kLost) {
            site.fence_asleep();
        } else {
            body(site);
            site.fence();
        }
        site.fence(); // what the silent one answers now nobody waits for
    });
}

void lose(Site& site) {
    site.worker.lose(static_cast<std::uint64_t>(kLost), "the test says so");
}

TEST(Lost, PutsAndGetsUnderWayAreLost) {
    beside_a_silent_one([](Site& site) {
        // Static: the silent one answers in the end, as one that has failed does not.
        static std::uint64_t mine = 0;
        Completion get, put;
        site.worker.get(site.peer(kLost), &mine, sizeof mine, site.address(kLost, 0),
                        site.key(kLost), &get);
        EXPECT_FALSE(get.done());
        lose(site);
        EXPECT_TRUE(get.done() && get.lost()) << "it was under way";
        EXPECT_TRUE(site.peer(kLost).lost() && Worker::complete_here(site.peer(kLost)));
        site.worker.put(site.peer(kLost), &mine, sizeof mine, site.address(kLost, 0),
                        site.key(kLost), &put);
        EXPECT_TRUE(put.done() && put.lost()) << "it came too late";
        site.worker.flush(site.waiter, site.peer(kLost));
        site.worker.flush_all(site.waiter);
        EXPECT_EQ(mine, 0u);
    });
}

TEST(Lost, AFetchIsInVain) {
    beside_a_silent_one([](Site& site) {
        lose(site);
        EXPECT_THROW(site.worker.fetch(site.waiter, site.peer(kLost), Fetch::add,
                                       site.address(kLost, 1), site.key(kLost), 1),
                     PeerLost);
        EXPECT_THROW(site.worker.read_word(site.waiter, site.peer(kLost), site.address(kLost, 1),
                                           site.key(kLost)),
                     PeerLost);
    });
}

TEST(Lost, WhatIsDoneOnceMayBeUndone) {
    run(2, kTcp, [](Site& site) {
        bool done = false;
        EXPECT_NO_THROW(site.worker.wait_for(site.waiter, site.peer(1 - site.rank), [&] {
            return std::exchange(done, !done);
        })) << "another thread has sent the next message since";
    });
}

TEST(Lost, OthersAreAsTheyWere) {
    beside_a_silent_one([](Site& site) {
        const int other = 1 - site.rank;
        site.worker.send_word(site.peer(kLost), WordOp::add, site.address(kLost, 2), 1);
        site.worker.post_add(site.peer(kLost), site.address(kLost, 3), site.key(kLost), 1);
        lose(site);
        site.worker.send_word(site.peer(kLost), WordOp::add, site.address(kLost, 2), 1);
        site.worker.post_add(site.peer(other), site.address(other, 1), site.key(other), 1);
        site.worker.send_word(site.peer(other), WordOp::add, site.address(other, 2), 1);
        site.worker.flush_all(site.waiter);
        EXPECT_EQ(site.worker.read_word(site.waiter, site.peer(other), site.address(other, 1),
                                        site.key(other)),
                  1u);
        EXPECT_EQ(site.worker.read_word(site.waiter, site.peer(other), site.address(other, 2),
                                        site.key(other)),
                  1u);
    });
}

} // namespace
} // namespace rmalock::ucx::test
