// Reader counters of nodes that are members of a target's lock while it pays, and leave when idle.
//
// Our own: the counters are those of RMA-RW (P. Schmid, M. Besta, T. Hoefler: "High-Performance
// Distributed RMA Locks", HPDC 2016, the distributed counter), which there all count always, so
// that a writer has to visit all of them. Here a target starts without any. See pf_cohort.hh for
// the lock around them, which says what process owns a target, exclusively or as one of its
// readers.
//
// Words (atomic use, where nothing is said), for a target t:
//
//    at place(n, t), a process of node n, on two lines
//       A   [ GEN:1 | W:1 | MB:1 | IDLE:8 | arrivals:53 ]
//           W: closed by writers; MB: the node is a member; GEN: the lowest bit of the lock's phase
//       KEY the target whose member the node is, or is being made; 0: none's
//       CAME [ phase:8 | readers:56 ]  of a node that is no member: that have gone home       cohort
//       D   [ inside:24 | drainer:40 ]         departures count down; see below
//    at t
//       MAP one bit for each node: it is a member. An owner that knows all nodes to be (MB of S in
//           pf_cohort.hh) does not read it
//    GONE of a waiting writer's qnode (qnodes.hh): so many counters have drained
//
//    arrive   v = GET(A);  !v.MB: take the lock at home, and count in CAME. A reader that finds another
//                          phase there starts a new count.
//             v = FADD(A, 1)                                 // the one atomic of a member's reader
//             v.MB:  if v.W: await A.GEN != v.GEN, or give up
//                    in
//             !v.MB: as above
//    give up  until CAS(A, a -> a - 1) == a:  if a.GEN != v.GEN: in
//    depart   o = FADD(D, -1 reader)
//             if o.inside == 1 and o.drainer: FADD(D, -drainer); ADD(drainer.GONE, 1)
//    join     by a reader that is inside by way of home:
//             if CAS(KEY, 0 -> t) == 0: SWAP(A, [GEN = S.PH | MB | 0]);  FADD(MAP, bit)
//    close    by the owner, for each member: a = SWAP(A, [GEN = S.PH | W | MB | 0])
//                 if a.arrivals: o = FADD(D, +a.arrivals)
//                     if o.inside + a.arrivals: o = FADD(D, me)
//                         if o.inside: one GONE more is to come, else: FADD(D, -me)
//                 else if a.IDLE + 1 < limit: FADD(A, IDLE = a.IDLE + 1)
//                 else if CAS(A, [GEN | W | MB | 0] -> 0) succeeds:                          // left
//                      FADD(MAP, -bit);  FADD(KEY, -t)
//    shared   before arrive: another target's KEY: do without;  behind it, if v.MB: the same KEY
//             again: give up if v.W, else depart
//    open     by the owner, for each member: ADD(A, W);  flush
//
// Adding W a second time clears it and flips GEN, whose carry is lost.
//
// Why nobody is forgotten: what an arrival at a member met is decided by the one FADD. Either the
// owner's swap finds it, and waits for its departure; or it finds W, is let in by the open that
// follows, and the next swap finds it, unless it is taken back before that open, by a CAS that
// finds the counter still closed: no swap has found it then, and none will. (A count that is taken
// back by addition may be found by a swap first.) The get before the arrival is a hint: a reader that
// is told too late of a member goes home, where it may go at any time. An arrival that met no member
// is matched by no departure; joining and leaving drop it from the count. `inside` counts modulo 2^24:
// departures of a phase without writers may be many, but not that many readers are inside.
//
// Why GEN is enough: a reader that waits for it to flip has arrived behind a swap. The next swap
// comes after the open that flips it, and the open after that one after this reader has departed. A
// node leaves only by a CAS that finds no reader waiting.
//
// Why a reader that joins finds no member: KEY is free only when no reader makes the node one, and the map's bit
// is gone. So its swap takes nothing but arrivals that met no member.
//
// Why a counter serves one target at a time: KEY is another's only between a join and the end of the
// leave that follows. A reader reads it before it arrives, and again if it has met a member. From
// that arrival on the node cannot leave, so what the reader reads then is the member's. One that has
// arrived at another target's member is a reader of that target, for a moment, and leaves it as
// such: its arrival is never merely taken back. KEY is free only when the map's bit is gone, so the
// next target's member is in no other target's map.
//
// Why readers may let a node join: while one of them is inside by way of home, no writer owns the
// target, and a writer reads MAP only after all of them have left. That holds for readers that were
// admitted by the home record, not for those that have joined a drain (pf_cohort.hh).
//
// Why it has to be flushed: a swap of the next owner that comes before the open sees W, and the
// open then clears the W that it has set.
//
// Cost off node: reader none. Owner, for each member: close 2 atomics, 3 if readers are inside, those of
// up to 64 members in one round trip each time; open 1 posted; and 1 get of MAP each per 64 nodes, unless all are
// members. Memory at each rank: MAP, a line for each 512 nodes, and 2 lines for each record.
#pragma once

#include <bit>

#include "locks/lock_env.hh"
#include "locks/parts/batch.hh"
#include "locks/parts/drain.hh"
#include "locks/parts/node_records.hh"
#include "topology/tree.hh"

namespace rmalock::locks {

/// Its words. Beside each field: what it promises, and the race that it settles.
struct MemberWords {
    // Of a counter: A and KEY on its first line, D (DrainWord) on its second.
    // KEY: the target whose member the node is, or is being made. A CAS from 0 sets it, so of
    // several readers one makes the node a member. It is 0 again only when the bit of MAP is gone.
    static constexpr Slot kArrivals = 0, kKey = 1, kCame = 2, kDepartures = fabric::kWordsPerLine,
                          kCounterSlots = 2 * fabric::kWordsPerLine;
    /// GONE of a qnode; 0-3 are in mcs_queue.hh, drain.hh, push_list.hh. Each counter that the
    /// drainer has left its name in adds 1, by the last reader to depart. It is an atomic, and the
    /// drainer takes back what it has waited for: so none of them is lost.
    static constexpr Slot kGone = 4;
    static constexpr Value kGone1 = 1;

    // A. One atomic counts a reader and shows the bits, so either the reader sees W, or the owner
    // that sets it takes the reader's count.
    /// W: an exclusive has closed it. It came with the swap that took the count, so no reader that
    /// the exclusive does not know of is inside (P4 of pf_cohort.hh). It goes by an addition, which
    /// spares the readers that wait.
    static constexpr Value kWrite = Value{1} << 62;
    /// MB: readers may enter by it. A reader that is inside by way of home sets it, while no
    /// exclusive owns the target. An owner takes it back by a CAS that finds no arrival: no reader
    /// is inside by a counter that the next owner passes over.
    static constexpr Value kMember = Value{1} << 61;
    /// GEN: the phase that the count is of, its lowest bit. The open flips it, by the carry out of W:
    /// a reader that saw W is in when it differs, even if the next owner has set W again.
    static constexpr unsigned kGenerationShift = 63;
    static constexpr Value of_generation(Value phase) { return phase << kGenerationShift; }
    static constexpr Value generation(Value a) { return a >> kGenerationShift; }
    /// IDLE: closings in a row without an arrival. A hint: a node that leaves too soon joins again.
    static constexpr unsigned kIdleShift = 53, kIdleBits = 8;
    static constexpr Value kIdle1 = Value{1} << kIdleShift;
    static constexpr Value idle(Value a) { return a >> kIdleShift & ((Value{1} << kIdleBits) - 1); }
    /// A reader that has come since the last swap. At a member the owner's next swap finds it,
    /// unless it has been taken back, and D is owed one departure.
    static constexpr Value kArrival = 1;
    static constexpr Value arrivals(Value a) { return a & (kIdle1 - 1); }

    static constexpr bool is_member(Value a) { return (a & kMember) != 0; }
    static constexpr bool is_closed(Value a) { return (a & kWrite) != 0; }

    /// CAME: the phase, and how many of the node have met it at home. A hint: a node that joins too soon
    /// leaves again. One that has left does not count on.
    static constexpr unsigned kCamePhaseShift = 56;
    static constexpr Value came_in(Value phase, Value readers) {
        return phase << kCamePhaseShift | readers;
    }
    static constexpr Value came(Value v) { return v & ((Value{1} << kCamePhaseShift) - 1); }
    static constexpr Value phase_of_came(Value v) { return v >> kCamePhaseShift; }

    /// A word of MAP: the owner is to close the counter of this node. It is set behind MB by a
    /// reader inside by way of home, which the owner waits for before it reads the map.
    static constexpr std::size_t kNodesOfWord = 64;
    static constexpr Value bit(std::size_t node) { return Value{1} << node % kNodesOfWord; }
};
static_assert(MemberWords::kIdleShift + MemberWords::kIdleBits == 61);
static_assert(MemberLimits{}.idle < Value{1} << MemberWords::kIdleBits);
static_assert(MemberWords::kNodesOfWord <= Batch::kMost);

template <fabric::Fabric F>
class Members : private MemberWords {
    using Rmw = fabric::Rmw;

  public:
    /// Whole lines.
    static Slot map_slots(const topology::Level& nodes) {
        constexpr std::size_t kNodes = kNodesOfWord * fabric::kWordsPerLine;
        return fabric::line(static_cast<Slot>((nodes.elements() + kNodes - 1) / kNodes));
    }

    /// The map is slots `map`... of every rank; a node's counter is where the lock says. `shared`:
    /// other targets may have it.
    Members(F& fabric, Slot map, const topology::Level& nodes, MemberLimits limits, bool shared)
        : fabric_(fabric), map_(map), nodes_(nodes), limits_(limits), shared_(shared),
          k_in_(fabric.domain() == fabric::Domain::nic && limits.k_in_nic != 0 ? limits.k_in_nic
                                                                               : limits.k_in) {}

    /// Whether a node may join that keeps its readers of `target` at `a`.
    bool possible(Word a, Rank target) {
        if (k_in_ == 0)
            return false;
        const Value key = shared_ ? fabric_.get(field(a, kKey)) : 0;
        return key == 0 || key == NodeRecords::key(target);
    }

    /// Counts the caller in at a member. Returns what A was.
    Value arrive(Word a) {
        const Value seen = fabric_.get(a);
        return is_member(seen) ? fabric_.fetch_add(a, kArrival) : seen;
    }

    /// For a reader that has `arrived` at a member: whether it is another target's. Then the reader
    /// has not arrived.
    bool foreign(Word a, Rank target, Value arrived) {
        if (!shared_ || fabric_.get(field(a, kKey)) == NodeRecords::key(target))
            return false;
        if (!is_closed(arrived) || !take_back(a, opened_since(arrived)))
            depart(a);
        return true;
    }

    /// For a reader that has `arrived` at a member: waits while it is closed, for `patience` at
    /// most (0: for ever). Returns whether the reader is in, else it has not arrived.
    bool enter(Word a, Value arrived, Duration patience) {
        const auto is_open = opened_since(arrived);
        return !is_closed(arrived) ||
               fabric_.await_until(a, is_open, fabric_.after(patience)).has_value() ||
               !take_back(a, is_open);
    }

    void depart(Word a) {
        const Word d = departures(a);
        const Value o = fabric_.fetch_add(d, Value{0} - DrainWord::kReader);
        if (DrainWord::drainer(o) == 0 || DrainWord::inside(o) != 1)
            return;
        fabric_.fetch_add(d, Value{0} - DrainWord::drainer(o)); // before the drainer goes on
        fabric_.add(field(qnode_of(DrainWord::drainer(o)), kGone), kGone1);
    }

    /// For a reader that found no member at `a`, and met `phase` at home. `together`: with it, those that
    /// followed it (reader_group.hh). Returns whether it pays to join.
    bool pays(Word a, Value phase, Value together) {
        if (together >= k_in_)
            return true;
        const Word came_at = field(a, kCame);
        const Value seen = fabric_.get(came_at);
        const Value all = (phase_of_came(seen) == phase ? came(seen) : 0) + together;
        // Another reader's in between makes it fail, and is as good.
        fabric_.near_compare_swap(came_at, seen, came_in(phase, all));
        return all >= k_in_;
    }

    /// Makes `node`, whose counter is `a`, a member. `phase_now` is asked only if it is not one.
    template <class PhaseNow>
    bool join(std::size_t node, Rank target, Word a, PhaseNow&& phase_now) {
        // Another reader may be faster, or will be.
        if (fabric_.compare_swap(field(a, kKey), 0, NodeRecords::key(target)) != 0)
            return false;
        fabric_.swap(a, of_generation(phase_now()) | kMember);
        fabric_.fetch_add(map(target, node), bit(node));
        return true;
    }

    struct Closed {
        Value left = 0;    ///< nodes that have ceased to be members
        Value remain = 0;  ///< nodes that have not
        Value to_come = 0; ///< of these, how many will add to GONE of `me`
    };

    /// For the owner: no reader enters any member any more. `counter(node)` is A of a node. `all`:
    /// each node is a member, so that the map need not be asked.
    template <class Counter>
    Closed close(Rank target, bool all, Value phase, Word me, Counter&& counter) {
        Closed closed;
        for_each_map(target, all, [&](std::size_t first, Value members) {
            close_some(target, phase, me, {first, members}, counter, closed);
        });
        return closed;
    }

    /// `await(word, pred)` waits.
    template <class Await>
    void await_drained(Word me, Value to_come, Await&& await) {
        await(field(me, kGone), fabric::equals(to_come));
        fabric_.fetch_add(field(me, kGone), Value{0} - to_come);
    }

    /// For the owner. `all`: as for close; no node has left since.
    template <class Counter>
    void open(Rank target, bool all, Counter&& counter) {
        for_each(target, all, [&](std::size_t node) { fabric_.add(counter(node), kWrite); });
        fabric_.flush_all();
    }

    /// For diagnosis: whether readers are inside a member.
    template <class Counter>
    bool is_taken(Rank target, Counter&& counter) {
        bool taken = false;
        for_each(target, false, [&](std::size_t node) {
            const Word a = counter(node);
            const Value inside = arrivals(fabric_.get(a)) * DrainWord::kReader;
            taken = taken || DrainWord::inside(inside + fabric_.get(departures(a))) != 0;
        });
        return taken;
    }

  private:
    static auto opened_since(Value arrived) {
        return [arrived](Value v) { return generation(v) != generation(arrived); };
    }

    Word map(Rank target, std::size_t node) const {
        return {target, map_ + static_cast<Slot>(node / kNodesOfWord)};
    }
    static Word departures(Word a) { return field(a, kDepartures); }

    /// Takes an arrival back, unless the counter is open now.
    template <class IsOpen>
    bool take_back(Word a, IsOpen is_open) {
        const auto mark = fabric_.mark();
        for (unsigned attempt = 0;; ++attempt) {
            const Value seen = fabric_.get(a);
            if (is_open(seen) || fabric_.compare_swap(a, seen, seen - kArrival) == seen)
                return !is_open(seen);
            fabric_.backoff(attempt);
            fabric_.rewind(mark);
        }
    }

    /// Nodes by a word of the map.
    struct Some {
        std::size_t first;
        Value nodes;
    };
    template <class Visit>
    void for_each_map(Rank target, bool all, Visit&& visit) {
        for (std::size_t first = 0; first < nodes_.elements(); first += kNodesOfWord)
            if (const Value members = all ? full_map(first) : fabric_.get(map(target, first));
                members != 0)
                visit(first, members);
    }
    /// What the map says from node `first` on when each node is a member.
    Value full_map(std::size_t first) const {
        const std::size_t nodes = nodes_.elements() - first;
        return nodes < kNodesOfWord ? bit(nodes) - 1 : ~Value{0};
    }
    template <class Visit>
    static void for_each(const Some& some, Visit&& visit) {
        for (Value left = some.nodes; left != 0; left &= left - 1)
            visit(some.first + static_cast<std::size_t>(std::countr_zero(left)));
    }
    template <class Visit>
    void for_each(Rank target, bool all, Visit&& visit) {
        for_each_map(target, all, [&](std::size_t first, Value members) {
            for_each(Some{first, members}, visit);
        });
    }

    template <class Counter>
    void close_some(Rank target, Value phase, Word me, const Some& some, Counter&& counter,
                    Closed& closed) {
        const Value shut = of_generation(phase) | kWrite | kMember;
        Batch swaps, updates;
        for_each(some, [&](std::size_t node) { swaps.add(Rmw::swap(counter(node), shut)); });
        const Value* const before = swaps.done(fabric_);
        // Of a node without arrivals: that it was idle, or that it is no member any more. Not that if a
        // reader has come by now: it waits for this counter to open.
        const Value* seen = before;
        for_each(some, [&](std::size_t node) {
            const Word a = counter(node);
            const Value arrived = arrivals(*seen), next_idle = idle(*seen) + 1;
            updates.add(arrived != 0 ? Rmw::fetch_add(departures(a), arrived * DrainWord::kReader)
                        : next_idle < limits_.idle ? Rmw::fetch_add(a, next_idle * kIdle1)
                                                   : Rmw::compare_swap(a, shut, 0));
            ++seen;
        });
        const Value* const found = updates.done(fabric_);
        Value left = 0, inhabited = 0;
        std::size_t i = 0;
        for_each(some, [&](std::size_t node) {
            const Value arrived = arrivals(before[i]), was = found[i];
            const bool leaves = arrived == 0 && idle(before[i]) + 1 >= limits_.idle && was == shut;
            ++i;
            if (leaves)
                left |= bit(node);
            // The count may be 0 even so: it counts modulo 2^24.
            else if (arrived != 0 && DrainWord::inside(was + arrived * DrainWord::kReader) != 0)
                inhabited |= bit(node);
        });
        leave(target, {some.first, left}, counter);
        closed.left += static_cast<Value>(std::popcount(left));
        closed.remain += static_cast<Value>(std::popcount(some.nodes & ~left));
        closed.to_come += await_the_last({some.first, inhabited}, name_of(me), counter);
    }

    /// Nodes that have ceased to be members.
    template <class Counter>
    void leave(Rank target, const Some& some, Counter&& counter) {
        if (some.nodes == 0)
            return;
        fabric_.fetch_add(map(target, some.first), Value{0} - some.nodes);
        Batch keys;
        for_each(some, [&](std::size_t node) {
            keys.add(
                Rmw::fetch_add(field(counter(node), kKey), Value{0} - NodeRecords::key(target)));
        });
        keys.done(fabric_);
    }

    /// Of closed counters with readers inside. Returns the last of how many will say so to `me`.
    template <class Counter>
    Value await_the_last(const Some& some, Value me, Counter&& counter) {
        Batch names, taken_back;
        for_each(some, [&](std::size_t node) {
            names.add(Rmw::fetch_add(departures(counter(node)), me));
        });
        const Value* found = names.done(fabric_);
        Value to_come = 0;
        for_each(some, [&](std::size_t node) {
            if (DrainWord::inside(*found++) != 0)
                ++to_come;
            else
                taken_back.add(Rmw::fetch_add(departures(counter(node)), Value{0} - me));
        });
        taken_back.done(fabric_);
        return to_come;
    }

    F& fabric_;
    Slot map_;
    const topology::Level& nodes_;
    MemberLimits limits_;
    bool shared_;
    Value k_in_; ///< that of the domain
};

} // namespace rmalock::locks
