// How a process waits on its own node: spin, then run progress, then give the core away.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "fabric/concept.hh"

namespace rmalock::fabric {

/// One pause of a spin loop.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield" ::: "memory");
#endif
}

/// Policy of the waits of one process. A wait makes `spins` polls without system calls; from then
/// on every poll is preceded by a call of `progress`, and by sched_yield where `yield` says so.
///
/// `progress` may be null. It is called while the caller holds no lock of this library's own, and
/// it may re-enter the library.
struct Waiter {
    /// Polls after which even a process with a core to itself starts to yield between polls, so
    /// that a wrong guess about oversubscription costs a time slice and not a scheduling quantum
    /// each.
    static constexpr unsigned kPatientPolls = 2000;
    /// Polls before a process that shares its core goes to sleep between polls. Few: to one that
    /// computes every sched_yield gives milliseconds, while a sleeper runs at once when woken.
    static constexpr unsigned kPollsBeforeParking = 4;
    /// Polls before a process that shares its core, and waits for a word of its node, goes to
    /// sleep.
    static constexpr unsigned kPollsBeforeSleep = 150;
    static constexpr unsigned kNever = std::numeric_limits<unsigned>::max();
    /// Attempts after which a back-off runs progress, and may give the core away.
    static constexpr unsigned kBackoffsOnCore = 4;
    /// Upper bound of one back-off, in pauses (a few microseconds).
    static constexpr unsigned kMaxBackoffPauses = 1024;

    void (*progress)() = nullptr; ///< runs the communication of the process
    /// It gives the core away itself when it finds nothing to do. Twice a look is once too often.
    bool progress_yields = false;
    unsigned spins = 100; ///< polls before the first progress call
    /// More runnable ranks than cores: from then on every poll gives the core away. Not at once:
    /// the holder of what is waited for mostly runs, on another core, and is done sooner than the
    /// system has switched twice. (With 3 processes on 2 cores a table with 20 % exclusive locks
    /// was 12 times as fast.)
    bool yield = false;
    /// Counts the threads that wait and run progress; null: nobody wants to know. (The progress
    /// thread of ucx_glue stands back while there are any.) Relaxed: a hint.
    std::atomic<int>* waiting = nullptr;
    /// Sleeps until what is waited for may have happened, for a bounded time; null: poll. Used
    /// where `yield` is set, instead of giving the core away only to ask for it again, and at once:
    /// the process that is to answer may need the core.
    void (*park)() = nullptr;
    /// Polls before a waiter for a word of its node sleeps until that changes, or for
    /// `most_sleep`. In the meantime nothing runs the process's communication, unless it sleeps in
    /// a dormitory that knows of it.
    unsigned polls_before_sleep = kNever;
    std::chrono::microseconds most_sleep{500};
    /// Told at every look of a wait that is no longer a spin, with `watched`; null: nobody watches.
    /// What it throws ends the wait.
    void (*watch)(void* watched) = nullptr;
    void* watched = nullptr;

    /// Polls before a wait runs progress.
    unsigned quiet_polls() const { return yield && park != nullptr ? 1 : spins; }

    /// Polls until `poll()` is true, or `end` has come. Returns whether it was true. `sleep()`, if
    /// given, sleeps until poll() may have become true, for a bounded time, which may end later.
    template <class Poll, class Sleep = std::nullptr_t>
    bool until(Poll&& poll, Moment end = {}, Sleep&& sleep = nullptr) const {
        const unsigned quiet = quiet_polls();
        for (unsigned n = 0; n < quiet; ++n) {
            if (poll())
                return true;
            cpu_relax();
        }
        const Count count(waiting);
        for (unsigned n = quiet;; ++n) {
            if (poll())
                return true;
            if (end.has_come())
                return false;
            look_around();
            if (poll()) // what progress has brought rings no bell, and no event is left of it
                return true;
            pass_time(n, sleep);
        }
    }

    /// Lets a bounded time pass, doubling with `attempt`. The first attempts keep the core: a CAS
    /// that failed lost to a process that went on, and to give the core away may take milliseconds,
    /// in which that process goes on a thousand times more.
    void backoff(unsigned attempt) const {
        const unsigned pauses = std::min(kMaxBackoffPauses, 8U << std::min(attempt, 16U));
        for (unsigned n = 0; n < pauses && (!yield || attempt < kBackoffsOnCore); ++n)
            cpu_relax();
        if (attempt < kBackoffsOnCore)
            return;
        look_around();
        pass_time(attempt > 8 ? kPatientPolls : 0, nullptr);
    }

  private:
    /// This thread among the waiting ones, for a scope.
    class Count {
      public:
        explicit Count(std::atomic<int>* waiting) : waiting_(waiting) {
            if (waiting_ != nullptr)
                waiting_->fetch_add(1, std::memory_order_relaxed);
        }
        ~Count() {
            if (waiting_ != nullptr)
                waiting_->fetch_sub(1, std::memory_order_relaxed);
        }
        Count(const Count&) = delete;
        Count& operator=(const Count&) = delete;

      private:
        std::atomic<int>* waiting_;
    };

    /// Not inline: what calls it is, into each lock.
    [[gnu::noinline]] void look_around() const {
        if (progress != nullptr)
            progress();
        if (watch != nullptr)
            watch(watched);
    }

    template <class Sleep>
    void pass_time(unsigned polls, Sleep&& sleep) const {
        if constexpr (!std::is_null_pointer_v<std::remove_reference_t<Sleep>>) {
            if (polls >= polls_before_sleep)
                return sleep();
        }
        if (park != nullptr && yield)
            polls >= kPollsBeforeParking ? park() : cpu_relax();
        else if ((yield || polls >= kPatientPolls) && !progress_yields)
            sched_yield();
        else
            cpu_relax();
    }
};

} // namespace rmalock::fabric
