// The gate between MPI_Win_lock_all and exclusive locks: what passes it often does so on its own
// node, whatever the number of targets.
//
// Our own. Around any reader-writer lock per target. Shared locks of single targets do not meet the
// gate: they exclude nothing that lock_all admits. Two rooms exclude each other: lock_all, and
// exclusive holds. One word G at rank 0 of the window, and two at the first rank of each node, so
// that the side that the gate is for never looks beyond its node, nor does a process that waits
// (all `atomic` use):
//
//    G   [ rows | mode | turn | n_W | n_X | n_A ]   (gate_word.hh)
//                          n_A processes in, or waiting for, lock_all that went through it
//                          n_X exclusive holds that went through the gate: owners of their target
//                          n_W exclusives that wait for it
//                          turn: of those, grows when the last of them is in
//                          rows: how many have come since one of the other kind did
//    M   not 0 unless the mode is `ungated`: exclusives have to go through the gate
//    L   [ inside:24 | OPEN:1 | closer:39 ]
//                          lock_alls that this node's processes entered by L; while it is closed,
//                          the rank that is to be told when the last of them has left
//    NEWS                  of each node; a process that waits for G waits there (news.hh)
//    GONE at each rank: so many L have drained that this process has closed
//
//    mode 0 ungated:   exclusives ignore the gate; so it begins
//    mode 1 revoking:  a lock_all is looking for exclusives that got in before it came
//    mode 2 gated:     neither side is favoured
//    mode 3 lock_alls: every L is open; exclusives that come close them first
//    mode 4 closing:   one of them does
//    mode 5 opening:   of M for exclusives or L for lock_alls, by a process inside
//
//    lock_all      L.OPEN and CAS(L, +1):  in
//                  v = FADD(G, A1 and a row of one more)
//                  if v.n_W and mode != 0:                                         (turns)
//                      leave G; await another turn, n_W == 0 or mode 0, for a round
//                      FADD(G, A1 ...)
//                  until mode >= 2 and n_X == 0:  await that, or mode 0
//                      mode 0: CAS mode 0 -> 1; ADD_EACH(M, 1)
//                              SCAN every node's ledgers (ledgers.hh);
//                              for every target in them: acquire and release it shared;
//                              mode 1 -> 2
//                  if K_A in a row and CAS mode 2 -> 5:
//                              ADD_EACH(L, OPEN);  mode -> 3
//    unlock_all    o = FADD(L, -1);  if o.inside == 1 and o.closer: FADD(L, -closer)
//                                                                   ADD(closer.GONE, 1)
//                  or leave G: o = FADD(G, -A1);  if o.n_A == 1 and o.n_W: tell
//    exclusive     enter it in the own ledger; acquire the target; M == 0: in
//                  enter: in
//                  else release the target;  FADD(G, W1);  until in:
//                      await mode 0, the room open, or mode 3; a round long: then past
//                          mode 3: CAS mode 3 -> 4; ADD_EACH(L, -OPEN)
//                                  SCAN every L; where somebody is inside: o = FADD(L, me)
//                                      if o.inside: one GONE more is to come, else: FADD(L, -me)
//                                  await GONE; mode -> 2
//                      acquire the target
//                      M == 0: o = FADD(G, -W1); tell if n_W becomes 0; in
//                      enter, with -W1, and the next turn if n_W becomes 0: in; tell if it did
//                      else release the target
//    enter         as long as the room is open: CAS(G, +X1): in
//                  if K_X in a row, n_A == 0, and CAS mode 2 -> 5: ADD_EACH(M, -1);  mode -> 0
//    release       release the target; strike it out
//                  if it was counted: o = FADD(G, -X1);  if o.n_X == 1 and o.n_A: tell
//
//    A mode that has been settled (->) is told if others are counted in n_A or n_W.
//
//    The exclusive room is open in mode 2 when n_A == 0. Past lock_alls it is open in mode 2 when
//    n_X != 0, since those in n_A only wait then, and in mode 1.
//
//    In front of a lock without a shared mode the mode counts as 2 from the start and never becomes
//    0: a lock_all that visited the targets would wait for shared holders as well.
//
// Why it excludes: every exclusive hold either saw M == 0 with its target in hand, so that it was
// owned before any lock_all changed that M, and that lock_all then finds it in a ledger, and waits
// for this owner to go (R1); or it is counted in n_X (R2). Every lock_all is counted in n_A, and in
// only at a moment when n_X is 0 and M is set everywhere; or it is counted in an L that was open,
// and exclusives are not counted before all L are closed and empty.
//
// Races, and what settles them
//   R1  An exclusive that reads M == 0 while a lock_all changes it: the exclusive is entered in its
//       ledger and acquires first, and reads its M afterwards; lock_all changes every M first, and
//       looks into the ledgers and at the target afterwards. These verbs are sequentially
//       consistent: one of the two sees the other. An exclusive that is struck out has left its
//       critical section.
//   R2  lock_all looked at every target, but an exclusive came through the room meanwhile: lock_all
//       goes on only when it finds n_X == 0 in the mode that admits it, both in one value of G.
//   R3  n_X and L count owners only, never those that try: foMPI's transient +1 and -1 can hide a
//       zero from a waiting lock_all, or from the closer of L, for ever. Hence a CAS to enter.
//       While lock_alls wait in mode 2, exclusives enter only past them, and only where n_X is not
//       0: once 0, it stays 0 until they have left. n_A does count lock_alls that only look and
//       step back: each does it once a turn, and the turn does not end before the exclusives that
//       it could keep out are in.
//   R4  A process with its target in hand waits for nothing: what it waited for might wait for that
//       target. It enters by CAS, or gives the target back, and queues again when the room is open.
//       And it does not retake the room while it queues: two such exclusives would never show n_X
//       == 0 to a lock_all, nor the lock_all n_A == 0 to them.
//   R5  M is cleared by an exclusive inside the room, so no lock_all is in. One that comes waits
//       for n_X == 0 or for mode 0, and mode 0 is set before that exclusive leaves: it then finds
//       that it has to revoke. Nobody revokes meanwhile: a process that has set M by then is in the
//       room of the lock_alls until it has done all of it.
//   R6  L is opened by a lock_all inside its room, so no exclusive is in, and the mode says so
//       before that lock_all leaves. No exclusive closes while another process opens: a change of
//       mode is a CAS that one wins, and the next one waits for its end.
//
// Turns: while exclusives wait, lock_alls that come step back, and come again when all of those are
// in; then they stay, whatever waits. So an exclusive waits for the lock_alls inside, and for one
// more of each other process at most; a lock_all for the exclusives inside, and for one turn of
// those that waited before it.
//
// Rounds (patience.hh): in a turn, and before a lock_all that waits, a process is blocked by others
// that wait themselves; what those wait for may wait for it, by a lock of another window or by a
// message. So both end: a lock_all steps back for one round, and an exclusive that has waited for
// one goes past lock_alls that wait or revoke. The visits of a lock_all that revokes are shared
// acquires, which join the drain of a writer that waits. What remains blocks only for owners. Each
// process that went past others waits longer the next time: the bounds of the turns hold but for
// these.
//
// What is told: a process that waits hears of every change of G that lets it go on. n_A falls to 0:
// exclusives that wait are in n_W. n_X falls to 0: lock_alls that wait are in n_A. n_W does, which
// ends a turn: a lock_all that has stepped back is counted nowhere, so that is told always. The
// mode: the steps that a CAS begins (0 -> 1, 2 -> 5, 3 -> 4) let nobody go on that had to wait
// before; those that end them are told.
//
// Hysteresis: K_A lock_alls in a row make the gate theirs, K_X exclusives in a row make it theirs
// again; one of the other kind takes it away. Neither is less than the number of nodes, on one node
// than that of ranks, so what a change costs was saved by those in the row. The word has few bits
// for them: of each process only every so-manieth is counted.
//
// Cost, uncontended: exclusive in mode 0 one read of a word of its own node on top of the lock's
// own, and, where there are several nodes, two counts in its ledger; in mode 2 the same, and at
// rank 0 one read, one CAS, and one atomic at release; where lock_alls are inside, or open on their
// nodes, the lock's own twice. lock_all in mode 3 one read and one CAS, and one atomic to leave,
// all on the own node; in the others one atomic, and one to leave, at rank 0. A change of mode is
// an atomic for every node, all for one round trip, and again to tell those that wait; from 3 to 2
// a read as well, and another round trip, and one for each node whose lock_alls are inside; from 0
// to 2 the same, and a visit to each target that is held. A process that waits reads G once, and
// once more each time it is told of a change: an atomic for every node, for one round trip. Windows
// of one node have no mode 3 and no ledgers: all is on the node, and all P targets are visited.
// Memory: 5 words per rank, of which 1 is used per window, 1 per process and 3 per node; and the
// ledgers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <span>
#include <utility>

#include "locks/parts/drain.hh"
#include "locks/window_lock/gate_nodes.hh"
#include "locks/window_lock/gate_word.hh"
#include "locks/parts/news.hh"

namespace rmalock::locks {

/// How many in a row the gate becomes theirs for, and how long a process lets others go first.
struct GateLimits {
    Value alls;               ///< of lock_alls, of which each process's every `each_all`th counts
    Value exclusives;         ///< of exclusives, in the same way
    Value each_all = 1;       ///< K_A = alls * each_all; a power of 2
    Value each_exclusive = 1; ///< K_X = exclusives * each_exclusive; a power of 2
    Duration patience{};      ///< the first round of a wait (patience.hh); 0: for ever

    static GateLimits of(Rank ranks, std::size_t nodes, Duration patience) {
        constexpr Value kFew = 32, kSome = 64, kAlls = 4, kExclusives = 8;
        const Value flip = nodes > 1 ? nodes : static_cast<Value>(ranks);
        const auto each = [](Value times, Value counted) {
            return std::bit_ceil((times + counted - 1) / counted);
        };
        return {kAlls, kExclusives, each(std::max<Value>(nodes, kFew), kAlls),
                each(std::max(flip, kSome), kExclusives), patience};
    }
};

/// `Waits` is how a process waits for G, and is told: another one is for the checker.
template <fabric::Fabric F, ReaderWriterLock L, template <class> class Waits = News>
class AllGate {
  public:
    /// Slots at each rank.
    static constexpr Slot kSlots = 5;

    /// G is slot `slot` of rank 0; M, L and NEWS are the next ones of each node's first rank, GONE
    /// is the last one of each rank.
    AllGate(F& fabric, L& lock, Slot slot, GateNodes nodes = {}, Duration patience = {})
        : AllGate(fabric, lock, slot, nodes,
                  GateLimits::of(fabric.size(), nodes.all.size(), patience)) {}

    AllGate(F& fabric, L& lock, Slot slot, GateNodes nodes, GateLimits limits)
        : fabric_(fabric), lock_(lock), gate_{0, slot}, mark_{nodes.mine, slot + 1},
          resolved_mark_(fabric.resolve(mark_)), count_{nodes.mine, slot + 2}, gone_{fabric.self(),
                                                                                     slot + 4},
          nodes_(nodes.all), limits_(limits), news_(fabric, nodes.all, {nodes.mine, slot + 3}),
          ledgers_(fabric, nodes.ledgers) {}

    void enter_all() {
        in_by_node_ = enter_by_node();
        if (in_by_node_)
            return;
        Value seen = arrive();
        if (!only_alls(seen)) [[unlikely]]
            seen = wait_for_room(seen);
        if (nodes_.size() > 1 && G::row(seen) >= limits_.alls)
            open_for_alls();
    }

    void leave_all() {
        if (in_by_node_)
            leave_by_node();
        else
            leave_gate();
    }

    Hold acquire_exclusive(Rank target) {
        if constexpr (InTwoSteps<L> && !kGatedAlways) {
            Value seen;
            return begin_exclusive(target, seen) ? L::kAlone : finish_exclusive(target, seen);
        } else {
            enter_in_ledger(target);
            return look(target, lock_.acquire_exclusive(target));
        }
    }
    /// The same in two steps (lock.hh).
    bool begin_exclusive(Rank target, Value& seen) {
        enter_in_ledger(target);
        return lock_.begin_exclusive(target, seen) && !marked();
    }
    Hold finish_exclusive(Rank target, Value seen) {
        return look(target, lock_.finish_exclusive(target, seen));
    }

    void release_exclusive(Rank target, Hold hold) {
        lock_.release_exclusive(target, hold);
        // Not sooner: the release may be what brings the holder's data to the target.
        if constexpr (!kGatedAlways)
            ledgers_.leave(target);
        if (hold.in_room) [[unlikely]]
            leave_room();
    }

    /// How often this process has changed the side that the gate is for.
    std::uint64_t changes() const { return changes_; }

  private:
    using G = GateWord;
    using Mode = GateWord::Mode;
    /// Of L, whose count is that of a DrainWord.
    static constexpr Value kOpen = Value{1} << (kNameBits - 1);
    static constexpr Value closer(Value l) { return l % kOpen; }

    static constexpr bool kGatedAlways = !L::kTraits.shared;

    static Mode mode(Value g) {
        const Mode field = G::mode(g);
        return kGatedAlways && field == Mode::ungated ? Mode::gated : field;
    }
    static bool only_alls(Value g) {
        return G::only_alls(g) ||
               (kGatedAlways && G::only_alls(g + G::step(Mode::ungated, Mode::gated)));
    }
    static bool admits_alls(Value g) { return mode(g) >= Mode::gated && G::exclusives(g) == 0; }
    /// `past_waiting`: also past lock_alls that only wait, or look for exclusives.
    static bool admits_exclusive(Value g, bool past_waiting) {
        if (mode(g) == Mode::gated)
            return G::alls(g) == 0 || (past_waiting && G::exclusives(g) != 0);
        return mode(g) == Mode::revoking && past_waiting;
    }

    void enter_in_ledger(Rank target) {
        if constexpr (!kGatedAlways)
            ledgers_.enter(target);
    }
    /// How often in a row this process has gone past others that waited, when its round was over:
    /// the next one is longer. Threads may count past each other.
    class Past {
      public:
        Duration next(Duration first) const { return Rounds<F>(first, times_).next(); }
        void note(bool past) {
            if (!past)
                reset();
            else if (!Rounds<F>::kTimeless)
                times_.fetch_add(1, std::memory_order_relaxed);
        }
        void reset() { times_.store(0, std::memory_order_relaxed); }

      private:
        std::atomic<unsigned> times_{0};
    };

    bool marked() { return kGatedAlways || fabric_.get(resolved_mark_) != 0; }

    /// Whether the mode is `to` now, which was that of `seen`.
    bool change(Value seen, Mode to) {
        return fabric_.compare_swap(gate_, seen, G::with_mode(seen, to)) == seen;
    }
    /// For the process that has changed the mode to `from`, for which all others wait. `me` is what
    /// G counts of it. Returns G.
    Value finish(Mode from, Mode to, Value me) {
        const Value settled = fabric_.fetch_add(gate_, G::step(from, to)) + G::step(from, to);
        if (G::alls(settled - me) != 0 || G::waiting(settled - me) != 0)
            news_.tell();
        ++changes_;
        fabric_.mode_changed();
        return settled;
    }

    // ---- lock_all -------------------------------------------------------------------------------
    bool enter_by_node() {
        if (nodes_.size() == 1)
            return false;
        for (Value seen = fabric_.get(count_); (seen & kOpen) != 0;) {
            const Value before = fabric_.compare_swap(count_, seen, seen + DrainWord::kReader);
            if (before == seen)
                return true;
            seen = before;
        }
        return false;
    }
    void leave_by_node() {
        const Value before = fabric_.fetch_add(count_, Value{0} - DrainWord::kReader);
        if (closer(before) == 0 || DrainWord::inside(before) != 1) [[likely]]
            return;
        fabric_.fetch_add(count_, Value{0} - closer(before)); // before the closer goes on
        fabric_.add({static_cast<Rank>(closer(before)) - 1, gone_.slot}, 1);
    }

    /// Returns G with this process in it.
    Value arrive() {
        const Value me = G::kOneAll + ((++alls_ & (limits_.each_all - 1)) == 0 ? G::kOneInRow : 0);
        return fabric_.fetch_add(gate_, me) + me;
    }

    /// Returns what G was when this process arrived.
    [[gnu::noinline]] Value wait_for_room(Value seen) {
        if (G::waiting(seen) != 0 && mode(seen) != Mode::ungated) {
            step_back(G::turn(seen));
            seen = arrive();
        } else {
            alls_past_.reset();
        }
        const Value arrived = seen;
        while (!admits_alls(seen)) {
            if (mode(seen) == Mode::ungated && change(seen, Mode::revoking))
                seen = revoke();
            else
                seen = news_.await(
                    gate_, [](Value g) { return admits_alls(g) || mode(g) == Mode::ungated; });
        }
        return arrived;
    }

    void leave_gate() {
        const Value before = fabric_.fetch_add(gate_, Value{0} - G::kOneAll);
        if (G::alls(before) == 1 && G::waiting(before) != 0)
            news_.tell();
    }

    /// Turns.
    void step_back(Value turn) {
        leave_gate();
        const auto is_over = [turn](Value g) {
            return G::turn(g) != turn || G::waiting(g) == 0 || mode(g) == Mode::ungated;
        };
        const auto end = fabric_.after(alls_past_.next(limits_.patience));
        alls_past_.note(!news_.await_until(gate_, is_over, end).has_value());
    }

    /// R1. Returns G.
    Value revoke() {
        fabric_.add_each(nodes_, mark_.slot, 1);
        const auto visit = [&](Rank target) {
            fabric_.mark();
            lock_.release_shared(target, lock_.acquire_shared(target));
        };
        const auto held = ledgers_.look();
        for (Rank target = 0; held.all() && target < fabric_.size(); ++target)
            visit(target);
        for (std::size_t i = 0; !held.all() && i < held.named().size(); ++i)
            visit(held.named()[i]);
        return finish(Mode::revoking, Mode::gated, G::kOneAll);
    }

    /// R6. If it does not work out, another one will try.
    void open_for_alls() {
        const Value seen = fabric_.get(gate_);
        if (mode(seen) != Mode::gated || G::waiting(seen) != 0 || !change(seen, Mode::opening))
            return;
        fabric_.add_each(nodes_, count_.slot, kOpen);
        finish(Mode::opening, Mode::alls, G::kOneAll);
    }

    // ---- exclusives -----------------------------------------------------------------------------
    /// R1: an exclusive that has its target looks whether there is a lock_all, and then enters the
    /// room, or gives the target back, since the lock_all may be waiting for it (R4).
    Hold look(Rank target, Hold hold) {
        if (!marked())
            return hold;
        fabric_.mark();
        hold.in_room = enter_room(false, [](Value g) { return g; }).has_value();
        if (hold.in_room) {
            exclusives_past_.reset();
            return hold;
        }
        lock_.release_exclusive(target, hold);
        return wait_and_acquire(target);
    }

    /// Counted in n_W until it is in.
    [[gnu::noinline]] Hold wait_and_acquire(Rank target) {
        fabric_.fetch_add(gate_, G::kOneWaiting);
        const auto end = fabric_.after(exclusives_past_.next(limits_.patience));
        const auto mark = fabric_.mark();
        for (bool past_waiting = false;;) {
            await_room(past_waiting, end);
            Hold hold = lock_.acquire_exclusive(target);
            if (!marked()) {
                end_turn_after(fabric_.fetch_add(gate_, Value{0} - G::kOneWaiting));
                return hold;
            }
            if (const auto found = enter_room(past_waiting, G::without_waiting)) {
                exclusives_past_.note(!admits_exclusive(*found, false));
                hold.in_room = true;
                return hold;
            }
            lock_.release_exclusive(target, hold);
            fabric_.rewind(mark, past_waiting);
        }
    }

    /// Until the room is open, or the gate is not for lock_alls any more. From `end` on the room
    /// may be taken past lock_alls that only wait.
    void await_room(bool& past_waiting, fabric::Moment end) {
        const auto mark = fabric_.mark();
        for (unsigned attempt = 0;; ++attempt) {
            const auto is_for_me = [past_waiting](Value g) {
                return mode(g) == Mode::ungated || mode(g) == Mode::alls ||
                       admits_exclusive(g, past_waiting);
            };
            const std::optional<Value> seen = past_waiting
                                                  ? news_.await(gate_, is_for_me)
                                                  : news_.await_until(gate_, is_for_me, end);
            past_waiting = past_waiting || !seen;
            if (seen && mode(*seen) != Mode::alls)
                return;
            if (seen && change(*seen, Mode::closing))
                close_for_alls();
            else if (seen)
                fabric_.backoff(attempt);
            fabric_.rewind(mark, past_waiting);
        }
    }

    /// Enters the room if it is open, with the target in hand: nothing here may wait. `and_then`:
    /// what else becomes of G. The back-off is for the word's home, where all exclusives meet.
    /// Returns what G was if it is in.
    template <class AndThen>
    std::optional<Value> enter_room(bool past_waiting, AndThen and_then) {
        Value seen = fabric_.get(gate_);
        for (unsigned attempt = 0; admits_exclusive(seen, past_waiting); ++attempt) {
            const Value inside = and_then(G::with_exclusive(seen, counts()));
            const Value before = fabric_.compare_swap(gate_, seen, inside);
            if (before == seen) {
                entered_.fetch_add(1, std::memory_order_relaxed);
                if (G::waiting(inside) != G::waiting(seen))
                    end_turn_after(seen);
                open_for_exclusives(inside);
                return seen;
            }
            fabric_.backoff(attempt);
            seen = fabric_.get(gate_);
        }
        return std::nullopt;
    }

    /// One less waits than in `before`.
    void end_turn_after(Value before) {
        if (G::waiting(before) == 1)
            news_.tell();
    }

    void leave_room() {
        const Value before = fabric_.fetch_add(gate_, Value{0} - G::kOneExclusive);
        if (G::exclusives(before) == 1 && G::alls(before) != 0)
            news_.tell();
    }

    /// Whether the next exclusive counts in the row. Several threads may ask.
    bool counts() const {
        const Value next = entered_.load(std::memory_order_relaxed) + 1;
        return (next & (limits_.each_exclusive - 1)) == 0;
    }

    /// Until nobody is inside by any L, all of which are closed: no count grows any more.
    void await_nobody_counted() {
        constexpr std::size_t kAtOnce = 64;
        std::array<Value, kAtOnce> memory;
        Value to_come = 0;
        for (std::size_t node = 0; node < nodes_.size(); node += kAtOnce) {
            const auto some = nodes_.subspan(node).first(std::min(kAtOnce, nodes_.size() - node));
            const std::span counts = std::span(memory).first(some.size());
            fabric_.scan(some, count_.slot, 1, counts);
            for (std::size_t i = 0; i < some.size(); ++i)
                to_come += DrainWord::inside(counts[i]) != 0 && tells_me({some[i], count_.slot});
        }
        if (to_come == 0)
            return;
        fabric_.await(gone_, fabric::equals(to_come));
        fabric_.fetch_add(gone_, Value{0} - to_come);
    }
    /// Whether lock_alls are still inside by `count`: the last of them to leave adds to GONE then.
    bool tells_me(Word count) {
        const Value me = static_cast<Value>(fabric_.self()) + 1;
        if (DrainWord::inside(fabric_.fetch_add(count, me)) != 0)
            return true;
        fabric_.fetch_add(count, Value{0} - me);
        return false;
    }

    void close_for_alls() {
        fabric_.add_each(nodes_, count_.slot, Value{0} - kOpen);
        await_nobody_counted();
        finish(Mode::closing, Mode::gated, G::kOneWaiting);
    }

    /// R5, if enough came in a row. `seen` is what G was when this exclusive entered.
    void open_for_exclusives(Value seen) {
        if (kGatedAlways || G::streak(seen) < limits_.exclusives || G::alls(seen) != 0 ||
            mode(seen) != Mode::gated || !change(seen, Mode::opening))
            return;
        fabric_.add_each(nodes_, mark_.slot, Value{0} - 1);
        finish(Mode::opening, Mode::ungated, 0);
    }

    F& fabric_;
    L& lock_;
    const Word gate_;
    const Word mark_; ///< M of this node
    const typename F::Resolved resolved_mark_;
    const Word count_; ///< L of this node
    const Word gone_;
    const std::span<const Rank> nodes_;
    const GateLimits limits_;
    Waits<F> news_;
    Ledgers<F> ledgers_;
    bool in_by_node_ = false;
    Value alls_ = 0;                ///< arrivals of this process at G
    std::atomic<Value> entered_{0}; ///< its exclusives
    Past alls_past_, exclusives_past_;
    std::uint64_t changes_ = 0;
};

} // namespace rmalock::locks
