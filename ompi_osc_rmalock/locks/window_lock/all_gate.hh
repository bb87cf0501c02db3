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
//    EVENTS, LOOKED, COPY  of each node; a process that waits for G waits there
//                          (node_event_count.hh)
//    GONE                  at each rank: so many L have drained that this process has closed
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
//                              SCAN every node's holder records (holder_records.hh);
//                              for every target in them: acquire and release it shared;
//                              mode 1 -> 2
//                  if K_A in a row and CAS mode 2 -> 5:
//                              ADD_EACH(L, OPEN);  mode -> 3
//    unlock_all    o = FADD(L, -1);  if o.inside == 1 and o.closer: FADD(L, -closer)
//                                                                   ADD(closer.GONE, 1)
//                  or leave G: o = FADD(G, -A1);  if o.n_A == 1 and o.n_W: tell
//    exclusive     enter it in the own holder record; acquire the target; M == 0: in
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
// owned before any lock_all changed that M, and that lock_all then finds it in a holder record, and
// waits for this owner to go (R1); or it is counted in n_X (R2). Every lock_all is counted in n_A,
// and in only at a moment when n_X is 0 and M is set everywhere; or it is counted in an L that was
// open, and exclusives are not counted before all L are closed and empty.
//
// Races, and what settles them
//   R1  An exclusive that reads M == 0 while a lock_all changes it: the exclusive is entered in its
//       holder record and acquires first, and reads its M afterwards; lock_all changes every M
//       first, and looks into the holder records and at the target afterwards. These verbs are
//       sequentially consistent: one of the two sees the other. An exclusive that is struck out has
//       left its critical section.
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
// process that went past others waits longer the next time, as long as those still wait: the bounds
// of the turns hold but for these.
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
// own, and, where there are several nodes, two counts in its holder record; in mode 2 the same, and
// at rank 0 one read, one CAS, and one atomic at release; where lock_alls are inside, or open on
// their nodes, the lock's own twice. lock_all in mode 3 one read and one CAS, and one atomic to
// leave, all on the own node; in the others one atomic, and one to leave, at rank 0. A change of
// mode is an atomic for every node, all for one round trip, and again to tell those that wait; from
// 3 to 2 a read of each as well, and one or two atomics of each where lock_alls are inside: up to
// three round trips for each 64 nodes; from 0 to 2 the reads, and a visit to each target that is
// held. A process that waits reads G once, and one of each node again when a change is told: an
// atomic for every node, for one round trip.
// Windows of one node have no mode 3 and no holder records: all is on the node, and all P targets
// are visited. Memory: 7 words per rank, of which 1 is used per window, 1 per process and 5 per
// node; and the holder records.
//
// Where: gate_word.hh has the word's fields, gate_rules.hh what its values admit and which mode
// follows which, gate_parts.hh what both sides share, gate_alls.hh and gate_exclusives.hh the
// sides.
#pragma once

#include "locks/window_lock/gate_alls.hh"
#include "locks/window_lock/gate_exclusives.hh"

namespace rmalock::locks {

/// `Waits` is how a process waits for G, and is told: another one is for the checker.
template <fabric::Fabric F, ReaderWriterLock L, template <class> class Waits = NodeEventCount>
class AllGate {
  public:
    /// The gate's words begin with slot `slot` (GateSlots).
    AllGate(F& fabric, L& lock, Slot slot, GateNodes nodes = {}, Duration patience = {})
        : AllGate(fabric, lock, slot, nodes,
                  GateLimits::of(fabric.size(), nodes.all.size(), patience)) {}

    AllGate(F& fabric, L& lock, Slot slot, GateNodes nodes, GateLimits limits)
        : parts_(fabric, slot, nodes, limits), holders_(fabric, nodes.holders),
          alls_(parts_, lock, holders_), exclusives_(parts_, lock, holders_) {}
    AllGate(const AllGate&) = delete;
    AllGate& operator=(const AllGate&) = delete;

    void enter_all() { alls_.enter(); }
    void leave_all() { alls_.leave(); }

    Hold acquire_exclusive(Rank target) { return exclusives_.acquire(target); }
    /// The same in two steps (lock.hh).
    bool begin_exclusive(Rank target, Value& seen) { return exclusives_.begin(target, seen); }
    Hold finish_exclusive(Rank target, Value seen) { return exclusives_.finish(target, seen); }
    void release_exclusive(Rank target, Hold hold) { exclusives_.release(target, hold); }

    // Of critical sections that come in a message (locks/parts/section.hh), at the origin.
    void announce_exclusive(Rank target) { exclusives_.announce(target); }
    void strike_exclusive(Rank target) { exclusives_.strike(target); }
    Hold take_over_exclusive(Rank target) { return exclusives_.take_over(target); }
    /// M, as this process reads it.
    Word mark() const { return parts_.mark; }

    /// How often this process has changed the side that the gate is for.
    std::uint64_t changes() const { return parts_.changes; }

  private:
    using Parts = GateParts<F, Waits, !L::kTraits.shared>;

    Parts parts_;
    HolderRecords<F> holders_;
    GateAlls<Parts, L, HolderRecords<F>> alls_;
    GateExclusives<Parts, L, HolderRecords<F>> exclusives_;
};

} // namespace rmalock::locks
