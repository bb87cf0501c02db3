// The core without MPI: windows of several ranks in processes made by fork, over a stand-in for the
// communicator, and windows of one rank here.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "fabric/waiter.hh"
#include "rmalock_api.h"

namespace {

/// A communicator of processes that fork has made, over shared memory.
struct Team {
    static constexpr std::size_t kRoom = 8192;
    std::atomic<int> arrived{0}, round{0}, reported{0};
    int size = 1;
    std::byte room[8][kRoom];
};

struct Member {
    Team* team;
    int rank;
};

std::vector<std::string> reports;
Team* the_team = nullptr; ///< of a process that is to tell the others what it reports

void keep_report(int, const char* message) {
    reports.emplace_back(message);
    if (the_team != nullptr)
        ++the_team->reported;
}

int barrier(void* handle) {
    Team& team = *static_cast<Member*>(handle)->team;
    const int round = team.round.load();
    if (team.arrived.fetch_add(1) + 1 == team.size) {
        team.arrived = 0;
        ++team.round;
    } else {
        while (team.round.load() == round)
            sched_yield();
    }
    return 0;
}

int allgather(void* handle, const void* mine, void* all, std::size_t bytes) {
    const Member& me = *static_cast<Member*>(handle);
    std::memcpy(me.team->room[me.rank], mine, bytes);
    barrier(handle);
    for (int r = 0; r < me.team->size; ++r)
        std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(r) * bytes,
                    me.team->room[r], bytes);
    return barrier(handle);
}

int broadcast(void* handle, void* data, std::size_t bytes, int root) {
    const Member& me = *static_cast<Member*>(handle);
    if (me.rank == root)
        std::memcpy(me.team->room[0], data, bytes);
    barrier(handle);
    std::memcpy(data, me.team->room[0], bytes);
    return barrier(handle);
}

rmalock_comm_t comm_of(Member& member) {
    return {&member, member.rank, member.team->size, barrier, allgather, broadcast, 0};
}

rmalock_spec_t spec_of(Member& member, rmalock_flavor_t flavor, void* base, std::size_t size) {
    rmalock_spec_t spec{};
    spec.name = "";
    spec.label = "test";
    spec.flavor = flavor;
    spec.base = base;
    spec.size = size;
    spec.disp_unit = 1;
    spec.comm = comm_of(member);
    spec.params.lock = "auto";
    spec.params.topology = "auto";
    spec.params.t_l = "auto";
    spec.params.yield = "always";
    spec.params.domain = "cpu";
    spec.params.progress_thread = "on";
    spec.params.most_outstanding = 64;
    spec.params.shm_dir = "/dev/shm";
    spec.params.enable = true;
    return spec;
}

rmalock_layout_t plain(const void* base, std::size_t bytes) {
    rmalock_layout_t layout{};
    layout.contiguous = true;
    layout.base = reinterpret_cast<std::uintptr_t>(base);
    layout.bytes = bytes;
    layout.low = 0;
    layout.high = static_cast<std::ptrdiff_t>(bytes);
    return layout;
}

void start_host() {
    const rmalock_host_t host{nullptr, keep_report, 0, false};
    rmalock_init(&host);
    reports.clear();
}

/// Runs `body(member)` in `ranks` processes; it returns whether its rank is content.
template <class Body>
void in_processes(int ranks, Body body) {
    void* memory = mmap(nullptr, sizeof(Team), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    Team* const team = new (memory) Team;
    team->size = ranks;
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t pid = fork();
        ASSERT_GE(pid, 0);
        if (pid == 0) {
            alarm(60); // a rank whose peer has failed would wait for ever
            start_host();
            Member member{team, rank};
            _exit(body(member) ? 0 : 1);
        }
        children.push_back(pid);
    }
    for (const pid_t pid : children) {
        int status = 0;
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0) << "a rank failed";
    }
    munmap(memory, sizeof(Team));
}

/// A window of one rank in this process.
class OneRank : public testing::Test {
  protected:
    void SetUp() override {
        start_host();
        team.size = 1;
        const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 64);
        ASSERT_EQ(rmalock_window_create(&spec, &window, &base), RMALOCK_OK);
    }
    void TearDown() override {
        if (window != nullptr) {
            EXPECT_EQ(rmalock_window_free(window), RMALOCK_OK);
        }
    }
    rmalock_status_t put(std::ptrdiff_t displacement, const void* from, std::size_t bytes) {
        const auto mine = plain(from, bytes), theirs = plain(nullptr, bytes);
        return rmalock_put(window, "MPI_Put", 0, displacement, &mine, &theirs);
    }
    Team team;
    Member member{&team, 0};
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
};

TEST_F(OneRank, PutNeedsAnEpochAndSaysSo) {
    const int value = 7;
    EXPECT_EQ(put(0, &value, sizeof value), RMALOCK_ERR_SYNC);
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports[0], "window 'test', rank 0, MPI_Put to rank 0: no epoch is open");
    ASSERT_EQ(rmalock_lock(window, true, 0, false), RMALOCK_OK);
    EXPECT_EQ(put(60, &value, sizeof value), RMALOCK_OK);
    EXPECT_EQ(put(61, &value, sizeof value), RMALOCK_ERR_RANGE);
    EXPECT_EQ(put(-1, &value, sizeof value), RMALOCK_ERR_RANGE);
    EXPECT_EQ(put(PTRDIFF_MAX, &value, sizeof value), RMALOCK_ERR_RANGE);
    EXPECT_EQ(rmalock_unlock(window, 0), RMALOCK_OK);
    EXPECT_EQ(std::memcmp(static_cast<char*>(base) + 60, &value, sizeof value), 0);
}

TEST_F(OneRank, AFailedCallLeavesTheEpochAsItWas) {
    ASSERT_EQ(rmalock_lock(window, false, 0, false), RMALOCK_OK);
    EXPECT_EQ(rmalock_lock(window, true, 0, false), RMALOCK_ERR_SYNC);
    EXPECT_EQ(rmalock_lock_all(window, false), RMALOCK_ERR_SYNC);
    EXPECT_EQ(rmalock_fence(window, false), RMALOCK_ERR_SYNC);
    EXPECT_EQ(rmalock_window_free(window), RMALOCK_ERR_SYNC);
    EXPECT_EQ(rmalock_flush(window, RMALOCK_FLUSH, 9), RMALOCK_ERR_RANK);
    EXPECT_EQ(rmalock_unlock(window, 0), RMALOCK_OK);
    EXPECT_EQ(rmalock_unlock(window, 0), RMALOCK_ERR_SYNC);
    // Had a failed call left anything behind, one of these would wait for ever or fail.
    EXPECT_EQ(rmalock_lock(window, true, 0, false), RMALOCK_OK);
    EXPECT_EQ(rmalock_unlock(window, 0), RMALOCK_OK);
    EXPECT_EQ(rmalock_lock_all(window, false), RMALOCK_OK);
    EXPECT_EQ(rmalock_unlock_all(window), RMALOCK_OK);
}

TEST_F(OneRank, NocheckTakesNothing) {
    ASSERT_EQ(rmalock_lock(window, true, 0, true), RMALOCK_OK);
    EXPECT_EQ(rmalock_unlock(window, 0), RMALOCK_OK);
    ASSERT_EQ(rmalock_lock(window, true, 0, false), RMALOCK_OK);
    EXPECT_EQ(rmalock_unlock(window, 0), RMALOCK_OK);
}

TEST(Processes, ADebugParameterChecksNocheck) {
    in_processes(2, [](Member& member) {
        rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8);
        spec.params.check_nocheck = true;
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
            return false;
        bool good = true;
        if (member.rank == 0) {
            good &= rmalock_lock(window, true, 1, false) == RMALOCK_OK;
            barrier(&member);
            while (member.team->reported == 0)
                sched_yield(); // rank 1 reports first, and then waits for this lock
            good &= rmalock_unlock(window, 1) == RMALOCK_OK;
        } else {
            the_team = member.team;
            barrier(&member);
            good &= rmalock_lock(window, false, 1, true) == RMALOCK_OK;
            good &= reports.size() == 1 &&
                    reports[0] == "window 'test', rank 1, MPI_Win_lock to rank 1: MPI_MODE_NOCHECK "
                                  "was given, but another process holds a lock that conflicts";
            good &= rmalock_unlock(window, 1) == RMALOCK_OK;
            good &= rmalock_lock_all(window, true) == RMALOCK_OK && reports.size() == 1;
            good &= rmalock_unlock_all(window) == RMALOCK_OK;
        }
        return rmalock_window_free(window) == RMALOCK_OK && good;
    });
}

TEST(Creation, AFolderThatIsNotThereIsNoMemory) {
    start_host();
    Team team;
    Member member{&team, 0};
    rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 64);
    spec.params.shm_dir = "/no/such/folder";
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    EXPECT_EQ(rmalock_window_create(&spec, &window, &base), RMALOCK_ERR_NO_MEM);
    EXPECT_EQ(window, nullptr);
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_NE(reports[0].find("/no/such/folder"), std::string::npos) << reports[0];
}

TEST(Creation, NoFileIsLeftBehind) {
    const auto count = [] {
        long files = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
            files += entry.path().filename().string().starts_with("rmalock.");
        return files;
    };
    const long before = count();
    in_processes(3, [&](Member& member) {
        const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 100);
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        const bool made = rmalock_window_create(&spec, &window, &base) == RMALOCK_OK;
        const bool gone = count() == before; // while the window is in use
        barrier(&member);
        return made && gone && rmalock_window_free(window) == RMALOCK_OK;
    });
    EXPECT_EQ(count(), before);
}

TEST(Creation, RanksThatAskForDifferentLocksGetRankZeros) {
    in_processes(3, [](Member& member) {
        rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8);
        spec.params.lock = member.rank == 0 ? "pfx" : "direct_passive";
        spec.params.t_w = member.rank;
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
            return false;
        const char* reason = nullptr;
        const bool good = rmalock_window_lock_name(window, &reason) == std::string("pfx");
        return rmalock_window_free(window) == RMALOCK_OK && good;
    });
}

TEST(Creation, AllRanksFailWhenOneCannot) {
    in_processes(3, [](Member& member) {
        rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 100);
        if (member.rank == 2)
            spec.size = std::size_t{1} << 46; // more than any machine's memory file system
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        return rmalock_window_create(&spec, &window, &base) == RMALOCK_ERR_NO_MEM &&
               window == nullptr;
    });
}

/// Every rank adds to a counter in rank 0's memory under its exclusive lock, without atomics.
bool count_under_lock(Member& member, rmalock_flavor_t flavor) {
    constexpr int kRounds = 500;
    std::uint64_t own = 0;
    const rmalock_spec_t spec = spec_of(member, flavor, &own, sizeof own);
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    bool good = true;
    for (int i = 0; i < kRounds; ++i) {
        std::uint64_t value = 0;
        const auto mine = plain(&value, sizeof value), theirs = plain(nullptr, sizeof value);
        good &= rmalock_lock(window, true, 0, false) == RMALOCK_OK;
        good &= rmalock_get(window, "MPI_Get", 0, 0, &mine, &theirs) == RMALOCK_OK;
        ++value;
        good &= rmalock_put(window, "MPI_Put", 0, 0, &mine, &theirs) == RMALOCK_OK;
        good &= rmalock_unlock(window, 0) == RMALOCK_OK;
    }
    barrier(&member);
    if (member.rank == 0)
        good &= *static_cast<std::uint64_t*>(base) ==
                static_cast<std::uint64_t>(kRounds) * static_cast<std::uint64_t>(member.team->size);
    return rmalock_window_free(window) == RMALOCK_OK && good;
}

TEST(Processes, ExclusiveLocksProtectAllocatedMemory) {
    in_processes(4, [](Member& m) { return count_under_lock(m, RMALOCK_FLAVOR_ALLOCATE); });
}

TEST(Processes, ExclusiveLocksProtectMemoryReachedThroughTheKernel) {
    in_processes(4, [](Member& m) {
        bool reachable = false;
        const rmalock_comm_t comm = comm_of(m);
        if (rmalock_probe_peer_memory(&comm, &reachable) != RMALOCK_OK)
            return false;
        return !reachable || count_under_lock(m, RMALOCK_FLAVOR_CREATE);
    });
}

TEST(Processes, SharedPartsFollowOneAnother) {
    in_processes(3, [](Member& member) {
        const std::size_t sizes[] = {24, 0, 5000};
        const rmalock_spec_t spec =
            spec_of(member, RMALOCK_FLAVOR_SHARED, nullptr, sizes[member.rank]);
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
            return false;
        std::size_t size = 0;
        int unit = 0;
        void *zero = nullptr, *two = nullptr, *lowest = nullptr;
        bool good = rmalock_window_shared_query(window, 0, &size, &unit, &zero) == RMALOCK_OK;
        good &= size == 24 && unit == 1;
        good &= rmalock_window_shared_query(window, 2, &size, &unit, &two) == RMALOCK_OK;
        good &= size == 5000 && static_cast<char*>(two) - static_cast<char*>(zero) == 24;
        good &= rmalock_window_shared_query(window, -2, &size, &unit, &lowest) == RMALOCK_OK;
        good &= lowest == zero && size == 24;
        return rmalock_window_free(window) == RMALOCK_OK && good;
    });
}

} // namespace
