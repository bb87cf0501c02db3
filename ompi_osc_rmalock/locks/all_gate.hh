// The gate between MPI_Win_lock_all and exclusive locks: whom it is for at the moment passes it on
// its own node, whatever the number of targets.
//
// Around any reader-writer lock per target. Shared locks of single targets do not meet the gate:
// they exclude nobody whom lock_all admits. Two rooms exclude each other: lock_all, and exclusive
// holds. One word G at rank 0 of the window, and two at the first rank of each node, so that whom
// the gate is for never looks beyond its node (all `atomic` use):
//
//    G   [ row of lock_alls:8 | row of exclusives:14 | mode:3 | n_X:20 | n_A:19 ]
//                          n_X exclusive holds that went through the gate
//                          n_A processes in, or waiting for, lock_all that went through it
//                          rows: how many have come since one of the other kind did
//    M   not 0 unless the mode is `ungated`: exclusives have to go through the gate
//    L   [ OPEN:1 | count:63 ]  lock_alls that this node's processes entered by L
//
//    mode 0 ungated:   exclusives ignore the gate; so it begins
//    mode 1 revoking:  a lock_all is looking for exclusives that got in before it came
//    mode 2 gated:     nobody is favoured
//    mode 3 lock_alls: every L is open; exclusives that come close them first
//    mode 4 closing:   one of them does
//    mode 5 opening:   of M for exclusives or L for lock_alls, by one who is inside
//
//    lock_all      L.OPEN and CAS(L, +1):  in
//                  v = FADD(G, A1 and a row of one more)
//                  until mode >= 2 and n_X == 0:  await that, or mode 0
//                      mode 0: CAS mode 0 -> 1; for every node: SWAP(M, 1);
//                              for every node: look into its ledgers (ledgers.hh);
//                              for every target in them: acquire and release it shared;
//                              mode 1 -> 2
//                  if K_A in a row and CAS mode 2 -> 5:  for every node: FADD(L, OPEN); mode -> 3
//    unlock_all    ADD(L, -1) or ADD(G, -A1)                                           (posted)
//    exclusive     enter it in the own ledger; acquire the target; M == 0: in
//                  else CAS(G, +X1) if the room is open: in
//                  else give the target back, and until in:
//                  M == 0:    as at first
//                  M != 0:    CAS(G, +X1) as soon as the room is open; acquire the target; in
//                      mode 0: begin again
//                      mode 3: CAS mode 3 -> 4; for every node: FADD(L, -OPEN);
//                              for every node: await L == 0; mode -> 2
//                  if it entered, K_X in a row, n_A == 0, and CAS mode 2 -> 5:
//                              for every node: SWAP(M, 0); mode -> 0
//    release       strike it out; release the target; ADD(G, -X1) if it was counted    (posted)
//
//    The exclusive room is open in mode 2 when n_A == 0, to R4's callers also when n_X != 0; and to
//    these in mode 1.
//
//    In front of a lock without a shared mode the mode counts as 2 from the start and never becomes
//    0: a lock_all that visited the targets would wait for shared holders as well, who in turn may
//    wait for whom the lock_all is.
//
// Why it excludes: every exclusive hold either saw M == 0 with its target in hand, so that it was
// owned before any lock_all changed that M, and that lock_all then finds it in a ledger, and waits
// for this owner to go (R1);
// or it is counted in n_X (R2). Every lock_all is counted in n_A, and in only at a moment when n_X
// is 0 and M is set everywhere; or it is counted in an L that was open, and exclusives are not
// counted before all L are closed and empty.
//
// Races, and what settles them
//   R1  An exclusive that reads M == 0 while a lock_all changes it: the exclusive is entered in its
//       ledger and acquires first, and reads its M afterwards; lock_all changes every M first, and
//       looks into the ledgers and at the target afterwards. These verbs are sequentially
//       consistent: one of the two sees the other. Who is struck out has left its critical section.
//   R2  lock_all looked at every target, but an exclusive came through the room meanwhile: lock_all
//       goes on only when it finds n_X == 0 in the mode that admits it, both in one value of G.
//   R3  n_X and L count only who is in, never who tries: foMPI's transient +1 and -1 can hide a
//   zero
//       from a waiting lock_all, or from who closes L, for ever. Hence a CAS to enter. While
//       lock_alls wait nobody else may enter, so n_X, once 0, stays 0 until they have left.
//   R4  Hold-and-wait. P is in the exclusive room and waits for target t, which R holds shared; R
//       asks for its first exclusive; a lock_all waits for P. If R had to queue behind the
//       lock_all, nobody would move. So a process that holds any lock, on any window, enters the
//       exclusive room while that room is occupied or still being searched, whoever waits outside.
//   R5  M is cleared by an exclusive inside the room, so no lock_all is in. One that comes waits
//   for
//       n_X == 0 or for mode 0, and mode 0 is set before that exclusive leaves: it then finds that
//       it has to revoke. Nobody revokes meanwhile: whoever has set M by then is in the room of the
//       lock_alls until it has done all of it.
//   R6  L is opened by a lock_all inside its room, so no exclusive is in, and the mode says so
//       before that lock_all leaves. No exclusive closes while another process opens: a change of
//       mode is a CAS that one wins, and the next one waits for its end.
//
// Whom it favours: a lock_all waits for the exclusives inside only; exclusives can starve behind
// lock_alls that keep overlapping.
//
// Hysteresis: K_A lock_alls in a row make the gate theirs, K_X exclusives in a row make it theirs
// again; one of the other kind takes it away. K_A is not less than the number of nodes, and K_X not
// less than that of ranks, so what a change costs was saved by those in the row.
//
// Cost, uncontended: exclusive in mode 0 one read of a word of its own node on top of the lock's
// own, and, where there are several nodes, two counts in its ledger; in mode 2 the same, and at
// rank 0 one read, one CAS, and one posted atomic at release; where lock_alls are inside, or open
// on their nodes, the lock's own twice. lock_all in mode 3 one read, one CAS and one posted atomic,
// all on the own node; in the others one atomic, and one posted to leave, at rank 0. A change of
// mode is an atomic for every node, from 3 to 2 two; from 0 to 2 an atomic and a read, and a visit
// to each target that is held. Windows of one node have no mode 3 and no ledgers: all is on the
// node, and all P targets are visited. Memory: 3 words per rank, of which 1 is used per window, and
// 2 per node; and the ledgers.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "locks/gate_nodes.hh"

namespace rmalock::locks {

/// How many in a row the gate becomes theirs for.
struct GateLimits {
    Value alls;       ///< K_A, < 2^8
    Value exclusives; ///< K_X, < 2^14

    static GateLimits of(Rank ranks, std::size_t nodes) {
        constexpr Value kMostAlls = 255, kMostExclusives = 16383, kFew = 8, kSome = 64;
        return {std::clamp<Value>(nodes, kFew, kMostAlls),
                std::clamp<Value>(static_cast<Value>(ranks), kSome, kMostExclusives)};
    }
};

template <fabric::Fabric F, ReaderWriterLock L>
class AllGate {
  public:
    /// Slots at each rank.
    static constexpr Slot kSlots = 3;

    /// G is slot `slot` of rank 0, M and L the next ones of each node's first rank.
    AllGate(F& fabric, L& lock, Slot slot, GateNodes nodes = {})
        : AllGate(fabric, lock, slot, nodes, GateLimits::of(fabric.size(), nodes.all.size())) {}

    AllGate(F& fabric, L& lock, Slot slot, GateNodes nodes, GateLimits limits)
        : fabric_(fabric), lock_(lock), gate_{0, slot}, mark_{nodes.mine, slot + 1},
          mark_at_hand_(fabric::at_hand(fabric, mark_)), count_{nodes.mine, slot + 2},
          nodes_(nodes.all), limits_(limits), ledgers_(fabric, nodes.ledgers) {}

    /// `holding`: this process holds a lock of another window.
    void enter_all(bool holding = false) {
        in_by_node_ = enter_by_node();
        if (in_by_node_)
            return;
        constexpr Value kMe = kOneAll + kOneInRow;
        Value seen = fabric_.fetch_add(gate_, kMe) + kMe;
        const bool in_a_row = seen >> kRowShift >= limits_.alls;
        while (!admits_alls(seen)) {
            if (mode(seen) == kUngated && change(seen, kRevoking))
                revoke(holding);
            seen =
                fabric_.await(gate_, [](Value g) { return admits_alls(g) || mode(g) == kUngated; });
        }
        if (in_a_row && nodes_.size() > 1)
            open_for_alls();
    }

    void leave_all() {
        if (in_by_node_)
            fabric_.add(count_, Value{0} - 1);
        else
            fabric_.add(gate_, Value{0} - kOneAll);
    }

    /// `holding`: this process holds a lock, of this or another window (R4).
    Hold acquire_exclusive(Rank target, bool holding) {
        if constexpr (kGatedAlways) {
            return acquire_by_room(target, holding);
        } else if constexpr (InTwoSteps<L>) {
            Value seen;
            return begin_exclusive(target, seen) ? L::kAlone
                                                 : finish_exclusive(target, seen, holding);
        } else {
            ledgers_.enter(target);
            return look(target, lock_.acquire_exclusive(target), holding);
        }
    }
    /// The same in two steps (lock.hh).
    bool begin_exclusive(Rank target, Value& seen) {
        ledgers_.enter(target);
        return lock_.begin_exclusive(target, seen) && !marked();
    }
    Hold finish_exclusive(Rank target, Value seen, bool holding) {
        return look(target, lock_.finish_exclusive(target, seen), holding);
    }

    void release_exclusive(Rank target, Hold hold) {
        if constexpr (!kGatedAlways)
            ledgers_.leave(target);
        lock_.release_exclusive(target, hold);
        if (hold.in_room) [[unlikely]]
            fabric_.add(gate_, Value{0} - kOneExclusive);
    }

    /// How often this process has changed for whom the gate is.
    std::uint64_t changes() const { return changes_; }

  private:
    static constexpr unsigned kExclusiveShift = 19, kModeShift = 39, kStreakShift = 42,
                              kRowShift = 56;
    static constexpr Value kOneAll = 1;
    static constexpr Value kOneExclusive = Value{1} << kExclusiveShift;
    static constexpr Value kOneMode = Value{1} << kModeShift;
    static constexpr Value kOneInStreak = Value{1} << kStreakShift;
    /// On top: the carry of a row that is too long is lost.
    static constexpr Value kOneInRow = Value{1} << kRowShift;
    static constexpr Value kCounts = kOneMode - 1; ///< n_X and n_A
    static constexpr Value kUngated = 0, kRevoking = 1, kGated = 2, kAlls = 3, kClosing = 4,
                           kOpening = 5;
    static constexpr Value kOpen = Value{1} << 63; ///< of L

    static constexpr bool kGatedAlways = !has_shared_mode<L>;

    static Value mode(Value g) {
        const Value field = g >> kModeShift & 7;
        return kGatedAlways && field == kUngated ? kGated : field;
    }
    static Value exclusives(Value g) { return (g & kCounts) >> kExclusiveShift; }
    static Value alls(Value g) { return g & (kOneExclusive - 1); }
    static Value streak(Value g) { return g >> kStreakShift & (kOneInRow / kOneInStreak - 1); }

    static bool admits_alls(Value g) { return mode(g) >= kGated && exclusives(g) == 0; }
    static bool admits_exclusive(Value g, bool holding) {
        if (mode(g) == kGated)
            return alls(g) == 0 || (holding && exclusives(g) != 0);
        return mode(g) == kRevoking && holding;
    }
    /// G with one exclusive more inside.
    static Value with_exclusive(Value g) {
        const Value before = g >> kRowShift != 0 ? 0 : streak(g);
        const Value now = std::min(before + 1, kOneInRow / kOneInStreak - 1);
        return (g & (kOneInStreak - 1)) + kOneExclusive + now * kOneInStreak;
    }

    bool marked() { return kGatedAlways || fabric_.get(mark_at_hand_) != 0; }

    /// Whether the mode is `to` now, which was that of `seen`. Rows begin anew.
    bool change(Value seen, Value to) {
        return fabric_.compare_swap(gate_, seen, (seen & kCounts) + to * kOneMode) == seen;
    }
    /// For who has changed the mode to `from`, and whom all others wait for.
    void finish(Value from, Value to) {
        fabric_.fetch_add(gate_, to * kOneMode - from * kOneMode);
        fabric_.wake(gate_.rank);
        ++changes_;
        fabric::mode_changed(fabric_);
    }

    // ---- lock_all -------------------------------------------------------------------------------
    bool enter_by_node() {
        if (nodes_.size() == 1)
            return false;
        for (Value seen = fabric_.get(count_); (seen & kOpen) != 0;) {
            const Value before = fabric_.compare_swap(count_, seen, seen + 1);
            if (before == seen)
                return true;
            seen = before;
        }
        return false;
    }

    /// R1.
    void revoke(bool holding) {
        for (const Rank first : nodes_)
            fabric_.swap({first, mark_.slot}, 1);
        const auto visit = [&](Rank target) {
            lock_.release_shared(target, acquire_shared(lock_, target, holding));
        };
        const auto held = ledgers_.look();
        for (Rank target = 0; held.all() && target < fabric_.size(); ++target)
            visit(target);
        for (std::size_t i = 0; !held.all() && i < held.named().size(); ++i)
            visit(held.named()[i]);
        finish(kRevoking, kGated);
    }

    /// R6. If it does not work out, another one will try.
    void open_for_alls() {
        const Value seen = fabric_.get(gate_);
        if (mode(seen) != kGated || !change(seen, kOpening))
            return;
        for (const Rank first : nodes_)
            fabric_.fetch_add({first, count_.slot}, kOpen);
        finish(kOpening, kAlls);
    }

    // ---- exclusives -----------------------------------------------------------------------------
    Hold acquire_by_room(Rank target, bool holding) {
        for (;;) {
            const bool counted = marked() && enter_room(holding);
            Hold hold = lock_.acquire_exclusive(target);
            hold.in_room = counted;
            if (counted || !marked() || stay(target, hold, holding))
                return hold;
        }
    }

    /// R1: who has got the target looks whether there is a lock_all, and then may have to give it
    /// back, since the lock_all may be waiting for this very target.
    Hold look(Rank target, Hold hold, bool holding) {
        if (!marked() || stay(target, hold, holding))
            return hold;
        return acquire_by_room(target, holding);
    }
    bool stay(Rank target, Hold& hold, bool holding) {
        hold.in_room = try_enter(holding);
        if (!hold.in_room)
            lock_.release_exclusive(target, hold);
        return hold.in_room;
    }

    /// Enters the room if it is open. The target is in hand: nothing here may wait.
    bool try_enter(bool holding) {
        for (Value seen = fabric_.get(gate_); admits_exclusive(seen, holding);) {
            const Value after = with_exclusive(seen);
            const Value before = fabric_.compare_swap(gate_, seen, after);
            if (before == seen) {
                open_for_exclusives(after);
                return true;
            }
            seen = before;
        }
        return false;
    }

    /// Returns whether it is in the room; else the gate is not for lock_alls any more.
    bool enter_room(bool holding) {
        const auto is_for_me = [holding](Value g) {
            return mode(g) == kUngated || mode(g) == kAlls || admits_exclusive(g, holding);
        };
        for (unsigned attempt = 0;; ++attempt) {
            const Value seen = fabric_.await(gate_, is_for_me);
            if (mode(seen) == kUngated)
                return false;
            if (mode(seen) == kAlls) {
                if (change(seen, kClosing))
                    close_for_alls();
            } else if (const Value after = with_exclusive(seen);
                       fabric_.compare_swap(gate_, seen, after) == seen) {
                open_for_exclusives(after);
                return true;
            }
            fabric_.backoff(attempt);
        }
    }

    void close_for_alls() {
        for (const Rank first : nodes_)
            fabric_.fetch_add({first, count_.slot}, Value{0} - kOpen);
        for (const Rank first : nodes_)
            fabric_.await({first, count_.slot}, fabric::equals(0));
        finish(kClosing, kGated);
    }

    /// R5, if enough came in a row. `seen` is what G was when this exclusive entered.
    void open_for_exclusives(Value seen) {
        if (kGatedAlways || streak(seen) < limits_.exclusives || alls(seen) != 0 ||
            mode(seen) != kGated || !change(seen, kOpening))
            return;
        for (const Rank first : nodes_)
            fabric_.swap({first, mark_.slot}, 0);
        finish(kOpening, kUngated);
    }

    F& fabric_;
    L& lock_;
    const Word gate_;
    const Word mark_; ///< M of this node
    const decltype(fabric::at_hand(std::declval<F&>(), Word{})) mark_at_hand_;
    const Word count_; ///< L of this node
    const std::span<const Rank> nodes_;
    const GateLimits limits_;
    Ledgers<F> ledgers_;
    bool in_by_node_ = false;
    std::uint64_t changes_ = 0;
};

} // namespace rmalock::locks
