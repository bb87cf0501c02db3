// Which targets the processes of a window hold exclusively, for a process that has to wait for all
// of them, at the price of a look at each node.
//
// A holder record for each process, at the first of the 16 processes of its node that it is among,
// that only this process counts in:
//
//    [ how many:24 | sum of (target + 1):40 ]   of the locks it holds, or is about to acquire
//
// One alone is named by the sum. Of several it is not said which: a look then takes every
// target for held, which is never wrong, and rare; so does one that finds more than kMostNamed.
//
// Cost: a CPU's atomic to enter, one to leave, both on a line that nobody else writes; to look, a
// read for each of those 16, and a round trip for each kAtOnce processes. Memory: a line at each
// rank for each process of the largest node, at most 16.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "fabric/layout.hh"
#include "locks/lock.hh"

namespace rmalock::locks {

/// Where the holder records of a window are. The spans outlive the HolderRecords.
struct HolderPlaces {
    /// Processes whose records are at one rank.
    static constexpr Slot kTogether = 16;

    Slot first = 0;                   ///< at each of these ranks
    Word mine{0, 0};                  ///< the calling process's
    std::span<const Rank> hosts = {}; ///< the ranks; none: nothing is kept
    Slot largest = 0;                 ///< how many records a host has at most
};

/// A holder record.
struct HolderWord {
    /// How many the process holds, or is about to acquire. Only the process itself changes the
    /// record, before the first verb of an acquire and after the last of a release: a look that
    /// finds 0 comes before the acquire or after the release.
    static constexpr unsigned kSumBits = 40;
    static constexpr Value kOne = Value{1} << kSumBits;
    /// The target, where there is one; of several only that there are.
    static constexpr Value entry(Rank target) { return kOne + static_cast<Value>(target) + 1; }
    static constexpr bool several(Value record) { return record >= 2 * kOne; }
    static constexpr Rank target(Value record) { return static_cast<Rank>(record - kOne) - 1; }
};
// A process that holds every target, each once: the sum stays below the count, which has room.
static_assert(Value{fabric::kMostRanks} * (fabric::kMostRanks + 1) / 2 < HolderWord::kOne);
static_assert(fabric::kMostRanks < ~Value{0} / HolderWord::kOne);

template <fabric::Fabric F>
class HolderRecords {
  public:
    static constexpr Slot kAtOnce = 256;
    static constexpr std::size_t kMostNamed = 32;

    HolderRecords(F& fabric, const HolderPlaces& places) : fabric_(fabric), places_(places) {}

    bool kept() const { return !F::kOneNode && !places_.hosts.empty(); }

    /// Before the first verb of an acquire, and after the last of a release: critical sections lie
    /// in between.
    void enter(Rank target) {
        if (kept())
            fabric_.add_single_writer(places_.mine, HolderWord::entry(target));
    }
    void leave(Rank target) {
        if (kept())
            fabric_.add_single_writer(places_.mine, Value{0} - HolderWord::entry(target));
    }

    /// Targets, each once.
    class Targets {
      public:
        bool all() const { return all_; } ///< every target; none is named
        std::span<const Rank> named() const { return std::span(named_).first(count_); }

      private:
        friend class HolderRecords;
        void add(Rank target) {
            if (std::ranges::find(named(), target) != named().end())
                return;
            if (count_ == kMostNamed)
                all_ = true;
            else
                named_[count_++] = target;
        }
        bool all_ = false;
        std::size_t count_ = 0;
        std::array<Rank, kMostNamed> named_;
    };

    /// What is held; other targets may be among them. Takes no memory: a model of a process that is
    /// set back to an earlier moment could not give it back twice.
    Targets look() {
        Targets found;
        found.all_ = !kept();
        const Slot each = std::min(places_.largest, kAtOnce);
        const std::size_t some = kAtOnce / std::max<Slot>(each, 1);
        for (std::size_t host = 0; host < places_.hosts.size(); host += some)
            for (Slot read = 0; read < places_.largest && !found.all_; read += each)
                look(places_.hosts.subspan(host).first(std::min(some, places_.hosts.size() - host)),
                     read, std::min(each, places_.largest - read), found);
        return found;
    }

  private:
    /// `each` of every host, from number `from` on; where there are fewer processes there are
    /// zeros.
    void look(std::span<const Rank> hosts, Slot from, Slot each, Targets& found) {
        std::array<Value, kAtOnce> memory;
        const std::span records = std::span(memory).first(hosts.size() * each);
        fabric_.scan(hosts, places_.first + fabric::line(from), fabric::kWordsPerLine, records);
        for (const Value record : records) {
            if (HolderWord::several(record))
                found.all_ = true;
            else if (record != 0)
                found.add(HolderWord::target(record));
        }
    }

    F& fabric_;
    const HolderPlaces places_;
};

} // namespace rmalock::locks
