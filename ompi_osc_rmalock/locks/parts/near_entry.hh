// Processes of the target's node take and give a free lock by CPUs alone, where adapters do the atomics.
//
// Our own. Where the network adapter does the read-modify-writes of a lock's home word S, a process of
// the target's node would have to ask the adapter as well, for microseconds instead of nanoseconds.
// ALock (A. Baran, J. Nelson-Slivon, L. Tseng, R. Palmieri: "ALock: Asymmetric Lock Primitive for
// RDMA Systems", SPAA 2024) has two queues therefore, between which Peterson's algorithm decides. Here
// the node's processes have a word of their own that they use while nobody has to wait. One that
// finds others there goes by S as all others do, so S alone decides in what order they come.
//
// Word at the target's home:
//
//    L     [ turns:2 | heads:22 | alone:20 | readers:20 ]   processes of the node that are in by it, or
//          try; heads: a writer for its cohort (cohort.hh); turns: such a one that waits for its turn
//          since phase 0 or 1, or has it                                                       cohort
//
//    s_acq  GET(S) has an exclusive: no
//           l = NEAR_FADD(L, reader);  if l.writers: await L.writers == 0
//           no turn is set, and GET(S) has no exclusive: in;  else NEAR_ADD(L, -reader): no
//    s_rel  NEAR_ADD(L, -reader)
//    x_acq  GET(S) has anybody: no
//           alone: NEAR_FADD(L, alone) was 0, and GET(S) has nobody: in;  else as x_rel: no
//           head:  l = NEAR_FADD(L, head);  if l.alone and not l.heads: await not L.alone
//                  no other head, no turns, no readers, and GET(S) has nobody: in;  else as x_rel: no
//           head, where GET(S) has exclusives alone, in phase p:
//                  set turn p of L, if it is not set
//                  await S otherwise, for its patience;  S in phase p, or any reader, or member: as x_rel, no
//                  await neither heads nor alone in L;  no readers there: in;  else as x_rel: no
//    x_rel  NEAR_FADD(L, -alone, -head or -turn);  if GET(JOIN): wake_all(JOIN)
//
//    by S, in the round trip that registers, in phase p, or changes to it: GET(L); before p are the
//           heads, those that are alone, and turn p - 1
//           a reader that found no exclusive in S: await nobody before p, in JOIN off the node
//           an exclusive that found none: the same, then L.readers == 0, in rounds
//           one that is told of a change to p behind which there was a turn p - 1: await not that turn
//
// Why it excludes. A process registers in S before it looks at L, or counts itself in L before it looks
// at S; so of two that meet one sees the other. A process that registers in S finds those in L, and
// waits for them; the one in L that looks at S too late to be let in takes itself out. While it is there it
// waits for nobody, but a reader for writers, one head for writers that are alone, and a head for the end
// of the phase in which it set its turn. Those alone wait for nobody, and the exclusives of that phase not
// for the turn. A reader that finds a turn goes by S. So no two wait for each other.
// While a process is registered in S that L's would exclude, nobody enters by L but one whose turn it
// is: each looks at S behind its own count. An exclusive that is handed the lock within a phase need not
// look: since the one that found S without exclusives looked at L, or the phase changed, S has never
// been without.
//
// A turn lies between two exclusives of S, as the readers of a phase do. The one that changes the
// phase to p sees turn p - 1 in L, or that head sees by its second look that the phase has changed. So
// the exclusive that is to have the lock in p waits for the turn; one that comes later looks at L
// itself. Neither waits for a turn of its own phase: that one waits for it, or is about to leave.
// Those of the node that counted themselves before the turn was set may find S free behind the phase.
// So its head waits for them, too, which wait for nobody that waits. What a turn does not wait for is
// readers: where there are some, or members, the head goes by S. So it does where S is free in the
// same phase: 256 others have passed. Of several heads one has the turn.
//
// A process of the node may see S late (fabric/concept.hh). One from elsewhere reads L on this node
// behind its atomic of S; if it misses a count, that count comes behind the read, and what S was by
// then is what a look behind the count finds.
//
// Overtaking: by L, nobody while an exclusive is registered, but one head for each phase. Within the
// node writers pass the lock on (cohort.hh). One that is alone may come before a head, once: from its
// count on nobody else comes alone. A head waits for the rest of one chain of S, or for its patience,
// and then once more if it goes by S.
//
// Cost: a free lock 1 atomic of a CPU to acquire, 1 to release, and 2 gets; a turn 3 gets and the wait
// more. Readers that wait in JOIN are woken at its end, which takes an atomic of the adapter. To
// processes by S none: the get of L is in the round trip of their atomic; one that is told of a turn
// asks L for its end, in round trips where it is on another node. Memory: 1 word per target.
#pragma once

#include "locks/parts/push_list.hh"

namespace rmalock::locks {

/// L. Beside each field: what it promises, and the race that it settles.
struct NearWord {
    /// A reader of the node that is in, or tries. It counts itself before it looks at S: an exclusive
    /// that has registered there finds it here, or it finds the exclusive.
    static constexpr Value kReader = 1;
    /// A writer of the node, as well. Each that tries counts itself, so of several at most one finds 0.
    static constexpr Value kAlone = Value{1} << 20;
    /// The same for a cohort, behind which others wait. It is told apart, so that it can wait for those
    /// that are alone; they wait for nobody. Of two at most one finds no other: where the lock takes a
    /// node for several, it has as many cohorts.
    static constexpr Value kHead = Value{1} << 40;
    /// A cohort that has waited since a phase of this parity, or has its turn behind that. The parity
    /// tells those that the owner of a phase waits for from those that wait for that owner. Set by a
    /// swap that compares, so that one has it.
    static constexpr Value kTurn = Value{1} << 62;
    static constexpr Value turn(Value phase) { return kTurn << (phase & 1); }
    static constexpr Value kTurns = 3 * kTurn;

    static constexpr bool has_heads(Value l) { return l % kTurn >= kHead; }
    static constexpr bool has_turns(Value l) { return (l & kTurns) != 0; }
    static constexpr bool has_writers(Value l) { return l >= kAlone; }
    static constexpr bool has_readers(Value l) { return l % kAlone != 0; }
    static constexpr bool nobody_alone(Value l) { return l % kHead < kAlone; }
    static constexpr bool no_readers(Value l) { return !has_readers(l); }
    static constexpr bool turns_alone_write(Value l) { return !has_writers(l & ~kTurns); }
    /// Writers that go in before the owner, or the readers, of `phase`.
    static constexpr bool has_writers_before(Value l, Value phase) {
        return has_writers(l & ~turn(phase));
    }
    static constexpr auto no_writers_before(Value phase) {
        return [phase](Value l) { return !has_writers_before(l, phase); };
    }
};
static_assert(fabric::kMostRanks < NearWord::kAlone &&
              fabric::kMostRanks < NearWord::kHead / NearWord::kAlone &&
              fabric::kMostRanks < NearWord::kTurn / NearWord::kHead);

template <fabric::Fabric F>
class NearEntry : private NearWord {
  public:
    explicit NearEntry(F& fabric) : fabric_(fabric), waiting_(fabric) {}

    /// Of a reader. `closed()`: S has an exclusive. Returns whether the caller is in.
    template <class Closed>
    bool enter_shared(Word near, Closed&& closed) {
        Value l = fabric_.near_fetch_add(near, kReader);
        if (has_writers(l) && !has_turns(l))
            l = fabric_.await(near, [](Value v) { return !has_writers(v) || has_turns(v); });
        if (!has_turns(l) && !closed())
            return true;
        leave_shared(near);
        return false;
    }
    void leave_shared(Word near) { fabric_.near_add(near, Value{0} - kReader); }

    /// Of a writer. `free()`: nobody is in S.
    template <class Free>
    bool enter_alone(Word near, Word join, Free&& free) {
        if (!free())
            return false;
        if (fabric_.near_fetch_add(near, kAlone) == 0 && free())
            return true;
        leave_exclusive(near, join, kAlone);
        return false;
    }
    void leave_alone(Word near, Word join) { leave_exclusive(near, join, kAlone); }

    /// The same for the first of a cohort.
    template <class Free>
    bool enter_as_head(Word near, Word join, Free&& free) {
        if (!free())
            return false;
        const Value l = fabric_.near_fetch_add(near, kHead);
        if (!has_heads(l) && !has_turns(l) &&
            no_readers(has_writers(l) ? fabric_.await(near, nobody_alone) : l) && free())
            return true;
        leave_exclusive(near, join, kHead);
        return false;
    }
    void leave_as_head(Word near, Word join) { leave_exclusive(near, join, kHead); }

    /// The same where S, the word `s`, has exclusives in `phase`: waits for another one, until `end`.
    /// `waits(v)`: S is v, so it is worth while yet; `clear(v)`: the caller may be in then.
    template <class Waits, class Clear>
    bool enter_in_turn(Word near, Word join, Word s, Value phase, fabric::Moment end, Waits&& waits,
                       Clear&& clear) {
        const Value l = fabric_.get(near);
        if ((l & turn(phase)) != 0 || fabric_.near_compare_swap(near, l, l + turn(phase)) != l)
            return false;
        if (waits(fabric_.get(s)) && ends_clear(s, end, waits, clear) &&
            no_readers(fabric_.await(near, turns_alone_write)))
            return true;
        leave_in_turn(near, join, phase);
        return false;
    }
    /// `phase`: its parity is enough.
    void leave_in_turn(Word near, Word join, Value phase) {
        leave_exclusive(near, join, turn(phase));
    }

  private:
    template <class Waits, class Clear>
    bool ends_clear(Word s, fabric::Moment end, Waits&& waits, Clear&& clear) {
        const auto seen = fabric_.await_until(
            s, [&](Value v) { return !waits(v); }, end);
        return seen && clear(*seen);
    }

    /// `join`: the list of the readers that wait (push_list.hh). Those that saw the caller in L are on
    /// it, or look at L once more when they are.
    void leave_exclusive(Word near, Word join, Value as) {
        fabric_.near_fetch_add(near, Value{0} - as);
        if (fabric_.get(join) != PushListWords::kEmpty)
            waiting_.wake_all(join, PushListWords::kLook);
    }

    F& fabric_;
    PushList<F> waiting_;
};

} // namespace rmalock::locks
