// CASCADE: how long it takes until all that wait for a lock have had it, once its holder releases.
//
// S. Narravula and others: "High Performance Distributed Lock Management Services using Network-based
// Remote Atomic Operations", CCGrid 2007, section 4.3.
#pragma once

#include <vector>

#include "sim/window.hh"

namespace rmalock::sim {

/// What its processes know of each other, round by round. Rank 0 is the lock's home and does nothing,
/// rank 1 holds the lock, and all others wait for it.
class Cascade {
  public:
    static constexpr Rank kHolder = 1, kFirstWaiter = 2;
    /// Between the holder's acquire and its release: far longer than it takes to come to a queue.
    static constexpr Time kHeld = nanoseconds(2e6);
    static constexpr Time kLook = nanoseconds(1000); ///< between two looks of a process at a round

    Cascade(Rank ranks, unsigned rounds) : waiters_(ranks - kFirstWaiter), rounds_(rounds) {}

    void hold(unsigned round) { rounds_[round].held = true; }
    bool is_held(unsigned round) const { return rounds_[round].held; }
    void begin_release(unsigned round, Time now) { rounds_[round].released = now; }
    void let_in(unsigned round, Time now) {
        rounds_[round].last = now;
        ++rounds_[round].in;
    }
    bool is_over(unsigned round) const { return rounds_[round].in == waiters_; }
    /// From the holder's release to when the last one is let in.
    Time took(unsigned round) const { return rounds_[round].last - rounds_[round].released; }

  private:
    struct Round {
        bool held = false;
        Rank in = 0;
        Time released{}, last{};
    };
    Rank waiters_;
    std::vector<Round> rounds_;
};

} // namespace rmalock::sim
