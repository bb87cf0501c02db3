// RMA-MCS: a tree of queues that keeps the lock within an element of the machine for a while.
//
// P. Schmid, M. Besta, T. Hoefler: "High-Performance Distributed RMA Locks", HPDC 2016,
// section 3.5: DT on its own, without counters and readers; Listings 4 and 5 at every level.
//
// Words, pseudo-code and deviations T1 … T7: queue_tree.hh. In addition
//   D1  T_L,1 and T_W are not used: without readers there is nobody to let in at the root.
//   D2  There is no shared mode: shared acquires queue like exclusive ones.
//
// Overtaking: at the root elements have the lock in order; the first of an element's queue
// waits for one stay in each other element. Processes that pass over their node (T7) count as
// elements of their own. A stay at level i is at most the product of T_L,i to
// T_L,N critical sections. Within an element, first come, first served.
//
// Cost off node, N = 2: acquire uncontended 2 atomics, of which 1 = 1 round trip off node; release
// uncontended the same. Hand-over within a node: 1 store; to another node: 1 posted put. On trees
// deeper than nodes an element's qnode may lie on another of its nodes: its one process that waits
// there then polls that word with back-off.
// Memory: queue_tree.hh.
#pragma once

#include "locks/parts/queue_tree.hh"

namespace rmalock::locks {

template <fabric::Fabric F>
class RmaMcs {
  public:
    static constexpr LockTraits kTraits{
        .name = "rma_mcs", .shared = false, .needs = {.queue_nodes = true, .tree = true}};

    static Footprint footprint(const MachineView& machine) {
        return {.home = QueueTreeWords::kRootSlots,
                .records = QueueTree<F>::element_slots(machine.tree, machine.room())};
    }

    /// T_L,i (queue_tree.hh).
    static LockLimits limits(const Thresholds& asked, const MachineView& machine) {
        LockLimits all = tree_limits(asked, machine);
        all.t_w = kNoEnd; // D1
        return all;
    }

    explicit RmaMcs(const LockEnv<F>& env) : tree_(env, env.machine.room()) {}

    Hold acquire_exclusive(Rank target) { return tree_.hold(tree_.acquire(target)); }

    void release_exclusive(Rank target, Hold hold) {
        tree_.release(target, tree_.unpacked(hold), [](bool) { return true; });
    }

    Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, Hold hold) { release_exclusive(target, hold); }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool) { return tree_.is_taken(target); }

  private:
    QueueTree<F> tree_;
};

} // namespace rmalock::locks
