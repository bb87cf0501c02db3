// Turns of a target's lock, by critical sections that come in messages (locks/parts/section.hh) and by
// processes of the target's node.
//
// A lock at hand takes a tenth of a microsecond, a section across a network some tens, and its origin
// sends no other one before the answer. So a process of the target's node takes its next exclusive lock
// only when a round of sections is over: as many as there are origins that send some. So it has as many
// turns as one of them has on average. It waits for a bounded time: for each round that it has seen it
// may lose a millisecond in waits in which nobody comes. Where others come seldom that is little; where
// they come often it adds up to what a scheduler keeps a process from its core for.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <unordered_set>

#include "locks/lock.hh"
#include "ucx_glue/types.hh"

namespace rmalock::window {

/// At the target: of so many sections as there are origins that send some, the last ends a round.
/// Called with the worker locked.
class SectionRounds {
  public:
    /// A section of `origin` is over. Returns whether a round is.
    bool ends_one(ucx::PeerId origin) {
        here_.insert(origin);
        const std::size_t origins = std::max(here_.size(), before_);
        if (++in_span_ == kSpan) {
            before_ = here_.size();
            here_.clear(); // else it would grow with the processes of the window
            in_span_ = 0;
        }
        if (++in_round_ < origins)
            return false;
        in_round_ = 0;
        return true;
    }

  private:
    /// Sections within which each origin that sends some is expected to send one.
    static constexpr unsigned kSpan = 128;

    unsigned in_span_ = 0, in_round_ = 0;
    std::unordered_set<ucx::PeerId> here_; ///< origins in this span
    std::size_t before_ = 0;               ///< how many there were in the last one
};

/// At a process of the target's node, of one target: the last that it has locked exclusively. Not for
/// several threads at a time.
class RoundsOfOthers {
  public:
    /// Before an exclusive acquire: `round()` says how many rounds there have been, and
    /// `wait(seen, time)` waits until that changes or the time is over. Returns whether others come.
    template <class Round, class Wait>
    [[gnu::always_inline]] bool before(fabric::Rank target, Round round, Wait wait) {
        const fabric::Value now = round();
        if (target == target_ && now == seen_ && budget_ > budget_.zero()) [[unlikely]]
            budget_ -= wait(now, std::min(budget_, kMost));
        const fabric::Value then = round();
        if (target != target_)
            budget_ = {};
        else
            budget_ =
                std::min(budget_ + static_cast<int>(std::min(then - seen_, kMostRounds)) * kMost,
                         static_cast<int>(kMostRounds) * kMost);
        target_ = target;
        seen_ = then;
        return budget_ > budget_.zero();
    }

  private:
    static constexpr locks::Duration kMost = std::chrono::milliseconds(1);
    static constexpr fabric::Value kMostRounds = 20;

    fabric::Rank target_ = -1;
    fabric::Value seen_ = 0;
    locks::Duration budget_{}; ///< for waits in which nobody comes
};

} // namespace rmalock::window
