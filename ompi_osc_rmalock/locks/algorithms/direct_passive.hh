// Direct-passive: one word per target, one atomic to get in.
//
// G. Santhanaraman, S. Narravula, D. K. Panda: "Designing Passive Synchronization for MPI-2
// One-Sided Communication to Maximize Overlap", IPDPS 2008, section 3.1.
//
// The word of target t (one per target, `atomic` use, see fabric/concept.hh):
//
//     63            32 31             0
//    [ owner          | readers        ]      owner = rank + 1 of the exclusive holder, 0 if none
//
//    free: 0        exclusive: owner != 0        shared: owner == 0, readers != 0
//
//    acquire exclusive    while CAS(word, 0 -> [me+1 | 0]) != 0:  await word == 0, back off
//    release exclusive    ADD(word, -[me+1 | 0])                                    (posted)
//    acquire shared       v = FADD(word, +1);  if v.owner != 0: await word.owner == 0
//    release shared       ADD(word, -1)                                             (posted)
//
// Deviations from the paper
//   D1  The paper sends shared requests to an agent at the target, which is then no longer passive.
//       Here a reader adds itself to the word; nobody runs code for it at the target.
//   D2  A reader that finds an owner leaves its count in the word and waits for the owner to go,
//       instead of taking the count back and trying again. While it stands there the word is not 0,
//       so no further writer's CAS can succeed: a reader waits for one exclusive section at most
//       and retries nothing over the network.
//   D3  Releases subtract what was added instead of writing "free": a write would erase the counts
//       of the readers that arrived in between.
//   D4  The owner is stored as rank + 1, and "free" is 0 instead of the size of the communicator,
//       so that zeroed memory is an unlocked lock.
//   D5  A failed CAS backs off, bounded; the paper leaves back-off to future work.
//
// Why it excludes: `owner` becomes non-zero only by a CAS from exactly 0, that is with no reader
// counted and no owner. A reader is inside only after it saw, with its own count in the word, that
// owner is 0; from then to its release the word is not 0.
//
// What it does not give: a writer can starve behind readers that keep overlapping, and writers
// among themselves are served in no order. Programs with both under contention want a queueing
// lock.
//
// Cost, uncontended (counted in test/locks): acquire 1 atomic = 1 round trip off node, in either
// mode; release 1 posted atomic = 0 round trips. Waiting off node polls the target's word with
// back-off. Memory: 1 word per target; none per process.
#pragma once

#include "locks/lock_env.hh"

namespace rmalock::locks {

/// The word of a target. Beside each field: what it promises, and the race that it settles.
struct DirectPassiveWord {
    /// A reader, counted. It adds itself and sees the owner in one atomic, so of a reader and a
    /// writer that come at once one sees the other. While it is counted no writer's swap succeeds
    /// (D2).
    static constexpr Value kReader = 1;
    /// The exclusive holder. A writer comes by a compare-and-swap from 0, so of several one
    /// succeeds, and none beside a reader. It goes by a subtraction, which spares the counts of
    /// readers that came meanwhile (D3).
    static constexpr unsigned kOwnerShift = 32;
    static constexpr Value owned_by(Rank rank) {
        return (static_cast<Value>(rank) + 1) << kOwnerShift;
    }

    static constexpr Value owner(Value word) { return word >> kOwnerShift; }
    static constexpr Value readers(Value word) { return word & (owned_by(0) - 1); }
};

// A process is counted once, or has its name there.
static_assert(fabric::kMostRanks < DirectPassiveWord::owned_by(0));
static_assert(DirectPassiveWord::owner(DirectPassiveWord::owned_by(fabric::kMostRanks)) ==
              Value{fabric::kMostRanks} + 1);

template <fabric::Fabric F>
class DirectPassive : private DirectPassiveWord {
  public:
    static constexpr LockTraits kTraits{.name = "direct_passive"};

    static Footprint footprint(const MachineView&) { return {.home = 1}; }
    static LockLimits limits(const Thresholds&, const MachineView&) { return {}; }

    explicit DirectPassive(const LockEnv<F>& env) : fabric_(env.fabric), home_(env.home) {}

    Hold acquire_exclusive(Rank target) {
        const Word word{target, home_};
        if (const Value before = fabric_.compare_swap(word, 0, mine()); before != 0)
            take_when_free(word, owner(before));
        return {};
    }

    void release_exclusive(Rank target, Hold) { fabric_.add({target, home_}, Value{0} - mine()); }

    Hold acquire_shared(Rank target) {
        const Word word{target, home_};
        const Value before = fabric_.fetch_add(word, kReader);
        if (owner(before) != 0) {
            fabric_.await(word, [](Value v) { return owner(v) == 0; });
            taken_over(owner(before));
        }
        return {};
    }

    void release_shared(Rank target, Hold) { fabric_.add({target, home_}, Value{0} - kReader); }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool exclusive) {
        const Value v = fabric_.get({target, home_});
        return exclusive ? v != 0 : owner(v) != 0;
    }

  private:
    Value mine() const { return owned_by(fabric_.self()); }

    /// `from`: the owner that was seen last.
    [[gnu::noinline]] void take_when_free(Word word, Value from) {
        for (unsigned attempt = 0;; ++attempt) {
            fabric_.await(word, fabric::equals(0));
            // All waiters see the same 0; only one of them can have it.
            if (attempt != 0)
                fabric_.backoff(attempt);
            const Value before = fabric_.compare_swap(word, 0, mine());
            if (before == 0)
                return taken_over(from);
            from = owner(before);
        }
    }

    void taken_over(Value owner) {
        if (owner != 0)
            fabric_.handed_over(static_cast<Rank>(owner) - 1);
    }

    F& fabric_;
    Slot home_;
};

} // namespace rmalock::locks
