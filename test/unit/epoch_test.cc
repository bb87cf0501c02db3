// The epochs' transition table, by what programs do.
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>

#include "window/sync/epoch.hh"

namespace rmalock::window {
namespace {

std::optional<Epoch> after(std::initializer_list<Event> events) {
    Epoch epoch = Epoch::none;
    for (const Event event : events) {
        const Next next = transition(epoch, event);
        if (next == kError)
            return std::nullopt;
        epoch = static_cast<Epoch>(next);
    }
    return epoch;
}

TEST(Epoch, AFenceOpensAnEpochOnlyOnceAnRmaCallFollows) {
    EXPECT_EQ(after({Event::fence, Event::lock, Event::access, Event::unlock_last}), Epoch::none);
    EXPECT_EQ(after({Event::fence, Event::lock_all}), Epoch::locked_all);
    EXPECT_EQ(after({Event::fence, Event::start}), Epoch::started);
    EXPECT_EQ(after({Event::fence, Event::free}), Epoch::none);
    EXPECT_EQ(after({Event::fence, Event::access}), Epoch::fence);
    EXPECT_EQ(after({Event::fence, Event::access, Event::lock}), std::nullopt);
    EXPECT_EQ(after({Event::fence, Event::access, Event::free}), std::nullopt);
    EXPECT_EQ(after({Event::fence, Event::access, Event::fence, Event::lock}), Epoch::locked);
}

TEST(Epoch, NosucceedLeavesNoEpoch) {
    EXPECT_EQ(after({Event::fence, Event::access, Event::fence_last}), Epoch::none);
    EXPECT_EQ(after({Event::fence_last, Event::access}), std::nullopt);
}

TEST(Epoch, LocksAndLockAllDoNotMix) {
    EXPECT_EQ(after({Event::lock, Event::lock_all}), std::nullopt);
    EXPECT_EQ(after({Event::lock_all, Event::lock}), std::nullopt);
    EXPECT_EQ(after({Event::lock_all, Event::lock_all}), std::nullopt);
    EXPECT_EQ(after({Event::lock, Event::lock, Event::unlock, Event::unlock_last}), Epoch::none);
}

TEST(Epoch, WhatNeedsAnEpochIsRefusedWithoutOne) {
    for (const Event event : {Event::access, Event::flush, Event::unlock, Event::unlock_last,
                              Event::unlock_all, Event::complete})
        EXPECT_EQ(after({event}), std::nullopt) << static_cast<int>(event);
}

TEST(Epoch, FlushBelongsToPassiveTarget) {
    EXPECT_EQ(after({Event::lock, Event::flush}), Epoch::locked);
    EXPECT_EQ(after({Event::lock_all, Event::flush}), Epoch::locked_all);
    EXPECT_EQ(after({Event::fence, Event::access, Event::flush}), std::nullopt);
    EXPECT_EQ(after({Event::start, Event::flush}), std::nullopt);
}

TEST(Epoch, NothingIsFreedInsideAnEpoch) {
    for (const Event open : {Event::lock, Event::lock_all, Event::start})
        EXPECT_EQ(after({open, Event::free}), std::nullopt);
}

} // namespace
} // namespace rmalock::window
