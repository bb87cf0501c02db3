// Waits that sleep: the verb that ends a wait wakes the sleeper.
#include "fabric/bell.hh"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "harness/thread_words.hh"
#include "network/doorbell.hh"

namespace rmalock {
namespace {

using namespace std::chrono_literals;
using fabric::CpuFabric;
using fabric::Value;
using fabric::Word;

/// One sleep that nobody ended costs more than all that the test does.
constexpr std::chrono::seconds kMostSleep{20};
constexpr Value kRounds = 3000;

/// Where two processes sleep at their doorbells.
class Pair : public fabric::Dormitory {
  public:
    explicit Pair(fabric::Rank self)
        : Dormitory(Marks{1} << self), self_(self), doorbell_(name_of(self)) {
        EXPECT_TRUE(doorbell_.works());
    }
    void wake(Marks marks) override {
        for (const fabric::Rank rank : {0, 1})
            if ((marks & Marks{1} << rank) != 0 && rank != self_)
                doorbell_.ring(name_of(rank));
    }
    void sleep() override {
        pollfd event{doorbell_.descriptor(), POLLIN, 0};
        poll(&event, 1, std::chrono::milliseconds(kMostSleep).count());
        doorbell_.answer([](std::uint32_t) {});
    }

  private:
    static std::uint64_t name_of(fabric::Rank rank) {
        return static_cast<std::uint64_t>(getpid()) << 8 | static_cast<std::uint64_t>(rank);
    }

    const fabric::Rank self_;
    const network::Doorbell doorbell_;
};

/// Goes to sleep as soon as it has to wait.
CpuFabric sleeper(const test::ThreadWords& words, fabric::Rank self, fabric::Dormitory* dormitory) {
    fabric::WordSpace space = words.space();
    space.dormitory = dormitory;
    return {space, self, {.spins = 1, .polls_before_sleep = 1, .most_sleep = kMostSleep}};
}

/// Ends all waits of a test that has failed.
void give_up(CpuFabric& fabric) {
    constexpr Value kLater = 2 * kRounds;
    for (const fabric::Rank rank : {0, 1}) {
        fabric.swap({rank, 0}, kLater);
        fabric.wake(rank);
    }
}

/// Two threads that have each other wait for words of their own rank, which `set` sets.
template <class Set>
void ping_pong(Set set, bool in_dormitories) {
    const test::ThreadWords words(2, 1);
    Pair pairs[]{Pair(0), Pair(1)};
    const auto end = std::chrono::steady_clock::now() + kMostSleep;
    const auto play = [&](fabric::Rank self) {
        CpuFabric fabric = sleeper(words, self, in_dormitories ? &pairs[self] : nullptr);
        for (Value round = 1; round <= kRounds; ++round) {
            if (self == 0)
                set(fabric, Word{1, 0}, round);
            fabric.await({self, 0}, [round](Value v) { return v >= round; });
            if (std::chrono::steady_clock::now() > end) {
                give_up(fabric);
                FAIL() << "a wake was lost in round " << round;
            }
            if (self == 1)
                set(fabric, Word{0, 0}, round);
        }
    };
    std::thread other(play, 1);
    play(0);
    other.join();
}

/// At the bells, and in dormitories.
class Bells : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, Bells, testing::Values(false, true), [](const auto& dormitories) {
    return dormitories.param ? "Dormitories" : "Futexes";
});

TEST_P(Bells, PutWakesTheWaiter) {
    ping_pong([](CpuFabric& fabric, Word word, Value round) { fabric.put(word, round); },
              GetParam());
}

TEST_P(Bells, AddWakesTheWaiter) {
    ping_pong([](CpuFabric& fabric, Word word, Value) { fabric.add(word, 1); }, GetParam());
}

TEST_P(Bells, WakeIsForWordsThatFetchingVerbsChange) {
    const auto set = [](CpuFabric& fabric, Word word, Value round) {
        fabric.swap(word, round);
        fabric.wake(word.rank);
    };
    ping_pong(set, GetParam());
}

TEST(Bell, SleepEndsByItself) {
    const test::ThreadWords words(1, 1);
    CpuFabric fabric(words.space(), 0, {.spins = 1, .polls_before_sleep = 1, .most_sleep = 1ms});
    std::thread other([&] {
        std::this_thread::sleep_for(5ms);
        CpuFabric(words.space(), 0, {}).swap({0, 0}, 7); // and wakes nobody
    });
    EXPECT_EQ(fabric.await({0, 0}, fabric::differs(0)), 7U);
    other.join();
}

/// Communication goes on: progress runs once for each sleep.
TEST(Bell, ASleeperRunsProgressInBetween) {
    const test::ThreadWords words(1, 1);
    static CpuFabric* message; // what progress gets
    static int looks;
    CpuFabric sender(words.space(), 0, {});
    message = &sender;
    looks = 0;
    const auto progress = [] {
        if (++looks == 3)
            message->swap({0, 0}, 1);
    };
    CpuFabric fabric(
        words.space(), 0,
        {.progress = progress, .spins = 1, .polls_before_sleep = 1, .most_sleep = 1ms});
    fabric.await({0, 0}, fabric::equals(1));
    EXPECT_EQ(looks, 3);
}

} // namespace
} // namespace rmalock
