// Turns of a target's lock, by critical sections that come in messages (locks/parts/section.hh) and by
// processes of the target's node.
//
// A lock at hand takes a tenth of a microsecond, a section across a network some tens, and its origin
// sends no other one before the answer. So a process of the target's node takes its next exclusive lock
// only when a round of sections is over: as many as there are origins that send some. So it has as many
// turns as one of them has on average. It waits for a bounded time; and when none has come for longer
// than a scheduler keeps a process from its core, it goes on as if there were none.
#pragma once

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "locks/lock.hh"
#include "ucx_glue/types.hh"

namespace rmalock::window {

/// At the target: of so many sections as there are origins that send some, the last ends a round.
/// Called with the worker locked.
class SectionRounds {
  public:
    /// A section of `origin` is over. Returns whether a round is.
    bool ends_one(ucx::PeerId origin) {
        unsigned& last = last_[origin];
        here_ += last != span_;
        last = span_;
        if (++in_span_ == kSpan) {
            before_ = here_;
            here_ = in_span_ = 0;
            ++span_;
        }
        if (++in_round_ < std::max(here_, before_))
            return false;
        in_round_ = 0;
        return true;
    }

  private:
    /// Sections within which each origin that sends some is expected to send one.
    static constexpr unsigned kSpan = 128;

    unsigned span_ = 1, in_span_ = 0, in_round_ = 0;
    unsigned here_ = 0, before_ = 0;                 ///< origins in this span, and in the last one
    std::unordered_map<ucx::PeerId, unsigned> last_; ///< the last span of each; none: 0
};

/// At a process of the target's node, of one target: the last that it has locked exclusively. Not for
/// several threads at a time.
class RoundsOfOthers {
  public:
    /// Before an exclusive acquire: `round()` says how many rounds there have been, and
    /// `wait(seen, time)` waits until that changes or the time is over.
    template <class Round, class Wait>
    [[gnu::always_inline]] void before(fabric::Rank target, Round round, Wait wait) {
        const fabric::Value now = round();
        if (target == target_ && now != 0 && now == seen_ && alone_ < kAlone) [[unlikely]]
            alone_ += wait(now, kMost);
        const fabric::Value then = round();
        if (target != target_ || then != seen_)
            alone_ = {};
        target_ = target;
        seen_ = then;
    }

  private:
    static constexpr locks::Duration kMost = std::chrono::milliseconds(1),
                                     kAlone = std::chrono::milliseconds(20);

    fabric::Rank target_ = -1;
    fabric::Value seen_ = 0;
    locks::Duration alone_{};
};

} // namespace rmalock::window
