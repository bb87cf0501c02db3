// Many operations, long ones, and several threads and processes at once.
#include <unistd.h>

#include <fstream>
#include <numeric>
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
        Site site(world, options, kWords);
        if (site.rank == 0) {
            std::vector<std::uint64_t> mine(kWords);
            std::iota(mine.begin(), mine.end(), 1u);
            site.worker.read_word(site.waiter, site.peer(1), site.address(1, 0), site.key(1));
            site.fence_asleep(); // from here the target does not serve
            Completion complete;
            const std::size_t before = resident_bytes();
            for (std::size_t n = 0; n < kWords; ++n)
                site.worker.put(site.peer(1), &mine[n], sizeof mine[n], site.address(1, n),
                                site.key(1), &complete);
            EXPECT_LT(resident_bytes() - before, 100'000'000u);
            site.fence_asleep();
            site.worker.flush(site.waiter, site.peer(1));
            EXPECT_TRUE(complete.done());
            const Counters counters = site.worker.counters();
            EXPECT_EQ(counters.puts, kWords);
            EXPECT_EQ(counters.flushes, 1u);
        } else {
            site.fence();
            site.fence_asleep();
        }
        site.fence();
        for (std::size_t n = 0; site.rank == 1 && n < kWords; ++n)
            ASSERT_EQ(site.memory[n], n + 1);
        site.fence();
    });
}

TEST_P(Load, APeerThatDoesNotServeHoldsUpNobodyElse) {
    static constexpr std::size_t kWords = 200'000;
    run(
        3, GetParam(),
        [](Site& site) {
            for (int target = 0; target < site.size; ++target) // connects
                site.worker.read_word(site.waiter, site.peer(target), site.address(target, 0),
                                      site.key(target));
            site.fence();
            const std::uint64_t value = 7;
            const auto put = [&](int target, std::size_t word) {
                site.worker.put(site.peer(target), &value, sizeof value, site.address(target, word),
                                site.key(target));
            };
            if (site.rank == 0) {
                for (std::size_t n = 0; n < kWords; ++n)
                    put(1, n);
                for (std::size_t n = 0; n < 100; ++n)
                    put(2, n);
                site.worker.flush(site.waiter, site.peer(2));
                put(2, 100);
                site.worker.flush(site.waiter, site.peer(2));
                site.fence_asleep();
                site.worker.flush_all(site.waiter);
            } else if (site.rank == 1) {
                site.fence_asleep(); // until the others are done with each other
            } else {
                site.fence();
            }
            site.fence();
            for (std::size_t n = 0; n < (site.rank == 1 ? kWords : 0); ++n)
                ASSERT_EQ(site.memory[n], 7u);
            for (std::size_t n = 0; n < (site.rank == 2 ? 101u : 0u); ++n)
                ASSERT_EQ(site.memory[n], 7u);
        },
        kWords);
}

TEST_P(Load, LongPutsAndGetsBothWays) {
    static constexpr std::size_t kWords = 8'000'000; // 64 MB
    run(
        2, GetParam(),
        [](Site& site) {
            const int other = 1 - site.rank;
            const auto value = [](int rank, std::size_t n) {
                return n * 3 + static_cast<std::uint64_t>(rank);
            };
            std::vector<std::uint64_t> mine(kWords);
            for (std::size_t n = 0; n < kWords; ++n)
                mine[n] = value(site.rank, n);
            Completion put, get;
            site.worker.put(site.peer(other), mine.data(), kWords * 8, site.address(other, 0),
                            site.key(other), &put);
            site.worker.wait_for(site.waiter, [&] { return put.done(); });
            std::fill(mine.begin(), mine.end(), 0);
            site.worker.flush_all(site.waiter);
            site.fence();
            for (std::size_t n = 0; n < kWords; ++n)
                ASSERT_EQ(site.memory[n], value(other, n));
            site.worker.get(site.peer(other), mine.data(), kWords * 8, site.address(other, 0),
                            site.key(other), &get);
            site.worker.flush_local_all(site.waiter);
            EXPECT_TRUE(get.done());
            for (std::size_t n = 0; n < kWords; ++n)
                ASSERT_EQ(mine[n], value(site.rank, n));
        },
        kWords);
}

TEST_P(Load, AtomicsOfAllAndOfTheOwnersCpuAddUp) {
    static constexpr std::uint64_t kTimes = 3000;
    run(3, GetParam(), [](Site& site) {
        const std::atomic_ref added(site.memory[0]), posted(site.memory[1]),
            swapped(site.memory[2]);
        ProgressThread thread(site.worker);
        site.fence_asleep();
        std::uint64_t last = 0;
        for (std::uint64_t n = 0; n < kTimes; ++n) {
            if (site.rank == 0) { // the owner
                added.fetch_add(1);
                posted.fetch_add(1);
                std::uint64_t was = swapped.load();
                while (!swapped.compare_exchange_weak(was, was + 1)) {
                }
                continue;
            }
            const auto fetch = [&](Fetch what, std::size_t word, std::uint64_t a, std::uint64_t b) {
                return site.worker.fetch(site.waiter, site.peer(0), what, site.address(0, word),
                                         site.key(0), a, b);
            };
            const std::uint64_t now = fetch(Fetch::add, 0, 1, 0);
            EXPECT_TRUE(n == 0 || now > last);
            last = now;
            site.worker.post_add(site.peer(0), site.address(0, 1), site.key(0), 1);
            for (std::uint64_t guess = 0, was;; guess = was)
                if ((was = fetch(Fetch::compare_swap, 2, guess, guess + 1)) == guess)
                    break;
        }
        site.worker.flush_all(site.waiter);
        site.fence();
        if (site.rank == 0) {
            EXPECT_EQ(added, 3 * kTimes);
            EXPECT_EQ(posted, 3 * kTimes);
            EXPECT_EQ(swapped, 3 * kTimes);
        }
    });
}

TEST_P(Load, SwapsHandEachValueOverOnce) {
    static constexpr std::uint64_t kTimes = 3000;
    run(3, GetParam(), [](Site& site) {
        // What was swapped in is swapped out by somebody, once, or is there in the end.
        std::uint64_t sum = 0;
        for (std::uint64_t n = 1; n <= kTimes; ++n)
            sum += site.worker.fetch(site.waiter, site.peer(0), Fetch::swap, site.address(0, 0),
                                     site.key(0), n * 3 + static_cast<std::uint64_t>(site.rank));
        site.worker.fetch(site.waiter, site.peer(0), Fetch::add, site.address(0, 1), site.key(0),
                          sum);
        site.fence();
        if (site.rank == 0) {
            EXPECT_EQ(site.memory[0] + site.memory[1],
                      3 * 3 * kTimes * (kTimes + 1) / 2 + 3 * kTimes);
        }
    });
}

TEST_P(Load, StoredWordsAreNeverTorn) {
    static constexpr std::uint64_t kTimes = 20'000, kSame = 0x0101010101010101;
    const auto whole = [](std::uint64_t word) { return word == (word & 0xff) * kSame; };
    run(3, GetParam(), [=](Site& site) {
        const std::atomic_ref word(site.memory[0]), over(site.memory[1]);
        if (site.rank == 0) {
            site.worker.wait_for(site.waiter, [&] {
                EXPECT_TRUE(whole(word.load()));
                return over.load() == 2;
            });
        } else {
            for (std::uint64_t n = 0; n < kTimes; ++n) {
                site.worker.send_word(site.peer(0), WordOp::store, site.address(0, 0),
                                      (n * 7 % 256) * kSame);
                site.worker.post_store(site.peer(0), site.address(0, 0), site.key(0),
                                       (n * 5 % 256) * kSame);
                if (n % 100 == 0) {
                    EXPECT_TRUE(whole(site.worker.read_word(site.waiter, site.peer(0),
                                                            site.address(0, 0), site.key(0))));
                }
            }
            site.worker.flush(site.waiter, site.peer(0));
            site.worker.fetch(site.waiter, site.peer(0), Fetch::add, site.address(0, 1),
                              site.key(0), 1);
        }
    });
}

/// All connect to all at once, and what goes over a connection first is a put.
TEST_P(Load, PutsComeFirst) {
    for (int time = 0; time < 10; ++time)
        run(4, GetParam(), [](Site& site) {
            const auto mine = static_cast<std::size_t>(site.rank);
            std::uint64_t values[4] = {};
            for (int to = 0; to < 4; ++to) {
                values[to] = 10 * mine + static_cast<std::uint64_t>(to);
                site.worker.put(site.peer(to), &values[to], sizeof values[to],
                                site.address(to, mine), site.key(to));
                if (to % 2 != 0)
                    site.worker.flush(site.waiter, site.peer(to));
            }
            site.worker.flush_all(site.waiter);
            site.fence();
            for (std::size_t from = 0; from < 4; ++from)
                EXPECT_EQ(site.memory[from], 10 * from + mine);
        });
}

/// What a thread has put is there when its own flush returns, whatever the others flush meanwhile.
TEST_P(Load, ThreadsShareAWorker) {
    static constexpr std::size_t kThreads = 4;
    static constexpr std::uint64_t kTimes = 300;
    run(2, GetParam(), [](Site& site) {
        const int other = 1 - site.rank;
        ProgressThread server(site.worker);
        site.fence_asleep();
        const auto work = [&](std::size_t mine) {
            for (std::uint64_t n = 1; n <= kTimes; ++n) {
                site.worker.post_add(site.peer(other), site.address(other, 0), site.key(other), 1);
                site.worker.send_word(site.peer(other), WordOp::add, site.address(other, 1), 1);
                site.worker.put(site.peer(other), &n, sizeof n, site.address(other, 8 + mine),
                                site.key(other));
                if (n % 2 == 0)
                    site.worker.flush(site.waiter, site.peer(other));
                else
                    site.worker.flush_all(site.waiter);
                EXPECT_EQ(site.worker.read_word(site.waiter, site.peer(other),
                                                site.address(other, 8 + mine), site.key(other)),
                          n);
            }
        };
        std::vector<std::thread> threads;
        for (std::size_t n = 0; n < kThreads; ++n)
            threads.emplace_back(work, n);
        for (std::thread& thread : threads)
            thread.join();
        site.fence_asleep();
        EXPECT_EQ(std::atomic_ref(site.memory[0]).load(), kThreads * kTimes);
        EXPECT_EQ(std::atomic_ref(site.memory[1]).load(), kThreads * kTimes);
    });
}

TEST_P(Load, FlushAllWaitsForEverybody) {
    run(4, GetParam(), [](Site& site) {
        std::uint64_t value = 1;
        for (; value <= 50; ++value) {
            for (int target = 0; target < site.size; ++target)
                site.worker.put(site.peer(target), &value, sizeof value,
                                site.address(target, static_cast<std::size_t>(site.rank)),
                                site.key(target));
            site.worker.flush_all(site.waiter);
            site.fence();
            for (int origin = 0; origin < site.size; ++origin)
                EXPECT_EQ(site.memory[static_cast<std::size_t>(origin)], value);
            site.fence();
        }
        EXPECT_EQ(site.worker.counters().flushes, 4 * 50u);
    });
}

} // namespace
} // namespace rmalock::ucx::test
