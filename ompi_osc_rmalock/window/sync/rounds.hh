// In what order a target's lock goes to critical sections that come in messages
// (locks/parts/section.hh), and to processes of the target's node.
//
// A lock at hand takes a tenth of a microsecond, a section across a network some tens, and its origin
// sends no other one before the answer. So a process of the target's node takes its next exclusive lock
// only when a round of sections is over: as many as there are origins that send some. So it has the
// lock as often as one of them on average. It waits while sections end, and for a bounded time while none
// does: for each round that it has seen it may lose a millisecond. Where others come seldom that is
// little; where they come often it adds up to what a scheduler keeps a process from its core for.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <unordered_set>
#include <utility>

#include "fabric/layout.hh"
#include "locks/lock.hh"
#include "ucx_glue/types.hh"

namespace rmalock::window {

/// What the target says, in one word, so that both numbers are of the same moment. The target alone
/// changes it. All of it is a hint: one that is read early or late has a process wait for less or
/// longer, and the lock excludes without it.
struct SectionCount {
    static constexpr unsigned kBits = 44;
    /// A section of another node that is over. It only grows, so what has been seen of it tells how
    /// many have gone first since.
    static constexpr fabric::Value kSection = 1;
    /// An origin that sends some; so many sections are a round. It may fall: the carry is lost.
    static constexpr fabric::Value kOrigin = fabric::Value{1} << kBits;

    static fabric::Value sections(fabric::Value word) { return word & (kOrigin - 1); }
    /// Not 0.
    static fabric::Value origins(fabric::Value word) {
        return std::max(word >> kBits, fabric::Value{1});
    }
};
static_assert(fabric::kMostRanks < fabric::Rank{1} << (64 - SectionCount::kBits));

/// At the target. Called with the worker locked.
class SectionsEnded {
  public:
    /// A section of `origin` is over. Returns what the word grows by.
    fabric::Value ends_one(ucx::PeerId origin) {
        here_.insert(origin);
        const fabric::Value origins = std::max(here_.size(), before_);
        if (++in_span_ == kSpan) {
            before_ = here_.size();
            here_.clear(); // else it would grow with the processes of the window
            in_span_ = 0;
        }
        const fabric::Value more = origins - std::exchange(origins_, origins);
        return SectionCount::kSection + more * SectionCount::kOrigin;
    }

  private:
    /// Sections within which each origin that sends some is expected to send one.
    static constexpr unsigned kSpan = 128;

    unsigned in_span_ = 0;
    std::unordered_set<ucx::PeerId> here_; ///< origins in this span
    std::size_t before_ = 0;               ///< how many there were in the last one
    fabric::Value origins_ = 0;            ///< as the word says
};

/// At a process of the target's node, of one target: the last that it has locked exclusively. Not for
/// several threads at a time.
class RoundsOfOthers {
  public:
    /// Before an exclusive acquire: `read()` returns the target's word, and `wait(word, time)` waits
    /// until that changes or the time is over, and returns how long. Returns whether others come.
    template <class Read, class Wait>
    [[gnu::always_inline]] bool before(fabric::Rank target, Read read, Wait wait) {
        fabric::Value word = read();
        if (target != target_) {
            *this = {};
            target_ = target;
            seen_ = counted_ = SectionCount::sections(word);
        } else if (budget_ > budget_.zero()) [[unlikely]] {
            word = await_round(word, read, wait);
        }
        count(word);
        return budget_ > budget_.zero();
    }
    /// Behind the acquire, with the target's word: of what was over by then none has this process let go
    /// first.
    void acquired(fabric::Value word) {
        count(word);
        seen_ = counted_;
    }

  private:
    static constexpr locks::Duration kEachRound = std::chrono::milliseconds(1),
                                     kMostAtOnce = std::chrono::milliseconds(4),
                                     kMostLost = std::chrono::milliseconds(20);

    template <class Read, class Wait>
    [[gnu::noinline]] fabric::Value await_round(fabric::Value word, Read& read, Wait& wait) {
        while (SectionCount::sections(word) - seen_ < SectionCount::origins(word)) {
            const locks::Duration waited = wait(word, std::min(budget_, kMostAtOnce));
            const fabric::Value before = std::exchange(word, read());
            if (word != before)
                continue;
            budget_ -= std::min(waited, budget_);
            break;
        }
        return word;
    }
    void count(fabric::Value word) {
        const fabric::Value sections = SectionCount::sections(word);
        if (sections == counted_) [[likely]]
            return;
        const fabric::Value origins = SectionCount::origins(word),
                            most = static_cast<fabric::Value>(kMostLost / kEachRound) * origins;
        const auto ended = static_cast<int>(std::min(sections - counted_, most));
        budget_ = std::min(budget_ + ended * kEachRound / static_cast<int>(origins), kMostLost);
        counted_ = sections;
    }

    fabric::Rank target_ = -1;
    fabric::Value seen_ = 0;    ///< sections when this process had the lock last
    fabric::Value counted_ = 0; ///< sections that its budget has grown by
    locks::Duration budget_{};  ///< for waits in which nobody comes
};

} // namespace rmalock::window
