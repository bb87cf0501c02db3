// What a worker takes of the file descriptors, and what it does where they are scarce.
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "processes.hh"
#include "ucx_glue/descriptors.hh"

namespace rmalock::ucx::test {
namespace {

/// Over all devices there are: UCX would connect two.
constexpr Transport kTcpOverAll{"tcp", "tcp,self"};

/// So many words that they are told by an endpoint of their own.
constexpr int kMany = 100;

void tell_all(Participant& here, int words) {
    for (int n = 0; n < words; ++n)
        for (int to = 0; to < here.size; ++to) {
            if (to == here.rank)
                continue;
            here.worker.send_word(here.peer(to), WordOp::add, here.address(to, 0), 1);
            here.worker.fetch(here.waiter, here.peer(to), Fetch::add, here.address(to, 1),
                              here.key(to), 1);
        }
    here.worker.flush_all(here.waiter);
}

void expect_told(Participant& here, int words) {
    const auto all = static_cast<std::uint64_t>(words * (here.size - 1));
    EXPECT_EQ(here.memory[0], all) << "sent words";
    EXPECT_EQ(here.memory[1], all) << "fetched ones";
}

/// The soft limit, so that so many more descriptors than now may be opened.
void leave_descriptors(std::size_t more) {
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = Descriptors::count().used + more;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

int warnings = 0;
Descriptors::Count warned_at;
void warn(const Descriptors::Count& now) {
    ++warnings;
    warned_at = now;
}
Worker::Options warning_options(const Processes& world) {
    Worker::Options options = default_options(world);
    options.descriptors_near = warn;
    return options;
}

TEST(Room, DescriptorsAreCounted) {
    const Descriptors::Count before = Descriptors::count();
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(before.limit, limit.rlim_cur);
    const int more = ::open("/dev/null", O_RDONLY);
    EXPECT_EQ(Descriptors::count().used, before.used + 1);
    close(more);
    EXPECT_EQ(Descriptors::count().used, before.used);
    EXPECT_EQ(before.left(), before.limit - before.used);
}

TEST(Room, NoneAreLeftWhereAllAreUsed) {
    run_world(1, kTcpOverAll, [](Processes&) {
        leave_descriptors(5);
        std::vector<int> all;
        for (int more; (more = dup(STDIN_FILENO)) >= 0;)
            all.push_back(more);
        EXPECT_EQ(Descriptors::count().left(), 0u);
        for (const int descriptor : all)
            close(descriptor);
        EXPECT_EQ(Descriptors::count().left(), 5u);
    });
}

TEST(Room, TheLimitIsNearBeforeItIsReached) {
    EXPECT_TRUE(Descriptors::is_near({50, 60}));
    EXPECT_FALSE(Descriptors::is_near({20, 60}));
    EXPECT_TRUE(Descriptors::is_near({900, 1024}));
    EXPECT_FALSE(Descriptors::is_near({800, 1024}));
}

TEST(Room, APeerTakesTwoDescriptorsAtMost) {
    run_world(4, kTcpOverAll, [](Processes& world) {
        Participant here(world, default_options(world), 64);
        const std::size_t before = Descriptors::count().used;
        tell_all(here, kMany);
        here.fence();
        expect_told(here, kMany);
        EXPECT_LE(Descriptors::count().used, before + 2 * 3);
        EXPECT_EQ(here.worker.connections().first, 3u);
        EXPECT_EQ(here.worker.connections().second, 3u) << "for words";
        here.fence();
    });
}

/// Nor do the peers open one to a process that is near the limit.
TEST(Room, NearTheLimitAProcessWarnsAndHasOneConnectionToEachPeer) {
    run_world(3, kTcpOverAll, [](Processes& world) {
        Participant here(world, warning_options(world), 64);
        tell_all(here, 1);
        here.fence();
        if (here.rank == 0) {
            leave_descriptors(10);
            here.worker.check_descriptors();
            EXPECT_EQ(warned_at.left(), 10u);
        }
        here.fence();
        tell_all(here, 1); // what rank 0 answers comes after what it has asked for
        tell_all(here, kMany);
        here.fence();
        expect_told(here, kMany + 2);
        EXPECT_EQ(here.worker.connections().first, 2u);
        EXPECT_EQ(here.worker.connections().second, here.rank == 0 ? 0u : 1u) << "between two";
        EXPECT_EQ(warnings, here.rank == 0 ? 1 : 0);
        here.fence();
    });
}

TEST(Room, WordsGetNoConnectionWhileDescriptorsAreScarce) {
    run_world(3, kTcpOverAll, [](Processes& world) {
        Participant here(world, warning_options(world), 64);
        tell_all(here, 1); // while all connect at once there are more connections for a moment
        here.fence();
        leave_descriptors(2 * Descriptors::reserve(0) - 8);
        tell_all(here, kMany);
        here.fence();
        expect_told(here, kMany + 1);
        EXPECT_EQ(here.worker.connections().first, 2u);
        EXPECT_EQ(here.worker.connections().second, 0u);
        EXPECT_EQ(warnings, 0) << "scarce, but not near the limit";
        here.fence();
    });
}

/// A peer that comes later hears of it when it greets.
TEST(Room, APeerIsAskedForOneConnection) {
    run_world(2, kTcpOverAll, [](Processes& world) {
        Participant here(world, default_options(world), 64);
        if (here.rank == 0)
            leave_descriptors(10);
        here.fence();
        here.worker.connect(here.waiter, here.peer(1 - here.rank));
        tell_all(here, kMany);
        here.fence();
        expect_told(here, kMany);
        EXPECT_EQ(here.worker.connections().second, 0u);
        here.fence();
    });
}

} // namespace
} // namespace rmalock::ucx::test
