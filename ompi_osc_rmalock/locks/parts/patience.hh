// How long waiters are held back by a process that itself only waits, round after round.
//
// Our own. A writer that waits for the readers inside holds back the readers that come, or it would
// starve. But one of the readers inside may be waiting for one of those: for a lock that this one
// holds elsewhere, or for a message that it sends after its own lock call. No lock can see that; so
// time decides. When a round is over, the writer lets all in that wait, and the next round begins.
// Thus a process that waits longer than a round is blocked only by a process that has returned from
// its lock call and conflicts.
//
// The rounds belong to the process that is waited for, not to each waiter's clock: readers that
// come again and again, each by a clock of its own, would keep the writer out between them. They
// grow, so that sections of any length come to fit into one: twice as long each time up to
// kLongest, then by the first one's length each. A fixed limit would starve writers of long
// sections; doubling for ever would cost a program whose processes meet n times under one waiting
// writer 2^n rounds.
#pragma once

#include <algorithm>

#include "locks/lock.hh"

namespace rmalock::locks {

/// Of one wait. A fabric without time has all rounds alike: a checker ends them when it likes.
template <class F>
class Rounds {
  public:
    static constexpr Duration kLongest = std::chrono::seconds(1); ///< that doubling comes to

    /// `first`: how long the first one is; 0: for ever. `past`: so many have been already.
    explicit Rounds(Duration first, unsigned past = 0) : first_(first), past_(past) {}

    /// How long the next one is.
    Duration next() { return length(kTimeless ? 0 : past_++); }

    static constexpr bool kTimeless = F::kTimeless;

  private:
    Duration length(unsigned n) const {
        unsigned doubled = 0;
        while (doubled < n && first_ * (1 << (doubled + 1)) < kLongest)
            ++doubled;
        return first_ * (1 << doubled) + first_ * (n - doubled);
    }

    Duration first_;
    unsigned past_;
};

} // namespace rmalock::locks
