#include "window/groups.hh"

#include <gtest/gtest.h>

namespace rmalock::window {
namespace {

using All = std::vector<Groups::Group>;

TEST(Groups, AProcessAloneIsNone) {
    Groups groups;
    groups.add({7});
    EXPECT_TRUE(groups.all().empty());
}

TEST(Groups, AreSortedAndKeptOnce) {
    Groups groups;
    groups.add({3, 1, 2});
    groups.add({2, 3, 1});
    EXPECT_EQ(groups.all(), (All{{1, 2, 3}}));
}

TEST(Groups, TheLargerOneReplacesThoseWithinIt) {
    Groups groups;
    groups.add({1, 2});
    groups.add({1, 4});
    groups.add({2, 1, 3});
    EXPECT_EQ(groups.all(), (All{{1, 4}, {1, 2, 3}}));
    groups.add({3, 1});
    EXPECT_EQ(groups.all(), (All{{1, 4}, {1, 2, 3}}));
}

} // namespace
} // namespace rmalock::window
