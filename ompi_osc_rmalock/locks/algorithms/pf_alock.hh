// pf_alock: ALock for writers, and readers that are counted on each side of the adapter.
//
// Our own. Where network adapters do the atomics, neither a writer nor a reader of the target's node
// needs one: writers are the two cohorts of alock.hh. Readers of the node are counted by CPUs,
// readers from elsewhere by the adapter, each in a word of its own. The lock is phase-fair: readers
// that wait are let in before the next chain of writers.
//
// Words of target t at t, one line. TAIL_R, TAIL_L, VICTIM and the stand-in are alock.hh's; then:
//
//     PHASE    0 or 1, the phase that readers wait for the end of; changed by the owner   mailbox
//     READERS_R  [ waits1:21 | waits0:21 | inside:22 ]   the readers from elsewhere        atomic
//     READERS_L  the same for those of the target's node                                  cohort
//     JOIN     the list of the readers from elsewhere that wait (push_list.hh)            atomic
//
// The owner is the process that has won both queues and begins a chain: ALock's budget of its cohort.
// READERS: the one of the caller's side. Those that wait do so for the end of phase p, in waits_p.
//
//    s_acq  FADD(READERS, inside + 1);  GET(TAIL_R, TAIL_L, PHASE)
//           both tails 0: in
//           p = PHASE;  FADD(READERS, waits_p + 1);  GET(TAIL_R, TAIL_L, PHASE)
//           over (PHASE != p, or both tails 0):  ADD(READERS, waits_p - 1);  in          // P1
//           ADD(READERS, inside - 1);  wait until it is over: on the node by looking,
//                                                              else in JOIN
//           FADD(READERS, waits_p - 1 and inside + 1);  in
//    s_rel  FADD_AFTER_DATA(READERS, inside - 1)
//    x_acq  as ALock's. The owner, where READERS of either side is not 0:
//           let_in;  until GET(READERS_R, READERS_L) has none but waits_p, p = PHASE:
//               await that in one of the two, and at the end of each round let_in (patience.hh)
//    let_in p = PHASE;  if GET(READERS_R, READERS_L) has waits_p:
//           await waits_(1-p) == 0 in both                                               // P2
//           PUT(PHASE, 1-p);  flush;  if GET(READERS_R).waits_p: wake_all(JOIN)
//    x_rel  DELIVER;  as ALock's;  where its queue is empty now: GET(TAIL_R, TAIL_L, JOIN)
//               behind that;  if both tails are 0, and JOIN is not: wake_all(JOIN)
//
// Notes
//   P1  A reader that is about to wait is counted twice until it knows in which phase. If the phase
//       ends meanwhile, it has been inside all the time for the owner that ended it; so it is in.
//   P2  One owner may let in several times, but only when all of the last time have noticed: a
//       phase is one bit.
//
// Why it excludes. Among writers: alock.hh. A reader counts itself before it looks at the tails; an
// owner has set its tail before it looks at READERS. So either the owner finds the reader, or the
// reader the tail. A reader that finds a tail and goes in all the same was counted before the phase
// ended, and has been in one of the two fields since: an owner that ends a phase waits until both
// are empty. A reader that finds the tails empty while it waits needs no second look. Whatever writer
// comes then finds it waiting, and lets it in. Writers within a chain look at nothing: their queue
// has not been empty since the owner looked, and phases end by owners only. All words lie at one
// process, where those from other nodes read behind their own atomics and puts; so CPUs that see
// these late (fabric/concept.hh) do no harm.
//
// Overtaking: a reader waits for the rest of one chain, and for one chain more if it counted itself
// just when that one's owner looked. A writer waits as in alock.hh, and for the readers inside at
// each beginning of a chain before its own, and in rounds.
//
// Cost, uncontended. On the target's node no verb of an adapter, in either domain: shared 1 atomic of
// a CPU to acquire, 1 to release; exclusive the same. Off node 1 atomic = 1 round trip for each of
// the four calls: what is looked at comes along with the atomic, where adapters do atomics
// (fetch_then_get); elsewhere all but the reader's release are 2. Contended: writers as in alock.hh; a reader off node that waits 4 atomics and 2
// reads more. An owner from elsewhere polls the counts, one at a time per target. Memory: a line per
// target, and the qnodes (qnodes.hh).
#pragma once

#include "locks/algorithms/alock.hh"
#include "locks/parts/patience.hh"
#include "locks/parts/push_list.hh"

namespace rmalock::locks {

/// Its words. Beside each: what it promises, and the race that it settles.
struct PfAlockWords {
    // What is looked at together lies together. TAIL_R, TAIL_L, VICTIM and the stand-in are
    // ALockWords', JOIN is a list of push_list.hh.
    static constexpr Slot kJoin = 0, kTailR = 1, kTailL = 2, kPhase = 3, kReadersR = 4,
                          kReadersL = 5, kVictim = 6, kStandIn = 7, kWords = 8;

    /// A value of PHASE. The owner alone changes it, and not before all that its last change has
    /// let in have noticed: so a reader that waits for one of the two never misses its end (P2).
    static constexpr Value other(Value phase) { return phase ^ 1; }

    // READERS. Two fields change in one step, so a reader is in one of them at every moment.
    static constexpr unsigned kInsideBits = 22, kWaitsBits = 21;
    static_assert(kInsideBits + 2 * kWaitsBits == 64 && fabric::kMostRanks < 1 << (kWaitsBits - 1));
    /// Inside: no owner is in while one is counted that saw no tail, or a phase end.
    static constexpr Value kInside1 = 1;
    /// Waits for the end of `phase`: the next owner ends it before it goes in.
    static constexpr Value waits1(Value phase) {
        return Value{1} << (kInsideBits + (phase & 1) * kWaitsBits);
    }
    static constexpr Value waiting(Value readers, Value phase) {
        return readers & waits1(phase) * ((Value{1} << kWaitsBits) - 1);
    }
    /// Those that an owner in `phase` waits for: inside, or let in by the end of the other one.
    static constexpr Value ahead(Value readers, Value phase) {
        return readers - waiting(readers, phase);
    }
};

template <fabric::Fabric F>
class PfAlock : private PfAlockWords {
    using Queues = ALockQueues<F, PfAlockWords, PfAlockWords::kReadersR, PfAlockWords::kReadersL>;
    using Seen = typename Queues::Seen;

  public:
    static constexpr LockTraits kTraits{
        .name = "pf_alock", .delivers = true, .needs = {.queue_nodes = true}};

    static Footprint footprint(const MachineView&) { return {.home = kWords}; }
    static LockLimits limits(const Thresholds& asked, const MachineView&) {
        return {.patience = asked.patience, .budgets = asked.budgets};
    }

    explicit PfAlock(const LockEnv<F>& env)
        : fabric_(env.fabric), queues_(env), waiting_(env.fabric), qnodes_(env.qnodes),
          patience_(env.limits.patience) {}

    Hold acquire_shared(Rank target) {
        const View view = count_and_look(target, kInside1);
        if (!view.free) [[unlikely]]
            wait_as_reader(target, view.phase);
        return {};
    }

    void release_shared(Rank target, Hold) {
        if (fabric_.same_node(target)) {
            fabric_.deliver(target);
            fabric_.near_add(readers(target), Value{0} - kInside1);
        } else
            fabric_.fetch_add_after_data(readers(target), Value{0} - kInside1);
    }

    Hold acquire_exclusive(Rank target) {
        return queues_.acquire(target, [&](bool readers) {
            if (readers) [[unlikely]]
                take_from_readers(target);
        });
    }

    void release_exclusive(Rank target, Hold hold) {
        fabric_.deliver(target);
        Seen seen;
        const bool handed_on = queues_.template release<kTailR, kTailL, kJoin>(target, hold, seen);
        if (!handed_on && is_free(seen) && seen[kJoin] != 0) [[unlikely]]
            waiting_.wake_all(word(target, kJoin), PushListWords::kLook);
    }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool exclusive) {
        Seen seen;
        queues_.template look<kTailR, kTailL, kReadersR, kReadersL>(target, seen);
        return !is_free(seen) || (exclusive && (seen[kReadersR] | seen[kReadersL]) != 0);
    }

  private:
    Word word(Rank target, Slot slot) const { return queues_.word(target, slot); }
    /// Where the caller is counted.
    Word readers(Rank target) const {
        return word(target, fabric_.same_node(target) ? kReadersL : kReadersR);
    }
    static bool is_free(const Seen& seen) { return (seen[kTailR] | seen[kTailL]) == 0; }

    // ---- readers --------------------------------------------------------------------------------
    /// What a reader sees.
    struct View {
        bool free = false; ///< no writer has the lock, or waits for it
        Value phase = 0;

        Value known() const { return free ? 2 : phase; }
        bool over(Value its_phase) const { return free || phase != its_phase; }
    };

    static View view(const Seen& seen) { return {is_free(seen), seen[kPhase]}; }
    View look(Rank target) {
        Seen seen;
        queues_.template look<kTailR, kTailL, kPhase>(target, seen);
        return view(seen);
    }
    View count_and_look(Rank target, Value change) {
        const auto mark = fabric_.mark();
        Seen seen;
        queues_.template look_behind<kTailR, kTailL, kPhase>(
            Rmw::fetch_add(readers(target), change), seen);
        const View now = view(seen);
        fabric_.rewind(mark, now.known());
        return now;
    }
    void count(Rank target, Value change) {
        fabric_.same_node(target) ? fabric_.near_add(readers(target), change)
                                  : fabric_.add(readers(target), change);
    }

    /// Returns when the caller is inside.
    [[gnu::noinline]] void wait_as_reader(Rank target, Value phase) {
        const Value waits = waits1(phase);
        if (count_and_look(target, waits).over(phase)) // P1
            return count(target, Value{0} - waits);
        count(target, Value{0} - kInside1);
        const auto over = [&] { return look(target).over(phase); };
        if (fabric_.same_node(target)) {
            poll(over);
            fabric_.near_fetch_add(readers(target), kInside1 - waits);
        } else {
            const Word own = qnodes_.take(fabric_);
            waiting_.wait(word(target, kJoin), own, over, [](Value) { return true; });
            qnodes_.give(own);
            fabric_.fetch_add(readers(target), kInside1 - waits);
        }
    }

    template <class Over>
    void poll(Over over) {
        const auto mark = fabric_.mark();
        for (unsigned attempt = 0; !over(); ++attempt) {
            fabric_.backoff(attempt);
            fabric_.rewind(mark);
        }
    }

    // ---- the owner ------------------------------------------------------------------------------
    /// What an owner sees.
    struct Ahead {
        Value phase;
        Slot side; ///< READERS that count some that it has to wait for; 0: neither do

        Value known() const { return side == 0 ? 0 : side << 1 | phase; }
    };

    [[gnu::noinline]] void take_from_readers(Rank target) {
        const auto mark = fabric_.mark();
        Ahead now = let_in(target);
        fabric_.rewind(mark, now.known());
        Rounds<F> rounds(patience_);
        while (now.side != 0) {
            const auto gone = [&](Value readers) { return ahead(readers, now.phase) == 0; };
            now = fabric_.await_until(word(target, now.side), gone, fabric_.after(rounds.next()))
                      ? of(look_at_readers(target), now.phase)
                      : let_in(target);
            fabric_.rewind(mark, now.known());
        }
        fabric_.mode_changed();
    }

    Seen look_at_readers(Rank target) {
        Seen seen;
        queues_.template look<kPhase, kReadersR, kReadersL>(target, seen);
        return seen;
    }

    static Ahead of(const Seen& seen, Value phase) {
        return {phase, ahead(seen[kReadersR], phase) != 0   ? kReadersR
                       : ahead(seen[kReadersL], phase) != 0 ? kReadersL
                                                            : 0};
    }

    /// Ends the phase, if any reader waits for that.
    Ahead let_in(Rank target) {
        Seen seen = look_at_readers(target);
        const Value phase = seen[kPhase], next = other(phase);
        if (waiting(seen[kReadersR], phase) == 0 && waiting(seen[kReadersL], phase) == 0)
            return of(seen, phase);
        for (const Slot side : {kReadersR, kReadersL}) // P2
            if (waiting(seen[side], next) != 0)
                fabric_.await(word(target, side), [=](Value v) { return waiting(v, next) == 0; });
        fabric_.put(word(target, kPhase), next);
        fabric_.flush(target);
        seen = look_at_readers(target);
        if (waiting(seen[kReadersR], phase) != 0)
            waiting_.wake_all(word(target, kJoin), PushListWords::kLook);
        return of(seen, next);
    }

    F& fabric_;
    Queues queues_;
    PushList<F> waiting_;
    QueueNodes& qnodes_;
    Duration patience_;
};

} // namespace rmalock::locks
