// A peer that goes, where the worker goes on without it: what is under way to it ends, nothing else does.
#include <utility>

#include "processes.hh"

namespace rmalock::ucx::test {
namespace {

constexpr int kLost = 2;

/// Three processes, the last of which does not serve until the others have done `body`. Over TCP, where a
/// get and an atomic need the peer.
void beside_a_silent_one(const std::function<void(Participant&)>& body) {
    run_world(3, kTcp, [&](Processes& world) {
        Worker::Options options = default_options(world);
        options.goes_on_without_peers = true;
        Participant here(world, options, 64);
        for (int target = 0; target < here.size; ++target)
            here.worker.fetch(here.waiter, here.peer(target), Fetch::add, here.address(target, 0),
                              here.key(target), 1);
        here.fence();
        if (here.rank == kLost) {
            here.fence_asleep();
        } else {
            body(here);
            here.fence();
        }
        here.fence(); // what the silent one answers now nobody waits for
    });
}

void lose(Participant& here) {
    here.worker.lose(static_cast<std::uint64_t>(kLost), "the test says so");
}

TEST(Lost, PutsAndGetsUnderWayAreLost) {
    beside_a_silent_one([](Participant& here) {
        // Static: the silent one answers in the end, as one that has failed does not.
        static std::uint64_t mine = 0;
        Completion get, put;
        here.worker.get(here.peer(kLost), &mine, sizeof mine, here.address(kLost, 0),
                        here.key(kLost), &get);
        EXPECT_FALSE(get.done());
        lose(here);
        EXPECT_TRUE(get.done() && get.lost()) << "it was under way";
        EXPECT_TRUE(here.peer(kLost).lost() && Worker::complete_here(here.peer(kLost)));
        here.worker.put(here.peer(kLost), &mine, sizeof mine, here.address(kLost, 0),
                        here.key(kLost), &put);
        EXPECT_TRUE(put.done() && put.lost()) << "it came too late";
        here.worker.flush(here.waiter, here.peer(kLost));
        here.worker.flush_all(here.waiter);
        EXPECT_EQ(mine, 0u);
    });
}

TEST(Lost, AFetchIsInVain) {
    beside_a_silent_one([](Participant& here) {
        lose(here);
        EXPECT_THROW(here.worker.fetch(here.waiter, here.peer(kLost), Fetch::add,
                                       here.address(kLost, 1), here.key(kLost), 1),
                     PeerLost);
        EXPECT_THROW(here.worker.read_word(here.waiter, here.peer(kLost), here.address(kLost, 1),
                                           here.key(kLost)),
                     PeerLost);
    });
}

TEST(Lost, WhatIsDoneOnceMayBeUndone) {
    run(2, kTcp, [](Participant& here) {
        bool done = false;
        EXPECT_NO_THROW(here.worker.wait_for(here.waiter, here.peer(1 - here.rank), [&] {
            return std::exchange(done, !done);
        })) << "another thread has sent the next message since";
    });
}

TEST(Lost, OthersAreAsTheyWere) {
    beside_a_silent_one([](Participant& here) {
        const int other = 1 - here.rank;
        here.worker.send_word(here.peer(kLost), WordOp::add, here.address(kLost, 2), 1);
        here.worker.post_add(here.peer(kLost), here.address(kLost, 3), here.key(kLost), 1);
        lose(here);
        here.worker.send_word(here.peer(kLost), WordOp::add, here.address(kLost, 2), 1);
        here.worker.post_add(here.peer(other), here.address(other, 1), here.key(other), 1);
        here.worker.send_word(here.peer(other), WordOp::add, here.address(other, 2), 1);
        here.worker.flush_all(here.waiter);
        EXPECT_EQ(here.worker.read_word(here.waiter, here.peer(other), here.address(other, 1),
                                        here.key(other)),
                  1u);
        EXPECT_EQ(here.worker.read_word(here.waiter, here.peer(other), here.address(other, 2),
                                        here.key(other)),
                  1u);
    });
}

} // namespace
} // namespace rmalock::ucx::test
