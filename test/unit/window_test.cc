// The core without MPI: windows of several ranks in processes made by fork, over a stand-in for the
// communicator, and windows of one rank here.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "fabric/waiter.hh"
#include "rmalock_api.h"
#include "network/message.hh"
#include "network/network.hh"
#include "window/create/regions.hh"

namespace {

using namespace rmalock;

/// What the system has of random numbers.
enum class Random { all, half, none } random_numbers = Random::all;

} // namespace

/// Stands in for the C library's.
extern "C" ssize_t getrandom(void* into, std::size_t bytes, unsigned flags) {
    if (random_numbers == Random::none) {
        errno = ENOSYS;
        return -1;
    }
    return syscall(SYS_getrandom, into, random_numbers == Random::half ? bytes / 2 : bytes, flags);
}

namespace {

/// A communicator of processes that fork has made, over shared memory.
struct Team {
    static constexpr std::size_t kRoom = 8192;
    std::atomic<int> arrived{0}, round{0}, reported{0};
    int size = 1;
    std::byte room[8][kRoom];
    std::atomic<int> failed{-1};   ///< the rank that has
    std::atomic<int> survivors{0}; ///< those that have met, once in a team's life
};

struct Member {
    Team* team;
    int rank;
    int ranks_per_node = 64; ///< the others are reached through the network
    const char* domain = "cpu";
    const char* progress_thread = "on";
    bool check_messages = false;
    bool survives = false; ///< the program goes on when a process fails
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
        while (team.round.load() == round) {
            rmalock_network_progress(); // as MPI does while it waits
            sched_yield();
        }
    }
    return 0;
}

/// All but the one that has failed, which does not wait for them.
int meet_survivors(void* handle) {
    const Member& me = *static_cast<Member*>(handle);
    Team& team = *me.team;
    if (me.rank == team.failed)
        return 0;
    ++team.survivors;
    while (team.survivors < team.size - 1) {
        rmalock_network_progress();
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

int failed(void* handle, std::size_t* /*seen*/) {
    return static_cast<const Member*>(handle)->team->failed;
}

rmalock_comm_t comm_of(Member& member) {
    return {&member,
            member.rank,
            member.team->size,
            barrier,
            allgather,
            broadcast,
            member.rank / member.ranks_per_node * member.ranks_per_node,
            member.survives ? failed : nullptr,
            meet_survivors};
}

rmalock_spec_t spec_of(Member& member, rmalock_flavor_t flavor, void* base, std::size_t size) {
    rmalock_spec_t spec{};
    spec.name = "";
    spec.label = "test";
    spec.flavor = flavor;
    spec.base = base;
    spec.size = size;
    spec.disp_unit = 1;
    spec.process = static_cast<std::uint64_t>(member.rank);
    spec.comm = comm_of(member);
    spec.params.lock = "auto";
    spec.params.topology = "auto";
    spec.params.t_l = "auto";
    spec.params.passes = "auto";
    spec.params.yield = "always";
    spec.params.sleep = "auto";
    spec.params.domain = member.domain;
    spec.params.defer = "auto";
    spec.params.progress_thread = member.progress_thread;
    spec.params.check_messages = member.check_messages;
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
    const rmalock_host_t host{
        [] { rmalock_network_progress(); }, keep_report, 0, nullptr, nullptr, nullptr, nullptr};
    rmalock_init(&host);
    reports.clear();
}

/// Runs `body(member)` in `ranks` processes; it returns whether its rank is content.
template <class Body>
void in_processes(int ranks, Body body) {
    void* memory =
        mmap(nullptr, sizeof(Team), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
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
        return rmalock_put(window, "MPI_Put", 0, displacement, &mine, &theirs, nullptr);
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
    EXPECT_EQ(rmalock_flush(window, 9), RMALOCK_ERR_RANK);
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

TEST(Processes, ThreadsLoseNoCount) {
    in_processes(2, [](Member& member) {
        constexpr int kTimes = 20000;
        const rmalock_host_t host{nullptr, keep_report, 0, nullptr, nullptr, nullptr, nullptr};
        rmalock_init(&host);
        rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8);
        spec.params.lock = "direct_passive";
        spec.threads = true;
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
            return false;
        std::atomic<bool> good{true};
        const auto loop = [&](int target) {
            for (int i = 0; i < kTimes; ++i)
                if (rmalock_lock(window, true, target, false) != RMALOCK_OK ||
                    rmalock_unlock(window, target) != RMALOCK_OK)
                    good = false;
        };
        if (member.rank == 0) {
            std::thread other(loop, 1);
            loop(0);
            other.join();
        }
        rmalock_counters_t counted;
        rmalock_window_counters(window, &counted);
        const std::uint64_t locks = member.rank == 0 ? 2 * kTimes : 0;
        if (*counted.exclusive_locks != locks || *counted.verbs_on_node != 3 * locks ||
            *counted.exclusive_waits != 0)
            good = false;
        return rmalock_window_free(window) == RMALOCK_OK && good;
    });
}

bool reported(const char* text) {
    return std::any_of(reports.begin(), reports.end(), [text](const std::string& line) {
        return line.find(text) != std::string::npos;
    });
}

/// Rank 1 holds a lock until rank 0 has complained.
bool complaint_about_the_holder(Member& member) {
    rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8);
    spec.params.watchdog = member.rank == 0 ? 1 : 0; // one rank that wants it is enough
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    bool good = true;
    if (member.rank == 1) {
        good &= rmalock_lock(window, false, 0, false) == RMALOCK_OK;
        good &= rmalock_lock(window, true, 1, false) == RMALOCK_OK;
        barrier(&member);
        while (member.team->reported < 2) {
            rmalock_network_progress();
            sched_yield();
        }
        good &= rmalock_unlock(window, 1) == RMALOCK_OK;
        good &= rmalock_unlock(window, 0) == RMALOCK_OK;
    } else {
        the_team = member.team;
        barrier(&member);
        good &= rmalock_lock(window, true, 1, false) == RMALOCK_OK;
        good &= rmalock_unlock(window, 1) == RMALOCK_OK;
        good &= reported(" s for the exclusive lock of rank 1, window 'test'");
        good &= reported("watchdog:   rank 1 has held it exclusively");
        good &= reported(", and waits for nothing in rmalock") && !reported("deadlock");
        for (const std::string& line : reports)
            if (!good)
                std::fprintf(stderr, "%s\n", line.c_str());
    }
    return rmalock_window_free(window) == RMALOCK_OK && good;
}

TEST(Processes, AWaiterReportsTheHolderAfterAWhile) {
    in_processes(2, complaint_about_the_holder);
}

/// While a thread runs the host's progress in MPI_Win_test, others use the window: what progress
/// waits for may depend on them.
std::atomic<int> used_by_another_thread{0}; ///< 0: not asked for, 1: asked for, 2: done
std::atomic<bool> in_time{false};

void wait_for_another_thread() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    used_by_another_thread = 1;
    while (used_by_another_thread != 2 && std::chrono::steady_clock::now() < end)
        sched_yield();
    in_time = used_by_another_thread == 2;
}

TEST(Processes, ThreadsUseAWindowWhileOneTests) {
    in_processes(1, [](Member& member) {
        const rmalock_host_t host{
            wait_for_another_thread, keep_report, 0, nullptr, nullptr, nullptr, nullptr};
        rmalock_init(&host);
        rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8);
        spec.threads = true;
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
            return false;
        bool good = true, other_good = false;
        std::thread other([&] {
            while (used_by_another_thread != 1)
                sched_yield();
            other_good = rmalock_lock(window, true, 0, false) == RMALOCK_OK &&
                         rmalock_unlock(window, 0) == RMALOCK_OK;
            used_by_another_thread = 2;
        });
        const int origin = 0;
        good = good && rmalock_post(window, &origin, 1, false) == RMALOCK_OK;
        bool done = true;
        good = good && rmalock_test(window, &done) == RMALOCK_OK && !done;
        good = good && in_time;
        other.join();
        good = good && other_good;
        good = good && rmalock_start(window, &origin, 1, false) == RMALOCK_OK &&
               rmalock_complete(window) == RMALOCK_OK;
        good = good && rmalock_test(window, &done) == RMALOCK_OK && done;
        good = good && rmalock_test(window, &done) == RMALOCK_ERR_SYNC;
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
    // A folder of its own: others use the machine as well.
    std::string folder = "/dev/shm/rmalock-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    in_processes(3, [&](Member& member) {
        rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 100);
        spec.params.shm_dir = folder.c_str();
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        const bool made = rmalock_window_create(&spec, &window, &base) == RMALOCK_OK;
        const bool gone = std::filesystem::is_empty(folder); // while the window is in use
        barrier(&member);
        return made && rmalock_window_free(window) == RMALOCK_OK && gone;
    });
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    std::filesystem::remove(folder);
}

/// A job that is killed while it creates a window: rank 0 has made the file, rank 1 never comes.
TEST(Creation, NoFileIsLeftBehindByProcessesThatAreKilled) {
    std::string folder = "/dev/shm/rmalock-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    void* memory =
        mmap(nullptr, sizeof(Team), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    Team* const team = new (memory) Team;
    team->size = 2;
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        start_host();
        Member member{team, 0};
        rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 100);
        spec.comm.broadcast = [](void*, void*, std::size_t, int) { return 0; };
        spec.params.shm_dir = folder.c_str();
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        (void)rmalock_window_create(&spec, &window, &base);
        _exit(0);
    }
    while (team->arrived == 0) // in the exchange, which the other one is missing from
        sched_yield();
    kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    std::filesystem::remove_all(folder);
    munmap(memory, sizeof(Team));
}

/// Where processes may not look into each other's /proc the files have names.
TEST(Creation, ProcessesThatMayNotLookIntoEachOtherShareAWindow) {
    std::string folder = "/dev/shm/rmalock-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    std::filesystem::permissions(folder, std::filesystem::perms::all);
    in_processes(3, [&](Member& member) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            return false;
        prctl(PR_SET_DUMPABLE, 0);
        for (int round = 0; round < 2; ++round) { // the second begins with names
            rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 100);
            spec.params.shm_dir = folder.c_str();
            rmalock_window_t* window = nullptr;
            void* base = nullptr;
            if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
                return false;
            const auto value = static_cast<std::uint8_t>(10 * round + member.rank);
            const auto mine = plain(&value, 1), there = plain(nullptr, 1);
            const int next = (member.rank + 1) % 3, previous = (member.rank + 2) % 3;
            bool good = rmalock_lock(window, true, next, false) == RMALOCK_OK;
            good &= rmalock_put(window, "MPI_Put", next, 7, &mine, &there, nullptr) == RMALOCK_OK;
            good &= rmalock_unlock(window, next) == RMALOCK_OK;
            barrier(&member);
            good &= static_cast<std::uint8_t*>(base)[7] == 10 * round + previous;
            good &= std::filesystem::is_empty(folder);
            if (rmalock_window_free(window) != RMALOCK_OK || !good)
                return false;
        }
        return true;
    });
    std::filesystem::remove_all(folder);
}

constexpr Random kTooFew[] = {Random::half, Random::none};

/// Where rank 0 has no random number for a name, all fail, and say why; later it has.
TEST(Creation, WithoutARandomNameAllFail) {
    for (const Random random : kTooFew)
        in_processes(2, [&](Member& member) {
            if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
                return false;
            prctl(PR_SET_DUMPABLE, 0); // the file needs a name
            const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 100);
            rmalock_window_t* window = nullptr;
            void* base = nullptr;
            random_numbers = random;
            bool good = rmalock_window_create(&spec, &window, &base) == RMALOCK_ERR_NO_MEM;
            good &= member.rank != 0 || (reports.size() == 1 && reported(std::strerror(EAGAIN)));
            random_numbers = Random::all;
            good &= rmalock_window_create(&spec, &window, &base) == RMALOCK_OK;
            return good && rmalock_window_free(window) == RMALOCK_OK;
        });
}

/// Nothing else needs one: a window has a number that is unlikely to repeat, and processes do not look for
/// each other's memory.
TEST(Creation, WithoutRandomNumbersThereAreWindows) {
    for (const Random random : kTooFew)
        in_processes(2, [&](Member& member) {
            random_numbers = random;
            const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 100);
            rmalock_window_t *first = nullptr, *second = nullptr;
            void* base = nullptr;
            bool reachable = true;
            return rmalock_window_create(&spec, &first, &base) == RMALOCK_OK &&
                   rmalock_window_create(&spec, &second, &base) == RMALOCK_OK &&
                   rmalock_probe_peer_memory(&spec.comm, &reachable) == RMALOCK_OK && !reachable &&
                   rmalock_window_free(first) == RMALOCK_OK &&
                   rmalock_window_free(second) == RMALOCK_OK;
        });
}

TEST(Creation, WithoutARandomNameThereIsNoNetwork) {
    for (const Random random : kTooFew)
        in_processes(1, [&](Member& member) {
            random_numbers = random;
            const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 0);
            char why[256] = "";
            bool opened = true;
            return !rmalock_network_open(&spec.params, &opened, why, sizeof why) && !opened &&
                   std::string(why).find("random number") != std::string::npos;
        });
}

TEST(Creation, RanksThatAskForDifferentLocksGetRankZeros) {
    in_processes(3, [](Member& member) {
        rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8);
        spec.params.lock = member.rank == 0 ? "pf_mcs" : "direct_passive";
        spec.params.t_w = member.rank;
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
            return false;
        const char* reason = nullptr;
        const bool good = rmalock_window_lock_name(window, &reason) == std::string("pf_mcs");
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
        good &= rmalock_get(window, "MPI_Get", 0, 0, &mine, &theirs, nullptr) == RMALOCK_OK;
        good &= rmalock_flush(window, 0) == RMALOCK_OK;
        ++value;
        good &= rmalock_put(window, "MPI_Put", 0, 0, &mine, &theirs, nullptr) == RMALOCK_OK;
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

/// Small puts through the kernel wait for others, so that one on memory that has gone fails in the
/// call that completes it. Nothing else is lost: the lock is released, and others work.
bool fail_when_completed(rmalock_window_t* window) {
    const std::uint64_t value = 1;
    const auto mine = plain(&value, sizeof value), theirs = plain(nullptr, sizeof value);
    bool good = true;
    const auto put = [&] {
        good &= rmalock_put(window, "MPI_Put", 1, 0, &mine, &theirs, nullptr) == RMALOCK_OK;
    };
    for (const bool exclusive : {true, false}) {
        good &= rmalock_lock(window, exclusive, 1, false) == RMALOCK_OK;
        put();
        good &= rmalock_flush(window, 1) == RMALOCK_ERR_RANGE;
        good &= rmalock_flush(window, 1) == RMALOCK_OK;
        put();
        good &= rmalock_flush_local(window, 1) == RMALOCK_ERR_RANGE;
        put();
        good &= rmalock_unlock(window, 1) == RMALOCK_ERR_RANGE;
    }
    good &= rmalock_lock_all(window, false) == RMALOCK_OK;
    put();
    good &= rmalock_flush_all(window) == RMALOCK_ERR_RANGE;
    put();
    good &= rmalock_flush_local_all(window) == RMALOCK_ERR_RANGE;
    put();
    good &= rmalock_unlock_all(window) == RMALOCK_ERR_RANGE;
    return good && reports.size() == 9 &&
           reports[0].find("MPI_Put to rank 1: its memory at 0x") != std::string::npos;
}

TEST(Processes, ACopyThatFailsShowsInTheCallThatCompletesIt) {
    in_processes(2, [](Member& m) {
        bool reachable = false;
        const rmalock_comm_t comm = comm_of(m);
        if (rmalock_probe_peer_memory(&comm, &reachable) != RMALOCK_OK || !reachable)
            return !reachable;
        constexpr std::size_t kBytes = 4096;
        void* const memory =
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        rmalock_spec_t spec = spec_of(m, RMALOCK_FLAVOR_CREATE, memory, kBytes);
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
            return false;
        if (m.rank == 1)
            munmap(memory, kBytes);
        barrier(&m);
        const bool good = m.rank == 1 || fail_when_completed(window);
        return rmalock_window_free(window) == RMALOCK_OK && good;
    });
}

/// Memory runs out in the middle of a step that all take together.
TEST(LackOfMemory, EndsTheJobWhereOthersWait) {
    const rmalock_host_t host{
        nullptr, [](int, const char* message) { std::fputs(message, stderr); },
        0,       nullptr,
        nullptr, nullptr,
        nullptr};
    rmalock_init(&host);
    rmalock_comm_t comm{};
    comm.allgather = [](void*, const void*, void*, std::size_t) -> int { throw std::bad_alloc(); };
    const std::uint64_t processes[] = {0, 1};
    bool found = false;
    char why[8];
    const auto probe = [&] { return rmalock_probe_peer_memory(&comm, &found); };
    const auto reach = [&] {
        return rmalock_network_try(&comm, processes, &found, why, sizeof why);
    };
    comm.rank = 1;
    comm.size = 2;
    EXPECT_DEATH(probe(), "rank 1 has no memory for a window of 2 ranks: the job ends");
    EXPECT_DEATH(reach(), "rank 1 has no memory for a window of 2 ranks: the job ends");
    EXPECT_DEATH(rmalock_lacks_memory(&comm), "rank 1 has no memory");
    comm.rank = 0;
    comm.size = 1;
    EXPECT_EQ(probe(), RMALOCK_ERR_NO_MEM);
    EXPECT_EQ(rmalock_lacks_memory(&comm), RMALOCK_ERR_NO_MEM);
    start_host();
}

/// Has the processes find it out, and looks at what they remember.
bool all_reach_each_other(Member& member) {
    const rmalock_comm_t comm = comm_of(member);
    const auto knows = [](const std::vector<std::uint64_t>& processes) {
        char why[256] = "";
        return rmalock_network_reach(processes.data(), processes.size(), why, sizeof why);
    };
    std::vector<std::uint64_t> all(static_cast<std::size_t>(comm.size));
    std::iota(all.begin(), all.end(), 0U);
    char why[256] = "";
    bool reached = false, good = comm.size == 1 || knows(all) == RMALOCK_REACH_UNTRIED;
    good &= rmalock_network_try(&comm, all.data(), &reached, why, sizeof why) == RMALOCK_OK;
    good &= reached && *why == '\0' && (comm.size == 1 || knows(all) == RMALOCK_REACH_ALL);
    const auto me = static_cast<std::uint64_t>(member.rank), stranger = std::uint64_t{1} << 32;
    good &= comm.size == 1 || knows({all.back(), 0}) == RMALOCK_REACH_ALL;
    return good && knows({me, stranger}) == RMALOCK_REACH_UNTRIED;
}

/// Runs `body` in processes of which so many each make a node; the network between the nodes is
/// TCP.
template <class Body>
void on_nodes(int ranks, int per_node, const char* domain, Body body,
              const char* progress_thread = "on", bool check_messages = false) {
    in_processes(ranks, [&](Member& member) {
        setenv("UCX_TLS", "tcp,self", 1);
        setenv("UCX_NET_DEVICES", "lo", 1);
        member.ranks_per_node = per_node;
        member.domain = domain;
        member.progress_thread = progress_thread;
        member.check_messages = check_messages;
        const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 0);
        char why[256];
        bool opened = false;
        if (!rmalock_network_open(&spec.params, &opened, why, sizeof why))
            return false;
        const bool good = all_reach_each_other(member) && body(member);
        rmalock_network_disconnect();
        barrier(&member);
        rmalock_network_close();
        return good;
    });
}

template <class Body>
void on_two_nodes(const char* domain, Body body) {
    on_nodes(4, 2, domain, body);
}

/// The last rank can take no transport that others can.
bool decline_together(Member& member) {
    const bool last = member.rank == member.team->size - 1;
    setenv("UCX_TLS", last ? "self" : "tcp,self", 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    member.ranks_per_node = 1;
    const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 0);
    const std::vector<std::uint64_t> all{0, 1, 2};
    char why[256] = "";
    bool opened = false, reached = true;
    if (!rmalock_network_open(&spec.params, &opened, why, sizeof why) ||
        rmalock_network_try(&spec.comm, all.data(), &reached, why, sizeof why) != RMALOCK_OK)
        return false;
    const bool spoke =
        std::string(why).find("Destination is unreachable) between") != std::string::npos;
    // Of so few each has tried each other; 0 and 1 may have a window without 2.
    const bool knows =
        rmalock_network_reach(all.data(), 3, why, sizeof why) == RMALOCK_REACH_NOT_ALL &&
        rmalock_network_reach(all.data(), 2, why, sizeof why) ==
            (last ? RMALOCK_REACH_NOT_ALL : RMALOCK_REACH_UNTRIED);
    rmalock_network_disconnect();
    barrier(&member);
    rmalock_network_close();
    return !reached && spoke == (member.rank == 0) && knows;
}

TEST(Nodes, WhatOneCannotReachNobodyTriesToUse) {
    in_processes(3, decline_together);
}

/// As in MPI_Finalize, where this process runs progress until others have disconnected, too.
TEST(Nodes, AFailureBehindTheDisconnectDoesNotEndTheJob) {
    in_processes(1, [](Member& member) {
        setenv("UCX_TLS", "tcp,self", 1);
        setenv("UCX_NET_DEVICES", "lo", 1);
        const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 0);
        char why[256];
        bool opened = false;
        if (!rmalock_network_open(&spec.params, &opened, why, sizeof why))
            return false;
        rmalock_network_disconnect();
        network::Network::get()->worker().fail("a peer has gone");
        const bool found_nothing = rmalock_network_progress() == 0;
        rmalock_network_close();
        return found_nothing;
    });
}

TEST(Nodes, ExclusiveLocksProtectMemory) {
    for (const char* domain : {"cpu", "nic", "auto"}) {
        SCOPED_TRACE(domain);
        on_two_nodes(domain,
                     [](Member& m) { return count_under_lock(m, RMALOCK_FLAVOR_ALLOCATE); });
        on_two_nodes(domain, [](Member& m) { return count_under_lock(m, RMALOCK_FLAVOR_CREATE); });
    }
}

TEST(Nodes, AWaiterAsksOtherNodesForTheHolderAfterAWhile) {
    on_nodes(2, 1, "cpu", complaint_about_the_holder);
}

/// All ranks add to the same doubles at rank 0: `skew` bytes from an aligned address.
bool sum_up(Member& member, rmalock_flavor_t flavor, std::size_t skew) {
    static constexpr std::size_t kElements = 2000; // more than a message holds
    static constexpr int kRounds = 5;
    std::vector<double> own(kElements + 1), ones(kElements, 1.0), before(kElements, -1.0);
    const std::size_t bytes = kElements * sizeof(double);
    const rmalock_spec_t spec = spec_of(member, flavor, own.data(), bytes + sizeof(double));
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    const rmalock_layout_t side = plain(nullptr, bytes);
    rmalock_combination_t what{};
    what.operand = ones.data();
    what.count = kElements;
    what.element = {RMALOCK_KIND_REAL, sizeof(double), sizeof(double)};
    what.op = RMALOCK_OP_SUM;
    what.kernels = rmalock_kernels_of(what.element, what.op);
    what.target_side = &side;
    const auto at = static_cast<std::ptrdiff_t>(skew);
    bool good = rmalock_lock_all(window, false) == RMALOCK_OK;
    for (int i = 0; i < kRounds; ++i)
        good &= rmalock_accumulate(window, "MPI_Accumulate", 0, at, &what) == RMALOCK_OK;
    good &= rmalock_flush_all(window) == RMALOCK_OK;
    barrier(&member);
    what.operand = nullptr;
    what.op = RMALOCK_OP_NO_OP;
    what.kernels = rmalock_kernels_of(what.element, what.op);
    what.result = before.data();
    good &= rmalock_accumulate(window, "MPI_Get_accumulate", 0, at, &what) == RMALOCK_OK;
    good &= rmalock_flush_local(window, 0) == RMALOCK_OK;
    for (const double sum : before)
        good &= sum == kRounds * member.team->size;
    good &= rmalock_unlock_all(window) == RMALOCK_OK;
    return rmalock_window_free(window) == RMALOCK_OK && good;
}

TEST(Nodes, AccumulatesOfAllNodesAddUp) {
    for (const char* domain : {"cpu", "nic"}) {
        SCOPED_TRACE(domain);
        for (const std::size_t skew : {0, 4}) {
            on_two_nodes(domain,
                         [&](Member& m) { return sum_up(m, RMALOCK_FLAVOR_ALLOCATE, skew); });
            on_two_nodes(domain, [&](Member& m) { return sum_up(m, RMALOCK_FLAVOR_CREATE, skew); });
        }
    }
}

/// Verbs of the calling process since the last call.
ucx::Counters verbs() {
    static ucx::Counters before;
    const ucx::Counters now = network::Network::get()->worker().counters();
    const ucx::Counters taken{now.fetches - before.fetches,  now.reads - before.reads,
                              now.posts - before.posts,      now.puts - before.puts,
                              now.gets - before.gets,        now.flushes - before.flushes,
                              now.messages - before.messages};
    before = now;
    return taken;
}

std::array<std::uint64_t, 7> all_of(const ucx::Counters& c) {
    return {c.fetches, c.reads, c.posts, c.puts, c.gets, c.flushes, c.messages};
}

void show(const char* what, const ucx::Counters& counters) {
    std::string text;
    for (const std::uint64_t n : all_of(counters))
        text += " " + std::to_string(n);
    std::fprintf(stderr, "%s: fetches, reads, posts, puts, gets, flushes, messages:%s\n", what,
                 text.c_str());
}

bool same(const char* what, const ucx::Counters& expected) {
    const ucx::Counters got = verbs();
    const bool are = all_of(got) == all_of(expected);
    if (!are)
        show(what, got);
    return are;
}

struct VerbsOfPuts {
    ucx::Counters put, flush, put_and_unlock, put_get_and_unlock;
};

/// Of puts of so many bytes to rank 0, and of gets.
bool verbs_of_puts(rmalock_window_t* window, std::size_t bytes, const VerbsOfPuts& expected) {
    std::vector<std::byte> from(bytes), to(bytes);
    const auto mine = plain(from.data(), bytes), into = plain(to.data(), bytes),
               there = plain(nullptr, bytes);
    const auto lock = [&] {
        const bool locked = rmalock_lock(window, true, 0, false) == RMALOCK_OK;
        verbs();
        return locked;
    };
    const auto put = [&] {
        return rmalock_put(window, "MPI_Put", 0, 0, &mine, &there, nullptr) == RMALOCK_OK;
    };
    bool good = lock() && put() && same("put", expected.put);
    good &= rmalock_flush(window, 0) == RMALOCK_OK && same("flush", expected.flush);
    good &= put() && rmalock_unlock(window, 0) == RMALOCK_OK;
    good &= same("put and unlock", expected.put_and_unlock);
    good &= lock() && put();
    good &= rmalock_get(window, "MPI_Get", 0, 0, &into, &there, nullptr) == RMALOCK_OK;
    good &= rmalock_unlock(window, 0) == RMALOCK_OK;
    return good && same("put, get and unlock", expected.put_get_and_unlock);
}

/// The table of round trips in docs/multi-host.md: rank 3 at a target on the other node, nobody
/// else about.
bool verbs_of_calls(Member& member, const char* lock, const ucx::Counters& unlock,
                    bool puts_go_along) {
    rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8192);
    spec.params.lock = lock;
    spec.params.defer = "off";
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    bool good = true;
    if (member.rank == 3) {
        std::uint64_t value = 1;
        verbs();
        for (const bool exclusive : {true, false}) {
            good &= rmalock_lock(window, exclusive, 0, false) == RMALOCK_OK;
            good &= same("lock", {.fetches = 1});
            good &= rmalock_flush(window, 0) == RMALOCK_OK;
            good &= same("flush of nothing", {});
            good &= rmalock_unlock(window, 0) == RMALOCK_OK;
            good &= same("unlock", unlock);
        }
        std::uint64_t before = 0;
        good &= rmalock_lock(window, true, 0, false) == RMALOCK_OK;
        good &= rmalock_compare_and_swap(window, 0, 0, sizeof value, &value, &before, &before) ==
                RMALOCK_OK;
        verbs();
        good &= rmalock_flush_local(window, 0) == RMALOCK_OK;
        good &= rmalock_flush(window, 0) == RMALOCK_OK; // the answer was one
        good &= rmalock_unlock(window, 0) == RMALOCK_OK;
        good &= same("compare_and_swap", unlock) && before == 0;
        ucx::Counters large = unlock, large_and_get = unlock;
        large.puts = 1;
        large.flushes = puts_go_along ? 0 : 1; // that had to be waited for by itself
        large_and_get.puts = large_and_get.gets = large_and_get.flushes = 1;
        good &= verbs_of_puts(window, 5000, {{.puts = 1}, {.flushes = 1}, large, large_and_get});
        // Small ones go by message, which the flush or the release sends.
        ucx::Counters small = unlock, small_and_get = unlock;
        small.messages = 1;
        small_and_get.messages = 2;
        good &= verbs_of_puts(window, 8, {{}, {.messages = 1}, small, small_and_get});
    }
    return rmalock_window_free(window) == RMALOCK_OK && good;
}

TEST(Nodes, CallsTakeAsManyVerbsAsTheReadmeSays) {
    on_two_nodes(
        "cpu", [](Member& m) { return verbs_of_calls(m, "direct_passive", {.posts = 1}, false); });
    for (const char* lock : {"pf_mcs", "pf_cohort"})
        on_two_nodes("cpu",
                     [lock](Member& m) { return verbs_of_calls(m, lock, {.fetches = 1}, true); });
}

/// A short critical section is one message and its answer, whatever is in it; what asks for more
/// acquires the lock. Rank 3 at a target on the other node.
bool verbs_of_sections(Member& member) {
    const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8192);
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    bool good = true;
    if (member.rank == 3) {
        std::vector<std::byte> small(8), large(5000);
        const auto move = [&](std::vector<std::byte>& of, bool puts) {
            const auto mine = plain(of.data(), of.size()), there = plain(nullptr, of.size());
            const auto status = puts ? rmalock_put(window, "MPI_Put", 0, 0, &mine, &there, nullptr)
                                     : rmalock_get(window, "MPI_Get", 0, 0, &mine, &there, nullptr);
            return status == RMALOCK_OK;
        };
        const auto unlock = [&] { return rmalock_unlock(window, 0) == RMALOCK_OK; };
        verbs();
        for (const bool exclusive : {true, false}) {
            const auto lock = [&] {
                return rmalock_lock(window, exclusive, 0, false) == RMALOCK_OK && same("lock", {});
            };
            good &= lock() && move(small, true) && move(small, false) && same("put and get", {});
            good &= unlock() && same("their section", {.messages = 1});
            const auto flush = [&] { return rmalock_flush(window, 0) == RMALOCK_OK; };
            good &= lock() && move(small, false) && flush();
            good &= same("lock, get, and flush", {.messages = 1});
            good &= move(small, true) && flush() && same("put and flush", {.messages = 1});
            good &= flush() && same("a flush of nothing", {});
            good &= move(small, true) && rmalock_flush_local(window, 0) == RMALOCK_OK;
            good &= same("a put that is complete here", {});
            good &= unlock() && same("its unlock", {.messages = 1});
            good &= lock() && move(small, false) && flush() && unlock();
            good &= same("nothing behind the flush", {.messages = 2});
            good &= lock() && move(small, false) && flush() && move(large, true);
            good &= same("a large put behind the flush", {.puts = 1, .messages = 1});
            good &= unlock() && same("unlock behind that", {.fetches = 1});
            good &= lock() && flush() && same("only a flush", {.fetches = 1});
            good &= unlock() && same("unlock behind it", {.fetches = 1});
            good &= lock() && move(large, true) && same("a large put", {.fetches = 1, .puts = 1});
            good &= unlock() && same("unlock behind it", {.fetches = 1});
        }
        good &= rmalock_lock(window, true, 0, false) == RMALOCK_OK && same("lock", {});
        good &= rmalock_lock(window, true, 1, false) == RMALOCK_OK;
        good &= same("lock of another target", {.fetches = 1}); // the first one is acquired
        good &= unlock() && same("unlock of the first", {.fetches = 1});
        good &= rmalock_unlock(window, 1) == RMALOCK_OK && same("an empty one", {.messages = 1});
        // A program whose readers only lock has them counted on their node.
        for (int times = 0; times < 6; ++times)
            good &= rmalock_lock(window, false, 0, false) == RMALOCK_OK && unlock();
        verbs();
        good &= rmalock_lock(window, false, 0, false) == RMALOCK_OK && same("reader's lock", {});
        good &= unlock() && same("reader's unlock", {});
    }
    return rmalock_window_free(window) == RMALOCK_OK && good;
}

TEST(Nodes, ShortSectionsAreOneMessage) {
    on_two_nodes("cpu", verbs_of_sections);
}

/// Rank 3 runs `body` with two windows: the one to look at, and another one beside it.
bool beside_another_window(Member& member,
                           bool (*body)(rmalock_window_t* window, rmalock_window_t* other)) {
    const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8192);
    rmalock_window_t *window = nullptr, *other = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK ||
        rmalock_window_create(&spec, &other, &base) != RMALOCK_OK)
        return false;
    bool good = member.rank != 3 || body(window, other);
    good &= rmalock_window_free(other) == RMALOCK_OK;
    return rmalock_window_free(window) == RMALOCK_OK && good;
}

/// Readers that only lock are counted on their node, whatever else they hold: a program may keep
/// lock_all of another window open as long as that one lives.
template <bool unchecked>
bool verbs_of_a_reader_that_holds(rmalock_window_t* window, rmalock_window_t* other) {
    const auto lock = [&] { return rmalock_lock(window, false, 0, false) == RMALOCK_OK; };
    const auto unlock = [&] { return rmalock_unlock(window, 0) == RMALOCK_OK; };
    bool good = rmalock_lock_all(other, unchecked) == RMALOCK_OK;
    for (int times = 0; times < 6; ++times)
        good &= lock() && unlock();
    verbs();
    good &= lock() && same("a holder's lock", {});
    good &= unlock() && same("a holder's unlock", {});
    return rmalock_unlock_all(other) == RMALOCK_OK && good;
}

TEST(Nodes, AReaderThatHoldsElsewhereStaysOnItsNode) {
    on_two_nodes("cpu", [](Member& member) {
        return beside_another_window(member, verbs_of_a_reader_that_holds<false>) &&
               beside_another_window(member, verbs_of_a_reader_that_holds<true>);
    });
}

/// A lock's change of words waits for these, not for the program's puts to others.
bool lock_beside_a_put_elsewhere(rmalock_window_t* window, rmalock_window_t* other) {
    std::vector<std::byte> from(5000);
    const auto mine = plain(from.data(), from.size()), there = plain(nullptr, from.size());
    bool good = rmalock_lock_all(other, true) == RMALOCK_OK;
    good &= rmalock_put(other, "MPI_Put", 1, 0, &mine, &there, nullptr) == RMALOCK_OK;
    verbs();
    // It closes the gate, by a word at rank 0, which it waits for.
    good &= rmalock_lock_all(window, false) == RMALOCK_OK;
    good &= same("lock_all", {.fetches = 3, .posts = 1, .gets = 1, .flushes = 1});
    good &= rmalock_unlock_all(window) == RMALOCK_OK;
    return rmalock_unlock_all(other) == RMALOCK_OK && good;
}

TEST(Nodes, LocksWaitForNoPutsElsewhere) {
    on_two_nodes("cpu", [](Member& member) {
        return beside_another_window(member, lock_beside_a_put_elsewhere);
    });
}

/// MPI_Win_complete goes behind what was sent to its targets, or, where gets are under way, waits for
/// all of them at once: rank 0 for the others, each on a node of its own.
bool complete_in_round_trips(Member& member, bool gets) {
    const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8192);
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    bool good = true;
    for (std::uint64_t round = 1; round <= 3; ++round) {
        if (member.rank != 0) {
            const int origin = 0;
            good &= rmalock_post(window, &origin, 1, false) == RMALOCK_OK;
            good &= rmalock_wait(window) == RMALOCK_OK;
            good &= static_cast<std::uint64_t*>(base)[0] == round &&
                    static_cast<std::uint64_t*>(base)[1] == round * (round + 1) / 2;
            continue;
        }
        const std::array targets{1, 2, 3};
        const auto mine = plain(&round, sizeof round), there = plain(nullptr, sizeof round);
        rmalock_combination_t sum{};
        sum.operand = &round;
        sum.count = 1;
        sum.element = {RMALOCK_KIND_UNSIGNED, sizeof round, sizeof round};
        sum.op = RMALOCK_OP_SUM;
        sum.kernels = rmalock_kernels_of(sum.element, sum.op);
        sum.target_side = &there;
        std::vector<std::byte> large(5000);
        const auto into = plain(large.data(), large.size()), from = plain(nullptr, large.size());
        good &= rmalock_start(window, targets.data(), 3, false) == RMALOCK_OK;
        for (const int target : targets) {
            if (gets)
                good &=
                    rmalock_get(window, "MPI_Get", target, 64, &into, &from, nullptr) == RMALOCK_OK;
            good &= rmalock_put(window, "MPI_Put", target, 0, &mine, &there, nullptr) == RMALOCK_OK;
            good &= rmalock_accumulate(window, "MPI_Accumulate", target, sizeof round, &sum) ==
                    RMALOCK_OK;
        }
        rmalock_counters_t before, after;
        rmalock_window_counters(window, &before);
        good &= rmalock_complete(window) == RMALOCK_OK;
        rmalock_window_counters(window, &after);
        good &= *after.round_trips - *before.round_trips == (gets ? 1 : 0);
    }
    return rmalock_window_free(window) == RMALOCK_OK && good;
}

TEST(Nodes, CompleteTakesNoRoundTripOrOneForAllTargets) {
    for (const bool gets : {false, true})
        on_nodes(4, 1, "cpu", [gets](Member& m) { return complete_in_round_trips(m, gets); });
}

/// Lock and unlock of a target that nobody else uses: a fetch, and a posted word that nothing waits for,
/// whichever connection the word takes.
bool lock_in_a_round_trip(Member& member) {
    constexpr int kTimes = 200; // far behind the change of connections
    rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 64);
    spec.params.lock = "direct_passive";
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    bool good = true;
    for (int n = 0; member.rank == 1 && n < kTimes && good; ++n) {
        rmalock_counters_t before, after;
        rmalock_window_counters(window, &before);
        verbs();
        good &= rmalock_lock(window, true, 0, false) == RMALOCK_OK;
        good &= rmalock_unlock(window, 0) == RMALOCK_OK;
        good &= same("lock and unlock", {.fetches = 1, .posts = 1});
        rmalock_window_counters(window, &after);
        good &= *after.round_trips - *before.round_trips == 1;
        // The next fetch may come ahead of a word that goes another way.
        network::Network::get()->worker().flush_all(fabric::Waiter());
    }
    return rmalock_window_free(window) == RMALOCK_OK && good;
}

TEST(Nodes, LockAndUnlockWaitForOneRoundTrip) {
    on_nodes(2, 1, "cpu", lock_in_a_round_trip);
}

/// The last process holds a lock when it fails.
bool outlive_the_holder(Member& member) {
    member.survives = true;
    const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 64);
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    const bool fails = member.rank == member.team->size - 1;
    bool good = !fails || rmalock_lock(window, true, 0, false) == RMALOCK_OK;
    barrier(&member);
    if (fails) {
        usleep(20000); // the others wait, mostly
        member.team->failed = member.rank;
        barrier(&member);
        rmalock_window_abandon(window); // a process that is killed frees nothing; UCX would tell
        return good;
    }
    good &= rmalock_lock(window, member.rank == 0, 0, false) == RMALOCK_ERR_PROC_FAILED;
    good &= rmalock_window_survives(window, true) == RMALOCK_ERR_PROC_FAILED;
    rmalock_window_abandon(window);
    barrier(&member);
    return good;
}

TEST(Nodes, AWaitEndsWhenAProcessOfTheWindowFails) {
    on_nodes(3, 3, "cpu", outlive_the_holder);
    on_nodes(3, 1, "cpu", outlive_the_holder);
}

/// Memory that comes and goes at rank 3 while rank 0, on the other node, uses it.
bool attach_and_detach(Member& member) {
    const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_DYNAMIC, nullptr, 0);
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    bool good = rmalock_lock_all(window, false) == RMALOCK_OK;
    std::vector<std::vector<std::uint64_t>> memory;
    for (std::uint64_t round = 0; round < 40;
         ++round) { // more regions than fit into the first room
        std::uint64_t where[4] = {}, mine = 0;
        if (member.rank == 3) {
            memory.emplace_back(100);
            mine = reinterpret_cast<std::uint64_t>(memory.back().data());
            good &= rmalock_window_attach(window, memory.back().data(), 800) == RMALOCK_OK;
        }
        allgather(&member, &mine, where, sizeof mine);
        if (member.rank == 0) {
            const auto to = static_cast<std::ptrdiff_t>(where[3]);
            const auto from = plain(&round, sizeof round), there = plain(nullptr, sizeof round);
            good &= rmalock_put(window, "MPI_Put", 3, to + 8, &from, &there, nullptr) == RMALOCK_OK;
            good &= rmalock_put(window, "MPI_Put", 3, to + 793, &from, &there, nullptr) ==
                    RMALOCK_ERR_RANGE;
            good &= rmalock_flush(window, 3) == RMALOCK_OK;
        }
        barrier(&member);
        if (member.rank == 3 && (good &= memory.back()[1] == round) && round % 3 == 0)
            good &= rmalock_window_detach(window, memory.back().data()) == RMALOCK_OK;
        barrier(&member);
    }
    good &= rmalock_unlock_all(window) == RMALOCK_OK;
    return rmalock_window_free(window) == RMALOCK_OK && good;
}

TEST(Nodes, RegionsAreFoundFromOtherNodes) {
    on_two_nodes("cpu", attach_and_detach);
}

/// A region whose key finds no room is refused, and nothing that others read is left half written.
bool refuse_long_keys(Member&) {
    ucx::Worker& worker = network::Network::get()->worker();
    alignas(64) std::byte shown[256]{};
    auto& published = *new (shown) window::PublishedRegions{};
    std::uint64_t memory[2] = {};
    const auto begin = reinterpret_cast<std::uint64_t>(memory);
    window::AttachedRegions narrow(published, &worker, 8);
    bool refused = false;
    try {
        narrow.attach(begin, sizeof memory);
    } catch (const ucx::Error&) {
        refused = true;
    }
    bool good = refused && published.version == 0 && published.count == 0;
    good &= narrow.table().empty() && !narrow.detach(begin);
    window::AttachedRegions wide(published, &worker, 128);
    good &= wide.attach(begin + 8, 8) && wide.attach(begin, 8) && !wide.attach(begin + 4, 8);
    good &= published.version == 4 && published.count == 2;
    const auto* first = reinterpret_cast<const window::Exposure*>(published.exposures);
    good &= first->begin == begin && first->end == begin + 8 && first->key_bytes != 0;
    good &= wide.detach(begin) && first->begin == begin + 8 && published.version % 2 == 0;
    return good && wide.detach(begin + 8) && wide.table().empty();
}

TEST(Nodes, KeysThatAreTooLongAreRefused) {
    on_nodes(1, 1, "cpu", refuse_long_keys);
}

/// Seconds that one attach takes, the median over the words of `memory`.
double seconds_to_attach(window::AttachedRegions& regions, std::span<std::uint64_t> memory) {
    std::vector<double> times;
    for (std::uint64_t& word : memory) {
        const auto begin = std::chrono::steady_clock::now();
        if (!regions.attach(reinterpret_cast<std::uint64_t>(&word), sizeof word))
            return -1;
        times.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
}

/// Only the new region's key is packed, so it takes less than to pack half of all keys would.
bool attach_many(Member&) {
    constexpr std::size_t kSome = 200, kMany = 4000;
    ucx::Worker& worker = network::Network::get()->worker();
    alignas(64) std::byte shown[256]{};
    auto& published = *new (shown) window::PublishedRegions{};
    window::AttachedRegions regions(published, &worker, 128);
    std::vector<std::uint64_t> memory(kMany);
    const std::span all(memory);
    if (seconds_to_attach(regions, all.first(kMany - kSome)) < 0)
        return false;
    const double attach = seconds_to_attach(regions, all.last(kSome));
    const ucx::Registration one(worker, memory.data(), sizeof memory[0]);
    const auto begin = std::chrono::steady_clock::now();
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < kMany / 2; ++i)
        bytes += one.key().size();
    const std::chrono::duration<double> pack = std::chrono::steady_clock::now() - begin;
    std::printf("attach region %zu: %.1f us; %zu keys: %.1f us\n", kMany, 1e6 * attach, kMany / 2,
                1e6 * pack.count());
    std::fflush(stdout);
    return bytes != 0 && attach >= 0 && attach < pack.count();
}

TEST(Nodes, ToAttachOneMoreRegionPacksOneKey) {
    on_nodes(1, 1, "cpu", attach_many);
}

std::atomic<bool> waits{false};

/// A thread of rank 0 waits for what rank 1 has attached, which does not serve before another
/// thread of rank 0 has used the window.
bool use_while_another_asks(Member& member) {
    const rmalock_host_t host{[] {
                                  waits = true;
                                  rmalock_network_progress();
                              },
                              keep_report,
                              0,
                              nullptr,
                              nullptr,
                              nullptr,
                              nullptr};
    rmalock_init(&host);
    rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_DYNAMIC, nullptr, 0);
    spec.threads = true;
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    std::uint64_t memory[2] = {}, where[2] = {};
    bool good = rmalock_window_attach(window, memory, 8) == RMALOCK_OK;
    const auto mine = reinterpret_cast<std::uint64_t>(memory);
    allgather(&member, &mine, where, sizeof mine);
    if (member.rank == 0)
        good &= rmalock_lock_all(window, false) == RMALOCK_OK;
    barrier(&member);
    if (member.rank == 0) {
        bool put_good = false;
        const std::uint64_t value = 7;
        const auto from = plain(&value, sizeof value), there = plain(nullptr, sizeof value);
        waits = false;
        std::thread asker([&] {
            put_good = rmalock_put(window, "MPI_Put", 1, static_cast<std::ptrdiff_t>(where[1]),
                                   &from, &there, nullptr) == RMALOCK_OK;
        });
        while (!waits)
            sched_yield();
        good &= rmalock_window_attach(window, memory + 1, 8) == RMALOCK_OK;
        member.team->reported = 1;
        asker.join();
        good &= put_good && rmalock_unlock_all(window) == RMALOCK_OK;
    } else {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (member.team->reported == 0 && std::chrono::steady_clock::now() < end)
            sched_yield();
        good &= member.team->reported == 1;
    }
    barrier(&member);
    good &= member.rank == 0 || memory[0] == 7;
    return rmalock_window_free(window) == RMALOCK_OK && good;
}

TEST(Nodes, ThreadsUseAWindowWhileOneAsksWhatIsAttached) {
    on_nodes(2, 1, "cpu", use_while_another_asks, "off");
}

/// What an accumulate of one number of 8 bytes is as a message, to the first window of a process.
struct Forged {
    network::MessageHeader header{.kind = network::MessageKind::accumulate,
                                  .op = RMALOCK_OP_SUM,
                                  .element_kind = RMALOCK_KIND_UNSIGNED,
                                  .has_operand = 1,
                                  .element_size = 8,
                                  .element_extent = 8,
                                  .window = {.number = 0, .generation = 1},
                                  .runs = 1,
                                  .ticket = 0};
    struct {
        network::MessageRun run{0, 1};
        std::uint64_t operand = 1;
    } data;

    void send_to(ucx::PeerId to) {
        ucx::Worker& worker = network::Network::get()->worker();
        worker.send(*worker.find(to), std::as_bytes(std::span(&header, 1)),
                    std::as_bytes(std::span(&data, 1)));
    }
};

/// The name of a rank's process in the network.
ucx::PeerId peer_of(Member& member, int rank) {
    std::array<ucx::PeerId, 8> all;
    const ucx::PeerId mine = network::Network::get()->self();
    allgather(&member, &mine, all.data(), sizeof mine);
    return all[static_cast<std::size_t>(rank)];
}

/// Runs progress until `done()`. False: 20 seconds have passed.
template <class Done>
bool serve_until(Done done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done() && std::chrono::steady_clock::now() < end) {
        rmalock_network_progress();
        sched_yield();
    }
    return done();
}

const std::uint64_t* value_then; ///< what a good message has made 1 before the job ends

/// A message for a window that was freed comes when the next one has its number: the job ends.
bool send_to_freed_window(Member& member) {
    const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 8);
    rmalock_window_t* window = nullptr;
    void* base = nullptr;
    if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK ||
        rmalock_window_free(window) != RMALOCK_OK ||
        rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
        return false;
    const ucx::PeerId one = peer_of(member, 1);
    if (member.rank == 1) {
        the_team = member.team;
        value_then = static_cast<std::uint64_t*>(base);
        std::signal(SIGABRT, [](int) {
            const bool good = *value_then == 1 &&
                              reported("window 0, generation 1, of this process: it was freed");
            _exit(good ? 0 : 1);
        });
        serve_until([] { return false; });
        _exit(1);
    }
    Forged message;
    message.header.window.generation = 2;
    message.send_to(one);
    message.header.window.generation = 1;
    message.data.operand = 100;
    message.send_to(one);
    _exit(serve_until([&] { return member.team->reported != 0; }) ? 0 : 1);
}

TEST(Nodes, AMessageForAFreedWindowIsNotTakenForTheNextOnes) {
    on_nodes(2, 1, "cpu", send_to_freed_window, "off");
}

// What a process that checks messages is to say before it ends the job.
const char* last_words;

void end_of_job(int) {
    const bool good = reports.size() == 1 && reports[0].starts_with("check_messages: process ") &&
                      reported(last_words) && *value_then == 1;
    if (!good)
        std::fprintf(stderr, "%zu reports, last: %s\n", reports.size(), reports.back().c_str());
    _exit(good ? 0 : 1);
}

/// Rank 1 checks messages, and aborts when the second of two comes, of which `spoil` has made one
/// that is wrong.
template <class Spoil>
void expect_end(const char* words, Spoil spoil) {
    SCOPED_TRACE(words);
    const auto body = [&](Member& member) {
        const rmalock_spec_t spec = spec_of(member, RMALOCK_FLAVOR_ALLOCATE, nullptr, 64);
        rmalock_window_t* window = nullptr;
        void* base = nullptr;
        if (rmalock_window_create(&spec, &window, &base) != RMALOCK_OK)
            return false;
        const ucx::PeerId one = peer_of(member, 1);
        if (member.rank == 1) {
            the_team = member.team;
            last_words = words;
            value_then = static_cast<std::uint64_t*>(base);
            std::signal(SIGABRT, end_of_job);
            serve_until([] { return false; });
            _exit(1);
        }
        Forged message;
        message.send_to(one);
        spoil(message);
        message.send_to(one);
        _exit(serve_until([&] { return member.team->reported != 0; }) ? 0 : 1);
    };
    on_nodes(2, 1, "cpu", body, "off", true);
}

TEST(Nodes, ADebugParameterChecksMessages) {
    expect_end(
        "accumulate (sum of unsigned) of elements of 8 bytes, the first at displacement 0 in "
        "window 7 of generation 1, ticket 0. Wrong: there is no such window",
        [](Forged& m) { m.header.window.number = 7; });
    expect_end("in window 0 of generation 3, ticket 0. Wrong: there is no such window",
               [](Forged& m) { m.header.window.generation = 3; });
    expect_end("Wrong: 8 bytes at displacement 60 are outside the memory of window 'test', rank 1",
               [](Forged& m) { m.data.run.offset = 60; });
    expect_end("outside the memory", [](Forged& m) { m.data.run.offset = -std::uint64_t{8}; });
    expect_end("accumulate (29 of unsigned)", [](Forged& m) { m.header.op = 29; });
    expect_end("Wrong: the operation is not defined for the type, in window 'test', rank 1",
               [](Forged& m) {
                   m.header.element_kind = RMALOCK_KIND_REAL;
                   m.header.op = RMALOCK_OP_BAND;
               });
    expect_end("compare_swap of elements of 8 bytes, the first at displacement 0 in window 0 of "
               "generation 1, ticket 0. Wrong: the ticket for the answer is missing",
               [](Forged& m) { m.header.kind = network::MessageKind::compare_swap; });
    expect_end("result in window 0 of generation 1, ticket 0x1234. Wrong: no request of this "
               "process waits with the ticket",
               [](Forged& m) {
                   m.header.kind = network::MessageKind::result;
                   m.header.ticket = 0x1234;
               });
}

/// Messages of the program's own pass, in windows of all kinds.
TEST(Nodes, CheckedMessagesAreApplied) {
    for (const rmalock_flavor_t flavor : {RMALOCK_FLAVOR_ALLOCATE, RMALOCK_FLAVOR_CREATE})
        on_nodes(
            2, 1, "cpu", [&](Member& m) { return sum_up(m, flavor, 4); }, "on", true);
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
        std::ptrdiff_t unit = 0;
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
