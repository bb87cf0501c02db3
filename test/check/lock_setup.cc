// Synthetic machines; see lock_setup.hh.
#include "lock_setup.hh"

namespace rmalock::check {

LockSetup::LockSetup(const Machine& machine, Rank ranks)
    : nodes(topology::Level::blocks(ranks, machine.of_a_node())),
      counters(topology::Level::blocks(ranks, machine.t_dc)), limits(machine.limits),
      room(machine.scarce_qnodes ? locks::QueueNodes::Room{1, 1}
                                 : locks::QueueNodes::Room{machine.locks_at_once}),
      record_lines(machine.record_lines) {
    for (const Rank size : machine.element_sizes)
        tree.below_root.push_back(topology::Level::blocks(ranks, size));
}

} // namespace rmalock::check
