// The table of held locks against std::map, at random.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "window/sync/held.hh"

namespace rmalock::window {
namespace {

TEST(HeldLocks, AgreesWithAMap) {
    std::mt19937 random(7);
    HeldLocks held;
    std::map<Rank, bool> expected;
    for (int step = 0; step < 200000; ++step) {
        const auto target = static_cast<Rank>(random() % (step % 5000 < 2500 ? 8 : 70000));
        HeldLock* const found = held.find(target);
        ASSERT_EQ(found != nullptr, expected.contains(target)) << "step " << step;
        if (found != nullptr) {
            ASSERT_EQ(found->exclusive, expected[target]);
            held.erase(*found);
            expected.erase(target);
        } else {
            const bool exclusive = random() % 2 == 0;
            ASSERT_NE(held.claim(target, exclusive, false), nullptr);
            ASSERT_EQ(held.claim(target, exclusive, false), nullptr) << "it is held";
            expected[target] = exclusive;
        }
        ASSERT_EQ(held.size(), expected.size());
    }
    for (const auto& [target, exclusive] : expected)
        ASSERT_NE(held.find(target), nullptr);
}

TEST(HeldLocks, NothingIsFoundInAnEmptyTable) {
    HeldLocks held;
    EXPECT_EQ(held.find(0), nullptr);
    held.erase(*held.claim(0, true, false));
    EXPECT_EQ(held.find(0), nullptr);
}

} // namespace
} // namespace rmalock::window
