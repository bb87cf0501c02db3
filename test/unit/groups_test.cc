#include "network/groups.hh"

#include <gtest/gtest.h>

namespace rmalock::network {
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

TEST(Groups, HaveThoseWithinOneOfThem) {
    Groups groups;
    groups.add({1, 2, 3});
    groups.add({4, 3});
    EXPECT_TRUE(groups.have({3, 1}));
    EXPECT_TRUE(groups.have({4, 3}));
    EXPECT_FALSE(groups.have({1, 4})); // of two of them
    EXPECT_FALSE(groups.have({1, 2, 3, 5}));
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
} // namespace rmalock::network
