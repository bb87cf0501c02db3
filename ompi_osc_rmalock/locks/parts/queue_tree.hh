// DT: the distributed tree of queues that RMA-MCS is and RMA-RW's writers climb.
//
// P. Schmid, M. Besta, T. Hoefler: "High-Performance Distributed RMA Locks", HPDC 2016, sections
// 3.2.2 and 3.2.3, Listings 4 (acquire) and 5 (release), and the queue part of Listings 7 and 8.
//
// Words, for every target t (see mcs_queue.hh for their use):
//
//    at t              TAIL of level 1
//    at place(i, j, t) for i = 2 … N: TAIL of the queue of element j of level i, and the qnode
//                      (NEXT, STATUS) with which this element stands in the queue of level i - 1
//                      TAIL is [ KEY | name ]; KEY: the target that has the record, where several
//                      want it, while somebody is in the queue
//    beside TAIL         the stand-in of a holder that has no qnode to spare
//    of the process    its own qnode, in the queue of level N
//
// STATUS is one of
//
//    PASS(skipped, chain, total)
//                        the lock: the levels above that have been passed over, how many of this
//                        queue have had it in a row, and how many critical sections there have
//                        been since MODE_CHANGE
//    ACQUIRE_PARENT      the queue is yours, the lock is to be fetched a level up
//    MODE_CHANGE         level 1 only: the lock is yours to take from the readers
//
//    acquire<i>   if join(TAIL[i, e(p,i)], qnode<i>):                           L4: 5-8   L7: 5-9
//                     await STATUS;  if it is not ACQUIRE_PARENT: return it     L4: 9-18  L7: 10-14
//                 i > 1 ? acquire<i-1> : return "nobody was there"              L4: 23    L7: 19
//    shared       before the join: t = TAIL[i, e(p,i)] until t and t.KEY is another:
//                     add i to skipped, acquire<i-1> with the same qnode
//                     or CAS(TAIL[i, e(p,i)], t -> [KEY | qnode<i>]) == t;  if t: as behind join
//    release<i>   succ = NEXT;  chain = PASS's, or 1 if STATUS was no PASS      L5: 3-4   L8: 4
//                 if i > 1 and succ and chain < T_L,i and total < T_W:          L5: 5-9
//                     PUT(succ.STATUS, PASS(chain + 1, total + 1)); return
//                 i > 1 ? release<i-1> : next = what the lock says              L5: 12    L8: 5-13
//                 if !succ: succ = leave(TAIL[i, e(p,i)]);  if !succ: return    L5: 13-21 L8: 15-20
//                 PUT(succ.STATUS, i > 1 ? ACQUIRE_PARENT : next)               L5: 23    L8: 23
//
// Deviations from the paper
//   T1  Listings 4, 5, 7 and 8 queue the caller's own qnode at every level. Level i < N is
//       in general released by another process of the element, which then passes on, or waits for,
//       the wrong qnode: for N >= 2 that deadlocks. Here the qnode of level i < N belongs to the
//       element, as in HMCS (M. Chabbi, M. Fagan, J. Mellor-Crummey, PPoPP 2015).
//   T2  An element's qnode is cleaned by the process that takes it out of the queue, and flushed
//       before the next process of the element can use it; the paper prepares qnodes on entry.
//   T3  T_L,i counts the acquisitions of a stay, not the passings between them, so that the stays
//       of all levels multiply to T_W. Compared with `<`, not `==`.
//   T4  PASS carries the number of critical sections since MODE_CHANGE beside the queue's own
//       count: Listing 8 compares T_W with a count of level-1 passings.
//   T5  ACQUIRE_START is not written: a qnode whose STATUS is 0 starts a stay.
//   T6  One tree per target, its records dealt out over the members of an element.
//   T7  Where there is no room for that, the targets of an element share records: as many as it has
//       are in use at once, a target at a time each. A process that finds another target's passes
//       over this level, and queues a level up with the qnode that it has. The root has room always.
//
// Why a record serves one target at a time (T7): KEY is in the word that is swapped, so nobody
// queues for another target. It goes with the last name, by the CAS of leave. By then the element's
// qnode is out of its queue, clean and flushed (T2), and so is the stand-in: all is as it was.
//
// Why a holder knows its path: below the level at which it was told, it has decided by itself; above
// that PASS says it. ACQUIRE_PARENT has its receiver decide anew. A level that is passed over by one
// process may be used by the next one of the same element, which queues a level up beside it, as
// another element would. Nobody waits for a record: no lock that is held keeps others from a target.
//
// Memory at each rank, in lines: 1 for the root, the sum over levels i = 2 … N of
// ceil(P / members of an element), or as many as make 16 KiB with all else, and the qnodes. TAIL
// shares a line with the element's qnode: both are touched when the lock comes to the element or
// leaves it.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "locks/lock_env.hh"
#include "locks/parts/mcs_queue.hh"
#include "locks/parts/node_records.hh"

namespace rmalock::locks {

/// T_W of a tree without readers: more than a word of it can count.
inline constexpr Value kNoEnd = (Value{1} << 21) - 1;

/// T_L,i of 2 … N: acquisitions in a row within an element of level i; T_W: critical sections in a
/// row before MODE_CHANGE. Both < 2^21. A T_L,i that is not asked for lets every process, or
/// element, that queues at level i have the lock twice.
inline LockLimits tree_limits(const Thresholds& asked, const MachineView& machine) {
    LockLimits limits{.t_w = asked.chain(machine.ranks())};
    for (unsigned i = 2; i <= machine.tree.levels(); ++i)
        limits.t_l_of[i] = std::max<Value>(1, asked.of_level(i, 2 * machine.tree.contenders(i)));
    return limits;
}

/// Its words. Beside each: what it promises, and the race that it settles.
struct QueueTreeWords {
    // At home: TAIL of level 1. Of an element's record: its qnode in the queue of the level above,
    // and TAIL of its own queue. Behind TAIL the stand-in.
    // TAIL: the last of a queue; 0: none is in it. Each comes by one swap, so one finds 0: it alone
    // goes a level up, with the element's qnode. KEY beside it, where targets share the record: the
    // swap is a compare-and-swap there, so that nobody queues for another target (T7).
    static constexpr Slot kRootSlots = 3, kElementQnode = 0, kElementTail = 2, kStandIn = 1,
                          kElementSlots = fabric::kWordsPerLine;

    // STATUS, written once, by the predecessor, and never 0: a waiter that sees it has been told.
    static constexpr unsigned kKindShift = 62;
    /// PASS: the lock is the waiter's; nobody else has been told.
    static constexpr Value kPass = Value{1} << kKindShift;
    /// ACQUIRE_PARENT: the element's qnode above is out of its queue and clean, so the waiter may
    /// use it.
    static constexpr Value kAcquireParent = Value{2} << kKindShift;
    /// MODE_CHANGE: the counters are reset and flushed. Without the flush the reset could land
    /// behind the flags of the waiter, and clear them.
    static constexpr Value kModeChange = Value{3} << kKindShift;

    static constexpr Value key(Rank target) { return NodeRecords::key(target) << kNameBits; }
    static_assert(fabric::kMostRanks < Value{1} << (64 - kNameBits));

    /// Of PASS, two counts. Only the holder counts, and tells one process: none is lost.
    static constexpr unsigned kCountBits = 21;
    static constexpr Value kCountMask = (Value{1} << kCountBits) - 1;
    static_assert(kLargestThreshold <= kCountMask);
    static constexpr Value pass(Value skipped, Value chain, Value total) {
        return kPass | skipped << (2 * kCountBits) | chain << kCountBits | total;
    }
    /// The levels that the holder has passed over, a bit each from level 2 on (T7). Its successor
    /// gives back the levels above with the lock, so it has to know which of them are its.
    static constexpr Value skip(unsigned i) { return Value{1} << (i - 2); }
    static constexpr unsigned kSkipBits = kMaxLevels - 1;
    static_assert(2 * kCountBits + kSkipBits <= kKindShift);
    static_assert(kNameBits + kCountBits + kSkipBits <= 64);
    /// Of these the levels above i.
    static constexpr Value above(unsigned i, Value skipped) {
        return i > 1 ? skipped & (skip(i) - 1) : 0;
    }
    static constexpr Value skipped(Value status) {
        return status >> (2 * kCountBits) & ((Value{1} << kSkipBits) - 1);
    }
    static constexpr bool is_pass(Value status) {
        return status >> kKindShift == kPass >> kKindShift;
    }
    /// Critical sections since MODE_CHANGE: readers wait for T_W at most. It counts across all
    /// queues (T4).
    static constexpr Value total(Value status) { return status & kCountMask; }
    /// How many of this queue have had the lock in a row: those of other elements wait for T_L,i at
    /// most. A stay that begins without PASS begins with 1.
    static constexpr Value chain(Value status) {
        return is_pass(status) ? status >> kCountBits & kCountMask : 1;
    }
};

template <fabric::Fabric F>
class QueueTree : private QueueTreeWords {
  public:
    /// Lines at each rank for the elements' records, where each target has its own.
    static Slot wanted(const topology::Tree& tree) {
        Slot records = 0;
        for (const topology::Level& level : tree.below_root)
            records += level.records();
        return records;
    }
    /// Slots at each rank for them, with so many lines of room.
    static Slot element_slots(const topology::Tree& tree, Slot room) {
        Slot records = 0;
        for (const Slot each : records_in(tree, room))
            records += each;
        return records * kElementSlots;
    }

    /// The root's record is at the home, the elements' are the first of the lock's other records.
    QueueTree(const LockEnv<F>& env, Slot room)
        : fabric_(env.fabric), queue_(env.fabric), root_(env.home), qnodes_(env.qnodes),
          tree_(env.machine.tree), limits_(env.limits) {
        const Records each = records_in(tree_, room);
        Slot first = env.records;
        for (unsigned i = 2; i <= tree_.levels(); ++i) {
            elements_[i].emplace(tree_.level(i), first, each[i], kElementSlots);
            first += each[i] * kElementSlots;
        }
    }

    /// What a holder knows: its qnode, and how many critical sections there have been since
    /// MODE_CHANGE, its own included.
    struct TreeHold {
        Word qnode;
        Value total;
        Value skipped;     ///< levels that it has passed over
        bool from_readers; ///< nobody handed over the lock: it is to be taken from the readers
    };
    static Hold hold(TreeHold mine) {
        return {(mine.skipped << kCountBits | mine.total) << kNameBits | name_of(mine.qnode)};
    }
    static TreeHold unpacked(Hold hold) {
        const Value counts = hold.opaque >> kNameBits;
        return {qnode_of(hold.opaque & kNameMask), counts & kCountMask, counts >> kCountBits,
                false};
    }

    TreeHold acquire(Rank target) {
        TreeHold mine = climb(target, qnodes_.take(fabric_));
        const unsigned first = used(tree_.levels(), mine.skipped);
        const Word queue = tail(first, target);
        mine.qnode =
            queue_.kept(qnodes_, queue, mine.qnode, field(queue, kStandIn), key_at(first, target));
        return mine;
    }

    /// `leave_root(bool alone)` is called by the process that gives up level 1, `alone` if no
    /// successor has shown itself. It returns whether a successor has to take the lock from the
    /// readers.
    template <class LeaveRoot>
    void release(Rank target, TreeHold mine, LeaveRoot&& leave_root) {
        release_level(used(tree_.levels(), mine.skipped), target, mine, mine.qnode, leave_root);
        if (qnodes_.own(mine.qnode))
            qnodes_.give(mine.qnode);
    }

    /// For diagnosis: whether somebody has the lock or waits for it.
    bool is_taken(Rank target) { return fabric_.get({target, root_}) != 0; }

  private:
    using Records = std::array<Slot, kMaxLevels + 1>;

    /// Of each level at each rank: all that it wants, from the largest elements on, which want the
    /// fewest, as long as there is as much for each level that follows; one at least.
    static Records records_in(const topology::Tree& tree, Slot room) {
        Records each{};
        for (unsigned i = 2; i <= tree.levels(); ++i) {
            const Slot share = room / (tree.levels() - i + 1);
            each[i] = std::min(tree.level(i).records(), std::max<Slot>(1, share));
            room -= std::min(room, each[i]);
        }
        return each;
    }

    TreeHold climb(Rank target, Word own) {
        Value passed_over = 0;
        Word mine = own; // the qnode that stands, or is to stand, at level i
        for (unsigned i = tree_.levels();; --i) {
            const std::optional<bool> others = join(i, target, mine);
            if (!others) {
                passed_over |= skip(i);
                continue;
            }
            if (*others) {
                const Value status = queue_.await_status(mine);
                if (is_pass(status))
                    return {own, total(status), passed_over | skipped(status), false};
                if (status == kModeChange)
                    return {own, 1, passed_over, true};
            }
            if (i == 1)
                return {own, 1, passed_over, true};
            mine = element_qnode(i, target);
        }
    }

    /// Into the queue of level i. Returns whether there are others, or nothing: its record is
    /// another target's.
    std::optional<bool> join(unsigned i, Rank target, Word qnode) {
        if (!shared(i)) [[likely]]
            return queue_.join(tail(i, target), qnode);
        return join_shared(tail(i, target), key(target), qnode);
    }
    [[gnu::noinline]] std::optional<bool> join_shared(Word tail, Value key, Word qnode) {
        const auto mark = fabric_.mark();
        for (unsigned attempt = 0;; ++attempt) {
            const Value seen = fabric_.get(tail);
            if (seen != 0 && seen - (seen & kNameMask) != key)
                return std::nullopt;
            if (fabric_.compare_swap(tail, seen, key | name_of(qnode)) == seen)
                return queue_.follow(seen & kNameMask, qnode);
            fabric_.backoff(attempt);
            fabric_.rewind(mark);
        }
    }

    /// Whether several targets want the records of level i.
    bool shared(unsigned i) const { return i > 1 && elements_[i]->shared(); }
    /// KEY of level i.
    Value key_at(unsigned i, Rank target) const { return shared(i) ? key(target) : 0; }
    /// The first level from i on, towards the root, that is not passed over.
    static unsigned used(unsigned i, Value skipped) {
        while (i > 1 && (skipped & skip(i)) != 0)
            --i;
        return i;
    }

    /// The record of the caller's element at level i of 2 … N.
    Word record(unsigned i, Rank target) const {
        return elements_[i]->at(tree_.level(i).element(fabric_.self()), target);
    }
    Word tail(unsigned i, Rank target) const {
        return i == 1 ? Word{target, root_} : field(record(i, target), kElementTail);
    }
    /// The qnode of the caller's element of level i, for a queue above.
    Word element_qnode(unsigned i, Rank target) const {
        return field(record(i, target), kElementQnode);
    }

    /// `here`: the qnode that stands at level i.
    template <class LeaveRoot>
    void release_level(unsigned i, Rank target, const TreeHold& mine, Word here,
                       LeaveRoot& leave_root) {
        Value succ = queue_.next(here);
        const Value in_a_row = chain(queue_.take_status(here));
        const bool first = here == mine.qnode;
        clean_stand_in(first, here);
        if (i > 1 && succ != 0 && in_a_row < limits_.t_l_of[i] && mine.total < limits_.t_w) {
            notify(succ, pass(above(i, mine.skipped), in_a_row + 1, mine.total + 1));
        } else {
            Value message = kAcquireParent;
            if (i > 1)
                release_level(used(i - 1, mine.skipped), target, mine, element_qnode(i, target),
                              leave_root);
            else
                message = leave_root(succ == 0) ? kModeChange : pass(0, 1, mine.total + 1);
            if (succ == 0) {
                succ = queue_.leave(tail(i, target), here, key_at(i, target));
                clean_stand_in(first, here);
            }
            if (succ != 0)
                notify(succ, message);
        }
        // An element's qnode is used next by the process that the level below admits; it has to be
        // clean by then.
        if (!first)
            fabric_.flush(here.rank);
    }

    /// A stand-in is used next by the process that this level admits.
    void clean_stand_in(bool first, Word here) {
        if (first && !qnodes_.own(here)) [[unlikely]]
            fabric_.flush(here.rank);
    }

    void notify(Value succ, Value message) {
        queue_.notify(succ, message);
        if (message != kAcquireParent)
            fabric_.handed_over(qnode_of(succ).rank);
    }

    F& fabric_;
    McsQueue<F> queue_;
    Slot root_;
    std::array<std::optional<NodeRecords>, kMaxLevels + 1> elements_; ///< of levels 2 … N
    QueueNodes& qnodes_;
    const topology::Tree& tree_;
    LockLimits limits_;
};

} // namespace rmalock::locks
