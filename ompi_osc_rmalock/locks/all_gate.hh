// The gate between MPI_Win_lock_all and exclusive locks: lock_all costs one atomic, whatever the
// number of targets, and a window that never sees a lock_all pays two reads for it.
//
// Around any reader-writer lock per target. Shared locks of single targets do not meet the gate:
// they exclude nobody whom lock_all admits. Two rooms exclude each other: lock_all, and exclusive
// holds. One word G (`atomic` use) at rank 0 of the window, and one word M at the first rank of
// each node, so that who does not meet the gate never looks beyond its node:
//
//     63  62 61              31 30               0
//    [ mode ][ n_X             ][ n_A             ]   n_X exclusive holds that went through the
//    gate,
//                                                     n_A processes in, or waiting for, lock_all
//    mode 0 ungated:  nobody has called lock_all yet, exclusives ignore the gate
//    mode 1 revoking: a lock_all is looking for exclusives that got in before it came
//    mode 2 gated
//    M (`atomic` use): not 0 once mode is not 0
//
//    lock_all      v = FADD(G, A1)
//                  v.mode 2:  await n_X == 0; in
//                  else:      CAS mode 0 -> 1; for every node: SWAP(M, 1);
//                             for every target: acquire and release it shared;
//                             await n_X == 0, CAS mode -> 2; in
//    unlock_all    ADD(G, -A1)                                                         (posted)
//    exclusive     M == 0:    acquire the target; M still 0: in
//                             else CAS(G, +X1) if the room is open, or else give the target back
//                             and
//                  M != 0:    CAS(G, +X1) as soon as the room is open; acquire the target; in
//    release       release the target; ADD(G, -X1) if it was counted                   (posted)
//
//    The exclusive room is open when n_A == 0, and to R4's callers also when n_X != 0 or mode == 1.
//
//    In front of a lock without a shared mode the mode counts as 2 from the start: a lock_all that
//    visited the targets would wait for shared holders as well, who in turn may wait for whom the
//    lock_all is.
//
// Why it excludes: every exclusive hold either saw M == 0 with its target in hand, so that it was
// owned before any lock_all changed that M, and that lock_all then waits for this owner to go (R1);
// or it is counted in n_X (R2).
//
// Races, and what settles them
//   R1  An exclusive that reads M == 0 while a lock_all changes it: the exclusive acquires first
//   and
//       reads its M afterwards, lock_all changes every M first and looks at the target afterwards.
//       These verbs are fetching, hence sequentially consistent: one of the two sees the other.
//   R2  lock_all looked at every target, but an exclusive came through the room meanwhile: the mode
//       becomes `gated` by the same CAS that tests n_X == 0.
//   R3  n_X counts only who is in, never who tries: foMPI's transient +1 and -1 can hide a zero
//   from a
//       waiting lock_all for ever. Hence a CAS to enter. While lock_alls wait nobody else may
//       enter, so n_X, once 0, stays 0 until they have left.
//   R4  Hold-and-wait. P is in the exclusive room and waits for target t, which R holds shared; R
//   asks
//       for its first exclusive; a lock_all waits for P. If R had to queue behind the lock_all,
//       nobody would move. So a process that holds any lock, on any window, enters the exclusive
//       room while that room is occupied or still being searched, whoever waits outside.
//
// Whom it favours: a lock_all waits for the exclusives inside only; exclusives can starve behind
// lock_alls that keep overlapping.
//
// Cost, uncontended: exclusive in mode 0 two reads of a word of its own node on top of the lock's
// own; in the other modes one of these, and at rank 0 one read, one CAS, and one posted atomic at
// release. lock_all one atomic, unlock_all one posted. The change from mode 0, once in the life of
// a window, is an atomic for every node, and visits all P targets. Memory: 2 words per rank, of
// which 1 is used per window and node.
#pragma once

#include <span>

#include "locks/lock.hh"

namespace rmalock::locks {

/// The nodes of a window, by their first ranks.
struct GateNodes {
    static constexpr Rank kOne[] = {0};
    Rank mine = 0;                    ///< the calling process's
    std::span<const Rank> all = kOne; ///< outlives the gate
};

template <fabric::Fabric F, ReaderWriterLock L>
class AllGate {
  public:
    /// Slots at each rank.
    static constexpr Slot kSlots = 2;

    /// G is slot `slot` of rank 0, M the next one of each node's first rank.
    AllGate(F& fabric, L& lock, Slot slot, GateNodes nodes = {})
        : fabric_(fabric), lock_(lock), gate_{0, slot}, mark_{nodes.mine, slot + 1},
          nodes_(nodes.all) {}

    /// `holding`: this process holds a lock of another window.
    void enter_all(bool holding = false) {
        if (mode(fabric_.fetch_add(gate_, kOneAll)) == kGated)
            fabric_.await(gate_, no_exclusives);
        else
            revoke(holding);
    }

    void leave_all() { fabric_.add(gate_, Value{0} - kOneAll); }

    /// `holding`: this process holds a lock, of this or another window (R4).
    Hold acquire_exclusive(Rank target, bool holding) {
        const bool gated = kGatedAlways || fabric_.get(mark_) != 0;
        if (gated)
            enter_room(holding);
        Hold hold = lock_.acquire_exclusive(target);
        hold.in_room = gated;
        if (!gated && fabric_.get(mark_) != 0)
            hold = enter_late(target, hold, holding);
        return hold;
    }

    void release_exclusive(Rank target, Hold hold) {
        lock_.release_exclusive(target, hold);
        if (hold.in_room)
            fabric_.add(gate_, Value{0} - kOneExclusive);
    }

  private:
    static constexpr unsigned kCountBits = 31;
    static constexpr Value kOneAll = 1;
    static constexpr Value kOneExclusive = Value{1} << kCountBits;
    static constexpr Value kOneMode = Value{1} << (2 * kCountBits);
    static constexpr Value kCountMask = kOneExclusive - 1;
    static constexpr Value kUngated = 0, kRevoking = 1, kGated = 2;

    static constexpr bool kGatedAlways = !has_shared_mode<L>;

    static Value mode(Value g) { return kGatedAlways ? kGated : g / kOneMode; }
    static Value exclusives(Value g) { return (g / kOneExclusive) & kCountMask; }
    static Value alls(Value g) { return g & kCountMask; }
    static bool no_exclusives(Value g) { return exclusives(g) == 0; }

    static bool open(Value g, bool holding) {
        return alls(g) == 0 || (holding && (exclusives(g) != 0 || mode(g) == kRevoking));
    }

    /// Enters the room if it is open.
    bool try_enter(bool holding) {
        for (unsigned attempt = 0;; ++attempt) {
            const Value seen = fabric_.get(gate_);
            if (!open(seen, holding))
                return false;
            if (fabric_.compare_swap(gate_, seen, seen + kOneExclusive) == seen)
                return true;
            fabric_.backoff(attempt);
        }
    }

    void enter_room(bool holding) {
        while (!try_enter(holding))
            fabric_.await(gate_, [holding](Value g) { return open(g, holding); });
    }

    /// R1: got the target, and then saw a lock_all.
    Hold enter_late(Rank target, Hold hold, bool holding) {
        if (!try_enter(holding)) {
            // The lock_all may be waiting for this very target.
            lock_.release_exclusive(target, hold);
            enter_room(holding);
            hold = lock_.acquire_exclusive(target);
        }
        hold.in_room = true;
        return hold;
    }

    void revoke(bool holding) {
        Value seen = fabric_.get(gate_);
        while (mode(seen) == kUngated) {
            const Value before = fabric_.compare_swap(gate_, seen, seen + kOneMode);
            if (before == seen)
                fabric::mode_changed(fabric_);
            seen = before == seen ? seen + kOneMode : before;
        }
        for (const Rank first : nodes_)
            fabric_.swap({first, mark_.slot}, 1);
        for (Rank target = 0; target < fabric_.size(); ++target)
            lock_.release_shared(target, acquire_shared(lock_, target, holding));
        for (unsigned attempt = 0;; ++attempt) {
            seen = fabric_.await(gate_, no_exclusives);
            if (mode(seen) == kGated || fabric_.compare_swap(gate_, seen, seen + kOneMode) == seen)
                return;
            fabric_.backoff(attempt);
        }
    }

    F& fabric_;
    L& lock_;
    const Word gate_;
    const Word mark_; ///< M of this node
    const std::span<const Rank> nodes_;
};

} // namespace rmalock::locks
