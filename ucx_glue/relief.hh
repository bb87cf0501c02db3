// Gets the progress thread out of the event descriptor while others serve the worker.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace rmalock::ucx {

/// Everything that arrives wakes a thread that sleeps in the worker's event descriptor. If another
/// thread, that waits, has taken it by the time the sleeper gets a core, the system sends it back
/// to sleep, and it never learns that it was not needed: a switch of threads for each reply, on one
/// of the cores that the two sides of an operation run on. (A lock and unlock of another host took
/// up to 2.2 times as long as an atomic so, instead of 1.5.) So a thread that visits the worker
/// often sees to it that the sleeper looks.
class Relief {
  public:
    Relief() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~Relief() {
        if (event_ >= 0)
            close(event_);
    }
    Relief(const Relief&) = delete;
    Relief& operator=(const Relief&) = delete;

    /// Becomes readable when the sleeper is not needed. -1, which poll passes over, if there is
    /// none: then nothing is lost but time.
    int descriptor() const { return event_; }

    /// The thread is about to sleep; others have visited the worker so often (a count that may
    /// wrap around).
    void sleeps(std::uint32_t visits) {
        due_.store(visits + kVisits, std::memory_order_relaxed);
        asleep_.store(true, std::memory_order_release);
    }

    /// It has woken up, and found the descriptor readable or not. A thread that has decided to ring
    /// may not have done so yet: then it wakes up once more, next time.
    void woke(bool readable) {
        eventfd_t rung;
        asleep_.store(false, std::memory_order_relaxed);
        if (readable)
            (void)eventfd_read(event_, &rung);
    }

    /// Another thread visits the worker.
    void visit(std::uint32_t visits) {
        if (asleep_.load(std::memory_order_acquire) && is_due(visits)) [[unlikely]]
            ring();
    }

  private:
    /// A reply takes some ten visits. To be woken on purpose costs as much as twice for nothing.
    static constexpr std::uint32_t kVisits = 32;

    bool is_due(std::uint32_t visits) const {
        return static_cast<std::int32_t>(visits - due_.load(std::memory_order_relaxed)) >= 0;
    }

    void ring() {
        if (asleep_.exchange(false, std::memory_order_relaxed))
            (void)eventfd_write(event_, 1);
    }

    int event_;
    /// The sleeper releases due_ by it, and a visitor acquires that. Relaxed where it becomes false:
    /// the exchange alone says which visitor rings, and nothing comes with it.
    std::atomic<bool> asleep_{false};
    std::atomic<std::uint32_t> due_{0}; ///< relaxed: asleep_ carries it
};

} // namespace rmalock::ucx
