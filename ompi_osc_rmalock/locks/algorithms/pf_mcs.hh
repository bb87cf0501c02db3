// pf_mcs: a phase-fair reader-writer lock in which everybody registers and nobody retries.
//
// Our own. Readers and writers are accounted for in one word as in Go's sync.RWMutex; writers queue
// as in MCS locks (mcs_queue.hh); readers that have to wait form a list (push_list.hh); phases
// alternate as in B. Brandenburg, J. Anderson: "Spin-Based Reader-Writer Synchronization for
// Multiprocessor Real-Time Systems", Real-Time Systems 2010. Everybody waits on a word of its own.
//
// Words at the target's home (all atomic use), one line:
//
//    S      [ PH:1 | XC:31 | RC:32 ]   phase; exclusives registered; readers registered
//    RO     readers that an exclusive waits for, and its name (drain.hh)
//    JOIN   the list of the readers that wait
//    TAIL   last exclusive in the queue
//    HW     where a phase is handed to a successor that has not shown itself: its qnode or
//           PHASE(r); with passes the BATON of baton.hh
//
// Words of a qnode (all mailbox use): NEXT, STATUS of the queue; DRN: the last reader of the phase
// has left; WAKE of the list.
//
//    s_acq  s = FADD(S, 1);  if s.XC == 0: in                                      // one atomic
//           wait(JOIN) for the end of the phase, GET(S).PH != s.PH, or until it has joined the
//               readers that are being drained (drain.hh)
//    s_rel  s = FADD_AFTER_DATA(S, -1)
//           if s.XC: leave(RO)
//    x_acq  s = FADD(S, X1);  if s.XC == 0: drain(RO, s.RC); in        // one atomic if s.RC == 0
//           if join(TAIL): await STATUS, which is one of
//               DIRECT(n): chain = n + 1; in
//               PHASE(r):  chain = 1; drain(RO, r); in
//           h = SWAP(HW, me);  if h is not PHASE(r): await STATUS == PHASE(r)
//           SWAP(HW, 0);  chain = 1;  drain(RO, r)                                // none if r == 0
//    x_rel  succ = in the queue ? (NEXT or leave(TAIL)) : 0
//           if succ and chain < T_W: DELIVER; PUT(succ.STATUS, DIRECT(chain)); return
//           s = FADD_AFTER_DATA(S, PH - chain * X1)                              // phase change
//           if s.RC: wake_all(JOIN)
//           if s.XC > chain: if succ: PUT(succ.STATUS, PHASE(s.RC))
//                            else h = SWAP(HW, PHASE(s.RC)); if h: PUT(h.STATUS, PHASE(s.RC))
//
// With passes > 0, where all are on one node, running exclusives may take a released lock past the
// first of the queue, `passes` times in a row (baton.hh). TAIL is the baton's queue then, and the
// owner has left it.
//
//    x_acq  s = FADD(S, X1);  if s.XC == 0: drain(RO, s.RC); in
//           m = take(BATON): DIRECT(n): chain = n + 1;  PHASE(r): chain = 1, drain(RO, r);  in
//    x_rel  if it had the baton and chain < T_W and GET(S).XC > chain:
//               DELIVER; give(BATON, DIRECT(chain)); return
//           s = FADD_AFTER_DATA(S, PH - chain * X1);  if s.RC: wake_all(JOIN)
//           if s.XC > chain: give(BATON, PHASE(s.RC))
//
// The baton is given only if more are registered than have been inside since the change of phase:
// one of those takes it, because a registered exclusive comes for it and does nothing else before.
//
// Why it excludes: a reader is admitted if no exclusive was registered when it registered, or when
// the phase it registered in is over. The exclusive that takes over from a phase change knows how
// many readers were registered at that moment (r), all admitted by it, and drains exactly so many:
// readers that leave while XC != 0 count RO down, each once. The exclusives of a chain leave their
// registrations in S; the last one knows how many they are and takes all of them back, so XC != 0
// until then.
//
// Why joining is sound: the drainer goes in only after it has taken its name out of RO and found
// the count 0 in the same step. A reader that found the name when it added itself is thus counted
// in what the drainer looks at. It has to be the drain of its own phase: if the phase has changed
// since, the reader was admitted by that, is counted in r, and takes the 1 back.
//
// Why readers join: p holds T0 shared and wants T1 exclusively, q holds T1 shared and wants T0
// shared, x waits for T0 exclusively. A program that runs with locks that prefer readers must not
// deadlock here; q has to go past x. So has a reader whose message p waits for. No lock can know;
// hence the drainer's rounds (patience.hh).
//
// The order of S is not the order of TAIL. An exclusive that registered first owns the lock without
// being in the queue; the first of the queue meets it in HW, in either order.
//
// Overtaking: a reader waits for at most T_W exclusive sections, the rest of one chain; then it is
// admitted, whenever it notices. An exclusive waits for those before it in the queue, and for the
// readers admitted before it at one change of phase per T_W of them, and in the rounds of each
// drain. With passes, `passes` exclusives that did not queue go before it, for itself and for each
// before it.
//
// Cost off node: s_acq and x_acq uncontended 1 atomic = 1 round trip; s_rel and x_rel the same:
// they must see the word they change. Contended hand-over: 1 posted put. Phase change: 1 atomic, 1
// more if readers wait, 1 more if the successor has not shown itself. To wait for readers: 3
// atomics, one of them while they leave. With passes: uncontended the same; contended acquire 2
// atomics past the queue, else 4; release 1 get and 1 posted add, or a change of phase and 1 posted
// add. Memory: one line per target; one qnode (a line) per lock that a process awaits, or holds
// after it has been in the queue.
#pragma once

#include "locks/lock_env.hh"
#include "locks/parts/baton.hh"
#include "locks/parts/drain.hh"
#include "locks/parts/mcs_queue.hh"

namespace rmalock::locks {

/// Its words. Beside each: what it promises, and the race that it settles.
struct PfMcsWords {
    // At home. RO is DrainWord, JOIN a list of push_list.hh, the stand-in that of mcs_queue.hh.
    static constexpr Slot kS = 0, kRo = 1, kJoin = 4, kStandIn = 5;
    /// TAIL: the last of the exclusives that found another one in S; 0: none is in the queue. Each
    /// comes by one swap, so one finds 0: it is the first, and alone meets the owner in HW. With
    /// passes it is the first of the baton's queue.
    static constexpr Slot kTail = 2;
    /// HW: an owner that sees no successor leaves PHASE here, the first of the queue its name. Each
    /// swaps its own in, so the later one finds the other: the owner a name to tell, or the first
    /// what it is told. That one clears it before it goes in: the next pair finds nothing of this.
    /// With passes it is the BATON (BatonWord).
    static constexpr Slot kHw = 3;

    // S. Every change is an atomic that returns what the others were, so two that come at once see
    // each other, in one order.
    static constexpr unsigned kReaderBits = 32;
    /// RC: readers registered. While it counts one that saw XC == 0, no exclusive is in.
    static constexpr Value kReader1 = 1;
    /// XC: exclusives registered. The one that found 0 owns the lock once the readers of its S are
    /// gone; all others are told.
    static constexpr Value kX1 = Value{1} << kReaderBits;
    /// PH: the readers that registered in another phase than this one are in. Added, not or-ed: the
    /// carry out of the top bit is meant to be lost.
    static constexpr Value kPhase = Value{1} << 63;

    static constexpr Value phase(Value s) { return s >> 63; }
    static constexpr Value exclusives(Value s) { return (s & ~kPhase) >> kReaderBits; }
    static constexpr Value readers(Value s) { return s & (kX1 - 1); }
    // Those that are in or wait, and the exclusives of a chain that have been in.
    static_assert(fabric::kMostRanks < kX1 / kReader1 &&
                  fabric::kMostRanks + kLargestThreshold < kPhase / kX1);

    /// STATUS, and HW or BATON: PHASE(r), the lock behind a change of phase. Its atomic found the r
    /// readers, so each reader is in r, and drained by the receiver, or finds XC != 0, and waits.
    /// The bit is above a name: of the two that meet in HW none takes PHASE for the other's name.
    static constexpr Value kPhaseMessage = Value{1} << kNameBits;
    static_assert(kLargestThreshold < Value{1} << (64 - kNameBits));
    static constexpr Value phase_message(Value r) { return kPhaseMessage | r; }
    /// STATUS or BATON, without that bit: DIRECT(chain), the lock within a chain. So many have been
    /// in, and are still registered in S: no reader is in between. The last one takes all of them
    /// back by the atomic that changes the phase.
    static constexpr Value direct(Value chain) { return chain; }
    static constexpr bool is_phase(Value message) { return message >= kPhaseMessage; }
    /// Whether the next exclusive has the lock then, and not readers before it.
    static constexpr bool is_handover(Value message) { return message <= kPhaseMessage; }
};

template <fabric::Fabric F>
class PfMcs : private PfMcsWords {
  public:
    static constexpr LockTraits kTraits{.name = "pf_mcs",
                                        .delivers = true,
                                        .needs = {.queue_nodes = true},
                                        .offers = {.two_steps = true}};
    /// Of an exclusive that has met nobody, see ExclusiveHold.
    static constexpr Hold kAlone{Value{1} << kNameBits};

    static Footprint footprint(const MachineView&) { return {.home = fabric::kWordsPerLine}; }

    /// T_W: exclusives that may follow each other before waiting readers are let in, < 2^24.
    /// passes: those that may take a released lock past the first of the queue in a row, < 2^20; 0:
    /// none, it is handed over. The first of the queue polls a word at home, which only its own node
    /// can do for nothing: so passes are for windows of one node.
    static LockLimits limits(const Thresholds& asked, const MachineView& machine) {
        // Enough for the lock to be busy while the next in line gets a core, few enough to be fair.
        constexpr Value kOftenPassed = 64;
        return {.t_w = asked.chain(machine.ranks()),
                .passes = machine.one_node ? asked.passes.value_or(kOftenPassed) : 0,
                .patience = asked.patience};
    }

    static_assert(kNameBits < Baton<F>::kMessageBits && kLargestThreshold <= Baton<F>::kMostPassed);
    explicit PfMcs(const LockEnv<F>& env)
        : fabric_(env.fabric), queue_(env.fabric), baton_(env.fabric), drain_(env.fabric),
          home_(env.home), qnodes_(env.qnodes), limits_(env.limits) {}

    Hold acquire_shared(Rank target) {
        Value s;
        return begin_shared(target, s) ? Hold{} : finish_shared(target, s);
    }
    /// The same in two steps (lock.hh).
    bool begin_shared(Rank target, Value& s) {
        s = fabric_.fetch_add(word(target, kS), kReader1);
        return exclusives(s) == 0;
    }
    [[gnu::noinline]] Hold finish_shared(Rank target, Value s) {
        drain_.wait(drains(target), qnodes_, [&] { return is_over(target, s); });
        return {};
    }

    void release_shared(Rank target, Hold) {
        const Value s = fabric_.fetch_add_after_data(word(target, kS), Value{0} - kReader1);
        if (exclusives(s) != 0) [[unlikely]]
            drain_.leave(drains(target));
    }

    Hold acquire_exclusive(Rank target) {
        Value s;
        return begin_exclusive(target, s) ? kAlone : finish_exclusive(target, s);
    }
    /// The same in two steps (lock.hh).
    bool begin_exclusive(Rank target, Value& s) {
        s = fabric_.fetch_add(word(target, kS), kX1);
        return (s & ~kPhase) == 0;
    }
    [[gnu::noinline]] Hold finish_exclusive(Rank target, Value s) {
        if (exclusives(s) == 0) {
            drain_alone(target, readers(s));
            return kAlone;
        }
        return hold(limits_.passes != 0 ? take_baton(target) : take_in_queue(target));
    }

    void release_exclusive(Rank target, Hold held) {
        if (held.opaque == kAlone.opaque) [[likely]]
            change_phase(target, {}, 0);
        else
            release_from_queue(target, unpacked(held));
    }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool exclusive) {
        const Value s = fabric_.get(word(target, kS));
        return exclusives(s) != 0 || (exclusive && readers(s) != 0);
    }

  private:
    /// What a holder knows: its qnode if it is in the queue, or 1 + what it knows about the baton
    /// if it had that; and how many exclusives there have been since the last change of phase,
    /// itself included. So many registrations are still in S.
    struct ExclusiveHold {
        Value qnode = 0;
        Value chain = 1;
    };
    static constexpr Hold hold(ExclusiveHold mine) {
        return {mine.chain << kNameBits | mine.qnode};
    }
    static ExclusiveHold unpacked(Hold hold) {
        return {hold.opaque & kNameMask, hold.opaque >> kNameBits};
    }

    Word word(Rank target, Slot offset) const { return {target, home_ + offset}; }

    DrainWords drains(Rank target) const { return {word(target, kRo), word(target, kJoin)}; }

    /// Whether the phase in `s` is over.
    bool is_over(Rank target, Value s) { return phase(fabric_.get(word(target, kS))) != phase(s); }

    // ---- exclusives -----------------------------------------------------------------------------
    /// Of an exclusive that has been in the queue, or had the baton.
    [[gnu::noinline]] void release_from_queue(Rank target, ExclusiveHold mine) {
        const bool in_a_row = mine.chain < limits_.t_w;
        if (limits_.passes != 0) {
            if (in_a_row && exclusives(fabric_.get(word(target, kS))) > mine.chain) {
                fabric_.deliver(target);
                baton_.give(word(target, kHw), direct(mine.chain), passed(mine));
            } else
                change_phase(target, mine, 0);
            return;
        }
        const Word qnode = qnode_of(mine.qnode);
        Value succ = queue_.next(qnode);
        if (succ == 0)
            succ = queue_.leave(word(target, kTail), qnode);
        queue_.give_back(qnodes_, qnode);
        if (succ != 0 && in_a_row) {
            fabric_.deliver(target);
            notify(succ, direct(mine.chain));
        } else
            change_phase(target, mine, succ);
    }

    ExclusiveHold take_in_queue(Rank target) {
        const Word qnode = qnodes_.take(fabric_);
        const Value chain = join_queue(target, qnode);
        return {name_of(queue_.kept(qnodes_, word(target, kTail), qnode, word(target, kStandIn))),
                chain};
    }

    /// Returns how many there have been since the last change of phase, the caller included.
    Value join_queue(Rank target, Word qnode) {
        Value message = 0;
        if (queue_.join(word(target, kTail), qnode)) {
            message = queue_.await_and_take_status(qnode);
            if (!is_phase(message))
                return message + 1;
        } else {
            message = meet_owner(target, qnode);
        }
        drain(target, qnode, message & ~kPhaseMessage);
        return 1;
    }

    /// The first of the queue and the owner that is not in it find each other, in either order.
    Value meet_owner(Rank target, Word qnode) {
        Value message = fabric_.swap(word(target, kHw), name_of(qnode));
        if (!is_phase(message))
            message = queue_.await_and_take_status(qnode);
        fabric_.swap(word(target, kHw), 0);
        return message;
    }

    // ---- exclusives that may be passed ----------------------------------------------------------
    ExclusiveHold take_baton(Rank target) {
        const auto got =
            baton_.take(word(target, kHw), word(target, kTail), qnodes_, limits_.passes);
        // The giver does not know the taker, but all are on one node.
        if (got.passed == 0 && is_handover(got.message))
            fabric_.handed_over(fabric_.self());
        if (!is_phase(got.message))
            return {got.passed + 1, got.message + 1};
        drain_alone(target, got.message & ~kPhaseMessage);
        return {got.passed + 1, 1};
    }

    static constexpr Value passed(ExclusiveHold mine) {
        return mine.qnode != 0 ? mine.qnode - 1 : 0;
    }

    void notify(Value succ, Value message) {
        queue_.notify(succ, message);
        if (is_handover(message))
            fabric_.handed_over(qnode_of(succ).rank);
    }

    // ---- phases ---------------------------------------------------------------------------------
    /// For an exclusive that is in no queue: nobody can write to the qnode afterwards.
    void drain_alone(Rank target, Value r) {
        if (r == 0)
            return;
        const Word qnode = qnodes_.take(fabric_);
        drain(target, qnode, r);
        qnodes_.give(qnode);
    }

    void drain(Rank target, Word qnode, Value r) {
        if (r == 0)
            return;
        fabric_.mode_changed();
        Rounds<F> rounds(limits_.patience);
        drain_.drain(drains(target), qnode, r, rounds);
    }

    /// Takes the registrations of the chain back. `succ`: the next in the queue, if known.
    [[gnu::always_inline]] void change_phase(Rank target, ExclusiveHold mine, Value succ) {
        const Value s = fabric_.fetch_add_after_data(word(target, kS), kPhase - mine.chain * kX1);
        if ((s & ~kPhase) != mine.chain * kX1) [[unlikely]]
            let_in(target, mine, succ, s);
    }

    /// Lets the readers in that waited in the phase of `s`, and has the next exclusive drain them.
    [[gnu::noinline]] void let_in(Rank target, ExclusiveHold mine, Value succ, Value s) {
        if (readers(s) != 0) {
            fabric_.mode_changed();
            const Value first = drain_.admit(drains(target));
            if (first != 0)
                fabric_.handed_over(qnode_of(first).rank);
        }
        if (exclusives(s) == mine.chain)
            return;
        const Value message = phase_message(readers(s));
        if (limits_.passes != 0) {
            baton_.give(word(target, kHw), message, passed(mine));
            return;
        }
        if (succ == 0)
            succ = fabric_.swap(word(target, kHw), message);
        if (succ != 0) // else the first of the queue will find the message
            notify(succ, message);
    }

    F& fabric_;
    McsQueue<F> queue_;
    Baton<F> baton_;
    Drain<F> drain_;
    Slot home_;
    QueueNodes& qnodes_;
    LockLimits limits_;
};

} // namespace rmalock::locks
