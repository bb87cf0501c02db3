// The servers of simulated windows' locks, where they have any (locks/algorithms/srsl.hh).
#pragma once

#include <deque>
#include <memory>

#include "sim/window.hh"

namespace rmalock::sim {

/// The servers of a run's windows, one of each at each rank.
class Servers {
  public:
    Servers(const Window& window, std::size_t windows)
        : window_(window), each_(has_servers(window) ? static_cast<Rank>(windows) : 0) {}

    Rank of_each_rank() const { return each_; }
    void serve(Cluster& cluster, Rank self) {
        const Rank ranks = cluster.layout().ranks;
        One& mine = all_.emplace_back(cluster, self, static_cast<Slot>(self / ranks - 1), window_);
        for (locks::Value seen = 0;;)
            seen = mine.lock->serve(self % ranks, seen);
    }

  private:
    struct One {
        SimFabric fabric;
        std::unique_ptr<WindowLock> lock;
        One(Cluster& cluster, Rank self, Slot number, const Window& window)
            : fabric(cluster, self, number * window.slots()), lock(make_server(window, fabric)) {}
    };
    const Window& window_;
    Rank each_;
    std::deque<One> all_; ///< not on their fibers, which never end
};

} // namespace rmalock::sim
