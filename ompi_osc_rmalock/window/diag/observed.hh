// What a window tells of itself: counters, a line at its end, and its locks to the watchdog.
#pragma once

#include <memory>

#include "window/create/body.hh"
#include "window/diag/counts.hh"
#include "window/diag/watch.hh"

namespace rmalock::window {

/// The second of a window's layers (window.hh).
class Observed : public Body {
  public:
    rmalock_counters_t counters() const;

  protected:
    Observed(const rmalock_spec_t& spec, Segment segment, const Plan& plan,
             std::unique_ptr<network::Remote> remote);
    ~Observed() = default;

    /// For the watchdog, for a scope: this process waits for what is no lock.
    std::unique_ptr<Watch::Await> awaiting(Lock what) const;
    /// What `acquire` acquires is counted, and how long the thread waited for it; both are
    /// published if there is a watchdog. Inline: observing costs a few instructions, and a call
    /// would cost more.
    template <class Acquire>
    [[gnu::always_inline]] void observe(Lock lock, Acquire acquire) {
        fabric_.waits().times = 0;
        if (watch_ != nullptr) [[unlikely]] {
            const Watch::Await await(*watch_, lock);
            acquire();
        } else {
            acquire();
        }
        acquisitions_.acquired(lock.mode);
        if (fabric_.waits().times != 0) [[unlikely]]
            acquisitions_.waited(lock.mode, fabric_.waits().nanoseconds);
    }
    void let_go(Lock lock) {
        if (watch_ != nullptr) [[unlikely]]
            watch_->let_go(lock);
    }
    /// Nothing is published from here on.
    void retire() {
        if (watch_ != nullptr)
            watch_->retire();
    }
    /// The window is left: nothing is said of it any more.
    void unwatch() {
        retire();
        watch_.reset();
    }
    /// Collective: says what the window was used for, if that is wanted.
    Status sum_up(const char* lock) const;
    Status agree_to_end() const;

    Acquisitions acquisitions_;

  private:
    std::unique_ptr<Watch> watch(const rmalock_spec_t& spec, const Plan& plan) const;

    const bool summary_;           ///< a line at the end is wanted
    std::unique_ptr<Watch> watch_; ///< null: no watchdog
};

} // namespace rmalock::window
