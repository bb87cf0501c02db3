// What a window's fabric counts. For people to read: no algorithm looks at a count.
#pragma once

#include <atomic>
#include <chrono>

#include "fabric/concept.hh"

namespace rmalock::fabric {

/// A number that grows.
class Count {
  public:
    /// `shared`: other threads may add or read at the same time. Where none do it is one
    /// instruction: a locked one would cost as much as what is counted. Relaxed: nothing comes with it.
    [[gnu::always_inline]] void add(bool shared, Value n = 1) {
        if (shared) [[unlikely]]
            std::atomic_ref(value_).fetch_add(n, std::memory_order_relaxed);
        else
            value_ += n;
    }
    Value value() const {
        return std::atomic_ref(const_cast<Value&>(value_)).load(std::memory_order_relaxed);
    }

  private:
    Value value_ = 0;
};

/// Of one process and window.
struct Tally {
    Count near_verbs;                    ///< done by this process's CPU
    Count near_handovers, far_handovers; ///< by where the other side is
    Count mode_changes;
};

/// How often, and how long, a thread has waited for a word to change since somebody set `times` to
/// 0, in whatever window. A wait that found the word as it should be at its first look is none.
struct Waits {
    Value times = 0;
    Value nanoseconds = 0; ///< means nothing while times is 0

    /// The calling thread's; where there is only one, no time is spent on finding it.
    [[gnu::always_inline]] static Waits& mine(bool threads);
};

inline Waits waits_of_process;
inline thread_local Waits waits_of_thread;

/// Not inline: only programs with several threads come here, and it is long.
[[gnu::noinline, gnu::cold]] inline Waits& find_waits_of_thread() {
    return waits_of_thread;
}

inline Waits& Waits::mine(bool threads) {
    return threads ? find_waits_of_thread() : waits_of_process;
}

/// Adds a scope to what the thread has waited.
class Waiting {
  public:
    explicit Waiting(bool threads) : waits_(Waits::mine(threads)) {}
    ~Waiting() {
        const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begin_;
        waits_.nanoseconds =
            (waits_.times++ == 0 ? 0 : waits_.nanoseconds) + static_cast<Value>(passed.count());
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

  private:
    Waits& waits_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace rmalock::fabric
