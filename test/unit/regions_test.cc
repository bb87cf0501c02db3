// The tables of attached memory, as the processes of their node read them.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "window/create/exposure.hh"
#include "window/create/regions.hh"

namespace {

using namespace rmalock;
using window::PublishedRegions;

/// What two ranks of a node publish: 0 is this process.
struct Published {
    PublishedRegions of[2]{};
    window::Part parts[2]{};
    window::Regions regions{{.self = 0,
                             .states = reinterpret_cast<std::byte*>(of),
                             .stride = sizeof(PublishedRegions),
                             .offset = 0,
                             .places = nullptr,
                             .key_room = 0},
                            parts,
                            nullptr};
};

/// A process that only waits to be killed.
pid_t other_process() {
    const pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    return pid;
}

TEST(Regions, AreReadFromTheirOwner) {
    Published shown;
    const window::Region region{16, 32}; // the child has it at the same address
    const pid_t owner = other_process();
    shown.parts[1].pid = owner;
    shown.of[1].address = reinterpret_cast<std::uint64_t>(&region);
    shown.of[1].count = 1;
    shown.of[1].version = 2;
    const window::RegionTable* const table = shown.regions.near(1);
    ASSERT_NE(table, nullptr);
    EXPECT_TRUE(covers(*table, 16, 32));
    EXPECT_FALSE(covers(*table, 16, 33));
    kill(owner, SIGKILL);
    waitpid(owner, nullptr, 0);
    EXPECT_EQ(shown.regions.near(1), table); // nothing has changed
    shown.of[1].version = 4;
    EXPECT_EQ(shown.regions.near(1), nullptr);
}

/// The version stays odd for ever. An alarm ends a reader that waits for the next one.
TEST(Regions, OfAProcessThatWasKilledWhileItAttachedAreNotFound) {
    Published shown;
    const pid_t owner = other_process();
    shown.parts[1].pid = owner;
    shown.of[1].version = 3;
    kill(owner, SIGKILL);
    siginfo_t end{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(owner), &end, WEXITED | WNOWAIT), 0);
    alarm(30);
    EXPECT_EQ(shown.regions.near(1), nullptr); // its parent has not asked for it yet
    waitpid(owner, nullptr, 0);
    EXPECT_EQ(shown.regions.near(1), nullptr);
    alarm(0);
}

} // namespace
