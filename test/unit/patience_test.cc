// How long the rounds of a wait are (locks/parts/patience.hh).
#include <gtest/gtest.h>

#include "locks/parts/patience.hh"

namespace rmalock::locks {
namespace {

using namespace std::chrono_literals;

struct Timed {
    static constexpr bool kTimeless = false;
};
struct Timeless {
    static constexpr bool kTimeless = true;
};

TEST(Patience, RoundsDoubleUpToASecondAndGrowByTheFirstOneThen) {
    Rounds<Timed> rounds(Duration(100ms));
    for (const Duration expected : {100ms, 200ms, 400ms, 800ms, 900ms, 1000ms, 1100ms})
        EXPECT_EQ(rounds.next(), expected);
}

TEST(Patience, ASectionOfAnyLengthComesToFitIntoARound) {
    Rounds<Timed> rounds(Duration(1ms));
    int n = 1;
    while (rounds.next() < Duration(10s))
        ++n;
    EXPECT_LT(n, 10000)
        << "sections of ten seconds keep a writer out for longer than 10,000 rounds";
}

TEST(Patience, AProgramThatMeetsOftenUnderOneWriterDoesNotWaitForEver) {
    Rounds<Timed> rounds(Duration(1ms));
    Duration past{};
    for (int meeting = 0; meeting < 20; ++meeting)
        past += rounds.next();
    EXPECT_LT(past, Duration(15s)); // 17 minutes where rounds go on doubling
}

TEST(Patience, AFirstRoundBeyondASecondIsNotDoubled) {
    Rounds<Timed> rounds(Duration(3s));
    EXPECT_EQ(rounds.next(), Duration(3s));
    EXPECT_EQ(rounds.next(), Duration(6s));
    EXPECT_EQ(rounds.next(), Duration(9s));
}

TEST(Patience, AWaitGoesOnWhereAnEarlierOneStopped) {
    EXPECT_EQ(Rounds<Timed>(Duration(100ms), 2).next(), Duration(400ms));
    EXPECT_EQ(Rounds<Timed>(Duration(100ms), 6).next(), Duration(1100ms));
}

TEST(Patience, AFabricWithoutTimeHasAllRoundsAlike) {
    Rounds<Timeless> rounds(Duration(100ms));
    rounds.next();
    EXPECT_EQ(rounds.next(), Duration(100ms));
}

} // namespace
} // namespace rmalock::locks
