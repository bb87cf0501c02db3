// A peer that goes, where the worker goes on without it: what is under way to it ends, nothing else does.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "processes.hh"

namespace rmalock::ucx::test {
namespace {

constexpr int kLost = 2;

void ignore(PeerId, std::span<const std::byte>, std::span<const std::byte>) {}

/// Three processes, the last of which does not serve until the others have done `body`. Over TCP, where a
/// get and an atomic need the peer.
void beside_a_silent_one(const std::function<void(Participant&)>& body,
                         void (*lost)(PeerId) = nullptr) {
    run_world(3, kTcp, [&](Processes& world) {
        Worker::Options options = default_options(world);
        options.goes_on_without_peers = true;
        options.handler = ignore;
        options.lost = lost;
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

/// What the system takes of messages to a peer that does not read, at most.
std::size_t most_in_sockets() {
    std::size_t sum = 0;
    for (const char* file : {"/proc/sys/net/ipv4/tcp_wmem", "/proc/sys/net/ipv4/tcp_rmem"}) {
        std::size_t least = 0, usual = 0, most = 0;
        std::ifstream(file) >> least >> usual >> most;
        sum += most;
    }
    return sum;
}

/// There is no room left, and a thread waits for some.
TEST(Lost, MessagesToItTakeNoRoomFromOthers) {
    beside_a_silent_one([](Participant& here) {
        static const std::vector<std::byte> data(4000);
        static const std::byte header[8]{};
        const std::size_t taken = most_in_sockets();
        ASSERT_NE(taken, 0u);
        {
            const auto lock = here.worker.locked();
            for (std::size_t n = 0; n < taken + Worker::kMostBytesOfMessages; n += data.size())
                here.worker.send_locked(here.peer(kLost), header, data);
        }
        std::thread sender([&] { here.worker.send(here.peer(kLost), header, data); });
        while (!here.worker.somebody_inside())
            std::this_thread::yield();
        lose(here);
        sender.join();
        here.worker.send(here.peer(1 - here.rank), header, data);
        here.worker.flush(here.waiter, here.peer(1 - here.rank));
    });
}

/// Of one loss, which one thread finds while another waits.
struct Loss {
    std::atomic<int> seen{0}; ///< looks of the waiting thread that have found the peer lost
    std::atomic<bool> is_complete{false}, has_returned{false};
};
Loss the_loss;

/// The last step of the loss. The waiting thread has seen the loss by then, and gets some time to go on, which
/// it is not to do.
void lose_slowly(PeerId) {
    while (the_loss.seen == 0)
        std::this_thread::yield();
    for (int n = 0; n < 50 && !the_loss.has_returned; ++n)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    the_loss.is_complete = true;
}

/// The caller's buffers may be in use until then.
TEST(Lost, AWaitEndsWhenTheLossIsComplete) {
    beside_a_silent_one(
        [](Participant& here) {
            std::thread waiting([&] {
                EXPECT_THROW(here.worker.wait_for(here.waiter, here.peer(kLost),
                                                  [&] {
                                                      the_loss.seen += here.peer(kLost).lost();
                                                      return false;
                                                  }),
                             PeerLost);
                EXPECT_TRUE(the_loss.is_complete);
                the_loss.has_returned = true;
            });
            lose(here);
            waiting.join();
        },
        lose_slowly);
}

/// UCX says on stdout that it is refused.
void without_output(const std::function<void()>& body) {
    std::fflush(stdout);
    const int kept = dup(STDOUT_FILENO), nowhere = ::open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    body();
    std::fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(nowhere);
    close(kept);
}

/// It may have gone before anything went to it.
TEST(Lost, FirstContactComesTooLate) {
    run_world(2, kTcp, [](Processes& world) {
        Worker::Options options = default_options(world);
        options.goes_on_without_peers = true;
        auto worker = std::make_unique<Worker>(options);
        std::vector<std::uint64_t> memory(8);
        auto registration = std::make_unique<Registration>(*worker, memory.data(),
                                                           memory.size() * sizeof memory.front());
        const auto addresses = world.gather(worker->address());
        const auto keys = world.gather(registration->key());
        if (world.rank() == 1) {
            registration.reset();
            worker.reset();
        }
        world.gather({});
        if (world.rank() == 1)
            return;
        Peer& gone = worker->introduce(peer_id(1), addresses[1], true, 1);
        without_output([&] { EXPECT_THROW(RemoteKey(*worker, gone, keys[1]), PeerLost); });
        EXPECT_TRUE(gone.lost());
        EXPECT_THROW(RemoteKey(*worker, gone, keys[1]), PeerLost);
    });
}

/// What it has sent may arrive when the window has gone.
TEST(Lost, ALateWordIsDropped) {
    run_world(2, kTcp, [](Processes& world) {
        Worker::Options options = default_options(world);
        options.goes_on_without_peers = true;
        Participant here(world, options, 64);
        const int other = 1 - here.rank;
        here.worker.send_word(here.peer(other), WordOp::add, here.address(other, 1), 1);
        here.worker.flush(here.waiter, here.peer(other));
        here.fence();
        if (here.rank == 0)
            here.worker.lose(static_cast<std::uint64_t>(other), "the test says so");
        here.fence();
        if (here.rank == 1) {
            here.worker.send_word(here.peer(0), WordOp::add, here.address(0, 1), 1);
            // The fetch arrives behind the word. UCX answers it, as an adapter would.
            here.worker.fetch(here.waiter, here.peer(0), Fetch::add, here.address(0, 2),
                              here.key(0), 1);
        }
        here.fence();
        if (here.rank == 0) {
            EXPECT_EQ(here.memory[1], 1u);
        }
        here.fence();
    });
}

} // namespace
} // namespace rmalock::ucx::test
