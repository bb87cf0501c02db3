// One reader-writer harness for every lock: threads take random locks on random targets, several at
// a time, and check data that only the lock protects.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "harness/delayed.hh"
#include "harness/section.hh"
#include "harness/thread_words.hh"
#include "locks/lock.hh"

namespace rmalock::test {

/// What a target's lock protects. Two plain words, so that a reader beside a writer sees them
/// differ, a lost update shows in the sum, and ThreadSanitizer reports any missing order.
struct Protected {
    std::uint64_t one = 0;
    std::uint64_t other = 0;
};

struct StressOptions {
    fabric::Rank ranks = 4;
    fabric::Slot slots = 0; ///< per rank
    unsigned rounds = 2000; ///< per thread
    unsigned writer_percent = 40;
    unsigned held_at_once = 2; ///< locks a thread holds at a time, on rising targets
    unsigned section_percent =
        0;                    ///< rounds that are a critical section in one message, of the others
    unsigned all_percent = 0; ///< rounds that take lock_all instead, where the adapter has it
    unsigned seed = 1;
};

using StressFabric = Delayed<fabric::CpuFabric>;

/// An adapter makes the lock of one rank and names its calls; the default fits a ReaderWriterLock.
/// It says whether its critical sections may come in a message (SendsSections).
template <class Lock>
struct Adapter {
    static constexpr bool kSections = false;
    explicit Adapter(StressFabric& fabric) : lock(fabric, 0) {}
    locks::Hold acquire(fabric::Rank target, bool exclusive) {
        return exclusive ? lock.acquire_exclusive(target) : lock.acquire_shared(target);
    }
    void release(fabric::Rank target, bool exclusive, locks::Hold hold) {
        exclusive ? lock.release_exclusive(target, hold) : lock.release_shared(target, hold);
    }
    void acquire_all() {}
    void release_all() {}
    Lock lock;
};

namespace detail {

inline void write(Protected& data) {
    ++data.one;
    std::this_thread::yield(); // invite all that the lock fails to keep out
    ++data.other;
}

inline void read(const Protected& data) {
    const std::uint64_t one = data.one;
    std::this_thread::yield();
    ASSERT_EQ(one, data.other) << "a reader saw a writer at work";
}

template <class A>
void go_through(A& lock, fabric::Rank target, bool exclusive, Protected& data) {
    const auto inside = [&] { exclusive ? write(data) : read(data); };
    const auto [done, over, left] = send_section(lock, target, exclusive, inside);
    if (done && over)
        return;
    const locks::Hold hold = over ? lock.acquire(target, exclusive) : left;
    if (!done)
        inside();
    lock.release(target, exclusive, hold);
}

struct Taken {
    fabric::Rank target;
    bool exclusive;
    locks::Hold hold;
};

/// Takes locks on rising targets (so that the threads of the test cannot deadlock one another),
/// uses the data, releases in random order. Returns how often it wrote each target.
template <class A>
std::vector<std::uint64_t> worker(A& lock, StressFabric& fabric, std::vector<Protected>& data,
                                  const StressOptions& options, unsigned seed) {
    static_assert(A::kSections == SendsSections<A>);
    std::mt19937 random(seed);
    std::vector<std::uint64_t> written(data.size(), 0);
    for (unsigned round = 0; round < options.rounds; ++round) {
        if (random() % 100 < options.all_percent) {
            lock.acquire_all();
            std::for_each(data.begin(), data.end(), read);
            lock.release_all();
            continue;
        }
        std::vector<Taken> taken;
        auto target = static_cast<fabric::Rank>(random() % data.size());
        if constexpr (A::kSections) {
            if (random() % 100 < options.section_percent) {
                const bool exclusive = random() % 100 < options.writer_percent;
                const auto place = static_cast<std::size_t>(target);
                go_through(lock, target, exclusive, data[place]);
                written[place] += exclusive;
                continue;
            }
        }
        for (; target < fabric.size() && taken.size() < options.held_at_once;
             target += 1 + static_cast<fabric::Rank>(random() % 2)) {
            const bool exclusive = random() % 100 < options.writer_percent;
            taken.push_back({target, exclusive, lock.acquire(target, exclusive)});
            Protected& mine = data[static_cast<std::size_t>(target)];
            exclusive ? write(mine) : read(mine);
            written[static_cast<std::size_t>(target)] += exclusive;
        }
        std::shuffle(taken.begin(), taken.end(), random);
        for (const Taken& t : taken)
            lock.release(t.target, t.exclusive, t.hold);
    }
    fabric.land_all();
    return written;
}

} // namespace detail

template <class A>
void stress(const StressOptions& options) {
    const ThreadWords words(options.ranks, options.slots);
    std::vector<Protected> data(static_cast<std::size_t>(options.ranks));
    std::vector<std::vector<std::uint64_t>> written(data.size());
    std::vector<std::thread> threads;
    for (fabric::Rank rank = 0; rank < options.ranks; ++rank)
        threads.emplace_back([&, rank] {
            const unsigned seed = options.seed * 1000 + static_cast<unsigned>(rank);
            StressFabric fabric(words.fabric(rank), seed);
            A lock(fabric);
            written[static_cast<std::size_t>(rank)] =
                detail::worker(lock, fabric, data, options, seed);
        });
    for (std::thread& thread : threads)
        thread.join();
    for (std::size_t target = 0; target < data.size(); ++target) {
        std::uint64_t expected = 0;
        for (const auto& by_rank : written)
            expected += by_rank[target];
        EXPECT_EQ(data[target].one, expected) << "updates of target " << target << " were lost";
        EXPECT_EQ(data[target].other, expected);
    }
}

} // namespace rmalock::test
