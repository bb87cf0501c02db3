// Lets processes of other nodes in between two exclusive locks of one's own node's target.
//
// A lock at hand takes a tenth of a microsecond, one across a network some tens of microseconds,
// and as long again before the same process can ask once more; and between asking and standing in
// the queue there is another round trip. In that time the process at hand takes the free lock
// hundreds of times. So a process that had to wait for such a lock, and then got it without
// waiting, once or as often as the lock lets a node have it, looks, before it takes it again, until
// somebody has had it. For a bounded time each; and when nobody came for longer than a scheduler
// keeps a process from its core, it goes on as if there were nobody else.
#pragma once

#include <algorithm>
#include <chrono>

#include "fabric/waiter.hh"
#include "locks/lock.hh"

namespace rmalock::window {

/// Of one process and window; for the last target for whose lock the process had to wait. Not for
/// several threads at a time.
class Courtesy {
  public:
    /// Before an exclusive acquire of a target on this node; `taken()` looks at its lock. `most`:
    /// how many in a row are not too many.
    template <class Taken>
    [[gnu::always_inline]] void before(fabric::Rank target, fabric::Value most,
                                       const fabric::Waiter& waiter, Taken taken) {
        if (target == target_ && in_a_row_ >= most) [[unlikely]]
            wait(waiter, taken);
    }

    /// After it: the acquire has waited so long, 0: not at all.
    [[gnu::always_inline]] void after(fabric::Rank target, std::chrono::nanoseconds waited) {
        if (waited.count() != 0) [[unlikely]]
            met(target, waited);
        else if (target == target_)
            ++in_a_row_;
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::nanoseconds kLeast = std::chrono::microseconds(50),
                                              kMost = std::chrono::milliseconds(1),
                                              kAlone = std::chrono::milliseconds(20);

    /// Somebody else has had the lock.
    [[gnu::noinline]] void met(fabric::Rank target, std::chrono::nanoseconds waited) {
        target_ = target;
        in_a_row_ = 0;
        alone_ = {};
        // As long as one holder takes is about what it needs to come back; twice that, and a
        // little of what went before, since the scheduler adds to some and not to others.
        patience_ = std::clamp((patience_ + 2 * waited) / 2, kLeast, kMost);
    }

    template <class Taken>
    [[gnu::noinline]] void wait(const fabric::Waiter& waiter, Taken taken) {
        const Clock::time_point begin = Clock::now();
        bool somebody = false;
        waiter.until([&] {
            const bool now = taken();
            const bool gone = somebody && !now;
            somebody = somebody || now;
            return gone || Clock::now() > begin + patience_;
        });
        in_a_row_ = 0;
        if (somebody)
            alone_ = {};
        else if ((alone_ += Clock::now() - begin) > kAlone)
            target_ = -1;
    }

    fabric::Rank target_ = -1;   ///< others were met there
    fabric::Value in_a_row_ = 0; ///< acquires since one of them had it, or did not come
    std::chrono::nanoseconds patience_ = kLeast, alone_{};
};

} // namespace rmalock::window
