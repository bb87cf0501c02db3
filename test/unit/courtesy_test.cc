// When a process lets others have a lock of its own node first.
#include "window/sync/courtesy.hh"

#include <gtest/gtest.h>

namespace rmalock::window {
namespace {

using namespace std::chrono_literals;

/// A process that acquires target 7. Look by look, `seen` says whether it sees another process
/// there; after that it sees none.
struct Process {
    int looks_of_acquire(std::vector<bool> seen, std::chrono::nanoseconds waited) {
        int looks = 0;
        courtesy.before(7, most, fabric::Waiter(), [&] {
            const auto look = static_cast<std::size_t>(looks++);
            return look < seen.size() && seen[look];
        });
        courtesy.after(7, waited);
        return looks;
    }
    fabric::Value most = 1; ///< in a row
    Courtesy courtesy;
};

TEST(Courtesy, AProcessThatHasMetNobodyDoesNotLook) {
    Process process;
    for (int n = 0; n < 5; ++n)
        EXPECT_EQ(process.looks_of_acquire({}, 0ns), 0);
}

TEST(Courtesy, TwiceInARowOnlyAfterSomebodyElse) {
    Process process;
    process.looks_of_acquire({}, 100us);
    EXPECT_EQ(process.looks_of_acquire({}, 0ns), 0) << "the one before waited for somebody";
    EXPECT_EQ(process.looks_of_acquire({false, false, true, true, false}, 0ns), 5)
        << "until the process that came has gone";
    EXPECT_EQ(process.looks_of_acquire({true}, 100us), 2);
    EXPECT_EQ(process.looks_of_acquire({}, 0ns), 0);
    process.courtesy.before(8, 1, fabric::Waiter(), [] {
        ADD_FAILURE() << "another target";
        return false;
    });
}

TEST(Courtesy, AsManyInARowAsTheLockGivesANode) {
    Process process{.most = 3, .courtesy = {}};
    process.looks_of_acquire({}, 100us);
    for (int again = 0; again < 2; ++again) {
        for (int n = 0; n < (again == 0 ? 3 : 2); ++n)
            EXPECT_EQ(process.looks_of_acquire({}, 0ns), 0);
        EXPECT_EQ(process.looks_of_acquire({true, false}, 0ns), 2);
    }
}

TEST(Courtesy, EndsWhenNobodyComes) {
    Process process;
    process.looks_of_acquire({}, 100us);
    process.looks_of_acquire({}, 0ns);
    int patient = 0;
    while (process.looks_of_acquire({}, 0ns) != 0)
        ASSERT_LT(++patient, 1000);
    EXPECT_GT(patient, 1) << "one absence says little";
    EXPECT_EQ(process.looks_of_acquire({true}, 0ns), 0) << "it has forgotten them";
}

} // namespace
} // namespace rmalock::window
