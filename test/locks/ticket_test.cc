// The ticket lock: it excludes, it serves in order, and its counters may wrap.
#include "locks/parts/ticket.hh"

#include <atomic>
#include <thread>

#include "harness/stress.hh"

namespace rmalock::test {
namespace {

using F = StressFabric;
using Lock = locks::Ticket<fabric::CpuFabric>;
constexpr fabric::Rank kTarget = 0;
constexpr fabric::Value kTicket = fabric::Value{1} << 32, kLast = kTicket - 1;

TEST(Ticket, ExcludesUnderStress) {
    stress<Adapter<locks::Ticket<F>>>(
        {.ranks = 4, .slots = 1, .rounds = 1500, .writer_percent = 70, .held_at_once = 2});
}

/// A holder that releases and asks again at once comes after the one that has waited.
TEST(Ticket, AWaiterGoesBeforeAHolderThatComesBack) {
    constexpr int kTimes = 1000;
    const ThreadWords words(2, 1);
    fabric::CpuFabric here = words.fabric(0), there = words.fabric(1);
    Lock mine(here, 0), theirs(there, 0);
    std::atomic<int> served{0};
    for (int n = 0; n < kTimes; ++n) {
        const fabric::Value before = here.get({kTarget, 0});
        locks::Hold hold = mine.acquire_exclusive(kTarget);
        std::thread waiter([&] {
            const locks::Hold got = theirs.acquire_exclusive(kTarget);
            ++served;
            theirs.release_exclusive(kTarget, got);
        });
        while (here.get({kTarget, 0}) - before != 2 * kTicket) // until it has come
            std::this_thread::yield();
        EXPECT_EQ(served, n);
        mine.release_exclusive(kTarget, hold);
        hold = mine.acquire_exclusive(kTarget);
        EXPECT_EQ(served, n + 1);
        mine.release_exclusive(kTarget, hold);
        waiter.join();
    }
}

TEST(Ticket, CountersWrap) {
    const ThreadWords words(2, 1);
    fabric::CpuFabric here = words.fabric(0), there = words.fabric(1);
    Lock mine(here, 0), theirs(there, 0);
    here.put({kTarget, 0}, kLast << 32 | kLast); // free, and the next ticket is the last one
    const locks::Hold hold = mine.acquire_exclusive(kTarget);
    EXPECT_EQ(here.get({kTarget, 0}), kLast);
    std::thread waiter(
        [&] { theirs.release_exclusive(kTarget, theirs.acquire_exclusive(kTarget)); });
    while (here.get({kTarget, 0}) != (kTicket | kLast)) // the first ticket is given out again
        std::this_thread::yield();
    mine.release_exclusive(kTarget, hold);
    waiter.join();
    EXPECT_EQ(here.get({kTarget, 0}), kTicket | 1);
    mine.release_exclusive(kTarget, mine.acquire_exclusive(kTarget));
    EXPECT_EQ(here.get({kTarget, 0}), 2 * kTicket | 2);
}

} // namespace
} // namespace rmalock::test
