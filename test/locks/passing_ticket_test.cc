// The ticket lock with bounded bypass: it excludes, and a waiter that does not run is passed
// `passes` times, and no more.
#include "locks/parts/passing_ticket.hh"

#include <atomic>
#include <thread>

#include "harness/stress.hh"

namespace rmalock::test {
namespace {

constexpr fabric::Rank kTarget = 0;
constexpr fabric::Value kLimit = 5;

struct Passing : locks::PassingTicket<StressFabric> {
    Passing(StressFabric& fabric, fabric::Slot home) : PassingTicket(fabric, home, kLimit) {}
};

TEST(PassingTicket, ExcludesUnderStress) {
    stress<Adapter<Passing>>(
        {.ranks = 4, .slots = 1, .rounds = 1500, .writer_percent = 70, .held_at_once = 2});
}

/// Of a process that gets no core once it waits, until it is told that it has one.
struct Descheduled : fabric::CpuFabric {
    Descheduled(fabric::CpuFabric all, const std::atomic<bool>& runs)
        : CpuFabric(all), runs_(runs) {}
    template <fabric::Predicate P>
    fabric::Value await(fabric::Word w, P pred) {
        runs_.wait(false);
        return CpuFabric::await(w, pred);
    }

  private:
    const std::atomic<bool>& runs_;
};

class PassingTicketQueue : public testing::Test {
  protected:
    using Lock = locks::PassingTicket<fabric::CpuFabric>;
    using TheirLock = locks::PassingTicket<Descheduled>;

    /// Another process comes while this one holds the lock, and waits.
    void let_somebody_wait() {
        lock.acquire_exclusive(kTarget);
        const fabric::Value alone = here.get({kTarget, 0});
        thread = std::thread([this] {
            their_lock.acquire_exclusive(kTarget);
            got_it = true;
            their_lock.release_exclusive(kTarget, {});
        });
        while (here.get({kTarget, 0}) == alone) // it has not queued yet
            std::this_thread::yield();
        lock.release_exclusive(kTarget, {});
    }
    /// How often the lock can be had without waiting for anybody.
    fabric::Value times_passed() {
        fabric::Value times = 0;
        for (; times < 10 * kLimit && lock.try_acquire_exclusive(kTarget); ++times)
            lock.release_exclusive(kTarget, {});
        return times;
    }
    void let_it_run() {
        runs = true;
        runs.notify_all();
    }

    const ThreadWords words{2, 1};
    std::atomic<bool> runs{false}, got_it{false};
    fabric::CpuFabric here = words.fabric(0);
    Descheduled there{words.fabric(1), runs};
    Lock lock{here, 0, kLimit};
    TheirLock their_lock{there, 0, kLimit};
    std::thread thread;
};

TEST_F(PassingTicketQueue, AWaiterThatDoesNotRunIsPassedALimitedNumberOfTimes) {
    let_somebody_wait();
    EXPECT_EQ(times_passed(), kLimit);
    EXPECT_FALSE(got_it);
    let_it_run();
    thread.join();
    EXPECT_EQ(here.get({kTarget, 0}), 0U) << "free, and as if nobody had waited";
    EXPECT_EQ(times_passed(), 10 * kLimit) << "nobody waits that could be passed";
}

TEST_F(PassingTicketQueue, AProcessThatMayNotPassQueuesBehind) {
    let_somebody_wait();
    EXPECT_EQ(times_passed(), kLimit);
    let_it_run();
    lock.acquire_exclusive(kTarget);
    EXPECT_TRUE(got_it);
    lock.release_exclusive(kTarget, {});
    thread.join();
    EXPECT_EQ(here.get({kTarget, 0}), 0U);
}

} // namespace
} // namespace rmalock::test
