// A simulated window: what its processes have in common, and the lock that each of them has.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/layout.hh"
#include "locks/lock_env.hh"
#include "locks/window_lock/gate_nodes.hh"
#include "sim/sim_fabric.hh"
#include "topology/machine.hh"

namespace rmalock::sim {

/// What is asked for cannot be had; the text says what can.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The names in all.def.
std::vector<std::string> lock_names();

/// Behind a lock's name: alone, as in the papers, where no lock_all stands beside it.
inline constexpr std::string_view kUngated = "/ungated";

struct WindowRequest {
    std::string lock; ///< auto: as a window chooses; with kUngated behind it: without its gate
    Layout layout;
    std::string topology = "auto"; ///< as the parameter
    locks::Thresholds thresholds{};
};

/// Made of the shipped parts as a window makes it (locks/window_lock): tree, counters, thresholds,
/// slots. What would take P words at each process is here, once.
class Window {
  public:
    /// Throws Refused.
    explicit Window(const WindowRequest& request);

    const WindowRequest& request() const { return request_; }
    Slot slots() const { return fabric::WindowSlots::count(request_.layout.ranks, slots_); }
    /// A word of each rank that no lock uses.
    static constexpr Slot kData = fabric::WindowSlots::accumulate;

    /// One for each lock that a benchmark holds or awaits at once.
    static constexpr Slot kQueueNodes = 1;
    locks::QueueNodes queue_nodes(Rank self) const {
        return {self, fabric::WindowSlots::qnodes(request_.layout.ranks), {kQueueNodes}};
    }
    bool gated() const { return gated_; }
    Slot records() const { return fabric::WindowSlots::elements(request_.layout.ranks, slots_); }
    locks::MachineView view() const {
        return {machine_.tree, machine_.nodes, counters_, request_.layout.nodes() == 1};
    }
    const locks::LockLimits& limits() const { return limits_; }
    locks::GateNodes gate_nodes(Rank self) const;

  private:
    void refuse_what_does_not_fit() const;

    WindowRequest request_;
    bool gated_ = true;
    topology::Machine machine_;
    topology::Level counters_;
    locks::NodeTable nodes_;
    fabric::LockSlots slots_;
    locks::LockLimits limits_;
};

/// The lock of a window at one process, behind its gate.
class WindowLock {
  public:
    virtual ~WindowLock() = default;
    virtual locks::Hold acquire(Rank target, bool exclusive) = 0;
    virtual void release(Rank target, bool exclusive, locks::Hold hold) = 0;
    virtual void acquire_all() = 0;
    virtual void release_all() = 0;
    /// Whether shared holders are inside together.
    virtual bool shares() const = 0;
    /// As the lock's server of `home`, which has found `seen` last: see locks/algorithms/srsl.hh.
    virtual locks::Value serve(Rank home, locks::Value seen) = 0;
};

/// `window` and `fabric` outlive it.
std::unique_ptr<WindowLock> make_lock(const Window& window, SimFabric& fabric);
/// Whether each process has a server of its lock, which takes a lock of its own.
bool has_servers(const Window& window);
std::unique_ptr<WindowLock> make_server(const Window& window, SimFabric& fabric);

} // namespace rmalock::sim
