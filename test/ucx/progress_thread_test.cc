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
void use(Participant& here, int target) {
    Worker& worker = here.worker;
    std::vector<std::uint64_t> block(512, 7), back(512);
    worker.fetch(here.waiter, here.peer(target), Fetch::add, here.address(target, 0),
                 here.key(target), 1);
    worker.post_add(here.peer(target), here.address(target, 1), here.key(target), 1);
    worker.post_store(here.peer(target), here.address(target, 2), here.key(target), 1);
    worker.send_word(here.peer(target), WordOp::add, here.address(target, 3), 1);
    worker.put(here.peer(target), block.data(), 4096, here.address(target, 512), here.key(target));
    worker.flush(here.waiter, here.peer(target));
    Completion got;
    worker.get(here.peer(target), back.data(), 4096, here.address(target, 512), here.key(target),
               &got);
    worker.wait_for(here.waiter, [&] { return got.done(); });
    EXPECT_EQ(back, block);
    const int before = replies;
    worker.send(here.peer(target), {}, std::as_bytes(std::span(block).first(1)));
    worker.wait_for(here.waiter, [&] { return replies != before; });
}

void run_answering(int size, const Transport& transport,
                   const std::function<void(Participant&)>& body) {
    run_world(size, transport, [&](Processes& world) {
        Worker::Options options = default_options(world);
        options.handler = answer;
        Participant here(world, options, 1024);
        the_worker = &here.worker;
        body(here);
        here.fence();
    });
}

TEST_P(Thread, ServesWhileTheTargetSleeps) {
    constexpr auto kSleep = 1500ms;
    run_answering(2, GetParam(), [=](Participant& here) {
        if (here.rank == 1) {
            ProgressThread thread(here.worker);
            here.fence_asleep();
            std::this_thread::sleep_for(kSleep);
            here.fence_asleep();
            EXPECT_GT(thread.rounds(), 0u);
            EXPECT_EQ(here.memory[0], 10u);
            EXPECT_EQ(here.memory[1], 10u);
        } else {
            here.fence_asleep();
            const auto start = Clock::now();
            for (int n = 0; n < 10; ++n)
                use(here, 1);
            EXPECT_LT(Clock::now() - start, kSleep / 2);
            here.fence_asleep();
        }
    });
}

TEST_P(Thread, BothSidesMaySleepBetweenTheirOperations) {
    run_answering(3, GetParam(), [](Participant& here) {
        ProgressThread thread(here.worker);
        for (int round = 0; round < 20; ++round) {
            here.fence_asleep();
            if (round % 3 == here.rank)
                use(here, (here.rank + 1) % 3);
        }
        here.fence_asleep();
    });
}

TEST_P(Thread, StandsBackWhileTheMainThreadWaits) {
    run(2, GetParam(), [](Participant& here) {
        constexpr std::uint64_t kFetches = 2000;
        ProgressThread thread(here.worker);
        here.fence_asleep();
        if (here.rank == 0) {
            for (std::uint64_t n = 0; n < kFetches; ++n)
                here.worker.fetch(here.waiter, here.peer(1), Fetch::add, here.address(1, 0),
                                  here.key(1), 1);
        } else {
            // It may be in the middle of an iteration when the wait begins, but not begin another.
            const std::atomic_ref word(here.memory[0]);
            std::optional<std::uint64_t> before;
            here.worker.wait_for(here.waiter, [&] {
                if (!before)
                    before = thread.rounds();
                return word.load() == kFetches;
            });
            EXPECT_LE(thread.rounds() - *before, 1u);
        }
        here.fence_asleep();
    });
}

/// What the alarm of the next test looks at.
eventfd_t looked_at;
int alarm_event = -1;
std::atomic<bool> looked{false};

TEST_P(Thread, WakesForAnAlarm) {
    run(1, GetParam(), [](Participant& here) {
        alarm_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        ProgressThread thread(here.worker, {}, {alarm_event, [] {
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
    run(2, GetParam(), [](Participant& here) {
        constexpr int kRounds = 40, kFetches = 100;
        std::optional<ProgressThread> thread;
        if (here.rank == 0)
            thread.emplace(here.worker);
        here.fence();
        long switches = 0, naps = 0;
        for (int round = 0; here.rank == 0 && round < kRounds; ++round) {
            std::this_thread::sleep_for(10ms); // by now it sleeps until something arrives
            const long before = voluntary_switches(thread_id());
            const auto start = Clock::now();
            for (int n = 0; n < kFetches; ++n)
                here.worker.fetch(here.waiter, here.peer(1), Fetch::add, here.address(1, 0),
                                  here.key(1), 1);
            naps += (Clock::now() - start) / 1ms;
            switches += voluntary_switches(thread_id()) - before;
        }
        EXPECT_LE(switches, 2 * naps + 10 * kRounds) << naps;
        here.fence();
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
    run_answering(3, GetParam(), [](Participant& here) {
        ProgressThread thread(here.worker);
        here.fence_asleep();
        const std::atomic_ref end(here.memory[3]);
        if (here.rank != 0) {
            while (end.load() == 0)
                here.worker.send(here.peer(0), {}, {}); // which counts it
        } else {
            for (int n = 0; n < 20; ++n)
                use(here, 0);
            for (int target = 1; target < here.size; ++target)
                here.worker.fetch(here.waiter, here.peer(target), Fetch::add,
                                  here.address(target, 3), here.key(target), 1);
        }
        here.fence_asleep();
    });
}

TEST_P(Thread, NeverWakesWhileNothingHappens) {
    run_answering(2, GetParam(), [](Participant& here) {
        ProgressThread thread(here.worker);
        here.fence_asleep();
        if (here.rank == 0)
            use(here, 1);
        here.fence_asleep();
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
        here.fence_asleep();
        if (here.rank == 1)
            use(here, 0); // and wakes for this
        here.fence_asleep();
    });
}

TEST_P(Thread, TakesNoSignalsAndLeavesTheCoresAsTheyAre) {
    run(1, GetParam(), [](Participant& here) {
        cpu_set_t before, after;
        ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
        ProgressThread thread(here.worker);
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
    run(2, GetParam(), [](Participant& here) {
        for (int n = 0; n < 100; ++n) {
            ProgressThread thread(here.worker);
            here.worker.fetch(here.waiter, here.peer(1 - here.rank), Fetch::add,
                              here.address(1 - here.rank, 0), here.key(1 - here.rank), 1);
        }
        here.fence();
        EXPECT_EQ(here.memory[0], 100u);
    });
}

std::thread::id main_thread;

bool throw_in_other_threads(bool) {
    if (std::this_thread::get_id() != main_thread)
        throw std::bad_alloc();
    return false;
}

/// Whatever its iterations throw: the process goes on, and those that wait are told.
TEST_P(Thread, AnyExceptionBecomesTheWorkersFailure) {
    run_world(1, GetParam(), [](Processes& world) {
        Worker::Options options = default_options(world);
        options.after_progress = throw_in_other_threads;
        Participant here(world, options, 1024);
        main_thread = std::this_thread::get_id();
        const ProgressThread thread(here.worker);
        bool told = false;
        for (const auto end = Clock::now() + 20s; !told && Clock::now() < end;) {
            std::this_thread::sleep_for(5ms);
            try {
                here.worker.progress();
            } catch (const Error& error) {
                told = std::string(error.what()).find("bad_alloc") != std::string::npos;
            }
        }
        EXPECT_TRUE(told);
    });
}

} // namespace
} // namespace rmalock::ucx::test
