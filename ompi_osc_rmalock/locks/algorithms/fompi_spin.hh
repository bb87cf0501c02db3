// foMPI-Spin: one word per target, taken by compare-and-swap. A baseline, not a recommendation.
//
// R. Gerstenberger, M. Besta, T. Hoefler: "Enabling Highly-Scalable Remote Memory Access
// Programming with MPI-3 One Sided", SC 2013, section 2.3; named foMPI-Spin in "High-Performance
// Distributed RMA Locks", HPDC 2016, section 5.
//
// Word of target t at t (atomic): 0 free, 1 held.
//
//    acquire   while CAS(word, 0 -> 1) != 0: back off, await word == 0
//    release   ADD(word, -1)                                                           (posted)
//
// Deviations from the paper
//   D1  After a failed attempt the word is watched, bounded, before the next one: a failed
//       compare-and-swap costs the home as much as one that succeeds.
//   D2  The release subtracts instead of writing 0, so that the word stays with its class of use.
//   D3  There is no shared mode: shared acquires take the word too.
//
// Overtaking is not bounded: anybody may be unlucky for ever.
// Cost off node: acquire uncontended 1 atomic = 1 round trip; release 1 posted atomic. Waiting
// polls the target's word.
// Memory: 1 word per target.
#pragma once

#include "locks/lock_env.hh"

namespace rmalock::locks {

/// The word of a target.
struct FompiSpinWord {
    /// A process has the lock. It comes by a compare-and-swap from 0, so of several that come at
    /// once one has it; only that one takes it away.
    static constexpr Value kHeld = 1;
};

template <fabric::Fabric F>
class FompiSpin : private FompiSpinWord {
  public:
    static constexpr LockTraits kTraits{.name = "fompi_spin", .shared = false};

    static Footprint footprint(const MachineView&) { return {.home = 1}; }
    static LockLimits limits(const Thresholds&, const MachineView&) { return {}; }

    explicit FompiSpin(const LockEnv<F>& env) : fabric_(env.fabric), home_(env.home) {}

    Hold acquire_exclusive(Rank target) {
        const Word word{target, home_};
        for (unsigned attempt = 1; fabric_.compare_swap(word, 0, kHeld) != 0; ++attempt) {
            fabric_.await(word, fabric::equals(0));
            fabric_.backoff(attempt);
        }
        return {};
    }

    void release_exclusive(Rank target, Hold) { fabric_.add({target, home_}, Value{0} - kHeld); }

    Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, Hold hold) { release_exclusive(target, hold); }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool) { return fabric_.get({target, home_}) != 0; }

  private:
    F& fabric_;
    Slot home_;
};

} // namespace rmalock::locks
