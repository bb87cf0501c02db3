// Waiters and the holders that block them, from made-up records; and the record itself.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "window/diag/blame.hh"

namespace rmalock::window {
namespace {

using Processes = std::vector<std::uint64_t>;

/// Processes 100, 101, … are ranks 0, 1, … of every window.
class Situation {
  public:
    explicit Situation(std::size_t ranks) : ranks_(ranks) {}

    Situation& holds(std::size_t rank, Lock lock, std::uint64_t window = 1) {
        in(window).ranks[rank].held.push_back({lock, 0});
        return *this;
    }
    Situation& awaits(std::size_t rank, Lock lock, std::uint64_t window = 1) {
        in(window);
        for (auto& [number, seen] : windows_) {
            seen.ranks[rank].awaits = {lock, 0};
            seen.ranks[rank].awaits_window = window;
            seen.ranks[rank].awaits_number = ++waits_;
        }
        return *this;
    }
    /// As rank 0 sees it, which waits in window 1.
    Blame blame(std::uint64_t start = 100) {
        return {start, 1, [this](std::uint64_t number) {
                    const auto found = windows_.find(number);
                    return found == windows_.end() ? nullptr : &found->second;
                }};
    }
    Processes cycle() { return blame().cycle(); }
    void hide(std::uint64_t window) { windows_.erase(window); }

    SeenWindow& in(std::uint64_t window) {
        SeenWindow& seen = windows_[window];
        if (seen.ranks.empty()) {
            seen.number = window;
            for (std::size_t r = 0; r < ranks_; ++r)
                seen.ranks.emplace_back().process = 100 + r;
            for (Seen& rank : seen.ranks)
                rank.answered = true;
        }
        return seen;
    }

  private:
    std::size_t ranks_;
    std::uint64_t waits_ = 0;
    std::map<std::uint64_t, SeenWindow> windows_;
};

constexpr Lock exclusive(Rank target) {
    return {Mode::exclusive, target};
}
constexpr Lock shared(Rank target) {
    return {Mode::shared, target};
}
constexpr Lock kAll{Mode::all};

TEST(Blame, TwoThatWaitForEachOther) {
    Situation s(3);
    s.holds(0, exclusive(0)).holds(1, exclusive(1));
    s.awaits(0, exclusive(1)).awaits(1, exclusive(0));
    EXPECT_EQ(s.cycle(), (Processes{100, 101}));
    EXPECT_EQ(s.blame().waiters().size(), 2U);
}

TEST(Blame, AHolderThatComputesIsNoDeadlock) {
    Situation s(3);
    s.holds(1, exclusive(1)).awaits(0, shared(1));
    const Blame blame = s.blame();
    EXPECT_EQ(blame.cycle(), Processes{});
    ASSERT_EQ(blame.waiters().size(), 1U);
    ASSERT_EQ(blame.waiters()[0].blockers.size(), 1U);
    EXPECT_EQ(blame.waiters()[0].blockers[0].process, 101U);
    EXPECT_FALSE(blame.waits(101));
}

TEST(Blame, ACycleThatOneOnlyWaitsFor) {
    Situation s(4);
    for (std::size_t r = 1; r < 4; ++r)
        s.holds(r, exclusive(static_cast<Rank>(r)));
    s.awaits(0, exclusive(1));
    s.awaits(1, exclusive(2)).awaits(2, exclusive(3)).awaits(3, exclusive(2));
    EXPECT_EQ(s.cycle(), (Processes{102, 103}));
}

TEST(Blame, OnlyOneOfSeveralReadersIsInTheCycle) {
    Situation s(4);
    s.holds(1, shared(0)).holds(2, shared(0)).holds(0, exclusive(3));
    s.awaits(0, exclusive(0)).awaits(2, shared(3));
    EXPECT_EQ(s.cycle(), (Processes{100, 102}));
}

TEST(Blame, ReadersAreNotInEachOthersWay) {
    Situation s(3);
    s.holds(0, exclusive(2)).holds(1, exclusive(1)).holds(2, shared(1));
    s.awaits(0, shared(1)).awaits(2, exclusive(2));
    EXPECT_EQ(s.cycle(), Processes{}); // 1 does not wait
}

TEST(Blame, AReaderBehindAWriterThatWaitsForReaders) {
    Situation s(3);
    s.holds(0, exclusive(0)).holds(2, shared(1));
    s.awaits(0, shared(1)).awaits(1, exclusive(1)).awaits(2, exclusive(0));
    EXPECT_EQ(s.cycle(), (Processes{100, 102}));
}

TEST(Blame, AcrossTwoWindows) {
    Situation s(2);
    s.holds(0, exclusive(0), 2).holds(1, exclusive(0), 1);
    s.awaits(0, exclusive(0), 1).awaits(1, kAll, 2);
    EXPECT_EQ(s.cycle(), (Processes{100, 101}));
    s.hide(2);
    const Blame blame = s.blame();
    EXPECT_EQ(blame.cycle(), Processes{});
    ASSERT_EQ(blame.waiters().size(), 2U);
    EXPECT_FALSE(blame.waiters()[1].known);
}

TEST(Blame, TheGateIsNotADeadlockOfItsOwn) {
    Situation s(2);
    s.awaits(0, kAll).awaits(1, exclusive(0)); // both on their way in
    EXPECT_EQ(s.cycle(), Processes{});
    Situation t(3);
    t.holds(2, shared(0)); // 1 is past the gate and waits for it, 0 for 1
    t.awaits(0, kAll).awaits(1, exclusive(0));
    const Blame blame = t.blame();
    ASSERT_EQ(blame.waiters().size(), 2U);
    EXPECT_EQ(blame.waiters()[0].blockers[0].process, 101U);
    EXPECT_EQ(blame.waiters()[0].blockers[0].way, BlockedProcess::Way::awaits);
    EXPECT_EQ(blame.cycle(), Processes{});
}

TEST(Blame, AFenceNeedsEverybody) {
    Situation s(3);
    s.in(2);
    s.holds(1, exclusive(1)).awaits(0, exclusive(1), 1);
    s.awaits(1, {Mode::fence}, 2).awaits(2, {Mode::fence}, 2);
    EXPECT_EQ(s.cycle(), (Processes{100, 101}));
    const Blame blame = s.blame();
    ASSERT_EQ(blame.waiters().size(), 2U);
    ASSERT_EQ(blame.waiters()[1].blockers.size(), 1U); // 2 has come as well
    EXPECT_EQ(blame.waiters()[1].blockers[0].way, BlockedProcess::Way::absent);
    s.awaits(0, exclusive(2), 1); // nobody holds that
    EXPECT_EQ(s.cycle(), Processes{});
}

TEST(Blame, AnAccessEpochNeedsThePosts) {
    Situation s(3);
    s.in(2);
    s.holds(1, exclusive(1)).awaits(0, exclusive(1), 1).awaits(1, {Mode::post, 0}, 2);
    EXPECT_EQ(s.cycle(), (Processes{100, 101}));
    s.awaits(1, {Mode::post, 2}, 2);
    EXPECT_EQ(s.cycle(), Processes{});
    s.awaits(1, {Mode::completes}, 2);
    EXPECT_EQ(s.cycle(), Processes{});
    EXPECT_TRUE(s.blame().waits(101));
}

TEST(Blame, OthersThatMoveAreAnotherCycle) {
    Situation s(2);
    s.holds(0, exclusive(0)).holds(1, exclusive(1));
    s.awaits(0, exclusive(1)).awaits(1, exclusive(0));
    const auto before = s.blame().cycle_numbers();
    EXPECT_EQ(before, s.blame().cycle_numbers());
    s.awaits(1, exclusive(0)); // the same again, but a new wait
    EXPECT_NE(before, s.blame().cycle_numbers());
}

TEST(Record, KeepsWhatIsHeldAndCountsTheRest) {
    const auto record = std::make_unique<Record>();
    record->open(7);
    for (Rank target = 0; target < 40; ++target)
        record->hold(shared(target), 1);
    Seen seen = record->see(true);
    EXPECT_TRUE(seen.answered);
    EXPECT_EQ(seen.process, 7U);
    EXPECT_EQ(seen.held.size() + seen.more_held, 40U);
    EXPECT_GT(seen.more_held, 0U);
    for (Rank target = 39; target >= 0; --target)
        record->drop(shared(target));
    seen = record->see(true);
    EXPECT_EQ(seen.held.size(), 0U);
    EXPECT_EQ(seen.more_held, 0U);
    EXPECT_FALSE(seen.awaits.has_value());
    record->await(5, kAll, 9, 1);
    seen = record->see(false);
    ASSERT_TRUE(seen.awaits.has_value());
    EXPECT_EQ(seen.awaits->lock, kAll);
    EXPECT_EQ(seen.awaits_window, 5U);
    record->await_nothing();
    EXPECT_FALSE(record->see(true).awaits.has_value());
}

} // namespace
} // namespace rmalock::window
