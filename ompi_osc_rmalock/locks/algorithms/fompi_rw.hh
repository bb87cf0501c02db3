// foMPI-RW: two levels, one master word per window and one word per target. A baseline.
//
// R. Gerstenberger, M. Besta, T. Hoefler: "Enabling Highly-Scalable Remote Memory Access
// Programming with MPI-3 One Sided", SC 2013, section 2.3; named foMPI-RW in "High-Performance
// Distributed RMA Locks", HPDC 2016, section 5.
//
// Words (atomic use): at the window's master [ lock_all:32 | exclusives:32 ], at each target
// [ readers:63 | writer:1 ].
//
//    exclusive  v = FADD(master, 1); if v.lock_all: ADD(master, -1), back off, again
//               if CAS(target, 0 -> 1) != 0: ADD(master, -1), back off, again
//      release  ADD(target, -1); ADD(master, -1)                                       (posted)
//    shared     v = FADD(target, 2); if v.writer: await target.writer == 0
//      release  ADD(target, -2)                                                        (posted)
//    lock_all   v = FADD(master, 2^32); if v.exclusives: ADD(master, -2^32), back off, again
//      release  ADD(master, -2^32)                                                     (posted)
//
// Deviations from the paper
//   D1  Before an attempt is repeated, the word that stood in its way is watched, bounded.
//
// Why it excludes: exclusives and lock_all each add themselves before they look for the other, and
// fetching verbs have one order. A reader that meets a writer stays counted, so no later writer's
// compare-and-swap from 0 succeeds.
//
// What it does not give, as printed: writers starve behind readers; an exclusive that fails leaves
// +1 in the master for a while, so a stream of them can hide the zero that lock_all waits for, for
// ever.
//
// Cost off node: shared 1 atomic = 1 round trip, exclusive 2, lock_all 1; releases are posted, 1, 2
// and 1 atomics. Waiting polls the word of the target or master.
// Memory: 1 word per target, 1 at the master.
#pragma once

#include "locks/lock_env.hh"

namespace rmalock::locks {

/// Its words. Beside each: what it promises, and the race that it settles.
struct FompiRwWords {
    static constexpr Slot kTarget = 0, kMaster = 1, kHomeSlots = 2;

    // Of a target.
    /// A writer has the target. It comes by a compare-and-swap from 0: no reader is counted then,
    /// and of several writers one succeeds.
    static constexpr Value kWriter = 1;
    /// A reader, counted. The add that counts it shows whether there is a writer, so of the two
    /// one sees the other.
    static constexpr Value kReader = 2;

    // The master's. Each side adds itself by an atomic that shows the other: of two that come at
    // once the later one sees the other, and steps back.
    /// An exclusive that has its target, or tries.
    static constexpr Value kExclusive = 1;
    /// A lock_all that is in, or tries. On top: there is nothing above it to carry into.
    static constexpr unsigned kLockAllShift = 32;
    static constexpr Value kLockAll = Value{1} << kLockAllShift;

    static constexpr Value lock_alls(Value master) { return master >> kLockAllShift; }
    static constexpr Value exclusives(Value master) { return master & (kLockAll - 1); }
};

// Room for one lock_all of each process, and for many threads of each that want exclusives.
static_assert(fabric::kMostRanks < FompiRwWords::kLockAll / FompiRwWords::kExclusive);

template <fabric::Fabric F>
class FompiRw : private FompiRwWords {
  public:
    static constexpr LockTraits kTraits{.name = "fompi_rw", .own_lock_all = true};

    /// The second word is used at the master only.
    static Footprint footprint(const MachineView&) { return {.home = kHomeSlots}; }
    static LockLimits limits(const Thresholds&, const MachineView&) { return {}; }

    explicit FompiRw(const LockEnv<F>& env)
        : fabric_(env.fabric), home_(env.home), master_{0, env.home + kMaster} {}

    Hold acquire_exclusive(Rank target) {
        for (unsigned attempt = 1;; ++attempt) {
            if (lock_alls(fabric_.fetch_add(master_, kExclusive)) != 0) {
                fabric_.add(master_, Value{0} - kExclusive);
                fabric_.await(master_, [](Value v) { return lock_alls(v) == 0; });
            } else {
                if (fabric_.compare_swap(word(target), 0, kWriter) == 0)
                    return {};
                fabric_.add(master_, Value{0} - kExclusive);
                fabric_.await(word(target), fabric::equals(0));
            }
            fabric_.backoff(attempt);
        }
    }

    void release_exclusive(Rank target, Hold) {
        fabric_.add(word(target), Value{0} - kWriter);
        fabric_.add(master_, Value{0} - kExclusive);
    }

    Hold acquire_shared(Rank target) {
        if ((fabric_.fetch_add(word(target), kReader) & kWriter) != 0)
            fabric_.await(word(target), [](Value v) { return (v & kWriter) == 0; });
        return {};
    }

    void release_shared(Rank target, Hold) { fabric_.add(word(target), Value{0} - kReader); }

    /// MPI_Win_lock_all: shared access to every target.
    Hold acquire_all() {
        for (unsigned attempt = 1; exclusives(fabric_.fetch_add(master_, kLockAll)) != 0;
             ++attempt) {
            fabric_.add(master_, Value{0} - kLockAll);
            fabric_.await(master_, [](Value v) { return exclusives(v) == 0; });
            fabric_.backoff(attempt);
        }
        return {};
    }

    void release_all(Hold) { fabric_.add(master_, Value{0} - kLockAll); }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool exclusive) {
        const Value v = fabric_.get(word(target));
        if (!exclusive)
            return (v & kWriter) != 0;
        return v != 0 || lock_alls(fabric_.get(master_)) != 0;
    }

  private:
    Word word(Rank target) const { return {target, home_ + kTarget}; }

    F& fabric_;
    Slot home_;
    Word master_;
};

} // namespace rmalock::locks
