// What every verb does, over each kind of transport.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>

#include "processes.hh"

namespace rmalock::ucx::test {
namespace {

class Verbs : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Over, Verbs, testing::Values(kTcp, kShared, kAny),
                         [](const auto& given) { return std::string(given.param.name); });

TEST_P(Verbs, FetchesReturnWhatWasThere) {
    run(2, GetParam(), [](Participant& here) {
        if (here.rank == 0) {
            const auto fetch = [&](Fetch what, std::uint64_t operand, std::uint64_t desired = 0) {
                return here.worker.fetch(here.waiter, here.peer(1), what, here.address(1, 3),
                                         here.key(1), operand, desired);
            };
            EXPECT_EQ(fetch(Fetch::add, 5), 0u);
            EXPECT_EQ(fetch(Fetch::add, ~0ull), 5u); // minus one
            EXPECT_EQ(fetch(Fetch::swap, 1ull << 63), 4u);
            EXPECT_EQ(fetch(Fetch::compare_swap, 7, 8), 1ull << 63);
            EXPECT_EQ(fetch(Fetch::compare_swap, 1ull << 63, 8), 1ull << 63);
            EXPECT_EQ(
                here.worker.read_word(here.waiter, here.peer(1), here.address(1, 3), here.key(1)),
                8u);
            const Counters counters = here.worker.counters();
            EXPECT_EQ(counters.fetches, 5u);
            EXPECT_EQ(counters.reads, 1u);
            EXPECT_EQ(counters.posts + counters.puts + counters.gets + counters.flushes, 0u);
        }
        here.fence();
        if (here.rank == 1) {
            EXPECT_EQ(here.memory[3], 8u);
            EXPECT_EQ(here.memory[2] + here.memory[4], 0u);
        }
    });
}

TEST_P(Verbs, FetchesOfSeveralPeersGoSideBySide) {
    run(3, GetParam(), [](Participant& here) {
        if (here.rank == 0) {
            std::vector<std::uint64_t> before(130);
            std::vector<FetchOfPeer> all;
            for (std::size_t i = 0; i < 128; ++i) {
                const int to = 1 + static_cast<int>(i % 2);
                all.push_back({&here.peer(to),
                               here.address(to, i / 2),
                               &here.key(to),
                               {Fetch::add, i + 1},
                               &before[i]});
            }
            here.worker.fetch_each(here.waiter, all);
            EXPECT_EQ(before, std::vector<std::uint64_t>(130));
            for (std::size_t i = 0; i < 128; ++i)
                all[i].fetch = i % 3 == 0   ? FetchOfWord{Fetch::swap, 1000}
                               : i % 3 == 1 ? FetchOfWord{Fetch::compare_swap, i + 1, 1000}
                                            : FetchOfWord{Fetch::compare_swap, 1, 1000};
            here.worker.fetch_each(here.waiter, all);
            for (std::size_t i = 0; i < 128; ++i)
                EXPECT_EQ(before[i], i + 1);
            EXPECT_EQ(here.worker.counters().fetches, 256u);
            here.worker.fetch_each(here.waiter, {});
        }
        here.fence();
        for (std::size_t i = 0; here.rank != 0 && i < 128; ++i)
            if (1 + static_cast<int>(i % 2) == here.rank) {
                EXPECT_EQ(here.memory[i / 2], i % 3 == 2 ? i + 1 : 1000) << i;
            }
    });
}

TEST_P(Verbs, PostedWordsArriveByTheFlush) {
    run(2, GetParam(), [](Participant& here) {
        if (here.rank == 0) {
            for (std::uint64_t n = 1; n <= 100; ++n)
                here.worker.post_add(here.peer(1), here.address(1, 0), here.key(1), n);
            here.worker.post_store(here.peer(1), here.address(1, 1), here.key(1), 11);
            here.worker.post_store(here.peer(1), here.address(1, 2), here.key(1), 12);
            here.worker.flush(here.waiter, here.peer(1));
            here.worker.flush(here.waiter, here.peer(1));
            here.worker.flush_all(here.waiter);
            EXPECT_EQ(here.worker.counters().posts, 102u);
            EXPECT_EQ(here.worker.counters().flushes, 1u) << "the others had nothing to wait for";
        }
        here.fence();
        if (here.rank == 1) {
            EXPECT_EQ(here.memory[0], 5050u);
            EXPECT_EQ(here.memory[1], 11u);
            EXPECT_EQ(here.memory[2], 12u);
        }
    });
}

TEST_P(Verbs, ToldWordsArriveByTheFlush) {
    run(3, GetParam(), [](Participant& here) {
        if (here.rank == 0) {
            Worker& worker = here.worker;
            for (std::uint64_t n = 1; n <= 5000; ++n) // more than may be under way
                for (int to = 0; to < 3; ++to)
                    worker.send_word(here.peer(to), WordOp::add, here.address(to, 0), n);
            worker.send_word(here.peer(1), WordOp::store, here.address(1, 1), 11);
            worker.put(here.peer(1), &here.memory[0], 8, here.address(1, 2), here.key(1));
            worker.flush(here.waiter, here.peer(1));
            EXPECT_EQ(worker.read_word(here.waiter, here.peer(1), here.address(1, 0), here.key(1)),
                      12'502'500u);
            EXPECT_EQ(worker.counters().flushes, 1u);
            worker.flush(here.waiter, here.peer(1));
            EXPECT_EQ(worker.counters().flushes, 1u) << "nothing to wait for";
            worker.flush_all(here.waiter);
            EXPECT_EQ(worker.counters().flushes, 3u) << "the two others";
            EXPECT_EQ(worker.read_word(here.waiter, here.peer(2), here.address(2, 0), here.key(2)),
                      12'502'500u);
            EXPECT_EQ(here.memory[0], 12'502'500u);
            EXPECT_EQ(worker.counters().posts, 15'001u);
            EXPECT_EQ(worker.counters().messages, 0u) << "those are the handler's";
        }
        here.fence();
        if (here.rank == 1) {
            EXPECT_EQ(here.memory[1], 11u);
        }
    });
}

TEST_P(Verbs, AFlushOfWordsWaitsForNoPutsElsewhere) {
    run(3, GetParam(), [](Participant& here) {
        if (here.rank == 0) {
            Worker& worker = here.worker;
            const std::uint64_t value = 7;
            worker.put(here.peer(2), &value, sizeof value, here.address(2, 0), here.key(2));
            EXPECT_FALSE(worker.flush_words(here.waiter)) << "there are none";
            worker.post_add(here.peer(1), here.address(1, 0), here.key(1), 5);
            EXPECT_TRUE(worker.flush_words(here.waiter));
            EXPECT_EQ(worker.counters().flushes, 1u) << "that of the word's peer";
            EXPECT_EQ(worker.read_word(here.waiter, here.peer(1), here.address(1, 0), here.key(1)),
                      5u);
            EXPECT_TRUE(worker.flush_all(here.waiter));
            EXPECT_EQ(worker.counters().flushes, 2u) << "that of the put";
        }
        here.fence();
        if (here.rank == 2) {
            EXPECT_EQ(here.memory[0], 7u);
        }
    });
}

/// A peer that is words often gets an endpoint of its own for that, from some moment on.
TEST_P(Verbs, WordsThatChangeTheirWayArriveByTheFlush) {
    run(2, GetParam(), [](Participant& here) {
        Worker& worker = here.worker;
        std::uint64_t words = 0;
        for (unsigned burst : {1, 16, 1, 1, 40, 1, 17}) {
            for (unsigned n = 0; here.rank == 0 && n < burst; ++n) {
                worker.send_word(here.peer(1), WordOp::add, here.address(1, 0), ++words);
                worker.send_word(here.peer(1), WordOp::store, here.address(1, 1), words);
            }
            if (here.rank != 0)
                continue;
            worker.flush(here.waiter, here.peer(1));
            const auto word = [&](int at) {
                return worker.read_word(here.waiter, here.peer(1), here.address(1, at),
                                        here.key(1));
            };
            EXPECT_EQ(word(0), words * (words + 1) / 2);
            EXPECT_EQ(word(1), words) << "the last one sent is stored last";
        }
        here.fence();
    });
}

TEST_P(Verbs, PutsAreThereAfterTheFlushAndGetsBringThemBack) {
    constexpr std::size_t kWords = 100'000;
    run(
        2, GetParam(),
        [](Participant& here) {
            std::vector<std::uint64_t> mine(kWords), back(kWords);
            std::iota(mine.begin(), mine.end(), 1u);
            if (here.rank == 0) {
                Completion put, get;
                here.worker.put(here.peer(1), mine.data(), kWords * 8, here.address(1, 0),
                                here.key(1), &put);
                here.worker.flush(here.waiter, here.peer(1));
                EXPECT_TRUE(put.done());
                here.worker.get(here.peer(1), back.data(), kWords * 8, here.address(1, 0),
                                here.key(1), &get);
                here.worker.wait_for(here.waiter, [&] { return get.done(); });
                EXPECT_EQ(back, mine);
                here.worker.flush_local(here.waiter, here.peer(1));
                here.worker.put(here.peer(1), nullptr, 0, 0, RemoteKey(), &put);
                EXPECT_TRUE(put.done()) << "nothing to do";
            }
            here.fence();
            if (here.rank == 1) {
                EXPECT_EQ(here.memory, mine);
            }
        },
        kWords);
}

/// An origin that computes between a transfer and its flush does not wait for the peer at the end.
TEST_P(Verbs, LongPutsAndGetsThatHaveArrivedNeedThePeerForNoFlush) {
    constexpr std::size_t kWords = 8192;
    const auto body = [](Participant& here) {
        std::vector<std::uint64_t> mine(kWords, 7), back(kWords);
        if (here.rank == 0) {
            const auto there_and_back = [&] {
                here.worker.read_word(here.waiter, here.peer(1), here.address(1, 0), here.key(1));
            };
            there_and_back(); // the first put waits for the connection
            here.worker.put(here.peer(1), mine.data(), kWords * 8, here.address(1, 0), here.key(1));
            there_and_back(); // behind the put and its flush
        }
        here.fence();
        // The peer serves no more; the answer to a flush that begins now would never come.
        if (here.rank == 0)
            here.worker.flush(here.waiter, here.peer(1));
        here.fence_asleep();
        Completion arrived;
        if (here.rank == 0) {
            here.worker.get(here.peer(1), back.data(), kWords * 8, here.address(1, 0), here.key(1),
                            &arrived);
            here.worker.wait_for(here.waiter, [&] { return arrived.done(); });
        }
        here.fence();
        if (here.rank == 0) {
            here.worker.flush(here.waiter, here.peer(1));
            EXPECT_EQ(back, mine);
        }
        here.fence_asleep();
    };
    run(2, GetParam(), body, kWords);
}

/// An atomic behind puts waits for its own target: puts to a third process, which does not serve,
/// stay where they are.
/// Of 4 bytes the neighbours stay as they are.
TEST_P(Verbs, ElementsOfBothSizesReturnWhatWasThere) {
    run(2, GetParam(), [](Participant& here) {
        for (const std::size_t size : {4u, 8u}) {
            const RemoteAddress at = here.address(1, size) + 4 * (size == 4);
            std::uint64_t before[5] = {0, 0, 0, 12};
            const auto change = [&](ElementOp what, std::uint64_t operand, void* result) {
                if (here.rank == 0)
                    here.worker.element(here.peer(1), {what, size, operand, result}, at,
                                        here.key(1));
            };
            const auto flush = [&] {
                return here.rank == 0 && here.worker.flush_data(here.waiter, here.peer(1));
            };
            change(ElementOp::add, 5, nullptr);
            flush();
            change(ElementOp::add, ~0ull, &before[0]); // minus one
            EXPECT_EQ(flush(), here.rank == 0);
            change(ElementOp::swap, 9, &before[1]);
            flush();
            change(ElementOp::compare_swap, 8, &(before[2] = 11));
            flush();
            change(ElementOp::compare_swap, 9, &before[3]);
            flush();
            change(ElementOp::read, 0, &before[4]);
            EXPECT_EQ(flush(), here.rank == 0);
            EXPECT_FALSE(flush()) << "nothing to wait for";
            here.fence();
            if (here.rank == 1) {
                EXPECT_EQ(here.memory[size], size == 4 ? 12ull << 32 : 12ull);
                continue;
            }
            EXPECT_EQ(before[0], 5u);
            EXPECT_EQ(before[1], 4u);
            EXPECT_EQ(before[2], 9u);
            EXPECT_EQ(before[3], 9u);
            EXPECT_EQ(before[4], 12u);
        }
    });
}

TEST_P(Verbs, AnElementIsBehindThoseThatItHasToFollow) {
    run(2, GetParam(), [](Participant& here) {
        if (here.rank == 0) {
            Worker& worker = here.worker;
            const ElementAtomic add{.operand = 1};
            std::uint64_t result = 0;
            const ElementAtomic fetch{.operand = 1, .before = &result};
            Peer& peer = here.peer(1);
            EXPECT_FALSE(Worker::has_elements(peer, false));
            worker.element(peer, add, here.address(1, 0), here.key(1));
            EXPECT_FALSE(Worker::has_elements(peer, true)) << "adds may overtake each other";
            EXPECT_TRUE(Worker::has_elements(peer, false));
            for (std::uint64_t n = 1; n < 1000; ++n)
                worker.element(peer, add, here.address(1, 0), here.key(1));
            if (!worker.put_elements_in_order(peer))
                worker.flush_data(here.waiter, peer);
            worker.element(peer, fetch, here.address(1, 0), here.key(1));
            EXPECT_TRUE(Worker::has_elements(peer, true));
            worker.flush_data(here.waiter, peer);
            EXPECT_FALSE(Worker::has_elements(peer, false));
            EXPECT_EQ(result, 1000u);
        }
        here.fence();
    });
}

/// Adds 1 to the peer's first word behind all puts to it, and then reads the words from 1 on.
std::uint64_t add_behind_puts(Participant& here, int to, std::span<std::uint64_t> words = {}) {
    bool together = false;
    return here.worker.fetch_then_read(here.waiter, here.peer(to),
                                       {.fetch = {Fetch::add, 1},
                                        .read = here.address(to, 1),
                                        .words = words,
                                        .behind_puts = true},
                                       here.address(to, 0), here.key(to), together);
}

TEST_P(Verbs, AReadBehindAnAtomicBehindPutsReadsThem) {
    constexpr std::size_t kWords = 100;
    const auto put_add_and_read = [](Participant& here) {
        Peer& peer = here.peer(1);
        here.worker.read_word(here.waiter, peer, here.address(1, 0), here.key(1)); // connects
        std::vector<std::uint64_t> mine(kWords), there(kWords);
        for (std::uint64_t n = 1; n <= 200; ++n) {
            std::fill(mine.begin(), mine.end(), n);
            here.worker.put(peer, mine.data(), kWords * 8, here.address(1, 1), here.key(1));
            if (!here.worker.orders_behind_puts(peer)) {
                EXPECT_NE(std::string(GetParam().name), "tcp");
                here.worker.flush_data(here.waiter, peer);
            }
            EXPECT_EQ(add_behind_puts(here, 1, there), n - 1);
            EXPECT_EQ(there, mine);
            EXPECT_FALSE(here.worker.flush_data(here.waiter, peer)) << "all has arrived";
        }
    };
    run(
        2, GetParam(),
        [&](Participant& here) {
            if (here.rank == 0)
                put_add_and_read(here);
            here.fence();
        },
        kWords + 1);
}

TEST_P(Verbs, AnAtomicBehindPutsWaitsForNoOtherPeer) {
    const auto put_and_add = [](Participant& here) {
        Worker& worker = here.worker;
        std::uint64_t value = 7;
        worker.put(here.peer(2), &value, 8, here.address(2, 1), here.key(2));
        worker.put(here.peer(1), &value, 8, here.address(1, 1), here.key(1));
        const bool orders = worker.orders_behind_puts(here.peer(1));
        EXPECT_TRUE(orders || std::string(GetParam().name) != "tcp");
        if (orders)
            add_behind_puts(here, 1);
        else
            worker.fetch(here.waiter, here.peer(1), Fetch::add, here.address(1, 0), here.key(1), 1);
    };
    run(3, GetParam(), [&](Participant& here) {
        for (int target = 1; here.rank == 0 && target <= 2; ++target) // connects
            here.worker.read_word(here.waiter, here.peer(target), here.address(target, 0),
                                  here.key(target));
        here.fence();
        const std::atomic_ref<std::uint64_t> added(here.memory[0]);
        if (here.rank == 0)
            put_and_add(here);
        while (here.rank == 1 && added.load() == 0)
            here.worker.progress();
        if (here.rank == 2)
            here.fence_asleep(); // it is here from the beginning
        else
            here.fence(); // the target's answer can still be on its way out
        if (here.rank == 0)
            here.worker.flush(here.waiter, here.peer(2));
        here.fence();
        EXPECT_EQ(here.memory[1], here.rank == 0 ? 0U : 7U);
    });
}

/// The peer looks at its memory while the puts arrive: a reader of the atomic's value reads the
/// puts'.
TEST_P(Verbs, AnAtomicBehindPutsIsSeenAfterThem) {
    static constexpr std::size_t kWords = 3000; // several of UCX's fragments
    static constexpr std::uint64_t kRounds = 300;
    const auto put_and_add = [](Participant& here) {
        Worker& worker = here.worker;
        Peer& peer = here.peer(1);
        EXPECT_FALSE(worker.orders_behind_puts(peer)) << "there are none";
        worker.read_word(here.waiter, peer, here.address(1, 0), here.key(1)); // connects
        std::vector<std::uint64_t> mine(kWords);
        for (std::uint64_t n = 1; n <= kRounds; ++n) {
            std::fill(mine.begin(), mine.end(), n);
            worker.put(peer, mine.data(), kWords * 8, here.address(1, 1), here.key(1));
            const bool orders = worker.orders_behind_puts(peer);
            EXPECT_TRUE(orders || std::string(GetParam().name) != "tcp");
            if (!orders)
                worker.flush_data(here.waiter, peer);
            const std::uint64_t before = orders ? add_behind_puts(here, 1)
                                                : worker.fetch(here.waiter, peer, Fetch::add,
                                                               here.address(1, 0), here.key(1), 1);
            EXPECT_EQ(before, n - 1);
            EXPECT_FALSE(worker.flush_data(here.waiter, peer)) << "all has arrived";
        }
        worker.put(peer, mine.data(), 8, here.address(1, 1), here.key(1));
        worker.get(peer, mine.data(), 8, here.address(1, 2), here.key(1));
        EXPECT_FALSE(worker.orders_behind_puts(peer)) << "the get could come too late";
        worker.flush(here.waiter, peer);
    };
    run(
        2, GetParam(),
        [&](Participant& here) {
            if (here.rank == 0)
                put_and_add(here);
            const std::atomic_ref<std::uint64_t> rounds(here.memory[0]);
            for (std::uint64_t seen = 0; here.rank == 1 && seen < kRounds;) {
                here.worker.progress();
                seen = rounds.load();
                // The next round's puts may have come since: never an older one's.
                EXPECT_GE(*std::min_element(here.memory.begin() + 1, here.memory.end()), seen);
            }
            here.fence();
        },
        kWords + 1);
}

/// A waiter takes the word out as soon as it is there, and it may not come again. A put by a CPU
/// would store it twice, which this sees over TCP in one run of three or so.
TEST_P(Verbs, AStoredWordIsSeenOnce) {
    static constexpr std::uint64_t kStores = 300'000;
    run(2, GetParam(), [](Participant& here) {
        const std::atomic_ref<std::uint64_t> word(here.memory[0]);
        if (here.rank == 0) {
            for (std::uint64_t n = 1; n <= kStores; ++n)
                here.worker.post_store(here.peer(1), here.address(1, 0), here.key(1), n);
            here.worker.flush(here.waiter, here.peer(1));
        } else {
            std::atomic<bool> all{false};
            std::thread taker([&] {
                for (std::uint64_t last = 0; last < kStores;) {
                    std::uint64_t seen = word.load();
                    if (seen == 0)
                        continue;
                    EXPECT_GT(seen, last);
                    last = seen;
                    word.compare_exchange_strong(seen, 0);
                }
                all = true;
            });
            while (!all)
                here.worker.progress();
            taker.join();
        }
        here.fence();
    });
}

TEST_P(Verbs, WithoutAKeyNothingGoesOut) {
    run(1, GetParam(), [](Participant& here) {
        std::uint64_t word = 0;
        const auto refused = [&](const char* what, const auto& call) {
            try {
                call();
                ADD_FAILURE() << what << " went out";
            } catch (const Error& error) {
                EXPECT_EQ(error.what(), std::string("UCX: ") + what + ": Address not valid");
            }
        };
        Peer& peer = here.peer(0);
        refused("put", [&] { here.worker.put(peer, &word, 8, 0, RemoteKey()); });
        refused("get", [&] { here.worker.get(peer, &word, 8, 0, RemoteKey()); });
        refused("add to a word", [&] { here.worker.post_add(peer, 0, RemoteKey(), 1); });
        refused("store a word", [&] { here.worker.post_store(peer, 0, RemoteKey(), 1); });
        refused("fetch a word",
                [&] { here.worker.fetch(here.waiter, peer, Fetch::add, 0, RemoteKey(), 1); });
        refused("read a word", [&] { here.worker.read_word(here.waiter, peer, 0, RemoteKey()); });
        here.worker.flush_all(here.waiter);
        here.worker.flush_local(here.waiter, peer);
    });
}

TEST_P(Verbs, EmptyMemoryHasAnEmptyKey) {
    run(1, GetParam(), [](Participant& here) {
        const Registration nothing(here.worker, nullptr, 0);
        EXPECT_TRUE(nothing.key().empty());
        EXPECT_FALSE(RemoteKey(here.worker, here.peer(0), nothing.key()));
        RemoteKey key(here.worker, here.peer(0), here.registration.key());
        EXPECT_TRUE(key);
        const RemoteKey moved(std::move(key));
        EXPECT_TRUE(moved);
        EXPECT_FALSE(key);
        EXPECT_GT(here.worker.key_bytes(), 0u);
        EXPECT_EQ(here.worker.find(peer_id(0)), &here.peer(0));
        EXPECT_EQ(here.worker.find(peer_id(1)), nullptr);
        EXPECT_EQ(&here.worker.introduce(peer_id(0), {}), &here.peer(0)) << "known already";
    });
}

/// Memory that UCX makes, or that processes share otherwise, has other keys than the heap.
TEST_P(Verbs, SharedMappingsAreReachedAsWell) {
    run_world(2, GetParam(), [](Processes& world) {
        Participant here(world, default_options(world), 64);
        constexpr std::size_t kBytes = 4096;
        void* const base =
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(base, MAP_FAILED);
        {
            const Registration shared(here.worker, base, kBytes);
            const auto keys = world.gather(shared.key());
            const auto at = reinterpret_cast<RemoteAddress>(base);
            Bytes packed(sizeof at);
            std::memcpy(packed.data(), &at, sizeof at);
            const auto other = static_cast<std::size_t>(1 - here.rank);
            RemoteAddress there = 0;
            std::memcpy(&there, world.gather(packed)[other].data(), sizeof there);
            Peer& peer = here.peer(1 - here.rank);
            const RemoteKey key(here.worker, peer, keys[other]);
            EXPECT_EQ(here.worker.fetch(here.waiter, peer, Fetch::add, there, key, 4), 0u);
            EXPECT_EQ(here.worker.read_word(here.waiter, peer, there, key), 4u);
            here.fence();
            EXPECT_EQ(*static_cast<std::uint64_t*>(base), 4u);
        }
        munmap(base, kBytes);
        here.fence();
    });
}

TEST_P(Verbs, OpeningAWorkerLeavesTheEnvironmentAsItWas) {
    run(1, GetParam(),
        [](Participant&) { EXPECT_EQ(std::getenv("UCX_TCP_TX_SEG_SIZE"), nullptr); });
    setenv("UCX_TCP_TX_SEG_SIZE", "8k", 1);
    run(1, kTcp, [](Participant&) { EXPECT_STREQ(std::getenv("UCX_TCP_TX_SEG_SIZE"), "8k"); });
    unsetenv("UCX_TCP_TX_SEG_SIZE");
}

TEST_P(Verbs, OneselfIsAPeer) {
    run(1, GetParam(), [](Participant& here) {
        EXPECT_EQ(here.worker.fetch(here.waiter, here.peer(0), Fetch::add, here.address(0, 0),
                                    here.key(0), 3),
                  0u);
        const std::uint64_t value = 17;
        here.worker.put(here.peer(0), &value, sizeof value, here.address(0, 1), here.key(0));
        here.worker.flush_all(here.waiter);
        EXPECT_EQ(here.memory[0], 3u);
        EXPECT_EQ(here.memory[1], 17u);
    });
}

} // namespace
} // namespace rmalock::ucx::test
