// When a process lets the sections of other nodes go first.
#include "window/sync/rounds.hh"

#include <gtest/gtest.h>

#include <string>

namespace rmalock::window {
namespace {

using namespace std::chrono_literals;
using fabric::Value;

/// What the target says after sections of these origins.
struct Target {
    void serves(const std::string& origins) {
        for (const char origin : origins)
            word += ended.ends_one(static_cast<ucx::PeerId>(origin));
    }
    Value word = 0;
    SectionsEnded ended;
};

TEST(Rounds, TheTargetCountsSectionsAndOrigins) {
    Target target;
    EXPECT_EQ(SectionCount::origins(target.word), 1U);
    target.serves("aa");
    EXPECT_EQ(SectionCount::sections(target.word), 2U);
    EXPECT_EQ(SectionCount::origins(target.word), 1U);
    target.serves("bca");
    EXPECT_EQ(SectionCount::sections(target.word), 5U);
    EXPECT_EQ(SectionCount::origins(target.word), 3U);
}

TEST(Rounds, AnOriginThatIsGoneIsForgotten) {
    Target target;
    target.serves("abc" + std::string(300, 'a'));
    EXPECT_EQ(SectionCount::sections(target.word), 303U);
    EXPECT_EQ(SectionCount::origins(target.word), 1U);
}

/// A process of the node, before it acquires target 7.
struct Process {
    /// While it waits, `origins` come one by one. Returns how many of these it has let go first, or -1
    /// if it does not wait; and if it is still waiting then, it does so for `time`.
    int waits(const std::string& origins, locks::Duration time = 100us, fabric::Rank to = 7) {
        int waited = -1;
        auto next = origins.begin();
        others.before(
            to, [this] { return target.word; },
            [&](Value seen, locks::Duration most) {
                EXPECT_EQ(seen, target.word);
                EXPECT_GE(most, time);
                waited = static_cast<int>(next - origins.begin());
                if (next == origins.end())
                    return time;
                target.serves({*next++});
                ++waited;
                return locks::Duration(0);
            });
        others.acquired(target.word);
        return waited;
    }
    Target target;
    RoundsOfOthers others;
};

/// While it waits for the lock itself, sections that came before it end.
TEST(Rounds, WhatEndsBeforeItAcquiresIsNotOfTheNextRound) {
    Process process;
    process.target.serves("abc");
    process.waits("");
    process.target.serves("abc");
    EXPECT_EQ(process.waits(""), -1);
    process.target.serves("ab");
    process.others.acquired(process.target.word);
    EXPECT_EQ(process.waits("cabcab"), 3);
}

TEST(Rounds, OneRoundBetweenTwoOfItsLocks) {
    Process process;
    EXPECT_EQ(process.waits(""), -1) << "nobody has come yet";
    EXPECT_EQ(process.waits(""), -1);
    process.target.serves("abc");
    EXPECT_EQ(process.waits(""), -1) << "a round is over since";
    EXPECT_EQ(process.waits("abcabc"), 3);
    EXPECT_EQ(process.waits("aabc"), 3) << "as many as there are origins, whichever";
    process.target.serves("ab");
    EXPECT_EQ(process.waits("cab"), 1) << "two have been in since";
    process.target.serves("abc");
    EXPECT_EQ(process.waits(""), -1);
    EXPECT_EQ(process.waits("abc", 100us, 8), -1) << "another target";
    EXPECT_EQ(process.waits("abc"), -1) << "from the beginning";
}

/// How often the process waits in vain, each time for a millisecond.
int waits_in_vain(Process& process) {
    int waits = 0;
    while (waits < 100 && process.waits("", 1ms) >= 0)
        ++waits;
    return waits;
}

TEST(Rounds, AMillisecondIsLostForEachRoundAndTwentyInAll) {
    Process process;
    process.target.serves("ab");
    process.waits("");
    EXPECT_EQ(waits_in_vain(process), 0) << "it has not seen any come";
    process.target.serves("ab");
    EXPECT_EQ(process.waits(""), -1);
    EXPECT_EQ(waits_in_vain(process), 1);
    process.target.serves("abababab");
    EXPECT_EQ(process.waits(""), -1);
    EXPECT_EQ(waits_in_vain(process), 4);
    process.target.serves(std::string(1000, 'a'));
    EXPECT_EQ(process.waits(""), -1);
    EXPECT_EQ(waits_in_vain(process), 20);
}

} // namespace
} // namespace rmalock::window
