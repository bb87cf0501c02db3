#include "ucx_glue/progress_thread.hh"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "ucx_glue/signals.hh"

namespace rmalock::ucx {

namespace {

constexpr long kFirstNap = 100'000; ///< nanoseconds
constexpr long kLongestNap = 1'000'000;
/// Iterations in a row that find nothing before the thread naps between them. One or two are usual:
/// arming may have to swallow an old event first. More mean that another thread does the work (an
/// MPI call of the application that runs progress), or that UCX has something to send and nowhere
/// to put it, for which it refuses to be armed.
constexpr unsigned kFruitlessIterations = 3;

/// Calls of progress between two iterations of the thread that say that somebody is waiting in MPI.
constexpr std::uint32_t kManyVisits = 8;

/// Asks for short time slices: Linux (6.12 and newer) then lets the calling thread run at once when
/// it wakes, where it would otherwise wait for a whole slice of a thread that computes, 3 ms. A
/// wish, like a nice value; older systems ignore or refuse it. Policy and nice value stay those of the
/// process.
void ask_for_short_slices() {
    struct { // as in linux/sched/types.h, which cannot be included beside sched.h
        std::uint32_t size, sched_policy;
        std::uint64_t sched_flags;
        std::int32_t sched_nice;
        std::uint32_t sched_priority;
        std::uint64_t sched_runtime, sched_deadline, sched_period;
    } wish{};
    if (syscall(SYS_sched_getattr, 0, &wish, sizeof wish, 0) != 0 ||
        wish.sched_policy != SCHED_OTHER)
        return;
    wish.size = sizeof wish;
    wish.sched_runtime = 100'000; // nanoseconds, the shortest there is
    (void)syscall(SYS_sched_setattr, 0, &wish, 0);
}

} // namespace

struct ProgressThread::State {
    State(Worker& the_worker, std::chrono::milliseconds timeout, Alarm an_alarm)
        : worker(the_worker), event(worker.event_descriptor()), peer_timeout(timeout),
          alarm(an_alarm) {
        stop = eventfd(0, EFD_CLOEXEC);
        if (stop < 0)
            throw Error(std::string("UCX: start the progress thread: ") + std::strerror(errno));
        try {
            const SignalsBlocked blocked;
            thread = std::thread([this] { serve(); });
        } catch (const std::system_error& error) {
            close(stop);
            throw Error(std::string("UCX: start the progress thread: ") + error.what());
        }
        pthread_setname_np(thread.native_handle(), "rmalock");
    }

    ~State() {
        end();
        close(stop);
    }

    void end() {
        if (!thread.joinable())
            return;
        eventfd_write(stop, 1);
        thread.join();
    }

    void serve() {
        ask_for_short_slices();
        try {
            while (!stopped)
                iterate();
        } catch (const std::exception& error) {
            // Its own failures the worker has kept already. It tells them to the threads that wait.
            worker.fail(error.what());
        }
    }

    /// Whether another thread serves: it waits inside the worker, or in a call of MPI, which then
    /// calls progress all the time. Two that race for every message only slow it down.
    bool others_serve() {
        const std::uint32_t visits = worker.visits();
        const std::uint32_t since = visits - std::exchange(seen_visits, visits);
        return worker.somebody_inside() || since >= kManyVisits;
    }

    void iterate() {
        if (alarm.look != nullptr)
            alarm.look();
        worker.check_descriptors();
        if (peer_timeout.count() != 0)
            worker.check_peers(peer_timeout);
        if (others_serve())
            return nap();
        if (worker.serve()) {
            rounds.fetch_add(1, std::memory_order_relaxed);
            fruitless = 0;
            nap_length = kFirstNap;
            return;
        }
        if (++fruitless > kFruitlessIterations)
            nap();
        if (!stopped && worker.arm())
            sleep();
    }

    void nap() {
        const timespec length{0, nap_length};
        nap_length = std::min(2 * nap_length, kLongestNap);
        pollfd fds[] = {{stop, POLLIN, 0}};
        stopped = ppoll(fds, 1, &length, nullptr) > 0;
    }

    /// Until something arrives, or others are found to serve.
    void sleep() {
        Relief& relief = worker.relief();
        pollfd fds[] = {{stop, POLLIN, 0},
                        {event, POLLIN, 0},
                        {relief.descriptor(), POLLIN, 0},
                        {alarm.descriptor, POLLIN, 0}};
        relief.sleeps(seen_visits);
        const int most = static_cast<int>(peer_timeout.count()) / Worker::kPulses;
        stopped = poll(fds, 4, most != 0 ? most : -1) > 0 && fds[0].revents != 0;
        relief.woke(fds[2].revents != 0);
    }

    Worker& worker;
    const int event;
    const std::chrono::milliseconds peer_timeout;
    const Alarm alarm;
    int stop = -1;
    std::atomic<std::uint64_t> rounds{0}; ///< relaxed: a number without data, for tests
    std::thread thread;

    // The thread's own.
    bool stopped = false;
    unsigned fruitless = 0;
    std::uint32_t seen_visits = 0;
    long nap_length = kFirstNap;
};

ProgressThread::ProgressThread(Worker& worker, std::chrono::milliseconds peer_timeout, Alarm alarm)
    : state_(std::make_unique<State>(worker, peer_timeout, alarm)) {}
ProgressThread::~ProgressThread() = default;
void ProgressThread::stop() {
    state_->end();
}
std::uint64_t ProgressThread::rounds() const {
    return state_->rounds.load(std::memory_order_relaxed);
}

} // namespace rmalock::ucx
