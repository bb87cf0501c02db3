// What is counted, and how it is told.
#include <gtest/gtest.h>

#include "window/diag/counts.hh"

namespace rmalock::window {
namespace {

TEST(Counts, WaitsAreSortedByPowersOfTwoMicroseconds) {
    Acquisitions acquisitions(false);
    for (const std::uint64_t nanoseconds : {0UL, 999UL, 1000UL, 1999UL, 3000UL, 5'000'000'000UL})
        acquisitions.waited(Mode::shared, nanoseconds);
    acquisitions.acquired(Mode::all);
    rmalock_counters_t counters{};
    acquisitions.report(counters);
    EXPECT_EQ(*counters.shared_waits, 6U);
    EXPECT_EQ(*counters.exclusive_waits, 0U);
    EXPECT_EQ(*counters.lock_alls, 1U);
    EXPECT_EQ(*counters.wait_nanoseconds, 5'000'006'998U);
    EXPECT_EQ(counters.wait_histogram[0], 2U);
    EXPECT_EQ(counters.wait_histogram[1], 2U);
    EXPECT_EQ(counters.wait_histogram[2], 1U);
    EXPECT_EQ(counters.wait_histogram[23], 1U);
}

TEST(Counts, TheSummaryIsTheSumOfAll) {
    rmalock_counters_t one{}, other{};
    *one.exclusive_locks = 12'000;
    *other.exclusive_locks = 345;
    *one.shared_locks = 5;
    *one.exclusive_waits = 1'235;
    one.wait_histogram[3] = 1'234; // 4 to 8 us
    one.wait_histogram[23] = 1;
    *one.wait_nanoseconds = 12'350'000;
    *other.handovers_on_node = 7;
    *other.round_trips = 1'000'000;
    EXPECT_EQ(
        describe(total({one, other})),
        "locks: 12,345 exclusive, 5 shared, 0 lock_all; waited: 10.0 %, 10 us on average, half "
        "less than 8 us, 99 % less than 8 us; hand-overs: 7 on node, 0 off; changes of mode: 0; "
        "verbs: 0 on node, 0 off; round trips: 1,000,000");
    EXPECT_EQ(describe({}),
              "locks: 0 exclusive, 0 shared, 0 lock_all; hand-overs: 0 on node, 0 off; "
              "changes of mode: 0; verbs: 0 on node, 0 off; round trips: 0");
}

} // namespace
} // namespace rmalock::window
