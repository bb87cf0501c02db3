// What the simulator's tests share: costs that are easy to add up, and processes on them.
#pragma once

#include <utility>

#include "sim/sim_fabric.hh"

namespace rmalock::sim {

inline Costs plain_costs(fabric::Domain domain = fabric::Domain::nic,
                         ServedBy served_by = ServedBy::adapter) {
    Costs costs;
    costs.model = "plain";
    costs.domain = domain;
    costs.served_by = served_by;
    costs.own = nanoseconds(10);
    costs.near = nanoseconds(100);
    costs.pause = nanoseconds(1);
    costs.fence = nanoseconds(5000);
    costs.send = nanoseconds(50);
    costs.inject = nanoseconds(20);
    costs.loopback = nanoseconds(300);
    costs.rack = nanoseconds(1000);
    costs.machine = nanoseconds(2000);
    costs.serve = nanoseconds(30);
    costs.serve_atomic = nanoseconds(200);
    costs.receive = nanoseconds(40);
    costs.bandwidth = 1;
    return costs;
}

inline constexpr Slot kSlots = 64;

/// Runs `process(cluster, fabric)` on each rank.
template <class Process>
class Simulation {
  public:
    Simulation(const Layout& layout, const Costs& costs, Process process, std::uint64_t seed = 1)
        : cluster(layout, kSlots, costs, seed, [process](Cluster& w, Rank rank) {
              SimFabric fabric(w, rank);
              process(w, fabric);
          }) {}

    Cluster cluster;
};

template <class Process>
void simulate(const Layout& layout, const Costs& costs, Process process, std::uint64_t seed = 1) {
    Simulation(layout, costs, process, seed).cluster.run();
}

} // namespace rmalock::sim
