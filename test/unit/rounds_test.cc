// When a process lets the sections of other nodes go first.
#include "window/sync/rounds.hh"

#include <gtest/gtest.h>

#include <string>

namespace rmalock::window {
namespace {

using namespace std::chrono_literals;
using fabric::Value;

/// The sections of these origins, one after another, with a bar where a round ends.
std::string rounds_of(SectionRounds& rounds, const std::string& origins) {
    std::string told;
    for (const char origin : origins)
        told += rounds.ends_one(static_cast<ucx::PeerId>(origin)) ? std::string{origin, '|'}
                                                                  : std::string{origin};
    return told;
}

/// A round has as many sections as there are origins that send some, so that one that comes twice
/// makes it no shorter.
TEST(Rounds, AsLongAsThereAreOrigins) {
    SectionRounds rounds;
    EXPECT_EQ(rounds_of(rounds, "aa"), "a|a|");
    EXPECT_EQ(rounds_of(rounds, "bcabcaabbcc"), "bca|bca|abb|cc");
}

TEST(Rounds, AnOriginThatIsGoneIsForgotten) {
    SectionRounds rounds;
    rounds_of(rounds, "abc");
    rounds_of(rounds, std::string(300, 'a'));
    EXPECT_EQ(rounds_of(rounds, "aaaa"), "a|a|a|a|");
}

/// Acquires target 7 with so many rounds done; in a wait there will be `next`. Returns whether it
/// waited.
struct Process {
    bool waits(Value now, Value next, locks::Duration time = 100us, fabric::Rank target = 7) {
        bool waited = false;
        round = now;
        others.before(
            target, [this] { return round; },
            [&](Value seen, locks::Duration most) {
                EXPECT_EQ(seen, now);
                EXPECT_GE(most, time);
                waited = true;
                round = next;
                return time;
            });
        return waited;
    }
    Value round = 0;
    RoundsOfOthers others;
};

TEST(Rounds, OneTurnEach) {
    Process process;
    EXPECT_FALSE(process.waits(0, 0)) << "nobody has come yet";
    EXPECT_FALSE(process.waits(0, 0));
    EXPECT_FALSE(process.waits(1, 1)) << "a round is over since";
    EXPECT_TRUE(process.waits(1, 2));
    EXPECT_TRUE(process.waits(2, 3));
    EXPECT_FALSE(process.waits(4, 4));
    EXPECT_FALSE(process.waits(4, 4, 100us, 8)) << "another target";
    EXPECT_FALSE(process.waits(4, 4)) << "from the beginning";
}

/// How often the process waits in vain, each time for a millisecond.
unsigned waits_in_vain(Process& process, Value now) {
    unsigned waits = 0;
    while (waits < 100 && process.waits(now, now, 1ms))
        ++waits;
    return waits;
}

TEST(Rounds, AMillisecondIsLostForEachRoundAndTwentyInAll) {
    Process process;
    process.waits(1, 1);
    EXPECT_EQ(waits_in_vain(process, 1), 0U) << "it has not seen any come";
    EXPECT_FALSE(process.waits(2, 2));
    EXPECT_EQ(waits_in_vain(process, 2), 1U);
    EXPECT_FALSE(process.waits(5, 5));
    EXPECT_EQ(waits_in_vain(process, 5), 3U);
    EXPECT_FALSE(process.waits(1005, 1005));
    EXPECT_EQ(waits_in_vain(process, 1005), 20U);
}

} // namespace
} // namespace rmalock::window
