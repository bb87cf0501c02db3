// SRSL: a server at the target's home takes requests in the order in which they come. For
// comparison.
//
// S. Narravula et al.: "High Performance Distributed Lock Management Services using Network-based
// Remote Atomic Operations", CCGrid 2007, section 2.2.1, "Send/Receive-based Server Locking".
//
// Words: of target t at t, and STATUS in a qnode of each process that waits (mailbox):
//
//    IN       [ LEFT:20 | TICKETS:44 ]   holders that have gone; requests that were sent  (atomic)
//    PASSED   [ writer:1 | NEXT:44 ]     requests that were granted; the last was exclusive (cohort)
//    RING     requests, [ lap:23 | exclusive:1 | name of STATUS:40 ], by ticket           (mailbox)
//
//    acquire   t = FADD(IN, 1 TICKET);  where the ring has less room than there are processes:
//                  await NEXT > t - room
//              PUT(RING[t], [lap of t | exclusive | me])
//              on the home's node: flush;  serve
//              await STATUS != 0
//    release   elsewhere ADD(IN, 1 LEFT) (posted);  on the home's node FADD(IN, 1 LEFT);  serve
//    serve     p = GET(PASSED);  in = GET(IN);  r = GET(RING[p.NEXT])
//              as long as in.TICKETS != p.NEXT and r has that lap,
//                  and inside = p.NEXT - in.LEFT is 0, or r is shared and p.writer is not set,
//                  or PASSED is not p any more:
//                  if CAS(PASSED, p -> [r.exclusive | p.NEXT + 1]) == p: PUT(r.name.STATUS, 1)
//                  and again
//
// Any process of the home's node may be its server: the others are when they have sent something,
// and the home itself is when something may have come from other nodes: in MPI, and in its progress
// thread where it has one (WindowLock::serve).
//
// Deviations from the paper
//   D1  Messages are words that their sender writes: the bounded queue is RING, whose room is
//       counted by IN and NEXT, and an unlock is a count, which needs no room. So a holder gives
//       back a lock whatever waits.
//   D2  The server is no process of its own. A request on the home's node would else wait until a
//       process that computes calls MPI, or for a switch of processes.
//
// Why it excludes: a grant is a CAS of PASSED, of which the last granted requests are known by
// NEXT - LEFT. LEFT counts only what was granted, and it only grows: a server that read it before
// PASSED was changed by others has lost the CAS, and one that read it early sees too many inside.
// Why nobody is forgotten: a request is in RING before its sender serves, a release is in IN before,
// and of two that write and then read one at least sees the other. What comes from other nodes the
// home serves after that.
//
// Overtaking: none. A shared lock waits behind exclusives that wait (no patience).
//
// Cost off node: acquire 1 atomic and a posted put, then the grant: 2 round trips, of which one is
// the home's to begin; release 1 posted add. While the home computes, nothing that other nodes send
// is served, unless a progress thread does it, which adapters do not wake.
// Memory: 2 words per target, a ring of as many words as there are processes, 512 at most, fewer
// where that is more than makes 16 KiB at a rank (fabric/layout.hh), and the
// qnodes (qnodes.hh).
#pragma once

#include <algorithm>
#include <bit>

#include "locks/lock_env.hh"

namespace rmalock::locks {

/// Beside each field: what it promises, and the race that it settles.
struct SrslWords {
    static constexpr Slot kIn = 0, kPassed = 1, kHomeSlots = 2;
    /// STATUS of a qnode: the request is granted. One server wins the CAS of PASSED for it,
    /// and writes it once.
    static constexpr Slot kStatus = 0;
    static constexpr Value kGranted = 1;

    // IN. In one word, so that a server that waits has one to wait for.
    /// No two requests have the same, and so no two the same word of RING at a time. At a million
    /// of them in a second the field lasts for half a year.
    static constexpr unsigned kTicketBits = 44;
    static constexpr Value kTicket = 1, kTickets = Value{1} << kTicketBits;
    static constexpr Value tickets(Value in) { return in % kTickets; }
    /// Counts only holders, each once, and only grows: a server that read it early sees too many
    /// inside, never too few. On top: the carry is lost.
    static constexpr Value kLeft = kTickets;
    static constexpr Value left(Value in) { return in / kTickets; }
    static constexpr Value kInside = Value{1} << (64 - kTicketBits); ///< more than can be inside

    // PASSED. Each grant is a CAS of all of it, so of several servers one grants a request. A
    // server that read it before that, and LEFT with it, grants nothing.
    /// The last one granted was exclusive: while anybody is inside, it is that one.
    static constexpr Value kWriter = Value{1} << 63;
    /// NEXT: the ticket that is granted next, so requests are granted in order. It only grows: the
    /// word of RING of a ticket before it is free.
    static constexpr Value next(Value passed) { return passed % kTickets; }
    static constexpr bool writer(Value passed) { return (passed & kWriter) != 0; }
    static constexpr Value after(Value passed, bool exclusive) {
        return (next(passed) + 1) % kTickets + (exclusive ? kWriter : 0);
    }
    static constexpr Value inside(Value passed, Value in) {
        return (next(passed) - left(in)) % kInside;
    }

    // A word of RING. One put writes all of it, so a server that finds the lap has the rest.
    /// The request is for an exclusive lock; below it the name of its qnode.
    static constexpr Value kExclusive = Value{1} << kNameBits;
    static constexpr unsigned kLapShift = kNameBits + 1;
    /// The request of this ticket is there. It is another lap than that of the request that had the
    /// word before, and not that of a clean one: a server never grants an old request again.
    static constexpr Value lap(Value ticket, Slot room) { return (ticket / room + 1) << kLapShift; }
    static constexpr Value lap_of(Value request) { return request >> kLapShift << kLapShift; }
    /// Before the request is there.
    static constexpr bool is_before(Value request, Value ticket, Slot room) {
        return lap_of(request) == lap(ticket, room) - (Value{1} << kLapShift);
    }
};
static_assert(fabric::kMostRanks < 1 << 17 && SrslWords::kInside > Value{1} << 17);

/// `most`: words of a ring, a power of 2.
template <fabric::Fabric F, Slot most = 512>
class Srsl : private SrslWords {
  public:
    static constexpr LockTraits kTraits{.name = "srsl",
                                        .patient = false,
                                        .needs = {.queue_nodes = true},
                                        .offers = {.server = true}};

    static Footprint footprint(const MachineView& machine) {
        return {.home = kHomeSlots, .records = std::max(room(machine), fabric::kWordsPerLine)};
    }
    static LockLimits limits(const Thresholds&, const MachineView&) { return {}; }

    explicit Srsl(const LockEnv<F>& env)
        : fabric_(env.fabric), home_(env.home), ring_(env.records), room_(room(env.machine)),
          qnodes_(env.qnodes) {}

    Hold acquire_exclusive(Rank target) { return acquire(target, true); }
    Hold acquire_shared(Rank target) { return acquire(target, false); }
    void release_exclusive(Rank target, Hold) { release(target); }
    void release_shared(Rank target, Hold) { release(target); }

    /// Grants what can be, at a rank of the caller's node.
    void serve(Rank home) {
        Value first;
        (void)serve(home, first);
    }

    /// The same by a server that has nothing else to do, which it does when IN is not `seen` any
    /// more. Returns what IN is then.
    Value await_and_serve(Rank home, Value seen) {
        const Value now = fabric_.await(in(home), fabric::differs(seen));
        const auto mark = fabric_.mark();
        for (Value first; serve(home, first) == Left::under_way;) {
            fabric_.await(place(home, first), [first, room = room_](Value request) {
                return !is_before(request, first, room); // another server may be ahead
            });
            fabric_.rewind(mark, now);
        }
        return now;
    }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool exclusive) {
        const Value passed_now = fabric_.get(passed(target)), in_now = fabric_.get(in(target));
        return tickets(in_now) != next(passed_now) || !admits(passed_now, in_now, exclusive);
    }

  private:
    static Slot room(const MachineView& machine) {
        const Slot fits = std::bit_floor(fabric::line(machine.room()));
        return std::min({std::bit_ceil(static_cast<Slot>(machine.ranks())), most, fits});
    }
    Word in(Rank home) const { return {home, home_ + kIn}; }
    Word passed(Rank home) const { return {home, home_ + kPassed}; }
    Word place(Rank home, Value ticket) const {
        return {home, ring_ + static_cast<Slot>(ticket % room_)};
    }

    static bool admits(Value passed_now, Value in_now, bool exclusive) {
        return inside(passed_now, in_now) == 0 || !(exclusive || writer(passed_now));
    }

    Hold acquire(Rank target, bool exclusive) {
        const Word qnode = qnodes_.take(fabric_);
        const Value ticket = tickets(fabric_.fetch_add(in(target), kTicket));
        if (static_cast<Rank>(room_) < fabric_.size())
            fabric_.await(passed(target), [=, room = room_](Value v) {
                return (ticket - next(v)) % kTickets < room;
            });
        fabric_.put(place(target, ticket),
                    lap(ticket, room_) | (exclusive ? kExclusive : 0) | name_of(qnode));
        if (fabric_.same_node(target)) {
            fabric_.flush(target);
            serve(target);
        }
        fabric_.await(field(qnode, kStatus), fabric::differs(0));
        fabric_.put(field(qnode, kStatus), 0);
        qnodes_.give(qnode);
        return {};
    }

    void release(Rank target) {
        if (!fabric_.same_node(target))
            return fabric_.add(in(target), kLeft);
        fabric_.fetch_add(in(target), kLeft);
        serve(target);
    }

    /// Why a server is done for now.
    enum class Left {
        nobody,   ///< waits
        held,     ///< the first of those that wait, for those inside
        under_way ///< the first request is not in the ring yet
    };
    /// `first`: the ticket of that.
    Left serve(Rank home, Value& first) {
        for (;;) {
            const Value passed_now = fabric_.get(passed(home));
            const Value in_now = fabric_.get(in(home));
            first = next(passed_now);
            if (tickets(in_now) == first)
                return Left::nobody;
            const Value request = fabric_.get(place(home, first));
            if (is_before(request, first, room_))
                return Left::under_way;
            if (admits(passed_now, in_now, (request & kExclusive) != 0))
                grant(home, passed_now, request);
            else if (fabric_.get(passed(home)) == passed_now) // else others have gone on
                return Left::held;
        }
    }

    /// If no other server has.
    void grant(Rank home, Value passed_now, Value request) {
        const Value then = after(passed_now, (request & kExclusive) != 0);
        if (fabric_.near_compare_swap(passed(home), passed_now, then) != passed_now)
            return;
        const Word qnode = qnode_of(request & kNameMask);
        fabric_.put(field(qnode, kStatus), kGranted);
        fabric_.handed_over(qnode.rank);
    }

    F& fabric_;
    Slot home_, ring_, room_;
    QueueNodes& qnodes_;
};

} // namespace rmalock::locks
