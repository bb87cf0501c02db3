// The thread that serves while the application computes: these processes sleep instead.
#include "ucx_glue/progress_thread.hh"

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <new>
#include <optional>
#include <thread>

#include "processes.hh"

namespace rmalock::ucx::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Thread : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Over, Thread, testing::Values(kTcp, kShared, kAny),
                         [](const auto& given) { return std::string(given.param.name); });

/// The threads of this process by the system's numbers, with their names.
std::map<pid_t, std::string> all_threads() {
    std::map<pid_t, std::string> threads;
    DIR* tasks = opendir("/proc/self/task");
    while (const dirent* task = readdir(tasks))
        if (task->d_name[0] != '.')
            std::ifstream(std::string("/proc/self/task/") + task->d_name + "/comm") >>
                threads[static_cast<pid_t>(std::atoi(task->d_name))];
    closedir(tasks);
    return threads;
}

/// The progress thread.
pid_t thread_id() {
    for (const auto& [id, name] : all_threads())
        if (name == "rmalock")
            return id;
    return 0;
}

/// A line of the system's status of a thread.
std::string status_of(pid_t thread, const std::string& field) {
    std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
    std::string line;
    while (std::getline(status, line))
        if (line.starts_with(field + ":"))
            return line.substr(line.find_first_not_of(" \t", field.size() + 1));
    return "";
}

long voluntary_switches(pid_t thread) {
    return std::stol(status_of(thread, "voluntary_ctxt_switches"));
}

std::atomic<int> replies{0};

Worker* the_worker = nullptr;

/// Asked with data, answers without.
void answer(PeerId from, std::span<const std::byte>, std::span<const std::byte> data) {
    if (data.empty())
        ++replies;
    else
        the_worker->send_locked(*the_worker->find(from), {}, {});
}

/// Every verb once.
void use(Site& site, int target) {
    Worker& worker = site.worker;
    std::vector<std::uint64_t> block(512, 7), back(512);
    worker.fetch(site.waiter, site.peer(target), Fetch::add, site.address(target, 0),
                 site.key(target), 1);
    worker.post_add(site.peer(target), site.address(target, 1), site.key(target), 1);
    worker.post_store(site.peer(target), site.address(target, 2), site.key(target), 1);
    worker.send_word(site.peer(target), WordOp::add, site.address(target, 3), 1);
    worker.put(site.peer(target), block.data(), 4096, site.address(target, 512), site.key(target));
    worker.flush(site.waiter, site.peer(target));
    Completion got;
    worker.get(site.peer(target), back.data(), 4096, site.address(target, 512), site.key(target),
               &got);
    worker.wait_for(site.waiter, [&] { return got.done(); });
    EXPECT_EQ(back, block);
    const int before = replies;
    worker.send(site.peer(target), {}, std::as_bytes(std::span(block).first(1)));
    worker.wait_for(site.waiter, [&] { return replies != before; });
}

void run_answering(int size, const Transport& transport, const std::function<void(Site&)>& body) {
    run_world(size, transport, [&](Processes& world) {
        Worker::Options options = default_options(world);
        options.handler = answer;
        Site site(world, options, 1024);
        the_worker = &site.worker;
        body(site);
        site.fence();
    });
}

TEST_P(Thread, ServesWhileTheTargetSleeps) {
    constexpr auto kSleep = 1500ms;
    run_answering(2, GetParam(), [=](Site& site) {
        if (site.rank == 1) {
            ProgressThread thread(site.worker);
            site.fence_asleep();
            std::this_thread::sleep_for(kSleep);
            site.fence_asleep();
            EXPECT_GT(thread.rounds(), 0u);
            EXPECT_EQ(site.memory[0], 10u);
            EXPECT_EQ(site.memory[1], 10u);
        } else {
            site.fence_asleep();
            const auto start = Clock::now();
            for (int n = 0; n < 10; ++n)
                use(site, 1);
            EXPECT_LT(Clock::now() - start, kSleep / 2);
            site.fence_asleep();
        }
    });
}

TEST_P(Thread, BothSidesMaySleepBetweenTheirOperations) {
    run_answering(3, GetParam(), [](Site& site) {
        ProgressThread thread(site.worker);
        for (int round = 0; round < 20; ++round) {
            site.fence_asleep();
            if (round % 3 == site.rank)
                use(site, (site.rank + 1) % 3);
        }
        site.fence_asleep();
    });
}

TEST_P(Thread, StandsBackWhileTheMainThreadWaits) {
    run(2, GetParam(), [](Site& site) {
        constexpr std::uint64_t kFetches = 2000;
        ProgressThread thread(site.worker);
        site.fence_asleep();
        if (site.rank == 0) {
            for (std::uint64_t n = 0; n < kFetches; ++n)
                site.worker.fetch(site.waiter, site.peer(1), Fetch::add, site.address(1, 0),
                                  site.key(1), 1);
        } else {
            // It may be in the middle of a turn when the wait begins, but not begin another.
            const std::atomic_ref word(site.memory[0]);
            std::optional<std::uint64_t> before;
            site.worker.wait_for(site.waiter, [&] {
                if (!before)
                    before = thread.rounds();
                return word.load() == kFetches;
            });
            EXPECT_LE(thread.rounds() - *before, 1u);
        }
        site.fence_asleep();
    });
}

/// What the alarm of the next test looks at.
eventfd_t looked_at;
int alarm_event = -1;
std::atomic<bool> looked{false};

TEST_P(Thread, WakesForAnAlarm) {
    run(1, GetParam(), [](Site& site) {
        alarm_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        ProgressThread thread(site.worker, {}, {alarm_event, [] {
                                                    if (eventfd_read(alarm_event, &looked_at) == 0)
                                                        looked = true;
                                                }});
        for (int round = 0; round < 20; ++round) {
            std::this_thread::sleep_for(5ms); // long enough for it to fall asleep
            looked = false;
            eventfd_write(alarm_event, 1);
            const auto late = Clock::now() + 20s;
            while (!looked && Clock::now() < late)
                std::this_thread::yield();
            ASSERT_TRUE(looked);
        }
        thread.stop();
        close(alarm_event);
    });
}

/// What the main thread waits for, and takes itself, does not wake the thread each time.
TEST_P(Thread, SleepsWhileTheMainThreadTakesWhatArrives) {
    run(2, GetParam(), [](Site& site) {
        constexpr int kRounds = 40, kFetches = 100;
        std::optional<ProgressThread> thread;
        if (site.rank == 0)
            thread.emplace(site.worker);
        site.fence();
        long switches = 0, naps = 0;
        for (int round = 0; site.rank == 0 && round < kRounds; ++round) {
            std::this_thread::sleep_for(10ms); // by now it sleeps until something arrives
            const long before = voluntary_switches(thread_id());
            const auto start = Clock::now();
            for (int n = 0; n < kFetches; ++n)
                site.worker.fetch(site.waiter, site.peer(1), Fetch::add, site.address(1, 0),
                                  site.key(1), 1);
            naps += (Clock::now() - start) / 1ms;
            switches += voluntary_switches(thread_id()) - before;
        }
        EXPECT_LE(switches, 2 * naps + 10 * kRounds) << naps;
        site.fence();
    });
}

bool rings(const Relief& relief) {
    pollfd bell{relief.descriptor(), POLLIN, 0};
    return poll(&bell, 1, 0) > 0;
}

TEST(Relief, ComesToASleeperAndOnce) {
    for (const std::uint32_t begin : {0u, 7u, ~std::uint32_t{0} - 5}) {
        Relief relief;
        relief.visit(begin + 1000);
        EXPECT_FALSE(rings(relief)) << "nobody sleeps";
        relief.sleeps(begin);
        relief.visit(begin + 1);
        EXPECT_FALSE(rings(relief)) << "once is not often";
        relief.visit(begin + 1000);
        EXPECT_TRUE(rings(relief));
        relief.woke(true);
        relief.visit(begin + 2000);
        EXPECT_FALSE(rings(relief)) << "it is awake";
        relief.sleeps(begin + 2000);
        relief.woke(false);
        relief.visit(begin + 3000);
        EXPECT_FALSE(rings(relief)) << "it woke up by itself";
    }
}

TEST_P(Thread, LetsTheMainThreadInWhileItServesAFlood) {
    run_answering(3, GetParam(), [](Site& site) {
        ProgressThread thread(site.worker);
        site.fence_asleep();
        const std::atomic_ref end(site.memory[3]);
        if (site.rank != 0) {
            while (end.load() == 0)
                site.worker.send(site.peer(0), {}, {}); // which counts it
        } else {
            for (int n = 0; n < 20; ++n)
                use(site, 0);
            for (int target = 1; target < site.size; ++target)
                site.worker.fetch(site.waiter, site.peer(target), Fetch::add,
                                  site.address(target, 3), site.key(target), 1);
        }
        site.fence_asleep();
    });
}

TEST_P(Thread, NeverWakesWhileNothingHappens) {
    run_answering(2, GetParam(), [](Site& site) {
        ProgressThread thread(site.worker);
        site.fence_asleep();
        if (site.rank == 0)
            use(site, 1);
        site.fence_asleep();
        // It is asleep once a whole while has passed without a switch.
        const auto deadline = Clock::now() + 20s;
        long before = voluntary_switches(thread_id());
        for (;;) {
            std::this_thread::sleep_for(300ms);
            const long now = voluntary_switches(thread_id());
            if (now == before || Clock::now() > deadline) {
                EXPECT_EQ(now, before);
                break;
            }
            before = now;
        }
        site.fence_asleep();
        if (site.rank == 1)
            use(site, 0); // and wakes for this
        site.fence_asleep();
    });
}

TEST_P(Thread, TakesNoSignalsAndLeavesTheCoresAsTheyAre) {
    run(1, GetParam(), [](Site& site) {
        cpu_set_t before, after;
        ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
        ProgressThread thread(site.worker);
        for (const auto& [id, name] : all_threads())
            if (id != getpid()) {
                const std::uint64_t blocked = std::stoull(status_of(id, "SigBlk"), nullptr, 16);
                EXPECT_EQ(blocked & 0x7fffffff, 0x7ffbfeffu) << name << ": all but KILL and STOP";
            }
        EXPECT_EQ(sched_getaffinity(thread_id(), sizeof after, &after), 0);
        EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "of the progress thread";
        ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
        EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "of the main thread";
    });
}

TEST_P(Thread, EndsWhenItIsToldTo) {
    run(2, GetParam(), [](Site& site) {
        for (int n = 0; n < 100; ++n) {
            ProgressThread thread(site.worker);
            site.worker.fetch(site.waiter, site.peer(1 - site.rank), Fetch::add,
                              site.address(1 - site.rank, 0), site.key(1 - site.rank), 1);
        }
        site.fence();
        EXPECT_EQ(site.memory[0], 100u);
    });
}

std::thread::id main_thread;

bool throw_in_other_threads(bool) {
    if (std::this_thread::get_id() != main_thread)
        throw std::bad_alloc();
    return false;
}

/// Whatever its turns throw: the process goes on, and those that wait are told.
TEST_P(Thread, AnyExceptionBecomesTheWorkersFailure) {
    run_world(1, GetParam(), [](Processes& world) {
        Worker::Options options = default_options(world);
        options.after_progress = throw_in_other_threads;
        Site site(world, options, 1024);
        main_thread = std::this_thread::get_id();
        const ProgressThread thread(site.worker);
        bool told = false;
        for (const auto end = Clock::now() + 20s; !told && Clock::now() < end;) {
            std::this_thread::sleep_for(5ms);
            try {
                site.worker.progress();
            } catch (const Error& error) {
                told = std::string(error.what()).find("bad_alloc") != std::string::npos;
            }
        }
        EXPECT_TRUE(told);
    });
}

} // namespace
} // namespace rmalock::ucx::test
