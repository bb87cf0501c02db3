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
//    beside TAIL of level N, the stand-in of a holder that has no qnode to spare
//    of the process    its own qnode, in the queue of level N
//
// STATUS is one of
//
//    PASS(chain, total)  the lock: how many of this queue have had it in a row, and how many
//                        critical sections there have been since MODE_CHANGE
//    ACQUIRE_PARENT      the queue is yours, the lock is to be fetched a level up
//    MODE_CHANGE         level 1 only: the lock is yours to take from the readers
//
//    acquire<i>   if join(TAIL[i, e(p,i)], qnode<i>):                           L4: 5-8   L7: 5-9
//                     await STATUS;  if it is not ACQUIRE_PARENT: return it     L4: 9-18  L7: 10-14
//                 i > 1 ? acquire<i-1> : return "nobody was there"              L4: 23    L7: 19
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
//
// Memory at each rank, in lines: 1 for the root, the sum over levels i = 2 … N of
// ceil(P / members of an element), and the qnodes. TAIL shares a line with the element's qnode:
// both are touched when the lock comes to the element or leaves it.
#pragma once

#include <algorithm>
#include <array>

#include "locks/lock_env.hh"
#include "locks/parts/mcs_queue.hh"

namespace rmalock::locks {

/// T_W of a tree without readers: more than a word of it can count.
inline constexpr Value kNoEnd = (Value{1} << 24) - 1;

/// T_L,i of 2 … N: acquisitions in a row within an element of level i; T_W: critical sections in a
/// row before MODE_CHANGE. Both < 2^24. A T_L,i that is not asked for lets every process, or
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
    // goes a level up, with the element's qnode.
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

    /// Of PASS, two counts. Only the holder counts, and tells one process: none is lost.
    static constexpr unsigned kCountBits = 24;
    static constexpr Value kCountMask = (Value{1} << kCountBits) - 1;
    static_assert(kLargestThreshold <= kCountMask);
    static constexpr Value pass(Value chain, Value total) {
        return kPass | chain << kCountBits | total;
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
    /// Slots at each rank for the elements' records.
    static Slot element_slots(const topology::Tree& tree) {
        Slot records = 0;
        for (const topology::Level& level : tree.below_root)
            records += level.records();
        return records * kElementSlots;
    }

    /// The root's record is at the home, the elements' are the first of the lock's other records.
    explicit QueueTree(const LockEnv<F>& env)
        : fabric_(env.fabric), queue_(env.fabric), root_(env.home), qnodes_(env.qnodes),
          tree_(env.machine.tree), limits_(env.limits) {
        Slot elements = env.records;
        for (unsigned i = 2; i <= tree_.levels(); ++i) {
            elements_[i] = elements;
            elements += tree_.level(i).records() * kElementSlots;
        }
    }

    /// What a holder knows: its qnode, and how many critical sections there have been since
    /// MODE_CHANGE, its own included.
    struct TreeHold {
        Word qnode;
        Value total;
        bool from_readers; ///< nobody handed over the lock: it is to be taken from the readers
    };
    static Hold hold(TreeHold mine) { return {mine.total << kNameBits | name_of(mine.qnode)}; }
    static TreeHold unpacked(Hold hold) {
        return {qnode_of(hold.opaque & kNameMask), hold.opaque >> kNameBits, false};
    }

    TreeHold acquire(Rank target) {
        TreeHold mine = climb(target, qnodes_.take(fabric_));
        const Word queue = tail(tree_.levels(), target);
        mine.qnode = queue_.kept(qnodes_, queue, mine.qnode, field(queue, kStandIn));
        return mine;
    }

    /// `leave_root(bool alone)` is called by the process that gives up level 1, `alone` if no
    /// successor has shown itself. It returns whether a successor has to take the lock from the
    /// readers.
    template <class LeaveRoot>
    void release(Rank target, TreeHold mine, LeaveRoot&& leave_root) {
        release_level(tree_.levels(), target, mine, leave_root);
        if (qnodes_.own(mine.qnode))
            qnodes_.give(mine.qnode);
    }

    /// For diagnosis: whether somebody has the lock or waits for it.
    bool is_taken(Rank target) { return fabric_.get({target, root_}) != 0; }

  private:
    TreeHold climb(Rank target, Word own) {
        for (unsigned i = tree_.levels();; --i) {
            if (queue_.join(tail(i, target), qnode(i, target, own))) {
                const Value status = queue_.await_status(qnode(i, target, own));
                if (is_pass(status))
                    return {own, total(status), false};
                if (status == kModeChange)
                    return {own, 1, true};
            }
            if (i == 1)
                return {own, 1, true};
        }
    }

    /// The record of the caller's element at level i of 2 … N.
    Word record(unsigned i, Rank target) const {
        const topology::Level& level = tree_.level(i);
        const topology::RecordPlace at = level.place(level.element(fabric_.self()), target);
        return {at.rank, elements_[i] + at.record * kElementSlots};
    }
    Word tail(unsigned i, Rank target) const {
        return i == 1 ? Word{target, root_} : field(record(i, target), kElementTail);
    }
    /// The qnode in the queue of level i: the element's of the level below, the process's own at N.
    Word qnode(unsigned i, Rank target, Word own) const {
        return i == tree_.levels() ? own : field(record(i + 1, target), kElementQnode);
    }

    template <class LeaveRoot>
    void release_level(unsigned i, Rank target, const TreeHold& mine, LeaveRoot& leave_root) {
        const Word here = qnode(i, target, mine.qnode);
        Value succ = queue_.next(here);
        const Value in_a_row = chain(queue_.take_status(here));
        clean_stand_in(i, here);
        if (i > 1 && succ != 0 && in_a_row < limits_.t_l_of[i] && mine.total < limits_.t_w) {
            notify(succ, pass(in_a_row + 1, mine.total + 1));
        } else {
            Value message = kAcquireParent;
            if (i > 1)
                release_level(i - 1, target, mine, leave_root);
            else
                message = leave_root(succ == 0) ? kModeChange : pass(1, mine.total + 1);
            if (succ == 0) {
                succ = queue_.leave(tail(i, target), here);
                clean_stand_in(i, here);
            }
            if (succ != 0)
                notify(succ, message);
        }
        // An element's qnode is used next by the process that the level below admits; it has to be
        // clean by then.
        if (i < tree_.levels())
            fabric_.flush(here.rank);
    }

    /// A stand-in is used next by the process that this level admits.
    void clean_stand_in(unsigned i, Word here) {
        if (i == tree_.levels() && !qnodes_.own(here)) [[unlikely]]
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
    std::array<Slot, kMaxLevels + 1> elements_{};
    QueueNodes& qnodes_;
    const topology::Tree& tree_;
    LockLimits limits_;
};

} // namespace rmalock::locks
