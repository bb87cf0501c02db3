// Many operations, long ones, and several threads and processes at once.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "processes.hh"
#include "ucx_glue/progress_thread.hh"

namespace rmalock::ucx::test {
namespace {

class Load : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Over, Load, testing::Values(kTcp, kShared, kAny),
                         [](const auto& given) { return std::string(given.param.name); });

std::size_t resident_bytes() {
    std::size_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST_P(Load, AMillionPutsWaitInLittleMemory) {
    static constexpr std::size_t kWords = 1'000'000;
    run_world(2, GetParam(), [](Processes& world) {
        Worker::Options options = default_options(world);
        options.most_outstanding = 64;
        Participant here(world, options, kWords);
        if (here.rank == 0) {
            std::vector<std::uint64_t> mine(kWords);
            std::iota(mine.begin(), mine.end(), 1u);
            here.worker.read_word(here.waiter, here.peer(1), here.address(1, 0), here.key(1));
            here.fence_asleep(); // from here the target does not serve
            Completion complete;
            const std::size_t before = resident_bytes();
            for (std::size_t n = 0; n < kWords; ++n)
                here.worker.put(here.peer(1), &mine[n], sizeof mine[n], here.address(1, n),
                                here.key(1), &complete);
            EXPECT_LT(resident_bytes() - before, 100'000'000u);
            here.fence_asleep();
            here.worker.flush(here.waiter, here.peer(1));
            EXPECT_TRUE(complete.done());
            const Counters counters = here.worker.counters();
            EXPECT_EQ(counters.puts, kWords);
            EXPECT_EQ(counters.flushes, 1u);
        } else {
            here.fence();
            here.fence_asleep();
        }
        here.fence();
        for (std::size_t n = 0; here.rank == 1 && n < kWords; ++n)
            ASSERT_EQ(here.memory[n], n + 1);
        here.fence();
    });
}

TEST_P(Load, APeerThatDoesNotServeHoldsUpNobodyElse) {
    static constexpr std::size_t kWords = 200'000;
    run(
        3, GetParam(),
        [](Participant& here) {
            for (int target = 0; target < here.size; ++target) // connects
                here.worker.read_word(here.waiter, here.peer(target), here.address(target, 0),
                                      here.key(target));
            here.fence();
            const std::uint64_t value = 7;
            const auto put = [&](int target, std::size_t word) {
                here.worker.put(here.peer(target), &value, sizeof value, here.address(target, word),
                                here.key(target));
            };
            if (here.rank == 0) {
                for (std::size_t n = 0; n < kWords; ++n)
                    put(1, n);
                for (std::size_t n = 0; n < 100; ++n)
                    put(2, n);
                here.worker.flush(here.waiter, here.peer(2));
                put(2, 100);
                here.worker.flush(here.waiter, here.peer(2));
                here.fence_asleep();
                here.worker.flush_all(here.waiter);
            } else if (here.rank == 1) {
                here.fence_asleep(); // until the others are done with each other
            } else {
                here.fence();
            }
            here.fence();
            for (std::size_t n = 0; n < (here.rank == 1 ? kWords : 0); ++n)
                ASSERT_EQ(here.memory[n], 7u);
            for (std::size_t n = 0; n < (here.rank == 2 ? 101u : 0u); ++n)
                ASSERT_EQ(here.memory[n], 7u);
        },
        kWords);
}

TEST_P(Load, LongPutsAndGetsBothWays) {
    static constexpr std::size_t kWords = 8'000'000; // 64 MB
    run(
        2, GetParam(),
        [](Participant& here) {
            const int other = 1 - here.rank;
            const auto value = [](int rank, std::size_t n) {
                return n * 3 + static_cast<std::uint64_t>(rank);
            };
            std::vector<std::uint64_t> mine(kWords);
            for (std::size_t n = 0; n < kWords; ++n)
                mine[n] = value(here.rank, n);
            Completion put, get;
            here.worker.put(here.peer(other), mine.data(), kWords * 8, here.address(other, 0),
                            here.key(other), &put);
            here.worker.wait_for(here.waiter, [&] { return put.done(); });
            std::fill(mine.begin(), mine.end(), 0);
            here.worker.flush_all(here.waiter);
            here.fence();
            for (std::size_t n = 0; n < kWords; ++n)
                ASSERT_EQ(here.memory[n], value(other, n));
            here.worker.get(here.peer(other), mine.data(), kWords * 8, here.address(other, 0),
                            here.key(other), &get);
            here.worker.flush_local_all(here.waiter);
            EXPECT_TRUE(get.done());
            for (std::size_t n = 0; n < kWords; ++n)
                ASSERT_EQ(mine[n], value(here.rank, n));
        },
        kWords);
}

TEST_P(Load, AtomicsOfAllAndOfTheOwnersCpuAddUp) {
    static constexpr std::uint64_t kTimes = 3000;
    run(3, GetParam(), [](Participant& here) {
        const std::atomic_ref added(here.memory[0]), posted(here.memory[1]),
            swapped(here.memory[2]);
        ProgressThread thread(here.worker);
        here.fence_asleep();
        std::uint64_t last = 0;
        for (std::uint64_t n = 0; n < kTimes; ++n) {
            if (here.rank == 0) { // the owner
                added.fetch_add(1);
                posted.fetch_add(1);
                std::uint64_t was = swapped.load();
                while (!swapped.compare_exchange_weak(was, was + 1)) {
                }
                continue;
            }
            const auto fetch = [&](Fetch what, std::size_t word, std::uint64_t a, std::uint64_t b) {
                return here.worker.fetch(here.waiter, here.peer(0), what, here.address(0, word),
                                         here.key(0), a, b);
            };
            const std::uint64_t now = fetch(Fetch::add, 0, 1, 0);
            EXPECT_TRUE(n == 0 || now > last);
            last = now;
            here.worker.post_add(here.peer(0), here.address(0, 1), here.key(0), 1);
            for (std::uint64_t guess = 0, was;; guess = was)
                if ((was = fetch(Fetch::compare_swap, 2, guess, guess + 1)) == guess)
                    break;
        }
        here.worker.flush_all(here.waiter);
        here.fence();
        if (here.rank == 0) {
            EXPECT_EQ(added, 3 * kTimes);
            EXPECT_EQ(posted, 3 * kTimes);
            EXPECT_EQ(swapped, 3 * kTimes);
        }
    });
}

TEST_P(Load, SwapsHandEachValueOverOnce) {
    static constexpr std::uint64_t kTimes = 3000;
    run(3, GetParam(), [](Participant& here) {
        // What was swapped in is swapped out by somebody, once, or is there in the end.
        std::uint64_t sum = 0;
        for (std::uint64_t n = 1; n <= kTimes; ++n)
            sum += here.worker.fetch(here.waiter, here.peer(0), Fetch::swap, here.address(0, 0),
                                     here.key(0), n * 3 + static_cast<std::uint64_t>(here.rank));
        here.worker.fetch(here.waiter, here.peer(0), Fetch::add, here.address(0, 1), here.key(0),
                          sum);
        here.fence();
        if (here.rank == 0) {
            EXPECT_EQ(here.memory[0] + here.memory[1],
                      3 * 3 * kTimes * (kTimes + 1) / 2 + 3 * kTimes);
        }
    });
}

TEST_P(Load, StoredWordsAreNeverTorn) {
    static constexpr std::uint64_t kTimes = 20'000, kSame = 0x0101010101010101;
    const auto whole = [](std::uint64_t word) { return word == (word & 0xff) * kSame; };
    run(3, GetParam(), [=](Participant& here) {
        const std::atomic_ref word(here.memory[0]), over(here.memory[1]);
        if (here.rank == 0) {
            here.worker.wait_for(here.waiter, [&] {
                EXPECT_TRUE(whole(word.load()));
                return over.load() == 2;
            });
        } else {
            for (std::uint64_t n = 0; n < kTimes; ++n) {
                here.worker.send_word(here.peer(0), WordOp::store, here.address(0, 0),
                                      (n * 7 % 256) * kSame);
                here.worker.post_store(here.peer(0), here.address(0, 0), here.key(0),
                                       (n * 5 % 256) * kSame);
                if (n % 100 == 0) {
                    EXPECT_TRUE(whole(here.worker.read_word(here.waiter, here.peer(0),
                                                            here.address(0, 0), here.key(0))));
                }
            }
            here.worker.flush(here.waiter, here.peer(0));
            here.worker.fetch(here.waiter, here.peer(0), Fetch::add, here.address(0, 1),
                              here.key(0), 1);
        }
    });
}

/// All connect to all at once, and what goes over a connection first is a put.
TEST_P(Load, PutsComeFirst) {
    for (int time = 0; time < 10; ++time)
        run(4, GetParam(), [](Participant& here) {
            const auto mine = static_cast<std::size_t>(here.rank);
            std::uint64_t values[4] = {};
            for (int to = 0; to < 4; ++to) {
                values[to] = 10 * mine + static_cast<std::uint64_t>(to);
                here.worker.put(here.peer(to), &values[to], sizeof values[to],
                                here.address(to, mine), here.key(to));
                if (to % 2 != 0)
                    here.worker.flush(here.waiter, here.peer(to));
            }
            here.worker.flush_all(here.waiter);
            here.fence();
            for (std::size_t from = 0; from < 4; ++from)
                EXPECT_EQ(here.memory[from], 10 * from + mine);
        });
}

/// What a thread has put is there when its own flush returns, whatever the others flush meanwhile.
TEST_P(Load, ThreadsShareAWorker) {
    static constexpr std::size_t kThreads = 4;
    static constexpr std::uint64_t kTimes = 300;
    run(2, GetParam(), [](Participant& here) {
        const int other = 1 - here.rank;
        ProgressThread server(here.worker);
        here.fence_asleep();
        const auto work = [&](std::size_t mine) {
            for (std::uint64_t n = 1; n <= kTimes; ++n) {
                here.worker.post_add(here.peer(other), here.address(other, 0), here.key(other), 1);
                here.worker.send_word(here.peer(other), WordOp::add, here.address(other, 1), 1);
                here.worker.put(here.peer(other), &n, sizeof n, here.address(other, 8 + mine),
                                here.key(other));
                if (n % 2 == 0)
                    here.worker.flush(here.waiter, here.peer(other));
                else
                    here.worker.flush_all(here.waiter);
                EXPECT_EQ(here.worker.read_word(here.waiter, here.peer(other),
                                                here.address(other, 8 + mine), here.key(other)),
                          n);
            }
        };
        std::vector<std::thread> threads;
        for (std::size_t n = 0; n < kThreads; ++n)
            threads.emplace_back(work, n);
        for (std::thread& thread : threads)
            thread.join();
        here.fence_asleep();
        EXPECT_EQ(std::atomic_ref(here.memory[0]).load(), kThreads * kTimes);
        EXPECT_EQ(std::atomic_ref(here.memory[1]).load(), kThreads * kTimes);
    });
}

/// Gets from a peer that follow each other without end, as of another thread: with every round of progress new
/// ones go out, so that a waiter never finds none under way.
class EndlessGets {
  public:
    EndlessGets(Participant& here, int target) : here_(here), target_(target) {
        the_ones = this;
        waiter.progress = [] {
            the_ones->here_.worker.progress();
            the_ones->go_on();
        };
        waiter.spins = 0; // no round but those
    }
    ~EndlessGets() {
        here_.worker.wait_for(here_.waiter, [this] {
            return std::all_of(gets_.begin(), gets_.end(),
                               [](Get& get) { return get.part.done(); });
        });
    }
    EndlessGets(const EndlessGets&) = delete;
    EndlessGets& operator=(const EndlessGets&) = delete;

    /// From here on until the next wait is over; one that does not end beside them fails.
    void begin_wait() {
        begun_ = 0;
        go_on();
    }
    fabric::Waiter waiter;

  private:
    struct Get {
        std::uint64_t into = 0;
        Completion part;
    };
    static constexpr int kMostInAWait = 200'000;

    void go_on() {
        for (Get& get : gets_)
            if (get.part.done()) {
                here_.worker.get(here_.peer(target_), &get.into, sizeof get.into,
                                 here_.address(target_, 0), here_.key(target_), &get.part);
                if (++begun_ > kMostInAWait)
                    throw std::runtime_error("a wait for gets that began later");
            }
    }
    static inline EndlessGets* the_ones = nullptr;

    Participant& here_;
    const int target_;
    int begun_ = 0;
    std::array<Get, 8> gets_;
};

TEST(Flush, EndsBesideGetsWithoutEnd) {
    run(2, kTcp, [](Participant& here) {
        if (here.rank != 0)
            return;
        Worker& worker = here.worker;
        Peer& peer = here.peer(1);
        const auto read = [&] {
            return worker.read_word(here.waiter, peer, here.address(1, 1), here.key(1));
        };
        std::uint64_t value = read(); // the first get waits for the connection
        EndlessGets gets(here, 1);
        const auto ends = [&](bool puts, const std::function<void()>& flush) {
            gets.begin_wait();
            ++value;
            if (puts)
                worker.put(peer, &value, sizeof value, here.address(1, 1), here.key(1));
            flush();
            EXPECT_FALSE(Worker::complete_here(peer)) << "there were none under way";
        };
        for (int n = 0; n < 20; ++n)
            for (const bool puts : {false, true}) {
                ends(puts, [&] { worker.flush(gets.waiter, peer); });
                ends(puts, [&] { worker.flush_data(gets.waiter, peer); });
                ends(puts, [&] { worker.flush_all(gets.waiter); });
                ends(puts, [&] { worker.flush_local(gets.waiter, peer); });
                if (puts)
                    worker.flush(gets.waiter, peer);
                EXPECT_TRUE(!puts || read() == value);
            }
    });
}

TEST_P(Load, FlushAllWaitsForEverybody) {
    run(4, GetParam(), [](Participant& here) {
        std::uint64_t value = 1;
        for (; value <= 50; ++value) {
            for (int target = 0; target < here.size; ++target)
                here.worker.put(here.peer(target), &value, sizeof value,
                                here.address(target, static_cast<std::size_t>(here.rank)),
                                here.key(target));
            here.worker.flush_all(here.waiter);
            here.fence();
            for (int origin = 0; origin < here.size; ++origin)
                EXPECT_EQ(here.memory[static_cast<std::size_t>(origin)], value);
            here.fence();
        }
        EXPECT_EQ(here.worker.counters().flushes, 4 * 50u);
    });
}

} // namespace
} // namespace rmalock::ucx::test
