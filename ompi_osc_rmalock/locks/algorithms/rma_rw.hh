// RMA-RW: readers count themselves in at a counter near them; writers climb a tree of queues and
// then close all counters.
//
// P. Schmid, M. Besta, T. Hoefler: "High-Performance Distributed RMA Locks", HPDC 2016, section 3,
// Listings 4-10.
//
// Words, for every target t: the tree of queues (DT, queue_tree.hh), and for each physical counter
// of the distributed counter (DC), at place c(p) of every group of T_DC processes, on two lines, or
// side by side (counter_room.hh):
//
//    ARRIVE  [ GEN:1 | WRITE:1 | ROUND:1 | readers that arrived:61 ]              atomic
//    DEPART  [ PAR:1 | readers that departed, maybe < 0:63 ]                      atomic
//    BASE    [ GEN:1 | readers that had arrived when a count up to T_R began ]    atomic
//                                                       beside ARRIVE; used with T_R alone
//
//    reader acquire   v = FADD(ARRIVE, 1)                                         L9: 12
//                     if T_R and !v.WRITE and full(v):                            D10
//                         ADD(DEPART, 1)
//                         until ARRIVE.WRITE or ARRIVE.GEN != v.GEN, `hold` at most: await that
//                         v = FADD(ARRIVE, 1)
//                     if v.WRITE: until ARRIVE.GEN != v.GEN:                      L9: 5-8, 13-24
//                         await that, or another ARRIVE.ROUND
//                         if DEPART.PAR == v.GEN and join: in                     D9
//    full(v)          b = BASE
//                     if b.GEN == v.GEN and v.readers - b.readers < T_R: return false
//                     if b.GEN == v.GEN and TAIL of level 1: return true
//                     CAS(BASE, b -> [v.GEN | v.readers]);  return false
//    join             d = FADD(DEPART, -1)
//                     if d.PAR == v.GEN: FADD(ARRIVE, -1); return true
//                     ADD(DEPART, 1); return false
//    reader release   ADD(DEPART, 1)                               (posted)       L10
//    in groups        come (reader_group.hh);  a leader, or alone: as above;      D8
//                     a leader admits the others of its group;  the last of a group to leave departs
//    writer acquire   acquire<N … 1>                                              L4, L7
//                     if nobody handed over: set_counters_to_WRITE                L7: 14-22
//    set_counters_to_WRITE                                                        L6: 2-7
//                     side by side: v = FADD(ARRIVE, WRITE);  open = [v.GEN | v.readers]
//                     until side by side CAS(DEPART, open -> open ^ PAR) == open of all counters:
//                         side by side: FADD(DEPART, PAR) of those that were closed
//                         for each counter: await DEPART == open
//                             and at the end of each round (patience.hh):         D9
//                                 for each counter: ADD(ARRIVE, +ROUND, or -ROUND);  flush
//    writer release   release<N … 1>, and at level 1                              L5, L8
//                     if total >= T_W or no successor:                            L8: 5-13
//                         reset_counters;  next = MODE_CHANGE
//    reset_counters   for each counter: ADD(ARRIVE, WRITE);  flush                L6: 9-28
//
// Adding WRITE a second time clears it and flips GEN, whose carry is lost.
//
// Deviations from the paper, beside T1 … T7 of queue_tree.hh
//   D1  Listing 6 flags the counters and never looks for readers inside, though the text says so:
//       the writer waits for each counter to drain, after it has flagged all.
//   D2  Only writers reset counters. In Listing 9 the reader that reaches T_R reads TAIL and then
//       resets, which clears the flag of a writer that came in between, or waits for a reset that
//       nobody makes.
//   D3  Nothing is subtracted from the counters (but see D9): they count on, 61 bits wide. The
//       paper's reset takes DEPART from ARRIVE and then from DEPART; a writer that flags in between
//       sees a drained counter with a reader inside.
//   D4  WRITE is a bit, toggled by addition, instead of INT64_MAX / 2, which counts mix with.
//   D5  A reader that meets WRITE stays counted and waits for GEN to flip, instead of taking its
//       count back and trying again. The next writer drains it, so it cannot miss the window
//       between two writers, and it makes one atomic however long it waits.
//   D6  A writer lets reader_batch readers arrive at its own counter, after the lock came back to
//       the readers, before it closes the counters again. It waits no longer than `hold`, so that a
//       counter without readers holds nobody up. The paper has nothing of the kind.
//   D7  T_W counts critical sections (T4).
//   D8  Counters are dealt out per target over the group that shares them. Where a counter of each
//       node would not do with 16 KiB, several nodes share one (counter_room.hh). Readers of a node
//       that come together then arrive there as one (reader_group.hh).
//   D9  A reader must not wait without end for a writer that itself waits for readers: one of those
//       may be waiting for it (patience.hh). When the writer's round is over, the readers that wait
//       join those inside, as long as the writer has not closed their counter, which the writer
//       does in the step in which it finds that all have departed from there, and undoes if it then
//       finds readers at another counter. PAR is GEN while the counter is open.
//       It cannot come round to v.GEN while the reader stands there, because the next writer waits
//       for it. A reader that has joined takes its arrival back: the writer did not count it, and
//       it departs like the others.
//  D10  T_R, the cap on the readers of a counter, is none by default. In Listing 9 the reader that
//       reaches it resets the counter (D2). Here a reader departs again that finds T_R arrivals,
//       counted from the first reader behind a reset or from when no writer waited, and a writer in
//       the queue of level 1. It lets that writer close the counters before it arrives once more.
//
// Why D10 is sound: a reader that found no WRITE is inside. So it may depart, as after an empty
// section, and wait without being counted anywhere. BASE is a hint, on which nothing but that wait
// depends. GEN has one bit, so BASE may be from two resets before; then a reader looks for a writer
// too early. A writer leaves its queue two round trips or more behind its reset: the one that the
// reader sees may be about to leave, and then nobody closes for it (the reader of Listing 9 waits
// for ever). So it waits for `hold` at most, which patience need not bound, and gives way once in an
// acquire.
//
// Side by side: the atomics of up to 64 counters in one round trip, in no order.
//
// Why the counters may be closed so: each CAS decides for its own counter, whatever the order. It
// finds that all have departed there, and from then on no reader joins there. The writer goes in
// only when it has closed every counter and opened none again. So all are closed at once: no reader
// is inside, and none gets in.
//
// Why a counter that is opened again is as it was: the writer that has closed it adds PAR, which no
// other process does, and the carry is lost. A reader decides by its FADD. If that finds the counter
// closed, the reader takes its departure back and waits on; if open, it is inside, and the writer's
// next CAS fails until it has gone. What the reader read of PAR before that is a hint.
//
// Why D9 holds: an attempt that fails leaves all counters open, those of its batch and of the
// batches before. The writer begins its next round only after that. A reader that looks while its
// counter is closed in passing misses this round. It looks again in the next one, which comes as
// long as the writer waits.
//
// Overtaking: a reader waits for the writers until MODE_CHANGE, at most T_W; with T_R, before that,
// for the writers that come within one `hold`. A writer closes the counters once and waits for the
// readers that arrived before that, and for those of its rounds; writers queue as in RMA-MCS.
//
// Cost off node: reader 1 atomic to acquire, 1 posted atomic to release, neither off node if the
// counter is on the node. With T_R a get beside it; at the cap a get of TAIL, and an atomic or, if a
// writer waits, an atomic and a posted one. Writer uncontended: N atomics, then 2 per counter, in 2
// round trips for each 64 counters. Each time that it finds readers inside, 1 or 2 more per counter,
// in 2 round trips for each 64, and a wait that polls DEPART. To release N atomics and a posted one
// per counter, flushed in one round trip.
// Memory at each rank: queue_tree.hh, and 2 lines * ceil(P / T_DC), or 3 words * ceil(P / T_DC) where
// that is too much (counter_room.hh).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>

#include "locks/parts/batch.hh"
#include "locks/parts/counter_room.hh"
#include "locks/parts/patience.hh"
#include "locks/parts/queue_tree.hh"
#include "locks/parts/reader_group.hh"

namespace rmalock::locks {

/// Its words beside the tree's (QueueTreeWords). Beside each bit: what it promises, and the race
/// that it settles.
struct RmaRwWords {
    // Of a counter: ARRIVE and, where CounterRoom says, DEPART.
    static constexpr Slot kArrive = 0;
    /// BASE, beside ARRIVE: as ARRIVE was, without WRITE and ROUND, when a count up to T_R began. By
    /// a compare-and-swap: of several readers that find the count over one begins the next (D10).
    static constexpr Slot kBase = 1;

    // ARRIVE. A reader counts itself in and sees the bits in one atomic, so either it sees WRITE,
    // or the writer that set it counts the reader.
    /// A reader that has come; one that joins a drain takes itself out again (D9). It counts on: a
    /// writer compares, and resets nothing that others count in (D3).
    static constexpr Value kArrival = 1;
    /// WRITE: a reader that arrives now is not in. A writer adds it to close the counter and again
    /// to reset it, so two writers may not overlap: the tree keeps them apart.
    static constexpr Value kWrite = Value{1} << 62;
    /// ROUND: another round of the writer's wait has begun; readers that wait look at PAR again. One
    /// bit is enough: a reader that misses two changes looks a round later.
    static constexpr Value kRound = Value{1} << 61, kRounds = 2;
    /// GEN: flips with every reset, by the carry out of WRITE. A reader that saw WRITE is in when it
    /// differs, even if the next writer has set WRITE again (D5).
    static constexpr Value generation(Value arrive) { return arrive >> 63; }
    static constexpr Value round(Value arrive) { return arrive / kRound % kRounds; }
    static constexpr Value readers(Value arrive) { return arrive % kRound; }

    // DEPART.
    /// A reader that has gone. Each departs once, so DEPART comes to what a writer has counted only
    /// when all of those have gone. One that joins takes one away first, so it is waited for (D9).
    static constexpr Value kDeparture = 1;
    /// PAR: GEN while readers that wait may join. The writer flips it in the step in which it finds
    /// the count full, so none joins behind its back (D9).
    static constexpr Value kParity = Value{1} << 63;
    /// A negative count has borrowed from the parity: sign-extend first, then subtract.
    static constexpr Value departed(Value depart) {
        return static_cast<Value>(static_cast<std::int64_t>(depart << 1) >> 1);
    }
    static constexpr Value parity(Value depart) { return (depart - departed(depart)) >> 63; }
    /// DEPART of an open counter of which `arrive`, before it was closed to readers, all departed.
    static constexpr Value all_departed(Value arrive) {
        return generation(arrive) * kParity + readers(arrive);
    }
};

template <fabric::Fabric F>
class RmaRw : private RmaRwWords {
    using Rmw = fabric::Rmw;

  public:
    static constexpr LockTraits kTraits{.name = "rma_rw",
                                        .needs = {.queue_nodes = true, .tree = true}};

    /// The elements' records, then the counters'.
    static Footprint footprint(const MachineView& machine) {
        const CounterRoom room = counter_room(machine);
        return {.home = QueueTreeWords::kRootSlots,
                .records = element_slots(machine, room) + fabric::line(room.group_lines()) +
                           fabric::line(room.lines(machine.counters))};
    }

    /// T_L,i and T_W (queue_tree.hh), T_R, the batch of readers, the hold of both, and the patience
    /// of a draining writer.
    static LockLimits limits(const Thresholds& asked, const MachineView& machine) {
        LockLimits all = tree_limits(asked, machine);
        all.t_r = asked.t_r;
        all.reader_batch = asked.reader_batch;
        all.hold = kHoldForReaders;
        all.patience = asked.patience;
        return all;
    }

    explicit RmaRw(const LockEnv<F>& env)
        : fabric_(env.fabric), room_(counter_room(env.machine)),
          tree_(env, room_.left(env.machine)),
          first_counter_(env.records + element_slots(env.machine, room_) +
                         fabric::line(room_.group_lines())),
          counters_(env.machine.counters), limits_(env.limits) {
        if (room_.groups)
            groups_.emplace(env, first_counter_ - fabric::line(room_.group_lines()));
    }

    Hold acquire_shared(Rank target) {
        if (groups_) [[unlikely]]
            return acquire_in_group(target);
        arrive_at_counter(target);
        return {};
    }

    void release_shared(Rank target, Hold hold) {
        if (hold.opaque == kOfGroup && !groups_->leave(target)) [[unlikely]]
            return;
        fabric_.add(depart(my_counter(target)), kDeparture);
    }

    Hold acquire_exclusive(Rank target) {
        const auto mine = tree_.acquire(target);
        if (mine.from_readers)
            set_counters_to_write(target);
        return tree_.hold(mine);
    }

    void release_exclusive(Rank target, Hold hold) {
        const auto mine = tree_.unpacked(hold);
        tree_.release(target, mine, [&](bool alone) {
            const bool to_readers = alone || mine.total >= limits_.t_w;
            if (to_readers)
                reset_counters(target);
            return to_readers;
        });
    }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool exclusive) {
        if (!exclusive)
            return (fabric_.get(my_counter(target)) & kWrite) != 0;
        bool taken = tree_.is_taken(target);
        for (std::size_t g = 0; g < counters_.elements() && !taken; ++g) {
            const Word arrive = counter(g, target);
            taken = readers(fabric_.get(arrive)) != departed(fabric_.get(depart(arrive)));
        }
        return taken;
    }

  private:
    static CounterRoom counter_room(const MachineView& machine) {
        return CounterRoom::of(machine, QueueTree<F>::wanted(machine.tree));
    }
    static Slot element_slots(const MachineView& machine, const CounterRoom& room) {
        return QueueTree<F>::element_slots(machine.tree, room.left(machine));
    }

    /// ARRIVE of the counter of group `group`.
    Word counter(std::size_t group, Rank target) const {
        const topology::RecordPlace at = counters_.place(group, target);
        return {at.rank, first_counter_ + at.record * room_.each};
    }
    Word my_counter(Rank target) const {
        return counter(counters_.element(fabric_.self()), target);
    }
    Word depart(Word arrive) const { return field(arrive, room_.depart); }

    /// Readers that go to their counter in groups (D8), and where their node keeps what they are.
    class Groups {
        using Group = ReaderGroup<F, true>;

      public:
        using Role = typename Group::Role;
        using With = typename Group::With;

        Groups(const LockEnv<F>& env, Slot first)
            : group_(env.fabric), qnodes_(env.qnodes),
              node_(env.machine.nodes.element(env.fabric.self())),
              records_(env.machine.nodes, first,
                       std::min(CounterRoom::kGroups, env.machine.nodes.records()),
                       CounterRoom::kGroupSlots) {}

        Role come(Rank target) { return group_.come(words(target), qnodes_); }
        With admit(Rank target) {
            return group_.admit(words(target), [](Value) { return false; }).with;
        }
        /// Returns whether the caller was the last of those that are inside.
        bool leave(Rank target) { return group_.leave(words(target)).last; }

      private:
        typename Group::Words words(Rank target) const {
            const Word at = records_.at(node_, target);
            return {at, field(at, 1), NodeRecords::key(target)};
        }

        Group group_;
        QueueNodes& qnodes_;
        std::size_t node_;
        NodeRecords records_;
    };
    /// Of a shared hold: the departure is that of the last of a group.
    static constexpr Value kOfGroup = 1;

    [[gnu::noinline]] Hold acquire_in_group(Rank target) {
        const auto role = groups_->come(target);
        if (role == Groups::Role::follower)
            return {kOfGroup};
        arrive_at_counter(target);
        if (role == Groups::Role::alone)
            return {};
        const auto with = groups_->admit(target);
        // Inside behind the arrival of another group: one departure is enough.
        if (with == Groups::With::another)
            fabric_.add(depart(my_counter(target)), kDeparture);
        return with == Groups::With::nobody ? Hold{} : Hold{kOfGroup};
    }

    void arrive_at_counter(Rank target) {
        const Word arrive = my_counter(target);
        const Value before = fabric_.fetch_add(arrive, kArrival);
        if (limits_.t_r != 0) [[unlikely]]
            enter_below_cap(target, arrive, before);
        else if ((before & kWrite) != 0)
            wait_as_reader(arrive, before);
    }

    /// DEPART of every counter when all readers that a writer waits for have departed. On the stack
    /// where it fits: a model of a process that is set back could not give memory back twice.
    class Open {
      public:
        explicit Open(std::size_t counters) {
            if (counters > kFew)
                many_ = std::make_unique_for_overwrite<Value[]>(counters);
        }
        Value& operator[](std::size_t g) { return many_ ? many_[g] : few_[g]; }
        Value operator[](std::size_t g) const { return many_ ? many_[g] : few_[g]; }

      private:
        static constexpr std::size_t kFew = 256;
        std::unique_ptr<Value[]> many_;
        std::array<Value, kFew> few_; // not cleared: it is large
    };

    /// For a reader whose arrival found `before`, with T_R (D10).
    [[gnu::noinline]] void enter_below_cap(Rank target, Word arrive, Value before) {
        if ((before & kWrite) == 0 && is_full(target, arrive, before)) {
            fabric_.add(depart(arrive), kDeparture);
            fabric_.await_until(
                arrive,
                [mine = generation(before)](Value v) {
                    return (v & kWrite) != 0 || generation(v) != mine;
                },
                fabric_.after(limits_.hold));
            before = fabric_.fetch_add(arrive, kArrival);
        }
        if ((before & kWrite) != 0)
            wait_as_reader(arrive, before);
    }
    /// Whether T_R have arrived since the last reset, and a writer waits. If none does, the count
    /// begins again.
    bool is_full(Rank target, Word arrive, Value before) {
        const Word base = field(arrive, kBase);
        const Value began = fabric_.get(base);
        if (generation(began) == generation(before)) {
            // Signed: a reader that came later may have begun the count.
            const auto since = static_cast<std::int64_t>(readers(before) - readers(began));
            if (since < static_cast<std::int64_t>(limits_.t_r))
                return false;
            if (tree_.is_taken(target))
                return true;
        }
        fabric_.compare_swap(base, began, all_departed(before));
        return false;
    }

    /// For a reader whose arrival found `before`.
    void wait_as_reader(Word arrive, Value before) {
        const Value mine = generation(before);
        Value seen = before;
        const auto mark = fabric_.mark();
        for (;;) {
            seen = fabric_.await(arrive, [mine, last = round(seen)](Value v) {
                return generation(v) != mine || round(v) != last;
            });
            if (generation(seen) != mine ||
                (parity(fabric_.get(depart(arrive))) == mine && join(arrive, mine)))
                return;
            fabric_.rewind(mark, round(seen));
        }
    }

    bool join(Word arrive, Value mine) {
        if (parity(fabric_.fetch_add(depart(arrive), Value{0} - kDeparture)) == mine) {
            // Before it departs: no later writer may count it.
            fabric_.fetch_add(arrive, Value{0} - kArrival);
            return true;
        }
        fabric_.add(depart(arrive), kDeparture);
        return false;
    }

    void set_counters_to_write(Rank target) {
        let_readers_in(target);
        if (counters_.elements() == 1)
            set_only_counter_to_write(target);
        else
            set_all_to_write(target);
    }
    /// The same verbs for the only counter, without a batch: the uncontended path on a node.
    void set_only_counter_to_write(Rank target) {
        const Word arrive = counter(0, target);
        const Value before = fabric_.fetch_add(arrive, kWrite);
        fabric_.mode_changed();
        const Value open = all_departed(before);
        if (fabric_.compare_swap(depart(arrive), open, open ^ kParity) != open)
            await_only_counter(target, before);
    }
    [[gnu::noinline]] void await_only_counter(Rank target, Value before) {
        Open open(1);
        open[0] = all_departed(before);
        drain(target, open, round(before));
    }
    /// Not inline: its arrays are large.
    [[gnu::noinline]] void set_all_to_write(Rank target) {
        // Flag all before waiting for any: the counters drain side by side.
        Open open(counters_.elements());
        Value before = 0;
        fetch_in_batches(
            fabric_, 0, counters_.elements(),
            [&](std::size_t g) { return Rmw::fetch_add(counter(g, target), kWrite); },
            [&](std::size_t g, Value found) { open[g] = all_departed(before = found); });
        fabric_.mode_changed();
        if (!close_all(target, open))
            drain(target, open, round(before));
    }
    /// Until all have departed and the counters are closed, after a first attempt to close them.
    void drain(Rank target, const Open& open, Value round) {
        Drainage drainage{Rounds<F>(limits_.patience), round};
        do
            await_departures(target, open, drainage);
        while (!close_all(target, open));
    }

    /// What a writer that waits for readers knows of its rounds. ROUND is the same at all counters.
    struct Drainage {
        Rounds<F> rounds;
        Value round;
    };
    void await_departures(Rank target, const Open& open, Drainage& now) {
        const auto mark = fabric_.mark();
        fabric::Moment end = fabric_.after(now.rounds.next());
        for (std::size_t g = 0; g < counters_.elements();) {
            const Word here = depart(counter(g, target));
            if (fabric_.await_until(here, fabric::equals(open[g]), end)) {
                ++g;
                continue;
            }
            next_round(target, now.round);
            end = fabric_.after(now.rounds.next());
            fabric_.rewind(mark, now.round * counters_.elements() + g);
        }
    }

    void next_round(Rank target, Value& round) {
        const Value next = (round + 1) % kRounds;
        for (std::size_t g = 0; g < counters_.elements(); ++g)
            fabric_.add(counter(g, target), (next - round) * kRound);
        round = next;
        // In order: two that land swapped could carry into WRITE.
        fabric_.flush_all();
    }

    /// From the moment at which all have departed, nobody joins them any more. While readers are
    /// left at one counter, the others must stay open (D9): then none is left closed.
    bool close_all(Rank target, const Open& open) {
        for (std::size_t first = 0; first < counters_.elements(); first += Batch::kMost) {
            const std::size_t end = std::min(first + Batch::kMost, counters_.elements());
            const Value closed = close_some(target, open, first, end);
            if (static_cast<std::size_t>(std::popcount(closed)) == end - first)
                continue;
            open_again(target, first, closed);
            return false;
        }
        return true;
    }
    /// Of a batch of counters, that from `first` on. Returns which it has closed.
    Value close_some(Rank target, const Open& open, std::size_t first, std::size_t end) {
        Value closed = 0;
        fetch_in_batches(
            fabric_, first, end,
            [&](std::size_t g) {
                return Rmw::compare_swap(depart(counter(g, target)), open[g], open[g] ^ kParity);
            },
            [&](std::size_t g, Value found) { closed |= Value{found == open[g]} << (g - first); });
        return closed;
    }
    /// All before `first`, and `closed` from there on.
    void open_again(Rank target, std::size_t first, Value closed) {
        const auto opens = [&](std::size_t g) {
            return Rmw::fetch_add(depart(counter(g, target)), kParity);
        };
        fetch_in_batches(fabric_, 0, first, opens, [](std::size_t, Value) {});
        Batch last;
        for (; closed != 0; closed &= closed - 1)
            last.add(opens(first + static_cast<std::size_t>(std::countr_zero(closed))));
        last.done(fabric_);
    }

    /// See D6.
    void let_readers_in(Rank target) {
        if (limits_.reader_batch == 0 || limits_.hold.count() == 0)
            return;
        const Word arrive = my_counter(target);
        const Value enough = readers(fabric_.get(arrive)) + limits_.reader_batch;
        fabric_.await_until(
            arrive, [enough](Value v) { return readers(v) >= enough; },
            fabric_.after(limits_.hold));
    }

    void reset_counters(Rank target) {
        for (std::size_t g = 0; g < counters_.elements(); ++g)
            fabric_.add(counter(g, target), kWrite);
        // The next writer must not flag a counter before it is reset: its flag would be the one
        // that clears WRITE, and the reset would set it. Posted, as a fetch_each would wake no
        // reader that sleeps; of all homes, since flushes of single homes come one after another.
        fabric_.flush_all();
        fabric_.mode_changed();
    }

    F& fabric_;
    CounterRoom room_;
    QueueTree<F> tree_;
    Slot first_counter_;
    const topology::Level& counters_;
    LockLimits limits_;
    std::optional<Groups> groups_;
};

} // namespace rmalock::locks
