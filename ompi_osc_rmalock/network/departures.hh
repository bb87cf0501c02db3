// What outboxes hold back for a moment, so that more of it goes in one message.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace rmalock::network {

/// What holds something back.
class Departing {
  public:
    /// Sends what is held. False: a thread of the program is at it.
    virtual bool try_to_depart() = 0;

  protected:
    ~Departing() = default;

  private:
    friend class Departures;
    static constexpr std::size_t kNowhere = SIZE_MAX;
    std::size_t place_ = kNowhere; ///< in Departures
};

/// The outboxes of a process that hold accumulates back. The program's next word to another process
/// through rmalock sends all of them, and so does progress, which Open MPI runs while it waits. What
/// the program does not send goes out by itself, through a timer on which the progress thread
/// sleeps.
///
/// Once set, the timer rings, though an outbox may long have sent what it was set for: to set it
/// and set it back for each message took as long as the message (15 of 30 us, on two virtual
/// hosts). Nor does it end a nap of the thread: to be woken once each kHold, while the
/// program serves, cost as much.
class Departures {
  public:
    /// For how long an outbox may hold something back; and a nap of the progress thread, 1 ms at
    /// most, if the program has just been in MPI for long and does not come back.
    static constexpr std::chrono::microseconds kHold{50};

    Departures();
    ~Departures();
    Departures(const Departures&) = delete;
    Departures& operator=(const Departures&) = delete;

    /// -1: there is no timer, and nothing may be held back.
    int timer() const { return timer_; }
    /// An outbox begins to hold something back.
    void add(Departing& outbox);
    /// It has sent it.
    void remove(Departing& outbox);
    // Both are called often, by threads that have neither an outbox nor the worker locked, and may
    // throw ucx::Error.
    /// Sends what is held, before the program sends something else: what it holds back for one
    /// target is not overtaken by what it says to another.
    void send_all() {
        if (holds_.load(std::memory_order_relaxed) != 0)
            send_each();
    }
    /// Sends what is held once the timer has rung.
    void send_due();

  private:
    using Clock = std::chrono::steady_clock;
    void set_timer(bool on);
    void take_out(Departing& outbox);
    void send_each();
    void try_each();

    const int timer_;
    std::mutex mutex_; ///< taken behind an outbox's, and before the worker's
    std::vector<Departing*> holding_;
    /// How many. Changed under mutex_. Relaxed for a look without it: what a thread of the program is
    /// not to overtake was held before, in the order of the program.
    std::atomic<std::size_t> holds_{0};
    /// Changed under mutex_, where relaxed does. Releases rings_, and a look without the mutex acquires
    /// it: else it might go by the time of an earlier timer.
    std::atomic<bool> set_{false};
    std::atomic<Clock::time_point> rings_{Clock::time_point()}; ///< relaxed: set_ carries it
};

} // namespace rmalock::network
