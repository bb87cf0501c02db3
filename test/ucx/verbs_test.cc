// What every verb does, over each kind of transport.
#include <numeric>

#include "processes.hh"

namespace rmalock::ucx::test {
namespace {

class Verbs : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Over, Verbs, testing::Values(kTcp, kShared, kAny),
                         [](const auto& given) { return std::string(given.param.name); });

TEST_P(Verbs, FetchesReturnWhatWasThere) {
    run(2, GetParam(), [](Site& site) {
        if (site.rank == 0) {
            const auto fetch = [&](Fetch what, std::uint64_t operand, std::uint64_t desired = 0) {
                return site.worker.fetch(site.waiter, site.peer(1), what, site.address(1, 3),
                                         site.key(1), operand, desired);
            };
            EXPECT_EQ(fetch(Fetch::add, 5), 0u);
            EXPECT_EQ(fetch(Fetch::add, ~0ull), 5u); // minus one
            EXPECT_EQ(fetch(Fetch::swap, 1ull << 63), 4u);
            EXPECT_EQ(fetch(Fetch::compare_swap, 7, 8), 1ull << 63);
            EXPECT_EQ(fetch(Fetch::compare_swap, 1ull << 63, 8), 1ull << 63);
            EXPECT_EQ(
                site.worker.read_word(site.waiter, site.peer(1), site.address(1, 3), site.key(1)),
                8u);
            const Counters counters = site.worker.counters();
            EXPECT_EQ(counters.fetches, 5u);
            EXPECT_EQ(counters.reads, 1u);
            EXPECT_EQ(counters.posts + counters.puts + counters.gets + counters.flushes, 0u);
        }
        site.fence();
        if (site.rank == 1) {
            EXPECT_EQ(site.memory[3], 8u);
            EXPECT_EQ(site.memory[2] + site.memory[4], 0u);
        }
    });
}

TEST_P(Verbs, PostedWordsArriveByTheFlush) {
    run(2, GetParam(), [](Site& site) {
        if (site.rank == 0) {
            for (std::uint64_t n = 1; n <= 100; ++n)
                site.worker.post_add(site.peer(1), site.address(1, 0), site.key(1), n);
            site.worker.post_store(site.peer(1), site.address(1, 1), site.key(1), 11, true);
            site.worker.post_store(site.peer(1), site.address(1, 2), site.key(1), 12, false);
            site.worker.flush(site.waiter, site.peer(1));
            site.worker.flush(site.waiter, site.peer(1));
            site.worker.flush_all(site.waiter);
            EXPECT_EQ(site.worker.counters().posts, 102u);
            EXPECT_EQ(site.worker.counters().flushes, 1u) << "the others had nothing to wait for";
        }
        site.fence();
        if (site.rank == 1) {
            EXPECT_EQ(site.memory[0], 5050u);
            EXPECT_EQ(site.memory[1], 11u);
            EXPECT_EQ(site.memory[2], 12u);
        }
    });
}

TEST_P(Verbs, PutsAreThereAfterTheFlushAndGetsBringThemBack) {
    constexpr std::size_t kWords = 100'000;
    run(
        2, GetParam(),
        [](Site& site) {
            std::vector<std::uint64_t> mine(kWords), back(kWords);
            std::iota(mine.begin(), mine.end(), 1u);
            if (site.rank == 0) {
                Completion put, get;
                site.worker.put(site.peer(1), mine.data(), kWords * 8, site.address(1, 0),
                                site.key(1), &put);
                site.worker.flush(site.waiter, site.peer(1));
                EXPECT_TRUE(put.done());
                site.worker.get(site.peer(1), back.data(), kWords * 8, site.address(1, 0),
                                site.key(1), &get);
                site.worker.wait_for(site.waiter, [&] { return get.done(); });
                EXPECT_EQ(back, mine);
                site.worker.flush_local(site.waiter, site.peer(1));
                site.worker.put(site.peer(1), nullptr, 0, 0, RemoteKey(), &put);
                EXPECT_TRUE(put.done()) << "nothing to do";
            }
            site.fence();
            if (site.rank == 1) {
                EXPECT_EQ(site.memory, mine);
            }
        },
        kWords);
}

TEST_P(Verbs, OneselfIsAPeer) {
    run(1, GetParam(), [](Site& site) {
        EXPECT_EQ(site.worker.fetch(site.waiter, site.peer(0), Fetch::add, site.address(0, 0),
                                    site.key(0), 3),
                  0u);
        const std::uint64_t value = 17;
        site.worker.put(site.peer(0), &value, sizeof value, site.address(0, 1), site.key(0));
        site.worker.flush_all(site.waiter);
        EXPECT_EQ(site.memory[0], 3u);
        EXPECT_EQ(site.memory[1], 17u);
    });
}

} // namespace
} // namespace rmalock::ucx::test
